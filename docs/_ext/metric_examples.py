"""The examples of a metric's picture, and what the library says of each.

They stand in ``docs/metric_notes.toml``, under ``picture``: each row is one list, policy or set of
points, from best to worst, and the metric's function is called on it.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from metric_notes import function_of
from svg_parts import Item

TOKEN = re.compile(r"^(?P<group>[ab]?)(?P<number>\d*\.?\d*)(:(?P<cost>\d+))?$")


def read_list(text: str, *, numbers: bool) -> list[Item]:
    """Read a list: ``a1`` is a relevant item of group a, ``3:2`` has grade 3 and cost 2."""
    items = []
    for word in text.split():
        found = TOKEN.match(word)
        if found is None:
            raise ValueError(f"a list holds items such as a, b1, 3 or 2:5, got {word!r}")
        grade = float(found["number"]) if found["number"] else 1.0
        shown = found["number"] if numbers and grade > 0 else ""
        items.append(Item(found["group"], grade, float(found["cost"] or 1), shown))
    return items


def row_values(name: str, picture: dict[str, Any]) -> list[Any]:
    """Return what the metric's function returns for each row of its picture."""
    function = function_of(name)
    if picture["kind"] == "windows":
        return _window_values(function, picture)
    takes = inspect.signature(function).parameters
    found = []
    for row in picture["rows"]:
        given = {key: value for key, value in _inputs(picture, row).items() if key in takes}
        found.append(function(**given, **picture.get("options", {})))
    return found


def _inputs(picture: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """Name everything a row says, as the functions call it."""
    kind = picture["kind"]
    if kind == "lists":
        items = read_list(row["list"], numbers=False)
        given: dict[str, Any] = {
            "y_true": [item.grade for item in items],
            "y_score": list(range(len(items), 0, -1)),
            "sensitive_features": [item.group for item in items],
        }
        if picture.get("aspects"):
            given["X"] = [
                [float(item.group == t and item.grade > 0) for t in "ab"] for item in items
            ]
        costs = [item.cost for item in items]
        return given | ({"cost": costs} if ":" in row["list"] else {})
    if kind == "sequences":
        merit = picture["merit"]
        orders = [ranking.split() for ranking in row["lists"]]
        scores = [[len(merit) - order.index(who) for who in merit] for order in orders]
        return {
            "y_true": list(merit.values()),
            "rankings": scores,
            "first": scores[0],
            "second": scores[-1],
            "ranking": scores[0],
            "merit": list(zip(*scores[1:], strict=True)),
        }
    if kind == "policies":
        policy = [[[chance], [1 - chance]] for chance in row["policy"]]
        others = [[[[p], [1 - p]] for p in other] for other in picture.get("others", [])]
        return {
            "relevance": picture["relevance"],
            "policy": policy,
            "others": others,
            "attention": [1.0],
        }
    if kind == "scores":
        return {
            "y_score": row["score"],
            "X": [[x] for x in row.get("x", [])],
            "sensitive_features": row.get("groups", "").split(),
        }
    points, groups = cloud(row)
    return {"Z": points, "sensitive_features": groups}


def _window_values(function: Any, picture: dict[str, Any]) -> list[Any]:
    items = read_list(picture["list"], numbers=False)
    table = function(
        y_true=[item.grade for item in items],
        y_score=list(range(len(items), 0, -1)),
        sensitive_features=[item.group for item in items],
        **picture["options"],
    )
    value = dict(zip(table["first"].tolist(), table["value"].tolist(), strict=True))
    return [value[row["first"]] for row in picture["rows"]]


def cloud(row: dict[str, Any], n: int = 120) -> tuple[list[list[float]], list[str]]:
    """Scatter points evenly: group a moved to the right by ``shift``, or both in ``stripes``."""
    points, groups = [], []
    for at in range(n):
        x, y = (0.5 + at * 0.7548776662) % 1, (0.5 + at * 0.5698402910) % 1
        stripes = row.get("stripes", 0)
        group = "ab"[int(x * stripes) % 2] if stripes else "ab"[at % 2]
        left = 2 * x if stripes else x + (row["shift"] if group == "a" else 0.0)
        points.append([left, y])
        groups.append(group)
    return points, groups


def shown(value: Any, digits: int = 2) -> str:
    """Write a value as it stands in the picture."""
    if hasattr(value, "first_failing_prefix"):
        failing = value.first_failing_prefix
        return "passes" if value.passed else f"fails at {failing}"
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return ", ".join(shown(part, digits) for part in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "\N{MINUS SIGN}")
    return str(value)


def said(picture: dict[str, Any], value: Any) -> str:
    """Write a value with as many digits as the picture asks for."""
    return shown(value, picture.get("digits", 2))


def describe(name: str, picture: dict[str, Any], values: list[Any]) -> str:
    """Say in words what the picture shows."""
    order = ", from best to worst" if picture.get("ordered", True) else ""
    parts = [f"{call(name, picture)}{order}."]
    for row, value in zip(picture["rows"], values, strict=True):
        parts.append(f"{row['label']}: {_words(picture, row)}: {said(picture, value)}.")
    return " ".join(parts)


def _words(picture: dict[str, Any], row: dict[str, Any]) -> str:
    """Say in words what one row shows."""
    kind = picture["kind"]
    if kind == "lists":
        return "top to bottom " + row["list"].upper()
    if kind == "windows":
        return f"of the list {picture['list'].upper()}"
    if kind == "sequences":
        return "; then ".join(row["lists"]).upper()
    if kind == "policies":
        return "; ".join(
            f"user {at} sees item 1 with chance {p:g} and item 2 with chance {1 - p:g}"
            for at, p in enumerate(row["policy"], 1)
        )
    if kind == "scores":
        named = row.get("groups", "").upper().split() or [f"at {x:g}" for x in row["x"]]
        pairs = zip(named, row["score"], strict=True)
        return "scores " + ", ".join(f"{who} {score:g}" for who, score in pairs)
    if "stripes" in row:
        return f"the groups in {row['stripes']} stripes"
    return f"points of group A moved {row['shift']:g} of the width of group B"


def call(name: str, picture: dict[str, Any]) -> str:
    options = picture.get("options", {})
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in options.items())})"
