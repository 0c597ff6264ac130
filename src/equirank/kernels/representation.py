"""Shares of groups in prefixes and among the selected, and how far they lie from a target."""

from functools import lru_cache

import numpy as np

from .segments import segment_sum

__all__ = [
    "discounted_divergence",
    "jensen_shannon",
    "least_counts",
    "log_ratio_interval",
    "log_shares",
    "prefix_places",
    "wilson_interval",
]


def prefix_places(limit: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give every prefix 1, 2, ... up to each query's limit.

    Returns the query of each prefix, its length, and where each query's prefixes begin.
    """
    offsets = np.concatenate([[0], np.cumsum(limit)])
    query = np.repeat(np.arange(len(limit)), limit)
    return query, np.arange(1, offsets[-1] + 1) - offsets[:-1][query], offsets


def least_counts(
    member: np.ndarray,
    slot: np.ndarray,
    first: np.ndarray,
    begin: np.ndarray | None = None,
    end: np.ndarray | None = None,
) -> np.ndarray:
    """Count members among the slots ``first..slot``, tied members behind all others of a block."""
    before = np.concatenate([[0], np.cumsum(member)])
    if begin is None or end is None:
        return before[slot + 1] - before[first]
    low, high = begin[slot], end[slot]
    others = (high - low) - (before[high] - before[low])
    return before[low] - before[first] + np.maximum(0, slot + 1 - low - others)


def log_shares(count: np.ndarray, place: np.ndarray, whole: bool) -> np.ndarray:
    """Give ``ln(count / place)``, with any finite number where the count is 0.

    Whole counts look their logarithms up, which is several times as fast.
    """
    if not whole:
        return np.log(np.maximum(count / place, np.finfo(np.float64).tiny))
    table = _logarithms(int(place.max(initial=0)))
    return table[count.astype(np.int64)] - table[place]


@lru_cache(maxsize=4)
def _logarithms(n: int) -> np.ndarray:
    """Keep ln 1, ..., ln n behind a 0."""
    return np.log(np.maximum(np.arange(n + 1), 1))


def discounted_divergence(
    share: np.ndarray,
    logs: np.ndarray,
    weight: np.ndarray,
    target: np.ndarray,
    offsets: np.ndarray,
) -> np.ndarray:
    """Add up ``weight * share * ln(share / target)`` over each query's prefixes.

    ``logs`` are the logarithms of the shares, ``target`` is one number per query; where it is 0
    only a share of 0 counts, as 0.
    """
    weighted = weight * share
    mass = segment_sum(weighted, offsets)
    base = np.log(target, out=np.zeros(len(target)), where=target > 0)
    total = segment_sum(weighted * logs, offsets) - mass * base
    return np.where((target > 0) | (mass == 0), total, np.inf)


def jensen_shannon(share: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Give the Jensen-Shannon divergence in bits over the last axis, from 0 to 1."""
    middle = (share + target) / 2

    def entropy(x: np.ndarray) -> np.ndarray:
        return -(x * np.log2(x, out=np.zeros_like(x), where=x > 0)).sum(axis=-1)

    return np.maximum(0.0, entropy(middle) - (entropy(share) + entropy(target)) / 2)


def wilson_interval(hits: np.ndarray, n: np.ndarray, z: float) -> tuple[np.ndarray, np.ndarray]:
    """Give the Wilson score interval of the rates ``hits / n``; NaN where n is 0."""
    size = np.where(n > 0, n, np.nan)
    rate = hits / size
    middle = (rate + z * z / (2 * size)) / (1 + z * z / size)
    half = z * np.sqrt(rate * (1 - rate) / size + z * z / (4 * size**2)) / (1 + z * z / size)
    low = np.where(hits == 0, 0.0 * size, middle - half)
    high = np.where(hits == n, 1.0 + 0.0 * size, middle + half)
    return low, high


def log_ratio_interval(
    hits: np.ndarray, n: np.ndarray, other_hits: np.ndarray, other_n: np.ndarray, z: float
) -> tuple[np.ndarray, np.ndarray]:
    """Give the interval of ``(hits / n) / (other_hits / other_n)`` that is symmetric in logs.

    Without hits the lower end is 0 and the upper one that of half a hit more on either side; NaN
    where a group is empty or the other has no hits.
    """
    known = (n > 0) & (other_n > 0) & (other_hits > 0)
    none = hits == 0
    extra = np.where(none, 0.5, 0.0)
    a, m = np.where(known, hits + extra, np.nan), np.where(known, n + extra, np.nan)
    b, o = np.where(known, other_hits + extra, np.nan), np.where(known, other_n + extra, np.nan)
    ratio = (a / m) / (b / o)
    spread = np.exp(z * np.sqrt(np.maximum(0.0, 1 / a - 1 / m + 1 / b - 1 / o)))
    return np.where(known & none, 0.0, ratio / spread), ratio * spread
