"""ByGroup: a metric that is a sum over items, split by group and within strata."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .metric import Metric, Values
from .slots import Slots

__all__ = ["ByGroup", "spread"]


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
    known = (~np.isnan(table)).sum(axis=-1)
    high = np.where(np.isnan(table), -np.inf, table).max(axis=-1)
    low = np.where(np.isnan(table), np.inf, table).min(axis=-1)
    return np.where(known > 1, high - np.where(known > 1, low, 0.0), np.nan)
