"""Group counts in prefixes, distances of shares, their maxima, and intervals of rates."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .segments import divide, segment_sum

__all__ = [
    "cut_points",
    "cut_weights",
    "discounted_divergence",
    "exact_maximum",
    "expected_counts",
    "jensen_shannon",
    "kl_divergence",
    "least_counts",
    "log_shares",
    "prefix_places",
    "ratio_distance",
    "ratio_interval",
    "share_distance",
    "sorted_lists_maximum",
    "two_group_divergence",
    "wilson_interval",
]


#: Begin or end of the tied block of each slot; None without ties.
Ends = np.ndarray | None


def cut_points(
    limit: np.ndarray, step: int, last_cut: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cut points step, 2 step, ... up to each query's limit (never 1).

    With ``last_cut`` the limit itself is a cut too, and a query whose limit is at most one step has
    none, as in the code of LambdaFair. Returns the query of each cut, the cut, and the offsets of
    the cuts of each query.
    """
    n_cuts = limit // step - (1 if step == 1 else 0)
    n_cuts = np.maximum(n_cuts, 0)
    if last_cut:
        n_cuts = np.where(limit > step, n_cuts + (limit % step > 0), 0)
    offsets = np.concatenate([[0], np.cumsum(n_cuts)])
    query = np.repeat(np.arange(len(limit)), n_cuts)
    nth = np.arange(offsets[-1]) - np.repeat(offsets[:-1], n_cuts) + (2 if step == 1 else 1)
    return query, np.minimum(nth * step, limit[query]), offsets


def cut_weights(cut: np.ndarray, discount: str) -> np.ndarray:
    """Return the weights of cut points: 1/log2(k) (``"paper"``) or 1/log2(k + 1) (``"code"``)."""
    return 1.0 / np.log2(cut + (1.0 if discount == "code" else 0.0))


def expected_counts(
    member: np.ndarray, slot: np.ndarray, first: np.ndarray, begin: Ends = None, end: Ends = None
) -> np.ndarray:
    """Return the expected number of members among the slots ``first..slot``.

    The members of a tied block ``begin:end`` are spread evenly over it; without blocks nothing is
    tied.
    """
    before = np.concatenate([[0], np.cumsum(member)])
    if begin is None or end is None:
        return (before[slot + 1] - before[first]).astype(np.float64)
    low, high = begin[slot], end[slot]
    inside = before[high] - before[low]
    return before[low] - before[first] + inside * (slot + 1 - low) / (high - low)


def share_distance(
    count: np.ndarray, cut: np.ndarray, n: np.ndarray, size: np.ndarray
) -> np.ndarray:
    """Return ``| count/cut - size/n |``."""
    return np.abs(count / cut - size / n)


def ratio_distance(
    count: np.ndarray, cut: np.ndarray, n: np.ndarray, size: np.ndarray
) -> np.ndarray:
    """Return ``| count/(cut - count) - size/(n - size) |``; a ratio with denominator 0 is 0."""
    rest, list_rest = np.asarray(cut - count), np.asarray(n - size)
    prefix_ratio = np.divide(count, rest, out=np.zeros(np.shape(rest)), where=rest > 1e-12)
    list_ratio = np.divide(size, list_rest, out=np.zeros(np.shape(list_rest)), where=list_rest > 0)
    return np.abs(prefix_ratio - list_ratio)


