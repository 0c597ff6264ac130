"""Rows of scattered lists, divided by key among files that vanish with the process."""

import errno
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import numpy as np

from ..core.environment import require
from ..core.errors import DataError
from .whole_lists import sorted_rows

__all__ = ["Spill", "n_partitions"]


#: Most files at once, below the usual limit of a process.
MOST_FILES = 512
#: Rows that are collected before they are divided.
ROWS = 1 << 19


def n_partitions(n_rows: int, row_bytes: float, memory: int) -> int:
    """Return the number of files, so that the rows of one fit a quarter of the memory.

    Rows are sorted in memory, which takes their size twice.

    Examples
    --------
    >>> n_partitions(100_000_000, 24, 1 << 30)
    18
    """
    return max(1, min(MOST_FILES, int(np.ceil(2 * n_rows * row_bytes / (memory / 4)))))


class Spill:
    """Temporary Arrow files, one for each part of the keys; a context manager.

    The files have no name in any folder, or are removed when they are closed, so that neither an
    error nor the end of the process leaves one behind.

    Parameters
    ----------
    n_parts : int
        Number of files.
    keys : callable
        Checked rows -> a 64-bit key of the list of each row.
    folder : str, optional
        Where the files are; by default that of temporary files (``TMPDIR``).
    """

    def __init__(
        self, n_parts: int, keys: Callable[[Any], np.ndarray], folder: str | None = None
    ) -> None:
        self.n_parts, self.keys = n_parts, keys
        self.folder = folder or tempfile.gettempdir()
        self.n_rows = self.n_bytes = 0
        self._files: list[Any] = []
        self._writers: list[Any] = []
        self._stack = ExitStack()
        self._waiting: list[Any] = []
        self._n_waiting = 0

    def __enter__(self) -> "Spill":
        for _ in range(self.n_parts):
            file = self._stack.enter_context(tempfile.TemporaryFile(dir=self.folder))
            self._files.append(file)
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
        try:
            for batch in batches:
                self._waiting.append(batch)
                self._n_waiting += batch.num_rows
                if self._n_waiting >= ROWS:
                    self._divide(expected_rows)
            self._divide(expected_rows)
            for writer in self._writers:
                writer.close()
            for file in self._files:
                file.flush()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise self._full(expected_rows) from None

    def _divide(self, expected_rows: int | None) -> None:
        """Write the waiting rows."""
        arrow = require("pyarrow", "data")
        if not self._n_waiting:
            return
        rows = arrow.concat_batches(self._waiting)
        self._waiting, self._n_waiting = [], 0
        self.n_rows += rows.num_rows
        self.n_bytes += rows.get_total_buffer_size()
        if not self._writers:
            self._check_space(rows, expected_rows)
            self._writers = [arrow.ipc.new_stream(file, rows.schema) for file in self._files]
        # The lowest ten bits choose the bucket; others choose the file.
        part = ((self.keys(rows) >> np.uint64(10)) % np.uint64(self.n_parts)).astype(np.uint16)
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=self.n_parts)).tolist()
        divided = rows.take(arrow.array(order))
        begin = 0
        for writer, end in zip(self._writers, ends, strict=True):
            if end > begin:
                writer.write_batch(divided.slice(begin, end - begin))
            begin = end

    def _check_space(self, rows: Any, expected_rows: int | None) -> None:
        """Raise before writing if the disk cannot hold the expected rows."""
        if expected_rows is None:
            return
        needed = expected_rows * rows.get_total_buffer_size() // rows.num_rows
        if needed > shutil.disk_usage(self.folder).free:
            raise self._full(expected_rows)

    def _full(self, expected_rows: int | None) -> DataError:
        needed = self.n_bytes * max(1.0, (expected_rows or self.n_rows) / max(1, self.n_rows))
        free = shutil.disk_usage(self.folder).free
        return DataError(
            f"the lists are scattered over the data and must be sorted on disk, which needs about "
            f"{needed:,.0f} bytes, and {self.folder} has {free:,} free; free some, name another "
            "folder in TMPDIR, or sort the data by list"
        )

    def parts(self) -> Iterator[Any]:
        """Yield the rows of each file, sorted by list."""
        arrow = require("pyarrow", "data")
        for file in self._files[: len(self._writers)]:
            file.seek(0)
            with arrow.ipc.open_stream(file) as reader:
                batches = list(reader)
            if batches:
                yield sorted_rows(arrow.concat_batches(batches))
