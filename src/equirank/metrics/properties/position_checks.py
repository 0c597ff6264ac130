"""Bimodality: whether a group's places gather at two ends with nothing between."""

from dataclasses import dataclass
from math import comb, erfc, nan, sqrt
from typing import Any

import numpy as np

from ...core.errors import DataError
from ...core.params import Integer, check_params

__all__ = [
    "Bimodality",
    "Clustering",
    "Smoothness",
    "StatisticalIndependence",
    "as_displacement",
    "as_mask",
    "as_numbers",
    "as_places",
    "bimodality",
    "check_both",
    "clustering",
    "smoothness",
    "statistical_independence",
]


def as_places(owner: str, positions: Any, n: int) -> np.ndarray:
    """Return the places of a group in a list of n, ascending, or say what is wrong with them."""
    check_params(owner, {"n": n}, {"n": Integer(1)})
    places = as_numbers("positions", positions)
    whole = places.astype(np.int64)
    if (whole != places).any() or (whole < 1).any() or (whole > n).any():
        raise DataError(f"positions must be whole numbers from 1 to n = {n}, got {_shown(places)}")
    whole = np.sort(whole)
    if (np.diff(whole) == 0).any():
        raise DataError(f"positions must differ, got {_shown(whole)}")
    return whole


def as_numbers(name: str, values: Any) -> np.ndarray:
    """Return a non-empty row of finite numbers."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be a sequence of numbers, got {values!r}") from None
    if array.ndim != 1 or len(array) == 0 or not np.isfinite(array).all():
        raise DataError(f"{name} must be a sequence of finite numbers, got {_shown(array)}")
    return array


def as_mask(protected: Any) -> np.ndarray:
    """Return a row of truth values: True (or 1) for the protected."""
    mask = np.asarray(protected)
    if mask.ndim != 1 or len(mask) == 0 or not np.isin(mask, (0, 1)).all():
        raise DataError(f"protected must be a sequence of True and False, got {_shown(mask)}")
    return mask.astype(bool)


def as_displacement(
    position: Any, true_position: Any, protected: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return displacements (position - true position), true positions and the protected."""
    place, truth = as_numbers("position", position), as_numbers("true_position", true_position)
    mask = as_mask(protected)
    if not len(place) == len(truth) == len(mask):
        raise DataError(
            "position, true_position and protected must have one length, "
            f"got {len(place)}, {len(truth)} and {len(mask)}"
        )
    check_both(mask)
    return place - truth, truth, mask


def check_both(mask: np.ndarray) -> None:
    """Raise where one of the two groups is empty."""
    if mask.all() or not mask.any():
        raise DataError("protected must name some items and leave out some, got one group only")


def _shown(values: np.ndarray) -> str:
    text = repr(values.tolist())
    return text if len(text) <= 80 else text[:77] + "..."


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


#: The exact p-value is given up to this length; beyond it the normal one is the same.
LONGEST = 1000


@dataclass(frozen=True)
class Clustering:
    """Runs of equal group along the list: how many, how many by chance, and how surprising."""

    runs: int
    expected: float
    z: float
    p: float
    p_exact: float


def clustering(protected_mask: Any, *, exact: bool = True) -> Clustering:
    """Test whether a group stands in clumps: the runs test of Wald and Wolfowitz.

    A run is a longest stretch of items that are all protected or all not. With a protected and b
    others, N = a + b, all arrangements alike, the number of runs has the mean ``2ab/N + 1`` and the
    variance ``2ab (2ab - N) / (N^2 (N - 1))``; ``z`` is the observed number so standardised: below
    0 there are clumps, above 0 the groups alternate. ``p`` is two-sided by the normal distribution,
    ``p_exact`` by the exact one: the share of arrangements whose number of runs lies at least as
    far from the mean (NaN above 1,000 items).

    Why runs: they do not depend on where in the list a clump stands, so the test sees clumps that
    leave the mean place and every coarse share as they were. Where there is but one possible number
    of runs ``z`` is NaN and both p are 1.

    Parameters
    ----------
    protected_mask : array-like of bool
        The list from its first place on: True where the item is protected.
    exact : bool
        Give also ``p_exact``, which takes longer the longer the list is.

    Returns
    -------
    Clustering
        With ``runs``, ``expected``, ``z``, ``p`` and ``p_exact``.

    References
    ----------
    Wald and Wolfowitz, On a test whether two samples are from the same population, Annals of
    Mathematical Statistics 1940.

    Examples
    --------
    >>> from equirank.metrics.properties import clustering
    >>> found = clustering([1, 1, 1, 0, 0, 0])
    >>> found.runs, found.expected, round(found.z, 3), found.p_exact
    (2, 4.0, -1.826, 0.2)
    """
    mask = as_mask(protected_mask)
    check_both(mask)
    n, a = len(mask), int(mask.sum())
    b = n - a
    runs = 1 + int(np.count_nonzero(mask[1:] != mask[:-1]))
    mean = 2 * a * b / n + 1
    variance = 2 * a * b * (2 * a * b - n) / (n * n * (n - 1))
    if variance == 0:
        return Clustering(runs, mean, nan, 1.0, 1.0)
    z = (runs - mean) / sqrt(variance)
    p_exact = _exact(runs, a, b) if exact and n <= LONGEST else nan
    return Clustering(runs, mean, z, erfc(abs(z) / sqrt(2.0)), p_exact)


