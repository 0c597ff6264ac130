"""Policy gradients of linear Plackett-Luce rankers, one pass per list (compiled).

A list's reward is linear in where its items stand, ``sum_i gain_i theta_pos(i)``, less ``weight``
times its disparity; the disparity is linear in the exposures too once its signs are read off the
exposures of the samples. Draws come from a counter-based generator keyed by seed, epoch and list,
so that neither threads nor the order of the lists change them.
"""

import numpy as np

from .compiled import compiled, key_of, uniform

__all__ = ["GROUP", "INDIVIDUAL", "NONE", "batch_gradient", "list_gradient", "train_in_turn"]


NONE, INDIVIDUAL, GROUP = 0, 1, 2


#: Strengths under this share of the list's largest are taken as this share: sums never vanish.
WEAKEST = 1e-290


@compiled
def _sort_by(key: np.ndarray, order: np.ndarray, n: int) -> None:
    """Sort the first n keys upwards, in place, the order with them (Shell's sort)."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for at in range(gap, n):
            value, item = key[at], order[at]
            here = at
            while here >= gap and key[here - gap] > value:
                key[here] = key[here - gap]
                order[here] = order[here - gap]
                here -= gap
            key[here] = value
            order[here] = item
        gap //= 3


@compiled
def _draw(
    strength: np.ndarray,
    n: int,
    n_samples: int,
    state: np.uint64,
    key: np.ndarray,
    orders: np.ndarray,
) -> None:
    """Draw rankings: items race with exponential times divided by their strengths."""
    count = np.uint64(0)
    for sample in range(n_samples):
        for item in range(n):
            key[item] = -np.log(1.0 - uniform(state, count)) / strength[item]
            orders[sample, item] = item
            count += np.uint64(1)
        _sort_by(key, orders[sample], n)


@compiled
def _individual_signs(exposure: np.ndarray, merit: np.ndarray, n: int, signs: np.ndarray) -> float:
    """Write each item's coefficient in the individual disparity, and give its value."""
    pairs, total = 0, 0.0
    for i in range(n):
        signs[i] = 0.0
    for i in range(n):
        if merit[i] <= 0.0:
            continue
        own = exposure[i] / merit[i]
        for j in range(n):
            if j != i and merit[j] > 0.0 and merit[i] >= merit[j]:
                pairs += 1
                excess = own - exposure[j] / merit[j]
                if excess > 0.0:
                    total += excess
                    signs[i] += 1.0
                    signs[j] -= 1.0
    if pairs == 0:
        return 0.0
    for i in range(n):
        if merit[i] > 0.0:
            signs[i] /= pairs * merit[i]
    return total / pairs


@compiled
def _group_signs(
    exposure: np.ndarray,
    merit: np.ndarray,
    group: np.ndarray,
    n_groups: int,
    n: int,
    sums: np.ndarray,
    signs: np.ndarray,
) -> float:
    """Write each item's coefficient in the disparity of the worst group and the rest; its value."""
    for item in range(n):
        signs[item] = 0.0
    total_exposure, total_merit = 0.0, 0.0
    for g in range(n_groups):
        sums[0, g] = sums[1, g] = sums[2, g] = 0.0
    for item in range(n):
        g = group[item]
        sums[0, g] += exposure[item]
        sums[1, g] += merit[item]
        sums[2, g] += 1.0
        total_exposure += exposure[item]
        total_merit += merit[item]
    worst, chosen, side = 0.0, -1, 1.0
    for g in range(n_groups):
        others = n - sums[2, g]
        rest = total_merit - sums[1, g]
        if sums[2, g] == 0.0 or others == 0.0 or sums[1, g] <= 0.0 or rest <= 1e-12 * total_merit:
            continue
        excess = sums[0, g] / sums[1, g] - (total_exposure - sums[0, g]) / rest
        own, other = sums[1, g] / sums[2, g], rest / others
        if abs(own - other) <= 1e-12 * own:
            sign = 1.0 if excess > 0.0 else -1.0
        else:
            sign = 1.0 if own > other else -1.0
        if sign * excess > worst:
            worst, chosen, side = sign * excess, g, sign
    if chosen >= 0:
        rest = total_merit - sums[1, chosen]
        for item in range(n):
            if group[item] == chosen:
                signs[item] = side / sums[1, chosen]
            else:
                signs[item] = -side / rest
    return worst


