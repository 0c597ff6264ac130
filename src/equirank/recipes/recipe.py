"""Recipe: the settings of a studio session as a TOML file, for ``equirank run``.

::

    format = "equirank recipe"
    version = 1

    [data]
    name = "hiring.csv"          # a name, never a path
    sha256 = "..."
    query = "vacancy"
    score = "score"
    higher_first = true
    sensitive = ["sex"]
    labels = { sex = { F = "female" } }

    [shown]
    "sex=female" = "women"

    [audit]                      # options of equirank audit
    k = [10]
    date = "2026-11-16"

    [[remedy]]                   # settings to apply, each to the given order
    method = "PrefixConstraints"
    by = "sex"
    k = 10
    lower = { female = 0.4 }

    [looked_at]
    settings = 17
"""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Never

from ..core.errors import FormatError, suggest
from .config_objects import ConfigTable, Location, shown
from .toml_text import line_of, toml_key, toml_value

__all__ = ["FORMAT", "VERSION", "Recipe", "merge_patch", "plain_value", "read_recipe"]

FORMAT, VERSION = "equirank recipe", 1
#: Most kept settings, the largest text, the longest array of an audit, most levels of tables.
MOST_KEPT, MOST_BYTES, MOST_LISTED, MOST_LEVELS = 4, 1 << 20, 100, 8

#: The keys of each table and their kinds.
FILE_KEYS: dict[str, type | tuple[str, ...]] = {
    "name": str,
    "sha256": str,
    "format": ("csv", "tsv", "parquet", "excel", "letor"),
    "query": str,
    "id": str,
    "score": str,
    "higher_first": bool,
    "position": str,
    "relevance": str,
    "sensitive": tuple,
    "bands": dict,
    "labels": dict,
    "unknown": tuple,
    "keep_labels": bool,
    "missing_relevance": ("error", "irrelevant"),
    "max_groups": int,
    "file_encoding": str,
    "delimiter": str,
    "decimal": str,
    "columns": tuple,
    "repeated": ("error", "number"),
    "sheet": str,
}
AUDIT_KEYS: dict[str, type | tuple[str, ...]] = {
    "protected": tuple,
    "k": list,
    "selected": str,
    "yes": tuple,
    "cutoff": str,
    "quota": str,
    "stages": tuple,
    "reference": tuple,
    "scored": bool,
    "metrics": tuple,
    "profile": str,
    "leave_out_small": bool,
    "n_boot": int,
    "level": float,
    "seed": int,
    "ties": ("average", "stable"),
    "title": str,
    "purpose": str,
    "period": str,
    "author": str,
    "date": str,
}
TABLES = ("format", "version", "data", "against", "shown", "audit", "remedy", "looked_at")


class RecipeLocation(Location):
    """A location in a recipe, whose errors name the line."""

    def __init__(self, file: str, text: str, table: str = "", path: str = "", nth: int = 0) -> None:
        super().__init__(file, table, path)
        self.text, self.nth = text, nth

    def key(self, name: str) -> "RecipeLocation":
        """Return the location of a key in this one."""
        path = f"{self.path}.{name}" if self.path else name
        return RecipeLocation(self.file, self.text, self.table, path, self.nth)

    def item(self, index: int) -> "RecipeLocation":
        """Return the location of an element of an array, counted from 1."""
        return RecipeLocation(
            self.file, self.text, self.table, f"{self.path}[{index + 1}]", self.nth
        )

    def fail(self, sentence: str) -> Never:
        """Raise the error of this location."""
        names = [self.table.strip("[]")] if self.table else []
        first = self.path.partition(".")[0].partition("[")[0]
        line = f", line {line_of(self.text, names, first, self.nth)}" if self.text else ""
        where = " ".join(part for part in (self.table, self.path) if part)
        raise FormatError(f"{self.file}{line}: {where}{': ' if where else ''}{sentence}") from None


