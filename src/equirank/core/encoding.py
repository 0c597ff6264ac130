"""Encoding: the columns, categories and groups that data sets have in common."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import DataError, EquirankWarning, outer_stacklevel, suggest
from .inputs import frozen, shown

if TYPE_CHECKING:
    from .attribute import Attribute
    from .data import RankingData

__all__ = [
    "Encoding",
    "Unseen",
    "align",
    "check_names",
    "check_width",
    "encoding_of",
    "known_groups",
]


@dataclass(frozen=True)
class Encoding:
    """What another data set must have in common with this one.

    Attributes
    ----------
    names : tuple of str or None
        The features, in order; None if they have no names.
    categories : dict of str to tuple of str
        The categories of each feature that is no number; the code of one is its place.
    groups : dict of str to tuple
        The groups of each sensitive attribute.
    """

    names: tuple[str, ...] | None = None
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    groups: dict[str, tuple[Any, ...]] = field(default_factory=dict)


@dataclass
class Unseen:
    """The policy for categories and groups that training did not contain.

    Attributes
    ----------
    policy : {"error", "missing"}
        Raise for the first; or count them, and `warn` at the end.
    feature, group : str
        How a message names a column.
    file : str
        The file that the message of an error begins with, if any.
    first_row : int
        The number of the first row in messages.
    option : str
        What the message of an error recommends.
    counts : list of str
        The values taken as missing: column, number of rows and first of them.
    """

    policy: str = "error"
    feature: str = "X[{!r}]"
    group: str = "sensitive_features[{!r}]"
    file: str = ""
    first_row: int = 0
    option: str = 'unseen="missing"'
    counts: list[str] = field(default_factory=list)

    def found(self, column: str, new: np.ndarray, value: Any, row: int, known: Any) -> None:
        """Raise for unseen values, or keep their count for the warning.

        Parameters
        ----------
        column : str
            The column, as in messages.
        new : ndarray of bool
            Which rows are unseen.
        value : object
            The first unseen value.
        row : int
            Its input row, from 0.
        known : sequence
            The values of training.
        """
        count, at = f"{int(new.sum()):,} of {len(new):,} rows", row + self.first_row
        if self.policy == "missing":
            self.counts.append(f"{column} ({count}, first {shown(value)} in row {at})")
            return
        words = ", ".join(shown(each) for each in known[:10])
        more = ", ..." if len(known) > 10 else ""
        hint = suggest(str(value), [str(each) for each in known[:5000]])
        where = f"{self.file}: " if self.file else ""
        raise DataError(
            f"{where}{column} must be one of the {len(known):,} values seen in training "
            f"({words}{more}), got {shown(value)} in row {at} (unseen in {count}); {self.option} "
            f"takes them as missing{hint}"
        )

    @property
    def words(self) -> str:
        """The sentence of the warning; empty without unseen values."""
        if not self.counts:
            return ""
        return f"values unseen in training are taken as missing: {'; '.join(self.counts)}"

    def warn(self) -> None:
        """Warn once of all values that were taken as missing."""
        if self.words:
            warnings.warn(self.words, EquirankWarning, stacklevel=outer_stacklevel())


def encoding_of(like: Any) -> Encoding | None:
    """Return the encoding of a RankingData or a fitted ranker."""
    if like is None or isinstance(like, Encoding):
        return like
    encoding = getattr(like, "encoding", None)
    if not isinstance(encoding, Encoding):
        raise DataError(f"like must be a RankingData or a fitted ranker, got {type(like).__name__}")
    return encoding


def check_width(data: "RankingData", encoding: Encoding, frame: Any) -> None:
    """Raise if an array cannot have the features of an encoding."""
    if frame is not None or data.X is None:
        return
    if encoding.categories:
        words = ", ".join(map(repr, list(encoding.categories)[:10]))
        raise DataError(f"X must be a data frame, since like has categories in {words}")
    if encoding.names is not None and len(encoding.names) != data.n_features:
        raise DataError(f"X must have {len(encoding.names)} features, got {data.n_features}")


def known_groups(data: "RankingData", name: str, encoding: Encoding, unseen: Unseen) -> "Attribute":
    """Return an attribute with the groups of an encoding, by value or else by text.

    An unseen group is an error, or an unknown label.
    """
    attribute = data.sensitive[name]
    groups = encoding.groups.get(name, attribute.categories)
    if tuple(attribute.categories) == tuple(groups):
        return attribute
    value = {(type(group), group): code for code, group in enumerate(groups)}
    text = {str(group): code for code, group in enumerate(groups)}
    lookup = [
        value.get((type(group), group), text.get(str(group), -1)) for group in attribute.categories
    ]
    codes = np.array([*lookup, -1], dtype=np.int32)[attribute.codes]
    new = (codes < 0) & (attribute.codes >= 0)
    if new.any():
        stored = _first(data, new)
        group = attribute.categories[attribute.codes[stored]]
        unseen.found(unseen.group.format(name), new, group, data.place(stored)[1], groups)
    return attribute.with_categories(groups, lookup)


def _first(data: "RankingData", chosen: np.ndarray) -> int:
    """Return the stored row of the first chosen row of the input."""
    stored = np.flatnonzero(chosen)
    rows = stored if data.rows is None else data.rows[stored]
    return int(stored[rows.argmin()])


def align(
    data: "RankingData", encoding: Encoding, unseen: Unseen, groups: bool = True
) -> "RankingData":
    """Return data with the columns, the category codes and the groups of an encoding."""
    changed: dict[str, Any] = {}
    columns = _same_columns(data, encoding)
    if columns is not None:
        changed = {"X": data.X[:, columns], "feature_names": encoding.names}
    recoded = _same_categories(data, encoding, unseen, changed.get("X"))
    if recoded is not None:
        changed |= {"X": recoded, "categories": dict(encoding.categories)}
    elif columns is not None:
        names = encoding.names or ()
        changed["categories"] = {n: c for n, c in data.categories.items() if n in names}
    people = {name: known_groups(data, name, encoding, unseen) for name in data.sensitive if groups}
    if any(people[name] is not data.sensitive[name] for name in people):
        changed["sensitive"] = people
    if "X" in changed and isinstance(changed["X"], np.ndarray):
        changed["X"] = frozen(changed["X"])
    return replace(data, **changed) if changed else data


def _same_columns(data: "RankingData", encoding: Encoding) -> list[int] | None:
    """Return where the columns of an encoding are, or None if they are those of the data."""
    own, names = data.feature_names, encoding.names
    if own is None or names is None or tuple(own) == tuple(names):
        return None
    check_names(own, names)
    place = {name: at for at, name in enumerate(own)}
    return [place[name] for name in names]


def check_names(own: Sequence[str], names: Sequence[str]) -> None:
    """Raise if columns lack one of the features of an encoding."""
    for name in names:
        if name not in own:
            raise DataError(
                f"X must have the feature names of fit ({', '.join(names[:10])}), and lacks "
                f"{name!r}{suggest(name, own)}"
            )


def _same_categories(
    data: "RankingData", encoding: Encoding, unseen: Unseen, X: Any
) -> np.ndarray | None:
    """Return X with the codes of an encoding, or None if they are those of the data."""
    names = encoding.names or ()
    for name in data.categories:
        if name in names and name not in encoding.categories:
            raise DataError(f"X[{name!r}] must hold numbers, as in training, got categories")
    different = [
        name
        for name, labels in encoding.categories.items()
        if name in data.categories and tuple(data.categories[name]) != tuple(labels)
    ]
    if not different:
        return None
    result = np.array(data.X if X is None else X)
    for name in different:
        column, labels = names.index(name), encoding.categories[name]
        code = {label: float(at) for at, label in enumerate(labels)}
        lookup = np.array([*(code.get(label, -1.0) for label in data.categories[name]), np.nan])
        old = np.nan_to_num(result[:, column], nan=len(lookup) - 1).astype(np.int64)
        codes = lookup[old]
        new = codes < 0
        if new.any():
            stored = _first(data, new)
            value = data.categories[name][old[stored]]
            unseen.found(unseen.feature.format(name), new, value, data.place(stored)[1], labels)
            codes[new] = np.nan
        result[:, column] = codes
    return result
