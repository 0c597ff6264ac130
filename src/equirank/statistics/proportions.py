"""Two selection rates in one list: their ratio, their difference, and people short of it."""

from dataclasses import dataclass

import numpy as np

from ..core.docstrings import describe_as
from ..kernels.prefixes import ratio_interval
from ..kernels.segments import divide
from .counts import Counts, Values, as_counts, normal_p, quantile

__all__ = [
    "Flips",
    "SelectionRatio",
    "Shortfall",
    "TwoProportionZ",
    "flips",
    "selection_ratio",
    "shortfall",
    "two_proportion_z",
]


@dataclass(frozen=True, eq=False)
class SelectionRatio:
    """The ratio of two selection rates; arrays if counts were given as arrays.

    Attributes
    ----------
    estimate : float or ndarray
        The rate of the group divided by that of the reference; NaN if undefined.
    low, high : float or ndarray
        Its score interval, which contains the estimate; infinite if there is no upper limit.
    rate, reference_rate : float or ndarray
        The two selection rates.
    reason : str or ndarray of str
        Why the ratio is undefined; empty otherwise.
    """

    estimate: Values
    low: Values
    high: Values
    rate: Values
    reference_rate: Values
    reason: Values


def selection_ratio(
    a: Values, n1: Values, b: Values, n2: Values, *, level: float = 0.95
) -> SelectionRatio:
    """Return the ratio of two selection rates, with Koopman's score interval.

    ``R = (a / n1) / (b / n2)``. The interval contains each ratio R whose distance from the data,
    ``|a/n1 - R b/n2|`` less a correction for continuity, is at most z standard errors. These are
    those of the most likely rates whose ratio is R, ``p1 (1-p1)/n1 + R^2 p2 (1-p2)/n2`` times
    ``N/(N-1)``, so that an interval has a width although all or none were selected. The correction
    is ``1/((2+v1) n1) + R/((2+v2) n2)`` with v1 and v2 the variances of the two counts: half a
    person where a count hardly varies, and next to nothing where it does. With it, the 95% interval
    contains the true ratio in at least 93% of samples for all sizes from 8 people on
    (``benchmarks/score_intervals.py``); without it, in 84%.

    Parameters
    ----------
    a, n1 : float or array-like
        Selected people and all people of the group. Arrays have one entry per list; numbers are one
        list. Expected counts, of a selection by chance, need not be whole.
    b, n2 : float or array-like
        Selected people and all people of the reference.
    level : float
        Confidence level of the interval.

    Returns
    -------
    SelectionRatio
        ``estimate``, ``low``, ``high``, ``rate``, ``reference_rate`` and ``reason``. The ratio is
        NaN, with a reason, if a side has no people or nobody of the reference was selected; in the
        second case the interval has a lower limit and no upper one.

    References
    ----------
    Koopman (1984): Confidence intervals for the ratio of two binomial proportions. Biometrics 40.
    Miettinen and Nurminen (1985): Comparative analysis of two rates. Statistics in Medicine 4, of
    the factor N/(N-1). Laud (2017): Equal-tailed confidence intervals for comparison of rates.
    Pharmaceutical Statistics 16, of corrections between none and half a person.

    Examples
    --------
    >>> from equirank.statistics import selection_ratio
    >>> found = selection_ratio(24, 120, 45, 130)
    >>> round(found.estimate, 4), round(found.low, 4), round(found.high, 4)
    (0.5778, 0.3734, 0.8819)
    >>> found = selection_ratio([0, 3, 8], [10, 10, 8], [4, 0, 9], [10, 10, 9])
    >>> found.low.round(3).tolist(), found.high.round(3).tolist()
    ([0.0, 0.618, 0.584], [1.073, inf, 1.649])
    >>> found.reason.tolist()
    ['', 'nobody of the reference was selected', '']
    """
    width = quantile(level, "selection_ratio")
    counts = as_counts(a, n1, b, n2)
    rate, reference_rate = counts.rates
    a, n1, b, n2 = (part[:, None] for part in (counts.a, counts.n1, counts.b, counts.n2))
    low, high = ratio_interval((a, n1, b, n2), width)
    shown = counts.shown
    return SelectionRatio(
        shown(divide(rate, reference_rate)),
        shown(low),
        shown(high),
        shown(rate),
        shown(reference_rate),
        counts.reasons(
            *_empty_sides(counts), (counts.b == 0, "nobody of the reference was selected")
        ),
    )


def _empty_sides(counts: Counts) -> list[tuple[np.ndarray, str]]:
    return [
        (counts.n1 == 0, "the group has no people"),
        (counts.n2 == 0, "the reference has no people"),
    ]


@dataclass(frozen=True, eq=False)
class TwoProportionZ:
    """The z statistic of two proportions; arrays if counts were given as arrays.

    Attributes
    ----------
    statistic : float or ndarray
        The difference of the rates in standard errors ("standard deviations" in court); negative if
        the group is selected less often.
    p_value : float or ndarray
        Two-sided, from the normal distribution.
    estimate : float or ndarray
        The difference of the rates.
    reason : str or ndarray of str
        Why the statistic is undefined; empty otherwise.
    """

    statistic: Values
    p_value: Values
    estimate: Values
    reason: Values


