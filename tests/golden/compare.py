"""Results as plain values, and the differences between stored and present ones."""

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

#: Longest list of numbers, and texts with most letters, that are stored whole; p-values always are.
NUMBERS, LETTERS, P_VALUES = 64, 1500, 2000
#: Most different texts of a long column that are stored once each.
LABELS = 40
#: Relative tolerance of numbers, of p-values, and of the sums of a digest over its norm.
RELATIVE, EXACT, SUMS = 1e-9, 1e-12, 1e-10
#: Absolute tolerance near zero.
NEAR_ZERO = 1e-12
#: Keys of p-values.
P_KEY = re.compile(r"p|p_\w+|\w+_p|null")
#: What differs between two runs of the same code: addresses and temporary folders.
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
RENAMES = Path(__file__).parent / "renames.toml"


class Difference(NamedTuple):
    """One difference: where in the result, what kind, what was stored and what is now."""

    path: str
    kind: str
    stored: object
    now: object
    relative: float = float("nan")

    @property
    def place(self):
        """The path as a reader writes it: claims[3].p, though rows are stored by columns."""
        return re.sub(r"\.?columns\.(\w+)(\[\d+\])?", r"\2.\1", self.path)

    @property
    def pattern(self):
        """The path without numbers of rows: differences of one kind share it."""
        return re.sub(r"\[\d+\]", "[]", self.path), self.kind


# Results as plain values


def plain(value, key=""):
    """Return a result as dictionaries, lists, texts and numbers; long arrays become digests."""
    if value is None or isinstance(value, (bool, int, str, float)):
        return _text(value) if isinstance(value, str) else value
    if isinstance(value, np.generic):
        return plain(value.item(), key)
    if isinstance(value, np.ndarray):
        return _array(value, key)
    if isinstance(value, Mapping):
        return {_name(name): plain(each, _name(name)) for name, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(each, key) for each in value), key=repr)
    if hasattr(value, "_fields"):
        return {"type": type(value).__name__} | plain(value._asdict())
    if isinstance(value, (list, tuple)):
        return _list(value, key)
    return _thing(value)


def _name(key):
    return key if isinstance(key, str) else repr(plain(key))


