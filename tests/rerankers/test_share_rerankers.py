"""LinkedIn's four re-rankers against plain versions, their guarantee and their limits."""

import warnings
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rerankers.det_twins import const_sort, greedy_family

from equirank import DataError, EquirankWarning, InfeasibleError, Ranking, as_ranking_data
from equirank.metrics import infeasible_index
from equirank.rerankers import DetCons, DetConstSort, DetGreedy, DetRelaxed

KINDS = [DetGreedy, DetCons, DetRelaxed, DetConstSort]


def twin(kind, scores, groups, shares, k):
    rules = {DetGreedy: "greedy", DetCons: "cons", DetRelaxed: "relaxed"}
    if kind is DetConstSort:
        return const_sort(scores, groups, shares, k)
    return greedy_family(scores, groups, shares, k, rules[kind])


def quietly(reranker, *args, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquirankWarning)
        return reranker.rerank(*args, **given)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_groups", [2, 3, 4, 5, 6])
def test_against_plain_versions_with_given_shares(kind, n_groups):
    rng = np.random.default_rng(n_groups)
    for _ in range(40):
        parts = (
            rng.integers(0 if n_groups > 2 else 1, 9, size=n_groups)
            + np.eye(n_groups, dtype=int)[0]
        )
        shares = {f"g{g}": Fraction(int(p), int(parts.sum())) for g, p in enumerate(parts)}
        k = int(rng.integers(1, 40))
        groups = np.repeat(list(shares), k)
        scores = rng.permutation(len(groups)).astype(float)
        proportions = {g: float(share) for g, share in shares.items()}
        result = quietly(kind(proportions, k=k), scores, sensitive_features=groups)
        expected = twin(kind, scores, groups, shares, k)
        assert result.order().tolist() == expected


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_against_plain_versions_with_the_pools_shares_and_ties(kind):
    rng = np.random.default_rng(9)
    for _ in range(150):
        n = int(rng.integers(1, 30))
        groups = rng.choice(list("abcdef")[: rng.integers(1, 7)], size=n)
        scores = rng.integers(0, 6, size=n).astype(float)
        names, sizes = np.unique(groups, return_counts=True)
        shares = {g: Fraction(int(s), n) for g, s in zip(names, sizes, strict=True)}
        result = quietly(kind(), scores, sensitive_features=groups)
        assert result.order().tolist() == twin(kind, scores, groups, shares, n)


@st.composite
def pools(draw):
    """Scores and groups of several lists, some groups empty in some of them."""
    n = draw(st.integers(1, 40))
    groups = draw(st.lists(st.sampled_from("abcde"), min_size=n, max_size=n))
    scores = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    qid = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return np.array(scores, float), np.array(groups), np.array(qid)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(pools(), st.data())
def test_a_permutation_whatever_the_group_sizes(kind, pool, data):
    scores, groups, qid = pool
    parts = [data.draw(st.integers(0, 4)) for _ in np.unique(groups)]
    parts[0] += 1
    shares = {g: p / sum(parts) for g, p in zip(np.unique(groups).tolist(), parts, strict=True)}
    k = data.draw(st.one_of(st.none(), st.integers(1, 45)))
    reranker = kind(shares, k=k, on_infeasible="best")
    result = quietly(reranker, scores, sensitive_features=groups, qid=qid)
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        order = result.order(query)
        assert len(order) == (len(rows) if k is None else min(k, len(rows)))
        assert len(set(order.tolist())) == len(order)
        assert set(order.tolist()) <= set(rows.tolist())
        for group in np.unique(groups[rows]):
            mine = order[groups[order] == group]
            best = sorted(rows[groups[rows] == group], key=lambda i: (-scores[i], i))
            assert mine.tolist() == best[: len(mine)]


@pytest.mark.gate
@settings(max_examples=60)
@given(pools())
def test_const_sort_keeps_every_share_whatever_the_groups(pool):
    scores, groups, qid = pool
    result = DetConstSort().rerank(scores, sensitive_features=groups, qid=qid)
    assert result.holds
    assert result.holds_per_query.all()
    short = infeasible_index(result, None, per_query=True)
    assert np.nansum(short) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DetGreedy, DetCons, DetRelaxed])
def test_three_groups_never_miss_a_share(kind):
    rng = np.random.default_rng(3)
    for _ in range(150):
        n = int(rng.integers(2, 60))
        groups = rng.choice(list("abc")[: rng.integers(2, 4)], size=n)
        assert kind().rerank(rng.normal(size=n), sensitive_features=groups).holds


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DetCons, DetRelaxed, DetConstSort])
def test_the_earliest_deadline_never_misses_a_share(kind):
    rng = np.random.default_rng(5)
    for n_groups in (4, 5, 6, 9):
        names = [f"g{g}" for g in range(n_groups)]
        for _ in range(25):
            parts = rng.integers(1, 12, size=n_groups)
            shares = dict(zip(names, (parts / parts.sum()).tolist(), strict=True))
            groups = rng.permutation(np.repeat(names, 30))
            result = kind(shares, k=30).rerank(
                rng.normal(size=len(groups)), sensitive_features=groups
            )
            assert result.holds
            pool = rng.choice(names, size=40, p=parts / parts.sum())
            assert kind().rerank(rng.normal(size=40), sensitive_features=pool).holds


