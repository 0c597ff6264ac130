"""Whole lists as batches: rows stay ragged through the network, scores are padded after it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.extras import require
from ...core.random import generator
from .rows import Rows

__all__ = ["QueryBatches", "list_places", "padded"]

#: Batches whose lists are sorted by length together: little padding, still random.
WINDOW = 16


def list_places(sizes: np.ndarray) -> tuple[np.ndarray, int]:
    """Give each row's place in a table of lists side by side, and the table's width.

    Examples
    --------
    >>> list_places(np.array([2, 1, 3]))
    (array([0, 1, 3, 6, 7, 8]), 3)
    """
    longest = int(sizes.max(initial=0))
    begin = np.cumsum(sizes) - sizes
    shift = np.arange(len(sizes)) * longest - begin
    return np.arange(int(sizes.sum())) + np.repeat(shift, sizes), longest


def padded(values: Any, batch: dict[str, Any], fill: float | bool = 0.0) -> Any:
    """Lay values of a batch's rows into a table (list x item), ``fill`` where no row is.

    Its gradient is a gather, and `torch.func.vmap` may run over the values.
    """
    torch = require("torch", "neural")
    n_lists, longest = batch["real"].shape
    shape = (n_lists * longest, *values.shape[1:])
    table = torch.full(shape, fill, dtype=values.dtype, device=values.device)
    slot = batch["slot"].reshape(-1, *([1] * (values.dim() - 1))).expand(values.shape)
    return table.scatter(0, slot, values).reshape(n_lists, longest, *values.shape[1:])


class QueryBatches:
    """Batches of whole lists, shuffled anew every epoch, lists of like length side by side.

    A batch has ``x`` (row x feature) and ``slot`` (row), which `padded` reads, and as tables
    (list x item): ``real`` (whether there is an item) and every column, such as ``y``, 0 where
    there is none; and ``weight`` and ``size`` per list.
    """

    def __init__(
        self, rows: Rows, offsets: np.ndarray, weight: np.ndarray, batch_size: int, seed: int
    ) -> None:
        self.rows, self.seed, self.batch_size = rows, seed, batch_size
        self.offsets, self.weight = offsets, weight
        self._whole: dict[str, Any] | None = None

    @property
    def n_steps(self) -> int:
        """Steps of an epoch."""
        return -(-(len(self.offsets) - 1) // self.batch_size)

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Go through all lists once; a batch of all of them is made once."""
        if self.n_steps == 1:
            self._whole = self._whole or self.batch(np.arange(len(self.offsets) - 1))
            yield self._whole
            return
        for lists in self._cut(generator(self.seed, 1, number)):
            yield self.batch(lists)

    def batch(self, lists: np.ndarray) -> dict[str, Any]:
        """Give the lists of these numbers as one batch."""
        torch = require("torch", "neural")
        sizes = (self.offsets[1:] - self.offsets[:-1])[lists]
        slot, longest = list_places(sizes)
        first = np.cumsum(sizes) - sizes
        rows = np.arange(len(slot)) + np.repeat(self.offsets[:-1][lists] - first, sizes)
        taken = self.rows.take(self.rows.tensor(rows))
        real = torch.zeros(len(lists) * longest, dtype=torch.bool, device=self.rows.device)
        place = self.rows.tensor(slot)
        real = real.scatter(0, place, torch.ones_like(place, dtype=torch.bool))
        batch = {"x": taken.pop("x"), "slot": place, "real": real.reshape(len(lists), longest)}
        batch |= {name: padded(values, batch) for name, values in taken.items()}
        dtype = batch["x"].dtype
        batch["weight"] = self.rows.tensor(self.weight[lists]).to(dtype)
        batch["size"] = self.rows.tensor(sizes).to(dtype)
        return batch

    def _cut(self, rng: np.random.Generator) -> list[np.ndarray]:
        sizes = self.offsets[1:] - self.offsets[:-1]
        order = rng.permutation(len(sizes))
        window = np.arange(len(order)) // (WINDOW * self.batch_size)
        order = order[np.lexsort((sizes[order], window))]
        cuts = [order[at : at + self.batch_size] for at in range(0, len(order), self.batch_size)]
        return [cuts[at] for at in rng.permutation(len(cuts))]
