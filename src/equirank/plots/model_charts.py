"""Charts of models: fair scoring weights, margin and sampling bounds, explanations of pairs."""

from collections.abc import Mapping
from math import atan2, cos, pi, sin
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.docstrings import describe_as
from ..core.environment import require
from ..core.errors import DataError
from .theme import (
    BETTER,
    DASHES,
    INK,
    METHOD,
    MUTED,
    SIZED,
    altair,
    colours,
    data,
    dress,
    shorten,
)  # fmt: skip

if TYPE_CHECKING:
    from ..core.pair_explanation import PairExplanation

__all__ = ["fair_angles", "margin_bounds", "pair_explanation", "sampling_error"]


_FAIR, _UNFAIR, _ASKED, _FOUND = BETTER, "#d5dae0", INK, METHOD


@describe_as(SIZED, sections=("Returns",))
def fair_angles(model: Any, *, title: str | None = None, size: int = 340) -> Any:
    """Draw the directions of two weights as a quarter circle, the fair ones in blue.

    The horizontal axis is the weight of the first attribute, the vertical axis that of the second.
    The black line is the requested direction, the red one the nearest fair direction.

    Parameters
    ----------
    model : FairScoringWeights
        Fitted on two columns.
    size : int
        Width and height in pixels.

    Examples
    --------
    >>> from equirank.plots import fair_angles
    >>> from equirank.preprocess import FairScoringWeights, PrefixSharesOracle
    >>> X = [[4.0, 1.0], [3.0, 2.0], [2.0, 3.5], [1.0, 3.0]]
    >>> oracle = PrefixSharesOracle(k=2, low=0.5, protected="b")
    >>> model = FairScoringWeights(oracle, weights=[2, 1])
    >>> chart = fair_angles(model.fit(X, sensitive_features=["a", "a", "b", "b"]))
    >>> chart.to_dict()["title"]["text"]
    'Fair directions: 62.6% of the angles'
    """
    if getattr(model, "intervals_", None) is None or len(model.weights_) != 2:
        raise DataError("model must be a FairScoringWeights fitted on two columns")
    alt = require("altair", "report")
    names = getattr(model, "feature_names_in_", ("first column", "second column"))
    asked = [1.0, 1.0] if model.weights is None else [float(w) for w in model.weights]
    box = alt.Scale(domain=[0, 1.12], nice=False)
    x = alt.X("x:Q", scale=box, title=f"weight of {names[0]}").axis(grid=False, values=[0, 1])
    y = alt.Y("y:Q", scale=box, title=f"weight of {names[1]}").axis(grid=False, values=[0, 1])
    kind = alt.Color("kind:N", title=None).scale(
        domain=["fair", "not fair", "requested", "nearest fair"],
        range=[_FAIR, _UNFAIR, _ASKED, _FOUND],
    )
    kind = kind.legend(orient="bottom", columns=2)
    sectors = [_sector(low, high, "fair") for low, high in model.intervals_.tolist()]
    layers = [
        alt.Chart(alt.Data(values=rows))
        .mark_line(filled=True, strokeWidth=0.5, opacity=1)
        .encode(x=x, y=y, order="step:Q", color=kind)
        for rows in [_sector(0.0, pi / 2, "not fair"), *sectors]
    ]
    for weights, word in ((asked, "requested"), (model.weights_.tolist(), "nearest fair")):
        angle = atan2(weights[1], weights[0])
        ray = [{"x": 0.0, "y": 0.0}, {"x": 1.08 * cos(angle), "y": 1.08 * sin(angle)}]
        layers.append(
            alt.Chart(alt.Data(values=[{**end, "kind": word} for end in ray]))
            .mark_line(strokeWidth=3, strokeDash=[1, 0] if word == "nearest fair" else [6, 4])
            .encode(x=x, y=y, color=kind)
        )
    shown = title or f"Fair directions: {100 * model.fair_share_:.1f}% of the angles"
    apart = f"nearest fair weights {180 / pi * model.angle_:.1f} degrees from those requested"
    return alt.layer(*layers).properties(
        width=size, height=size, title=alt.Title(shown, subtitle=apart)
    )


