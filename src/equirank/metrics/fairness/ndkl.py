"""NDKL: the discounted divergence of the group shares in all prefixes from their target."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import Values, score_arrays
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.division import divide
from ...kernels.prefixes import expected_counts
from ...kernels.representation import discounted_divergence, log_shares, prefix_places
from .share_metric import Proportions, ShareMetric, several

__all__ = ["NDKL", "ndkl"]


@dataclass(frozen=True, repr=False, kw_only=True)
class NDKL(ShareMetric):
    """How far the mix of groups in all prefixes diverges from the target mix: 0 is equal.

    ``NDKL = 1/Z sum_i KL(shares in first i || target) / log2(i + 1)`` over all prefixes i = 1, 2,
    ... up to the cutoff or what is shown, in natural logarithms, with ``Z = sum_i 1/log2(i + 1)``.
    The target is the mix of the whole list unless ``proportions`` are given. Without ``protected``
    all groups enter at once, and each group against the rest stands beside; with it, the group and
    everyone else. The value is at most ``ln(1 / smallest target share)``.

    Tied items count by the expected number in each prefix, which is not the mean over their orders:
    a list tied throughout scores 0. Over draws: the expected metric. Undefined where a query holds
    one group only or shows nothing, and where a group with a target of 0 appears.

    Parameters
    ----------
    proportions : mapping of group to share, optional
        The shares a fair list would have; None takes those of the whole list.

    References
    ----------
    Geyik, Ambler and Kenthapadi, Fairness-aware ranking in search and recommendation systems with
    application to LinkedIn talent search, KDD 2019.

    Examples
    --------
    >>> from equirank.metrics import NDKL
    >>> NDKL@100
    NDKL@100
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    exact_ties: ClassVar[bool] = False

    def values(self, slots: Slots) -> Values:
        """Give the value of each query."""
        codes, labels = slots.groups(self.by)
        sizes = slots.sum_by_group(np.ones(len(codes)), codes, len(labels))
        target = self.targets(slots, sizes)
        limit = self.limit(slots)
        query, place, offsets = prefix_places(limit)
        weight = discounts(int(limit.max()), "log2")[place - 1]
        norm = np.concatenate([[0.0], np.cumsum(discounts(int(limit.max()), "log2"))])[limit]
        mixed = several(target) & (limit > 0)
        first = slots.offsets[:-1][query]
        slot = first + place - 1

        def mean(count: np.ndarray, base: np.ndarray) -> np.ndarray:
            logs = log_shares(count, place, slots.lo is None)
            return discounted_divergence(count / place, logs, weight, base, offsets)

        code = self.code(slots)
        wanted = list(range(len(labels))) if code is None else [code]
        single = code is not None or len(labels) == 2
        together = np.zeros(len(limit))
        apart: list[np.ndarray] = []
        for group in wanted:
            count = expected_counts(codes == group, slot, first, slots.lo, slots.hi)
            own = mean(count, target[:, group])
            if not apart or not single:
                apart.append(own + mean(place - count, 1.0 - target[:, group]))
            else:
                apart.append(apart[0])
            together += own

        def finish(total: np.ndarray) -> np.ndarray:
            return divide(np.maximum(total, 0.0), norm, mixed & np.isfinite(total))

        groups = np.stack([finish(total) for total in apart], axis=1)
        groups[(target[:, wanted] == 0) | (target[:, wanted] == 1)] = np.nan
        value = groups[:, 0] if single else finish(together)
        return Values(value, groups, tuple(labels[group] for group in wanted))


def ndkl(
    y_score: Any,
    sensitive_features: Any,
    *,
    qid: Any = None,
    protected: Any = None,
    k: int | None = None,
    proportions: Proportions | None = None,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute NDKL, the normalised discounted divergence of group shares in all prefixes.

    The formula and its reference stand with `NDKL`, the object this calls.

    Parameters
    ----------
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    sensitive_features : array-like
        The group of each row.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    protected : label, optional
        The group to compare with the rest; without it all groups are compared at once.
    k : int, optional
        Cutoff: prefixes longer than k do not count.
    proportions : mapping of group to share, optional
        The shares a fair list would have; None takes those of the whole list.
    ties : {"average", "stable"}
        Equal scores share their places, or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    return_groups : bool
        Give also a dict of group to its value against the rest.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray, with ``return_groups`` also a dict

    Examples
    --------
    >>> from equirank.metrics import ndkl
    >>> round(ndkl([2, 1], ["m", "f"]), 4)  # ln(2) / (1 + 1/log2(3))
    0.425
    >>> ndkl([1, 1], ["m", "f"])
    0.0
    """
    metric = NDKL(k=k, protected=protected, proportions=proportions, undefined=undefined)
    return score_arrays(
        metric,
        y_score=y_score,
        sensitive_features=sensitive_features,
        qid=qid,
        ties=ties,
        per_query=per_query,
        return_groups=return_groups,
    )
