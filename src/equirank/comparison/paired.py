"""Means and differences on shared folds: intervals and tests, by query or by fold."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from ..core import inference
from ..core.metric import Metric
from ..core.random import generator
from ..kernels.resampling import weighted_means
from .cell import Cell
from .splits import Fold

__all__ = ["Sample", "mean_and_interval", "paired_test", "samples"]

#: Replicates of the bootstrap over queries, and sign flips of the randomisation test.
N_BOOT, N_PERMUTATIONS = 1000, 10_000
#: Beyond so many queries Student's interval of a mean is as good as the bootstrap's, and quicker.
MANY = 2000


@dataclass(frozen=True, eq=False)
class Sample:
    """One method's values of one metric, cell after cell, in an order that all methods share.

    Attributes
    ----------
    values : ndarray
        One per query and cell (unit ``"queries"``) or one per cell (unit ``"folds"``); NaN where
        the metric is undefined or the cell failed.
    owner : ndarray of int
        Number of the query, or of the cell, that each value belongs to.
    ratio : float
        Mean of test size over train size, which corrects the variance between folds.
    unit : {"queries", "folds"}
        What is counted as independent.
    """

    values: np.ndarray
    owner: np.ndarray
    ratio: float
    unit: str

    def per_unit(self) -> np.ndarray:
        """Give the mean per query (or cell) over the seeds, of those where it is defined."""
        known = ~np.isnan(self.values)
        size = int(self.owner.max()) + 1 if len(self.owner) else 0
        count = np.bincount(self.owner[known], minlength=size)
        total = np.bincount(self.owner[known], self.values[known], minlength=size)
        return total[count > 0] / count[count > 0]


def samples(
    cells: Sequence[Cell],
    folds: Sequence[Fold],
    queries: Sequence[np.ndarray],
    metric: Metric,
    unit: str,
) -> Sample:
    """Line up one method's values of a metric.

    Parameters
    ----------
    cells, folds, queries
        Per fold: what the method found, the fold, and the numbers of its test queries.
    metric : Metric
        One whose summary is not a mean over queries is counted by folds.
    unit : {"queries", "folds"}
        What the cut allows.
    """
    ratio = float(np.mean([len(fold.test) / len(fold.train) for fold in folds]))
    if unit == "folds" or type(metric).summarize is not Metric.summarize:
        values = np.array([cell.summary.get(metric.name, np.nan) for cell in cells])
        return Sample(values, np.arange(len(cells)), ratio, "folds")
    parts = [
        cell.values.get(metric.name, np.full(len(there), np.nan))
        for cell, there in zip(cells, queries, strict=True)
    ]
    return Sample(np.concatenate(parts), np.concatenate(list(queries)), ratio, "queries")


def mean_and_interval(
    sample: Sample, level: float, key: Sequence[int]
) -> tuple[float, float, float, int]:
    """Give the mean, its interval and how many queries (or folds) it is over.

    Over queries the interval is a bootstrap's (Student's beyond 2000); over folds Student's, with
    the variance that Nadeau and Bengio correct for the overlap of the folds. One query or fold
    leaves it undefined.
    """
    values = sample.per_unit()
    n = len(values)
    if not n:
        return float("nan"), float("nan"), float("nan"), 0
    mean = float(values.mean())
    if n == 1:
        return mean, float("nan"), float("nan"), 1
    if sample.unit == "folds" or n > MANY:
        from scipy.special import stdtrit

        ratio = sample.ratio if sample.unit == "folds" else 0.0
        reach = float(stdtrit(n - 1, (1 + level) / 2)) * _standard_error(values, ratio)
        return mean, mean - reach, mean + reach, n
    counts = np.concatenate(list(inference.query_counts(generator(0, 11, *key), N_BOOT, n)))
    low, high = inference.interval(weighted_means(values[:, None], counts)[:, 0], level, n)
    return mean, float(low), float(high), n


def paired_test(a: Sample, b: Sample, level: float, key: Sequence[int]) -> dict[str, Any]:
    """Test that two methods do equally well, where both finished and are defined.

    Over queries: random sign flips of the differences per query, and Student's t. Over folds: the
    corrected resampled t-test alone, since flips would take overlapping folds for independent.
    """
    both = ~(np.isnan(a.values) | np.isnan(b.values))
    first, second = (
        Sample(np.where(both, each.values, np.nan), each.owner, each.ratio, each.unit)
        for each in (a, b)
    )
    gap = Sample(first.values - second.values, a.owner, a.ratio, a.unit)
    difference, low, high, n = mean_and_interval(gap, level, key)
    p_random = p_t = float("nan")
    if n > 1 and a.unit == "folds":
        p_t = _corrected_t(gap.per_unit(), a.ratio)
    elif n > 1:
        rng = generator(0, 13, *key)
        p_random, p_t = inference.paired_tests(gap.per_unit(), rng, N_PERMUTATIONS)
    values = [each.per_unit() for each in (first, second)]
    mine, theirs = (float(each.mean()) if len(each) else float("nan") for each in values)
    found = {"value": mine, "other": theirs, "difference": difference, "low": low, "high": high}
    return found | {"p_random": p_random, "p_t": p_t, "unit": a.unit, "n": n}


def _standard_error(values: np.ndarray, ratio: float) -> float:
    """Give the standard error of a mean; between folds the variance is times (1/n + test/train)."""
    return sqrt((1.0 / len(values) + ratio) * float(values.var(ddof=1)))


def _corrected_t(difference: np.ndarray, ratio: float) -> float:
    from scipy.special import stdtr

    if not difference.any():
        return 1.0
    error = _standard_error(difference, ratio)
    if error == 0:
        return 0.0
    return float(2 * stdtr(len(difference) - 1, -abs(difference.mean()) / error))
