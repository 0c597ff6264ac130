"""Weights of misordered pairs of positions, and the axioms under which guarantees are known."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import DataError

__all__ = ["WeightAxioms", "weight_axioms", "weight_matrix"]


@dataclass(frozen=True)
class WeightAxioms:
    """The axioms that a weight of pairs of positions satisfies, and a first violation.

    Attributes
    ----------
    symmetric : bool
        ``w(i, j) = w(j, i)``.
    monotone : bool
        ``w(i, j) <= w(i, k)`` for j between i and k: a larger mistake costs no less.
    triangle : bool
        ``w(i, j) <= w(i, k) + w(k, j)``.
    example : tuple of int or None
        The positions (i, j) or (i, j, k), from 1, of the first violation.

    Examples
    --------
    >>> from equirank.theory import weight_axioms
    >>> weight_axioms(lambda i, j: (i - j) ** 2, 4)
    WeightAxioms(symmetric=True, monotone=True, triangle=False, example=(1, 3, 2))
    """

    symmetric: bool
    monotone: bool
    triangle: bool
    example: tuple[int, ...] | None = None

    @property
    def hold(self) -> bool:
        """Whether all three axioms hold."""
        return self.symmetric and self.monotone and self.triangle


def weight_axioms(weight: Any, n: int | None = None, *, tol: float = 1e-12) -> WeightAxioms:
    """Check symmetry, monotonicity and the triangle inequality of a weight of pairs of positions.

    Under these axioms the expected weighted loss of quicksort is at most twice that of the
    preferences.

    Parameters
    ----------
    weight : callable or array-like of shape (n, n)
        ``weight(i, j)`` of two arrays of true positions from 1, or its matrix; the diagonal is
        ignored. For two levels with m rows in the upper one, it is 1 if exactly one position is at
        most m, else 0.
    n : int, optional
        The number of positions, if the weight is a function.
    tol : float
        Tolerance for rounding.

    Returns
    -------
    WeightAxioms
        ``symmetric``, ``monotone`` and ``triangle`` state which axioms hold, ``hold`` whether all
        do, and ``example`` has the positions of the first violation, or None.

    References
    ----------
    Ailon and Mohri, Preference-based learning to rank, Machine Learning, 2010.

    Examples
    --------
    >>> from equirank.theory import weight_axioms
    >>> weight_axioms(lambda i, j: abs(i - j), 5).hold
    True
    >>> weight_axioms(lambda i, j: (i <= 2) != (j <= 2), 5).hold
    True
    """
    w = weight_matrix(weight, n)
    size = np.arange(len(w))
    i, j, k = np.meshgrid(size, size, size, indexing="ij")
    between = ((i < j) & (j < k)) | ((i > j) & (j > k))
    apart = (i != j) & (j != k) & (i != k)
    broken = {
        "symmetric": w > w.T + tol,
        "monotone": between & (w[i, j] > w[i, k] + tol),
        "triangle": apart & (w[i, j] > w[i, k] + w[k, j] + tol),
    }
    found = [np.argwhere(bad)[0] + 1 for bad in broken.values() if bad.any()]
    example = tuple(int(position) for position in found[0]) if found else None
    return WeightAxioms(**{name: not bad.any() for name, bad in broken.items()}, example=example)


def weight_matrix(weight: Any, n: int | None) -> np.ndarray:
    """Return the weight of each pair of positions as a matrix >= 0 with a diagonal of 0."""
    if callable(weight):
        if n is None:
            raise DataError("n must be an integer if weight is a function, got None")
        i, j = np.meshgrid(np.arange(1, n + 1), np.arange(1, n + 1), indexing="ij")
        w = np.broadcast_to(np.asarray(weight(i, j), dtype=np.float64), (n, n)).copy()
    else:
        w = np.array(weight, dtype=np.float64)
        if w.ndim != 2 or w.shape[0] != w.shape[1] or n not in (None, len(w)):
            wanted = "square" if n is None else f"{n} x {n}"
            raise DataError(f"weight must be a {wanted} matrix or a function, got shape {w.shape}")
    np.fill_diagonal(w, 0.0)
    bad = ~(np.isfinite(w) & (w >= 0.0))
    if bad.any():
        i, j = np.argwhere(bad)[0].tolist()
        raise DataError(
            f"weight must be finite and >= 0, got {w[i, j]} for positions {i + 1}, {j + 1}"
        )
    return w
