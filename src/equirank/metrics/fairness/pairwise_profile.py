"""Pairwise profile: a pairwise metric in a sliding window of positions."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.metric import Metric, Values
from ...core.params import Integer, check_params
from ...core.registry import parse_metrics
from ...core.slots import Slots
from ...core.table import Table
from .pairwise import cells_by_query

__all__ = ["pairwise_profile"]


@dataclass(frozen=True, repr=False, kw_only=True)
class _Windows(Metric):
    """A metric in every window; the windows are returned as groups."""

    takes_k: ClassVar[bool] = False

    metric: Metric
    window: int
    step: int

    def check(self, data: RankingData) -> None:
        """Raise if the metric cannot be computed or no list is as long as the window."""
        self.metric.check(data)
        longest = int(np.diff(data.offsets).max())
        if longest < self.window:
            raise DataError(
                f"window must be at most the length of the longest list ({longest}), "
                f"got {self.window}"
            )

    def values(self, slots: Slots) -> Values:
        """Return the metric and its groups in every window, NaN if a list has no such window."""
        longest = int(np.diff(slots.data.offsets).max())
        firsts = range(0, longest - self.window + 1, self.step)
        shown = slots.head()
        columns, labels = [], []
        for first in firsts:
            part = self._inside(shown, first, slots)
            columns.append(part.value)
            labels.append((first + 1, None))
            for at, label in enumerate(part.labels):
                columns.append(np.asarray(part.groups)[:, at])
                labels.append((first + 1, label))
        return Values(np.zeros(slots.n_queries), np.stack(columns, axis=1), tuple(labels))

    def _inside(self, slots: Slots, first: int, whole: Slots) -> Values:
        """Return the metric in one window; a tie block that overlaps it counts as a whole."""
        reach = slots.offsets[:-1] + first
        long = slots.sizes >= first + self.window
        begin, end = slots.begin(), slots.end()
        low, high = np.repeat(reach, slots.sizes), np.repeat(reach + self.window, slots.sizes)
        overlaps = (begin < high) & (end > low) & np.repeat(long, slots.sizes)
        index = np.flatnonzero(overlaps)
        counts = np.bincount(slots.query[index], minlength=slots.n_queries)[long]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        codes = {by: codes[index] for by, codes in slots.codes.items()}
        if not len(index):
            # no list is that long: only the labels are needed
            found = self.metric.values(whole)
            missing = None if found.groups is None else np.full(found.groups.shape, np.nan)
            return Values(np.full(slots.n_queries, np.nan), missing, found.labels)
        lo = hi = None
        if slots.lo is not None and slots.hi is not None:
            shift = np.repeat(index[offsets[:-1]] - offsets[:-1], counts)
            lo, hi = slots.lo[index] - shift, slots.hi[index] - shift
        cut = Slots(slots.data, slots.order[index], offsets, lo, hi, codes=codes)
        found = self.metric.values(cut)
        value = np.full(slots.n_queries, np.nan)
        value[long] = found.value
        groups = None
        if found.groups is not None:
            groups = np.full((slots.n_queries, found.groups.shape[1]), np.nan)
            groups[long] = found.groups
        return Values(value, groups, found.labels)


def pairwise_profile(
    metric: Any,
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    *,
    window: int,
    step: int = 1,
    qid: Any = None,
    ties: Literal["average", "stable"] = "average",
) -> Table:
    """Compute a metric in a sliding window of positions.

    The profile shows where in the list pairwise errors occur. Only pairs within the window count,
    at positions first to first + window - 1. A block of tied items that overlaps the window counts
    as a whole, so the order of rows does not matter. Rows that are not shown are in no window.

    Parameters
    ----------
    metric : Metric or str
        `RankEqualityError`, `RankCalibrationError`, `RankParityError`, `GroupPairwiseAccuracy`,
        `CrossGroupAUC` or another metric of the order of a list.
    y_true : array-like or None
        Relevance, >= 0; None for a metric that needs none.
    y_score : array-like
        Scores, higher scores rank first; or a `Ranking`.
    sensitive_features : array-like
        The group of each row.
    window : int
        Number of positions, >= 2.
    step : int
        Number of positions between windows.
    qid : array-like, optional
        The query of each row; None makes all rows one list.
    ties : {"average", "stable"}
        Treat equal scores as ties, or keep their input order.

    Returns
    -------
    Table
        A row per window: its ``first`` and ``last`` position, the mean ``value`` over the
        ``queries`` where it is defined, and that of each group (``value of`` the group).

    References
    ----------
    Kuhlman et al., WWW 2019, as in `RankParityError`.

    Examples
    --------
    >>> from equirank.metrics import RankParityError, pairwise_profile
    >>> table = pairwise_profile(
    ...     RankParityError(protected="a"), None, [5, 4, 3, 2, 1], list("aabba"), window=3
    ... )
    >>> table["first"], table["value"]
    (array([1, 2, 3]), array([1., 1., 0.]))
    """
    check_params(
        "pairwise_profile",
        {"window": window, "step": step},
        {"window": Integer(2), "step": Integer(1)},
    )
    (given,) = parse_metrics(metric)
    windows = _Windows(metric=given, window=int(window), step=int(step))
    cells = cells_by_query(windows, y_true, y_score, sensitive_features, qid, ties)
    firsts = [first for first, label in cells if label is None]
    names = dict.fromkeys(label for _, label in cells if label is not None)
    columns = {
        "first": np.array(firsts),
        "last": np.array(firsts) + window - 1,
        "value": np.array([_mean(cells[first, None]) for first in firsts]),
        "queries": np.array([int((~np.isnan(cells[first, None])).sum()) for first in firsts]),
    }
    columns |= {
        f"value of {name}": np.array([_mean(cells[first, name]) for first in firsts])
        for name in names
    }
    return Table(columns)


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
