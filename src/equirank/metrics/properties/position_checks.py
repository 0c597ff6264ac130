"""Checks of the distribution of a group's positions: spread, modes, runs and mean."""

from dataclasses import dataclass
from functools import cached_property
from math import comb, erfc, nan, sqrt
from typing import Any

import numpy as np

from ...core.errors import DataError
from ...core.params import Integer, check_params

__all__ = [
    "Arrangements",
    "Bimodality",
    "Clustering",
    "Smoothness",
    "StatisticalIndependence",
    "as_arrangement",
    "as_mask",
    "as_numbers",
    "as_positions",
    "bimodality",
    "check_both",
    "clustering",
    "mean_differences",
    "runs_z",
    "sarle_coefficients",
    "smoothness",
    "spread_distances",
    "statistical_independence",
]


@dataclass(frozen=True, eq=False)
class Arrangements:
    """One list of n items and several sets of members, all of one size: what a check reads.

    The checks below compute one number per row of ``masks``, so that the permuted groups of a list
    are computed together with the observed one.

    Attributes
    ----------
    position, truth : ndarray of shape (n,)
        The position of each item, and its position by merit.
    masks : ndarray of bool, of shape (n_masks, n)
        The members; every row has the same number of them, from 1 to n - 1.
    """

    position: np.ndarray
    truth: np.ndarray
    masks: np.ndarray

    @cached_property
    def members(self) -> np.ndarray:
        """The items of each group, ascending, of shape (n_masks, size)."""
        return np.nonzero(self.masks)[1].reshape(len(self.masks), -1)

    @cached_property
    def others(self) -> np.ndarray:
        """The items outside each group, ascending, of shape (n_masks, n - size)."""
        return np.nonzero(~self.masks)[1].reshape(len(self.masks), -1)

    @cached_property
    def displacement(self) -> np.ndarray:
        """Position minus true position of each item."""
        return np.asarray(self.position - self.truth, dtype=float)


def as_positions(owner: str, positions: Any, n: int) -> np.ndarray:
    """Return the positions of a group in a list of n, ascending; raise if they are invalid."""
    check_params(owner, {"n": n}, {"n": Integer(1)})
    numbers = as_numbers("positions", positions)
    whole = numbers.astype(np.int64)
    if (whole != numbers).any() or (whole < 1).any() or (whole > n).any():
        raise DataError(f"positions must be whole numbers from 1 to n = {n}, got {_shown(numbers)}")
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
    """Return a mask of the protected items."""
    mask = np.asarray(protected)
    boolean = mask.dtype == bool or np.isin(mask, (0, 1)).all()
    if mask.ndim != 1 or len(mask) == 0 or not boolean:
        raise DataError(f"protected must be a sequence of True and False, got {_shown(mask)}")
    return mask.astype(bool)


def as_arrangement(position: Any, true_position: Any, protected: Any) -> Arrangements:
    """Return the arrangement of one validated group."""
    given, truth = as_numbers("position", position), as_numbers("true_position", true_position)
    mask = as_mask(protected)
    if not len(given) == len(truth) == len(mask):
        raise DataError(
            "position, true_position and protected must have one length, "
            f"got {len(given)}, {len(truth)} and {len(mask)}"
        )
    check_both(mask)
    return Arrangements(given, truth, mask[None])


def check_both(mask: np.ndarray) -> None:
    """Raise if one of the two groups is empty."""
    if mask.all() or not mask.any():
        raise DataError("protected must select some items and not all, got one group only")


def _shown(values: np.ndarray) -> str:
    text = repr(values.tolist())
    return text if len(text) <= 80 else text[:77] + "..."


@dataclass(frozen=True)
class Bimodality:
    """Sarle's coefficient of the positions, and that of as many evenly spread positions."""

    coefficient: float
    even: float