@compiled
def list_gradient(
    score: np.ndarray, gain: np.ndarray, stop: np.ndarray, merit: np.ndarray, group: np.ndarray,
    n_groups: int, theta: np.ndarray, attention: np.ndarray, weight: float, disparity: int,
    entropy: float, n_samples: int, plrank: bool, leave_one_out: bool, state: np.uint64,
    work: np.ndarray, orders: np.ndarray, gradient: np.ndarray, facts: np.ndarray,
) -> None:  # fmt: skip
    """Write the gradient of one list's objective by its scores, and its utility and disparity.

    ``stop`` holds the readers' stopping chances where the utility is ERR, and is empty otherwise.
    ``facts`` is filled with utility, disparity and the entropy of the first place. ``work`` has
    eight rows as long as the longest list (and as the number of groups and samples), ``orders`` a
    row per sample.
    """
    n = len(score)
    strength, key, exposure, signs = work[0], work[1], work[2], work[3]
    rewards, sums = work[4], work[5:8]
    top = score[0]
    for item in range(1, n):
        top = max(top, score[item])
    total = 0.0
    for item in range(n):
        strength[item] = max(np.exp(score[item] - top), WEAKEST)
        total += strength[item]
        exposure[item] = 0.0
        gradient[item] = 0.0
    _draw(strength, n, n_samples, state, key, orders)

    # what each sample is worth, and the exposures
    utility = 0.0
    for sample in range(n_samples):
        order, worth = orders[sample], 0.0
        if len(stop) > 0:
            reading = 1.0
            for place in range(n):
                chance = stop[order[place]]
                worth += theta[place] * reading * chance
                reading *= 1.0 - chance
        else:
            for place in range(n):
                worth += theta[place] * gain[order[place]]
        for place in range(n):
            exposure[order[place]] += attention[place] / n_samples
        rewards[sample] = worth
        utility += worth / n_samples
    value = 0.0
    if disparity == INDIVIDUAL:
        value = _individual_signs(exposure, merit, n, signs)
    elif disparity == GROUP:
        value = _group_signs(exposure, merit, group, n_groups, n, sums, signs)
    penal = disparity != NONE and weight != 0.0

    # the gradient by the scores
    if plrank:
        for sample in range(n_samples):
            order = orders[sample]
            left, after, count, lead, bane = 0.0, 0.0, 0.0, 0.0, 0.0
            gains, harms, thetas, seen = 0.0, 0.0, 0.0, 0.0
            for place in range(n - 1, -1, -1):
                item = order[place]
                left += strength[item]
                key[place] = left
                # what the items left would earn in a random order: known before the choice, so
                # that taking it off leaves the mean alone and the variance small
                # (thetas and seen: of the places behind this one)
                count += 1.0
                gains += gain[item]
                usual = gains / count * thetas
                thetas += theta[place]
                if penal:
                    harms += signs[item]
                    usual -= weight * harms / count * seen
                    seen += attention[place]
                gradient[item] += after - usual  # what the places behind are worth
                # this place counts with its expected worth, the places behind with their own
                lead += strength[item] * gain[item]
                exposure[place] = theta[place] * lead / left + after - usual
                after += theta[place] * gain[item]
                if penal:
                    bane += strength[item] * signs[item]
                    exposure[place] -= weight * attention[place] * bane / left
                    after -= weight * attention[place] * signs[item]
            drawn, seen, cost = 0.0, 0.0, 0.0
            for place in range(n):
                item = order[place]
                drawn += theta[place] / key[place]
                cost += exposure[place] / key[place]
                pull = gain[item] * drawn - cost
                if penal:
                    seen += attention[place] / key[place]
                    pull -= weight * signs[item] * seen
                gradient[item] += strength[item] * pull
    else:
        mean = 0.0
        for sample in range(n_samples):
            if penal:
                order = orders[sample]
                for place in range(n):
                    rewards[sample] -= weight * attention[place] * signs[order[place]]
            mean += rewards[sample] / n_samples
        for sample in range(n_samples):
            order = orders[sample]
            advantage = rewards[sample] - mean
            if leave_one_out and n_samples > 1:
                advantage *= n_samples / (n_samples - 1.0)
            elif n_samples == 1:
                advantage = rewards[sample]
            left = 0.0
            for place in range(n - 1, -1, -1):
                left += strength[order[place]]
                key[place] = left
            inverse = 0.0
            for place in range(n):
                item = order[place]
                inverse += 1.0 / key[place]
                gradient[item] += advantage * (1.0 - strength[item] * inverse)
    uncertainty = 0.0
    for item in range(n):
        share = strength[item] / total
        uncertainty -= share * np.log(share)
    for item in range(n):
        share = strength[item] / total
        gradient[item] /= n_samples
        gradient[item] -= entropy * share * (np.log(share) + uncertainty)
    facts[0], facts[1], facts[2] = utility, value, uncertainty


@compiled(reordered=True)
def _scores(X: np.ndarray, begin: int, end: int, coef: np.ndarray, score: np.ndarray) -> None:
    for row in range(begin, end):
        total = coef.dtype.type(0.0)
        for feature in range(X.shape[1]):
            total += X[row, feature] * coef[feature]
        score[row - begin] = total


