"""Words of daily life for numbers: what the sentences of an audit are made of."""

import math
from collections.abc import Sequence
from math import isfinite
from typing import Any

__all__ = ["FORMATS", "chance", "joined", "number", "percent", "places", "ratio", "span"]


def number(value: float, digits: int = 1) -> str:
    """Write a number with as many digits as are worth reading, thousands apart.

    Examples
    --------
    >>> number(3213), number(6.34), number(12.6), number(-0.04)
    ('3,213', '6.3', '13', '0')
    """
    if math.isnan(value):
        return "unknown"
    digits = 0 if abs(value) >= 10 else digits
    text = f"{value:,.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def places(value: float) -> str:
    """Write a number of places.

    Examples
    --------
    >>> places(1), places(6.34)
    ('1 place', '6.3 places')
    """
    text = number(value)
    return f"{text} place" if text == "1" else f"{text} places"


def percent(share: float) -> str:
    """Write a share as a percentage.

    Examples
    --------
    >>> percent(0.427), percent(0.004), percent(0.0)
    ('43 %', '0.4 %', '0 %')
    """
    return f"{number(100.0 * share)} %"


def ratio(value: float) -> str:
    """Write a ratio with two digits.

    Examples
    --------
    >>> ratio(0.814), ratio(12.34)
    ('0.81', '12.3')
    """
    return "unknown" if math.isnan(value) else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def chance(p: float) -> str:
    """Write a p-value.

    Examples
    --------
    >>> chance(0.000999), chance(0.0312), chance(0.41)
    ('p = 0.001', 'p = 0.03', 'p = 0.41')
    """
    if math.isnan(p):
        return "p unknown"
    if p < 0.0005:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.0095 else f"p = {p:.2f}"


def span(low: float, high: float, level: float, unit: str = "places") -> str:
    """Write an interval of places, percentages or ratios with equal digits at both ends.

    Examples
    --------
    >>> span(5.12, 7.3, 0.95), span(9.7, 12.4, 0.9)
    ('95 % interval 5.1 to 7.3 places', '90 % interval 10 to 12 places')
    >>> span(0.386, 0.42, 0.95, "%"), span(0.438, 0.6, 0.95, "times")
    ('95 % interval 39 to 42 %', '95 % interval 0.44 to 0.60')
    """
    if unit == "times":
        return f"{100 * level:g} % interval {ratio(low)} to {ratio(high)}"
    scale = 100.0 if unit == "%" else 1.0
    digits = 0 if max(abs(low), abs(high)) * scale >= 10 else 1
    ends = (f"{scale * end:,.{digits}f}" for end in (low, high))
    return f"{100 * level:g} % interval {' to '.join(ends)} {unit}"


def joined(words: Sequence[str], last: str = "and") -> str:
    """Write a list of words.

    Examples
    --------
    >>> joined(["a"]), joined(["a", "b"]), joined(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


NONE = "\u2013"


def count(value: Any) -> str:
    """Write a whole page_number with thousands apart.

    Examples
    --------
    >>> count(1234567)
    '1,234,567'
    """
    return NONE if _undefined(value) else f"{value:,.0f}"


def page_number(value: Any) -> str:
    """Write a page_number with about three digits that matter.

    Examples
    --------
    >>> [page_number(value) for value in (0.12345, 1.5, 25.04, 1234.5)]
    ['0.123', '1.50', '25.0', '1,234']
    """
    if _undefined(value):
        return NONE
    size = abs(value)
    digits = 3 if size < 1 else 2 if size < 10 else 1 if size < 1000 else 0
    return _signs(f"{value:,.{digits}f}")


def signed(value: Any) -> str:
    """Write a difference, always with its sign.

    Examples
    --------
    >>> signed(7.04), signed(0.0)
    ('+7.04', '0.000')
    """
    text = page_number(value)
    return _signs("+" + text) if not _undefined(value) and value > 0 else text


def page_positions(value: Any) -> str:
    """Write a difference of page_positions: one digit after the point, always with its sign.

    Examples
    --------
    >>> page_positions(7.04)
    '+7.0'
    """
    return NONE if _undefined(value) else _signs(f"{value:+.1f}")


def place(value: Any) -> str:
    """Write a mean place with one digit after the point."""
    return NONE if _undefined(value) else f"{value:,.1f}"


def share(value: Any) -> str:
    """Write a share as a percentage.

    Examples
    --------
    >>> share(0.1234), share(1.0)
    ('12.3 %', '100.0 %')
    """
    return NONE if _undefined(value) else _signs(f"{100 * value:.1f} %")


def page_ratio(value: Any) -> str:
    """Write a page_ratio with two digits after the point."""
    return NONE if _undefined(value) else _signs(f"{value:.2f}")


def p_value(value: Any) -> str:
    """Write a p-value with three digits, and what rounds to 0 as smaller than 0.001.

    Examples
    --------
    >>> p_value(0.04), p_value(0.000999), p_value(0.0001)
    ('0.040', '0.001', '< 0.001')
    """
    if _undefined(value):
        return NONE
    return "< 0.001" if value < 0.0005 else f"{value:.3f}"


def _undefined(value: Any) -> bool:
    return value is None or not isfinite(value)


def _signs(text: str) -> str:
    """Use a real minus sign, and none before a zero."""
    zero = not text.strip("+-0., %")
    return text.lstrip("+-") if zero else text.replace("-", "\u2212")


#: By the names they have in the template.
FORMATS = {
    "count": count, "number": page_number, "p_value": p_value, "place": place,
    "places": page_positions, "ratio": page_ratio, "share": share, "signed": signed,
}  # fmt: skip
