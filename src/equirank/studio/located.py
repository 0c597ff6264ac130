"""Refusals with their place: the column and the row that a message names, and ways out."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .answers import Action, StudioError, Upload, Where
from .uploads import caught, column_roles

if TYPE_CHECKING:
    from ..recipes.recipe import Recipe

__all__ = ["located"]

_COLUMN = re.compile(r"\('([^']+)'\)|column '([^']+)'|attribute '([^']+)'")
_ROW = re.compile(r"\b(?:line|row) (\d+)")


def located(
    work: Callable[[], Any], told: list[str], recipe: "Recipe", upload: Upload | None
) -> Any:
    """Return what some work returns; its errors become refusals with place and ways out."""
    try:
        return caught(work, told)
    except StudioError as error:
        actions = [] if upload is None else _actions(error.message, recipe, upload)
        raise StudioError(error.kind, error.message, _where(error.message), actions) from None


def _where(message: str) -> Where:
    """Return the column and the row that a message names."""
    found: Where = {}
    column, row = _COLUMN.search(message), _ROW.search(message)
    if column is not None:
        found["column"] = next(part for part in column.groups() if part)
    if row is not None:
        found["row"] = int(row[1])
    return found


def _actions(message: str, recipe: "Recipe", upload: Upload) -> list[Action]:
    column = _where(message).get("column")
    found: list[Action] = []
    if "relevance" in message and "missing" in message:
        patch: dict[str, Any] = {"data": {"missing_relevance": "irrelevant"}}
        found.append({"label": "Count a missing relevance as 0", "patch": patch})
    known = {each["name"] for each in upload.facts["columns"]}
    if column in known and column in column_roles(recipe.data):
        patch = {"roles": {column: "unused"}}
        found.append({"label": f"Do not use {column}", "patch": patch})
    return found
