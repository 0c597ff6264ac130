"""Groups by name: ``sex=female``, or ``female`` where one attribute alone has that group."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from .attribute import Attribute
from .data import RankingData
from .errors import DataError, logger, suggest
from .params import Label

__all__ = ["log_absent_groups", "named_groups", "stated_groups"]

#: Parameters of re-rankers that name groups: labels, or mappings of groups to values.
PARAMETERS = ("protected", "reference", "p", "proportions", "lower", "upper", "theta")


def named_groups(
    given: Any, attributes: Mapping[str, Attribute], argument: str = "protected"
) -> list[tuple[str, Any]]:
    """Return (attribute, group) pairs from ``{"sex": "f"}``, ``"sex=f"``, ``"f"`` or several.

    The name of the attribute may be omitted if one attribute alone has the group. None returns no
    pair. Whether a named attribute has the group is for the caller to check.

    Examples
    --------
    >>> import numpy as np
    >>> attributes = {"sex": Attribute(np.array([0, 1]), ("f", "m"))}
    >>> named_groups(["sex=f", "m"], attributes)
    [('sex', 'f'), ('sex', 'm')]
    """
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [
            (str(name), group)
            for name, groups in given.items()
            for group in (groups if isinstance(groups, (list, tuple, set)) else [groups])
        ]
    several = [given] if isinstance(given, str) or not isinstance(given, Iterable) else given
    return [_pair(each, attributes, argument) for each in several]


def _pair(each: Any, attributes: Mapping[str, Attribute], argument: str) -> tuple[str, Any]:
    text = str(each)
    names = [name for name in attributes if text.startswith(f"{name}=")]
    if names:
        name = max(names, key=len)
        return name, text[len(name) + 1 :]
    owners = [
        name
        for name, attribute in attributes.items()
        if text in [str(group) for group in attribute.categories]
    ]
    if len(owners) == 1:
        return owners[0], each
    if len(owners) > 1:
        words = " and ".join(map(repr, owners))
        raise DataError(
            f'{argument} must look like "{owners[0]}={text}", since {words} both have the group '
            f"{text!r}"
        )
    name, equals, group = text.partition("=")
    if equals:
        return name.strip(), group.strip()
    if len(attributes) == 1:
        return next(iter(attributes)), each
    known = [str(group) for each in attributes.values() for group in each.categories]
    raise DataError(
        f'{argument} must look like "sex=female", got {text!r}, which is no group of '
        f"{', '.join(map(repr, attributes))}{suggest(text, known)}"
    )


def stated_groups(reranker: Any) -> dict[Any, list[Any]]:
    """Return the groups that the parameters of a re-ranker name, by attribute.

    The attribute is that of a nested mapping, else ``by``; None if it is not named.

    Examples
    --------
    >>> from equirank.rerankers import FAStarIR, PrefixConstraints
    >>> stated_groups(FAStarIR(protected="f", p={"f": 0.4, "d": 0.1}, by="sex"))
    {'sex': ['f', 'd']}
    >>> stated_groups(PrefixConstraints(lower={"sex": {"f": 0.4}}, upper={"m": 0.9}))
    {'sex': ['f'], None: ['m']}
    """
    found: dict[Any, list[Any]] = {}
    by = getattr(reranker, "by", None)
    by = by if isinstance(by, str) else None
    for name in PARAMETERS:
        given = getattr(reranker, name, None)
        if isinstance(given, Mapping):
            pairs = [
                (label, list(value)) if isinstance(value, Mapping) else (by, [label])
                for label, value in given.items()
            ]
        elif name in ("protected", "reference") and given is not None:
            pairs = [(by, list(given) if isinstance(given, list | tuple) else [given])]
        else:
            continue
        for attribute, labels in pairs:
            own = found.setdefault(attribute, [])
            own += [label for label in labels if Label().accepts(label) and label not in own]
    return found


def log_absent_groups(
    reranker: Any, data: RankingData, known: Mapping[str, Sequence[Any]] | None = None
) -> None:
    """Log, once for each name, that a parameter of a re-ranker names a group that no row has.

    A list may lack the group, or the name may be misspelt, which one request cannot show.

    Parameters
    ----------
    reranker : Reranker
        The re-ranker.
    data : RankingData
        The rows. Without a known label nothing is logged.
    known : mapping of str to sequence, optional
        Groups by attribute that exist elsewhere, such as in training.
    """
    by = getattr(reranker, "by", None)
    for key, labels in stated_groups(reranker).items():
        name = key or by or next(iter(data.sensitive), "")
        parts = {name} if isinstance(name, str) else set(name)
        attribute = data.attribute(name) if parts <= data.sensitive.keys() else None
        if attribute is None or not attribute.known.any():
            continue
        sizes = zip(attribute.categories, attribute.sizes.tolist(), strict=True)
        there = {str(group) for group, size in sizes if size}
        there |= {str(group) for group in (known or {}).get(str(name), ())}
        for label in labels:
            if str(label) not in there:
                _warn_once(
                    f"{type(reranker).__name__}: no row is in group {label!r}, which a parameter "
                    "names, so nothing is bounded about it; rerank(..., groups=[...]) with all "
                    "groups makes a misspelt name an error (logged once)"
                )


@cache
def _warn_once(text: str) -> None:
    logger.warning(text)
