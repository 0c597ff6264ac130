"""Listed pairs and their weights, grouped by the better item (compiled)."""

import math

import numpy as np

from .compiled import compiled

__all__ = [
    "fill_pairs",
    "known_potentials",
    "many_side_weights",
    "pair_potentials",
    "scale_pairs",
    "side_weights",
]


@compiled
def fill_pairs(
    begins: np.ndarray, ends: np.ndarray, starts: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """Write the worse items of the better items ``first`` to ``last``: a range of rows each."""
    for a in range(first, last):
        at = starts[a]
        for b in range(begins[a], ends[a]):
            out[at] = b
            at += 1


@compiled
def pair_potentials(
    starts: np.ndarray,
    second: np.ndarray,
    weight: np.ndarray,
    first: int,
    last: int,
    out: np.ndarray,
) -> float:
    """Add the weights of pairs with each row preferred, minus the others; return the total."""
    total = 0.0
    for a in range(first, last):
        own_sum = 0.0
        for at in range(starts[a], starts[a + 1]):
            w = weight[at]
            own_sum += w
            out[second[at]] -= w
        out[a] += own_sum
        total += own_sum
    return total


@compiled
def side_weights(
    starts: np.ndarray,
    second: np.ndarray,
    weight: np.ndarray,
    output: np.ndarray,
    whole: bool,
    first: int,
    last: int,
) -> tuple[float, float]:
    """Return the weights of the pairs that a weak ranker orders correctly, and wrongly.

    A difference of 1/2 counts half, or not at all with ``whole``.
    """
    plus = minus = 0.0
    for a in range(first, last):
        own = output[a]
        for at in range(starts[a], starts[a + 1]):
            gain = own - output[second[at]]
            if whole and abs(gain) < 1.0:
                continue
            if gain > 0.0:
                plus += gain * weight[at]
            elif gain < 0.0:
                minus -= gain * weight[at]
    return plus, minus


@compiled
def scale_pairs(
    starts: np.ndarray,
    second: np.ndarray,
    weight: np.ndarray,
    output: np.ndarray,
    alpha: float,
    tied: float,
    whole: bool,
    scale: float,
    first: int,
    last: int,
    potential: np.ndarray,
) -> float:
    """Multiply the pair weights by ``scale`` and the factors of a round; return the new total.

    A pair with outputs h(a), h(b) is multiplied by ``exp(-alpha (h(a) - h(b)))``, or by ``tied`` if
    they are equal (with ``whole``, if they differ by less than 1). Adds to ``potential``.
    """
    right, wrong, same = scale * math.exp(-alpha), scale * math.exp(alpha), scale * tied
    total = 0.0
    for a in range(first, last):
        own, own_sum = output[a], 0.0
        for at in range(starts[a], starts[a + 1]):
            b = second[at]
            gain = own - output[b]
            if gain == 0.0 or (whole and abs(gain) < 1.0):
                w = weight[at] * same
            elif gain == 1.0:
                w = weight[at] * right
            elif gain == -1.0:
                w = weight[at] * wrong
            else:
                w = weight[at] * (scale * math.exp(-alpha * gain))
            weight[at] = w
            own_sum += w
            potential[b] -= w
        potential[a] += own_sum
        total += own_sum
    return total


@compiled
def known_potentials(
    starts: np.ndarray,
    second: np.ndarray,
    weight: np.ndarray,
    known: np.ndarray,
    first: int,
    last: int,
    out: np.ndarray,
) -> None:
    """Add the potentials of pairs in which both rows are known."""
    for a in range(first, last):
        if not known[a]:
            continue
        own_sum = 0.0
        for at in range(starts[a], starts[a + 1]):
            b = second[at]
            if known[b]:
                own_sum += weight[at]
                out[b] -= weight[at]
        out[a] += own_sum


@compiled
def many_side_weights(
    starts: np.ndarray,
    second: np.ndarray,
    weight: np.ndarray,
    ones: np.ndarray,
    zeros: np.ndarray,
    first: int,
    last: int,
    plus: np.ndarray,
    minus: np.ndarray,
) -> None:
    """Add the weights of correctly and wrongly ordered pairs of many stumps in one pass.

    ``ones`` (row by stump) marks the rows with output 1, ``zeros`` those with output 0; ``zeros``
    is empty if no stump abstains.
    """
    n = ones.shape[1]
    abstaining = zeros.shape[0] > 0
    to_one, to_zero = np.zeros(n, dtype=weight.dtype), np.zeros(n, dtype=weight.dtype)
    for a in range(first, last):
        if starts[a + 1] == starts[a]:
            continue
        to_one[:] = 0
        every = 0.0
        for at in range(starts[a], starts[a + 1]):
            w, row = weight[at], ones[second[at]]
            every += w
            for s in range(n):
                to_one[s] += w * row[s]
        if abstaining:
            to_zero[:] = 0
            for at in range(starts[a], starts[a + 1]):
                w, row = weight[at], zeros[second[at]]
                for s in range(n):
                    to_zero[s] += w * row[s]
            for s in range(n):
                plus[s] += ones[a, s] * to_zero[s]
                minus[s] += zeros[a, s] * to_one[s]
        else:
            for s in range(n):
                if ones[a, s]:
                    plus[s] += every - to_one[s]
                else:
                    minus[s] += to_one[s]
