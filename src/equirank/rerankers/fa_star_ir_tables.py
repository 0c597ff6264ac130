"""Minimum counts of FA*IR for every prefix, their corrected level, and a cache of them on disk."""

import json
import os
import secrets
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from zipfile import BadZipFile

import numpy as np

from ..core.environment import cache_folder
from ..core.errors import DataError, logger
from ..core.params import Flag, Integer, Number, Optional, check_params

if TYPE_CHECKING:
    from ..kernels.fa_star_ir_regions import Region

__all__ = ["CorrectedAlpha", "FAStarIRTable", "fa_star_ir_table", "stored_region"]


OPEN = Number(0, 1, open_low=True, open_high=True)


class CorrectedAlpha(float):
    """A level of single prefixes, and the interval ``low <= level < high`` with the same table.

    It is a float inside the interval and unpacks into its ends: ``low, high = corrected``.

    Examples
    --------
    >>> level = CorrectedAlpha(0.02, 0.03)
    >>> float(level), level.low, level.high
    (0.025, 0.02, 0.03)
    """

    low: float
    high: float

    def __new__(cls, low: float, high: float, asked: float | None = None) -> "CorrectedAlpha":
        """Take the level asked for if the interval contains it, else the middle."""
        middle = (low + high) / 2.0
        inside = asked is not None and low <= asked < high
        level = super().__new__(cls, (asked if inside else None) or middle)
        level.low, level.high = low, high
        return level

    def __iter__(self) -> Iterator[float]:
        """Iterate over the ends of the interval."""
        return iter((self.low, self.high))

    def __getnewargs__(self) -> tuple[float, float, float]:  # type: ignore[override]
        """Return the arguments that make an equal level, for copies and pickles."""
        return self.low, self.high, float(self)


