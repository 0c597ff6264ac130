from math import dist, isnan, nan

import numpy as np
import pytest
from scipy.sparse import csr_array

from equirank import DataError, EquirankWarning, Ranking, as_ranking_data
from equirank.metrics import Consistency, consistency
from equirank.testing import check_metric

from ..cases import same


def scaled(score):
    low, high = min(score), max(score)
    return [(s - low) / (high - low) if high > low else 0.0 for s in score]


def neighbours_mean(X, s, i, k):
    """Mean score of the k nearest; those as far away as the k-th share what is left."""
    others = sorted((dist(X[i], X[j]), s[j]) for j in range(len(s)) if j != i)
    k = min(k, len(others))
    radius = others[k - 1][0]
    closer = [score for d, score in others if d < radius * (1 - 1e-9)]
    tied = [score for d, score in others if abs(d - radius) <= radius * 1e-9]
    return (sum(closer) + (k - len(closer)) * sum(tied) / len(tied)) / k


def twin(score, X, k):
    if len(score) < 2:
        return nan
    s = scaled(score)
    return 1 - sum(abs(s[i] - neighbours_mean(X, s, i, k)) for i in range(len(s))) / len(s)


def lists(n_lists, seed=0):
    """Return lists of scores and features: copies, lattices, general points, one item."""
    rng = np.random.default_rng(seed)
    for number in range(n_lists):
        n, d = int(rng.integers(1, 12)), int(rng.integers(1, 4))
        if number % 3 == 0:
            X = rng.integers(0, 3, (n, d)).astype(float)
        elif number % 3 == 1:
            X = rng.normal(size=(n, d))
        else:
            X = rng.normal(size=(3, d))[rng.integers(0, 3, n)]
        score = rng.integers(0, 4, n) if number % 2 else rng.normal(size=n)
        yield score.astype(float), X


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_agrees_with_twin(k):
    for d in (1, 2, 3):
        some = [(s, X) for s, X in lists(900, seed=k) if X.shape[1] == d]
        wanted = [twin(s.tolist(), X.tolist(), k) for s, X in some]
        qid = np.repeat(np.arange(len(some)), [len(s) for s, _ in some])
        score, X = np.concatenate([s for s, _ in some]), np.concatenate([x for _, x in some])
        got = consistency(score, X, n_neighbors=k, qid=qid, per_query=True)
        same(got, wanted)
        mixed = np.random.default_rng(0).permutation(len(qid))
        got = consistency(score[mixed], X[mixed], n_neighbors=k, qid=qid[mixed], per_query=True)
        first = list(dict.fromkeys(qid[mixed].tolist()))
        same(got, [wanted[q] for q in first])


@pytest.mark.slow
def test_long_lists_with_many_equal_distances():
    rng = np.random.default_rng(1)
    X = np.array([(a, b) for a in range(14) for b in range(14)], dtype=float)
    for k in (1, 3, 5, 10):
        score = rng.random(len(X))
        assert consistency(score, X, n_neighbors=k) == pytest.approx(
            twin(score.tolist(), X.tolist(), k)
        )


@pytest.mark.slow
@pytest.mark.parametrize("metric", [Consistency(), Consistency(n_neighbors=1)])
def test_keeps_the_promises(metric):
    # it reads scores: neither a monotone transform nor other scores leave it as it is
    check_metric(metric, skip=("declarations", "needs", "scores", "draws"))


def test_by_hand():
    X = [[0.0], [1.0], [3.0]]
    # scaled scores 1, 0.5, 0; nearest: of 0 is 1, of 1 is 0, of 3 is 1
    assert consistency([10, 6, 2], X, n_neighbors=1) == pytest.approx(1 - (0.5 + 0.5 + 0.5) / 3)
    # two neighbours: all others
    wanted = 1 - (abs(1 - 0.25) + abs(0.5 - 0.5) + abs(0 - 0.75)) / 3
    assert consistency([10, 6, 2], X, n_neighbors=2) == pytest.approx(wanted)
    assert consistency([10, 6, 2], X) == pytest.approx(wanted)


def test_an_item_is_not_its_own_neighbour():
    assert consistency([1, 0], [[0.0], [0.0]], n_neighbors=1) == 0.0


def test_scores_are_scaled_in_their_query():
    X = [[0.0], [1.0], [3.0]] * 2
    score = [10, 6, 2, 0.010, 0.006, 0.002]
    values = consistency(score, X, qid=[1] * 3 + [2] * 3, n_neighbors=1, per_query=True)
    same(values, [0.5, 0.5])


def test_equal_scores_are_consistent():
    assert consistency([3, 3, 3], [[0.0], [5.0], [9.0]]) == 1.0


def test_undefined_for_a_single_item():
    with pytest.warns(EquirankWarning, match="single item"):
        assert isnan(consistency([1], [[1.0]]))


def test_better_and_worse():
    X = [[float(i)] for i in range(8)]
    smooth, jumpy = list(range(8)), [0, 7, 0, 7, 0, 7, 0, 7]
    half = [0, 1, 2, 3, 7, 4, 6, 5]
    values = [consistency(score, X, n_neighbors=2) for score in (smooth, half, jumpy)]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[1] > values[2]
    assert Consistency.direction == "higher"


def test_sparse_features_and_single_precision():
    rng = np.random.default_rng(2)
    X, score = rng.integers(0, 3, (40, 5)).astype(float), rng.random(40)
    wanted = consistency(score, X)
    assert consistency(score, csr_array(X)) == pytest.approx(wanted)
    assert consistency(score, X.astype(np.float32)) == pytest.approx(wanted)


def test_minus_zero_is_zero():
    X = [[0.0], [-0.0], [1.0]]
    assert consistency([1, 1, 0], X, n_neighbors=1) == pytest.approx(1 - 1 / 3)


def test_no_features_at_all():
    assert consistency([1, 0, 0], np.zeros((3, 0)), n_neighbors=2) == pytest.approx(
        1 - (1 + 0.5 + 0.5) / 3
    )


def test_draws_do_not_matter():
    rng = np.random.default_rng(3)
    data = as_ranking_data(rng.normal(size=(6, 2)), score=rng.random(6))
    table = np.stack([rng.permutation(6) + 1 for _ in range(3)], axis=1)
    policy = Ranking.from_positions(data, table, weights=[1, 2, 3])
    wanted = Consistency().per_query(data.ranking()).value
    same(Consistency().per_query(policy).value, wanted)


def test_needs_scores_and_features():
    bare = as_ranking_data(y=[1, 2], score=[1, 2])
    with pytest.raises(DataError, match=r"Consistency needs features \(X\)"):
        Consistency().per_query(bare.ranking())
    placed = Ranking.from_positions(as_ranking_data([[1.0], [2.0]]), [1, 2])
    with pytest.raises(DataError, match=r"Consistency needs scores \(score\)"):
        Consistency().per_query(placed)
    with pytest.raises(DataError, match=r"X must be finite.*got nan in row 2, column 0"):
        consistency([1, 2, 3], [[1.0], [2.0], [np.nan]], qid=[1, 2, 1])
    with pytest.raises(DataError, match="n_neighbors of Consistency"):
        consistency([1, 2], [[1.0], [2.0]], n_neighbors=0)


def test_scores_near_the_largest_number():
    X, most = [[0.0], [0.1], [5.0], [5.1]], 1.7e308
    assert consistency([most, most, -most, -most], X, n_neighbors=1) == 1
    assert consistency([most, -most, most, -most], X, n_neighbors=1) == 0
