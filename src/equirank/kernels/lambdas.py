"""Gradients and Hessians of LambdaMART with an NDCG part and a fairness part, query by query.

Each pair of a query is visited once, from its higher-ranked item i. Two signed weights of the pair
are positive if i should stay above j and negative if not. The sigmoid of a difference of scores is
a ratio of two exponentials, so a query of n items takes n exponentials and each pair one division.
Loops over pairs use unsigned indices, which need no check for negative values and vectorise.
"""

from typing import NamedTuple

import numpy as np

from .compiled import compiled
from .member_swaps import MemberState, member_effects, member_row
from .swaps import (
    NO_FAIRNESS,
    PREFIXES,
    Fairness,
    any_group_row,
    cut_of,
    cut_position,
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
    "GroupSteps",
    "Lists",
    "Loss",
    "Performance",
    "pair_gradients",
]


NO_COST, PRODUCT_COST, SUM_COST, CELL_COST, PAIR_COST = 0, 1, 2, 3, 4

_DAMPING = 0.01
_WIDEST = 300.0  # for a larger spread of scores, exponentials are computed row by row
_SHRINK, _RELAX = 2.0, 1.05  # factors on the divisor of a list's fairness gradient
_MAX_DIVISOR = 200.0


class Performance(NamedTuple):
    """Inputs of the NDCG part: gains, discounts, ideal values and costs of pairs."""

    gain: np.ndarray  # per row
    discount: np.ndarray  # per position
    inverse_ideal: np.ndarray  # per query, 0 if no item is relevant
    truncation: int
    cost_kind: int
    cost: np.ndarray  # per row
    cell: np.ndarray  # per row
    cell_cost: np.ndarray  # cell x cell, the better item first
    pair_start: np.ndarray  # per query
    pair_cost: np.ndarray  # n x n per query, the better item first


class Lists(NamedTuple):
    """Queries and their rows."""

    offsets: np.ndarray
    order: np.ndarray  # rows of each query, counted from its first, as ranked by the last call
    weight: np.ndarray  # per query
    root: np.ndarray  # per row: square root of its weight; empty if all weights are 1


class Loss(NamedTuple):
    """Parameters of the loss."""

    alpha: float  # share of the NDCG part
    sigma: float
    normalize: bool
    tied_pairs: bool  # whether tied items have a fairness gradient in a combined loss


class GroupSteps(NamedTuple):
    """Step control of the fairness part; ``last_grad`` without columns switches it off."""

    divisor: np.ndarray  # per query: the fairness gradient is divided by it
    last_grad: np.ndarray  # query x column: gradient between groups in the last call


class _Work(NamedTuple):
    """Work space of one call, for the longest query; arrays per position unless noted."""

    spare: np.ndarray
    counter: np.ndarray
    more: np.ndarray  # column x cut
    fewer: np.ndarray  # column x cut
    near: np.ndarray  # column x cut
    drawn: np.ndarray  # per column
    value: np.ndarray  # per column
    group_grad: np.ndarray  # per column
    score: np.ndarray
    exp_score: np.ndarray
    gain: np.ndarray
    cost: np.ndarray
    root: np.ndarray
    delta_ndcg: np.ndarray  # weight of pair (i, j) in the NDCG part
    delta_fair: np.ndarray  # weight of pair (i, j) in the fairness part
    keep: np.ndarray
    reverse: np.ndarray
    weight: np.ndarray
    grad: np.ndarray
    hess: np.ndarray
    block: np.ndarray
    effect_in: np.ndarray
    effect_out: np.ndarray
    counted: np.ndarray
    uncounted: np.ndarray


@compiled
def _work_space(begin: int, end: int, offsets: np.ndarray, fair: Fairness) -> _Work:
    """Allocate the work space for the queries ``begin:end``."""
    longest, most_cuts = 1, 0
    for q in range(begin, end):
        longest = max(longest, offsets[q + 1] - offsets[q])
        most_cuts = max(most_cuts, fair.n_cuts[q])
    n_columns = fair.start.shape[1]
    return _Work(
        np.empty(longest, dtype=np.int32), np.empty(longest, dtype=np.int64),
        np.zeros((n_columns, most_cuts + 1)), np.zeros((n_columns, most_cuts + 1)),
        np.zeros((n_columns, most_cuts + 1), dtype=np.int64),
        np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns),
        np.zeros(longest), np.zeros(longest), np.zeros(longest), np.zeros(longest),
        np.zeros(longest), np.zeros(longest), np.zeros(longest), np.zeros(longest),
        np.zeros(longest), np.zeros(longest), np.zeros(longest), np.zeros(longest),
        np.zeros(longest), np.zeros(longest), np.zeros(longest), np.zeros(longest),
        np.zeros(longest),
    )  # fmt: skip


