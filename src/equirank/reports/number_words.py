"""How numbers are written, in sentences and in the tables of pages."""

import re
from collections.abc import Callable, Sequence
from math import floor, isfinite, isnan, log10
from typing import Any

__all__ = [
    "FORMATS",
    "confidence_interval",
    "joined",
    "level_words",
    "number",
    "p_words",
    "percent",
    "plain_column",
    "positions",
    "quoted",
    "ratio",
    "separated",
]


#: What sentences and pages write where a number is undefined.
UNKNOWN, DASH = "unknown", "\u2013"
#: Numbers that every text must keep on their side: no difference, four fifths, equality.
THRESHOLDS = (0.0, 0.8, 1.0)
#: Decimals after which a number that is not yet separated is "just under" or "just over".
MOST_DECIMALS = 4
#: Most words of a column's name that a sentence contains without quotes.
MOST_WORDS = 3
#: Share of a threshold (at least of 1) within which a number equals it: rounding errors.
ROUNDING = 1e-12


def separated(
    values: Sequence[float],
    decimals: int,
    *,
    thresholds: Sequence[float] = (),
    scale: float = 1.0,
    sign: str = "",
) -> list[str]:
    """Return numbers with equal decimals, each on its value's side of every threshold.

    All other functions use this one. The texts have ``decimals``, or the fewest more with which
    each text is below, above or equal to every threshold as its number is. A number that is not
    separated by four decimals becomes "just under 0.8" or "just over 0.8".

    Parameters
    ----------
    values : sequence of float
        The numbers.
    decimals : int
        The fewest decimals.
    thresholds : sequence of float
        Further thresholds, in the unit of the values; 0, 0.8 and 1 are always included.
    scale : float
        Factor of values and thresholds, 100 for percentages.
    sign : str
        ``"+"`` writes the sign of positive numbers.

    Examples
    --------
    >>> separated([0.798], 2), separated([0.814], 2), separated([0.7999999], 2)
    (['0.798'], ['0.81'], ['just under 0.8'])
    >>> separated([0.03, 5.12], 1), separated([0.348], 1, thresholds=[0.35])
    (['0.03', '5.12'], ['0.3'])
    """
    limits = [scale * threshold for threshold in (*THRESHOLDS, *thresholds)]
    tried = range(decimals, max(decimals, MOST_DECIMALS) + 1)
    clear = [_clear_decimals(scale * value, tried, limits) for value in values]
    shared = set(tried).intersection(*(found for found in clear if found))
    return [
        _text(scale * value, found & shared or found, limits, sign)
        for value, found in zip(values, clear, strict=True)
    ]


def _clear_decimals(value: float, tried: Sequence[int], limits: Sequence[float]) -> set[int]:
    """Return the numbers of decimals that keep a number on its side of every threshold."""
    if not isfinite(value):
        return set()
    shown_with = {digits: float(f"{value:.{digits}f}") for digits in tried}
    return {
        digits
        for digits, shown in shown_with.items()
        if all(_side(value, limit) == _side(shown, limit) for limit in limits)
    }


def _text(value: float, clear: set[int], limits: Sequence[float], sign: str) -> str:
    """Return a number with the fewest decimals that keep it on its side, or words if none do."""
    if isnan(value):
        return UNKNOWN
    if not isfinite(value):
        return "infinity" if value > 0 else "-infinity"
    if clear:
        text = f"{value:{sign},.{min(clear)}f}"
        return text if text.strip("+-0.,") else text.lstrip("+-")
    near = min(limits, key=lambda limit: abs(limit - value))
    side = {-1: "just under ", 0: "", 1: "just over "}[_side(value, near)]
    return side + _limit_text(value, near)


def _side(value: float, limit: float) -> int:
    if abs(value - limit) <= ROUNDING * max(1.0, abs(limit)):
        return 0
    return 1 if value > limit else -1