@describe_as(selection_ratio)
def two_proportion_z(a: Values, n1: Values, b: Values, n2: Values) -> TwoProportionZ:
    """Return the difference of two selection rates in standard errors, with the pooled variance.

    ``z = (p1 - p2) / sqrt(p (1 - p) (1/n1 + 1/n2))`` with ``p = (a + b) / (n1 + n2)``.

    Returns
    -------
    TwoProportionZ
        ``statistic``, ``p_value``, ``estimate`` and ``reason``. The statistic is NaN, with a
        reason, if a side has no people, or if nobody or everyone was selected.

    Examples
    --------
    >>> from equirank.statistics import two_proportion_z
    >>> found = two_proportion_z(24, 120, 45, 130)
    >>> round(found.statistic, 3), round(found.p_value, 4)
    (-2.583, 0.0098)
    """
    counts = as_counts(a, n1, b, n2)
    rate, reference_rate = counts.rates
    p = divide(counts.m, counts.n)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = p * (1.0 - p) * (1.0 / counts.n1 + 1.0 / counts.n2)
    z = divide(rate - reference_rate, np.sqrt(variance))
    shown = counts.shown
    return TwoProportionZ(
        shown(z),
        shown(normal_p(z)),
        shown(rate - reference_rate),
        counts.reasons(
            *_empty_sides(counts),
            (counts.m == 0, "nobody was selected"),
            (counts.m == counts.n, "everyone was selected"),
        ),
    )


@dataclass(frozen=True)
class Shortfall:
    """How many selected people a group lacks.

    Attributes
    ----------
    estimate : float
        Expected minus observed: how many more of the group would have been selected if selection
        did not depend on it. Negative for a surplus.
    against_reference : float
        How many more if the group had the selection rate of the reference.
    lists : int
        Number of lists that contain people of both, the only ones that count.
    reason : str
        Why the values are undefined; empty otherwise.
    """

    estimate: float
    against_reference: float
    lists: int
    reason: str = ""


@describe_as(selection_ratio)
def shortfall(a: Values, n1: Values, b: Values, n2: Values) -> Shortfall:
    """Return how many selected people a group lacks, summed over lists.

    ``sum n1 m / N - sum a`` with ``m = a + b`` and ``N = n1 + n2`` per list; against the reference
    ``sum n1 b / n2 - sum a``.

    Returns
    -------
    Shortfall
        ``estimate``, ``against_reference``, ``lists`` and ``reason``. Lists without people of one
        side do not count; if no list is left, the values are NaN.

    Examples
    --------
    >>> from equirank.statistics import shortfall
    >>> found = shortfall(24, 120, 45, 130)
    >>> round(found.estimate, 2), round(found.against_reference, 2)
    (9.12, 17.54)
    >>> round(shortfall([12, 9, 3], [60, 30, 50], [5, 36, 6], [20, 90, 60]).estimate, 2)
    4.09
    """
    counts = as_counts(a, n1, b, n2).comparable
    lists = len(counts.a)
    if lists == 0:
        return Shortfall(np.nan, np.nan, 0, "no list contains people of both sides")
    selected = counts.a.sum()
    expected = (counts.n1 * counts.m / counts.n).sum()
    reference = (counts.n1 * counts.b / counts.n2).sum()
    return Shortfall(float(expected - selected), float(reference - selected), lists)


@dataclass(frozen=True, eq=False)
class Flips:
    """How far two selection rates are from another order; arrays if counts were given as arrays.

    Attributes
    ----------
    flip : bool or ndarray of bool
        Whether one selection moved from the side with the higher rate to the other reverses the
        order. Equal rates have no order.
    to_four_fifths : int or ndarray of int
        Fewest selections to move from the reference to the group until the ratio is at least 0.8.
    reason : str or ndarray of str
        Why there is no order; empty otherwise.
    """

    flip: Values
    to_four_fifths: Values
    reason: Values


def flips(a: Values, n1: Values, b: Values, n2: Values) -> Flips:
    """Return whether one selection moved reverses the order of two rates, and moves to four fifths.

    With a lower rate of the group, ``flip`` is ``(a + 1)/n1 > (b - 1)/n2``; with a higher one
    ``(a - 1)/n1 < (b + 1)/n2``. ``to_four_fifths`` is the least j with
    ``(a + j)/n1 >= 0.8 (b - j)/n2``.

    Parameters
    ----------
    a, n1 : int or array-like of int
        Selected people and all people of the group. Arrays have one entry per list; numbers are one
        list.
    b, n2 : int or array-like of int
        Selected people and all people of the reference.

    Returns
    -------
    Flips
        ``flip``, ``to_four_fifths`` and ``reason``. If a side has no people, or nobody was
        selected, ``flip`` is False and ``to_four_fifths`` is 0, with a reason.

    References
    ----------
    Question 21 of the questions and answers on the Uniform Guidelines, 44 FR 11996 (1979).

    Examples
    --------
    >>> from equirank.statistics import flips
    >>> flips(24, 120, 45, 130)
    Flips(flip=False, to_four_fifths=6, reason='')
    >>> flips([2, 5], [10, 10], [3, 5], [10, 10]).flip
    array([ True, False])
    """
    counts = as_counts(a, n1, b, n2, whole=True)
    rows = zip(*(part.tolist() for part in (counts.a, counts.n1, counts.b, counts.n2)), strict=True)
    found = [_moves(*map(int, row)) for row in rows]
    return Flips(
        counts.shown(np.array([flip for flip, _ in found])),
        counts.shown(np.array([moves for _, moves in found], dtype=np.int64)),
        counts.reasons(
            *_empty_sides(counts),
            (counts.m == 0, "nobody was selected"),
            (counts.a * counts.n2 == counts.b * counts.n1, "the rates are equal"),
        ),
    )


def _moves(a: int, n1: int, b: int, n2: int) -> tuple[bool, int]:
    """Return the flip and the number of moves of one list, in whole numbers."""
    if n1 == 0 or n2 == 0:
        return False, 0
    order = a * n2 - b * n1
    one = (a + 1) * n2 > (b - 1) * n1 if order < 0 else (a - 1) * n2 < (b + 1) * n1
    lacking = 4 * b * n1 - 5 * a * n2
    return order != 0 and one, max(-(-lacking // (5 * n2 + 4 * n1)), 0)
