"""One pass of PRank over its rows, in the order they come (compiled)."""

import numpy as np

from .compiling import compiled

__all__ = ["prank_pass"]


@compiled
def prank_pass(
    X: np.ndarray,
    grade: np.ndarray,
    order: np.ndarray,
    seen: int,
    w: np.ndarray,
    threshold: np.ndarray,
    w_late: np.ndarray,
    threshold_late: np.ndarray,
) -> tuple[int, int]:
    """Go through the rows and correct weights and thresholds after each mistake, in place.

    ``w_late`` and ``threshold_late`` add up each correction times the number of rows seen before
    it (``seen`` of them in earlier passes), from which the mean over all rows follows. Gives the
    number of mistakes, and the sum of how many grades they were off.
    """
    mistakes = off = 0
    for at in range(len(order)):
        row = order[at]
        score = 0.0
        for f in range(X.shape[1]):
            score += w[f] * X[row, f]
        found = len(threshold)
        for r in range(len(threshold)):
            if score < threshold[r]:
                found = r
                break
        if found == grade[row]:
            continue
        mistakes += 1
        off += abs(found - grade[row])
        step, before = 0, float(seen + at)
        for r in range(len(threshold)):
            side = 1 if grade[row] > r else -1
            if (score - threshold[r]) * side <= 0.0:
                step += side
                threshold[r] -= side
                threshold_late[r] -= side * before
        for f in range(X.shape[1]):
            w[f] += step * X[row, f]
            w_late[f] += step * X[row, f] * before
    return mistakes, off
