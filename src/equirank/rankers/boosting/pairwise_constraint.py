"""Fairness constraints of FairReduction that are linear in pairwise errors."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.label_probability import training_memberships, warn_of_little_information
from ...core.pair_cost import PairCost
from ...core.ranking import Ranking
from ...costs import GroupPairCost, ParityPairCost
from ...kernels.member_pairs import weighted_above, weighted_pairs
from ...kernels.segments import sort_within
from ...metrics.fairness.pairwise import count_pairs

__all__ = ["CONSTRAINTS", "PairwiseConstraint", "pairwise_constraint"]


#: Largest number of groups times grades for which pairs of equal relevance have their own cells.
MOST_CELLS = 128
CONSTRAINTS = ("group_pairwise_accuracy", "rank_equality", "rank_parity")


@dataclass(frozen=True, eq=False)
class PairwiseConstraint:
    """Differences between pairs of groups, each a weighted sum of misordered pairs.

    The k-th difference is ``sum over g, h of weights[k, g, h] x wrong[g, h]``, where ``wrong``
    counts pairs by group of the better and of the worse item. For `mixed` constraints it counts all
    pairs of two groups, of any relevance, in which the item of h is ranked above.

    Attributes
    ----------
    kind : str
        One of `CONSTRAINTS`.
    by : str, tuple of str or None
        The sensitive attribute.
    weights : ndarray of shape (n_differences, n_groups, n_groups)
        See above.
    labels : list of (group, group)
        The two groups of each difference.
    n_pairs : float
        Number of pairs of unequal relevance.
    few_grades : bool
        Whether groups (or kinds of memberships) times grades are at most `MOST_CELLS`.
    members : ndarray of shape (rows, groups) or None
        Memberships of the rows, if groups are uncertain: a pair counts ``a_i(g) a_j(h)``.
    """

    kind: str
    by: Any
    weights: np.ndarray
    labels: list[tuple[Any, Any]]
    n_pairs: float
    few_grades: bool
    members: np.ndarray | None = None

    @property
    def mixed(self) -> bool:
        """Whether pairs of equal relevance count as well."""
        return self.kind == "rank_parity"

    def measure(self, data: RankingData, score: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the share of misordered pairs, ties counted half, and the group differences.

        ``score`` is per stored row. Pairs are pooled over the queries.
        """
        wrong, total = counted(data, score, self.by, self.members)
        error = float(wrong.sum() / total.sum())
        if self.mixed:
            wrong = above(data, score, self.by, self.members)
        return error, np.einsum("kgh,gh->k", self.weights, wrong)

    def cost(self, multipliers: np.ndarray) -> PairCost:
        """Return the pair cost of the Lagrangian, scaled to 1 per pair without multipliers.

        A pair of negative cost counts reversed.
        """
        extra = np.einsum("k,kgh->gh", multipliers, self.weights) * self.n_pairs
        whole = np.ones(extra.shape)
        given: dict[str, Any] = {"by": self.by, "by_probability": self.members is not None}
        if not self.mixed:
            return GroupPairCost((whole + extra).tolist(), **given)
        net = extra - extra.T  # ranking h above g is not ranking g above h
        if self.few_grades:
            return ParityPairCost(net.tolist(), base=1.0, **given)
        return GroupPairCost((whole + net).tolist(), **given)


def pairwise_constraint(data: RankingData, kind: str, by: Any) -> PairwiseConstraint:
    """Return the constraint for the groups of a data set.

    Two groups without pairs to compare (in both directions, for accuracies) are not constrained.
    """
    attribute, members = data.attribute(by), None
    if attribute.doubtful:
        found = training_memberships(data, by, "FairReduction")
        warn_of_little_information("FairReduction", found)
        members = found.table
    names, size = attribute.categories, len(attribute.categories)
    if data.n_rows < 2:
        raise DataError("X must have at least two rows to form a pair, got one sample")
    if size < 2:
        raise DataError(f"sensitive_features must have at least two groups, got {names[0]!r} only")
    _, total = counted(data, np.zeros(data.n_rows), by, members)
    if total.sum() == 0:
        raise DataError("y must have two grades in at least one list, got none")
    mixed = mixed_pairs(data, by, members)
    weights, labels = [], []
    for g in range(size):
        for h in range(g + 1, size):
            table = np.zeros((size, size))
            if kind == "group_pairwise_accuracy":
                if total[g, h] <= 0 or total[h, g] <= 0:
                    continue
                table[g, h], table[h, g] = -1.0 / total[g, h], 1.0 / total[h, g]
            else:
                if mixed[g] <= 0 or mixed[h] <= 0:
                    continue
                table[np.arange(size) != g, g] += 1.0 / mixed[g]
                table[np.arange(size) != h, h] -= 1.0 / mixed[h]
            weights.append(table)
            labels.append((names[g], names[h]))
    kinds = size if members is None else len(np.unique(members, axis=0))
    few = kinds * len(np.unique(np.asarray(data.y))) <= MOST_CELLS
    stacked = np.array(weights).reshape(-1, size, size)
    return PairwiseConstraint(kind, by, stacked, labels, float(total.sum()), few, members)


