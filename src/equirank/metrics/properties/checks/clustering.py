"""Clustering: whether a group's items stand in clumps along the list."""

from dataclasses import dataclass
from math import comb, erfc, nan, sqrt
from typing import Any

import numpy as np

from .places import as_mask, check_both

__all__ = ["Clustering", "clustering"]

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
    """Give the share of arrangements whose number of runs is at least as far from the mean."""
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
