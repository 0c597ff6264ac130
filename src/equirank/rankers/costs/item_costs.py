"""Random item costs for experiments: a few values, or a continuum."""

from typing import Any

import numpy as np

from ...core.params import Integer, check_params
from ...core.random import generator

__all__ = ["continuous_costs", "ternary_costs"]


def ternary_costs(n_items: int, *, random_state: Any = None) -> np.ndarray:
    """Draw item costs of 1/2, 1 and 3/2, each equally likely.

    Parameters
    ----------
    n_items : int
        How many.
    random_state : int, Generator, RandomState or None
        Seed.

    Examples
    --------
    >>> from equirank.rankers import ternary_costs
    >>> sorted(set(ternary_costs(100, random_state=0).tolist()))
    [0.5, 1.0, 1.5]
    """
    check_params("ternary_costs", {"n_items": n_items}, {"n_items": Integer(1)})
    return generator(random_state).integers(1, 4, size=n_items) / 2.0


def continuous_costs(n_items: int, *, random_state: Any = None) -> np.ndarray:
    """Draw item costs evenly from the open interval (0, 2).

    Such costs differ by more than a factor of ten, and rankers warn of it.

    Parameters
    ----------
    n_items : int
        How many.
    random_state : int, Generator, RandomState or None
        Seed.

    Examples
    --------
    >>> from equirank.rankers import continuous_costs
    >>> costs = continuous_costs(1000, random_state=0)
    >>> bool(0 < costs.min() and costs.max() < 2), round(float(costs.mean()), 1)
    (True, 1.0)
    """
    check_params("continuous_costs", {"n_items": n_items}, {"n_items": Integer(1)})
    return 2.0 * (1.0 - generator(random_state).random(n_items)).clip(1e-12, 1.0 - 1e-12)
