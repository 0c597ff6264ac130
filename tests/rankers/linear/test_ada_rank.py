"""AdaRank: its rounds written out, query costs, metrics of every kind."""

import numpy as np
import pytest

from equirank import DataError, EquirankWarning, as_ranking_data, evaluate
from equirank.datasets import make_ranking
from equirank.metrics import ndcg
from equirank.rankers import AdaRank


def made(n_lists=12, size=8, seed=0, **given):
    rng = np.random.default_rng(seed)
    n = n_lists * size
    X = rng.normal(size=(n, 4))
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.normal(size=n)), 0, 3)
    qid = np.repeat(np.arange(n_lists), size)
    y[qid == 3] = 0  # NDCG is undefined there
    return as_ranking_data(X, y, qid=qid, **given)


def slow(data, n_rounds, weight, k=3, repeats=5):
    """The algorithm written out, every feature ranked anew in every round."""
    scaled = data.X / np.ptp(data.X, axis=0)
    qid = data.query_of_rows()

    def goodness(score):
        return ndcg(data.y, score, qid=qid, k=k, per_query=True)

    known = ~np.isnan(goodness(scaled[:, 0]))
    weight = np.where(known, weight, 0.0)
    share, score, found = weight / weight.sum(), np.zeros(data.n_rows), []
    for _ in range(n_rounds):
        best = None
        for sign in (1, -1):
            for f in range(4):
                if len(found) >= repeats and {g for g, s, _ in found[-repeats:]} == {f}:
                    continue
                value = np.nansum(share * goodness(sign * scaled[:, f]))
                if best is None or value > best[0] + 1e-12:
                    best = value, f, sign
        value, f, sign = best
        alpha = 0.5 * np.log((1 + value) / (1 - value))
        found.append((f, sign, alpha))
        score += alpha * sign * scaled[:, f]
        share = np.where(known, weight * np.exp(-np.nan_to_num(goodness(score))), 0.0)
        share /= share.sum()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_rounds_are_those_written_out(weighted):
    weight = 1.0 + np.arange(12.0) % 3 * 4 if weighted else np.ones(12)
    data = made(query_weight=np.repeat(weight, 8) if weighted else None)
    model = AdaRank(20, metric="NDCG@3").fit(data)
    wanted = slow(data, 20, weight)
    kept = len(model.alpha_)
    assert kept == np.argmax(model.curve_["metric"]) + 1
    assert model.feature_.tolist() == [f for f, _, _ in wanted[:kept]]
    np.testing.assert_allclose(model.alpha_, [s * a for _, s, a in wanted[:kept]])
    coef = np.zeros(4)
    for f, sign, alpha in wanted[:kept]:
        coef[f] += sign * alpha / np.ptp(data.X[:, f])
    np.testing.assert_allclose(model.coef_, coef)
    last = evaluate(model.rank(data), "NDCG@3", n_boot=0)["NDCG@3"]
    assert last == pytest.approx(max(model.curve_["metric"]))
    assert len(model.learning_curve_) == 20


def test_query_costs_move_the_choice():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 2)), np.zeros(40)
    qid = np.repeat(np.arange(4), 10)
    X[:30, 0], X[30:, 1] = 0.5 * rng.normal(size=30), 0.5 * rng.normal(size=10)
    for q in range(4):  # feature 1 is right in the first three lists, feature 0 in the last
        rows = np.flatnonzero(qid == q)
        y[rows[np.argmax(X[rows, 0 if q == 3 else 1])]] = 1
    even = AdaRank(1).fit(X, y, qid=qid)
    costly = AdaRank(1).fit(X, y, qid=qid, query_weight=np.where(qid == 3, 50.0, 1.0))
    assert (even.feature_.tolist(), costly.feature_.tolist()) == ([1], [0])


@pytest.mark.parametrize("metric", ["ERR@5", "DCG@5", "AverageRank", "KendallLoss"])
def test_any_metric_may_be_optimised(metric):
    data = made()
    model = AdaRank(15, metric=metric).fit(data)
    curve, kept = model.curve_["metric"], len(model.alpha_)
    lower = metric in {"AverageRank", "KendallLoss"}
    assert curve[kept - 1] == (min(curve) if lower else max(curve))
    ours = evaluate(model.rank(data), metric, n_boot=0)[metric]
    model.coef_ *= -1
    assert bool(ours < evaluate(model.rank(data), metric, n_boot=0)[metric]) is lower


def test_a_metric_of_groups_asks_for_them():
    data = make_ranking(n_queries=10, random_state=0)
    model = AdaRank(5, metric="ExposureGap").fit(data)
    assert model.curve_["metric"][len(model.alpha_) - 1] == min(model.curve_["metric"])
    X, y = np.asarray(data.X), data.y
    with pytest.raises(DataError, match="sensitive_features must be given"):
        AdaRank(5, metric="ExposureGap").fit(X, y, qid=data.query_of_rows())
    with pytest.raises(DataError, match="must depend on the order of scores only"):
        AdaRank(metric="GroupBenefit").fit(data)


def test_validation_chooses_the_rounds():
    data = make_ranking(n_queries=40, random_state=0)
    model = AdaRank(30, validation=0.25, early_stopping=3, random_state=0).fit(data)
    values = model.curve_["validation"]
    assert len(model.alpha_) == np.argmax(values) + 1
    assert len(values) <= len(model.alpha_) + 3
    with pytest.raises(DataError, match="validation must be a share"):
        AdaRank(early_stopping=3).fit(data)


def test_nothing_to_learn_is_said():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.warns(EquirankWarning, match="undefined in every list"):
        model = AdaRank().fit(X, np.zeros(20))
    assert not model.predict(X).any()
    perfect = AdaRank(10).fit(X, X[:, 1] > 0.5)
    assert perfect.feature_.tolist() == [1]  # a perfect round is the last


def test_one_feature_is_not_taken_for_ever():
    data = made()
    model = AdaRank(12, max_repeats=2, metric="NDCG@3").fit(data)
    runs = "".join(map(str, model.feature_.tolist()))
    assert not any(3 * str(f) in runs for f in range(4))
