"""Rank parity, equality and calibration errors: shares of a group's pairs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...core.metric import GroupMetric
from ...core.params import Choice, Constraint
from ...core.slots import Slots
from ...kernels.segments import divide, segment_sum, sum_of_others
from .pairwise import count_pairs

__all__ = [
    "RankCalibrationError",
    "RankEqualityError",
    "RankParityError",
]


@dataclass(frozen=True, repr=False, kw_only=True)
class RankError(GroupMetric):
    """Base of shares of misordered pairs of a group.

    Parameters
    ----------
    denominator : {"all", "comparable"}
        All pairs of the group that the metric compares, or only those that differ in relevance.

    References
    ----------
    Kuhlman, VanValkenburg and Rundensteiner, FARE: Diagnostics for fair ranking using pairwise
    error metrics, WWW 2019.
    """

    exact_ties: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "sensitive"})
    takes_k: ClassVar[bool] = False
    params: ClassVar[Mapping[str, Constraint]] = {"denominator": Choice("all", "comparable")}

    denominator: Literal["all", "comparable"] = "all"


@dataclass(frozen=True, repr=False, kw_only=True)
class RankCalibrationError(RankError):
    """Rank calibration error: the share of misordered pairs among those with an item of a group.

    Over the pairs with at least one item of the group, also with both, the share that is
    misordered; a tied pair is half wrong. (The denominator printed in the paper is a misprint.) A
    pair of equal relevance is never wrong but counts in the denominator, as published;
    ``denominator="comparable"`` excludes it, which is needed with few grades. Values are in [0, 1],
    lower is better. Items that are not shown are tied below those shown. Undefined for a single
    item (or without a comparable pair); defined for a query of one group. Ties are half pairs
    before the worst group is taken; over draws: the expected metric.

    Examples
    --------
    >>> from equirank.metrics import RankCalibrationError, rank_calibration_error
    >>> RankCalibrationError(denominator="comparable")
    RankCalibrationError(denominator="comparable")
    >>> # 1 of the 2 pairs with a is misordered
    >>> rank_calibration_error([0, 2, 1], [0.5, 0.9, 0.1], ["a", "b", "b"], protected="a")
    0.5
    """

    why_undefined: ClassVar[str] = "it contains no pair to compare"

    def by_group(self, slots: Slots, codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return the share of misordered pairs among those with an item of each wanted group."""
        n_groups = len(slots.groups(self.by)[1])
        counts = count_pairs(slots, codes, n_groups, slots.y)
        sizes = slots.sum_by_group(np.ones(len(codes)), codes, n_groups)
        size, rest = sizes[:, wanted], sum_of_others(sizes, 1)[:, wanted]
        total = size * (size - 1.0) / 2.0 + size * rest
        if self.denominator == "comparable":
            total = _with_group(counts.total, wanted)
        return divide(_with_group(counts.wrong, wanted), total)


def _with_group(table: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the number of pairs with an item of each group, from pairs by two groups."""
    both = table[:, wanted, wanted]
    return table.sum(axis=2)[:, wanted] + table.sum(axis=1)[:, wanted] - both


@dataclass(frozen=True, repr=False, kw_only=True)
class RankEqualityError(RankError):
    """Rank equality error: how often a group's items rank above better items of other groups.

    Over the pairs of an item of the group and one of any other group, the share in which the
    group's item has the lower relevance but ranks higher; a tied pair is half wrong. A pair of
    equal relevance is never wrong but counts in the denominator, as published;
    ``denominator="comparable"`` excludes it, which is needed with few grades. Values are in [0, 1],
    lower is fairer to everyone else. Items that are not shown are tied below those shown. Undefined
    if a query contains only one group (or no comparable pair). Ties are half pairs before the worst
    group is taken; over draws: the expected metric.

    Examples
    --------
    >>> from equirank.metrics import RankEqualityError, rank_equality_error
    >>> RankEqualityError(protected="f")
    RankEqualityError(protected="f")
    >>> # a ranks above one of the two better b: 1 of 2 mixed pairs
    >>> rank_equality_error([0, 2, 1], [0.5, 0.9, 0.1], ["a", "b", "b"], protected="a")
    0.5
    """

    why_undefined: ClassVar[str] = "it contains only one group, or no pair to compare"

    def by_group(self, slots: Slots, codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return the share of each wanted group's mixed pairs that are misordered in its favour."""
        n_groups = len(slots.groups(self.by)[1])
        counts = count_pairs(slots, codes, n_groups, slots.y)
        columns = []
        for group in wanted:
            others = np.arange(n_groups) != group
            wrong = counts.wrong[:, others, group].sum(axis=1)
            if self.denominator == "comparable":
                pairs = counts.total[:, others, group] + counts.total[:, group, others]
                total = pairs.sum(axis=1)
            else:
                size = slots.sum_by_group(np.ones(len(codes)), codes, n_groups)
                total = size[:, group] * size[:, others].sum(axis=1)
            columns.append(divide(wrong, total))
        return np.stack(columns, axis=1)


@dataclass(frozen=True, repr=False, kw_only=True)
class RankParityError(GroupMetric):
    """Rank parity error: the share of mixed pairs in which a group's item ranks higher.

    Over the pairs of an item of the group and one of any other group, the share in which the
    group's item ranks higher; a tied pair counts half, and 1/2 is parity. With ``protected``, the
    value is in [0, 1], and below 1/2 the group ranks lower than everyone else. Without it, the
    value is the largest of all groups, which is at least 1/2 and 1/2 only at parity; so lower is
    more equal. Items that are not shown are tied below those shown. Undefined if a query contains
    only one group. Ties are half pairs before the largest is taken; over draws: the expected
    metric.

    References
    ----------
    Kuhlman, VanValkenburg and Rundensteiner, FARE: Diagnostics for fair ranking using pairwise
    error metrics, WWW 2019.

    Examples
    --------
    >>> from equirank.metrics import RankParityError, rank_parity_error
    >>> RankParityError(protected="f")
    RankParityError(protected="f")
    >>> rank_parity_error([4, 3, 2, 1], ["a", "b", "b", "a"])
    0.5
    >>> rank_parity_error([4, 3, 2, 1], ["a", "a", "b", "b"], protected="b")
    0.0
    """

    exact_ties: ClassVar[bool] = False
    takes_k: ClassVar[bool] = False

    def by_group(self, slots: Slots, codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return the share of each wanted group's mixed pairs in which its item ranks higher."""
        begin, end = slots.begin(), slots.end()
        last = np.repeat(slots.offsets[1:], slots.sizes)
        columns = []
        for group in wanted:
            inside = codes == group
            other = (codes >= 0) & ~inside
            others = np.concatenate([[0], np.cumsum(other)])
            at = np.flatnonzero(inside)
            won = np.zeros(len(codes))
            # below, and half of what is tied
            won[at] = others[last[at]] - (others[end[at]] + others[begin[at]]) / 2.0
            size = segment_sum(inside.astype(np.float64), slots.offsets)
            pairs = size * segment_sum(other.astype(np.float64), slots.offsets)
            columns.append(divide(segment_sum(won, slots.offsets), pairs))
        return np.stack(columns, axis=1)
