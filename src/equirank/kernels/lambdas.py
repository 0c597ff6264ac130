"""Gradients of LambdaMART with a performance and a fairness part, compiled, query by query.

Every pair of a query is looked at once, from the one that stands higher. Two signed weights say how
much the pair matters: positive where the higher one should stay above, negative where it should
not. The sigmoid of a difference of scores is a ratio of two exponentials, so that a query of n
items takes n exponentials and each pair one division. Loops over pairs count in unsigned numbers,
which need no check for a negative index, so that they use vector instructions.
"""

from typing import NamedTuple

import numpy as np

from .compiled import compiled
from .swaps import (
    NO_FAIRNESS,
    PREFIXES,
    Fairness,
    any_group_row,
    cut_of,
    sort_rows,
    swap_effects,
    target_places,
    two_group_row,
)

__all__ = [
    "CELL_COST",
    "NO_COST",
    "PAIR_COST",
    "PRODUCT_COST",
    "SUM_COST",
    "Performance",
    "pair_gradients",
]


NO_COST, PRODUCT_COST, SUM_COST, CELL_COST, PAIR_COST = 0, 1, 2, 3, 4

_DAMPING = 0.01
_WIDEST = 300.0  # beyond it exponentials are taken row by row
_PULL, _RELEASE = 2.0, 1.05  # how much a brake is pulled or let go at a time
_TIGHTEST = 200.0


class Performance(NamedTuple):
    """What the performance part reads: gains, discounts, ideal values and costs of pairs."""

    gain: np.ndarray  # per row
    discount: np.ndarray  # per place
    inverse_ideal: np.ndarray  # per query, 0 where nothing is relevant
    truncation: int
    cost_kind: int
    cost: np.ndarray  # per row
    cell: np.ndarray  # per row
    cell_cost: np.ndarray  # cell x cell, the better item first
    pair_start: np.ndarray  # per query
    pair_cost: np.ndarray  # n x n per query, the better item first


@compiled(reordered=True)
def _performance_row(
    i: int, n: int, scale: float, gain: np.ndarray, discount: np.ndarray, weight: np.ndarray
) -> None:
    """Write the performance weights of place i's pairs."""
    own, here = gain[i], discount[i]
    for j in range(np.uint64(i + 1), np.uint64(n)):
        weight[j] = scale * (own - gain[j]) * (here - discount[j])


@compiled
def _cost_row(
    q: int,
    i: int,
    first: int,
    order: np.ndarray,
    perf: Performance,
    cost: np.ndarray,
    weight: np.ndarray,
) -> None:
    """Multiply the performance weights of place i's pairs by what the pairs cost."""
    n = len(order)
    if perf.cost_kind == PRODUCT_COST:
        for j in range(i + 1, n):
            weight[j] *= cost[i] * cost[j]
    elif perf.cost_kind == SUM_COST:
        for j in range(i + 1, n):
            weight[j] *= cost[i] + cost[j]
    else:
        for j in range(i + 1, n):
            high, low = (order[i], order[j]) if weight[j] > 0.0 else (order[j], order[i])
            if perf.cost_kind == CELL_COST:
                weight[j] *= perf.cell_cost[perf.cell[first + high], perf.cell[first + low]]
            else:
                weight[j] *= perf.pair_cost[perf.pair_start[q] + high * n + low]


@compiled(reordered=True)
def _sides(
    begin: int,
    n: int,
    eased: float,
    first_weight: np.ndarray,
    second_weight: np.ndarray,
    keep: np.ndarray,
    turn: np.ndarray,
    mass: np.ndarray,
) -> None:
    """Add up the weights that want a pair kept, those that want it turned round, and all.

    In the first two, which are for the gradient, the second weights count ``eased`` times.
    """
    for j in range(np.uint64(begin), np.uint64(n)):
        x, z = first_weight[j], second_weight[j]
        mass[j] = (x if x > 0.0 else -x) + (z if z > 0.0 else -z)
        z *= eased
        keep[j] = (x if x > 0.0 else 0.0) + (z if z > 0.0 else 0.0)
        turn[j] = (-x if x < 0.0 else 0.0) + (-z if z < 0.0 else 0.0)


