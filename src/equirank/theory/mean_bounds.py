"""Confidence bounds for the mean of independent values in [0, 1], by betting."""

from collections.abc import Sequence
from math import exp, log

import numpy as np

__all__ = ["BOLDEST", "betting_p", "mean_upper_bound"]


#: Largest share of the capital that one bet may lose.
BOLDEST = 0.9
#: Steps of the bisection: the bound is exact to 2^-STEPS.
STEPS = 34


def betting_p(losses: np.ndarray, at_most: float, delta: float = 0.1) -> float:
    r"""Return the p-value of a mean loss above a bound, by betting against it list by list.

    .. math::

        p = \min_t \prod_{i \le t} (1 + \lambda_i (a - L_i))^{-1}, \quad
        \lambda_i = \min\Big(\sqrt{\tfrac{2 \log(1 / \delta)}{n \hat\sigma_{i-1}^2}},
        \tfrac{0.9}{1 - a}\Big)

    The capital of the bets is a supermartingale if the mean is at least a, whatever the
    distribution, so p is below any level with at most that probability. The variance of a bet is
    that of the lists before it. The value depends on the order of the lists, which must not depend
    on the losses. No list gives 1.

    Parameters
    ----------
    losses : ndarray
        Independent losses in [0, 1], one per list.
    at_most : float
        The bound a, between 0 and 1.
    delta : float
        The level for which the bets are made; p is valid for every level.

    References
    ----------
    Waudby-Smith and Ramdas, 2024, as in `mean_upper_bound`.

    Examples
    --------
    >>> from equirank.theory.mean_bounds import betting_p
    >>> betting_p(np.zeros(1), 0.5, 0.1) == 1 / (1 + 0.5 * 1.8)
    True
    >>> betting_p(np.full(100, 0.6), 0.5)
    1.0
    """
    n = len(losses)
    if n == 0 or at_most >= 1.0:
        return 1.0 if n == 0 else 0.0
    growth = np.cumsum(_gains(losses, _bets(losses, delta), at_most))
    return float(min(1.0, exp(-float(growth.max()))))


def mean_upper_bound(samples: Sequence[np.ndarray], delta: float = 0.05) -> float:
    r"""Return an upper confidence bound of a mean from one sample, or several views of it.

    .. math::

        \min\Big\{a : \tfrac1B \sum_b \prod_i (1 + \lambda_{bi} (a - L_{bi})) \ge
        \tfrac1\delta\Big\}

    The bets are those of `betting_p`. Each view b is a set of independent values with the same
    mean: the values in several orders, or several matchings of one sample into disjoint pairs. The
    views may depend on each other, since a mean of capitals with expectation at most 1 has it, too.
    The probability that the mean is above the bound is at most ``delta``. Without a value the bound
    is 1.

    Parameters
    ----------
    samples : sequence of ndarray
        The values of each view, in [0, 1]; their order must not depend on the values.
    delta : float
        Probability that the bound does not hold.

    References
    ----------
    Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, Journal of the
    Royal Statistical Society B 86, 2024.

    Examples
    --------
    >>> from equirank.theory import mean_upper_bound
    >>> round(mean_upper_bound([np.zeros(100)], delta=0.05), 3)  # 1 - 0.05^(1/100) is 0.030
    0.033
    >>> mean_upper_bound([np.ones(100)])
    1.0
    """
    views = [np.asarray(each, dtype=np.float64) for each in samples if len(each)]
    if not views:
        return 1.0
    bets = [_bets(each, delta) for each in views]
    low, high = min(float(each.mean()) for each in views), 1.0
    for _ in range(STEPS if low < 1.0 else 0):
        middle = 0.5 * (low + high)
        growth = [_gains(each, bet, middle).sum() for each, bet in zip(views, bets, strict=True)]
        enough = np.logaddexp.reduce(growth) - log(len(samples)) >= -log(delta)
        low, high = (low, middle) if enough else (middle, high)
    return high


def _bets(losses: np.ndarray, delta: float) -> np.ndarray:
    """Return the bets on values below a bound, each from the variance of the values before it."""
    n = len(losses)
    count = np.arange(1, n + 1)
    mean = (0.5 + np.cumsum(losses)) / (count + 1)
    variance = (0.25 + np.cumsum((losses - mean) ** 2)) / (count + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    return np.asarray(np.sqrt(2.0 * log(1.0 / delta) / (n * before)))


def _gains(losses: np.ndarray, bets: np.ndarray, at_most: float) -> np.ndarray:
    """Return the logarithm of the factor of each bet; no bet risks more than `BOLDEST`."""
    bold = np.minimum(bets, BOLDEST / (1.0 - at_most))
    return np.asarray(np.log1p(bold * (at_most - losses)))
