"""Policy gradients of linear Plackett-Luce rankers, one pass per list (compiled).

The reward of a list is linear in the positions of its items, ``sum_i gain_i theta_pos(i)``, minus
``weight`` times its disparity. The disparity is linear in the exposures once its signs are known
from the exposures of the samples. Draws come from a counter-based generator keyed by seed, epoch
and list, so they depend neither on threads nor on the order of the lists.
"""

import numpy as np

from .compiled import compiled
from .counted_random import key_of, uniform

__all__ = ["GROUP", "INDIVIDUAL", "NONE", "batch_gradient", "list_gradient", "train_in_turn"]


NONE, INDIVIDUAL, GROUP = 0, 1, 2


#: Least strength relative to the largest of the list, so that sums are never 0.
WEAKEST = 1e-290


@compiled
def _sort_by(key: np.ndarray, order: np.ndarray, n: int) -> None:
    """Sort the first n keys, lowest first, and the order with them, in place (Shell sort)."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for at in range(gap, n):
            value, item = key[at], order[at]
            to = at
            while to >= gap and key[to - gap] > value:
                key[to] = key[to - gap]
                order[to] = order[to - gap]
                to -= gap
            key[to] = value
            order[to] = item
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
    """Draw rankings by exponential times divided by the strengths of the items."""
    count = np.uint64(0)
    for sample in range(n_samples):
        for item in range(n):
            key[item] = -np.log(1.0 - uniform(state, count)) / strength[item]
            orders[sample, item] = item
            count += np.uint64(1)
        _sort_by(key, orders[sample], n)


@compiled
def _individual_signs(exposure: np.ndarray, merit: np.ndarray, n: int, signs: np.ndarray) -> float:
    """Write the coefficient of each item in the individual disparity, and return its value."""
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
    """Write the coefficient of each item in the largest group disparity, and return its value."""
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
def _sample_rewards(
    orders: np.ndarray,
    gain: np.ndarray,
    stop: np.ndarray,
    theta: np.ndarray,
    attention: np.ndarray,
    n_samples: int,
    rewards: np.ndarray,
    exposure: np.ndarray,
) -> float:
    """Write the reward of each sample, add its exposures, and return the mean reward."""
    n = len(gain)
    utility = 0.0
    for sample in range(n_samples):
        order, reward = orders[sample], 0.0
        if len(stop) > 0:
            reading = 1.0  # probability that a reader reaches the position
            for position in range(n):
                stopping = stop[order[position]]
                reward += theta[position] * reading * stopping
                reading *= 1.0 - stopping
        else:
            for position in range(n):
                reward += theta[position] * gain[order[position]]
        for position in range(n):
            exposure[order[position]] += attention[position] / n_samples
        rewards[sample] = reward
        utility += reward / n_samples
    return utility


@compiled
def _add_plrank(
    orders: np.ndarray,
    strength: np.ndarray,
    gain: np.ndarray,
    signs: np.ndarray,
    theta: np.ndarray,
    attention: np.ndarray,
    weight: float,
    penalised: bool,
    n_samples: int,
    remaining: np.ndarray,
    expected: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Add the PL-Rank gradient of each sample; ``remaining`` and ``expected`` are work space."""
    n = len(gain)
    for sample in range(n_samples):
        order = orders[sample]
        left, after, count, gain_mass, sign_mass = 0.0, 0.0, 0.0, 0.0, 0.0
        gain_sum, sign_sum, theta_sum, attention_sum = 0.0, 0.0, 0.0, 0.0
        for position in range(n - 1, -1, -1):
            item = order[position]
            left += strength[item]
            remaining[position] = left
            # The baseline is the reward of the remaining items in random order. It is known before
            # the choice, so subtracting it keeps the mean and reduces the variance.
            count += 1.0
            gain_sum += gain[item]
            baseline = gain_sum / count * theta_sum
            theta_sum += theta[position]
            if penalised:
                sign_sum += signs[item]
                baseline -= weight * sign_sum / count * attention_sum
                attention_sum += attention[position]
            gradient[item] += after - baseline  # reward of the positions below
            # this position counts with its expected reward, those below with the sampled reward
            gain_mass += strength[item] * gain[item]
            expected[position] = theta[position] * gain_mass / left + after - baseline
            after += theta[position] * gain[item]
            if penalised:
                sign_mass += strength[item] * signs[item]
                expected[position] -= weight * attention[position] * sign_mass / left
                after -= weight * attention[position] * signs[item]
        theta_sum, attention_sum, expected_sum = 0.0, 0.0, 0.0
        for position in range(n):
            item = order[position]
            theta_sum += theta[position] / remaining[position]
            expected_sum += expected[position] / remaining[position]
            grad = gain[item] * theta_sum - expected_sum
            if penalised:
                attention_sum += attention[position] / remaining[position]
                grad -= weight * signs[item] * attention_sum
            gradient[item] += strength[item] * grad


