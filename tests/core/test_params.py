"""Parameters: what each constraint allows, and the one sentence."""

import numpy as np
import pytest

from equirank import DataError
from equirank.core.params import (
    AnyOf,
    Choice,
    Flag,
    Integer,
    Label,
    Number,
    Optional,
    Vector,
    check_params,
)

NAN, INF = float("nan"), float("inf")
CASES = [
    (Integer(), [0, -5, np.int32(3)], [1.0, "1", None, True, np.bool_(True)], "an integer"),
    (Integer(1), [1, 2**63 - 1], [2**63, 10**30, -(2**63) - 1], "an integer >= 1"),
    (Integer(2), [2, 3], [1, 2.0], "an integer >= 2"),
    (Integer(1, 3), [1, 3], [0, 4], "an integer from 1 to 3"),
    (Number(), [0, -1.5, np.float32(2)], [NAN, INF, "1", None, True, 1j], "a finite number"),
    (Number(0), [0, 1e9], [-1e-9, INF], "a number >= 0"),
    (Number(0, open_low=True), [1e-9], [0, NAN], "a number > 0"),
    (Number(0, 1), [0, 1], [-0.1, 1.1], "a number in [0, 1]"),
    (Number(0, 1, open_low=True, open_high=True), [0.5], [0, 1], "a number in (0, 1)"),
    (Flag(), [True, False, np.bool_(True)], [0, 1, "yes", None], "True or False"),
    (Choice("a", "b"), ["a", "b"], ["c", 1, None, ["a"]], "one of 'a', 'b'"),
    (Label(), ["f", 1, 0.5, True, np.int64(1), np.str_("f")], [None, ["f"], object()], "a group"),
    (Label(many=True), ["sex", ("sex", "race"), ["sex"]], [(), [], None, (1,)], "a name or a list"),
    (Vector(), [[1], (1, -2), np.array([1.0])], ["12", [], [[1]], [NAN], ["a"], 3], "a sequence"),
    (Vector(0.0), [[0, 1]], [[-1]], "a sequence of finite numbers >= 0"),
    (AnyOf(Choice("a"), Integer(1)), ["a", 1], ["b", 0, None], "one of 'a', or an integer >= 1"),
    (Optional(Integer(1)), [None, 1], [0, "a"], "an integer >= 1, or None"),
]


@pytest.mark.parametrize(("constraint", "good", "bad", "words"), CASES, ids=lambda v: str(v)[:25])
def test_constraints(constraint, good, bad, words):
    assert [value for value in good if not constraint.accepts(value)] == []
    assert [value for value in bad if constraint.accepts(value)] == []
    assert str(constraint).startswith(words)
    check_params("Thing", {"x": good[0]}, {"x": constraint})
    for value in bad:
        with pytest.raises(DataError) as caught:
            check_params("Thing", {"x": value}, {"x": constraint})
        assert str(caught.value) == f"x of Thing must be {constraint}, got {value!r}"


def test_a_name_of_an_attribute_is_text():
    assert not Label(many=True).accepts(3)


def test_an_upper_end_alone_is_said():
    assert "5" in str(Number(high=5))
    assert "5" in str(Integer(high=5))


def test_only_what_is_declared_and_given_is_checked():
    check_params("Thing", {"other": object()}, {"x": Integer()})


def test_a_long_value_is_cut():
    with pytest.raises(DataError) as caught:
        check_params("Thing", {"x": list(range(1000))}, {"x": Integer()})
    assert len(str(caught.value)) < 130
    assert str(caught.value).endswith("...")