@dataclass(frozen=True)
class Recipe:
    """A checked, immutable recipe.

    Attributes
    ----------
    data, against, shown, audit : mapping
        The tables: the file and its columns, the file compared with (empty without), names of
        groups, and options of the audit.
    remedies : tuple of mapping
        The settings: ``method``, ``kept``, and parameters of the method. At most one is not kept:
        the one in force.
    looked_at : int
        Settings that were looked at.

    Examples
    --------
    >>> recipe = Recipe.from_dict({"data": {"name": "a.csv", "score": "s", "sensitive": ["sex"]}})
    >>> changed = recipe.patched({"audit": {"k": [5]}})
    >>> changed.audit["k"], dict(recipe.audit)
    ((5,), {})
    >>> read_recipe(changed.to_toml()) == changed
    True
    """

    data: Mapping[str, Any] = field(default_factory=dict)
    against: Mapping[str, Any] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
    audit: Mapping[str, Any] = field(default_factory=dict)
    remedies: tuple[Mapping[str, Any], ...] = ()
    looked_at: int = 0

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any], name: str = "recipe", text: str = "") -> "Recipe":
        """Return the recipe of plain tables after checking them; ``text`` is where they are from.

        Raises
        ------
        FormatError
            For an unknown key, method or format, a newer version, or a value of another kind; the
            message names the line.
        """
        top = RecipeLocation(name, text)
        table = ConfigTable(tables, top, TABLES)
        if table.get("format", str, FORMAT) != FORMAT:
            top.key("format").fail(f'must be "{FORMAT}", got {shown(tables["format"])}')
        version = table.get("version", int, VERSION)
        if version > VERSION or version < 1:
            newer = f"; version {version} needs a newer equirank" if version > VERSION else ""
            top.key("version").fail(f"must be {VERSION}, got {version}{newer}")
        _check_values(tables, name, text)
        found = {}
        for part, keys in (("data", FILE_KEYS), ("against", FILE_KEYS), ("audit", AUDIT_KEYS)):
            given = table.get(part, dict, {})
            found[part] = _checked(given, RecipeLocation(name, text, f"[{part}]"), keys)
        for part in ("data", "against"):
            _check_file(found[part], RecipeLocation(name, text, f"[{part}]"))
        _check_audit(found["audit"], RecipeLocation(name, text, "[audit]"))
        words = table.get("shown", dict, {})
        for key, value in words.items():
            here = RecipeLocation(name, text, "[shown]").key(key)
            if "=" not in key or not isinstance(value, str) or not value:
                here.fail(f'must look like "sex=female" = "women", got {shown(value)}')
        counts = ConfigTable(
            table.get("looked_at", dict, {}),
            RecipeLocation(name, text, "[looked_at]"),
            ("settings",),
        )
        looked_at = counts.get("settings", int, 0)
        if looked_at < 0:
            counts.location.key("settings").fail(f"must be at least 0, got {looked_at}")
        remedies = _remedies(table.get("remedy", list, []), name, text)
        frozen = {part: _frozen(values) for part, values in found.items()}
        return cls(**frozen, shown=_frozen(words), remedies=remedies, looked_at=looked_at)

    def to_dict(self) -> dict[str, Any]:
        """Return plain tables, those with a key only."""
        found: dict[str, Any] = {"format": FORMAT, "version": VERSION}
        for part in ("data", "against", "shown", "audit"):
            if getattr(self, part):
                found[part] = plain_value(getattr(self, part))
        if self.remedies:
            found["remedy"] = [plain_value(each) for each in self.remedies]
        if self.looked_at:
            found["looked_at"] = {"settings": self.looked_at}
        return found

    def to_toml(self) -> str:
        """Return the text of the file, always the same for the same recipe."""
        tables = self.to_dict()
        lines = [f"format = {toml_value(FORMAT)}", f"version = {VERSION}"]
        for part in ("data", "against", "shown", "audit"):
            lines += _lines(f"[{part}]", tables.get(part, {}))
        for each in tables.get("remedy", []):
            lines += _lines("[[remedy]]", each)
        lines += _lines("[looked_at]", tables.get("looked_at", {}))
        return "\n".join(lines) + "\n"

    def patched(self, patch: Mapping[str, Any]) -> "Recipe":
        """Return the recipe after a JSON merge patch (RFC 7396); this one stays as it is."""
        return Recipe.from_dict(merge_patch(self.to_dict(), patch))

    @property
    def remedy(self) -> Mapping[str, Any] | None:
        """The setting in force, or None."""
        return next((each for each in self.remedies if not each.get("kept")), None)

    @property
    def kept(self) -> tuple[Mapping[str, Any], ...]:
        """The settings that are kept to compare."""
        return tuple(each for each in self.remedies if each.get("kept"))

    def key(self, *parts: str) -> str:
        """Return a text that is equal for recipes with equal parts, for caches."""
        tables = self.to_dict()
        return json.dumps({part: tables.get(part) for part in parts}, sort_keys=True)


