"""Metrics split by group and within strata: how they are measured, kept and compared."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..kernels.division import divide
from ..kernels.resampling import weighted_means
from .errors import DataError
from .metric import Metric, Values
from .slots import Slots

__all__ = ["ByGroup", "Split", "difference", "nan_extreme", "ratio", "spread"]


@dataclass(frozen=True, eq=False)
class Split:
    """A metric by group: per query (query x strata x groups + 1, the whole last)."""

    per_query: np.ndarray
    replicates: np.ndarray | None
    p_value: np.ndarray

    @cached_property
    def value(self) -> np.ndarray:
        """Means over queries (strata x groups + 1)."""
        flat = self.per_query.reshape(len(self.per_query), -1)
        return weighted_means(flat).reshape(self.per_query.shape[1:])


@dataclass(frozen=True, repr=False, kw_only=True)
class ByGroup(Metric):
    """The values of a metric in each group, at the places of the full list.

    The group columns hold, stratum by stratum, each group's value and last the whole stratum's.

    Parameters
    ----------
    metric : Metric
        A sum over items (``additive``).
    by, control : str or tuple of str
        The attribute of the groups, and that of the strata (None: one stratum).
    """

    metric: Metric
    by: Any
    control: Any = None

    @property
    def of_expectation(self) -> bool:  # type: ignore[override]
        """As of the metric that is split."""
        return self.metric.of_expectation

    def values(self, slots: Slots) -> Values:
        """Give a row of group values per query; its own value is the largest difference."""
        codes, labels = slots.groups(self.by)
        if self.control is None:
            stratum, n_strata = np.zeros(len(codes), dtype=np.int64), 1
        else:
            stratum, strata = slots.groups(self.control)
            n_strata = len(strata)
        cells = stratum.astype(np.int64) * len(labels) + codes
        parts = self.metric.split(slots, cells, n_strata * len(labels))
        whole = self.metric.split(slots, stratum, n_strata)
        table = np.concatenate([parts.reshape(len(parts), n_strata, -1), whole[:, :, None]], axis=2)
        return Values(spread(table[:, :, :-1]).max(axis=1), table.reshape(len(table), -1), labels)


def spread(table: np.ndarray) -> np.ndarray:
    """Give largest minus smallest over the last axis, NaN left out, NaN for fewer than two."""
    several = (~np.isnan(table)).sum(axis=-1) > 1
    return np.where(several, nan_extreme(table, 1.0) - nan_extreme(table, -1.0), np.nan)


def nan_extreme(table: np.ndarray, sign: float) -> np.ndarray:
    """Give the largest (sign 1) or smallest (-1) over the last axis, NaN left out."""
    best = np.where(np.isnan(table), -np.inf, sign * table).max(axis=-1)
    return np.where(np.isinf(best), np.nan, sign * best)


def difference(table: np.ndarray, method: str) -> np.ndarray:
    """Give the largest difference between groups, or of a group to the whole (last column)."""
    groups, whole = table[..., :-1], table[..., -1:]
    if method == "to_overall":
        return nan_extreme(np.abs(groups - whole), 1.0)
    if method != "between_groups":
        raise DataError(f"method must be 'between_groups' or 'to_overall', got {method!r}")
    return spread(groups)


def ratio(table: np.ndarray, method: str) -> np.ndarray:
    """Give the smallest ratio between groups, or of a group and the whole (last column)."""
    groups, whole = table[..., :-1], table[..., -1:]
    if method == "to_overall":
        quotient = divide(groups, whole, whole != 0)
        other = divide(whole, groups, groups != 0)
        return nan_extreme(np.fmin(quotient, other), -1.0)
    if method != "between_groups":
        raise DataError(f"method must be 'between_groups' or 'to_overall', got {method!r}")
    high = nan_extreme(groups, 1.0)
    return divide(nan_extreme(groups, -1.0), high, high != 0)
