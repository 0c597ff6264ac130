"""FasterPAM: no swap improves what it gives, and small cases are solved."""

from itertools import combinations

import numpy as np
import pytest

from equirank.preprocess.k_medoids_sampler import faster_pam


def distances(seed, n):
    points = np.random.default_rng(seed).random((n, 2))
    return np.linalg.norm(points[:, None] - points[None], axis=2).astype(np.float32)


def total(table, medoids):
    return float(table[:, list(medoids)].min(axis=1).sum())


@pytest.mark.parametrize("k", [1, 2, 3, 6])
@pytest.mark.parametrize("seed", range(5))
def test_no_single_swap_helps(seed, k):
    table = distances(seed, 14)
    start = np.random.default_rng(seed).choice(14, k, replace=False)
    medoids, near, value = faster_pam(table, start, 50)
    assert len(set(medoids)) == k
    assert value == pytest.approx(total(table, medoids), rel=1e-5)
    assert value <= total(table, start) + 1e-6
    assert (table[np.arange(14), medoids[near]] == table[:, medoids].min(axis=1)).all()
    for out in range(k):
        for new in set(range(14)) - set(medoids):
            swapped = [*np.delete(medoids, out), new]
            assert total(table, swapped) >= value - 1e-5


def test_usually_the_best_of_all():
    hits = 0
    for seed in range(10):
        table = distances(seed, 10)
        best = min(total(table, chosen) for chosen in combinations(range(10), 2))
        hits += faster_pam(table, np.array([0, 1]), 50)[2] <= best + 1e-5
    assert hits >= 7
