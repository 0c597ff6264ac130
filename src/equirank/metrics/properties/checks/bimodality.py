"""Bimodality: whether a group's places gather at two ends with nothing between."""

from dataclasses import dataclass
from math import nan, sqrt
from typing import Any

from .places import as_places

__all__ = ["Bimodality", "bimodality"]


@dataclass(frozen=True)
class Bimodality:
    """Sarle's coefficient of the places, and what as many evenly spread places have."""

    coefficient: float
    even: float


def bimodality(positions: Any, n: int) -> Bimodality:
    """Measure with Sarle's coefficient whether a group's places gather in two heaps.

    ``b = (g^2 + 1) / (k + 3 (m-1)^2 / ((m-2)(m-3)))`` with the sample skewness g and excess
    kurtosis k of the m places, both corrected for small m. For large m it is 1 for two points of
    any weight, 5/9 for an even spread and 1/3 for a normal heap; for small m all are lower, so
    ``even`` gives the coefficient of m evenly spaced places exactly. Above it the places are more
    bimodal than an even spread.

    Why Sarle and not Hartigan's dip: it has a closed form, needs no table or simulation, and what
    counts here, two far ends with an empty middle, lowers the kurtosis most. Its known weakness: a
    strongly skewed single heap also scores high, so read it beside `smoothness`. NaN for fewer than
    four items; places must differ.

    Parameters
    ----------
    positions : array-like of int
        Places of the group, from 1 to n.
    n : int
        Length of the list.

    Returns
    -------
    Bimodality
        With ``coefficient`` and ``even``.

    References
    ----------
    Pfister, Schwarz, Janczyk, Dale and Freeman, Good things peak in pairs: a note on the bimodality
    coefficient, Frontiers in Psychology 2013.

    Examples
    --------
    >>> from equirank.metrics.properties import bimodality
    >>> ends = bimodality([1, 2, 3, 4, 5, 95, 96, 97, 98, 99], n=100)
    >>> round(ends.coefficient, 3), round(ends.even, 3)
    (0.564, 0.319)
    """
    places = as_places("bimodality", positions, n).astype(float)
    m = len(places)
    if m < 4:
        return Bimodality(nan, nan)
    centred = places - places.mean()
    second, third, fourth = ((centred**power).mean() for power in (2, 3, 4))
    coefficient = _sarle(float(third / second**1.5), float(fourth / second**2) - 3.0, m)
    return Bimodality(coefficient, _sarle(0.0, -1.2 * (m * m + 1.0) / (m * m - 1.0), m))


def _sarle(skewness: float, excess: float, m: int) -> float:
    """Correct skewness and excess kurtosis of m values for small m, and put them together."""
    both = (m - 2.0) * (m - 3.0)
    g = skewness * sqrt(m * (m - 1.0)) / (m - 2.0)
    k = (m - 1.0) / both * ((m + 1.0) * excess + 6.0)
    return (g * g + 1.0) / (k + 3.0 * (m - 1.0) ** 2 / both)
