"""Exact expectations over the orders of tied blocks, for metrics not linear in position."""

import numpy as np

from .segments import segment_cumprod, segment_sum

__all__ = ["average_precision_terms", "cascade", "first_hit"]


def average_precision_terms(
    relevant: np.ndarray,
    start: np.ndarray,
    begin: np.ndarray | None = None,
    end: np.ndarray | None = None,
) -> np.ndarray:
    """Return each slot's expected precision-if-relevant; slots ``begin:end`` are its tie block.

    A block of m items, r of them relevant, after R relevant ones adds at its j-th place
    ``r/m (R + 1 + (j-1)(r-1)/(m-1)) / position``. Without blocks every item stands alone.
    """
    before = np.concatenate([[0], np.cumsum(relevant)])
    if begin is None or end is None:
        terms = np.zeros(len(relevant))
        hits = np.flatnonzero(relevant)
        terms[hits] = (before[hits + 1] - before[start[hits]]) / (hits - start[hits] + 1)
        return terms
    slot = np.arange(len(relevant))
    ahead = before[begin] - before[start]
    inside = before[end] - before[begin]
    size = end - begin
    step = (slot - begin) * (inside - 1) / np.maximum(size - 1, 1)
    return inside / size * (ahead + 1 + step) / (slot - start + 1)


def first_hit(
    relevant: np.ndarray,
    offsets: np.ndarray,
    start: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    k: int | None,
) -> np.ndarray:
    """Return each query's expected reciprocal position of its first relevant slot, 0 without one.

    In the first block with relevant items (r of m), that is place j with probability
    ``C(m-j, r-1) / C(m, r)``, built up as a product.
    """
    before = np.concatenate([[0], np.cumsum(relevant)])
    inside = before[end] - before[begin]
    index = np.flatnonzero((before[begin] == before[start]) & (inside > 0))
    size, r = (end - begin)[index], inside[index]
    j = index - begin[index]
    factor = np.where(j == 0, r / size, (size - j - r + 1) / (size - j))
    cuts = np.searchsorted(index, offsets)
    chance = segment_cumprod(factor, cuts)
    place = index - start[index] + 1
    chance = chance if k is None else np.where(place <= k, chance, 0.0)
    return segment_sum(chance / place, cuts)


def cascade(
    stop: np.ndarray,
    offsets: np.ndarray,
    start: np.ndarray,
    begin: np.ndarray | None,
    end: np.ndarray | None,
    k: int | None,
) -> np.ndarray:
    """Return each query's expected reciprocal position at which a reader stops.

    ``stop`` is the chance of stopping at each slot's item once it is read. Blocks in which nobody
    can stop are left out; each tied block becomes one step with its own expected sum and survival.
    """
    if begin is None or end is None:
        heads = np.flatnonzero(stop)
        size = np.ones(len(heads), dtype=np.int64)
    else:
        stops = np.concatenate([[0.0], np.cumsum(stop)])
        heads = np.flatnonzero((np.arange(len(stop)) == begin) & (stops[end] > stops[begin]))
        size = (end - begin)[heads]
    place = heads - start[heads]
    value = stop[heads] / (place + 1)
    if k is not None:
        value[place >= k] = 0.0
    survive = 1.0 - stop[heads]
    tied = np.flatnonzero(size > 1)
    if len(tied):
        from .metric_loops import cascade_blocks

        limit = np.iinfo(np.int64).max if k is None else k
        value[tied], survive[tied] = cascade_blocks(
            stop, heads[tied], size[tied], place[tied], limit
        )
    cuts = np.searchsorted(heads, offsets)
    carry = np.ones(len(heads))
    carry[1:] = segment_cumprod(survive, cuts)[:-1]
    carry[cuts[:-1][np.diff(cuts) > 0]] = 1.0
    return segment_sum(carry * value, cuts)
