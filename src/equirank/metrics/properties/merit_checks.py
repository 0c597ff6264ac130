"""Checks of a group's positions against its true positions by merit."""

from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np

from ...core.inference import interval
from ...core.params import Integer, Number, check_params
from ...core.random import generator
from ...kernels.resampling import stratified_counts
from ...kernels.segments import divide
from .position_checks import Arrangements, as_arrangement

__all__ = [
    "ArbitraryTreatment",
    "ConditionalIndependence",
    "NoisyRanking",
    "TokenisationIndex",
    "arbitrary_treatment",
    "bin_differences",
    "conditional_independence",
    "displacement_ratios",
    "noisy_ranking",
    "tau_differences",
    "tokenisation_index",
    "tokenisation_parts",
]


#: Largest number of pairs compared at once.
BLOCK = 1 << 16


@dataclass(frozen=True)
class ArbitraryTreatment:
    """Kendall's tau of both groups; the difference is above 0 if the protected's is lower."""

    difference: float
    protected: float
    others: float


def arbitrary_treatment(position: Any, true_position: Any, protected: Any) -> ArbitraryTreatment:
    """Compare how well the order within a group and within everyone else follows merit.

    Kendall's tau-b of positions and true positions, within the protected group and within everyone
    else; ``difference`` is the latter minus the former: 0 is equal, 2 the maximum. Only pairs
    within a group count, so a shift of a whole group does not change it. It therefore detects a
    group whose positions are assigned at random, which no measure of its positions alone can. Ties
    are excluded from the denominator (tau-b). NaN if a group has no pair of different positions.

    Parameters
    ----------
    position, true_position : array-like
        The position of each item and its position by merit; 1 is the top.
    protected : array-like of bool
        Mask of the items of the group.

    Returns
    -------
    ArbitraryTreatment
        Tau of the ``protected`` and of the ``others``, and their ``difference``.

    References
    ----------
    Kendall, The treatment of ties in ranking problems, Biometrika 1945.

    Examples
    --------
    >>> from equirank.metrics.properties import arbitrary_treatment
    >>> arbitrary_treatment([4, 2, 1, 3], [1, 2, 3, 4], [1, 0, 1, 0])
    ArbitraryTreatment(difference=2.0, protected=-1.0, others=1.0)
    """
    found = tau_differences(as_arrangement(position, true_position, protected))
    return ArbitraryTreatment(*(float(part[0]) for part in found))


