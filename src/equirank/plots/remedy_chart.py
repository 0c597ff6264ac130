"""The picture of remedies: what is reached against quality, with random orders for comparison."""

from collections.abc import Iterable
from typing import Any

from ..core.docstrings import describe_as
from ..core.errors import DataError
from .label_layout import Sheet, box, draw_labels
from .theme import INK, METHOD, MUTED, altair, data, dress, shorten
from .tradeoff_chart import axis, interval_rules, tradeoff

__all__ = ["remedies"]

#: Shape and colour of the points.
MARKS = {
    "does not use groups": ("circle", METHOD),
    "uses groups": ("triangle-up", METHOD),
    "as ranked now": ("diamond", INK),
}
#: Dashes of the lines of random orders.
DASHES = ([6, 4], [2, 3])
#: Most labels next to points; tooltips always contain the names.
MOST_LABELS = 16


@describe_as(tradeoff, sections=("Returns",))
def remedies(result: Any, *, title: str | None = None, width: int = 560, height: int = 380) -> Any:
    """Draw the remedies of a target: its value against quality, with intervals.

    A remedy that uses groups to decide is a triangle, one that does not a circle; hollow points do
    not reach the target. The lines show random mixtures and noise in the scores: a remedy below
    them has no advantage over chance. The vertical rule is the target.

    Parameters
    ----------
    result : Remedies
        The result of `equirank.remedy`, with known quality.
    title : str, optional
        The title; by default it names quality and target.

    Examples
    --------
    >>> from equirank import plots, remedy
    >>> scores, sex = [8, 7, 6, 5, 4, 3, 2, 1], list("mmmmffff")
    >>> found = remedy(score=scores, sensitive={"sex": sex}, target="sex=f selected at 4 >= 0.8")
    >>> plots.remedies(found).to_dict()["title"]["text"]
    'NDCG@4 by score against sex=f selected at 4'
    """
    picture = result.picture()
    rows, lines, x, y = (picture[key] for key in ("points", "lines", "x", "y"))
    if not y or not rows:
        raise DataError("remedies must have a known quality to be drawn, got none")
    alt = altair()
    axes = {
        "x": axis(alt.X, "x", x, picture["x_better"]),
        "y": axis(alt.Y, "y", y, "higher"),
    }
    layers = [
        alt.Chart(data([{"x": picture["limit"]}]))
        .mark_rule(color=MUTED, strokeWidth=1.5, opacity=0.6)
        .encode(x=axes["x"])
    ]
    ends = []
    for line, dash in zip(lines, DASHES, strict=False):
        layers += _line(alt, line, dash, axes)
        ends.append(_name_of_line(line))
    hue = _marks(alt, rows)
    layers += interval_rules(alt, rows, axes, {"color": hue["color"]})
    tips = [
        alt.Tooltip("name:N", title="remedy"),
        alt.Tooltip("mark:N", title="groups"),
        alt.Tooltip("x:Q", title=shorten(x), format=".4~f"),
        alt.Tooltip("y:Q", title=shorten(y), format=".4~f"),
    ]
    layers += [
        alt.Chart(data(row for row in rows if row["reached"] is filled))
        .mark_point(filled=filled, size=95, strokeWidth=2, opacity=1)
        .encode(**axes, **hue, tooltip=tips)
        for filled in (False, True)
        if any(row["reached"] is filled for row in rows)
    ]
    if sum(bool(row["label"]) for row in rows) <= MOST_LABELS:
        everything = [*rows, *(point for line in lines for point in line["points"])]
        sheet = Sheet.around([*everything, {"x": picture["limit"]}], width, height)
        taken = [box(sheet.at(at), **offset, text=text) for at, offset, text in ends]
        layers += draw_labels(alt, rows, sheet, taken, axes)
    reading = [
        "Triangles use groups to decide, circles do not; hollow points miss the target.",
        "Dashed: mixtures with a random order; dotted: noise added to the scores.",
    ]
    return dress(
        alt.layer(*layers).properties(width=width, height=height),
        title or f"{shorten(y, 45)} against {shorten(x, 45)}",
        f"{len(rows)} points: {shorten(x)} to the right, {shorten(y)} upwards, the target as a "
        "vertical rule, and lines of random mixtures and of score noise.",
        reading,
    )


def _marks(alt: Any, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the scales of shape and colour."""
    domain = [mark for mark in MARKS if any(row["mark"] == mark for row in rows)]
    shapes, hues = zip(*(MARKS[mark] for mark in domain), strict=True)
    return {
        "shape": alt.Shape("mark:N", title=None).scale(domain=domain, range=list(shapes)),
        "color": alt.Color("mark:N", title=None).scale(domain=domain, range=list(hues)),
    }


def _line(alt: Any, line: dict[str, Any], dash: list[int], axes: dict[str, Any]) -> Iterable[Any]:
    points = [point | {"step": step} for step, point in enumerate(line["points"])]
    yield (
        alt.Chart(data(points))
        .mark_line(strokeDash=dash, strokeWidth=1.5, color=MUTED)
        .encode(**axes, order=alt.Order("step:Q"))
    )
    at, offset, text = _name_of_line(line)
    yield (
        alt.Chart(data([at]))
        .mark_text(**offset, color=MUTED, fontStyle="italic")
        .encode(**axes, text=alt.value(text))
    )


def _name_of_line(line: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Return the point of a line's name, its offset and the name."""
    points = line["points"]
    middle = points[len(points) // 2]
    below = line["name"] != "random mixture"
    return middle, {"align": "left", "dx": 8, "dy": 12 if below else -10}, line["name"]
