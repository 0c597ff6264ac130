"""Positions of labels next to points, without overlaps."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .theme import MUTED, data

__all__ = ["PADDING", "Offset", "Sheet", "box", "draw_labels", "label_offsets"]


#: Pixels between the outermost marks and the frame.
PADDING = 24
#: Width of a letter, height of a line, and size of a point, in pixels.
LETTER, LINE, POINT = 6.4, 13.0, 7.0
#: Longest label in pixels.
LIMIT = 160
#: Offsets to try next to a point: right, down, and the alignment of the label.
NEAR = (
    (9, -8, "left"), (-9, -8, "right"), (9, 10, "left"), (-9, 10, "right"),
    (0, -16, "center"), (0, 18, "center"),
)  # fmt: skip
#: Offsets farther away, joined to the point by a line.
FAR = tuple(
    (side * (16 + 4 * step), up * (22 + 16 * step), "left" if side > 0 else "right")
    for step in range(5)
    for up in (-1, 1)
    for side in (1, -1)
)

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Offset:
    """The offset of a label from its point in pixels, and whether a line joins them."""

    dx: float
    dy: float
    align: str
    joined: bool


@dataclass(frozen=True)
class Sheet:
    """The drawing area, which maps numbers to pixels from the upper left."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: int
    height: int

    @classmethod
    def around(cls, rows: Sequence[dict[str, Any]], width: int, height: int) -> "Sheet":
        """Return the area of rows with x, y and the ends of intervals, each a number or None."""

        def span(*keys: str) -> tuple[float, float]:
            values = [row[key] for row in rows for key in keys if row.get(key) is not None]
            return min(values), max(values)

        return cls(span("x", "x_low", "x_high"), span("y", "low", "high"), width, height)

    def at(self, row: dict[str, Any]) -> tuple[float, float]:
        """Return the pixel of a point."""
        across = _share(row["x"], self.x) * (self.width - 2 * PADDING)
        up = _share(row["y"], self.y) * (self.height - 2 * PADDING)
        return PADDING + across, self.height - PADDING - up

    def back(self, across: float, down: float) -> dict[str, float]:
        """Return the point of a pixel."""
        x = (across - PADDING) / (self.width - 2 * PADDING)
        y = (self.height - PADDING - down) / (self.height - 2 * PADDING)
        return {
            "x": self.x[0] + x * ((self.x[1] - self.x[0]) or 1.0),
            "y": self.y[0] + y * ((self.y[1] - self.y[0]) or 1.0),
        }


def _share(value: float, span: tuple[float, float]) -> float:
    return (value - span[0]) / (span[1] - span[0]) if span[1] > span[0] else 0.5


def box(at: tuple[float, float], dx: float, dy: float, align: str, text: str) -> Box:
    """Return left, right, top and bottom of a text next to a pixel."""
    wide = min(LETTER * len(text), LIMIT)
    left = at[0] + dx - {"left": 0.0, "center": wide / 2, "right": wide}[align]
    middle = at[1] + dy
    return left, left + wide, middle - LINE / 2, middle + LINE / 2


def label_offsets(
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    others: Sequence[tuple[float, float]],
    taken: Sequence[Box],
    sheet: Sheet,
) -> list[Offset]:
    """Return an offset for the label of each point, close to it and with little overlap.

    The labels are placed in order: each at the first offset without overlap, else at the one with
    the smallest overlap. A label that would cover another one has the alignment ``""`` and is left
    out; tooltips have all names.

    Parameters
    ----------
    points, texts
        Pixels of the labelled points, and their labels.
    others
        Pixels of all points.
    taken
        Boxes of other texts.
    sheet
        The drawing area, which labels should not leave.

    Examples
    --------
    >>> sheet = Sheet((0.0, 1.0), (0.0, 1.0), 300, 200)
    >>> two = [(100.0, 100.0), (110.0, 100.0)]
    >>> [offset.align for offset in label_offsets(two, ["one", "two"], two, [], sheet)]
    ['right', 'left']
    """
    boxes, found = list(taken), []
    dots = [(x - POINT, x + POINT, y - POINT, y + POINT) for x, y in others]
    none = Offset(0.0, 0.0, "", False)
    for at, text in zip(points, texts, strict=True):
        tried = []
        for joined, offsets in ((False, NEAR), (True, FAR)):
            for dx, dy, align in offsets:
                own = box(at, dx, dy, align, text)
                overlap = sum(_overlap(own, other) for other in [*boxes, *dots])
                tried.append((overlap + _outside(own, sheet), Offset(dx, dy, align, joined), own))
                if tried[-1][0] == 0.0:
                    break
            if tried[-1][0] == 0.0:
                break
        _, offset, own = min(tried, key=lambda each: each[0])
        if any(_overlap(own, other) for other in boxes):
            found.append(none)
            continue
        boxes.append(own)
        found.append(offset)
    return found


def draw_labels(
    alt: Any,
    rows: Sequence[dict[str, Any]],
    sheet: Sheet,
    taken: Sequence[Box],
    axes: dict[str, Any],
) -> Iterable[Any]:
    """Yield the layers that write ``label`` next to each point, with lines to distant labels."""
    named = [row for row in rows if row["label"]]
    at = [sheet.at(row) for row in named]
    texts = [row["label"] for row in named]
    offsets = label_offsets(at, texts, [sheet.at(row) for row in rows], taken, sheet)
    joined = []
    for row, (x, y), offset in zip(named, at, offsets, strict=True):
        if offset.joined:
            end = sheet.back(x + offset.dx, y + offset.dy)
            joined.append({"x": row["x"], "y": row["y"], "x2": end["x"], "y2": end["y"]})
    if joined:
        yield (
            alt.Chart(data(joined))
            .mark_rule(color=MUTED, strokeWidth=0.7)
            .encode(**axes, x2="x2:Q", y2="y2:Q")
        )
    for offset in dict.fromkeys(each for each in offsets if each.align):
        own = [row for row, own in zip(named, offsets, strict=True) if own == offset]
        yield (
            alt.Chart(data(own))
            .mark_text(align=offset.align, dx=offset.dx, dy=offset.dy, limit=LIMIT)
            .encode(**axes, text="label:N")
        )


def _overlap(one: Box, other: Box) -> float:
    across = min(one[1], other[1]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[2], other[2])
    return max(across, 0.0) * max(down, 0.0)


def _outside(own: Box, sheet: Sheet) -> float:
    left, right, top, bottom = own
    over = max(-left, 0.0) + max(right - sheet.width, 0.0)
    return LINE * over + 30.0 * (max(-top, 0.0) + max(bottom - sheet.height, 0.0))
