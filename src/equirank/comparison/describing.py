"""What a method is, as text that stays the same from run to run: the ground of a cell's key."""

import json
import sys
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.metric import Metric

__all__ = ["data_digest", "describe", "versions"]

PLAIN = (bool, int, float, complex, str, bytes, type(None))


def describe(value: Any, name: str = "estimator") -> Any:
    """Describe an estimator or one of its parameters as plain JSON.

    Estimators become their class and their parameters, arrays and data a hash, functions their
    code. What an estimator has learned is not looked at.

    Raises
    ------
    DataError
        Naming the parameter, where a value has no stable form.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> describe(Ridge(alpha=2.0))["params"]["alpha"]
    '2.0'
    """
    if isinstance(value, (*PLAIN, Metric, np.generic, np.dtype)):
        return repr(value)
    if isinstance(value, np.ndarray) or hasattr(value, "tocsr"):
        return {"array": _digest(value)}
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
    if hasattr(value, "get_params"):
        given = value.get_params(deep=False)
        params = {key: describe(v, f"{name}.{key}") for key, v in sorted(given.items())}
        return {"class": _path(type(value)), "params": params}
    return _other(value, name)


def _other(value: Any, name: str) -> Any:
    """Describe functions, dataclasses, frames, and plain objects by what they hold."""
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
        return {"frame": columns, "array": _digest(np.asarray(value.to_numpy()))}
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
        f"{name} must have a stable form to be stored, and {type(value).__name__} has none: "
        "leave store out"
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


def _digest(values: Any) -> str:
    """Hash a whole array, whichever kind."""
    if hasattr(values, "tocsr"):
        csr = values.tocsr()
        return "".join(_digest(part) for part in (csr.data, csr.indices, csr.indptr))
    digest = blake2b(f"{values.dtype.str}{values.shape}".encode(), digest_size=16)
    if values.dtype == object:
        digest.update(repr(values.tolist()).encode())
    elif values.dtype.kind in "fiub":
        digest.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    else:
        digest.update(values.tobytes())
    return digest.hexdigest()


def data_digest(data: RankingData) -> str:
    """Hash all of the data; unlike `RankingData.fingerprint`, every value of X counts."""
    parts = [data.fingerprint(), repr((data.feature_names, data.max_grade))]
    parts.append("" if data.X is None else _digest(data.X))
    parts.append("" if data.rows is None else _digest(data.rows))
    return blake2b("|".join(parts).encode(), digest_size=16).hexdigest()


def versions(description: Any) -> dict[str, str]:
    """Give the version of each package that a description names a class of."""
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