@compiled(reordered=True)
def _ndcg_row(
    i: int, n: int, scale: float, gain: np.ndarray, discount: np.ndarray, delta_ndcg: np.ndarray
) -> None:
    """Write the signed change in NDCG from swapping position i with each later position."""
    gain_i, discount_i = gain[i], discount[i]
    for j in range(np.uint64(i + 1), np.uint64(n)):
        delta_ndcg[j] = scale * (gain_i - gain[j]) * (discount_i - discount[j])


@compiled
def _cost_row(
    q: int,
    i: int,
    first: int,
    order: np.ndarray,
    perf: Performance,
    cost: np.ndarray,
    delta_ndcg: np.ndarray,
) -> None:
    """Multiply the NDCG weights of position i's pairs by the costs of the pairs."""
    n = len(order)
    if perf.cost_kind == PRODUCT_COST:
        for j in range(i + 1, n):
            delta_ndcg[j] *= cost[i] * cost[j]
    elif perf.cost_kind == SUM_COST:
        for j in range(i + 1, n):
            delta_ndcg[j] *= cost[i] + cost[j]
    else:
        for j in range(i + 1, n):
            high, low = (order[i], order[j]) if delta_ndcg[j] > 0.0 else (order[j], order[i])
            if perf.cost_kind == CELL_COST:
                delta_ndcg[j] *= perf.cell_cost[perf.cell[first + high], perf.cell[first + low]]
            else:
                delta_ndcg[j] *= perf.pair_cost[perf.pair_start[q] + high * n + low]


@compiled(reordered=True)
def _weight_row(
    i: int,
    begin: int,
    n: int,
    root: np.ndarray,
    delta_ndcg: np.ndarray,
    delta_fair: np.ndarray,
) -> None:
    """Multiply both weights of position i's pairs by ``sqrt(w_i w_j)``."""
    root_i = root[i]
    for j in range(np.uint64(begin), np.uint64(n)):
        factor = root_i * root[j]
        delta_ndcg[j] *= factor
        delta_fair[j] *= factor


@compiled(reordered=True)
def _pair_weights(
    begin: int,
    n: int,
    fair_step: float,
    delta_ndcg: np.ndarray,
    delta_fair: np.ndarray,
    keep: np.ndarray,
    reverse: np.ndarray,
    weight: np.ndarray,
) -> None:
    """Sum the weights for keeping each pair, for reversing it, and their absolute values.

    The first two, which the gradient uses, contain the fairness weights times ``fair_step``.
    """
    for j in range(np.uint64(begin), np.uint64(n)):
        x, z = delta_ndcg[j], delta_fair[j]
        weight[j] = (x if x > 0.0 else -x) + (z if z > 0.0 else -z)
        z *= fair_step
        keep[j] = (x if x > 0.0 else 0.0) + (z if z > 0.0 else 0.0)
        reverse[j] = (-x if x < 0.0 else 0.0) + (-z if z < 0.0 else 0.0)


@compiled(reordered=True)
def _pair_derivatives(
    begin: int,
    n: int,
    score_i: float,
    exp_i: float,
    damping: float,
    distance: float,
    score: np.ndarray,
    exp_score: np.ndarray,
    keep: np.ndarray,
    reverse: np.ndarray,
    weight: np.ndarray,
) -> tuple[float, float, float]:
    """Replace ``keep`` by the gradients and ``weight`` by the Hessians of one position's pairs.

    ``exp_i`` and ``exp_score`` are the exponentials of the scores up to a common factor, so the
    probability that j beats i is ``exp_score[j] / (exp_i + exp_score[j])``. Returns the sums of
    the gradients, of the Hessians and of the absolute gradients.
    """
    grad_sum, hess_sum, abs_sum = 0.0, 0.0, 0.0
    for j in range(np.uint64(begin), np.uint64(n)):
        exp_j = exp_score[j]
        damped = damping + distance * (score_i - score[j])
        factor = 1.0 / ((exp_i + exp_j) * damped)
        up, down = exp_j * keep[j] * factor, exp_i * reverse[j] * factor
        hess_ij = exp_i * exp_j * weight[j] * factor * factor * damped
        grad_sum += up - down
        hess_sum += hess_ij
        abs_sum += up + down
        keep[j] = up - down
        weight[j] = hess_ij
    return grad_sum, hess_sum, abs_sum


