"""The chart of a causal DAG with effects on its edges."""

from math import atan2, degrees
from typing import Any

from ..core.docstrings import describe_as
from ..core.environment import require
from ..core.errors import DataError
from .theme import BETTER, FOCUS, INK, MUTED, SIZED

__all__ = ["causal_dag"]


#: Pixels between the middle of a node and the end of an edge.
_CLEAR = 24.0

_COLOURS = {
    "protected": FOCUS, "mediator": "#b58900", "resolving": BETTER, "given": MUTED, "score": INK,
}  # fmt: skip
_WORDS = {
    "protected": "protected",
    "mediator": "mediator",
    "resolving": "resolving mediator",
    "given": "without causes",
    "score": "score",
}


@describe_as(SIZED, sections=("Returns",))
def causal_dag(
    effects: Any, *, digits: int = 2, title: str | None = None, width: int = 720, height: int = 420
) -> Any:
    """Draw a DAG from left to right, with the effect and interval of each edge.

    Vermilion edges start at a protected attribute; teal nodes are resolving mediators, whose
    effects are accepted. Edges from a protected attribute compare each group with the reference;
    other edges show the change of the effect per unit of the cause. An edge is dashed if its
    interval includes 0.

    Parameters
    ----------
    effects : CausalEffects
        The result of `CausalFairScores.effects`.
    digits : int, default=2
        Decimals of the effects.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank.plots import causal_dag
    >>> from equirank.preprocess import CausalFairScores
    >>> X = {"sex": ["f", "m"] * 20, "points": np.arange(40.0)}
    >>> model = CausalFairScores([("sex", "points")], reference="m").fit(X)
    >>> chart = causal_dag(model.effects(X, n_boot=10))
    >>> len(chart.to_dict()["layer"])
    5
    """
    if not (hasattr(effects, "edges") and hasattr(effects, "nodes")):
        raise DataError(
            f"effects must be the result of CausalFairScores.effects, got {type(effects).__name__}"
        )
    alt = require("altair", "report")
    nodes = _placed(effects.nodes)
    edges = _lines(effects.edges, nodes, digits, width, height)
    box = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("x:Q", scale=box, axis=None)
    y = alt.Y("y:Q", scale=box, axis=None)
    hue = alt.Color("kind:N", legend=None).scale(
        domain=["protected", "other"], range=[_COLOURS["protected"], MUTED]
    )
    lines = (
        alt.Chart(alt.Data(values=edges))
        .mark_rule(strokeWidth=2)
        .encode(
            x=x,
            y=y,
            x2="x2:Q",
            y2="y2:Q",
            color=hue,
            strokeDash=alt.StrokeDash("certain:N", legend=None).scale(
                domain=[True, False], range=[[1, 0], [6, 4]]
            ),
        )
    )
    heads = (
        alt.Chart(alt.Data(values=edges))
        .mark_point(shape="triangle", filled=True, size=130, opacity=1)
        .encode(
            x=alt.X("x2:Q", scale=box, axis=None),
            y=alt.Y("y2:Q", scale=box, axis=None),
            angle=alt.Angle("turn:Q", scale=alt.Scale(domain=[0, 360], range=[0, 360])),
            color=hue,
        )
    )
    labels = _labels(edges, nodes, width, height)
    words = (
        alt.Chart(alt.Data(values=labels))
        .mark_text(fontSize=11, baseline="middle", stroke="white", strokeWidth=4, dy=0)
        .encode(x=x, y=y, text="label:N")
    )
    front = (
        alt.Chart(alt.Data(values=labels))
        .mark_text(fontSize=11, baseline="middle")
        .encode(x=x, y=y, text="label:N", color=hue)
    )
    return alt.layer(lines, heads, words, front, _names(alt, nodes, x, y)).properties(
        width=width, height=height, title=title or "Effects along the edges"
    )


