"""Lists whose items have a first and a last place (compiled: one pass from the top)."""

import numpy as np

from .compiling import compiled

__all__ = ["NEVER", "by_deadline", "windows", "with_foresight"]

#: A place behind every list.
NEVER = np.int64(1) << 40


@compiled
def windows(lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give the first and the last place (from 0) of each group's first, second, ... item."""
    size, n_groups = lo.shape
    release = np.full((n_groups, size + 1), NEVER, dtype=np.int64)
    deadline = np.full((n_groups, size + 1), NEVER, dtype=np.int64)
    for g in range(n_groups):
        released = due = 0
        for j in range(size):
            while released < min(hi[j, g], size + 1):
                release[g, released] = j
                released += 1
            while due < min(lo[j, g], size + 1):
                deadline[g, due] = j
                due += 1
    return release, deadline


@compiled
def by_deadline(
    members: np.ndarray,
    first: np.ndarray,
    release: np.ndarray,
    deadline: np.ndarray,
    order: np.ndarray,
) -> bool:
    """Fill places from the top, the most urgent group first; False where a deadline passes."""
    n_groups, size = len(release), len(order)
    counts = np.zeros(n_groups, dtype=np.int64)
    for j in range(size):
        urgent, best, chosen = NEVER + 1, NEVER, -1
        for g in range(n_groups):
            at = counts[g]
            if release[g, at] > j:
                continue
            item = members[first[g] + at]
            if deadline[g, at] < urgent or (deadline[g, at] == urgent and item < best):
                urgent, best, chosen = deadline[g, at], item, g
        if chosen < 0 or urgent < j:
            return False
        counts[chosen] += 1
        order[j] = best
    late = 0
    for g in range(n_groups):
        late += deadline[g, counts[g]] < size
    return late == 0


@compiled
def with_foresight(
    members: np.ndarray,
    first: np.ndarray,
    lo: np.ndarray,
    release: np.ndarray,
    deadline: np.ndarray,
    order: np.ndarray,
) -> bool:
    """Fill places from the top with the best item that leaves room for all floors still due.

    ``slack[t]`` is what prefix t has left beside them; a place where it is 0 stays so, hence only
    places before the next such one are looked at. Gives False where the ceilings get in the way.
    """
    size, n_groups = lo.shape
    slack = np.empty(size, dtype=np.int64)
    for t in range(size):
        slack[t] = t + 1
        for g in range(n_groups):
            slack[t] -= lo[t, g]
    counts = np.zeros(n_groups, dtype=np.int64)
    tight = size
    for j in range(size):
        if tight <= j:
            tight = size
        best, chosen = NEVER, -1
        for g in range(n_groups):
            item = members[first[g] + counts[g]] if release[g, counts[g]] <= j else NEVER
            if item >= best or (tight < size and deadline[g, counts[g]] > tight):
                continue
            end = min(deadline[g, counts[g]], tight)
            allowed = True
            for t in range(j, end):
                if slack[t] < 1:
                    tight = t
                    allowed = False
                    break
            if allowed:
                best, chosen = item, g
        if chosen < 0:
            return False
        for t in range(j, min(deadline[chosen, counts[chosen]], tight)):
            slack[t] -= 1
        counts[chosen] += 1
        order[j] = best
    return True
