"""Tokenisation: the best of a group are shown off while the others of it are moved down."""

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from .places import as_displacement

__all__ = ["TokenisationIndex", "tokenisation_index"]


@dataclass(frozen=True)
class TokenisationIndex:
    """The index, and what it is made of: mean displacements of both halves, and mean sizes."""

    index: float
    upper: float
    lower: float
    size: float
    others: float


def tokenisation_index(position: Any, true_position: Any, protected: Any) -> TokenisationIndex:
    """Measure how much of a group's displacement lifts its best and drops its others: 0 is none.

    The displacement of an item is its position less its true position. The protected are cut in two
    by true position (of an odd number the middle one belongs to neither half); ``upper`` and
    ``lower`` are the halves' mean displacements. ``t = min(-upper, lower)`` is by how much the best
    are lifted and the others dropped at once, whichever is less: it is what cancels in the mean
    over the group. With ``size`` the mean absolute displacement of the protected and ``others``
    that of everyone else, ``index = max(0, t - others) / size``, in [0, 1].

    Why so: the mean displacement cannot see tokens, since the halves cancel; the mean size sees
    them but cannot tell them from noise. ``t`` is near 0 under noise, whose displacements cancel
    within each half already, and at most 0 where the group is drawn to its middle; taking off
    ``others`` leaves out what happens to everybody. 0 where nobody protected moved; NaN for fewer
    than two protected.

    Parameters
    ----------
    position, true_position : array-like
        The place each item got and the place it should have; 1 is the first.
    protected : array-like of bool
        Which items belong to the group.

    Returns
    -------
    TokenisationIndex
        With ``index``, ``upper``, ``lower``, ``size`` and ``others``.

    References
    ----------
    Kanter, Some effects of proportions on group life: skewed sex ratios and responses to token
    women, American Journal of Sociology 1977 (the notion); the index is defined here.

    Examples
    --------
    >>> from equirank.metrics.properties import tokenisation_index
    >>> tokenisation_index([1, 6, 2, 3, 4, 5], [3, 4, 1, 2, 5, 6], [1, 1, 0, 0, 0, 0])
    TokenisationIndex(index=0.5, upper=-2.0, lower=2.0, size=2.0, others=1.0)
    """
    displacement, truth, mask = as_displacement(position, true_position, protected)
    others = float(np.abs(displacement[~mask]).mean())
    moved = displacement[mask][np.argsort(truth[mask], kind="stable")]
    size = float(np.abs(moved).mean())
    half = len(moved) // 2
    if half == 0:
        return TokenisationIndex(nan, nan, nan, size, others)
    upper, lower = float(moved[:half].mean()), float(moved[-half:].mean())
    index = max(0.0, min(-upper, lower) - others) / size if size > 0 else 0.0
    return TokenisationIndex(index, upper, lower, size, others)
