"""Whole lists from checked rows: the last list of a batch waits for the next one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.environment import require
from ..core.errors import DataError
from ..core.list_keys import list_keys
from ..kernels.counted_random import text_keys

__all__ = [
    "MAX_LIST_ROWS",
    "ListBlock",
    "ScatteredLists",
    "label_of",
    "row_keys",
    "sorted_rows",
    "whole_lists",
]


#: Most rows of one list, unless the caller allows more.
MAX_LIST_ROWS = 10_000_000


class ScatteredLists(Exception):
    """Labels of lists that both rise and fall, so that a list may return."""


@dataclass(frozen=True, eq=False)
class ListBlock:
    """Checked rows of some whole lists.

    Attributes
    ----------
    rows : pyarrow.RecordBatch
        The rows as `LogColumns.checked` returns them.
    offsets : ndarray of int64
        List ``q`` consists of the rows ``offsets[q]:offsets[q + 1]``.
    """

    rows: Any
    offsets: np.ndarray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.num_rows)

    @property
    def n_lists(self) -> int:
        """Number of lists."""
        return len(self.offsets) - 1

    def sides(self, column: str) -> tuple["ListBlock", "ListBlock", np.ndarray]:
        """Return the rows of two tables, whose lists each table may lack, and their numbers.

        The column is 0 in rows of the first and 1 in those of the second; the numbers are rows per
        list and table.
        """
        arrow = require("pyarrow", "data")
        second = self.rows.column(column).to_numpy() > 0
        n = np.add.reduceat(second.astype(np.int64), self.offsets[:-1])
        counts = np.stack([np.diff(self.offsets) - n, n], axis=1)
        blocks = []
        for side, mask in enumerate((~second, second)):
            sizes = counts[:, side]
            offsets = np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)
            blocks.append(ListBlock(self.rows.filter(arrow.array(mask)), offsets))
        return blocks[0], blocks[1], counts


def whole_lists(
    batches: Iterable[Any], *, rows: int, max_list_rows: int = MAX_LIST_ROWS
) -> Iterator[ListBlock]:
    """Yield blocks of whole lists of about this many rows from consecutive batches.

    Raises
    ------
    ScatteredLists
        If labels neither rise nor fall throughout: contiguity is not proven.
    DataError
        If a list has more than ``max_list_rows`` rows.
    """
    pending: list[Any] = []
    # a batch that is somewhat short is a block of its own, so that blocks are not twice as large
    least = (rows + 1) // 2
    waiting, enough, direction = 0, least, 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        pending.append(batch)
        waiting += batch.num_rows
        if waiting < enough:
            continue
        block, direction = _block(pending, direction)
        begin = int(block.offsets[-2])
        _check_lengths(block, max_list_rows)
        if begin:
            yield ListBlock(block.rows.slice(0, begin), block.offsets[:-1])
        pending = [block.rows.slice(begin)]
        waiting = block.n_rows - begin
        enough = max(least, 2 * waiting)
    if pending:
        block, _ = _block(pending, direction)
        _check_lengths(block, max_list_rows)
        yield block


def _block(pending: list[Any], direction: int) -> tuple[ListBlock, int]:
    """Return the batches as one block, and whether labels rise (1) or fall (-1) so far."""
    arrow = require("pyarrow", "data")
    whole = pending[0] if len(pending) == 1 else arrow.concat_batches(pending)
    sign = _steps(whole)
    starts = np.flatnonzero(sign)
    if len(starts):
        taken = sign[starts]
        direction = direction or int(taken[0])
        if (taken != direction).any():
            raise ScatteredLists
    offsets = np.concatenate([[0], starts + 1, [whole.num_rows]]).astype(np.int64)
    return ListBlock(whole, offsets), direction


def _steps(rows: Any) -> np.ndarray:
    """Return per row but the last whether the next label is greater (1), less (-1) or equal."""
    compute = require("pyarrow.compute", "data")
    n = rows.num_rows
    sign = np.zeros(max(0, n - 1), dtype=np.int8)
    for name in _label_names(rows):
        column = rows.column(name)
        if column.type == "int64":
            values = column.to_numpy()
            step = (values[1:] > values[:-1]).view(np.int8) - (values[1:] < values[:-1]).view(
                np.int8
            )
        else:
            before, after = column.slice(0, n - 1), column.slice(1)
            up, down = compute.greater(after, before), compute.less(after, before)
            step = up.to_numpy(zero_copy_only=False).astype(np.int8)
            step -= down.to_numpy(zero_copy_only=False).astype(np.int8)
        sign = np.where(sign == 0, step, sign)
    return sign


def _label_names(rows: Any) -> list[str]:
    return [name for name in rows.schema.names if name[0] == "q" and name[1:].isdigit()]


def _check_lengths(block: ListBlock, most: int) -> None:
    lengths = np.diff(block.offsets)
    if lengths.max() > most:
        at = int(lengths.argmax())
        raise DataError(
            f"a list must have at most {most:,} rows (max_list_rows), got {lengths[at]:,} or more "
            f"in list {label_of(block, at)!r}; name a column that tells lists apart, or allow more"
        )


def label_of(block: ListBlock, at: int) -> Any:
    """Return the label of a list: a number, a text, or a tuple of both."""
    row = int(block.offsets[at])
    parts = [block.rows.column(name)[row].as_py() for name in _label_names(block.rows)]
    return (parts[0] if len(parts) == 1 else tuple(parts)) if parts else 0


def row_keys(rows: Any) -> np.ndarray:
    """Return a 64-bit number of the list of each checked row, for spilling and counting lists.

    Texts have other numbers than their `list_keys`, which would take long for every row.
    """
    found = np.zeros(rows.num_rows, dtype=np.uint64)
    for name in _label_names(rows):
        column = rows.column(name)
        if column.type == "int64":
            keys = list_keys(column.to_numpy())
        else:
            _, ends, content = column.buffers()
            offsets = np.frombuffer(ends, np.int64)[column.offset :][: len(column) + 1]
            keys = text_keys(offsets, np.frombuffer(content or b"", np.uint8))
        found = found * np.uint64(0x9E3779B97F4A7C15) + keys
    return found


def sorted_rows(rows: Any) -> Any:
    """Return rows sorted by label; the rows of a list keep their order."""
    compute = require("pyarrow.compute", "data")
    names = _label_names(rows)
    if not names:
        return rows
    order: np.ndarray
    if len(names) == 1 and rows.column(names[0]).type == "int64":
        order = np.argsort(rows.column(names[0]).to_numpy(), kind="stable")
    else:
        codes = np.zeros(rows.num_rows, dtype=np.int64)
        for at, name in enumerate(names):
            column = rows.column(name)
            coded = column.dictionary_encode()
            place = compute.sort_indices(coded.dictionary).to_numpy()
            rank = np.empty(len(place), dtype=np.int64)
            rank[place] = np.arange(len(place))
            part = rank[coded.indices.to_numpy(zero_copy_only=False)]
            both = codes * len(place) + part
            codes = np.unique(both, return_inverse=True)[1] if at else part
        order = np.argsort(codes, kind="stable")
    return rows.take(require("pyarrow", "data").array(order))
