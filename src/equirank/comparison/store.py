"""A folder of finished cells, from which an interrupted comparison continues."""

import json
import os
import sys
import time
import types
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.metric import Metric
from ..io.files import replacing
from ..rankers.bridges.external_ranker import ExternalRanker
from .cell import Cell, Groups

__all__ = ["Store", "cell_key", "data_digest", "describe", "versions"]


FORMAT_VERSION = 1
#: Seconds after which an unfinished file is removed.
OLD = 3600.0


def cell_key(parts: dict[str, Any]) -> str:
    """Return a hash of method, parameters, data, fold, seed, metrics and versions.

    Examples
    --------
    >>> cell_key({"seed": 0}) == cell_key({"seed": 0})
    True
    >>> cell_key({"seed": 0}) == cell_key({"seed": 1})
    False
    """
    text = json.dumps(parts | {"format": FORMAT_VERSION}, sort_keys=True)
    return blake2b(text.encode(), digest_size=20).hexdigest()


class Store:
    """A folder of cells; files are written under another name and renamed when complete.

    Errors are not stored, so a failed method is run again. A file with a wrong checksum is ignored.

    Parameters
    ----------
    folder : path
        Created if missing.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise DataError(f"store must be a folder, got the file {str(folder)!r}") from None
        for left in self.folder.glob(".*.partial"):
            if time.time() - left.stat().st_mtime > OLD:
                left.unlink(missing_ok=True)

    def read(self, key: str) -> Cell | None:
        """Return a finished cell, or None."""
        try:
            document = json.loads((self.folder / f"{key}.json").read_bytes())
            if document["digest"] != _digest(document["cell"]):
                return None
            cell = document["cell"]
            return Cell(
                {name: np.array(v, dtype=np.float64) for name, v in cell["values"].items()},
                {name: float("nan" if v is None else v) for name, v in cell["summary"].items()},
                {name: _groups(v) for name, v in cell["groups"].items()},
                cell["fit_seconds"],
                cell["other_seconds"],
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def write(self, key: str, cell: Cell, about: dict[str, Any]) -> None:
        """Store a finished cell; ``about`` describes it for readers of the file."""
        if cell.error:
            return
        body = {
            "values": {name: _listed(v) for name, v in cell.values.items()},
            "summary": {name: _listed([v])[0] for name, v in cell.summary.items()},
            "groups": {
                name: asdict(v) | {"values": _listed(v.values)} for name, v in cell.groups.items()
            },
            "fit_seconds": cell.fit_seconds,
            "other_seconds": cell.other_seconds,
        }
        document = {"about": about, "cell": body, "digest": _digest(body)}
        with replacing(self.folder / f"{key}.json") as file:
            file.write(json.dumps(document, allow_nan=False).encode() + b"\n")


def _digest(body: Any) -> str:
    return blake2b(json.dumps(body, sort_keys=True).encode(), digest_size=16).hexdigest()


def _listed(values: Any) -> list[Any]:
    """Return numbers for JSON: None for NaN, text for infinity."""
    numbers = np.asarray(values, dtype=np.float64).tolist()
    return [None if v != v else str(v) if v in (np.inf, -np.inf) else v for v in numbers]


def _groups(stored: dict[str, Any]) -> Groups:
    values = np.array(stored["values"], dtype=np.float64)
    return Groups([str(label) for label in stored["labels"]], values.tolist())


PLAIN = (bool, int, float, complex, str, bytes, type(None))


def describe(value: Any, name: str = "estimator") -> Any:
    """Return a description of an estimator or a parameter for JSON.

    Estimators are described by class and parameters, arrays and data by a hash, functions by their
    code. Fitted attributes are ignored, except those of models that are taken as they are.

    Raises
    ------
    DataError
        If a value has no stable form; the message names the parameter.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> describe(Ridge(alpha=2.0))["params"]["alpha"]
    '2.0'
    """
    if isinstance(value, (*PLAIN, Metric, np.generic, np.dtype)):
        return repr(value)
    if isinstance(value, np.ndarray) or hasattr(value, "tocsr"):
        return {"array": _array_digest(value)}
    if isinstance(value, RankingData):
        return {"data": data_digest(value)}
    if isinstance(value, (list, tuple)):
        return {
            type(value).__name__: [describe(each, f"{name}[{i}]") for i, each in enumerate(value)]
        }
    if isinstance(value, (set, frozenset)):
        return {"set": sorted(json.dumps(describe(each, name)) for each in value)}
    if isinstance(value, Mapping):
        pairs = [[describe(k, name), describe(v, f"{name}[{k!r}]")] for k, v in value.items()]
        return {"mapping": sorted(pairs, key=json.dumps)}
    if isinstance(value, type):
        return {"class": _path(value)}
    if isinstance(value, ExternalRanker) and value.is_prefit:
        return {"class": _path(type(value)), "prefit": value.model_digest()}
    if hasattr(value, "get_params"):
        given = value.get_params(deep=False)
        params = {key: describe(v, f"{name}.{key}") for key, v in sorted(given.items())}
        return {"class": _path(type(value)), "params": params}
    return _other(value, name)


def _other(value: Any, name: str) -> Any:
    """Return a description of a function, dataclass, frame or other object."""
    if isinstance(value, types.FunctionType):
        closed = [cell.cell_contents for cell in value.__closure__ or ()]
        inner = [describe(each, name) for each in (value.__defaults__, closed)]
        return {"function": _path(value), "code": _code(value.__code__), "held": inner}
    if isinstance(value, (types.BuiltinFunctionType, np.ufunc)):
        return {"function": getattr(value, "__qualname__", value.__name__)}
    if is_dataclass(value):
        parts = {f.name: describe(getattr(value, f.name), name) for f in fields(value)}
        return {"class": _path(type(value)), "fields": parts}
    if hasattr(value, "to_numpy"):
        columns = [str(each) for each in getattr(value, "columns", ())]
        return {"frame": columns, "array": _array_digest(np.asarray(value.to_numpy()))}
    if isinstance(value, partial):
        parts = {"of": value.func, "args": value.args, "words": value.keywords}
        return {"partial": describe(parts, name)}
    if isinstance(value, types.MethodType):
        return {"method": value.__name__, "of": describe(value.__self__, name)}
    held = getattr(value, "__dict__", None)
    if held is not None and not isinstance(value, types.ModuleType):
        parts = {key: describe(v, f"{name}.{key}") for key, v in sorted(held.items())}
        return {"class": _path(type(value)), "fields": parts}
    raise DataError(
        f"{name} must have a stable form to be stored, got {type(value).__name__}; omit store"
    )


def _path(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _code(code: types.CodeType) -> str:
    digest = blake2b(digest_size=16)
    digest.update(code.co_code + repr((code.co_names, code.co_varnames)).encode())
    for constant in code.co_consts:
        inner = isinstance(constant, types.CodeType)
        digest.update((_code(constant) if inner else repr(constant)).encode())
    return digest.hexdigest()


def _array_digest(values: Any) -> str:
    """Return a hash of all values of a dense or sparse array."""
    if hasattr(values, "tocsr"):
        csr = values.tocsr()
        return "".join(_array_digest(part) for part in (csr.data, csr.indices, csr.indptr))
    digest = blake2b(f"{values.dtype.str}{values.shape}".encode(), digest_size=16)
    if values.dtype == object:
        digest.update(repr(values.tolist()).encode())
    elif values.dtype.kind in "fiub":
        digest.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    else:
        digest.update(values.tobytes())
    return digest.hexdigest()


def data_digest(data: RankingData) -> str:
    """Return a hash of all data; unlike `RankingData.fingerprint`, of every value of X."""
    parts = [data.fingerprint(), repr((data.feature_names, data.max_grade))]
    parts.append("" if data.X is None else _array_digest(data.X))
    parts.append("" if data.rows is None else _array_digest(data.rows))
    return blake2b("|".join(parts).encode(), digest_size=16).hexdigest()


def versions(description: Any) -> dict[str, str]:
    """Return the version of each package whose classes or functions a description names."""
    found = {"equirank"}

    def walk(part: Any) -> None:
        if isinstance(part, dict):
            for key in ("class", "function"):
                if isinstance(part.get(key), str):
                    found.add(part[key].split(".")[0])
            for each in part.values():
                walk(each)
        elif isinstance(part, list):
            for each in part:
                walk(each)

    walk(description)
    return {name: str(getattr(sys.modules.get(name), "__version__", "")) for name in sorted(found)}
