"""Draw the picture of each metric as SVG, with values that the library computes.

What is drawn stands in ``docs/metric_notes.toml``, under ``picture``; each row of a picture is one
list, policy or set of points, from best to worst, and the metric's function is called on it.
Colours are mid tones that are told apart by colour-blind readers and on light and dark pages, and
each group also has its own shape. Needs no plotting library.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from html import escape
from typing import Any

from equirank import metrics

WIDTH, EDGE, RIGHT = 360, 8, 352
COLOURS = {"": "#1F8F6F", "a": "#D55E00", "b": "#2B7FC3", "either": "#7A7A7A"}
TOKEN = re.compile(r"^(?P<group>[ab]?)(?P<number>\d*\.?\d*)(:(?P<cost>\d+))?$")
GROUPS = {"a": "group A", "b": "group B"}


@dataclass(frozen=True)
class Item:
    """One dot: its group, grade and cost, and what is written in it."""

    group: str = ""
    grade: float = 1.0
    cost: float = 1.0
    text: str = ""


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


# ---------------------------------------------------------------- what the library says of a row


def row_values(name: str, picture: dict[str, Any]) -> list[Any]:
    """Give what the metric's function returns for each row of its picture."""
    function = getattr(metrics, name)
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
        costs = [item.cost for item in items]
        return given | ({"cost": costs} if ":" in row["list"] else {})
    if kind == "sequences":
        merit = picture["merit"]
        orders = [ranking.split() for ranking in row["lists"]]
        scores = [[len(merit) - order.index(who) for who in merit] for order in orders]
        return {"y_true": list(merit.values()), "rankings": scores}
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


def _value(picture: dict[str, Any], value: Any) -> str:
    return shown(value, picture.get("digits", 2))


# ---------------------------------------------------------------------------------- the drawing


def draw(name: str, picture: dict[str, Any], better: str = "") -> str:
    """Draw the picture of a metric: SVG with a title and a description for screen readers.

    ``better`` says which values are, in a few words; it stands above them.
    """
    values = row_values(name, picture)
    body = ROWS[picture["kind"]]
    head, y = _head(_call(name, picture), better)
    parts = [head]
    if picture["kind"] in ("lists", "windows"):
        places, height = _places(picture)
        parts.append(_group(places, y))
        y += height
    for row, value in zip(picture["rows"], values, strict=True):
        lines = [_text(EDGE, 12, row["label"], italic=row.get("blind", False))]
        inner, height = body(picture, row)
        lines.append(_group(inner + _cuts(picture, height), 18))
        middle = 18 + height / 2 + 5
        lines.append(_text(RIGHT, middle, _value(picture, value), size=14, bold=True, anchor="end"))
        parts.append(_group("".join(lines), y))
        y += height + 30
    legend, height = _legend(picture)
    parts.append(_group(legend, y))
    ids = f"picture-{name.replace('_', '-')}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + height:.0f}" '
        f'role="img" aria-labelledby="{ids}-title {ids}-desc" '
        'style="width:100%;max-width:34rem;height:auto" '
        'font-family="system-ui, sans-serif">\n'
        f'<title id="{ids}-title">{escape(name)} of a few examples</title>\n'
        f'<desc id="{ids}-desc">{escape(describe(name, picture, values))}</desc>\n'
        + "\n".join(part for part in parts if part)
        + "\n</svg>\n"
    )


def describe(name: str, picture: dict[str, Any], values: list[Any]) -> str:
    """Say in words what the picture shows."""
    said = [f"{_call(name, picture)}, from best to worst."]
    for row, value in zip(picture["rows"], values, strict=True):
        said.append(f"{row['label']}: {_words(picture, row)}: {_value(picture, value)}.")
    return " ".join(said)


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


def _call(name: str, picture: dict[str, Any]) -> str:
    options = picture.get("options", {})
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in options.items())})"


def _list_row(picture: dict[str, Any], row: dict[str, Any]) -> tuple[str, float]:
    """Draw a list from its top (left) to its bottom (right)."""
    items = read_list(row["list"], numbers=picture.get("numbers", False))
    pitch = _pitch(picture)
    radius = 0.4 * pitch
    dots = []
    for at, item in enumerate(items):
        size = radius * (0.55 + 0.15 * min(item.cost, 3)) if ":" in row["list"] else radius
        dots.append(_dot(EDGE + pitch * (at + 0.5), radius, size, item))
    return "".join(dots), 2 * radius


