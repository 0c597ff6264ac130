"""The closed forms over tied blocks, against listing all orders."""

import numpy as np
import pytest

from equirank.kernels import ties
from equirank.kernels.ties import average_precision_terms, cascade, first_hit

from ..metrics import twins


def random_lists(seed, n_lists=250, most=7, binary=True):
    """Make lists of blocks: the values slot by slot, and where queries and blocks begin and end."""
    rng = np.random.default_rng(seed)
    lists = []
    for _ in range(n_lists):
        n = int(rng.integers(0, most + 1))
        cuts = np.flatnonzero(np.concatenate([[True], rng.random(max(0, n - 1)) < 0.5])[:n])
        sizes = np.diff(np.append(cuts, n)).tolist() if n else []
        values = rng.integers(0, 2, size=n) if binary else rng.choice([0, 0.25, 0.5, 1], size=n)
        if rng.random() < 0.1:
            values = np.zeros_like(values)
        lists.append((values.tolist(), sizes))
    lists += [([0, 1, 1, 0], [4]), ([0, 0], [1, 1]), ([], [])]  # nothing at the end
    values = np.array([v for some, _ in lists for v in some])
    offsets = np.concatenate([[0], np.cumsum([len(some) for some, _ in lists])])
    sizes = np.array([size for _, blocks in lists for size in blocks])
    heads = np.concatenate([[0], np.cumsum(sizes)])
    begin, end = np.repeat(heads[:-1], sizes), np.repeat(heads[1:], sizes)
    start = np.repeat(offsets[:-1], np.diff(offsets))
    return lists, values, offsets, start, begin, end


def blocks_of(sizes):
    ends = np.cumsum(sizes, dtype=int)
    return [list(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)]


@pytest.mark.parametrize("k", [None, 1, 3])
def test_first_hit(k):
    lists, values, offsets, start, begin, end = random_lists(0)
    wanted = [twins.reciprocal_rank(blocks_of(b), [], v, k=k) for v, b in lists]
    got = first_hit(values, offsets, start, begin, end, k)
    np.testing.assert_allclose(got, wanted, atol=1e-12)


@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("many", [0, ties.MANY])
def test_average_precision_terms(k, many, monkeypatch):
    monkeypatch.setattr(ties, "MANY", many)
    lists, values, offsets, start, begin, end = random_lists(1)
    terms = average_precision_terms(values, start, begin, end)
    for number, (some, sizes) in enumerate(lists):
        if sum(some):
            mine = terms[offsets[number] : offsets[number + 1]][:k]
            wanted = twins.average_precision(blocks_of(sizes), [], some, k=k) * sum(some)
            assert mine.sum() == pytest.approx(wanted)


@pytest.mark.parametrize("k", [None, 1, 3])
def test_cascade(k):
    lists, stops, offsets, start, begin, end = random_lists(2, binary=False)

    def value(order, some):
        total, going_on = 0.0, 1.0
        for place, item in enumerate(order[:k], 1):
            total += going_on * some[item] / place
            going_on *= 1 - some[item]
        return total

    wanted = [
        twins.expectation(blocks_of(sizes), lambda order, some=some: value(order, some))
        for some, sizes in lists
    ]
    got = cascade(stops.astype(float), offsets, start, begin, end, k)
    np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_cascade_stops_for_certain():
    # the reader always stops at the second item; the third is never reached
    stop, slot = np.array([0.0, 1.0, 1.0]), np.arange(3)
    got = cascade(stop, np.array([0, 3]), np.zeros(3, int), slot, slot + 1, None)
    assert got.tolist() == [1 / 2]


def test_first_hit_of_a_long_block():
    m, r = 400, 3
    relevant = np.array([1] * r + [0] * (m - r))
    zero, whole = np.zeros(m, int), np.full(m, m)
    got = first_hit(relevant, np.array([0, m]), zero, zero, whole, None)[0]
    chance, wanted = 1.0, 0.0
    for j in range(1, m - r + 2):  # first hit at j: none before, one now
        wanted += chance * r / (m - j + 1) / j
        chance *= 1 - r / (m - j + 1)
    assert got == pytest.approx(wanted, rel=1e-10)
