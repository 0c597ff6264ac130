"""Stored sums: a folder with ``plan.json`` and Parquet files."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from .environment import require
from .errors import DataError, FormatError
from .list_samples import Extremes, ListSample
from .list_sums import BUCKETED, ListSums
from .recurrence import Recurrence
from .sums_plan import SumsPlan, View
from .sums_views import SumsView

__all__ = ["load_sums", "save_sums"]


def save_sums(sums: ListSums, folder: Path) -> None:
    """Write sums to a folder that does not exist or is empty; it is complete or absent."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{folder} must be a new or empty folder to write sums to")
    made = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    try:
        _write(sums, made)
        if folder.exists():
            folder.rmdir()
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _write(sums: ListSums, folder: Path) -> None:
    buckets: dict[str, np.ndarray] = {}
    shapes: dict[str, list[int]] = {}
    for name, values in sums.sums.items():
        shapes[name] = list(values.shape)
        if name in BUCKETED:
            flat = values.reshape(len(values), -1)
            buckets |= {f"{name}/{at}": flat[:, at] for at in range(flat.shape[1])}
    _write_table(folder / "buckets.parquet", buckets)
    others = {n: v.ravel() for n, v in sums.sums.items() if n not in BUCKETED}
    _write_table(folder / "prefixes.parquet", _ragged(others))
    _write_views(sums, folder / "views.parquet", shapes)
    for name in ("kept", "rare", "moved"):
        _write_sample(folder / f"{name}.parquet", getattr(sums, name))
    parts: list[dict[str, Any]] = [
        {"key": [at] * len(e.keys), "list": e.keys, "label": [json.dumps(x) for x in _plain(e)],
         "size": e.sizes, "differences": list(e.differences), "gaps": list(e.gaps)}
        for at, e in enumerate(sums.extremes)
    ]  # fmt: skip
    names = ("key", "list", "label", "size", "differences", "gaps")
    joined = {name: [v for part in parts for v in part[name]] for name in names}
    _write_table(folder / "extremes.parquet", joined)
    people = sums.recurrence
    if people is not None:
        _write_table(folder / "people.parquet", {"key": people.keys, "rows": people.rows})
    stored = {
        "plan": sums.plan.to_json(),
        "n_rows": sums.n_rows,
        "n_lists": sums.n_lists,
        "lengths": sums.lengths.tolist(),
        "people": [[*vector, count] for vector, count in sorted(sums.people.items())],
        "sources": list(sums.sources),
        "refused": sums.refused,
        "against_sources": list(sums.against_sources),
        "recurrence": None if people is None else [people.unnamed, people.sampled],
        "shapes": shapes,
        "views": [{"view": list(v), "lengths": s.lengths.tolist()} for v, s in sums.views.items()],
    }
    (folder / "plan.json").write_text(json.dumps(stored, indent=1), encoding="utf-8")


def _write_views(sums: ListSums, path: Path, shapes: dict[str, list[int]]) -> None:
    """Write the sums over some people of each list, and note the shapes of their arrays."""
    flat: dict[str, np.ndarray] = {}
    for at, view in enumerate(sums.views.values()):
        for name, values in view.sums.items():
            shapes[f"{at}/{name}"] = list(values.shape)
            flat[f"{at}/{name}"] = values.ravel()
    if flat:
        _write_table(path, _ragged(flat))


def _read_views(folder: Path, stored: dict[str, Any]) -> dict[View, SumsView]:
    """Read the sums over some people; the first format has none."""
    views = stored.get("views", [])
    values = _read_table(folder / "views.parquet")["value"] if views else np.zeros(0)
    arrays: list[dict[str, np.ndarray]] = [{} for _ in views]
    start = 0
    for name, shape in stored["shapes"].items():
        at, slash, own = name.partition("/")
        if slash:
            end = start + int(np.prod(shape))
            arrays[int(at)][own] = values[start:end].reshape(shape)
            start = end
    return {
        View(tuple(given["view"][0]), *given["view"][1:]): SumsView(
            sums, np.array(given["lengths"], dtype=np.int64)
        )
        for given, sums in zip(views, arrays, strict=True)
    }


def _plain(extremes: Extremes) -> list[Any]:
    return [list(x) if isinstance(x, tuple) else x for x in extremes.labels.tolist()]


