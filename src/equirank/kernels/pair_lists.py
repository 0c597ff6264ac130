"""Listed pairs and their weights: one run of worse items for each better item (compiled)."""

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
    """Write the worse items of the better items ``first`` to ``last``: all rows of a range each."""
    for a in range(first, last):
        place = starts[a]
        for b in range(begins[a], ends[a]):
            out[place] = b
            place += 1


@compiled
def pair_potentials(
    starts: np.ndarray,
    second: np.ndarray,
    weight: np.ndarray,
    first: int,
    last: int,
    out: np.ndarray,
) -> float:
    """Add up each row's weight where it is preferred less where it is not; give the total."""
    total = 0.0
    for a in range(first, last):
        mine = 0.0
        for at in range(starts[a], starts[a + 1]):
            w = weight[at]
            mine += w
            out[second[at]] -= w
        out[a] += mine
        total += mine
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
    """Sum the pair weights by the weak ranker's outputs: correct, reversed.

    A difference of one half counts half, or not at all where only ``whole`` ones count.
    """
    plus = minus = 0.0
    for a in range(first, last):
        mine = output[a]
        for at in range(starts[a], starts[a + 1]):
            gain = mine - output[second[at]]
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
    """Multiply the pair weights by ``scale`` and by what a round does to them; sum them anew.

    A pair of outputs h(a), h(b) is multiplied by ``exp(-alpha (h(a) - h(b)))``, or by ``tied``
    where they are equal (where only ``whole`` differences count: closer than 1). Adds to
    ``potential`` and gives the new total.
    """
    right, wrong, same = scale * math.exp(-alpha), scale * math.exp(alpha), scale * tied
    total = 0.0
    for a in range(first, last):
        mine, mine_total = output[a], 0.0
        for at in range(starts[a], starts[a + 1]):
            b = second[at]
            gain = mine - output[b]
            if gain == 0.0 or (whole and abs(gain) < 1.0):
                w = weight[at] * same
            elif gain == 1.0:
                w = weight[at] * right
            elif gain == -1.0:
                w = weight[at] * wrong
            else:
                w = weight[at] * (scale * math.exp(-alpha * gain))
            weight[at] = w
            mine_total += w
            potential[b] -= w
        potential[a] += mine_total
        total += mine_total
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
    """Return the potentials that come from pairs of two known rows."""
    for a in range(first, last):
        if not known[a]:
            continue
        mine = 0.0
        for at in range(starts[a], starts[a + 1]):
            b = second[at]
            if known[b]:
                mine += weight[at]
                out[b] -= weight[at]
        out[a] += mine


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
    """Sum the weights of correct and of reversed pairs for many stumps in one pass.

    ``ones`` (row by stump) marks the rows to which a stump gives 1; ``zeros`` those to which it
    gives 0, where some abstain, and is empty where all others are 0.
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
