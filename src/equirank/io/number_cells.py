"""Conversion of text cells to numbers, written with a decimal point or a decimal comma."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from ..core.errors import DataError
from .files import shorten

__all__ = [
    "DECIMALS",
    "MISSING",
    "CellError",
    "CommaSurvey",
    "Decimal",
    "DecimalComma",
    "comma_words",
    "data_like",
    "has_decimal_comma",
    "number_hint",
    "numbers_of",
]


#: A cell with one of these texts is missing.
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>")

Decimal = Literal["comma", "point"]
#: The words and signs that name the decimal sign.
DECIMALS: dict[str, Decimal] = {"comma": "comma", ",": "comma", "point": "point", ".": "point"}

_MISSING = frozenset(MISSING)
_SAMPLE = 100  # cells that tell whether a column has few different ones
_TRUTH = {"true": 1.0, "false": 0.0}
_COMMA = re.compile(r"[+-]?[0-9]+,([0-9]+)", re.ASCII)
_NUMBER = re.compile(r"[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
#: Whole groups of three digits, separated by the sign that is not the decimal one.
_GROUPED = {
    "comma": re.compile(r"[+-]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]+)?", re.ASCII),
    "point": re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?", re.ASCII),
}


class CellError(ValueError):
    """A cell that cannot be converted: its row within the chunk, and its text."""

    def __init__(self, row: int, got: str) -> None:
        super().__init__(row, got)
        self.row, self.got = row, got


class DecimalComma(Exception):
    """A column of numbers has a cell with a comma, so that the decimal sign must be decided."""


def numbers_of(cells: Sequence[str], decimal: Decimal | None = None) -> np.ndarray:
    """Convert cells to floats: NaN if missing, 1 and 0 for true and false (in any case).

    With ``decimal``, the other sign may separate groups of three digits.

    Examples
    --------
    >>> numbers_of(["1.5", "", "TRUE", " 2 "])
    array([1.5, nan, 1. , 2. ])
    >>> numbers_of(["1,5", "1.234,5"], "comma"), numbers_of(["1,234"], "point")
    (array([   1.5, 1234.5]), array([1234.]))
    """
    if len({*cells[:_SAMPLE]}) < _SAMPLE // 2 < len(cells):  # likely few words, each of them once
        words = list(dict.fromkeys(cells))
        value = dict(zip(words, _numbers(words, decimal, cells).tolist(), strict=True))
        return np.fromiter(map(value.__getitem__, cells), np.float64, len(cells))
    return _numbers(cells, decimal, cells)


def _numbers(words: Sequence[str], decimal: Decimal | None, cells: Sequence[str]) -> np.ndarray:
    """Convert words, the different ones among the cells or all, in order of first appearance."""
    try:
        # Python's float accepts underscores; a point is no decimal sign beside a decimal comma
        if decimal != "comma" and "_" not in "".join(words):
            return np.fromiter(map(float, words), np.float64, len(words))
    except ValueError:
        pass
    result = np.empty(len(words))
    for row, cell in enumerate(words):
        word = cell.strip()
        if word in _MISSING:
            result[row] = np.nan
        elif word.lower() in _TRUTH:
            result[row] = _TRUTH[word.lower()]
        else:
            try:
                result[row] = float(_in_python(word, decimal).replace("_", "?"))
            except ValueError:
                raise CellError(cells.index(cell), cell) from None
    return result


def _in_python(word: str, decimal: Decimal | None) -> str:
    """Return a number with a decimal point and without separators of thousands."""
    if decimal is None:
        return word
    if _GROUPED[decimal].fullmatch(word):
        word = word.replace("." if decimal == "comma" else ",", "")
    elif decimal == "comma" and "." in word:
        return "?"
    return word.replace(",", ".") if decimal == "comma" else word


def has_decimal_comma(cell: str) -> bool:
    """Return whether a cell consists of digits, a comma and digits."""
    return _COMMA.fullmatch(cell.strip()) is not None


def number_hint(got: str) -> str:
    """Return the end of an error message about a cell that one of the decimal signs explains."""
    word = got.strip()
    if has_decimal_comma(word) or any(rule.fullmatch(word) for rule in _GROUPED.values()):
        return '; decimal must be "comma" or "point" for such numbers'
    return ""


class CommaSurvey:
    """Columns of numbers, and which of them have decimal commas: decided by all their cells."""

    def __init__(self, path: str, names: Iterable[str]) -> None:
        self._path = path
        self._example: dict[str, str | None] = dict.fromkeys(names)
        self._other_digits: set[str] = set()

    def add(self, cells_of: Callable[[str], Sequence[str]]) -> None:
        """Add the cells of some rows; a column that does not fit is dropped."""
        for name in list(self._example):
            for cell in cells_of(name):
                word = cell.strip()
                found = _COMMA.fullmatch(word)
                if found:
                    self._example[name] = self._example[name] or word
                    if len(found[1]) != 3:
                        self._other_digits.add(name)
                elif word not in _MISSING and not _WHOLE.fullmatch(word):
                    del self._example[name]
                    break

    def finish(self) -> list[str]:
        """Return the columns with decimal commas; raise if all have three digits after them."""
        found = [name for name, example in self._example.items() if example is not None]
        for name in found:
            if name not in self._other_digits:
                example = str(self._example[name])
                raise DataError(
                    f'{self._path}: decimal must be "comma" or "point", since every value of '
                    f"column {name!r} with a comma has three digits after it: {shorten(example)} "
                    f"is {example.replace(',', '.')} or {example.replace(',', '')}"
                )
        return found


def comma_words(names: Sequence[str]) -> dict[str, str]:
    """Return how the columns with decimal commas were read, for `Source`."""
    if not names:
        return {}
    shown = ", ".join(map(repr, names))
    return {"decimal": f"comma in {shown} (guessed: every value fits digits, comma, digits)"}


def data_like(names: Iterable[str]) -> bool:
    """Return whether names look like the cells of a row: at least two are numbers."""
    return sum(_NUMBER.fullmatch(name.strip()) is not None for name in names) >= 2
