"""Validation of arrays and data frames passed by the caller."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .errors import DataError, listed

__all__ = [
    "EXACT",
    "as_floats",
    "as_frame",
    "attributes",
    "backend_of",
    "choose",
    "features",
    "frozen",
    "frozen_matrix",
    "is_frame",
    "is_missing",
    "is_one_list",
    "label_column",
    "natural",
    "numbers",
    "positions",
    "refuse",
    "same_length",
    "shown",
    "vector",
    "whole_number",
]


def frozen(values: np.ndarray) -> np.ndarray:
    """Return a read-only view."""
    view = values.view()
    view.flags.writeable = False
    return view


def frozen_matrix(matrix: Any) -> Any:
    """Return a read-only view of a dense matrix, or of a sparse one's values."""
    if isinstance(matrix, np.ndarray):
        return frozen(matrix)
    parts = (frozen(matrix.data), matrix.indices, matrix.indptr)
    return type(matrix)(parts, shape=matrix.shape, copy=False)


def choose(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Check that an argument is one of a few words."""
    if value not in choices:
        words = ", ".join(repr(choice) for choice in choices)
        raise DataError(f"{name} must be one of {words}, got {value!r}")


def is_frame(values: Any) -> bool:
    """Return whether a value is a data frame, without importing a data frame library."""
    return hasattr(values, "columns") and not isinstance(values, (np.ndarray, Mapping))


def backend_of(*values: Any) -> str | None:
    """Return the name of the data frame library of the first frame or series, or None."""
    for value in values:
        root = type(value).__module__.split(".")[0]
        if root in ("pandas", "polars", "pyarrow"):
            return root
    return None


def shown(value: Any) -> str:
    """Return a value as text for a message, without the NumPy type."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    return repr(value.item() if isinstance(value, np.generic) else value)


def as_frame(values: Any, name: str = "X") -> Any:
    """Return the narwhals frame of a data frame, or None if the value is no data frame."""
    if hasattr(values, "collect") and not hasattr(values, "to_numpy"):
        raise DataError(
            f"data must be at hand, got a {type(values).__name__}: call .collect() first"
        )
    if not is_frame(values):
        return None
    import narwhals as nw

    try:
        frame = nw.from_native(values, eager_only=True)
    except (TypeError, nw.exceptions.NarwhalsError) as error:
        raise DataError(
            f"{name} must be a data frame that can be read, got {type(values).__name__}: "
            f"{' '.join(str(error).split())}"
        ) from None
    names = frame.columns
    if len(set(map(str, names))) < len(names):
        twice = next(str(each) for at, each in enumerate(names) if each in names[:at])
        raise DataError(f"{name} must have columns of different names, got {twice!r} twice")
    return frame


def _to_numpy(values: Any) -> np.ndarray:
    """Return an array of anything like one: missing values stay missing, whole numbers exact."""
    if isinstance(values, np.ma.MaskedArray):
        objects = np.array(values.data, dtype=object)
        objects[np.ma.getmaskarray(values)] = None
        return objects
    if hasattr(values, "to_native"):  # narwhals
        values = values.to_native()
    if hasattr(values, "to_numpy"):
        return _of_library(values)
    if hasattr(values, "collect"):
        raise DataError(
            f"data must be at hand, got a {type(values).__name__}: call .collect() first"
        )
    try:
        array = np.asarray(values)
    except ValueError:
        return _as_objects(values)
    if array.dtype.kind not in "US" or isinstance(values, np.ndarray) or array.ndim == 0:
        return array
    objects = np.array(values, dtype=object)
    words = objects.ravel().tolist()
    kept = all(isinstance(word, str) and not word.endswith("\0") for word in words)
    return array if kept else objects  # a fixed width drops trailing NULs and turns numbers to text


def _of_library(values: Any) -> np.ndarray:
    """Return a column of pandas, polars or pyarrow as an array.

    Series, indexes and extension arrays of pandas are told apart by what they have in all
    versions: `isna`, and a dtype that is none of NumPy.
    """
    if hasattr(values, "isna"):
        own = isinstance(values.dtype, np.dtype) or not values.isna().any()
        return np.asarray(
            values.to_numpy() if own else values.to_numpy(dtype=object, na_value=None)
        )
    cells = getattr(values, "to_pylist", None)  # of pyarrow
    array = values.to_numpy() if cells is None else values.to_numpy(zero_copy_only=False)
    kind = str(getattr(values, "dtype", None) or values.type).lower()
    floats = array.dtype.kind != "f" or "float" in kind or "double" in kind
    if floats or not np.isnan(array).any():
        return array
    return _as_objects(values.to_list() if cells is None else cells())


def _as_objects(values: Any) -> np.ndarray:
    objects = np.empty(len(values), dtype=object)
    objects[:] = list(values)
    return objects


def vector(name: str, values: Any) -> np.ndarray | None:
    """Return a 1-D array of a column; a frame or a table of one column is allowed."""
    if values is None:
        return None
    frame = as_frame(values, name)
    if frame is not None:
        if len(frame.columns) != 1:
            words = listed(map(str, frame.columns)) or "no column"
            raise DataError(f"{name} must be one column, got a data frame with {words}")
        values = frame.get_column(frame.columns[0])
    array = _to_numpy(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{name} must be one-dimensional, got shape {array.shape}")
    return array


def label_column(name: str, values: Any) -> np.ndarray | None:
    """Return a 1-D array of labels, each a single value that no later step confuses with another.

    NumPy drops NULs at the end of a text, so that two labels would become one.
    """
    array = vector(name, values)
    if array is None:
        return None
    if array.dtype.kind == "V":
        raise DataError(f"{name} must hold one label per row, got records with several fields")
    if array.dtype.kind not in "OT":
        return array
    cells = array.tolist()
    if {*map(type, cells)} == {str} and "\0" not in "".join(cells):
        return array
    try:
        seen = set(cells)
    except TypeError:
        if any(cell is np.ma.masked for cell in cells):
            return label_column(name, [None if cell is np.ma.masked else cell for cell in cells])
        row = next(row for row, cell in enumerate(cells) if not _is_hashable(cell))
        got = cells[row].tolist() if isinstance(cells[row], np.ndarray) else cells[row]
        raise DataError(
            f"{name} must hold one label per row, got a {type(got).__name__} in row {row}: "
            f"{got!r:.60}"
        ) from None
    padded = {cell for cell in seen if isinstance(cell, str | bytes) and cell[-1:] in _NUL}
    if padded:
        row = next(row for row, cell in enumerate(cells) if cell in padded)
        raise DataError(
            f"{name} must hold labels without a NUL character at the end, got {cells[row]!r} in "
            f"row {row}; strip it first"
        )
    return array


_NUL = ("\0", b"\0")


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_one_list(qid: Any) -> bool:
    """Return whether ``qid`` is a single integer, the label of one list of all rows."""
    return isinstance(qid, (int, np.integer)) and not isinstance(qid, bool)


def numbers(name: str, values: Any, missing: float = np.nan) -> np.ndarray | None:
    """Return a 1-D array of finite floats; float32 stays float32."""
    array = vector(name, values)
    if array is None:
        return None
    if array.dtype.kind in "US" or (array.dtype.kind == "O" and _holds_text(array)):
        array = array.astype(object)
    if array.dtype.kind == "c":
        raise DataError(f"{name} must be real numbers: Complex data not supported")
    if array.dtype not in (np.float32, np.float64):
        exact, array = array, as_floats(name, array)
        _refuse_merged(name, exact, array)
    bad = np.isnan(array)
    if not np.isnan(missing) and bad.any():
        array = np.where(bad, missing, array)
    refuse(name, array, ~np.isfinite(array), "a finite number")
    return array


def _holds_text(array: np.ndarray) -> bool:
    return any(isinstance(value, str) for value in array[:100])


def as_floats(name: str, array: np.ndarray) -> np.ndarray:
    """Return an array as float64; missing values become NaN."""
    if array.dtype.kind in "mM":
        return np.where(np.isnat(array), np.nan, array.astype(np.float64))
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    result = np.empty(len(array))
    for row, value in enumerate(array):
        try:
            result[row] = np.nan if is_missing(value) else float(value)
        except (TypeError, ValueError):
            raise DataError(f"{name} must be a number, got {shown(value)} in row {row}") from None
    return result


#: Whole numbers up to this one are exact in a float of 64 bits.
EXACT = 2.0**53


def _refuse_merged(name: str, exact: np.ndarray, floats: np.ndarray) -> None:
    """Raise if two different whole numbers become the same float."""
    rows = np.flatnonzero(np.abs(floats) >= EXACT)
    if len(rows) < 2:
        return
    rows = rows[np.argsort(floats[rows], kind="stable")]
    large = exact[rows]
    if large.dtype.kind == "O":
        large = _as_objects([whole_number(value) for value in large])
    merged = (np.diff(floats[rows]) == 0) & (large[1:] != large[:-1])
    if merged.any():
        at = int(merged.argmax())
        first, second = sorted(rows[at : at + 2].tolist())
        raise DataError(
            f"{name} must differ as floats of 64 bits, got {shown(exact[first])} in row {first} "
            f"and {shown(exact[second])} in row {second}, which would become equal; subtract a "
            "constant first or use ranks"
        )


def whole_number(value: Any) -> Any:
    """Return a text as a whole number if it is one, else as a float; other values unchanged."""
    if not isinstance(value, str):
        return value
    word = value.strip()
    sign, digits = (word[0], word[1:]) if word[:1] in ("+", "-") else ("", word)
    significant = digits.lstrip("0")
    if not digits.isdecimal() or len(significant) > 400:  # more digits are infinite as a float
        return float(word)
    return int(sign + (significant or "0"))


def natural(word: str | bytes) -> int:
    """Return the number that a text of 1 to 20 digits denotes, and -1 for any other text.

    Examples
    --------
    >>> natural("12"), natural("-1"), natural("1" * 5000)
    (12, -1, -1)
    """
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 20 else -1


def refuse(name: str, values: np.ndarray | None, bad: Any, expected: str) -> None:
    """Raise for the first row marked bad."""
    if values is not None and np.any(bad):
        row = int(np.flatnonzero(bad)[0])
        raise DataError(f"{name} must be {expected}, got {shown(values[row])} in row {row}")


def positions(values: Any) -> np.ndarray | None:
    """Return 1-based positions as int32; 0 means not shown."""
    array = numbers("position", values)
    if array is None:
        return None
    bad = (array < 0) | (array != np.floor(array)) | (array > np.iinfo(np.int32).max)
    refuse("position", array, bad, "a whole number >= 1 (or 0: not shown)")
    return array.astype(np.int32)


def features(X: Any) -> Any:
    """Return an array as a 2-D float array, and a sparse one as CSR."""
    if X is None:
        return None
    if hasattr(X, "tocsr"):
        matrix = X.tocsr()
        if matrix.dtype.kind == "c":
            raise DataError("X must be real numbers: Complex data not supported")
        floats = matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)
        return frozen_matrix(floats)
    array = _to_numpy(X)
    if array.dtype.kind == "V":
        raise DataError("X must hold numbers only, got records with several fields")
    if array.ndim == 1 and array.dtype == object:
        _refuse_ragged(array)
    if array.ndim != 2:
        raise DataError(f"X must be two-dimensional (rows x features), got shape {array.shape}")
    if array.dtype.kind == "c":
        raise DataError("X must be real numbers: Complex data not supported")
    if array.dtype not in (np.float32, np.float64):
        array = _number_rows(array)
    return frozen(array)


def _refuse_ragged(rows: np.ndarray) -> None:
    """Raise for the first row whose length differs from the row before it."""
    sizes = [
        len(row) if hasattr(row, "__len__") and not isinstance(row, str) else -1 for row in rows
    ]
    for row, size in enumerate(sizes):
        if size != sizes[0]:
            raise DataError(f"X must have {sizes[0]} values in every row, got {size} in row {row}")


def _number_rows(array: np.ndarray) -> np.ndarray:
    """Return the array as numbers, or raise for the first row that does not contain numbers."""
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    result = np.empty(array.shape)
    for row, values in enumerate(array):
        for column, value in enumerate(values):
            try:
                result[row, column] = np.nan if is_missing(value) else float(value)
            except (TypeError, ValueError):
                raise DataError(
                    f"X must hold numbers only, got {shown(value)} in row {row}"
                ) from None
    return result


def attributes(values: Any) -> dict[str, np.ndarray]:
    """Return each sensitive attribute as a named 1-D array."""
    if values is None:
        return {}
    if isinstance(values, Mapping):
        named = {
            str(name): label_column(f"sensitive_features[{name!r}]", v)
            for name, v in values.items()
        }
    elif (table := as_frame(values, "sensitive_features")) is not None:
        named = {
            str(name): label_column(f"sensitive_features[{name!r}]", table.get_column(name))
            for name in table.columns
        }
    else:
        array = _to_numpy(values)
        if array.ndim == 2 and array.shape[1] > 1:
            named = {
                f"sensitive_{j}": label_column(f"sensitive_features[:, {j}]", array[:, j])
                for j in range(array.shape[1])
            }
        else:
            name = getattr(values, "name", None)
            argument = f"sensitive_features[{name!r}]" if name else "sensitive_features"
            named = {str(name) if name else "sensitive": label_column(argument, array)}
    if not named:
        raise DataError("sensitive_features must hold at least one attribute, got none")
    return {name: column for name, column in named.items() if column is not None}


def same_length(given: Mapping[str, Any], least: int = 1) -> int:
    """Check that all arrays have the same length, at least this one, and return it."""
    lengths = {name: int(v.shape[0]) for name, v in given.items() if v is not None}
    if not lengths:
        raise DataError("X, y, qid, score or position must be given, got nothing")
    first, n_rows = next(iter(lengths.items()))
    for name, length in lengths.items():
        if length != n_rows:
            raise DataError(
                f"{name} must have one value per row of {first} ({n_rows}), got {length}; "
                "inconsistent numbers of samples"
            )
    if n_rows < least:
        raise DataError(f"{first} must hold at least one row, got 0 sample(s)")
    return n_rows


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT, masked or NA of a data frame library."""
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    kinds = (float, np.floating, np.datetime64, np.timedelta64)
    return isinstance(value, kinds) and bool(value != value)
