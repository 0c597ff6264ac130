"""ContinuousFairness: none of the way, all of the way, and order inside groups."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp, wasserstein_distance

from equirank import DataError, Ranking, as_ranking_data
from equirank.rerankers import ContinuousFairness

ROWS = st.lists(
    st.tuples(st.integers(-4, 4), st.sampled_from("abc"), st.integers(0, 2)),
    min_size=1,
    max_size=25,
)


def sample(seed, sizes, ties=False):
    rng = np.random.default_rng(seed)
    groups = np.repeat(list("abcd")[: len(sizes)], sizes)
    shift = np.repeat(rng.normal(scale=2, size=len(sizes)), sizes)
    score = rng.normal(size=len(groups)) * (1 + np.abs(shift)) + shift
    return (np.round(score) if ties else score), groups


@pytest.mark.parametrize("seed", range(8))
def test_nothing_moves_with_theta_0(seed):
    score, groups = sample(seed, [9, 4, 1], ties=seed % 2 == 1)
    result = ContinuousFairness(0.0).rerank(score, sensitive_features=groups)
    assert np.array_equal(result.score, score)
    assert np.array_equal(result.position, result.before.position)
    assert len(result.moves) == 0
    assert result.holds


@pytest.mark.parametrize("sizes", [[30, 30], [50, 7], [40, 23, 11], [9, 1], [13, 8, 5, 3]])
@pytest.mark.parametrize("seed", range(4))
def test_with_theta_1_all_groups_are_spread_alike(sizes, seed):
    score, groups = sample(seed, sizes)
    result = ContinuousFairness().rerank(score, sensitive_features=groups)
    names = np.unique(groups)
    parts = [result.score[groups == g] for g in names]
    for i, one in enumerate(parts):
        for other in parts[:i]:
            step = 1 / min(len(one), len(other))
            assert ks_2samp(one, other).statistic <= step + 1e-9
    assert result.holds
    assert result.bounds.gap[0] == pytest.approx(
        max(ks_2samp(a, b).statistic for a in parts for b in parts)
    )
    if len(set(sizes)) == 1:  # same sizes: the very same scores
        assert np.allclose(np.sort(parts[0]), np.sort(parts[1]))


@pytest.mark.slow
@settings(max_examples=80)
@given(ROWS, st.sampled_from([0.0, 0.3, 0.8, 1.0]), st.sampled_from([0.0, 0.5, 1.0]))
def test_order_and_ties_inside_groups_stay(rows, one, other):
    score, groups, qid = (np.array(part) for part in zip(*rows, strict=True))
    theta = {g: one if g == "a" else other for g in np.unique(groups).tolist()}
    result = ContinuousFairness(theta).rerank(score, sensitive_features=groups, qid=qid)
    for query in np.unique(qid):
        assert sorted(result.order(query)) == np.flatnonzero(qid == query).tolist()
        for group in np.unique(groups):
            mine = (qid == query) & (groups == group)
            apart = np.subtract.outer(score[mine], score[mine])
            moved = np.subtract.outer(result.score[mine], result.score[mine])
            assert (moved[apart == 0] == 0).all()
            assert (moved[apart > 0] >= 0).all()
            if theta.get(group, 0) < 1 or one == other == 1.0:
                assert (moved[apart > 0] > 0).all()
    assert result.holds


@pytest.mark.parametrize("theta", [0.25, 0.5, 0.75])
def test_the_distance_from_the_barycentre_shrinks(theta):
    score, groups = sample(3, [40, 40, 40])
    target = ContinuousFairness(1.0).rerank(score, sensitive_features=groups).score
    moved = ContinuousFairness(theta).rerank(score, sensitive_features=groups).score
    for group in "abc":
        mine = groups == group
        before = wasserstein_distance(score[mine], target[mine])
        after = wasserstein_distance(moved[mine], target[mine])
        assert after == pytest.approx((1 - theta) * before)


def test_the_barycentre_weighs_groups_by_size():
    # (3 * 0 + 1 * 8) / 4 for the middle of three and the only one of the other
    result = ContinuousFairness().rerank([-1, 0, 1, 8], sensitive_features=list("aaab"))
    assert result.score.tolist() == [
        3 / 4 * -1 + 1 / 4 * 8,
        2.0,
        3 / 4 * 1 + 1 / 4 * 8,
        2.0,
    ]
    assert result.position.tolist() == [4, 2, 1, 2]
    assert result.last.tolist() == [4, 3, 1, 3]


def test_groups_left_out_of_a_mapping_stay():
    result = ContinuousFairness({"b": 1.0}).rerank([4, 2], sensitive_features=list("ab"))
    assert result.score.tolist() == [4.0, 3.0]


def test_rows_not_shown_stay_so_beside_scores_of_any_size():
    data = as_ranking_data(score=[-1e300, 1e300, 3, -1e300], sensitive_features=list("abab"))
    hidden = Ranking.from_positions(data, [0, 1, 2, 3])
    assert ContinuousFairness(0.0, k=3)(hidden).position.tolist() == [0, 1, 2, 3]


def test_rows_not_shown_stay_so_and_count_in_no_quantile():
    data = as_ranking_data(None, score=[9, 4, 2, 100], sensitive_features=list("aabb"))
    hidden = Ranking.from_positions(data, [1, 2, 3, 0])
    result = ContinuousFairness()(hidden)
    # b is 2 alone: it and the middle of a, (9 + 4) / 2, meet at (2 * 6.5 + 2) / 3
    assert result.score.tolist()[2] == pytest.approx((2 * 6.5 + 2) / 3)
    assert result.position.tolist()[3] == 0
    assert sorted(result.order().tolist()) == [0, 1, 2]


def test_what_it_cost_and_why():
    result = ContinuousFairness().rerank([9, 8, 3, 2], sensitive_features=list("mmff"))
    assert result.price.worst_inversion == 5.0  # row 2 with 3 stands level with 9, before 8
    assert result.price.score_loss == 0.0
    assert result.explain(2).facts["to"] == 2


def test_bad_input_is_named():
    with pytest.raises(DataError, match=r"theta of ContinuousFairness must be a number in \[0, 1"):
        ContinuousFairness(1.5).rerank([1, 2], sensitive_features=list("ab"))
    for theta in ({"a": 0.5, "b": 1.5}, {"a": -0.5, "b": 1.0}, {("a",): 1.0, "b": 1.0}, {}):
        with pytest.raises(DataError, match=r"or a mapping of group to such a number, got \{"):
            ContinuousFairness(theta).rerank([1, 2], sensitive_features=list("ab"))
    given = {"sensitive_features": list("ab")}
    with pytest.raises(DataError, match="theta of ContinuousFairness must be one of the groups"):
        ContinuousFairness({"x": 1.0}).rerank([1, 2], **given, groups=["a", "b"])
    with pytest.raises(DataError, match="ContinuousFairness needs sensitive_features"):
        ContinuousFairness().rerank([1, 2])
    data = as_ranking_data(None, qid=[0, 0], sensitive_features=list("ab"))
    with pytest.raises(DataError, match="ContinuousFairness needs scores"):
        ContinuousFairness()(Ranking.from_positions(data, [1, 2]))


def test_the_table_says_what_held_before():
    apart = ContinuousFairness().rerank([9, 8, 7, 3, 2, 1], sensitive_features=list("mmmfff"))
    assert apart.summary().to_dict()["before"][0] == 0.0
    assert apart.summary().to_dict()["after"][0] == 1.0
    mixed = ContinuousFairness({"m": 1.0}).rerank([9, 8, 3, 2], sensitive_features=list("mmff"))
    assert mixed.summary().to_dict()["before"][0] == 1.0  # one group alone is like itself


def test_a_cutoff_shows_the_first_of_the_moved():
    score, groups = [8, 6, 4, 2], list("mmff")
    result = ContinuousFairness(k=3).rerank(score, sensitive_features=groups)
    assert result.score.tolist() == [6.0, 4.0, 6.0, 4.0]
    assert result.position.tolist() == [1, 3, 1, 0]  # rows 1 and 3 are tied at place 3: row 1 is
    assert result.last.tolist() == [2, 3, 2, 0]
    assert result.order().tolist() == [0, 2, 1]
    assert result.holds
    assert result.price.score_loss == pytest.approx(0.0)
    again = Ranking.from_positions(result.data, result.position)
    assert again.last.tolist() == result.last.tolist()
    whole = ContinuousFairness(k=5).rerank(score, sensitive_features=groups)
    assert len(whole.order()) == 4
