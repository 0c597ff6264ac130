"""Conditional independence: whether a group stands lower than others of the same merit."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.params import Integer, check_params
from ....kernels.division import divide
from .places import as_displacement

__all__ = ["ConditionalIndependence", "conditional_independence"]


@dataclass(frozen=True)
class ConditionalIndependence:
    """Differences of mean displacement, averaged over bins with sign and without; each bin's."""

    difference: float
    absolute: float
    by_bin: tuple[float, ...]


def conditional_independence(
    position: Any, true_position: Any, protected: Any, *, bins: int = 1
) -> ConditionalIndependence:
    """Compare the displacement of a group with that of others of like merit: 0 is equal, in places.

    The displacement of an item is its position less its true position; above 0 it stands lower than
    it should. Items are cut by true position into ``bins`` bins of equal width; ``by_bin`` holds
    the protected's mean displacement less the others' in each, best first. ``difference`` averages
    them, each bin counting by its number of protected; ``absolute`` averages their sizes. With one
    bin a group whose best are lifted and whose others are dropped shows nothing; with two or more
    ``absolute`` sees it, while ``difference`` still says who is favoured on the whole. A bin
    without protected or without others is NaN and left out; all NaN gives NaN.

    Parameters
    ----------
    position, true_position : array-like
        The place each item got and the place it should have; 1 is the first.
    protected : array-like of bool
        Which items belong to the group.
    bins : int
        Number of bins of true position.

    Returns
    -------
    ConditionalIndependence
        With ``difference``, ``absolute`` and ``by_bin``.

    References
    ----------
    Barocas, Hardt and Narayanan, Fairness and machine learning, 2023, chapter 3 (separation, here
    given the true place).

    Examples
    --------
    >>> from equirank.metrics.properties import conditional_independence
    >>> place, truth, group = [1, 2, 3, 4], [2, 1, 4, 3], [1, 0, 0, 1]
    >>> conditional_independence(place, truth, group)
    ConditionalIndependence(difference=0.0, absolute=0.0, by_bin=(0.0,))
    >>> conditional_independence(place, truth, group, bins=2)
    ConditionalIndependence(difference=0.0, absolute=2.0, by_bin=(-2.0, 2.0))
    """
    check_params("conditional_independence", {"bins": bins}, {"bins": Integer(1)})
    displacement, truth, mask = as_displacement(position, true_position, protected)
    low, width = truth.min(), (truth.max() - truth.min()) / bins
    at = np.zeros(len(truth), dtype=np.int64)
    if width > 0:
        at = np.minimum(((truth - low) / width).astype(np.int64), bins - 1)
    means = []
    counts = np.bincount(at[mask], minlength=bins)
    for part in (mask, ~mask):
        total = np.bincount(at[part], displacement[part], minlength=bins)
        means.append(divide(total, np.bincount(at[part], minlength=bins)))
    gap = means[0] - means[1]
    weight = np.where(np.isnan(gap), 0, counts)
    known = np.nan_to_num(gap)
    signed = float(divide(weight @ known, weight.sum()))
    return ConditionalIndependence(
        signed, float(divide(weight @ np.abs(known), weight.sum())), tuple(gap.tolist())
    )
