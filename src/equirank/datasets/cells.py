"""Cells of text: which are missing, which are numbers, which labels are integers."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = ["MISSING", "CellError", "codes_of", "numbers_of", "typed"]

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>")

_MISSING = frozenset(MISSING)
_TRUTH = {"true": 1.0, "false": 0.0}
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", re.ASCII)


class CellError(ValueError):
    """A cell is not what its column holds: the row within the chunk and what was there."""

    def __init__(self, row: int, got: str) -> None:
        super().__init__(row, got)
        self.row, self.got = row, got


def numbers_of(cells: Sequence[str]) -> np.ndarray:
    """Read cells as doubles: NaN where missing, 1 and 0 for true and false (in any case).

    Examples
    --------
    >>> numbers_of(["1.5", "", "TRUE", " 2 "])
    array([1.5, nan, 1. , 2. ])
    """
    try:
        if "_" not in "".join(cells):  # Python's float would pass over underscores
            return np.array(list(map(float, cells)), dtype=np.float64)
    except ValueError:
        pass
    result = np.empty(len(cells))
    for row, cell in enumerate(cells):
        word = cell.strip()
        if word in _MISSING:
            result[row] = np.nan
        elif word.lower() in _TRUTH:
            result[row] = _TRUTH[word.lower()]
        else:
            try:
                result[row] = float(word.replace("_", "?"))
            except ValueError:
                raise CellError(row, cell) from None
    return result


def codes_of(cells: Iterable[Any]) -> tuple[np.ndarray, list[Any]]:
    """Code cells by first appearance: codes (-1 where missing) and the labels they stand for.

    Examples
    --------
    >>> codes_of(["f", "m", "", "f"])
    (array([ 0,  1, -1,  0]), ['f', 'm'])
    """
    seen: dict[Any, int] = dict.fromkeys(_MISSING, -1)
    seen[None] = -1
    known = len(seen)
    codes = [seen.setdefault(cell, len(seen) - known) for cell in cells]
    return np.array(codes, dtype=np.int64), list(seen)[known:]


def typed(labels: Sequence[Any], decimals: bool) -> list[Any]:
    """Turn labels into integers where all are written as such, else into decimals if allowed.

    A leading zero, a plus sign or more than 64 bits keeps all of them text: nothing is lost.

    Examples
    --------
    >>> typed(["10", "9"], False), typed(["10", "09"], False), typed(["1", "2.5"], True)
    ([10, 9], ['10', '09'], [1.0, 2.5])
    """
    if all(_INTEGER.fullmatch(label) for label in labels):
        numbers = [int(label) for label in labels]
        if all(-(2**63) <= number < 2**63 for number in numbers):
            return numbers
    if decimals and all(_DECIMAL.fullmatch(label) for label in labels):
        return [float(label) for label in labels]
    return list(labels)