@compiled(reordered=True)
def _pulls(
    begin: int,
    n: int,
    here: float,
    own: float,
    damping: float,
    distance: float,
    score: np.ndarray,
    power: np.ndarray,
    keep: np.ndarray,
    turn: np.ndarray,
    mass: np.ndarray,
) -> tuple[float, float, float]:
    """Turn the weights of one place's pairs into gradients (in ``keep``) and curvatures (``mass``).

    ``own`` and ``power`` are the exponentials of the scores up to a common factor, so that the
    chance that j stands above is ``power[j] / (own + power[j])``. Gives the sums of gradients, of
    curvatures and of the gradients' sizes.
    """
    slope, bend, size = 0.0, 0.0, 0.0
    for j in range(np.uint64(begin), np.uint64(n)):
        theirs = power[j]
        damped = damping + distance * (here - score[j])
        part = 1.0 / ((own + theirs) * damped)
        kept, turned = theirs * keep[j] * part, own * turn[j] * part
        bow = own * theirs * mass[j] * part * part * damped
        slope += kept - turned
        bend += bow
        size += kept + turned
        keep[j] = kept - turned
        mass[j] = bow
    return slope, bend, size


@compiled(reordered=True)
def _add(
    begin: int, n: int, pull: np.ndarray, bow: np.ndarray, slope: np.ndarray, bend: np.ndarray
) -> None:
    """Add one place's pairs to the others' sums."""
    for j in range(np.uint64(begin), np.uint64(n)):
        slope[j] += pull[j]
        bend[j] += bow[j]


@compiled
def _hold(q: int, pull: np.ndarray, pull_before: np.ndarray, brake: np.ndarray) -> None:
    """Brake a list whose pull between groups turned round since the last call, else let go."""
    if pull_before.shape[1] == 0:
        return
    same = 0.0
    for c in range(len(pull)):
        same += pull[c] * pull_before[q, c]
        pull_before[q, c] = pull[c]
    if same < 0.0:
        brake[q] = min(brake[q] * _PULL, _TIGHTEST)
    elif same > 0.0:
        brake[q] = max(brake[q] / _RELEASE, 1.0)


