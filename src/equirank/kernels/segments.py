"""Ragged arithmetic: rows of many queries side by side, ``offsets`` marking where each begins."""

from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = [
    "chunks",
    "divide",
    "largest_within",
    "segment_cumprod",
    "segment_index",
    "segment_sum",
    "sort_values_within",
    "sort_within",
    "tie_blocks",
]


CHUNK = 1 << 18


def segment_index(offsets: np.ndarray) -> np.ndarray:
    """Return the segment of each row."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def segment_sum(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Add up each segment; an empty one gives 0."""
    filled = offsets[1:] > offsets[:-1]
    if filled.all():
        return np.add.reduceat(values, offsets[:-1])
    total = np.zeros(len(filled), dtype=values.dtype)
    if filled.any():
        total[filled] = np.add.reduceat(values, offsets[:-1][filled])
    return total


def segment_cumprod(factors: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Multiply up within each segment: along the list, or across lists, whichever is shorter."""
    result = factors.astype(np.float64)
    starts, sizes = offsets[:-1], np.diff(offsets)
    alive = np.flatnonzero(sizes > 1)
    column = 1
    while len(alive) > max(column, 8):
        here = starts[alive] + column
        result[here] *= result[here - 1]
        column += 1
        alive = alive[sizes[alive] > column]
    for segment in alive.tolist():
        piece = result[starts[segment] + column - 1 : starts[segment] + sizes[segment]]
        np.multiply.accumulate(piece, out=piece)
    return result


def chunks(offsets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Cut the segments into rectangles of similar length.

    Gives the segments, the index of their rows (segment x place) and a mask of what is real.

    Segments are taken by length in steps of a quarter, so at most a fifth is padding.
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
    """Order the rows of each segment by key, highest first; equal keys keep their order."""
    order = np.empty(len(keys), dtype=np.int64)
    for _, index, real in chunks(offsets):
        whole = bool(real.all())
        block = -keys[index] if whole else np.where(real, -keys[np.where(real, index, 0)], np.inf)
        place = np.argsort(block, axis=1)
        ranked = np.take_along_axis(block, place, axis=1)
        if (ranked[:, 1:] == ranked[:, :-1]).any():
            place = np.argsort(block, axis=1, kind="stable")
        first = index[:, :1]
        order[index if whole else index[real]] = first + place if whole else (first + place)[real]
    return order


def sort_values_within(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sort the values of each segment, highest first."""
    result = np.empty_like(values)
    for _, index, real in chunks(offsets):
        block = -values[np.where(real, index, 0)]
        block[~real] = np.inf
        result[index[real]] = -np.sort(block, axis=1)[real]
    return result


def largest_within(
    values: np.ndarray, offsets: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest values of each segment, highest first, and where each begins."""
    cuts = np.concatenate([[0], np.cumsum(np.minimum(np.diff(offsets), k))])
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
    """Find blocks of equal values among ranked rows: begin and end of each row's block.

    Gives ``(None, None)`` where no two rows are tied.
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
    """Divide where ``defined`` (by default where ``b > 0``) and give NaN elsewhere."""
    shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    where = np.asarray(b) > 0 if defined is None else defined
    result: np.ndarray = np.divide(a, b, out=np.full(shape, np.nan), where=where)
    return result
