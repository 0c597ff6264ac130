"""Random generators from one seed; results do not depend on the number of threads."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np

from .errors import DataError

__all__ = ["MOST_SEED", "RandomState", "as_seed", "generator", "label_keys"]

#: The largest seed, as kernels take it. Commands take half of it, to which numbers can be added.
MOST_SEED = 2**64 - 1
RandomState = int | np.random.Generator | np.random.RandomState | None


def as_seed(random_state: Any) -> int:
    """Return one integer seed for any kind of ``random_state``.

    Parameters
    ----------
    random_state : int, numpy Generator, numpy RandomState or None
        An integer from 0 to 2**64 - 1 is the seed itself; a generator is asked for one; ``None``
        draws a fresh one.

    Examples
    --------
    >>> as_seed(7)
    7
    >>> as_seed(np.random.default_rng(0)) == as_seed(np.random.default_rng(0))
    True
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if not 0 <= random_state <= MOST_SEED:
            raise DataError(
                f"random_state must be an integer from 0 to {MOST_SEED}, got {random_state}"
            )
        return int(random_state)
    raise DataError(
        "random_state must be an integer, a numpy Generator, a RandomState or None, "
        f"got {random_state!r}"
    )


def generator(random_state: Any, *key: int) -> np.random.Generator:
    """Return the generator of a seed and a key, such as the index of a query.

    The same seed and key give the same numbers in any order of calls and in any thread.

    Examples
    --------
    >>> bool(generator(0, 3).random() == generator(0, 3).random())
    True
    >>> bool(generator(0, 3).random() == generator(0, 4).random())
    False
    """
    return np.random.default_rng(np.random.SeedSequence(as_seed(random_state), spawn_key=key))


def label_keys(random_state: Any, labels: Iterable[Any]) -> np.ndarray:
    """Return one 64-bit key per label, derived from the seed and the label, not from its index.

    Examples
    --------
    >>> bool(label_keys(0, ["a", "b"])[1] == label_keys(0, ["b"])[0])
    True
    """
    seed = as_seed(random_state)
    digests = [
        blake2b(f"{seed}|{type(label).__name__}|{label}".encode(), digest_size=8).digest()
        for label in labels
    ]
    return np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.uint64)
