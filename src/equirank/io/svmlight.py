"""Parsing and formatting of SVMlight text in blocks."""

import re
from collections.abc import Iterator
from typing import IO, Any, NoReturn

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from .files import as_text, file_size, shorten
from .growing_arrays import DenseRows, GrowingArray, SparseRows

__all__ = [
    "SVMlightReader",
    "blocks",
    "comment_texts",
    "entries",
    "format_block",
    "integers",
    "lacks_last",
]


_BLOCK = 4 << 20  # bytes of text parsed at a time
_TIMES, _LEAST = (
    100,
    1 << 20,
)  # a dense matrix may have this many times the file's bytes, or so many
_LINE = 1 << 28  # most bytes of a line
_PAD = 8  # bytes past the end that the parser may read
_DOCID = re.compile(r"docid\s*=\s*(\S+)")
_TOKEN = re.compile(rb"[^ \t\r\n#]*")  # as in the kernel
_WHOLE = re.compile("0|-?[1-9][0-9]{0,99}")
_EXPECTED = {
    "BAD_LABEL": "the label must be a number >= 0",
    "BAD_QID": "qid must be an integer of 64 bits, as in qid:7",
    "BAD_FEATURE": "a feature must be id:value with an integer as id",
    "BAD_VALUE": "a feature must be id:value with a number as value",
    "BAD_NUL": "must be text",
    "FEATURE_LOW": "a feature id must be at least 1 (zero_based=True for files that start at 0)",
    "FEATURE_HIGH": "a feature id must be within n_features={width} and 2147483647",
    "QID_ABSENT": "each line must have a qid if the lines before have one",
    "QID_UNEXPECTED": "no line may have a qid if the lines before have none",
    "QID_LATE": "qid must follow the label",
    "TWICE": "a feature must occur once in a line, and {number} occurs again",
    "TOO_LARGE": "a feature must be within the range of dtype float32",
    "NO_COMMENT": "each line must have a comment for ids_from_comments",
}
_NAMES_TOKEN = {"BAD_LABEL", "BAD_QID", "BAD_FEATURE", "BAD_VALUE", "FEATURE_LOW", "FEATURE_HIGH"}


def blocks(stream: IO[bytes], path: str) -> Iterator[tuple[bytearray, int, int]]:
    """Read whole lines into a buffer: (buffer, size, number of the first line)."""
    buffer, held, line, start = bytearray(_BLOCK + _PAD), 0, 1, True
    while True:
        capacity = len(buffer) - _PAD
        got = stream.readinto(memoryview(buffer)[held:capacity])  # type: ignore[attr-defined]
        end = held + got
        if start and end >= 3:
            start = False
            if buffer[:3] == b"\xef\xbb\xbf":
                buffer[:3] = b"   "
        if got == 0:
            if held:
                buffer[held : held + 1] = b"\n"
                yield buffer, held + 1, line
            return
        cut = buffer.rfind(b"\n", held, end) + 1
        if cut:
            yield buffer, cut, line
            line += buffer.count(b"\n", 0, cut)
            buffer[: end - cut] = buffer[cut:end]
            held = end - cut
        else:
            held = end
            if held >= _LINE:
                raise DataError(f"{path}, line {line}: must have less than {_LINE} bytes, got more")
            if held == capacity:  # a line longer than the buffer
                buffer = buffer[:held] + bytearray(held + _PAD)


