"""The tables of FA*IR, the level that gives them, and the chance that a fair list fails them."""

import json
import os
import secrets
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from ..core import inputs as door
from ..core.environment import cache_folder
from ..core.errors import DataError, logger
from ..core.params import Flag, Integer, Number, Optional, check_params

if TYPE_CHECKING:
    from ..kernels.fa_star_ir_regions import Region

__all__ = [
    "CorrectedAlpha",
    "fa_star_ir_alpha",
    "fa_star_ir_fail_probability",
    "fa_star_ir_table",
    "stored_region",
]


OPEN = Number(0, 1, open_low=True, open_high=True)


class CorrectedAlpha(float):
    """A level of single prefixes, with the interval ``low <= level < high`` that does the same.

    It is a float inside the interval, and unpacks into its ends: ``low, high = corrected``.

    Examples
    --------
    >>> level = CorrectedAlpha(0.02, 0.03)
    >>> float(level), level.low, level.high
    (0.025, 0.02, 0.03)
    """

    low: float
    high: float

    def __new__(cls, low: float, high: float, asked: float | None = None) -> "CorrectedAlpha":
        """Take the level asked for where it lies in the interval, else the middle."""
        middle = (low + high) / 2.0
        inside = asked is not None and low <= asked < high
        level = super().__new__(cls, (asked if inside else None) or middle)
        level.low, level.high = low, high
        return level

    def __iter__(self) -> Iterator[float]:
        """Return the ends of the interval."""
        return iter((self.low, self.high))


def _shares(owner: str, p: Any) -> np.ndarray:
    """Check a share, or the shares of several protected groups."""
    if not isinstance(p, (Mapping, list, tuple, np.ndarray)):
        check_params(owner, {"p": p}, {"p": OPEN})
        return np.array([float(p)])
    values = list(p.values()) if isinstance(p, Mapping) else list(p)
    for share in values:
        check_params(owner, {"p": share}, {"p": OPEN})
    if not values or sum(values) >= 1.0 - 1e-12:
        raise DataError(
            f"p of {owner} must be shares of the protected groups that sum to less than 1 "
            f"(the others have the rest), got {values}"
        )
    return np.array(values, dtype=np.float64)


def _sizes(owner: str, shares: np.ndarray, k: int, pool: int | None) -> np.ndarray:
    """Return the sizes of the protected groups in a pool."""
    check_params(owner, {"pool": pool}, {"pool": Optional(Integer(1))})
    if pool is None:
        return shares
    if pool < k:
        raise DataError(f"pool of {owner} must be at least k ({k}), got {pool}")
    return np.round(shares * pool)


def fa_star_ir_table(
    k: int, p: Any, alpha: float, adjusted: bool = True, *, pool: int | None = None
) -> np.ndarray:
    """Return how many of the protected each prefix of 1 to k places must hold at least.

    The smallest m with ``F(m; j, p) > alpha'``, F the binomial distribution function. Since every
    prefix is a test, alpha' is lowered until the exact chance that a fair list fails anywhere is at
    most alpha: the largest table of this family for which that holds.

    Parameters
    ----------
    k : int
        Longest prefix.
    p : float, or mapping or sequence of float
        Chance of a protected item at every place. With several groups, one for each protected one;
        the rest belongs to the others.
    alpha : float
        Chance at most that a fair list fails.
    adjusted : bool
        Correct for testing every prefix; else each prefix alone is tested at alpha.
    pool : int, optional
        Draw without replacement from so many items, of which a share p (to the nearest whole
        number) is protected: F is then hypergeometric.

    Returns
    -------
    ndarray of int
        Of length k. With several groups of shape (k, k + 1, ...): for the counts of all groups but
        the first, how many of the first are needed; ``k + 1`` where no number is enough.

    References
    ----------
    Zehlike, Bonchi, Castillo, Hajian, Megahed and Baeza-Yates, FA*IR: a fair top-k ranking
    algorithm, CIKM 2017. Zehlike, Sühr, Baeza-Yates, Bonchi, Castillo and Hajian, Fair top-k
    ranking with multiple protected groups, Information Processing and Management 2022.

    Examples
    --------
    >>> from equirank.rerankers import fa_star_ir_table
    >>> fa_star_ir_table(20, 0.25, 0.1, adjusted=False)
    array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3], dtype=int32)
    >>> fa_star_ir_table(20, 0.25, 0.1)
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2], dtype=int32)
    """
    return _made("fa_star_ir_table", k, p, alpha, adjusted, pool)[0].copy()


