"""Saving and loading: a folder with ``model.json`` and plain arrays, without pickle."""

import glob
import hashlib
import io
import json
import os
import secrets
import shutil
import stat
import struct
import time
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
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
from .registry import external_class, external_name, find, parse_metric, public_class

__all__ = [
    "FORMAT_VERSION",
    "SavedFiles",
    "check_zip",
    "file_digests",
    "identity",
    "is_saved",
    "lively",
    "load",
    "load_with_extra",
    "parse_json",
    "plain",
    "resolved",
    "save",
    "seal",
    "sealed",
    "sweep_folders",
    "work_folder",
]

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Format 2 added the digests of all files; format 1 has none.
FORMAT_VERSION = 2
MANIFEST = "model.json"
#: Largest size of a JSON file, in bytes.
MAX_JSON = 1 << 28
#: Most levels of lists and objects in a JSON file.
MAX_DEPTH = 200
#: Most readings of a folder that another process replaces at the same time.
ATTEMPTS = 100
#: Seconds after which an unfinished folder is removed where the system has no locks.
OLD = 3600.0


class OwnFiles(Protocol):
    """A model with files of its own format.

    Parameters named in ``file_params`` are loaded as None unless these files restore them. With
    ``files_hold_classes`` the files are loaded by ``_load_files(files, classes)``, where the
    classes are those passed to `load`.
    """

    def _save_files(self, folder: Path) -> None: ...

    def _load_files(self, files: "SavedFiles") -> None: ...


class SavedFiles:
    """The files of a saved model; each is compared with its digest before it is returned.

    Folders of format 1 have no digests, so only the structure of their files can be checked.

    Parameters
    ----------
    folder : path
        The folder.
    expected : dict, optional
        Size and digest of its model.json, if it is part of another model.
    """

    #: The file with the digests of the others, and of itself.
    manifest = MANIFEST

    def __init__(self, folder: Path, expected: dict[str, Any] | None = None) -> None:
        self.folder = folder
        self._listed: dict[str, Any] | None = None if expected is None else {MANIFEST: expected}
        #: What identifies the model.json that was read; None if there is none.
        self.identity = identity(folder)
        self.document = self._document()
        self._listed = self.document.get("files") if self.checked else None

    @property
    def checked(self) -> bool:
        """Whether the folder has digests."""
        return "files" in self.document

    def has(self, name: str) -> bool:
        """Return whether the folder has a file or a part of this name."""
        if self._listed is None:
            return (self.folder / name).exists()
        return name in self._listed or f"{name}/{MANIFEST}" in self._listed

    def read(self, name: str, limit: int | None = None) -> bytes:
        """Return the contents of a file.

        Raises
        ------
        FormatError
            If the file is missing, too large, or not the one that was saved.
        """
        path = self.folder / name
        try:
            found = os.stat(path)
            if not stat.S_ISREG(found.st_mode):
                raise FormatError(f"{str(path)!r} is damaged: it is not a file")
            size = found.st_size
            listed = None if self._listed is None else self._listed.get(name)
            if self._listed is not None and not _is_entry(listed):
                raise FormatError(f"{str(path)!r} is damaged: {self.manifest} has no digest of it")
            if listed is not None and size != listed["size"]:
                raise FormatError(
                    f"{str(path)!r} is damaged: it must have {listed['size']} bytes, got {size}"
                )
            if limit is not None and size > limit:
                raise FormatError(f"{str(path)!r} must have at most {limit} bytes, got {size}")
            raw = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise FormatError(f"{str(self.folder)!r} is damaged: {name} is missing") from None
        except (OSError, MemoryError) as error:
            raise FormatError(f"{str(path)!r} cannot be read: {error}") from None
        if listed is not None and hashlib.sha256(raw).hexdigest() != listed["sha256"]:
            raise FormatError(
                f"{str(path)!r} is damaged: its contents differ from those that were saved"
            )
        return raw

    def read_json(self, name: str) -> Any:
        """Return the value of a JSON file."""
        return parse_json(self.read(name, MAX_JSON), repr(str(self.folder / name)))

    def load(self, name: str, classes: Iterable[type] = ()) -> Any:
        """Return the model in a subfolder."""
        expected = None
        if self._listed is not None:
            expected = self._listed.get(f"{name}/{MANIFEST}")
            if not _is_entry(expected):
                raise FormatError(f"{str(self.folder)!r} is damaged: it has no part {name!r}")
        return _load(SavedFiles(self.folder / name, expected), list(classes))

    def _document(self) -> dict[str, Any]:
        """Read model.json and check its digest and its format version."""
        if self.identity is None:
            raise FormatError(f"{str(self.folder)!r} is not a saved model: it has no {MANIFEST}")
        name = repr(str(self.folder / MANIFEST))
        document, has_digest = self._read_manifest()
        version = document.get("format_version") if isinstance(document, dict) else None
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise FormatError(f"{name} is not a saved model: it names no format_version")
        if version > FORMAT_VERSION:
            raise FormatError(
                f"{str(self.folder)!r} was saved by a newer equirank ({document.get('equirank')}, "
                f"format {version}); this one ({library_version()}) reads formats up to "
                f"{FORMAT_VERSION}: upgrade it"
            )
        if version > 1 and not (has_digest and isinstance(document.get("files"), dict)):
            raise FormatError(f"{name} is damaged: it has no digests")
        return dict(document)

    def _read_manifest(self) -> tuple[Any, bool]:
        """Return the value of the manifest, and whether it has a digest, which is then checked."""
        name = repr(str(self.folder / self.manifest))
        raw = self.read(self.manifest, MAX_JSON)
        has_digest = raw.startswith(SEAL)
        if has_digest and raw != sealed(b"{" + raw[len(SEAL) + 66 :]):
            raise FormatError(f"{name} is damaged: its contents differ from those that were saved")
        return parse_json(raw, name), has_digest


