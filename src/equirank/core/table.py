"""Table: named columns of equal length, which convert to frames and JSON."""

import html
import importlib.util
import json
import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, overload

import numpy as np

from .environment import require
from .errors import DataError, MissingExtraError

__all__ = ["Table", "as_label", "make_table", "table_from_json", "table_to_json"]


BACKENDS = ("pandas", "polars", "pyarrow")
#: What LaTeX reads as a command, and how the character itself is written.
_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}"}
)


class Table:
    """Named columns of equal length.

    Parameters
    ----------
    columns : mapping of str to array-like
        The columns, in order.
    backend : {"pandas", "polars", "pyarrow"}, optional
        The data-frame library the data came in with; `to_frame` goes back to it.

    Examples
    --------
    >>> table = Table({"metric": ["NDCG@10", "RND"], "value": [0.75, 0.125]})
    >>> table
    metric   value
    NDCG@10  0.7500
    RND      0.1250
    >>> table.to_dict()
    {'metric': ['NDCG@10', 'RND'], 'value': [0.75, 0.125]}
    >>> table["value"], table[0]
    (array([0.75 , 0.125]), {'metric': 'NDCG@10', 'value': 0.75})
    """

    def __init__(self, columns: Mapping[str, Any], backend: str | None = None) -> None:
        self.columns: dict[str, np.ndarray] = {
            name: _as_column(values) for name, values in columns.items()
        }
        self.backend = backend
        lengths = {name: len(values) for name, values in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(f"columns of a table must have one length, got {lengths}")

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()))) if self.columns else 0

    @overload
    def __getitem__(self, name: str) -> np.ndarray: ...

    @overload
    def __getitem__(self, name: int) -> dict[str, Any]: ...

    def __getitem__(self, name: str | int) -> np.ndarray | dict[str, Any]:
        """Return a column by its name, or a row by its number, as a dict."""
        if not isinstance(name, str):
            row = operator.index(name)
            if not -len(self) <= row < len(self):
                raise IndexError(f"no row {row}; there are {len(self)}")
            return {
                key: _plain(values[row : row + 1 or None])[0]
                for key, values in self.columns.items()
            }
        if name not in self.columns:
            raise KeyError(f"no column {name!r}; there are {', '.join(self.columns)}")
        return self.columns[name]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as dicts."""
        lists = self.to_dict()
        return (dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as plain lists."""
        return {name: _plain(values) for name, values in self.columns.items()}

    def to_json(self) -> str:
        """Return the rows as JSON; undefined numbers become null."""
        return json.dumps([_json_row(row) for row in self], ensure_ascii=False, allow_nan=False)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the table as a native data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Defaults to the library the data came in with, else the first that is installed.
        """
        name = backend or self.backend or _first_installed()
        if name not in BACKENDS:
            raise DataError(f"backend must be one of {', '.join(BACKENDS)}, got {name!r}")
        columns = {key: list(v) if v.dtype == object else v for key, v in self.columns.items()}
        if name == "pyarrow":
            return require("pyarrow", "data").table(
                {key: v.tolist() if isinstance(v, np.ndarray) else v for key, v in columns.items()}
            )
        return require(name, "data").DataFrame(columns)

    def __repr__(self) -> str:
        """Show the first rows as text."""
        return self.to_text()

    def to_text(self, max_rows: int = 60, digits: int = 4) -> str:
        """Return the table as plain text, numbers aligned right."""
        cells = self._cells(max_rows, digits)
        widths = [max(map(len, column)) for column in cells]
        right = [v.dtype.kind in "fiu" for v in self.columns.values()]
        lines = [
            "  ".join(
                cell.rjust(w) if r else cell.ljust(w)
                for cell, w, r in zip(row, widths, right, strict=True)
            ).rstrip()
            for row in zip(*cells, strict=True)
        ]
        if len(self) > max_rows:
            lines.append(f"... {len(self) - max_rows} more rows")
        return "\n".join(lines)

    def to_latex(self, digits: int = 4) -> str:
        r"""Return the table as a LaTeX ``tabular`` with the rules of the package booktabs.

        Characters that LaTeX reads as commands are escaped; numbers are aligned right. A table
        without columns is an empty ``tabular``.

        Examples
        --------
        >>> print(Table({"metric": ["NDCG@10"], "value": [0.75]}).to_latex(digits=2))
        \begin{tabular}{lr}
        \toprule
        metric & value \\
        \midrule
        NDCG@10 & 0.75 \\
        \bottomrule
        \end{tabular}
        """
        cells = [[cell.translate(_LATEX) for cell in c] for c in self._cells(len(self), digits)]
        rows = [" & ".join(row) + r" \\" for row in zip(*cells, strict=True)] or [r"\\"]
        kinds = "".join("r" if v.dtype.kind in "fiu" else "l" for v in self.columns.values())
        head, body = [rf"\begin{{tabular}}{{{kinds or 'l'}}}", r"\toprule", rows[0]], rows[1:]
        return "\n".join([*head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"])

    def _repr_html_(self) -> str:
        cells = [[html.escape(cell) for cell in column] for column in self._cells(60, 4)]
        rows = list(zip(*cells, strict=True))
        if not rows:
            return "<table></table>"
        head = "".join(f"<th>{cell}</th>" for cell in rows[0])
        body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in r) + "</tr>" for r in rows[1:])
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _cells(self, max_rows: int, digits: int) -> list[list[str]]:
        return [
            [name, *(_cell(value, digits) for value in _plain(values[:max_rows]))]
            for name, values in self.columns.items()
        ]


def _plain(values: np.ndarray) -> list[Any]:
    """Return Python values; dates as text, since JSON has none."""
    if values.dtype.kind in "mM":
        return [None if np.isnat(value) else str(value) for value in values]
    return [_plain_value(value) for value in values.tolist()]


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.datetime64):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    return value.isoformat() if hasattr(value, "isoformat") else value


def _as_column(values: Any) -> np.ndarray:
    if isinstance(values, np.ndarray):
        return values
    items = list(values)
    if all(
        isinstance(item, (int, float, np.number)) and not isinstance(item, bool) for item in items
    ):
        return np.array(items) if items else np.array([], dtype=float)
    column = np.empty(len(items), dtype=object)
    column[:] = items
    return column


def _cell(value: Any, digits: int) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "-"
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def _json_row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not np.isfinite(value) else value
        for key, value in row.items()
    }


def _first_installed() -> str:
    for name in BACKENDS:
        if importlib.util.find_spec(name) is not None:
            return name
    raise MissingExtraError(
        "a data frame needs pandas, polars or pyarrow, and none is installed: "
        'pip install "equirank[data]" brings pyarrow; to_dict() and to_json() work without'
    )


#: The type of a column, by the letter before its name in a table's list of columns.
DTYPES: dict[str, Any] = {"f": np.float64, "i": np.int64, "b": np.bool_, "o": object}


def make_table(columns: str | Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> Table:
    """Make a table from rows.

    ``columns`` names them, each with its type: ``"o:group f:value i:size b:protected"``, or a
    mapping of name to type.

    Examples
    --------
    >>> make_table("o:group f:value", [{"group": "f", "value": 1}])
    group  value
    f      1.0000
    """
    if isinstance(columns, str):
        columns = {name: kind for kind, name in (part.split(":", 1) for part in columns.split())}
    found = list(rows)
    return Table(
        {
            name: _column(DTYPES[kind], [row[name] for row in found])
            for name, kind in columns.items()
        }
    )


def _column(kind: Any, values: list[Any]) -> np.ndarray:
    column = np.empty(len(values), dtype=kind)
    column[:] = values
    return column


def as_label(value: Any) -> Any:
    """Return a query label as an integer or text."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return int(value)
    return str(value)


