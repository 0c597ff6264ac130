"""Sums, products, sorts and ties within segments of rows that ``offsets`` marks."""

from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = [
    "chunks",
    "divide",
    "largest_within",
    "segment_cumprod",
    "segment_cumsum",
    "segment_index",
    "segment_sum",
    "sort_values_within",
    "sort_within",
    "sum_of_others",
    "summable",
    "tie_blocks",
]


#: Number of values in one padded block.
CHUNK = 1 << 18
#: Values from this size on are divided by ``2**SHIFT`` before they are added up.
LARGE = 2.0**896
SHIFT = 128
#: Rows from which on a compiled sort is quicker, with the time it takes to load.
MANY = 1 << 15
#: Most values of a segment that are found by insertion.
FEW = 50


def segment_index(offsets: np.ndarray) -> np.ndarray:
    """Return the segment of each row."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def segment_sum(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the sum of each segment; 0 for an empty one."""
    filled = offsets[1:] > offsets[:-1]
    if filled.all():
        return np.add.reduceat(values, offsets[:-1])
    total = np.zeros(len(filled), dtype=values.dtype)
    if filled.any():
        total[filled] = np.add.reduceat(values, offsets[:-1][filled])
    return total


def summable(values: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values whose sums stay finite, and the power of two by which each segment is divided.

    The power is 0, and the values are those given, except in segments with a value that is `LARGE`
    or larger, or its negative. No value becomes 0. No segment may be empty.
    """
    values = values.astype(np.float64, copy=False)
    shift = np.zeros(len(offsets) - 1, dtype=np.int64)
    if max(values.max(initial=0.0), -values.min(initial=0.0)) < LARGE:
        return values, shift
    shift[np.maximum.reduceat(np.abs(values), offsets[:-1]) >= LARGE] = SHIFT
    scaled = np.ldexp(values, -np.repeat(shift, np.diff(offsets)))
    lost = (scaled == 0.0) & (values != 0.0)
    scaled[lost] = np.copysign(np.finfo(np.float64).smallest_subnormal, values[lost])
    return scaled, shift


def sum_of_others(values: np.ndarray, axis: int) -> np.ndarray:
    """Return for each value the sum of all others along an axis.

    Nothing is subtracted, so one large value does not swallow the digits of the others.
    """
    values = np.moveaxis(values, axis, 0)
    result = np.zeros(values.shape)
    np.cumsum(values[:-1], axis=0, out=result[1:])
    result[:-1] += np.cumsum(values[:0:-1], axis=0)[::-1]
    return np.moveaxis(result, 0, axis)


def segment_cumprod(factors: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the cumulative product within each segment."""
    return _accumulated(np.multiply, factors, offsets)


def segment_cumsum(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the cumulative sum within each segment, which values of others do not change."""
    return _accumulated(np.add, values, offsets)


def _accumulated(operation: np.ufunc, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Accumulate within each segment, along or across lists."""
    result = values.astype(np.float64)
    starts, sizes = offsets[:-1], np.diff(offsets)
    alive = np.flatnonzero(sizes > 1)
    column = 1
    while len(alive) > max(column, 8):
        rows = starts[alive] + column
        result[rows] = operation(result[rows], result[rows - 1])
        column += 1
        alive = alive[sizes[alive] > column]
    for segment in alive.tolist():
        piece = result[starts[segment] + column - 1 : starts[segment] + sizes[segment]]
        operation.accumulate(piece, out=piece)
    return result


def chunks(offsets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield rectangular blocks of segments of similar length.

    A block is the segments, the index of their rows (segment x column) and the mask of real rows.

    Segments are grouped by length in steps of a quarter, so at most a fifth is padding.
    """
    sizes = np.diff(offsets)
    order = np.argsort(sizes, kind="stable")
    ordered = sizes[order]
    begin = int(np.searchsorted(ordered, 1))
    while begin < len(order):
        width = int(ordered[begin])
        end = int(np.searchsorted(ordered, width + width // 4, side="right"))
        width = int(ordered[end - 1])
        rows = max(1, CHUNK // width)
        for at in range(begin, end, rows):
            some = order[at : min(at + rows, end)]
            index = offsets[some][:, None] + np.arange(width)
            yield some, index, np.arange(width) < sizes[some][:, None]
        begin = end


def sort_within(keys: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the rows of each segment sorted by key, highest first; the sort is stable."""
    if len(keys) >= MANY:
        from .list_sorting import sort_lists

        # copies, so that frozen arrays need no compiled code of their own
        return np.asarray(sort_lists(np.array(keys), np.array(offsets)))
    order = np.empty(len(keys), dtype=np.int64)
    for _, index, real in chunks(offsets):
        whole = bool(real.all())
        block = -keys[index] if whole else np.where(real, -keys[np.where(real, index, 0)], np.inf)
        column = np.argsort(block, axis=1)
        ranked = np.take_along_axis(block, column, axis=1)
        if (ranked[:, 1:] == ranked[:, :-1]).any():
            column = np.argsort(block, axis=1, kind="stable")
        first = index[:, :1]
        order[index if whole else index[real]] = first + column if whole else (first + column)[real]
    return order


def sort_values_within(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the values of each segment sorted, highest first."""
    result = np.empty_like(values)
    for _, index, real in chunks(offsets):
        block = -values[np.where(real, index, 0)]
        block[~real] = np.inf
        result[index[real]] = -np.sort(block, axis=1)[real]
    return result


def largest_within(
    values: np.ndarray, offsets: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest values of each segment, highest first, and the offsets of the result."""
    cuts = np.concatenate([[0], np.cumsum(np.minimum(np.diff(offsets), k))])
    if len(values) >= MANY and k <= FEW:
        from .list_sorting import largest_of_lists

        return np.asarray(largest_of_lists(np.array(values), np.array(offsets), cuts)), cuts
    result = np.empty(cuts[-1], dtype=values.dtype)
    for some, index, real in chunks(offsets):
        block = -values[np.where(real, index, 0)]
        block[~real] = np.inf
        if block.shape[1] > 2 * k:
            block = np.partition(block, k - 1, axis=1)[:, :k]
        top = -np.sort(block, axis=1)[:, :k]
        wanted = np.arange(top.shape[1]) < np.diff(cuts)[some][:, None]
        result[(cuts[some][:, None] + np.arange(top.shape[1]))[wanted]] = top[wanted]
    return result, cuts


def tie_blocks(
    ranked: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    """Return begin and end of the block of equal values of each ranked row.

    The result is ``(None, None)`` if no two rows are tied.
    """
    new = np.empty(len(ranked), dtype=bool)
    np.not_equal(ranked[1:], ranked[:-1], out=new[1:])
    new[offsets[:-1][np.diff(offsets) > 0]] = True
    if new.all():
        return None, None
    begins = np.flatnonzero(new)
    sizes = np.diff(np.append(begins, len(ranked)))
    return np.repeat(begins, sizes), np.repeat(begins + sizes, sizes)


def divide(a: Any, b: Any, defined: Any = None) -> np.ndarray:
    """Return ``a / b`` where ``defined`` (by default ``b > 0``), and NaN elsewhere."""
    shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    where = np.asarray(b) > 0 if defined is None else defined
    result: np.ndarray = np.divide(a, b, out=np.full(shape, np.nan), where=where)
    return result
