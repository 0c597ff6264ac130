"""Counts of label vectors in packed words: against counting one by one, and other lists' kernel."""

import numpy as np
import pytest

from equirank.core.twins import kernel_gaps
from equirank.kernels import packed_counts
from equirank.kernels.packed_counts import count_slots, number_vectors, pairs_of_vectors


def slots_of(rng, n, levels):
    """Return the ends of the tied blocks of n slots with so many different scores."""
    score = np.sort(rng.integers(0, levels, n))[::-1]
    return np.array([np.flatnonzero(score == each)[-1] + 1 for each in score])


@pytest.mark.parametrize("levels", [8, 10**9])
@pytest.mark.parametrize("n", [1, 10, 37, 255])
def test_counts_are_those_of_a_loop(n, levels):
    rng = np.random.default_rng([n, levels])
    ends, n_vectors, n_grades, step = slots_of(rng, n, levels), 8, 8, 3
    vector, grade = (rng.integers(0, 8, n).astype(np.uint8) for _ in range(2))
    exposure, tied = rng.random(n), bool((ends != np.arange(1, n + 1)).any())
    n_cuts = n // step
    exposures, lower = np.ones((2, 8)), np.ones(9, dtype=np.uint64)
    packed, prefixes = np.ones((4, 8), dtype=np.uint64), np.ones((2, n + 1), dtype=np.uint64)
    parts = np.ones(n + 1)
    count_slots(
        n, ends, tied, vector, grade, True, exposure, step, step, n_cuts, exposures, lower, packed,
        prefixes, parts,
    )  # fmt: skip
    np.testing.assert_allclose(exposures.sum(axis=0), np.bincount(vector, exposure, 8))
    for c in range(n_cuts):
        cut = step * (c + 1)
        begin = int(np.flatnonzero(ends == ends[cut - 1])[0])
        share = np.where(np.arange(n) < begin, 1.0, (cut - begin) / (ends[cut - 1] - begin))
        wanted = np.bincount(vector, share * (np.arange(n) < ends[cut - 1]), 8)
        counts = [(prefixes[:, c] >> np.uint64(8 * v)).astype(np.int64) & 255 for v in range(8)]
        found = [before + inside * parts[c] for before, inside in counts]
        np.testing.assert_allclose(found, wanted)
    group, masks = np.arange(1, 9, dtype=np.uint32), np.zeros(9, dtype=np.uint64)
    masks[1:] = [np.uint64(0xFF) << np.uint64(8 * v) for v in range(8)]
    counts = np.array([[0.0] * 9, *([float((grade[vector == v] < r).sum()) for r in range(9)]
                                    for v in range(8))])  # fmt: skip
    wrong, total = np.zeros((2, 9, 9))
    rows = np.zeros((4, 9), dtype=np.uint64)
    pairs_of_vectors(n_vectors, 8, group, masks, tied, packed, n_grades, counts, rows, wrong, total)
    wanted, all_pairs = np.zeros((2, 9, 9))
    for i in range(n):
        for j in range(n):
            if grade[i] > grade[j]:
                above = 1.0 if ends[j] < ends[i] else 0.5 if ends[j] == ends[i] else 0.0
                wanted[1 + vector[i], 1 + vector[j]] += above
                all_pairs[1 + vector[i], 1 + vector[j]] += 1.0
    np.testing.assert_array_equal(wrong[1:, 1:], wanted[1:, 1:])
    np.testing.assert_array_equal(total[1:, 1:], all_pairs[1:, 1:])


def test_vectors_are_numbered_in_the_order_of_their_codes():
    mixed, tally = np.array([7, 2, 7, 11, 2, 7]), np.zeros(12, dtype=np.int64)
    number, code_of = np.zeros(12, dtype=np.uint8), np.zeros(8, dtype=np.int64)
    people = np.zeros(8)
    assert number_vectors(6, mixed, tally, number, code_of, people) == 3
    assert code_of[:3].tolist() == [2, 7, 11]
    assert people[:3].tolist() == [2, 3, 1]
    assert number[[2, 7, 11]].tolist() == [0, 1, 2]
    assert not tally.any()


@pytest.mark.parametrize("unknown", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("step", [1, 4, 10])
@pytest.mark.parametrize("levels", [12, 10**9])
@pytest.mark.parametrize("grades", [0, 5, 9, 300])
def test_gaps_are_those_of_lists_with_many_label_vectors(
    unknown, step, levels, grades, monkeypatch
):
    rng = np.random.default_rng([int(100 * unknown), step, levels, grades])
    sizes = np.append(rng.integers(1, 60, 40), [255, 256])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    end = np.concatenate(
        [begin + slots_of(rng, n, levels) for begin, n in zip(offsets, sizes, strict=False)]
    )
    begin = np.searchsorted(end, end)  # ends never fall
    shown = np.where(rng.random(len(sizes)) < 0.3, (sizes + 1) // 2, sizes)
    n = int(offsets[-1])
    y = rng.integers(0, grades, n) / 2.0 if grades else np.zeros(0)
    codes = np.stack([rng.integers(0, 2, n), rng.integers(0, 3, n)], axis=1)
    codes[rng.random(codes.shape) < unknown] = -1
    slots = (offsets, begin, end, shown, y, codes)
    parts, width = np.array([[0, -1], [1, -1], [0, 1]]), np.array([2, 3])
    gaps = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    gaps += [(2, 0), (2, 1), (3, 0), (3, 1), (4, 2)] if grades else []
    keys = rng.integers(0, 2**63, len(sizes)).astype(np.uint64)

    def measured():
        return kernel_gaps(
            slots, keys, parts, width, np.array([2, 3, 6]), gaps, step=step, n_twins=3, seed=5
        )

    found = measured()
    monkeypatch.setattr(packed_counts, "MOST_PACKED", 0)
    for one, other in zip(found, measured(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
