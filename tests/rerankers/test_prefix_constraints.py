"""PrefixConstraints: exact lists, several attributes, what happens where bounds clash."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rerankers.bounded_twins import best_by_assignment, discounted, keeps

from equirank import DataError, EquirankWarning, InfeasibleError, Ranking, as_ranking_data
from equirank.rerankers import PrefixConstraints


def shares(place, share, lower):
    exact = place * share
    return np.floor(exact + 1e-9) if lower else np.ceil(exact - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_one_attribute_against_a_program_over_items_and_places(seed):
    rng = np.random.default_rng(seed)
    n, k, names = 14, 9, list("abcd")[: 2 + seed % 3]
    groups = np.concatenate([names, rng.choice(names, n - len(names))])
    score = rng.normal(size=n)
    share = rng.dirichlet(np.full(len(names), 4.0))
    low = {g: 0.6 * p for g, p in zip(names, share, strict=True)}
    high = {g: min(1.0, 1.3 * p + 0.1) for g, p in zip(names, share, strict=True)}
    place = np.arange(1, k + 1)
    least = np.stack([shares(place, low[g], True) for g in names], axis=1)
    most = np.stack([shares(place, high[g], False) for g in names], axis=1)
    member = groups[:, None] == np.array(names)
    best = best_by_assignment(score, member, k, least, most)
    rule = PrefixConstraints(low, high, k=k)
    if best is None:
        with pytest.raises(InfeasibleError):
            rule.rerank(score, sensitive_features=groups)
        return
    result = rule.rerank(score, sensitive_features=groups)
    order = result.order()
    assert keeps(member[order], least, most)
    assert result.holds
    assert result.gap.tolist() == [0.0]
    assert discounted(score[order]) == pytest.approx(best, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_several_attributes_against_a_program_over_items_and_places(seed):
    rng = np.random.default_rng(seed)
    n, k = 12, 6
    sex, age = rng.choice(list("fm"), n), rng.choice(["old", "young"], n)
    score = rng.normal(size=n) - 0.8 * (sex == "f") - 0.8 * (age == "old")
    place = np.arange(1, k + 1)
    member = np.stack([sex == "f", age == "old", age == "young"], axis=1)
    least = np.stack([shares(place, 0.4, True), shares(place, 0.5, True), 0 * place], axis=1)
    most = np.stack([place + 1, place + 1, shares(place, 0.6, False)], axis=1)
    best = best_by_assignment(score, member, k, least, most)
    rule = PrefixConstraints({"f": 0.4, "old": 0.5}, {"age": {"young": 0.6}}, k=k)
    given = {"sensitive_features": {"sex": sex, "age": age}}
    if best is None:
        with pytest.raises(InfeasibleError, match="closest list has"):
            rule.rerank(score, **given)
        return
    result = rule.rerank(score, **given)
    order = result.order()
    assert keeps(member[order], least, most)
    assert result.holds
    assert result.gap[0] <= 1e-6
    assert discounted(score[order]) == pytest.approx(best, abs=1e-6)


def test_several_attributes_cannot_all_be_met():
    given = {"sensitive_features": {"sex": list("ffmm"), "age": ["old", "old", "young", "young"]}}
    rule = PrefixConstraints({"f": [1], "young": [1]}, k=2)
    with pytest.raises(
        InfeasibleError, match=r"first position must hold 1 of group '(f|young)', and"
    ):
        rule.rerank([1, 2, 3, 4], **given)
    with pytest.warns(EquirankWarning, match="misses them by the fewest items"):
        result = rule.set_params(on_infeasible="best").rerank([1, 2, 3, 4], **given)
    assert len(result.order()) == 2
    assert not result.holds


def test_the_reason_is_looked_for_in_every_attribute():
    sex, age = list("mmmff"), ["young", "young", "old", "young", "young"]
    rule = PrefixConstraints({"sex": {"f": [0, 1]}, "age": {"old": [0, 0, 1]}}, k=3)
    result = rule.rerank([5, 4, 3, 2, 1], sensitive_features={"sex": sex, "age": age})
    assert result.order().tolist() == [0, 3, 2]
    assert result.explain(3).facts["binding"]["group"] == "f"
    assert result.explain(2).facts["binding"] is None  # it keeps its place
    assert "m & young" in result.moves.to_dict()["group"]


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abcd")), min_size=1, max_size=14),
    st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1)),
    st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1)),
    st.booleans(),
)
def test_a_permutation_comes_out_whatever_goes_in(rows, lower, upper, cut):
    score, groups = zip(*rows, strict=True)
    known = set(groups)
    rule = PrefixConstraints(
        {g: s for g, s in lower.items() if g in known},
        {g: s for g, s in upper.items() if g in known},
        k=max(1, len(rows) // 2) if cut else None,
        on_infeasible="best",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquirankWarning)
        result = rule.rerank(score, sensitive_features=groups)
    order = result.order().tolist()
    assert len(set(order)) == len(order) == (rule.k or len(rows))
    for group in known:
        mine = [row for row in order if groups[row] == group]
        ranked = sorted(
            (row for row in range(len(rows)) if groups[row] == group),
            key=lambda row: (-score[row], row),
        )
        assert mine == ranked[: len(mine)]


def test_without_bounds_nothing_moves():
    result = PrefixConstraints().rerank([1, 3, 2], sensitive_features=list("aba"))
    assert result.order().tolist() == [1, 2, 0]
    assert len(result.moves) == 0
    assert result.holds


def test_many_queries_at_once_with_counts_per_prefix():
    rule = PrefixConstraints(lower={"f": [0, 1]}, k=2)
    result = rule.rerank([9, 8, 7, 9, 8, 7], qid=list("xxxyyy"), sensitive_features=list("mmffmm"))
    assert result.order("x").tolist() == [0, 2]
    assert result.order("y").tolist() == [3, 4]
    assert result.data.to_original(result.position).tolist() == [1, 0, 2, 1, 2, 0]
    moves = result.moves.to_dict()
    assert (moves["from"][0], moves["to"][0]) == (3, 2)
    assert result.price.score_loss == pytest.approx((9 + 8 - 9 - 7) / 2 / 2)
    said = result.explain(2)
    assert said.facts["binding"]["needed"] == 1
    assert "The first 2 positions must hold at least 1 of f" in str(said)


def test_only_the_order_counts_with_floors_alone():
    data = as_ranking_data(None, sensitive_features=list("mmmff"), qid=[0] * 5)
    given_order = Ranking.from_positions(data, [1, 2, 3, 4, 5])
    result = PrefixConstraints(lower={"f": 0.4})(given_order)
    assert result.order().tolist() == [0, 1, 3, 2, 4]
    assert result.explain(2).facts["lowest_place"] == 2


def test_rows_not_shown_stay_so():
    data = as_ranking_data(None, sensitive_features=list("mmff"), qid=[0] * 4)
    hidden = Ranking.from_positions(data, [1, 2, 3, 0])
    rule = PrefixConstraints(lower={"f": [0, 1, 1, 2]})
    assert rule(hidden).order().tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        (
            {"f": 0.9},
            None,
            r"query 7: the first 4 positions need 3 of group 'f', and the list has 2",
        ),
        ({"f": [2], "m": None}, None, "lower of PrefixConstraints must be a mapping"),
        ({"f": [0, 2]}, {"f": [1, 1]}, "first 2 positions need 2 of group 'f' and may hold 1"),
        ({"f": [1], "m": [1]}, None, "first position needs 1 of 'f', 1 of 'm': 2 in all"),
        (None, {"m": 0.0}, "first 3 positions can hold 2 at most under the upper bounds of 'm'"),
        ({"f": 1.5}, None, "must be a mapping of group to a share in"),
        ({"f": [0.5]}, None, "must be a mapping of group to a share in"),
        (
            {"x": 0.5},
            None,
            "lower of PrefixConstraints must be one of the groups 'f', 'm', got 'x'",
        ),
        (
            None,
            {"y": 0.5},
            "upper of PrefixConstraints must be one of the groups 'f', 'm', got 'y'",
        ),
    ],
)
def test_what_cannot_be_is_said(lower, upper, message):
    with pytest.raises((DataError, InfeasibleError), match=message):
        PrefixConstraints(lower, upper).rerank(
            [4, 3, 2, 1], qid=[7] * 4, sensitive_features=list("mmff"), groups=["f", "m"]
        )


def test_ceilings_and_floors_that_leave_no_place_in_time():
    # a and b are both due by place 3 and may both come from place 2 on only in turn
    rule = PrefixConstraints(
        lower={"a": [0, 0, 2], "b": [0, 0, 1]}, upper={"a": [0, 1, 2], "b": [0, 1, 1]}
    )
    with pytest.raises(InfeasibleError, match="first 3 positions need"):
        rule.rerank([5, 4, 3, 2], sensitive_features=list("aabc"))


def test_the_closest_list_misses_by_the_fewest():
    rule = PrefixConstraints(lower={"f": [1, 2, 3]}, k=3, on_infeasible="best")
    given = {"qid": [0] * 4 + [1] * 4, "sensitive_features": list("mmffmfff")}
    with pytest.warns(EquirankWarning, match=r"query 0: .* widened by up to 0 items"):
        result = rule.rerank([8, 7, 6, 5, 4, 3, 2, 1], **given)
    assert result.order(0).tolist() == [2, 3, 0]  # both of them first: more there are not
    assert result.order(1).tolist() == [5, 6, 7]
    assert result.holds_per_query.tolist() == [False, True]
    clash = PrefixConstraints(lower={"f": [1], "m": [1]}, on_infeasible="best")
    with pytest.warns(EquirankWarning, match="widened by up to 1 item"):
        result = clash.rerank([2, 1], sensitive_features=list("mf"))
    assert result.order().tolist() == [0, 1]


def test_a_group_that_two_attributes_have_must_be_placed():
    given = {"sensitive_features": {"mother": list("xy"), "father": list("yx")}}
    with pytest.raises(DataError, match="the attribute of the group 'x'"):
        PrefixConstraints({"x": 0.5}).rerank([2, 1], **given)
    with pytest.raises(DataError, match="must be one of the groups x, y, x, y, got 'z'"):
        PrefixConstraints({"z": 0.5}).rerank([2, 1], **given)
    result = PrefixConstraints({"mother": {"y": [1]}}).rerank([2, 1], **given)
    assert result.order().tolist() == [1, 0]
    assert result.moves.to_dict()["group"] == ["y", "x"]


def test_each_group_is_named_once():
    with pytest.raises(DataError, match="must name each group once, got 'f' twice"):
        PrefixConstraints({"f": 0.5, "sex": {"f": 0.4}}).rerank(
            [2, 1], sensitive_features={"sex": list("mf")}
        )


def test_the_table_of_several_attributes_crosses_them():
    people = {"sex": list("mmmff"), "age": ["young", "young", "old", "young", "old"]}
    rule = PrefixConstraints({"f": [0, 1], "old": [0, 0, 1]}, k=3)
    table = rule.rerank([5, 4, 3, 2, 1], sensitive_features=people).summary().to_dict()
    assert table["before"][0] == 0.0
    assert table["after"][0] == 1.0
    assert "share of f & young in the first 3" in table["measure"]
