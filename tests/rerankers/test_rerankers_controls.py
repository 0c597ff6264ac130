"""What re-rankers declare for people who do not program, and guarantees that say nothing."""

import warnings
from itertools import product

import numpy as np
import pytest

from equirank import as_ranking_data
from equirank.core.errors import EquirankWarning
from equirank.core.registry import public_classes
from equirank.core.reranker import Reranker
from equirank.rerankers import (
    ContinuousFairness,
    DetConstSort,
    DetGreedy,
    FAStarIR,
    PrefixConstraints,
    RooneyRule,
    TableBounds,
)

PUBLIC = public_classes(Reranker, ["equirank.rerankers"])
OFFERED = {name: kind for name, kind in PUBLIC.items() if kind.controls}
GROUPS = list("mmmfmf")
#: Shares and cutoffs: without the unknown person, who ranks first, 2 and 1 people.
SHARES = ((0.5, 3), (0.5, 2))


def test_every_method_has_a_plain_name_of_its_own():
    names = {name: kind.plain_name for name, kind in PUBLIC.items() if name != "Guaranteed"}
    assert all(names.values()), names
    assert len({*names.values()}) == len(names)
    assert not {*names.values()} & {*names}


def test_the_methods_of_the_studio_declare_their_controls():
    near = "Near a share"
    assert {name: (kind.plain_name, kind.two_sided) for name, kind in OFFERED.items()} == {
        "FAStarIR": ("Nothing beyond chance", False),
        "PrefixConstraints": ("At least a share", False),
        "DetGreedy": (near, True),
        "DetConstSort": (f"{near}, by sorting", True),
        "DetCons": (f"{near}, most pressing group first", True),
        "DetRelaxed": (f"{near}, relaxed", True),
        "RooneyRule": ("At least so many on the short list", False),
        "ContinuousFairness": ("Comparable scores", True),
    }


@pytest.mark.parametrize("name", sorted(OFFERED))
def test_controls_are_parameters_and_their_ranges_are_allowed(name):
    kind = OFFERED[name]
    assert next(iter(kind.controls)) == kind.strength
    for parameter, control in kind.controls.items():
        high = 5 if control.high is None else control.high
        assert control.words
        assert control.low < high
        assert control.step == (1 if control.high is None else 0.01)  # people, or a hundredth
        steps = (high - control.low) / control.step
        assert steps == pytest.approx(round(steps))
        for value in (control.low, high):
            given = {"lower": {"f": value}, "proportions": {"f": value, "m": 1 - value}}
            rule = kind(**{parameter: given.get(parameter, value)}, on_infeasible="best")
            rule.check_declared()


@pytest.mark.parametrize(
    ("rule", "guaranteed"),
    [
        (ContinuousFairness(0.99), False),
        (ContinuousFairness({"f": 1.0, "m": 0.5}), False),
        (ContinuousFairness(1.0), True),
        (FAStarIR(p=0.05, protected="f"), False),
        (FAStarIR(p=0.9, protected="f"), True),
        (PrefixConstraints(), False),
        (PrefixConstraints(lower={"f": 0.1}), False),
        (PrefixConstraints(lower={"f": 0.2}), True),
        (PrefixConstraints(upper={"f": 0.99}), False),
        (PrefixConstraints(upper={"f": [0]}), True),
        (DetGreedy({"f": 0.5, "m": 0.5}), True),
        (DetConstSort({"f": 0.5, "m": 0.5}, k=1), False),
        (RooneyRule(protected="f", k=2), True),
    ],
    ids=str,
)
def test_a_guarantee_is_empty_where_no_order_breaks_it(rule, guaranteed):
    rule = rule.set_params(on_infeasible="best")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquirankWarning)  # some are infeasible
        result = rule.rerank([6, 5, 4, 3, 2, 1], sensitive_features=GROUPS)
    assert result.guaranteed is guaranteed
    words = result.summary()["measure"].tolist()
    assert ("lists that keep the guarantee" in words) is guaranteed
    assert guaranteed or result.holds
    if isinstance(rule, ContinuousFairness):
        return  # its guarantee is about scores
    some = result.k or len(GROUPS)
    offsets = np.array([0, some])
    orders = (np.array(each, dtype=np.int32) for each in product(range(2), repeat=some))
    assert any(not result.bounds.holds(order, offsets)[0] for order in orders) is guaranteed


def test_several_protected_groups_and_unknown_labels_say_when_they_are_empty():
    groups = list("abcabcab")
    for p, guaranteed in (({"a": 0.02, "b": 0.02}, False), ({"a": 0.4, "b": 0.4}, True)):
        rule = FAStarIR(p=p, protected=["a", "b"], on_infeasible="best")
        assert rule.rerank(range(8), sensitive_features=groups).guaranteed is guaranteed
    groups = {"g": ["a", "b", "b", "a", "b", None]}
    data = as_ranking_data(score=range(6), sensitive_features=groups, missing_sensitive="unknown")
    known = PrefixConstraints(lower={"a": 1 / 6})(data.ranking())
    shares = [DetGreedy({"a": a, "b": 1.0 - a}, k=k)(data.ranking()) for a, k in SHARES]
    assert [each.guaranteed for each in (known, *shares)] == [True, True, False]


def test_lists_bind_one_by_one():
    least = np.array([[0, 0], [0, 1], [0, 0]])
    most = np.array([[1, 1], [2, 2], [0, 1]])
    start, lengths = np.array([0, 0, 2, 2]), np.array([1, 2, 1, 0])
    codes, offsets = np.array([0, 0, 1, 0]), np.array([0, 1, 3, 4, 4])
    low, high = (
        TableBounds("words", *tables, start, lengths).binding(codes, offsets).tolist()
        for tables in ((least, None), (None, most))
    )
    assert low == [False, True, False, False]
    assert high == [False, False, True, False]


def test_an_infeasible_guarantee_is_not_empty():
    rule = RooneyRule(protected="f", k=3, count=3, on_infeasible="best")
    with pytest.warns(EquirankWarning):
        result = rule.rerank([4, 3, 2, 1], sensitive_features=list("mmff"))
    assert (result.guaranteed, result.holds) == (True, False)
