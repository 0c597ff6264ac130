"""Changes of a recipe that a patch names by what users do: roles, kept settings, comparisons."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .answers import ROLES, StudioError, Upload
from .uploads import column_roles

if TYPE_CHECKING:
    from ..recipes.recipe import Recipe

__all__ = [
    "CHANGES",
    "NO_REMEDY",
    "OF_THE_FILE",
    "Situation",
    "applied_to",
    "consistent",
    "lacking_columns",
]

#: Keys of a recipe that a patch may not touch: they belong to the file.
OF_THE_FILE = ("name", "sha256", "format", "repeated")
NO_REMEDY = "Choose a remedy first."


@dataclass(frozen=True)
class Situation:
    """What a change may need to know.

    Attributes
    ----------
    columns : tuple of str
        The columns of the file, in order.
    settled : set of str
        Columns that the user has settled, to which changes add.
    checked : callable
        Returns a setting after checking it.
    """

    columns: tuple[str, ...]
    settled: set[str]
    checked: Callable[[Any], dict[str, Any]]


def lacking_columns(recipe: "Recipe", upload: Upload) -> list[str]:
    """Return the columns that a recipe names and a file lacks."""
    known = {column["name"] for column in upload.facts["columns"]}
    named = [*column_roles(recipe.data), *recipe.data.get("bands", {})]
    if "name" not in recipe.against:
        named += [*column_roles(recipe.against)]
    return [name for name in named if name not in known]


def applied_to(recipe: "Recipe", upload: Upload, warned: list[str]) -> "Recipe":
    """Return a recipe for a file; another hash is a warning, a missing column a refusal."""
    lacking = lacking_columns(recipe, upload)
    if lacking:
        raise StudioError(
            "recipe",
            f"The recipe names the column {lacking[0]!r}, which {upload.name} lacks.",
            {"column": lacking[0]},
        )
    own = upload.recipe["data"]
    if recipe.data.get("sha256") not in (None, own["sha256"]):
        warned.append(
            f"{upload.name} is not the file that the recipe was made with: its contents differ."
        )
    table = {name: own.get(name) for name in OF_THE_FILE}
    patch: dict[str, Any] = {"data": table}
    if "name" in recipe.against:
        warned.append(f"Open {recipe.against['name']} again to compare with it.")
        patch["against"] = None
    return recipe.patched(patch)


def consistent(recipe: "Recipe") -> "Recipe":
    """Return a recipe without settings of columns that are no longer groups."""
    tables = recipe.to_dict()
    groups = set(tables.get("data", {}).get("sensitive", []))
    shown, audit = tables.get("shown", {}), tables.get("audit", {})
    tables["shown"] = {key: word for key, word in shown.items() if _about(key, groups)}
    for name in ("protected", "reference"):
        kept = [text for text in audit.pop(name, []) if _about(text, groups)]
        audit |= {name: kept} if kept else {}
    tables["audit"] = audit
    tables["remedy"] = [one for one in tables.get("remedy", []) if _names(one) <= groups]
    return type(recipe).from_dict(tables)


def _names(remedy: Mapping[str, Any]) -> set[str]:
    """Return the columns of groups that a setting names."""
    by = remedy.get("by", [])
    return {by} if isinstance(by, str) else set(by)


def _about(text: str, groups: set[str]) -> bool:
    return "=" not in text or any(text.startswith(f"{name}=") for name in groups)


# Changes of a patch beside the tables of a recipe: each changes the plain tables.
def _set_roles(situation: Situation, tables: dict[str, Any], given: Any) -> None:
    data = tables.setdefault("data", {})
    order = situation.columns
    for name, role in given.items() if isinstance(given, Mapping) else ():
        if not isinstance(role, str) or role not in ROLES or role == "ask" or name not in order:
            what = f"the column {name!r}" if name not in order else f"the role {role!r}"
            raise StudioError("recipe", f"There is no such column or role: {what}.")
        situation.settled.add(name)
        for key in ("query", "id", "score", "position", "relevance"):
            if data.get(key) == name:
                del data[key]
        groups = {each for each in data.get("sensitive", []) if each != name}
        if role == "sensitive":
            groups.add(name)
        data["sensitive"] = [each for each in order if each in groups]
        if not groups:
            del data["sensitive"]
        if role in ("score", "score_lower"):
            data["score"] = name
            data.pop("position", None)
        elif role in ("query", "id", "position", "relevance"):
            data[role] = name
        if role in ("score", "score_lower"):
            data.pop("higher_first", None)
            data |= {"higher_first": False} if role == "score_lower" else {}
    if "score" not in data:
        data.pop("higher_first", None)


def _turn_round(situation: Situation, tables: dict[str, Any], given: Any) -> None:
    if not given:
        return
    data = tables.setdefault("data", {})
    if "position" in data:  # a higher number is then better, as in a score
        data["score"] = data.pop("position")
        data.pop("higher_first", None)
    elif "score" in data:
        turned = not data.pop("higher_first", True)
        data |= {} if turned else {"higher_first": False}
    else:
        raise StudioError("locked", "Name the column of the score or the position.")


def _set_remedy(situation: Situation, tables: dict[str, Any], given: Any) -> None:
    kept = [one for one in tables.get("remedy", []) if one.get("kept")]
    new = [] if given is None else given
    if not isinstance(new, list) or not all(isinstance(one, Mapping) for one in new):
        raise StudioError("recipe", "remedy must be a list of tables, or null.")
    own = [situation.checked(one) for one in new if not one.get("kept")]
    tables["remedy"] = [*own, *kept]


def _keep(situation: Situation, tables: dict[str, Any], given: Any) -> None:
    if not given:
        return
    own = [one for one in tables.get("remedy", []) if not one.get("kept")]
    kept = [one for one in tables.get("remedy", []) if one.get("kept")]
    if not own:
        raise StudioError("locked", NO_REMEDY)
    copy = {**own[0], "kept": True}
    if copy not in kept:
        kept.append(copy)
    tables["remedy"] = [*own, *kept]


def _unkeep(situation: Situation, tables: dict[str, Any], given: Any) -> None:
    own = [one for one in tables.get("remedy", []) if not one.get("kept")]
    kept = [one for one in tables.get("remedy", []) if one.get("kept")]
    if not isinstance(given, int) or not 0 <= given < len(kept):
        raise StudioError("recipe", "There is no such kept setting.")
    tables["remedy"] = [*own, *kept[:given], *kept[given + 1 :]]


def _compare_with(situation: Situation, tables: dict[str, Any], given: Any) -> None:
    if given is None:
        tables.pop("against", None)
        return
    if not isinstance(given, Mapping) or set(given) - {"score", "higher_first"}:
        raise StudioError("recipe", "compare must name a score, or be null.")
    tables["against"] = dict(given)


CHANGES: dict[str, Callable[[Situation, dict[str, Any], Any], None]] = {
    "roles": _set_roles,
    "turn_round": _turn_round,
    "remedy": _set_remedy,
    "keep": _keep,
    "unkeep": _unkeep,
    "compare": _compare_with,
}
