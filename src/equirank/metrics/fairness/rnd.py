"""rND: how far the share of a group in the prefixes lies from its share in the whole list."""

from dataclasses import dataclass
from typing import Any, Literal

from ...core.metric import score_arrays
from ...kernels.prefixes import share_distance
from .prefix_metric import Distance, PrefixMetric

__all__ = ["RND", "rnd"]


@dataclass(frozen=True, repr=False, kw_only=True)
class RND(PrefixMetric):
    """How far a group's share of the first places lies from its share of all: 0 is equal.

    ``rND = 1/Z sum_k (1/log2 k) | |S+ in first k| / k - |S+| / N |`` over k = step, 2 step, ...; N
    and the share are of the whole list also under a cutoff. Tied items count by the expected number
    in each prefix, so a list tied throughout scores 0. Without ``protected`` the worst group
    counts. Undefined where a query holds one group only or no prefix can differ. The default
    normaliser is the true maximum (found by brute force and dynamic programming). Over draws: the
    expected metric.

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
    >>> from equirank.metrics import RND
    >>> RND(step=5)@50
    RND(step=5)@50
    """

    def distance(self) -> Distance:
        """Give the difference of shares."""
        return share_distance


def rnd(
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
    """Compute rND, the discounted difference of a group's shares in prefixes.

    The formula and its reference stand with `RND`, the object this calls.

    Parameters
    ----------
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    sensitive_features : array-like
        The group of each row.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    protected : label, optional
        The group to compare with the rest; without it the worst group counts.
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
    >>> from equirank.metrics import rnd
    >>> rnd([5, 4, 3, 2], ["a", "a", "b", "b"], step=2)  # as unfair as can be
    1.0
    >>> rnd([5, 4, 3, 2], ["a", "b", "a", "b"], step=2)
    0.0
    """
    metric = RND(
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
