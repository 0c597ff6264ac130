"""Counter-based random numbers: each is a function of a key and a count, in any order."""

import numpy as np

from .compiled import compiled

__all__ = ["below", "key_of", "random_bits", "text_keys", "uniform"]


STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


@compiled
def _mix(value: np.uint64) -> np.uint64:
    """Mix the bits of a number (the finaliser of SplitMix64)."""
    value = (value ^ (value >> np.uint64(30))) * FIRST
    value = (value ^ (value >> np.uint64(27))) * SECOND
    return value ^ (value >> np.uint64(31))


@compiled
def key_of(seed: np.uint64, part: np.uint64) -> np.uint64:
    """Return the key of a seed (or another key) and one more part."""
    return _mix(_mix(seed + STEP) ^ (part * STEP))


@compiled
def text_keys(offsets: np.ndarray, content: np.ndarray) -> np.ndarray:
    """Return a key of each text: its length, and its bytes by eight, the last ones padded by 0.

    ``offsets`` (int64) marks the texts in the bytes.
    """
    found = np.empty(len(offsets) - 1, np.uint64)
    for text in range(len(found)):
        key = np.uint64(offsets[text + 1] - offsets[text])
        for begin in range(offsets[text], offsets[text + 1], 8):
            word = np.uint64(0)
            for at in range(begin, min(begin + 8, offsets[text + 1])):
                word |= np.uint64(content[at]) << np.uint64(8 * (at - begin))
            key = key_of(key, word)
        found[text] = key
    return found


@compiled
def uniform(key: np.uint64, count: np.uint64) -> float:
    """Return the random number of this key and count, uniform in [0, 1)."""
    bits = _mix(key + (count + np.uint64(1)) * STEP)
    # 53 bits are a positive int64, whose conversion is one instruction of most processors
    return float(np.int64(bits >> np.uint64(11))) * (1.0 / 9007199254740992.0)


@compiled
def random_bits(key: np.uint64, count: np.uint64) -> np.uint64:
    """Return the 64 random bits of this key and count."""
    return _mix(key + (count + np.uint64(1)) * STEP)


@compiled
def below(bits: np.uint64, n: int) -> int:
    """Return an integer from 0 to ``n - 1`` from the upper 32 of some bits, for n below 2**32.

    The bias of one value is below ``n / 2**32``.
    """
    return int(((bits >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))
