"""Gaps between groups in pairwise accuracy and cross-group AUC."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import GroupMetric, Metric, Values, score_arrays
from ...core.slots import Slots
from ...core.table import Table
from ...kernels.pair_counts import count_group_pairs
from ...kernels.segments import divide
from ..relevance.binary_metric import BinaryMetric

__all__ = [
    "AccuracyGap",
    "CrossGroupAUC",
    "GroupPairwiseAccuracy",
    "PairCounts",
    "cells_by_query",
    "count_pairs",
    "pairwise_accuracy_matrix",
]


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts of pairs with the better item in group g and the worse in group h (query x g x h)."""

    wrong: np.ndarray
    total: np.ndarray

    def accuracy(self) -> np.ndarray:
        """Return the share of pairs in which the better item ranks higher, ties half."""
        return divide(self.total - self.wrong, self.total)

    def of(self, group: int) -> np.ndarray:
        """Return a group's accuracies as better and as worse side of pairs with everyone else."""
        others = np.arange(self.total.shape[1]) != group
        sides = [np.s_[:, group, others], np.s_[:, others, group]]
        pairs = np.stack([self.total[side].sum(axis=1) for side in sides], axis=1)
        lost = np.stack([self.wrong[side].sum(axis=1) for side in sides], axis=1)
        return divide(pairs - lost, pairs)


def count_pairs(slots: Slots, codes: np.ndarray, n_groups: int, y: np.ndarray) -> PairCounts:
    """Count misordered pairs, tied ones half, and all pairs that differ in relevance ``y``.

    Pairs with an unknown label do not count.
    """
    if len(codes) and codes.min() < 0:
        known = codes >= 0
        if not known.any():
            none = np.zeros((slots.n_queries, n_groups, n_groups))
            return PairCounts(none, none)
        slots, codes, y = slots.keep(known), codes[known], y[known]
    above, tied, total = count_group_pairs(codes, n_groups, y, slots.end(), slots.offsets)
    return PairCounts(above + tied / 2.0, total.astype(np.float64))


@dataclass(frozen=True, repr=False, kw_only=True)
class AccuracyGap(GroupMetric):
    """Base of gaps between the pairwise accuracies of two groups.

    Parameters
    ----------
    protected : label, optional
        The group to compare with everyone else; without it, the largest gap between two groups.
    """

    exact_ties: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "sensitive"})
    takes_k: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "no two groups have pairs to compare in both directions"

    def relevance(self, slots: Slots) -> np.ndarray:
        """Return the relevance that decides which item of a pair is better."""
        return slots.y

    def values(self, slots: Slots) -> Values:
        """Return the largest gap between two groups, or that of the protected group."""
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


@dataclass(frozen=True, repr=False, kw_only=True)
class CrossGroupAUC(BinaryMetric, AccuracyGap):
    """xAUC gap: the difference between the cross-group AUC of two groups; 0 is equal.

    ``| xAUC(G, H) - xAUC(H, G) |`` with ``xAUC(G, H) = P(score of a relevant item of G > score of
    an irrelevant one of H)``, ties half, over the pairs of a query. The value is the largest gap
    between any two groups; with ``protected``, H is everyone else. The result includes the xAUC of
    each group against everyone else. Values are in [0, 1]. Items that are not shown are tied below
    those shown. A gap is undefined if one direction has no pairs, and the metric if all gaps are.
    Ties are half pairs before the gap is taken; over draws: the expected gap.

    References
    ----------
    Kallus and Zhou, The fairness of risk scores beyond classification: bipartite ranking and the
    xAUC metric, NeurIPS 2019.

    Examples
    --------
    >>> from equirank.metrics import CrossGroupAUC, cross_group_auc
    >>> CrossGroupAUC(threshold=2)
    CrossGroupAUC(threshold=2)
    >>> y, score = [1, 1, 0, 0], [4, 2, 3, 1]
    >>> cross_group_auc(y, score, ["a", "b", "a", "b"])  # |1 - 0|
    1.0
    """

    needs: ClassVar[frozenset[str]] = AccuracyGap.needs

    def relevance(self, slots: Slots) -> np.ndarray:
        """Return 1 where an item is relevant."""
        return (slots.y >= self.threshold).astype(np.int64)


OTHERS = "(others)"


@dataclass(frozen=True, repr=False, kw_only=True)
class GroupPairwiseAccuracy(AccuracyGap):
    """Pairwise accuracy gap: the difference between groups in how often better items rank higher.

    ``| A_{G>H} - A_{H>G} |`` where ``A_{G>H}`` is, among the pairs of an item of G and an item of H
    with ``y_G > y_H``, the share with G's item ranked higher, tied pairs half. The value is the
    largest gap between any two groups; with ``protected``, H is everyone else. The result includes
    the accuracy of each group against everyone else (inter-group accuracy), which shows the
    direction of the gap; `pairwise_accuracy_matrix` returns the full table. Values are in [0, 1],
    lower is fairer. Items that are not shown are tied below those shown. A gap is undefined if one
    direction has no pairs, and the metric if all gaps are. Ties are half pairs before the gap is
    taken; over draws: the expected gap.

    References
    ----------
    Narasimhan, Cotter, Gupta and Wang, Pairwise fairness for ranking and regression, AAAI 2020.
    Beutel et al., Fairness in recommendation ranking through pairwise comparisons, KDD 2019.

    Examples
    --------
    >>> from equirank.metrics import GroupPairwiseAccuracy, group_pairwise_accuracy
    >>> GroupPairwiseAccuracy(by="sex")
    GroupPairwiseAccuracy(by="sex")
    >>> y, score = [1, 1, 0, 0], [4, 2, 3, 1]
    >>> group_pairwise_accuracy(y, score, ["a", "b", "a", "b"])  # |1 - 0|
    1.0
    >>> group_pairwise_accuracy(y, score, ["a", "b", "b", "a"], return_groups=True)
    (0.0, {'a': 1.0, 'b': 1.0})
    """

    plain_name: ClassVar[str] = "difference in pairwise accuracy"


