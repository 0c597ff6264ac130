"""Points of a grid, and what was measured at them, laid out as scikit-learn does."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from ...core.errors import DataError
from .tradeoff_scorer import tradeoff_distance, tradeoff_score

__all__ = ["grid_points", "search_results"]


def grid_points(grid: Any) -> list[dict[str, Any]]:
    """List the points of a grid, of several, or of what gives points one by one.

    Examples
    --------
    >>> grid_points({"gamma": [0.1, 1.0]})
    [{'gamma': 0.1}, {'gamma': 1.0}]
    """
    if isinstance(grid, Mapping):
        return list(ParameterGrid(dict(grid)))
    if isinstance(grid, list) and all(isinstance(part, Mapping) for part in grid) and grid:
        return list(ParameterGrid(grid))
    if isinstance(grid, Iterable) and not isinstance(grid, (str, list)):
        found = [dict(point) for point in grid]
        if found:
            return found
    raise DataError(f"param_grid must be a dict, a list of dict or points, got {grid!r}")


def search_results(
    points: list[dict[str, Any]], runs: list[tuple[np.ndarray, float]], weight: float
) -> dict[str, Any]:
    """Lay out what was measured as scikit-learn does."""
    found: dict[str, Any] = {"mean_fit_time": np.full(len(points), np.mean([t for _, t in runs]))}
    for name in dict.fromkeys(name for point in points for name in point):
        column = np.empty(len(points), dtype=object)
        column[:] = [point.get(name) for point in points]
        found[f"param_{name}"] = np.ma.array(column, mask=[name not in p for p in points])
    found["params"] = points
    values = np.stack([values for values, _ in runs])  # split x point x (relevance, unfairness)
    score = tradeoff_score(values[..., 0], values[..., 1], weight)
    for split, own in enumerate(score):
        found[f"split{split}_test_score"] = own
    mean = score.mean(axis=0)
    known = np.where(np.isnan(mean), -np.inf, mean)
    found["mean_test_score"], found["std_test_score"] = mean, score.std(axis=0)
    found["rank_test_score"] = np.array([1 + int((known > own).sum()) for own in known])
    found["mean_test_relevance"] = values[..., 0].mean(axis=0)
    found["mean_test_unfairness"] = values[..., 1].mean(axis=0)
    found["mean_test_distance"] = tradeoff_distance(values[..., 0], values[..., 1]).mean(axis=0)
    return found