@compiled(reordered=True)
def _add(
    begin: int,
    n: int,
    lambda_ij: np.ndarray,
    hess_ij: np.ndarray,
    grad: np.ndarray,
    hess: np.ndarray,
) -> None:
    """Add the derivatives of one position's pairs to those of the later positions."""
    for j in range(np.uint64(begin), np.uint64(n)):
        grad[j] += lambda_ij[j]
        hess[j] += hess_ij[j]


@compiled
def _adapt_step(q: int, group_grad: np.ndarray, steps: GroupSteps) -> None:
    """Shrink the fairness step of a list whose group gradient changed sign; otherwise relax it."""
    if steps.last_grad.shape[1] == 0:
        return
    same = 0.0
    for c in range(len(group_grad)):
        same += group_grad[c] * steps.last_grad[q, c]
        steps.last_grad[q, c] = group_grad[c]
    if same < 0.0:
        steps.divisor[q] = min(steps.divisor[q] * _SHRINK, _MAX_DIVISOR)
    elif same > 0.0:
        steps.divisor[q] = max(steps.divisor[q] / _RELAX, 1.0)


@compiled
def _load_list(
    first: int,
    rows: np.ndarray,
    values: np.ndarray,
    root: np.ndarray,
    sigma: float,
    wide: bool,
    perf: Performance,
    work: _Work,
) -> None:
    """Write scores, exponentials, gains, weights and costs by position, and reset the sums."""
    n = len(rows)
    middle = 0.5 * (values[rows[0]] + values[rows[n - 1]])
    for at in range(n):
        work.score[at] = values[rows[at]]
        work.gain[at] = perf.gain[first + rows[at]]
        work.grad[at] = 0.0
        work.hess[at] = 0.0
        work.delta_ndcg[at] = 0.0
        work.delta_fair[at] = 0.0
        work.exp_score[at] = 0.0 if wide else np.exp(sigma * (work.score[at] - middle))
    if perf.cost_kind == PRODUCT_COST or perf.cost_kind == SUM_COST:
        for at in range(n):
            work.cost[at] = perf.cost[first + rows[at]]
    if len(root) > 0:
        for at in range(n):
            work.root[at] = root[first + rows[at]]


@compiled
def _load_groups(
    q: int, first: int, rows: np.ndarray, fair: Fairness, steps: GroupSteps, work: _Work
) -> None:
    """Compute the effects of swaps between groups at each cut, and adapt the step of the list."""
    n = len(rows)
    if len(fair.members) > 0:
        state = MemberState(work.more, work.fewer, work.near, work.drawn, work.value)
        member_effects(q, n, rows, first, fair, state, work.group_grad)
        _adapt_step(q, work.group_grad, steps)
        return
    swap_effects(
        q, n, rows, first, fair, work.more, work.fewer, work.drawn, work.value, work.group_grad
    )
    _adapt_step(q, work.group_grad, steps)
    if fair.targeted:
        target_places(first, rows, fair, work.counter, work.block)
    if fair.kind == PREFIXES and fair.start.shape[1] == 1:
        for at in range(n):
            cut = cut_of(at, q, fair)
            in_group = fair.bucket[first + rows[at]] == 0
            work.counted[at] = 1.0 if in_group else 0.0
            work.uncounted[at] = 0.0 if in_group else 1.0
            work.effect_in[at] = work.fewer[0, cut]
            work.effect_out[at] = work.more[0, cut]


@compiled
def _last_fair_position(q: int, n: int, alpha: float, fair: Fairness) -> int:
    """Return the number of positions whose pairs have a fairness part."""
    if not 1.0 - alpha > 0.0 or fair.kind == NO_FAIRNESS:
        return 0
    if fair.kind != PREFIXES:
        return n
    return 0 if fair.n_cuts[q] == 0 else cut_position(fair.n_cuts[q] - 1, q, fair)


