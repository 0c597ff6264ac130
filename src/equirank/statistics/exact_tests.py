"""Exact tests of selection given who was in each list and how many were selected."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..kernels.hypergeometric import MOST_STEPS, Tails, TooLarge, conditional_tails
from .counts import Counts, Values, as_counts

__all__ = ["ExactTest", "exact_over_lists", "fisher_exact"]


#: Most lists whose distribution is kept.
MOST_KEPT = 4_096
ONE_OUTCOME = "only one outcome is possible: there is nothing to test"


@dataclass(frozen=True, eq=False)
class ExactTest:
    """An exact conditional test of selection; `fisher_exact` of arrays returns arrays.

    The number of people selected is fixed, as are the sizes of the groups.

    Attributes
    ----------
    statistic : float or ndarray
        Selected people of the group.
    expected : float or ndarray
        Their number if selection did not depend on the group.
    p_value : float or ndarray
        Two-sided: the probability of all outcomes at most ``1 + 1e-7`` times as probable as the
        observed one.
    mid_p : float or ndarray
        The p-value minus half the probability of the observed outcome.
    probability : float or ndarray
        The probability of the observed outcome.
    reason : str or ndarray of str
        Why the test says nothing or is absent; empty otherwise.
    """

    statistic: Values
    expected: Values
    p_value: Values
    mid_p: Values
    probability: Values
    reason: Values


def fisher_exact(a: Values, n1: Values, b: Values, n2: Values) -> ExactTest:
    """Test two selection rates of one list by Fisher's exact test, two-sided, with the mid-p.

    Given the margins, the number of selected people of the group is hypergeometric. The p-value
    sums the probabilities of all tables at most ``1 + 1e-7`` times as probable as the observed one;
    the mid-p subtracts half the observed table's probability.

    Parameters
    ----------
    a, n1 : int or array-like of int
        Selected people and all people of the group. Arrays have one entry per list, each tested on
        its own; numbers are one list.
    b, n2 : int or array-like of int
        Selected people and all people of the reference.

    Returns
    -------
    ExactTest
        ``statistic``, ``expected``, ``p_value``, ``mid_p``, ``probability`` and ``reason``. If only
        one table is possible, the p-value is 1, with a reason.

    See Also
    --------
    exact_over_lists : One test of all lists.

    Examples
    --------
    >>> from equirank.statistics import fisher_exact
    >>> found = fisher_exact(24, 120, 45, 130)
    >>> round(found.p_value, 5), round(found.mid_p, 5)
    (0.01095, 0.00894)
    """
    counts = as_counts(a, n1, b, n2, whole=True)
    rows = np.stack([counts.a, counts.n1, counts.n2, counts.m], axis=1)
    tables, at = np.unique(rows, axis=0, return_inverse=True)
    tested = [_tails(int(row[0]), *row[1:, None]) for row in tables]
    found = np.array([tails for tails, _ in tested])[at.reshape(-1)]
    why = np.array([reason for _, reason in tested], dtype=object)[at.reshape(-1)]
    expected = np.where(counts.n > 0, counts.n1 * counts.m / np.maximum(counts.n, 1.0), 0.0)
    shown = counts.shown
    return ExactTest(
        shown(counts.a),
        shown(expected),
        shown(found[:, 1]),
        shown(np.maximum(found[:, 1] - 0.5 * found[:, 0], 0.0)),
        shown(found[:, 0]),
        str(why[0]) if counts.single else why,
    )


def exact_over_lists(a: Values, n1: Values, b: Values, n2: Values) -> ExactTest:
    """Test the selected people of a group over all lists by the exact conditional distribution.

    Given who was in each list and how many were selected there, the number of selected people of
    the group is a sum of independent hypergeometric variables. Its distribution is computed by
    direct convolution, tilted so that tails of any size have full relative accuracy, and Fisher's
    rule is applied to it. With one list this is Fisher's exact test.

    Parameters
    ----------
    a, n1 : int or array-like of int
        Selected people and all people of the group, one entry per list.
    b, n2 : int or array-like of int
        Selected people and all people of the reference.

    Returns
    -------
    ExactTest
        ``statistic`` (over all lists), ``expected``, ``p_value``, ``mid_p``, ``probability`` and
        ``reason``. If only one outcome is possible, the p-value is 1, with a reason. If a
        convolution would take more than 10,000,000,000 multiplications, which needs some hundred
        million people, the p-value is NaN, with a reason; `mantel_haenszel` has the approximate
        test.

    Examples
    --------
    >>> from equirank.statistics import exact_over_lists
    >>> found = exact_over_lists([12, 9, 3], [60, 30, 50], [5, 36, 6], [20, 90, 60])
    >>> round(found.p_value, 4), round(found.expected - found.statistic, 2)
    (0.2069, 4.09)
    """
    counts = as_counts(a, n1, b, n2, whole=True)
    tails, reason = _tails(int(counts.a.sum()), counts.n1, counts.n2, counts.m)
    expected = _expected(counts)
    mid_p = max(tails.p_value - 0.5 * tails.probability, 0.0)
    if np.isnan(tails.p_value):
        mid_p = float("nan")
    selected = float(counts.a.sum())
    return ExactTest(selected, expected, tails.p_value, mid_p, tails.probability, reason)


def _expected(counts: Counts) -> float:
    some = counts.n > 0
    return float((counts.n1[some] * counts.m[some] / counts.n[some]).sum())


def _tails(selected: int, n1: np.ndarray, n2: np.ndarray, m: np.ndarray) -> tuple[Tails, str]:
    """Return the tails of an exact distribution, and why they say nothing or are absent."""
    if not np.any(np.minimum(n1, m) > np.maximum(m - n2, 0.0)):
        return Tails(1.0, 1.0), ONE_OUTCOME
    if n1.sum() > n2.sum():  # the distribution of the other side is the mirror image
        selected, n1, n2 = int(m.sum()) - selected, n2, n1
    try:
        if len(m) > MOST_KEPT:
            return conditional_tails(selected, n1, n2, m), ""
        return _kept_tails(selected, n1.tobytes(), n2.tobytes(), m.tobytes()), ""
    except TooLarge as error:
        nan = float("nan")
        return Tails(nan, nan), (
            f"the exact distribution takes more than {error.args[0]:.1e} multiplications, over the "
            f"limit of {MOST_STEPS:.0e}; use the test of mantel_haenszel"
        )


@lru_cache(maxsize=256)
def _kept_tails(selected: int, *parts: bytes) -> Tails:
    """Return the tails for the bytes of n1, n2 and m; a report states them in several places."""
    n1, n2, m = (np.frombuffer(part) for part in parts)
    return conditional_tails(selected, n1, n2, m)
