"""Objective of RankSVM over pairs with a small margin, and its trust-region Newton method."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from ...core.data import RankingData
from ...kernels.margin_pairs import active_sums, listed_sums, sort_lists
from ..feature_bins import Workers
from ..training_pairs import CostRule, PairWeights

__all__ = ["ActivePairs", "HingeObjective", "ListedPairs", "Point", "SortedPairs", "minimise"]


#: Largest number of grades of a list that is summed without a tree.
FEW = 12

Sums = tuple[np.ndarray, tuple[float, float, float]]


class ActivePairs(Protocol):
    """Sums over the pairs (a, b), a preferred, with ``score[a] - score[b] < margin``."""

    score: np.ndarray

    def move(self, score: np.ndarray) -> None:
        """Set new scores; `score` contains them up to a constant per list."""

    def sums(self, margin: float, value: np.ndarray, slope: float = 0.0) -> Sums:
        """Return the sums of a quadratic function over the active pairs with costs c.

        With ``d = value[a] - value[b]``: per row the sum of ``c (d - slope)`` over pairs with the
        row preferred, minus the other pairs; and the sums of c, c d and c d^2 over all pairs.
        """


class SortedPairs:
    """Pairs of unequal relevance with separable costs: O(n log n) for n rows."""

    def __init__(self, data: RankingData, rule: CostRule, workers: Workers) -> None:
        self.workers, self.offsets = workers, data.offsets
        n = data.n_rows
        self.grade, self.n_grades = _grades(data)
        self.order, self.keys = np.arange(n, dtype=np.int32), np.empty(n)
        weight = None if data.query_weight is None else data.query_weight[data.query_of_rows()]
        self.parts = _parts(rule, weight, int(self.n_grades.max()))
        self.mirrored: np.ndarray | None = None

    def move(self, score: np.ndarray) -> None:
        """Sort the rows of each list, starting from the previous order."""
        self.score = np.array(score, dtype=np.float64)
        self.workers.share(
            lambda begin, end: sort_lists(
                self.score, self.offsets, begin, end, self.order, self.keys
            ),
            len(self.offsets) - 1,
            4 * len(self.score),
        )

    def sums(self, margin: float, value: np.ndarray, slope: float = 0.0) -> Sums:
        """Return the sums over the active pairs (see `ActivePairs`)."""
        grad, totals = np.zeros(len(value)), np.zeros((len(self.offsets) - 1, 3))
        for way, kind, p, q in self.parts:
            grade = self.grade if way <= 0 else self._mirror()
            lists = (self.order, self.keys, self.offsets, grade, self.n_grades, kind, p, q)
            call = partial(_some_lists, (*lists, margin, slope, value), (grad, totals))
            self.workers.share(call, len(totals), 4 * len(value))
        cost_sum, gap_sum, square_sum = totals.sum(axis=0).tolist()
        return grad, (cost_sum, gap_sum, square_sum)

    def _mirror(self) -> np.ndarray:
        """Return the grades counted from the highest, for pairs with a higher other row."""
        if self.mirrored is None:
            most = np.repeat(self.n_grades - 1, np.diff(self.offsets))
            self.mirrored = (most - self.grade).astype(np.int32)
        return self.mirrored


class ListedPairs:
    """Listed pairs: arbitrary costs, or explicit preferences."""

    def __init__(self, weights: PairWeights) -> None:
        self.weights = weights
        self.cuts = weights.cuts

    def move(self, score: np.ndarray) -> None:
        """Set new scores."""
        self.score = np.array(score, dtype=np.float64)
        self.listed = self.score[self.weights.rows]

    def sums(self, margin: float, value: np.ndarray, slope: float = 0.0) -> Sums:
        """Return the sums over the active pairs (see `ActivePairs`)."""
        rows, listed = self.weights.rows, value[self.weights.rows]

        def work(begin: int, end: int) -> tuple[np.ndarray, tuple[float, float, float]]:
            grad = np.zeros(len(value))
            pairs = (self.weights.starts, self.weights.second, self.weights.weight)
            totals = listed_sums(*pairs, self.listed, margin, slope, listed, begin, end, grad)
            return grad, totals

        cuts, pool = self.cuts.tolist(), self.weights.workers.pool
        parts = list((map if pool is None else pool.map)(work, cuts[:-1], cuts[1:]))
        grad = np.empty(len(value))
        grad[rows] = np.sum([part[0] for part in parts], axis=0)
        cost_sum, gap_sum, square_sum = np.sum([part[1] for part in parts], axis=0).tolist()
        return grad, (cost_sum, gap_sum, square_sum)


Part = tuple[int, tuple[int, ...], np.ndarray, np.ndarray]


def _some_lists(given: Any, out: Any, begin: int, end: int) -> None:
    active_sums(*given, begin, end, *out)


def _grades(data: RankingData) -> tuple[np.ndarray, np.ndarray]:
    """Return the grades of each list, numbered from 0, and their count."""
    y, query = np.asarray(data.y), data.query_of_rows()
    order = np.lexsort((y, query))
    step = np.diff(y[order], prepend=y[order[:1]]) != 0
    step[data.offsets[:-1]] = False
    level = np.cumsum(step)
    level -= np.repeat(level[data.offsets[:-1]], np.diff(data.offsets))
    grade = np.empty(len(y), dtype=np.int32)
    grade[order] = level
    return grade, level[data.offsets[1:] - 1] + 1


def _parts(rule: CostRule, weight: np.ndarray | None, most: int) -> list[Part]:
    """Return the costs as products over rows: grade of the other row, kind, p and q."""
    found: list[Part] = []
    one = np.ones(len(rule.cells))
    terms = rule.terms()
    given = [(one, one)] if terms is None else list(zip(*terms, strict=True))
    for way, factor in zip((-1, 0, 1), rule.factors(), strict=True):
        columns, column = np.unique(factor, axis=1, return_inverse=True)
        kind: tuple[int, ...] = () if way == 0 else (0,) if most <= FEW else (0, 0)
        for at, values in enumerate(columns.T):
            if not values.any():
                continue
            left, right = values[rule.cells], column.ravel()[rule.cells] == at
            left = left if weight is None else left * weight
            for p, q in given:
                found.append((way, kind, np.ascontiguousarray(left * p), right * q))
    return found


@dataclass(eq=False)
class Point:
    """Weights, and the objective at these weights.

    Attributes
    ----------
    w : ndarray
        Weights of the features.
    value : float
        The function that is minimised: the objective, or its smooth form.
    primal : float
        The objective itself.
    grad, factor : ndarray, float
        The gradient by score is their product.
    dual : float
        The linear and quadratic terms of the dual objective.
    """

    w: np.ndarray
    score: np.ndarray
    value: float
    primal: float
    grad: np.ndarray
    factor: float
    dual: float


class HingeObjective:
    """``1/2 ||w||^2 + C sum c(a, b) loss(score_a - score_b)`` over pairs, a preferred.

    With ``u = max(0, 1 - margin)`` the loss is u^2, or u. For the latter, the plain hinge, a smooth
    function is minimised: ``(max(0, u)^2 - max(0, u - width)^2) / (2 width)``, the difference of
    two squared hinges, at most ``width / 2`` below u. Its derivatives are dual variables, so every
    point has a duality gap of the original problem.
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
        square, line, grad = self._squares(1.0)
        if self.squared:
            value = half + self.C * square
            dual = self.C * (2.0 * line - square)
            self.current = Point(w, score, value, value, grad, 2.0 * self.C, dual)
            return self.current
        lower_square, lower_line, lower_grad = self._squares(1.0 - self.width)
        smooth = (square - lower_square) / (2.0 * self.width)
        dual = self.C * (line - lower_line) / self.width
        grad -= lower_grad
        primal, factor = half + self.C * line, self.C / self.width
        self.current = Point(w, score, half + self.C * smooth, primal, grad, factor, dual)
        return self.current

    def gradient(self, point: Point) -> np.ndarray:
        """Return the gradient by weight."""
        return point.w + point.factor * (self.X.T @ point.grad)

    def gap(self, point: Point, gradient: np.ndarray) -> float:
        """Return an upper bound on the distance of the objective from its minimum, by duality."""
        rest = point.w - gradient
        return max(0.0, point.primal - point.dual + 0.5 * float(rest @ rest))

    def curved(self, point: Point, direction: np.ndarray) -> np.ndarray:
        """Return the product of the Hessian with a direction."""
        if self.current is not point:
            self.pairs.move(point.score)
            self.current = point
        step = self.X @ direction
        product = self.pairs.sums(1.0, step)[0]
        if self.squared:
            product = 2.0 * product
        else:
            product = (product - self.pairs.sums(1.0 - self.width, step)[0]) / self.width
        return direction + self.C * (self.X.T @ product)

    def _squares(self, margin: float) -> tuple[float, float, np.ndarray]:
        """Return the sums of ``max(0, margin - gap)``, squared and plain, and half a gradient."""
        grad, (cost_sum, gap_sum, square_sum) = self.pairs.sums(margin, self.pairs.score, margin)
        square = margin * (margin * cost_sum - 2.0 * gap_sum) + square_sum
        return max(0.0, square), max(0.0, margin * cost_sum - gap_sum), grad