@dataclass(frozen=True, repr=False, kw_only=True)
class _Matrix(GroupMetric):
    """Accuracies of all pairs of groups, and of each group against everyone else."""

    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "sensitive"})
    takes_k: ClassVar[bool] = False

    def values(self, slots: Slots) -> Values:
        """Return accuracies and numbers of pairs per query as groups; the value is 0."""
        codes, labels = slots.groups(self.by)
        counts = count_pairs(slots, codes, len(labels), slots.y)
        others = np.stack([counts.of(group)[:, 0] for group in range(len(labels))], axis=1)
        pairs = counts.total
        rest = pairs.sum(axis=2) - np.diagonal(pairs, axis1=1, axis2=2)
        table = np.concatenate([counts.accuracy(), others[:, :, None]], axis=2)
        sizes = np.concatenate([pairs, rest[:, :, None]], axis=2)
        columns = np.stack([table, sizes], axis=3).reshape(slots.n_queries, -1)
        names = [
            (better, worse, what)
            for better in labels
            for worse in (*labels, OTHERS)
            for what in ("accuracy", "pairs")
        ]
        return Values(np.zeros(slots.n_queries), columns, tuple(names))


def cells_by_query(
    metric: Metric, y_true: Any, y_score: Any, sensitive_features: Any, qid: Any, ties: Any
) -> dict[Any, np.ndarray]:
    """Return the values per query of each cell of a metric whose groups are cells of a table."""
    _, cells = score_arrays(
        metric,
        y_true=y_true,
        y_score=y_score,
        sensitive_features=sensitive_features,
        qid=qid,
        ties=ties,
        per_query=True,
        return_groups=True,
    )
    return cells


def pairwise_accuracy_matrix(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    *,
    qid: Any = None,
    by: str | tuple[str, ...] | None = None,
    ties: Literal["average", "stable"] = "average",
) -> Table:
    """Compute the pairwise accuracy of every two groups, which `GroupPairwiseAccuracy` compares.

    Parameters
    ----------
    y_true : array-like
        Relevance, >= 0.
    y_score : array-like
        Scores, higher scores rank first; or a `Ranking`.
    sensitive_features : array-like
        The group of each row.
    qid : array-like, optional
        The query of each row; None makes all rows one list.
    by : str or tuple of str, optional
        The attribute, or several for their intersection; optional if there is only one.
    ties : {"average", "stable"}
        Treat equal scores as ties, or keep their input order.

    Returns
    -------
    Table
        A row per two groups: the group of the better item (``better``), that of the worse
        (``worse``, ``"(others)"`` for all other groups), ``kind``: ``"intra"`` within a group,
        ``"inter"`` against all others, ``"pair"`` for two groups; ``accuracy``, the mean over the
        queries where it is defined (``queries``), and the number of ``pairs`` in all.

    References
    ----------
    Beutel et al., Fairness in recommendation ranking through pairwise comparisons, KDD 2019.

    Examples
    --------
    >>> from equirank.metrics import pairwise_accuracy_matrix
    >>> table = pairwise_accuracy_matrix([1, 1, 0, 0], [4, 2, 3, 1], ["a", "b", "a", "b"])
    >>> table["better"].tolist(), table["worse"].tolist()
    (['a', 'a', 'a', 'b', 'b', 'b'], ['a', 'b', '(others)', 'a', 'b', '(others)'])
    >>> table["accuracy"]
    array([1., 1., 1., 0., 1., 0.])
    """
    cells = cells_by_query(_Matrix(by=by), y_true, y_score, sensitive_features, qid, ties)
    keys = [key[:2] for key in cells if key[2] == "accuracy"]
    accuracy = [cells[*key, "accuracy"] for key in keys]
    defined = [~np.isnan(values) for values in accuracy]
    means = [v[d].mean() if d.any() else np.nan for v, d in zip(accuracy, defined, strict=True)]
    kinds = ["inter" if w == OTHERS else "intra" if b == w else "pair" for b, w in keys]
    return Table(
        {
            "better": np.array([better for better, _ in keys], dtype=object),
            "worse": np.array([worse for _, worse in keys], dtype=object),
            "kind": np.array(kinds, dtype=object),
            "accuracy": np.array(means),
            "queries": np.array([int(there.sum()) for there in defined]),
            "pairs": np.array([round(float(cells[*key, "pairs"].sum())) for key in keys]),
        }
    )
