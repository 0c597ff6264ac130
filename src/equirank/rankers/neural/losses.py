"""Losses of whole lists, on lists padded to one length: scores in, one number per list out.

``score`` and ``label`` are tensors of n_lists x longest; ``real`` says which cells are items. What
stands in the other cells is never read.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...core.environment import require
from ...kernels.discounts import discounts, gains
from ...kernels.segments import segment_sum, sort_values_within
from .batches import padded
from .network import Net

__all__ = [
    "cross_entropy",
    "expected_gain",
    "exposure_excess",
    "exposure_sides",
    "label_order_loss",
    "lambda_slopes",
    "lambda_slopes_of_rows",
    "log_chances",
    "log_powers",
    "logistic_slopes",
    "logistic_slopes_of_rows",
    "normalised_gains",
    "ragged",
    "rank_distributions",
    "score_slopes",
    "score_table",
    "win_probabilities",
    "with_slopes",
    "with_slopes_of_rows",
]


#: The logarithm of the power of an item that is not there; infinity would spoil gradients.
NOBODY = -1e30


def score_table(net: Net, batch: dict[str, Any]) -> Any:
    """Score the rows of a batch of lists and lay the scores side by side."""
    return padded(net.score(batch["x"]).to(batch["x"].dtype), batch)


def log_powers(values: Any, real: Any, phi: str) -> Any:
    """Return the logarithms of phi: of exp, of the sigmoid, or of 1 + how far above the lowest."""
    torch = require("torch", "neural")
    if phi == "linear":
        lowest = values.masked_fill(~real, torch.inf).amin(dim=1, keepdim=True)
        values = torch.log1p((values - lowest).masked_fill(~real, 0.0))
    elif phi == "sigmoid":
        values = torch.nn.functional.logsigmoid(values)
    return values.masked_fill(~real, NOBODY)


def log_chances(score: Any, real: Any, phi: str = "exp") -> Any:
    """Return the logarithms of the chances of being first."""
    return log_powers(score, real, phi).log_softmax(dim=1)


def cross_entropy(log_chance: Any, real: Any, label: Any, phi: str = "exp") -> Any:
    """Compare who is first by the labels with who is first by the scores."""
    return -(log_powers(label, real, phi).softmax(dim=1) * log_chance).sum(dim=1)


def label_order_loss(
    score: Any, real: Any, label: Any, phi: str = "exp", top: int | None = None
) -> Any:
    """Return minus the log-probability that the first ``top`` places follow the labels.

    Items of equal label are each chosen among all items that are not better, so that their order
    does not matter; where only some of them are within ``top``, each counts that share.
    """
    torch = require("torch", "neural")
    length = score.shape[1]
    ranked, order = label.masked_fill(~real, -torch.inf).sort(dim=1, descending=True)
    power = log_powers(score, real, phi).gather(1, order)
    from_here = power.flip(1).logcumsumexp(dim=1).flip(1)
    place = torch.arange(length, device=score.device).expand_as(ranked)
    new = torch.ones_like(real)
    new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    begin = place.masked_fill(~new, 0).cummax(dim=1).values
    last = torch.ones_like(real)
    last[:, :-1] = new[:, 1:]
    end = (place + 1).masked_fill(~last, length).flip(1).cummin(dim=1).values.flip(1)
    counted = length if top is None else top
    share = ((counted - begin).to(score.dtype) / (end - begin)).clamp(0.0, 1.0)
    lost = (from_here.gather(1, begin) - power) * share
    return lost.masked_fill(ranked == -torch.inf, 0.0).sum(dim=1)


def exposure_sides(code: np.ndarray, offsets: np.ndarray, groups: Sequence[int]) -> np.ndarray:
    """Return what each row's chance counts in the others' exposure less a group's (row x group).

    One over their number for the others, less one over its size for the group; 0 in a list without
    the group, or without others.
    """
    sizes = np.diff(offsets)
    sides = np.zeros((len(code), len(groups)))
    for column, group in enumerate(groups):
        inside = code == group
        mine = np.repeat(segment_sum(inside.astype(np.float64), offsets), sizes)
        theirs = np.repeat(sizes, sizes) - mine
        both = (mine > 0) & (theirs > 0)
        sides[both, column] = np.where(inside, -1.0 / mine.clip(1), 1.0 / theirs.clip(1))[both]
    return sides


def exposure_excess(log_chance: Any, side: Any, attention: float = 1.0) -> Any:
    """Add up, over the groups, the square of what the others' exposure exceeds the group's by.

    The exposure of a group is the mean chance of its items to be first times ``attention``;
    ``side`` (list x item x group) holds what `exposure_sides` gives.
    """
    gap = attention * (log_chance.exp()[:, :, None] * side).sum(dim=1)
    return gap.clamp_min(0.0).square().sum(dim=1)


#: Pairs held at once.
MOST_PAIRS = 1 << 24


def normalised_gains(
    y: np.ndarray, offsets: np.ndarray, kind: str, cutoff: int | None
) -> np.ndarray:
    """Return each row's gain over the largest DCG of its list, 0 where nothing is relevant."""
    gain, sizes = gains(y.astype(np.float64), kind), np.diff(offsets)
    place = np.arange(len(y)) - np.repeat(offsets[:-1], sizes)
    discount = discounts(int(sizes.max(initial=0)), "log2", cutoff)
    ideal = segment_sum(sort_values_within(gain, offsets) * discount[place], offsets)
    whole = np.repeat(ideal, sizes)
    return np.divide(gain, whole, out=np.zeros(len(y)), where=whole > 0.0)