def _limit_text(value: float, limit: float) -> str:
    """Return a threshold with six digits, or as many as keep the value on its side."""
    for digits in range(6, 17):
        text = f"{limit:,.{digits}g}"
        if _side(value, float(text.replace(",", ""))) == _side(value, limit):
            return text
    return f"{limit!r}"


def _two_digits(value: float) -> int:
    """Return the decimals of two significant digits, none from 10 on, at most four."""
    if not isfinite(value) or value == 0:
        return 0
    return min(MOST_DECIMALS, max(0, 1 - floor(log10(abs(value)))))


def _stripped(text: str) -> str:
    """Return a number without zeros at the end of its decimals."""
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def number(value: float, digits: int | None = None, *, thresholds: Sequence[float] = ()) -> str:
    """Return a number with two significant digits, or ``digits`` decimals, without final zeros.

    The integer part is whole, and there are no decimals from 10 on. More decimals follow where
    the text would otherwise be on another side of 0, 0.8, 1 or one of ``thresholds``.

    Examples
    --------
    >>> number(3213), number(6.34), number(12.6), number(-0.04)
    ('3,213', '6.3', '13', '-0.04')
    >>> number(1.996, thresholds=[2]), number(0.00001), number(0.0)
    ('1.996', 'just over 0', '0')
    """
    start = _two_digits(value) if digits is None or abs(value) >= 10 else digits
    return _stripped(separated([value], start, thresholds=thresholds)[0])


def positions(value: float, *, thresholds: Sequence[float] = ()) -> str:
    """Return a number of positions in words.

    Examples
    --------
    >>> positions(1), positions(6.34), positions(0.0)
    ('1 position', '6.3 positions', '0 positions')
    """
    text = number(value, thresholds=thresholds)
    return f"{text} position" if text.split()[-1] == "1" else f"{text} positions"


def percent(share: float, *, thresholds: Sequence[float] = ()) -> str:
    """Return a share as a percentage; thresholds are shares.

    Examples
    --------
    >>> percent(0.427), percent(0.004), percent(0.0), percent(0.798), percent(0.9996)
    ('43%', '0.4%', '0%', '79.8%', '99.96%')
    """
    start = _two_digits(100.0 * share)
    text = separated([share], start, thresholds=thresholds, scale=100.0)[0]
    return text if text == UNKNOWN else f"{_stripped(text)}%"


def ratio(value: float, *, thresholds: Sequence[float] = ()) -> str:
    """Return a ratio with two decimals, one from 10 on, and more where a threshold needs them.

    Examples
    --------
    >>> ratio(0.814), ratio(12.34), ratio(0.798), ratio(0.8), ratio(1.00001)
    ('0.81', '12.3', '0.798', '0.80', 'just over 1')
    """
    return separated([value], 2 if abs(value) < 10 else 1, thresholds=thresholds)[0]


def p_words(p: float, level: float = 0.95, *, thresholds: Sequence[float] = ()) -> str:
    """Return a p-value as an equation; ``1 - level`` is one of its thresholds.

    Examples
    --------
    >>> p_words(0.000999), p_words(0.0312), p_words(0.41), p_words(0.0002)
    ('p = 0.001', 'p = 0.031', 'p = 0.41', 'p < 0.001')
    >>> p_words(0.0496), p_words(0.04999), p_words(0.0002, thresholds=[0.0005])
    ('p = 0.0496', 'p just under 0.05', 'p < 0.0005')
    """
    if isnan(p):
        return "p unknown"
    limits = [round(1.0 - level, 12), *thresholds]
    if p < 0.0005 and not any(0 < limit <= p for limit in limits):
        return f"p < {min([0.001, *(limit for limit in limits if limit > p)]):g}"
    text = _stripped(separated([p], _two_digits(p), thresholds=limits)[0])
    return f"p {text}" if text.startswith("just") else f"p = {text}"


