"""Exposure by group: how much attention the places of a group's items draw on average."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import DISCOUNT, GroupMetric, score_arrays
from ...core.params import Constraint
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.division import divide

__all__ = ["ExposureByGroup", "exposure_by_group"]


@dataclass(frozen=True, repr=False, kw_only=True)
class ExposureByGroup(GroupMetric):
    """How much attention the items of a group draw on average; the least of all groups counts.

    ``exposure(G) = 1/|G| sum_{i in G} v_pos(i)`` with ``v_j = 1/log2(1 + j)``; items not shown draw
    none. Tied items share the mean attention of their places, and over the draws of a policy the
    expected exposure counts: a metric of the expectation. A group without items has no value.

    Parameters
    ----------
    discount : {"log2", "zipf"} or sequence
        ``1/log2(1 + j)``, ``1/j``, or the attention of places 1, 2, ... (0 behind its end).

    References
    ----------
    Singh and Joachims, Fairness of exposure in rankings, KDD 2018.

    Examples
    --------
    >>> from equirank.metrics import ExposureByGroup
    >>> ExposureByGroup(by="sex")
    ExposureByGroup(by="sex")
    """

    direction: ClassVar[Literal["higher", "lower"]] = "higher"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    of_expectation: ClassVar[bool] = True
    additive: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "it holds no item of the group"
    params: ClassVar[Mapping[str, Constraint]] = {"discount": DISCOUNT}

    discount: str | Sequence[float] = "log2"

    def by_group(self, slots: Slots, codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Give each wanted group's mean exposure."""
        n_groups = int(max(codes.max(), wanted.max())) + 1
        return self.split(slots, codes, n_groups)[:, wanted]

    def split(self, slots: Slots, codes: np.ndarray, n_groups: int) -> np.ndarray:
        """Give each group's mean exposure (query x group)."""
        exposure = slots.expect(discounts(int(slots.sizes.max()), self.discount, self.k))
        total = slots.sum_by_group(exposure, codes, n_groups)
        people = slots.sum_by_group(np.ones(len(codes)), codes, n_groups)
        return divide(total, people)


def exposure_by_group(
    y_score: Any,
    sensitive_features: Any,
    *,
    qid: Any = None,
    protected: Any = None,
    k: int | None = None,
    discount: str | Sequence[float] = "log2",
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute the mean exposure of the protected group, or of the group with the least.

    The formula and its reference stand with `ExposureByGroup`, the object this calls.

    Parameters
    ----------
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    sensitive_features : array-like
        The group of each row.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    protected : label, optional
        The group to look at; without it the group with the least exposure counts.
    k : int, optional
        Cutoff: places behind k draw no attention.
    discount : {"log2", "zipf"} or sequence
        ``1/log2(1 + j)``, ``1/j``, or the attention of places 1, 2, ... (0 behind its end).
    ties : {"average", "stable"}
        Equal scores share their places, or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    return_groups : bool
        Give also a dict of group to its exposure.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray, with ``return_groups`` also a dict

    Examples
    --------
    >>> from equirank.metrics import exposure_by_group
    >>> value, groups = exposure_by_group([0.9, 0.5], ["m", "f"], return_groups=True)
    >>> round(value, 4), {group: round(mean, 4) for group, mean in groups.items()}
    (0.6309, {'f': 0.6309, 'm': 1.0})
    """
    metric = ExposureByGroup(k=k, discount=discount, protected=protected, undefined=undefined)
    return score_arrays(
        metric,
        y_score=y_score,
        sensitive_features=sensitive_features,
        qid=qid,
        ties=ties,
        per_query=per_query,
        return_groups=return_groups,
    )
