"""The small parts of a picture: dots, text and lines, as SVG.

Colours are mid tones that colour-blind readers can tell apart, on light pages and dark ones, and
each group has its own shape as well; text and axes take the colour of the page's text.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

WIDTH, EDGE, RIGHT = 360, 8, 352
COLOURS = {"": "#1F8F6F", "a": "#D55E00", "b": "#2B7FC3", "either": "#7A7A7A"}


@dataclass(frozen=True)
class Item:
    """One dot: its group, grade and cost, and what is written in it."""

    group: str = ""
    grade: float = 1.0
    cost: float = 1.0
    text: str = ""


def svg_dot(x: float, y: float, size: float, item: Item) -> str:
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
    word = svg_text(x, y + 0.36 * font, item.text, size=font, bold=True, anchor="middle", fill=fill)
    return shape + word


def svg_text(
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


def svg_axis(x1: float, y1: float, x2: float, y2: float) -> str:
    """Draw an axis."""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        'stroke="currentColor" stroke-opacity="0.4"/>'
    )


def svg_moved(inner: str, y: float) -> str:
    """Move a part down."""
    return f'<g transform="translate(0 {y:g})">{inner}</g>'
