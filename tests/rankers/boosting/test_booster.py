"""What the boosters share: cost stages, equal costs, stopping, saving, threads, pair lists."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from equirank import DataError, EquirankWarning, as_ranking_data, load
from equirank.costs import ClassPairCost, ListedPairCost, ProtectedPairCost
from equirank.datasets import make_ranking
from equirank.metrics import NDCG, pair_loss
from equirank.rankers import BipartiteRankBoost, RankBoost, RankBoostPlus
from equirank.rankers.boosting.factorised_weights import FactorisedWeights
from equirank.rankers.feature_bins import Workers, bin_features
from equirank.rankers.training_pairs import PairOptions, PairWeights, Stump, cost_rule

from .boosting_twins import all_pairs, rank_boost
from .test_rank_boost import COMBINE, Cells, OnlyPairs, close, sample

KINDS = [RankBoost, RankBoostPlus, BipartiteRankBoost]
ONE = Workers(1)


def same(first, second):
    """The same model, bit for bit."""
    for name in ("feature_", "threshold_", "side_", "alpha_"):
        assert np.array_equal(getattr(first, name), getattr(second, name))


# costs that change nothing, and where costs enter


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["initial", "rounds", "post"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_equal_costs_give_the_plain_model_bit_for_bit(kind, stage):
    X, y, qid, _, _ = sample(1)
    plain = kind(12).fit(X, y, qid=qid)
    same(plain, kind(12, cost_stage=stage).fit(X, y, qid=qid, cost=np.full(len(y), 0.3)))
    table = ClassPairCost(np.full((4, 4), 2.5), classes=np.unique(y))
    if kind is not BipartiteRankBoost:
        same(plain, kind(12, cost_stage=stage, pair_cost=table).fit(X, y, qid=qid))
    listed = ListedPairCost([0], [1], [0.7], other=0.7)
    if kind is RankBoost:
        same(plain, kind(12, cost_stage=stage, pair_cost=listed).fit(X, y, qid=qid))


def ensembles(X, rng, rounds=5):
    bins = bin_features(X, np.arange(len(X)), None, 0, ONE)
    for _ in range(3):
        chosen = []
        for _ in range(rounds):
            feature = int(rng.integers(X.shape[1]))
            cut = int(rng.integers(bins.n_edges[feature]))
            chosen.append((Stump(feature, cut), float(rng.normal())))
        yield chosen


@pytest.mark.parametrize("combination", ["product", "sum"])
@pytest.mark.parametrize("listed", [False, True])
def test_the_stages_lead_to_one_loss_up_to_a_constant(combination, listed):
    X, y, qid, cost, rng = sample(2)
    data = as_ranking_data(X, y, qid=qid, cost=cost)
    cells = rng.integers(0, 2, size=len(y)).astype(np.int32)
    rule = cost_rule(data, combination, Cells(cells, np.array([[1.0, 3.0], [0.5, 2.0]])))
    options = PairOptions(10**9, None, "float64", 0)
    constants = []
    for chosen in ensembles(X, rng):
        totals = []
        for stage in ("initial", "rounds"):
            if stage == "rounds" and combination == "sum" and not listed:
                continue  # a root of a sum is no sum: this needs the pair list
            weights = (
                PairWeights(data, rule, options, ONE)
                if listed
                else FactorisedWeights(data, rule, ONE)
            )
            bins = bin_features(np.asarray(data.X), weights.rows, None, 0, ONE)
            for at, (stump, alpha) in enumerate(chosen):
                if stage == "rounds":
                    weights.set_costs(rule.to_power((at + 1) / len(chosen)))
                weights.add(bins, stump, alpha)
            totals.append(weights.log_total)
        score = np.zeros(len(y))
        for stump, alpha in chosen:
            cut = np.unique(X[:, stump.feature])[stump.cut]
            score += alpha * (X[:, stump.feature] > cut)
        loss = sum(
            (COMBINE[combination](cost, a, b) if combination == "sum" else cost[a] * cost[b])
            * [[1.0, 3.0], [0.5, 2.0]][cells[a]][cells[b]]
            * np.exp(score[b] - score[a])
            for a, b in all_pairs(y, qid)
        )
        totals.append(np.log(loss))
        constants.append(np.diff(totals))
    assert np.ptp(np.array(constants), axis=0).max() < 1e-9


@pytest.mark.parametrize("combination", ["product", "sum", "mean"])
def test_costs_that_enter_round_by_round(combination):
    X, y, qid, cost, _ = sample(3)
    pairs = all_pairs(y, qid)
    full = np.array([COMBINE[combination](cost, a, b) for a, b in pairs])
    a, b = np.array(pairs).T
    model = RankBoost(6, cost_stage="rounds", cost_combination=combination, dtype="float64")
    model.fit(X, y, qid=qid, cost=cost)
    score = np.zeros(len(y))
    for at in range(model.n_estimators_):
        part = full ** ((at + 1) / 6)
        D = part * np.exp(score[b] - score[a])
        D /= D.sum()
        h = (X[:, model.feature_[at]] > model.threshold_[at]).astype(float)
        gain = h[a] - h[b]
        curve = {name: model.learning_curve_[name][at] for name in ("e_plus", "e_minus", "E", "r")}
        assert curve["e_plus"] == pytest.approx(D[gain > 0].sum(), abs=1e-10)
        assert curve["e_minus"] == pytest.approx(D[gain < 0].sum(), abs=1e-10)
        score += model.alpha_[at] * h
        loss = part @ np.exp(score[b] - score[a]) / part.sum()
        assert curve["E"] == pytest.approx(loss, abs=1e-10)
        assert part[score[a] <= score[b]].sum() / part.sum() <= loss
        best = max(
            abs(D @ ((X[a, f] > t) * 1.0 - (X[b, f] > t)))
            for f in range(X.shape[1])
            for t in np.unique(X[:, f])
        )
        assert abs(curve["r"]) == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize("kind", [RankBoost, RankBoostPlus])
@pytest.mark.parametrize("cost_kind", [Cells, OnlyPairs])
def test_post_keeps_the_rankers_and_fits_their_weights_again(kind, cost_kind):
    X, y, qid, _, rng = sample(4)
    cells = rng.integers(0, 2, size=len(y)).astype(np.int32)
    cost = cost_kind(cells, np.array([[1.0, 6.0], [0.2, 2.0]]))
    blind = kind(8, dtype="float64").fit(X, y, qid=qid)
    post = kind(8, cost_stage="post", pair_cost=cost, dtype="float64").fit(X, y, qid=qid)
    assert np.array_equal(blind.feature_, post.feature_)
    assert np.array_equal(blind.threshold_, post.threshold_)
    assert np.abs(blind.alpha_ - post.alpha_).max() > 1e-3
    pairs = np.array(all_pairs(y, qid))
    D = cost.matrix[cells[pairs[:, 0]], cells[pairs[:, 1]]]
    D = D / D.sum()
    h = (X[:, post.feature_[0]] > post.threshold_[0]).astype(float)
    gain = h[pairs[:, 0]] - h[pairs[:, 1]]
    assert post.learning_curve_["e_plus"][0] == pytest.approx(D[gain > 0].sum(), abs=1e-10)


# two classes


def test_bipartite_is_rank_boost_on_all_pairs():
    X, y, qid, cost, _ = sample(5)
    positive = (y >= 2).astype(float)
    for given in ({}, {"cost": cost}):
        two = BipartiteRankBoost(15, threshold=2.0).fit(X, y, **given)
        one = RankBoost(15).fit(X, positive, **given)
        same(two, one)
        same(BipartiteRankBoost(15).fit(X, positive + 1.0, **given), one)
        blind = BipartiteRankBoost(15, threshold=2.0).fit(X, y, qid=qid, **given)
        assert np.allclose(blind.predict(X), two.predict(X), atol=1e-12)
        pairs = all_pairs(positive, np.zeros(len(y)))
        costs = [cost[a] * cost[b] if given else 1.0 for a, b in pairs]
        close(two, rank_boost(X, pairs, costs, 15), X)


def test_the_two_normalisers_multiply_to_one():
    X, y, _, cost, _ = sample(6, grades=2)
    model = BipartiteRankBoost(10).fit(X, y, cost=cost)
    plus, minus = cost * (y == 1), cost * (y == 0)
    plus, minus = plus / plus.sum(), minus / minus.sum()
    for at in range(model.n_estimators_):
        h = (X[:, model.feature_[at]] > model.threshold_[at]).astype(float)
        e_plus = plus[h == 1].sum() * minus[h == 0].sum()
        assert model.learning_curve_["e_plus"][at] == pytest.approx(e_plus, abs=1e-10)
        plus = plus * np.exp(-model.alpha_[at] * h)
        minus = minus * np.exp(model.alpha_[at] * h)
        Z = plus.sum() * minus.sum()
        assert model.learning_curve_["Z"][at] == pytest.approx(Z, abs=1e-10)
        plus, minus = plus / plus.sum(), minus / minus.sum()


# numbers


def test_the_three_parties():
    order = ["T1", "L2", "D3", "T4", "T5", "T6", "D7", "L8", "T9"]
    X = np.array([[n in s for s in ({"L2", "L8"}, {"D3", "D7"}, {"T1", "T4", "T5", "T6"})]
                  for n in order], dtype=float)  # fmt: skip
    data = as_ranking_data(X, np.arange(9)[::-1])
    weights = FactorisedWeights(data, cost_rule(data, "product", None), ONE)
    bins = bin_features(X, weights.rows, None, 0, ONE)
    wrong = [weights.sides(bins, Stump(feature, 0))[1] * 36 for feature in range(3)]
    assert np.allclose(wrong, [7, 7, 6])


@pytest.mark.parametrize("size", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("lists", [1, 7])
def test_large_scores_neither_overflow_nor_vanish(size, lists):
    rng = np.random.default_rng(0)
    n = 60
    y, qid = rng.integers(0, 4, size=n), rng.integers(0, lists, size=n)
    data = as_ranking_data(rng.normal(size=(n, 1)), y, qid=qid)
    weights = FactorisedWeights(data, cost_rule(data, "product", None), ONE)
    score = rng.normal(size=n)
    score *= size / np.abs(score).max()
    for sign in (1.0, -1.0, 0.0):
        shift = sign * size * y / 3.0 if sign else 0.0
        f = score / 10 + shift if sign else score
        weights.score[:] = f[np.arange(n) if data.rows is None else data.rows][weights.rows]
        weights.refresh()
        pairs = np.array(all_pairs(y, qid))
        margin = f[pairs[:, 1]] - f[pairs[:, 0]]
        D = np.exp(margin - margin.max())
        total = np.log(D.sum()) + margin.max()
        D /= D.sum()
        potential = np.zeros(n)
        np.add.at(potential, pairs[:, 0], D)
        np.add.at(potential, pairs[:, 1], -D)
        got = np.empty(n)
        got[weights.rows] = weights.potential
        assert np.allclose(data.to_original(got), potential, atol=1e-10)
        assert weights.log_total == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("kind", [RankBoost, RankBoostPlus])
def test_the_scale_of_costs_does_not_matter(kind, size):
    X, y, qid, cost, rng = sample(16)
    plain, scaled = (
        kind(6).fit(X, y, qid=qid, cost=cost),
        kind(6).fit(X, y, qid=qid, cost=cost * size),
    )
    assert np.allclose(plain.alpha_, scaled.alpha_, atol=1e-6)
    cells = rng.integers(0, 2, size=len(y)).astype(np.int32)
    matrix = np.array([[1.0, 3.0], [0.5, -2.0]])
    one, other = (kind(6, pair_cost=Cells(cells, matrix * k)).fit(X, y, qid=qid) for k in (1, size))
    assert np.allclose(one.alpha_, other.alpha_, atol=1e-6)


def test_sparse_features_in_ranking_data():
    X, y, qid, _, _ = sample(17)
    sparse = as_ranking_data(sp.csr_array(X), y, qid=qid)
    model = RankBoost(5).fit(sparse)
    same(model, RankBoost(5).fit(X, y, qid=qid))
    assert np.array_equal(model.predict(sparse), model.predict(X))


def test_a_perfect_stump_stops_training():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    model = RankBoost(50).fit(X, [0, 0, 1, 1])
    assert model.n_estimators_ == 1
    assert np.isfinite(model.alpha_).all()
    assert model.learning_curve_["R2"][0] == 0.0
    listed = RankBoost(50, pair_cost=ListedPairCost([2], [0], [3.0], other=1.0))
    assert listed.fit(X, [0, 0, 1, 1]).n_estimators_ == 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_nothing_to_learn_warns_and_scores_nothing(kind):
    with pytest.warns(EquirankWarning, match="no pair of unequal relevance"):
        model = kind(5).fit(np.ones((4, 2)), np.zeros(4))
    assert model.predict(np.ones((4, 2))).tolist() == [0.0] * 4
    assert len(model.learning_curve_) == len(model.rankers_) == 0
    assert model.feature_importances_.tolist() == [0.0, 0.0]
    assert kind(5).fit(np.ones((4, 2)), [0, 1, 0, 1]).n_estimators_ == 0


# weak rankers that are features


@pytest.mark.parametrize("missing", ["learn", "abstain"])
def test_features_as_weak_rankers(missing):
    X, y, qid, cost, _ = sample(7, lost=0.1)
    model = RankBoost(12, weak_ranker="feature", missing=missing).fit(X, y, qid=qid, cost=cost)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    pairs = np.array(all_pairs(y, qid))
    a, b = pairs.T
    D = cost[a] * cost[b]
    smooth = 0.5 / len(D)
    scaled = (X - low) / (high - low)
    sides = [0.5] if missing == "abstain" else [0.0, 1.0]
    weak = [np.where(np.isnan(scaled[:, f]), s, scaled[:, f]) for f in range(4) for s in sides]
    score = np.zeros(len(y))
    for at in range(model.n_estimators_):
        D = D / D.sum()
        r = np.array([D @ (h[a] - h[b]) for h in weak])
        best = int(np.flatnonzero(np.abs(r) >= np.abs(r).max() - 1e-10)[0])
        alpha = 0.5 * np.log((1 + r[best] + smooth) / (1 - r[best] + smooth))
        assert model.alpha_[at] == pytest.approx(alpha, abs=1e-10)
        assert model.feature_[at] == best // len(sides)
        score += alpha * weak[best]
        D = D * np.exp(-alpha * (weak[best][a] - weak[best][b]))
    assert np.allclose(model.predict(X), score)
    far = model.predict(np.full((1, 4), 1e9))
    assert far == pytest.approx(model.predict(np.nanmax(X, axis=0)[None]))
    assert set(model.rankers_["direction"].tolist()) <= {"rises", "falls"}


# pair lists


def test_too_many_pairs_say_how_many_and_how_much_memory():
    X, y, qid, _, _ = sample(8)
    count = len(all_pairs(y, qid))
    with pytest.raises(DataError, match=rf"max_pairs must be at least {count} .* GiB of memory"):
        RankBoostPlus(3, max_pairs=count - 1).fit(X, y, qid=qid)
    assert RankBoostPlus(3, max_pairs=count).fit(X, y, qid=qid).n_estimators_ == 3


def test_drawn_pairs_stand_for_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.clip(np.round(X[:, 0] + 1 + 0.5 * rng.normal(size=400)), 0, 3)
    every = RankBoostPlus(1, dtype="float64").fit(X, y, qid=0)
    options = PairOptions(10**9, 20_000, "float64", 5)
    data = as_ranking_data(X, y)
    rule = cost_rule(data, "product", None)
    weights = PairWeights(data, rule, options, ONE)
    assert weights.n_pairs == 20_000
    first = np.repeat(np.arange(400), np.diff(weights.starts))
    pairs = set(
        zip(weights.rows[first].tolist(), weights.rows[weights.second].tolist(), strict=True)
    )
    assert len(pairs) == 20_000
    assert all(y[a] > y[b] for a, b in pairs)
    bins = bin_features(X, weights.rows, 255, 0, ONE)
    some = weights.sides(bins, Stump(0, 128))
    whole = FactorisedWeights(data, rule, ONE).sides(
        bin_features(X, FactorisedWeights(data, rule, ONE).rows, 255, 0, ONE), Stump(0, 128)
    )
    assert np.allclose(some, whole, atol=0.02)
    drawn = RankBoostPlus(1, pair_sample=20_000, random_state=1).fit(X, y, qid=0)
    assert drawn.feature_[0] == every.feature_[0] == 0
    again = RankBoostPlus(1, pair_sample=20_000, random_state=1).fit(X, y, qid=0)
    same(drawn, again)


@pytest.mark.parametrize("kind", [RankBoost, RankBoostPlus])
def test_explicit_preferences_give_the_model_of_their_grades(kind):
    import pandas as pd

    X, y, _, _, _ = sample(9)
    pairs = np.array(all_pairs(y, np.zeros(len(y))))
    turned = pairs.copy()
    turned[::2] = turned[::2, ::-1]
    sign = np.where(np.arange(len(pairs)) % 2 == 0, -1.0, 1.0)
    model = kind(10, dtype="float64").fit_pairs(X, turned, sign)
    grades = kind(10, dtype="float64").fit(X, y)
    assert np.array_equal(model.feature_, grades.feature_)
    assert np.allclose(model.alpha_, grades.alpha_, atol=1e-9)
    weighted = kind(5, dtype="float64").fit_pairs(
        X, pairs, weight=1.0 + (np.arange(len(pairs)) % 3)
    )
    assert np.isfinite(weighted.predict(X)).all()
    round_trip = kind(20).fit_pairs(X, [[0, 1], [1, 2], [2, 0]])  # a circle
    assert np.isfinite(round_trip.predict(X)).all()
    same(kind(5).fit_pairs(pd.DataFrame(X), pairs), kind(5).fit_pairs(as_ranking_data(X), pairs))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"pairs": [[0, 1, 2]]}, "pairs must be row numbers of shape"),
        ({"pairs": [[0.0, 1.0]]}, "pairs must be row numbers of shape"),
        ({"pairs": np.empty((0, 2), dtype=int)}, "pairs must contain at least one pair"),
        ({"pairs": [[0, 1], [0, 99]]}, r"got \[0, 99\] in pair 1"),
        ({"pairs": [[1, 1]]}, r"two different rows from 0 to 3, got \[1, 1\]"),
        (
            {"pairs": [[0, 1]], "preference": [1, 2]},
            r"preference must have one value per pair \(1\)",
        ),
        ({"pairs": [[0, 1]], "weight": [-1.0]}, "weight must be a number >= 0, got -1.0 in pair 0"),
        ({"pairs": [[0, 1]], "preference": [0.0]}, "at least one pair of weight > 0"),
    ],
)
def test_bad_preferences_are_refused(given, sentence):
    with pytest.raises(DataError, match=sentence):
        RankBoost().fit_pairs(np.zeros((4, 2)), **given)


def test_preferences_take_no_pair_cost():
    with pytest.raises(DataError, match="pair_cost and validation and calibration must be None"):
        RankBoost(validation=0.5).fit_pairs(np.zeros((4, 2)), [[0, 1]])


# stopping on validation data

DATA = make_ranking(n_queries=40, n_items=20, random_state=0)


def test_training_stops_when_the_metric_does_not_improve():
    watched = make_ranking(n_queries=30, n_items=20, random_state=0)
    model = RankBoost(200, early_stopping=5, validation=watched.select(slice(20, 30)))
    model.fit(DATA.select(slice(0, 20)))
    values = model.learning_curve_["validation"]
    best = int(np.argmax(values))
    assert model.n_estimators_ == best + 1
    assert len(values) == min(200, best + 6) < 200
    held = watched.select(slice(20, 30))
    staged = list(model.staged_predict(held))
    metric = NDCG @ 10
    for at in (0, best):
        from equirank import Ranking

        value = metric.summarize(metric.per_query(Ranking.from_scores(held, staged[at])))[0]
        assert values[at] == pytest.approx(float(value))


def test_a_share_of_the_queries_is_held_back():
    model = RankBoost(10, validation=0.25, random_state=0).fit(DATA)
    same(model, RankBoost(10, validation=0.25, random_state=0).fit(DATA))
    assert model.n_estimators_ == 10
    assert np.isfinite(model.learning_curve_["validation"]).all()
    one_list = as_ranking_data(DATA.X, DATA.y)
    assert RankBoost(5, validation=0.2, early_stopping=2, metric="AUC").fit(one_list).n_estimators_


def test_a_lower_is_better_metric_over_groups():
    groups = np.where(np.asarray(DATA.X)[:, 0] > 0, "a", "b")
    model = RankBoost(
        30, validation=0.5, early_stopping=3, metric="ExposureGap", random_state=0
    ).fit(DATA.X, DATA.y, qid=DATA.query_of_rows(), sensitive_features=groups)
    values = model.learning_curve_["validation"]
    assert model.n_estimators_ == int(np.argmin(values)) + 1
    with pytest.raises(DataError, match="sensitive_features must be given"):
        RankBoost(5, validation=0.5, metric="ExposureGap").fit(as_ranking_data(DATA.X, DATA.y))


def test_stopping_needs_validation_data_that_fits():
    with pytest.raises(DataError, match="validation must be a share of the queries"):
        RankBoost(early_stopping=3).fit(DATA)
    other = as_ranking_data(np.ones((3, 2)), [0, 1, 2])
    with pytest.raises(DataError, match="validation of RankBoost must have the"):
        RankBoost(validation=other).fit(DATA)
    with pytest.raises(DataError, match="metric must be one metric, got 2"):
        RankBoost(validation=0.5, metric="NDCG@10, AUC").fit(DATA)


# what a fitted booster offers


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_staged_scores_end_in_the_prediction(kind):
    X, y, qid, _, rng = sample(12, lost=0.1)
    order = rng.permutation(len(y))
    model = kind(10).fit(X, y, qid=qid)
    stages = list(model.staged_predict(X[order], qid=qid[order]))
    assert len(stages) == model.n_estimators_
    assert np.allclose(stages[-1], model.predict(X)[order], atol=1e-12)


def test_the_recorded_error_is_the_pair_loss():
    X, y, qid, cost, _ = sample(13)
    model = RankBoost(8).fit(X, y, qid=qid, cost=cost)
    pairs = np.array(all_pairs(y, qid))
    a, b = pairs.T
    for at, scores in enumerate(model.staged_predict(X)):
        wrong = (scores[a] < scores[b]) + 0.5 * (scores[a] == scores[b])
        assert model.learning_curve_["R2"][at] == pytest.approx(wrong.mean(), abs=1e-12)
        weighted = np.average(wrong, weights=cost[a] * cost[b])
        assert model.learning_curve_["cost_R2"][at] == pytest.approx(weighted, abs=1e-12)
    one = RankBoost(3).fit(X, y)
    assert one.learning_curve_["R2"][-1] == pytest.approx(
        pair_loss(y, one.predict(X), kind="R2"), abs=1e-12
    )
    silent = RankBoost(3, record_errors=False).fit(X, y)
    assert np.isnan(silent.learning_curve_["R2"]).all()
    same(one, silent)


def test_the_recorded_error_with_signed_block_costs():
    X, y, qid, _, rng = sample(14)
    cells = rng.integers(0, 2, size=len(y)).astype(np.int32)
    matrix = np.array([[1.0, -0.5], [2.0, 0.3]])
    model = RankBoost(6, pair_cost=Cells(cells, matrix)).fit(X, y, qid=qid)
    pairs = np.array(all_pairs(y, qid))
    c = matrix[cells[pairs[:, 0]], cells[pairs[:, 1]]]
    a = np.where(c > 0, pairs[:, 0], pairs[:, 1])
    b = np.where(c > 0, pairs[:, 1], pairs[:, 0])
    for at, scores in enumerate(model.staged_predict(X)):
        wrong = (scores[a] < scores[b]) + 0.5 * (scores[a] == scores[b])
        expected = np.average(wrong, weights=np.abs(c))
        assert model.learning_curve_["cost_R2"][at] == pytest.approx(expected, abs=1e-12)


def test_the_ensemble_reads_as_a_table():
    import pandas as pd

    X = np.array([[0.0, 5.0], [1.0, 1.0], [2.0, 4.0], [3.0, 0.0], [4.0, 2.0]])
    frame = pd.DataFrame(X, columns=["age", "debt"])
    model = RankBoost(3, max_bins=None).fit(frame, [1, 2, 0, 3, 2])
    table = model.rankers_
    assert set(table["feature"].tolist()) <= {"age", "debt"}
    assert set(table["direction"].tolist()) <= {">", "<="}
    assert (np.diff(table["weight"]) <= 0).all()
    gained = np.zeros(5)
    for line in table:
        above = frame[line["feature"]].to_numpy() > line["threshold"]
        gained += line["weight"] * (above if line["direction"] == ">" else ~above)
    assert np.ptp(gained - model.predict(frame)) < 1e-12
    shares = model.feature_importances_
    assert shares.sum() == pytest.approx(1.0)
    by_hand = [table["weight"][table["feature"] == name].sum() for name in ("age", "debt")]
    assert np.allclose(shares, np.array(by_hand) / sum(by_hand))


@pytest.mark.parametrize("missing", ["learn", "abstain"])
def test_the_table_says_what_a_missing_value_gains(missing):
    X, y, qid, _, _ = sample(18, lost=0.3)
    model = RankBoost(12, missing=missing).fit(X, y, qid=qid)
    gained = np.zeros(len(X))
    for line in model.rankers_:
        column = X[:, line["feature"]]
        above = column > line["threshold"]
        hit = np.where(np.isnan(column), line["missing"], above == (line["direction"] == ">"))
        gained += line["weight"] * hit
    assert np.ptp(gained - model.predict(X)) < 1e-12
    assert {">", "<="} == set(model.rankers_["direction"].tolist())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_saved_and_loaded_it_is_the_same(kind, tmp_path):
    X, y, qid, cost, _ = sample(15, lost=0.1)
    groups = np.where(np.arange(len(y)) % 2, "f", "m")
    model = kind(
        6, pair_cost=ProtectedPairCost(2.0, "f"), metric=NDCG @ 5, validation=0.3, random_state=0
    ).fit(X, y, qid=qid, cost=cost, sensitive_features=groups)
    model.save(tmp_path / "model")
    back = load(tmp_path / "model")
    same(model, back)
    assert np.array_equal(back.predict(X), model.predict(X))
    assert back.learning_curve_.to_dict() == model.learning_curve_.to_dict()
    assert back.rankers_.to_dict() == model.rankers_.to_dict()
    assert repr(back.get_params()) == repr(model.get_params())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_threads_and_row_order_do_not_change_the_model(kind):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(3000, 5)), rng.integers(0, 4, size=3000)
    y = np.clip(np.round(X[:, 0] + rng.normal(size=3000)), 0, 2)
    one, three = kind(5, n_jobs=1).fit(X, y, qid=qid), kind(5, n_jobs=3).fit(X, y, qid=qid)
    same(one, three)
    order = rng.permutation(3000)
    moved = kind(5).fit(X[order], y[order], qid=qid[order])
    assert np.allclose(moved.predict(X), one.predict(X), atol=1e-5)


def test_the_bounds_know_the_ensemble():
    model = RankBoost(5).fit(DATA)
    table = model.generalization_bounds(DATA, random_state=0)
    training = {line["bound"]: line["value"] for line in table}["training"]
    assert training == pytest.approx(model.learning_curve_["E"][-1])
    growing = RankBoost(5, cost_stage="rounds").fit(
        as_ranking_data(DATA.X, DATA.y, cost=1.0 + np.arange(DATA.n_rows) % 3)
    )
    assert "training" not in growing.generalization_bounds(DATA)["bound"].tolist()


def test_a_clone_has_learned_nothing():
    model = RankBoost(3).fit(DATA)
    fresh = clone(model)
    assert not hasattr(fresh, "alpha_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fresh.fit(DATA)
