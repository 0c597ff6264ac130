"""Bootstrap intervals, permutation tests and paired tests."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import factorial, prod, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from ..kernels.resampling import (
    bootstrap_counts,
    distinct_orders,
    picked_means,
    shuffle_within,
    stratified_counts,
    weighted_means,
)
from ..kernels.segments import divide
from .data import BLOCK, RankingData
from .environment import progress
from .list_keys import list_keys
from .random import generator

__all__ = [
    "PermutationPlan",
    "TwinSums",
    "holm",
    "interval",
    "item_counts",
    "mean_interval",
    "paired_tests",
    "permutation_p",
    "pool_generator",
    "query_counts",
    "query_units",
    "twin_moments",
    "twin_p",
    "unit_sums",
]


#: Means over fewer queries have Student's t interval.
FEW_QUERIES = 10
#: More queries than this are resampled as buckets, and tested by twins.
MANY_QUERIES = 2_048
#: Number of buckets.
BUCKETS = 1_024


def query_counts(rng: np.random.Generator, n_boot: int, n_queries: int) -> Iterator[np.ndarray]:
    """Draw bootstrap replicates over queries, block by block: how often each query counts."""
    block = max(1, BLOCK // n_queries)
    for begin in progress(range(0, n_boot, block), "bootstrap over lists"):
        counts = bootstrap_counts(rng, min(block, n_boot - begin), n_queries)
        yield counts.astype(np.float64)


def query_units(n_queries: int) -> np.ndarray:
    """Return what each query is resampled with, as integers from 0: beyond 2,048, its bucket.

    For queries without labels, which are divided at random. Buckets have the same number of
    queries, but for the last one, so that sums over queries do not vary with that number.

    Examples
    --------
    >>> query_units(3).tolist(), np.bincount(query_units(2_400)).tolist() == [3] * 800
    ([0, 1, 2], True)
    """
    if n_queries <= MANY_QUERIES:
        return np.arange(n_queries)
    units = np.empty(n_queries, dtype=np.int64)
    units[np.argsort(list_keys(np.arange(n_queries)))] = np.arange(n_queries)
    return units // -(-n_queries // BUCKETS)


def unit_sums(values: np.ndarray, bucket: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of columns over the queries of each bucket, and the numbers of defined ones.

    Parameters
    ----------
    values : ndarray of shape (n_queries, ...)
        NaN is undefined.
    bucket : ndarray
        The bucket of each query.
    """
    order = np.argsort(bucket, kind="stable")
    first = np.flatnonzero(np.diff(bucket[order], prepend=-1))
    ranked = values[order]
    defined = ~np.isnan(ranked)
    total = np.add.reduceat(np.where(defined, ranked, 0.0), first, axis=0)
    return total, np.add.reduceat(defined.astype(np.float64), first, axis=0)


def twin_moments(values: np.ndarray, twins: np.ndarray) -> tuple[float, float]:
    """Return mean and standard error of values minus the means of their relabellings."""
    d = (values - twins)[~np.isnan(values - twins)]
    if len(d) == 0:
        return float("nan"), float("nan")
    return float(d.mean()), float(d.std() / np.sqrt(len(d)))


def twin_p(values: np.ndarray, twins: np.ndarray, sign: float) -> float:
    """Return the one-sided p-value of ``z = sum d / sqrt(sum d^2)``, d = value - mean of twins.

    Examples
    --------
    >>> twin_p(np.array([0.5, 0.1, np.nan]), np.array([0.1, 0.5, 0.2]), 1.0)
    0.5
    """
    d = (values - twins)[~np.isnan(values - twins)]
    if len(d) == 0:
        return float("nan")
    square = float((d * d).sum())
    return NormalDist().cdf(-sign * float(d.sum()) / sqrt(square)) if square > 0 else 1.0


