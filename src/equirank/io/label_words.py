"""Cleaning of the labels of people's groups: spelling, unknown words, and names from a map."""

import os
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile
from typing import Any

from ..core.errors import DataError, EquirankWarning, outer_stacklevel
from ..core.unknown_words import UNKNOWN, folded, plain_label

__all__ = [
    "CleanLabels",
    "LabelMap",
    "LabelRules",
    "band_names",
    "label_questions",
    "label_rules",
    "look_alikes",
    "maybe_unknown",
]


#: For each attribute, the name of each label; an empty name means unknown.
LabelMap = Mapping[str, Mapping[str, str]]
#: Shorter labels are codes: ``f`` and ``m`` are one edit apart.
_SHORTEST_WORD = 4
#: Most labels of an attribute whose spellings are compared in pairs.
_MOST_PAIRED = 200


@dataclass(frozen=True)
class CleanLabels:
    """The labels of an attribute after cleaning.

    A label is changed once for all its rows.

    Attributes
    ----------
    values : list
        What each label of the file became; None: unknown.
    record : tuple
        For each label its text, its number of rows, and what it became.
    remarks : tuple of str
        What was assumed.
    """

    values: list[Any]
    record: tuple[tuple[str, int, str | None], ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class LabelRules:
    """How labels of files are cleaned.

    Attributes
    ----------
    unknown : frozenset of str
        Words for unknown, folded.
    mapping : dict
        For each attribute the name of each label; labels are folded unless ``keep``.
    keep : bool
        Whether labels that differ in case stay apart, and unknown words stay groups.
    bands : dict
        For each attribute of numbers where each band but the first begins.
    """

    unknown: frozenset[str] = frozenset(UNKNOWN)
    mapping: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    keep: bool = False
    bands: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def key(self, label: str) -> str:
        """Return what the spellings of one label share."""
        return plain_label(label) if self.keep else folded(label)

    def is_unknown(self, name: str, label: Any) -> bool:
        """Return whether a label of an attribute means unknown."""
        if label is None or label != label:
            return True
        key = self.key(str(label))
        named = self.mapping.get(name, {}).get(key)
        if named is not None:
            return not named
        return isinstance(label, str) and (not key or (not self.keep and key in self.unknown))

    def clean(self, name: str, labels: Sequence[Any], counts: Sequence[int]) -> CleanLabels:
        """Return the labels of an attribute after cleaning.

        Labels that share a key are joined. The spelling of the map is shown, else the most
        frequent one, else the first. The map goes before bands.
        """
        mapping = self.mapping.get(name, {})
        if name in self.bands:
            banded = band_names(labels, self.bands[name])
            mapping = {self.key(label): band for label, band in banded.items()} | dict(mapping)
        spellings: dict[str, dict[Any, int]] = {}
        named: dict[str, str] = {}
        keys: list[str | None] = []
        for label, count in zip(labels, counts, strict=True):
            if self.is_unknown(name, label):
                keys.append(None)
                continue
            key, word = self.key(str(label)), label
            if key in mapping:
                word = mapping[key]
                key = self.key(word)
                named.setdefault(key, word)
            elif isinstance(label, str):
                word = plain_label(label)
            known = spellings.setdefault(key, {})
            known[word] = known.get(word, 0) + count
            keys.append(key)
        shown = {key: max(known, key=known.__getitem__) for key, known in spellings.items()}
        shown |= named
        values = [None if key is None else shown[key] for key in keys]
        if mapping and any(isinstance(value, str) for value in values):
            values = [None if value is None else str(value) for value in values]
        self._warn_of_the_map(name, labels)
        _warn_of_near_labels(name, [value for value in shown.values() if isinstance(value, str)])
        record = tuple(
            ("" if label is None else str(label), int(count), None if value is None else str(value))
            for label, count, value in zip(labels, counts, values, strict=True)
        )
        return CleanLabels(values, record, self._remarks(name, shown))

    def _warn_of_the_map(self, name: str, labels: Sequence[Any]) -> None:
        present = {self.key(str(label)) for label in labels if label is not None}
        unused = [key for key in self.mapping.get(name, {}) if key not in present]
        if unused:
            words = ", ".join(map(repr, unused))
            warnings.warn(
                f"labels of {name!r} names {words}, which the file does not contain",
                EquirankWarning,
                stacklevel=outer_stacklevel(),
            )

    def _remarks(self, name: str, shown: Mapping[str, Any]) -> tuple[str, ...]:
        if self.keep:
            return ()
        words = ["none"] if "none" in shown and "none" not in self.unknown else []
        words += maybe_unknown(list(shown))
        return tuple(
            f"{name}: {str(shown[word])!r} is a group; if it means unknown, unknown can name it"
            for word in words
        )


def _warn_of_near_labels(name: str, words: Sequence[str]) -> None:
    """Warn of labels that are one edit apart, as misspellings are."""
    near = []
    for at, word in enumerate(words[:_MOST_PAIRED]):
        near += [(word, other) for other in words[at + 1 : _MOST_PAIRED] if _one_edit(word, other)]
    if near:
        pairs = ", ".join(f"{word!r} and {other!r}" for word, other in near[:5])
        more = f" and {len(near) - 5} more" if len(near) > 5 else ""
        warnings.warn(
            f"groups of {name!r} are one letter apart: {pairs}{more}; if they are the same, labels "
            "can join them",
            EquirankWarning,
            stacklevel=outer_stacklevel(),
        )


def _one_edit(word: str, other: str) -> bool:
    """Return whether one letter added, dropped, replaced or swapped turns a word into another.

    Words below four letters are codes and never compared; nor are edits of digits and signs.
    """
    if min(len(word), len(other)) < _SHORTEST_WORD or abs(len(word) - len(other)) > 1:
        return False
    a, b = folded(word), folded(other)
    start = _shared(a, b)
    end = _shared(a[start:][::-1], b[start:][::-1])
    first, second = a[start : len(a) - end], b[start : len(b) - end]
    if not (first + second).isalpha():
        return False
    if len(first) <= 1 and len(second) <= 1:
        return True
    return len(first) == 2 and first == second[::-1]


def _shared(word: str, other: str) -> int:
    """Return the number of letters with which both words begin."""
    pairs = zip(word, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def label_rules(
    unknown: Sequence[str] | str | None = None,
    labels: LabelMap | str | os.PathLike[str] | None = None,
    keep_labels: bool = False,
    bands: Mapping[str, Sequence[float]] | None = None,
) -> LabelRules:
    """Return the rules of a reader; ``labels`` is a mapping or a TOML file.

    Examples
    --------
    >>> rules = label_rules(labels={"sex": {"weiblich": "female", "k.A.": ""}})
    >>> rules.clean("sex", ["Female", "weiblich", "K.A.", "?", "female"], [2, 1, 1, 1, 3]).values
    ['female', 'female', None, None, 'female']
    >>> label_rules(bands={"age": [35, 50]}).clean("age", ["20", "49", "?"], [1, 1, 1]).values
    ['under 35', '35 to 49', None]
    """
    if not isinstance(keep_labels, bool):
        raise DataError(f"keep_labels must be True or False, got {keep_labels!r}")
    words: tuple[str, ...] = UNKNOWN
    if unknown is not None:
        words = (unknown,) if isinstance(unknown, str) else tuple(unknown)
        if keep_labels:
            raise DataError("unknown must be None with keep_labels, which keeps all words")
        for word in words:
            if not isinstance(word, str):
                raise DataError(f"unknown must contain words, got {word!r}")
    rules = LabelRules(frozenset(map(folded, words)), {}, keep_labels, _checked_bands(bands))
    where, tables = "labels", labels
    if isinstance(labels, (str, os.PathLike)):
        where, tables = os.fspath(labels), _read_map(labels)
    if tables is None:
        return rules
    if not isinstance(tables, Mapping):
        raise DataError(f"labels must be a mapping or a TOML file, got {tables!r}")
    mapping = {str(name): _folded_map(where, name, table, rules) for name, table in tables.items()}
    return replace(rules, mapping=mapping)


def _checked_bands(bands: Any) -> dict[str, tuple[float, ...]]:
    """Return where the bands of each attribute begin; they must ascend."""
    if bands is None:
        return {}
    if not isinstance(bands, Mapping):
        raise DataError(f'bands must look like {{"age": [35, 50]}}, got {bands!r}')
    found = {}
    for name, edges in bands.items():
        known = [] if isinstance(edges, str) or not isinstance(edges, Sequence) else list(edges)
        numbers = all(isinstance(e, int | float) and not isinstance(e, bool) for e in known)
        if not known or not numbers or any(not a < b for a, b in pairwise(known)):
            raise DataError(f"bands of {name!r} must be ascending numbers, got {edges!r}")
        found[str(name)] = tuple(float(edge) for edge in known)
    return found


def band_names(values: Sequence[Any], edges: Sequence[float]) -> dict[str, str]:
    """Return the name of the band of each number, for a map of labels; other texts have none.

    Parameters
    ----------
    values : sequence
        The cells of a column.
    edges : sequence of float
        Where each band but the first begins, ascending.

    Examples
    --------
    >>> band_names(["34", "35", "70", "?"], [35, 50])
    {'34': 'under 35', '35': '35 to 49', '70': '50 and over'}
    """
    words = [f"{edge:g}" for edge in edges]
    whole = all(float(edge).is_integer() for edge in edges)
    names = [f"under {words[0]}"]
    for low, high, end in zip(words, words[1:], edges[1:], strict=False):
        names.append(f"{low} to {end - 1:g}" if whole else f"{low} to under {high}")
    names.append(f"{words[-1]} and over")
    found = {}
    for cell in dict.fromkeys(values):
        try:
            number = float(str(cell).strip())
        except ValueError:
            continue
        if number == number:
            found[str(cell)] = names[sum(number >= edge for edge in edges)]
    return found


def _read_map(path: str | os.PathLike[str]) -> dict[str, Any]:
    with open(path, "rb") as file:
        raw = file.read()
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{os.fspath(path)}: must be TOML: {error}") from None


def _folded_map(where: str, name: Any, table: Any, rules: LabelRules) -> dict[str, str]:
    """Return the name of each key; keys that are one label must have one name."""
    if not isinstance(table, Mapping):
        raise DataError(
            f"{where}: must have a table for each attribute, such as [sex], got {name!r} = "
            f"{table!r}"
        )
    found: dict[str, str] = {}
    spelt: dict[str, str] = {}
    for label, target in table.items():
        if not isinstance(target, str):
            raise DataError(f"{where}: [{name}] {label!r} must be a text, got {target!r}")
        key, word = rules.key(str(label)), plain_label(target)
        if found.setdefault(key, word) != word:
            raise DataError(
                f"{where}: [{name}] {spelt[key]!r} and {label!r} are one label and must have one "
                f"name, got {found[key]!r} and {word!r}"
            )
        spelt.setdefault(key, str(label))
    return found


#: Words for unknown in other languages, without spaces and points; they are offered, not assumed.
FOREIGN = frozenset({"ka", "keineangabe", "keineangaben", "ohneangabe", "unbekannt", "inconnu",
                     "inconnue", "nonrenseigné", "desconocido", "nodisponible", "sconosciuto",
                     "onbekend"})  # fmt: skip


def maybe_unknown(labels: Sequence[str]) -> list[str]:
    """Return the labels that may mean unknown in another language.

    Examples
    --------
    >>> maybe_unknown(["Frau", "Mann", "k. A."])
    ['k. A.']
    """
    plain = {label: "".join(folded(label).replace(".", "").split()) for label in labels}
    return [label for label in labels if plain[label] in FOREIGN]


def look_alikes(labels: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of labels that may mean the same: a short form, or one letter apart.

    A short form that fits several labels is left out.

    Examples
    --------
    >>> look_alikes(["F", "Female", "male", "m", "other"])
    [('F', 'Female'), ('m', 'male')]
    """
    found = []
    for label in labels:
        key = folded(label)
        longer = [
            other
            for other in labels
            if len(key) < _SHORTEST_WORD <= len(folded(other)) and folded(other).startswith(key)
        ]
        if key.isalpha() and len(longer) == 1:
            found.append((label, longer[0]))
    words = [label for label in labels[:_MOST_PAIRED] if len(label) >= _SHORTEST_WORD]
    for at, word in enumerate(words):
        found += [(word, other) for other in words[at + 1 :] if _one_edit(word, other)]
    return found


def label_questions(labels: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    """Return questions about labels, each with the map of labels that "yes" stands for.

    They ask whether labels that look alike are one group, and whether a label means unknown.

    Examples
    --------
    >>> for question, names in label_questions(["F", "Female", "k.A."]):
    ...     print(question, names)
    “F” and “Female” look alike. Treat them as one group, “Female”? {'F': 'Female'}
    “k.A.” may mean unknown. Count these people as unknown? {'k.A.': ''}
    """
    alike: dict[str, list[str]] = {}
    for short, long in look_alikes(labels) if len(labels) > 1 else []:
        alike.setdefault(long, []).append(short)
    found: list[tuple[str, dict[str, str]]] = []
    for long, others in alike.items():
        words = ", ".join(f"“{label}”" for label in others)
        question = f"{words} and “{long}” look alike. Treat them as one group, “{long}”?"
        found.append((question, dict.fromkeys(others, long)))
    for label in maybe_unknown(labels):
        question = f"“{label}” may mean unknown. Count these people as unknown?"
        found.append((question, {label: ""}))
    return found
