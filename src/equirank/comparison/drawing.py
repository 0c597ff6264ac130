"""The trade-off picture of a comparison, and who lies behind the line of random mixtures."""

from typing import Any

import numpy as np

from .. import plots
from ..core.errors import DataError
from ..core.metric import Metric
from ..plots.theme import shorten

__all__ = ["behind_mixture", "tradeoff_chart"]

#: Longer names are cut in pictures, which have little room on a telephone.
LONGEST = 22


def tradeoff_chart(result: Any, x: Metric, y: Metric, options: dict[str, Any]) -> Any:
    """Draw two metrics of all methods, with intervals, the front and the mixture line."""
    ends = mixture_ends(result, x, y)
    rows = {metric.name: _rows(result, metric) for metric in (x, y)}
    points = {
        "name": [shorten(method, LONGEST) for method in result.methods],
        x.name: [row["value"] for row in rows[x.name]],
        y.name: [row["value"] for row in rows[y.name]],
        "x_low": [row["low"] for row in rows[x.name]],
        "x_high": [row["high"] for row in rows[x.name]],
        "low": [row["low"] for row in rows[y.name]],
        "high": [row["high"] for row in rows[y.name]],
        "front": result.front(x, y),
    }
    return plots.tradeoff(
        points, x.name, y.name, mixture=ends, x_better=x.direction, y_better=y.direction, **options
    )


def mixture_ends(result: Any, x: Metric, y: Metric) -> tuple[float, float, float, float]:
    """Give both ends of the line: a random order, and the method that is best by y."""
    for metric in (x, y):
        if metric.name not in result.chance:
            raise DataError(f"{metric.name} has no value for a random order, which has no scores")
    values = {metric.name: _signed(result, metric) for metric in (x, y)}
    known = ~np.isnan(values[x.name]) & ~np.isnan(values[y.name])
    if not known.any():
        raise DataError(f"no method has a value of both {x.name} and {y.name}")
    best = int(np.argmax(np.where(known, values[y.name], -np.inf)))
    ends = [result.chance[x.name], result.chance[y.name]]
    ends += [float(_rows(result, metric)[best]["value"]) for metric in (x, y)]
    return ends[0], ends[1], ends[2], ends[3]


def behind_mixture(result: Any, x: Metric, y: Metric) -> list[str]:
    """Name the methods that some mixture of the best by y with chance beats in both metrics."""
    x0, y0, x1, y1 = mixture_ends(result, x, y)
    signs = [1.0 if metric.direction == "higher" else -1.0 for metric in (x, y)]
    t = np.linspace(0.0, 1.0, 1001)
    line_x, line_y = signs[0] * (x0 + t * (x1 - x0)), signs[1] * (y0 + t * (y1 - y0))
    found = []
    for at, method in enumerate(result.methods):
        mine = [_signed(result, metric)[at] for metric in (x, y)]
        slack = 1e-9 * max(1.0, *map(abs, mine))
        if ((line_x > mine[0] + slack) & (line_y > mine[1] + slack)).any():
            found.append(method)
    return found


def _rows(result: Any, metric: Metric) -> list[dict[str, Any]]:
    return [row for row in result.summary() if row["metric"] == metric.name]


def _signed(result: Any, metric: Metric) -> np.ndarray:
    values = np.array([row["value"] for row in _rows(result, metric)], dtype=np.float64)
    return values if metric.direction == "higher" else -values
