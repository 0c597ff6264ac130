"""One list under minimums of groups that are known as probabilities."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..kernels.label_chances import (
    EXPECTED,
    JOINT,
    PREFIX,
    Minimums,
    blend,
    chances,
    exchange,
    greedy_list,
    reached,
    repair,
    worth,
)
from .integer_program import Program

__all__ = [
    "EXPECTED",
    "JOINT",
    "PREFIX",
    "Conditions",
    "LikelyList",
    "arrange_list",
    "best_expected",
]

#: Largest number of counts by prefix in the tables of one list (400 MB).
MOST_COUNTS = 50_000_000
#: Largest number of variables of an integer program; larger lists are blended and exchanged only.
MOST_VARIABLES = 200_000
#: Largest number of steps of one pass of repair; longer lists are not repaired.
MOST_STEPS = 10_000_000_000
#: Rounds in which the weights of several conditions are changed.
ROUNDS = 40


#: Condition, prefix, minimum, what is reached at best, and the level.
Missed = tuple[int, int, int, float, float]


@dataclass(frozen=True, eq=False)
class LikelyList:
    """One arranged list.

    Attributes
    ----------
    order : ndarray of int
        The candidates in their new order.
    chance : float
        The probability that all bounds hold in all prefixes; with several conditions the lower
        bound of Bonferroni.
    least : float
        The smallest probability of one bound in one prefix.
    score, greedy_score : float
        Discounted score of this list and of the greedy one.
    gap : float
        How far the list may be from the best one, as a share.
    missed : tuple or None
        If the conditions cannot hold: condition, prefix, minimum, and what can be reached there.
        ``proven`` tells whether no list holds; otherwise none was found.
    """

    order: np.ndarray
    chance: float
    least: float
    score: float
    greedy_score: float
    gap: float = np.nan
    missed: Missed | None = None
    proven: bool = True


@dataclass(frozen=True, eq=False)
class Conditions:
    """Minimums of groups, or of everyone else, in the prefixes of all lists.

    Attributes
    ----------
    table : ndarray of shape (rows, groups)
        The probability of each group for each stored row.
    sides : tuple of (int, bool)
        The group of each condition, and whether everyone else counts: at most c of a group in the
        first j positions are at least j - c of everyone else.
    floors : ndarray of int of shape (prefixes, conditions)
        The minimums, not decreasing within a list.
    start, lengths : ndarray of int
        First row and number of rows of each list in ``floors``.
    mode : int
        EXPECTED, PREFIX or JOINT.
    level : float
        The probability of each condition.
    labels : tuple
        The names of the groups.
    """

    table: np.ndarray
    sides: tuple[tuple[int, bool], ...]
    floors: np.ndarray
    start: np.ndarray
    lengths: np.ndarray
    mode: int
    level: float
    labels: tuple[Any, ...]

    def of_list(self, query: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what counts of some stored rows, and the minimums of their list."""
        columns = [
            1.0 - self.table[rows, g] if rest else self.table[rows, g] for g, rest in self.sides
        ]
        share = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0))
        begin = int(self.start[query])
        floors = self.floors[begin : begin + int(self.lengths[query])]
        return np.ascontiguousarray(share), np.ascontiguousarray(floors, dtype=np.int64)

    def levels(self, k: int) -> np.ndarray:
        """Return the level of each prefix and condition."""
        return np.full((k, len(self.sides)), self.level)

    def held(self, order: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return whether the conditions hold in each list, given the stored rows in order."""
        found = np.ones(len(offsets) - 1, dtype=bool)
        for query in range(len(found)):
            rows = order[offsets[query] : offsets[query + 1]]
            share, floors = self.of_list(query, rows)
            k = min(len(floors), len(rows))
            if k and self.sides:
                level = self.levels(k)
                need = Minimums(share, floors[:k], level, self.mode)
                found[query] = reached(np.arange(k), need)
        return found

    def reason(self, one: LikelyList) -> str:
        """Return which prefix and minimum make the conditions of a list impossible."""
        if one.missed is None:
            return "nothing is missed"
        at, prefix, floor, best, level = one.missed
        group, rest = self.sides[at]
        label = repr(self.labels[group])
        top = f"the first {prefix} positions" if prefix > 1 else "the first position"
        verb = "need" if prefix > 1 else "needs"
        if rest:
            bound = f"{top} may hold {prefix - floor} of group {label}"
        else:
            bound = f"{top} {verb} {floor} of group {label}"
        found = "the best reachable" if one.proven else "no list was found that does, and the best"
        if self.mode == EXPECTED:
            count = prefix - best if rest else best
            return f"{bound} in expectation, and {found} expected count is {count:.4g}"
        joint = ", as in all shorter prefixes," if self.mode == JOINT and prefix > 1 else ""
        return f"{bound}{joint} with probability {level:.4g}, and {found} probability is {best:.4g}"


def arrange_list(
    value: np.ndarray,
    share: np.ndarray,
    floors: np.ndarray,
    conditions: Conditions,
    *,
    closest: bool,
    time_limit: float,
) -> LikelyList:
    """Return the best list found: never worse than the greedy one.

    A weight on the probabilities is increased until the list holds; then better items are swapped
    in and neighbours exchanged while it holds. With one condition the list is refused only if the
    items of the largest probabilities do not hold, which proves that none does. Expected counts are
    then improved to the optimum by an integer program within the time limit. If the conditions
    cannot hold, the list is that of the largest levels that can, if ``closest``.
    """
    k, mode = len(floors), conditions.mode
    if k == 0 or share.shape[1] == 0:
        order = np.arange(k)
        score = worth(order, value)
        return LikelyList(order, 1.0, 1.0, score, score, 0.0)
    if k * int(floors[-1].max() + 1) * share.shape[1] > MOST_COUNTS:
        raise DataError(
            f"labels must be 'known' for a list of {k} positions with {int(floors[-1].max())} "
            "needed: the table of probabilities would be too large; choose a smaller k"
        )
    need = Minimums(share, floors, conditions.levels(k), mode)
    start, missed, proven = _found(value, need, time_limit)
    if missed is not None:
        if not closest:
            return LikelyList(np.arange(k), 0.0, 0.0, 0.0, 0.0, np.nan, missed, proven)
        nearest, need = _loosened(None if proven else start, need)
        start, held = _first_list(value, need)
        start = start if held else nearest
    order, greedy = _improved(value, need, start)
    gap = np.nan
    if mode == EXPECTED:
        order, gap = _proven(value, need, order, time_limit)
    return LikelyList(
        order,
        *_chances_of(share[order], floors),
        worth(order, value),
        worth(greedy, value),
        gap,
        missed,
        proven,
    )


def _found(
    value: np.ndarray,
    need: Minimums,
    time_limit: float,
) -> tuple[np.ndarray, Missed | None, bool]:
    """Return a list that holds, or what is missed and whether no list holds."""
    missed = _missed(need)
    if missed is not None:
        return np.arange(len(need.floors)), missed, True
    start, held = _first_list(value, need)
    if held:
        return start, None, True
    found, bound = None, np.inf
    if need.mode == EXPECTED:
        found, bound = best_expected(value, need.share, need.floors, time_limit)
    if found is not None:
        return found, None, True
    return start, _worst(start, need), bool(np.isneginf(bound))


def _chances_of(share: np.ndarray, floors: np.ndarray) -> tuple[float, float]:
    """Return the probability that all bounds hold (at least), and that of the unlikeliest one."""
    columns = range(share.shape[1])
    joint = [chances(share[:, g].copy(), floors[:, g].copy(), JOINT)[-1] for g in columns]
    each = [chances(share[:, g].copy(), floors[:, g].copy(), PREFIX).min() for g in columns]
    return max(0.0, 1.0 - sum(1.0 - one for one in joint)), float(min(each))


def _reach(share: np.ndarray, floors: np.ndarray, mode: int) -> np.ndarray:
    """Return what the prefixes reach of one condition; the expected counts in that mode."""
    if mode == EXPECTED:
        return np.cumsum(share)
    return np.asarray(chances(np.ascontiguousarray(share), np.ascontiguousarray(floors), mode))


def _missed(need: Minimums) -> Missed | None:
    """Return the first condition that no list holds: the largest probabilities first miss it.

    That order maximises the expected count and the tail probability of every prefix, and the
    probability of all together.
    """
    share, floors, level, mode = need
    for g in range(share.shape[1]):
        first = np.sort(share[:, g])[::-1][: len(floors)]
        found = _short(_reach(first, floors[:, g], mode), floors[:, g], level[:, g], mode)
        if found is not None:
            return (g, *found)
    return None


def _short(
    reach: np.ndarray, floors: np.ndarray, level: np.ndarray, mode: int
) -> tuple[int, int, float, float] | None:
    """Return the first prefix that reaches too little: prefix, minimum, reached and level."""
    short = reach < floors - 1e-6 if mode == EXPECTED else reach < level - 1e-12
    if not short.any():
        return None
    at = int(short.argmax())
    best = reach[-1] if mode == JOINT else reach[at]
    return at + 1, int(floors[at]), float(best), float(level[at])


def _worst(order: np.ndarray, need: Minimums) -> Missed:
    """Return the first condition that a list misses."""
    share, floors, level, mode = need
    for g in range(share.shape[1]):
        reach = _reach(share[order, g], floors[:, g], mode)
        found = _short(reach, floors[:, g], level[:, g], mode)
        if found is not None:
            return (g, *found)
    raise RuntimeError("a list that is not found must miss a condition")


def _first_list(value: np.ndarray, need: Minimums) -> tuple[np.ndarray, bool]:
    """Return a list, and whether it holds; if none is found, the one that misses least.

    With several conditions, the weights of those that the list misses grow round by round; then
    single swaps repair what is missed.
    """
    share, floors, level, mode = need
    k, n_conditions = len(floors), share.shape[1]
    weights = np.ones(n_conditions)
    best, least = np.arange(k), -np.inf
    for _ in range(1 if n_conditions == 1 else ROUNDS):
        gain = np.ascontiguousarray(share @ (weights / weights.sum()))
        order, weight = blend(value, gain, need)
        if not np.isnan(weight):
            return order, True
        reach = [chances(share[order, g].copy(), floors[:, g].copy(), mode)
                 for g in range(n_conditions)]  # fmt: skip
        lack = np.maximum(level - np.stack(reach, axis=1), 0.0).max(axis=0)
        if -lack.max() > least:
            best, least = order, -lack.max()
        weights = weights * np.where(lack > 0, 1.5, 1.0 / 1.5)
    if n_conditions > 1 and k**2 * len(value) * int(floors[-1].sum() + 1) <= MOST_STEPS:
        for start in (best, np.arange(k)):
            order = np.array(start)
            if repair(order, need) <= 0.0:
                return order, True
    return best, False


def _loosened(nearest: np.ndarray | None, need: Minimums) -> tuple[np.ndarray, Minimums]:
    """Return a list, and the minimums and levels that it reaches.

    Without a list that was found, it is that of the largest probabilities, in the mean over
    conditions.
    """
    share, floors, level, mode = need
    if nearest is None:
        nearest = np.argsort(-share.mean(axis=1), kind="stable")[: len(floors)]
    floors, level = floors.copy(), level.copy()
    for g in range(share.shape[1]):
        reach = _reach(share[nearest, g], floors[:, g], mode)
        if mode == EXPECTED:
            floors[:, g] = np.minimum(floors[:, g], np.floor(reach + 1e-9).astype(np.int64))
            floors[:, g] = np.minimum.accumulate(floors[::-1, g])[::-1]
        else:
            level[:, g] = np.minimum(level[:, g], reach[-1] if mode == JOINT else reach)
    return nearest, Minimums(share, floors, level, mode)


def _improved(
    value: np.ndarray, need: Minimums, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the better of the blended and the greedy list, both improved, and the greedy list."""
    if need.share.shape[1] == 1:
        key = np.ascontiguousarray(need.share[:, 0])
        finish = np.argsort(-key, kind="stable")
    else:  # lists are finished in the order of the list that holds
        rest = np.setdiff1d(np.arange(len(value)), start)
        finish = np.concatenate([start, rest])
        key = np.empty(len(value))
        key[finish] = -np.arange(len(value))
    greedy = greedy_list(finish, key, need)
    lists = [np.array(start), greedy.copy()]
    for order in lists:
        exchange(order, value, need)
    return max(lists, key=lambda order: worth(order, value)), greedy


def _proven(
    value: np.ndarray, need: Minimums, order: np.ndarray, time_limit: float
) -> tuple[np.ndarray, float]:
    """Return the best list under expected minimums, and how far it may be from the optimum."""
    plain = np.arange(len(need.floors))
    if reached(plain, need):
        return plain, 0.0
    found, bound = best_expected(value, need.share, need.floors, time_limit)
    if found is not None and reached(found, need):
        order = max(order, found, key=lambda one: worth(one, value))
    mine = worth(order, value - value.min())
    return order, max(0.0, (bound - mine) / mine) if mine > 0 else 0.0


def best_expected(
    value: np.ndarray, share: np.ndarray, floors: np.ndarray, time_limit: float
) -> tuple[np.ndarray | None, float]:
    """Return the list of largest discounted score under expected minimums, and a bound of it.

    Variables ``inside[i, j]`` tell whether item i is among the first j. An item with k better ones,
    in value and in all probabilities, is left out. The bound is that of values above the lowest,
    and minus infinity if no list holds.
    """
    k = len(floors)
    kept = _undominated(value, share, k)
    if len(kept) * k > MOST_VARIABLES:
        return None, np.inf
    program = Program()
    inside = program.variables(len(kept) * k, whole=True).reshape(len(kept), k)
    ones = np.ones(len(kept))
    for j in range(k):
        program.row(inside[:, j], ones, low=j + 1.0, high=j + 1.0)
        for g in range(share.shape[1]):
            if floors[j, g] > 0:
                program.row(inside[:, j], share[kept, g], low=float(floors[j, g]))
    for row in inside:
        for j in range(1, k):
            program.row(row[j - 1 : j + 1], [-1.0, 1.0], low=0.0)
    weight = 1.0 / np.log2(np.arange(2.0, k + 2.0))
    step = weight - np.append(weight[1:], 0.0)
    gain = np.outer(value[kept] - value.min(), step)
    found = program.solve(inside.ravel(), gain.ravel(), time_limit=time_limit)
    if found.x is None:
        return None, -np.inf if found.infeasible else np.inf
    position = k - np.round(found.x[inside]).sum(axis=1).astype(np.int64)
    chosen = np.flatnonzero(position < k)
    order = kept[chosen[np.argsort(position[chosen])]]
    if len(order) != k:
        return None, np.inf
    mine = worth(order, value - value.min())
    return order, mine * (1.0 + found.gap)


def _undominated(value: np.ndarray, share: np.ndarray, k: int) -> np.ndarray:
    """Return the items with fewer than k others that are at least as good in every respect."""
    n = len(value)
    better = np.zeros(n, dtype=np.int64)
    for i in range(n):
        good = (value >= value[i]) & (share >= share[i]).all(axis=1)
        same = (value == value[i]) & (share == share[i]).all(axis=1)
        good &= ~same | (np.arange(n) < i)
        better[i] = good.sum()
    return np.flatnonzero(better < k)
