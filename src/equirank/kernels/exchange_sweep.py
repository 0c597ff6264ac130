"""All orders by ``cos(t) * first + sin(t) * second`` for t from 0 to 90 degrees (compiled).

Only neighbours in the order can be exchanged next, so one time is stored per pair of neighbours, in
a tree whose root is the earliest: memory is linear in the items, and each of the at most n(n-1)/2
exchanges costs log n. A pair is exchanged at most once, which its values decide; the time only says
when. It is ``tan t / (1 + tan t)``, which rises from 0 to 1 with the angle and is cheaper. Equal
items are not exchanged. Times closer than SAME are equal.
"""

import numpy as np

from .compiled import compiled

__all__ = ["advance", "begin", "sweep_counts", "sweep_exposure"]


#: Difference below which times count as equal.
SAME = 1e-13
RIGHT = np.pi / 2


def begin(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order at angle 0, with ties broken by the second value, and the tree of times."""
    order = np.lexsort((np.arange(len(first)), -second, -first)).astype(np.int64)
    size = 1
    while size < max(1, len(first) - 1):
        size *= 2
    tree = np.full(2 * size, np.inf)
    _fill(first, second, order, tree)
    return order, tree


@compiled
def _time(first: np.ndarray, second: np.ndarray, upper: int, lower: int) -> float:
    """Return when the lower of two neighbours passes the upper one; infinity if never."""
    ahead, behind = first[upper] - first[lower], second[lower] - second[upper]
    if ahead > 0.0 and behind > 0.0:
        return ahead / (ahead + behind)
    return np.inf


@compiled
def _angle(time: float) -> float:
    return np.arctan2(time, 1.0 - time)


@compiled
def _fill(first: np.ndarray, second: np.ndarray, order: np.ndarray, tree: np.ndarray) -> None:
    size = len(tree) // 2
    for slot in range(len(order) - 1):
        tree[size + slot] = _time(first, second, order[slot], order[slot + 1])
    for node in range(size - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])


@compiled
def _exchange(first: np.ndarray, second: np.ndarray, order: np.ndarray, tree: np.ndarray) -> int:
    """Exchange the next two neighbours, and return the 0-based position of the upper one."""
    size = len(tree) // 2
    node = 1
    while node < size:
        node = 2 * node + (1 if tree[2 * node] > tree[2 * node + 1] else 0)
    slot = node - size
    upper, lower = order[slot + 1], order[slot]
    order[slot], order[slot + 1] = upper, lower
    low = high = node
    tree[node] = np.inf
    if slot > 0:
        low -= 1
        tree[low] = _time(first, second, order[slot - 1], upper)
    if slot + 2 < len(order):
        high += 1
        tree[high] = _time(first, second, lower, order[slot + 2])
    while low > 1:
        low //= 2
        high //= 2
        for above in range(low, high + 1):
            tree[above] = min(tree[2 * above], tree[2 * above + 1])
    return slot


@compiled
def _next(tree: np.ndarray, now: float) -> float:
    """Return the time of the next exchange, or of the end."""
    return min(1.0, max(now, tree[1]))


@compiled
def advance(
    first: np.ndarray,
    second: np.ndarray,
    order: np.ndarray,
    tree: np.ndarray,
    depth: int,
) -> tuple[float, int]:
    """Advance until the top ``depth`` positions change; return that angle and the orders passed.

    The angle is 90 degrees if they do not change any more.
    """
    now, passed = 0.0, 0
    while tree[1] < np.inf:
        now = max(now, tree[1])
        touched = False
        while tree[1] <= now + SAME:
            touched = _exchange(first, second, order, tree) < depth or touched
        passed += 1
        if touched:
            return _angle(min(1.0, now)), passed
    return RIGHT, passed


@compiled
def _note(
    found: np.ndarray, count: int, low: float, high: float, good: bool
) -> tuple[np.ndarray, int]:
    """Append an interval of times if it is good, or extend the last one if they touch."""
    if high <= low or not good:
        return found, count
    if count > 0 and found[count - 1, 1] == low:
        found[count - 1, 1] = high
        return found, count
    if count == len(found):
        more = np.empty((2 * count, 2))
        more[:count] = found
        found = more
    found[count, 0], found[count, 1] = low, high
    return found, count + 1


@compiled
def sweep_counts(
    first: np.ndarray,
    second: np.ndarray,
    order: np.ndarray,
    tree: np.ndarray,
    codes: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> tuple[np.ndarray, int]:
    """Return the intervals of angles at which each prefix has ``low`` to ``high`` of each group.

    ``low`` and ``high`` are groups x prefixes. Also returns the number of orders.
    """
    n_groups, depth = low.shape
    counts = np.zeros((n_groups, depth), dtype=np.int64)
    broken = 0
    for group in range(n_groups):
        count = 0
        for position in range(depth):
            count += 1 if codes[order[position]] == group else 0
            counts[group, position] = count
            if count < low[group, position] or count > high[group, position]:
                broken += 1
    found, n_found, n_orders = np.empty((16, 2)), 0, 0
    now = 0.0
    while True:
        then = _next(tree, now)
        found, n_found = _note(found, n_found, now, then, broken == 0)
        now, n_orders = then, n_orders + 1
        if tree[1] == np.inf:
            return np.arctan2(found[:n_found], 1.0 - found[:n_found]), n_orders
        while tree[1] <= now + SAME:
            slot = _exchange(first, second, order, tree)
            if slot >= depth:
                continue
            into, out = codes[order[slot]], codes[order[slot + 1]]
            if into == out:
                continue
            for group, step in ((into, 1), (out, -1)):
                count = counts[group, slot]
                was = count < low[group, slot] or count > high[group, slot]
                count += step
                counts[group, slot] = count
                is_now = count < low[group, slot] or count > high[group, slot]
                broken += (1 if is_now else 0) - (1 if was else 0)


@compiled
def sweep_exposure(
    first: np.ndarray,
    second: np.ndarray,
    order: np.ndarray,
    tree: np.ndarray,
    codes: np.ndarray,
    exposure: np.ndarray,
    watched: np.ndarray,
    limit: float,
) -> tuple[np.ndarray, int]:
    """Return the intervals of angles at which no watched group has an exposure gap above the limit.

    The gap is between the mean exposure of the group and of everyone else. Also returns the number
    of orders.
    """
    n_groups = len(watched)
    total, size = np.zeros(n_groups), np.zeros(n_groups)
    for position in range(len(order)):
        total[codes[order[position]]] += exposure[position]
        size[codes[order[position]]] += 1.0
    everyone, everything = size.sum(), total.sum()
    found, n_found, n_orders = np.empty((16, 2)), 0, 0
    now = 0.0
    while True:
        then = _next(tree, now)
        widest = 0.0
        for group in range(n_groups):
            if watched[group] and 0.0 < size[group] < everyone:
                rest = (everything - total[group]) / (everyone - size[group])
                widest = max(widest, abs(total[group] / size[group] - rest))
        found, n_found = _note(found, n_found, now, then, widest <= limit)
        now, n_orders = then, n_orders + 1
        if tree[1] == np.inf:
            return np.arctan2(found[:n_found], 1.0 - found[:n_found]), n_orders
        while tree[1] <= now + SAME:
            slot = _exchange(first, second, order, tree)
            gain = exposure[slot] - exposure[slot + 1]
            total[codes[order[slot]]] += gain
            total[codes[order[slot + 1]]] -= gain
