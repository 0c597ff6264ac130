"""Tables of FA*IR for several groups, kept on disk because they take seconds to compute."""

import json
import os
import secrets
import zlib
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from ...core.caching import cache_folder
from ...core.errors import logger

if TYPE_CHECKING:
    from ...kernels.fa_star_ir_groups import Region

__all__ = ["stored_region"]

#: Rises whenever a table for the same key could change.
VERSION = 1


@lru_cache(maxsize=256)
def stored_region(
    k: int, shares: tuple[float, ...], alpha: float, adjusted: bool, pool: int = 0
) -> "Region":
    """Give the region of passing counts: from memory, from disk, else computed and kept.

    A file that is damaged, or that is not ours, is computed anew and replaced. Where the cache
    cannot be written nothing is kept.
    """
    from ...kernels.fa_star_ir_groups import group_region, group_search

    key = json.dumps([VERSION, k, [share.hex() for share in shares], alpha.hex(), adjusted, pool])
    name = blake2b(key.encode(), digest_size=16).hexdigest()
    path = cache_folder() / "fa_star_ir" / f"{name}.npz"
    found = _read(path, key)
    if found is None:
        make = group_search if adjusted else group_region
        found = make(k, np.array(shares), alpha, pool)
        _write(path, key, found)
    found.need.flags.writeable = False
    return found


def _seal(key: str, need: np.ndarray, numbers: np.ndarray) -> bytes:
    """Give a digest of everything in the file."""
    digest = blake2b(key.encode(), digest_size=32)
    digest.update(repr((need.shape, need.dtype.str)).encode())
    digest.update(need.tobytes())
    digest.update(numbers.tobytes())
    return digest.digest()


def _read(path: Path, key: str) -> "Region | None":
    from ...kernels.fa_star_ir_groups import Region

    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            need, numbers, seal = stored["need"], stored["numbers"], stored["seal"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error, TypeError) as error:
        logger.debug("%s is damaged (%s) and is computed anew", path, error)
        return None
    if (
        need.dtype != np.int32
        or numbers.shape != (3,)
        or seal.tobytes() != _seal(key, need, numbers)
    ):
        logger.debug("%s is not what it says and is computed anew", path)
        return None
    low, high, fail = numbers.tolist()
    return Region(need, low, high, fail)


def _write(path: Path, key: str, region: "Region") -> None:
    numbers = np.array([region.low, region.high, region.fail])
    seal = np.frombuffer(_seal(key, region.need, numbers), dtype=np.uint8)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(partial, "xb") as file:
            np.savez_compressed(file, need=region.need, numbers=numbers, seal=seal)
        os.replace(partial, path)
    except OSError as error:
        logger.debug("%s cannot be written (%s); the table is not kept", path, error)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
