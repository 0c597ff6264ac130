"""Rows of scattered lists, divided by key among files that vanish with the process."""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any

import numpy as np

from ..core.environment import require
from ..core.errors import DataError
from .whole_lists import sorted_rows

__all__ = ["Spill", "n_partitions"]


#: Most files at once, below the usual limit of a process.
MOST_FILES = 512
#: The lowest bits of a key choose the bucket; the next ones the file, or that of a second division.
LOWEST_BITS, HIGHER_BITS = 10, 37
#: Rows that are collected before they are divided, at most.
ROWS = 1 << 19


def n_partitions(n_rows: int | None, row_bytes: float, memory: int) -> int:
    """Return the number of files, so that the rows of one fit a quarter of the memory.

    Rows are sorted in memory, which takes their size twice. If their number is not known (None),
    there are half as many files as may be.

    Examples
    --------
    >>> n_partitions(100_000_000, 24, 1 << 30)
    18
    """
    if n_rows is None:
        return MOST_FILES // 2
    return max(1, min(MOST_FILES, int(np.ceil(2 * n_rows * row_bytes / (memory / 4)))))


class Spill:
    """Temporary Arrow files, one for each part of the keys; a context manager.

    The files have no name in any folder, or are removed when they are closed, so that neither an
    error nor the end of the process leaves one behind. Their number follows from the size of the
    first rows. A file that nevertheless exceeds a quarter of the memory is divided again. Rows are
    sorted once, however often they are read.

    Parameters
    ----------
    memory : int
        Bytes of rows that are held at once.
    keys : callable
        Checked rows -> a 64-bit key of the list of each row.
    folder : str, optional
        Where the files are; by default that of temporary files (``TMPDIR``).
    n_parts : int, optional
        Number of files; by default as many as rows like the first ones need.
    bits : int
        The lowest bits of a key, which do not choose the file.
    """

    def __init__(
        self,
        memory: int,
        keys: Callable[[Any], np.ndarray],
        folder: str | None = None,
        n_parts: int | None = None,
        bits: int = LOWEST_BITS,
    ) -> None:
        self.memory, self.keys, self.n_parts, self.bits = memory, keys, n_parts, bits
        self.folder = folder or tempfile.gettempdir()
        self.n_rows = self.n_bytes = 0
        self._files: list[Any] = []
        self._sorted: set[Any] = set()
        self._schema: Any = None
        self._writers: list[Any] = []
        self._stack = ExitStack()
        self._waiting: list[Any] = []
        self._n_waiting = self._bytes_waiting = 0

    def __enter__(self) -> "Spill":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def write(self, batches: Iterable[Any], expected_rows: int | None = None) -> None:
        """Divide checked rows among the files.

        Raises
        ------
        DataError
            If the disk is full; the message states the bytes that are needed.
        """
        with self._room(expected_rows):
            for batch in batches:
                self._waiting.append(batch)
                self._n_waiting += batch.num_rows
                self._bytes_waiting += batch.nbytes
                if self._n_waiting >= ROWS or self._bytes_waiting >= self.memory / 8:
                    self._divide(expected_rows)
            self._divide(expected_rows)
            for writer in self._writers:
                writer.close()
            for file in self._files:
                file.flush()

    @contextmanager
    def _room(self, expected_rows: int | None = None) -> Iterator[None]:
        """Turn the error of a full disk into one with the bytes that are needed."""
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise self._full(expected_rows) from None

    def _temporary(self) -> Any:
        return self._stack.enter_context(tempfile.TemporaryFile(dir=self.folder))

    def _divide(self, expected_rows: int | None) -> None:
        """Write the waiting rows."""
        arrow = require("pyarrow", "data")
        if not self._n_waiting:
            return
        rows = arrow.concat_batches(self._waiting)
        self._waiting, self._n_waiting, self._bytes_waiting = [], 0, 0
        self.n_rows += rows.num_rows
        self.n_bytes += rows.nbytes
        if not self._writers:
            self._open(rows, expected_rows)
        if len(self._writers) == 1:
            self._writers[0].write_batch(rows)
            return
        home = (self.keys(rows) >> np.uint64(self.bits)) % np.uint64(len(self._files))
        part = home.astype(np.uint16)
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=len(self._files))).tolist()
        divided = rows.take(arrow.array(order))
        begin = 0
        for writer, end in zip(self._writers, ends, strict=True):
            if end > begin:
                writer.write_batch(divided.slice(begin, end - begin))
            begin = end

    def _open(self, rows: Any, expected_rows: int | None) -> None:
        """Open as many files as rows like these need, or raise if the disk cannot hold them."""
        row_bytes = rows.nbytes / rows.num_rows
        if (expected_rows or 0) * row_bytes > shutil.disk_usage(self.folder).free:
            raise self._full(expected_rows)
        self._schema = rows.schema
        stream = require("pyarrow", "data").ipc.new_stream
        for _ in range(self.n_parts or n_partitions(expected_rows, row_bytes, self.memory)):
            self._files.append(self._temporary())
            self._writers.append(stream(self._files[-1], rows.schema))

    def _full(self, expected_rows: int | None) -> DataError:
        needed = self.n_bytes * max(1.0, (expected_rows or self.n_rows) / max(1, self.n_rows))
        free = shutil.disk_usage(self.folder).free
        return DataError(
            f"the lists are scattered over the data and must be sorted on disk, which needs about "
            f"{needed:,.0f} bytes, and {self.folder} has {free:,} free; free some, name another "
            "folder in TMPDIR, or sort the data by list"
        )

    def parts(self) -> Iterator[Any]:
        """Yield the rows of each file, sorted by list; the first pass stores them in this order."""
        ipc = require("pyarrow", "data").ipc
        for at, file in enumerate(self._files):
            if file in self._sorted:
                file.seek(0)
                with ipc.open_stream(file) as reader:
                    yield from reader
                continue
            ordered = self._temporary()
            writer = ipc.new_stream(ordered, self._schema)
            for part in self._in_order(file):
                with self._room():
                    writer.write_batch(part)
                yield part
                del part  # before the next one is sorted
            with self._room():
                writer.close()
                ordered.flush()
            file.close()
            self._files[at] = ordered
            self._sorted.add(ordered)

    def _in_order(self, file: Any) -> Iterator[Any]:
        """Yield the rows of a file sorted by list, in parts that fit the memory.

        A file that is too large is divided again; a list remains whole.
        """
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        with require("pyarrow", "data").ipc.open_stream(file) as reader:
            if size > self.memory / 4 and self.bits == LOWEST_BITS:
                n_parts = n_partitions(size, 1, self.memory)
                with Spill(self.memory, self.keys, self.folder, n_parts, HIGHER_BITS) as finer:
                    finer.write(reader)
                    for each in finer._files:
                        yield from finer._in_order(each)
            elif batches := list(reader):
                yield _sorted(batches)


def _sorted(batches: list[Any]) -> Any:
    """Return the rows of batches sorted by list, and free the batches."""
    rows = require("pyarrow", "data").concat_batches(batches)
    batches.clear()
    return sorted_rows(rows)
