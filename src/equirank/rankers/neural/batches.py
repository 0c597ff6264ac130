"""Rows and batches of neural rankers: standardised rows, and batches of lists, pairs or rows.

Lists stay ragged through the network; scores are padded after it.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from ...core.environment import require
from ...core.errors import DataError
from ...core.random import generator
from .network import Model, Net

__all__ = [
    "CutBatches",
    "ListedPairs",
    "QueryBatches",
    "RowBatches",
    "Rows",
    "SampledPairs",
    "dense",
    "joined_rows",
    "list_slots",
    "padded",
    "run_rows",
    "standardised",
    "statistics",
]


#: Number of rows processed at once, which limits memory.
BLOCK = 1 << 14


def statistics(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of the columns; a constant column has deviation 1."""
    starts = range(0, len(X), BLOCK)
    mean = sum(X[at : at + BLOCK].sum(axis=0, dtype=np.float64) for at in starts) / len(X)
    square = sum(((X[at : at + BLOCK] - mean) ** 2).sum(axis=0) for at in starts) / len(X)
    scale = np.sqrt(square)
    flat = scale <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
    return np.asarray(mean), np.where(flat, 1.0, scale)


def standardised(X: np.ndarray, mean: np.ndarray, scale: np.ndarray, dtype: Any) -> np.ndarray:
    """Return standardised rows, computed block by block to save memory."""
    result = np.empty(X.shape, dtype=dtype)
    for at in range(0, len(X), BLOCK):
        result[at : at + BLOCK] = (X[at : at + BLOCK] - mean) / scale
    return result


class Rows:
    """Training rows as tensors: ``x`` and further columns, selected by row numbers."""

    def __init__(self, columns: Mapping[str, np.ndarray], device: Any) -> None:
        self.device = device
        self.columns = {name: self.tensor(values) for name, values in columns.items()}

    @property
    def dtype(self) -> Any:
        """NumPy type of the features."""
        return np.float64 if self.columns["x"].element_size() == 8 else np.float32

    def tensor(self, values: np.ndarray) -> Any:
        """Return an array as a tensor on the device."""
        plain = np.ascontiguousarray(values)
        if not plain.flags.writeable:
            plain = plain.copy()  # PyTorch shares the memory and requires write access
        return require("torch", "neural").as_tensor(plain, device=self.device)

    def take(self, rows: Any) -> dict[str, Any]:
        """Return all columns of these rows (a tensor of row numbers, of any shape)."""
        flat = rows.reshape(-1)
        return {
            name: values.index_select(0, flat).reshape(*rows.shape, *values.shape[1:])
            for name, values in self.columns.items()
        }


#: Number of batches whose lists are sorted by length together, which limits padding.
WINDOW = 16