class SVMlightReader:
    """Parser of blocks into growing arrays; errors name file, line and text."""

    def __init__(
        self, path: str, base: int, matrix: DenseRows | SparseRows, with_comments: bool
    ) -> None:
        self.path, self.base, self.matrix = path, base, matrix
        self.labels, self.qids = GrowingArray(np.float64), GrowingArray(np.int64)
        self.ids: list[str] | None = [] if with_comments else None
        self.with_qid = -1
        self._capacity = -1
        self._n_bytes, self._size = 0, file_size(path)
        self._widest = 0, 0  # the number of columns, and the line that makes it

    def _allocate(self, capacity: int) -> None:
        """Allocate the arrays that a block is parsed into; unused parts are never touched."""
        self._capacity, rows, entries = capacity, capacity // 2 + 1, capacity // 4 + 1
        self._rows = np.empty(rows), np.empty(rows, np.int64), np.empty(rows, np.int64)
        self._entries = np.empty(entries, np.int32), np.empty(entries)
        self._slow = np.empty((rows + entries, 3), np.int64)
        self._comments = np.empty((rows if self.ids is not None else 0, 2), np.int64)

    def read(self, buffer: bytearray, size: int, line: int) -> None:
        """Parse the lines in ``buffer[:size]``, the first of which has number ``line``."""
        from ..kernels.svmlight_text import parse_block

        if len(buffer) != self._capacity:
            self._allocate(len(buffer))
        width, largest = self.matrix.n_features, np.iinfo(np.int32).max
        last = largest if width is None else width - 1 + self.base
        rows, entries, n_slow, self.with_qid, ordered, code, where = parse_block(
            np.frombuffer(buffer, np.uint8), size, self.base, last, self.with_qid,
            *self._rows, *self._entries, self._slow, self._comments,
        )  # fmt: skip
        labels, qids, ends = (array[:rows] for array in self._rows)
        columns, values = (array[:entries] for array in self._entries)
        for target, begin, end in self._slow[:n_slow].tolist():
            number = _number(buffer[begin:end])
            good = number is not None and (target >= 0 or 0 <= number < np.inf)
            if number is None or not good:
                begin -= 0 if target < 0 else len(bytes(buffer[:begin]).split()[-1])
                self._fail(buffer, begin, line, "BAD_LABEL" if target < 0 else "BAD_VALUE")
            # The line of an error is not among the rows, and its numbers are not among the values.
            if target >= 0:
                self._entries[1][target] = number
            else:
                self._rows[0][-1 - target] = number
        self._check_range(buffer, line, ends, values)
        if not ordered:
            columns, values = self._sort(buffer, line, ends, columns, values)
        if code:
            self._fail(buffer, where, line, _name(code))
        self.labels.append(labels)
        self._n_bytes += size
        if isinstance(self.matrix, DenseRows) and width is None:
            self._check_width(self.matrix, buffer, line, ends, columns)
        if self.with_qid:
            self.qids.append(qids)
        if self.ids is not None:
            self._keep_comments(buffer, line, rows)
        self.matrix.append(ends, columns, values)

    def _check_width(
        self, matrix: DenseRows, buffer: bytearray, line: int, ends: np.ndarray, columns: np.ndarray
    ) -> None:
        """Raise if a large feature id makes the matrix much larger than the file."""
        if len(columns) and columns.max() >= self._widest[0]:
            entry = int(columns.argmax())
            start = _start_of_row(buffer, int(np.searchsorted(ends, entry, side="right")))
            self._widest = int(columns[entry]) + 1, line + buffer.count(b"\n", 0, start)
        width, found_in = self._widest
        needed = self.labels.size * width * matrix.itemsize
        if needed > max(_LEAST, _TIMES * max(self._size, self._n_bytes)):
            raise DataError(
                f"{self.path}, line {found_in}: a feature id must not make X more than {_TIMES} "
                f"times as large as the file, got {width - 1 + self.base}, with which "
                f"{self.labels.size} rows need {needed / 1e6:,.0f} MB; read it with sparse=True, "
                f"or allow it with n_features={width}"
            )

    def _keep_comments(self, buffer: bytearray, line: int, rows: int) -> None:
        for row, (begin, end) in enumerate(self._comments[:rows].tolist()):
            text = as_text(bytes(buffer[begin:end]))
            found = text and (_DOCID.match(text.strip()) or text.strip())
            if not found:
                self._fail(buffer, _start_of_row(buffer, row), line, "NO_COMMENT")
            if self.ids is not None:
                self.ids.append(found if isinstance(found, str) else found[1])

    def _check_range(
        self, buffer: bytearray, line: int, ends: np.ndarray, values: np.ndarray
    ) -> None:
        """Raise if a finite value would be infinite in the type of the matrix."""
        kind = self.matrix.dtype
        if kind == np.float64 or not len(values):
            return
        with np.errstate(over="ignore"):
            bad = np.isfinite(values) & ~np.isfinite(values.astype(kind))
        if bad.any():
            row = int(np.searchsorted(ends, int(bad.argmax()), side="right"))
            self._fail(buffer, _start_of_row(buffer, row), line, "TOO_LARGE")

    def _sort(
        self,
        buffer: bytearray,
        line: int,
        ends: np.ndarray,
        columns: np.ndarray,
        values: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sort the entries of each row by feature; raise if a feature occurs twice."""
        sizes = np.diff(ends, prepend=0)
        row = np.repeat(np.arange(len(ends)), sizes)
        count = len(row)  # without the entries of a malformed line
        order = np.lexsort((columns[:count], row))
        columns, values = columns[:count][order], values[:count][order]
        twice = np.flatnonzero((columns[1:] == columns[:-1]) & (row[1:] == row[:-1]))
        if len(twice):
            start = _start_of_row(buffer, int(row[twice[0]]))
            self._fail(buffer, start, line, "TWICE", int(columns[twice[0]]) + self.base)
        return columns, values

    def _fail(
        self, buffer: bytearray, where: int, line: int, problem: str, number: int = 0
    ) -> NoReturn:
        """Raise for the token at byte ``where`` of a block."""
        start = buffer.rfind(b"\n", 0, where) + 1
        raw = bytes(buffer[start : buffer.find(b"\n", where)])
        number_of_line = line + buffer.count(b"\n", 0, where)
        location = f"{self.path}, line {number_of_line}"
        text = as_text(raw)
        if text is None:
            raise DataError(f"{location}: must be text in UTF-8, got the bytes {raw[:20]!r}")
        match = _TOKEN.match(buffer, where)
        token = bytes(match[0]) if match else b""
        if problem == "FEATURE_RANGE":
            low = self.base == 1 and not token.split(b":")[0].strip(b"0")
            problem = "FEATURE_LOW" if low else "FEATURE_HIGH"
        expected = _EXPECTED[problem].format(number=number, width=self.matrix.n_features)
        got = f"{shorten(token.decode())} in " if problem in _NAMES_TOKEN else ""
        raise DataError(f"{location}: {expected}, got {got}{shorten(text)}")


def _name(code: int) -> str:
    from ..kernels import svmlight_text as kernel

    return next(name for name in kernel.__all__ if name.isupper() and getattr(kernel, name) == code)


def _number(token: bytearray) -> float | None:
    """Convert a number that the kernel does not, as Python does; underscores and space are none."""
    try:
        return None if b"_" in token or token != token.strip() else float(token)
    except ValueError:
        return None


def _start_of_row(buffer: bytearray, row: int) -> int:
    """Return the byte at which the label of a row begins."""
    start = 0
    while True:
        raw = buffer[start : buffer.find(b"\n", start)]
        text = raw.lstrip()
        if text and not text.startswith(b"#"):
            if row == 0:
                return start + len(raw) - len(text)
            row -= 1
        start += len(raw) + 1


def integers(qids: np.ndarray) -> np.ndarray:
    """Return query labels as int64; raise if one is not an integer."""
    result = []
    for label in qids.tolist():
        whole = isinstance(label, int) or (isinstance(label, float) and label.is_integer())
        if not whole and not (isinstance(label, str) and _WHOLE.fullmatch(label)):
            raise DataError(
                f"query labels must be integers to be written as LETOR, got {label!r}; number them "
                "first, for instance with numpy.unique(qid, return_inverse=True)[1]"
            )
        result.append(int(label))
        if abs(result[-1]) > np.iinfo(np.int64).max:
            raise DataError(f"query labels must be integers of 64 bits, got {label!r}")
    return np.array(result, dtype=np.int64)


def comment_texts(data: RankingData, comments: Any) -> list[bytes] | None:
    """Return the comment of each stored row as bytes."""
    if comments is None:
        return None
    if isinstance(comments, str):
        if comments != "ids":
            raise DataError(f'comments must be a text per row or "ids", got {comments!r}')
        if data.ids is None:
            raise DataError('data must have ids for comments="ids", got none')
        stored = data.ids
    else:
        given = np.array([str(comment) for comment in comments], dtype=object)
        if len(given) != len(data):
            raise DataError(f"comments must have one text per row ({len(data)}), got {len(given)}")
        # Stored row s is input row rows[s]; of selected rows only the order counts.
        stored = given if data.rows is None else given[np.argsort(np.argsort(data.rows))]
    texts = [str(text).strip().encode() for text in stored]
    for row, text in enumerate(texts):
        if b"\n" in text or b"\r" in text or b"\0" in text:
            raise DataError(
                f"comments must be single lines, got {shorten(text.decode())} in row {row}"
            )
    return texts


def lacks_last(X: Any) -> bool:
    """Return whether no row would name the last feature."""
    if X is None or X.shape[1] == 0:
        return False
    if hasattr(X, "nnz"):
        return not (X.indices == X.shape[1] - 1).any()
    last = X[:, -1]
    return not ((last != 0) | np.signbit(last)).any()


def entries(X: Any, rows: slice, extra: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the entries of a block of rows: ends of the rows, columns and values."""
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
    """Return a block of rows as text."""
    from ..kernels.svmlight_text import decimals, format_rows

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
    """Return a number with the fewest digits that identify it."""
    if single:
        short = str(np.float32(number))
        if np.float32(float(short)) == np.float32(number):
            return short.encode()
    return repr(number).encode()


def _bytes(text: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(text), np.uint8)
