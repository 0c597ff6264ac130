"""Infeasible index: in how many prefixes a group has fewer places than its share gives it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import Values, score_arrays
from ...core.params import Constraint, Flag
from ...core.slots import Slots
from ...kernels.prefixes import expected_counts
from ...kernels.representation import prefix_places
from ...kernels.segments import segment_sum
from .share_metric import Proportions, ShareMetric, several

__all__ = ["InfeasibleIndex", "infeasible_index"]


@dataclass(frozen=True, repr=False, kw_only=True)
class InfeasibleIndex(ShareMetric):
    """In how many prefixes some group has fewer places than its share rounded down: 0 is best.

    The number of prefixes i = 1, 2, ... up to the cutoff or what is shown in which a group G has
    ``|G in first i| < floor(i p_G)``, p_G its share of the whole list unless ``proportions`` are
    given. ``per_group=True`` counts every group that falls short in a prefix (InfeasibleCount) and
    not the prefix once. The number of prefixes in which each group falls short stands beside it,
    and with ``protected`` that of this group counts. At most the number of prefixes, ``per_group``
    times the number of groups.

    Tied items count by the expected number in each prefix, which is not the mean over their orders.
    Over draws: the expected metric. Undefined where a query holds one group only or shows nothing.

    Parameters
    ----------
    per_group : bool
        Count pairs of a prefix and a group.
    proportions : mapping of group to share, optional
        The shares a fair list would have; None takes those of the whole list.

    References
    ----------
    Geyik, Ambler and Kenthapadi, Fairness-aware ranking in search and recommendation systems with
    application to LinkedIn talent search, KDD 2019.

    Examples
    --------
    >>> from equirank.metrics import InfeasibleIndex
    >>> InfeasibleIndex@25
    InfeasibleIndex@25
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    exact_ties: ClassVar[bool] = False
    params: ClassVar[Mapping[str, Constraint]] = {"per_group": Flag()}

    per_group: bool = False

    def values(self, slots: Slots) -> Values:
        """Give the value of each query and each group's own number."""
        codes, labels = slots.groups(self.by)
        sizes = slots.sum_by_group(np.ones(len(codes)), codes, len(labels))
        target = self.targets(slots, sizes)
        limit = self.limit(slots)
        query, place, offsets = prefix_places(limit)
        first = slots.offsets[:-1][query]
        slot = first + place - 1
        mixed = several(target) & (limit > 0)
        some = np.zeros(len(query), dtype=bool)
        columns = []
        for group in range(len(labels)):
            count = expected_counts(codes == group, slot, first, slots.lo, slots.hi)
            short = count < np.floor(target[query, group] * place + 1e-9)
            some |= short
            columns.append(segment_sum(short.astype(np.float64), offsets))
        groups = np.where(mixed[:, None], np.stack(columns, axis=1), np.nan)
        code = self.code(slots)
        if code is not None:
            value = np.where(target[:, code] > 0, groups[:, code], np.nan)
        elif self.per_group:
            value = groups.sum(axis=1)
        else:
            value = np.where(mixed, segment_sum(some.astype(np.float64), offsets), np.nan)
        return Values(value, np.where(target > 0, groups, np.nan), labels)


def infeasible_index(
    y_score: Any,
    sensitive_features: Any,
    *,
    qid: Any = None,
    protected: Any = None,
    k: int | None = None,
    per_group: bool = False,
    proportions: Proportions | None = None,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Count the prefixes in which a group has fewer places than its share gives it.

    The formula and its reference stand with `InfeasibleIndex`, the object this calls.

    Parameters
    ----------
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    sensitive_features : array-like
        The group of each row.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    protected : label, optional
        The group to look at; without it a prefix counts where any group falls short.
    k : int, optional
        Cutoff: prefixes longer than k do not count.
    per_group : bool
        Count every group that falls short in a prefix, not the prefix once.
    proportions : mapping of group to share, optional
        The shares a fair list would have; None takes those of the whole list.
    ties : {"average", "stable"}
        Equal scores share their places, or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    return_groups : bool
        Give also a dict of group to the number of prefixes in which it falls short.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray, with ``return_groups`` also a dict

    Examples
    --------
    >>> from equirank.metrics import infeasible_index
    >>> infeasible_index([4, 3, 2, 1], list("mmff"))  # the first two places hold no f
    1.0
    >>> infeasible_index([4, 3, 2, 1], list("mfmf"))
    0.0
    """
    metric = InfeasibleIndex(
        k=k,
        protected=protected,
        per_group=per_group,
        proportions=proportions,
        undefined=undefined,
    )
    return score_arrays(
        metric,
        y_score=y_score,
        sensitive_features=sensitive_features,
        qid=qid,
        ties=ties,
        per_query=per_query,
        return_groups=return_groups,
    )
