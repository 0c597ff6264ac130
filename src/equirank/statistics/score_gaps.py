"""Differences in scores: the standardised gap between groups, and rates above the median."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core import inputs
from ..core.errors import DataError
from ..core.labels import encode, group_rows
from ..kernels.segments import segment_index
from .counts import quantile

__all__ = ["ScoreGap", "ScoringRate", "gap_of_sums", "score_gap", "scoring_rate"]


#: Why a gap is undefined.
_NO_LIST = "no list contains scored people of both sides"
_NO_SPREAD = "no score differs from the mean of its side and list"
#: Numbers in the units of the scores.
_UNITS = ("difference", "deviation")


@dataclass(frozen=True)
class ScoreGap:
    """The difference in mean score between a group and its reference, in standard deviations.

    Attributes
    ----------
    d, low, high : float
        Cohen's d with its interval; negative if the group scores lower.
    g, g_low, g_high : float
        Hedges' g, corrected for small numbers, with its interval.
    error : float
        Standard error of d.
    difference, deviation : float
        The difference in means within lists, and the deviation within lists and sides.
    lists, group_size, reference_size : int
        Lists that contain people of both sides, and the people in them.
    reason : str
        Why the gap is undefined; empty otherwise.
    """

    d: float
    low: float
    high: float
    g: float
    g_low: float
    g_high: float
    error: float
    difference: float
    deviation: float
    lists: int
    group_size: int
    reference_size: int
    reason: str = ""


def score_gap(y_score: Any, side: Any, *, qid: Any = None, level: float = 0.95) -> ScoreGap:
    """Return the difference in mean score between two sides, in standard deviations.

    In one list ``d = (mean1 - mean2) / s``, with the pooled deviation
    ``s^2 = (sum of squares around both means) / (N - 2)``, ``g = d (1 - 3/(4 (N - 2) - 1))``, and
    the standard error of d ``sqrt(1/n1 + 1/n2 + d^2/(2 N))``. Over lists, the difference is the
    mean of the lists' differences with weights ``w = n1 n2 / N``. The squares are around the means
    of each side of each list, with ``N - 2 lists`` degrees of freedom in place of ``N - 2``, and
    ``1 / sum w`` replaces ``1/n1 + 1/n2``.

    Parameters
    ----------
    y_score : array-like of shape (n,)
        Scores; NaN for people who were not scored, who do not count.
    side : array-like of shape (n,)
        1 or True for people of the group, 0 or False for the reference, -1 for neither.
    qid : array-like of shape (n,), optional
        The list of each person. By default all people are one list.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    ScoreGap
        ``d``, ``low``, ``high``, ``g``, ``g_low``, ``g_high`` and more. Lists without people of one
        side do not count. The gap is NaN, with a reason, if no list is left, or if nobody differs
        from the mean of their side and list.

    References
    ----------
    Hedges (1981): Distribution theory for Glass's estimator of effect size. Journal of Educational
    Statistics 6.

    Examples
    --------
    >>> from equirank.statistics import score_gap
    >>> women = [71, 64, 64, 58, 80, 55, 64, 49, 62, 77]
    >>> men = [64, 69, 83, 90, 64, 72, 58, 66, 75, 61, 88, 70]
    >>> found = score_gap(women + men, [1] * 10 + [0] * 12)
    >>> round(found.d, 4), round(found.low, 3), round(found.high, 3), round(found.g, 4)
    (-0.7229, -1.589, 0.143, -0.6954)
    """
    quantile(level, "score_gap")  # an error if the level is invalid
    score, codes, lists = _sides(y_score, side, qid)
    cell = 2 * lists + codes
    size = np.bincount(cell, minlength=2 * (int(lists.max(initial=-1)) + 1)).reshape(-1, 2)
    kept = np.all(size > 0, axis=1)
    score, cell = score[kept[lists]], (2 * (np.cumsum(kept) - 1)[lists] + codes)[kept[lists]]
    size = size[kept]
    sizes = len(size), int(size[:, 1].sum()), int(size[:, 0].sum())
    if len(size) == 0:
        return _no_gap(*sizes, _NO_LIST)
    # Deviations from a common value in common units: sums neither overflow nor cancel.
    power = int(np.frexp(np.abs(score).max())[1])
    score = np.ldexp(score, -power)
    score -= score.mean()
    means = np.bincount(cell, score, 2 * len(size)) / size.ravel()
    deviations = score - means[cell]
    if np.abs(deviations).max() <= 1e-14:
        return _no_gap(*sizes, _NO_SPREAD)
    weight = size.prod(axis=1) / size.sum(axis=1)
    apart = means.reshape(-1, 2)
    product = float((weight * (apart[:, 1] - apart[:, 0])).sum())
    found = gap_of_sums(product, float(weight.sum()), float((deviations**2).sum()), *sizes, level)
    difference, deviation = (float(np.ldexp(getattr(found, name), power)) for name in _UNITS)
    return replace(found, difference=difference, deviation=deviation)


def gap_of_sums(
    product: float,
    weight: float,
    within: float,
    lists: int,
    group_size: int,
    reference_size: int,
    level: float = 0.95,
) -> ScoreGap:
    """Return the difference in mean score from sums over lists that contain both sides.

    Parameters
    ----------
    product, weight, within : float
        The sums of w times the difference in means, of ``w = n1 n2 / N``, and of the squares around
        the mean of each side.
    lists, group_size, reference_size : int
        Number of lists, and people in them.
    level : float
        Confidence level of the intervals.

    Examples
    --------
    >>> gap_of_sums(-10.0, 5.0, 72.0, 2, 10, 12).d  # a difference of 2, a deviation of 2
    -1.0
    """
    people = group_size + reference_size
    freedom = people - 2 * lists
    if lists == 0:
        return _no_gap(lists, group_size, reference_size, _NO_LIST)
    if freedom <= 0 or not within > 0:
        return _no_gap(lists, group_size, reference_size, _NO_SPREAD)
    deviation, difference = float(np.sqrt(within / freedom)), product / weight
    d, width = difference / deviation, quantile(level, "score_gap")
    error = float(np.sqrt(1.0 / weight + d * d / (2.0 * people)))
    low, high = d - width * error, d + width * error
    small = 1.0 - 3.0 / (4.0 * freedom - 1.0)
    return ScoreGap(
        d=d,
        low=low,
        high=high,
        g=small * d,
        g_low=small * low,
        g_high=small * high,
        error=error,
        difference=difference,
        deviation=deviation,
        lists=lists,
        group_size=group_size,
        reference_size=reference_size,
    )


def _no_gap(lists: int, group_size: int, reference_size: int, reason: str) -> ScoreGap:
    names = ("d", "low", "high", "g", "g_low", "g_high", "error", "difference", "deviation")
    numbers = dict.fromkeys(names, float("nan"))
    return ScoreGap(
        **numbers, lists=lists, group_size=group_size, reference_size=reference_size, reason=reason
    )


def _sides(y_score: Any, side: Any, qid: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, sides (1 or 0) and list numbers of the people who count."""
    score = _scores(y_score)
    given, queries = inputs.numbers("side", side), inputs.label_column("qid", qid)
    if given is None:
        raise DataError("side must be given, got None")
    n_rows = inputs.same_length({"y_score": score, "side": given, "qid": queries})
    inputs.refuse("side", given, ~np.isin(given, (-1, 0, 1)), "1, 0 or -1")
    order, offsets, _ = group_rows(queries, n_rows)
    lists = np.empty(n_rows, dtype=np.int64)
    lists[slice(None) if order is None else order] = segment_index(offsets)
    counted = ~np.isnan(score) & (given >= 0)
    return score[counted], given[counted].astype(np.int64), lists[counted]


