"""Expected exposure: how far what items receive lies from what an ideal policy would give them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ...core.metric import Metric, Values, score_arrays
from ...core.params import Choice, Constraint, Number
from ...core.slots import Slots
from ...kernels.browsing import browsing, ideal_exposure
from ...kernels.segments import segment_sum
from .ranking_sequence import BROWSING, joined_rankings

__all__ = ["ExpectedExposureLoss", "expected_exposure_loss"]


@dataclass(frozen=True, repr=False, kw_only=True)
class ExpectedExposureLoss(Metric):
    """How far the attention items expect lies from what an ideal policy gives them: 0 is ideal.

    ``EEL = sum_i (e_i - e*_i)^2`` over the items of a query, with e the expected exposure over ties
    and draws (a metric of the expectation) and e* that of the ideal policy, which ranks by
    relevance and gives all orders of equally relevant items the same chance: e* is the mean
    attention of the places of the item's grade. ``EEL = EED - 2 EER + sum_i e*_i^2`` with the
    disparity ``EED = sum_i e_i^2`` (lower is more even) and the relevance ``EER = sum_i e_i e*_i``
    (higher is better). Items not shown expect 0. Defined for every query; no upper bound, since
    longer lists have more attention to misplace.

    Parameters
    ----------
    part : {"loss", "disparity", "relevance"}
        EEL, EED or EER.
    discount : {"log2", "zipf", "rbp"} or sequence
        How users browse: place j draws ``1/log2(1 + j)``, ``1/j``, ``patience**(j - 1)`` as in the
        paper, or the attention of places 1, 2, ... (0 behind its end).
    patience : float
        For ``"rbp"``: how likely a user is to go on to the next place.

    References
    ----------
    Diaz, Mitra, Ekstrand, Biega and Carterette, Evaluating stochastic rankings with expected
    exposure, CIKM 2020.

    Examples
    --------
    >>> from equirank.metrics import ExpectedExposureLoss
    >>> ExpectedExposureLoss(part="relevance", discount="rbp", patience=0.8)
    ExpectedExposureLoss(discount="rbp", part="relevance", patience=0.8)
    >>> ExpectedExposureLoss().direction, ExpectedExposureLoss(part="relevance").direction
    ('lower', 'higher')
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    of_expectation: ClassVar[bool] = True
    individual: ClassVar[bool] = True
    params: ClassVar[Mapping[str, Constraint]] = {
        "part": Choice("loss", "disparity", "relevance"),
        "discount": BROWSING,
        "patience": Number(0.0, 1.0),
    }

    part: Literal["loss", "disparity", "relevance"] = "loss"
    discount: str | Sequence[float] = "log2"
    patience: float = 0.5

    def __post_init__(self) -> None:
        """Check the options; of the three parts only relevance is better when higher."""
        super().__post_init__()
        if self.part == "relevance":
            object.__setattr__(self, "direction", "higher")

    def values(self, slots: Slots) -> Values:
        """Give the value of each query."""
        weights = browsing(int(slots.sizes.max()), self.discount, self.patience, self.k)
        exposure = slots.expect(weights)
        if self.part == "disparity":
            return Values(segment_sum(exposure**2, slots.offsets))
        target = ideal_exposure(slots.y, slots.offsets, weights)
        if self.part == "relevance":
            return Values(segment_sum(exposure * target, slots.offsets))
        return Values(segment_sum((exposure - target) ** 2, slots.offsets))


def expected_exposure_loss(
    y_true: Any,
    rankings: Any,
    *,
    qid: Any = None,
    part: Literal["loss", "disparity", "relevance"] = "loss",
    k: int | None = None,
    discount: str | Sequence[float] = "log2",
    patience: float = 0.5,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute how far the expected exposure of items lies from that under an ideal policy.

    The formula and its reference stand with `ExpectedExposureLoss`, the object this calls.

    Parameters
    ----------
    y_true : array-like or None
        Relevance, >= 0; None takes that of the rankings' data.
    rankings : Ranking, sequence of Ranking, array-like or sequence of array-like
        A policy: a `Ranking` with its draws, several rankings of the same rows that count the same,
        or scores (higher is ranked earlier) once or several times.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list. For scores only.
    part : {"loss", "disparity", "relevance"}
        EEL, EED or EER.
    k : int, optional
        Cutoff: places behind k draw no attention, neither here nor under the ideal policy.
    discount : {"log2", "zipf", "rbp"} or sequence
        How users browse: place j draws ``1/log2(1 + j)``, ``1/j``, ``patience**(j - 1)``, or the
        attention of places 1, 2, ... (0 behind its end).
    patience : float
        For ``"rbp"``: how likely a user is to go on to the next place.
    ties : {"average", "stable"}
        Equal scores share their places, or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined; here none is.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> from equirank.metrics import expected_exposure_loss
    >>> once = expected_exposure_loss([1, 1], [2, 1], discount="rbp")  # e = 1, 1/2; e* = 3/4, 3/4
    >>> coin = expected_exposure_loss([1, 1], [[2, 1], [1, 2]], discount="rbp")
    >>> once, coin
    (0.125, 0.0)
    """
    metric = ExpectedExposureLoss(
        k=k, part=part, discount=discount, patience=patience, undefined=undefined
    )
    policy = joined_rankings(y_true, rankings, qid=qid, ties=ties)
    return score_arrays(metric, y_score=policy, per_query=per_query)
