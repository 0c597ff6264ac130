"""A profile: the tables and texts that a law or guideline asks for, read from a dated file."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from ...core.errors import DataError, suggest
from ...reports.number_words import joined

__all__ = [
    "Profile",
    "ProfileAttribute",
    "ProfileTable",
    "Source",
    "Threshold",
    "load_profile",
    "profile_names",
    "read_profile",
]


FOLDER = Path(__file__).parent
RATES = ("selection", "scoring")
STATISTICS = ("z", "fisher", "shortfall", "flip", "score_gap")
#: A reference by outcome: the group with the highest rate.
HIGHEST = "highest"


@dataclass(frozen=True)
class Source:
    """Where a fact is stated, what is stated there, and whether it was read."""

    where: str
    states: str
    verified: str


@dataclass(frozen=True)
class Threshold:
    """A number that a text names, its words, and whose they are."""

    number: float
    words: str
    whose: str


@dataclass(frozen=True)
class ProfileAttribute:
    """An attribute of people that a profile asks for, and the columns known to hold it."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class ProfileTable:
    """A table of rates: of one attribute or of two crossed, which rates, and further columns."""

    by: tuple[str, ...]
    rates: tuple[str, ...]
    statistics: tuple[str, ...]


@dataclass(frozen=True)
class Profile:
    """What a law or guideline asks to be shown, with its status and the date of its check.

    Attributes
    ----------
    id, title, citation : str
        Short name, full name, and where the text is found.
    sources : tuple of Source
        Where each fact was read, or that it was not.
    checked : date
        The date up to which the sources describe the status.
    status : str
        In force, adopted, repealed and so on.
    applies_from : date
        From when on it applies.
    attributes : tuple of ProfileAttribute
        The attributes of people that the tables need.
    tables : tuple of ProfileTable
        The tables.
    reference : str or dict
        ``"highest"``, or the reference group of each attribute.
    small_share : float
        Groups with a smaller share of the people may be left out of ratios; 0 for none.
    thresholds : tuple of Threshold
        Numbers that the text names.
    unknown : str
        How people with an unknown label count.
    text : str
        What is shown and why, for the reader of a report.
    not_covered : tuple of str
        What the tables do not answer.
    """

    id: str
    title: str
    citation: str
    sources: tuple[Source, ...]
    checked: date
    status: str
    applies_from: date
    attributes: tuple[ProfileAttribute, ...]
    tables: tuple[ProfileTable, ...]
    reference: str | dict[str, str]
    small_share: float
    thresholds: tuple[Threshold, ...]
    unknown: str
    text: str
    not_covered: tuple[str, ...]

    def outdated(self, today: date) -> str:
        """Return a warning from a year after the check on, and an empty text before."""
        if today < _a_year_after(self.checked):
            return ""
        day = f"{self.checked.day} {self.checked:%B %Y}"
        return (
            f"The profile {self.id} was last checked on {day}, a year ago or more: its status and "
            "text may have changed."
        )

    def columns_of(self, names: Iterable[str]) -> dict[str, str]:
        """Return the column of each attribute that is among these names, by attribute.

        Names match regardless of case, spaces and punctuation. Of several that match, the one that
        the profile names first counts.

        Examples
        --------
        >>> load_profile("nyc-ll144").columns_of(["Race_Ethnicity", "age"])
        {'race/ethnicity': 'Race_Ethnicity'}
        """
        given: dict[str, str] = {}
        for name in names:
            given.setdefault(_folded(name), name)
        found = {}
        for attribute in self.attributes:
            known = [_folded(word) for word in (attribute.name, *attribute.columns)]
            match = next((given[word] for word in known if word in given), None)
            if match is not None:
                found[attribute.name] = match
        return found

    def lacking(self, names: Sequence[str]) -> str:
        """Return which attributes are not among the audited columns; empty if all are.

        Examples
        --------
        >>> load_profile("nyc-ll144").lacking(["race", "Geschlecht"]).partition(", the")[0]
        'Among the audited columns (race and Geschlecht)'
        """
        columns = self.columns_of(names)
        lacking = []
        for each in self.attributes:
            known = list(dict.fromkeys((each.name, *each.columns)))
            if each.name not in columns:
                lacking.append(f"{each.name} (known as {joined(known, 'or')})")
        if not lacking:
            return ""
        return (
            f"Among the audited columns ({joined(names)}), the profile finds none for "
            f"{joined(lacking, 'or')}: audit such a column under one of these names."
        )


def _a_year_after(day: date) -> date:
    leap = (day.month, day.day) == (2, 29)
    return date(day.year + 1, 3, 1) if leap else day.replace(year=day.year + 1)


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", " ", str(name).casefold()).strip()