def ragged(
    batch: dict[str, Any], score: Any, table: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows' scores, the rows' values out of a table, and the lists' offsets, as arrays."""
    values = table.reshape(-1).index_select(0, batch["slot"])
    sizes = batch["size"].numpy().astype(np.int64)
    rows = [part.detach().numpy().astype(np.float64) for part in (score, values)]
    return rows[0], rows[1], np.concatenate([[0], np.cumsum(sizes)])


def with_slopes(value: Any, slope: Any, score: Any) -> Any:
    """Return the values of lists as a tensor whose gradient by the table of scores is ``slope``."""
    return value + (slope * (score - score.detach())).sum(dim=1)


def with_slopes_of_rows(
    value: np.ndarray, slope: np.ndarray, score: Any, batch: dict[str, Any]
) -> Any:
    """Return the weighted mean of lists' values with the gradient of it by the rows' scores."""
    torch = require("torch", "neural")
    share = batch["weight"].numpy() / len(value)
    pull = slope * np.repeat(share, batch["size"].numpy().astype(np.int64))
    total = torch.as_tensor(float(share @ value), dtype=score.dtype)
    pulls = torch.as_tensor(pull, dtype=score.dtype)
    return total + (pulls * (score - score.detach())).sum()


def logistic_slopes_of_rows(
    score: np.ndarray, label: np.ndarray, offsets: np.ndarray, sigma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return per list the mean logistic loss of its pairs, and the slopes of the rows."""
    from ...kernels.logistic_pairs import logistic_pairs

    loss, slope = logistic_pairs(score, label, offsets, sigma)
    return loss, slope


def logistic_slopes(score: Any, real: Any, label: Any, sigma: float) -> tuple[Any, Any]:
    """Return the same for padded lists."""
    torch = require("torch", "neural")
    loss, slope = torch.zeros_like(score[:, 0]), torch.zeros_like(score)
    count = torch.zeros_like(loss)
    for rows in _blocks(score):
        better = label[:, rows, None] > label[:, None, :]
        better &= real[:, rows, None] & real[:, None, :]
        gap = sigma * (score[:, rows, None] - score[:, None, :])
        zero = torch.zeros_like(gap)
        loss += torch.where(better, torch.nn.functional.softplus(-gap), zero).sum(dim=(1, 2))
        pull = torch.where(better, sigma * torch.sigmoid(-gap), zero)
        count += better.sum(dim=(1, 2))
        slope[:, rows] -= pull.sum(dim=2)
        slope += pull.sum(dim=1)
    count = count.clamp_min(1.0)
    return loss / count, slope / count[:, None]


def lambda_slopes_of_rows(
    score: np.ndarray,
    gain: np.ndarray,
    inverse_ideal: np.ndarray,
    offsets: np.ndarray,
    truncation: int,
    sigma: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return per list 1 - NDCG, and the lambdas of the rows, from LambdaMART's compiled loops."""
    from ...kernels.lambdas import NO_COST, GroupSteps, Lists, Loss, Performance, pair_gradients
    from ..lambdamart.fairness_terms import no_fairness

    sizes, n_lists = np.diff(offsets), len(offsets) - 1
    nothing, whole = np.zeros(0), np.zeros(0, dtype=np.int64)
    discount = np.array(discounts(int(sizes.max()), "log2"))
    part = Performance(
        gain, discount, inverse_ideal, truncation, NO_COST, nothing, np.zeros(0, dtype=np.int32),
        np.zeros((0, 0)), whole, nothing,
    )  # fmt: skip
    place = np.arange(len(score)) - np.repeat(offsets[:-1], sizes)
    order = place.astype(np.int32)
    slope, bend = np.empty(len(score)), np.empty(len(score))
    pair_gradients(
        0, n_lists, score, Lists(offsets, order, np.ones(n_lists)), Loss(1.0, sigma, False), part,
        no_fairness(len(score), n_lists), GroupSteps(np.ones(n_lists), np.zeros((n_lists, 0))),
        slope, bend,
    )  # fmt: skip
    counted = np.where(place < truncation, discount[place], 0.0)
    ranked = gain[order + np.repeat(offsets[:-1], sizes)]
    dcg = np.add.reduceat(ranked * counted, offsets[:-1])
    return np.where(inverse_ideal > 0.0, 1.0 - dcg * inverse_ideal, 0.0), slope


def lambda_slopes(
    score: Any, real: Any, gain: Any, inverse_ideal: Any, truncation: int, sigma: float
) -> tuple[Any, Any]:
    """Return the same for padded lists; ``gain`` is 0 where no item is."""
    torch = require("torch", "neural")
    length = score.shape[1]
    order = score.masked_fill(~real, -torch.inf).sort(dim=1, descending=True, stable=True).indices
    places = torch.arange(length, device=score.device)
    place = torch.empty_like(order).scatter(1, order, places.expand_as(order))
    discount = torch.as_tensor(np.array(discounts(length, "log2")), device=score.device)
    worth = discount.to(score.dtype)[place]
    slope = torch.zeros_like(score)
    near = (place < truncation) & real
    for rows in _blocks(score):
        counted = real[:, rows, None] & real[:, None, :]
        counted &= near[:, rows, None] | near[:, None, :]
        weight = gain[:, rows, None] - gain[:, None, :]
        counted &= weight > 0.0
        weight = weight * (worth[:, rows, None] - worth[:, None, :]).abs()
        gap = sigma * (score[:, rows, None] - score[:, None, :])
        pull = torch.where(counted, weight * torch.sigmoid(-gap), torch.zeros_like(gap))
        slope[:, rows] -= pull.sum(dim=2)
        slope += pull.sum(dim=1)
    dcg = (gain * worth * near).sum(dim=1)
    lost = torch.where(inverse_ideal > 0.0, 1.0 - dcg * inverse_ideal, torch.zeros_like(dcg))
    return lost, sigma * inverse_ideal[:, None] * slope


def _blocks(score: Any) -> Iterator[slice]:
    """Cut the items of padded lists so that their pairs with all others are not too many."""
    n_lists, length = score.shape
    step = max(1, MOST_PAIRS // max(1, n_lists * length))
    for begin in range(0, length, step):
        yield slice(begin, min(begin + step, length))


#: Numbers kept at once for the way back.
MOST_KEPT = 1 << 25


def win_probabilities(score: Any, real: Any, sigma: float) -> Any:
    """Return how likely the first item (second axis) beats the second (third axis).

    0 for an item against itself, and for items that are not there.
    """
    torch = require("torch", "neural")
    gap = (score[:, :, None] - score[:, None, :]) / (2.0 * sigma)
    win = 0.5 * (1.0 + torch.erf(gap))
    nobody = ~(real[:, :, None] & real[:, None, :])
    nobody = nobody | torch.eye(score.shape[1], dtype=torch.bool, device=score.device)
    return win.masked_fill(nobody, 0.0)


def rank_distributions(win: Any, n_ranks: int | None = None) -> Any:
    """Return the chance of each item (second axis) to be at each of the first ranks (third axis)."""
    torch = require("torch", "neural")
    n_lists, size, _ = win.shape
    kept = size if n_ranks is None else min(n_ranks, size)
    chance = torch.zeros((n_lists, size, kept), dtype=win.dtype, device=win.device)
    chance[:, :, 0] = 1.0
    for other in range(size):
        chance = _one_more(chance, win[:, other, :, None])
    return chance


def expected_gain(win: Any, gain: Any, discount: Any) -> tuple[Any, Any]:
    """Return each list's expected DCG, and its slope by each win probability.

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