@compiled
def pair_gradients(
    begin: int,
    end: int,
    score: np.ndarray,
    offsets: np.ndarray,
    order: np.ndarray,
    alpha: float,
    sigma: float,
    normalize: bool,
    query_weight: np.ndarray,
    perf: Performance,
    fair: Fairness,
    brake: np.ndarray,
    pull_before: np.ndarray,
    gradient: np.ndarray,
    curvature: np.ndarray,
) -> None:
    """Write gradient and curvature of the rows of the queries ``begin:end``.

    ``order`` holds the rows of each query, counted from its first, in the order of an earlier call
    (any permutation at first), and is brought up to date. Work space is taken once per call.

    All pairs between two groups may ask for the same swap, and all of them then overshoot. Where
    the pull between the groups of a list turned round since the last call, the gradient (not the
    curvature) of its fairness part is divided by a growing ``brake``, which makes the next step
    smaller; else the brake is let go, down to 1. A ``pull_before`` without columns switches it off.
    Beside a performance part, pairs of equal score have no pull of fairness unless a target list
    says which should be above: their order is that of the rows, and a swap changes nothing.
    """
    longest, most_cuts = 1, 0
    for q in range(begin, end):
        longest = max(longest, offsets[q + 1] - offsets[q])
        most_cuts = max(most_cuts, fair.n_cuts[q])
    n_columns = fair.start.shape[1]
    spare = np.empty(longest, dtype=np.int32)
    counter = np.empty(longest, dtype=np.int64)
    more, fewer = np.zeros((n_columns, most_cuts + 1)), np.zeros((n_columns, most_cuts + 1))
    drawn, value, pull = np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns)
    ranked, power, gain = np.zeros(longest), np.zeros(longest), np.zeros(longest)
    cost, first_weight, second_weight = np.zeros(longest), np.zeros(longest), np.zeros(longest)
    keep, turn, mass = np.zeros(longest), np.zeros(longest), np.zeros(longest)
    slope, bend, block = np.zeros(longest), np.zeros(longest), np.zeros(longest)
    effect, effect_other = np.zeros(longest), np.zeros(longest)
    counted, uncounted = np.zeros(longest), np.zeros(longest)
    two = fair.kind == PREFIXES and n_columns == 1
    share = 1.0 - alpha
    for q in range(begin, end):
        first = offsets[q]
        n = offsets[q + 1] - first
        rows, values = order[first : first + n], score[first : first + n]
        sort_rows(values, rows, spare)
        middle = 0.5 * (values[rows[0]] + values[rows[n - 1]])
        reach = values[rows[0]] - values[rows[n - 1]]
        wide = sigma * reach > _WIDEST
        for at in range(n):
            row = first + rows[at]
            ranked[at] = values[rows[at]]
            gain[at] = perf.gain[row]
            slope[at] = 0.0
            bend[at] = 0.0
            first_weight[at] = 0.0
            second_weight[at] = 0.0
            power[at] = 0.0 if wide else np.exp(sigma * (ranked[at] - middle))
        if perf.cost_kind == PRODUCT_COST or perf.cost_kind == SUM_COST:
            for at in range(n):
                cost[at] = perf.cost[first + rows[at]]
        compared = alpha > 0.0 and perf.inverse_ideal[q] > 0.0
        watched = share > 0.0 and fair.kind != NO_FAIRNESS
        n_cuts = fair.n_cuts[q]
        if watched:
            swap_effects(q, n, rows, first, fair, more, fewer, drawn, value, pull)
            _hold(q, pull, pull_before, brake)
            if fair.targeted:
                target_places(first, rows, fair, counter, block)
            if two:
                for at in range(n):
                    cut = cut_of(at, fair, n_cuts)
                    first_group = fair.bucket[first + rows[at]] == 0
                    counted[at] = 1.0 if first_group else 0.0
                    uncounted[at] = 0.0 if first_group else 1.0
                    effect[at] = fewer[0, cut]
                    effect_other[at] = more[0, cut]
        near = perf.truncation if compared else 0
        far = n
        if not watched:
            far = 0
        elif fair.kind == PREFIXES:
            far = 0 if n_cuts == 0 else fair.first_cut + (n_cuts - 1) * fair.step
        damping, distance = 1.0, 0.0
        if normalize and reach > 0.0:
            damping, distance = _DAMPING, 1.0
        chance, tied = alpha > 0.0 and not fair.targeted, 0
        size = 0.0
        for i in range(min(n - 1, max(near, far))):
            start = i + 1
            if i < near:
                scale = alpha * perf.inverse_ideal[q]
                _performance_row(i, n, scale, gain, perf.discount, first_weight)
                if perf.cost_kind != NO_COST:
                    _cost_row(q, i, first, rows, perf, cost, first_weight)
            elif i == near:
                for j in range(n):
                    first_weight[j] = 0.0
            if i < far:
                lowest = i + 1
                if fair.kind == PREFIXES:
                    lowest = fair.first_cut + cut_of(i, fair, n_cuts) * fair.step
                if chance:  # which of two tied items stands first: their swap says nothing
                    tied = max(tied, i + 1)
                    while tied < n and ranked[tied] == ranked[i]:
                        tied += 1
                    lowest = max(lowest, tied)
                if i >= near:
                    start = lowest
                else:
                    for j in range(start, min(lowest, n)):
                        second_weight[j] = 0.0
                if two:
                    inside = counted[i] > 0.0
                    two_group_row(
                        i, lowest, n, share, fair.targeted, effect if inside else effect_other,
                        uncounted if inside else counted, block, second_weight,
                    )  # fmt: skip
                else:
                    any_group_row(
                        q, i, lowest, first, rows, share, fair, block, more, fewer, drawn, value,
                        second_weight,
                    )  # fmt: skip
            elif i == far:
                for j in range(n):
                    second_weight[j] = 0.0
            own = power[i]
            if wide:
                own = 1.0
                for j in range(start, n):
                    power[j] = np.exp(sigma * (ranked[j] - ranked[i]))
            _sides(start, n, 1.0 / brake[q], first_weight, second_weight, keep, turn, mass)
            drag, bow, much = _pulls(
                start, n, ranked[i], own, damping, distance, ranked, power, keep, turn, mass
            )
            _add(start, n, keep, mass, slope, bend)
            slope[i] -= drag
            bend[i] += bow
            size += much
        size *= 2.0 * sigma
        factor = query_weight[q]
        if normalize and size > 0.0:
            factor *= np.log2(1.0 + size) / size
        for at in range(n):
            gradient[first + rows[at]] = factor * sigma * slope[at]
            curvature[first + rows[at]] = factor * sigma * sigma * bend[at]