@dataclass(frozen=True, eq=False)
class TwinSums:
    """Values of columns over queries, and their differences to relabellings of each query.

    Attributes
    ----------
    totals : ndarray of shape (n_columns, 4)
        Sum of the values, number of queries where they are defined, sum of the differences to the
        mean over relabellings, and number of queries where these are defined.
    products : ndarray of shape (n_columns, n_columns)
        Sums of the products of two differences.
    """

    totals: np.ndarray
    products: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, twins: np.ndarray) -> "TwinSums":
        """Return the sums of values and of the means of their relabellings, one row per query."""
        d = values - twins
        sums = [np.nan_to_num(values).sum(axis=0), (~np.isnan(values)).sum(axis=0)]
        sums += [np.nan_to_num(d).sum(axis=0), (~np.isnan(d)).sum(axis=0)]
        clean = np.nan_to_num(d)
        return cls(np.stack(sums, axis=1).astype(np.float64), clean.T @ clean)

    def p_value(
        self,
        table: Callable[[np.ndarray], np.ndarray],
        statistic: Callable[[np.ndarray], np.ndarray],
        rng: np.random.Generator,
        n_draws: int,
    ) -> np.ndarray:
        """Return the p-value of exchangeable labels within queries, from normal draws.

        With exchangeable labels the differences have mean 0 and, over many independent queries, are
        normal. So ``table`` (means of columns -> values of groups) of the means less that of the
        relabellings is compared with ``table`` of normal draws around the relabellings, by a
        statistic of the values of groups (last axis); larger is stronger.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> values = rng.normal(size=(4000, 2))
        >>> twins = TwinSums.of(values, np.zeros_like(values))
        >>> p = twins.p_value(lambda means: means, lambda values: np.ptp(values, axis=-1), rng, 999)
        >>> float(p)
        0.836
        """
        value, n, d, n_d = self.totals.T
        mean = divide(value, n)
        chance = mean - divide(d, n_d)
        used = n_d > 0
        covariance = self.products[np.ix_(used, used)] / np.outer(n_d[used], n_d[used])
        # the symmetric root depends on the covariance alone, which may be singular
        size, directions = np.linalg.eigh(covariance)
        root = (directions * np.sqrt(np.maximum(size, 0.0))) @ directions.T
        drawn = np.full((n_draws, len(mean)), np.nan)
        drawn[:, used] = chance[used] + rng.standard_normal((n_draws, len(root))) @ root
        base = table(chance)
        seen, draws = statistic(table(mean) - base), statistic(table(drawn) - base)
        stronger = (draws >= seen - 1e-12 * np.abs(seen)).sum(axis=0)
        return np.where(np.isnan(seen), np.nan, (1.0 + stronger) / (1.0 + n_draws))