#: Largest number of conjugate gradient steps per Newton step.
STEPS = 250
#: Newton steps after which C is increased in stages, the number of stages, and their factor.
DIRECT, STAGES, STEEPER = 25, 10, 4.0
#: Factor by which the width of the smooth hinge shrinks, and its least value.
SHRINK, NARROWEST = 0.25, 2e-6


def minimise(
    objective: HingeObjective, w: np.ndarray, tol: float, max_iter: int
) -> tuple[Point, int, float]:
    """Minimise from w; return the last point, the number of Newton steps and the duality gap.

    Stops when the objective is proven to be within the share ``tol`` of its minimum. The objective
    is 1-strongly convex, so half the squared norm of its gradient bounds the distance. For the
    plain hinge the duality gap is used, and the width shrinks until it is small enough.
    """
    best, gradient, steps = _descend(objective, w, tol, min(DIRECT, max_iter))
    if not _done(objective, best, gradient, tol):
        best, gradient, steps = _follow(objective, w, tol, max_iter, steps)
    gap = objective.gap(best, gradient)
    if objective.squared:
        return best, steps, min(gap, 0.5 * float(gradient @ gradient))
    while gap > tol * best.primal and steps < max_iter and objective.width > NARROWEST:
        objective.width *= SHRINK
        point, gradient, used = _descend(objective, best.w, tol, max_iter - steps)
        steps += used
        narrower = objective.gap(point, gradient)
        if narrower < gap:
            best, gap = point, narrower
    return best, steps, gap