def parse_json(text: str | bytes, name: str) -> Any:
    """Return the value of a JSON text; ``name`` names it in the message of `FormatError`.

    Examples
    --------
    >>> parse_json('{"a": 1}', "the text")
    {'a': 1}
    >>> parse_json("[" * 100_000, "the text")
    Traceback (most recent call last):
    ...
    equirank.core.errors.FormatError: the text is damaged: it is nested too deeply
    """
    try:
        value = json.loads(text.decode("utf-8") if isinstance(text, bytes) else text)
    except RecursionError:
        raise FormatError(f"{name} is damaged: it is nested too deeply") from None
    except ValueError as error:
        raise FormatError(f"{name} is damaged: {error}") from None
    level: list[Any] = [[value]]
    for _ in range(MAX_DEPTH):
        parts = (part.values() if isinstance(part, dict) else part for part in level)
        level = [each for part in parts for each in part if isinstance(each, (dict, list))]
        if not level:
            return value
    raise FormatError(f"{name} is damaged: it is nested too deeply")


def check_zip(raw: bytes, name: str) -> None:
    """Raise `FormatError` if an archive is damaged or would unpack to more than its own size."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except (BadZipFile, ValueError, OSError, NotImplementedError, struct.error) as error:
        raise FormatError(f"{name} is damaged: {error}") from None
    if size > len(raw):
        raise FormatError(
            f"{name} is damaged: it must not be compressed, and {len(raw)} bytes unpack to {size}"
        )


SEAL = b'{\n "digest": "'


def sealed(text: bytes) -> bytes:
    """Return the text of a JSON object with its digest as the first entry."""
    return SEAL + hashlib.sha256(text).hexdigest().encode() + b'",' + text[1:]


def seal(document: Mapping[str, Any]) -> bytes:
    """Return the text of model.json: the document, and first the digest of its other lines."""
    others = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(others, indent=1, sort_keys=True, allow_nan=True)
    return sealed(text.encode() + b"\n")


def save(
    model: Any,
    folder: str | Path,
    *,
    extra: dict[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
) -> None:
    """Write a model's parameters and learned attributes into a folder.

    Files are written to a temporary folder beside the target. At the end it is renamed, or
    exchanged with an existing model in one step where the system can do this (Linux). Elsewhere
    `load` restores the earlier model if the process ends between the two renames. Temporary folders
    of processes that were killed are removed.

    Parameters
    ----------
    model : Ranker, Reranker or other model
        `load` finds its class by name in the public lists, or among the classes passed to it. A
        class with its own file format is an `OwnFiles`. Fitted models among its attributes are
        saved in subfolders. A fitted model of another library is saved as `as_ranker` takes it.
    folder : path
        Target folder. An existing model folder is replaced; any other existing folder is an error.
    extra : dict, optional
        Additional JSON values; `load_with_extra` returns them.
    files : mapping of str to str, optional
        Additional text files by name, such as a model card.
    """
    if not _is_model(model):
        model = find("as_ranker")(model, prefit=True)
    target = resolved(folder)
    _present(target)
    if target.exists() and not (target / MANIFEST).is_file():
        raise DataError(f"folder must be new or a saved model, and {str(target)!r} is neither")
    attributes, arrays, parts = _learned(model)
    document = {
        "format_version": FORMAT_VERSION,
        "equirank": library_version(),
        "class": type(model).__name__,
        "params": {
            k: None if k in getattr(model, "file_params", ()) else plain(k, v)
            for k, v in model.get_params(deep=False).items()
        },
        "attributes": attributes,
        "arrays": sorted(arrays),
        "extra": extra or {},
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep_folders(target)
    work, lock = work_folder(target)
    try:
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
        text = seal(document | {"files": file_digests(work)})
        if len(text) > MAX_JSON:
            raise DataError(
                f"the JSON values of {type(model).__name__} must have at most {MAX_JSON} bytes to "
                f"be saved, got {len(text)}"
            )
        with open(work / MANIFEST, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _put_in_place(work, target)
    finally:
        _present(target)
        shutil.rmtree(work, ignore_errors=True)
        if (target / MANIFEST).is_file():
            shutil.rmtree(work.with_suffix(".old"), ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _learned(
    model: Any,
) -> tuple[dict[str, dict[str, Any]], dict[str, np.ndarray], dict[str, Any]]:
    """Return the learned attributes of a model: as JSON, as arrays, and models of their own."""
    attributes: dict[str, dict[str, Any]] = {}
    arrays, parts = {}, {}
    own = getattr(model, "file_attributes", ())
    for name, value in vars(model).items():
        if not name.endswith("_") or name.startswith("_"):
            continue
        if _is_model(value) and name not in own:
            attributes[name] = {"model": name}
            parts[name] = value
        elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            arrays[name] = value
        elif isinstance(value, np.ndarray):
            attributes[name] = {"array": plain(name, value.tolist())}
        elif name not in own:
            attributes[name] = {"value": plain(name, value)}
    return attributes, arrays, parts


def load(folder: str | Path, *, classes: Iterable[type] = ()) -> Any:
    """Load a saved ranker, re-ranker or policy.

    Every file is compared with the digest that was saved with it before it is parsed. A folder that
    another process replaces at the same time is read anew, so a model never mixes two folders.

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

    Notes
    -----
    Folders of format 1 have no digests: a file that was cut short is found, but not a number that
    was changed.

    Examples
    --------
    >>> import equirank
    >>> equirank.load("no such folder")
    Traceback (most recent call last):
    ...
    equirank.core.errors.FormatError: 'no such folder' is not a saved model: it has no model.json
    """
    return load_with_extra(folder, classes=classes)[0]


def load_with_extra(
    folder: str | Path, *, classes: Iterable[type] = ()
) -> tuple[Any, dict[str, Any]]:
    """Load a saved model and the additional values that were saved with it.

    Raises
    ------
    FormatError
        As `load`.
    """
    classes, target = list(classes), resolved(folder)
    for attempt in range(ATTEMPTS):
        before = identity(_present(target))
        try:
            files = SavedFiles(_present(target))
            model = _load(files, classes)
            if files.checked or before == identity(_present(target)):
                return model, files.document.get("extra", {})
        except FormatError:
            # An inode may be used again within one tick of the clock, so damage is read thrice.
            same = attempt > 1 and before == identity(_present(target))
            if attempt == ATTEMPTS - 1 or same:
                raise
        time.sleep(0.001 * attempt)
    raise FormatError(f"{str(folder)!r} cannot be read: it is replaced all the time")


def is_saved(folder: str | Path) -> bool:
    """Return whether a folder contains a saved model."""
    return (_present(resolved(folder)) / MANIFEST).is_file()


def _load(files: SavedFiles, classes: list[type]) -> Any:
    """Load the model of one reading of a folder."""
    folder, document = files.folder, files.document
    try:
        own = {kind.__name__: kind for kind in classes}
        kind = _model_class(str(document["class"]), own)
        params = {key: lively(value, own) for key, value in document["params"].items()}
        former = getattr(kind, "former_params", {}).get(document["format_version"], {})
        model = kind(**{**former, **params})
        for key, value in document["attributes"].items():
            _check_name(key)
            part = "model" in value
            setattr(
                model, key, files.load(f"models/{key}", classes) if part else _attribute(value, own)
            )
        for key, value in _arrays(files, document["arrays"]).items():
            setattr(model, key, value)
        if hasattr(model, "_load_files"):
            more = [classes] if getattr(kind, "files_hold_classes", False) else []
            model._load_files(files, *more)
        if not isinstance(document.get("extra", {}), dict):
            raise DataError(f"{MANIFEST} has no table 'extra'")
    except FormatError:
        raise  # it names the file
    except DataError as error:
        raise FormatError(f"{str(folder)!r} cannot be read: {error}") from None
    except RecursionError:
        raise FormatError(
            f"{str(folder / MANIFEST)!r} is damaged: it is nested too deeply"
        ) from None
    except (
        KeyError, IndexError, TypeError, AttributeError, ValueError, OSError, EOFError, BadZipFile,
        zlib.error, OverflowError, MemoryError,
    ) as error:  # fmt: skip
        raise FormatError(f"{str(folder)!r} is damaged: {error!r}") from error
    return model


def _is_model(value: Any) -> bool:
    """Return whether a value is a model with its own ``save``."""
    return hasattr(value, "get_params") and hasattr(value, "save") and not isinstance(value, type)


def _check_name(name: Any) -> None:
    """Raise if a name is not that of a learned attribute, such as ``coef_``."""
    if not (isinstance(name, str) and name.isidentifier() and name.endswith("_")) or name[0] == "_":
        raise DataError(f"{name!r} is not the name of a learned attribute")


def _arrays(files: SavedFiles, names: list[str]) -> dict[str, np.ndarray]:
    """Read the arrays that model.json names, all of which must exist."""
    if not names:
        return {}
    for name in names:
        _check_name(name)
    raw, path = files.read("arrays.npz"), str(files.folder / "arrays.npz")
    check_zip(raw, repr(path))
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as stored:
            return {name: stored[name] for name in names}
    except Exception as error:  # whatever NumPy makes of a damaged file
        raise FormatError(f"{path!r} is damaged: {error!r}") from error


def _attribute(value: dict[str, Any], own: dict[str, type]) -> Any:
    if "array" in value:
        return np.array(lively(value["array"], own), dtype=object)
    return lively(value["value"], own)


def plain(name: str, value: Any) -> Any:
    """Return a value for JSON, which `lively` converts back."""
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
        return {"__tuple__": [plain(name, part) for part in value]}
    if isinstance(value, list):
        return [plain(name, part) for part in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain(name, part) for key, part in value.items()}
    if isinstance(value, dict):
        return {"__pairs__": [[plain(name, k), plain(name, v)] for k, v in value.items()]}
    if isinstance(value, PairCost):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"__pair_cost__": type(value).__name__, "fields": plain(name, parts)}
    if isinstance(value, Metric):
        return {"__metric__": repr(value)}
    if isinstance(value, RankingData):
        return {"__data__": value.fingerprint()}
    if hasattr(value, "get_params") and hasattr(value, "save"):
        given = {key: plain(f"{name}__{key}", v) for key, v in value.get_params(False).items()}
        return {"__model__": type(value).__name__, "params": given}
    external = external_name(value)
    if external is not None:
        given = {key: plain(f"{name}__{key}", v) for key, v in value.get_params().items()}
        return {"__external__": external, "params": given}
    if isinstance(value, np.random.RandomState | np.random.Generator):
        raise DataError(f"{name} must be an integer or None to be saved, got {value!r}")
    raise DataError(f"{name} cannot be saved: {type(value).__name__} has no safe form")


def lively(value: Any, own: dict[str, type]) -> Any:
    """Return the value that `plain` converted; ``own`` are the caller's classes by name."""
    if isinstance(value, list):
        return [lively(part, own) for part in value]
    if isinstance(value, dict):
        if set(value) == {"__date__"}:
            moment = datetime.fromisoformat(value["__date__"])
            return moment if "T" in value["__date__"] else moment.date()
        if set(value) == {"__pairs__"}:
            return {lively(key, own): lively(part, own) for key, part in value["__pairs__"]}
        if set(value) == {"__tuple__"}:
            return tuple(lively(part, own) for part in value["__tuple__"])
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
            return kind(**lively(value["fields"], own))
        if set(value) == {"__model__", "params"}:
            return _model_class(value["__model__"], own)(**lively(value["params"], own))
        if set(value) == {"__external__", "params"}:
            return external_class(value["__external__"])(**lively(value["params"], own))
        return {key: lively(part, own) for key, part in value.items()}
    return value


