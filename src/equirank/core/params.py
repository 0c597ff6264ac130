"""Parameter constraints and the error messages for values that violate them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np

from .errors import DataError

__all__ = [
    "LIMITS",
    "AnyOf",
    "Check",
    "Choice",
    "Constraint",
    "Flag",
    "Instance",
    "Integer",
    "Label",
    "Number",
    "Optional",
    "Vector",
    "accepted_by",
    "check_limit",
    "check_params",
]

#: The largest values of settings in files that others wrote, such as recipes: larger ones could
#: take all memory, or the time of everybody who waits. A recipe re-ranks once, so it has one draw.
LIMITS = {"max_groups": 300, "n_boot": 1_000_000, "n_draws": 1, "time_limit": 60}


class Constraint(Protocol):
    """A condition on a parameter and its description."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is allowed."""

    def __str__(self) -> str:
        """Return the words that follow 'must be' in messages."""


@dataclass(frozen=True)
class Integer:
    """An integer of at least ``low`` (and at most ``high``)."""

    low: int | None = None
    high: int | None = None

    def accepts(self, value: Any) -> bool:
        """Return whether the value is such an integer; booleans are not."""
        if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)):
            return False
        number = int(value)
        above = self.low is None or number >= self.low
        above = above and -(2**63) <= number < 2**63  # what arrays and compiled loops hold
        return above and (self.high is None or number <= self.high)

    def __str__(self) -> str:
        """Return the words that follow 'must be' in messages."""
        if self.low is not None and self.high is not None:
            return f"an integer from {self.low} to {self.high}"
        if self.high is not None:
            return f"an integer <= {self.high}"
        return "an integer" if self.low is None else f"an integer >= {self.low}"


@dataclass(frozen=True)
class Number:
    """A finite number in an interval; ``open_low`` and ``open_high`` leave out its ends."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def accepts(self, value: Any) -> bool:
        """Return whether the value is such a number; booleans are not."""
        if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
            return False
        try:
            number = float(value)
        except OverflowError:  # an integer beyond all floats
            return False
        above = number > self.low if self.open_low else number >= self.low
        below = number < self.high if self.open_high else number <= self.high
        return math.isfinite(number) and above and below

    def __str__(self) -> str:
        """Return the words that follow 'must be' in messages."""
        if math.isinf(self.low) and math.isinf(self.high):
            return "a finite number"
        if math.isinf(self.high):
            return f"a number {'>' if self.open_low else '>='} {self.low:g}"
        left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
        return f"a number in {left}{self.low:g}, {self.high:g}{right}"


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is a boolean."""
        return isinstance(value, (bool, np.bool_))

    def __str__(self) -> str:
        """Return the words that follow 'must be' in messages."""
        return "True or False"


class Choice:
    """One of a few words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def accepts(self, value: Any) -> bool:
        """Return whether the value is one of the words."""
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        """Return the words that follow 'must be' in messages."""
        return "one of " + ", ".join(repr(word) for word in self.words)


@dataclass(frozen=True)
class Label:
    """The name of a group or attribute; with ``many`` also a tuple or list of names."""

    many: bool = False

    def accepts(self, value: Any) -> bool:
        """Return whether the value can be such a name."""
        if self.many:
            names = value if isinstance(value, (tuple, list)) else [value]
            return len(names) > 0 and all(isinstance(part, str) for part in names)
        if isinstance(value, (float, np.floating)):
            return math.isfinite(value)
        return isinstance(value, (str, int, bool, np.generic))

    def __str__(self) -> str:
        """Return the words that follow 'must be' in messages."""
        return "a name or a list of names" if self.many else "a group's name"


@dataclass(frozen=True)
class Vector:
    """A non-empty sequence of finite numbers >= ``low``."""

    low: float = -math.inf

    def accepts(self, value: Any) -> bool:
        """Return whether the value is such a sequence."""
        if isinstance(value, str):
            return False
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            return False
        good = array.ndim == 1 and array.size > 0 and np.isfinite(array).all()
        return bool(good and (array >= self.low).all())

    def __str__(self) -> str:
        """Return the words that follow 'must be' in messages."""
        return "a sequence of finite numbers" + (
            f" >= {self.low:g}" if self.low > -math.inf else ""
        )


@dataclass(frozen=True)
class Instance:
    """An instance of a class, described by ``words`` in messages."""

    kind: type
    words: str

    def accepts(self, value: Any) -> bool:
        """Return whether the value is such an object."""
        return isinstance(value, self.kind)

    def __str__(self) -> str:
        """Return the words that follow 'must be' in messages."""
        return self.words


@dataclass(frozen=True)
class Check:
    """A value for which a function returns True, described by ``words`` in messages."""

    predicate: Callable[[Any], bool]
    words: str

    def accepts(self, value: Any) -> bool:
        """Return whether the value satisfies the predicate."""
        return bool(self.predicate(value))

    def __str__(self) -> str:
        """Return the words that follow 'must be' in messages."""
        return self.words


class AnyOf:
    """A value that satisfies one of several constraints."""

    def __init__(self, *parts: Constraint) -> None:
        self.parts = parts

    def accepts(self, value: Any) -> bool:
        """Return whether the value satisfies one of the constraints."""
        return any(part.accepts(value) for part in self.parts)

    def __str__(self) -> str:
        """Return the words that follow 'must be' in messages."""
        return ", or ".join(str(part) for part in self.parts)


class Optional:
    """None, or a value that satisfies another constraint."""

    def __init__(self, part: Constraint) -> None:
        self.part = part

    def accepts(self, value: Any) -> bool:
        """Return whether the value is None or satisfies the constraint."""
        return value is None or self.part.accepts(value)

    def __str__(self) -> str:
        """Return the words that follow 'must be' in messages."""
        return f"{self.part}, or None"


def accepted_by(convert: Callable[[Any], Any]) -> Callable[[Any], bool]:
    """Return a predicate for `Check`: whether a function takes a value without a DataError."""

    def accepts(value: Any) -> bool:
        try:
            convert(value)
        except DataError:
            return False
        return True

    return accepts


def check_limit(name: str, value: Any) -> None:
    """Raise if the value of a setting is above the limit of settings in files.

    Examples
    --------
    >>> check_limit("n_boot", 10**9)
    Traceback (most recent call last):
    ...
    equirank.core.errors.DataError: n_boot must be at most 1,000,000, got 1,000,000,000
    """
    limit = LIMITS.get(name)
    if limit is not None and isinstance(value, Real) and not value <= limit:
        raise DataError(f"{name} must be at most {limit:,}, got {value:,}")


def check_params(owner: str, values: Mapping[str, Any], declared: Mapping[str, Constraint]) -> None:
    """Check values against the declared constraints.

    Raises
    ------
    DataError
        If a value violates its constraint; the message names the parameter, its owner, the
        constraint and the value.

    Examples
    --------
    >>> check_params("RND", {"step": 0}, {"step": Integer(2)})
    Traceback (most recent call last):
    ...
    equirank.core.errors.DataError: step of RND must be an integer >= 2, got 0
    """
    for name, constraint in declared.items():
        if name in values and not constraint.accepts(values[name]):
            shown = repr(values[name])
            shown = shown if len(shown) <= 80 else shown[:77] + "..."
            raise DataError(f"{name} of {owner} must be {constraint}, got {shown}")
