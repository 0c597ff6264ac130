"""RankBoost: factorised weights against enumerated pairs, round by round, for all costs."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from equirank.costs import PairCost
from equirank.rankers import RankBoost

from .boosting_twins import all_pairs, rank_boost


@dataclass(frozen=True, eq=False)
class Cells(PairCost):
    """Cells and costs as given, for tests."""

    cells: np.ndarray
    matrix: np.ndarray

    def blocks(self, data):
        rows = np.arange(data.n_rows) if data.rows is None else data.rows
        return self.cells[rows], self.matrix


@dataclass(frozen=True, eq=False)
class EqualGrades(Cells):
    """Counts pairs of equal grades as well."""

    equal_grades: ClassVar = True


@dataclass(frozen=True, eq=False)
class OnlyPairs(Cells):
    """The same costs, but not told as blocks: pairs must be listed."""

    def blocks(self, data):
        return None

    def pairs(self, data, first, second):
        rows = np.arange(data.n_rows) if data.rows is None else data.rows
        return self.matrix[self.cells[rows[first]], self.cells[rows[second]]]


def sample(seed, n=40, features=4, grades=4, queries=3, lost=0.0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, features)), 1)
    y = rng.integers(0, grades, size=n).astype(float)
    X[:, 0] += 0.4 * y
    X[:, 1] -= 0.3 * y
    X = np.round(X, 1)
    X[:, 2] = X[:, 0]
    X[rng.random(X.shape) < lost] = np.nan
    return X, y, rng.integers(0, queries, size=n), rng.uniform(0.5, 3.0, size=n), rng


def close(fitted, history, X, tolerance=1e-10):
    """Compare every round: the stump, alpha, errors, Z, the bound, scores and pair weights."""
    curve = fitted.learning_curve_
    assert len(curve) == len(history) > 1
    for at, twin in enumerate(history):
        assert fitted.feature_[at] == twin["feature"]
        assert fitted.threshold_[at] == pytest.approx(twin["threshold"], abs=1e-12)
        for name, key in [("alpha", "alpha"), ("r", "r"), ("Z", "Z"), ("E", "E")]:
            assert curve[name][at] == pytest.approx(twin[key], abs=tolerance, rel=0)
        if not np.isnan(curve["e_plus"][at]):
            assert curve["e_plus"][at] == pytest.approx(twin["plus"], abs=tolerance, rel=0)
            assert curve["e_minus"][at] == pytest.approx(twin["minus"], abs=tolerance, rel=0)
            tied = 1 - twin["plus"] - twin["minus"]
            assert curve["e_zero"][at] == pytest.approx(tied, abs=tolerance, rel=0)
        assert twin["R1"] <= curve["E"][at] + 1e-12
    for scores, twin in zip(fitted.staged_predict(X), history, strict=True):
        assert np.allclose(scores, twin["score"], atol=tolerance, rtol=0)


COMBINE = {
    "product": lambda c, a, b: c[a] * c[b],
    "sum": lambda c, a, b: c[a] + c[b],
    "mean": lambda c, a, b: (c[a] + c[b]) / 2,
}


@pytest.mark.slow
@pytest.mark.parametrize("alpha", ["discrete", "continuous"])
@pytest.mark.parametrize("combination", ["product", "sum", "mean", None])
@pytest.mark.parametrize("seed", range(3))
def test_factorised_is_enumerated_with_item_costs(alpha, combination, seed):
    X, y, qid, cost, _ = sample(seed)
    pairs = all_pairs(y, qid)
    costs = [1.0 if combination is None else COMBINE[combination](cost, a, b) for a, b in pairs]
    given = {} if combination is None else {"cost": cost}
    model = RankBoost(15, alpha=alpha, cost_combination=combination or "product", max_bins=None)
    close(model.fit(X, y, qid=qid, **given), rank_boost(X, pairs, costs, 15, alpha=alpha), X)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Cells, OnlyPairs])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("combination", ["product", "sum", None])
@pytest.mark.parametrize("seed", range(2))
def test_block_costs_are_enumerated_pairs(kind, signed, combination, seed):
    X, y, qid, cost, rng = sample(10 + seed)
    cells = rng.integers(0, 3, size=len(y)).astype(np.int32)
    matrix = rng.uniform(0.2, 3.0, size=(3, 3))
    matrix[0, 1] = 0.0
    if signed:
        matrix[1, 2], matrix[2, 0] = -1.5, -0.3
    pairs = all_pairs(y, qid)
    costs = [
        matrix[cells[a], cells[b]]
        * (1 if combination is None else COMBINE[combination](cost, a, b))
        for a, b in pairs
    ]
    given = {} if combination is None else {"cost": cost}
    model = RankBoost(
        12, pair_cost=kind(cells, matrix), cost_combination=combination or "product",
        dtype="float64",
    )  # fmt: skip
    close(model.fit(X, y, qid=qid, **given), rank_boost(X, pairs, costs, 12), X)


@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_equal_grades_count_where_asked(seed):
    X, y, qid, _, rng = sample(20 + seed)
    cells = rng.integers(0, 2, size=len(y)).astype(np.int32)
    matrix = np.array([[1.0, 0.5], [-0.75, 1.0]])
    pairs = [
        (a, b)
        for a in range(len(y))
        for b in range(len(y))
        if qid[a] == qid[b] and (y[a] > y[b] or (y[a] == y[b] and cells[a] != cells[b]))
    ]
    costs = [matrix[cells[a], cells[b]] for a, b in pairs]
    model = RankBoost(12, pair_cost=EqualGrades(cells, matrix))
    close(model.fit(X, y, qid=qid), rank_boost(X, pairs, costs, 12), X)


@pytest.mark.parametrize("missing", ["learn", "abstain"])
@pytest.mark.parametrize("seed", range(3))
def test_missing_values_learn_a_side_or_abstain(missing, seed):
    X, y, qid, cost, _ = sample(30 + seed, lost=0.2)
    pairs = all_pairs(y, qid)
    costs = [cost[a] * cost[b] for a, b in pairs]
    model = RankBoost(15, missing=missing).fit(X, y, qid=qid, cost=cost)
    history = rank_boost(X, pairs, costs, 15, missing=missing)
    close(model, history, X)
    if missing == "learn":
        assert [twin["side"] for twin in history] == model.side_.tolist()


def test_query_weights_weigh_their_pairs():
    X, y, qid, _, _ = sample(40)
    weight = np.array([1.0, 3.0, 0.5])
    pairs = all_pairs(y, qid)
    model = RankBoost(10).fit(X, y, qid=qid, query_weight=weight[qid])
    close(model, rank_boost(X, pairs, [weight[qid[a]] for a, _ in pairs], 10), X)


@pytest.mark.parametrize("alpha", ["discrete", "continuous"])
def test_normalisers_keep_to_their_bounds_without_smoothing(alpha):
    X, y, qid, cost, _ = sample(50)
    curve = RankBoost(15, alpha=alpha, smoothing=0.0).fit(X, y, qid=qid, cost=cost).learning_curve_
    assert (curve["Z"] <= np.exp(-2 * (curve["r"] / 2) ** 2) + 1e-12).all()
    least = curve["e_zero"] + 2 * np.sqrt(curve["e_plus"] * curve["e_minus"])
    if alpha == "discrete":
        assert np.allclose(curve["Z"], least, atol=1e-12)
    else:
        assert (curve["Z"] >= least - 1e-12).all()
    assert np.allclose(np.cumprod(curve["Z"]), curve["E"], atol=1e-12)
