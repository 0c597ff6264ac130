"""Keys of lists: 64-bit hashes of their labels, the same on every machine and in every engine."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np

from .errors import DataError

__all__ = ["list_keys", "mixed"]


_STEP, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


def list_keys(labels: Any) -> np.ndarray:
    """Return the key of each label: a whole number, a text, or a tuple of these.

    Whole numbers are hashed as 64-bit integers, longer ones by their digits, texts as UTF-8, each
    with a tag for its type, and tuples part by part. A number has the same key whatever its width.

    Parameters
    ----------
    labels : array-like
        The labels of lists.

    Examples
    --------
    >>> bool(list_keys([7, 8])[1] == list_keys(np.array([8], dtype=np.int16))[0])
    True
    >>> bool(list_keys([7])[0] == list_keys(["7"])[0])
    False
    """
    array = labels if isinstance(labels, np.ndarray) else _as_array(labels)
    if array.dtype.kind in "iub":
        return mixed(array.astype(np.int64).view(np.uint64) + _STEP)
    if array.dtype.kind == "f" and ((array == np.floor(array)) & (np.abs(array) < 2.0**63)).all():
        return mixed(array.astype(np.int64).view(np.uint64) + _STEP)
    return np.fromiter((_key(label) for label in array.tolist()), np.uint64, len(array))


def _as_array(labels: Iterable[Any]) -> np.ndarray:
    several = list(labels)
    if any(isinstance(label, tuple) for label in several):
        array = np.empty(len(several), dtype=object)
        array[:] = several
        return array
    return np.asarray(several)


def mixed(value: np.ndarray) -> np.ndarray:
    """Mix the bits of numbers (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        value = (value ^ (value >> np.uint64(30))) * _FIRST
        value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


def _key(label: Any) -> int:
    if isinstance(label, (bool, int, np.integer)) or (
        isinstance(label, float) and label.is_integer()
    ):
        if not -(2**63) <= label < 2**64:
            return _digest(b"n" + str(int(label)).encode())
        whole = np.array([int(label) % 2**64], dtype=np.uint64)
        return int(mixed(whole + _STEP)[0])
    if isinstance(label, tuple):
        parts = b"".join(_key(part).to_bytes(8, "little") for part in label)
        return _digest(b"t" + parts)
    if isinstance(label, float):
        raise DataError(f"a list label must be a whole number or a text, got {label!r}")
    return _digest(b"s" + str(label).encode("utf-8", "surrogatepass"))


def _digest(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")
