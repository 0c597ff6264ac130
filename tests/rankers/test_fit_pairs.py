"""Every ranker that learns from comparisons reads them alike, contradictory ones included."""

import numpy as np
import pytest

from equirank import Ranker, rankers
from equirank.core.errors import DataError

KINDS = [
    kind
    for name in sorted(rankers.__all__)
    if isinstance(kind := getattr(rankers, name), type)
    and issubclass(kind, Ranker)
    and hasattr(kind, "fit_pairs")
]
ALL = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
PAIRS = RNG.permuted(np.array([(a, b) for a in range(40) for b in range(a)]), axis=1)
PAIRS = RNG.permutation(PAIRS)[:300]
SIGN = np.where(X[PAIRS[:, 0], 0] > X[PAIRS[:, 1], 0], 1, -1)


def make(kind):
    return kind(**getattr(kind, "test_params", {}))


def share_in_order(scores):
    """The share of all pairs that stand as the first feature says."""
    above = X[:, None, 0] > X[:, 0]
    return ((scores[:, None] > scores) & above).sum() / above.sum()


def test_the_walk_finds_them():
    wanted = {"RankBoost", "RankBoostPlus", "PreferenceRanker", "RankSVM", "DirectRanker"}
    assert wanted <= {kind.__name__ for kind in KINDS}


@ALL
def test_contradictory_and_circular_pairs_are_learned_from(kind):
    noise = np.where(np.random.default_rng(1).random(300) < 0.2, -1, 1)
    circle = [[0, 1], [1, 2], [2, 0]]
    pairs = np.concatenate([PAIRS, PAIRS, circle, [[3, 4], [3, 4]]])
    sign = np.concatenate([SIGN, SIGN * noise, [1, 1, 1], [1, -1]])
    model = make(kind).fit_pairs(X, pairs, sign)
    assert share_in_order(model.predict(X)) > 0.7


@ALL
def test_zero_leaves_a_pair_out_and_minus_turns_it_round(kind):
    wanted = make(kind).fit_pairs(X, PAIRS, SIGN).predict(X)
    turned = np.where(SIGN[:, None] > 0, PAIRS, PAIRS[:, ::-1])
    np.testing.assert_allclose(make(kind).fit_pairs(X, turned).predict(X), wanted, atol=1e-6)
    more = np.concatenate([PAIRS, PAIRS[:, ::-1]])
    none = np.concatenate([SIGN, np.zeros(300, dtype=int)])
    np.testing.assert_allclose(make(kind).fit_pairs(X, more, none).predict(X), wanted, atol=1e-6)
    weight = np.repeat([1.0, 0.0], 300)
    model = make(kind).fit_pairs(X, more, np.concatenate([SIGN, SIGN]), weight)
    np.testing.assert_allclose(model.predict(X), wanted, atol=1e-6)


@ALL
def test_nothing_but_zeros_is_refused(kind):
    with pytest.raises(DataError, match="at least one pair"):
        make(kind).fit_pairs(X, [[0, 1]], [0])


@ALL
def test_the_heavier_of_two_contradictions_wins(kind):
    pairs = np.concatenate([PAIRS, PAIRS])
    sign, weight = np.concatenate([SIGN, -SIGN]), np.repeat([1.0, 3.0], 300)
    model = make(kind).fit_pairs(X, pairs, sign, weight)
    assert share_in_order(model.predict(X)) < 0.3


@ALL
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pairs": [[0, 40]]}, r"got \[0, 40\] in pair 0"),
        ({"pairs": [[0, 1]], "preference": [1, 1]}, "one value per pair"),
        ({"pairs": [[0, 1]], "weight": [-1]}, "weight must be a number >= 0"),
    ],
)
def test_bad_pairs_are_refused(kind, given, message):
    with pytest.raises(DataError, match=message):
        make(kind).fit_pairs(X, **given)