@compiled
def _add_reinforce(
    orders: np.ndarray,
    strength: np.ndarray,
    signs: np.ndarray,
    attention: np.ndarray,
    weight: float,
    penalised: bool,
    n_samples: int,
    leave_one_out: bool,
    rewards: np.ndarray,
    remaining: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Add the REINFORCE gradient of each sample, with the mean reward as baseline."""
    n = len(gradient)
    mean = 0.0
    for sample in range(n_samples):
        if penalised:
            order = orders[sample]
            for position in range(n):
                rewards[sample] -= weight * attention[position] * signs[order[position]]
        mean += rewards[sample] / n_samples
    for sample in range(n_samples):
        order = orders[sample]
        advantage = rewards[sample] - mean
        if leave_one_out and n_samples > 1:
            advantage *= n_samples / (n_samples - 1.0)
        elif n_samples == 1:
            advantage = rewards[sample]
        left = 0.0
        for position in range(n - 1, -1, -1):
            left += strength[order[position]]
            remaining[position] = left
        inverse = 0.0
        for position in range(n):
            item = order[position]
            inverse += 1.0 / remaining[position]
            gradient[item] += advantage * (1.0 - strength[item] * inverse)


@compiled
def list_gradient(
    score: np.ndarray, gain: np.ndarray, stop: np.ndarray, merit: np.ndarray, group: np.ndarray,
    n_groups: int, theta: np.ndarray, attention: np.ndarray, weight: float, disparity: int,
    entropy: float, n_samples: int, plrank: bool, leave_one_out: bool, state: np.uint64,
    work: np.ndarray, orders: np.ndarray, gradient: np.ndarray, facts: np.ndarray,
) -> None:  # fmt: skip
    """Write the gradient of the objective of one list by its scores, and its utility and disparity.

    ``stop`` contains the stopping probabilities of readers if the utility is ERR, and is empty
    otherwise. ``facts`` receives utility, disparity and the entropy of the first position. ``work``
    has eight rows as long as the longest list (and as the number of groups and samples), ``orders``
    one row per sample.
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
    utility = _sample_rewards(orders, gain, stop, theta, attention, n_samples, rewards, exposure)
    value = 0.0
    if disparity == INDIVIDUAL:
        value = _individual_signs(exposure, merit, n, signs)
    elif disparity == GROUP:
        value = _group_signs(exposure, merit, group, n_groups, n, sums, signs)
    penalised = disparity != NONE and weight != 0.0
    if plrank:
        _add_plrank(
            orders, strength, gain, signs, theta, attention, weight, penalised, n_samples, key,
            exposure, gradient,
        )  # fmt: skip
    else:
        _add_reinforce(
            orders, strength, signs, attention, weight, penalised, n_samples, leave_one_out,
            rewards, key, gradient[:n],
        )  # fmt: skip
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
        row_grad = result.dtype.type(gradient[row - begin])
        for feature in range(X.shape[1]):
            result[feature] += row_grad * X[row, feature]


@compiled(reordered=True)
def _adam(
    coef: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    gradient: np.ndarray,
    step: int,
    rate: float,
) -> None:
    """Take one ascent step of Adam with the usual constants."""
    kind = coef.dtype.type
    one, beta1, beta2 = kind(1.0), kind(0.9), kind(0.999)
    size = kind(rate / (1.0 - 0.9**step))
    scale = kind(1.0 / np.sqrt(1.0 - 0.999**step))
    small = kind(1e-8)
    for at in range(len(coef)):
        grad = gradient[at]
        first[at] = beta1 * first[at] + (one - beta1) * grad
        second[at] = beta2 * second[at] + (one - beta2) * grad * grad
        coef[at] += size * first[at] / (np.sqrt(second[at]) * scale + small)


@compiled
def _state(seed: int, epoch: int, query: int) -> np.uint64:
    """Return the key of the draws for a seed, epoch and list."""
    return key_of(key_of(np.uint64(seed), np.uint64(epoch)), np.uint64(query))


@compiled
def _add_list(
    X: np.ndarray, offsets: np.ndarray, query: int, coef: np.ndarray, gain: np.ndarray,
    stop: np.ndarray, merit: np.ndarray, group: np.ndarray, n_groups: int, theta: np.ndarray,
    attention: np.ndarray, query_weight: np.ndarray, weight: float, disparity: int, entropy: float,
    n_samples: int, plrank: bool, leave_one_out: bool, seed: int, epoch: int, result: np.ndarray,
    facts: np.ndarray, work: np.ndarray, orders: np.ndarray, gradient: np.ndarray,
    score: np.ndarray,
) -> None:  # fmt: skip
    """Add the gradient of one list by the coefficients to ``result``, and write its facts."""
    begin, end = offsets[query], offsets[query + 1]
    n = end - begin
    _scores(X, begin, end, coef, score)
    stopping = stop[begin:end] if len(stop) > 0 else stop
    list_gradient(
        score[:n], gain[begin:end], stopping, merit[begin:end], group[begin:end], n_groups,
        theta, attention, weight, disparity, entropy, n_samples, plrank, leave_one_out,
        _state(seed, epoch, query), work, orders, gradient, facts[query],
    )  # fmt: skip
    for item in range(n):
        gradient[item] *= query_weight[query]
    _back(X, begin, end, gradient, result)


@compiled
def _work_space(
    offsets: np.ndarray, queries: np.ndarray, n_groups: int, n_samples: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return uninitialised arrays as long as the longest list."""
    longest = 1
    for query in queries:
        longest = max(longest, offsets[query + 1] - offsets[query])
    work = np.empty((8, max(longest, n_groups, n_samples)))
    orders = np.empty((n_samples, longest), dtype=np.int32)
    return work, orders, np.empty(longest), np.empty(longest)


@compiled
def batch_gradient(
    X: np.ndarray, offsets: np.ndarray, queries: np.ndarray, coef: np.ndarray, gain: np.ndarray,
    stop: np.ndarray, merit: np.ndarray, group: np.ndarray, n_groups: int, theta: np.ndarray,
    attention: np.ndarray, query_weight: np.ndarray, weight: float, disparity: int, entropy: float,
    n_samples: int, plrank: bool, leave_one_out: bool, seed: int, epoch: int, result: np.ndarray,
    facts: np.ndarray,
) -> None:  # fmt: skip
    """Add the gradient by the coefficients over some lists, and write the facts of each list."""
    work, orders, gradient, score = _work_space(offsets, queries, n_groups, n_samples)
    for query in queries:
        _add_list(
            X, offsets, query, coef, gain, stop, merit, group, n_groups, theta, attention,
            query_weight, weight, disparity, entropy, n_samples, plrank, leave_one_out, seed, epoch,
            result, facts, work, orders, gradient, score,
        )  # fmt: skip


@compiled
def train_in_turn(
    X: np.ndarray, offsets: np.ndarray, queries: np.ndarray, coef: np.ndarray, first: np.ndarray,
    second: np.ndarray, step: int, rate: float, gain: np.ndarray, stop: np.ndarray,
    merit: np.ndarray, group: np.ndarray, n_groups: int, theta: np.ndarray, attention: np.ndarray,
    query_weight: np.ndarray, weight: float, disparity: int, entropy: float, n_samples: int,
    plrank: bool, leave_one_out: bool, seed: int, epoch: int, facts: np.ndarray,
) -> int:  # fmt: skip
    """Take one step of Adam per list, and return the total number of steps."""
    work, orders, gradient, score = _work_space(offsets, queries, n_groups, n_samples)
    coef_grad = np.empty_like(coef)
    for query in queries:
        coef_grad[:] = 0.0
        _add_list(
            X, offsets, query, coef, gain, stop, merit, group, n_groups, theta, attention,
            query_weight, weight, disparity, entropy, n_samples, plrank, leave_one_out, seed, epoch,
            coef_grad, facts, work, orders, gradient, score,
        )  # fmt: skip
        step += 1
        _adam(coef, first, second, coef_grad, step, rate)
    return step