def _ragged(flat: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return arrays of different lengths as one long column beside their names."""
    return {
        "name": np.concatenate([np.full(len(v), n, dtype=object) for n, v in flat.items()]),
        "value": np.concatenate(list(flat.values())),
    }


def _write_table(path: Path, columns: dict[str, Any]) -> None:
    pa = require("pyarrow", "data")
    parquet = require("pyarrow.parquet", "data")
    parquet.write_table(pa.table(columns), path, compression="zstd")


def _write_sample(path: Path, sample: ListSample) -> None:
    sizes = sample.sizes
    labels = [list(x) if isinstance(x, tuple) else x for x in sample.labels.tolist()]
    columns: dict[str, Any] = {
        "list": np.repeat(np.arange(sample.n_lists), sizes),
        "key": np.repeat(sample.keys, sizes),
        "label": np.repeat(np.array([json.dumps(x) for x in labels], dtype=object), sizes),
    }
    columns |= {f"code {at}": sample.codes[:, at] for at in range(sample.codes.shape[1])}
    for name, values in sample.columns.items():
        text = values.dtype.kind in "OU"
        columns[f"column {name}"] = [json.dumps(v) for v in values.tolist()] if text else values
    _write_table(path, columns)


def load_sums(folder: Path) -> ListSums:
    """Read sums; what is missing or damaged raises `FormatError` with its name."""
    path = folder / "plan.json"
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        plan = SumsPlan.from_json(stored["plan"], str(path))
        return _read(folder, stored, plan)
    except FormatError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FormatError(
            f"{folder} must be a folder written by ListSums.save, and it is damaged or incomplete "
            f"({error})"
        ) from None


def _read(folder: Path, stored: dict[str, Any], plan: SumsPlan) -> ListSums:
    buckets = _read_table(folder / "buckets.parquet")
    long = _read_table(folder / "prefixes.parquet")
    sums = {}
    for name, shape in stored["shapes"].items():
        if "/" in name:
            continue
        if name in BUCKETED:
            width = int(np.prod(shape[1:]))
            columns = [buckets[f"{name}/{at}"] for at in range(width)]
            flat = np.stack(columns, axis=1) if columns else np.zeros((shape[0], 0))
        else:
            flat = long["value"][long["name"] == name]
        sums[name] = np.ascontiguousarray(flat.reshape(shape))
    sums.setdefault("undecided", np.zeros(plan.n_decisions))
    sums.setdefault("moved", np.zeros(2))
    if "changes" in sums:  # by default another score of the same rows
        same = [stored["n_rows"], stored["n_lists"], stored["n_lists"]]
        sums.setdefault("against", np.array(same, dtype=np.float64))
    kept, rare = (_read_sample(folder / f"{name}.parquet", plan) for name in ("kept", "rare"))
    moved = kept.take(np.zeros(0, dtype=np.int64))
    if (folder / "moved.parquet").exists():  # from format 4 on
        moved = _read_sample(folder / "moved.parquet", plan)
    table = _read_table(folder / "extremes.parquet")
    extremes = []
    for at in range(len(plan.keys)):
        rows = np.flatnonzero(table["key"] == at)
        wide = [
            np.array([table[name][row] for row in rows.tolist()]).reshape(len(rows), -1)
            for name in ("differences", "gaps")
        ]
        extremes.append(
            Extremes(
                table["list"][rows].astype(np.uint64), _labels(table["label"][rows]),
                table["size"][rows], *wide,
            )
        )  # fmt: skip
    return ListSums(
        plan,
        stored["n_rows"],
        stored["n_lists"],
        sums,
        np.array(stored["lengths"], dtype=np.int64),
        {tuple(row[:-1]): row[-1] for row in stored["people"]},
        kept,
        rare,
        tuple(extremes),
        moved,
        tuple(stored["sources"]),
        _read_views(folder, stored),
        stored.get("refused", ""),
        tuple(stored.get("against_sources", ())),
        _read_people(folder, stored),
    )


def _read_people(folder: Path, stored: dict[str, Any]) -> Recurrence | None:
    """Read the people of several rows; until format 5, and without ids, there are none."""
    if stored.get("recurrence") is None:
        return None
    table = _read_table(folder / "people.parquet")
    return Recurrence(table["key"], table["rows"], *stored["recurrence"])


def _read_table(path: Path) -> dict[str, np.ndarray]:
    table = require("pyarrow.parquet", "data").read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}


def _labels(texts: np.ndarray) -> np.ndarray:
    found = np.empty(len(texts), dtype=object)
    parsed = [json.loads(text) for text in texts.tolist()]
    found[:] = [tuple(x) if isinstance(x, list) else x for x in parsed]
    return found


def _read_sample(path: Path, plan: SumsPlan) -> ListSample:
    table = _read_table(path)
    sizes = np.bincount(table["list"]) if len(table["list"]) else np.zeros(0, dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    first = offsets[:-1]
    columns = {}
    for name, values in table.items():
        if name.startswith("column "):
            text = values.dtype.kind == "O"
            columns[name.removeprefix("column ")] = _labels(values) if text else values
    codes = [table[f"code {at}"] for at in range(len(plan.groups))]
    return ListSample(
        table["key"][first].astype(np.uint64),
        _labels(table["label"][first]),
        offsets,
        np.stack(codes, axis=1) if codes else np.zeros((int(offsets[-1]), 0), dtype=np.int64),
        columns,
    )
