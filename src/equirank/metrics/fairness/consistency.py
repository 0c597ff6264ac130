"""Consistency: whether similar people are scored alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import Metric, Values, score_arrays
from ...core.params import Constraint, Integer
from ...core.slots import Slots
from ...kernels.neighbours import neighbour_means
from ...kernels.segments import segment_sum
from .scaled_scores import features_of, scaled_scores

__all__ = ["Consistency", "consistency"]


@dataclass(frozen=True, repr=False, kw_only=True)
class Consistency(Metric):
    """How close the score of each item is to the scores of the items most like it: 1 is equal.

    ``1 - 1/n sum_i | s_i - mean of s_j over the n_neighbors items nearest to i |``, scores scaled
    to [0, 1] in the query, distances Euclidean between the features as given (so leave the
    sensitive ones out, and scale the others). An item is not its own neighbour; items as far away
    as the last neighbour share its place, so the order of rows does not matter; where a query has
    fewer others, all of them count. A query of equal scores is worth 1. It reads the scores and not
    the order, so positions and draws do not matter. Undefined for a single item.

    Parameters
    ----------
    n_neighbors : int
        How many neighbours are looked at.

    References
    ----------
    Zemel, Wu, Swersky, Pitassi and Dwork, Learning fair representations, ICML 2013.

    Examples
    --------
    >>> from equirank.metrics import Consistency
    >>> Consistency(n_neighbors=5)
    Consistency(n_neighbors=5)
    """

    needs: ClassVar[frozenset[str]] = frozenset({"features", "score"})
    takes_k: ClassVar[bool] = False
    of_expectation: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "it holds a single item"
    params: ClassVar[Mapping[str, Constraint]] = {"n_neighbors": Integer(1)}

    n_neighbors: int = 10

    def values(self, slots: Slots) -> Values:
        """Give the value of each query."""
        score = scaled_scores(slots)
        means = np.empty(len(score))
        for begin, end in zip(slots.offsets[:-1], slots.offsets[1:], strict=True):
            points = features_of(slots.data, slots.order[begin:end])
            means[begin:end] = neighbour_means(points, score[begin:end], self.n_neighbors)
        away = segment_sum(np.abs(score - means), slots.offsets)
        return Values(1.0 - away / slots.sizes)


def consistency(
    y_score: Any,
    X: Any,
    *,
    n_neighbors: int = 10,
    qid: Any = None,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute how close scores are to the scores of the nearest neighbours.

    The formula and its reference stand with `Consistency`, the object this calls.

    Parameters
    ----------
    y_score : array-like
        Scores, scaled to [0, 1] in each query; or a `Ranking` whose data has scores and features.
    X : array-like, scipy sparse array or data frame
        The features that are not sensitive, on comparable scales.
    n_neighbors : int
        How many neighbours are looked at.
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
    >>> from equirank.metrics import consistency
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> consistency([1, 1, 0, 0], X, n_neighbors=1)  # likes are scored alike
    1.0
    >>> consistency([1, 0, 1, 0], X, n_neighbors=1)
    0.0
    """
    metric = Consistency(n_neighbors=n_neighbors, undefined=undefined)
    return score_arrays(metric, y_score=y_score, X=X, qid=qid, ties=ties, per_query=per_query)
