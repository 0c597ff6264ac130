"""rKL: the divergence of the group shares in the prefixes from those of the whole list."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...core.errors import DataError
from ...core.metric import Values, score_arrays
from ...core.slots import Slots
from ...kernels.division import divide
from ...kernels.prefixes import kl_divergence, two_group_divergence
from ...kernels.segments import segment_sum
from .prefix_metric import Distance, PrefixMetric

#: Sorted lists are searched over all sets of groups, which doubles with each group.
MOST_GROUPS = 10

__all__ = ["RKL", "rkl"]


@dataclass(frozen=True, repr=False, kw_only=True)
class RKL(PrefixMetric):
    """How far the mix of groups in the first places diverges from the whole list: 0 is equal.

    ``rKL = 1/Z sum_k (1/log2 k) KL(shares in first k || shares in all)`` in bits over k = step,
    2 step, ..., with 0 log 0 = 0. Without ``protected`` all groups enter at once; with it, the
    group and everyone else. Z is the largest value over the lists sorted by group, which is the
    true maximum (brute force). Tied items count by the expected number in each prefix. Undefined
    where a query holds one group only. Over draws: the expected metric.

    Parameters
    ----------
    step : int
        The prefixes are the first step, 2 step, ... items; a prefix of one item never counts.
    normalizer : {"extremes", "exact", "last", "none"}
        What the sum is divided by: its value for the worst list sorted by group, its true maximum
        over all lists, its value with the protected last, or nothing.
    discount : {"paper", "code"}
        Prefixes count ``1/log2(k)`` as in the paper, or ``1/log2(k + 1)`` as in its authors' code.

    References
    ----------
    Yang and Stoyanovich, Measuring fairness in ranked outputs, SSDBM 2017.

    Examples
    --------
    >>> from equirank.metrics import RKL
    >>> RKL(step=5)@50
    RKL(step=5)@50
    """

    def distance(self) -> Distance:
        """Give the divergence of one group and the rest."""
        return two_group_divergence

    def values(self, slots: Slots) -> Values:
        """Give the value of each query."""
        values = super().values(slots)
        codes, labels = slots.groups(self.by)
        if self.protected is not None or len(labels) <= 2:
            return values
        if self.normalizer in ("exact", "last"):
            raise DataError(
                f"normalizer of {self} must be 'extremes' or 'none' for {len(labels)} groups at "
                "once, or protected must name one"
            )
        if self.normalizer == "extremes" and len(labels) > MOST_GROUPS:
            raise DataError(
                f"{self} compares up to {MOST_GROUPS} groups at once, got {len(labels)}; "
                "name protected, merge groups, or use normalizer='none'"
            )
        cuts = self.cuts(slots, codes, np.arange(len(labels)))
        n_at, sizes_at = cuts.n[cuts.query], cuts.sizes[cuts.query]

        def divergence(counts: np.ndarray) -> np.ndarray:
            return kl_divergence(counts, cuts.cut, n_at, sizes_at)

        total = segment_sum(cuts.weight * divergence(cuts.counts), cuts.offsets)
        mixed = ((cuts.sizes > 0).sum(axis=1) > 1) & (np.diff(cuts.offsets) > 0)
        if self.normalizer == "none":
            return values._replace(value=np.where(mixed, total, np.nan))
        worst = self._sorted_maximum(cuts, divergence)
        defined = mixed & (worst > 0)
        value = divide(total, worst, defined)
        return values._replace(value=value)


def rkl(
    y_score: Any,
    sensitive_features: Any,
    *,
    qid: Any = None,
    protected: Any = None,
    step: int = 10,
    k: int | None = None,
    normalizer: Literal["extremes", "exact", "last", "none"] = "extremes",
    discount: Literal["paper", "code"] = "paper",
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute rKL, the discounted divergence of group shares in prefixes.

    The formula and its reference stand with `RKL`, the object this calls.

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
    step : int
        The prefixes are the first step, 2 step, ... items.
    k : int, optional
        Cutoff: prefixes longer than k do not count.
    normalizer : {"extremes", "exact", "last", "none"}
        What the sum is divided by.
    discount : {"paper", "code"}
        Prefixes count ``1/log2(k)`` or ``1/log2(k + 1)``.
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
    >>> from equirank.metrics import rkl
    >>> rkl([5, 4, 3, 2], ["a", "a", "b", "b"], step=2)
    1.0
    >>> round(rkl([6, 5, 4, 3, 2, 1], list("abcaab"), step=3), 4)
    0.1383
    """
    metric = RKL(
        k=k,
        step=step,
        normalizer=normalizer,
        discount=discount,
        protected=protected,
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
