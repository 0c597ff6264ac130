"""Bounds on the error of objectives that are computed on a weighted sample of queries."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.params import Constraint, Integer, Number, check_params

__all__ = ["queries_needed", "sampling_error_bound"]


#: Radii of the nets that are tried, relative to the radius of the ball.
NETS = 10.0 ** np.arange(-8.0, 0.01, 0.25)
#: Most draws that `queries_needed` names.
MOST = 10**12


def sampling_error_bound(
    shares: Any,
    size: int,
    *,
    values: Any = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    delta: float = 0.05,
    dimension: int = 0,
    radius: float = 1.0,
    lipschitz: float = 1.0,
) -> float:
    r"""Bound the difference between an objective on a weighted sample and on all N queries.

    The objective is a mean of one value per query, and the sample weights a query by its number of
    draws over ``size p_i``. By Bernstein's inequality, with probability ``1 - delta``,

    .. math::

        |\hat F - F| \le \sqrt{\tfrac{2 V \log(2/\delta)}{m}} + \tfrac{R \log(2/\delta)}{3 m},
        \quad V = \sum_i \tfrac{g_i^2}{N^2 p_i} - G^2, \quad R = \max_i |\tfrac{g_i}{N p_i} - G|

    where g are the values less the middle of ``bounds`` and G is their mean. (Subtracting a number
    changes the weighted objective by a term that no policy influences.) Without ``values`` it holds
    for any values within ``bounds``: g is then half their width.

    It is proved for draws with replacement, and for equal shares without (Hoeffding 1963); other
    samples without replacement are covered in simulation only. The values must not depend on the
    sample. For a policy trained on the sample, ``dimension`` makes the bound uniform over all
    policies with parameters in a ball: a union bound over a net of at most ``(1 + 2 r / e)^d``
    policies, plus what the objective changes within e, with the best e of a grid.

    Parameters
    ----------
    shares : array-like
        Share p of each query in the draws, > 0 (`QuerySampler.shares`); scaled to sum 1.
    size : int
        Number of draws m.
    values : array-like, optional
        The value of each query at a fixed policy. Not with ``dimension``.
    bounds : (float, float)
        Smallest and largest value of a query.
    delta : float
        Probability that the bound does not hold.
    dimension : int
        Number of parameters of the policies; 0: one policy that does not depend on the sample.
    radius : float
        Radius of the ball of parameters.
    lipschitz : float
        Largest change of a query's value per unit of the parameters.

    References
    ----------
    Hoeffding, Probability inequalities for sums of bounded random variables, JASA 1963.
    Boucheron, Lugosi and Massart, Concentration inequalities, Oxford 2013, section 2.8.

    Examples
    --------
    >>> from math import log, sqrt
    >>> from equirank.theory import sampling_error_bound
    >>> round(sampling_error_bound([1, 1, 1, 1], 1000), 4)
    0.0442
    >>> round(sqrt(2 * 0.25 * log(40) / 1000) + log(40) / 3000, 4)
    0.0442
    """
    given = {"size": size, "delta": delta, "dimension": dimension, "radius": radius}
    given["lipschitz"] = lipschitz
    check_params("sampling_error_bound", given, DECLARED)
    p, low, high = _checked_shares(shares), *_checked_bounds(bounds)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    if dimension == 0:
        moments = _moments(p, values, middle, half)
        return _bernstein(*moments, size, delta)
    if values is not None:
        raise DataError("values must be None with dimension, got an array")
    moments = _moments(p, None, middle, half)
    weight = 1.0 + _bernstein(*_moments(p, np.ones(len(p)), 0.0, 1.0), size, 0.5 * delta)
    found = [
        _bernstein(*moments, size, 0.5 * delta, dimension * math.log1p(2.0 / step))
        + lipschitz * radius * step * (1.0 + weight)
        for step in NETS.tolist()
    ]
    return min(found)


DECLARED: Mapping[str, Constraint] = {
    "size": Integer(1),
    "delta": Number(0, 1, open_low=True, open_high=True),
    "dimension": Integer(0),
    "radius": Number(0, open_low=True),
    "lipschitz": Number(0),
    "error": Number(0, open_low=True),
}


def queries_needed(shares: Any, error: float, **how: Any) -> int:
    """Return the smallest number of draws whose `sampling_error_bound` is at most an error.

    The number may exceed that of the queries: the sample then saves nothing.

    Parameters
    ----------
    shares : array-like
        As in `sampling_error_bound`.
    error : float
        The largest difference allowed, > 0.
    **how
        Further arguments of `sampling_error_bound`.

    Examples
    --------
    >>> from equirank.theory import queries_needed, sampling_error_bound
    >>> size = queries_needed([1, 1, 1, 1], 0.05)
    >>> size
    787
    >>> sampling_error_bound([1] * 4, size) <= 0.05 < sampling_error_bound([1] * 4, size - 1)
    True
    """
    check_params("queries_needed", {"error": error}, DECLARED)
    low, high = 0, 1
    while sampling_error_bound(shares, high, **how) > error:
        low, high = high, 2 * high
        if high > MOST:
            raise DataError(f"error must be larger: no sample of {MOST:.0e} draws reaches {error}")
    while high - low > 1:
        size = (low + high) // 2
        reached = sampling_error_bound(shares, size, **how) <= error
        low, high = (low, size) if reached else (size, high)
    return high


def _checked_shares(shares: Any) -> np.ndarray:
    p = np.asarray(shares, dtype=np.float64).reshape(-1)
    if len(p) == 0 or not (np.isfinite(p).all() and (p > 0).all()):
        raise DataError("shares must be numbers > 0, one per query: a query of share 0 is missed")
    return np.asarray(p / p.sum())


def _checked_bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = (float(end) for end in bounds)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise DataError(f"bounds must be two numbers, the smaller first, got {bounds!r}")
    return low, high


def _moments(p: np.ndarray, values: Any, middle: float, half: float) -> tuple[float, float]:
    """Return variance and largest deviation of a draw, for given values or the worst ones."""
    scale = 1.0 / (len(p) * p)
    if values is None:
        return half * half * float(p @ scale**2), half * (float(scale.max()) + 1.0)
    g = np.asarray(values, dtype=np.float64).reshape(-1) - middle
    if len(g) != len(p) or not (np.abs(g) <= half + 1e-9).all():
        raise DataError("values must be one number within bounds per query")
    z, mean = g * scale, float(g.mean())
    return max(0.0, float(p @ z**2) - mean**2), float(np.abs(z - mean).max())


def _bernstein(
    variance: float, span: float, size: int, delta: float, log_net: float = 0.0
) -> float:
    """Return the bound of a mean of draws, for all members of a net at once."""
    rate = math.log(2.0 / delta) + log_net
    return math.sqrt(2.0 * variance * rate / size) + span * rate / (3.0 * size)
