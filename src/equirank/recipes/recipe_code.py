"""The command line and the Python code that repeat a recipe."""

from collections.abc import Mapping
from typing import Any

from .recipe import Recipe, plain_value
from .recipe_run import NOT_AFTER, PASSED, READING, ROLES, RecipeRun, by_decisions, remedy_title
from .toml_text import shell_line

__all__ = ["recipe_code"]

#: The first line; without it a name in the second one could state another encoding of the file.
CODING = "# coding: utf-8"
#: Options of who is selected.
DECIDED = ("k", "selected", "yes", "cutoff", "quota", "stages")


def recipe_code(recipe: Recipe, recipe_name: str = "recipe.toml") -> str:
    """Return the command and a Python script that give the same numbers and the same orders.

    Examples
    --------
    >>> tables = {"name": "a.csv", "score": "points", "sensitive": ["sex"]}
    >>> print(recipe_code(Recipe.from_dict({"data": tables})))
    # coding: utf-8
    # equirank run recipe.toml --data a.csv --out result
    from equirank import audit
    from equirank.io import read_file
    <BLANKLINE>
    data = read_file(
        'a.csv',
        query=False,
        score='points',
        position=False,
        relevance=False,
        id=False,
        cost=False,
        sensitive=['sex'],
        missing_sensitive='unknown',
    )
    result = audit(
        data,
        title='a.csv',
        random_state=0,
    )
    result.to_html("report.html")
    <BLANKLINE>
    """
    name, other = recipe.data.get("name", "data.csv"), recipe.against.get("name")
    against = ("--against", other) if other else ()
    settings = _settings(recipe)
    lines = [
        CODING,
        "# "
        + shell_line("equirank", "run", recipe_name, "--data", name, *against, "--out", "result"),
        *_imports(recipe),
        "",
        *_reading("data", recipe, recipe.data, name),
        *_compared(recipe, name),
        *_audit("result", "data", {"title": name} | settings | _against(recipe)),
        'result.to_html("report.html")',
    ]
    kept = 0
    for remedy in recipe.remedies:
        kept += bool(remedy.get("kept"))
        result = f"kept_{kept}" if remedy.get("kept") else "after"
        lines += _call(result, remedy)
        if result == "after":
            more = {"title": remedy_title(settings.get("title", name), remedy)}
            more |= {"against": _Code("after.before"), "against_title": name}
            own = {key: value for key, value in settings.items() if key not in NOT_AFTER}
            if by_decisions(RecipeRun(recipe, name).rule):
                own = {key: value for key, value in own.items() if key not in DECIDED}
                own["k"] = RecipeRun(recipe, name).k
            lines += _audit("after_result", "after.with_everyone()", own | more)
            lines.append('after_result.to_html("remedy-report.html")')
    return "\n".join(lines) + "\n"


class _Code(str):
    """Code that stands as it is, not a text."""

    def __repr__(self) -> str:
        return str(self)


def _imports(recipe: Recipe) -> list[str]:
    methods = sorted({each["method"] for each in recipe.remedies})
    lowest = [t for t in (recipe.data, recipe.against) if not t.get("higher_first", True)]
    by_row = _paired_by_row(recipe)
    return [
        *(["from dataclasses import replace", ""] if lowest or by_row else []),
        "from equirank import audit",
        "from equirank.io import read_file",
        *([f"from equirank.rerankers import {', '.join(methods)}"] if methods else []),
    ]


def _reading(variable: str, recipe: Recipe, table: Mapping[str, Any], name: str) -> list[str]:
    groups = list(table.get("sensitive", ()))
    given: dict[str, Any] = {role: table.get(role, False) for role in ROLES}
    given |= {"cost": False, "sensitive": groups, "missing_sensitive": "unknown"}
    given |= {key: table[key] for key in READING if key in table}
    if "file_encoding" in table:
        given["encoding"] = table["file_encoding"]
    for key in ("labels", "bands"):
        known = {each: table[key][each] for each in groups if each in table.get(key, {})}
        given |= {key: known} if known else {}
    for key in ("format", "missing_relevance", "max_groups"):
        if key in table:
            given[key] = table[key]
    outcomes = [recipe.audit[key] for key in ("selected", "quota") if key in recipe.audit]
    outcomes += recipe.audit.get("stages", ())
    if outcomes:
        given["outcomes"] = outcomes
    lines = [f"{variable} = read_file(", f"    {name!r},", *_arguments(given), ")"]
    if not table.get("higher_first", True):
        turned = f"replace({variable}, score=-{variable}.score)"
        lines.append(f"{variable} = {turned}  # lower scores first")
    return lines


def _compared(recipe: Recipe, name: str) -> list[str]:
    """Return the lines that read the ranking compared with."""
    if not recipe.against:
        return []
    table = RecipeRun(recipe, name).other_table()
    lines = _reading("other", recipe, table, recipe.against.get("name", name))
    if _paired_by_row(recipe):
        same = "replace(other, offsets=data.offsets, qids=data.qids)"
        lines.append(f"other = {same}  # people are paired by row")
    return lines


def _paired_by_row(recipe: Recipe) -> bool:
    return bool(recipe.against) and "name" not in recipe.against and "id" not in recipe.data


def _against(recipe: Recipe) -> dict[str, Any]:
    if not recipe.against:
        return {}
    return {"against": _Code("other"), "against_title": RecipeRun(recipe, "").other_title}


def _settings(recipe: Recipe) -> dict[str, Any]:
    given = {key: recipe.audit[key] for key in (*PASSED, *DECIDED) if key in recipe.audit}
    given["random_state"] = recipe.audit.get("seed", 0)
    shown: dict[str, dict[str, str]] = {}
    for key, word in recipe.shown.items():
        known = [each for each in recipe.data.get("sensitive", ()) if key.startswith(f"{each}=")]
        attribute = max(known, key=len) if known else key.partition("=")[0]
        shown.setdefault(attribute, {})[key[len(attribute) + 1 :]] = word
    return given | ({"shown": shown} if shown else {})


def _audit(variable: str, data: str, settings: Mapping[str, Any]) -> list[str]:
    return [f"{variable} = audit(", f"    {data},", *_arguments(settings), ")"]


def _arguments(values: Mapping[str, Any]) -> list[str]:
    return [f"    {key}={plain_value(value)!r}," for key, value in values.items()]


def _call(variable: str, remedy: Mapping[str, Any]) -> list[str]:
    params = {key: value for key, value in remedy.items() if key not in ("method", "kept")}
    params.setdefault("on_infeasible", "best")
    words = ", ".join(f"{key}={plain_value(value)!r}" for key, value in params.items())
    return [f"{variable} = {remedy['method']}({words})(data.ranking())"]
