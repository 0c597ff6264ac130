"""Features a linear scorer works on: the given ones, or those of a kernel at some landmarks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

__all__ = ["Kernel", "as_float", "squared_norms", "variance"]


@dataclass(frozen=True)
class Kernel:
    """A kernel between items, with its parameters."""

    name: str
    gamma: float
    degree: int
    coef0: float

    def __call__(self, X: Any, landmarks: np.ndarray) -> np.ndarray:
        """Give the kernel of every row with every landmark."""
        from sklearn.metrics.pairwise import pairwise_kernels

        options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return np.asarray(
            pairwise_kernels(X, landmarks, metric=self.name, filter_params=True, **options)
        )

    def basis(self, landmarks: np.ndarray) -> np.ndarray:
        """Give B with ``B B^T`` the inverse of the landmarks' kernel: ``K B`` are plain features.

        Directions in which the kernel is 0 but for rounding are left out.
        """
        size, vectors = eigh(self(landmarks, landmarks))
        kept = size > max(size[-1], 0.0) * len(size) * np.finfo(np.float64).eps
        return np.ascontiguousarray(vectors[:, kept] / np.sqrt(size[kept]))

    def with_itself(self, X: Any) -> np.ndarray:
        """Give ``K(x, x)`` of every row."""
        norms = squared_norms(X)
        if self.name == "poly":
            return (self.gamma * norms + self.coef0) ** self.degree
        return (norms > 0.0).astype(float) if self.name == "cosine" else np.ones(len(norms))


def as_float(X: Any) -> Any:
    """Give features as float64, dense rows one after the other or CSR."""
    if hasattr(X, "tocsr"):
        return X.tocsr().astype(np.float64)
    return np.ascontiguousarray(X, dtype=np.float64)


def squared_norms(X: Any) -> np.ndarray:
    """Give the squared length of every row."""
    if hasattr(X, "multiply"):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def variance(X: Any) -> float:
    """Give the variance of all values, zeros that are not stored included."""
    size = X.shape[0] * X.shape[1]
    mean = float(X.sum()) / size
    return float(squared_norms(X).sum()) / size - mean * mean
