"""Write a table to a file: to a temporary name first, then renamed."""

import csv
import io
import os
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["check_target", "write_table"]


ENDINGS = (".csv", ".tsv", ".tab", ".json", ".parquet", ".pq")


def check_target(path: str, inputs: list[str]) -> None:
    """Refuse a file that cannot be written, or that would replace the data, before the work."""
    _kind(path)
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise DataError(f"{path}: cannot be written: there is no folder {folder}")
    if os.path.isdir(path):
        raise DataError(f"{path}: cannot be written: it is a folder")
    if any(os.path.realpath(path) == os.path.realpath(each) for each in inputs):
        raise DataError(f"{path}: cannot be written: it is the file that is read")
    if _kind(path) in (".parquet", ".pq"):
        from ..core.environment import require

        require("pyarrow.parquet", "data")


def write_table(path: str, columns: "dict[str, np.ndarray]") -> None:
    """Write columns as the ending says: CSV or TSV (``.gz`` may follow), JSON rows, Parquet."""
    from .files import replacing

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
    import json
    import math

    def cell(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    rows = [
        {name: cell(value) for name, value in zip(plain, row, strict=True)}
        for row in zip(*plain.values(), strict=True)
    ]
    return json.dumps(rows, ensure_ascii=False, allow_nan=False, default=str) + "\n"


def _write_parquet(file: Any, columns: "dict[str, np.ndarray]") -> None:
    from ..core.environment import require

    arrow, parquet = require("pyarrow", "data"), require("pyarrow.parquet", "data")
    parquet.write_table(arrow.table({n: arrow.array(v.tolist()) for n, v in columns.items()}), file)