def read_recipe(text: str | bytes, name: str = "recipe") -> Recipe:
    r"""Return the recipe of a TOML text.

    Raises
    ------
    FormatError
        If the text is no TOML or no recipe; the message names the line.

    Examples
    --------
    >>> read_recipe('[data]\nscores = "s"')
    Traceback (most recent call last):
    ...
    equirank.core.errors.FormatError: recipe, line 2: [data] scores: is not a known key; ...
    """
    if len(text) > MOST_BYTES:
        raise FormatError(f"{name}: must have at most {MOST_BYTES:,} bytes, got {len(text):,}")
    try:
        text = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        tables = tomllib.loads(text.replace("\r\n", "\n"))
    except UnicodeDecodeError:
        raise FormatError(f"{name}: must be text in UTF-8") from None
    except ValueError as error:
        raise FormatError(f"{name}: must be TOML: {error}") from None
    except RecursionError:
        raise FormatError(f"{name}: must be TOML: it is nested too deeply") from None
    found = Recipe.from_dict(tables, name, text)  # an unknown key says more than a missing format
    if "format" not in tables:
        raise FormatError(f'{name}, line 1: format is missing; it must be "{FORMAT}"')
    return found


def merge_patch(target: Any, patch: Any) -> Any:
    """Return a JSON merge patch applied (RFC 7396): null removes a key, arrays are replaced.

    Examples
    --------
    >>> merge_patch({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": 3}})
    {'a': {'c': 2, 'd': 3}}
    """
    if not isinstance(patch, Mapping):
        return deepcopy(patch)
    found = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merge_patch(found.get(key), value)
    return found


def _check_values(tables: Mapping[str, Any], name: str, text: str) -> None:
    """Raise unless all values are those that TOML, JSON and Python code can state alike."""
    for part in TABLES[2:]:
        given = tables.get(part, {})
        header = "[[remedy]]" if part == "remedy" else f"[{part}]"
        for at, each in enumerate(given if isinstance(given, list) else [given]):
            _check_value(each, RecipeLocation(name, text, header, nth=at))


def _check_value(value: Any, location: Location, level: int = 1) -> None:
    if level > MOST_LEVELS:
        location.fail(f"must have at most {MOST_LEVELS} levels of tables and arrays")
    if isinstance(value, Mapping):
        for key, each in value.items():
            if not isinstance(key, str):
                location.fail(f"must be a table whose keys are texts, got {shown(key)}")
            _check_value(key, location, level)
            _check_value(each, location.key(key), level + 1)
    elif isinstance(value, (list, tuple)):
        for at, each in enumerate(value):
            _check_value(each, location.item(at), level + 1)
    elif isinstance(value, str):
        if any("\ud800" <= sign <= "\udfff" for sign in value):
            location.fail(f"must be text that UTF-8 can encode, got {value!a:.60}")
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            location.fail(f"must be a whole number from -2^63 to 2^63 - 1, got {shown(value)}")
    elif not isinstance(value, float):
        location.fail(
            f"must be a text, a number, true, false, an array or a table, got {shown(value)}"
        )
    elif not math.isfinite(value):
        location.fail(f"must be a finite number, got {value}")


def _check_limit(name: str, value: Any, location: Location) -> None:
    from ..core.errors import DataError
    from ..core.params import check_limit

    try:
        check_limit(name, value)
    except DataError as error:
        location.key(name).fail(str(error).removeprefix(f"{name} "))


def _checked(
    values: Mapping[str, Any],
    location: RecipeLocation,
    keys: Mapping[str, type | tuple[str, ...]],
) -> dict[str, Any]:
    """Return the values of a table in the order of its keys, each of its kind."""
    table = ConfigTable(values, location, list(keys))
    found: dict[str, Any] = {}
    for key, kind in keys.items():
        if key not in values:
            continue
        if isinstance(kind, tuple):
            found[key] = table.choice(key, kind)
        elif kind is tuple:
            found[key] = list(table.names(key) or ())
            if keys is AUDIT_KEYS and len(found[key]) > MOST_LISTED:
                n = len(found[key])
                location.key(key).fail(f"must be at most {MOST_LISTED} texts, got {n:,}")
        elif kind is list:
            found[key] = _cutoffs(values[key], location.key(key))
        else:
            found[key] = table.get(key, kind)
        _check_limit(key, found[key], location)
    return found


def _cutoffs(value: Any, location: Location) -> list[int]:
    listed = value if isinstance(value, list) else [value]
    for each in listed:
        if not isinstance(each, int) or isinstance(each, bool) or each < 1:
            location.fail(f"must be whole numbers of at least 1, got {shown(value)}")
    if len(listed) > MOST_LISTED:
        location.fail(f"must be at most {MOST_LISTED} numbers, got {len(listed):,}")
    if not listed or len({*listed}) < len(listed):
        location.fail(f"must be different numbers, got {shown(value)}")
    return listed


