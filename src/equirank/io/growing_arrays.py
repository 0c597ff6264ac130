"""Arrays and matrices that grow while a file is read."""

from typing import Any

import numpy as np

from ..core.errors import DataError

__all__ = ["DenseRows", "GrowingArray", "SparseRows"]


class GrowingArray:
    """A 1-D array that is extended block by block, with an eighth of spare capacity.

    The system moves large arrays without a copy: peak memory stays near the size of the result.

    Examples
    --------
    >>> numbers = GrowingArray(np.int64)
    >>> numbers.append(np.array([1, 2]))
    >>> numbers.append(np.array([3]))
    >>> numbers.finish()
    array([1, 2, 3])
    """

    def __init__(self, dtype: Any) -> None:
        self._array = np.empty(0, dtype=dtype)
        self.size = 0

    def extend(self, count: int) -> np.ndarray:
        """Append ``count`` zeros and return a view of them, valid until the next call."""
        needed = self.size + count
        if needed > len(self._array):
            # No view is used after the next call, so the array may be moved.
            self._array.resize(max(needed, needed + needed // 8), refcheck=False)
        view = self._array[self.size : needed]  # filled with zeros by resize
        self.size = needed
        return view

    def append(self, values: np.ndarray) -> None:
        """Append values, cast to the array's type."""
        self.extend(len(values))[:] = values

    def view(self) -> np.ndarray:
        """Return a view of the content, valid until the next call."""
        return self._array[: self.size]

    def finish(self) -> np.ndarray:
        """Return the array without spare capacity; it must not be extended afterwards."""
        self._array.resize(self.size, refcheck=False)
        return self._array


class DenseRows:
    """Rows of a dense matrix, which is widened in place for a larger feature id."""

    def __init__(self, dtype: np.dtype[Any], n_features: int | None) -> None:
        self.n_features, self.itemsize = n_features, dtype.itemsize
        self._flat, self._rows, self._width, self._used = GrowingArray(dtype), 0, n_features or 0, 0

    def append(self, ends: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
        """Append the rows of a block."""
        from ..kernels.svmlight_text import restride, scatter

        if len(columns) and self.n_features is None:
            self._used = max(self._used, int(columns.max()) + 1)
        try:
            if self._used > self._width:
                # At least 1.5 times as wide, so that widening is rare.
                wide = max(self._used, self._width * 3 // 2)
                self._flat.extend(self._rows * (wide - self._width))
                restride(self._flat.view(), self._rows, self._width, wide)
                self._width = wide
            block = self._flat.extend(len(ends) * self._width).reshape(len(ends), self._width)
        except MemoryError:
            raise DataError(
                f"X must fit into memory, got {self._used} dense columns; use sparse=True"
            ) from None
        scatter(ends, columns, values, block)
        self._rows += len(ends)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the matrix."""
        return self._flat.view().dtype

    def finish(self) -> np.ndarray | None:
        """Return the matrix, None if no line has a feature."""
        from ..kernels.svmlight_text import restride

        if self._width == 0:
            return None
        width = self.n_features or self._used
        restride(self._flat.view(), self._rows, self._width, width)
        self._flat.size = self._rows * width
        return self._flat.finish().reshape(self._rows, width)


class SparseRows:
    """Rows of a matrix in CSR."""

    def __init__(self, dtype: np.dtype[Any], n_features: int | None) -> None:
        self.n_features = n_features
        self._ends, self._columns = GrowingArray(np.int64), GrowingArray(np.int32)
        self._values = GrowingArray(dtype)
        self._ends.append(np.zeros(1, np.int64))
        self._used = 0

    def append(self, ends: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
        """Append the rows of a block."""
        self._ends.append(ends + self._columns.size)
        self._columns.append(columns)
        self._values.append(values)
        if len(columns):
            self._used = max(self._used, int(columns.max()) + 1)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the matrix."""
        return self._values.view().dtype

    def finish(self) -> Any:
        """Return the matrix, None if no line has a feature."""
        from scipy.sparse import csr_matrix

        width = self.n_features or self._used
        if width == 0:
            return None
        ends, columns = self._ends.finish(), self._columns.finish()
        if ends[-1] <= np.iinfo(np.int32).max:
            ends = ends.astype(np.int32)
        shape = (len(ends) - 1, width)
        return csr_matrix((self._values.finish(), columns, ends), shape=shape, copy=False)
