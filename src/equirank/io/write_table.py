"""Writing of tables as CSV, TSV, JSON or Parquet files."""

import csv
import io
import json
import math
import os
from typing import TYPE_CHECKING, Any

from ..core.environment import require
from ..core.errors import DataError
from .files import check_writable, replacing

if TYPE_CHECKING:
    import numpy as np

__all__ = ["check_target", "write_table"]


ENDINGS = (".csv", ".tsv", ".tab", ".json", ".parquet", ".pq")


def check_target(path: str, inputs: list[str]) -> None:
    """Raise if a table cannot be written to a file or the file is one of the inputs."""
    kind = _kind(path)
    check_writable(path, inputs)
    if kind in (".parquet", ".pq"):
        require("pyarrow.parquet", "data")


def write_table(path: str, columns: "dict[str, np.ndarray]") -> None:
    """Write columns as CSV or TSV (``.gz`` may follow), JSON rows or Parquet, by the ending."""
    kind = _kind(path)
    plain = {name: values.tolist() for name, values in columns.items()}
    try:
        with replacing(path) as file:
            if kind in (".parquet", ".pq"):
                _write_parquet(file, columns)
            else:
                file.write((_json(plain) if kind == ".json" else _delimited(plain, kind)).encode())
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None


def _kind(path: str) -> str:
    name = os.path.basename(path).lower()
    kind = os.path.splitext(name.removesuffix(".gz"))[1]
    if kind not in ENDINGS or (kind in (".parquet", ".pq") and name.endswith(".gz")):
        raise DataError(
            f"--out must end in .csv, .tsv, .json (.gz may follow) or .parquet, got {path!r}"
        )
    return kind


def _delimited(plain: dict[str, list[Any]], kind: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if kind == ".csv" else "\t", lineterminator="\n")
    writer.writerow(plain)
    writer.writerows(zip(*plain.values(), strict=True))
    return text.getvalue()


def _json(plain: dict[str, list[Any]]) -> str:
    def cell(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    rows = [
        {name: cell(value) for name, value in zip(plain, row, strict=True)}
        for row in zip(*plain.values(), strict=True)
    ]
    return json.dumps(rows, ensure_ascii=False, allow_nan=False, default=str) + "\n"


def _write_parquet(file: Any, columns: "dict[str, np.ndarray]") -> None:
    arrow, parquet = require("pyarrow", "data"), require("pyarrow.parquet", "data")
    parquet.write_table(arrow.table({n: arrow.array(v.tolist()) for n, v in columns.items()}), file)