def profile_names() -> list[str]:
    """Return the ids of the profiles in the package."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_profile(name: str) -> Profile:
    """Return a profile by its id, or one from a file.

    Examples
    --------
    >>> profile = load_profile("nyc-ll144")
    >>> profile.applies_from, profile.small_share
    (datetime.date(2023, 7, 5), 0.02)
    """
    known = profile_names()
    if name in known:
        return read_profile(FOLDER / f"{name}.toml")
    if Path(name).suffix.lower() == ".toml" or "/" in name or "\\" in name:
        return read_profile(name)
    raise DataError(
        f"profile must be one of {', '.join(known)} or a file that ends in .toml, got {name!r}"
        + suggest(name, known)
    )


def read_profile(path: str | Path) -> Profile:
    """Read a profile from a file; unknown and missing keys and wrong values are errors."""
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: must be UTF-8, got byte {error.object[error.start]}") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path}: must be TOML: {error}") from None
    reader = _Reader(str(path))
    values = reader.fields("", content, KEYS)
    _check_words(reader, values)
    return Profile(**values)


def _check_words(reader: "_Reader", values: Mapping[str, Any]) -> None:
    """Check what several keys say together."""
    names = [attribute.name for attribute in values["attributes"]]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise reader.error(f"attributes[{at}].name", "another name than those before", name)
    for at, table in enumerate(values["tables"]):
        for name in table.by:
            if name not in names:
                raise reader.error(f"tables[{at}].by", f"one of {', '.join(names)}", name)
    if isinstance(values["reference"], dict):
        for name in values["reference"]:
            if name not in names:
                raise reader.error("reference", f"one of {', '.join(names)}", name)


Read = Callable[["_Reader", str, Any], Any]


class _Reader:
    """Reads the values of one file; errors name the file and the key."""

    def __init__(self, path: str) -> None:
        self.path = path

    def error(self, key: str, expected: str, got: Any) -> DataError:
        """Return the error of a value."""
        return DataError(f"{self.path}: {key} must be {expected}, got {got!r:.80}")

    def fields(self, place: str, content: Any, keys: Mapping[str, Read]) -> dict[str, Any]:
        """Return the values of a table with exactly these keys."""
        if not isinstance(content, dict):
            raise self.error(place, "a table", content)
        prefix = f"{place}." if place else ""
        for key in content:
            if key not in keys:
                hint = suggest(key, list(keys)) or f"; known are {', '.join(keys)}"
                raise DataError(f"{self.path}: {prefix}{key} is not a key of a profile{hint}")
        for key in keys:
            if key not in content:
                raise DataError(f"{self.path}: {prefix}{key} is missing")
        return {key: read(self, f"{prefix}{key}", content[key]) for key, read in keys.items()}


def _text(reader: _Reader, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise reader.error(key, "a text that is not empty", value)
    return value.strip()


def _identifier(reader: _Reader, key: str, value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", value):
        raise reader.error(key, "lower-case letters and digits, joined by hyphens", value)
    return value


def _day(reader: _Reader, key: str, value: Any) -> date:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise reader.error(key, "a date such as 2026-07-31, without quotes", value)
    return value


def _number(low: float, high: float, words: str) -> Read:
    def read(reader: _Reader, key: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise reader.error(key, words, value)
        if not low <= value < high:
            raise reader.error(key, words, value)
        return float(value)

    return read


def _list_of(part: Read, *, fewest: int = 0, most: int | None = None) -> Read:
    def read(reader: _Reader, key: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise reader.error(key, "a list", value)
        if len(value) < fewest or (most is not None and len(value) > most):
            limits = f"{fewest} to {most}" if most else f"at least {fewest}"
            raise reader.error(key, f"a list of {limits}", value)
        found = tuple(part(reader, f"{key}[{at}]", each) for at, each in enumerate(value))
        if len(set(found)) < len(found):
            raise reader.error(key, "a list without repetition", value)
        return found

    return read


def _one_of(*words: str) -> Read:
    def read(reader: _Reader, key: str, value: Any) -> str:
        if value not in words:
            raise reader.error(key, f"one of {', '.join(words)}", value)
        return str(value)

    return read


def _table_of(kind: type, keys: Mapping[str, Read]) -> Read:
    def read(reader: _Reader, key: str, value: Any) -> Any:
        return kind(**reader.fields(key, value, keys))

    return read


def _reference(reader: _Reader, key: str, value: Any) -> str | dict[str, str]:
    if isinstance(value, dict):
        return {name: _text(reader, f"{key}.{name}", group) for name, group in value.items()}
    if value != HIGHEST:
        raise reader.error(key, '"highest", or a table of attributes and groups', value)
    return HIGHEST


_TEXTS = _list_of(_text)
KEYS: Mapping[str, Read] = {
    "id": _identifier,
    "title": _text,
    "citation": _text,
    "sources": _list_of(
        _table_of(Source, {"where": _text, "states": _text, "verified": _text}), fewest=1
    ),
    "checked": _day,
    "status": _text,
    "applies_from": _day,
    "attributes": _list_of(
        _table_of(ProfileAttribute, {"name": _text, "columns": _TEXTS}), fewest=1
    ),
    "tables": _list_of(
        _table_of(
            ProfileTable,
            {
                "by": _list_of(_text, fewest=1, most=2),
                "rates": _list_of(_one_of(*RATES), fewest=1),
                "statistics": _list_of(_one_of(*STATISTICS)),
            },
        ),
        fewest=1,
    ),
    "reference": _reference,
    "small_share": _number(0.0, 1.0, "a number from 0 to below 1"),
    "thresholds": _list_of(
        _table_of(
            Threshold,
            {"number": _number(0.0, float("inf"), "a number >= 0"), "words": _text, "whose": _text},
        )
    ),
    "unknown": _text,
    "text": _text,
    "not_covered": _TEXTS,
}
