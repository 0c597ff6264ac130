"""How numbers are written, in sentences and in the tables of pages."""

from collections.abc import Callable, Sequence
from math import isfinite, isnan
from typing import Any

__all__ = [
    "FORMATS",
    "confidence_interval",
    "joined",
    "level_words",
    "number",
    "p_words",
    "percent",
    "positions",
    "quoted",
    "ratio",
]


#: What sentences and pages write where a number is undefined.
UNKNOWN, DASH = "unknown", "\u2013"


def number(value: float, digits: int = 1) -> str:
    """Return a number with at most ``digits`` decimals, none from 10 on.

    Examples
    --------
    >>> number(3213), number(6.34), number(12.6), number(-0.04)
    ('3,213', '6.3', '13', '0')
    """
    if isnan(value):
        return UNKNOWN
    digits = 0 if abs(value) >= 10 else digits
    text = f"{value:,.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def positions(value: float) -> str:
    """Return a number of positions in words.

    Examples
    --------
    >>> positions(1), positions(6.34)
    ('1 position', '6.3 positions')
    """
    text = number(value)
    return f"{text} position" if text == "1" else f"{text} positions"


def percent(share: float) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> percent(0.427), percent(0.004), percent(0.0)
    ('43%', '0.4%', '0%')
    """
    return f"{number(100.0 * share)}%"


def ratio(value: float) -> str:
    """Return a ratio with two decimals, one from 10 on.

    Examples
    --------
    >>> ratio(0.814), ratio(12.34)
    ('0.81', '12.3')
    """
    return UNKNOWN if isnan(value) else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def p_words(p: float) -> str:
    """Return a p-value as an equation.

    Examples
    --------
    >>> p_words(0.000999), p_words(0.0312), p_words(0.41)
    ('p = 0.001', 'p = 0.03', 'p = 0.41')
    """
    if isnan(p):
        return "p unknown"
    if p < 0.0005:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.0095 else f"p = {p:.2f}"


def level_words(level: float) -> str:
    """Return a confidence level as a percentage.

    Examples
    --------
    >>> level_words(0.95), level_words(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * level:g}%"


def confidence_interval(low: float, high: float, level: float, unit: str = "positions") -> str:
    """Return an interval of positions, percentages or ratios, both ends with equal digits.

    Examples
    --------
    >>> confidence_interval(5.12, 7.3, 0.95)
    '95% confidence interval 5.1 to 7.3 positions'
    >>> confidence_interval(0.386, 0.42, 0.95, "%"), confidence_interval(0.438, 0.6, 0.9, "times")
    ('95% confidence interval 39% to 42%', '90% confidence interval 0.44 to 0.60')
    """
    lead = f"{level_words(level)} confidence interval"
    if unit == "times":
        return f"{lead} {ratio(low)} to {ratio(high)}"
    scale, sign, word = (100.0, "%", "") if unit == "%" else (1.0, "", f" {unit}")
    digits = 0 if max(abs(low), abs(high)) * scale >= 10 else 1
    ends = (f"{scale * end:,.{digits}f}{sign}" for end in (low, high))
    return f"{lead} {' to '.join(ends)}{word}"


def joined(words: Sequence[str], last: str = "and") -> str:
    """Join words to a list in a sentence.

    Examples
    --------
    >>> joined(["a"]), joined(["a", "b"]), joined(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def quoted(names: Sequence[str], most: int = 6) -> str:
    """Join quoted names to a list; more than ``most`` are cut and the rest counted.

    Examples
    --------
    >>> quoted(["f", "m"]), quoted(["a", "b", "c", "d"], most=3)
    ('"f" and "m"', '"a", "b" and 2 more')
    """
    shown = [f'"{name}"' for name in names]
    if len(shown) > most:
        return f"{', '.join(shown[: most - 1])} and {len(shown) - most + 1} more"
    return joined(shown)


def _defined(write: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return a filter for templates: a dash where undefined, a true minus sign, no sign at 0."""

    def written(value: Any) -> str:
        if value is None or not isfinite(value):
            return DASH
        text = write(value)
        zero = not text.strip("+-0., %")
        return text.lstrip("+-") if zero else text.replace("-", "\u2212")

    return written


def _three_digits(value: float, sign: str = "") -> str:
    size = abs(value)
    digits = 3 if size < 1 else 2 if size < 10 else 1 if size < 1000 else 0
    return f"{value:{sign},.{digits}f}"


#: The filters of the page templates, by name; each takes a number or None.
FORMATS: dict[str, Callable[[Any], str]] = {
    "count": _defined(lambda value: f"{value:,.0f}"),
    "number": _defined(_three_digits),
    "signed": _defined(lambda value: _three_digits(value, "+")),
    "position": _defined(lambda value: f"{value:,.1f}"),
    "positions": _defined(lambda value: f"{value:+.1f}"),
    "share": _defined(lambda value: f"{100 * value:.1f}%"),
    "ratio": _defined(lambda value: f"{value:.2f}"),
    "p_value": _defined(lambda value: "< 0.001" if value < 0.0005 else f"{value:.3f}"),
    "level": _defined(level_words),
}