def tau_differences(lists: Arrangements) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return tau of the others minus that of the members, and both, for each group."""
    masks = np.concatenate([lists.masks, ~lists.masks])
    inside, outside = np.split(_taus(lists.displacement + lists.truth, lists.truth, masks), 2)
    return outside - inside, inside, outside


def _taus(a: np.ndarray, b: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Return Kendall's tau-b over all pairs within each row of masks, in blocks of items."""
    weights = masks.astype(float)
    agree, pairs_a, pairs_b = np.zeros((3, len(masks)))
    rows = max(1, BLOCK // max(len(a), 1))
    for at in range(0, len(a), rows):
        some = weights[:, at : at + rows]
        sign_a = np.sign(a[at : at + rows, None] - a)
        sign_b = np.sign(b[at : at + rows, None] - b)
        # Sums of whole numbers: exact in any order.
        agree += ((some @ (sign_a * sign_b)) * weights).sum(axis=1)
        pairs_a += ((some @ np.abs(sign_a)) * weights).sum(axis=1)
        pairs_b += ((some @ np.abs(sign_b)) * weights).sum(axis=1)
    return divide(agree, np.sqrt(pairs_a * pairs_b))


@dataclass(frozen=True)
class ConditionalIndependence:
    """Differences in mean displacement: signed and absolute mean over bins, and per bin."""

    difference: float
    absolute: float
    by_bin: tuple[float, ...]


def conditional_independence(
    position: Any, true_position: Any, protected: Any, *, bins: int = 1
) -> ConditionalIndependence:
    """Compute the difference in displacement between a group and others of similar merit.

    The displacement of an item is its position minus its true position, in positions; above 0, it
    is ranked too low. Items are divided by true position into ``bins`` bins of equal width;
    ``by_bin`` is the mean displacement of the protected minus that of everyone else in each bin,
    best first. ``difference`` is their mean, weighted by the number of protected; ``absolute`` is
    the mean of the absolute values. One bin cannot detect a group whose best items are raised and
    whose other items are lowered; with two or more, ``absolute`` does, while ``difference`` still
    shows the overall direction. A bin without protected or without other items is NaN and excluded;
    if all are NaN, so is the result.

    Parameters
    ----------
    position, true_position, protected
        As in `arbitrary_treatment`.
    bins : int
        Number of bins of true position.

    Returns
    -------
    ConditionalIndependence
        The signed ``difference``, the ``absolute`` one, and those ``by_bin``.

    References
    ----------
    Barocas, Hardt and Narayanan, Fairness and machine learning, 2023, chapter 3 (separation, here
    given the true position).

    Examples
    --------
    >>> from equirank.metrics.properties import conditional_independence
    >>> position, truth, group = [1, 2, 3, 4], [2, 1, 4, 3], [1, 0, 0, 1]
    >>> conditional_independence(position, truth, group)
    ConditionalIndependence(difference=0.0, absolute=0.0, by_bin=(0.0,))
    >>> conditional_independence(position, truth, group, bins=2)
    ConditionalIndependence(difference=0.0, absolute=2.0, by_bin=(-2.0, 2.0))
    """
    check_params("conditional_independence", {"bins": bins}, {"bins": Integer(1)})
    lists = as_arrangement(position, true_position, protected)
    signed, absolute, gap = bin_differences(lists, bins)
    return ConditionalIndependence(float(signed[0]), float(absolute[0]), tuple(gap[0].tolist()))


def bin_differences(lists: Arrangements, bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return signed and absolute mean difference in displacement, and those of each bin."""
    truth, inside = lists.truth, lists.masks.astype(float)
    low, width = truth.min(), (truth.max() - truth.min()) / bins
    at = np.zeros(len(truth), dtype=np.int64)
    if width > 0:
        at = np.minimum(((truth - low) / width).astype(np.int64), bins - 1)
    items = (at[:, None] == np.arange(bins)).astype(float)
    moved = items * lists.displacement[:, None]
    counts, others = inside @ items, (1.0 - inside) @ items
    means = divide(inside @ moved, counts), divide((1.0 - inside) @ moved, others)
    gap = means[0] - means[1]
    weight = np.where(np.isnan(gap), 0.0, counts)
    known, whole = np.nan_to_num(gap), weight.sum(axis=1)
    signed, absolute = (divide((weight * x).sum(axis=1), whole) for x in (known, np.abs(known)))
    return signed, absolute, gap


@dataclass(frozen=True)
class NoisyRanking:
    """Ratio of mean absolute displacements with its bootstrap interval."""

    ratio: float
    low: float
    high: float


def noisy_ranking(
    position: Any,
    true_position: Any,
    protected: Any,
    *,
    n_boot: int = 1000,
    level: float = 0.95,
    random_state: Any = 0,
) -> NoisyRanking:
    """Compute the ratio of absolute displacements of a group and everyone else; 1 is equal.

    ``mean |position - true position|`` of the protected, divided by that of everyone else. The
    interval is a bootstrap of items within each group, with percentiles widened for the size of the
    smaller group. Noise cancels in signed means, so only absolute displacements show that one
    group's positions are less accurate. 1 if nobody is displaced, infinite if only protected items
    are; replicates without another displaced item are excluded.

    Parameters
    ----------
    position, true_position, protected
        As in `arbitrary_treatment`.
    n_boot : int
        Number of bootstrap replicates; 0 for no interval (its ends are NaN).
    level : float
        Level of the interval.
    random_state : int, generator or None
        Source of randomness.

    Returns
    -------
    NoisyRanking
        The ``ratio`` and its interval from ``low`` to ``high``.

    References
    ----------
    Efron and Tibshirani, An introduction to the bootstrap, 1993 (the interval).

    Examples
    --------
    >>> from equirank.metrics.properties import noisy_ranking
    >>> noisy_ranking([3, 2, 1, 5, 4], [1, 2, 3, 4, 5], [1, 0, 1, 0, 0]).ratio
    3.0
    """
    check_params(
        "noisy_ranking",
        {"n_boot": n_boot, "level": level},
        {"n_boot": Integer(0), "level": Number(0.0, 1.0, open_low=True, open_high=True)},
    )
    lists = as_arrangement(position, true_position, protected)
    ratio = float(displacement_ratios(lists)[0])
    if n_boot == 0:
        return NoisyRanking(ratio, nan, nan)
    size, mask = np.abs(lists.displacement), lists.masks[0]
    counts = stratified_counts(generator(random_state), n_boot, mask.astype(np.int64))
    resampled = counts[:, mask] @ size[mask] / mask.sum()
    replicates = divide(resampled, counts[:, ~mask] @ size[~mask] / (~mask).sum())
    low, high = interval(replicates[:, None], level, int(min(mask.sum(), (~mask).sum())))
    return NoisyRanking(ratio, float(low[0]), float(high[0]))


def displacement_ratios(lists: Arrangements) -> np.ndarray:
    """Return the mean absolute displacement of each group divided by that of the others."""
    size = np.abs(lists.displacement)
    inside, outside = size[lists.members].mean(axis=1), size[lists.others].mean(axis=1)
    alone = np.where(inside > 0, inf, 1.0)
    return np.where(outside > 0, divide(inside, outside), alone)


@dataclass(frozen=True)
class TokenisationIndex:
    """The index with its parts: mean displacements of both halves, mean absolute ones."""

    index: float
    upper: float
    lower: float
    size: float
    others: float


def tokenisation_index(position: Any, true_position: Any, protected: Any) -> TokenisationIndex:
    """Compute how much a group's best items are raised and its other items lowered; 0 is none.

    The displacement of an item is its position minus its true position. The protected items are
    split in two halves by true position (the middle one of an odd number belongs to neither);
    ``upper`` and ``lower`` are the mean displacements of the halves. ``t = min(-upper, lower)`` is
    the smaller of both shifts, which cancels in the mean over the group. With ``size`` the mean
    absolute displacement of the protected and ``others`` that of everyone else,
    ``index = max(0, t - others) / size``, in [0, 1].

    The mean displacement cannot detect tokens, since the halves cancel; the mean absolute
    displacement cannot distinguish them from noise. ``t`` is near 0 under noise, which cancels
    within each half, and at most 0 if the group moves toward its middle. Subtracting ``others``
    removes what affects everyone. 0 if no protected item moved; NaN for fewer than two protected.

    Parameters
    ----------
    position, true_position, protected
        As in `arbitrary_treatment`.

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
    found = tokenisation_parts(as_arrangement(position, true_position, protected))
    return TokenisationIndex(*(float(part[0]) for part in found))


def tokenisation_parts(lists: Arrangements) -> tuple[np.ndarray, ...]:
    """Return index, displacement of the upper and lower half, and sizes, for each group."""
    others = np.abs(lists.displacement[lists.others]).mean(axis=1)
    best_first = np.argsort(lists.truth[lists.members], axis=1, kind="stable")
    moved = np.take_along_axis(lists.displacement[lists.members], best_first, axis=1)
    size = np.abs(moved).mean(axis=1)
    half = moved.shape[1] // 2
    if half == 0:
        undefined = np.full(len(moved), nan)
        return undefined, undefined, undefined, size, others
    upper, lower = moved[:, :half].mean(axis=1), moved[:, -half:].mean(axis=1)
    excess = np.maximum(0.0, np.minimum(-upper, lower) - others)
    return np.where(size > 0, divide(excess, size), 0.0), upper, lower, size, others