def level_words(level: float) -> str:
    """Return a confidence level as a percentage.

    Examples
    --------
    >>> level_words(0.95), level_words(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * level:g}%"


def confidence_interval(
    low: float,
    high: float,
    level: float,
    unit: str = "positions",
    *,
    thresholds: Sequence[float] = (),
) -> str:
    """Return an interval of positions, percentages or ratios, both ends with equal digits.

    An empty ``unit`` writes bare numbers, ``"times"`` ratios. Thresholds are in the unit of the
    ends; those of percentages are shares.

    Examples
    --------
    >>> confidence_interval(5.12, 7.3, 0.95)
    '95% confidence interval 5.1 to 7.3 positions'
    >>> confidence_interval(0.03, 5.1, 0.95)
    '95% confidence interval 0.03 to 5.10 positions'
    >>> confidence_interval(0.386, 0.42, 0.95, "%"), confidence_interval(0.438, 0.6, 0.9, "times")
    ('95% confidence interval 39% to 42%', '90% confidence interval 0.44 to 0.60')
    """
    scale, mark, word = (100.0, "%", "") if unit == "%" else (1.0, "", f" {unit}" if unit else "")
    largest = max((abs(end) for end in (low, high) if isfinite(end)), default=0.0)
    start = _two_digits(scale * largest)
    if unit == "times":
        start, word = 2 if largest < 10 else 1, ""
    ends = separated([low, high], start, thresholds=thresholds, scale=scale)
    return f"{level_words(level)} confidence interval {' to '.join(e + mark for e in ends)}{word}"


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


def plain_column(name: str) -> str:
    """Return the name of a column, or of crossed columns, as words of a sentence.

    A name of up to three words is written without its underscores. Any other, such as a question or
    a name with signs, is quoted as it is. In brackets after a group a name stays as it is:
    ``group "under 35" (age_group)``.

    Examples
    --------
    >>> plain_column("age_group"), plain_column("sex x age_group")
    ('age group', 'sex and age group together')
    >>> plain_column("Sex (m/f)")
    '"Sex (m/f)"'
    """
    words = []
    for each in name.split(" x "):
        plain = " ".join(each.replace("_", " ").split())
        fits = re.fullmatch(r"[\w' -]+", plain) and len(plain.split()) <= MOST_WORDS
        words.append(plain if fits else f'"{each}"')
    return f"{' and '.join(words)} together" if len(words) > 1 else words[0]


def _defined(write: Callable[..., str]) -> Callable[..., str]:
    """Return a filter for templates: a dash where undefined, a true minus sign, no sign at 0."""

    def written(value: Any, *options: Any) -> str:
        if value is None or not isfinite(value):
            return DASH
        text = write(value, *options)
        zero = not text.strip("+-0., %")
        return text.lstrip("+-") if zero else text.replace("-", "\u2212")

    return written


def _three_digits(value: float, sign: str = "") -> str:
    size = abs(value)
    digits = 3 if size < 1 else 2 if size < 10 else 1 if size < 1000 else 0
    return f"{value:{sign},.{digits}f}"


def _p_cell(p: float, level: float = 0.95) -> str:
    return "< 0.001" if p < 0.0005 else separated([p], 3, thresholds=[round(1 - level, 12)])[0]


#: The filters of the page templates, by name; each takes a number or None. ``ratio`` takes further
#: thresholds, ``p_value`` the level.
FORMATS: dict[str, Callable[..., str]] = {
    "count": _defined(lambda value: f"{value:,.0f}"),
    "number": _defined(_three_digits),
    "signed": _defined(lambda value: _three_digits(value, "+")),
    "position": _defined(lambda value: f"{value:,.1f}"),
    "positions": _defined(lambda value: f"{value:+.1f}"),
    "share": _defined(lambda value: f"{100 * value:.1f}%"),
    "ratio": _defined(lambda value, *more: separated([value], 2, thresholds=more)[0]),
    "p_value": _defined(_p_cell),
    "level": _defined(level_words),
}
