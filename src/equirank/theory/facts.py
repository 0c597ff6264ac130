"""What the bounds need to know of a fitted ranker."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["EnsembleFacts", "KernelFacts"]


@dataclass(frozen=True)
class EnsembleFacts:
    """What the bounds need to know of an ensemble of weak rankers with values in [0, 1].

    Attributes
    ----------
    norm : float
        The L1 norm of the weights.
    n_rounds : int
        The number of weak rankers.
    weak_ranker : {"stump", "feature"}
        What they are.
    normalizers : ndarray or None
        Z_t of each round, where the algorithm has them.

    Examples
    --------
    >>> from equirank.theory import EnsembleFacts
    >>> EnsembleFacts(norm=1.5, n_rounds=2, weak_ranker="stump")
    EnsembleFacts(norm=1.5, n_rounds=2, weak_ranker='stump', normalizers=None)
    """

    norm: float
    n_rounds: int
    weak_ranker: Literal["stump", "feature"]
    normalizers: np.ndarray | None = None


@dataclass(frozen=True)
class KernelFacts:
    """What the bounds need to know of a linear scorer in the space of a kernel.

    Attributes
    ----------
    norm : float
        The norm of the weights.
    radius : float
        The largest norm of an item of the data asked about.

    Examples
    --------
    >>> from equirank.theory import KernelFacts
    >>> KernelFacts(norm=2.0, radius=1.0)
    KernelFacts(norm=2.0, radius=1.0)
    """

    norm: float
    radius: float
