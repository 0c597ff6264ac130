"""Which weights of two attributes rank fairly: a quarter circle."""

from math import atan2, cos, pi, sin
from typing import Any

from ...core.errors import DataError
from ...core.extras import require

__all__ = ["fair_angles"]

_FAIR, _UNFAIR, _ASKED, _FOUND = "#4393c3", "#e0e0e0", "#1b1b1b", "#b2182b"


def fair_angles(model: Any, *, title: str | None = None, size: int = 340) -> Any:
    """Draw the directions of two weights as a quarter circle, the fair ones in blue.

    To the right lies the first attribute alone, upwards the second alone. The black line is the
    direction asked for, the red one the nearest fair direction found. Nothing is computed here.

    Parameters
    ----------
    model : FairScoringWeights
        Fitted on two columns.
    title : str, optional
        The title.
    size : int
        Width and height in pixels.

    Returns
    -------
    altair.LayerChart

    Examples
    --------
    >>> from equirank.plots import fair_angles
    >>> from equirank.preprocess import FairScoringWeights, PrefixSharesOracle
    >>> X = [[4.0, 1.0], [3.0, 2.0], [2.0, 3.5], [1.0, 3.0]]
    >>> oracle = PrefixSharesOracle(k=2, low=0.5, protected="b")
    >>> model = FairScoringWeights(oracle, weights=[2, 1])
    >>> chart = fair_angles(model.fit(X, sensitive_features=["a", "a", "b", "b"]))
    >>> chart.to_dict()["title"]["text"]
    'Fair directions: 62.6 % of the angles'
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
        domain=["fair", "not fair", "asked for", "nearest fair"],
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
    for weights, word in ((asked, "asked for"), (model.weights_.tolist(), "nearest fair")):
        angle = atan2(weights[1], weights[0])
        ray = [{"x": 0.0, "y": 0.0}, {"x": 1.08 * cos(angle), "y": 1.08 * sin(angle)}]
        layers.append(
            alt.Chart(alt.Data(values=[{**end, "kind": word} for end in ray]))
            .mark_line(strokeWidth=3, strokeDash=[1, 0] if word == "nearest fair" else [6, 4])
            .encode(x=x, y=y, color=kind)
        )
    shown = title or f"Fair directions: {100 * model.fair_share_:.1f} % of the angles"
    apart = f"nearest fair weights {180 / pi * model.angle_:.1f} degrees from those asked for"
    return alt.layer(*layers).properties(
        width=size, height=size, title=alt.Title(shown, subtitle=apart)
    )


def _sector(low: float, high: float, word: str) -> list[dict[str, Any]]:
    """Give the outline of a sector, about one corner per degree."""
    n = max(2, int((high - low) * 60))
    angles = [low + (high - low) * at / n for at in range(n + 1)]
    corners = [(0.0, 0.0), *((cos(angle), sin(angle)) for angle in angles), (0.0, 0.0)]
    return [{"x": x, "y": y, "step": at, "kind": word} for at, (x, y) in enumerate(corners)]