def _placed(table: Any) -> dict[str, dict[str, Any]]:
    """Return the positions of nodes: layers from left to right, evenly spaced vertically."""
    rows = list(table)
    deepest = max(1, max(row["layer"] for row in rows))
    placed = {}
    for row in rows:
        size = sum(other["layer"] == row["layer"] for other in rows)
        if size > 1:
            reach = 0.34 if row["layer"] in (0, deepest) else 0.4
            y = 0.5 - 2 * reach * row["place"] / (size - 1)
        else:  # a single node: centred in the outer layers, away from the edges in inner ones
            y = 0.5 if row["layer"] in (0, deepest) else 0.88 if row["layer"] % 2 else 0.12
        x = 0.08 + 0.84 * row["layer"] / deepest
        placed[row["node"]] = {"node": row["node"], "role": row["role"], "x": x, "y": y}
    return placed


def _lines(
    table: Any, nodes: dict[str, dict[str, Any]], digits: int, width: int, height: int
) -> list[dict[str, Any]]:
    """Return one row per edge: its ends, shortened at the nodes, and its label."""
    edges: dict[tuple[str, str], dict[str, Any]] = {}
    for row in table:
        begin, end = nodes[row["cause"]], nodes[row["effect"]]
        across, up = end["x"] - begin["x"], end["y"] - begin["y"]
        length = ((across * width) ** 2 + (up * height) ** 2) ** 0.5
        edge = edges.setdefault(
            (row["cause"], row["effect"]),
            {
                "x": begin["x"] + _CLEAR / length * across,
                "y": begin["y"] + _CLEAR / length * up,
                "x2": end["x"] - _CLEAR / length * across,
                "y2": end["y"] - _CLEAR / length * up,
                "turn": (90 - degrees(atan2(up * height, across * width))) % 360,
                "kind": "protected" if begin["role"] == "protected" else "other",
                "certain": False,
                "text": [],
            },
        )
        low, high = row["low"], row["high"]
        known = low == low and high == high
        edge["certain"] = bool(edge["certain"] or not known or low > 0 or high < 0)
        text = f"{row['value']:+.{digits}f}"
        text += f" [{low:.{digits}f}, {high:.{digits}f}]" if known else ""
        edge["text"] += [row["change"], text] if edge["kind"] == "protected" else [text]
    return list(edges.values())


def _labels(
    edges: list[dict[str, Any]], nodes: dict[str, dict[str, Any]], width: int, height: int
) -> list[dict[str, Any]]:
    """Return the label of each edge, placed to overlap no other label or node."""
    taken = [(n["x"] * width, n["y"] * height, 44.0, 44.0) for n in nodes.values()]
    labels = []
    for edge in edges:
        wide, tall = 6.2 * max(map(len, edge["text"])), 14.0 * len(edge["text"])
        spots: list[tuple[float, int, float, float]] = []
        for at in (0.5, 0.4, 0.6, 0.32, 0.68, 0.25, 0.75, 0.18, 0.82):
            x = (edge["x"] + at * (edge["x2"] - edge["x"])) * width
            y = (edge["y"] + at * (edge["y2"] - edge["y"])) * height
            covered = sum(
                max(0.0, (wide + w) / 2 - abs(x - u)) * max(0.0, (tall + h) / 2 - abs(y - v))
                for u, v, w, h in taken
            )
            spots.append((covered, len(spots), x, y))
        _, _, x, y = min(spots)
        taken.append((x, y, wide, tall))
        labels.append(
            {"x": x / width, "y": y / height, "label": edge["text"], "kind": edge["kind"]}
        )
    return labels


def _names(alt: Any, nodes: dict[str, dict[str, Any]], x: Any, y: Any) -> Any:
    rows = [
        {**node, "role": _WORDS[node["role"]], "colour": _COLOURS[node["role"]]}
        for node in nodes.values()
    ]
    used = list(dict.fromkeys(row["role"] for row in rows))
    colour = {row["role"]: row["colour"] for row in rows}
    hue = alt.Color("role:N", title=None, legend=alt.Legend(orient="bottom")).scale(
        domain=used, range=[colour[role] for role in used]
    )
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
    dots = base.mark_circle(size=700, opacity=1).encode(color=hue)
    return alt.layer(
        dots, base.mark_text(dy=-22, fontSize=13, fontWeight="bold").encode(text="node:N")
    ).resolve_scale(color="independent")
