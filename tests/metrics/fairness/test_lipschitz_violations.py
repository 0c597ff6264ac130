from math import dist, isnan, nan

import numpy as np
import pytest
from scipy.sparse import csr_array

from equirank import DataError, EquirankWarning
from equirank.metrics import LipschitzViolations, lipschitz_violations
from equirank.testing import check_metric

from ..cases import same
from .test_consistency import lists, scaled


def twin(score, X, slope):
    n, s = len(score), scaled(score)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    broken = [abs(s[i] - s[j]) > slope * dist(X[i], X[j]) + 1e-12 for i, j in pairs]
    return sum(broken) / len(pairs) if pairs else nan


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.2, 0.5, 1.0, 3])
def test_agrees_with_twin(slope):
    for d in (1, 2, 3):
        some = [(s, X) for s, X in lists(900, seed=7) if X.shape[1] == d]
        wanted = [twin(s.tolist(), X.tolist(), slope) for s, X in some]
        qid = np.repeat(np.arange(len(some)), [len(s) for s, _ in some])
        score, X = np.concatenate([s for s, _ in some]), np.concatenate([x for _, x in some])
        same(lipschitz_violations(score, X, slope=slope, qid=qid, per_query=True), wanted)


def test_keeps_the_promises():
    check_metric(LipschitzViolations(), skip=("declarations", "needs", "scores", "draws"))


def test_by_hand():
    X = [[0.0, 0.0], [0.3, 0.4], [3.0, 4.0]]
    # scaled scores 1, 0.5, 0; distances .5, 5, 4.5: the first pair is exactly at the bound
    assert lipschitz_violations([2, 1, 0], X) == 0.0
    assert lipschitz_violations([2, 1, 0], X, slope=0.999) == pytest.approx(1 / 3)
    assert lipschitz_violations([2, 1, 0], X, slope=0.19) == pytest.approx(2 / 3)
    assert lipschitz_violations([2, 1, 0], X, slope=0.1) == pytest.approx(1)


def test_copies_must_be_scored_alike():
    X = [[1.0], [1.0], [9.0]]
    assert lipschitz_violations([1, 1, 0], X) == 0.0
    assert lipschitz_violations([1, 0.9, 0], X, slope=1e6) == pytest.approx(1 / 3)


def test_undefined_for_a_single_item():
    with pytest.warns(EquirankWarning, match="single item"):
        assert isnan(lipschitz_violations([1], [[1.0]]))


def test_better_and_worse():
    X = [[i / 8] for i in range(8)]
    smooth, half, jumpy = list(range(8)), [0, 1, 2, 3, 7, 4, 6, 5], [0, 7, 0, 7, 0, 7, 0, 7]
    values = [lipschitz_violations(score, X, slope=1.2) for score in (smooth, half, jumpy)]
    assert values == sorted(values)
    assert values[0] == 0.0 < values[1] < values[2]
    assert LipschitzViolations.direction == "lower"


def test_sparse_features():
    rng = np.random.default_rng(2)
    X, score = rng.integers(0, 2, (40, 3)).astype(float), rng.random(40)
    got = lipschitz_violations(score, csr_array(X), slope=0.3)
    assert 0 < got == lipschitz_violations(score, X, slope=0.3)


def test_bad_slope():
    with pytest.raises(DataError, match="slope of LipschitzViolations must be a number > 0"):
        lipschitz_violations([1, 2], [[1.0], [2.0]], slope=0)
