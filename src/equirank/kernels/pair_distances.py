"""Distances of pairs of rows in a ring, and the gradient of their squared errors (compiled).

Row i is paired with the rows behind it, ``i + 1, i + 2, ...``, round the end of the list:
``base`` of them, and one more for the first ``extra`` rows. Any number of pairs up to all of
them can be had that way, each pair once and each row about equally often; on shuffled rows they
are a random sample. Nothing is looked up far away, and no list of pairs is kept.
"""

import numpy as np

from .compiling import compiled

__all__ = ["add_pair_errors", "pair_distances"]


@compiled
def pair_distances(points: np.ndarray, base: int, extra: int) -> np.ndarray:
    """Give the Euclidean distance of each pair."""
    n, width = points.shape
    result = np.empty(n * base + extra)
    at = 0
    for i in range(n):
        for step in range(1, base + 1 + (1 if i < extra else 0)):
            j = i + step
            if j >= n:
                j -= n
            total = 0.0
            for f in range(width):
                apart = points[i, f] - points[j, f]
                total += apart * apart
            result[at] = np.sqrt(total)
            at += 1
    return result


@compiled
def add_pair_errors(
    points: np.ndarray,
    target: np.ndarray,
    base: int,
    extra: int,
    scale: float,
    slope: np.ndarray,
) -> float:
    """Give ``sum (distance - target)^2``, and add ``scale`` times its gradient to ``slope``.

    Where two rows are equal their distance has no slope, and 0 is taken.
    """
    n, width = points.shape
    here, own, apart = np.empty(width), np.empty(width), np.empty(width)
    loss = 0.0
    at = 0
    for i in range(n):
        count = base + (1 if i < extra else 0)
        for f in range(width):
            here[f] = points[i, f]
            own[f] = 0.0
        for step in range(1, count + 1):
            j = i + step
            if j >= n:
                j -= n
            even, odd = 0.0, 0.0  # two sums, so that one need not wait for the other
            for f in range(0, width - 1, 2):
                apart[f] = here[f] - points[j, f]
                apart[f + 1] = here[f + 1] - points[j, f + 1]
                even += apart[f] * apart[f]
                odd += apart[f + 1] * apart[f + 1]
            if width % 2 == 1:
                apart[width - 1] = here[width - 1] - points[j, width - 1]
                even += apart[width - 1] * apart[width - 1]
            distance = np.sqrt(even + odd)
            error = distance - target[at]
            loss += error * error
            if distance > 0.0:
                factor = 2.0 * scale * error / distance
                for f in range(width):
                    push = factor * apart[f]
                    own[f] += push
                    slope[j, f] -= push
            at += 1
        for f in range(width):
            slope[i, f] += own[f]
    return loss