def _window_row(picture: dict[str, Any], row: dict[str, Any]) -> tuple[str, float]:
    """Draw the list with the places outside the window faded."""
    pitch, window = _pitch(picture), picture["options"]["window"]
    radius, parts = 0.4 * pitch, []
    for at, item in enumerate(read_list(picture["list"], numbers=picture.get("numbers", False))):
        dot = _dot(EDGE + pitch * (at + 0.5), radius, radius, item)
        inside = row["first"] <= at + 1 < row["first"] + window
        parts.append(dot if inside else f'<g opacity="0.25">{dot}</g>')
    left = EDGE + pitch * (row["first"] - 1)
    parts.append(
        f'<rect x="{left:.1f}" y="-3" width="{pitch * window:.1f}" height="{2 * radius + 6:.1f}" '
        'rx="5" fill="none" stroke="currentColor" stroke-opacity="0.6"/>'
    )
    return "".join(parts), 2 * radius


def _sequence_row(picture: dict[str, Any], row: dict[str, Any]) -> tuple[str, float]:
    """Draw several rankings side by side, each from its top down."""
    parts, merit = [], picture["merit"]
    for time, ranking in enumerate(row["lists"]):
        left = EDGE + 46 * time
        parts.append(
            f'<rect x="{left}" y="0" width="38" height="{25 * len(merit) + 4}" rx="5" fill="none" '
            'stroke="currentColor" stroke-opacity="0.35"/>'
        )
        for at, who in enumerate(ranking.split()):
            item = Item("", merit[who], 1.0, who.upper())
            parts.append(_dot(left + 19, 14.5 + 25 * at, 10, item))
    return "".join(parts), 25 * len(merit) + 4


def _policy_row(picture: dict[str, Any], row: dict[str, Any]) -> tuple[str, float]:
    """Draw, for each user, how often each item is shown in the one place."""
    parts, wide = [], 150
    for line, chance in enumerate(row["policy"]):
        parts.append(_text(EDGE, 13 + 22 * line, f"user {line + 1} sees", size=10, faint=True))
        left = EDGE + 62.0
        for group, share in (("a", chance), ("b", 1 - chance)):
            if share <= 0:
                continue
            width = wide * share
            parts.append(
                f'<rect x="{left + 0.75:.1f}" y="{22 * line}" width="{width - 1.5:.1f}" height="18" '
                f'rx="{4 if group == "b" else 9}" fill="{COLOURS[group]}"/>'
            )
            worth = picture["relevance"][line]["ab".index(group)]
            label = f"{worth:g}" if share < 0.4 else f"worth {worth:g}"
            parts.append(
                _text(left + width / 2, 13 + 22 * line, label, size=10, anchor="middle", fill="#fff")
            )
            left += width
    return "".join(parts), 22 * len(row["policy"]) - 4


def _score_row(picture: dict[str, Any], row: dict[str, Any]) -> tuple[str, float]:
    """Draw scores: upward over a feature, or along a line from high to low by group."""
    parts, wide = [], 240
    if "x" in row:
        parts.append(_line(EDGE, 0, EDGE, 54) + _line(EDGE, 54, EDGE + wide, 54))
        span = max(row["x"])
        for x, score in zip(row["x"], row["score"], strict=True):
            left = EDGE + 14 + (wide - 28) * x / span
            parts.append(_dot(left, 8 + 38 * (1 - score), 6, Item()))
        return "".join(parts), 56
    parts.append(_line(EDGE, 12, EDGE + wide, 12))
    for group, score in zip(row["groups"].split(), row["score"], strict=True):
        parts.append(_dot(EDGE + 12 + (wide - 24) * (1 - score), 12, 9, Item(group)))
        left = EDGE + 12 + (wide - 24) * (1 - score)
        parts.append(_text(left, 34, f"{score:g}", size=9, anchor="middle", faint=True))
    return "".join(parts), 34


def _point_row(picture: dict[str, Any], row: dict[str, Any]) -> tuple[str, float]:
    """Draw the points of two groups."""
    parts = [
        f'<rect x="{EDGE}" y="0" width="240" height="66" rx="4" fill="none" '
        'stroke="currentColor" stroke-opacity="0.35"/>'
    ]
    for (x, y), group in zip(*cloud(row), strict=True):
        left = EDGE + 8 + 224 * x / 2.05
        parts.append(_dot(left, 6 + 54 * y, 2.6, Item(group)))
    return "".join(parts), 66


ROWS = {
    "lists": _list_row,
    "windows": _window_row,
    "sequences": _sequence_row,
    "policies": _policy_row,
    "scores": _score_row,
    "points": _point_row,
}


# ----------------------------------------------------------------------------------- small parts


def _pitch(picture: dict[str, Any]) -> float:
    """Give the room of one item, the same in all rows of a picture."""
    lists = [row["list"] for row in picture["rows"] if "list" in row] or [picture["list"]]
    return min(28.0, 268 / max(len(text.split()) for text in lists))


def _places(picture: dict[str, Any]) -> tuple[str, float]:
    """Number the places."""
    lists = [row["list"] for row in picture["rows"] if "list" in row] or [picture["list"]]
    longest, pitch = max(len(text.split()) for text in lists), _pitch(picture)
    parts = [
        _text(EDGE + pitch * (at + 0.5), 10, str(at + 1), size=9, anchor="middle", faint=True)
        for at in range(longest)
    ]
    return "".join(parts), 18