def _model_class(name: str, own: dict[str, type]) -> Any:
    """Return a model class by name, from the caller's classes or the public lists."""
    kind = own[name] if name in own else public_class(name)
    if not (hasattr(kind, "get_params") and hasattr(kind, "save")):
        raise DataError(f"{name} is not a class of models")
    return kind


def _is_entry(value: Any) -> bool:
    return isinstance(value, dict) and {"sha256", "size"} <= set(value)


def file_digests(folder: Path) -> dict[str, dict[str, Any]]:
    """Write files to disk and return their sizes and digests; of a part only of its model.json."""
    found: dict[str, dict[str, Any]] = {}
    for place, folders, names in os.walk(folder):
        if MANIFEST in names:
            folders.clear()
            names = [MANIFEST]
        for path in (Path(place) / name for name in names):
            with open(path, "rb+") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
                os.fsync(file.fileno())
            found[path.relative_to(folder).as_posix()] = {"sha256": digest, "size": size}
    return found


def resolved(folder: str | Path) -> Path:
    """Return the path of a folder; a link and a relative name such as ``.`` are resolved."""
    path = Path(folder)
    return Path(os.path.realpath(path)) if path.is_symlink() or path.name in ("", "..") else path


def identity(folder: str | Path) -> tuple[int, ...] | None:
    """Return what tells a saved model from one that replaces it; None if there is none."""
    try:
        found = os.stat(Path(folder) / MANIFEST)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)


