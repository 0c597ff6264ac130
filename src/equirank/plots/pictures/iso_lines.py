"""Lines of equal trade-off distance: all points as far from perfect as the best ones."""

from collections.abc import Iterable
from typing import Any

from ..theme import INK, data

__all__ = ["distance_lines", "draw_lines", "line_name"]

#: How far a line reaches beyond the points, as a share of their spread.
REACH = 0.08
DASHES = {"best rival": [7, 4], "best of all": [2, 3]}


def distance_lines(
    rows: list[dict[str, Any]], line: list[dict[str, Any]], x_better: str, y_better: str
) -> list[dict[str, Any]]:
    """Give the lines through the best rival and through the best of all, by their two ends.

    The distance of a point is |1 - x| + |1 - y|, with 0 in place of 1 where lower is better. Rows
    that say nothing of rivals have no lines; without rivals there is only the best of all. Lines
    end a little beyond the points, and never beyond what is perfect.
    """
    if all(row["rival"] is None for row in rows):
        return []
    turn = [1.0 if better == "higher" else -1.0 for better in (x_better, y_better)]
    perfect = [max(sign, 0.0) for sign in turn]

    def upward(row: dict[str, Any]) -> tuple[float, float]:
        return turn[0] * row["x"], turn[1] * row["y"]

    def away(row: dict[str, Any]) -> float:
        u, v = upward(row)
        return abs(perfect[0] - u) + abs(perfect[1] - v)

    (u_low, u_high), (v_low, v_high) = (
        _reach([place[at] for place in map(upward, [*rows, *line])], perfect[at]) for at in (0, 1)
    )
    found: list[dict[str, Any]] = []
    for name, some in (("best rival", [r for r in rows if r["rival"]]), ("best of all", rows)):
        if not some:
            continue
        least = min(away(row) for row in some)
        if found and least == found[0]["distance"]:
            found[0]["name"] = "best of all, a rival"
            continue
        total = sum(perfect) - least  # u + v along the line
        ends = (max(u_low, total - v_high), min(u_high, total - v_low))
        found.append(
            {
                "name": name,
                "distance": least,
                "dash": DASHES[name],
                "ends": [{"x": turn[0] * u, "y": turn[1] * (total - u)} for u in ends],
            }
        )
    return found


def _reach(values: list[float], perfect: float) -> tuple[float, float]:
    low, high = min(values), max(values)
    more = REACH * ((high - low) or 1.0)
    return low - more, max(high, min(high + more, perfect))


def draw_lines(alt: Any, lines: list[dict[str, Any]], axes: dict[str, Any]) -> Iterable[Any]:
    """Draw the lines, named with their distances, the rival's below and the other above."""
    for line in lines:
        yield (
            alt.Chart(data(line["ends"]))
            .mark_line(strokeDash=line["dash"], strokeWidth=1.5, color=INK, opacity=0.75)
            .encode(**axes)
        )
        end, place, text = line_name(line)
        yield (
            alt.Chart(data([end]))
            .mark_text(**place, color=INK, fontStyle="italic")
            .encode(**axes, text=alt.value(text))
        )


def line_name(line: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Give the end of a line at which it is named, where the name stands there, and the name."""
    low, high = sorted(line["ends"], key=lambda end: end["y"])
    text = f"{line['name']}: {line['distance']:.3f}"
    if line["name"] == "best rival":
        return low, {"align": "right", "dx": 0, "dy": 12}, text
    return high, {"align": "left", "dx": 5, "dy": -5}, text
