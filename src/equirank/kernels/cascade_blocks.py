"""The cascade inside blocks of tied items (compiled: the blocks differ in size and depth)."""

import numpy as np

from .compiling import compiled

__all__ = ["cascade_blocks"]


@compiled
def cascade_blocks(
    stop: np.ndarray, begin: np.ndarray, size: np.ndarray, place: np.ndarray, limit: int
) -> tuple[np.ndarray, np.ndarray]:
    """Give each block's expected reciprocal stopping place and its chance of being survived.

    With ``q_j`` the mean over the j-subsets of the block of the chance to survive them, the sum is
    ``sum_j (q_{j-1} - q_j) / (place + j)``. The q of n + 1 items follow from those of n by
    ``q_j <- (1 - j/(n+1)) q_j + j/(n+1) a q_{j-1}``; depth doubles until q falls under 1e-16.
    """
    value = np.zeros(len(begin))
    survive = np.ones(len(begin))
    for b in range(len(begin)):
        m = size[b]
        for i in range(begin[b], begin[b] + m):
            survive[b] *= 1.0 - stop[i]
        depth = min(m, 64)
        while True:
            q = np.zeros(depth + 1)
            q[0] = 1.0
            for n in range(m):
                a = 1.0 - stop[begin[b] + n]
                for j in range(min(n + 1, depth), 0, -1):
                    share = j / (n + 1)
                    q[j] = (1.0 - share) * q[j] + share * a * q[j - 1]
            if depth == m or q[depth] < 1e-16:
                break
            depth = min(m, 2 * depth)
        total = 0.0
        for j in range(1, depth + 1):
            if place[b] + j > limit:
                break
            total += (q[j - 1] - q[j]) / (place[b] + j)
        value[b] = total
    return value, survive
