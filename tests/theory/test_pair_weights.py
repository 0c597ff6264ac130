"""The three rules for weights of misordered places."""

import numpy as np
import pytest

from equirank.core.errors import DataError
from equirank.theory import weight_axioms


@pytest.mark.parametrize(
    "weight",
    [
        lambda i, j: 1.0,
        lambda i, j: abs(i - j),
        lambda i, j: (i <= 3) != (j <= 3),
        lambda i, j: np.minimum(i, j) <= 2,
        lambda i, j: abs(1.0 / i - 1.0 / j),
    ],
)
def test_known_weights_keep_the_rules(weight):
    found = weight_axioms(weight, 7)
    assert found.hold
    assert found.example is None


def test_each_rule_is_seen():
    lean = weight_axioms([[0, 1], [2, 0]])
    assert not lean.symmetric
    assert lean.example == (2, 1)
    near = weight_axioms(lambda i, j: 1.0 / (abs(i - j) + 1e-9), 3)
    assert near.symmetric
    assert not near.monotone
    assert near.example == (1, 2, 3)
    square = weight_axioms(lambda i, j: (i - j) ** 2, 3)
    assert (square.symmetric, square.monotone, square.triangle) == (True, True, False)
    assert not square.hold


def test_slow_twin():
    rng = np.random.default_rng(0)
    for _ in range(50):
        w = rng.integers(0, 3, (4, 4)).astype(float)
        w = w + w.T if rng.random() < 0.7 else w
        np.fill_diagonal(w, 0.0)
        n, triples = range(4), [(i, j, k) for i in range(4) for j in range(4) for k in range(4)]
        symmetric = all(w[i, j] == w[j, i] for i in n for j in n)
        monotone = all(
            w[i, j] <= w[i, k] for i, j, k in triples if i < j < k or i > j > k
        )  # fmt: skip
        triangle = all(w[i, j] <= w[i, k] + w[k, j] for i, j, k in triples if len({i, j, k}) == 3)
        found = weight_axioms(w)
        assert (found.symmetric, found.monotone, found.triangle) == (symmetric, monotone, triangle)


@pytest.mark.parametrize(
    ("weight", "n", "message"),
    [
        (lambda i, j: i, None, "n must be an integer"),
        ([[0, -1], [1, 0]], None, "got -1.0 for positions 1, 2"),
        ([[0, np.inf], [1, 0]], None, "must be finite"),
        ([[0, 1]], None, "square matrix"),
        ([[0, 1], [1, 0]], 3, "3 x 3 matrix"),
    ],
)
def test_bad_weights_are_refused(weight, n, message):
    with pytest.raises(DataError, match=message):
        weight_axioms(weight, n)
