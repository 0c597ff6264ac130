"""Pairs as batches: drawn anew every epoch within lists, or given by the caller."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from ...core.extras import require
from ...core.random import generator
from .rows import Rows

__all__ = ["ListedPairs", "SampledPairs"]


class _Pairs:
    """What both kinds share: an epoch's pairs on the device at once, cut into batches.

    Random numbers are drawn on the CPU, so that a seed gives the same pairs everywhere; what they
    choose is looked up on the device. A GPU does not wait for them: while it goes through an epoch,
    a thread draws the next one's.
    """

    rows: Rows
    seed: int
    batch_size: int
    n_pairs: int

    def __init__(self, rows: Rows, batch_size: int, seed: int) -> None:
        self.rows, self.batch_size, self.seed = rows, batch_size, seed
        self.ahead = ThreadPoolExecutor(1) if rows.device.type != "cpu" else None
        self._next: tuple[int, Future[tuple[np.ndarray, ...]]] | None = None

    @property
    def n_steps(self) -> int:
        """Steps of an epoch."""
        return -(-self.n_pairs // self.batch_size)

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Go through an epoch's pairs."""
        drawn = self._drawn(number)
        numbers, target, weight = self.pairs(*(self.rows.tensor(values) for values in drawn))
        for at in range(0, self.n_pairs, self.batch_size):
            cut = slice(at, at + self.batch_size)
            batch = self.rows.take(numbers[:, cut])
            yield batch | {"target": target[cut], "weight": weight[cut]}

    def draw(self, number: int) -> tuple[np.ndarray, ...]:
        """Draw the random numbers of an epoch, one of each kind per pair."""
        raise TypeError(f"{type(self).__name__} must define draw")

    def pairs(self, *drawn: Any) -> tuple[Any, Any, Any]:
        """Give row numbers (2 x pair), targets and weights that such numbers choose."""
        raise TypeError(f"{type(self).__name__} must define pairs")

    def _drawn(self, number: int) -> tuple[np.ndarray, ...]:
        if self.ahead is None:
            return self.draw(number)
        if self._next is not None and self._next[0] == number:
            drawn = self._next[1].result()
        else:
            drawn = self.draw(number)
        self._next = number + 1, self.ahead.submit(self.draw, number + 1)
        return drawn

    def _column(self, values: np.ndarray) -> Any:
        return self.rows.tensor(values.astype(self.rows.dtype, copy=False))


class SampledPairs(_Pairs):
    """Pairs of rows of one list with unequal relevance; each row meets one such row per epoch.

    A batch has every column as (2 x pair x ...): ``x``, ``y`` and what else the rows have; and
    per pair ``target``, the difference of relevance over the range of relevances, in [-1, 1], and
    ``weight``. Memory is a few numbers per row, whatever the number of pairs.
    """

    def __init__(
        self,
        rows: Rows,
        y: np.ndarray,
        offsets: np.ndarray,
        weight: np.ndarray,
        batch_size: int,
        seed: int,
    ) -> None:
        super().__init__(rows, batch_size, seed)
        sizes = np.diff(offsets)
        query = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        order = np.lexsort((y, query)).astype(np.int32)  # rows of a list by relevance
        begin = offsets[:-1].astype(np.int32)
        level = y[order]
        new = np.ones(len(y), dtype=bool)
        new[1:] = (level[1:] != level[:-1]) | (query[1:] != query[:-1])
        starts = np.append(np.flatnonzero(new), len(y)).astype(np.int32)
        block = np.cumsum(new, dtype=np.int32) - 1
        tied = starts[block + 1] - starts[block]
        unlike = sizes.astype(np.int32)[query] - tied
        self.some = np.flatnonzero(unlike).astype(np.int32)
        self.unlike, self.n_pairs = unlike, len(self.some)
        low = float(y.min())
        level = (level - low) / (float(y.max()) - low or 1.0)
        self.order, self.tied = rows.tensor(order), rows.tensor(tied)
        self.begin, self.block_begin = rows.tensor(begin[query]), rows.tensor(starts[block])
        self.level = self._column(level)
        even = bool((weight == weight[0]).all())
        self.weight = self._column(weight[:1] if even else weight[query])

    def draw(self, number: int) -> tuple[np.ndarray, ...]:
        """Draw for each row the number of a partner of other relevance, evenly among them."""
        rng = generator(self.seed, 1, number)
        place = rng.permutation(self.some)
        other = rng.integers(0, self.unlike[place], dtype=np.int32)
        turned = rng.random(len(place), dtype=np.float32) < 0.5
        return place, other, turned

    def pairs(self, *drawn: Any) -> tuple[Any, Any, Any]:
        """Look up the partners, skipping the rows tied with each; turn half of the pairs round."""
        torch = require("torch", "neural")
        place, other, turned = drawn
        other = other + self.begin[place]
        other = other + torch.where(other >= self.block_begin[place], self.tied[place], 0)
        first, second = torch.where(turned, other, place), torch.where(turned, place, other)
        target = self.level[first] - self.level[second]
        even = len(self.weight) == 1
        weight = self.weight.expand(len(place)) if even else self.weight[place]
        return torch.stack([self.order[first], self.order[second]]), target, weight


class ListedPairs(_Pairs):
    """Pairs the caller names, with a target in [-1, 1] and a weight each."""

    def __init__(
        self,
        rows: Rows,
        pairs: np.ndarray,
        target: np.ndarray,
        weight: np.ndarray,
        batch_size: int,
        seed: int,
    ) -> None:
        super().__init__(rows, batch_size, seed)
        self.listed, self.n_pairs = rows.tensor(pairs), pairs.shape[1]
        self.target, self.weight = self._column(target), self._column(weight)

    def draw(self, number: int) -> tuple[np.ndarray, ...]:
        """Draw an order of the pairs, and which of them to turn round."""
        rng = generator(self.seed, 1, number)
        return rng.permutation(self.n_pairs), rng.random(self.n_pairs) < 0.5

    def pairs(self, *drawn: Any) -> tuple[Any, Any, Any]:
        """Shuffle the pairs and turn half of them round."""
        torch = require("torch", "neural")
        order, turned = drawn
        pairs, target = self.listed[:, order], self.target[order]
        target = torch.where(turned, -target, target)
        return torch.where(turned, pairs.flip(0), pairs), target, self.weight[order]
