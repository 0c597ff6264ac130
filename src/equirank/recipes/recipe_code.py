"""The command line and the Python code that repeat a recipe."""

from collections.abc import Mapping
from typing import Any

from .recipe import Recipe, plain_value
from .recipe_run import PASSED, READING, ROLES

__all__ = ["recipe_code"]


def recipe_code(recipe: Recipe, recipe_name: str = "recipe.toml") -> str:
    """Return the command and a Python script that give the same audit and the same order.

    Examples
    --------
    >>> tables = {"name": "a.csv", "score": "points", "sensitive": ["sex"]}
    >>> print(recipe_code(Recipe.from_dict({"data": tables})))
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
    result = audit(data, title='a.csv', random_state=0)
    result.to_html("report.html")
    <BLANKLINE>
    """
    name = recipe.data.get("name", "data.csv")
    against = f" --against {_word(recipe.against['name'])}" if "name" in recipe.against else ""
    lines = [
        f"# equirank run {_word(recipe_name)} --data {_word(name)}{against} --out result",
        *_left_out(recipe),
        *_imports(recipe),
        "",
        *_reading(recipe, name),
        _audit_line(recipe, name),
        'result.to_html("report.html")',
    ]
    for number, remedy in enumerate(recipe.remedies):
        result = "after" if not remedy.get("kept") else f"kept_{number}"
        lines += [f"{result} = {_call(remedy)}(data.ranking())"]
    return "\n".join(lines) + "\n"


def _left_out(recipe: Recipe) -> list[str]:
    """Name what the command repeats and the script does not."""
    parts = [f"the bands of {name}" for name in recipe.data.get("bands", ())]
    parts += ["the comparison"] if recipe.against else []
    words = "; ".join(parts)
    return [f"# The command repeats all; this script leaves out: {words}."] if parts else []


def _imports(recipe: Recipe) -> list[str]:
    methods = sorted({each["method"] for each in recipe.remedies})
    turned = not recipe.data.get("higher_first", True)
    return [
        *(["from dataclasses import replace", ""] if turned else []),
        "from equirank import audit",
        "from equirank.io import read_file",
        *([f"from equirank.rerankers import {', '.join(methods)}"] if methods else []),
    ]


def _reading(recipe: Recipe, name: str) -> list[str]:
    table = recipe.data
    given: dict[str, Any] = {role: table.get(role, False) for role in ROLES}
    given |= {"cost": False, "sensitive": list(table.get("sensitive", ()))}
    given["missing_sensitive"] = "unknown"
    given |= {key: table[key] for key in READING if key in table}
    for key, argument in (("file_encoding", "encoding"), ("labels", "labels")):
        if key in table:
            given[argument] = table[key]
    for key in ("format", "missing_relevance", "max_groups"):
        if key in table:
            given[key] = table[key]
    outcomes = [recipe.audit[key] for key in ("selected", "quota") if key in recipe.audit]
    outcomes += recipe.audit.get("stages", ())
    if outcomes:
        given["outcomes"] = outcomes
    lines = ["data = read_file(", f"    {name!r},"]
    lines += [f"    {key}={plain_value(value)!r}," for key, value in given.items()]
    lines.append(")")
    if not table.get("higher_first", True):
        lines.append("data = replace(data, score=-data.score)  # lower scores first")
    return lines


def _audit_line(recipe: Recipe, name: str) -> str:
    names = (*PASSED, "k", "selected", "yes", "cutoff", "quota", "stages")
    given = {key: recipe.audit[key] for key in names if key in recipe.audit}
    given = {"title": given.pop("title", name)} | given
    given["random_state"] = recipe.audit.get("seed", 0)
    shown: dict[str, dict[str, str]] = {}
    for key, word in recipe.shown.items():
        attribute, _, group = key.partition("=")
        shown.setdefault(attribute, {})[group] = word
    if shown:
        given["shown"] = shown
    words = ", ".join(f"{key}={plain_value(value)!r}" for key, value in given.items())
    return f"result = audit(data, {words})"


def _call(remedy: Mapping[str, Any]) -> str:
    params = {key: value for key, value in remedy.items() if key not in ("method", "kept")}
    params.setdefault("on_infeasible", "best")
    words = ", ".join(f"{key}={plain_value(value)!r}" for key, value in params.items())
    return f"{remedy['method']}({words})"


def _word(text: str) -> str:
    import shlex

    return shlex.quote(text)
