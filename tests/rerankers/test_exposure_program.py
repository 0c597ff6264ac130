"""Birkhoff: the mixture gives the matrix back, with few permutations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank import DataError
from equirank.rerankers.exposure_program import birkhoff_decomposition


def rebuilt(weights, permutations):
    n = permutations.shape[1]
    result = np.zeros((n, n))
    for weight, place in zip(weights, permutations, strict=True):
        result[np.arange(n), place] += weight
    return result


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(1, 8), st.integers(1, 12), st.integers(0, 10**6))
def test_the_mixture_is_the_matrix(n, count, seed):
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.ones(count))
    P = rebuilt(share, np.array([rng.permutation(n) for _ in range(count)]))
    weights, permutations = birkhoff_decomposition(P)
    assert np.abs(rebuilt(weights, permutations) - P).max() < 1e-9
    assert weights.sum() == pytest.approx(1.0)
    assert (weights > 0).all()
    assert len(weights) <= (n - 1) ** 2 + 1
    assert (np.sort(permutations, axis=1) == np.arange(n)).all()


@pytest.mark.slow
def test_dense_matrices():
    rng = np.random.default_rng(2)
    P = rng.random((25, 25))
    for _ in range(2000):
        P /= P.sum(axis=0)
        P /= P.sum(axis=1, keepdims=True)
    weights, permutations = birkhoff_decomposition(P)
    assert np.abs(rebuilt(weights, permutations) - P).max() < 1e-9


def test_one_permutation_is_itself():
    weights, permutations = birkhoff_decomposition([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert weights.tolist() == [1.0]
    assert permutations.tolist() == [[1, 2, 0]]


@pytest.mark.parametrize(
    ("P", "words"),
    [
        ([[0.5, 0.5]], "square"),
        ([[1.0, 0.0], [0.5, 0.5]], "column 0 sums to 1.5"),
        ([[0.5, 0.6], [0.5, 0.4]], "row 0 sums to 1.1"),
        ([[1.5, -0.5], [-0.5, 1.5]], "row 0, column 1"),
        ([], "square"),
    ],
)
def test_bad_input(P, words):
    with pytest.raises(DataError, match=words):
        birkhoff_decomposition(P)