# Long, since every pair adds to both derivatives of relevance and fairness in one loop.
@compiled
def pair_gradients(
    begin: int,
    end: int,
    score: np.ndarray,
    lists: Lists,
    loss: Loss,
    perf: Performance,
    fair: Fairness,
    steps: GroupSteps,
    grad: np.ndarray,
    hess: np.ndarray,
) -> None:
    """Write gradient and Hessian of the rows of the queries ``begin:end``.

    ``lists.order`` holds any permutation of the rows of each query at first, and the order by score
    after the call. Work space is allocated once per call.

    All pairs between two groups may have gradients of one sign, and a common step then overshoots.
    If the gradient between the groups of a list changed sign since the last call, the fairness part
    of its gradient (not of its Hessian) is divided by a growing divisor; otherwise the divisor
    falls, down to 1. In the fairness part of a combined loss without target lists, pairs of tied
    items have no gradient unless ``loss.tied_pairs``: their order is that of the rows. Weights of
    items multiply both parts of a pair by the square root of their product.
    """
    # The loop over pairs is not a function of its own: that took 25% longer on lists of 100 items.
    work = _work_space(begin, end, lists.offsets, fair)
    ranked, exp_score, gain, cost = work.score, work.exp_score, work.gain, work.cost
    delta_ndcg, delta_fair, block = work.delta_ndcg, work.delta_fair, work.block
    keep, reverse, weight = work.keep, work.reverse, work.weight
    grad_q, hess_q, counted, uncounted = work.grad, work.hess, work.counted, work.uncounted
    effect_in, effect_out = work.effect_in, work.effect_out
    sigma, share = loss.sigma, 1.0 - loss.alpha
    by_member = len(fair.members) > 0
    members = MemberState(work.more, work.fewer, work.near, work.drawn, work.value)
    one_column = fair.kind == PREFIXES and fair.start.shape[1] == 1 and not by_member
    skip_ties = loss.alpha > 0.0 and not fair.targeted and not loss.tied_pairs
    same_side = -1.0 if fair.same_block else 0.0
    for q in range(begin, end):
        first = lists.offsets[q]
        n = lists.offsets[q + 1] - first
        rows, values = lists.order[first : first + n], score[first : first + n]
        sort_rows(values, rows, work.spare)
        spread = values[rows[0]] - values[rows[n - 1]]
        wide = sigma * spread > _WIDEST
        _load_list(first, rows, values, lists.root, sigma, wide, perf, work)
        if share > 0.0 and fair.kind != NO_FAIRNESS:
            _load_groups(q, first, rows, fair, steps, work)
        near = perf.truncation if loss.alpha > 0.0 and perf.inverse_ideal[q] > 0.0 else 0
        far = _last_fair_position(q, n, loss.alpha, fair)
        damping, distance = 1.0, 0.0
        if loss.normalize and spread > 0.0:
            damping, distance = _DAMPING, 1.0
        tied, total = 0, 0.0
        for i in range(min(n - 1, max(near, far))):
            start = i + 1
            if i < near:
                scale = loss.alpha * perf.inverse_ideal[q]
                _ndcg_row(i, n, scale, gain, perf.discount, delta_ndcg)
                if perf.cost_kind != NO_COST:
                    _cost_row(q, i, first, rows, perf, cost, delta_ndcg)
            elif i == near:
                delta_ndcg[:n] = 0.0
            if i < far:
                lowest = i + 1
                if fair.kind == PREFIXES:
                    lowest = cut_position(cut_of(i, q, fair), q, fair)
                if skip_ties:
                    tied = max(tied, i + 1)
                    while tied < n and ranked[tied] == ranked[i]:
                        tied += 1
                    lowest = max(lowest, tied)
                if i >= near:
                    start = lowest
                else:
                    delta_fair[start : min(lowest, n)] = 0.0
                if one_column:
                    in_group = counted[i] > 0.0
                    two_group_row(
                        i, lowest, n, share, fair.targeted, same_side,
                        effect_in if in_group else effect_out,
                        uncounted if in_group else counted, block, delta_fair,
                    )  # fmt: skip
                elif by_member:
                    member_row(q, i, lowest, first, rows, share, fair, members, delta_fair)
                else:
                    any_group_row(
                        q, i, lowest, first, rows, share, fair, block, work.more, work.fewer,
                        work.drawn, work.value, delta_fair,
                    )  # fmt: skip
            elif i == far:
                delta_fair[:n] = 0.0
            if len(lists.root) > 0:
                _weight_row(i, start, n, work.root, delta_ndcg, delta_fair)
            exp_i = exp_score[i]
            if wide:
                exp_i = 1.0
                for j in range(start, n):
                    exp_score[j] = np.exp(sigma * (ranked[j] - ranked[i]))
            _pair_weights(
                start, n, 1.0 / steps.divisor[q], delta_ndcg, delta_fair, keep, reverse, weight
            )
            grad_sum, hess_sum, abs_sum = _pair_derivatives(
                start, n, ranked[i], exp_i, damping, distance, ranked, exp_score,
                keep, reverse, weight,
            )  # fmt: skip
            _add(start, n, keep, weight, grad_q, hess_q)
            grad_q[i] -= grad_sum
            hess_q[i] += hess_sum
            total += abs_sum
        total *= 2.0 * sigma
        factor = lists.weight[q]
        if loss.normalize and total > 0.0:
            factor *= np.log2(1.0 + total) / total
        for at in range(n):
            grad[first + rows[at]] = factor * sigma * grad_q[at]
            hess[first + rows[at]] = factor * sigma * sigma * hess_q[at]