def list_slots(sizes: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the slot of each row in a padded table of lists, and the width of the table.

    Examples
    --------
    >>> list_slots(np.array([2, 1, 3]))
    (array([0, 1, 3, 6, 7, 8]), 3)
    """
    longest = int(sizes.max(initial=0))
    begin = np.cumsum(sizes) - sizes
    shift = np.arange(len(sizes)) * longest - begin
    return np.arange(int(sizes.sum())) + np.repeat(shift, sizes), longest


def padded(values: Any, batch: dict[str, Any], fill: float | bool = 0.0) -> Any:
    """Return the values of the rows of a batch as a table (list x item), padded with ``fill``.

    Its gradient is a gather, and `torch.func.vmap` may map over the values.
    """
    torch = require("torch", "neural")
    n_lists, longest = batch["real"].shape
    shape = (n_lists * longest, *values.shape[1:])
    table = torch.full(shape, fill, dtype=values.dtype, device=values.device)
    slot = batch["slot"].reshape(-1, *([1] * (values.dim() - 1))).expand(values.shape)
    return table.scatter(0, slot, values).reshape(n_lists, longest, *values.shape[1:])


class QueryBatches:
    """Batches of whole lists of similar length, shuffled every epoch.

    A batch has ``x`` (row x feature) and ``slot`` (row), which `padded` reads; as tables (list x
    item) ``real`` (whether the cell is an item) and every column, such as ``y``, padded with 0; and
    ``weight`` and ``size`` per list.
    """

    def __init__(
        self, rows: Rows, offsets: np.ndarray, weight: np.ndarray, batch_size: int, seed: int
    ) -> None:
        self.rows, self.seed, self.batch_size = rows, seed, batch_size
        self.offsets, self.weight = offsets, weight
        self._whole: dict[str, Any] | None = None

    @property
    def n_steps(self) -> int:
        """Number of steps of an epoch."""
        return -(-(len(self.offsets) - 1) // self.batch_size)

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Yield the batches of all lists; a single batch is made once for all epochs."""
        if self.n_steps == 1:
            self._whole = self._whole or self.batch(np.arange(len(self.offsets) - 1))
            yield self._whole
            return
        for lists in self._cut(generator(self.seed, 1, number)):
            yield self.batch(lists)

    def batch(self, lists: np.ndarray) -> dict[str, Any]:
        """Return the lists of these numbers as one batch."""
        torch = require("torch", "neural")
        sizes = (self.offsets[1:] - self.offsets[:-1])[lists]
        slot, longest = list_slots(sizes)
        first = np.cumsum(sizes) - sizes
        rows = np.arange(len(slot)) + np.repeat(self.offsets[:-1][lists] - first, sizes)
        taken = self.rows.take(self.rows.tensor(rows))
        real = torch.zeros(len(lists) * longest, dtype=torch.bool, device=self.rows.device)
        slots = self.rows.tensor(slot)
        real = real.scatter(0, slots, torch.ones_like(slots, dtype=torch.bool))
        batch = {"x": taken.pop("x"), "slot": slots, "real": real.reshape(len(lists), longest)}
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


class CutBatches:
    """Base of the batches of pairs and of rows: row numbers of a whole epoch, cut into batches."""

    def __init__(self, rows: Rows, batch_size: int, seed: int) -> None:
        self.rows, self.batch_size, self.seed = rows, batch_size, seed

    @property
    def n_drawn(self) -> int:
        """Number of pairs or rows of an epoch."""
        raise TypeError(f"{type(self).__name__} must define n_drawn")

    @property
    def n_steps(self) -> int:
        """Number of steps of an epoch."""
        return -(-self.n_drawn // self.batch_size)

    def drawn(self, number: int) -> tuple[Any, dict[str, Any]]:
        """Return the row numbers of an epoch (... x pair or row), and further columns of each."""
        raise TypeError(f"{type(self).__name__} must define drawn")

    def cuts(self) -> Iterator[slice]:
        """Yield the part of an epoch that each batch is."""
        for at in range(0, self.n_drawn, self.batch_size):
            yield slice(at, at + self.batch_size)

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Yield the batches of an epoch."""
        numbers, columns = self.drawn(number)
        for cut in self.cuts():
            batch = self.rows.take(numbers[..., cut])
            yield batch | {name: values[cut] for name, values in columns.items()}


class _Pairs(CutBatches):
    """Base of the batches of pairs: all pairs of an epoch on the device.

    Random numbers are drawn on the CPU, so that a seed gives the same pairs on every device; the
    device looks up the rows. For a GPU, a thread draws the numbers of the next epoch in advance.
    """

    n_pairs: int

    def __init__(self, rows: Rows, batch_size: int, seed: int) -> None:
        super().__init__(rows, batch_size, seed)
        self.ahead = ThreadPoolExecutor(1) if rows.device.type != "cpu" else None
        self._next: tuple[int, Future[tuple[np.ndarray, ...]]] | None = None

    @property
    def n_drawn(self) -> int:
        """Number of pairs of an epoch."""
        return self.n_pairs

    def drawn(self, number: int) -> tuple[Any, dict[str, Any]]:
        """Return the row numbers (2 x pair), targets and weights of an epoch."""
        drawn = (self.rows.tensor(values) for values in self._random_numbers(number))
        numbers, target, weight = self.pairs(*drawn)
        return numbers, {"target": target, "weight": weight}

    def draw(self, number: int) -> tuple[np.ndarray, ...]:
        """Draw the random numbers of an epoch, one of each kind per pair."""
        raise TypeError(f"{type(self).__name__} must define draw")

    def pairs(self, *drawn: Any) -> tuple[Any, Any, Any]:
        """Return row numbers (2 x pair), targets and weights for these random numbers."""
        raise TypeError(f"{type(self).__name__} must define pairs")

    def _random_numbers(self, number: int) -> tuple[np.ndarray, ...]:
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
    """Pairs of rows of one list with unequal relevance; each row has one partner per epoch.

    A batch has every column of the rows, such as ``x``, as (2 x pair x ...); and per pair
    ``target``, the difference of relevance divided by the range of relevances, in [-1, 1], and
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
        n_partners = sizes.astype(np.int32)[query] - tied
        self.first = np.flatnonzero(n_partners).astype(np.int32)
        self.n_partners, self.n_pairs = n_partners, len(self.first)
        low = float(y.min())
        level = (level - low) / (float(y.max()) - low or 1.0)
        self.order, self.tied = rows.tensor(order), rows.tensor(tied)
        self.begin, self.block_begin = rows.tensor(begin[query]), rows.tensor(starts[block])
        self.level = self._column(level)
        equal = bool((weight == weight[0]).all())
        self.weight = self._column(weight[:1] if equal else weight[query])

    def draw(self, number: int) -> tuple[np.ndarray, ...]:
        """Draw for each row a partner of other relevance, uniformly."""
        rng = generator(self.seed, 1, number)
        row = rng.permutation(self.first)
        partner = rng.integers(0, self.n_partners[row], dtype=np.int32)
        reversed_ = rng.random(len(row), dtype=np.float32) < 0.5
        return row, partner, reversed_

    def pairs(self, *drawn: Any) -> tuple[Any, Any, Any]:
        """Return the pairs, half of them reversed; rows tied with the first are skipped."""
        torch = require("torch", "neural")
        row, partner, reversed_ = drawn
        partner = partner + self.begin[row]
        partner = partner + torch.where(partner >= self.block_begin[row], self.tied[row], 0)
        first = torch.where(reversed_, partner, row)
        second = torch.where(reversed_, row, partner)
        target = self.level[first] - self.level[second]
        equal = len(self.weight) == 1
        weight = self.weight.expand(len(row)) if equal else self.weight[row]
        return torch.stack([self.order[first], self.order[second]]), target, weight


class ListedPairs(_Pairs):
    """Explicit pairs, each with a target in [-1, 1] and a weight."""

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
        """Draw an order of the pairs, and which of them to reverse."""
        rng = generator(self.seed, 1, number)
        return rng.permutation(self.n_pairs), rng.random(self.n_pairs) < 0.5

    def pairs(self, *drawn: Any) -> tuple[Any, Any, Any]:
        """Return the shuffled pairs, half of them reversed."""
        torch = require("torch", "neural")
        order, reversed_ = drawn
        pairs, target = self.listed[:, order], self.target[order]
        target = torch.where(reversed_, -target, target)
        return torch.where(reversed_, pairs.flip(0), pairs), target, self.weight[order]


class RowBatches(CutBatches):
    """Batches of rows, shuffled every epoch: every column as (row x ...), and ``weight``."""

    def __init__(self, rows: Rows, weight: np.ndarray, batch_size: int, seed: int) -> None:
        super().__init__(rows, batch_size, seed)
        self.weight = rows.tensor(weight).to(rows.columns["x"].dtype)

    @property
    def n_drawn(self) -> int:
        """Number of rows."""
        return len(self.weight)

    def drawn(self, number: int) -> tuple[Any, dict[str, Any]]:
        """Return all rows in a random order, and their weights."""
        order = self.rows.tensor(generator(self.seed, 1, number).permutation(len(self.weight)))
        return order, {"weight": self.weight[order]}


def joined_rows(parts: list[Rows]) -> Rows:
    """Return the rows of several data sets as one; their columns are equal."""
    torch = require("torch", "neural")
    found = Rows({}, parts[0].device)
    for name in parts[0].columns:
        found.columns[name] = torch.cat([part.columns[name] for part in parts])
    return found


def run_rows(
    model: Model, weights: Mapping[str, np.ndarray], X: Any, use: Callable[[Net, Any], np.ndarray]
) -> np.ndarray:
    """Apply a network to raw rows, block by block, in double precision and without PyTorch."""
    net = Net(model, {name: values.astype(np.float64) for name, values in weights.items()})
    mean, scale = net.weights["input.mean"], net.weights["input.scale"]
    X = dense(X)
    parts = [use(net, (X[at : at + BLOCK] - mean) / scale) for at in range(0, len(X), BLOCK)]
    return np.concatenate(parts) if parts else use(net, np.zeros((0, X.shape[1])))


def dense(X: Any) -> np.ndarray:
    """Return X as an array; raise `DataError` for a sparse one."""
    if hasattr(X, "tocsr"):
        raise DataError("X must be dense for a neural ranker, got a sparse array: use X.toarray()")
    return np.asarray(X)
