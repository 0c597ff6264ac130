"""Bounds on groups as callers give them: of one attribute or of several, as shares or as counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ..core.data import Attribute, RankingData
from ..core.errors import DataError
from ..core.params import Label, Number, Vector

__all__ = ["GroupBound", "PlaceBounds", "PrefixBounds", "find_bounds", "places_of", "prefix_rows"]

#: A share times a length that misses a whole number by less is that number.
ROUNDING = 1e-9


class _Mapping:
    """A mapping of group to a value, a mapping of attribute to such mappings, or None."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value is such a mapping."""
        if value is None:
            return True
        if not isinstance(value, Mapping):
            return False
        known = all(Label().accepts(label) for label in value)
        return known and all(self._part(part) for part in value.values())

    def _part(self, value: Any) -> bool:
        return self.accepts(value) if isinstance(value, Mapping) else self.value(value)

    def value(self, value: Any) -> bool:
        """Say whether the value of one group is allowed."""
        raise TypeError(f"{type(self).__name__} must define value")


class PrefixBounds(_Mapping):
    """A mapping of group to its share, or to its count in the first 1, 2, ... places, or None."""

    def value(self, value: Any) -> bool:
        """Say whether the value is a share, or whole numbers >= 0."""
        if Number(0.0, 1.0).accepts(value):
            return True
        return Vector(0.0).accepts(value) and _whole(value)

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return (
            "a mapping of group to a share in [0, 1] or to the counts of its first 1, 2, ... "
            "places, or None"
        )


class PlaceBounds(_Mapping):
    """A mapping of group to a number of places, or to a share of them below 1, or None."""

    def value(self, value: Any) -> bool:
        """Say whether the value is a share below 1, or a whole number >= 0."""
        return Number(0.0).accepts(value) and (value < 1 or _whole(value))

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a mapping of group to a number of places or to a share of them below 1, or None"


def _whole(value: Any) -> bool:
    array = np.asarray(value, dtype=float)
    return bool((array == np.floor(array)).all())


@dataclass(frozen=True)
class GroupBound:
    """What is asked of one group: the attribute's name, the group's code and label, the value."""

    attribute: Any
    code: int
    label: Any
    value: Any


def find_bounds(
    owner: str, name: str, given: Mapping[Any, Any] | None, data: RankingData, by: Any
) -> list[GroupBound]:
    """Find the groups of a mapping in the data.

    Parameters
    ----------
    owner, name : str
        The class and its parameter, for messages.
    given : mapping or None
        Group to value, or attribute to such a mapping.
    data : RankingData
        Where the attributes are.
    by : str, sequence of str or None
        The attribute meant; None: the one there is, or whichever has the group.
    """
    found: list[GroupBound] = []
    for label, value in (given or {}).items():
        if isinstance(value, Mapping):
            attribute = data.attribute(label)
            pairs = [(label, attribute, inner, part) for inner, part in value.items()]
        else:
            key = by if by is not None else _only(owner, name, label, data)
            pairs = [(key, data.attribute(key), label, value)]
        for key, attribute, group, part in pairs:
            code = attribute.code(group, f"{name} of {owner}")
            found.append(GroupBound(key, code, attribute.categories[code], part))
    seen = [(str(bound.attribute), bound.code) for bound in found]
    for at, bound in enumerate(found):
        if seen.index(seen[at]) < at:
            raise DataError(
                f"{name} of {owner} must name each group once, got {bound.label!r} twice"
            )
    return found


def _only(owner: str, name: str, label: Any, data: RankingData) -> str:
    """Give the one attribute that has a group."""
    if len(data.sensitive) == 1:
        return next(iter(data.sensitive))
    having = [key for key, known in data.sensitive.items() if _has(known, label)]
    if len(having) == 1:
        return having[0]
    if having:
        raise DataError(
            f"{name} of {owner} must say of which attribute the group {label!r} is, since "
            f"{' and '.join(having)} have it: write {{{having[0]!r}: {{{label!r}: ...}}}}"
        )
    groups = ", ".join(
        str(group) for known in data.sensitive.values() for group in known.categories
    )
    raise DataError(f"{name} of {owner} must be one of the groups {groups}, got {label!r}")


def _has(attribute: Attribute, label: Any) -> bool:
    return any(str(known) == str(label) for known in attribute.categories)


def prefix_rows(value: Any, size: int, lower: bool) -> np.ndarray:
    """Give a bound's counts of the first 1, 2, ..., ``size`` places.

    A share p stands for ``floor(j p)`` as a lower and ``ceil(j p)`` as an upper bound. Behind the
    end of given counts nothing is bound.
    """
    if np.ndim(value) == 0:
        exact = np.arange(1, size + 1) * float(value)
        counts = np.floor(exact + ROUNDING) if lower else np.ceil(exact - ROUNDING)
        return counts.astype(np.int64)
    rows = np.full(size, 0 if lower else size + 1, dtype=np.int64)
    known = np.asarray(value, dtype=np.int64)[:size]
    rows[: len(known)] = known
    return rows


def places_of(value: Any, k: np.ndarray, lower: bool) -> np.ndarray:
    """Give how many of ``k`` places a number or a share below 1 stands for."""
    if isinstance(value, Integral) or value >= 1:
        return np.full(len(k), int(value), dtype=np.int64)
    exact = k * float(value)
    counts = np.floor(exact + ROUNDING) if lower else np.ceil(exact - ROUNDING)
    return counts.astype(np.int64)
