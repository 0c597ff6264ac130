"""predict_pair_proba: calibrated, symmetric, free of costs, and its errors."""

import numpy as np
import pytest

import equirank
from equirank import DataError
from equirank.costs import GroupPairCost
from equirank.rankers import BipartiteRankBoost, RankBoost, RankBoostPlus


def lists(n_lists, seed, n_items=12):
    """Lists in which b is better than a with probability Phi((f(b) - f(a)) / sqrt 2)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_lists * n_items, 6))
    y = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=len(X))
    qid = np.repeat(np.arange(n_lists), n_items)
    return X, y - y.min(), qid, rng.choice(["a", "b"], len(X)), rng


def calibration_error(p, hit, bins=10):
    """Mean distance between stated and observed shares, both orders of each pair counted."""
    p, hit = np.concatenate([p, 1 - p]), np.concatenate([hit, ~hit])
    at = np.minimum((p * bins).astype(int), bins - 1)
    return sum(abs((p[at == b] - hit[at == b]).sum()) for b in range(bins)) / len(p)


@pytest.mark.slow
@pytest.mark.parametrize("costly", [False, True])
def test_calibration_lowers_the_calibration_error_of_an_overfitted_booster(costly):
    X, y, qid, group, _ = lists(25, 0)
    fresh, truth, _, _, _ = lists(400, 1)
    first, second = np.arange(0, 4800, 2), np.arange(1, 4800, 2)
    pairs, hit = np.stack([first, second], axis=1), truth[first] > truth[second]
    cost = GroupPairCost([[1.0, 8.0], [0.2, 1.0]]) if costly else None
    errors = {}
    for method in (None, "sigmoid", "isotonic"):
        model = RankBoost(200, calibration=method, pair_cost=cost, random_state=0, n_jobs=1)
        model.fit(X, y, qid=qid, sensitive_features=group)
        p = model.predict_pair_proba(fresh, pairs, qid=0)
        errors[method] = calibration_error(p, hit)
        assert np.allclose(p + model.predict_pair_proba(fresh, pairs[:, ::-1], qid=0), 1.0)
        order = np.argsort(model.predict(fresh, qid=0)[first] - model.predict(fresh, qid=0)[second])
        assert (np.diff(p[order]) >= -1e-12).all()
    assert errors["sigmoid"] < 0.5 * errors[None]
    assert errors["isotonic"] < 0.5 * errors[None]
    assert max(errors["sigmoid"], errors["isotonic"]) < 0.07


def test_without_calibration_it_is_the_minimiser_of_the_exponential_loss():
    X, y, qid, _, _ = lists(10, 2)
    model = RankBoost(5, n_jobs=1).fit(X, y, qid=qid)
    gap = model.predict(X)[3] - model.predict(X)[7]
    p = model.predict_pair_proba(X, [[3, 7], [3, 3 + 12]])
    assert p[0] == pytest.approx(1 / (1 + np.exp(-2 * gap)))
    assert len(model.calibration_x_) == 0


@pytest.mark.parametrize("kind", [RankBoost, RankBoostPlus, BipartiteRankBoost])
def test_every_booster_has_it_for_one_list_and_when_loaded(kind, tmp_path):
    X, y, _, _, _ = lists(1, 3, n_items=60)
    y = (y > np.median(y)).astype(float)
    model = kind(10, calibration="sigmoid", random_state=0, n_jobs=1).fit(X, y)
    pairs = [[0, 1], [5, 9]]
    p = model.predict_pair_proba(X, pairs)
    assert ((p > 0) & (p < 1)).all()
    assert model.calibration_y_.tolist() == [0.0]
    model.save(tmp_path / "model")
    assert np.array_equal(equirank.load(tmp_path / "model").predict_pair_proba(X, pairs), p)
    again = kind(10, random_state=0, n_jobs=1).fit(X, y)
    assert np.array_equal(again.predict(X), model.predict(X))  # scores do not change


def test_what_cannot_be_calibrated_is_refused():
    X, y, _, _, _ = lists(1, 4)
    with pytest.raises(DataError, match="calibration must be None for data without pairs"):
        RankBoost(3, calibration="sigmoid").fit(X, np.ones(len(y)))
    with pytest.raises(DataError, match="calibration must be None to fit explicit pairs"):
        RankBoost(3, calibration="sigmoid").fit_pairs(X, [[0, 1]])
    model = RankBoost(3).fit(X, y)
    with pytest.raises(DataError, match="two different rows from 0 to 11"):
        model.predict_pair_proba(X, [[0, 12]])
