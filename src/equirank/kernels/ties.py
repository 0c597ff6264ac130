"""Exact expectations over the orders of tied items, for metrics not linear in position."""

import numpy as np

from .segments import MANY, segment_cumprod, segment_sum

__all__ = ["average_precision_terms", "cascade", "first_hit"]


def average_precision_terms(
    relevant: np.ndarray,
    start: np.ndarray,
    begin: np.ndarray | None = None,
    end: np.ndarray | None = None,
) -> np.ndarray:
    """Return the expected precision of each slot, 0 if not relevant; ``begin:end`` is its block.

    A block of m items, r of them relevant, after R relevant ones contributes at its j-th position
    ``r/m (R + 1 + (j-1)(r-1)/(m-1)) / position``. Without blocks no items are tied.
    """
    if len(relevant) >= MANY and begin is not None and end is not None:
        from .metric_loops import precision_terms

        return np.asarray(precision_terms(relevant, start, begin, end))
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
    """Return the expected reciprocal position of the first relevant slot of each query, else 0.

    In the first block with relevant items (r of m), that is position j with probability
    ``C(m-j, r-1) / C(m, r)``, computed as a product.
    """
    before = np.concatenate([[0], np.cumsum(relevant)])
    inside = before[end] - before[begin]
    index = np.flatnonzero((before[begin] == before[start]) & (inside > 0))
    size, r = (end - begin)[index], inside[index]
    j = index - begin[index]
    factor = np.where(j == 0, r / size, (size - j - r + 1) / (size - j))
    cuts = np.searchsorted(index, offsets)
    probability = segment_cumprod(factor, cuts)
    position = index - start[index] + 1
    probability = probability if k is None else np.where(position <= k, probability, 0.0)
    return segment_sum(probability / position, cuts)


def cascade(
    stop: np.ndarray,
    offsets: np.ndarray,
    start: np.ndarray,
    begin: np.ndarray | None,
    end: np.ndarray | None,
    k: int | None,
) -> np.ndarray:
    """Return the expected reciprocal position at which a reader of each query stops.

    ``stop`` is the probability of stopping at the item of each slot once it is read. Blocks without
    a positive probability are skipped; each tied block is one step with its expected sum and
    survival probability.
    """
    if begin is None or end is None:
        heads = np.flatnonzero(stop)
        size = np.ones(len(heads), dtype=np.int64)
    else:
        stops = np.concatenate([[0], np.cumsum(stop > 0)])
        heads = np.flatnonzero((np.arange(len(stop)) == begin) & (stops[end] > stops[begin]))
        size = (end - begin)[heads]
    position = heads - start[heads]
    value = stop[heads] / (position + 1)
    if k is not None:
        value[position >= k] = 0.0
    survive = 1.0 - stop[heads]
    tied = np.flatnonzero(size > 1)
    if len(tied):
        from .metric_loops import cascade_blocks

        limit = np.iinfo(np.int64).max if k is None else k
        value[tied], survive[tied] = cascade_blocks(
            stop, heads[tied], size[tied], position[tied], limit
        )
    cuts = np.searchsorted(heads, offsets)
    carry = np.ones(len(heads))
    carry[1:] = segment_cumprod(survive, cuts)[:-1]
    carry[cuts[:-1][np.diff(cuts) > 0]] = 1.0
    return segment_sum(carry * value, cuts)
