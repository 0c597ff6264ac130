"""Noisy ranking: whether a group is ranked less exactly than everyone else."""

from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np

from ....core.inference import interval
from ....core.params import Integer, Number, check_params
from ....core.random import generator
from ....kernels.division import divide
from ....kernels.resampling import stratified_counts
from .places import as_displacement

__all__ = ["NoisyRanking", "noisy_ranking"]


@dataclass(frozen=True)
class NoisyRanking:
    """The ratio of mean absolute displacements and its bootstrap interval."""

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
    """Measure how much farther from their true places the protected stand than others: 1 is equal.

    ``mean |position - true position|`` of the protected, divided by that of everyone else. The
    interval is a bootstrap of items within each group, its percentiles widened for the size of the
    smaller group. Why absolute values: noise cancels in signed means, so only the size of the
    displacements shows that one group's places are less exact. 1 where nobody is displaced,
    infinite where only protected are; replicates without a displaced other item are left out.

    Parameters
    ----------
    position, true_position : array-like
        The place each item got and the place it should have; 1 is the first.
    protected : array-like of bool
        Which items belong to the group.
    n_boot : int
        Number of bootstrap replicates; 0 for no interval (its ends are NaN).
    level : float
        Level of the interval.
    random_state : int, generator or None
        Where randomness comes from.

    Returns
    -------
    NoisyRanking
        With ``ratio``, ``low`` and ``high``.

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
    displacement, _, mask = as_displacement(position, true_position, protected)
    size = np.abs(displacement)
    inside, outside = float(size[mask].mean()), float(size[~mask].mean())
    ratio = inf if inside > 0 else 1.0
    if outside > 0:
        ratio = inside / outside
    if n_boot == 0:
        return NoisyRanking(ratio, nan, nan)
    counts = stratified_counts(generator(random_state), n_boot, mask.astype(np.int64))
    drawn = counts[:, mask] @ size[mask] / mask.sum()
    replicates = divide(drawn, counts[:, ~mask] @ size[~mask] / (~mask).sum())
    low, high = interval(replicates[:, None], level, int(min(mask.sum(), (~mask).sum())))
    return NoisyRanking(ratio, float(low[0]), float(high[0]))
