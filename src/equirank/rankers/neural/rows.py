"""Rows on a device: standardised features beside the columns that losses read."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.extras import require

__all__ = ["Rows", "standardised", "statistics"]

#: Rows worked on at once: few enough to add little memory.
BLOCK = 1 << 14


def statistics(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give mean and standard deviation of the columns; a constant column has deviation 1."""
    starts = range(0, len(X), BLOCK)
    mean = sum(X[at : at + BLOCK].sum(axis=0, dtype=np.float64) for at in starts) / len(X)
    square = sum(((X[at : at + BLOCK] - mean) ** 2).sum(axis=0) for at in starts) / len(X)
    scale = np.sqrt(square)
    flat = scale <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
    return np.asarray(mean), np.where(flat, 1.0, scale)


def standardised(X: np.ndarray, mean: np.ndarray, scale: np.ndarray, dtype: Any) -> np.ndarray:
    """Standardise block by block, so that only the result takes memory."""
    found = np.empty(X.shape, dtype=dtype)
    for at in range(0, len(X), BLOCK):
        found[at : at + BLOCK] = (X[at : at + BLOCK] - mean) / scale
    return found


class Rows:
    """The training rows as tensors: ``x`` and further columns, taken by row numbers."""

    def __init__(self, columns: Mapping[str, np.ndarray], device: Any) -> None:
        self.device = device
        self.columns = {name: self.tensor(values) for name, values in columns.items()}

    @property
    def dtype(self) -> Any:
        """The type of the features, as NumPy's."""
        return np.float64 if self.columns["x"].element_size() == 8 else np.float32

    def tensor(self, values: np.ndarray) -> Any:
        """Put an array on the device."""
        plain = np.ascontiguousarray(values)
        if not plain.flags.writeable:
            plain = plain.copy()  # PyTorch shares memory and wants to write
        return require("torch", "neural").as_tensor(plain, device=self.device)

    def take(self, rows: Any) -> dict[str, Any]:
        """Give all columns of these rows (a tensor of row numbers, of any shape)."""
        flat = rows.reshape(-1)
        return {
            name: values.index_select(0, flat).reshape(*rows.shape, *values.shape[1:])
            for name, values in self.columns.items()
        }
