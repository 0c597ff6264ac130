"""Places swapped with random later ones (compiled: every list and draw)."""

import numpy as np

from .compiling import compiled
from .counted_random import key_of, uniform

__all__ = ["epsilon_swaps"]


@compiled
def epsilon_swaps(
    offsets: np.ndarray,
    shown: np.ndarray,
    limit: np.ndarray,
    keys: np.ndarray,
    eps: float,
    n_draws: int,
) -> np.ndarray:
    """Give each slot's new place (slot x draw), 0 behind the limit.

    From the top, place j is swapped with probability ``eps`` with one of the later places of its
    list, each as likely as the others.
    """
    places = np.zeros((offsets[-1], n_draws), dtype=np.int32)
    longest = 0
    for q in range(len(shown)):
        longest = max(longest, shown[q])
    at = np.empty(longest, dtype=np.int64)
    for q in range(len(shown)):
        size = shown[q]
        for draw in range(n_draws):
            key = key_of(keys[q], np.uint64(draw))
            for i in range(size):
                at[i] = i
            for j in range(limit[q]):
                if j + 1 < size and uniform(key, np.uint64(2 * j)) < eps:
                    later = j + 1 + int(uniform(key, np.uint64(2 * j + 1)) * (size - 1 - j))
                    at[j], at[later] = at[later], at[j]
                places[offsets[q] + at[j], draw] = j + 1
    return places
