"""Writing of tables as CSV, TSV, JSON or Parquet files."""

import csv
import io
import json
import math
import os
import re
from collections.abc import Mapping
from typing import Any

from ..core.environment import require
from ..core.errors import DataError
from .files import replacing

__all__ = ["check_ending", "plain_text", "table_text", "write_table"]


ENDINGS = (".csv", ".tsv", ".tab", ".json", ".parquet", ".pq")


#: The first characters with which a spreadsheet takes a cell for a formula, as in reports.
FORMULA = re.compile(r"[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]")
_NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf|infinity|nan)", re.ASCII | re.IGNORECASE
)


def check_ending(path: str) -> None:
    """Raise if no table can be written to a file of this name."""
    kind = _kind(path)
    if kind in (".parquet", ".pq"):
        require("pyarrow.parquet", "data")


def plain_text(value: Any) -> Any:
    """Return a cell that no spreadsheet runs as a formula: a quote goes before its first sign.

    Numbers, and texts that are numbers, are returned unchanged.

    Examples
    --------
    >>> [plain_text(value) for value in ("=1+1", "-5.2", "-a", "a-b", -3)]
    ["'=1+1", '-5.2', "'-a", 'a-b', -3]
    """
    if not isinstance(value, str) or not FORMULA.match(value) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}"


def write_table(
    path: str | os.PathLike[str],
    columns: Mapping[str, Any],
    *,
    kind: str | None = None,
    keep_formulas: bool = False,
) -> None:
    """Write columns as CSV or TSV (``.gz`` may follow), JSON rows or Parquet, by the ending.

    ``kind`` is the ending if the name may have any.
    Columns are arrays of NumPy or pyarrow. In CSV and TSV, missing and undefined values are empty,
    and cells pass through `plain_text` unless ``keep_formulas``.
    """
    kind = _kind(path) if kind is None else kind
    with replacing(path) as file:
        if kind in (".parquet", ".pq"):
            _write_parquet(file, columns)
            return
        file.write(table_text(columns, kind, keep_formulas=keep_formulas).encode())


def table_text(
    columns: Mapping[str, Any], kind: str = ".csv", *, keep_formulas: bool = False
) -> str:
    """Return columns as the text of a CSV, TSV or JSON file, as `write_table` writes it."""
    plain = {name: values.tolist() for name, values in columns.items()}
    return _json(plain) if kind == ".json" else _delimited(plain, kind, keep_formulas)


def _kind(path: str | os.PathLike[str]) -> str:
    name = os.path.basename(path).lower()
    kind = os.path.splitext(name.removesuffix(".gz"))[1]
    if kind not in ENDINGS or (kind in (".parquet", ".pq") and name.endswith(".gz")):
        raise DataError(
            "--out must end in .csv, .tsv, .json (.gz may follow) or .parquet, got "
            f"{os.fspath(path)!r}"
        )
    return kind


def _delimited(plain: dict[str, list[Any]], kind: str, keep_formulas: bool) -> str:
    def cell(value: Any) -> Any:
        if value is None or value != value:
            return ""
        return value if keep_formulas else plain_text(value)

    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if kind == ".csv" else "\t", lineterminator="\n")
    writer.writerow(map(cell, plain))
    writer.writerows(map(cell, row) for row in zip(*plain.values(), strict=True))
    return text.getvalue()


def _json(plain: dict[str, list[Any]]) -> str:
    def cell(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    rows = [
        {name: cell(value) for name, value in zip(plain, row, strict=True)}
        for row in zip(*plain.values(), strict=True)
    ]
    return json.dumps(rows, ensure_ascii=False, allow_nan=False, default=str) + "\n"


def _write_parquet(file: Any, columns: Mapping[str, Any]) -> None:
    arrow, parquet = require("pyarrow", "data"), require("pyarrow.parquet", "data")
    arrays = {
        name: values if isinstance(values, arrow.Array) else arrow.array(values.tolist())
        for name, values in columns.items()
    }
    parquet.write_table(arrow.table(arrays), file)