def _check_file(values: Mapping[str, Any], location: RecipeLocation) -> None:
    name = values.get("name", "")
    if set(name) & set("/\\\0") or name in (".", ".."):
        location.key("name").fail(
            f"must be the name of a file, without a folder, got {shown(name)}"
        )
    if values.get("max_groups", 1) < 1:
        location.key("max_groups").fail(f"must be at least 1, got {values['max_groups']}")
    for attribute, table in values.get("labels", {}).items():
        if not isinstance(table, dict) or not all(isinstance(v, str) for v in table.values()):
            location.key("labels").fail(
                f"must have a table of texts for each column, got {shown(attribute)}"
            )
    for column, edges in values.get("bands", {}).items():
        numbers = isinstance(edges, list) and all(
            isinstance(each, (int, float)) and not isinstance(each, bool) for each in edges
        )
        if not numbers or not edges or sorted({*edges}) != edges:
            location.key("bands").fail(
                f"must have ascending numbers for each column, got {shown(column)}"
            )


def _check_audit(values: Mapping[str, Any], location: RecipeLocation) -> None:
    level, profile = values.get("level", 0.95), values.get("profile", "")
    if not 0 < level < 1:
        location.key("level").fail(f"must be between 0 and 1, got {shown(level)}")
    for name in ("n_boot", "seed"):
        if values.get(name, 0) < 0:
            location.key(name).fail(f"must be at least 0, got {shown(values[name])}")
    if "/" in profile or "\\" in profile or profile.endswith(".toml"):
        location.key("profile").fail(f"must be the id of a profile, got {shown(profile)}")
    if "date" in values:
        from ..core.errors import DataError
        from ..reports.provenance import report_date

        try:
            report_date(values["date"])
        except DataError as error:
            location.key("date").fail(str(error).partition(" ")[2])


def _remedies(entries: Sequence[Any], name: str, text: str) -> tuple[Mapping[str, Any], ...]:
    """Return the checked settings."""
    found: list[Mapping[str, Any]] = []
    for at, values in enumerate(entries):
        location = RecipeLocation(name, text, "[[remedy]]", nth=at)
        if not isinstance(values, dict):
            location.fail(f"must be a table, got {shown(values)}")
        check_remedy(values, location)
        found.append(_frozen(values))
    if sum(not each.get("kept") for each in found) > 1:
        RecipeLocation(name, text, "[[remedy]]", nth=len(found) - 1).fail(
            "must be kept = true for all settings but one"
        )
    if sum(bool(each.get("kept")) for each in found) > MOST_KEPT:
        RecipeLocation(name, text, "[[remedy]]", nth=len(found) - 1).fail(
            f"must have at most {MOST_KEPT} kept settings"
        )
    return tuple(found)


def check_remedy(values: Mapping[str, Any], location: Location) -> None:
    """Raise unless a table names a public re-ranker with a guarantee and valid parameters."""
    import inspect

    from ..core.errors import DataError
    from ..core.params import Integer, check_params
    from ..rerankers.chooser import methods

    known, method = methods(), values.get("method")
    if not isinstance(method, str) or method not in known:
        hint = suggest(method, list(known)) if isinstance(method, str) else ""
        location.key("method").fail(
            f"must be one of {', '.join(sorted(known))}, got {shown(method)}{hint}"
        )
    kind = known[method]
    allowed = [*inspect.signature(kind).parameters]
    for key, value in values.items():
        if key == "method":
            continue
        if key == "kept":
            if not isinstance(value, bool):
                location.key(key).fail(f"must be true or false, got {shown(value)}")
            continue
        if key not in allowed:
            location.key(key).fail(
                f"is not a known key, since {method} has no such parameter"
                f"{suggest(key, allowed)} (it has {', '.join(allowed)})"
            )
        try:
            check_params(method, {key: value}, {"random_state": Integer(0)} | dict(kind.params))
        except DataError as error:
            location.key(key).fail(str(error))
        _check_limit(key, value, location)


def _frozen(value: Any) -> Any:
    """Return a value that cannot be changed."""
    if isinstance(value, Mapping):
        return MappingProxyType({key: _frozen(each) for key, each in value.items()})
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


def plain_value(value: Any) -> Any:
    """Return a copy of a value of a recipe with lists and dicts."""
    if isinstance(value, Mapping):
        return {key: plain_value(each) for key, each in value.items()}
    return [plain_value(each) for each in value] if isinstance(value, (list, tuple)) else value


def _lines(header: str, table: Mapping[str, Any]) -> list[str]:
    if not table:
        return []
    return ["", header, *(f"{toml_key(key)} = {toml_value(v)}" for key, v in table.items())]