def _leftovers(target: Path, ending: str) -> list[Path]:
    """Return the temporary folders of a target, the latest last."""
    found = {}
    for path in target.parent.glob(f".{glob.escape(target.name)}.*.{ending}"):
        with suppress(OSError):  # another process was faster
            found[path] = path.stat().st_mtime
    return sorted(found, key=found.__getitem__)


def _present(target: Path) -> Path:
    """Return the folder of a model; restore one whose replacement was cut off."""
    if not os.path.lexists(target):
        for old in reversed(_leftovers(target, "old")):
            if (old / MANIFEST).is_file():
                try:
                    os.rename(old, target)
                except OSError:  # read-only, or the other process was faster
                    return target if target.exists() else old
                break
    return target


def work_folder(target: Path) -> tuple[Path, int | None]:
    """Make a temporary folder beside a target, and lock it as long as this process uses it."""
    while True:
        work = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
        work.mkdir()
        try:
            lock = _locked(work)
        except (BlockingIOError, FileNotFoundError):  # another process sweeps it
            continue
        if work.exists():  # else it was swept before it was locked
            return work, lock
        if lock is not None:
            os.close(lock)


def _locked(folder: Path) -> int | None:
    """Lock a folder; return None where the system has no locks.

    Raises
    ------
    BlockingIOError
        If another process has locked it.
    """
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:
        os.close(handle)
        return None
    return handle


def sweep_folders(target: Path) -> None:
    """Remove the temporary folders that killed processes left beside a target."""
    for left in _leftovers(target, "partial") + _leftovers(target, "old"):
        if left.suffix == ".old" and not (target / MANIFEST).is_file():
            continue
        with suppress(OSError):
            lock = _locked(left)
            if lock is not None or time.time() - left.stat().st_mtime > OLD:
                shutil.rmtree(left, ignore_errors=True)
            if lock is not None:
                os.close(lock)


def _put_in_place(work: Path, target: Path) -> None:
    """Move a complete folder to its path; at every moment `load` finds one of the two models."""
    for _ in range(ATTEMPTS):
        try:
            os.rename(work, target)
            return
        except OSError:  # a folder with files is not overwritten
            if not (target / MANIFEST).is_file():
                raise
        if _exchange(work, target):
            return
        with suppress(FileNotFoundError):
            os.rename(target, work.with_suffix(".old"))  # which `load` would restore
    raise OSError(f"{str(target)!r} cannot be replaced: other processes write it all the time")


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; return False where the system cannot."""
    import ctypes

    try:
        renameat2 = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)