def item_counts(rng: np.random.Generator, n_boot: int, strata: np.ndarray) -> Iterator[np.ndarray]:
    """Draw bootstrap replicates over the items of one list, within strata, block by block."""
    block = max(1, BLOCK // len(strata))
    steps = range(0, n_boot, block)
    for begin in progress(steps, "bootstrap over items"):
        yield stratified_counts(rng, min(block, n_boot - begin), strata)


def interval(replicates: np.ndarray, level: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the percentile interval of each column, widened for small n.

    The percentiles are those that would give a normal mean of n values the width of its t interval
    (Hesterberg's expanded percentile interval); plain percentiles are too narrow by
    ``sqrt((n-1)/n)`` and by the quotient of normal and t quantiles. Undefined replicates are left
    out.
    """
    tail = (1.0 - level) / 2.0
    if n > 1:
        tail = NormalDist().cdf(_t_quantile(tail, n - 1) * sqrt(n / (n - 1)))
    undefined = np.isnan(replicates)
    if undefined.all(axis=0).any() or len(replicates) == 0:
        empty = np.full(replicates.shape[1:], np.nan)
        if len(replicates) == 0 or undefined.all():
            return empty, empty
    if undefined.any():
        low, high = _nan_quantiles(replicates, tail)
    else:
        low, high = np.quantile(replicates, [tail, 1.0 - tail], axis=0)
    return np.asarray(low), np.asarray(high)


def mean_interval(
    replicates: np.ndarray, values: np.ndarray, level: float, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the interval of means over queries: Student's t for 2 to 9 queries, else `interval`.

    Percentiles of few values cannot leave their range. A column with fewer than two defined values
    has no t interval.

    Parameters
    ----------
    replicates : ndarray
        Means of the bootstrap replicates, for many queries.
    values : ndarray of shape (n_queries, ...)
        The value of each query; NaN is left out.
    level, n
        As in `interval`.

    Examples
    --------
    >>> low, high = mean_interval(np.zeros(1), np.array([1.0, 2.0, 3.0]), 0.95, 3)
    >>> round(float(low), 3), round(float(high), 3)  # 2 -+ 4.303 / sqrt(3)
    (-0.484, 4.484)
    """
    if not 1 < len(values) < FEW_QUERIES:
        return interval(replicates, level, n)
    from scipy.special import stdtrit

    defined = ~np.isnan(values)
    count = defined.sum(axis=0)
    mean = np.where(defined, values, 0.0).sum(axis=0) / np.maximum(count, 1)
    square = np.where(defined, (values - mean) ** 2, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(square / (count - 1.0) / count)
        width = stdtrit(np.maximum(count - 1.0, 1.0), (1.0 + level) / 2.0) * error
    width = np.where(count > 1, width, np.nan)
    return np.asarray(mean - width), np.asarray(mean + width)


def _nan_quantiles(replicates: np.ndarray, tail: float) -> tuple[np.ndarray, np.ndarray]:
    flat = replicates.reshape(len(replicates), -1)
    ends = np.full((2, flat.shape[1]), np.nan)
    for column in range(flat.shape[1]):
        known = flat[~np.isnan(flat[:, column]), column]
        if len(known):
            ends[:, column] = np.quantile(known, [tail, 1.0 - tail])
    return ends[0].reshape(replicates.shape[1:]), ends[1].reshape(replicates.shape[1:])


def _t_quantile(tail: float, df: float) -> float:
    """Approximate the Student t quantile by its Cornish-Fisher expansion."""
    z = NormalDist().inv_cdf(tail)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return float(sum(term / df**power for power, term in enumerate(terms)))


def pool_generator(random_state: Any) -> np.random.Generator:
    """Return the generator that picks from the pools of a permutation test."""
    return generator(random_state, 2)


class PermutationPlan:
    """Permutations of group labels within queries (and strata).

    All arrangements are tried if there are at most ``n_permutations``. Otherwise a single list is
    permuted ``n_permutations`` times; with several queries each gets a smaller pool of permutations
    of its own, and a draw picks for every query one value from its pool or the observed one. Under
    the hypothesis the observed value is one of its pool like any other, so the test keeps its level
    for any pool size.

    Parameters
    ----------
    data : RankingData
        The queries.
    codes : ndarray
        The group of each row; unknown labels (-1) stay with their rows.
    strata : ndarray or None
        Labels are permuted within queries and strata.
    n_permutations : int
        Number of draws.
    """

    def __init__(
        self,
        data: RankingData,
        codes: np.ndarray,
        strata: np.ndarray | None,
        n_permutations: int,
    ) -> None:
        self.data = data
        self.codes = codes
        self.cells = data.query_of_rows()
        for part in (strata, codes >= 0 if codes.min() < 0 else None):
            if part is not None:
                least = int(part.min())  # unknown strata and unknown labels are cells of their own
                self.cells = self.cells * (int(part.max()) - least + 1) + part - least
        self.n_permutations = n_permutations
        self._all = _arrangements(self.cells, codes, n_permutations)
        self.exact = self._all is not None
        self.pool_size = n_permutations
        if data.n_queries > 1:
            few = data.n_queries < 4
            most = 99 if few else max(19, min(99, 4 * BLOCK // data.n_rows))
            self.pool_size = min(n_permutations, most)

    def draws(self, random_state: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Return permuted labels: runs of queries, and labels (draws x rows of the run)."""
        if self._all is not None:
            yield slice(0, self.data.n_queries), self._all
            return
        runs = list(self.data.query_blocks())
        steps = [
            (queries, begin, min(block, self.pool_size - begin))
            for queries in runs
            for block in [max(1, BLOCK // self._rows(queries))]
            for begin in range(0, self.pool_size, block)
        ]
        for queries, begin, size in progress(steps, "permuting groups"):
            rows = slice(*self.data.offsets[[queries.start, queries.stop]].tolist())
            rng = generator(random_state, 1, queries.start, begin)
            cells = self.cells[rows] - self.cells[rows.start]
            yield queries, shuffle_within(rng, size, cells - cells.min(), self.codes[rows])

    def _rows(self, queries: slice) -> int:
        return int(self.data.offsets[queries.stop] - self.data.offsets[queries.start])

    def pool(self, parts: list[tuple[slice, np.ndarray]]) -> np.ndarray:
        """Concatenate the values of the draws (draws x queries x columns)."""
        runs = dict.fromkeys(queries.start for queries, _ in parts)
        return np.concatenate(
            [np.concatenate([p for q, p in parts if q.start == run]) for run in runs], axis=1
        )


def _arrangements(cells: np.ndarray, codes: np.ndarray, most: int) -> np.ndarray | None:
    """Return all distinct label rows, if there are at most this many."""
    if len(cells) > 200:
        return None
    rows = [np.flatnonzero(cells == cell) for cell in np.unique(cells)]
    n_orders = [
        factorial(len(some)) // prod(factorial(int(m)) for m in np.bincount(codes[some] + 1))
        for some in rows
    ]
    if prod(n_orders) > most:
        return None
    labels = np.empty((prod(n_orders), len(codes)), dtype=codes.dtype)
    for at, orders in enumerate(product(*(distinct_orders(codes[r]) for r in rows))):
        for r, order in zip(rows, orders, strict=True):
            labels[at, r] = order
    return labels


def permutation_p(
    observed: np.ndarray,
    pool: np.ndarray,
    exact: bool,
    statistic: Callable[[np.ndarray], np.ndarray],
    rng: np.random.Generator,
    n_permutations: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the p-value of exchangeable group labels within queries, and the draws.

    Parameters
    ----------
    observed : ndarray of shape (n_queries, n_columns)
        The values of the data.
    pool : ndarray of shape (n_draws, n_queries, n_columns)
        Values under permuted labels.
    exact : bool
        Whether the pool holds every arrangement of the whole data.
    statistic : callable
        Maps column means (..., n_columns) to the statistics tested; larger is stronger.
    rng, n_permutations : generator and number of draws
    """
    seen = np.asarray(statistic(weighted_means(observed)))
    if exact:
        draws = statistic(np.stack([weighted_means(values) for values in pool]))
    elif observed.shape[0] == 1:
        draws = statistic(pool[:, 0, :])
    else:
        draws = statistic(picked_means(rng, n_permutations, np.concatenate([observed[None], pool])))
    stronger = (draws >= seen - 1e-12 * np.abs(seen)).sum(axis=0)
    p = stronger / len(draws) if exact else (1.0 + stronger) / (1.0 + len(draws))
    return np.where(np.isnan(seen), np.nan, p), draws


def paired_tests(
    difference: np.ndarray, rng: np.random.Generator, n_permutations: int = 10_000
) -> tuple[float, float]:
    """Test whether per-query differences have mean 0, by random sign flips and by Student's t.

    All sign flips are tried if there are at most ``n_permutations``. The p-values are NaN for fewer
    than two queries, and 1 if no query differs.
    """
    n = len(difference)
    if n < 2:
        return float("nan"), float("nan")
    if not difference.any():
        return 1.0, 1.0
    total = abs(difference.sum())
    close = total - 1e-12 * np.abs(difference).sum()
    if 2**n <= n_permutations:
        signs = np.array(list(product((-1.0, 1.0), repeat=n)))
        p_random = float((np.abs(signs @ difference) >= close).mean())
    else:
        hits, block = 0, max(1, BLOCK // n)
        for at in range(0, n_permutations, block):
            shape = (min(block, n_permutations - at), n)
            signs = rng.integers(0, 2, size=shape, dtype=np.int8) * 2.0 - 1.0
            hits += int((np.abs(signs @ difference) >= close).sum())
        p_random = (1 + hits) / (1 + n_permutations)
    spread = difference.std(ddof=1)
    if spread == 0:
        return p_random, 0.0
    from scipy.special import stdtr

    return p_random, float(2 * stdtr(n - 1, -abs(difference.mean()) / (spread / sqrt(n))))


def holm(p_values: Any) -> np.ndarray:
    """Return p-values corrected by Holm's step-down method; NaN values are left out.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=float)
    result = np.full(len(p), np.nan)
    order = [at for at in np.argsort(p).tolist() if not np.isnan(p[at])]
    running = 0.0
    for rank, at in enumerate(order):
        running = max(running, (len(order) - rank) * p[at])
        result[at] = min(1.0, running)
    return result
