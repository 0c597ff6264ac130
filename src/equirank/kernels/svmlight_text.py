"""Conversion of SVMlight text to arrays and back (compiled).

Decimal numbers become the nearest double: by one exact multiplication or division if the digits fit
53 bits [1]_, else by a 128-bit product with a power of five [2]_; the few uncertain ones are
returned to the caller. A block of text always ends with a newline.

References
----------
.. [1] W. D. Clinger, How to read floating point numbers accurately, PLDI 1990.
.. [2] D. Lemire, Number parsing at a gigabyte per second, Software: Practice and Experience, 2021.
"""

from typing import Any

import numpy as np

from .compiled import compiled

__all__ = [
    "BAD_FEATURE",
    "BAD_LABEL",
    "BAD_NUL",
    "BAD_QID",
    "BAD_VALUE",
    "FEATURE_RANGE",
    "OK",
    "QID_ABSENT",
    "QID_LATE",
    "QID_UNEXPECTED",
    "decimals",
    "format_rows",
    "parse_block",
    "restride",
    "scatter",
]


# Results of parse_block: success, or the error at which it stopped.
OK, BAD_LABEL, BAD_QID, BAD_FEATURE, BAD_VALUE, FEATURE_RANGE = 0, 1, 2, 3, 4, 5
QID_ABSENT, QID_UNEXPECTED, QID_LATE, BAD_NUL = 6, 7, 8, 9

_FIRST_POWER, _LAST_POWER = -326, 308
_EXACT_POWERS = np.array([float(10**e) for e in range(23)])
_NUL, _TAB, _NEWLINE, _RETURN, _SPACE, _HASH = 0, 9, 10, 13, 32, 35
_PLUS, _MINUS, _DOT, _ZERO, _NINE, _COLON = 43, 45, 46, 48, 57, 58
_MOST_DIGITS = 18
_LARGEST_ID = 2**31 - 1
_LARGEST = 2**63 - 1
_STEP = np.uintp(1)


def _powers_of_five() -> np.ndarray:
    """Return the leading 128 bits of each 5**q, truncated."""
    rows = []
    for q in range(_FIRST_POWER, _LAST_POWER + 1):
        power = 5 ** abs(q)
        if q < 0:
            bits = (1 << (power.bit_length() + 127)) // power
        else:
            bits = (power << 128) >> power.bit_length()
        rows.append((bits >> 64, bits & (2**64 - 1)))
    return np.array(rows, dtype=np.uint64)


_POWERS = _powers_of_five()
_TWOS = np.ldexp(1.0, np.arange(-1074, 1024))


