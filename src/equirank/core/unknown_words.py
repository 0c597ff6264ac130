"""Words for an unknown label, and labels that differ only in how they are written."""

import unicodedata
import warnings
from collections.abc import Iterable
from typing import Any

from .errors import EquirankWarning

__all__ = ["UNKNOWN", "CleanedLabels", "folded", "plain_label", "warn_of_labels"]


#: A label that is one of these words, in any case of letters, is unknown.
UNKNOWN = (
    "",
    "na",
    "n/a",
    "<na>",
    "null",
    "nan",
    "unknown",
    "not given",
    "not specified",
    "prefer not to say",
    "decline to answer",
    "declined",
    "?",
    "-",
)


class CleanedLabels(dict[str, Any]):
    """Labels by attribute that a reader has cleaned; `as_ranking_data` does not warn of them."""


def plain_label(label: str) -> str:
    """Return a label in Unicode NFC, trimmed, with single spaces.

    Examples
    --------
    >>> plain_label("  not   given ")
    'not given'
    """
    return " ".join(unicodedata.normalize("NFC", label).split())


def folded(label: str) -> str:
    """Return what two labels share that differ only in case, spaces or Unicode form.

    Examples
    --------
    >>> folded(" Female"), folded("FEMALE ")
    ('female', 'female')
    """
    return unicodedata.normalize("NFC", plain_label(label).casefold())


def warn_of_labels(name: str, groups: Iterable[Any], stacklevel: int = 3) -> None:
    """Warn of groups that differ only in case or spaces, and of groups called unknown.

    Readers of files join the first and leave out the second; data given in Python are not changed.
    """
    alike: dict[str, list[str]] = {}
    for group in groups:
        if isinstance(group, str):
            alike.setdefault(folded(group), []).append(group)
    for words in alike.values():
        if len(words) > 1:
            warnings.warn(
                f"sensitive_features[{name!r}] has groups that differ only in case or spaces: "
                f"{', '.join(map(repr, words))}; they are different groups unless joined first",
                EquirankWarning,
                stacklevel=stacklevel + 1,
            )
    unknown = [word for key in UNKNOWN for word in alike.get(key, ())]
    if unknown:
        warnings.warn(
            f"sensitive_features[{name!r}] has groups whose names mean unknown: "
            f"{', '.join(map(repr, unknown))}; they count as groups unless replaced by None",
            EquirankWarning,
            stacklevel=stacklevel + 1,
        )
