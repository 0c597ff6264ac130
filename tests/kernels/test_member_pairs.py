"""Pairs weighted by memberships, against loops over all pairs."""

from itertools import pairwise

import numpy as np
import pytest

from equirank.kernels.member_pairs import weighted_above, weighted_pairs


def lists(seed):
    """Two lists with ties in relevance and score, and memberships of three groups."""
    rng = np.random.default_rng(seed)
    offsets = np.array([0, 1, 8, 14])
    y = rng.integers(0, 3, 14).astype(float)
    score = rng.integers(0, 4, 14)
    members = rng.dirichlet(np.ones(3), 14)
    rank = np.concatenate(
        [np.unique(score[b:e], return_inverse=True)[1] + 1 for b, e in pairwise(offsets)]
    )
    by_y = np.lexsort((y, np.repeat(np.arange(3), np.diff(offsets))))
    return offsets, y, score, members, rank, by_y


def pairs(offsets):
    for begin, end in pairwise(offsets):
        yield from ((i, j) for i in range(begin, end) for j in range(begin, end) if i != j)


@pytest.mark.parametrize("seed", range(5))
def test_misordered_pairs_and_all_pairs_by_the_groups_of_the_better_and_the_worse(seed):
    offsets, y, score, members, rank, by_y = lists(seed)
    wrong, total = np.zeros((3, 3)), np.zeros((3, 3))
    for better, worse in pairs(offsets):
        if y[better] > y[worse]:
            weight = np.outer(members[better], members[worse])
            total += weight
            below = score[better] < score[worse]
            wrong += weight * (1.0 if below else 0.5 * (score[better] == score[worse]))
    found = weighted_pairs(y, rank, members, offsets, by_y)
    np.testing.assert_allclose(found[0], wrong, atol=1e-12)
    np.testing.assert_allclose(found[1], total, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_pairs_of_two_groups_with_the_second_above(seed):
    offsets, _, score, members, rank, _ = lists(seed)
    above = np.zeros((3, 3))
    for i, j in pairs(offsets):
        share = 1.0 if score[j] > score[i] else 0.5 * (score[j] == score[i])
        above += share * np.outer(members[i], members[j])
    np.fill_diagonal(above, 0.0)
    np.testing.assert_allclose(weighted_above(rank, members, offsets), above, atol=1e-12)
