import numpy as np
import pytest

from equirank.kernels import segments
from equirank.kernels.segments import (
    chunks,
    largest_within,
    segment_cumprod,
    segment_index,
    segment_sum,
    sort_values_within,
    sort_within,
    tie_blocks,
)

SHAPES = [
    [3],
    [1, 1, 1],
    [0, 3],
    [3, 0],
    [0],
    [0, 0],
    [2, 0, 0, 3, 0],
    [0, 1, 0, 2, 0, 0],
    [5, 1, 4, 2, 3, 9, 1],
    [1] * 30,
    [40, 3],
    [7, 7, 8, 9, 8, 7, 1, 0, 100],
]


def offsets_of(sizes):
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def pieces(values, sizes):
    ends = np.cumsum(sizes)
    return [values[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def random_sizes(rng):
    return rng.integers(0, 9, size=int(rng.integers(1, 60))) * (rng.random() < 0.9)


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_segment_index(sizes):
    wanted = [number for number, size in enumerate(sizes) for _ in range(size)]
    assert segment_index(offsets_of(sizes)).tolist() == wanted


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
@pytest.mark.parametrize("kind", [float, np.int64])
def test_segment_sum(sizes, kind):
    values = np.arange(1, sum(sizes) + 1).astype(kind)
    wanted = [sum(piece.tolist()) for piece in pieces(values, sizes)]
    assert segment_sum(values, offsets_of(sizes)).tolist() == wanted


def test_segment_sum_of_random_shapes():
    rng = np.random.default_rng(0)
    for _ in range(300):
        sizes = random_sizes(rng)
        values = rng.normal(size=sizes.sum())
        wanted = [piece.sum() for piece in pieces(values, sizes)]
        np.testing.assert_allclose(segment_sum(values, offsets_of(sizes)), wanted, atol=1e-12)


def test_segment_sum_leaves_its_input_alone():
    values = np.array([1.0, 2.0])
    segment_sum(values, np.array([0, 0, 2, 2]))
    assert values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_segment_cumprod(sizes):
    factors = np.random.default_rng(1).random(sum(sizes)) + 0.1
    before = factors.copy()
    got = pieces(segment_cumprod(factors, offsets_of(sizes)), sizes)
    for have, piece in zip(got, pieces(factors, sizes), strict=True):
        np.testing.assert_allclose(have, np.cumprod(piece), rtol=1e-12)
    assert (factors == before).all()


@pytest.mark.slow
def test_segment_cumprod_of_random_shapes():
    rng = np.random.default_rng(2)
    for _ in range(300):
        sizes = random_sizes(rng)
        factors = rng.random(sizes.sum())
        got = pieces(segment_cumprod(factors, offsets_of(sizes)), sizes)
        for have, piece in zip(got, pieces(factors, sizes), strict=True):
            np.testing.assert_allclose(have, np.cumprod(piece), rtol=1e-12)


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
@pytest.mark.parametrize("chunk", [4, 1 << 18])
def test_chunks_cover_every_row_once(sizes, chunk, monkeypatch):
    monkeypatch.setattr(segments, "CHUNK", chunk)
    offsets = offsets_of(sizes)
    owner = segment_index(offsets)
    seen = []
    for some, index, real in chunks(offsets):
        assert index.shape == real.shape
        assert real.sum(axis=1).tolist() == [sizes[segment] for segment in some]
        assert real.mean() >= 0.8  # a fifth may be padding
        for segment, row, mask in zip(some, index, real, strict=True):
            assert set(owner[row[mask]].tolist()) == {segment}
            seen += row[mask].tolist()
    assert sorted(seen) == list(range(sum(sizes)))


def wanted_order(keys, sizes):
    order, start = [], 0
    for size in sizes:
        rows = range(start, start + size)
        order += sorted(rows, key=lambda row: -keys[row])
        start += size
    return order


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
@pytest.mark.parametrize("levels", [2, 5, 10**6])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("many", [0, segments.MANY])
def test_sort_within_keeps_the_order_of_equal_keys(sizes, levels, kind, many, monkeypatch):
    monkeypatch.setattr(segments, "MANY", many)
    keys = np.random.default_rng(3).integers(-levels, levels, size=sum(sizes)).astype(kind)
    assert sort_within(keys, offsets_of(sizes)).tolist() == wanted_order(keys, sizes)


@pytest.mark.parametrize("many", [0, segments.MANY])
def test_sort_within_long_ties_are_stable(many, monkeypatch):
    monkeypatch.setattr(segments, "MANY", many)
    rng = np.random.default_rng(4)
    sizes = [1000, 900, 3]
    keys = rng.integers(0, 3, size=sum(sizes)).astype(float)
    assert sort_within(keys, offsets_of(sizes)).tolist() == wanted_order(keys, sizes)


def test_the_compiled_sort_is_that_of_numpy(monkeypatch):
    rng = np.random.default_rng(8)
    sizes = [1, 15, 16, 17, 33, 64, 500, 0, 31]
    keys = rng.normal(size=sum(sizes))
    keys[rng.random(len(keys)) < 0.1] = np.nan
    keys[rng.random(len(keys)) < 0.1] = np.inf
    keys[rng.random(len(keys)) < 0.1] = -np.inf
    wanted = np.concatenate(
        [np.argsort(-piece, kind="stable") + end - len(piece)
         for piece, end in zip(pieces(keys, sizes), np.cumsum(sizes), strict=True)]
    )  # fmt: skip
    monkeypatch.setattr(segments, "MANY", 0)
    assert sort_within(keys, offsets_of(sizes)).tolist() == wanted.tolist()


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_sort_values_within(sizes):
    values = np.random.default_rng(5).integers(-3, 9, size=sum(sizes)).astype(float)
    wanted = [v for piece in pieces(values, sizes) for v in sorted(piece.tolist(), reverse=True)]
    assert sort_values_within(values, offsets_of(sizes)).tolist() == wanted


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
@pytest.mark.parametrize("k", [1, 2, 3, 50])
@pytest.mark.parametrize("many", [0, segments.MANY])
def test_largest_within(sizes, k, many, monkeypatch):
    monkeypatch.setattr(segments, "MANY", many)
    values = np.random.default_rng(7).integers(-3, 9, size=sum(sizes)).astype(float)
    wanted = [sorted(piece.tolist(), reverse=True)[:k] for piece in pieces(values, sizes)]
    got, cuts = largest_within(values, offsets_of(sizes), k)
    assert got.tolist() == [value for best in wanted for value in best]
    assert cuts.tolist() == [0, *np.cumsum([len(best) for best in wanted]).tolist()]


def test_sorts_in_small_chunks(monkeypatch):
    monkeypatch.setattr(segments, "CHUNK", 5)
    rng = np.random.default_rng(6)
    for _ in range(50):
        sizes = random_sizes(rng)
        keys = rng.integers(0, 4, size=sizes.sum()).astype(float)
        assert sort_within(keys, offsets_of(sizes)).tolist() == wanted_order(keys, sizes)
        ranked = sort_values_within(keys, offsets_of(sizes))
        assert ranked.tolist() == keys[wanted_order(keys, sizes)].tolist()


def test_tie_blocks():
    # two queries; equal neighbours of different queries are not tied
    ranked = np.array([3.0, 2.0, 2.0, 2.0, 1.0, 1.0])
    begin, end = tie_blocks(ranked, np.array([0, 3, 6]))
    assert begin.tolist() == [0, 1, 1, 3, 4, 4]
    assert end.tolist() == [1, 3, 3, 4, 6, 6]


def test_tie_blocks_past_empty_segments():
    begin, end = tie_blocks(np.array([1.0, 1.0, 1.0]), np.array([0, 0, 1, 1, 3, 3]))
    assert begin.tolist() == [0, 1, 1]
    assert end.tolist() == [1, 3, 3]


def test_tie_blocks_without_ties():
    assert tie_blocks(np.array([2.0, 1.0, 1.0]), np.array([0, 2, 3])) == (None, None)
