"""Losses of lists and their gradients, on padded tensors or, compiled, on ragged rows.

``score`` and ``label`` are tensors of n_lists x longest; ``real`` marks the cells that are items.
The other cells are never read.
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
    "exposure_contrasts",
    "exposure_excess",
    "label_order_loss",
    "lambda_grads",
    "lambda_grads_of_rows",
    "log_powers",
    "log_probabilities",
    "logistic_grads",
    "logistic_grads_of_rows",
    "normalised_gains",
    "ragged",
    "rank_distributions",
    "score_grads",
    "score_table",
    "win_probabilities",
    "with_grads",
    "with_grads_of_rows",
]


#: Log-strength of padding; infinity would make gradients NaN.
NO_ITEM = -1e30


def score_table(net: Net, batch: dict[str, Any]) -> Any:
    """Return the scores of a batch of lists as a padded table."""
    return padded(net.score(batch["x"]).to(batch["x"].dtype), batch)


def log_powers(values: Any, real: Any, phi: str) -> Any:
    """Return log phi: of exp, of the sigmoid, or of 1 + the difference from the lowest value."""
    torch = require("torch", "neural")
    if phi == "linear":
        lowest = values.masked_fill(~real, torch.inf).amin(dim=1, keepdim=True)
        values = torch.log1p((values - lowest).masked_fill(~real, 0.0))
    elif phi == "sigmoid":
        values = torch.nn.functional.logsigmoid(values)
    return values.masked_fill(~real, NO_ITEM)


def log_probabilities(score: Any, real: Any, phi: str = "exp") -> Any:
    """Return the logarithms of the top-one probabilities."""
    return log_powers(score, real, phi).log_softmax(dim=1)


def cross_entropy(log_p: Any, real: Any, label: Any, phi: str = "exp") -> Any:
    """Return the cross-entropy of the top-one probabilities by labels and by scores."""
    return -(log_powers(label, real, phi).softmax(dim=1) * log_p).sum(dim=1)


def label_order_loss(
    score: Any, real: Any, label: Any, phi: str = "exp", top: int | None = None
) -> Any:
    """Return the negative log-probability that the first ``top`` positions follow the labels.

    Items of equal label are each drawn from all items that are not better, so that their order does
    not matter; if only some of them are within ``top``, each counts that share.
    """
    torch = require("torch", "neural")
    length = score.shape[1]
    ranked, order = label.masked_fill(~real, -torch.inf).sort(dim=1, descending=True)
    power = log_powers(score, real, phi).gather(1, order)
    remaining = power.flip(1).logcumsumexp(dim=1).flip(1)
    rank = torch.arange(length, device=score.device).expand_as(ranked)
    new = torch.ones_like(real)
    new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    begin = rank.masked_fill(~new, 0).cummax(dim=1).values
    last = torch.ones_like(real)
    last[:, :-1] = new[:, 1:]
    end = (rank + 1).masked_fill(~last, length).flip(1).cummin(dim=1).values.flip(1)
    counted = length if top is None else top
    share = ((counted - begin).to(score.dtype) / (end - begin)).clamp(0.0, 1.0)
    loss = (remaining.gather(1, begin) - power) * share
    return loss.masked_fill(ranked == -torch.inf, 0.0).sum(dim=1)


def exposure_contrasts(code: np.ndarray, offsets: np.ndarray, groups: Sequence[int]) -> np.ndarray:
    """Return the weight of each row in the exposure of everyone else less that of a group.

    The result is row x group: -1 / size for members of the group, 1 / size for everyone else; 0 for
    a row with an unknown label, in a list without the group, or of the group alone.
    """
    sizes, known = np.diff(offsets), code >= 0
    people = np.repeat(segment_sum(known.astype(np.float64), offsets), sizes)
    contrasts = np.zeros((len(code), len(groups)))
    for column, group in enumerate(groups):
        inside = code == group
        size = np.repeat(segment_sum(inside.astype(np.float64), offsets), sizes)
        rest = people - size
        both = (size > 0) & (rest > 0) & known
        contrasts[both, column] = np.where(inside, -1.0 / size.clip(1), 1.0 / rest.clip(1))[both]
    return contrasts


def exposure_excess(log_p: Any, contrast: Any, attention: float = 1.0) -> Any:
    """Return the squared excess of everyone else's exposure over a group's, summed over groups.

    The exposure of a group is the mean top-one probability of its items times ``attention``;
    ``contrast`` (list x item x group) is the result of `exposure_contrasts`.
    """
    gap = attention * (log_p.exp()[:, :, None] * contrast).sum(dim=1)
    return gap.clamp_min(0.0).square().sum(dim=1)


#: Maximum number of pairs in memory.
MAX_PAIRS = 1 << 24


def normalised_gains(
    y: np.ndarray, offsets: np.ndarray, kind: str, cutoff: int | None
) -> np.ndarray:
    """Return the gain of each row divided by the ideal DCG of its list, 0 if that is 0."""
    gain, sizes = gains(y.astype(np.float64), kind), np.diff(offsets)
    rank = np.arange(len(y)) - np.repeat(offsets[:-1], sizes)
    discount = discounts(int(sizes.max(initial=0)), "log2", cutoff)
    ideal = segment_sum(sort_values_within(gain, offsets) * discount[rank], offsets)
    whole = np.repeat(ideal, sizes)
    return np.divide(gain, whole, out=np.zeros(len(y)), where=whole > 0.0)


def ragged(
    batch: dict[str, Any], score: Any, table: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores of rows, the values of rows from a table, and offsets of lists, as arrays."""
    values = table.reshape(-1).index_select(0, batch["slot"])
    sizes = batch["size"].numpy().astype(np.int64)
    rows = [part.detach().numpy().astype(np.float64) for part in (score, values)]
    return rows[0], rows[1], np.concatenate([[0], np.cumsum(sizes)])