def _sector(low: float, high: float, word: str) -> list[dict[str, Any]]:
    """Return the outline of a sector, with about one corner per degree."""
    n = max(2, int((high - low) * 60))
    angles = [low + (high - low) * at / n for at in range(n + 1)]
    corners = [(0.0, 0.0), *((cos(angle), sin(angle)) for angle in angles), (0.0, 0.0)]
    return [{"x": x, "y": y, "step": at, "kind": word} for at, (x, y) in enumerate(corners)]


#: Upper end of the axis; bounds above 1 are vacuous.
TOP = 1.25
NEEDED = ("rho", "error", "margin_loss", "bound", "vacuous")


@describe_as(SIZED)
def margin_bounds(
    reports: Any, *, title: str | None = None, width: int = 520, height: int = 300
) -> Any:
    """Draw the margin loss and the generalization bound of a ranker over the margin rho.

    The dotted line is the share of pairs ranked wrongly. In the grey area, from 1 on, a bound is
    vacuous. The lowest bound is marked.

    Parameters
    ----------
    reports : Table or mapping of str to Table
        Results of `equirank.theory.margin_report`, of one ranker or of several by name.

    Returns
    -------
    altair.Chart
        Lines over rho, on a logarithmic axis.

    Examples
    --------
    >>> from equirank.core.table import Table
    >>> from equirank.plots import margin_bounds
    >>> report = Table(
    ...     {"rho": [0.1, 1.0], "error": [0.1, 0.1], "margin_loss": [0.2, 0.8]}
    ...     | {"bound": [0.9, 1.1], "vacuous": [False, True]}
    ... )
    >>> margin_bounds(report).to_dict()["title"]["text"]
    'Margin bounds on unseen pairs'
    """
    alt = altair()
    rows = [row for name, report in _named(reports).items() for row in _rows(name, report)]
    names = list(dict.fromkeys(row["ranker"] for row in rows))
    hue = alt.Color("ranker:N").scale(**colours(names))
    hue = hue.legend(None) if len(names) == 1 else hue
    x = alt.X("rho:Q", title="margin rho").scale(type="log", nice=False)
    y = (
        alt.Y("value:Q", title="share of pairs")
        .scale(domain=[0, TOP], nice=False)
        .axis(format=".0%")
    )
    kinds = ["bound", "margin loss", "error"]
    dash = alt.StrokeDash("kind:N", sort=kinds).scale(
        domain=kinds, range=[list(DASHES[0]), list(DASHES[1]), list(DASHES[2])]
    )
    tips = [
        alt.Tooltip("ranker:N", title="ranker"),
        alt.Tooltip("kind:N", title="line"),
        alt.Tooltip("rho:Q", title="rho", format=".3f"),
        alt.Tooltip("value:Q", title="share", format=".3f"),
    ]
    nothing = alt.Chart(alt.Data(values=[{"low": 1.0, "high": TOP}]))
    layers = [
        nothing.mark_rect(color=MUTED, opacity=0.12).encode(y="low:Q", y2="high:Q"),
        nothing.mark_text(text="vacuous", color=MUTED, align="left", dx=6, dy=12).encode(
            y="high:Q", x=alt.value(0)
        ),
        alt.Chart().mark_line(clip=True).encode(x=x, y=y, color=hue, strokeDash=dash),
        alt.Chart()
        .mark_point(size=140, opacity=0, filled=True, clip=True)
        .encode(x=x, y=y, tooltip=tips),
        alt.Chart()
        .transform_filter("datum.best")
        .mark_point(size=90, filled=True, opacity=1, stroke=INK)
        .encode(x=x, y=y, color=hue, tooltip=tips),
    ]
    chart = alt.layer(*layers, data=data(rows)).properties(width=width, height=height)
    rankers = ", ".join(shorten(name, 40) for name in names)
    return dress(
        chart,
        title or "Margin bounds on unseen pairs",
        "Share of pairs below a margin, and the resulting bound on the share of unseen pairs "
        f"ranked wrongly, for growing margins, of {rankers}.",
    )


def _named(reports: Any) -> dict[str, Any]:
    one = not isinstance(reports, Mapping) or "rho" in reports
    found = {"ranker": reports} if one else dict(reports)
    if not found:
        raise DataError("reports must contain at least one report")
    return {str(name): report for name, report in found.items()}