def _scores(y_score: Any) -> np.ndarray:
    """Return scores as floats; a missing score is NaN, an infinite one an error."""
    column = inputs.vector("y_score", y_score)
    if column is None:
        raise DataError("y_score must be given, got None")
    missing = np.array([inputs.is_missing(value) for value in column.tolist()], dtype=bool)
    score = np.full(len(column), np.nan)
    if not missing.all():
        score[~missing] = inputs.numbers("y_score", column[~missing])
    return score


@dataclass(frozen=True, eq=False)
class ScoringRate:
    """The share of each group that scores above the median of everybody scored.

    Attributes
    ----------
    median : float
        The median score of everybody scored.
    groups : tuple
        The groups, sorted.
    above, people : ndarray of int
        Scored people of each group strictly above the median, and all of them.
    rate : ndarray
        Their quotient.
    unknown_above, unknown_people : int
        The same counts of people without a known group.
    unscored : int
        People without a score, who do not count.
    """

    median: float
    groups: tuple[Any, ...]
    above: np.ndarray
    people: np.ndarray
    rate: np.ndarray
    unknown_above: int
    unknown_people: int
    unscored: int


def scoring_rate(y_score: Any, sensitive_features: Any) -> ScoringRate:
    """Return the share of each group that scores strictly above the median of everybody scored.

    People without a known group count for the median and are counted beside the groups. A score
    equal to the median is not above it.

    Parameters
    ----------
    y_score : array-like of shape (n,)
        Scores; NaN or None for people who were not scored.
    sensitive_features : array-like of shape (n,)
        The group of each person; None or NaN if it is unknown.

    Returns
    -------
    ScoringRate
        ``median``, ``groups``, ``above``, ``people``, ``rate``, ``unknown_above``,
        ``unknown_people`` and ``unscored``. A group without scored people has the rate NaN.

    Examples
    --------
    >>> from equirank.statistics import scoring_rate
    >>> women = [71, 64, 64, 58, 80, 55, 64, 49, 62, 77]
    >>> men = [64, 69, 83, 90, 64, 72, 58, 66, 75, 61, 88, 70]
    >>> found = scoring_rate(women + men + [64, 59, 93], ["F"] * 10 + ["M"] * 12 + [None] * 3)
    >>> found.median, found.groups, found.above.tolist(), found.people.tolist()
    (64.0, ('F', 'M'), [3, 8], [10, 12])
    >>> (found.rate[0] / found.rate[1]).item()
    0.45...
    """
    score = _scores(y_score)
    labels = inputs.label_column("sensitive_features", sensitive_features)
    inputs.same_length({"y_score": score, "sensitive_features": labels})
    scored = ~np.isnan(score)
    if not scored.any():
        raise DataError("y_score must hold at least one score, and all are missing")
    codes, groups = encode("sensitive_features", np.asarray(labels), "unknown")
    median = float(np.median(score[scored]))
    above = score > median
    known = codes >= 0

    def counted(rows: np.ndarray) -> np.ndarray:
        return np.bincount(codes[rows & known], minlength=len(groups))

    people = counted(scored)
    rates = np.full(len(groups), np.nan)
    np.divide(counted(above), people, out=rates, where=people > 0)
    return ScoringRate(
        median,
        groups,
        counted(above),
        people,
        rates,
        int((above & ~known).sum()),
        int((scored & ~known).sum()),
        int((~scored).sum()),
    )
