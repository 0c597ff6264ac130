"""Arrays to the bytes of an SVMlight file, compiled; numbers with the fewest digits."""

from typing import Any

import numpy as np

from .compiling import compiled

__all__ = ["decimals", "format_rows"]

_EXACT_POWERS = np.array([float(10**e) for e in range(18)])
_NEWLINE, _SPACE, _HASH, _MINUS, _DOT, _ZERO, _COLON = 10, 32, 35, 45, 46, 48, 58


@compiled
def decimals(values: Any, single: Any, digits: Any, places: Any) -> None:
    """Write each double as digits / 10**places with the fewest places; places is -1 where none fit.

    With ``single`` the doubles hold float32 values, and it is those the decimals must give back.
    """
    for j in range(len(values)):
        value = values[j]
        size = abs(value)
        digits[j], places[j] = 0, -1
        if not size < 9007199254740992.0 or (size == 0.0 and np.signbit(value)):
            continue
        for p in range(18):
            scaled = np.rint(size * _EXACT_POWERS[p])
            if scaled > 9007199254740992.0:
                break
            back = scaled / _EXACT_POWERS[p]
            if back == size or (single and np.float32(back) == np.float32(size)):
                digits[j] = np.int64(scaled) if value >= 0 else -np.int64(scaled)
                places[j] = p
                break


@compiled
def _write_integer(out: Any, at: Any, number: Any, width: Any) -> Any:
    """Write an integer >= 0 with at least ``width`` digits; give where it ends."""
    end, rest = at, number
    while rest > 0 or end - at < width:
        rest //= 10
        end += 1
    for place in range(end - 1, at - 1, -1):
        out[place] = _ZERO + number % 10
        number //= 10
    return end


@compiled
def _write_number(
    out: Any, at: Any, j: Any, digits: Any, places: Any, text: Any, text_ends: Any
) -> Any:
    """Write number ``j``: its digits with a point, or its ready text; give where it ends."""
    if places[j] < 0:
        for k in range(text_ends[j - 1] if j > 0 else 0, text_ends[j]):
            out[at] = text[k]
            at += 1
        return at
    number = digits[j]
    if number < 0:
        out[at] = _MINUS
        at += 1
        number = -number
    end = _write_integer(out, at, number, places[j] + 1)
    if places[j] > 0:
        for k in range(places[j]):
            out[end - k] = out[end - k - 1]
        out[end - places[j]] = _DOT
        end += 1
    return end


@compiled
def format_rows(
    qids: Any,
    ends: Any,
    ids: Any,
    digits: Any,
    places: Any,
    text: Any,
    text_ends: Any,
    comments: Any,
    comment_ends: Any,
    out: Any,
) -> Any:
    """Write rows as SVMlight text into ``out``; give its length.

    Numbers ``0..len(ids)`` are the values of the entries, those after them the labels of the rows;
    ``text`` holds the numbers that `decimals` found no places for. An empty comment is not written.
    """
    at, entry = 0, 0
    for row in range(len(ends)):
        at = _write_number(out, at, len(ids) + row, digits, places, text, text_ends)
        for byte in (_SPACE, 113, 105, 100, _COLON):
            out[at] = byte
            at += 1
        if qids[row] < 0:
            out[at] = _MINUS
            at += 1
        at = _write_integer(out, at, abs(qids[row]), 1)
        while entry < ends[row]:
            out[at] = _SPACE
            at = _write_integer(out, at + 1, ids[entry], 1)
            out[at] = _COLON
            at = _write_number(out, at + 1, entry, digits, places, text, text_ends)
            entry += 1
        start = comment_ends[row - 1] if row > 0 else 0
        if comment_ends[row] > start:
            for byte in (_SPACE, _HASH, _SPACE):
                out[at] = byte
                at += 1
            for k in range(start, comment_ends[row]):
                out[at] = comments[k]
                at += 1
        out[at] = _NEWLINE
        at += 1
    return at
