"""Plackett-Luce: log-probabilities, their gradient, entropy and exact marginals (compiled).

``offsets`` marks the lists; ``order`` contains the rows of each list, best first, of which the top
``shown`` positions were drawn. Sums of exponentials are relative to their largest term, so that
scores of any size neither overflow nor underflow.
"""

import numpy as np

from .compiled import compiled

__all__ = ["exact_marginals", "log_prob_gradient", "order_entropy", "order_log_prob"]


@compiled
def _add_exponential(top: float, total: float, value: float) -> tuple[float, float]:
    """Add ``exp(value)`` to the sum ``total exp(top)``; return the new top and total."""
    if value > top:
        return value, total * np.exp(top - value) + 1.0
    return top, total + np.exp(value - top)


@compiled
def _remaining(
    score: np.ndarray, order: np.ndarray, begin: int, end: int, top: np.ndarray, rest: np.ndarray
) -> None:
    """Write for each position of a list ``log sum exp s`` of the rows from there on, in two parts.

    ``top`` is the largest of the scores, ``rest`` the logarithm of the sum relative to it.
    """
    largest, total = -np.inf, 0.0
    for at in range(end - 1, begin - 1, -1):
        value = score[order[at]]
        largest, total = _add_exponential(largest, total, value)
        top[at], rest[at] = largest, np.log(total)


@compiled
def order_log_prob(
    score: np.ndarray, order: np.ndarray, offsets: np.ndarray, shown: np.ndarray
) -> np.ndarray:
    """Return the log-probability of the shown positions of each list.

    ``sum_{j <= shown} s_j - log sum_{i >= j} exp s_i``, summed from the last position up.
    """
    result = np.zeros(len(offsets) - 1)
    top, rest = np.empty(len(score)), np.empty(len(score))
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        _remaining(score, order, begin, end, top, rest)
        for at in range(min(end, begin + shown[query]) - 1, begin - 1, -1):
            result[query] += score[order[at]] - top[at] - rest[at]
    return result


@compiled
def log_prob_gradient(
    score: np.ndarray, order: np.ndarray, offsets: np.ndarray, shown: np.ndarray
) -> np.ndarray:
    """Return the derivative of the log-probability of each list by the score of each row.

    ``1[shown] - sum_{j <= min(position, shown)} exp(s_i) / sum_{l >= j} exp(s_l)``: one pass up for
    the sums over remaining rows, one pass down for the sums over positions.
    """
    gradient = np.zeros(len(score))
    above, rest = np.empty(len(score)), np.empty(len(score))
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        _remaining(score, order, begin, end, above, rest)
        # log of the running sum of 1 / (remaining sum), relative to its largest term
        top, total = -np.inf, 0.0
        for at in range(begin, end):
            row = order[at]
            if at - begin < shown[query]:
                term = -(above[at] + rest[at])
                top, total = _add_exponential(top, total, term)
                gradient[row] = 1.0
            if total > 0.0:
                gradient[row] -= np.exp(score[row] + top) * total
    return gradient


@compiled
def order_entropy(
    score: np.ndarray, order: np.ndarray, offsets: np.ndarray, shown: np.ndarray
) -> np.ndarray:
    """Return the sum over the shown positions of the entropy of the next choice, for one order.

    Its mean over orders drawn from the policy is the entropy of the policy (chain rule), with less
    variance than the mean of ``-log P``.
    """
    result = np.zeros(len(offsets) - 1)
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        top, rest, moment = -np.inf, 0.0, 0.0  # moment: sum of (s_i - top) exp(s_i - top)
        for at in range(end - 1, begin - 1, -1):
            value = score[order[at]]
            if value > top:
                if rest > 0.0:
                    step = top - value
                    moment = (moment + step * rest) * np.exp(step)
                    rest *= np.exp(step)
                rest += 1.0
                top = value
            else:
                step = value - top
                rest += np.exp(step)
                moment += step * np.exp(step)
            if at - begin < shown[query]:
                result[query] += np.log(rest) - moment / rest
    return result


@compiled
def exact_marginals(score: np.ndarray, n_positions: int) -> tuple[np.ndarray, float]:
    """Return the probability of each item at each of the top positions, and the entropy.

    Enumerates all sets of items that may fill the top positions of one list: ``2^n`` sets.
    """
    n = len(score)
    marginals = np.zeros((n, n_positions))
    probability = np.zeros(1 << n)
    probability[0] = 1.0
    entropy = 0.0
    for taken in range(1 << n):
        if probability[taken] == 0.0:
            continue
        position, top = 0, -np.inf
        for item in range(n):
            if taken >> item & 1:
                position += 1
            elif score[item] > top:
                top = score[item]
        if position >= n_positions:
            continue
        total = 0.0
        for item in range(n):
            if not taken >> item & 1:
                total += np.exp(score[item] - top)
        for item in range(n):
            if not taken >> item & 1:
                share = np.exp(score[item] - top) / total
                marginals[item, position] += probability[taken] * share
                probability[taken | 1 << item] += probability[taken] * share
                if share > 0.0:
                    entropy -= probability[taken] * share * np.log(share)
    return marginals, entropy
