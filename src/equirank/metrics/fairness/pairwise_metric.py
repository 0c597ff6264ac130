"""What the pairwise metrics share: counts of pairs per query and two groups."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.metric import GroupMetric, Values
from ...core.slots import Slots
from ...kernels.division import divide
from ...kernels.pairs import count_group_pairs

__all__ = ["AccuracyGap", "PairCounts", "count_pairs"]


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Pairs with the better item in group g and the worse in group h (query x g x h)."""

    wrong: np.ndarray
    total: np.ndarray

    def accuracy(self) -> np.ndarray:
        """Give the share in which the better item stands above, ties half."""
        return divide(self.total - self.wrong, self.total)

    def of(self, group: int) -> np.ndarray:
        """Give the accuracies of a group against the rest: better, and worse (query x 2)."""
        others = np.arange(self.total.shape[1]) != group
        sides = [np.s_[:, group, others], np.s_[:, others, group]]
        pairs = np.stack([self.total[side].sum(axis=1) for side in sides], axis=1)
        lost = np.stack([self.wrong[side].sum(axis=1) for side in sides], axis=1)
        return divide(pairs - lost, pairs)


def count_pairs(slots: Slots, codes: np.ndarray, n_groups: int, y: np.ndarray) -> PairCounts:
    """Count misordered pairs, tied ones half, and all pairs that differ in relevance ``y``."""
    above, tied, total = count_group_pairs(codes, n_groups, y, slots.end(), slots.offsets)
    return PairCounts(above + tied / 2.0, total.astype(np.float64))


@dataclass(frozen=True, repr=False, kw_only=True)
class AccuracyGap(GroupMetric):
    """Base of gaps between how often one group's better items win and how often the other's do."""

    exact_ties: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "sensitive"})
    takes_k: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "no two groups have pairs to compare in both directions"

    def relevance(self, slots: Slots) -> np.ndarray:
        """Give the relevance by which items are better or worse."""
        return slots.y

    def values(self, slots: Slots) -> Values:
        """Give the largest gap of two groups, or that of the protected group to the rest."""
        codes, labels = slots.groups(self.by)
        counts = count_pairs(slots, codes, len(labels), self.relevance(slots))
        against = np.stack([counts.of(group) for group in range(len(labels))], axis=1)
        if self.protected is not None:
            both = against[:, slots.data.attribute(self.by).code(self.protected)]
            return Values(np.abs(both[:, 0] - both[:, 1]), against[:, :, 0], labels)
        accuracy = counts.accuracy()
        gaps = np.abs(accuracy - accuracy.transpose(0, 2, 1))
        gaps[:, np.arange(len(labels)), np.arange(len(labels))] = np.nan
        largest = np.where(np.isnan(gaps), -1.0, gaps).max(axis=(1, 2), initial=-1.0)
        return Values(np.where(largest < 0, np.nan, largest), against[:, :, 0], labels)
