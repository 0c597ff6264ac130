"""Merging under minimum counts, several lists at once, beside plain loops."""

from fractions import Fraction

import numpy as np
import pytest
from rerankers.det_twins import const_sort, greedy_family

from equirank.core.inputs import frozen
from equirank.kernels.fa_star_ir_regions import group_region, reachable
from equirank.kernels.group_queues import (
    CONSERVATIVE,
    GREEDY,
    RELAXED,
    det_const_sort,
    det_greedy,
    merge_by_floors,
    merge_in_region,
)


def lists(seed, n_groups=3):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 14, size=5)
    offsets = frozen(np.concatenate([[0], np.cumsum(sizes)]))
    shown = np.array([rng.integers(1, n + 1) for n in sizes])
    limit = np.array([rng.integers(1, n + 1) for n in shown])
    return rng, offsets, shown, limit, rng.integers(0, n_groups, size=offsets[-1]).astype(np.int32)


@pytest.mark.parametrize("seed", range(25))
def test_one_group_with_floors(seed):
    rng, offsets, shown, limit, codes = lists(seed)
    start = np.concatenate([[0], np.cumsum(limit)])[:-1]
    floors = np.concatenate([np.cumsum(rng.integers(0, 2, size=n)) for n in limit])
    floors = floors.astype(np.int32)
    expected = []
    for q in range(5):
        slots = list(range(offsets[q], offsets[q] + shown[q]))
        mine = [s for s in slots if codes[s] == 1]
        other = [s for s in slots if codes[s] != 1]
        count = 0
        for j in range(limit[q]):
            due = count < floors[start[q] + j]
            if mine and (due or not other or mine[0] < other[0]):
                expected.append(mine.pop(0))
                count += 1
            else:
                expected.append(other.pop(0))
    found = merge_by_floors(codes, offsets, shown, limit, floors, start, 1)
    assert found.tolist() == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("mode", [GREEDY, CONSERVATIVE, RELAXED, None])
def test_shares_in_many_lists(seed, mode):
    rng, offsets, shown, limit, codes = lists(seed, 4)
    parts = rng.integers(0, 5, size=(5, 4)) + np.array([1, 0, 0, 0])
    shares = frozen(parts / parts.sum(axis=1, keepdims=True))
    if mode is None:
        found = det_const_sort(codes, offsets, shown, limit, shares)
    else:
        found, _ = det_greedy(codes, offsets, shown, limit, shares, mode)
    expected = []
    for q in range(5):
        begin, n = offsets[q], shown[q]
        groups = codes[begin : begin + n].tolist()
        scores = list(range(n, 0, -1))
        exact = {g: Fraction(int(p), int(parts[q].sum())) for g, p in enumerate(parts[q])}
        if mode is None:
            order = const_sort(scores, groups, exact, limit[q])
        else:
            rule = {GREEDY: "greedy", CONSERVATIVE: "cons", RELAXED: "relaxed"}[mode]
            order = greedy_family(scores, groups, exact, limit[q], rule)
        expected += [begin + at for at in order]
    assert found.tolist() == expected


@pytest.mark.parametrize("seed", range(25))
def test_several_groups_in_a_region(seed):
    _, offsets, shown, _, codes = lists(seed)
    need = group_region(int(shown[1]), np.array([0.3, 0.3]), 0.35).need
    kind = np.array([-1, 0, 1])
    reach = reachable(need, np.full(2, len(need)))
    order, missed = merge_in_region(codes, offsets[1], shown[1], shown[1], kind, 2, reach.ravel())
    slots = list(range(offsets[1], offsets[1] + shown[1]))
    counts, expected, first = [0, 0], [], 0
    for j in range(shown[1]):
        heads = {}
        for s in slots:
            heads.setdefault(codes[s], s)
        choice = None
        for s in sorted(heads.values()):
            after = list(counts)
            if kind[codes[s]] >= 0:
                after[kind[codes[s]]] += 1
            if reach[j, after[1]] <= after[0]:
                choice = s
                break
        if choice is None:
            first = first or j + 1
            protected = [s for s in heads.values() if kind[codes[s]] >= 0]
            choice = min(protected or list(heads.values()))
        expected.append(choice)
        slots.remove(choice)
        if kind[codes[choice]] >= 0:
            counts[kind[codes[choice]]] += 1
    assert order.tolist() == expected
    assert missed == first
