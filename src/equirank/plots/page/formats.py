"""How numbers and names are written on the page."""

from math import isfinite
from typing import Any

__all__ = ["FORMATS"]

NONE = "\u2013"


def count(value: Any) -> str:
    """Write a whole number with thousands apart.

    Examples
    --------
    >>> count(1234567)
    '1,234,567'
    """
    return NONE if _undefined(value) else f"{value:,.0f}"


def number(value: Any) -> str:
    """Write a number with about three digits that matter.

    Examples
    --------
    >>> [number(value) for value in (0.12345, 1.5, 25.04, 1234.5)]
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
    text = number(value)
    return _signs("+" + text) if not _undefined(value) and value > 0 else text


def places(value: Any) -> str:
    """Write a difference of places: one digit after the point, always with its sign.

    Examples
    --------
    >>> places(7.04)
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


def ratio(value: Any) -> str:
    """Write a ratio with two digits after the point."""
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
    "count": count, "number": number, "p_value": p_value, "place": place, "places": places,
    "ratio": ratio, "share": share, "signed": signed,
}  # fmt: skip
