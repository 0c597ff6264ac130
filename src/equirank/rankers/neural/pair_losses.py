"""Losses over all pairs of a list, with the sum of the pulls on each item written out.

On a CPU compiled loops take the rows as they are; elsewhere padded lists are gone through in blocks
of pairs, so that memory stays bounded. Both give the loss and the slope per item: a network is then
asked for its gradient once per item, not once per pair.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.extras import require
from ...kernels.discounts import discounts, gains
from ...kernels.segments import segment_sum, sort_values_within

__all__ = [
    "lambda_slopes",
    "lambda_slopes_of_rows",
    "logistic_slopes",
    "logistic_slopes_of_rows",
    "normalised_gains",
    "ragged",
    "with_slopes",
    "with_slopes_of_rows",
]

#: Pairs held at once.
MOST_PAIRS = 1 << 24


def normalised_gains(
    y: np.ndarray, offsets: np.ndarray, kind: str, cutoff: int | None
) -> np.ndarray:
    """Give each row's gain over the largest DCG of its list, 0 where nothing is relevant."""
    gain, sizes = gains(y.astype(np.float64), kind), np.diff(offsets)
    place = np.arange(len(y)) - np.repeat(offsets[:-1], sizes)
    discount = discounts(int(sizes.max(initial=0)), "log2", cutoff)
    ideal = segment_sum(sort_values_within(gain, offsets) * discount[place], offsets)
    whole = np.repeat(ideal, sizes)
    return np.divide(gain, whole, out=np.zeros(len(y)), where=whole > 0.0)


def ragged(
    batch: dict[str, Any], score: Any, table: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give the rows' scores, the rows' values out of a table, and the lists' offsets, as arrays."""
    values = table.reshape(-1).index_select(0, batch["slot"])
    sizes = batch["size"].numpy().astype(np.int64)
    rows = [part.detach().numpy().astype(np.float64) for part in (score, values)]
    return rows[0], rows[1], np.concatenate([[0], np.cumsum(sizes)])


def with_slopes(value: Any, slope: Any, score: Any) -> Any:
    """Give the values of lists as a tensor whose gradient by the table of scores is ``slope``."""
    return value + (slope * (score - score.detach())).sum(dim=1)


def with_slopes_of_rows(
    value: np.ndarray, slope: np.ndarray, score: Any, batch: dict[str, Any]
) -> Any:
    """Give the weighted mean of lists' values with the gradient of it by the rows' scores."""
    torch = require("torch", "neural")
    share = batch["weight"].numpy() / len(value)
    pull = slope * np.repeat(share, batch["size"].numpy().astype(np.int64))
    total = torch.as_tensor(float(share @ value), dtype=score.dtype)
    pulls = torch.as_tensor(pull, dtype=score.dtype)
    return total + (pulls * (score - score.detach())).sum()


def logistic_slopes_of_rows(
    score: np.ndarray, label: np.ndarray, offsets: np.ndarray, sigma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Give per list the mean logistic loss of its pairs, and the slopes of the rows."""
    from ...kernels.logistic_pairs import logistic_pairs

    loss, slope = logistic_pairs(score, label, offsets, sigma)
    return loss, slope


def logistic_slopes(score: Any, real: Any, label: Any, sigma: float) -> tuple[Any, Any]:
    """Give the same for padded lists."""
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
    """Give per list 1 - NDCG, and the lambdas of the rows, from LambdaMART's compiled loops."""
    from ...kernels.lambdas import NO_COST, Performance, pair_gradients
    from ..lambdamart.fairness_part import no_fairness

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
        0, n_lists, score, offsets, order, 1.0, sigma, False, np.ones(n_lists), part,
        no_fairness(len(score), n_lists), np.ones(n_lists), np.zeros((n_lists, 0)), slope, bend,
    )  # fmt: skip
    counted = np.where(place < truncation, discount[place], 0.0)
    ranked = gain[order + np.repeat(offsets[:-1], sizes)]
    dcg = np.add.reduceat(ranked * counted, offsets[:-1])
    return np.where(inverse_ideal > 0.0, 1.0 - dcg * inverse_ideal, 0.0), slope


def lambda_slopes(
    score: Any, real: Any, gain: Any, inverse_ideal: Any, truncation: int, sigma: float
) -> tuple[Any, Any]:
    """Give the same for padded lists; ``gain`` is 0 where no item is."""
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
