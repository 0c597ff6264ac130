"""One table of a configuration file: its keys taken one by one, each error naming its place."""

from collections.abc import Mapping, Sequence
from typing import Any, Never

from .failing import CommandError

__all__ = ["ConfigTable", "Place"]

WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
WORDS |= {dict: "a table", list: "an array"}


class Place:
    """Where in which file something stands: file, table, key.

    Examples
    --------
    >>> Place("c.toml", "[data]").key("path").fail("must be a text, got 3")
    Traceback (most recent call last):
    ...
    equirank.cli.failing.CommandError: c.toml: [data] path: must be a text, got 3
    """

    def __init__(self, file: str, table: str = "", path: str = "") -> None:
        self.file, self.table, self.path = file, table, path

    def key(self, name: str) -> "Place":
        """Give the place of a key in this one."""
        return Place(self.file, self.table, f"{self.path}.{name}" if self.path else name)

    def item(self, index: int) -> "Place":
        """Give the place of an element of an array, counted from 1."""
        return Place(self.file, self.table, f"{self.path}[{index + 1}]")

    def __str__(self) -> str:
        """Write file, table and key."""
        where = " ".join(part for part in (self.table, self.path) if part)
        return f"{self.file}: {where}" if where else self.file

    def fail(self, sentence: str) -> Never:
        """Raise the error of this place."""
        raise CommandError(f"{self}: {sentence}") from None


class ConfigTable:
    """The keys of a table; those that nobody may ask for are refused at once.

    Parameters
    ----------
    values : mapping
        What the file says.
    place : Place
        Where it says it.
    known : sequence of str
        The keys that may stand there.
    """

    def __init__(self, values: Mapping[str, Any], place: Place, known: Sequence[str]) -> None:
        self.values, self.place = values, place
        for name in values:
            if name not in known:
                from ..core.names import suggest

                hint = suggest(name, list(known))
                hint = "; it must stand above the first table" if name == "metrics" else hint
                place.key(name).fail(f"is not a known key{hint} (known: {', '.join(known)})")

    def has(self, name: str) -> bool:
        """Say whether the key is there."""
        return name in self.values

    def need(self, name: str, kind: type) -> Any:
        """Give the value of a key that must be there."""
        if name not in self.values:
            self.place.key(name).fail(f"is missing, and must be {WORDS[kind]}")
        return self.get(name, kind)

    def get(self, name: str, kind: type, default: Any = None) -> Any:
        """Give the value of a key, or the default; a whole number may stand for a number."""
        value = self.values.get(name, default)
        if value is default:
            return default
        right = isinstance(value, kind) or (kind is float and isinstance(value, int))
        if not right or (isinstance(value, bool) and kind is not bool):
            self.place.key(name).fail(f"must be {WORDS[kind]}, got {shown(value)}")
        if kind is str and not value:
            self.place.key(name).fail("must not be empty")
        return value

    def choice(self, name: str, choices: Sequence[str], default: str | None = None) -> Any:
        """Give one of some words."""
        value = self.get(name, str, default)
        if value is not default and value not in choices:
            from ..core.names import suggest

            words = ", ".join(f'"{word}"' for word in choices)
            self.place.key(name).fail(
                f"must be one of {words}, got {shown(value)}{suggest(value, list(choices))}"
            )
        return value

    def names(self, name: str) -> tuple[str, ...] | None:
        """Give one text or an array of different ones, or None where the key is not there."""
        value = self.values.get(name)
        if value is None:
            return None
        listed = [value] if isinstance(value, str) else value
        place = self.place.key(name)
        if not isinstance(listed, list):
            place.fail(f"must be a text or an array of texts, got {shown(value)}")
        for at, each in enumerate(listed):
            if not isinstance(each, str) or not each:
                place.item(at).fail(f"must be a text, got {shown(each)}")
            if each in listed[:at]:
                place.item(at).fail(f"must be named once, got {shown(each)} again")
        return tuple(listed)


def shown(value: Any) -> str:
    """Write a value as TOML would, cut where it is long.

    Examples
    --------
    >>> shown(True), shown("a"), shown([1, 2]), shown({})
    ('true', '"a"', '[1, 2]', 'a table')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