class FAStarIRTable(np.ndarray):
    """Minimum counts of every prefix: an integer array with its level and fail probability.

    Attributes
    ----------
    alpha : CorrectedAlpha
        The level at which each prefix is tested.
    """

    alpha: CorrectedAlpha
    _law: tuple[np.ndarray, int | None]

    def __new__(
        cls, counts: np.ndarray, alpha: CorrectedAlpha, law: tuple[np.ndarray, int | None]
    ) -> Self:
        """Copy the counts; ``law`` holds the shares (or sizes in the pool) and the pool's size."""
        table = np.array(counts).view(cls)
        table.alpha, table._law = alpha, law
        return table

    def __array_finalize__(self, source: Any) -> None:
        """Copy the attributes to a copy of the table."""
        if isinstance(source, FAStarIRTable):
            self.__dict__.update(source.__dict__)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return results of arithmetic as plain arrays."""
        return array[()] if return_scalar else np.asarray(array)

    def __getitem__(self, key: Any) -> Any:
        """Return elements and slices as of a plain array."""
        return self.view(np.ndarray)[key]

    def __repr__(self) -> str:
        """Show the counts as a plain array."""
        return repr(self.view(np.ndarray))

    def __reduce__(self) -> Any:
        """Return the arguments that make an equal table, for copies and pickles."""
        return FAStarIRTable, (np.asarray(self), self.alpha, self._law)

    @property
    def fail_probability(self) -> float:
        """The exact probability that a fair list misses a minimum count in any prefix."""
        from ..kernels.fa_star_ir_minimums import fail_probability, pool_fail_probability
        from ..kernels.fa_star_ir_regions import group_fail_probability

        counts, (sizes, pool) = np.asarray(self).astype(np.int64), self._law
        if len(sizes) > 1:
            return group_fail_probability(counts, sizes, pool or 0)
        if pool is not None:
            return pool_fail_probability(counts, int(pool), int(sizes[0]))
        return fail_probability(counts, float(sizes[0]))


def _shares(owner: str, p: Any) -> np.ndarray:
    """Check the share of one protected group, or of several, and return them."""
    if not isinstance(p, (Mapping, list, tuple, np.ndarray)):
        check_params(owner, {"p": p}, {"p": OPEN})
        return np.array([float(p)])
    values = list(p.values()) if isinstance(p, Mapping) else list(p)
    for share in values:
        check_params(owner, {"p": share}, {"p": OPEN})
    if not values or sum(values) >= 1.0 - 1e-12:
        raise DataError(
            f"p of {owner} must be shares of the protected groups that sum to less than 1 "
            f"(everyone else has the remainder), got {values}"
        )
    return np.array(values, dtype=np.float64)


def _sizes(owner: str, shares: np.ndarray, k: int, pool: int | None) -> np.ndarray:
    """Return the sizes of the protected groups in a pool, or their shares without one."""
    check_params(owner, {"pool": pool}, {"pool": Optional(Integer(1))})
    if pool is None:
        return shares
    if pool < k:
        raise DataError(f"pool of {owner} must be at least k ({k}), got {pool}")
    return np.round(shares * pool)


def fa_star_ir_table(
    k: int, p: Any, alpha: float, adjusted: bool = True, *, pool: int | None = None
) -> FAStarIRTable:
    """Return the minimum number of protected items in each prefix of 1 to k positions.

    The minimum is the smallest m with ``F(m; j, p) > alpha'``, where F is the binomial distribution
    function. Every prefix is a test, so alpha' is lowered until the exact probability that a fair
    list fails anywhere is at most alpha. The result is the largest such table.

    Parameters
    ----------
    k : int
        Length of the longest prefix.
    p : float, or mapping or sequence of float
        Probability of a protected item at every position. With several protected groups, one
        probability for each; everyone else has the remainder.
    alpha : float
        Largest probability that a fair list fails.
    adjusted : bool
        Correct for testing every prefix; otherwise each prefix alone is tested at alpha.
    pool : int, optional
        Draw without replacement from this many items, of which a share p (rounded to a whole
        number) is protected: F is then hypergeometric.

    Returns
    -------
    ndarray of int
        Array of length k. With several groups its shape is (k, k + 1, ...): for the counts of all
        groups but the first, the number needed of the first; ``k + 1`` if no number suffices.
        It has two further attributes. ``alpha`` is the level of single prefixes: a float with the
        ends ``low`` and ``high`` of the interval of levels that give this table.
        ``fail_probability`` is the exact probability that a fair list fails in any prefix.

    References
    ----------
    Zehlike, Bonchi, Castillo, Hajian, Megahed and Baeza-Yates, FA*IR: a fair top-k ranking
    algorithm, CIKM 2017. Zehlike, Sühr, Baeza-Yates, Bonchi, Castillo and Hajian, Fair top-k
    ranking with multiple protected groups, Information Processing and Management 2022.

    Examples
    --------
    >>> from equirank.rerankers import fa_star_ir_table
    >>> plain = fa_star_ir_table(20, 0.25, 0.1, adjusted=False)
    >>> plain
    array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3], dtype=int32)
    >>> round(plain.fail_probability, 6)
    0.146887
    >>> table = fa_star_ir_table(20, 0.25, 0.1)
    >>> table
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2], dtype=int32)
    >>> round(table.alpha.low, 6), round(table.alpha, 6), round(table.alpha.high, 6)
    (0.063476, 0.069281, 0.075085)
    """
    from ..kernels import fa_star_ir_minimums as kernel

    owner = "fa_star_ir_table"
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
        counts, low, high = region.need, region.low, region.high
    elif pool is not None:
        make = kernel.pool_adjusted_table if adjusted else kernel.pool_table
        counts, low, high = make(k, int(pool), int(sizes[0]), alpha)
    else:
        make_table = kernel.adjusted_table if adjusted else kernel.table
        counts, low, high = make_table(k, float(shares[0]), alpha)
    return FAStarIRTable(counts, CorrectedAlpha(low, high, alpha), (sizes, pool))


#: Incremented whenever a table for the same key could change.
VERSION = 1


#: Number of files on disk above which the oldest quarter is removed: lists of different sizes and
#: groups have different tables.
FILES = 2000


@lru_cache(maxsize=32)  # a table of four groups and k = 100 has 4 MB
def stored_region(
    k: int, shares: tuple[float, ...], alpha: float, adjusted: bool, pool: int = 0
) -> "Region":
    """Return the region of passing counts: from memory, from disk, else computed and stored.

    A file that is damaged or has another origin is computed again and replaced. If the cache is
    not writable, nothing is stored.
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
    """Return a digest of the contents of the file."""
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
        logger.debug("%s is damaged (%s) and is computed again", path, error)
        return None
    if (
        need.dtype != np.int32
        or numbers.shape != (3,)
        or seal.tobytes() != _seal(key, need, numbers)
    ):
        logger.debug("%s does not match its digest and is computed again", path)
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
        _remove_oldest(path.parent)
    except OSError as error:
        logger.debug("%s cannot be written (%s); the table is not stored", path, error)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _remove_oldest(folder: Path) -> None:
    """Remove the oldest files of the cache if there are too many."""
    with os.scandir(folder) as entries:
        files = list(entries)
    if len(files) <= FILES:
        return
    dated = []
    for file in files:
        with suppress(OSError):  # another process removed it
            dated.append((file.stat().st_mtime_ns, file.path))
    for _, path in sorted(dated)[: len(files) - FILES * 3 // 4]:
        with suppress(OSError):
            os.unlink(path)
