"""RankBoost+: against enumerated pairs, its loss, its alpha, repeated and dependent stumps."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.metrics import pair_loss
from equirank.rankers import RankBoostPlus

from .boosting_twins import all_pairs, independent, rank_boost_plus, stumps, tie_loss
from .test_rank_boost import COMBINE, Cells, EqualGrades, close, sample


@pytest.mark.slow
@pytest.mark.parametrize("combination", ["product", "sum", "mean", None])
@pytest.mark.parametrize("seed", range(3))
def test_listed_pairs_are_enumerated_pairs(combination, seed):
    X, y, qid, cost, _ = sample(seed)
    pairs = all_pairs(y, qid)
    costs = [1.0 if combination is None else COMBINE[combination](cost, a, b) for a, b in pairs]
    given = {} if combination is None else {"cost": cost}
    model = RankBoostPlus(25, cost_combination=combination or "product", dtype="float64")
    history = rank_boost_plus(X, pairs, costs, 25)
    close(model.fit(X, y, qid=qid, **given), history, X)
    losses = model.learning_curve_["E"]
    assert (np.diff(losses) < 1e-12).all()


@pytest.mark.parametrize("seed", range(2))
def test_signed_block_costs_are_enumerated_pairs(seed):
    X, y, qid, _, rng = sample(10 + seed)
    cells = rng.integers(0, 3, size=len(y)).astype(np.int32)
    matrix = rng.uniform(0.2, 3.0, size=(3, 3))
    matrix[0, 1], matrix[1, 2], matrix[2, 0] = 0.0, -1.5, -0.3
    pairs = all_pairs(y, qid)
    costs = [matrix[cells[a], cells[b]] for a, b in pairs]
    model = RankBoostPlus(15, pair_cost=Cells(cells, matrix), dtype="float64")
    close(model.fit(X, y, qid=qid), rank_boost_plus(X, pairs, costs, 15), X)


def test_pairs_of_equal_grades_count_where_asked():
    X, y, qid, _, rng = sample(20)
    cells = rng.integers(0, 2, size=len(y)).astype(np.int32)
    matrix = np.array([[1.0, 0.5], [-0.75, 1.0]])
    pairs = [
        (a, b)
        for a in range(len(y))
        for b in range(len(y))
        if qid[a] == qid[b] and (y[a] > y[b] or (y[a] == y[b] and cells[a] != cells[b]))
    ]
    costs = [matrix[cells[a], cells[b]] for a, b in pairs]
    model = RankBoostPlus(12, pair_cost=EqualGrades(cells, matrix), dtype="float64")
    close(model.fit(X, y, qid=qid), rank_boost_plus(X, pairs, costs, 12), X)


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["learn", "abstain"])
@pytest.mark.parametrize("seed", range(3))
def test_missing_values(missing, seed):
    X, y, qid, _, _ = sample(30 + seed, lost=0.2)
    pairs = all_pairs(y, qid)
    model = RankBoostPlus(15, missing=missing, dtype="float64").fit(X, y, qid=qid)
    history = rank_boost_plus(X, pairs, np.ones(len(pairs)), 15, missing=missing)
    close(model, history, X)
    if missing == "learn":
        assert [twin["side"] for twin in history] == model.side_.tolist()


@pytest.mark.slow
def test_a_stump_chosen_again_has_one_weight():
    X, y, qid, _, _ = sample(3, features=3, n=30)
    pairs = all_pairs(y, qid)
    history = rank_boost_plus(X, pairs, np.ones(len(pairs)), 120)
    assert any(twin["again"] for twin in history)
    model = RankBoostPlus(120, dtype="float64").fit(X, y, qid=qid)
    close(model, history, X, tolerance=1e-9)
    distinct = {(twin["feature"], twin["threshold"]) for twin in history}
    assert len(model.rankers_) == len(distinct) < len(history)


@pytest.mark.slow
def test_alpha_minimises_the_loss_along_its_direction():
    X, y, qid, _, _ = sample(5, features=3, n=30)
    pairs = all_pairs(y, qid)
    a, b = np.array(pairs).T
    cost = np.full(len(a), 1 / len(a))
    model = RankBoostPlus(80, smoothing=0.0, dtype="float64").fit(X, y, qid=qid)
    history = rank_boost_plus(X, pairs, cost, 80, smooth=0.0)
    assert any(twin["again"] for twin in history)
    weights = {}
    for at in range(model.n_estimators_):
        key = (int(model.feature_[at]), float(model.threshold_[at]))
        weights[key] = weights.get(key, 0.0) + float(model.alpha_[at])
        outputs = [(X[:, f] > t).astype(float) for f, t in weights]
        best = tie_loss(outputs, list(weights.values()), a, b, cost)
        for step in (-1e-3, 1e-3):
            moved = weights | {key: weights[key] + step}
            assert tie_loss(outputs, list(moved.values()), a, b, cost) > best
        assert model.learning_curve_["E"][at] == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize("seed", range(40))
def test_loss_and_error_order_first_rankers_alike(seed):
    rng = np.random.default_rng(seed)
    y, h = rng.integers(0, 3, size=12), rng.integers(0, 2, size=(2, 12)).astype(float)
    pairs = np.array(all_pairs(y, np.zeros(12)))
    if len(pairs) == 0:
        return
    a, b = pairs.T
    cost = rng.random(len(a))
    cost /= cost.sum()
    values = []
    for output in h:
        gain = output[a] - output[b]
        plus, minus, tied = cost[gain > 0].sum(), cost[gain < 0].sum(), cost[gain == 0].sum()
        error = min(minus + tied / 2, plus + tied / 2)
        alpha = 0.5 * np.log((plus + tied / 2 + 1e-15) / (minus + tied / 2 + 1e-15))
        values.append((tie_loss([output], [alpha], a, b, cost), error))
    (loss, error), (other_loss, other_error) = values
    if abs(error - other_error) > 1e-9:
        assert (loss < other_loss) == (error < other_error)


def test_dependent_stumps_are_left_out():
    X, y, qid, _, _ = sample(6)
    X[:, 3] = -X[:, 0]
    every = RankBoostPlus(60, independence=None).fit(X, y, qid=qid)
    once = RankBoostPlus(60).fit(X, y, qid=qid)
    assert set(once.feature_.tolist()) == {0, 1}
    assert len(independent(X, "learn")) < len(stumps(X, "learn"))
    pairs = all_pairs(y, qid)
    loose = rank_boost_plus(X, pairs, np.ones(len(pairs)), 60, dedupe=False)
    exact = RankBoostPlus(60, independence=None, dtype="float64").fit(X, y, qid=qid)
    close(exact, loose, X, tolerance=1e-8)
    assert every.n_estimators_ > 1


def test_strict_keeps_outputs_independent():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(12, 6)).astype(float)
    X[:, 5] = 1 - X[:, 0] * 1.0
    y = rng.integers(0, 3, size=12)
    loose = RankBoostPlus(200).fit(X, y)
    strict = RankBoostPlus(200, independence="strict").fit(X, y)

    def rank_and_size(model):
        table = np.array(
            sorted(
                {(int(f), float(t)) for f, t in zip(model.feature_, model.threshold_, strict=True)}
            )
        )
        outputs = np.array([X[:, int(f)] > t for f, t in table], dtype=float)
        return np.linalg.matrix_rank(outputs - outputs.mean(axis=1, keepdims=True)), len(table)

    rank, size = rank_and_size(strict)
    assert rank == size
    X4 = np.column_stack([X[:, :2], X[:, 0] * X[:, 1], X[:, 0] * (1 - X[:, 1])])
    assert loose.n_estimators_ > 0
    both = RankBoostPlus(200, independence="strict", dtype="float64").fit(X4, y)
    chosen = set(both.feature_.tolist())
    assert not {0, 2, 3} <= chosen


def test_single_precision_is_close_and_the_default():
    X, y, qid, cost, _ = sample(8, n=80)
    single = RankBoostPlus(10).fit(X, y, qid=qid, cost=cost)
    double = RankBoostPlus(10, dtype="float64").fit(X, y, qid=qid, cost=cost)
    assert single.dtype == "float32"
    assert np.allclose(single.predict(X), double.predict(X), atol=1e-4)


def enumerated_e2(model, X, pairs, costs):
    """E2 of listed pairs from the table of rankers; a pair of negative cost counts reversed."""
    weights = {}
    for at in range(model.n_estimators_):
        key = (int(model.feature_[at]), float(model.threshold_[at]), int(model.side_[at]))
        weights[key] = weights.get(key, 0.0) + float(model.alpha_[at])
    outputs = [
        np.where(np.isnan(X[:, f]), 0.5 if side == 2 else side, X[:, f] > t)
        for f, t, side in weights
    ]
    costs = np.array(costs, dtype=float)
    a, b = np.where(costs < 0, np.array(pairs)[:, ::-1].T, np.array(pairs).T)
    shares = np.abs(costs) / np.abs(costs).sum()
    return tie_loss(outputs, list(weights.values()), a, b, shares)


@pytest.mark.parametrize("missing", ["learn", "abstain"])
def test_e2_of_other_data_is_that_of_enumerated_pairs(missing):
    X, y, qid, cost, _ = sample(40, lost=0.2)
    other, graded, lists, costly, rng = sample(41, lost=0.2)
    cells = rng.integers(0, 2, size=len(y)).astype(np.int32)
    matrix = np.array([[1.0, 0.0], [-0.75, 2.0]])
    how = {"missing": missing, "dtype": "float64", "pair_cost": Cells(cells, matrix)}
    model = RankBoostPlus(15, **how).fit(X, y, qid=qid, cost=cost)
    found = model.e2(other, graded, qid=lists, cost=costly)
    pairs = all_pairs(graded, lists)
    costs = [matrix[cells[a], cells[b]] * costly[a] * costly[b] for a, b in pairs]
    assert found["E2"] == pytest.approx(enumerated_e2(model, other, pairs, np.ones(len(pairs))))
    assert found["cost_E2"] == pytest.approx(enumerated_e2(model, other, pairs, costs))
    assert abs(found["E2"] - found["cost_E2"]) > 1e-3
    assert model.e2(X, y, qid=qid, cost=cost)["cost_E2"] == pytest.approx(
        model.learning_curve_["E"][-1]
    )


def test_e2_bounds_the_share_of_misordered_pairs_and_is_no_function_of_the_scores():
    X, y, _, cost, _ = sample(42)
    model = RankBoostPlus(12, dtype="float64").fit(X, y, cost=cost)
    score = model.predict(X)
    found = model.e2(X, y, cost=cost)
    assert found["E2"] >= pair_loss(y, score, kind="R1")
    assert found["cost_E2"] >= pair_loss(y, score, kind="R1", cost=cost)
    split = RankBoostPlus(12, dtype="float64").fit(X, y, cost=cost)
    split.alpha_ = np.append(split.alpha_, [5.0, 5.0])  # a step up and the same step down
    split.feature_ = np.append(split.feature_, [0, 0])
    split.threshold_ = np.append(split.threshold_, [0.0, 1e-9])
    split.side_ = np.append(split.side_, [0, 0])
    split.alpha_[-1] = -5.0
    assert np.allclose(split.predict(X), score)
    assert split.e2(X, y)["E2"] > 10 * found["E2"]


def test_e2_weights_queries_and_refuses_what_it_cannot_use():
    X, y, qid, _, _ = sample(43)
    model = RankBoostPlus(5, dtype="float64").fit(X, y, qid=qid)
    same = model.e2(X, y, qid=qid)
    assert same["E2"] == same["cost_E2"]
    only = np.unique(qid)[0]
    weight = np.where(qid == only, 1.0, 1e-12)
    part = model.e2(X[qid == only], y[qid == only], qid=0)
    assert model.e2(X, y, qid=qid, query_weight=weight)["E2"] == pytest.approx(part["E2"])
    assert np.isnan(model.e2(X, np.ones(len(y)), qid=0)["E2"])
    with pytest.raises(DataError, match="y must be an array to compute E2"):
        model.e2(X, qid=qid)
    with pytest.raises(DataError, match="cost must be None beside a RankingData"):
        model.e2(as_ranking_data(X, y), cost=np.ones(len(y)))
