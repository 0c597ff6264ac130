"""Values of every list, written to a folder of Parquet files while sums are made."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from .environment import require
from .errors import DataError
from .registry import parse_metrics
from .sums_plan import SumsPlan

__all__ = ["PerList", "list_values", "opened_per_list"]


class PerList:
    """A folder that receives one row per list: its label, number of rows, and metric values.

    Parameters
    ----------
    folder : Path
        An existing folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number = count()

    def write(
        self, labels: np.ndarray, sizes: np.ndarray, plan: SumsPlan, columns: dict[str, np.ndarray]
    ) -> None:
        """Write the values of some lists to a file of their own; threads may call it at once."""
        pa, parquet = require("pyarrow", "data"), require("pyarrow.parquet", "data")
        several = [json.dumps(x) if isinstance(x, tuple) else x for x in labels.tolist()]
        values = list_values(plan, columns)
        table = pa.table({"list": several, "rows": sizes, **values})
        parquet.write_table(table, self.folder / f"part-{next(self._number):05d}.parquet")


def list_values(plan: SumsPlan, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the values of lists by the name of the metric; NaN if undefined."""
    names = [_gap_name(plan, *target) for target in plan.targets]
    found = {}
    for kind, several in (("gaps", names), ("metrics", plan.metrics)):
        for at, name in enumerate(several):
            value, defined = columns[kind][:, at, :2].T
            found[name] = np.where(defined > 0, value, np.nan)
    return found


def _gap_name(plan: SumsPlan, name: str, key: tuple[str, ...], group: str | None) -> str:
    options: dict[str, Any] = {"by": key[0] if len(key) == 1 else key, "protected": group}
    if name == "RND":
        options["step"] = plan.step
    return str(replace(parse_metrics(name)[0], **options))


@contextmanager
def opened_per_list(folder: Any) -> Iterator[PerList | None]:
    """Make a new folder for the values of every list; after an error it is removed."""
    if folder is None:
        yield None
        return
    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise DataError(f"per_list must be a new or empty folder, got {path}")
    require("pyarrow", "data")
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield PerList(path)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
