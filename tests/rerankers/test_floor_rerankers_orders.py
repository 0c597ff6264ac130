"""ImplicitBiasFloor and RooneyRule: floors for the protected, taken together."""

import itertools
import warnings
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank import DataError, EquirankWarning, InfeasibleError
from equirank.rerankers import ImplicitBiasFloor, RooneyRule


def plain(protected, floors):
    """Of all lists that keep the floors, the one that is best from the first place on.

    Items are given best first; ``floors[j]`` of the first j + 1 places are for the protected.
    """
    n, k = len(protected), len(floors)
    kept = [
        order
        for order in itertools.permutations(range(n), k)
        if all(sum(protected[i] for i in order[: j + 1]) >= floors[j] for j in range(k))
    ]
    return min(kept, default=None)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.booleans(), min_size=1, max_size=6), st.floats(0, 1), st.integers(1, 6))
def test_the_floor_against_all_orders(protected, phi, k):
    k = min(k, len(protected))
    groups = ["f" if one else "m" for one in protected]
    score = range(len(groups), 0, -1)
    floors = [ceil(phi * (j + 1) - 1e-9) for j in range(k)]
    expected = plain(protected, floors)
    rule = ImplicitBiasFloor(phi, protected="f", k=k)
    if "f" not in groups:
        assert rule.rerank(score, sensitive_features=groups).order().tolist() == list(range(k))
    elif expected is None:
        with pytest.raises(InfeasibleError, match="of group 'f', and the list has"):
            rule.rerank(score, sensitive_features=groups)
    else:
        result = rule.rerank(score, sensitive_features=groups)
        assert result.order().tolist() == list(expected)
        assert result.holds


def test_a_share_that_is_a_whole_number_is_not_rounded_up():
    groups = ["m"] * 100 + ["f"] * 100
    result = ImplicitBiasFloor(0.55, protected="f", k=100).rerank(
        np.arange(200, 0, -1), sensitive_features=groups
    )
    assert (result.order() >= 100).sum() == 55  # 0.55 * 100 is 55.00000000000001


def test_the_pools_share_differs_from_list_to_list():
    groups = list("mmmf") + list("mfmf")
    result = ImplicitBiasFloor(protected="f").rerank(
        [8, 7, 6, 5, 4, 3, 2, 1], qid=[0] * 4 + [1] * 4, sensitive_features=groups
    )
    assert result.order(0).tolist() == [3, 0, 1, 2]  # ceil(j / 4)
    assert result.order(1).tolist() == [5, 4, 7, 6]  # ceil(j / 2)
    assert result.holds


def test_several_protected_groups_count_as_one():
    result = ImplicitBiasFloor(0.5, protected=["x", "y"], k=4).rerank(
        [6, 5, 4, 3, 2, 1], sensitive_features=list("wwwwxy")
    )
    assert result.order().tolist() == [4, 0, 5, 1]
    assert result.holds
    assert result.moves.to_dict()["group"][0] == "x"
    everybody = ImplicitBiasFloor(0.5, k=4).rerank(
        [6, 5, 4, 3, 2, 1], sensitive_features=list("wwwwxy")
    )
    assert everybody.order().tolist() == [4, 0, 5, 1]  # all but the largest group


def test_the_reason_names_the_floor():
    result = ImplicitBiasFloor(0.5, protected="f", k=2).rerank(
        [3, 2, 1], sensitive_features=list("mmf")
    )
    assert "The first position must hold at least 1 of f" in str(result.explain(2))
    assert result.price.score_loss == pytest.approx((3 + 2 - 3 - 1) / 2)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.booleans(), min_size=1, max_size=9), st.integers(1, 9), st.integers(1, 3))
def test_the_short_list_against_its_words(protected, k, count):
    k = min(k, len(protected))
    groups = ["f" if one else "m" for one in protected]
    rule = RooneyRule("f", k=k, count=count, on_infeasible="best")
    if "f" not in groups:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquirankWarning)
        result = rule.rerank(range(len(groups), 0, -1), sensitive_features=groups)
    wanted = min(count, sum(protected), k)
    chosen = set(range(k))
    worst_first = [i for i in reversed(range(k)) if not protected[i]]
    best_behind = [i for i in range(k, len(groups)) if protected[i]]
    missing = max(0, wanted - sum(protected[:k]))
    chosen -= set(worst_first[:missing])
    chosen |= set(best_behind[:missing])
    assert result.order().tolist() == sorted(chosen)
    assert result.holds == (wanted == count)


def test_lists_of_different_lengths_each_have_their_one():
    result = RooneyRule("f").rerank(
        [5, 4, 3, 2, 1], qid=[0, 0, 1, 1, 1], sensitive_features=list("mfmmf")
    )
    assert result.order(0).tolist() == [0, 1]
    assert result.order(1).tolist() == [2, 3, 4]
    assert result.holds
    with pytest.raises(InfeasibleError, match="query 0: the first 2 positions need 2 of group 'f'"):
        RooneyRule("f", count=2).rerank(
            [5, 4, 3, 2, 1], qid=[0, 0, 1, 1, 1], sensitive_features=list("mfmff")
        )


def test_bad_input_is_named():
    given = {"sensitive_features": list("mmf"), "qid": list("xxx")}
    with pytest.raises(DataError, match=r"phi of ImplicitBiasFloor must be a number in \[0, 1\]"):
        ImplicitBiasFloor(1.2).rerank([3, 2, 1], **given)
    with pytest.raises(DataError, match="protected of RooneyRule must be one of the groups"):
        RooneyRule("q", k=1).rerank([3, 2, 1], **given, groups=["f", "m"])
    with pytest.raises(
        InfeasibleError, match="query 'x': the first 2 positions need 2 of group 'f'"
    ):
        RooneyRule("f", k=2, count=2).rerank([3, 2, 1], **given)
    with pytest.warns(EquirankWarning, match="need 2 of group 'f'"):
        result = RooneyRule("f", k=2, count=2, on_infeasible="best").rerank([3, 2, 1], **given)
    assert result.order("x").tolist() == [0, 2]
    assert not result.holds
