"""Random numbers by key and counter (compiled): the same whatever was drawn before, or where."""

import numpy as np

from .compiling import compiled

__all__ = ["key_of", "uniform"]

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


@compiled
def _mix(value: np.uint64) -> np.uint64:
    """Scatter the bits of a number (the finaliser of SplitMix64)."""
    value = (value ^ (value >> np.uint64(30))) * FIRST
    value = (value ^ (value >> np.uint64(27))) * SECOND
    return value ^ (value >> np.uint64(31))


@compiled
def key_of(seed: np.uint64, part: np.uint64) -> np.uint64:
    """Make a key of a seed (or another key) and one more part."""
    return _mix(_mix(seed + STEP) ^ (part * STEP))


@compiled
def uniform(key: np.uint64, count: np.uint64) -> float:
    """Give the number of this key and count, uniform in [0, 1)."""
    bits = _mix(key + (count + np.uint64(1)) * STEP)
    return float(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)
