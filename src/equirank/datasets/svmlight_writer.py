"""Rows as SVMlight text: numbers with the fewest digits that give them back."""

import re
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from .opening import shorten

__all__ = ["comment_texts", "entries", "format_block", "integers", "lacks_last"]


def integers(qids: np.ndarray) -> np.ndarray:
    """Give query labels as int64, or say which one is no integer."""
    result = []
    for label in qids.tolist():
        whole = isinstance(label, int) or (isinstance(label, float) and label.is_integer())
        if not whole and not (isinstance(label, str) and re.fullmatch("0|-?[1-9][0-9]*", label)):
            raise DataError(
                f"query labels must be integers to be written as LETOR, got {label!r}; number them "
                "first, for instance with numpy.unique(qid, return_inverse=True)[1]"
            )
        result.append(int(label))
        if abs(result[-1]) > np.iinfo(np.int64).max:
            raise DataError(f"query labels must be integers of 64 bits, got {label!r}")
    return np.array(result, dtype=np.int64)


def comment_texts(data: RankingData, comments: Any) -> list[bytes] | None:
    """Give the comment of each stored row as bytes."""
    if comments is None:
        return None
    if isinstance(comments, str):
        if comments != "ids":
            raise DataError(f'comments must be a text per row or "ids", got {comments!r}')
        if data.ids is None:
            raise DataError('data must have ids for comments="ids", and has none')
        stored = data.ids
    else:
        given = np.array([str(comment) for comment in comments], dtype=object)
        if len(given) != len(data):
            raise DataError(f"comments must have one text per row ({len(data)}), got {len(given)}")
        # The stored row s is row rows[s] of the caller, by rank where rows were selected.
        stored = given if data.rows is None else given[np.argsort(np.argsort(data.rows))]
    texts = [str(text).strip().encode() for text in stored]
    for row, text in enumerate(texts):
        if b"\n" in text or b"\r" in text or b"\0" in text:
            raise DataError(
                f"comments must be of one line, got {shorten(text.decode())} in row {row}"
            )
    return texts


def lacks_last(X: Any) -> bool:
    """Tell whether no row would name the last feature."""
    if X is None or X.shape[1] == 0:
        return False
    if hasattr(X, "nnz"):
        return not (X.indices == X.shape[1] - 1).any()
    last = X[:, -1]
    return not ((last != 0) | np.signbit(last)).any()


def entries(X: Any, rows: slice, extra: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give what a block of rows holds: ends of the rows, columns and values."""
    if X is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    if hasattr(X, "nnz"):
        block = X[rows]
        ends, columns, values = block.indptr[1:].astype(np.int64), block.indices, block.data
        if extra:
            columns = np.insert(columns, ends[0], X.shape[1] - 1)
            values = np.insert(values, ends[0], 0.0)
            ends = ends + 1
        return ends, columns.astype(np.int64), values
    block = X[rows]
    shown = (block != 0) | np.signbit(block)
    if extra:
        shown[0, -1] = True
    return np.cumsum(shown.sum(axis=1)), np.nonzero(shown)[1], block[shown]


def format_block(
    labels: np.ndarray,
    qids: np.ndarray,
    ends: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    comments: list[bytes] | None,
) -> bytes:
    """Write a block of rows as text."""
    from ..kernels.letor_format import decimals, format_rows

    if len(ends) == 0:
        ends = np.zeros(len(labels), np.int64)
    numbers = np.concatenate([values.astype(np.float64), labels.astype(np.float64)])
    digits, places = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
    split = len(values)
    decimals(numbers[:split], values.dtype == np.float32, digits[:split], places[:split])
    decimals(numbers[split:], labels.dtype == np.float32, digits[split:], places[split:])
    lengths = np.zeros(len(numbers), np.int64)
    long = np.flatnonzero(places < 0)
    single = (long < split) & (values.dtype == np.float32)
    texts = [_repr(*pair) for pair in zip(numbers[long].tolist(), single.tolist(), strict=True)]
    lengths[long] = [len(text) for text in texts]
    words, comment_ends = comments or [], np.zeros(len(labels), np.int64)
    comment_ends[: len(words)] = np.cumsum([len(word) for word in words])
    tail, notes = b"".join(texts), b"".join(words)
    out = np.empty(40 * len(values) + 80 * len(labels) + len(tail) + len(notes), np.uint8)
    size = format_rows(
        qids, ends, columns + 1, digits, places, _bytes(tail), np.cumsum(lengths), _bytes(notes),
        comment_ends, out,
    )  # fmt: skip
    return out[:size].tobytes()


def _repr(number: float, single: bool) -> bytes:
    """Write a number with the fewest digits that give it back."""
    if single:
        short = str(np.float32(number))
        if np.float32(float(short)) == np.float32(number):
            return short.encode()
    return repr(number).encode()


def _bytes(text: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(text), np.uint8)
