"""save and load: a folder with ``model.json`` beside plain arrays; nothing is ever unpickled."""

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from .errors import DataError, FormatError
from .names import public_class

__all__ = ["FORMAT_VERSION", "load", "save"]

FORMAT_VERSION = 1


def save(model: Any, folder: str | Path, *, extra: dict[str, Any] | None = None) -> None:
    """Write a model's parameters and learned attributes into a folder.

    Everything is written to a temporary folder beside it and renamed at the end, so that an
    interrupted save leaves nothing half-written and an existing folder stays whole until then.

    Parameters
    ----------
    model : Ranker or Reranker
        `load` finds its class by name in the public list, or among the ones it is given. A class
        with files of its own format defines ``_save_files(folder)`` and ``_load_files(folder)``;
        parameters it names in ``file_params`` come back as None unless those files restore them.
    folder : path
        Where to; an existing model folder is replaced, any other existing folder is refused.
    extra : dict, optional
        Further JSON values to keep.
    """
    target = Path(folder)
    if target.exists() and not (target / "model.json").is_file():
        raise DataError(f"folder must be new or a saved model, and {str(target)!r} is neither")
    attributes, arrays = {}, {}
    for name, value in vars(model).items():
        if not name.endswith("_") or name.startswith("_"):
            continue
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            arrays[name] = value
        elif isinstance(value, np.ndarray):
            attributes[name] = {"array": _plain(name, value.tolist())}
        elif name not in getattr(model, "file_attributes", ()):
            attributes[name] = {"value": _plain(name, value)}
    document = {
        "format_version": FORMAT_VERSION,
        "equirank": _version(),
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
                np.savez(file, allow_pickle=False, **arrays)
        if hasattr(model, "_save_files"):
            model._save_files(work)
        _replace_folder(work, target)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def load(folder: str | Path, *, classes: Iterable[type] = ()) -> Any:
    """Read what ``save`` wrote: a ranker, a re-ranker or a policy, ready to use.

    Parameters
    ----------
    folder : path
        A folder written by ``save``, by this version or an older one.
    classes : iterable of classes, optional
        Classes of your own that the folder may name; all others are looked up in the public list.

    Raises
    ------
    FormatError
        Where the folder is not a model, is damaged, or was written by a newer version.

    Examples
    --------
    >>> import equirank
    >>> equirank.load("no such folder")
    Traceback (most recent call last):
    ...
    equirank.core.errors.FormatError: 'no such folder' is not a saved model: it has no model.json
    """
    document = _document(Path(folder))
    try:
        own = {kind.__name__: kind for kind in classes}
        name = str(document["class"])
        kind = own[name] if name in own else public_class(name)
        if not (hasattr(kind, "get_params") and hasattr(kind, "save")):
            raise DataError(f"{name} is not a class of models")
        params = {key: _lively(value) for key, value in document["params"].items()}
        model = kind(**params)
        for key, value in document["attributes"].items():
            setattr(model, key, _attribute(value))
        for key, value in _arrays(Path(folder), document["arrays"]).items():
            setattr(model, key, value)
        if hasattr(model, "_load_files"):
            model._load_files(Path(folder))
    except DataError as error:
        raise FormatError(f"{str(folder)!r} cannot be read: {error}") from None
    except (
        KeyError, TypeError, AttributeError, ValueError, OSError, EOFError, BadZipFile, zlib.error,
    ) as error:  # fmt: skip
        raise FormatError(f"{str(folder)!r} is damaged: {error!r}") from error
    return model


def _document(folder: Path) -> dict[str, Any]:
    """Read model.json and check that this version can."""
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
            f"{version}); this one ({_version()}) reads formats up to {FORMAT_VERSION}: upgrade it"
        )
    return dict(document)


def _arrays(folder: Path, names: list[str]) -> dict[str, np.ndarray]:
    """Read the arrays that model.json names, each of which must be there."""
    if not names:
        return {}
    with (
        open(folder / "arrays.npz", "rb") as file,
        np.load(file, allow_pickle=False) as stored,
    ):
        return {name: stored[name] for name in names}


def _attribute(value: dict[str, Any]) -> Any:
    if "array" in value:
        return np.array(_lively(value["array"]), dtype=object)
    return _lively(value["value"])


def _plain(name: str, value: Any) -> Any:
    """Make a value JSON can hold and `_lively` gives back unchanged."""
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
    if isinstance(value, np.random.RandomState | np.random.Generator):
        raise DataError(f"{name} must be an integer or None to be saved, got {value!r}")
    raise DataError(f"{name} cannot be saved: {type(value).__name__} has no safe form")


def _lively(value: Any) -> Any:
    if isinstance(value, list):
        return [_lively(part) for part in value]
    if isinstance(value, dict):
        if set(value) == {"__date__"}:
            moment = datetime.fromisoformat(value["__date__"])
            return moment if "T" in value["__date__"] else moment.date()
        if set(value) == {"__tuple__"}:
            return tuple(_lively(part) for part in value["__tuple__"])
        if set(value) == {"__array__", "dtype"}:
            return np.array(value["__array__"], dtype=np.dtype(value["dtype"]))
        return {key: _lively(part) for key, part in value.items()}
    return value


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


def _version() -> str:
    import importlib

    return str(importlib.import_module("equirank").__version__)
