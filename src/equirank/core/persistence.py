"""Saving and loading: a folder with ``model.json`` and plain arrays, without pickle."""

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import date, datetime
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np

from .data import RankingData
from .environment import library_version
from .errors import DataError, FormatError
from .metric import Metric
from .pair_cost import PairCost
from .registry import parse_metric, public_class

__all__ = ["FORMAT_VERSION", "load", "save", "saved_extra"]


FORMAT_VERSION = 1


class OwnFiles(Protocol):
    """A model with files of its own format.

    Parameters named in ``file_params`` are loaded as None unless these files restore them. With
    ``files_hold_classes`` the files are loaded by ``_load_files(folder, classes)``, where the
    classes are those passed to `load`.
    """

    def _save_files(self, folder: Path) -> None: ...

    def _load_files(self, folder: Path) -> None: ...


def save(
    model: Any,
    folder: str | Path,
    *,
    extra: dict[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
) -> None:
    """Write a model's parameters and learned attributes into a folder.

    Files are written to a temporary folder, which is renamed at the end. An interrupted save leaves
    an existing folder as it was.

    Parameters
    ----------
    model : Ranker or Reranker
        `load` finds its class by name in the public lists, or among the classes passed to it. A
        class with its own file format is an `OwnFiles`. Fitted models among its attributes are
        saved in subfolders.
    folder : path
        Target folder. An existing model folder is replaced; any other existing folder is an error.
    extra : dict, optional
        Additional JSON values; `saved_extra` returns them.
    files : mapping of str to str, optional
        Additional text files by name, such as a model card.
    """
    target = Path(folder)
    if target.exists() and not (target / "model.json").is_file():
        raise DataError(f"folder must be new or a saved model, and {str(target)!r} is neither")
    attributes, arrays, parts = {}, {}, {}
    for name, value in vars(model).items():
        if not name.endswith("_") or name.startswith("_"):
            continue
        if _is_model(value) and name not in getattr(model, "file_attributes", ()):
            attributes[name] = {"model": name}
            parts[name] = value
        elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            arrays[name] = value
        elif isinstance(value, np.ndarray):
            attributes[name] = {"array": _plain(name, value.tolist())}
        elif name not in getattr(model, "file_attributes", ()):
            attributes[name] = {"value": _plain(name, value)}
    document = {
        "format_version": FORMAT_VERSION,
        "equirank": library_version(),
        "class": type(model).__name__,
        "params": {
            k: None if k in getattr(model, "file_params", ()) else _plain(k, v)
            for k, v in model.get_params(deep=False).items()
        },
        "attributes": attributes,
        "arrays": sorted(arrays),
        "extra": extra or {},
    }
    text = json.dumps(document, indent=1, sort_keys=True, allow_nan=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        work.chmod(0o777 & ~_umask())
        (work / "model.json").write_text(text + "\n", encoding="utf-8")
        if arrays:
            with open(work / "arrays.npz", "wb") as file:
                write: Any = np.savez  # its type takes the arrays for its options
                write(file, **arrays)  # numbers only, so nothing is pickled
        for name, part in parts.items():
            save(part, work / "models" / name)
        if hasattr(model, "_save_files"):
            model._save_files(work)
        for name, content in (files or {}).items():
            (work / name).write_text(content, encoding="utf-8")
        _replace_folder(work, target)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def load(folder: str | Path, *, classes: Iterable[type] = ()) -> Any:
    """Load a saved ranker, re-ranker or policy.

    Parameters
    ----------
    folder : path
        A folder written by ``save``, by this version or an older one.
    classes : iterable of classes, optional
        Your own classes that the folder may name (rankers, pair costs); others are looked up in
        the public lists. Data that was a parameter is not saved and becomes None.

    Raises
    ------
    FormatError
        If the folder is not a model, is damaged, or was written by a newer version.

    Examples
    --------
    >>> import equirank
    >>> equirank.load("no such folder")
    Traceback (most recent call last):
    ...
    equirank.core.errors.FormatError: 'no such folder' is not a saved model: it has no model.json
    """
    document = _document(Path(folder))
    classes = list(classes)
    try:
        own = {kind.__name__: kind for kind in classes}
        kind = _model_class(str(document["class"]), own)
        params = {key: _lively(value, own) for key, value in document["params"].items()}
        model = kind(**params)
        for key, value in document["attributes"].items():
            part = "model" in value
            setattr(model, key, _part(folder, key, classes) if part else _attribute(value, own))
        for key, value in _arrays(Path(folder), document["arrays"]).items():
            setattr(model, key, value)
        if hasattr(model, "_load_files"):
            more = [classes] if getattr(kind, "files_hold_classes", False) else []
            model._load_files(Path(folder), *more)
    except FormatError:
        raise  # of a part, which says where
    except DataError as error:
        raise FormatError(f"{str(folder)!r} cannot be read: {error}") from None
    except (
        KeyError, TypeError, AttributeError, ValueError, OSError, EOFError, BadZipFile, zlib.error,
    ) as error:  # fmt: skip
        raise FormatError(f"{str(folder)!r} is damaged: {error!r}") from error
    return model


def saved_extra(folder: str | Path) -> dict[str, Any]:
    """Return the additional values that were saved with a model.

    Raises
    ------
    FormatError
        If the folder is not a model, or was written by a newer version.
    """
    extra = _document(Path(folder)).get("extra")
    if not isinstance(extra, dict):
        raise FormatError(f"{str(folder)!r} is damaged: model.json has no table 'extra'")
    return extra


def _is_model(value: Any) -> bool:
    """Return whether a value is a model with its own ``save``."""
    return hasattr(value, "get_params") and hasattr(value, "save") and not isinstance(value, type)


def _part(folder: str | Path, name: str, classes: Iterable[type]) -> Any:
    """Load a nested model, saved under the name of the parameter or attribute."""
    if not name.isidentifier():
        raise DataError(f"{name!r} is not the name of a part")
    return load(Path(folder) / "models" / name, classes=classes)


def _document(folder: Path) -> dict[str, Any]:
    """Read model.json and check its format version."""
    path = folder / "model.json"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise FormatError(f"{str(folder)!r} is not a saved model: it has no model.json") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FormatError(f"{str(path)!r} is damaged: {error}") from None
    version = document.get("format_version") if isinstance(document, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FormatError(f"{str(path)!r} is not a saved model: it names no format_version")
    if version > FORMAT_VERSION:
        raise FormatError(
            f"{str(folder)!r} was saved by a newer equirank ({document.get('equirank')}, format "
            f"{version}); this one ({library_version()}) reads formats up to "
            f"{FORMAT_VERSION}: upgrade it"
        )
    return dict(document)


def _arrays(folder: Path, names: list[str]) -> dict[str, np.ndarray]:
    """Read the arrays that model.json names, all of which must exist."""
    if not names:
        return {}
    with (
        open(folder / "arrays.npz", "rb") as file,
        np.load(file, allow_pickle=False) as stored,
    ):
        return {name: stored[name] for name in names}


def _attribute(value: dict[str, Any], own: dict[str, type]) -> Any:
    if "array" in value:
        return np.array(_lively(value["array"], own), dtype=object)
    return _lively(value["value"], own)


def _plain(name: str, value: Any) -> Any:
    """Return a value for JSON, which `_lively` converts back."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.datetime64):
        return {"__date__": str(value)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, date):
        return {"__date__": value.isoformat()}
    if isinstance(value, np.ndarray):
        return {"__array__": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, tuple):
        return {"__tuple__": [_plain(name, part) for part in value]}
    if isinstance(value, list):
        return [_plain(name, part) for part in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(name, part) for key, part in value.items()}
    if isinstance(value, dict):
        return {"__pairs__": [[_plain(name, k), _plain(name, v)] for k, v in value.items()]}
    if isinstance(value, PairCost):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"__pair_cost__": type(value).__name__, "fields": _plain(name, parts)}
    if isinstance(value, Metric):
        return {"__metric__": repr(value)}
    if isinstance(value, RankingData):
        return {"__data__": value.fingerprint()}
    if hasattr(value, "get_params") and hasattr(value, "save"):
        given = {key: _plain(f"{name}__{key}", v) for key, v in value.get_params(False).items()}
        return {"__model__": type(value).__name__, "params": given}
    if isinstance(value, np.random.RandomState | np.random.Generator):
        raise DataError(f"{name} must be an integer or None to be saved, got {value!r}")
    raise DataError(f"{name} cannot be saved: {type(value).__name__} has no safe form")


def _lively(value: Any, own: dict[str, type]) -> Any:
    if isinstance(value, list):
        return [_lively(part, own) for part in value]
    if isinstance(value, dict):
        if set(value) == {"__date__"}:
            moment = datetime.fromisoformat(value["__date__"])
            return moment if "T" in value["__date__"] else moment.date()
        if set(value) == {"__pairs__"}:
            return {_lively(key, own): _lively(part, own) for key, part in value["__pairs__"]}
        if set(value) == {"__tuple__"}:
            return tuple(_lively(part, own) for part in value["__tuple__"])
        if set(value) == {"__array__", "dtype"}:
            return np.array(value["__array__"], dtype=np.dtype(value["dtype"]))
        if set(value) == {"__metric__"}:
            return parse_metric(value["__metric__"])
        if set(value) == {"__data__"}:
            return None  # data is not kept with a model, only its fingerprint
        if set(value) == {"__pair_cost__", "fields"}:
            kind = own.get(value["__pair_cost__"]) or public_class(value["__pair_cost__"])
            if not issubclass(kind, PairCost):
                raise DataError(f"{kind.__name__} is not a pair cost")
            return kind(**_lively(value["fields"], own))
        if set(value) == {"__model__", "params"}:
            return _model_class(value["__model__"], own)(**_lively(value["params"], own))
        return {key: _lively(part, own) for key, part in value.items()}
    return value


def _model_class(name: str, own: dict[str, type]) -> Any:
    """Return a model class by name, from the caller's classes or the public lists."""
    kind = own[name] if name in own else public_class(name)
    if not (hasattr(kind, "get_params") and hasattr(kind, "save")):
        raise DataError(f"{name} is not a class of models")
    return kind


def _replace_folder(work: Path, target: Path) -> None:
    if not target.exists():
        os.rename(work, target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
    try:
        os.rename(target, old / "model")
        try:
            os.rename(work, target)
        except BaseException:
            os.rename(old / "model", target)
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