def _rows(name: str, report: Any) -> list[dict[str, Any]]:
    """Return a row per margin and line of one report."""
    columns = {}
    for column in NEEDED:
        try:
            columns[column] = list(report[column])
        except (KeyError, TypeError):
            raise DataError(
                f"report of {name!r} must have the column {column!r} of margin_report"
            ) from None
    if not columns["rho"]:
        raise DataError(f"report of {name!r} must have at least one margin")
    best = min(range(len(columns["rho"])), key=lambda at: columns["bound"][at])
    lines = {"bound": "bound", "margin loss": "margin_loss", "error": "error"}
    return [
        {
            "ranker": name,
            "kind": kind,
            "rho": float(columns["rho"][at]),
            "value": float(columns[column][at]),
            "best": kind == "bound" and at == best and not columns["vacuous"][at],
        }
        for kind, column in lines.items()
        for at in range(len(columns["rho"]))
    ]


@describe_as(SIZED, sections=("Returns",))
def sampling_error(
    table: Any, *, title: str | None = None, width: int = 520, height: int = 320
) -> Any:
    """Draw the error of samples of queries against their size, with the bound of each sampler.

    Solid lines are errors that were observed, dashed lines of the same colour are bounds. A sampler
    without a bound (NaN or None) has no dashed line. Both axes are logarithmic, so values of 0 are
    left out.

    Parameters
    ----------
    table : Table or mapping of str to columns
        Columns ``sampler``, ``size``, ``error`` and ``bound``
        (`equirank.theory.sampling_error_bound`).

    Examples
    --------
    >>> from equirank.plots import sampling_error
    >>> table = {"sampler": ["uniform", "uniform"], "size": [30, 300]}
    >>> chart = sampling_error(table | {"error": [0.1, 0.03], "bound": [0.3, 0.08]})
    >>> chart.to_dict()["title"]["text"]
    'Error of samples of queries'
    """
    alt = altair()
    columns = {name: _column(table, name) for name in ("sampler", "size", "error", "bound")}
    rows = [
        {"sampler": str(name), "size": int(size), "kind": kind, "value": float(value)}
        for kind, values in (("error", columns["error"]), ("bound", columns["bound"]))
        for name, size, value in zip(columns["sampler"], columns["size"], values, strict=True)
        if value is not None and float(value) > 0.0
    ]
    if not rows:
        raise DataError("table must contain an error above 0, got none")
    names = list(dict.fromkeys(row["sampler"] for row in rows))
    kinds = ["error", "bound"]
    x = alt.X("size:Q", title="number of queries drawn").scale(type="log", nice=False)
    y = alt.Y("value:Q", title="difference from all queries").scale(type="log")
    hue = alt.Color("sampler:N", title="sampler").scale(**colours(names))
    dash = alt.StrokeDash("kind:N", sort=kinds, title=None).scale(
        domain=kinds, range=[list(DASHES[0]), list(DASHES[1])]
    )
    tips = [
        alt.Tooltip("sampler:N", title="sampler"),
        alt.Tooltip("kind:N", title="line"),
        alt.Tooltip("size:Q", title="queries"),
        alt.Tooltip("value:Q", title="difference", format=".4f"),
    ]
    chart = alt.layer(
        alt.Chart().mark_line().encode(x=x, y=y, color=hue, strokeDash=dash),
        alt.Chart().mark_point(filled=True, opacity=1).encode(x=x, y=y, color=hue, tooltip=tips),
        data=data(rows),
    ).properties(width=width, height=height)
    return dress(
        chart,
        title or "Error of samples of queries",
        "Difference between the objective on a sample and on all queries, over the number of "
        f"queries drawn, and its bound, of {', '.join(shorten(name, 40) for name in names)}.",
    )


def _column(table: Any, name: str) -> list[Any]:
    try:
        return list(table[name])
    except (KeyError, TypeError):
        raise DataError(f"table must have the column {name!r}") from None


#: Standard errors to either side of an estimate, for a 95% confidence interval.
WIDE = 1.96
#: Pixels next to the longest bars, for their numbers.
MARGIN = 64