def bimodality(positions: Any, n: int) -> Bimodality:
    """Compute Sarle's bimodality coefficient of a group's positions.

    ``b = (g^2 + 1) / (k + 3 (m-1)^2 / ((m-2)(m-3)))`` with the sample skewness g and excess
    kurtosis k of the m positions, both corrected for small m. For large m it is 1 for two points of
    any weight, 5/9 for an even spread and 1/3 for a normal distribution. For small m all are lower,
    so ``even`` is the exact coefficient of m evenly spaced positions. Above it, the positions are
    more bimodal than an even spread.

    Unlike Hartigan's dip, it has a closed form and needs no table or simulation; two far ends with
    an empty middle lower the kurtosis most. A strongly skewed single mode also has a high value, so
    use it together with `smoothness`. NaN for fewer than four items; positions must differ.

    Parameters
    ----------
    positions : array-like of int
        Positions of the group, from 1 to n.
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
    values = as_positions("bimodality", positions, n).astype(float)
    m = len(values)
    if m < 4:
        return Bimodality(nan, nan)
    coefficient = float(sarle_coefficients(values[None])[0])
    even = _sarle(np.zeros(1), np.full(1, -1.2 * (m * m + 1.0) / (m * m - 1.0)), m)
    return Bimodality(coefficient, float(even[0]))


def sarle_coefficients(positions: np.ndarray) -> np.ndarray:
    """Return Sarle's coefficient of each row of positions; NaN for fewer than four columns."""
    m = positions.shape[1]
    if m < 4:
        return np.full(len(positions), nan)
    centred = positions - positions.mean(axis=1, keepdims=True)
    square = centred * centred
    second = square.mean(axis=1)
    third, fourth = ((square * each).mean(axis=1) for each in (centred, square))
    return _sarle(third / second**1.5, fourth / second**2 - 3.0, m)


def _sarle(skewness: np.ndarray, excess: np.ndarray, m: int) -> np.ndarray:
    """Correct skewness and excess kurtosis of m values for small m, and put them together."""
    both = (m - 2.0) * (m - 3.0)
    g = skewness * sqrt(m * (m - 1.0)) / (m - 2.0)
    k = (m - 1.0) / both * ((m + 1.0) * excess + 6.0)
    return (g * g + 1.0) / (k + 3.0 * (m - 1.0) ** 2 / both)


#: Longest list with an exact p-value; beyond it the normal approximation agrees.
LONGEST = 1000


@dataclass(frozen=True)
class Clustering:
    """Number of runs of equal group along the list, its expectation, and the test."""

    runs: int
    expected: float
    z: float
    p: float
    p_exact: float


def clustering(protected_mask: Any, *, exact: bool = True) -> Clustering:
    """Test whether a group is ranked in clusters: the runs test of Wald and Wolfowitz.

    A run is a maximal sequence of items that are all protected or all not. With a protected and b
    other items, N = a + b, and all arrangements equally likely, the number of runs has the mean
    ``2ab/N + 1`` and the variance ``2ab (2ab - N) / (N^2 (N - 1))``. ``z`` is the standardised
    number of runs: below 0 there are clusters, above 0 the groups alternate. ``p`` is two-sided
    from the normal distribution, ``p_exact`` from the exact one: the share of arrangements whose
    number of runs is at least as far from the mean (NaN above 1,000 items).

    Runs do not depend on the position of a cluster, so the test detects clusters that leave the
    mean position and every coarse share unchanged. If only one number of runs is possible, ``z`` is
    NaN and both p-values are 1.

    Parameters
    ----------
    protected_mask : array-like of bool
        The list in ranked order: True if the item is protected.
    exact : bool
        Also compute ``p_exact``, which takes longer for longer lists.

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
    counted, mean, found = runs_z(mask[None])
    runs, z = int(counted[0]), float(found[0])
    if z != z:
        return Clustering(runs, mean, nan, 1.0, 1.0)
    p_exact = _exact(runs, a, n - a) if exact and n <= LONGEST else nan
    return Clustering(runs, mean, z, erfc(abs(z) / sqrt(2.0)), p_exact)


def runs_z(masks: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the runs of each row, their expectation, and z (NaN if the runs cannot vary)."""
    n, a = masks.shape[1], int(masks[0].sum())
    b = n - a
    runs = 1 + np.count_nonzero(masks[:, 1:] != masks[:, :-1], axis=1)
    mean = 2 * a * b / n + 1
    variance = 2 * a * b * (2 * a * b - n) / (n * n * (n - 1))
    z = np.full(len(masks), nan) if variance == 0 else (runs - mean) / sqrt(variance)
    return runs, mean, z


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
    """Return the number of arrangements with this number of runs."""
    half = runs // 2
    if runs % 2 == 0:
        return 2 * comb(a - 1, half - 1) * comb(b - 1, half - 1)
    return comb(a - 1, half) * comb(b - 1, half - 1) + comb(a - 1, half - 1) * comb(b - 1, half)


