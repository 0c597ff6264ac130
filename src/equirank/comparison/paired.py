"""Means, intervals and paired tests on shared folds, by query or by fold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import sqrt
from typing import Any

import numpy as np

from ..core import inference
from ..core.metric import Metric
from ..core.random import generator
from ..kernels.resampling import weighted_means
from .cell import Cell
from .folds import Fold

__all__ = ["Sample", "family_tests", "means_and_intervals", "paired_tests", "samples"]


#: Replicates of the bootstrap over queries, and sign flips of the randomisation test.
N_BOOT, N_PERMUTATIONS = 1000, 10_000
#: Sign flips behind the p-values that are corrected for all pairs of methods.
N_FAMILY = 1_999
#: Above this number of queries Student's interval replaces the bootstrap, which is slower.
MANY = 2000


@dataclass(frozen=True, eq=False)
class Sample:
    """One method's values of one metric, in an order that all methods share.

    Values with the same index belong to the same query and cell.

    Attributes
    ----------
    values : ndarray
        One per query and cell (unit ``"queries"``) or one per cell (unit ``"folds"``); NaN if the
        metric is undefined or the cell failed.
    owner : ndarray of int
        Index of the query or cell of each value.
    ratio : float
        Mean ratio of test to train size, which corrects the variance between folds.
    unit : {"queries", "folds"}
        The independent unit.
    """

    values: np.ndarray
    owner: np.ndarray
    ratio: float
    unit: str

    def per_unit(self) -> np.ndarray:
        """Return the mean per query (or cell) over the seeds; NaN if undefined for all."""
        known = ~np.isnan(self.values)
        size = int(self.owner.max()) + 1
        count = np.bincount(self.owner[known], minlength=size)
        total = np.bincount(self.owner[known], self.values[known], minlength=size)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def where(self, chosen: np.ndarray, values: np.ndarray | None = None) -> "Sample":
        """Return a sample with the chosen values, or replacements for them; NaN elsewhere."""
        kept = np.where(chosen, self.values if values is None else values, np.nan)
        return Sample(kept, self.owner, self.ratio, self.unit)


def samples(
    cells: Sequence[Cell],
    folds: Sequence[Fold],
    queries: Sequence[np.ndarray],
    metric: Metric,
    unit: str,
) -> Sample:
    """Return one method's sample of a metric.

    Parameters
    ----------
    cells, folds, queries
        Per fold: the method's cell, the fold, and the indices of its test queries.
    metric : Metric
        If its summary is not a mean over queries, the unit is the fold.
    unit : {"queries", "folds"}
        The unit that the split allows.
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


def means_and_intervals(found: Sequence[Sample], level: float) -> list[dict[str, Any]]:
    """Return each sample's mean (``value``), its interval (``low``, ``high``) and ``n``.

    Over queries the interval is a bootstrap with replicates shared by all samples (Student's above
    2000 queries); over folds Student's, with Nadeau and Bengio's correction of the variance for
    overlapping folds. The interval is undefined for fewer than two units, the mean for none.
    """
    columns = [sample.per_unit() for sample in found]
    rows = []
    for sample, column in zip(found, columns, strict=True):
        known = column[~np.isnan(column)]
        row: dict[str, Any] = {"value": float("nan"), "low": float("nan"), "high": float("nan")}
        row |= {"n": len(known)}
        if len(known):
            row["value"] = float(known.mean())
        if len(known) > 1 and (sample.unit == "folds" or len(known) > MANY):
            from scipy.special import stdtrit

            ratio = sample.ratio if sample.unit == "folds" else 0.0
            reach = float(stdtrit(len(known) - 1, (1 + level) / 2)) * _error(known, ratio)
            row |= {"low": row["value"] - reach, "high": row["value"] + reach}
        rows.append(row)
    drawn = [i for i, s in enumerate(found) if s.unit == "queries" and 1 < rows[i]["n"] <= MANY]
    if drawn:
        table = np.stack([columns[i] for i in drawn], axis=1)
        table = table[~np.isnan(table).all(axis=1)]
        parts = inference.query_counts(generator(0, 11), N_BOOT, len(table))
        replicates = np.concatenate([weighted_means(table, counts) for counts in parts])
        for at, i in enumerate(drawn):
            low, high = inference.interval(replicates[:, at], level, rows[i]["n"])
            rows[i] |= {"low": float(low), "high": float(high)}
    return rows


def paired_tests(pairs: Sequence[tuple[Sample, Sample]], level: float) -> list[dict[str, Any]]:
    """Return paired tests of equal means, where both methods finished and are defined.

    Over queries: random sign flips of the differences per query, shared by all pairs, and
    Student's t. Over folds: only the corrected resampled t-test, since sign flips would treat
    overlapping folds as independent.
    """
    known = [~(np.isnan(a.values) | np.isnan(b.values)) for a, b in pairs]
    gaps = [a.where(both, a.values - b.values) for (a, b), both in zip(pairs, known, strict=True)]
    rows = means_and_intervals(gaps, level)
    sides = [
        [float(np.nanmean(each.where(both).per_unit())) if both.any() else np.nan for each in pair]
        for pair, both in zip(pairs, known, strict=True)
    ]
    flipped = _by_flips([gap.per_unit() for gap in gaps if gap.unit == "queries"])
    found = []
    for gap, row, (value, other) in zip(gaps, rows, sides, strict=True):
        difference = gap.per_unit()
        folds = gap.unit == "folds"
        p_random = float("nan") if folds else next(flipped)
        p_t = _t_test(difference[~np.isnan(difference)], gap.ratio if folds else 0.0)
        found.append(
            {"value": value, "other": other, "difference": row["value"], "low": row["low"],
             "high": row["high"], "p_random": p_random, "p_t": p_t, "unit": gap.unit, "n": row["n"]}
        )  # fmt: skip
    return found


