"""Data frames: columns by name, and features as numbers and category codes."""

import warnings
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from .encoding import Encoding, Unseen, check_names
from .errors import DataError, EquirankWarning, outer_stacklevel, suggest
from .inputs import as_floats, as_frame, frozen, is_missing, shown

__all__ = ["FrameFeatures", "as_frame", "column_names", "frame_features", "take_named"]

#: Most categories of a column if X is of float32, which has no more exact whole numbers.
MOST_CODES = 2**24
#: Rows that the engine of a frame encodes at once, so that its copies stay small.
BLOCK = 1 << 15
#: Rows from which a text that is different in nearly every one of them is likely an id.
MANY_ROWS = 200


def column_names(frame: Any, values: Any) -> list[str]:
    """Return the columns that a value names: a text, or a list of texts that are no labels."""
    if frame is None or values is None:
        return []
    if isinstance(values, str):
        return [values]
    if isinstance(values, Mapping):
        return [value for value in values.values() if isinstance(value, str)]
    if not isinstance(values, (list, tuple)) or not values:
        return []
    texts = all(isinstance(value, str) for value in values)
    known = set(map(str, frame.columns))
    return list(values) if texts and (set(values) <= known or len(values) != len(frame)) else []


def take_named(frame: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with the columns of the frame in place of their names.

    ``sensitive_features`` and ``outcomes`` may name several columns. Without a frame, a text is an
    error.
    """
    taken: dict[str, Any] = {}
    for argument, values in given.items():
        names = column_names(frame, values)
        several = argument in ("sensitive_features", "outcomes")
        if isinstance(values, str) and frame is None:
            raise DataError(
                f"{argument} must be an array, got the name {values!r}, and X is no data frame"
            )
        if not names or (isinstance(values, list | tuple) and not several):
            taken[argument] = values
        elif isinstance(values, Mapping):
            taken[argument] = {
                key: _column(frame, value, f"{argument}[{key!r}]").to_native()
                if isinstance(value, str)
                else value
                for key, value in values.items()
            }
        elif several:
            taken[argument] = {
                name: _column(frame, name, argument).to_native() for name in dict.fromkeys(names)
            }
        else:
            taken[argument] = _column(frame, values, argument).to_native()
    return taken


def _column(frame: Any, name: str, argument: str) -> Any:
    """Return a column as a narwhals series."""
    for known in frame.columns:
        if str(known) == name:
            return frame.get_column(known)
    names = [str(known) for known in frame.columns]
    words = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    raise DataError(
        f"{argument} must name a column of X ({words}), got {name!r}{suggest(name, names)}"
    )


class FrameFeatures:
    """The features of a data frame and their categories; `matrix` makes the numbers.

    Parameters
    ----------
    frame : narwhals.DataFrame
        The frame.
    names : sequence of str
        Its columns to use, in order.
    categorical : "auto", sequence of str or None
        Columns of text, categories and enums are categories, and those named here, too. With None a
        column that holds no numbers is an error.
    known : mapping of str to sequence of str, optional
        The categories of the columns that are categories, instead of those that occur.
    unseen : Unseen, optional
        What happens to a category that is not known.
    """

    def __init__(
        self,
        frame: Any,
        names: Sequence[str],
        categorical: Any = "auto",
        known: Mapping[str, Sequence[str]] | None = None,
        unseen: Unseen | None = None,
    ) -> None:
        self.names = tuple(names)
        self.shape = (len(frame), len(self.names))
        self.unseen = unseen or Unseen("error")
        self.n_rows = len(frame)
        self._known = known
        self._columns = [_column(frame, name, "features") for name in self.names]
        if not self.names:
            raise DataError("X must have at least one column, got a frame without columns")
        self._values: dict[str, _Values] = {}
        wanted = _named_categories(categorical, self.names) if known is None else set(known)
        refused: dict[str, DataError] = {}
        for name, column in zip(self.names, self._columns, strict=True):
            if name not in wanted and _is_number(column):
                continue
            try:
                if categorical is None or (known is not None and name not in wanted):
                    _refuse(name, column)
                self._values[name] = _Values(name, column)
            except DataError as error:
                refused[name] = error
        if refused:
            words = ", ".join(map(repr, list(refused)[1:]))
            more = f" (and so for {words})" if words else ""
            raise DataError(f"{next(iter(refused.values()))}{more}") from None
        self.categories = self._find_categories()

    def _find_categories(self) -> dict[str, tuple[str, ...]]:
        if self._known is not None:
            return {name: tuple(labels) for name, labels in self._known.items()}
        found: dict[str, tuple[str, ...]] = {}
        for name in list(self._values):
            labels = tuple(sorted(set(self._values[name].labels)))
            if labels:
                found[name] = labels
            else:
                del self._values[name]  # no value at all: a number that is missing everywhere
        return found

    def warn_of_ids(self) -> None:
        """Warn of texts that are different in nearly every row."""
        for name, labels in self.categories.items():
            if self.n_rows >= MANY_ROWS and len(labels) > 0.9 * self.n_rows:
                warnings.warn(
                    f"X[{name!r}] has {len(labels):,} categories in {self.n_rows:,} rows, so it is "
                    "likely an id; name it as ids, or leave it out of features",
                    EquirankWarning,
                    stacklevel=outer_stacklevel(),
                )

    def matrix(self, order: np.ndarray | None = None) -> np.ndarray:
        """Return the features, one row per row of the frame, in this order.

        Float32 stays float32. Missing values are NaN. Only one column at a time is copied.
        """
        numbers = [
            column
            for name, column in zip(self.names, self._columns, strict=True)
            if name not in self._values
        ]
        single = bool(numbers) and all(str(column.dtype) == "Float32" for column in numbers)
        most = max([len(labels) for labels in self.categories.values()], default=0)
        if single and most > MOST_CODES:
            name = next(n for n, labels in self.categories.items() if len(labels) == most)
            raise DataError(
                f"X[{name!r}] must have at most {MOST_CODES:,} categories beside numbers of 32 "
                f"bits, got {most:,}; cast the numbers to 64 bits"
            )
        X = np.empty((self.n_rows, len(self.names)), dtype=np.float32 if single else np.float64)
        for at, (name, column) in enumerate(zip(self.names, self._columns, strict=True)):
            values = self._codes(name) if name in self._values else _numbers(name, column)
            X[:, at] = values if order is None else values[order]
        return frozen(X)

    def _codes(self, name: str) -> np.ndarray:
        labels = self.categories[name]
        codes = self._values[name].codes({label: code for code, label in enumerate(labels)})
        new = codes < 0
        if new.any():
            row = int(new.argmax())
            value = self._values[name].label(row)
            self.unseen.found(self.unseen.feature.format(name), new, value, row, labels)
            codes[new] = np.nan
        return codes


def frame_features(
    frame: Any,
    given: Mapping[str, Any],
    features: Sequence[str] | None,
    categorical: Any,
    encoding: Encoding | None,
    policy: Unseen,
) -> FrameFeatures | None:
    """Return the features of a frame; None without a frame, or if every column is named."""
    if frame is None:
        if features is not None or categorical not in ("auto", None):
            argument = "categorical" if features is None else "features"
            raise DataError(f"{argument} must be omitted, since X is no data frame")
        return None
    if encoding is not None and (features is not None or categorical not in ("auto", None)):
        argument = "categorical" if features is None else "features"
        raise DataError(f"{argument} must be omitted beside like, which states it")
    named = {name for values in given.values() for name in column_names(frame, values)}
    rest = [str(name) for name in frame.columns if str(name) not in named]
    if encoding is not None:
        names = list(rest if encoding.names is None else encoding.names)
        check_names([str(name) for name in frame.columns], names)
        return FrameFeatures(frame, names, "auto", encoding.categories, policy) if names else None
    if features is None:
        return FrameFeatures(frame, rest, categorical) if rest or not named else None
    if isinstance(features, str) or not isinstance(features, Sequence):
        raise DataError(f"features must be a list of names of columns, got {features!r}")
    if isinstance(given["y"], str) and given["y"] in features:
        raise DataError(f"features must not contain the relevance {given['y']!r}")
    return FrameFeatures(frame, features, categorical) if len(features) else None


class _Values:
    """The values of a column of categories as labels, encoded by the engine of the frame."""

    def __init__(self, name: str, column: Any) -> None:
        kind = str(column.dtype)
        self.column, self._place = column, np.zeros(0, dtype=np.int64)
        if kind == "Object":
            self._of_array(_texts(name, column))
        elif kind.startswith(("Float", "Decimal")):
            self._of_array(_whole_numbers(name, column))
        elif kind.startswith(_CODED):
            if kind == "String" and column.implementation.is_pandas_like():
                self.column = column = _factorized(column)
            self._unique = [each for each in column.unique().to_list() if not is_missing(each)]
            self.labels = [_label(value) for value in self._unique]
        else:
            _refuse(name, column)

    def _of_array(self, cells: np.ndarray) -> None:
        """Store the labels of values without an engine; None is missing."""
        self.column = None
        place: dict[Any, int] = {None: -1}
        self._place = np.array([place.setdefault(c, len(place) - 1) for c in cells.tolist()])
        self.labels = list(place)[1:]

    def codes(self, code: Mapping[str, int]) -> np.ndarray:
        """Return the code of each row as a float: NaN if missing, -1 if the label has none."""
        import narwhals as nw

        new = [float(code.get(label, -1)) for label in self.labels]
        if self.column is None:
            return np.array([*new, np.nan])[self._place]
        codes = np.full(len(self.column), np.nan)
        for start in range(0, len(codes) if new else 0, BLOCK):
            part = self.column[start : start + BLOCK]
            found = part.replace_strict(self._unique, new, return_dtype=nw.Float64)
            codes[start : start + BLOCK] = found.fill_null(np.nan).to_numpy()
        return codes

    def label(self, row: int) -> str:
        """Return the label of a row."""
        return self.labels[self._place[row]] if self.column is None else _label(self.column[row])


def _factorized(column: Any) -> Any:
    """Return texts of pandas as categories, which it replaces in a third of the time."""
    import narwhals as nw

    return column.cast(nw.Categorical)


#: Types whose values the engine replaces by codes.
_CODED = ("String", "Categorical", "Enum", "Boolean", "Int", "UInt")


def _label(value: Any) -> str:
    """Return a category as text; whole numbers have no decimals."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _texts(name: str, column: Any) -> np.ndarray:
    """Return the labels of a column of Python objects, None where they are missing."""
    cells = np.empty(len(column), dtype=object)
    for row, value in enumerate(column.to_list()):
        if is_missing(value):
            continue
        if not isinstance(value, str | int | float | np.integer | np.floating):
            raise DataError(
                f"X[{name!r}] must hold numbers or categories, got {shown(value)} in row {row}; "
                "convert it first or leave it out of features"
            )
        cells[row] = _label(value)
    return cells


def _whole_numbers(name: str, column: Any) -> np.ndarray:
    """Return the labels of a column of floats that are categories, None where they are missing."""
    values = as_floats(f"X[{name!r}]", column.to_numpy()).astype(np.float64)
    present = ~np.isnan(values)
    wrong = present & (values != np.floor(values))
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"X[{name!r}] must hold texts or whole numbers to be categories, got "
            f"{shown(values[row])} in row {row}"
        )
    unique, place = np.unique(values[present], return_inverse=True)
    cells = np.empty(len(values), dtype=object)
    cells[present] = np.array([_label(value) for value in unique.tolist()], dtype=object)[place]
    return cells