@compiled
def _product(a: Any, b: Any) -> Any:
    """Multiply two 64-bit words into a high and a low word."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_high, a_low, b_high, b_low = a >> half, a & mask, b >> half, b & mask
    low = a_low * b_low
    middle = a_high * b_low + (low >> half)
    other = a_low * b_high + (middle & mask)
    return a_high * b_high + (middle >> half) + (other >> half), (other << half) | (low & mask)


@compiled
def _nearest(digits: Any, exponent: Any) -> Any:
    """Return (known, the double nearest to digits * 10**exponent) for digits > 0."""
    if -22 <= exponent <= 22 and digits <= 9007199254740992:
        if exponent < 0:
            return True, digits / _EXACT_POWERS[-exponent]
        return True, digits * _EXACT_POWERS[exponent]
    if exponent < _FIRST_POWER or exponent > _LAST_POWER:
        return False, 0.0
    one = np.uint64(1)
    word, shift = np.uint64(digits), 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - step) == np.uint64(0):
            word <<= np.uint64(step)
            shift += step
    row = exponent - _FIRST_POWER
    high, low = _product(word, _POWERS[row, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        carry, _ = _product(word, _POWERS[row, 1])
        low += carry
        if low < carry:
            high += one
    upper = high >> np.uint64(63)
    mantissa = high >> (upper + np.uint64(9))
    power = ((217706 * exponent) >> 16) + 63 + np.int64(upper) - shift
    in_doubt = low + one <= np.uint64(2) or power <= -1022 or power >= 1023
    if in_doubt:  # a possible tie, a subnormal, or near the largest double
        return False, 0.0
    rounded = np.int64((mantissa + (mantissa & one)) >> one)
    return True, rounded * _TWOS[power - 52 + 1074]


@compiled
def _number(text: Any, at: Any) -> Any:
    """Read a number; return (0: invalid, 1: known, 2: left to the caller), value, and end."""
    start = at
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += _STEP
    first = at
    while text[at] == _ZERO:
        at += _STEP
    zeros = np.int64(at - first)
    digits, begin = np.int64(0), at
    while _ZERO <= text[at] <= _NINE:
        digits = digits * 10 + (text[at] - _ZERO)
        at += _STEP
    count, fraction = np.int64(at - begin), np.int64(0)
    if text[at] == _DOT:
        at += _STEP
        point = at
        if count == 0:
            while text[at] == _ZERO:
                at += _STEP
            zeros += np.int64(at - point)
        begin = at
        while _ZERO <= text[at] <= _NINE:
            digits = digits * 10 + (text[at] - _ZERO)
            at += _STEP
        count += np.int64(at - begin)
        fraction = np.int64(at - point)
    exponent, known = -fraction, bool(count <= _MOST_DIGITS)
    if zeros + count == 0:
        known = False  # a word such as nan or inf
    elif text[at] | 32 == 101:
        mark = at
        at += _STEP
        minus = text[at] == _MINUS
        if minus or text[at] == _PLUS:
            at += _STEP
        power, begin = np.int64(0), at
        while _ZERO <= text[at] <= _NINE:
            power = np.int64(min(power * 10 + (text[at] - _ZERO), 100000))
            at += _STEP
        if at == begin:
            return 0, 0.0, mark
        exponent += -power if minus else power
    value = 0.0
    if known and digits != 0:
        known, value = _nearest(digits, exponent)
    if not _ends(text[at]):
        if zeros + count > 0:
            return 0, 0.0, at
        while not _ends(text[at]):
            at += _STEP
    if at == start:
        return 0, 0.0, at
    return (1 if known else 2), (-value if negative else value), at


@compiled
def _ends(byte: Any) -> Any:
    """Return whether a byte ends a token."""
    return byte in (_SPACE, _NEWLINE, _RETURN, _TAB, _HASH)


# Long, since it is one state machine over the bytes of a block.
@compiled
def parse_block(
    text: Any,
    size: Any,
    base: Any,
    last_id: Any,
    with_qid: Any,
    labels: Any,
    qids: Any,
    ends: Any,
    columns: Any,
    values: Any,
    slow: Any,
    comments: Any,
) -> Any:
    """Read the rows of ``text[:size]`` into the arrays that follow ``with_qid``.

    ``base`` is the least feature id, ``last_id`` the largest allowed, ``with_qid`` 1, 0 or -1 (not
    known yet). ``ends[r]`` is one past the last entry of row r. A row of ``slow`` is a number left
    to the caller: its entry (or ``-1 - row`` for a label), begin and end. A row of ``comments`` is
    begin and end of the comment (0, 0: none). Returns (rows, entries, number of slow ones,
    with_qid, sorted, code, byte): for a malformed line ``code`` is not OK, ``byte`` its index.
    """
    # One function: each early return reports the state of all counters.
    at, size = np.uintp(0), np.uintp(size)  # unsigned, so that numba does not wrap negative indices
    row, entry, n_slow = 0, 0, 0
    ordered = True
    while at < size:
        while text[at] == _SPACE or text[at] == _TAB or text[at] == _RETURN:
            at += _STEP
        if text[at] == _NEWLINE:
            at += _STEP
            continue
        if text[at] == _HASH:
            while text[at] != _NEWLINE:
                if text[at] == _NUL:
                    return row, entry, n_slow, with_qid, ordered, BAD_NUL, at
                at += _STEP
            at += _STEP
            continue
        begin = at
        kind, value, at = _number(text, at)
        if kind == 0 or value < 0:
            return row, entry, n_slow, with_qid, ordered, BAD_LABEL, begin
        if kind == 2:
            slow[n_slow, 0], slow[n_slow, 1], slow[n_slow, 2] = -1 - row, begin, at
            n_slow += 1
        labels[row] = value
        while text[at] == _SPACE or text[at] == _TAB or text[at] == _RETURN:
            at += _STEP
        has_qid = text[at] == 113
        if with_qid < 0:
            with_qid = 1 if has_qid else 0
        if has_qid != (with_qid == 1):
            code = QID_UNEXPECTED if has_qid else QID_ABSENT
            return row, entry, n_slow, with_qid, ordered, code, begin
        if has_qid:
            begin = at
            for byte in (113, 105, 100, _COLON):
                if text[at] != byte:
                    return row, entry, n_slow, with_qid, ordered, BAD_QID, begin
                at += _STEP
            minus = text[at] == _MINUS
            if minus:
                at += _STEP
            first, number = at, np.int64(0)
            while _ZERO <= text[at] <= _NINE:
                digit = np.int64(text[at] - _ZERO)
                if number > _LARGEST // 10 or (number == _LARGEST // 10 and digit > 7):
                    return row, entry, n_slow, with_qid, ordered, BAD_QID, begin
                number = number * 10 + digit
                at += _STEP
            if at == first or not _ends(text[at]):
                return row, entry, n_slow, with_qid, ordered, BAD_QID, begin
            qids[row] = -number if minus else number
        previous = np.int64(-1)
        while True:
            while text[at] == _SPACE or text[at] == _TAB or text[at] == _RETURN:
                at += _STEP
            if text[at] == _NEWLINE or text[at] == _HASH:
                break
            begin = at
            number = np.int64(0)
            while _ZERO <= text[at] <= _NINE:
                number = np.int64(min(number * 10 + (text[at] - _ZERO), _LARGEST_ID + 1))
                at += _STEP
            if at == begin or text[at] != _COLON:
                code = QID_LATE if text[begin] == 113 else BAD_FEATURE
                return row, entry, n_slow, with_qid, ordered, code, begin
            if number < base or number > last_id:
                return row, entry, n_slow, with_qid, ordered, FEATURE_RANGE, begin
            at += _STEP
            kind, value, stop = _number(text, at)
            if kind == 0:
                return row, entry, n_slow, with_qid, ordered, BAD_VALUE, begin
            if kind == 2:
                slow[n_slow, 0], slow[n_slow, 1], slow[n_slow, 2] = entry, at, stop
                n_slow += 1
            at = stop
            if number <= previous:
                ordered = False
            previous = number
            columns[entry] = number - base
            values[entry] = value
            entry += 1
        if text[at] == _HASH:
            begin = at + _STEP
            while text[at] != _NEWLINE:
                if text[at] == _NUL:
                    return row, entry, n_slow, with_qid, ordered, BAD_NUL, at
                at += _STEP
            if len(comments) > 0:
                comments[row, 0], comments[row, 1] = begin, at
        elif len(comments) > 0:
            comments[row, 0], comments[row, 1] = 0, 0
        ends[row] = entry
        row += 1
        at += _STEP
    return row, entry, n_slow, with_qid, ordered, OK, size


@compiled
def scatter(ends: Any, columns: Any, values: Any, out: Any) -> None:
    """Write the entries of each row into the rows of a matrix of zeros."""
    entry = 0
    for row in range(len(ends)):
        while entry < ends[row]:
            out[row, np.uintp(columns[entry])] = values[entry]
            entry += 1


@compiled
def restride(flat: Any, n_rows: Any, old: Any, new: Any) -> None:
    """Change the number of columns of a flat matrix in place, filling new columns with 0."""
    if new < old:
        for row in range(n_rows):
            for column in range(new):
                flat[row * new + column] = flat[row * old + column]
    elif new > old:
        for row in range(n_rows - 1, -1, -1):
            for column in range(new - 1, old - 1, -1):
                flat[row * new + column] = 0
            for column in range(old - 1, -1, -1):
                flat[row * new + column] = flat[row * old + column]


@compiled
def decimals(values: Any, single: Any, digits: Any, places: Any) -> None:
    """Write each double as digits / 10**places with the fewest places; -1 if there are none.

    With ``single`` the doubles are float32 values, and the decimals must restore those.
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
    """Write an integer >= 0 with at least ``width`` digits, and return its end."""
    end, rest = at, number
    while rest > 0 or end - at < width:
        rest //= 10
        end += 1
    for index in range(end - 1, at - 1, -1):
        out[index] = _ZERO + number % 10
        number //= 10
    return end


@compiled
def _write_number(
    out: Any, at: Any, j: Any, digits: Any, places: Any, text: Any, text_ends: Any
) -> Any:
    """Write number ``j``, as digits with a point or as given text, and return its end."""
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
    """Write rows as SVMlight text into ``out``, and return its length.

    Numbers ``0..len(ids)`` are the values of the entries, followed by the labels of the rows;
    ``text`` contains the numbers without decimals. An empty comment is not written.
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
