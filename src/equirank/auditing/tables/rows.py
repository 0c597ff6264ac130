"""Rows to tables: every table of an audit has its columns, also where it has no row."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...core.table import Table

__all__ = ["as_label", "make_table"]

#: The type of a column, by the letter before its name in a table's list of columns.
KINDS: dict[str, Any] = {"f": np.float64, "i": np.int64, "b": np.bool_, "o": object}


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
        {name: _column(KINDS[kind], [row[name] for row in found]) for name, kind in columns.items()}
    )


def _column(kind: Any, values: list[Any]) -> np.ndarray:
    column = np.empty(len(values), dtype=kind)
    column[:] = values
    return column


def as_label(value: Any) -> Any:
    """Give a query's label as a whole number or text."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return int(value)
    return str(value)
