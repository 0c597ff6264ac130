"""Selection rates compared within lists: Mantel-Haenszel, and whether the odds ratio is common."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..core.docstrings import describe_as
from ..core.params import Number, check_params
from ..kernels.hypergeometric import expected_cell
from ..kernels.prefixes import ratio_interval
from .counts import Counts, Values, as_counts, normal_p, quantile
from .proportions import selection_ratio

__all__ = [
    "UNEVEN",
    "BreslowDay",
    "MantelHaenszel",
    "breslow_day",
    "mantel_haenszel",
    "ratio_ends",
    "stratified_ratio",
]


#: Pooled and stratified ratios that differ by more than this have a note.
APART = 0.05
UNEVEN = "the groups are spread unevenly over lists: pooled ratio differs from that within lists"


@dataclass(frozen=True)
class MantelHaenszel:
    """Ratios of selection rates and the test of no difference, stratified by list.

    Attributes
    ----------
    estimate : float
        The Mantel-Haenszel ratio of selection rates; NaN if undefined.
    low, high : float
        Its score interval, which contains the estimate; infinite if there is no upper limit.
    odds_ratio : float
        The Mantel-Haenszel odds ratio; infinite if only its denominator is 0.
    statistic, p_value : float
        Chi-squared statistic of no difference within lists, with 1 degree of freedom and without
        continuity correction, and its p-value.
    pooled : float
        The ratio of all people as one list.
    lists, people : int
        Lists that contain people of both sides, and people in them.
    note : str
        Says so if the pooled ratio differs from the stratified one by more than 0.05 or in
        direction.
    reason : str
        Why a value is undefined; empty otherwise.
    """

    estimate: float
    low: float
    high: float
    odds_ratio: float
    statistic: float
    p_value: float
    pooled: float
    lists: int
    people: float
    note: str = ""
    reason: str = ""


@describe_as(selection_ratio)
def mantel_haenszel(
    a: Values, n1: Values, b: Values, n2: Values, *, level: float = 0.95
) -> MantelHaenszel:
    """Compare the selection rates of a group and its reference within lists.

    The ratio is ``x / y`` with ``x = sum(a n2/N)`` and ``y = sum(b n1/N)``. Its score interval
    contains each ratio R for which ``|x - R y|``, less a correction for continuity, is at most z
    standard errors: `selection_ratio` over several lists, with the weights of Mantel and Haenszel,
    so that it contains the estimate, and the most likely rates of each list. For R = 1 its variance
    is that of the test. The odds ratio is ``sum(a (n2-b)/N) / sum(b (n1-a)/N)``. The test is
    ``(sum a - sum E)^2 / sum V`` with ``E = n1 m/N`` and ``V = n1 n2 m (N-m) / (N^2 (N-1))``. Here
    ``m = a + b`` and ``N = n1 + n2``.

    Parameters
    ----------
    a, n1 : float or array-like
        Selected people and all people of the group, one entry per list. Expected counts, of a
        selection by chance, need not be whole.

    Returns
    -------
    MantelHaenszel
        ``estimate``, ``low``, ``high``, ``odds_ratio``, ``statistic``, ``p_value``, ``pooled``,
        ``note``, ``reason`` and more. Lists without people of one side do not count. If nobody of
        the reference was selected, the ratio is NaN, and its interval has a lower limit only.

    References
    ----------
    Mantel and Haenszel (1959): Statistical aspects of the analysis of data from retrospective
    studies of disease. JNCI 22. Miettinen and Nurminen (1985): Comparative analysis of two rates.
    Statistics in Medicine 4.

    Examples
    --------
    Three jobs, in which the group applied more often to the selective ones:

    >>> from equirank.statistics import mantel_haenszel
    >>> found = mantel_haenszel([12, 9, 3], [60, 30, 50], [5, 36, 6], [20, 90, 60])
    >>> round(found.estimate, 4), round(found.low, 4), round(found.high, 4)
    (0.7357, 0.4528, 1.1638)
    >>> round(found.odds_ratio, 4), round(found.statistic, 3), round(found.p_value, 3)
    (0.6552, 1.686, 0.194)
    >>> round(found.pooled, 4)
    0.6201
    >>> found.note
    'the groups are spread unevenly over lists: pooled ratio differs from that within lists'
    """
    quantile(level, "mantel_haenszel")
    everyone = as_counts(a, n1, b, n2)
    counts = everyone.comparable
    n, m = counts.n, counts.m
    expected = counts.n1 * m / n
    variance = counts.n1 * counts.n2 * m * (n - m) / (n**2 * np.maximum(n - 1.0, 1.0))
    pooled = everyone.pooled
    return stratified_ratio(
        float((counts.a * counts.n2 / n).sum()),
        float((counts.b * counts.n1 / n).sum()),
        float((counts.a * (counts.n2 - counts.b) / n).sum()),
        float((counts.b * (counts.n1 - counts.a) / n).sum()),
        float((counts.a - expected).sum()),
        float(variance.sum()),
        (pooled.a[0], pooled.n1[0], pooled.b[0], pooled.n2[0]),
        lists=len(counts.a),
        people=float(n.sum()),
        level=level,
        compared=(counts.a, counts.n1, counts.b, counts.n2),
    )


def stratified_ratio(
    x: float,
    y: float,
    above: float,
    below: float,
    excess: float,
    variance: float,
    totals: tuple[float, float, float, float],
    *,
    lists: int,
    people: float,
    level: float,
    compared: Iterable[Values],
) -> MantelHaenszel:
    """Return the comparison of selection rates within lists from sums over lists.

    Parameters
    ----------
    x, y : float
        ``sum(a n2/N)`` and ``sum(b n1/N)``.
    above, below : float
        ``sum(a (n2-b)/N)`` and ``sum(b (n1-a)/N)``.
    excess, variance : float
        ``sum(a - E)`` and ``sum V``.
    totals : tuple of float
        a, n1, b and n2 of all lists.
    lists, people : int, float
        Lists that contain both sides, and people in them.
    level : float
        Confidence level of the interval.
    compared : iterable of ndarray
        a, n1, b and n2 of the lists that contain both, or their totals, as in `ratio_ends`.
    """
    nan = float("nan")
    if lists == 0:
        reason = "no list contains people of both sides"
        return MantelHaenszel(nan, nan, nan, nan, nan, nan, nan, 0, 0, reason=reason)
    statistic = p_value = nan
    if variance > 0:
        z = excess / np.sqrt(variance)
        statistic, p_value = float(z**2), float(normal_p(z))
    everyone = as_counts(*totals)
    rate, reference_rate = (float(each[0]) for each in everyone.pooled.rates)
    pooled = rate / reference_rate if reference_rate > 0 else nan
    estimate = x / y if y > 0 else nan
    ends = ratio_ends(compared, lists, x, y, variance, level)
    reason = "" if y > 0 else "nobody of the reference was selected"
    if not reason and np.isnan(statistic):
        reason = "everyone was selected, or nobody, in each list: there is nothing to test"
    odds = above / below if below > 0 else (float("inf") if above > 0 else nan)
    note = _note(estimate, pooled)
    return MantelHaenszel(
        estimate, *ends, odds, statistic, p_value, pooled, lists, people, note, reason
    )


def ratio_ends(
    counts: Iterable[Values], lists: int, x: float, y: float, variance: float, level: float
) -> tuple[float, float]:
    """Return the score interval of the Mantel-Haenszel ratio ``x / y``.

    ``counts`` are a, n1, b and n2 of each list, or their totals, from which the variance is then
    approximated: its dependence on the ratio is that of all lists as one.
    """
    a, n1, b, n2 = (np.reshape(part, (1, -1)) for part in counts)
    terms = None if a.shape[1] == lists else (x, y, variance)
    low, high = ratio_interval((a, n1, b, n2), quantile(level, "mantel_haenszel"), terms)
    return float(low[0]), float(high[0])


def _odds_ratio(counts: Counts) -> float:
    above = float((counts.a * (counts.n2 - counts.b) / counts.n).sum())
    below = float((counts.b * (counts.n1 - counts.a) / counts.n).sum())
    if below > 0:
        return above / below
    return float("inf") if above > 0 else float("nan")


def _note(estimate: float, pooled: float) -> str:
    if np.isnan(estimate) or np.isnan(pooled):
        return ""
    differs = abs(estimate - pooled) > APART or (estimate - 1.0) * (pooled - 1.0) < 0
    return UNEVEN if differs else ""


@dataclass(frozen=True)
class BreslowDay:
    """The test of an odds ratio common to all lists.

    Attributes
    ----------
    statistic, p_value : float
        Breslow and Day's statistic and its p-value; NaN if absent.
    tarone, tarone_p_value : float
        The same with Tarone's correction.
    df : int
        Degrees of freedom: lists with people of both sides, minus 1.
    smallest_expected : float
        The smallest cell expected under the common odds ratio.
    reason : str
        Why the test is absent; empty otherwise.
    """

    statistic: float
    p_value: float
    tarone: float
    tarone_p_value: float
    df: int
    smallest_expected: float
    reason: str = ""


def breslow_day(
    a: Values, n1: Values, b: Values, n2: Values, *, least_expected: float = 5.0
) -> BreslowDay:
    """Test whether the odds ratio of selection is the same in all lists.

    The expected cell A of a list has the Mantel-Haenszel odds ratio:
    ``A (n2-m+A) = OR (n1-A) (m-A)``. Its variance is
    ``V = 1/(1/A + 1/(n1-A) + 1/(m-A) + 1/(n2-m+A))``, and the statistic ``sum (a-A)^2/V``. Tarone's
    correction subtracts ``(sum a - sum A)^2 / sum V``.

    Parameters
    ----------
    a, n1 : float or array-like
        Selected people and all people of the group, one entry per list.
    b, n2 : float or array-like
        Selected people and all people of the reference.
    least_expected : float
        The test is absent if an expected cell is smaller, because the chi-squared distribution is
        then a poor approximation. 0 computes it wherever it is defined.

    Returns
    -------
    BreslowDay
        ``statistic``, ``p_value``, ``tarone``, ``tarone_p_value``, ``df``, ``smallest_expected``
        and ``reason``. Lists without people of one side do not count.

    References
    ----------
    Breslow and Day (1980): Statistical methods in cancer research 1. Tarone (1985): On
    heterogeneity tests based on efficient scores. Biometrika 72.

    Examples
    --------
    >>> from equirank.statistics import breslow_day
    >>> jobs = [12, 9, 3], [60, 30, 50], [5, 36, 6], [20, 90, 60]
    >>> breslow_day(*jobs).reason
    'an expected cell is 3.25, fewer than 5'
    >>> found = breslow_day(*jobs, least_expected=0)
    >>> round(found.statistic, 4), round(found.p_value, 3), round(found.tarone, 4)
    (0.0831, 0.959, 0.083)
    """
    check_params("breslow_day", {"least_expected": least_expected}, {"least_expected": Number(0)})
    counts = as_counts(a, n1, b, n2).comparable
    lists = len(counts.a)
    nan = float("nan")
    if lists < 2:
        reason = "fewer than two lists contain people of both sides"
        return BreslowDay(nan, nan, nan, nan, max(lists - 1, 0), nan, reason)
    odds = _odds_ratio(counts)
    if not 0 < odds < np.inf:
        reason = "the Mantel-Haenszel odds ratio is 0, infinite or undefined"
        return BreslowDay(nan, nan, nan, nan, lists - 1, nan, reason)
    m = counts.m
    cell = expected_cell(counts.n1, counts.n2, m, odds)
    cells = np.stack([cell, counts.n1 - cell, m - cell, counts.n2 - m + cell])
    smallest = float(cells.min())
    if smallest < least_expected or smallest <= 0:
        reason = f"an expected cell is {smallest:.3g}, fewer than {least_expected:g}"
        if smallest >= least_expected:
            reason = "an expected cell is 0"
        return BreslowDay(nan, nan, nan, nan, lists - 1, smallest, reason)
    variance = 1.0 / (1.0 / cells).sum(axis=0)
    statistic = float(((counts.a - cell) ** 2 / variance).sum())
    tarone = statistic - float((counts.a - cell).sum() ** 2 / variance.sum())
    from scipy.special import chdtrc

    tails = [float(chdtrc(lists - 1, max(value, 0.0))) for value in (statistic, tarone)]
    return BreslowDay(statistic, tails[0], tarone, tails[1], lists - 1, smallest)
