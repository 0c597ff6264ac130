"""Soft assignment of rows to prototypes, and distances of pairs of rows, with their gradients.

Row i is paired with the next rows, ``i + 1, i + 2, ...``, cyclically: ``base`` of them, and one
more for the first ``extra`` rows. Any number of pairs is possible, each pair at most once and each
row about equally often; on shuffled rows they are a random sample. No list of pairs is stored.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .compiled import compiled

__all__ = [
    "SoftAssignment",
    "add_pair_errors",
    "memberships",
    "pair_distances",
    "representations",
    "through_memberships",
]


@compiled
def pair_distances(points: np.ndarray, base: int, extra: int) -> np.ndarray:
    """Return the Euclidean distance of each pair."""
    n, width = points.shape
    result = np.empty(n * base + extra)
    at = 0
    for i in range(n):
        for step in range(1, base + 1 + (1 if i < extra else 0)):
            j = i + step
            if j >= n:
                j -= n
            total = 0.0
            for f in range(width):
                difference = points[i, f] - points[j, f]
                total += difference * difference
            result[at] = np.sqrt(total)
            at += 1
    return result


@compiled
def add_pair_errors(
    points: np.ndarray,
    target: np.ndarray,
    base: int,
    extra: int,
    scale: float,
    grad: np.ndarray,
) -> float:
    """Return ``sum (distance - target)^2``, and add ``scale`` times its gradient to ``grad``.

    The gradient of the distance of equal rows is taken as 0.
    """
    n, width = points.shape
    row_i, row_grad, difference = np.empty(width), np.empty(width), np.empty(width)
    loss = 0.0
    at = 0
    for i in range(n):
        count = base + (1 if i < extra else 0)
        for f in range(width):
            row_i[f] = points[i, f]
            row_grad[f] = 0.0
        for step in range(1, count + 1):
            j = i + step
            if j >= n:
                j -= n
            even, odd = 0.0, 0.0  # two independent sums
            for f in range(0, width - 1, 2):
                difference[f] = row_i[f] - points[j, f]
                difference[f + 1] = row_i[f + 1] - points[j, f + 1]
                even += difference[f] * difference[f]
                odd += difference[f + 1] * difference[f + 1]
            if width % 2 == 1:
                difference[width - 1] = row_i[width - 1] - points[j, width - 1]
                even += difference[width - 1] * difference[width - 1]
            distance = np.sqrt(even + odd)
            error = distance - target[at]
            loss += error * error
            if distance > 0.0:
                factor = 2.0 * scale * error / distance
                for f in range(width):
                    step_grad = factor * difference[f]
                    row_grad[f] += step_grad
                    grad[j, f] -= step_grad
            at += 1
        for f in range(width):
            grad[i, f] += row_grad[f]
    return loss


#: Number of values of X processed at once.
CELLS = 1 << 16
#: Distances up to this count as 0, where the root has no derivative.
TINY = 1e-100


class SoftAssignment(NamedTuple):
    """Rows, prototypes and weights of columns, and the arrays for shares and distances.

    A distance is ``sum_f weights_f (x_f - v_f)^2``, or its square root with ``root``; both arrays
    have one row per prototype.
    """

    X: np.ndarray
    prototypes: np.ndarray
    weights: np.ndarray
    root: bool
    share: np.ndarray
    distance: np.ndarray

    def written(self) -> Iterator[slice]:
        """Write distances and shares ``softmax_k(-distance_ki)``; yield the rows of each block."""
        scaled = -2.0 * self.prototypes * self.weights
        own = (self.weights * self.prototypes * self.prototypes).sum(axis=1)[:, None]
        for rows in _blocks(self.X):
            part, far = self.X[rows], self.distance[:, rows]
            _share_block(part, scaled, own, self.weights, self.root, self.share[:, rows], far)
            yield rows


def memberships(soft: SoftAssignment) -> None:
    """Write the distances to the prototypes and the shares."""
    for _ in soft.written():
        pass


def representations(
    soft: SoftAssignment, made: np.ndarray, grad: np.ndarray, factor: float
) -> float:
    """Write the memberships, the representations and the gradient of their squared error.

    ``made`` is ``share' prototypes``, ``grad`` is ``factor (made - X)``. Returns the sum of squares
    of ``made - X``.
    """
    total = 0.0
    for rows in soft.written():
        np.matmul(soft.share[:, rows].T, soft.prototypes, out=made[rows])
        error = np.subtract(made[rows], soft.X[rows], out=grad[rows])
        total += float(np.vdot(error, error))
        error *= factor
    return total


def through_memberships(
    soft: SoftAssignment, grad: np.ndarray, share_grad: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of a loss by prototypes and weights.

    ``grad`` is its gradient by the representations, ``share_grad`` a further one by the shares.
    """
    X, prototypes, weights, root, share, distance = soft
    direct = np.zeros_like(prototypes)
    products = np.zeros_like(prototypes)
    of_prototype = np.zeros(len(prototypes))
    of_square = np.zeros_like(weights)
    for rows in _blocks(X):
        part, near, far = X[rows], share[:, rows], distance[:, rows]
        direct += near @ grad[rows]
        back = prototypes @ grad[rows].T
        if share_grad is not None:
            back += share_grad[:, rows]
        np.subtract(np.einsum("ki,ki->i", near, back), back, out=back)
        back *= near
        if root:
            zero = far <= TINY
            back /= 2.0 * np.maximum(far, TINY)
            if zero.any():
                back[zero] = 0.0
        products += back @ part
        of_prototype += back.sum(axis=1)
        of_square += back.sum(axis=0) @ (part * part)
    for_prototypes = direct + 2.0 * weights * (prototypes * of_prototype[:, None] - products)
    for_weights = of_square - 2.0 * (prototypes * products).sum(axis=0)
    for_weights += of_prototype @ (prototypes * prototypes)
    return for_prototypes, for_weights


def _share_block(
    X: np.ndarray,
    scaled: np.ndarray,
    own: np.ndarray,
    weights: np.ndarray,
    root: bool,
    share: np.ndarray,
    distance: np.ndarray,
) -> None:
    far = scaled @ X.T
    far += own
    far += (X * X) @ weights
    np.maximum(far, 0.0, out=far)
    if root:
        np.sqrt(far, out=far)
    distance[:] = far
    np.subtract(far.min(axis=0), far, out=far)
    np.exp(far, out=far)
    np.multiply(far, 1.0 / far.sum(axis=0), out=share)


def _blocks(X: np.ndarray) -> list[slice]:
    step = max(64, CELLS // max(1, X.shape[1]))
    return [slice(at, at + step) for at in range(0, len(X), step)]