def _thing(value):
    """Return an object as plain values: by its own dictionary, its fields, or its text."""
    named = {"type": type(value).__name__}
    if type(value).__name__ == "Table":
        return plain(value.columns)
    if type(value).__module__.startswith(("pandas", "polars", "pyarrow")):
        return named | {"text": str(value)}
    if callable(getattr(value, "to_dict", None)) and not isinstance(value, type):
        return named | plain(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        found = {each.name: getattr(value, each.name) for each in fields(value) if each.repr}
        return named | plain(found)
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return {"type": type(value).__name__, "name": value.__qualname__}
    return named | {"text": _text(repr(value))}


def _text(text):
    text = ADDRESS.sub("", text)
    return text if len(text) <= LETTERS else {"sha256": _sha(text), "letters": len(text)}


def _sha(text):
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _array(values, key):
    if values.dtype.kind not in "biuf":
        return _list(values.tolist(), key)
    if values.size <= (P_VALUES if P_KEY.fullmatch(key) else NUMBERS):
        return values.tolist()
    return _digest(values)


def _list(values, key):
    """Return a list; a long one of numbers as a digest, of texts by labels, of rows by columns."""
    kinds = {type(each) for each in values}
    if kinds and all(issubclass(kind, (bool, int, float, np.number)) for kind in kinds):
        return _array(np.asarray(values), key)
    if kinds <= {str, type(None)}:
        return _texts(values)
    some = [each for each in values if each is not None]
    if len(some) > 1 and kinds <= {dict, type(None)} and len({tuple(each) for each in some}) == 1:
        columns = {name: [each[name] for each in some] for name in some[0]}
        return _present(values) | {"columns": plain(columns)}
    lists = all(isinstance(each, (list, tuple)) and not hasattr(each, "_fields") for each in some)
    if lists and sum(map(len, some)) > NUMBERS:
        lengths = plain([len(each) for each in some])
        return _present(values) | {
            "lengths": lengths,
            "all": _list([x for e in some for x in e], key),
        }
    if kinds <= {float, int, type(None)} and len(values) > NUMBERS:
        return _present(values) | {"all": _array(np.array(some, dtype=float), key)}
    return [plain(each, key) for each in values]


def _present(values):
    """Return how many values there are, and the rows of those that are None."""
    lacking = [at for at, each in enumerate(values) if each is None]
    return {"rows": len(values)} | ({"none": plain(lacking)} if lacking else {})


def _texts(values):
    """Return texts; those of which few differ as labels, and very many as their sha256."""
    letters = sum(len(each or "") for each in values)
    labels = list(dict.fromkeys(values))
    if letters > LETTERS // 4 and len(labels) <= LABELS and len(labels) < len(values) / 2:
        codes = np.array([labels.index(each) for each in values])
        return {"labels": labels, "codes": _array(codes, "")}
    if letters > 20 * LETTERS or len(values) > P_VALUES:
        return {"sha256": _sha(json.dumps(values)), "texts": len(values)}
    return [each if each is None else _text(each) for each in values]


def summed(table):
    """Return each column of a table as its digest, or as the sha256 of its texts."""
    found = {}
    for name, values in table.columns.items():
        numbers = values.dtype.kind in "biuf"
        found[name] = _digest(values) if numbers else {"sha256": _sha(json.dumps(values.tolist()))}
    return found


def _digest(values):
    """Return what tells an array from another but for rounding: sums with fixed weights."""
    flat = values.astype(float).ravel()
    finite = np.isfinite(flat)
    some = flat[finite]
    sums = [float((_weights(len(flat), at)[finite] * some).sum()) for at in range(3)]
    found = {"shape": list(values.shape), "nan": int(np.isnan(flat).sum())}
    found |= {"infinite": int(np.isinf(flat).sum()), "norm": float(np.sqrt((some**2).sum()))}
    if len(some):
        found |= {"least": float(some.min()), "most": float(some.max())}
    return {"digest": found | {"sums": sums}}


def _weights(n, seed):
    """Return n weights from -1 to 1 that are the same everywhere (splitmix64)."""
    with np.errstate(over="ignore"):
        z = (np.arange(n, dtype=np.uint64) + np.uint64(seed << 40)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(float) / 2**52 - 1


def rounded(value, key=""):
    """Return plain values with 12 significant digits; p-values keep all of theirs."""
    if isinstance(value, float):
        whole = P_KEY.fullmatch(key) or value != value
        return value if whole else float(f"{value:.12g}")
    if isinstance(value, dict):
        return {name: rounded(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each, key) for each in value]
    return value


def as_text(value, depth=3):
    """Return JSON with one line for each value up to a depth, so that changes can be read."""
    if depth and isinstance(value, (dict, list)) and len(value):
        parts = [as_text(each, depth - 1) for each in _values(value)]
        if isinstance(value, dict):
            parts = [f"{json.dumps(k)}: {v}" for k, v in zip(value, parts, strict=True)]
        ends = "{}" if isinstance(value, dict) else "[]"
        if sum(map(len, parts)) > 80:
            return ends[0] + "\n" + ",\n".join(parts) + "\n" + ends[1]
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _values(value):
    return value.values() if isinstance(value, dict) else value


# Differences


def differences(stored, now, path="", key=""):
    """Yield the differences between two plain values.

    NaN and None differ; 1 and 1.0 do not.
    """
    if isinstance(stored, dict) and isinstance(now, dict):
        if "digest" in stored and "digest" in now:
            yield from _digests(stored["digest"], now["digest"], path)
            return
        for name in stored:
            inside = f"{path}.{name}" if path else name
            if name in now:
                yield from differences(stored[name], now[name], inside, name)
            else:
                yield Difference(inside, "missing", stored[name], None)
        for name in now:
            if name not in stored:
                yield Difference(f"{path}.{name}" if path else name, "new", None, now[name])
    elif isinstance(stored, list) and isinstance(now, list):
        if len(stored) != len(now):
            yield Difference(path, "length", len(stored), len(now))
        for at, (one, other) in enumerate(zip(stored, now, strict=False)):
            yield from differences(one, other, f"{path}[{at}]", key)
    elif _is_number(stored) and _is_number(now):
        exact = P_KEY.fullmatch(key) is not None
        if not _close(stored, now, EXACT if exact else RELATIVE):
            yield Difference(path, "p-value" if exact else "number", stored, now,
                             _relative(stored, now))  # fmt: skip
    elif type(stored) is not type(now) or stored != now:
        yield Difference(path, "text" if isinstance(now, str) else "value", stored, now)


def _digests(stored, now, path):
    for name in ("shape", "nan", "infinite"):
        if stored[name] != now[name]:
            yield Difference(path, f"{name} of the array", stored[name], now[name])
            return
    for name in ("norm", "least", "most"):
        if not _close(stored.get(name, 0), now.get(name, 0), RELATIVE):
            yield Difference(path, f"{name} of the array", stored[name], now[name],
                             _relative(stored[name], now[name]))  # fmt: skip
            return
    scale = max(stored["norm"], NEAR_ZERO / SUMS)
    for one, other in zip(stored["sums"], now["sums"], strict=True):
        if abs(one - other) > SUMS * scale:
            yield Difference(path, "weighted sum of the array", one, other,
                             abs(one - other) / scale)  # fmt: skip
            return


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _close(a, b, relative):
    if a == b or (a != a and b != b):
        return True
    return abs(a - b) <= max(relative * max(abs(a), abs(b)), NEAR_ZERO * (relative > EXACT))


def _relative(a, b):
    return abs(a - b) / max(abs(a), abs(b), 1e-300)


# Renamed keys and texts


def read_renames(path=RENAMES):
    """Return the tables of the file of renames: of cases, keys and texts."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def renamed(value, renames):
    """Return a stored value with the present keys and texts."""
    keys, texts = renames.get("keys", {}), renames.get("texts", {})
    if not keys and not texts:
        return value
    if isinstance(value, dict):
        return {_renamed(keys.get(k, k), texts): renamed(v, renames) for k, v in value.items()}
    if isinstance(value, list):
        return [renamed(each, renames) for each in value]
    return _renamed(value, texts) if isinstance(value, str) else value


def _renamed(text, texts):
    for pattern, new in texts.items():
        text = re.sub(pattern, new, text)
    return text
