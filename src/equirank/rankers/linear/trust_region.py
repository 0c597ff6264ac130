"""Trust-region Newton steps for the objective of RankSVM."""

import numpy as np

from .hinge import HingeObjective, Point

__all__ = ["minimise"]

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
    """Give the next radius (Lin and More's rules)."""
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
