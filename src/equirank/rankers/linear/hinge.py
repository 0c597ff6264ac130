"""The objective of RankSVM: half the squared norm plus C times the hinge losses of all pairs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .active_pairs import ActivePairs

__all__ = ["HingeObjective", "Point"]


@dataclass(eq=False)
class Point:
    """Weights, and what is known of the objective there.

    Attributes
    ----------
    w : ndarray
        The weights.
    value : float
        What is minimised: the objective, or its smooth form.
    primal : float
        The objective itself.
    pull, factor : ndarray, float
        The slope by score is their product.
    reach : float
        The sum of the dual variables, less what their squares cost.
    """

    w: np.ndarray
    score: np.ndarray
    value: float
    primal: float
    pull: np.ndarray
    factor: float
    reach: float


class HingeObjective:
    """``1/2 ||w||^2 + C sum c(a, b) loss(score_a - score_b)`` over pairs, a preferred.

    With ``u = max(0, 1 - margin)`` the loss is u^2, or u. For the latter, the plain hinge, what is
    minimised has a rounded corner: ``(max(0, u)^2 - max(0, u - width)^2) / (2 width)``, the
    difference of two squared hinges, at most ``width / 2`` below u. Its slopes are dual variables,
    so that every point has a duality gap of the unrounded problem.
    """

    def __init__(self, X: Any, pairs: ActivePairs, C: float, squared: bool) -> None:
        self.X, self.pairs, self.C, self.squared = X, pairs, C, squared
        self.width = 1.0
        self.current: Point | None = None

    def at(self, w: np.ndarray) -> Point:
        """Evaluate the objective and its gradient by score."""
        self.pairs.move(self.X @ w)
        score = self.pairs.score
        half = 0.5 * float(w @ w)
        square, line, pull = self._squares(1.0)
        if self.squared:
            value = half + self.C * square
            reach = self.C * (2.0 * line - square)
            self.current = Point(w, score, value, value, pull, 2.0 * self.C, reach)
            return self.current
        lower_square, lower_line, lower_pull = self._squares(1.0 - self.width)
        smooth = (square - lower_square) / (2.0 * self.width)
        reach = self.C * (line - lower_line) / self.width
        pull -= lower_pull
        primal, factor = half + self.C * line, self.C / self.width
        self.current = Point(w, score, half + self.C * smooth, primal, pull, factor, reach)
        return self.current

    def gradient(self, point: Point) -> np.ndarray:
        """Give the gradient by weight."""
        return point.w + point.factor * (self.X.T @ point.pull)

    def gap(self, point: Point, gradient: np.ndarray) -> float:
        """Bound what the objective is above its least value, by duality."""
        rest = point.w - gradient
        return max(0.0, point.primal - point.reach + 0.5 * float(rest @ rest))

    def curved(self, point: Point, direction: np.ndarray) -> np.ndarray:
        """Multiply a direction by the second derivatives."""
        if self.current is not point:
            self.pairs.move(point.score)
            self.current = point
        step = self.X @ direction
        bent = self.pairs.sums(1.0, step)[0]
        if self.squared:
            bent = 2.0 * bent
        else:
            bent = (bent - self.pairs.sums(1.0 - self.width, step)[0]) / self.width
        return direction + self.C * (self.X.T @ bent)

    def _squares(self, margin: float) -> tuple[float, float, np.ndarray]:
        """Sum ``max(0, margin - gap)`` squared and plain, and give half the former's slope."""
        pull, (mass, line, bend) = self.pairs.sums(margin, self.pairs.score, margin)
        square = margin * (margin * mass - 2.0 * line) + bend
        return max(0.0, square), max(0.0, margin * mass - line), pull
