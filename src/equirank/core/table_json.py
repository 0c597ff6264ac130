"""Tables as JSON and back: the type of each column, and numbers that JSON does not know."""

from typing import Any

import numpy as np

from .table import Table

__all__ = ["table_from_json", "table_to_json"]

TYPES = {"f": "number", "i": "integer", "b": "boolean", "O": "label"}
KINDS: dict[str, Any] = {
    "number": np.float64,
    "integer": np.int64,
    "boolean": np.bool_,
    "label": object,
}
INFINITE = {"Infinity": np.inf, "-Infinity": -np.inf}


def table_to_json(table: Table) -> dict[str, Any]:
    """Give each column's type and values: NaN as null, infinite numbers as words.

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
        column = np.empty(len(values), dtype=KINDS[part["type"]])
        if part["type"] == "number":
            values = [np.nan if v is None else INFINITE.get(v, v) for v in values]
        column[:] = values
        found[name] = column
    return Table(found)