@compiled(reordered=True)
def _back(X: np.ndarray, begin: int, end: int, gradient: np.ndarray, result: np.ndarray) -> None:
    for row in range(begin, end):
        pull = result.dtype.type(gradient[row - begin])
        for feature in range(X.shape[1]):
            result[feature] += pull * X[row, feature]


@compiled(reordered=True)
def _adam(
    coef: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    gradient: np.ndarray,
    step: int,
    rate: float,
) -> None:
    """Climb by one step of Adam with the usual constants."""
    kind = coef.dtype.type
    one, keep, keep2 = kind(1.0), kind(0.9), kind(0.999)
    size = kind(rate / (1.0 - 0.9**step))
    scale = kind(1.0 / np.sqrt(1.0 - 0.999**step))
    small = kind(1e-8)
    for at in range(len(coef)):
        pull = gradient[at]
        first[at] = keep * first[at] + (one - keep) * pull
        second[at] = keep2 * second[at] + (one - keep2) * pull * pull
        coef[at] += size * first[at] / (np.sqrt(second[at]) * scale + small)


@compiled
def _state(seed: int, epoch: int, query: int) -> np.uint64:
    """Key the draws by seed, epoch and list."""
    return key_of(key_of(np.uint64(seed), np.uint64(epoch)), np.uint64(query))


@compiled
def batch_gradient(
    X: np.ndarray, offsets: np.ndarray, queries: np.ndarray, coef: np.ndarray, gain: np.ndarray,
    stop: np.ndarray, merit: np.ndarray, group: np.ndarray, n_groups: int, theta: np.ndarray,
    attention: np.ndarray, query_weight: np.ndarray, weight: float, disparity: int, entropy: float,
    n_samples: int, plrank: bool, leave_one_out: bool, seed: int, epoch: int, result: np.ndarray,
    facts: np.ndarray,
) -> None:  # fmt: skip
    """Add up the gradient by the coefficients over some lists; write the facts of each list."""
    longest = 1
    for query in queries:
        longest = max(longest, offsets[query + 1] - offsets[query])
    work = np.empty((8, max(longest, n_groups, n_samples)))
    orders = np.empty((n_samples, longest), dtype=np.int32)
    gradient = np.empty(longest)
    score = np.empty(longest)
    for query in queries:
        begin, end = offsets[query], offsets[query + 1]
        n = end - begin
        _scores(X, begin, end, coef, score)
        chances = stop[begin:end] if len(stop) > 0 else stop
        list_gradient(
            score[:n], gain[begin:end], chances, merit[begin:end], group[begin:end], n_groups,
            theta, attention, weight, disparity, entropy, n_samples, plrank, leave_one_out,
            _state(seed, epoch, query), work, orders, gradient, facts[query],
        )  # fmt: skip
        for item in range(n):
            gradient[item] *= query_weight[query]
        _back(X, begin, end, gradient, result)


@compiled
def train_in_turn(
    X: np.ndarray, offsets: np.ndarray, queries: np.ndarray, coef: np.ndarray, first: np.ndarray,
    second: np.ndarray, step: int, rate: float, gain: np.ndarray, stop: np.ndarray,
    merit: np.ndarray, group: np.ndarray, n_groups: int, theta: np.ndarray, attention: np.ndarray,
    query_weight: np.ndarray, weight: float, disparity: int, entropy: float, n_samples: int,
    plrank: bool, leave_one_out: bool, seed: int, epoch: int, facts: np.ndarray,
) -> int:  # fmt: skip
    """Take one step of Adam per list, list after list; give the number of steps taken so far."""
    longest = 1
    for query in queries:
        longest = max(longest, offsets[query + 1] - offsets[query])
    work = np.empty((8, max(longest, n_groups, n_samples)))
    orders = np.empty((n_samples, longest), dtype=np.int32)
    gradient, score = np.empty(longest), np.empty(longest)
    pull = np.empty_like(coef)
    for query in queries:
        begin, end = offsets[query], offsets[query + 1]
        n = end - begin
        _scores(X, begin, end, coef, score)
        chances = stop[begin:end] if len(stop) > 0 else stop
        list_gradient(
            score[:n], gain[begin:end], chances, merit[begin:end], group[begin:end], n_groups,
            theta, attention, weight, disparity, entropy, n_samples, plrank, leave_one_out,
            _state(seed, epoch, query), work, orders, gradient, facts[query],
        )  # fmt: skip
        pull[:] = 0.0
        for item in range(n):
            gradient[item] *= query_weight[query]
        _back(X, begin, end, gradient, pull)
        step += 1
        _adam(coef, first, second, pull, step, rate)
    return step