def _exact(runs: int, a: int, b: int) -> float:
    """Return the share of arrangements whose number of runs is at least as far from the mean."""
    n = a + b
    far = abs(n * runs - 2 * a * b - n)  # n times the distance, in whole numbers
    hits = sum(
        _arrangements(r, a, b)
        for r in range(2, 2 * min(a, b) + 2)
        if abs(n * r - 2 * a * b - n) >= far
    )
    return hits / comb(n, a)


def _arrangements(runs: int, a: int, b: int) -> int:
    """Count the arrangements with so many runs."""
    half = runs // 2
    if runs % 2 == 0:
        return 2 * comb(a - 1, half - 1) * comb(b - 1, half - 1)
    return comb(a - 1, half) * comb(b - 1, half - 1) + comb(a - 1, half - 1) * comb(b - 1, half)


@dataclass(frozen=True)
class Smoothness:
    """Two distances to the even spread, both from 0 to 1: the largest and the mean difference."""

    ks: float
    wasserstein: float


def smoothness(positions: Any, n: int) -> Smoothness:
    """Measure how far a group's places lie from an even spread over the list: 0 is even.

    With ``F(j)`` the share of the group within the first j places and ``j/n`` that of an even
    spread, ``ks = max_j |F(j) - j/n|`` (Kolmogorov-Smirnov) and
    ``wasserstein = 1/n sum_j |F(j) - j/n|``, over j = 1..n.

    The reference is the uniform distribution over the n places that exist, not over an interval, so
    both are exact for any n: a group that is the whole list scores 0. With many places they become
    the distances to the continuous uniform distribution. ``ks`` finds the one prefix that is most
    out of line; ``wasserstein`` is how far, as a share of the list, the mean item would have to
    move. Order does not matter; places must differ, since tied items have no place of their own.

    Parameters
    ----------
    positions : array-like of int
        Places of the group, from 1 to n.
    n : int
        Length of the list.

    Returns
    -------
    Smoothness
        With ``ks`` and ``wasserstein``.

    References
    ----------
    Massey, The Kolmogorov-Smirnov test for goodness of fit, JASA 1951. Vallender, Calculation of
    the Wasserstein distance between probability distributions on the line, 1974.

    Examples
    --------
    >>> from equirank.metrics.properties import smoothness
    >>> smoothness([1, 2], n=4)  # both at the top
    Smoothness(ks=0.5, wasserstein=0.25)
    >>> smoothness([1, 2, 3, 4], n=4)
    Smoothness(ks=0.0, wasserstein=0.0)
    """
    places = as_places("smoothness", positions, n)
    along = np.arange(1, n + 1)
    share = np.searchsorted(places, along, side="right") / len(places)
    distance = np.abs(share - along / n)
    return Smoothness(float(distance.max()), float(distance.mean()))


@dataclass(frozen=True)
class StatisticalIndependence:
    """Mean normalised places; the difference is above 0 where the protected stand lower."""

    difference: float
    protected: float
    others: float


def statistical_independence(position: Any, protected: Any) -> StatisticalIndependence:
    """Compare the mean place of a group with that of the others: 0 is equal.

    Places are normalised as ``(position - 1/2) / n``, the middle of each place's share of the list,
    so that an even spread has the mean 1/2 for every n. ``difference`` is the protected's mean less
    the others', from -1/2 (all above) to 1/2 (all below). It is the plainest reading of demographic
    parity for rankings, and blind to everything but the mean: see `smoothness`, `bimodality` and
    `clustering` for the rest. Tied items may share a mean place.

    Parameters
    ----------
    position : array-like
        The place of each item of the list; 1 is the first.
    protected : array-like of bool
        Which items belong to the group.

    Returns
    -------
    StatisticalIndependence
        With ``difference``, ``protected`` and ``others``.

    References
    ----------
    Barocas, Hardt and Narayanan, Fairness and machine learning, 2023, chapter 3 (independence).

    Examples
    --------
    >>> from equirank.metrics.properties import statistical_independence
    >>> statistical_independence([1, 2, 3, 4], [0, 0, 1, 1])
    StatisticalIndependence(difference=0.5, protected=0.75, others=0.25)
    """
    place, mask = as_numbers("position", position), as_mask(protected)
    if len(place) != len(mask):
        raise DataError(
            f"position and protected must have one length, got {len(place)} and {len(mask)}"
        )
    check_both(mask)
    normal = (place - 0.5) / len(place)
    inside, outside = float(np.mean(normal[mask])), float(np.mean(normal[~mask]))
    return StatisticalIndependence(inside - outside, inside, outside)
