"""Statistical independence: whether a group stands lower on average, whatever its merit."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.errors import DataError
from .places import as_mask, as_numbers, check_both

__all__ = ["StatisticalIndependence", "statistical_independence"]


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
