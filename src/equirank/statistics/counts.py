"""Counts of selected people in a group and in its reference, validated, and shared formulas."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from ..core import inputs
from ..core.errors import DataError
from ..core.params import Number, check_params
from ..kernels.segments import divide

__all__ = ["Counts", "Values", "as_counts", "normal_p", "quantile"]


#: A number for counts given as numbers, an array for counts given as arrays.
Values = Any
#: Counts may differ by this share from a whole number, or exceed their total by it, from rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Counts:
    """Selected people and all people of a group (a of n1) and its reference (b of n2), per list."""

    a: np.ndarray
    n1: np.ndarray
    b: np.ndarray
    n2: np.ndarray
    single: bool

    @property
    def m(self) -> np.ndarray:
        """Selected people of both."""
        return self.a + self.b

    @property
    def n(self) -> np.ndarray:
        """People of both."""
        return self.n1 + self.n2

    @property
    def rates(self) -> tuple[np.ndarray, np.ndarray]:
        """The selection rates of both; NaN without people."""
        return divide(self.a, self.n1), divide(self.b, self.n2)

    @property
    def comparable(self) -> "Counts":
        """The lists that contain people of both."""
        both = (self.n1 > 0) & (self.n2 > 0)
        return Counts(self.a[both], self.n1[both], self.b[both], self.n2[both], self.single)

    @property
    def pooled(self) -> "Counts":
        """All people as one list."""
        a, n1, b, n2 = (part.sum(keepdims=True) for part in (self.a, self.n1, self.b, self.n2))
        return Counts(a, n1, b, n2, single=True)

    def shown(self, values: np.ndarray) -> Values:
        """Return one value per list, or the value itself if counts were given as numbers."""
        return values[0].item() if self.single else values

    def reasons(self, *cases: tuple[np.ndarray, str]) -> Values:
        """Return the first reason that applies to each list, and an empty text without one."""
        found = np.full(len(self.a), "", dtype=object)
        for applies, words in reversed(cases):
            found[applies] = words
        return self.shown(found.astype(str)) if self.single else found


def as_counts(a: Any, n1: Any, b: Any, n2: Any, *, whole: bool = False) -> Counts:
    """Return validated counts, one per list; numbers are one list.

    A selection by chance has expected counts, which need not be whole; exact tests need whole ones.
    """
    given = {"a": a, "n1": n1, "b": b, "n2": n2}
    single = all(np.ndim(values) == 0 for values in given.values())
    parts = {name: _column(name, values) for name, values in given.items()}
    lists = max(len(part) for part in parts.values())
    longest = next(name for name, part in parts.items() if len(part) == lists)
    for name, part in parts.items():
        if np.ndim(given[name]) == 0:
            parts[name] = np.repeat(part, lists)
        elif len(part) != lists:
            raise DataError(
                f"{name} must have one count per list of {longest} ({lists}), got {len(part)}"
            )
    for name, part in parts.items():
        _refuse(name, part, part < 0, "a count >= 0", single)
        if whole:
            nearest = np.round(part)
            unlike = np.abs(part - nearest) > ROUNDING * np.maximum(nearest, 1.0)
            _refuse(name, part, unlike, "a whole number", single)
            parts[name] = nearest
    for name, size in (("a", "n1"), ("b", "n2")):
        part, most = parts[name], parts[size]
        if np.any(beyond := part > most * (1.0 + ROUNDING)):
            at = int(beyond.argmax())
            raise DataError(
                f"{name} must be at most {size}, got {_number(part[at])} of {_number(most[at])}"
                + ("" if single else f" in list {at}")
            )
        parts[name] = np.minimum(part, most)
    return Counts(parts["a"], parts["n1"], parts["b"], parts["n2"], single)


def _column(name: str, values: Any) -> np.ndarray:
    """Return finite floats; an audit has arrays of them, which are not copied."""
    plain = isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1
    if plain and len(values) and np.isfinite(values).all():
        return values
    column = inputs.numbers(name, [values] if np.ndim(values) == 0 else values)
    if column is None or len(column) == 0:
        raise DataError(f"{name} must have at least one count, got none")
    return column.astype(np.float64)


def _number(value: float) -> str:
    return f"{value:.15g}"


def _refuse(name: str, part: np.ndarray, bad: np.ndarray, expected: str, single: bool) -> None:
    if bad.any():
        at = int(bad.argmax())
        where = "" if single else f" in list {at}"
        raise DataError(f"{name} must be {expected}, got {_number(part[at])}{where}")


def quantile(level: float, owner: str) -> float:
    """Return the normal quantile of a two-sided interval of this level."""
    check_params(owner, {"level": level}, {"level": Number(0, 1, open_low=True, open_high=True)})
    return NormalDist().inv_cdf((1.0 + float(level)) / 2.0)


def normal_p(z: np.ndarray) -> np.ndarray:
    """Return the two-sided p-value of normal statistics."""
    from scipy.special import erfc

    return erfc(np.abs(z) / np.sqrt(2.0))
