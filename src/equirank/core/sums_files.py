"""Stored sums: a folder with ``plan.json`` and Parquet files."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from .block_columns import BUCKETS
from .environment import require
from .errors import DataError, FormatError, listed
from .list_samples import Extremes, ListSample
from .list_sums import BUCKETED, ListSums
from .persistence import SavedFiles, file_digests, resolved, sealed, sweep_folders, work_folder
from .recurrence import Recurrence
from .sums_plan import SumsPlan, View, fits
from .sums_views import GROUP_AXES, SumsView

__all__ = ["load_sums", "save_sums"]


#: The first format with digests.
WITH_DIGESTS = 6
#: Types of the values of plan.json beside the plan, and of those that older formats may lack.
REQUIRED = {"n_rows": int, "n_lists": int, "lengths": list[int], "people": list[list[int]]}
REQUIRED |= {"sources": list[str], "shapes": dict[str, list[int]]}
OPTIONAL = {"refused": str, "against_sources": list[str], "views": list[dict[str, Any]]}
OPTIONAL |= {"files": dict[str, dict[str, Any]]}
#: Arrays of all sums.
ALWAYS = {"totals", "claims", "adjusted", "gaps", "metrics", "mean", "covariance", "decided"}
ALWAYS |= {"unknown", "prefix_groups", "prefix_keys", "ties", "lengths"}


def save_sums(sums: ListSums, folder: Path) -> None:
    """Write sums to a folder that does not exist or is empty; it is complete or absent.

    Of several processes that write to one folder at the same time, one succeeds.
    """
    target = resolved(folder)
    taken = DataError(f"{folder} must be a new or empty folder to write sums to")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise taken
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep_folders(target)
    work, lock = work_folder(target)
    try:
        _write(sums, work)
        with suppress(OSError):
            target.rmdir()  # only an empty one
        try:
            os.rename(work, target)
        except OSError:
            if target.exists():  # another process was faster
                raise taken from None
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if lock is not None:
            os.close(lock)


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
        "files": file_digests(folder),
    }
    with open(folder / "plan.json", "wb") as file:
        file.write(sealed(json.dumps(stored, indent=1).encode() + b"\n"))
        file.flush()
        os.fsync(file.fileno())


def _write_views(sums: ListSums, path: Path, shapes: dict[str, list[int]]) -> None:
    """Write the sums over some people of each list, and note the shapes of their arrays."""
    flat: dict[str, np.ndarray] = {}
    for at, view in enumerate(sums.views.values()):
        for name, values in view.sums.items():
            shapes[f"{at}/{name}"] = list(values.shape)
            flat[f"{at}/{name}"] = values.ravel()
    if flat:
        _write_table(path, _ragged(flat))


def _read_views(files: "_SumsFiles") -> dict[View, SumsView]:
    """Read the sums over some people; the first format has none."""
    stored, n_groups = files.document, files.plan.n_groups
    views = stored.get("views", [])
    table = _read_table(files, "views.parquet") if views else {"value": np.zeros(0)}
    arrays: list[dict[str, np.ndarray]] = [{} for _ in views]
    start = 0
    with files.reading("views.parquet"):
        values = _numbers(table["value"])
        for name, shape in stored["shapes"].items():
            at, slash, own = name.partition("/")
            if slash:
                end = start + int(np.prod(shape))
                found = arrays[int(at)][own] = values[start:end].reshape(shape)
                _check_groups(own, found, 2 if views[int(at)]["view"][0] else n_groups)
                start = end
        return {
            View(tuple(given["view"][0]), *given["view"][1:]): SumsView(
                sums, _ascending(given["lengths"], least=0)
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


class _SumsFiles(SavedFiles):
    """The files of stored sums, each compared with its digest from format 6 on."""

    manifest = "plan.json"

    def _document(self) -> dict[str, Any]:
        path = self.folder / self.manifest
        if not path.exists():
            raise FormatError(
                f"{str(self.folder)!r} must be a folder written by ListSums.save, and it has no "
                f"{self.manifest}"
            )
        document, has_digest = self._read_manifest()
        with self.reading(self.manifest):
            self.plan = SumsPlan.from_json(document["plan"], repr(str(path)))
            for name, kind in (REQUIRED | OPTIONAL).items():
                if (name in REQUIRED or name in document) and not fits(document[name], kind):
                    raise DataError(f"{name} has another type")
            if min([0, *(size for shape in document["shapes"].values() for size in shape)]) < 0:
                raise DataError("a shape is negative")
        digests = has_digest and "files" in document
        if document["plan"]["format"] >= WITH_DIGESTS and not digests:
            raise FormatError(f"{str(path)!r} is damaged: it has no digests")
        return dict(document)

    @contextmanager
    def reading(self, name: str) -> Iterator[None]:
        """Raise `FormatError` with the name of a file for whatever its contents break."""
        try:
            yield
        except FormatError:
            raise
        except Exception as error:  # whatever pyarrow and NumPy make of damaged contents
            path = str(self.folder / name)
            raise FormatError(f"{path!r} is damaged or incomplete: {error!r}") from error


def load_sums(folder: Path) -> ListSums:
    """Read sums; what is missing or damaged raises `FormatError` with its name."""
    files = _SumsFiles(folder)
    plan, stored = files.plan, files.document
    sums = _read_arrays(files)
    kept, rare = (_read_sample(files, f"{name}.parquet") for name in ("kept", "rare"))
    moved = kept.take(np.zeros(0, dtype=np.int64))
    if files.has("moved.parquet"):  # from format 4 on
        moved = _read_sample(files, "moved.parquet")
    extremes, views = _read_extremes(files), _read_views(files)
    with files.reading(files.manifest):
        recurrence = _read_people(files)
        people = {tuple(row[:-1]): row[-1] for row in stored["people"]}
        found = ListSums(
            plan, stored["n_rows"], stored["n_lists"], sums, _ascending(stored["lengths"]), people,
            kept, rare, extremes, moved, tuple(stored["sources"]), views,
            stored.get("refused", ""), tuple(stored.get("against_sources", ())),
            recurrence,
        )  # fmt: skip
        _check(found, stored["plan"]["format"])
    return found


def _check(sums: ListSums, version: int) -> None:
    """Raise unless the numbers of lists and people belong together."""
    plan, counts = sums.plan, sums.sums["lengths"][:, 0]
    if counts.sum() != sums.n_lists or counts @ sums.lengths != sums.n_rows:
        raise DataError("the lengths of the lists differ from the numbers of rows and lists")
    widths = [len(labels) for labels in plan.groups.values()]
    for codes, n_people in sums.people.items():
        known = len(codes) == len(widths) and all(
            -1 <= code < width for code, width in zip(codes, widths, strict=True)
        )
        if not known or n_people < 0:
            raise DataError("people must be counted by the groups of the plan")
    missing = set(plan.views) - set(sums.views) if version >= 5 else set()
    filled = (sums.sums["totals"] != 0).sum(axis=(0, 2)).tolist()
    empty = [name for name, some in zip(plan.group_names, filled, strict=True) if not some]
    if not set(sums.views) <= set(plan.views) or any(v[:2] not in empty for v in missing):
        raise DataError("views must be those of the plan")
    parts: list[Any] = [sums, *sums.views.values()]
    for each in parts:
        if len(each.lengths) != len(each.sums["lengths"]):
            raise DataError("there must be one count for each length of lists")


def _read_arrays(files: _SumsFiles) -> dict[str, np.ndarray]:
    """Read the sums over everyone."""
    plan, stored = files.plan, files.document
    buckets, long = (_read_table(files, f"{name}.parquet") for name in ("buckets", "prefixes"))
    sums = {}
    for name, shape in stored["shapes"].items():
        if "/" in name:
            continue
        with files.reading("buckets.parquet" if name in BUCKETED else "prefixes.parquet"):
            if name in BUCKETED:
                width = int(np.prod(shape[1:]))
                columns = [_numbers(buckets[f"{name}/{at}"]) for at in range(width)]
                flat = np.stack(columns, axis=1) if columns else np.zeros((shape[0], 0))
            else:
                flat = _numbers(long["value"][long["name"] == name])
            values = np.ascontiguousarray(flat.reshape(shape))
            if name in BUCKETED and len(values) != BUCKETS:
                raise DataError(f"{name} must have {BUCKETS} rows")
            _check_groups(name, values, plan.n_groups)
            sums[name] = values
    with files.reading(files.manifest):
        if not sums.keys() >= ALWAYS:
            raise DataError(f"shapes lacks {listed(sorted(ALWAYS - sums.keys()))}")
    sums.setdefault("undecided", np.zeros(plan.n_decisions))
    sums.setdefault("moved", np.zeros(2))
    if "changes" in sums:  # by default another score of the same rows
        same = [stored["n_rows"], stored["n_lists"], stored["n_lists"]]
        sums.setdefault("against", np.array(same, dtype=np.float64))
    return sums


def _check_groups(name: str, values: np.ndarray, n_groups: int) -> None:
    """Raise unless the axes of an array that run over groups have their number."""
    if name == "margins" and values.shape[1:] != (7,):
        raise DataError("margins must have seven columns")
    for axis in GROUP_AXES.get(name, ()):
        if values.shape[axis] != n_groups + (name == "lengths"):
            raise DataError(f"{name} must have the groups of the plan")


def _numbers(values: np.ndarray) -> np.ndarray:
    """Return numbers as they are; text and missing values are an error."""
    if values.dtype.kind not in "fiu":
        raise DataError(f"numbers are expected, got {values.dtype}")
    return values


def _ascending(values: list[int] | np.ndarray, least: int = 1) -> np.ndarray:
    """Return ascending lengths, of views also that of lists in which they have nobody."""
    found = np.array(values, dtype=np.int64)
    if found.ndim != 1 or (np.diff(found) <= 0).any() or (found < least).any():
        raise DataError(f"lengths must be ascending numbers from {least} on")
    return found


def _read_extremes(files: _SumsFiles) -> tuple[Extremes, ...]:
    table, name = _read_table(files, "extremes.parquet"), "extremes.parquet"
    plan, found = files.plan, []
    with files.reading(name):
        for at, key in enumerate(plan.keys):
            rows = np.flatnonzero(table["key"] == at)
            n_targets = sum(own == key for _, own, _ in plan.targets)
            widths = {"differences": int(plan.sizes[at]), "gaps": n_targets}
            wide = [
                _numbers(np.array([table[n][row] for row in rows.tolist()]).reshape(-1, width))
                for n, width in widths.items()
            ]
            if any(len(each) != len(rows) for each in wide):
                raise DataError(f"{listed(widths)} must have a value for each group and gap")
            found.append(
                Extremes(
                    table["list"][rows].astype(np.uint64), _labels(table["label"][rows]),
                    _numbers(table["size"])[rows], *wide,
                )
            )  # fmt: skip
    return tuple(found)


def _read_people(files: _SumsFiles) -> Recurrence | None:
    """Read the people of several rows; before format 6, and without ids, there may be none."""
    stored = files.document.get("recurrence")
    if stored is None:
        return None
    unnamed, sampled = stored
    table = _read_table(files, "people.parquet")
    with files.reading("people.parquet"):
        keys, rows = table["key"].astype(np.uint64), _numbers(table["rows"]).astype(np.int64)
        if (keys[1:] <= keys[:-1]).any() or (rows < 1).any():
            raise DataError("people must have ascending keys and at least one row each")
    if not (fits(unnamed, int) and unnamed >= 0 and fits(sampled, bool)):
        raise DataError("recurrence must be a number of rows and whether people are sampled")
    return Recurrence(keys, rows, unnamed, sampled)


def _read_table(files: _SumsFiles, name: str) -> dict[str, np.ndarray]:
    pa, parquet = require("pyarrow", "data"), require("pyarrow.parquet", "data")
    raw = files.read(name)
    with files.reading(name):
        table = parquet.read_table(pa.BufferReader(raw))
        return {column: table[column].to_numpy() for column in table.column_names}


def _labels(texts: np.ndarray) -> np.ndarray:
    found = np.empty(len(texts), dtype=object)
    parsed = [json.loads(text) for text in texts.tolist()]
    found[:] = [tuple(x) if isinstance(x, list) else x for x in parsed]
    return found


def _read_sample(files: _SumsFiles, path: str) -> ListSample:
    table, groups = _read_table(files, path), list(files.plan.groups.values())
    with files.reading(path):
        at = table["list"]
        if len(at) and (at[0] != 0 or not np.isin(np.diff(at), (0, 1)).all()):
            raise DataError("the rows of each list must be together")
        sizes = np.bincount(at) if len(at) else np.zeros(0, dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        first = offsets[:-1]
        columns = {}
        for column, values in table.items():
            if column.startswith("column "):
                text = values.dtype.kind == "O"
                name = column.removeprefix("column ")
                values = _labels(values) if text else values
                columns[name] = values if name.startswith("outcome ") else _numbers(values)
        codes = [table[f"code {at}"] for at in range(len(groups))]
        for each, labels in zip(codes, groups, strict=True):
            if each.dtype.kind != "i" or ((each < -1) | (each >= len(labels))).any():
                raise DataError("codes must be those of the groups of the plan")
        return ListSample(
            table["key"][first].astype(np.uint64),
            _labels(table["label"][first]),
            offsets,
            np.stack(codes, axis=1) if codes else np.zeros((int(offsets[-1]), 0), dtype=np.int64),
            columns,
        )