def test_four_groups_can_miss_one_and_say_so():
    # Where the floors of two groups rise at one place, one of them waits.
    rng = np.random.default_rng(0)
    for _ in range(200):
        groups = rng.choice(list("abcdef"), size=40)
        scores = rng.normal(size=40)
        result = quietly(DetGreedy(), scores, sensitive_features=groups)
        if not result.holds:
            break
    with pytest.warns(
        EquirankWarning, match="DetGreedy misses a share at position .* DetConstSort"
    ):
        DetGreedy().rerank(scores, sensitive_features=groups)
    assert DetConstSort().rerank(scores, sensitive_features=groups).holds
    assert infeasible_index(result, None) > 0


def test_a_group_without_a_share_comes_last():
    for kind in KINDS:
        shares = {"a": 1.0, "b": 0.0}
        reranker = kind(shares, k=3)
        result = reranker.rerank([1, 9, 2, 8, 3], sensitive_features=list("ababa"))
        assert result.order().tolist() == [4, 2, 0]
        whole = kind(shares, on_infeasible="best")
        with pytest.warns(EquirankWarning, match="first 4 positions need 4 of group 'a'"):
            order = whole.rerank([1, 9, 2, 8, 3], sensitive_features=list("ababa")).order()
        assert order.tolist() == [4, 2, 0, 1, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_too_few_of_a_group_names_query_prefix_and_group(kind):
    scores, groups, qid = [3, 2, 1, 3, 2, 1], list("abbabb"), [7, 7, 7, 8, 8, 8]
    reranker = kind({"a": 0.7, "b": 0.3})
    message = "in query 7: the first 3 positions need 2 of group 'a', and the list has 1; lower"
    with pytest.raises(InfeasibleError, match=message):
        reranker.rerank(scores, sensitive_features=groups, qid=qid)
    reranker.set_params(on_infeasible="best")
    with pytest.warns(EquirankWarning, match="and in 1 more queries"):
        result = reranker.rerank(scores, sensitive_features=groups, qid=qid)
    assert not result.holds
    assert result.holds_per_query.tolist() == [False, False]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"proportions": {"a": 0.5, "b": 0.4}}, "proportions of Det.* summing to 1"),
        ({"proportions": {"a": 1.5, "b": -0.5}}, "proportions of Det"),
        ({"proportions": {"a": 0.5, "z": 0.5}}, "proportions of Det.* one of the groups.*'z'"),
        ({"proportions": {"a": 1.0}}, "must name every group, and 'b' is missing"),
        ({"proportions": [0.5, 0.5]}, "proportions of Det"),
        ({"k": 0}, "k of Det.* an integer >= 1"),
        ({"by": "sex"}, "by must be one of the attributes"),
        ({"on_infeasible": "worst"}, "on_infeasible of Det"),
    ],
)
def test_bad_input_is_refused_in_a_clear_sentence(kind, given, message):
    with pytest.raises(DataError, match=message):
        kind(**given).rerank([3, 2, 1], sensitive_features=list("aab"), groups=["a", "b"])


def test_groups_are_needed():
    with pytest.raises(DataError, match="DetGreedy needs sensitive_features"):
        DetGreedy().rerank([1, 2])


def test_the_order_counts_where_there_are_no_scores():
    data = as_ranking_data(position=[1, 2, 3, 4], sensitive_features=list("mmff"))
    assert DetGreedy()(data.ranking()).order().tolist() == [0, 2, 1, 3]
    price = DetGreedy()(data.ranking()).price
    assert np.isnan(price.ndcg)
    assert price.gain is None


def test_rows_not_shown_stay_so_and_count_in_the_share():
    data = as_ranking_data(score=[5, 4, 3, 2, 1], sensitive_features=list("mmfff"))
    before = Ranking.from_positions(data, [1, 2, 3, 0, 0])
    result = DetGreedy(k=2)(before)
    assert result.order().tolist() == [0, 2]
    data = as_ranking_data(score=[5, 4, 3, 2, 1], sensitive_features=list("mmmff"))
    before = Ranking.from_positions(data, [1, 2, 3, 4, 0])
    with pytest.raises(
        InfeasibleError, match="4 positions need 2 of group 'f', and the list has 1"
    ):
        DetGreedy({"m": 0.5, "f": 0.5})(before)


def test_crossed_attributes():
    groups = {"sex": list("mmff"), "race": list("xyxy")}
    with pytest.raises(DataError, match="by must name one"):
        DetGreedy().rerank([4, 3, 2, 1], sensitive_features=groups)
    result = DetConstSort(by=["sex", "race"]).rerank([4, 3, 2, 1], sensitive_features=groups)
    assert result.order().tolist() == [0, 1, 2, 3]
    assert DetGreedy(by="sex").rerank([4, 3, 2, 1], sensitive_features=groups).order()[1] == 2


def test_a_float_share_is_read_as_the_fraction_it_stands_for():
    # 0.1 * 3 * 10 is not quite 3 in floating point; the floor must be.
    shares = {"a": 0.1 + 0.2, "b": 0.7}
    shares["b"] = 1.0 - shares["a"]
    result = DetConstSort(shares, k=10).rerank(
        np.arange(40, 0, -1), sensitive_features=["b"] * 20 + ["a"] * 20
    )
    placed = np.cumsum(np.array(["b"] * 20 + ["a"] * 20)[result.order()] == "a")
    assert all(placed[j - 1] >= floor(Fraction(3, 10) * j) for j in range(1, 11))
    assert placed[-1] == 3
