"""Pairs whose margin is too small, summed over without listing them where the costs allow it."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from ...core.data import RankingData
from ...kernels.margin_pairs import active_sums, listed_sums, sort_lists
from ..feature_bins import Workers
from ..training_pairs import CostRule, PairWeights

__all__ = ["ActivePairs", "HingeObjective", "ListedPairs", "Point", "SortedPairs", "minimise"]


#: More grades than this in a list are summed up in a tree.
FEW = 12

Sums = tuple[np.ndarray, tuple[float, float, float]]


class ActivePairs(Protocol):
    """Sums over the pairs (a, b), a preferred, with ``score[a] - score[b] < margin``."""

    score: np.ndarray

    def move(self, score: np.ndarray) -> None:
        """Take new scores; `score` holds them, less a number per list."""

    def sums(self, margin: float, value: np.ndarray, slope: float = 0.0) -> Sums:
        """Return , at the pairs' costs c, what a quadratic function of the active pairs is made of.

        With ``d = value[a] - value[b]``: per row the sum of ``c (d - slope)`` where it is preferred
        less that where it is the other; and the sums of c, c d and c d^2 over all active pairs.
        """


class SortedPairs:
    """Pairs of unequal relevance at separable costs: O(n log n) for n rows, whatever the pairs."""

    def __init__(self, data: RankingData, rule: CostRule, workers: Workers) -> None:
        self.workers, self.offsets = workers, data.offsets
        n = data.n_rows
        self.grade, self.n_grades = _grades(data)
        self.order, self.keys = np.arange(n, dtype=np.int32), np.empty(n)
        weight = None if data.query_weight is None else data.query_weight[data.query_of_rows()]
        self.parts = _parts(rule, weight, int(self.n_grades.max()))
        self.mirrored: np.ndarray | None = None

    def move(self, score: np.ndarray) -> None:
        """Sort the rows of each list, starting from the order of the last call."""
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
        pull, totals = np.zeros(len(value)), np.zeros((len(self.offsets) - 1, 3))
        for way, kind, p, q in self.parts:
            grade = self.grade if way <= 0 else self._mirror()
            lists = (self.order, self.keys, self.offsets, grade, self.n_grades, kind, p, q)
            call = partial(_some_lists, (*lists, margin, slope, value), (pull, totals))
            self.workers.share(call, len(totals), 4 * len(value))
        mass, line, bend = totals.sum(axis=0).tolist()
        return pull, (mass, line, bend)

    def _mirror(self) -> np.ndarray:
        """Return the grades counted from above, for pairs whose other row has the higher one."""
        if self.mirrored is None:
            most = np.repeat(self.n_grades - 1, np.diff(self.offsets))
            self.mirrored = (most - self.grade).astype(np.int32)
        return self.mirrored


class ListedPairs:
    """Pairs that are listed one by one: arbitrary costs, or explicit preferences."""

    def __init__(self, weights: PairWeights) -> None:
        self.weights = weights
        self.cuts = weights.cuts

    def move(self, score: np.ndarray) -> None:
        """Take new scores."""
        self.score = np.array(score, dtype=np.float64)
        self.listed = self.score[self.weights.rows]

    def sums(self, margin: float, value: np.ndarray, slope: float = 0.0) -> Sums:
        """Return the sums over the active pairs (see `ActivePairs`)."""
        rows, listed = self.weights.rows, value[self.weights.rows]

        def work(begin: int, end: int) -> tuple[np.ndarray, tuple[float, float, float]]:
            pull = np.zeros(len(value))
            pairs = (self.weights.starts, self.weights.second, self.weights.weight)
            totals = listed_sums(*pairs, self.listed, margin, slope, listed, begin, end, pull)
            return pull, totals

        cuts, pool = self.cuts.tolist(), self.weights.workers.pool
        parts = list((map if pool is None else pool.map)(work, cuts[:-1], cuts[1:]))
        pull = np.empty(len(value))
        pull[rows] = np.sum([part[0] for part in parts], axis=0)
        mass, line, bend = np.sum([part[1] for part in parts], axis=0).tolist()
        return pull, (mass, line, bend)


Part = tuple[int, tuple[int, ...], np.ndarray, np.ndarray]


def _some_lists(given: Any, out: Any, begin: int, end: int) -> None:
    active_sums(*given, begin, end, *out)


def _grades(data: RankingData) -> tuple[np.ndarray, np.ndarray]:
    """Number the grades of each list from 0, and count them."""
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
    """Write the costs as a sum of products over rows: the other row's grade, its kind, p and q."""
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
            mine, others = values[rule.cells], column.ravel()[rule.cells] == at
            mine = mine if weight is None else mine * weight
            for p, q in given:
                found.append((way, kind, np.ascontiguousarray(mine * p), others * q))
    return found


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
        """Return the gradient by weight."""
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