def _cuts(picture: dict[str, Any], height: float) -> str:
    """Mark the ends of the prefixes that count."""
    pitch = _pitch(picture) if picture.get("cuts") else 0.0
    return "".join(
        f'<line x1="{EDGE + pitch * cut:.1f}" y1="-4" x2="{EDGE + pitch * cut:.1f}" '
        f'y2="{height + 4:.0f}" stroke="currentColor" stroke-width="1.5" stroke-dasharray="3 2"/>'
        for cut in picture.get("cuts", [])
    )


def _head(call: str, better: str) -> tuple[str, float]:
    """Write the call, broken where it is too long, and which values are better."""
    lines, line = [], ""
    for word in call.replace(", ", ", \0").split("\0"):
        if line and len(line + word) > 50:
            lines.append(line.rstrip())
            line = "    "
        line += word
    lines.append(line)
    if better and len(line) + len(better) > 46:
        lines.append("")
    parts = [
        _text(EDGE + 6.6 * (len(text) - len(text.lstrip())), 14 + 14 * at, text.lstrip(), size=11, mono=True)
        for at, text in enumerate(lines)
        if text
    ]
    if better:
        parts.append(_text(RIGHT, 14 * len(lines), better, size=11, anchor="end", faint=True))
    return "".join(parts), 14.0 * len(lines) + 10


def _dot(x: float, y: float, size: float, item: Item) -> str:
    """Draw an item: filled where it is worth something; a circle, in group b a square."""
    colour = COLOURS[item.group]
    filled = item.grade > 0
    inner = size if filled else size - 1
    style = f'fill="{colour}"' if filled else f'fill="none" stroke="{colour}" stroke-width="2"'
    if item.group == "b":
        side = 1.78 * inner
        shape = (
            f'<rect x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.1f}" '
            f'height="{side:.1f}" rx="{size / 5:.1f}" {style}/>'
        )
    else:
        shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{inner:.1f}" {style}/>'
    if not item.text:
        return shape
    fill = "#fff" if filled else "currentColor"
    font = {1: 11, 2: 10.5}.get(len(item.text), 9)
    word = _text(x, y + 0.36 * font, item.text, size=font, bold=True, anchor="middle", fill=fill)
    return shape + word


def _legend(picture: dict[str, Any]) -> tuple[str, float]:
    """Explain the signs that the picture uses."""
    lists = [row["list"] for row in picture["rows"] if "list" in row]
    text = " ".join([*lists, picture.get("list", "")])
    grouped = bool(re.search("[ab]", text)) or any("groups" in row for row in picture["rows"])
    entries: list[tuple[str, Item | None]] = []
    if picture["kind"] == "policies":
        entries = [("item 1", Item("a")), ("item 2", Item("b"))]
    elif grouped or picture["kind"] == "points":
        entries = [(GROUPS[group], Item(group)) for group in "ab"]
    hollow = picture["kind"] == "sequences" and 0 in picture["merit"].values()
    if picture.get("relevance_shown", bool(re.search(r"\d", text)) or hollow):
        group = "either" if grouped else ""
        worth = picture.get("worth", "relevant")
        entries.append((worth, Item(group)))
        entries.append((f"not {worth}", Item(group, 0.0)))
    entries += [(word, None) for word in picture.get("legend", [])]
    parts, x, y = [], float(EDGE), 12.0
    for word, item in entries:
        width = 5.7 * len(word) + (18 if item else 0) + 14
        if x > EDGE and x + width > RIGHT + 14:
            x, y = float(EDGE), y + 18
        if item:
            parts.append(_dot(x + 6, y - 4, 6, item))
        parts.append(_text(x + (18 if item else 0), y, word, size=11, faint=True))
        x += width
    return "".join(parts), (y + 8 if entries else 0.0)


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: float = 12,
    anchor: str = "start",
    fill: str = "currentColor",
    bold: bool = False,
    italic: bool = False,
    faint: bool = False,
    mono: bool = False,
) -> str:
    """Write a line of text."""
    style = "".join(
        [
            f' text-anchor="{anchor}"' if anchor != "start" else "",
            ' font-weight="600"' if bold else "",
            ' font-style="italic"' if italic else "",
            ' fill-opacity="0.75"' if faint else "",
            ' font-family="ui-monospace, monospace"' if mono else "",
        ]
    )
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{fill}"{style}>'
        f"{escape(text)}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    """Draw an axis."""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        'stroke="currentColor" stroke-opacity="0.4"/>'
    )


def _group(inner: str, y: float) -> str:
    """Move a part down."""
    return f'<g transform="translate(0 {y:g})">{inner}</g>'
