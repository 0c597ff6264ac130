"""Roles of the columns of a table: named, or recognised by their names."""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..core.errors import DataError, suggest
from .number_cells import data_like

__all__ = [
    "RECOGNISED",
    "Name",
    "Names",
    "Roles",
    "assign",
    "existing_column",
    "listed",
    "recognised_columns",
]


#: A column: its name, None to recognise it, False for none.
Name = str | Literal[False] | None
Names = str | Sequence[str] | None

#: The column names recognised for each role, in lower case.
RECOGNISED: dict[str, tuple[str, ...]] = {
    "query": ("qid", "query", "query_id", "list", "list_id"),
    "relevance": ("relevance", "rel", "label", "grade", "y", "y_true"),
    "score": ("score", "scores", "y_score", "prediction"),
    "position": ("position", "rank"),
    "cost": ("cost",),
    "ids": ("id", "ids", "doc_id", "docid", "item_id"),
}


@dataclass(frozen=True)
class Roles:
    """The column of each role; with ``others``, only numeric columns become features."""

    single: Mapping[str, str]
    sensitive: tuple[str, ...]
    features: tuple[str, ...]
    others: bool
    outcomes: tuple[str, ...] = ()
    guessed: Mapping[str, str] = field(default_factory=dict)

    @property
    def needed(self) -> tuple[str, ...]:
        """The names of all columns to be read, each once."""
        single = self.single.values()
        return tuple(dict.fromkeys([*single, *self.sensitive, *self.outcomes, *self.features]))

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the columns with labels instead of numbers."""
        single = (self.single[role] for role in ("query", "ids") if role in self.single)
        return (*single, *self.sensitive, *self.outcomes)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of the columns of numbers, each once."""
        single = (name for role, name in self.single.items() if role not in ("query", "ids"))
        return tuple(dict.fromkeys([*single, *self.features]))

    def record(self) -> dict[str, tuple[str, str]]:
        """Return the column of each role, and ``"named"`` or why it was chosen, for `Source`."""
        found = {
            "id" if role == "ids" else role: (name, self.guessed.get(role, "named"))
            for role, name in self.single.items()
        }
        for role, names in (("sensitive", self.sensitive), ("outcomes", self.outcomes)):
            for at, name in enumerate(names, start=1):
                found[role if at == 1 else f"{role} {at}"] = (name, "named")
        return found


def assign(
    path: str,
    names: Sequence[str],
    *,
    sensitive: Names,
    features: Names,
    outcomes: Names = None,
    **single: Name,
) -> Roles:
    """Return the column of each role: the given one, or else the one recognised by its name.

    ``single`` contains query, relevance, score, position, cost and id.
    """
    if "id" in single:
        single["ids"] = single.pop("id")
    twice = _repeated(name for name in names if name)
    if twice is not None:
        raise DataError(f"{path}: each column name must occur once, got {twice!r} twice")
    known = dict.fromkeys(names)
    groups = _listed_names("sensitive", sensitive) or ()
    wanted = _listed_names("features", features)
    decided = _listed_names("outcomes", outcomes) or ()
    found: dict[str, str] = {}
    for role, name in single.items():
        if name is not None and name is not False:
            word = "id" if role == "ids" else role
            found[role] = existing_column(path, known, word, name)
    for name in groups:
        existing_column(path, known, "sensitive", name)
    for name in decided:
        existing_column(path, known, "outcomes", name)
    for name in wanted or ():
        existing_column(path, known, "features", name)
    taken = {*found.values(), *groups, *decided, *(wanted or ())}
    if "score" in found or "position" in found:
        # a recognised position would override a given score
        single = {
            r: n for r, n in single.items() if n is not None or r not in ("score", "position")
        }
    guessed: dict[str, str] = {}
    for role, name in single.items():
        if name is None:
            matches = recognised_columns(names, RECOGNISED[role], taken)
            if len(matches) > 1:
                word = "id" if role == "ids" else role
                raise DataError(
                    f"{path}: {word} must be named, since the columns {listed(matches)} could all "
                    f"be it; {word}=False for none"
                )
            if matches:
                found[role] = matches[0]
            if matches or role == "query":
                guessed[role] = "recognised by its name"
    once = [name for role, name in found.items() if role != "score" or name not in decided]
    doubled = _repeated([*once, *groups, *decided])
    if doubled is not None:
        raise DataError(f"{path}: column {doubled!r} must have one role, got several")
    used = {*found.values(), *groups, *decided}
    rest = tuple(name for name in names if name and name not in used)
    others = wanted is None
    return Roles(found, groups, rest if wanted is None else wanted, others, decided, guessed)


def _repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs again, or None."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _listed_names(argument: str, names: Names) -> tuple[str, ...] | None:
    if names is None:
        return None
    columns = (names,) if isinstance(names, str) else tuple(names)
    for name in columns:
        if not isinstance(name, str):
            raise DataError(f"{argument} must name columns, got {name!r}")
    twice = _repeated(columns)
    if twice is not None:
        raise DataError(f"{argument} must name each column once, got {twice!r} twice")
    return columns


def existing_column(path: str, names: Collection[str], role: str, name: Any) -> str:
    """Return the name if the table has such a column; else raise with the nearest name."""
    if not isinstance(name, str) or name not in names:
        hint = suggest(str(name), list(names))
        if data_like(names):
            hint = "; columns must name the columns of a file without a line of names"
        raise DataError(
            f"{path}: {role} must be one of the columns {listed(list(names))}, got {name!r}{hint}"
        )
    return name


def recognised_columns(
    names: Sequence[str], known: Sequence[str], taken: Container[str]
) -> list[str]:
    """Return the columns with a known name, in any case of letters, that are not taken."""
    return [name for name in names if name.strip().lower() in known and name not in taken]


def listed(names: Sequence[str]) -> str:
    """Return up to ten names for an error message."""
    return ", ".join(repr(name) for name in names[:10]) + (", ..." if len(names) > 10 else "")