#: Steps of the conjugate gradient method per Newton step.
STEPS = 250
#: Newton steps after which C is approached from below: by so many stages, each so much larger.
DIRECT, STAGES, STEEPER = 25, 10, 4.0
#: The width of the rounded corner shrinks by this factor, down to the last.
SHRINK, NARROWEST = 0.25, 2e-6


def minimise(
    objective: HingeObjective, w: np.ndarray, tol: float, max_iter: int
) -> tuple[Point, int, float]:
    """Minimise from w on; give the last point, the number of Newton steps and the duality gap.

    Stops where the objective is proven to be within the share ``tol`` of its least value: the
    objective is 1-strongly convex, so half the squared norm of its gradient bounds what is left;
    the plain hinge is asked for its duality gap instead, and its corner made sharper until that is
    small enough.
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
    """Follow the solution from a small C up: where pairs can be separated, steps there are long."""
    full = objective.C
    for stage in range(STAGES, -1, -1):
        objective.C = full / STEEPER**stage
        point, gradient, used = _descend(objective, w, tol, max_iter - steps)
        w, steps = point.w, steps + used
    return point, gradient, steps


def _descend(
    objective: HingeObjective, w: np.ndarray, tol: float, max_iter: int
) -> tuple[Point, np.ndarray, int]:
    """Take Newton steps within a radius that follows how well the quadratic model did."""
    point = objective.at(w)
    gradient = objective.gradient(point)
    radius = float(np.linalg.norm(gradient))
    for used in range(max_iter):
        if _done(objective, point, gradient, tol):
            return point, gradient, used
        step, residual = _conjugate_gradient(objective, point, gradient, radius)
        slope = float(gradient @ step)
        foreseen = -0.5 * (slope - float(step @ residual))
        trial = objective.at(point.w + step)
        gained, size = point.value - trial.value, float(np.linalg.norm(step))
        if used == 0:
            radius = min(radius, size)
        curve = -gained - slope
        best = 4.0 if curve <= 0.0 else max(0.25, -0.5 * slope / curve)
        radius = _radius(radius, size, best, gained, foreseen)
        if gained > 1e-4 * foreseen and gained > 0.0:
            point, gradient = trial, objective.gradient(trial)
        elif foreseen <= 1e-15 * abs(point.value) or radius <= 1e-15 * (size + 1.0):
            return point, gradient, used + 1  # nothing is left that numbers could tell
    return point, gradient, max_iter


def _done(objective: HingeObjective, point: Point, gradient: np.ndarray, tol: float) -> bool:
    left = 0.5 * float(gradient @ gradient)
    if objective.squared:
        return left <= tol * point.value
    return left <= 0.1 * tol * point.value


def _radius(radius: float, size: float, best: float, gained: float, foreseen: float) -> float:
    """Return the next radius (Lin and More's rules)."""
    if gained < 1e-4 * foreseen:
        return min(max(best, 0.25) * size, 0.5 * radius)
    if gained < 0.25 * foreseen:
        return max(0.25 * radius, min(best * size, 0.5 * radius))
    if gained < 0.75 * foreseen:
        return max(0.25 * radius, min(best * size, 4.0 * radius))
    return max(radius, min(best * size, 4.0 * radius))


def _conjugate_gradient(
    objective: HingeObjective, point: Point, gradient: np.ndarray, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """Solve for the Newton step within the radius; give it and what is left of the gradient."""
    step, residual = np.zeros_like(gradient), -gradient
    direction, left = residual.copy(), float(residual @ residual)
    enough = 0.01 * left  # a tenth of the norm
    for _ in range(STEPS):
        if left <= enough:
            break
        bent = objective.curved(point, direction)
        length = left / float(direction @ bent)
        ahead = step + length * direction
        if np.linalg.norm(ahead) > radius:
            length = _to_border(step, direction, radius)
            return step + length * direction, residual - length * bent
        step, residual = ahead, residual - length * bent
        before, left = left, float(residual @ residual)
        direction = residual + (left / before) * direction
    return step, residual


def _to_border(step: np.ndarray, direction: np.ndarray, radius: float) -> float:
    """Say how far to go until the step is as long as the radius."""
    along, squared = float(step @ direction), float(direction @ direction)
    room = radius * radius - float(step @ step)
    root = float(np.sqrt(along * along + squared * max(room, 0.0)))
    return room / (along + root) if along >= 0.0 else (root - along) / squared