def _follow(
    objective: HingeObjective, w: np.ndarray, tol: float, max_iter: int, steps: int
) -> tuple[Point, np.ndarray, int]:
    """Follow the solution from a small C up, which helps if pairs can be separated."""
    full = objective.C
    for stage in range(STAGES, -1, -1):
        objective.C = full / STEEPER**stage
        point, gradient, used = _descend(objective, w, tol, max_iter - steps)
        w, steps = point.w, steps + used
    return point, gradient, steps


def _descend(
    objective: HingeObjective, w: np.ndarray, tol: float, max_iter: int
) -> tuple[Point, np.ndarray, int]:
    """Take trust-region Newton steps; the radius depends on the quality of the quadratic model."""
    point = objective.at(w)
    gradient = objective.gradient(point)
    radius = float(np.linalg.norm(gradient))
    for used in range(max_iter):
        if _done(objective, point, gradient, tol):
            return point, gradient, used
        step, residual = _conjugate_gradient(objective, point, gradient, radius)
        slope = float(gradient @ step)
        predicted = -0.5 * (slope - float(step @ residual))
        trial = objective.at(point.w + step)
        decrease, size = point.value - trial.value, float(np.linalg.norm(step))
        if used == 0:
            radius = min(radius, size)
        curve = -decrease - slope
        best = 4.0 if curve <= 0.0 else max(0.25, -0.5 * slope / curve)
        radius = _radius(radius, size, best, decrease, predicted)
        if decrease > 1e-4 * predicted and decrease > 0.0:
            point, gradient = trial, objective.gradient(trial)
        elif predicted <= 1e-15 * abs(point.value) or radius <= 1e-15 * (size + 1.0):
            return point, gradient, used + 1  # the remaining improvement is below rounding
    return point, gradient, max_iter


def _done(objective: HingeObjective, point: Point, gradient: np.ndarray, tol: float) -> bool:
    left = 0.5 * float(gradient @ gradient)
    if objective.squared:
        return left <= tol * point.value
    return left <= 0.1 * tol * point.value


def _radius(radius: float, size: float, best: float, decrease: float, predicted: float) -> float:
    """Return the next radius by the rules of Lin and More."""
    if decrease < 1e-4 * predicted:
        return min(max(best, 0.25) * size, 0.5 * radius)
    if decrease < 0.25 * predicted:
        return max(0.25 * radius, min(best * size, 0.5 * radius))
    if decrease < 0.75 * predicted:
        return max(0.25 * radius, min(best * size, 4.0 * radius))
    return max(radius, min(best * size, 4.0 * radius))


def _conjugate_gradient(
    objective: HingeObjective, point: Point, gradient: np.ndarray, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Newton step within the radius, and the residual of the gradient."""
    step, residual = np.zeros_like(gradient), -gradient
    direction, left = residual.copy(), float(residual @ residual)
    enough = 0.01 * left  # a tenth of the norm, squared
    for _ in range(STEPS):
        if left <= enough:
            break
        product = objective.curved(point, direction)
        length = left / float(direction @ product)
        ahead = step + length * direction
        if np.linalg.norm(ahead) > radius:
            length = _to_border(step, direction, radius)
            return step + length * direction, residual - length * product
        step, residual = ahead, residual - length * product
        before, left = left, float(residual @ residual)
        direction = residual + (left / before) * direction
    return step, residual


def _to_border(step: np.ndarray, direction: np.ndarray, radius: float) -> float:
    """Return the step length along the direction at which the radius is reached."""
    along, squared = float(step @ direction), float(direction @ direction)
    slack = radius * radius - float(step @ step)
    root = float(np.sqrt(along * along + squared * max(slack, 0.0)))
    return slack / (along + root) if along >= 0.0 else (root - along) / squared