def _is_number(column: Any) -> bool:
    """Return whether a column holds numbers; one without any value does, all missing."""
    kind = str(column.dtype)
    if column.dtype.is_numeric() or kind == "Boolean":
        return True
    if kind == "Unknown":
        return bool(column.is_null().all())
    if kind != "Object":
        return False
    numbers = (int, float, np.number, np.bool_, Decimal)
    return all(is_missing(value) or isinstance(value, numbers) for value in column.to_list())


def _numbers(name: str, column: Any) -> np.ndarray:
    if str(column.dtype) in ("Unknown", "String", "Categorical"):
        return np.full(len(column), np.nan)  # no value at all
    values = column.to_numpy()
    return values if values.dtype == np.float32 else as_floats(f"X[{name!r}]", values)


def _refuse(name: str, column: Any) -> None:
    """Raise for a column that holds neither numbers nor, where they are accepted, categories."""
    kind = str(column.dtype)
    kind = kind if kind != "Unknown" else str(column.to_native().dtype)
    if kind in ("String", "Categorical", "Object") or kind.startswith("Enum"):
        what = "X must hold numbers only"
        hint = "encode it first or leave it out of features"
    else:
        what = "X must hold numbers and categories only"
        hint = "turn it into numbers first or leave it out of features"
    raise DataError(f"{what}, and its column {name!r} has type {kind}; {hint}")


def _named_categories(categorical: Any, names: Sequence[str]) -> set[str]:
    if categorical is None or categorical == "auto":
        return set()
    if isinstance(categorical, str) or not isinstance(categorical, Sequence):
        raise DataError(
            f'categorical must be "auto", None or names of columns, got {categorical!r}'
        )
    for name in categorical:
        if name not in names:
            raise DataError(
                f"categorical must name features of X, got {name!r}{suggest(str(name), names)}"
            )
    return set(categorical)