def kl_divergence(
    counts: np.ndarray, cut: np.ndarray, n: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """Return KL(counts/cut || sizes/n) in bits over the last axis, with 0 log 0 = 0."""
    share, base = counts / cut[:, None], sizes / n[:, None]
    ratio = np.divide(share, base, out=np.ones_like(share), where=(base > 0) & (share > 0))
    return (share * np.log2(ratio)).sum(axis=1)


def two_group_divergence(
    count: np.ndarray, cut: np.ndarray, n: np.ndarray, size: np.ndarray
) -> np.ndarray:
    """Return the divergence in bits of one group and everyone else."""
    both = np.stack([count, cut - count], axis=-1)
    ends = np.broadcast_to(np.stack([size, n - size], axis=-1), both.shape)
    return kl_divergence(both, np.asarray(cut), np.broadcast_to(n, np.shape(cut)), ends)


def sorted_lists_maximum(
    sizes: np.ndarray,
    query: np.ndarray,
    cut: np.ndarray,
    offsets: np.ndarray,
    weight: np.ndarray,
    distance: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the largest weighted sum of each query over all lists sorted by group.

    Dynamic programming over subsets of groups: each set of groups ranked first has its best sum,
    and the next group adds the cuts within its block.

    Parameters
    ----------
    sizes : ndarray of shape (n_queries, n_groups)
    query, cut, offsets : the cut points
    weight : ndarray, one per cut
    distance : callable
        Maps counts (n_cuts, n_groups) to the distance at each cut.
    """
    n_queries, n_groups = sizes.shape
    best = {0: np.zeros(n_queries)}
    for chosen in range(1 << n_groups):
        inside = np.array([(chosen >> g) & 1 for g in range(n_groups)], dtype=bool)
        placed = sizes[:, inside].sum(axis=1)[query]
        for g in np.flatnonzero(~inside).tolist():
            inside_cuts = np.flatnonzero((cut > placed) & (cut <= placed + sizes[query, g]))
            counts = np.where(inside, sizes[query], 0).astype(np.float64)
            counts[inside_cuts, g] = (cut - placed)[inside_cuts]
            term = np.zeros(len(cut))
            term[inside_cuts] = (weight * distance(counts))[inside_cuts]
            total = best[chosen] + segment_sum(term, offsets)
            more = chosen | (1 << g)
            best[more] = np.maximum(best[more], total) if more in best else total
    return best[(1 << n_groups) - 1]


@lru_cache(maxsize=4096)
def exact_maximum(
    n: int,
    size: int,
    limit: int,
    step: int,
    discount: str,
    distance: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    known: tuple[int, ...] | None = None,
    last_cut: bool = False,
) -> float:
    """Return the largest weighted sum over all lists of n with ``size`` members, two groups.

    Some positions may be taken by people of no group: ``known`` is then the number of the n others
    in the prefix of each cut point.

    Dynamic programming over the count at each cut point: between cuts the count grows by at most
    the distance of the cuts, so each step is a sliding maximum, computed by doubling.
    """
    _, cuts, _ = cut_points(np.array([limit]), step, last_cut)
    best = np.full(size + 1, -np.inf)
    best[0] = 0.0
    count, at = np.arange(size + 1, dtype=np.float64), 0
    weights = cut_weights(cuts, discount)
    for cut, weight in zip(cuts.tolist() if known is None else known, weights, strict=True):
        if cut == 0:
            continue
        best = _sliding_maximum(best, cut - at)
        best[: max(0, cut - (n - size))] = -np.inf
        best[cut + 1 :] = -np.inf
        cut_array = np.full(size + 1, float(cut))
        whole, members = np.full(size + 1, float(n)), np.full(size + 1, float(size))
        best += weight * distance(np.minimum(count, cut), cut_array, whole, members)
        at = cut
    return float(best.max()) if len(cuts) else 0.0


def _sliding_maximum(values: np.ndarray, reach: int) -> np.ndarray:
    """Return the maximum of each value and the ``reach`` values before it."""
    if reach >= len(values) - 1:
        return np.maximum.accumulate(values)
    result, covered = values.copy(), 0
    while covered < reach:
        shift = min(covered + 1, reach - covered)
        result[shift:] = np.maximum(result[shift:], result[:-shift])
        covered += shift
    return result


def prefix_places(limit: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return every prefix 1, 2, ... up to each query's limit.

    Returns the query of each prefix, its length, and the offsets of the prefixes of each query.
    """
    offsets = np.concatenate([[0], np.cumsum(limit)])
    query = np.repeat(np.arange(len(limit)), limit)
    return query, np.arange(1, offsets[-1] + 1) - offsets[:-1][query], offsets


def least_counts(
    member: np.ndarray, slot: np.ndarray, first: np.ndarray, begin: Ends = None, end: Ends = None
) -> np.ndarray:
    """Count members among the slots ``first..slot``, with tied members last in their block."""
    before = np.concatenate([[0], np.cumsum(member)])
    if begin is None or end is None:
        return before[slot + 1] - before[first]
    low, high = begin[slot], end[slot]
    non_members = (high - low) - (before[high] - before[low])
    return before[low] - before[first] + np.maximum(0, slot + 1 - low - non_members)


def log_shares(count: np.ndarray, position: np.ndarray, whole: bool) -> np.ndarray:
    """Return ``ln(count / position)``, with any finite number for a count of 0.

    Integer counts use a table of logarithms, which is several times as fast.
    """
    if not whole:
        return np.log(np.maximum(count / position, np.finfo(np.float64).tiny))
    table = _logarithms(int(position.max(initial=0)))
    return table[count.astype(np.int64)] - table[position.astype(np.int64)]


@lru_cache(maxsize=4)
def _logarithms(n: int) -> np.ndarray:
    """Return 0, ln 1, ..., ln n."""
    return np.log(np.maximum(np.arange(n + 1), 1))


def discounted_divergence(
    share: np.ndarray,
    logs: np.ndarray,
    weight: np.ndarray,
    target: np.ndarray,
    offsets: np.ndarray,
) -> np.ndarray:
    """Return the sum of ``weight * share * ln(share / target)`` over the prefixes of each query.

    ``logs`` are the logarithms of the shares, ``target`` is one number per query. For a target of 0
    the sum is infinite unless all shares are 0.
    """
    weighted = weight * share
    mass = segment_sum(weighted, offsets)
    base = np.log(target, out=np.zeros(len(target)), where=target > 0)
    total = segment_sum(weighted * logs, offsets) - mass * base
    return np.where((target > 0) | (mass == 0), total, np.inf)


def jensen_shannon(share: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the Jensen-Shannon divergence in bits over the last axis, from 0 to 1."""
    middle = (share + target) / 2

    def entropy(x: np.ndarray) -> np.ndarray:
        return -(x * np.log2(x, out=np.zeros_like(x), where=x > 0)).sum(axis=-1)

    return np.maximum(0.0, entropy(middle) - (entropy(share) + entropy(target)) / 2)


def wilson_interval(hits: np.ndarray, n: np.ndarray, z: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the Wilson score interval of the rates ``hits / n``; NaN if n is 0."""
    size = np.where(n > 0, n, np.nan)
    rate = hits / size
    middle = (rate + z * z / (2 * size)) / (1 + z * z / size)
    half = z * np.sqrt(rate * (1 - rate) / size + z * z / (4 * size**2)) / (1 + z * z / size)
    low = np.where(hits == 0, 0.0 * size, middle - half)
    high = np.where(hits == n, 1.0 + 0.0 * size, middle + half)
    return low, high


#: Most steps of a root search, which takes about ten.
MOST_STEPS = 200
#: Hits and people of a group (a, n1) and of another one (b, n2), of shape (..., n_strata).
Counts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def ratio_interval(
    counts: Counts, z: float, terms: tuple[float, float, float] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the score interval of the ratio of two rates, stratified over the last axis.

    It contains each ratio R with ``max(|x - R y| - c, 0)^2 <= z^2 V``. Here ``x = sum(a n2/N)``,
    ``y = sum(b n1/N)``, ``w = n1 n2/N`` and
    ``V = sum(w^2 N/(N-1) (p1 (1-p1)/n1 + R^2 p2 (1-p2)/n2))``, where p2 and p1 = R p2 are the most
    likely rates of a stratum. The correction for continuity is
    ``c = sum(w) (1/((2+v1) N1) + R/((2+v2) N2))``, where N1 and N2 are all people of a side, and v1
    and v2 the variances of all its hits: half a hit where hits do not vary, less where they do.

    The interval contains x/y. Its lower end is 0 without hits, and its upper end infinite without
    hits of the other side. NaN if a side of a stratum has no people.

    Parameters
    ----------
    counts : tuple of ndarray
        a, n1, b and n2.
    z : float
        Normal quantile of the level.
    terms : tuple of float, optional
        x, y, and V for R = 1 of many strata, if the counts are their totals. V for another R is
        then that of the totals, times the factor that is right for R = 1.

    References
    ----------
    Koopman, Confidence intervals for the ratio of two binomial proportions, Biometrics 1984.
    Miettinen and Nurminen, Comparative analysis of two rates, Statistics in Medicine 1985.
    """
    parts = np.broadcast_arrays(*counts)
    shape = parts[0].shape
    a, n1, b, n2 = (part.reshape(-1, shape[-1]) for part in parts)
    known: np.ndarray = np.all((n1 > 0) & (n2 > 0), axis=1)
    n1, n2 = np.where(known[:, None], n1, 1.0), np.where(known[:, None], n2, 1.0)
    x, y = (a * n2 / (n1 + n2)).sum(axis=1), (b * n1 / (n1 + n2)).sum(axis=1)
    if terms is not None:
        x, y = np.array([terms[0]]), np.array([terms[1]])
        same = 4.0 * float(_score_spread((a, n1, b, n2), np.array([0.5]))[0][0])
        z *= float(np.sqrt(terms[2] / same)) if terms[2] > 0 and same > 0 else 1.0
    low, rest = _least_share((a, n1, b, n2), x, y, z), _least_share((b, n2, a, n1), y, x, z)
    high = np.divide(1.0 - rest, rest, np.full_like(rest, np.inf), where=rest > 0)
    low, high = (np.where(known, end, np.nan) for end in (low / (1.0 - low), high))
    return low.reshape(shape[:-1]), high.reshape(shape[:-1])


def _score_spread(counts: Counts, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(1-t)^2 V`` and ``(1-t) c`` of `ratio_interval` for the share t = R / (1 + R)."""
    a, n1, b, n2 = counts
    t, rest, n = share[:, None], 1.0 - share[:, None], n1 + n2
    half = t * (n1 + b) + rest * (n2 + a)
    root = np.sqrt(np.maximum(half * half - 4.0 * t * rest * n * (a + b), 0.0))
    p1, p2 = (np.minimum(2.0 * part * (a + b) / (half + root), 1.0) for part in (t, rest))
    v1, v2, w = n1 * p1 * (1.0 - p1), n2 * p2 * (1.0 - p2), n1 * n2 / n
    spread = n / np.maximum(n - 1.0, 1.0) * w**2 * ((rest / n1) ** 2 * v1 + (t / n2) ** 2 * v2)
    spread, v1, v2, n1, n2, w = (each.sum(axis=1) for each in (spread, v1, v2, n1, n2, w))
    return spread, w * ((1.0 - share) / ((2.0 + v1) * n1) + share / ((2.0 + v2) * n2))


def _least_share(counts: Counts, x: np.ndarray, y: np.ndarray, z: float) -> np.ndarray:
    """Return R / (1 + R) for the lower end R of `ratio_interval`, by the Illinois method."""

    def excess(t: np.ndarray, at: Any = slice(None)) -> np.ndarray:
        """Return by how much x is above what fits the share; it is 0 at the end."""
        a, n1, b, n2 = (part[at] for part in counts)
        spread, step = _score_spread((a, n1, b, n2), t)
        found: np.ndarray = (1.0 - t) * x[at] - t * y[at] - step - z * np.sqrt(spread)
        return found

    low, high = np.zeros_like(x), np.nan_to_num(divide(x, x + y))
    above, below, rose = excess(low), excess(high), np.zeros_like(x)
    high[above <= 0] = 0.0
    for _ in range(MOST_STEPS):
        at = np.flatnonzero(high - low > 1e-15 * high)
        if len(at) == 0:
            break
        left, right, first, last, before = (part[at] for part in (low, high, above, below, rose))
        t = left + first / (first - last) * (right - left)
        t = np.where((t > left) & (t < right), t, 0.5 * (left + right))
        found = excess(t, at)
        low[at], high[at] = np.where(found >= 0, t, left), np.where(found <= 0, t, right)
        # An end that stays a second time counts half, so that the other one passes the root.
        above[at] = np.where(found > 0, found, np.where(before < 0, 0.5 * first, first))
        below[at] = np.where(found > 0, np.where(before > 0, 0.5 * last, last), found)
        rose[at] = np.sign(found)
    return high