def fa_star_ir_alpha(k: int, p: Any, alpha: float, *, pool: int | None = None) -> CorrectedAlpha:
    """Return the level of single prefixes at which a fair list fails anywhere at most at alpha.

    All levels of an interval give the same table; what comes back is a float inside it with the
    ends as ``low`` and ``high``.

    Parameters
    ----------
    k, p, alpha, pool
        As in `fa_star_ir_table`.

    Examples
    --------
    >>> from equirank.rerankers import fa_star_ir_alpha
    >>> level = fa_star_ir_alpha(20, 0.25, 0.1)
    >>> round(level.low, 6), round(level, 6), round(level.high, 6)
    (0.063476, 0.069281, 0.075085)
    """
    _, low, high = _made("fa_star_ir_alpha", k, p, alpha, True, pool)
    return CorrectedAlpha(low, high, alpha)


def _made(
    owner: str, k: int, p: Any, alpha: float, adjusted: bool, pool: int | None
) -> tuple[np.ndarray, float, float]:
    """Check the arguments; give the table and the interval of levels."""
    from ..kernels import fa_star_ir_minimums as kernel

    check_params(
        owner,
        {"k": k, "alpha": alpha, "adjusted": adjusted},
        {"k": Integer(1), "alpha": OPEN, "adjusted": Flag()},
    )
    shares = _shares(owner, p)
    sizes = _sizes(owner, shares, int(k), pool)
    k, alpha = int(k), float(alpha)
    if len(shares) > 1:
        region = stored_region(k, tuple(sizes.tolist()), alpha, bool(adjusted), pool or 0)
        return region.need, region.low, region.high
    if pool is not None:
        make = kernel.pool_adjusted_table if adjusted else kernel.pool_table
        found = make(k, int(pool), int(sizes[0]), alpha)
    else:
        found = (kernel.adjusted_table if adjusted else kernel.table)(k, float(shares[0]), alpha)
    return found.counts, found.low, found.high


def fa_star_ir_fail_probability(table: Any, p: Any, *, pool: int | None = None) -> float:
    """Return the exact chance that a fair list misses a minimum count of a table somewhere.

    Parameters
    ----------
    table : array-like of int
        Minimum counts of prefixes 1, 2, ...; or what `fa_star_ir_table` gives for several groups.
    p, pool
        As in `fa_star_ir_table`.

    Examples
    --------
    >>> from equirank.rerankers import fa_star_ir_fail_probability, fa_star_ir_table
    >>> table = fa_star_ir_table(20, 0.25, 0.1, adjusted=False)
    >>> round(fa_star_ir_fail_probability(table, 0.25), 6)
    0.146887
    """
    from ..kernels.fa_star_ir_minimums import fail_probability, pool_fail_probability
    from ..kernels.fa_star_ir_regions import group_fail_probability

    owner = "fa_star_ir_fail_probability"
    shares = _shares(owner, p)
    counts = np.asarray(table)
    if counts.ndim != len(shares) or counts.size == 0:
        raise DataError(
            f"table must have {len(shares)} dimension(s), one more than there are protected groups "
            f"beside the first, got shape {counts.shape}"
        )
    if counts.ndim == 1:
        counts = np.asarray(door.numbers("table", counts))
    if (counts < 0).any() or (counts != np.floor(counts)).any():
        raise DataError("table must hold whole numbers >= 0")
    sizes = _sizes(owner, shares, len(counts), pool)
    if len(shares) > 1:
        return group_fail_probability(counts.astype(np.int64), sizes, pool or 0)
    if pool is not None:
        return pool_fail_probability(counts.astype(np.int64), int(pool), int(sizes[0]))
    return fail_probability(counts.astype(np.int64), float(shares[0]))


#: Rises whenever a table for the same key could change.
VERSION = 1


@lru_cache(maxsize=256)
def stored_region(
    k: int, shares: tuple[float, ...], alpha: float, adjusted: bool, pool: int = 0
) -> "Region":
    """Return the region of passing counts: from memory, from disk, else computed and kept.

    A file that is damaged, or that is not ours, is computed anew and replaced. Where the cache
    cannot be written nothing is kept.
    """
    from ..kernels.fa_star_ir_regions import group_region, group_search

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
    """Return a digest of everything in the file."""
    digest = blake2b(key.encode(), digest_size=32)
    digest.update(repr((need.shape, need.dtype.str)).encode())
    digest.update(need.tobytes())
    digest.update(numbers.tobytes())
    return digest.digest()


def _read(path: Path, key: str) -> "Region | None":
    from ..kernels.fa_star_ir_regions import Region

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
