"""Samples of whole lists: their rows, chosen by key, so that samples of parts can be joined."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import inputs
from .attribute import Attribute
from .data import RankingData
from .ranking import Ranking

if TYPE_CHECKING:
    from .sums_plan import SumsPlan

__all__ = ["Extremes", "ListSample", "most_unequal"]


#: Most lists and rows of the sample with the smallest keys.
MOST_LISTS, MOST_ROWS = 2_048, 1_000_000
#: Most lists per attribute that are listed as the most unequal.
MOST_EXTREME = 500


@dataclass(frozen=True, eq=False)
class ListSample:
    """The rows of some lists, sorted by the key of the list.

    Attributes
    ----------
    keys : ndarray of uint64
        Key of each list.
    labels : ndarray of object
        Label of each list.
    offsets : ndarray of int64
        List ``q`` consists of the rows ``offsets[q]:offsets[q + 1]``.
    codes : ndarray of shape (n_rows, n_attributes)
        The label of each attribute as a code of the plan, -1 if unknown.
    columns : dict of str to ndarray
        Of ``score``, ``position``, ``y``, ``cost``, features and columns of decisions, those that
        the data have; ``before`` and ``before last`` are positions in another ranking.
    """

    keys: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray
    codes: np.ndarray
    columns: dict[str, np.ndarray]

    @property
    def n_lists(self) -> int:
        """Number of lists."""
        return len(self.keys)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.offsets[-1])

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each list."""
        return np.diff(self.offsets)

    @classmethod
    def of(
        cls,
        data: RankingData,
        keys: np.ndarray,
        codes: np.ndarray,
        before: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> "ListSample":
        """Return all lists of data; ``codes`` are those of the plan.

        ``before`` has the first and last position of each row in another ranking.
        """
        columns = {
            name: getattr(data, name)
            for name in ("score", "position", "y", "cost")
            if getattr(data, name) is not None
        }
        if data.X is not None:
            X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
            names = data.feature_names or map(str, range(X.shape[1]))
            columns |= {f"feature {name}": X[:, at] for at, name in enumerate(names)}
        columns |= {f"outcome {name}": values for name, values in data.outcomes.items()}
        if before is not None:
            columns |= {"before": before[0], "before last": before[1]}
        labels = np.empty(len(data.qids), dtype=object)
        labels[:] = data.qids.tolist()
        return cls(keys, labels, data.offsets, codes, columns)

    def take(self, lists: np.ndarray) -> "ListSample":
        """Return some lists, given by index, in this order."""
        sizes = self.sizes[lists]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = np.repeat(self.offsets[lists] - offsets[:-1], sizes) + np.arange(offsets[-1])
        columns = {name: values[rows] for name, values in self.columns.items()}
        return ListSample(self.keys[lists], self.labels[lists], offsets, self.codes[rows], columns)

    def smallest(self, most_key: np.uint64 | None = None) -> "ListSample":
        """Return the longest run in key order of at most 2,048 lists and 1,000,000 rows.

        With ``most_key`` lists with greater keys are left out, even if none remains.
        """
        if most_key is not None:
            return self.take(np.flatnonzero(self.keys <= most_key)).smallest()
        if self.n_lists == 0:
            return self
        order = self._order()[:MOST_LISTS]
        rows = np.cumsum(self.sizes[order])
        few = max(1, int(np.searchsorted(rows, MOST_ROWS, side="right")))
        return self.take(order[:few])

    def sorted(self) -> "ListSample":
        """Return the lists in key order; lists with one key by label, length and rows."""
        return self.take(self._order())

    def _order(self) -> np.ndarray:
        order = np.argsort(self.keys, kind="stable")
        equal = np.flatnonzero(np.diff(self.keys[order]) == 0)
        if len(equal) == 0:
            return order
        ranks = {
            at: self._content(at) for at in {*order[equal].tolist(), *order[equal + 1].tolist()}
        }
        return np.array(sorted(order.tolist(), key=lambda at: (self.keys[at], ranks.get(at, ()))))

    def _content(self, at: int) -> tuple[Any, ...]:
        rows = slice(*self.offsets[at : at + 2].tolist())
        values = [self.codes[rows].tolist(), *(v[rows].tolist() for v in self.columns.values())]
        return str(self.labels[at]), rows.stop - rows.start, repr(values)

    @classmethod
    def join(cls, parts: Sequence["ListSample"]) -> "ListSample":
        """Return the lists of several samples, one after the other."""
        if len(parts) == 1:
            return parts[0]
        sizes = np.concatenate([part.sizes for part in parts])
        return cls(
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([part.codes for part in parts]),
            {
                name: np.concatenate([part.columns[name] for part in parts])
                for name in parts[0].columns
            },
        )

    def recoded(self, lookup: Sequence[np.ndarray]) -> "ListSample":
        """Return the sample with the codes of another plan; ``lookup`` has one for each code."""
        codes = self.codes.copy()
        for at, new in enumerate(lookup):
            codes[:, at] = np.append(new, -1)[self.codes[:, at]]
        return ListSample(self.keys, self.labels, self.offsets, codes, self.columns)

    def to_data(self, plan: "SumsPlan") -> RankingData:
        """Return the rows as data whose attributes have the groups of the plan."""
        sensitive = {
            name: Attribute(inputs.frozen(self.codes[:, at].astype(np.int32)), labels)
            for at, (name, labels) in enumerate(plan.groups.items())
        }
        labels = np.asarray(self.labels.tolist())
        if labels.ndim != 1 or labels.dtype.kind not in "iuU":
            labels = self.labels
        y = self.columns.get("y")
        outcomes = {
            name.removeprefix("outcome "): inputs.frozen(values)
            for name, values in self.columns.items()
            if name.startswith("outcome ")
        }
        given: dict[str, Any] = {
            name: inputs.frozen(self.columns[name])
            for name in ("score", "position", "cost")
            if name in self.columns
        }
        names = [name for name in self.columns if name.startswith("feature ")]
        X = np.stack([self.columns[name] for name in names], axis=1) if names else None
        return RankingData(
            None if X is None else inputs.frozen_matrix(X),
            None if y is None else inputs.frozen(y),
            inputs.frozen(self.offsets),
            inputs.frozen(labels),
            sensitive,
            max_grade=plan.max_grade,
            feature_names=tuple(name.removeprefix("feature ") for name in names) or None,
            outcomes=outcomes,
            **given,
        )

    def before(self, data: RankingData) -> Ranking | None:
        """Return the other ranking of the rows, which are those of ``data``; None without one."""
        if "before" not in self.columns:
            return None
        first, last = (inputs.frozen(self.columns[name]) for name in ("before", "before last"))
        return Ranking(data, first, None if (first == last).all() else last)


def most_unequal(size: np.ndarray) -> np.ndarray:
    """Return the lists that may be among the 500 with the largest difference, by index."""
    if len(size) <= 4 * MOST_EXTREME:
        return np.arange(len(size))
    edge = np.partition(size, len(size) - MOST_EXTREME)[len(size) - MOST_EXTREME]
    return np.flatnonzero(size >= edge - 1e-11)


@dataclass(frozen=True, eq=False)
class Extremes:
    """The most unequal lists of one attribute.

    Attributes
    ----------
    keys, labels, sizes : ndarray
        Key, label and length of each list.
    differences : ndarray of shape (n, n_groups)
        Each group's mean position minus that of everyone else; NaN where one is absent.
    gaps : ndarray of shape (n, n_targets)
        The gaps of the attribute, as in `SumsPlan.targets`.
    """

    keys: np.ndarray
    labels: np.ndarray
    sizes: np.ndarray
    differences: np.ndarray
    gaps: np.ndarray

    @classmethod
    def join(cls, parts: Sequence["Extremes"]) -> "Extremes":
        """Return the most unequal lists of several parts, by difference over length, then key."""
        names = ("keys", "labels", "sizes", "differences", "gaps")
        found = cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
        return found.most()

    def most(self) -> "Extremes":
        """Return the most unequal lists, at most 500."""
        size = np.nan_to_num(np.abs(self.differences) / self.sizes[:, None], nan=-1.0)
        largest = size.max(axis=1, initial=-1.0)
        few = most_unequal(largest)
        order = few[np.lexsort((self.keys[few], -np.round(largest[few], 12)))]
        return self.take(order[:MOST_EXTREME])

    def take(self, lists: np.ndarray) -> "Extremes":
        """Return some of the lists, given by index."""
        names = ("keys", "labels", "sizes", "differences", "gaps")
        return Extremes(*(getattr(self, name)[lists] for name in names))

    def recoded(
        self, groups: np.ndarray, n_groups: int, gaps: np.ndarray, n_gaps: int
    ) -> "Extremes":
        """Return the lists with the groups and gaps of another plan, which has all of these."""
        wide = np.full((len(self.keys), n_groups), np.nan)
        wide[:, groups] = self.differences
        values = np.full((len(self.keys), n_gaps), np.nan)
        values[:, gaps] = self.gaps
        return Extremes(self.keys, self.labels, self.sizes, wide, values)