def pair_explanation(
    explanation: "PairExplanation", *, max_features: int = 12, width: int = 520
) -> Any:
    """Draw the contributions to the difference of two scores as bars, largest first.

    Parameters
    ----------
    explanation : PairExplanation
        The result of `Ranker.explain_pair`.
    max_features : int
        Most bars; one more shows the sum of the rest. Contributions of 0 are not shown.
    width : int
        Width in pixels.

    Returns
    -------
    altair.LayerChart
        Bars to the right raise a above b, bars to the left b above a; sampled ones have a 95%
        confidence interval.

    Examples
    --------
    >>> from equirank.plots import pair_explanation
    >>> from equirank.rankers import RankBoost
    >>> X, y = [[1.0, 5.0], [2.0, 5.0], [3.0, 1.0]], [0, 1, 2]
    >>> chart = pair_explanation(RankBoost(n_estimators=5).fit(X, y).explain_pair(X, 2, 0))
    >>> chart.to_dict()["title"]["text"]
    'Why row 2 ranks above row 0'
    """
    alt = altair()
    a, b = (shorten(explanation.name(which), 30) for which in ("a", "b"))
    sides = (f"raises {a}", f"raises {b}")
    rows = _term_rows(explanation, max_features, sides)
    names = [row["feature"] for row in rows]
    base = alt.Chart(data(rows))
    y = alt.Y("feature:N", title=None, sort=names).axis(labelLimit=280)
    x = (
        alt.X("contribution:Q", title="contribution to the difference of the scores")
        .scale(padding=MARGIN, nice=False)
        .axis(tickCount=6)
    )
    hue = alt.Color("side:N", sort=None).scale(domain=list(sides), range=[METHOD, MUTED])
    tips = [
        alt.Tooltip("feature:N"),
        alt.Tooltip("contribution:Q", format="+.4g"),
        alt.Tooltip("standard_error:Q", title="standard error", format=".2g"),
    ]
    bars = base.mark_bar(height={"band": 0.68}).encode(x=x, y=y, color=hue, tooltip=tips)
    words = base.encode(x=alt.X("end:Q"), y=y, text=alt.Text("contribution:Q", format="+.3g"))
    layers = [
        bars,
        words.transform_filter("datum.contribution >= 0").mark_text(align="left", dx=5),
        words.transform_filter("datum.contribution < 0").mark_text(align="right", dx=-5),
        alt.Chart(data([{"zero": 0}])).mark_rule(color=MUTED).encode(x="zero:Q"),
    ]
    if explanation.method == "sampled":
        error = base.mark_rule(strokeWidth=1.5, opacity=0.8).encode(x="low:Q", x2="high:Q", y=y)
        layers.insert(1, error)
    chart = alt.layer(*layers).properties(width=width, height=max(40, 26 * len(rows)))
    gap = explanation.difference
    where = "ranks above" if gap > 0 else "ranks below" if gap < 0 else "equals"
    scores = f"score {explanation.score_a:.4g} against {explanation.score_b:.4g}"
    return dress(
        chart,
        f"Why {a} {where} {b}",
        f"Bars of each feature's contribution to the difference of the scores of {a} and {b}, "
        f"{gap:.4g} in total.",
        f"{scores}, a difference of {gap:+.4g} ({explanation.model}, {_how(explanation)})",
    )


def _how(explanation: "PairExplanation") -> str:
    words = {"exact": "exact", "shap": "SHAP values"}
    return words.get(explanation.method, f"estimated from {explanation.n_draws} orders")


def _term_rows(
    explanation: "PairExplanation", max_features: int, sides: tuple[str, str]
) -> list[dict[str, Any]]:
    part = explanation["contribution"]
    nonzero = np.flatnonzero(part != 0)
    shown, left = nonzero[:max_features], nonzero[max_features:]
    rows = []
    for at in shown.tolist():
        words = explanation.words(at)
        rows.append(_row(shorten(words, 60), float(part[at]), explanation["standard_error"][at]))
    if len(left):
        error = float(np.sqrt((explanation["standard_error"][left] ** 2).sum()))
        rows.append(_row(f"{len(left)} more", float(part[left].sum()), error))
    for row in rows:
        row["side"] = sides[0] if row["contribution"] >= 0 else sides[1]
    return rows


def _row(feature: str, contribution: float, error: float) -> dict[str, Any]:
    low, high = contribution - WIDE * error, contribution + WIDE * error
    return {
        "feature": feature,
        "contribution": contribution,
        "standard_error": float(error),
        "low": low,
        "high": high,
        "end": max(high, 0.0) if contribution >= 0 else min(low, 0.0),
    }
