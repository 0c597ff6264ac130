"""Pairs as batches: drawn anew every epoch within lists, or given by the caller."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.random import generator
from .rows import Rows

__all__ = ["ListedPairs", "SampledPairs"]


class _Pairs:
    """What both kinds share: an epoch's pairs on the device at once, cut into batches."""

    rows: Rows
    seed: int
    batch_size: int
    n_pairs: int

    @property
    def n_steps(self) -> int:
        """Steps of an epoch."""
        return -(-self.n_pairs // self.batch_size)

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Go through an epoch's pairs."""
        pairs, target, weight = self.draw(generator(self.seed, 1, number))
        tensor, dtype = self.rows.tensor, self.rows.dtype
        numbers = tensor(pairs)
        further = {"target": tensor(target.astype(dtype)), "weight": tensor(weight.astype(dtype))}
        for at in range(0, pairs.shape[1], self.batch_size):
            cut = slice(at, at + self.batch_size)
            batch = self.rows.take(numbers[:, cut])
            yield batch | {name: values[cut] for name, values in further.items()}

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Give row numbers (2 x pair), targets and weights of an epoch's pairs."""
        raise TypeError(f"{type(self).__name__} must define draw")


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
        self.rows, self.seed, self.batch_size = rows, seed, batch_size
        sizes = np.diff(offsets)
        query = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        self.order = np.lexsort((y, query)).astype(np.int32)  # rows of a list by relevance
        self.query, self.weight, self.even = query, weight, bool((weight == weight[0]).all())
        self.begin, self.size = (part.astype(np.int32) for part in (offsets[:-1], sizes))
        level = y[self.order]
        new = np.ones(len(y), dtype=bool)
        new[1:] = (level[1:] != level[:-1]) | (query[1:] != query[:-1])
        starts = np.append(np.flatnonzero(new), len(y)).astype(np.int32)
        block = np.cumsum(new, dtype=np.int32) - 1
        self.block_begin = starts[block]
        self.block_size = starts[block + 1] - self.block_begin
        self.some = np.flatnonzero(self.block_size < sizes[query]).astype(np.int32)
        self.n_pairs = len(self.some)
        low = float(y.min())
        self.level = ((level - low) / (float(y.max()) - low or 1.0)).astype(rows.dtype)

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw a partner of other relevance for each row, evenly among them."""
        place = rng.permutation(self.some)
        query, tied = self.query[place], self.block_size[place]
        other = rng.integers(0, self.size[query] - tied, dtype=np.int32) + self.begin[query]
        other += np.where(other >= self.block_begin[place], tied, np.int32(0))
        turned = rng.random(len(place), dtype=np.float32) < 0.5
        place, other = np.where(turned, other, place), np.where(turned, place, other)
        target = self.level[place] - self.level[other]
        pairs = np.stack([self.order[place], self.order[other]])
        weight = np.full(len(place), self.weight[0]) if self.even else self.weight[query]
        return pairs, target, weight


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
        self.rows, self.seed, self.batch_size = rows, seed, batch_size
        self.pairs, self.target, self.weight = pairs, target, weight
        self.n_pairs = pairs.shape[1]

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shuffle the pairs and turn half of them round."""
        order = rng.permutation(self.n_pairs)
        pairs, target = self.pairs[:, order], self.target[order]
        turned = rng.random(self.n_pairs) < 0.5
        pairs[:, turned] = pairs[::-1, turned]
        return pairs, np.where(turned, -target, target), self.weight[order]