TYPES = {"f": "number", "i": "integer", "b": "boolean", "O": "label"}
JSON_DTYPES: dict[str, Any] = {
    "number": np.float64,
    "integer": np.int64,
    "boolean": np.bool_,
    "label": object,
}
INFINITE = {"Infinity": np.inf, "-Infinity": -np.inf}


def table_to_json(table: Table) -> dict[str, Any]:
    """Return each column's type and values: NaN as null, infinite numbers as words.

    Examples
    --------
    >>> table_to_json(Table({"value": [1.5, float("nan")]}))
    {'value': {'type': 'number', 'values': [1.5, None]}}
    """
    return {
        name: {"type": TYPES[values.dtype.kind], "values": [_written(v) for v in values.tolist()]}
        for name, values in table.columns.items()
    }


def _written(value: Any) -> Any:
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def table_from_json(columns: dict[str, Any]) -> Table:
    """Read a table back.

    Examples
    --------
    >>> table_from_json({"value": {"type": "number", "values": [1.5, None]}})["value"]
    array([1.5, nan])
    """
    found = {}
    for name, part in columns.items():
        values = part["values"]
        column = np.empty(len(values), dtype=JSON_DTYPES[part["type"]])
        if part["type"] == "number":
            values = [np.nan if v is None else INFINITE.get(v, v) for v in values]
        column[:] = values
        found[name] = column
    return Table(found)
