"""xAUC: whether relevant items of one group beat irrelevant ones of another, and the reverse."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import score_arrays
from ...core.params import Constraint, Number
from ...core.slots import Slots
from .pairwise_metric import AccuracyGap

__all__ = ["CrossGroupAUC", "cross_group_auc"]


@dataclass(frozen=True, repr=False, kw_only=True)
class CrossGroupAUC(AccuracyGap):
    """How far groups differ in how often their relevant items beat irrelevant ones of the other.

    ``| xAUC(G, H) - xAUC(H, G) |`` with ``xAUC(G, H) = P(score of a relevant item of G > score of
    an irrelevant one of H)``, ties half, over the pairs of a query. The largest gap of any two
    groups counts; with ``protected``, H is everyone else. Beside it stands each group's xAUC over
    everyone else. Values lie in [0, 1], 0 is equal. Items not shown stand tied behind those shown.
    A gap is undefined where one direction has no pairs; the metric where all are. Ties are half
    pairs before the gap is taken; over draws: the expected gap.

    Parameters
    ----------
    threshold : float
        An item is relevant where ``y >= threshold``.

    References
    ----------
    Kallus and Zhou, The fairness of risk scores beyond classification: bipartite ranking and the
    xAUC metric, NeurIPS 2019.

    Examples
    --------
    >>> from equirank.metrics import CrossGroupAUC
    >>> CrossGroupAUC(threshold=2)
    CrossGroupAUC(threshold=2)
    """

    params: ClassVar[Mapping[str, Constraint]] = {"threshold": Number(low=0.0, open_low=True)}

    threshold: float = 1.0

    def relevance(self, slots: Slots) -> np.ndarray:
        """Give 1 where an item is relevant."""
        return (slots.y >= self.threshold).astype(np.int64)


def cross_group_auc(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    *,
    qid: Any = None,
    protected: Any = None,
    threshold: float = 1.0,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute the gap between the cross-group AUC of two groups.

    The formula and its reference stand with `CrossGroupAUC`, the object this calls.

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
        The group to compare with the rest; without it the largest gap of two groups counts.
    threshold : float
        An item is relevant where ``y >= threshold``.
    ties : {"average", "stable"}
        Equal scores are tied, or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    return_groups : bool
        Give also a dict of group to its xAUC over the rest, which shows who is favoured.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray, with ``return_groups`` also a dict

    Examples
    --------
    >>> from equirank.metrics import cross_group_auc
    >>> y, score = [1, 1, 0, 0], [4, 2, 3, 1]
    >>> cross_group_auc(y, score, ["a", "b", "a", "b"])  # |1 - 0|
    1.0
    """
    metric = CrossGroupAUC(threshold=threshold, protected=protected, undefined=undefined)
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
