"""On two classes AdaBoost and RankBoost come to one ranking: a sum and a product of two sums."""

import numpy as np
import pytest

from equirank.metrics import auc
from equirank.rankers import BipartiteRankBoost, CostSensitiveAdaBoost


def two_classes(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(300, 3)).astype(float)
    return X, (X[:, 0] - X[:, 1] + 2.5 * rng.normal(size=300) > 1.5).astype(int)


def parts(score, y):
    """The two sums of exponentials: over the positive and over the negative rows."""
    return np.exp(-score[y == 1]).sum(), np.exp(score[y == 0]).sum()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_they_approach_the_same_auc(seed):
    X, y = two_classes(seed)
    ada = CostSensitiveAdaBoost("AdaBoost", n_estimators=600, calibration=None).fit(X, y)
    rank = BipartiteRankBoost(600, smoothing=0.0, tol=0.0, n_jobs=1).fit(X, y)
    assert np.isinf(ada.threshold_).any()  # the constant stump was used
    scores = {"ada": ada.decision_function(X), "rank": rank.predict(X)}
    plus, minus = parts(scores["ada"], y)
    # the constant stump balances the two sums, so that their sum is twice the root of their product
    assert plus == pytest.approx(minus, rel=1e-3)
    assert plus + minus == pytest.approx(2 * np.sqrt(plus * minus), rel=1e-6)
    # RankBoost minimises the product, the exponential loss over all pairs, which is AdaBoost's too
    product = np.prod(parts(scores["rank"], y))
    gaps = scores["rank"][y == 1][:, None] - scores["rank"][y == 0]
    assert product == pytest.approx(np.exp(-gaps).sum())
    assert plus * minus == pytest.approx(product, rel=1e-3)
    # a shift by half the log ratio of its sums makes RankBoost's score minimise the sum as well
    shifted = scores["rank"] + 0.5 * np.log(np.divide(*parts(scores["rank"], y)))
    assert sum(parts(shifted, y)) == pytest.approx(plus + minus, rel=1e-3)
    values = {name: auc(y, score) for name, score in scores.items()}
    assert values["ada"] == pytest.approx(values["rank"], abs=2e-3)
    one = CostSensitiveAdaBoost("AdaBoost", n_estimators=3, calibration=None).fit(X, y)
    early = np.prod(parts(one.decision_function(X), y))
    assert early > 1.05 * product  # it took many rounds: the test can tell
