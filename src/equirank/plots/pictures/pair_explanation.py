"""Each feature's part in the difference of two scores."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..theme import FOCUS, MUTED, PALETTE, altair, data, dress, shorten

if TYPE_CHECKING:
    from ...core.pair_explanation import PairExplanation

__all__ = ["pair_explanation"]

#: Standard errors to either side of an estimate: a 95 % interval.
WIDE = 1.96
#: Pixels beside the longest bars, for their numbers.
ROOM = 64


def pair_explanation(
    explanation: "PairExplanation", *, max_features: int = 12, width: int = 520
) -> Any:
    """Draw the contributions to the difference of two scores as bars, the largest on top.

    Parameters
    ----------
    explanation : PairExplanation
        What `Ranker.explain_pair` gives; nothing is computed.
    max_features : int
        Bars; what is left has one bar together. Contributions of 0 have none.
    width : int
        Width in pixels.

    Returns
    -------
    altair.LayerChart
        Bars to the right lift a over b, bars to the left b over a; sampled ones have their 95 %
        interval.

    Examples
    --------
    >>> from equirank.plots import pair_explanation
    >>> from equirank.rankers import RankBoost
    >>> X, y = [[1.0, 5.0], [2.0, 5.0], [3.0, 1.0]], [0, 1, 2]
    >>> chart = pair_explanation(RankBoost(n_estimators=5).fit(X, y).explain_pair(X, 2, 0))
    >>> chart.to_dict()["title"]["text"]
    'Why row 2 stands above row 0'
    """
    alt = altair()
    a, b = (shorten(explanation.name(which), 30) for which in ("a", "b"))
    sides = (f"lifts {a}", f"lifts {b}")
    rows = _rows(explanation, max_features, sides)
    names = [row["feature"] for row in rows]
    base = alt.Chart(data(rows))
    y = alt.Y("feature:N", title=None, sort=names).axis(labelLimit=280)
    x = (
        alt.X("contribution:Q", title="contribution to the difference of the scores")
        .scale(padding=ROOM, nice=False)
        .axis(tickCount=6)
    )
    hue = alt.Color("side:N", sort=None).scale(domain=list(sides), range=[PALETTE[0], FOCUS])
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
    where = "stands above" if gap > 0 else "stands below" if gap < 0 else "equals"
    scores = f"score {explanation.score_a:.4g} against {explanation.score_b:.4g}"
    return dress(
        chart,
        f"Why {a} {where} {b}",
        f"Bars of each feature's contribution to the difference of the scores of {a} and {b}, "
        f"{gap:.4g} in all.",
        f"{scores}, a difference of {gap:+.4g} ({explanation.model}, {_how(explanation)})",
    )


def _how(explanation: "PairExplanation") -> str:
    words = {"exact": "exact", "shap": "SHAP values"}
    return words.get(explanation.method, f"estimated from {explanation.n_draws} orders")


def _rows(
    explanation: "PairExplanation", max_features: int, sides: tuple[str, str]
) -> list[dict[str, Any]]:
    part = explanation["contribution"]
    there = np.flatnonzero(part != 0)
    shown, left = there[:max_features], there[max_features:]
    rows = []
    for at in shown.tolist():
        words = explanation.words(at)
        rows.append(_row(shorten(words, 60), float(part[at]), explanation["standard_error"][at]))
    if len(left):
        error = float(np.sqrt((explanation["standard_error"][left] ** 2).sum()))
        rows.append(_row(f"{len(left)} others", float(part[left].sum()), error))
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
