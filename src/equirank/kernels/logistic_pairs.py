"""The logistic loss over all pairs of a list, compiled: n exponentials, a division per pair."""

import numpy as np

from .compiled import compiled

__all__ = ["logistic_pairs"]


_WIDEST = 300.0  # beyond it exponentials are taken pair by pair
_LARGE = 1e150  # a product of ratios above it is turned into a logarithm


@compiled(reordered=True)
def _slopes(begin: int, n: int, own: float, power: np.ndarray, pull: np.ndarray) -> float:
    """Add to each worse item its chance to stand above the better one; give their sum."""
    total = 0.0
    for j in range(np.uint64(begin), np.uint64(n)):
        chance = power[j] / (own + power[j])
        pull[j] += chance
        total += chance
    return total


@compiled
def _losses(begin: int, n: int, own: float, power: np.ndarray) -> float:
    """Add up ``log(1 + power / own)``: a logarithm per many pairs."""
    total, product, inverse = 0.0, 1.0, 1.0 / own
    for j in range(begin, n):
        product *= 1.0 + power[j] * inverse
        if product > _LARGE:
            total += np.log(product)
            product = 1.0
    return total + np.log(product)


@compiled
def _wide(
    begin: int, n: int, here: float, ranked: np.ndarray, pull: np.ndarray
) -> tuple[float, float]:
    """Do the same pair by pair, for scores that lie far apart."""
    slope, loss = 0.0, 0.0
    for j in range(begin, n):
        gap = here - ranked[j]
        small = np.exp(-abs(gap))
        chance = small / (1.0 + small) if gap > 0.0 else 1.0 / (1.0 + small)
        pull[j] += chance
        slope += chance
        loss += max(-gap, 0.0) + np.log1p(small)
    return slope, loss


@compiled
def logistic_pairs(
    score: np.ndarray, label: np.ndarray, offsets: np.ndarray, sigma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return per list the mean of ``log(1 + exp(-sigma (s_better - s_worse)))``, and its slopes.

    Over pairs of unequal label; a list without any has loss 0 and no slope. ``offsets`` marks the
    lists among the rows.
    """
    n_lists = len(offsets) - 1
    loss, slope = np.zeros(n_lists), np.zeros(len(score))
    longest = 1
    for q in range(n_lists):
        longest = max(longest, offsets[q + 1] - offsets[q])
    ranked, power, pull = np.zeros(longest), np.zeros(longest), np.zeros(longest)
    for q in range(n_lists):
        first = offsets[q]
        n = offsets[q + 1] - first
        rows = np.argsort(-label[first : first + n], kind="mergesort")
        low, high = np.inf, -np.inf
        for at in range(n):
            ranked[at] = sigma * score[first + rows[at]]
            low, high = min(low, ranked[at]), max(high, ranked[at])
            pull[at] = 0.0
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
                drag, more = _wide(worse, n, ranked[at], ranked, pull)
            else:
                drag = _slopes(worse, n, power[at], power, pull)
                more = _losses(worse, n, power[at], power)
            pull[at] -= drag
            total += more
        if count > 0:
            loss[q] = total / count
            for at in range(n):
                slope[first + rows[at]] = sigma * pull[at] / count
    return loss, slope
