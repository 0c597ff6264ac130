"""Tests of group differences by shuffling labels within lists, corrected for a whole report."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from ..kernels.segments import divide
from . import inputs
from .environment import available_threads, in_threads
from .random import as_seed, generator

__all__ = [
    "MOST_DRAWN",
    "Rates",
    "Shuffled",
    "bootstrap_t",
    "critical_value",
    "family_p",
    "holm",
    "length_scope",
    "normal_draws",
    "normal_p",
    "own_p",
    "shuffle_labels",
]


#: Draws times rows beyond which the draws come from a normal distribution with the exact
#: covariance of the shuffles.
MOST_DRAWN = 1_000_000_000
#: Draws times rows up to which one thread is as fast as several.
LITTLE_DRAWN = 1_000_000
#: Lists from which on the bootstrap-t interval is replaced by its limit, the normal interval.
MANY_LISTS = 2_000
#: Relative tolerance of comparisons between observed and drawn statistics.
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Rates:
    """Selected people of two sides, in lists that contain both.

    Attributes
    ----------
    a, n1, b, n2 : float
        Selected and all people of the group, and of the other side.
    x, y : ndarray
        ``a n2 / N`` and ``b n1 / N`` by unit, whose sums are the Mantel-Haenszel ratio.
    counts : ndarray of shape (4, n_lists), optional
        a, n1, b and n2 of each list, if they are known.
    """

    a: float
    n1: float
    b: float
    n2: float
    x: np.ndarray
    y: np.ndarray
    counts: np.ndarray | None = None


def length_scope(sizes: np.ndarray, counts: np.ndarray, people: float) -> dict[str, Any]:
    """Return lists, people and the shortest, median and longest length, from lengths and counts.

    Examples
    --------
    >>> length_scope(np.array([2, 5]), np.array([1, 1]), 7)
    {'lists': 2, 'people': 7, 'shortest': 2, 'median': 3.5, 'longest': 5}
    """
    lists = int(counts.sum())
    if lists == 0:
        return {"lists": 0, "people": 0, "shortest": 0, "median": 0.0, "longest": 0}
    ends = np.cumsum(counts)
    middle = [
        int(np.searchsorted(ends, rank, side="right")) for rank in ((lists - 1) // 2, lists // 2)
    ]
    return {
        "lists": lists,
        "people": int(people),
        "shortest": int(sizes[0]),
        "median": float(sizes[middle].mean()),
        "longest": int(sizes[-1]),
    }


@dataclass(frozen=True, eq=False)
class Shuffled:
    """Statistics of groups and values, and their distribution under shuffled labels.

    Group ``g`` and value ``j`` have in list ``q`` the part
    ``t_q = w_q (sum of x_j over the group - n1/N sum of x_j over both sides)``. A list that lacks
    one of the sides has no part.

    Attributes
    ----------
    parts, mean_parts : ndarray of shape (n_queries, n_groups, n_values)
        The parts, and their means over all shuffles; NaN in lists that lack one of the sides.
    expected : ndarray of shape (n_queries, n_groups, n_values)
        The group's share of both sides times the sum of the values over both.
    total : ndarray of shape (n_groups, n_values)
        The statistic: the sum of the parts.
    mean, deviation : ndarray
        Of the statistic over all shuffles, in closed form.
    z : ndarray
        ``(total - mean) / deviation``; NaN if no shuffle changes the statistic.
    draws : ndarray of shape (n_draws, n_groups, n_values)
        The z of each draw.
    group_size, other_size : ndarray of shape (n_queries, n_groups)
        Number of people on both sides.
    normal : bool
        Whether the draws come from the normal approximation.
    """

    parts: np.ndarray
    mean_parts: np.ndarray
    expected: np.ndarray
    total: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    z: np.ndarray
    draws: np.ndarray
    group_size: np.ndarray
    other_size: np.ndarray
    normal: bool

    @property
    def used(self) -> np.ndarray:
        """Which lists contain both sides, of shape (n_queries, n_groups)."""
        return (self.group_size > 0) & (self.other_size > 0)

    def lists(self, g: int) -> int:
        """Return the number of lists that contain both sides."""
        return int(self.used[:, g].sum())

    def sides(self, g: int) -> tuple[float, float]:
        """Return the number of people on both sides, in lists that contain both."""
        used = self.used[:, g]
        return float(self.group_size[used, g].sum()), float(self.other_size[used, g].sum())

    def scope(self, g: int, sizes: np.ndarray) -> dict[str, Any]:
        """Return lists and people that are compared, and the lengths of these lists."""
        return length_scope(
            *np.unique(sizes[self.used[:, g]], return_counts=True), sum(self.sides(g))
        )

    def mean_terms(self, g: int, j: int, adjusted: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the difference of means of each list (less its mean over shuffles), and ones."""
        used = self.used[:, g]
        parts = self.parts[used, g, j] - (self.mean_parts[used, g, j] if adjusted else 0.0)
        return parts * len(parts), np.ones(len(parts))

    def observed_terms(self, g: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what the group received and what was expected, by list."""
        used = self.used[:, g]
        expected = self.expected[used, g, j]
        return self.parts[used, g, j] + expected, expected

    def adjusted_terms(self, g: int, j: int) -> np.ndarray:
        """Return the parts of the statistic less their means over shuffles, by list."""
        used = self.used[:, g]
        return np.asarray((self.parts - self.mean_parts)[used, g, j])

    def weighted_terms(self, g: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the parts of the statistic and ``n1 n2 / N``, by list."""
        used = self.used[:, g]
        n1, n2 = self.group_size[used, g], self.other_size[used, g]
        return self.parts[used, g, j], n1 * n2 / (n1 + n2)

    def rates(self, g: int, j: int) -> Rates:
        """Return selected and all people of both sides, and the terms of their ratio."""
        used = self.used[:, g]
        n1, n2 = self.group_size[used, g], self.other_size[used, g]
        a, expected = self.observed_terms(g, j)
        n = n1 + n2
        b = np.maximum(divide(expected * n, n1) - a, 0.0)
        totals = float(a.sum()), float(n1.sum()), float(b.sum()), float(n2.sum())
        return Rates(*totals, a * n2 / n, b * n1 / n, np.stack([a, n1, b, n2]))


def shuffle_labels(
    query: np.ndarray,
    cells: np.ndarray,
    labels: np.ndarray,
    sides: np.ndarray,
    values: np.ndarray,
    averaged: np.ndarray,
    n_draws: int,
    random_state: Any,
    *,
    studentized: bool = False,
    n_queries: int | None = None,
) -> Shuffled:
    """Compare groups with their other side, and shuffle labels within cells.

    Parameters
    ----------
    query : ndarray of shape (n,)
        The list of each row, as integers from 0 in ascending order.
    cells : ndarray of shape (n,)
        Rows of one list with the same number exchange their labels.
    labels : ndarray of shape (n,)
        The label vector of each row, as an integer.
    sides : ndarray of shape (n_groups, n_labels)
        1 where a label belongs to the group, 0 to the other side, -1 to neither.
    values : ndarray of shape (n, n_values)
        What is compared.
    averaged : ndarray of bool, of shape (n_values,)
        Whether the statistic is the difference of means, averaged over lists
        (``w = N / (n1 n2 lists)``), or the sum minus its expectation (``w = 1``).
    n_draws : int
        Number of draws.
    random_state : int, Generator, RandomState or None
        Seed.
    studentized : bool
        Whether z is ``total / sqrt(sum of squared parts)``, in data and draws alike.
    n_queries : int, optional
        Number of lists, of which some may have no row; by default one more than the last list.

    Examples
    --------
    >>> query, cells = np.zeros(4, dtype=int), np.zeros(4, dtype=int)
    >>> sides, values = np.array([[1, 0]]), np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> found = shuffle_labels(query, cells, np.array([1, 1, 0, 0]), sides, values,
    ...                        np.array([True]), 99, 0)
    >>> found.total, found.deviation.round(4)
    (array([[2.]]), array([[1.291]]))
    """
    n_queries = int(query[-1]) + 1 if n_queries is None else n_queries
    order = np.lexsort((cells, query))
    labels, values, cells = labels[order], np.ascontiguousarray(values[order]), cells[order]
    first = np.flatnonzero(np.diff(query, prepend=-1) | np.diff(cells, prepend=cells[:1] - 1))
    cell_offsets = np.append(first, len(query))
    cell = np.repeat(np.arange(len(first)), np.diff(cell_offsets))
    cell_query = query[first]
    query_cells = np.searchsorted(cell_query, np.arange(n_queries + 1))
    member = sides[:, labels]
    group_size, other_size = (_per_list(query, member == side, n_queries) for side in (1, 0))
    weight, expected = _weights(query, member, values, averaged, group_size, other_size)
    observed = _sums_by(query, member == 1, values, n_queries)
    used = ((group_size > 0) & (other_size > 0))[:, :, None]
    parts = np.where(used, weight * (observed - expected), np.nan)
    total = np.nansum(parts, axis=0)
    moments = _Moments(cell, cell_query, cell_offsets, member == 1, values, weight, expected)
    mean_parts = np.where(used, moments.mean_parts(n_queries), np.nan)
    mean, deviation = np.nansum(mean_parts, axis=0), moments.deviation()
    normal = n_draws * len(query) > MOST_DRAWN and not studentized
    if normal:
        draws = moments.normal_draws(n_draws, generator(random_state, 7))
    else:
        cells_of = cell_offsets, query_cells
        draws, squares = _drawn(
            n_draws, random_state, labels, values, cells_of, sides, weight, expected
        )
        if studentized:
            # Labels that change no list have no change, not an undefined one; z below alike.
            draws = np.nan_to_num(divide(draws, np.sqrt(squares)))
        else:
            draws = divide(draws - mean, deviation)
    z = divide(total - mean, deviation)
    if studentized:
        z = np.nan_to_num(divide(total, np.sqrt(np.nansum(parts**2, axis=0))))
    sizes = {"group_size": group_size, "other_size": other_size}
    return Shuffled(
        parts, mean_parts, expected, total, mean, deviation, z, draws, normal=normal, **sizes
    )


def _drawn(
    n_draws: int,
    random_state: Any,
    labels: np.ndarray,
    values: np.ndarray,
    cells_of: tuple[np.ndarray, np.ndarray],
    sides: np.ndarray,
    weight: np.ndarray,
    expected: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the statistics of each draw, and the sums of squares of their parts.

    Draws are independent of each other, so threads share them.
    """
    from ..kernels.label_shuffles import shuffled_sums

    draws = np.zeros((n_draws, *weight.shape[1:]))
    squares = np.zeros_like(draws)
    groups_of = [np.flatnonzero(sides[:, v] == 1) for v in range(sides.shape[1])]
    even = np.zeros((len(values), values.shape[1] + values.shape[1] % 2))
    even[:, : values.shape[1]] = values
    indices = (
        *cells_of,
        np.cumsum([0, *map(len, groups_of)]),
        np.concatenate([*groups_of, np.empty(0, dtype=np.int64)]),
    )
    seed, given = np.uint64(as_seed(random_state)), [each.astype(np.uint64) for each in indices]
    rows = labels.astype(np.uint64), even

    def draw(part: slice) -> None:
        first = np.uint64(part.start)
        shuffled_sums(seed, first, *rows, *given, weight, expected, draws[part], squares[part])

    threads = available_threads() if n_draws * len(labels) > LITTLE_DRAWN else 1
    step = max(1, -(-n_draws // threads))
    parts = [slice(begin, min(begin + step, n_draws)) for begin in range(0, n_draws, step)]
    for _ in in_threads(draw, parts, threads):
        pass
    return draws, squares


def _per_list(query: np.ndarray, mask: np.ndarray, n_queries: int) -> np.ndarray:
    return np.stack([np.bincount(query, row, n_queries) for row in mask], axis=1)


def _sums_by(index: np.ndarray, mask: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """Return the sums of values over the rows of each mask, by index: (n, n_masks, n_values)."""
    found = np.empty((n, len(mask), values.shape[1]))
    for g, row in enumerate(mask):
        rows = np.flatnonzero(row)
        for j in range(values.shape[1]):
            found[:, g, j] = np.bincount(index[rows], values[rows, j], n)
    return found


def _weights(
    query: np.ndarray,
    member: np.ndarray,
    values: np.ndarray,
    averaged: np.ndarray,
    group_size: np.ndarray,
    other_size: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight and the expected sum of each list, group and value."""
    both = group_size + other_size
    used = (group_size > 0) & (other_size > 0)
    known = _sums_by(query, member >= 0, values, len(group_size))
    expected = divide(group_size, both)[:, :, None] * known
    lists = np.maximum(used.sum(axis=0), 1)
    mean_weight = np.nan_to_num(divide(both, group_size * other_size)) / lists
    weight = np.where(averaged, mean_weight[:, :, None], 1.0) * used[:, :, None]
    return weight, np.nan_to_num(expected)


class _Moments:
    """Mean and covariance of linear statistics over all shuffles within cells."""

    def __init__(
        self,
        cell: np.ndarray,
        cell_query: np.ndarray,
        cell_offsets: np.ndarray,
        member: np.ndarray,
        values: np.ndarray,
        weight: np.ndarray,
        expected: np.ndarray,
    ) -> None:
        n = len(cell_query)
        self.size = np.diff(cell_offsets).astype(np.float64)
        self.member, self.cell = member, cell
        self.count = np.stack([np.bincount(cell, row, n) for row in member], axis=1)
        totals = np.stack([np.bincount(cell, column, n) for column in values.T], axis=1)
        centre = totals / self.size[:, None]
        self.centred = values - centre[cell]
        # The weights of a query apply to all of its cells.
        self.weight = weight[cell_query]
        self.cell_query = cell_query
        self.sums = self.weight * self.count[:, :, None] * centre[:, None, :]
        self.expected = weight * expected

    def mean_parts(self, n_queries: int) -> np.ndarray:
        found = -self.expected
        np.add.at(found, self.cell_query, self.sums)
        return found

    def spread(self, a: int, b: int) -> np.ndarray:
        """Return the sums of products of two centred values, over ``size - 1``, per cell."""
        product = np.bincount(self.cell, self.centred[:, a] * self.centred[:, b], len(self.size))
        return np.where(self.size > 1, product / np.maximum(self.size - 1.0, 1.0), 0.0)

    def overlap(self, g: int, h: int) -> np.ndarray:
        """Return the centred cross product of two group indicators, per cell."""
        both = np.bincount(self.cell, self.member[g] & self.member[h], len(self.size))
        return both - self.count[:, g] * self.count[:, h] / self.size

    def deviation(self) -> np.ndarray:
        n_groups, n_values = self.weight.shape[1:]
        spread = np.stack([self.spread(j, j) for j in range(n_values)], axis=1)
        overlap = self.count - self.count**2 / self.size[:, None]
        terms = self.weight**2 * overlap[:, :, None] * spread[:, None, :]
        found = np.sqrt(terms.sum(axis=0))
        # Rounding leaves a trace where all values of every cell are equal.
        scale = np.sqrt((self.weight**2 * self.size[:, None, None]).sum(axis=0))
        largest = np.abs(self.centred).max(axis=0, initial=0.0) + 1e-300
        return np.where(found > TOLERANCE * scale * largest, found, 0.0).reshape(n_groups, n_values)

    def covariance(self) -> np.ndarray:
        """Return the covariance of all statistics, groups first and then values."""
        n_groups, n_values = self.weight.shape[1:]
        spread = {(a, b): self.spread(a, b) for a in range(n_values) for b in range(a, n_values)}
        found = np.empty((n_groups, n_values, n_groups, n_values))
        for g in range(n_groups):
            for h in range(g, n_groups):
                overlap = self.overlap(g, h)
                for a in range(n_values):
                    for b in range(n_values):
                        weights = self.weight[:, g, a] * self.weight[:, h, b]
                        value = (weights * overlap * spread[min(a, b), max(a, b)]).sum()
                        found[g, a, h, b] = found[h, b, g, a] = value
        return found.reshape(n_groups * n_values, -1)

    def normal_draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        deviation = self.deviation()
        draws = normal_draws(self.covariance(), deviation.ravel(), n_draws, rng)
        return draws.reshape(n_draws, *deviation.shape)


def normal_draws(
    covariance: np.ndarray, deviation: np.ndarray, n_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Return standardised normal draws with this covariance; NaN where the deviation is 0."""
    correlation = np.nan_to_num(divide(covariance, np.outer(deviation, deviation)))
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    draws = rng.standard_normal((n_draws, len(deviation))) @ root.T
    return np.where(deviation > 0, draws, np.nan)


def own_p(z: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return the two-sided p-value of each statistic: ``(1 + #{|Z_d| >= |Z|}) / (1 + D)``.

    Parameters
    ----------
    z, draws : ndarray of shape (m,) and (n_draws, m)
        Observed and drawn statistics; NaN is untested and has the p-value NaN.

    Examples
    --------
    >>> own_p(np.array([2.0]), np.array([[0.1], [-2.5], [1.0]]))
    array([0.5])
    """
    size = np.abs(z)
    stronger = (np.abs(draws) >= _nearly(size)).sum(axis=0)
    p = (1.0 + stronger) / (1.0 + len(draws))
    return np.where(np.isnan(z), np.nan, p)


def _nearly(size: np.ndarray) -> np.ndarray:
    """Return sizes less the tolerance; infinite ones stay infinite."""
    return np.asarray(np.minimum(size - TOLERANCE, size * (1.0 - TOLERANCE)))


def family_p(z: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return p-values corrected for all statistics, by step-down maxT.

    With ``|Z|`` descending, ``p_j = (1 + #{max over j..m of |Z_d| >= |Z_j|}) / (1 + D)``, made
    monotone. The chance that any true null hypothesis has ``p <= alpha`` is at most alpha.

    Parameters
    ----------
    z, draws : ndarray of shape (m,) and (n_draws, m)
        As in `own_p`; the draws are joint.

    Examples
    --------
    >>> family_p(np.array([2.0, 0.0]), np.array([[0.1, 3.0], [-1.0, 0.5], [1.0, 0.2]]))
    array([0.5, 1. ])

    References
    ----------
    Westfall and Young: Resampling-Based Multiple Testing, Wiley, 1993, algorithm 4.1.
    """
    found = np.full(len(z), np.nan)
    order = [at for at in np.argsort(-np.abs(z), kind="stable").tolist() if not np.isnan(z[at])]
    largest = np.zeros(len(draws))
    values = []
    for at in reversed(order):
        largest = np.fmax(largest, np.abs(draws[:, at]))
        stronger = (largest >= _nearly(np.abs(z[at]))).sum()
        values.append((1.0 + stronger) / (1.0 + len(draws)))
    running = 0.0
    for at, value in zip(order, reversed(values), strict=True):
        running = max(running, value)
        found[at] = running
    return found


def normal_p(z: np.ndarray) -> np.ndarray:
    """Return two-sided p-values of standard normal statistics; NaN stays NaN.

    Examples
    --------
    >>> normal_p(np.array([0.0, 1.959964])).round(4)
    array([1.  , 0.05])
    """
    return np.array([2.0 * NormalDist().cdf(-abs(each)) if each == each else np.nan for each in z])


def holm(p: np.ndarray) -> np.ndarray:
    """Return p-values corrected for their number by Holm's method; NaN is not counted.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])

    References
    ----------
    Holm: A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics, 1979.
    """
    found = np.full(len(p), np.nan)
    order = [at for at in np.argsort(p, kind="stable").tolist() if not np.isnan(p[at])]
    running = 0.0
    for rank, at in enumerate(order):
        running = max(running, min(1.0, (len(order) - rank) * float(p[at])))
        found[at] = running
    return found


def critical_value(z: np.ndarray, draws: np.ndarray, share: float) -> float:
    """Return the quantile at ``1 - share`` of the draws' largest ``|Z|`` over all tested."""
    tested = np.abs(draws[:, ~np.isnan(z)])
    if tested.size == 0:
        return float("nan")
    largest = np.sort(tested.max(axis=1))
    # The smallest value that leaves p at most the share: (1 + number above) / (1 + D) <= share.
    above = int(np.floor(share * (1 + len(largest)) + 1e-9)) - 1
    return float("inf") if above < 0 else float(largest[len(largest) - 1 - above])


def bootstrap_t(
    numerator: np.ndarray,
    denominator: np.ndarray,
    levels: Sequence[float],
    n_boot: int,
    random_state: Any,
    *,
    logarithm: bool = False,
) -> list[tuple[float, float]]:
    """Return bootstrap-t intervals of a ratio of sums over lists, one per level.

    ``theta = sum(x) / sum(y)`` with the linearised standard error
    ``sqrt(sum((x - theta y)^2)) / sum(y)``, both computed in each resample of lists. With
    ``logarithm`` the interval is that of ``log(theta)``, transformed back; an undefined resample
    counts as infinite. Lists that do not vary have an interval of one point. From 2,000 lists on
    the normal quantiles replace the resamples.

    Parameters
    ----------
    numerator, denominator : ndarray
        x and y of each list; y = 1 makes theta a mean.
    levels : sequence of float
        Levels of the intervals.
    n_boot : int
        Number of resamples; 0 returns NaN.
    random_state : int, Generator, RandomState or None
        Seed.
    logarithm : bool
        Whether theta is a positive ratio.

    Examples
    --------
    >>> [(low, high)] = bootstrap_t(np.arange(40.0), np.ones(40), [0.95], 500, 0)
    >>> bool(low < 19.5 < high)
    True

    References
    ----------
    Efron and Tibshirani: An Introduction to the Bootstrap, 1993, section 12.5.
    """
    n = len(numerator)
    undefined = [(float("nan"), float("nan"))] * len(levels)
    if n < 2 or n_boot == 0:
        return undefined
    columns = np.stack(
        [numerator, denominator, numerator**2, numerator * denominator, denominator**2], axis=1
    )
    theta, error = _linearised(columns.sum(axis=0), logarithm)
    if not np.isfinite(theta) or not np.isfinite(error):
        return undefined
    if error <= TOLERANCE * np.abs(numerator).sum() / abs(denominator.sum()):
        # The lists do not vary, so every resample has the same value.
        value = float(np.exp(theta) if logarithm else theta)
        return [(value, value)] * len(levels)
    tails = np.array([(1.0 - level) / 2.0 for level in levels])
    if n >= MANY_LISTS:
        ends = [np.array([NormalDist().inv_cdf(1.0 - tail) for tail in tails])]
        ends.append(-ends[0])
    else:
        from ..kernels.resampled_sums import resampled_sums

        counts = _resamples(as_seed(random_state), n, n_boot)
        drawn, errors = _linearised(resampled_sums(counts, columns), logarithm)
        with np.errstate(invalid="ignore", divide="ignore"):
            t = (drawn - theta) / errors
        ends = [
            np.quantile(np.where(np.isnan(t), sign * np.inf, t), q, method="inverted_cdf")
            for q, sign in ((1.0 - tails, 1.0), (tails, -1.0))
        ]
    low, high = theta - ends[0] * error, theta - ends[1] * error
    if logarithm:
        low, high = np.exp(low), np.exp(high)
    return list(zip(low.tolist(), high.tolist(), strict=True))


@lru_cache(maxsize=2)
def _resamples(seed: int, n: int, n_boot: int) -> np.ndarray:
    """Return how often each list counts in each resample; claims of one report share them."""
    counts = generator(seed, 8).multinomial(n, np.full(n, 1.0 / n), size=n_boot)
    return inputs.frozen(counts.astype(np.float64))


def _linearised(sums: np.ndarray, logarithm: bool) -> tuple[Any, Any]:
    """Return theta and its standard error from the sums of x, y, x^2, xy and y^2."""
    x, y, xx, xy, yy = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        theta = x / y
        error = np.sqrt(np.maximum(xx - 2.0 * theta * xy + theta**2 * yy, 0.0)) / np.abs(y)
        if logarithm:
            return np.log(theta), error / theta
    return theta, error
