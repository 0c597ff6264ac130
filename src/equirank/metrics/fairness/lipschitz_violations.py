"""Lipschitz violations: pairs of people scored further apart than they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import Metric, Values, score_arrays
from ...core.params import Constraint, Number
from ...core.slots import Slots
from ...kernels.division import divide
from .scaled_scores import features_of, scaled_scores

__all__ = ["LipschitzViolations", "lipschitz_violations"]


@dataclass(frozen=True, repr=False, kw_only=True)
class LipschitzViolations(Metric):
    """How many pairs of items are scored further apart than their features allow: 0 is none.

    The share of the pairs of a query with ``|s_i - s_j| > slope * d(x_i, x_j)``, scores scaled to
    [0, 1] in the query and d the Euclidean distance of the features as given (so leave the
    sensitive ones out, and scale the others). Equality keeps the bound, and so does a difference
    of 1e-12. It reads the scores and not the order, so positions and draws do not matter. Undefined
    for a single item. O(n^2) per query: every pair is looked at.

    Parameters
    ----------
    slope : float
        How far apart scores may lie per unit of distance, > 0.

    References
    ----------
    Dwork, Hardt, Pitassi, Reingold and Zemel, Fairness through awareness, ITCS 2012.

    Examples
    --------
    >>> from equirank.metrics import LipschitzViolations
    >>> LipschitzViolations(slope=2)
    LipschitzViolations(slope=2)
    """

    needs: ClassVar[frozenset[str]] = frozenset({"features", "score"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    takes_k: ClassVar[bool] = False
    of_expectation: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "it holds a single item"
    params: ClassVar[Mapping[str, Constraint]] = {"slope": Number(0.0, open_low=True)}

    slope: float = 1.0

    def values(self, slots: Slots) -> Values:
        """Give the value of each query."""
        from ...kernels.broken_pairs import broken_pairs  # numba only where it is needed

        points = features_of(slots.data, slots.order)
        broken = broken_pairs(points, scaled_scores(slots), slots.offsets, float(self.slope))
        pairs = slots.sizes * (slots.sizes - 1.0) / 2.0
        return Values(divide(broken, np.asarray(pairs)))


def lipschitz_violations(
    y_score: Any,
    X: Any,
    *,
    slope: float = 1.0,
    qid: Any = None,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute the share of pairs whose scores lie further apart than their features allow.

    The formula and its reference stand with `LipschitzViolations`, the object this calls.

    Parameters
    ----------
    y_score : array-like
        Scores, scaled to [0, 1] in each query; or a `Ranking` whose data has scores and features.
    X : array-like, scipy sparse array or data frame
        The features that are not sensitive, on comparable scales.
    slope : float
        How far apart scores may lie per unit of distance, > 0.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    ties : {"average", "stable"}
        As everywhere; here it changes nothing, since scores are read and not their order.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> from equirank.metrics import lipschitz_violations
    >>> X = [[0.0], [0.1], [5.0]]
    >>> round(lipschitz_violations([1, 0, 0], X), 4)  # of three pairs only the first is too close
    0.3333
    """
    metric = LipschitzViolations(slope=slope, undefined=undefined)
    return score_arrays(metric, y_score=y_score, X=X, qid=qid, ties=ties, per_query=per_query)