def family_tests(
    pairs: Sequence[tuple[Sample, Sample]], tested: Sequence[bool], level: float
) -> list[dict[str, Any]]:
    """Return the difference of each pair, its interval, and p-values corrected for all pairs.

    Over queries the correction is the step-down maxT of sign flips that all pairs share, with the
    statistic ``|sum of differences| / root of their sum of squares``. It respects the correlation
    of pairs that share a method. Over folds it is Holm's, of the corrected resampled t-test. If
    both kinds occur, each has half of the error probability.

    Parameters
    ----------
    pairs : sequence of pairs of Sample
        The samples whose difference, first minus second, is estimated.
    tested : sequence of bool
        Whether the pair belongs to the family; the others have no p-values.
    level : float
        Level of the intervals.
    """
    gaps = [
        a.where(~(np.isnan(a.values) | np.isnan(b.values)), a.values - b.values) for a, b in pairs
    ]
    rows = [
        {"estimate": row["value"], "low": row["low"], "high": row["high"], "p": float("nan"),
         "p_family": float("nan"), "interval_of": gap.unit, "n": row["n"]}
        for gap, row in zip(gaps, means_and_intervals(gaps, level), strict=True)
    ]  # fmt: skip
    chosen = [i for i, row in enumerate(rows) if tested[i] and row["n"] > 1]
    by_query = [i for i in chosen if gaps[i].unit == "queries"]
    by_fold = [i for i in chosen if gaps[i].unit == "folds"]
    blocks = (len(by_query) > 0) + (len(by_fold) > 0)
    if by_query:
        own, family = _step_down([gaps[i].per_unit() for i in by_query])
        for i, p, p_family in zip(by_query, own.tolist(), family.tolist(), strict=True):
            rows[i] |= {"p": p, "p_family": min(1.0, blocks * p_family)}
    differences = [gaps[i].per_unit() for i in by_fold]
    alone = [
        _t_test(d[~np.isnan(d)], gaps[i].ratio) for i, d in zip(by_fold, differences, strict=True)
    ]
    for i, p, p_family in zip(by_fold, alone, inference.holm(alone).tolist(), strict=True):
        rows[i] |= {"p": p, "p_family": min(1.0, blocks * p_family)}
    return rows


def _step_down(differences: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the p-value of each column under shared random signs, alone and by step-down maxT."""
    table = np.nan_to_num(np.stack(differences, axis=1))
    table = table[(table != 0).any(axis=1)]
    scale = np.sqrt((table**2).sum(axis=0))
    table = table / np.where(scale > 0, scale, 1.0)
    seen = np.abs(table.sum(axis=0))
    order = np.argsort(-seen, kind="stable")
    close = seen[order] - 1e-9
    n, draws = len(table), 0
    exact = 2**n <= N_FAMILY
    alone, family = np.zeros(len(seen)), np.zeros(len(seen))
    for signs in _all_signs(n) if exact else _random_signs(n, N_FAMILY):
        drawn = np.abs(signs @ table[:, order])
        largest = np.maximum.accumulate(drawn[:, ::-1], axis=1)[:, ::-1]
        alone += (drawn >= close).sum(axis=0)
        family += (largest >= close).sum(axis=0)
        draws += len(signs)
    more = 0 if exact else 1
    p, p_family = np.empty(len(seen)), np.empty(len(seen))
    p[order] = (more + alone) / (more + draws)
    p_family[order] = np.maximum.accumulate((more + family) / (more + draws))
    return p, p_family


def _by_flips(differences: Sequence[np.ndarray]) -> Iterator[float]:
    """Yield the p-value of each column of differences under random signs, or all signs if few.

    An undefined difference counts as 0, which no sign changes.
    """
    if not differences:
        return
    table = np.nan_to_num(np.stack(differences, axis=1))
    several = np.array([(~np.isnan(each)).sum() > 1 for each in differences])
    table = table[(table != 0).any(axis=1)]
    n = len(table)
    close = np.abs(table.sum(axis=0)) - 1e-12 * np.abs(table).sum(axis=0)
    exact = 2**n <= N_PERMUTATIONS
    hits, draws = np.zeros(table.shape[1]), 0
    for signs in _all_signs(n) if exact else _random_signs(n):
        hits += (np.abs(signs @ table) >= close).sum(axis=0)
        draws += len(signs)
    p = hits / draws if exact else (1 + hits) / (1 + draws)
    yield from np.where(several, p, np.nan).tolist()


def _all_signs(n: int) -> Iterator[np.ndarray]:
    yield np.array(list(product((-1.0, 1.0), repeat=n))).reshape(2**n, n)


#: Random numbers drawn at a time.
BLOCK = 1 << 22


def _random_signs(n: int, draws: int = N_PERMUTATIONS) -> Iterator[np.ndarray]:
    rng, block = generator(0, 13), max(1, BLOCK // n)
    for begin in range(0, draws, block):
        shape = (min(block, draws - begin), n)
        yield rng.integers(0, 2, size=shape, dtype=np.int8) * 2.0 - 1.0


def _error(values: np.ndarray, ratio: float) -> float:
    """Return the standard error of a mean: ``sqrt((1/n + ratio) * variance)``."""
    return sqrt((1.0 / len(values) + ratio) * float(values.var(ddof=1)))


def _t_test(difference: np.ndarray, ratio: float) -> float:
    """Return Student's p-value; 1 if all differences are 0, 0 if all are equal otherwise."""
    from scipy.special import stdtr

    if len(difference) < 2:
        return float("nan")
    if not difference.any():
        return 1.0
    error = _error(difference, ratio)
    if error == 0:
        return 0.0
    return float(2 * stdtr(len(difference) - 1, -abs(difference.mean()) / error))
