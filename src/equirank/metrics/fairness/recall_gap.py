"""Recall gap: how far the chance of a relevant item to be among the first k differs by group."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import GroupMetric, Values, score_arrays
from ...core.params import Choice, Constraint, Number
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.division import divide

__all__ = ["RecallGap", "recall_gap"]


@dataclass(frozen=True, repr=False, kw_only=True)
class RecallGap(GroupMetric):
    """How far a group's relevant items are found more or less often than others: 0 is equal.

    ``| R@k(G) - R@k(rest) |`` with ``R@k(G) = |relevant of G among the first k| / |relevant of G|``
    (equal opportunity at k); for the protected group, else the largest over all groups.
    ``rate="false_positive"`` takes the irrelevant items instead, and ``rate="odds"`` the larger of
    both gaps (equalised odds; the one that is defined where the other is not). The rate of each
    group stands beside it, with ``"odds"`` its gap.

    Tied items count by their chance to be among the first k, and over the draws of a policy the
    expected rates count: a metric of the expectation. A group without a relevant (irrelevant) item
    has no rate; undefined where no group and its rest both have one.

    Parameters
    ----------
    threshold : float
        An item is relevant where ``y >= threshold``.
    rate : {"recall", "false_positive", "odds"}
        Which items are looked for: relevant ones, irrelevant ones, or both.

    References
    ----------
    Hardt, Price and Srebro, Equality of opportunity in supervised learning, NeurIPS 2016.

    Examples
    --------
    >>> from equirank.metrics import RecallGap
    >>> RecallGap(rate="odds")@10
    RecallGap(rate="odds")@10
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "sensitive"})
    of_expectation: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "a group or everyone else has no item to look for"
    params: ClassVar[Mapping[str, Constraint]] = {
        "threshold": Number(low=0.0, open_low=True),
        "rate": Choice("recall", "false_positive", "odds"),
    }

    threshold: float = 1.0
    rate: Literal["recall", "false_positive", "odds"] = "recall"

    def values(self, slots: Slots) -> Values:
        """Give the value of each query and the rate of each group."""
        codes, labels = slots.groups(self.by)
        inside = slots.expect(discounts(int(slots.sizes.max()), "flat", self.k))
        relevant = slots.y >= self.threshold
        pairs = []
        for name, looked_for in (("recall", relevant), ("false_positive", ~relevant)):
            if self.rate in (name, "odds"):
                found = slots.sum_by_group(inside * looked_for, codes, len(labels))
                people = slots.sum_by_group(looked_for.astype(float), codes, len(labels))
                pairs.append((_gaps(found, people), divide(found, people)))
        gaps = np.fmax(pairs[0][0], pairs[-1][0])
        groups = gaps if self.rate == "odds" else pairs[0][1]
        if self.protected is not None:
            code = slots.data.attribute(self.by).code(self.protected)
            return Values(gaps[:, code], groups, labels)
        return Values(np.fmax.reduce(gaps, axis=1), groups, labels)


def _gaps(found: np.ndarray, people: np.ndarray) -> np.ndarray:
    """Give the difference of each group's rate and everyone else's (query x group)."""
    others = people.sum(axis=1, keepdims=True) - people
    rest = divide(found.sum(axis=1, keepdims=True) - found, others)
    return np.abs(divide(found, people) - rest)


def recall_gap(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    *,
    qid: Any = None,
    protected: Any = None,
    k: int | None = None,
    threshold: float = 1.0,
    rate: Literal["recall", "false_positive", "odds"] = "recall",
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute the gap between a group's recall among the first k and that of everyone else.

    The formula and its reference stand with `RecallGap`, the object this calls.

    Parameters
    ----------
    y_true : array-like
        Relevance, >= 0.
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    sensitive_features : array-like
        The group of each row.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    protected : label, optional
        The group to compare with the rest; without it the largest gap of all groups counts.
    k : int, optional
        Cutoff: only the first k places count.
    threshold : float
        An item is relevant where ``y >= threshold``.
    rate : {"recall", "false_positive", "odds"}
        Look for relevant items, irrelevant ones, or take the larger gap of both.
    ties : {"average", "stable"}
        Equal scores share their places, or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    return_groups : bool
        Give also a dict of group to its rate (with ``rate="odds"`` its gap).
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray, with ``return_groups`` also a dict

    Examples
    --------
    >>> from equirank.metrics import recall_gap
    >>> recall_gap([1, 1, 0, 1], [4, 3, 2, 1], list("aabb"), k=2, return_groups=True)
    (1.0, {'a': 1.0, 'b': 0.0})
    """
    metric = RecallGap(
        k=k, protected=protected, threshold=threshold, rate=rate, undefined=undefined
    )
    return score_arrays(
        metric,
        y_true=y_true,
        y_score=y_score,
        sensitive_features=sensitive_features,
        qid=qid,
        ties=ties,
        per_query=per_query,
        return_groups=return_groups,
    )
