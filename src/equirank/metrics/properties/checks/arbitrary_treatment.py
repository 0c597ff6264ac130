"""Arbitrary treatment: whether merit orders a group less than it orders everyone else."""

from dataclasses import dataclass
from math import nan, sqrt
from typing import Any

import numpy as np

from .places import as_displacement

__all__ = ["ArbitraryTreatment", "arbitrary_treatment"]


#: Pairs looked at together.
BLOCK = 1 << 16


@dataclass(frozen=True)
class ArbitraryTreatment:
    """Kendall's tau of both groups; the difference is above 0 where the protected lose order."""

    difference: float
    protected: float
    others: float


def arbitrary_treatment(position: Any, true_position: Any, protected: Any) -> ArbitraryTreatment:
    """Compare how well the order within a group follows merit with the order within the others.

    Kendall's tau-b of positions and true positions, within the protected and within the others;
    ``difference`` is the others' less the protected's: 0 is equal, 2 the most. Only pairs of one
    group count, so no shift of a whole group changes it; that is why it sees a group whose places
    are dealt out at random, which every measure of the group's places alone must miss. Ties are
    taken out of the denominator (tau-b). NaN where a group has no pair with different places.

    Parameters
    ----------
    position, true_position : array-like
        The place each item got and the place it should have; 1 is the first.
    protected : array-like of bool
        Which items belong to the group.

    Returns
    -------
    ArbitraryTreatment
        With ``difference``, ``protected`` and ``others``.

    References
    ----------
    Kendall, The treatment of ties in ranking problems, Biometrika 1945.

    Examples
    --------
    >>> from equirank.metrics.properties import arbitrary_treatment
    >>> arbitrary_treatment([4, 2, 1, 3], [1, 2, 3, 4], [1, 0, 1, 0])
    ArbitraryTreatment(difference=2.0, protected=-1.0, others=1.0)
    """
    displacement, truth, mask = as_displacement(position, true_position, protected)
    place = displacement + truth
    inside, outside = (_tau(place[part], truth[part]) for part in (mask, ~mask))
    return ArbitraryTreatment(outside - inside, inside, outside)


def _tau(a: np.ndarray, b: np.ndarray) -> float:
    """Compute Kendall's tau-b over all pairs, some rows at a time."""
    agree = pairs_a = pairs_b = 0.0
    rows = max(1, BLOCK // max(len(a), 1))
    for at in range(0, len(a), rows):
        sign_a = np.sign(a[at : at + rows, None] - a)
        sign_b = np.sign(b[at : at + rows, None] - b)
        agree += float((sign_a * sign_b).sum())
        pairs_a += float(np.abs(sign_a).sum())
        pairs_b += float(np.abs(sign_b).sum())
    return agree / sqrt(pairs_a * pairs_b) if pairs_a * pairs_b > 0 else nan
