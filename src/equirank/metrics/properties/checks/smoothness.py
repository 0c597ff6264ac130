"""Smoothness: how far a group's places lie from being spread evenly over the list."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .places import as_places

__all__ = ["Smoothness", "smoothness"]


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
