"""Skew: the logarithm of a group's share of the first k places over its share of all."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import Values, score_arrays
from ...core.params import Choice, Constraint, Number
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.division import divide
from .share_metric import Proportions, ShareMetric, several

__all__ = ["Skew", "skew"]


@dataclass(frozen=True, repr=False, kw_only=True)
class Skew(ShareMetric):
    """How a group's share of the first k places compares with its target share, as a logarithm.

    ``skew_G@k = ln( (|G in first k| / k) / p_G )``: 0 is proportional, below 0 too few, above 0 too
    many; k is the number of places filled where the list is shorter, p_G the group's share of the
    whole list unless ``proportions`` are given. With ``protected`` the skew of that group; without,
    MinSkew, the lowest over the groups (higher is better, at most 0), or MaxSkew, the highest
    (lower is better, at least 0). The skew of every group stands beside it.

    Tied items count by their chance to be among the first k, and over the draws of a policy the
    expected shares count: a metric of the expectation. The logarithm of 0 is no number: a group
    without anyone among the first k has no skew, and neither has MinSkew of such a list, unless
    ``smoothing`` is given. Undefined, too, where a query holds one group only or shows nothing.

    Parameters
    ----------
    extreme : {"min", "max"}
        Which group counts where none is protected: MinSkew or MaxSkew.
    smoothing : float
        So many more places, filled in proportion, are added before shares are taken.
    proportions : mapping of group to share, optional
        The shares a fair list would have; None takes those of the whole list.

    References
    ----------
    Geyik, Ambler and Kenthapadi, Fairness-aware ranking in search and recommendation systems with
    application to LinkedIn talent search, KDD 2019.

    Examples
    --------
    >>> from equirank.metrics import Skew
    >>> Skew(extreme="max")@10
    Skew(extreme="max")@10
    >>> Skew(proportions={"f": 0.5, "m": 0.5})@10
    Skew(proportions=(("f", 0.5), ("m", 0.5)))@10
    """

    direction: ClassVar[Literal["higher", "lower"]] = "higher"
    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    of_expectation: ClassVar[bool] = True
    why_undefined: ClassVar[str] = (
        "it holds one group only, or a group has nobody among the first k (see smoothing)"
    )
    params: ClassVar[Mapping[str, Constraint]] = {
        "extreme": Choice("min", "max"),
        "smoothing": Number(low=0.0),
    }

    extreme: Literal["min", "max"] = "min"
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        """Check the options; the largest skew is better the lower it is."""
        super().__post_init__()
        if self.extreme == "max" and self.protected is None:
            object.__setattr__(self, "direction", "lower")

    def values(self, slots: Slots) -> Values:
        """Give the value of each query and the skew of each group."""
        codes, labels = slots.groups(self.by)
        inside = slots.expect(discounts(int(slots.sizes.max()), "flat", self.k))
        count = slots.sum_by_group(inside, codes, len(labels))
        sizes = slots.sum_by_group(np.ones(len(codes)), codes, len(labels))
        target = self.targets(slots, sizes)
        filled = count.sum(axis=1, keepdims=True)
        share = divide(count + self.smoothing * target, filled + self.smoothing, filled > 0)
        mixed = several(target) & (filled[:, 0] > 0)
        ratio = divide(share, target)
        skews = np.log(ratio, out=np.full(ratio.shape, -np.inf), where=ratio > 0)
        skews[np.isnan(ratio) | ~mixed[:, None]] = np.nan
        code = self.code(slots)
        if code is not None:
            value = skews[:, code]
        elif self.extreme == "min":
            value = np.where(np.isnan(skews), np.inf, skews).min(axis=1)
        else:
            value = np.where(np.isnan(skews), -np.inf, skews).max(axis=1)
        return Values(_finite(value), _finite(skews), labels)


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isinf(values), np.nan, values)


def skew(
    y_score: Any,
    sensitive_features: Any,
    *,
    qid: Any = None,
    protected: Any = None,
    k: int | None = None,
    extreme: Literal["min", "max"] = "min",
    smoothing: float = 0.0,
    proportions: Proportions | None = None,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute the skew of the protected group, or the lowest or highest of all groups.

    The formula and its reference stand with `Skew`, the object this calls.

    Parameters
    ----------
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    sensitive_features : array-like
        The group of each row.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    protected : label, optional
        The group to look at; without it the one with the lowest (or highest) skew counts.
    k : int, optional
        Cutoff: shares are those of the first k places.
    extreme : {"min", "max"}
        Which group counts where none is protected.
    smoothing : float
        So many more places, filled in proportion, are added before shares are taken.
    proportions : mapping of group to share, optional
        The shares a fair list would have; None takes those of the whole list.
    ties : {"average", "stable"}
        Equal scores share their places, or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    return_groups : bool
        Give also a dict of group to its skew.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray, with ``return_groups`` also a dict

    Examples
    --------
    >>> from equirank.metrics import skew
    >>> scores, sex = [6, 5, 4, 3, 2, 1], list("mmfmff")
    >>> round(skew(scores, sex, k=3, protected="f"), 4)  # ln( (1/3) / (3/6) )
    -0.4055
    >>> round(skew(scores, sex, k=3, extreme="max"), 4)  # ln( (2/3) / (3/6) )
    0.2877
    """
    metric = Skew(
        k=k,
        protected=protected,
        extreme=extreme,
        smoothing=smoothing,
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