def with_grads(value: Any, grad: Any, score: Any) -> Any:
    """Return the values of lists as a tensor whose gradient by the table of scores is ``grad``."""
    return value + (grad * (score - score.detach())).sum(dim=1)


def with_grads_of_rows(
    value: np.ndarray, grad: np.ndarray, score: Any, batch: dict[str, Any]
) -> Any:
    """Return the weighted mean of the values of lists with its gradient by the scores of rows."""
    torch = require("torch", "neural")
    share = batch["weight"].numpy() / len(value)
    weighted = grad * np.repeat(share, batch["size"].numpy().astype(np.int64))
    total = torch.as_tensor(float(share @ value), dtype=score.dtype)
    return total + (torch.as_tensor(weighted, dtype=score.dtype) * (score - score.detach())).sum()


def logistic_grads_of_rows(
    score: np.ndarray, label: np.ndarray, offsets: np.ndarray, sigma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean logistic loss of the pairs of each list, and the gradient of each row."""
    from ...kernels.logistic_pairs import logistic_pairs

    loss, grad = logistic_pairs(score, label, offsets, sigma)
    return loss, grad


def logistic_grads(score: Any, real: Any, label: Any, sigma: float) -> tuple[Any, Any]:
    """Return the same for padded lists."""
    torch = require("torch", "neural")
    loss, grad = torch.zeros_like(score[:, 0]), torch.zeros_like(score)
    count = torch.zeros_like(loss)
    for rows in _blocks(score):
        better = label[:, rows, None] > label[:, None, :]
        better &= real[:, rows, None] & real[:, None, :]
        gap = sigma * (score[:, rows, None] - score[:, None, :])
        zero = torch.zeros_like(gap)
        loss += torch.where(better, torch.nn.functional.softplus(-gap), zero).sum(dim=(1, 2))
        lambda_ij = torch.where(better, sigma * torch.sigmoid(-gap), zero)
        count += better.sum(dim=(1, 2))
        grad[:, rows] -= lambda_ij.sum(dim=2)
        grad += lambda_ij.sum(dim=1)
    count = count.clamp_min(1.0)
    return loss / count, grad / count[:, None]


def lambda_grads_of_rows(
    score: np.ndarray,
    gain: np.ndarray,
    inverse_ideal: np.ndarray,
    offsets: np.ndarray,
    truncation: int,
    sigma: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 - NDCG of each list, and the lambda gradient of each row, by LambdaMART's kernel."""
    from ...kernels.lambdas import NO_COST, GroupSteps, Lists, Loss, Performance, pair_gradients
    from ..lambdamart.fairness_terms import no_fairness

    sizes, n_lists = np.diff(offsets), len(offsets) - 1
    no_cost, no_start = np.zeros(0), np.zeros(0, dtype=np.int64)
    discount = np.array(discounts(int(sizes.max()), "log2"))
    part = Performance(
        gain, discount, inverse_ideal, truncation, NO_COST, no_cost, np.zeros(0, dtype=np.int32),
        np.zeros((0, 0)), no_start, no_cost,
    )  # fmt: skip
    rank = np.arange(len(score)) - np.repeat(offsets[:-1], sizes)
    order = rank.astype(np.int32)
    grad, hess = np.empty(len(score)), np.empty(len(score))
    pair_gradients(
        0, n_lists, score, Lists(offsets, order, np.ones(n_lists), np.zeros(0)),
        Loss(1.0, sigma, False, False), part,
        no_fairness(len(score), n_lists), GroupSteps(np.ones(n_lists), np.zeros((n_lists, 0))),
        grad, hess,
    )  # fmt: skip
    counted = np.where(rank < truncation, discount[rank], 0.0)
    ranked = gain[order + np.repeat(offsets[:-1], sizes)]
    dcg = np.add.reduceat(ranked * counted, offsets[:-1])
    return np.where(inverse_ideal > 0.0, 1.0 - dcg * inverse_ideal, 0.0), grad


def lambda_grads(
    score: Any, real: Any, gain: Any, inverse_ideal: Any, truncation: int, sigma: float
) -> tuple[Any, Any]:
    """Return the same for padded lists; ``gain`` is 0 in padding."""
    torch = require("torch", "neural")
    length = score.shape[1]
    order = score.masked_fill(~real, -torch.inf).sort(dim=1, descending=True, stable=True).indices
    ranks = torch.arange(length, device=score.device)
    rank = torch.empty_like(order).scatter(1, order, ranks.expand_as(order))
    by_rank = torch.as_tensor(np.array(discounts(length, "log2")), device=score.device)
    discount = by_rank.to(score.dtype)[rank]
    grad = torch.zeros_like(score)
    in_top = (rank < truncation) & real
    for rows in _blocks(score):
        counted = real[:, rows, None] & real[:, None, :]
        counted &= in_top[:, rows, None] | in_top[:, None, :]
        delta_ndcg = gain[:, rows, None] - gain[:, None, :]
        counted &= delta_ndcg > 0.0
        delta_ndcg = delta_ndcg * (discount[:, rows, None] - discount[:, None, :]).abs()
        gap = sigma * (score[:, rows, None] - score[:, None, :])
        lambda_ij = torch.where(counted, delta_ndcg * torch.sigmoid(-gap), torch.zeros_like(gap))
        grad[:, rows] -= lambda_ij.sum(dim=2)
        grad += lambda_ij.sum(dim=1)
    dcg = (gain * discount * in_top).sum(dim=1)
    loss = torch.where(inverse_ideal > 0.0, 1.0 - dcg * inverse_ideal, torch.zeros_like(dcg))
    return loss, sigma * inverse_ideal[:, None] * grad


def _blocks(score: Any) -> Iterator[slice]:
    """Yield slices of the items of padded lists that limit the number of pairs in memory."""
    n_lists, length = score.shape
    step = max(1, MAX_PAIRS // max(1, n_lists * length))
    for begin in range(0, length, step):
        yield slice(begin, min(begin + step, length))


#: Maximum number of values stored for the backward pass.
MAX_STORED = 1 << 25


def win_probabilities(score: Any, real: Any, sigma: float) -> Any:
    """Return the probability that one item (second axis) beats another (third axis).

    0 for an item against itself, and for padding.
    """
    torch = require("torch", "neural")
    gap = (score[:, :, None] - score[:, None, :]) / (2.0 * sigma)
    win = 0.5 * (1.0 + torch.erf(gap))
    excluded = ~(real[:, :, None] & real[:, None, :])
    excluded = excluded | torch.eye(score.shape[1], dtype=torch.bool, device=score.device)
    return win.masked_fill(excluded, 0.0)


def rank_distributions(win: Any, n_ranks: int | None = None) -> Any:
    """Return the probability of each item (second axis) at each of the first ranks (third axis)."""
    torch = require("torch", "neural")
    n_lists, size, _ = win.shape
    n_ranks = size if n_ranks is None else min(n_ranks, size)
    p = torch.zeros((n_lists, size, n_ranks), dtype=win.dtype, device=win.device)
    p[:, :, 0] = 1.0
    for other in range(size):
        p = _with_opponent(p, win[:, other, :, None])
    return p


def expected_gain(win: Any, gain: Any, discount: Any) -> tuple[Any, Any]:
    """Return the expected DCG of each list, and its gradient by each win probability.

    ``discount`` holds the weights of the ranks that count. In the backward pass, ``expected`` is
    the expected discount of an item given the number of items that have beaten it so far.
    """
    torch = require("torch", "neural")
    size, n_ranks = win.shape[1], len(discount)
    value = torch.zeros_like(win[:, 0, 0])
    grad = torch.zeros_like(win)
    lists = max(1, min(len(win), MAX_STORED // (size * n_ranks)))
    items = max(1, MAX_STORED // (size * n_ranks * lists))
    for at in range(0, len(win), lists):
        for begin in range(0, size, items):
            part = win[at : at + lists, :, begin : begin + items, None]
            p = torch.zeros_like(part[:, 0]).repeat(1, 1, n_ranks)
            p[:, :, 0] = 1.0
            before = []
            for other in range(size):
                before.append(p)
                p = _with_opponent(p, part[:, other])
            own = gain[at : at + lists, begin : begin + items]
            value[at : at + lists] += (own * (p @ discount)).sum(dim=1)
            expected = torch.zeros_like(p) + discount
            for other in reversed(range(size)):
                step = -expected
                step[:, :, :-1] += expected[:, :, 1:]
                grad[at : at + lists, other, begin : begin + items] = own * (
                    before[other] * step
                ).sum(dim=2)
                expected += part[:, other] * step
    return value, grad


def score_grads(score: Any, real: Any, grad: Any, sigma: float) -> Any:
    """Return the gradient by scores from the gradient by win probabilities."""
    torch = require("torch", "neural")
    gap = (score[:, :, None] - score[:, None, :]) / (2.0 * sigma)
    density = torch.exp(-gap.square()) / (2.0 * sigma * math.sqrt(math.pi))
    by_pair = (grad * density).masked_fill(~(real[:, :, None] & real[:, None, :]), 0.0)
    return by_pair.sum(dim=2) - by_pair.sum(dim=1)


def _with_opponent(p: Any, beaten: Any) -> Any:
    """Return the rank distributions after one more opponent wins with probability ``beaten``."""
    result = p * (1.0 - beaten)
    result[:, :, 1:] += p[:, :, :-1] * beaten
    return result
