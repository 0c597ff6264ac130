"""Bytes of CSV on their way to pyarrow, stopped where two readers could differ."""

import io
from typing import IO

import numpy as np

__all__ = ["PlainBytes"]


class PlainBytes(io.RawIOBase):
    """A stream that raises ValueError at a NUL byte or a quote that is not where quotes belong.

    A quote must open at the start of a cell, and close before a delimiter, the end of a line or
    another quote. Within that, readers of CSV agree.
    """

    def __init__(self, stream: IO[bytes], delimiter: str) -> None:
        super().__init__()
        self._stream, self._open = stream, False
        self._before = np.frombuffer((delimiter + '\r\n"').encode(), np.uint8)
        self._last = 10  # the byte before the block, as if a line had just ended

    def readable(self) -> bool:
        """Say yes."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read and check some bytes."""
        block = self._stream.read(size)
        self._check(block)
        return block

    def _check(self, block: bytes) -> None:
        if not block:
            if self._open:
                raise ValueError("the text ends within quotes")
            return
        if b"\0" in block:
            raise ValueError("a NUL byte")
        if self._last == 34 and not self._open and block[0] not in self._before:
            raise ValueError("a quote closes within a cell")
        if b'"' in block:
            text = np.frombuffer(block, np.uint8)
            quotes = np.flatnonzero(text == 34)
            openings, closings = quotes[int(self._open) :: 2], quotes[int(not self._open) :: 2]
            before = text[openings - 1]
            if len(openings) and openings[0] == 0:
                before[0] = self._last
            after = text[closings[closings + 1 < len(text)] + 1]
            if not (np.isin(before, self._before).all() and np.isin(after, self._before).all()):
                raise ValueError("a quote within a cell")
            self._open ^= len(quotes) % 2 == 1
        self._last = block[-1]
