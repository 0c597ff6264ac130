"""Logistic loss over all pairs of a list, with n exponentials and one division per pair."""

import numpy as np

from .compiled import compiled

__all__ = ["logistic_pairs"]


_WIDEST = 300.0  # range of scores above which exponentials are computed per pair
_LARGE = 1e150  # size of a product of ratios above which its logarithm is taken


@compiled(reordered=True)
def _add_gradients(begin: int, n: int, own: float, power: np.ndarray, grad: np.ndarray) -> float:
    """Add to each worse item its probability of being ranked above, and return the sum."""
    grad_sum = 0.0
    for j in range(np.uint64(begin), np.uint64(n)):
        probability = power[j] / (own + power[j])
        grad[j] += probability
        grad_sum += probability
    return grad_sum


@compiled
def _sum_losses(begin: int, n: int, own: float, power: np.ndarray) -> float:
    """Return the sum of ``log(1 + power / own)``, with one logarithm for many pairs."""
    total, product, inverse = 0.0, 1.0, 1.0 / own
    for j in range(begin, n):
        product *= 1.0 + power[j] * inverse
        if product > _LARGE:
            total += np.log(product)
            product = 1.0
    return total + np.log(product)


@compiled
def _wide_pairs(
    begin: int, n: int, own: float, ranked: np.ndarray, grad: np.ndarray
) -> tuple[float, float]:
    """Return the sums of gradients and losses, computed per pair for scores of a wide range."""
    grad_sum, loss_sum = 0.0, 0.0
    for j in range(begin, n):
        gap = own - ranked[j]
        small = np.exp(-abs(gap))
        probability = small / (1.0 + small) if gap > 0.0 else 1.0 / (1.0 + small)
        grad[j] += probability
        grad_sum += probability
        loss_sum += max(-gap, 0.0) + np.log1p(small)
    return grad_sum, loss_sum


@compiled
def logistic_pairs(
    score: np.ndarray, label: np.ndarray, offsets: np.ndarray, sigma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of ``log(1 + exp(-sigma (s_better - s_worse)))`` per list, and its gradient.

    The mean is over pairs of unequal label; a list without any has loss 0 and gradient 0.
    """
    n_lists = len(offsets) - 1
    loss, gradient = np.zeros(n_lists), np.zeros(len(score))
    longest = 1
    for q in range(n_lists):
        longest = max(longest, offsets[q + 1] - offsets[q])
    ranked, power, grad = np.zeros(longest), np.zeros(longest), np.zeros(longest)
    for q in range(n_lists):
        first = offsets[q]
        n = offsets[q + 1] - first
        rows = np.argsort(-label[first : first + n], kind="mergesort")
        low, high = np.inf, -np.inf
        for at in range(n):
            ranked[at] = sigma * score[first + rows[at]]
            low, high = min(low, ranked[at]), max(high, ranked[at])
            grad[at] = 0.0
        wide = high - low > _WIDEST
        if not wide:
            for at in range(n):
                power[at] = np.exp(ranked[at] - 0.5 * (low + high))
        total, count, worse = 0.0, 0, 0
        for at in range(n):
            worse = max(worse, at)
            while worse < n and label[first + rows[worse]] == label[first + rows[at]]:
                worse += 1
            if worse == n:
                break
            count += n - worse
            if wide:
                grad_sum, loss_sum = _wide_pairs(worse, n, ranked[at], ranked, grad)
            else:
                grad_sum = _add_gradients(worse, n, power[at], power, grad)
                loss_sum = _sum_losses(worse, n, power[at], power)
            grad[at] -= grad_sum
            total += loss_sum
        if count > 0:
            loss[q] = total / count
            for at in range(n):
                gradient[first + rows[at]] = sigma * grad[at] / count
    return loss, gradient
