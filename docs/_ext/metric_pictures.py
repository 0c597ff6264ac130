"""Draw the picture of each metric as SVG, with values that the library computes.

Needs no plotting library; what is drawn stands in ``docs/metric_notes.toml``.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from metric_examples import call, cloud, describe, read_list, row_values, said
from svg_parts import COLOURS, EDGE, RIGHT, WIDTH, Item, svg_axis, svg_dot, svg_moved, svg_text


def draw(name: str, picture: dict[str, Any], better: str = "") -> str:
    """Draw the picture of a metric: SVG with a title and a description for screen readers.

    ``better`` says which values are, in a few words; it stands above them.
    """
    values = row_values(name, picture)
    body = ROWS[picture["kind"]]
    head, y = _head(call(name, picture), better)
    parts = [head]
    if picture["kind"] in ("lists", "windows"):
        places, height = _places(picture)
        parts.append(svg_moved(places, y))
        y += height
    for row, value in zip(picture["rows"], values, strict=True):
        lines = [svg_text(EDGE, 12, row["label"], italic=row.get("blind", False))]
        inner, height = body(picture, row)
        lines.append(svg_moved(inner + _cuts(picture, height), 18))
        middle = 18 + height / 2 + 5
        lines.append(
            svg_text(RIGHT, middle, said(picture, value), size=14, bold=True, anchor="end")
        )
        parts.append(svg_moved("".join(lines), y))
        y += height + 30
    legend, height = _legend(picture)
    parts.append(svg_moved(legend, y))
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


def _list_row(picture: dict[str, Any], row: dict[str, Any]) -> tuple[str, float]:
    """Draw a list from its top (left) to its bottom (right)."""
    items = read_list(row["list"], numbers=picture.get("numbers", False))
    pitch = _pitch(picture)
    radius = 0.4 * pitch
    dots = []
    for at, item in enumerate(items):
        size = radius * (0.55 + 0.15 * min(item.cost, 3)) if ":" in row["list"] else radius
        dots.append(svg_dot(EDGE + pitch * (at + 0.5), radius, size, item))
    return "".join(dots), 2 * radius


def _window_row(picture: dict[str, Any], row: dict[str, Any]) -> tuple[str, float]:
    """Draw the list with the places outside the window faded."""
    pitch, window = _pitch(picture), picture["options"]["window"]
    radius, parts = 0.4 * pitch, []
    for at, item in enumerate(read_list(picture["list"], numbers=picture.get("numbers", False))):
        dot = svg_dot(EDGE + pitch * (at + 0.5), radius, radius, item)
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
            parts.append(svg_dot(left + 19, 14.5 + 25 * at, 10, item))
    return "".join(parts), 25 * len(merit) + 4


def _policy_row(picture: dict[str, Any], row: dict[str, Any]) -> tuple[str, float]:
    """Draw, for each user, how often each item is shown in the one place."""
    parts, wide = [], 150
    for line, chance in enumerate(row["policy"]):
        parts.append(svg_text(EDGE, 13 + 22 * line, f"user {line + 1} sees", size=10, faint=True))
        left = EDGE + 62.0
        for group, share in (("a", chance), ("b", 1 - chance)):
            if share <= 0:
                continue
            width = wide * share
            parts.append(
                f'<rect x="{left + 0.75:.1f}" y="{22 * line}" width="{width - 1.5:.1f}" '
                f'height="18" rx="{4 if group == "b" else 9}" fill="{COLOURS[group]}"/>'
            )
            worth = picture["relevance"][line]["ab".index(group)]
            label = f"{worth:g}" if share < 0.4 else f"worth {worth:g}"
            parts.append(
                svg_text(
                    left + width / 2, 13 + 22 * line, label, size=10, anchor="middle", fill="#fff"
                )
            )
            left += width
    return "".join(parts), 22 * len(row["policy"]) - 4


def _score_row(picture: dict[str, Any], row: dict[str, Any]) -> tuple[str, float]:
    """Draw scores: upward over a feature, or along a line from high to low by group."""
    parts, wide = [], 240
    if "x" in row:
        parts.append(svg_axis(EDGE, 0, EDGE, 54) + svg_axis(EDGE, 54, EDGE + wide, 54))
        span = max(row["x"])
        for x, score in zip(row["x"], row["score"], strict=True):
            left = EDGE + 14 + (wide - 28) * x / span
            parts.append(svg_dot(left, 8 + 38 * (1 - score), 6, Item()))
        return "".join(parts), 56
    parts.append(svg_axis(EDGE, 12, EDGE + wide, 12))
    for group, score in zip(row["groups"].split(), row["score"], strict=True):
        parts.append(svg_dot(EDGE + 12 + (wide - 24) * (1 - score), 12, 9, Item(group)))
        left = EDGE + 12 + (wide - 24) * (1 - score)
        parts.append(svg_text(left, 34, f"{score:g}", size=9, anchor="middle", faint=True))
    return "".join(parts), 34


def _point_row(picture: dict[str, Any], row: dict[str, Any]) -> tuple[str, float]:
    """Draw the points of two groups."""
    parts = [
        f'<rect x="{EDGE}" y="0" width="240" height="66" rx="4" fill="none" '
        'stroke="currentColor" stroke-opacity="0.35"/>'
    ]
    for (x, y), group in zip(*cloud(row), strict=True):
        left = EDGE + 8 + 224 * x / 2.05
        parts.append(svg_dot(left, 6 + 54 * y, 2.6, Item(group)))
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
    """Return the room of one item, the same in all rows of a picture."""
    lists = [row["list"] for row in picture["rows"] if "list" in row] or [picture["list"]]
    return min(28.0, 268 / max(len(text.split()) for text in lists))


def _places(picture: dict[str, Any]) -> tuple[str, float]:
    """Number the places."""
    lists = [row["list"] for row in picture["rows"] if "list" in row] or [picture["list"]]
    longest, pitch = max(len(text.split()) for text in lists), _pitch(picture)
    parts = [
        svg_text(EDGE + pitch * (at + 0.5), 10, str(at + 1), size=9, anchor="middle", faint=True)
        for at in range(longest)
    ]
    return "".join(parts), 18


def _cuts(picture: dict[str, Any], height: float) -> str:
    """Mark the ends of the prefixes that count."""
    pitch = _pitch(picture) if picture.get("cuts") else 0.0
    return "".join(
        f'<line x1="{EDGE + pitch * cut:.1f}" y1="-1" x2="{EDGE + pitch * cut:.1f}" '
        f'y2="{height + 5:.0f}" stroke="currentColor" stroke-width="1.5" stroke-dasharray="3 2"/>'
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
    size = min(11.0, 11.0 * 51 / max(map(len, lines)))
    parts = []
    for at, text in enumerate(lines):
        indent = 6.6 * (len(text) - len(text.lstrip()))
        parts.append(svg_text(EDGE + indent, 14 + 14 * at, text.lstrip(), size=size, mono=True))
    if better:
        parts.append(svg_text(RIGHT, 14 * len(lines), better, size=11, anchor="end", faint=True))
    return "".join(parts), 14.0 * len(lines) + 10


def _legend(picture: dict[str, Any]) -> tuple[str, float]:
    """Explain the signs that the picture uses."""
    lists = [row["list"] for row in picture["rows"] if "list" in row]
    text = " ".join([*lists, picture.get("list", "")])
    grouped = bool(re.search("[ab]", text)) or any("groups" in row for row in picture["rows"])
    entries: list[tuple[str, Item | None]] = []
    if picture["kind"] == "policies":
        words = ["bar: chance to be shown", "worth: relevance"]
        entries = [("item 1", Item("a")), ("item 2", Item("b")), *((word, None) for word in words)]
    elif grouped or picture["kind"] == "points":
        word = "aspect" if picture.get("aspects") else "group"
        entries = [(f"{word} {group.upper()}", Item(group)) for group in "ab"]
    hollow = picture["kind"] == "sequences" and 0 in picture["merit"].values()
    if picture.get("relevance_shown", bool(re.search(r"\d", text)) or hollow):
        group = "either" if grouped else ""
        worth, none = picture.get("worth", ["relevant", "not relevant"])
        entries.append((worth, Item(group)))
        entries.append((none, Item(group, 0.0)))
    entries += [(word, None) for word in picture.get("legend", [])]
    parts, x, y = [], float(EDGE), 12.0
    for word, item in entries:
        width = 5.7 * len(word) + (18 if item else 0) + 14
        if x > EDGE and x + width > RIGHT + 14:
            x, y = float(EDGE), y + 18
        if item:
            parts.append(svg_dot(x + 6, y - 4, 6, item))
        parts.append(svg_text(x + (18 if item else 0), y, word, size=11, faint=True))
        x += width
    return "".join(parts), (y + 8 if entries else 0.0)
