"""How likely each item is at each rank where scores are Gaussians, and what DCG that gives.

Item i beats item j with the probability ``win[i, j]``. The number of items that beat j is a sum of
independent coins, whose distribution grows coin by coin: n^3 steps a list, done for all lists and
items at once.
"""

import math
from typing import Any

from ...core.extras import require

__all__ = ["expected_gain", "rank_distributions", "score_slopes", "win_probabilities"]

#: Numbers kept at once for the way back.
MOST_KEPT = 1 << 25


def win_probabilities(score: Any, real: Any, sigma: float) -> Any:
    """Give how likely the first item (second axis) beats the second (third axis).

    0 for an item against itself, and for items that are not there.
    """
    torch = require("torch", "neural")
    gap = (score[:, :, None] - score[:, None, :]) / (2.0 * sigma)
    win = 0.5 * (1.0 + torch.erf(gap))
    nobody = ~(real[:, :, None] & real[:, None, :])
    nobody = nobody | torch.eye(score.shape[1], dtype=torch.bool, device=score.device)
    return win.masked_fill(nobody, 0.0)


def rank_distributions(win: Any, n_ranks: int | None = None) -> Any:
    """Give the chance of each item (second axis) to be at each of the first ranks (third axis)."""
    torch = require("torch", "neural")
    n_lists, size, _ = win.shape
    kept = size if n_ranks is None else min(n_ranks, size)
    chance = torch.zeros((n_lists, size, kept), dtype=win.dtype, device=win.device)
    chance[:, :, 0] = 1.0
    for other in range(size):
        chance = _one_more(chance, win[:, other, :, None])
    return chance


def expected_gain(win: Any, gain: Any, discount: Any) -> tuple[Any, Any]:
    """Give each list's expected DCG, and its slope by each win probability.

    ``discount`` holds the weights of the ranks that count. On the way back, ``worth`` is what an
    item may still expect at each number of items that have beaten it so far.
    """
    torch = require("torch", "neural")
    size, kept = win.shape[1], len(discount)
    value = torch.zeros_like(win[:, 0, 0])
    slope = torch.zeros_like(win)
    lists = max(1, min(len(win), MOST_KEPT // (size * kept)))
    items = max(1, MOST_KEPT // (size * kept * lists))
    for at in range(0, len(win), lists):
        for begin in range(0, size, items):
            part = win[at : at + lists, :, begin : begin + items, None]
            chance = torch.zeros_like(part[:, 0]).repeat(1, 1, kept)
            chance[:, :, 0] = 1.0
            before = []
            for other in range(size):
                before.append(chance)
                chance = _one_more(chance, part[:, other])
            own = gain[at : at + lists, begin : begin + items]
            value[at : at + lists] += (own * (chance @ discount)).sum(dim=1)
            worth = torch.zeros_like(chance) + discount
            for other in reversed(range(size)):
                step = -worth
                step[:, :, :-1] += worth[:, :, 1:]
                slope[at : at + lists, other, begin : begin + items] = own * (
                    before[other] * step
                ).sum(dim=2)
                worth += part[:, other] * step
    return value, slope


def score_slopes(score: Any, real: Any, slope: Any, sigma: float) -> Any:
    """Turn slopes by win probabilities into slopes by scores."""
    torch = require("torch", "neural")
    gap = (score[:, :, None] - score[:, None, :]) / (2.0 * sigma)
    density = torch.exp(-gap.square()) / (2.0 * sigma * math.sqrt(math.pi))
    pull = (slope * density).masked_fill(~(real[:, :, None] & real[:, None, :]), 0.0)
    return pull.sum(dim=2) - pull.sum(dim=1)


def _one_more(chance: Any, beaten: Any) -> Any:
    """Let one more item beat the others with these chances."""
    grown = chance * (1.0 - beaten)
    grown[:, :, 1:] += chance[:, :, :-1] * beaten
    return grown