@dataclass(frozen=True)
class Smoothness:
    """Largest and mean difference from an even spread, both from 0 to 1."""

    ks: float
    wasserstein: float


def smoothness(positions: Any, n: int) -> Smoothness:
    """Compute the distance of a group's positions from an even spread; 0 is even.

    With ``F(j)`` the share of the group in positions 1 to j and ``j/n`` that of an even spread,
    ``ks = max_j |F(j) - j/n|`` (Kolmogorov-Smirnov) and
    ``wasserstein = 1/n sum_j |F(j) - j/n|``, over j = 1..n.

    The reference is the uniform distribution over the n positions, not over an interval, so both
    are exact for any n: a group that is the whole list has the value 0. For large n they converge
    to the distances from the continuous uniform distribution. ``ks`` is the largest deviation of
    any prefix; ``wasserstein`` is the mean distance that items would have to move, as a share of
    the list. Order does not matter; positions must differ, so ties are not allowed.

    Parameters
    ----------
    positions, n
        As in `bimodality`.

    Returns
    -------
    Smoothness
        The two distances, ``ks`` and ``wasserstein``.

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
    values = as_positions("smoothness", positions, n)
    mask = np.zeros((1, n), dtype=bool)
    mask[0, values - 1] = True
    ks, wasserstein = spread_distances(mask)
    return Smoothness(float(ks[0]), float(wasserstein[0]))


def spread_distances(masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest and the mean difference of each row from an even spread."""
    n = masks.shape[1]
    share = np.cumsum(masks, axis=1) / masks.sum(axis=1, keepdims=True)
    distance = np.abs(share - np.arange(1, n + 1) / n)
    return distance.max(axis=1), distance.mean(axis=1)


@dataclass(frozen=True)
class StatisticalIndependence:
    """Mean normalised positions; the difference is above 0 if the protected rank lower."""

    difference: float
    protected: float
    others: float


def statistical_independence(position: Any, protected: Any) -> StatisticalIndependence:
    """Compute the difference in mean position between a group and everyone else; 0 is equal.

    Positions are normalised as ``(position - 1/2) / n``, so that an even spread has the mean 1/2
    for every n. ``difference`` is the mean of the protected minus that of everyone else, from -1/2
    (all above) to 1/2 (all below). It is the simplest form of demographic parity for rankings, and
    measures only the mean: see `smoothness`, `bimodality` and `clustering` for the shape. Tied
    items may have a mean position.

    Parameters
    ----------
    position : array-like
        The position of each item of the list; 1 is the top.
    protected : array-like of bool
        Mask of the items of the group.

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
    given, mask = as_numbers("position", position), as_mask(protected)
    if len(given) != len(mask):
        raise DataError(
            f"position and protected must have one length, got {len(given)} and {len(mask)}"
        )
    check_both(mask)
    difference, inside, outside = mean_differences(Arrangements(given, given, mask[None]))
    return StatisticalIndependence(float(difference[0]), float(inside[0]), float(outside[0]))


def mean_differences(lists: Arrangements) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the difference of the mean normalised positions, and those of both sides."""
    normal = (lists.position - 0.5) / len(lists.position)
    inside, outside = normal[lists.members].mean(axis=1), normal[lists.others].mean(axis=1)
    return inside - outside, inside, outside