def counted(
    data: RankingData, score: np.ndarray, by: Any, members: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts of misordered pairs (ties half) and of all pairs, by groups."""
    if members is not None:
        by_y = sort_within(-np.asarray(data.y, dtype=np.float64), data.offsets)
        y = np.array(data.y, dtype=np.float64)
        offsets = np.array(data.offsets)
        return weighted_pairs(y, _ranks(data, score), np.array(members), offsets, by_y)
    attribute = data.attribute(by)
    slots = Ranking.from_scores(data, data.to_original(score)).slots()
    counts = count_pairs(slots, attribute.codes[slots.order], len(attribute.categories), slots.y)
    return counts.wrong.sum(axis=0), counts.total.sum(axis=0)


def _ranks(data: RankingData, score: np.ndarray) -> np.ndarray:
    """Return the rank of each row in its list, 1 for the lowest score; ties alike."""
    order = sort_within(-np.asarray(score, dtype=np.float64), data.offsets)
    ordered = np.asarray(score)[order]
    first = np.zeros(len(order), dtype=bool)
    first[data.offsets[:-1]] = True
    new = first | np.concatenate([[True], ordered[1:] != ordered[:-1]])
    level = np.cumsum(new)
    rank = np.empty(len(order), dtype=np.int64)
    sizes = np.diff(data.offsets)
    rank[order] = level - np.repeat(level[data.offsets[:-1]], sizes) + 1
    return rank


def above(
    data: RankingData, score: np.ndarray, by: Any, members: np.ndarray | None = None
) -> np.ndarray:
    """Return the counts of pairs of two groups with the second ranked above, ties half."""
    if members is not None:
        return weighted_above(_ranks(data, score), members, data.offsets)
    attribute = data.attribute(by)
    size = len(attribute.categories)
    slots = Ranking.from_scores(data, data.to_original(score)).slots()
    codes = attribute.codes[slots.order]
    begin, end = slots.begin(), slots.end()
    last = np.repeat(slots.offsets[1:], slots.sizes)
    result = np.zeros((size, size))
    for g in range(size):
        seen = np.concatenate([[0], np.cumsum(codes == g)])
        won = seen[last] - (seen[end] + seen[begin]) / 2.0  # items of g below each row
        result[g] = np.bincount(codes, weights=won, minlength=size)
    np.fill_diagonal(result, 0.0)
    return result


def mixed_pairs(data: RankingData, by: Any, members: np.ndarray | None = None) -> np.ndarray:
    """Return the number of pairs of each group with other groups.

    With memberships, ``n_G n_H`` is ``A_G A_H`` less the items with themselves.
    """
    if members is None:
        sizes = group_sizes(data, by)
        lists = sizes.sum(axis=1, keepdims=True)
        return np.asarray((sizes * (lists - sizes)).sum(axis=0))
    sums = np.add.reduceat(members, data.offsets[:-1], axis=0)
    table = sums.T @ sums - members.T @ members
    return np.asarray(table.sum(axis=1) - np.diagonal(table))


def group_sizes(data: RankingData, by: Any) -> np.ndarray:
    """Return the number of rows of each group in each list."""
    attribute = data.attribute(by)
    size = len(attribute.categories)
    cell = data.query_of_rows() * size + attribute.codes
    return np.bincount(cell, minlength=data.n_queries * size).reshape(-1, size).astype(float)
