"""Distances of pairs of rows in a ring, and the gradient of their squared errors (compiled).

Row i is paired with the rows behind it, ``i + 1, i + 2, ...``, round the end of the list:
``base`` of them, and one more for the first ``extra`` rows. Any number of pairs up to all of
them can be had that way, each pair once and each row about equally often; on shuffled rows they
are a random sample. Nothing is looked up far away, and no list of pairs is kept.
"""

import numpy as np

from .compiled import compiled

__all__ = [
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
                apart = points[i, f] - points[j, f]
                total += apart * apart
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
    slope: np.ndarray,
) -> float:
    """Return ``sum (distance - target)^2``, and add ``scale`` times its gradient to ``slope``.

    Where two rows are equal their distance has no slope, and 0 is taken.
    """
    n, width = points.shape
    here, own, apart = np.empty(width), np.empty(width), np.empty(width)
    loss = 0.0
    at = 0
    for i in range(n):
        count = base + (1 if i < extra else 0)
        for f in range(width):
            here[f] = points[i, f]
            own[f] = 0.0
        for step in range(1, count + 1):
            j = i + step
            if j >= n:
                j -= n
            even, odd = 0.0, 0.0  # two sums, so that one need not wait for the other
            for f in range(0, width - 1, 2):
                apart[f] = here[f] - points[j, f]
                apart[f + 1] = here[f + 1] - points[j, f + 1]
                even += apart[f] * apart[f]
                odd += apart[f + 1] * apart[f + 1]
            if width % 2 == 1:
                apart[width - 1] = here[width - 1] - points[j, width - 1]
                even += apart[width - 1] * apart[width - 1]
            distance = np.sqrt(even + odd)
            error = distance - target[at]
            loss += error * error
            if distance > 0.0:
                factor = 2.0 * scale * error / distance
                for f in range(width):
                    push = factor * apart[f]
                    own[f] += push
                    slope[j, f] -= push
            at += 1
        for f in range(width):
            slope[i, f] += own[f]
    return loss


#: Numbers of X worked on at once.
CELLS = 1 << 16
#: Below this a distance counts as zero, where the root has no slope.
TINY = 1e-100


def memberships(
    X: np.ndarray,
    prototypes: np.ndarray,
    weights: np.ndarray,
    root: bool,
    share: np.ndarray,
    distance: np.ndarray,
) -> None:
    """Fill in the distances to the prototypes and the shares ``softmax_k(-distance_ki)``.

    A distance is ``sum_f weights_f (x_f - v_f)^2``, with ``root`` its root.
    """
    scaled = -2.0 * prototypes * weights
    own = (weights * prototypes * prototypes).sum(axis=1)[:, None]
    for rows in _blocks(X):
        _share_block(X[rows], scaled, own, weights, root, share[:, rows], distance[:, rows])


def representations(
    X: np.ndarray,
    prototypes: np.ndarray,
    weights: np.ndarray,
    root: bool,
    share: np.ndarray,
    distance: np.ndarray,
    made: np.ndarray,
    pull: np.ndarray,
    factor: float,
) -> float:
    """Fill in the memberships, the representations made of them, and the way they are off.

    ``made`` is ``share' prototypes``, ``pull`` is ``factor (made - X)``; gives the sum of the
    squares of ``made - X``.
    """
    scaled = -2.0 * prototypes * weights
    own = (weights * prototypes * prototypes).sum(axis=1)[:, None]
    total = 0.0
    for rows in _blocks(X):
        part, near = X[rows], share[:, rows]
        _share_block(part, scaled, own, weights, root, near, distance[:, rows])
        np.matmul(near.T, prototypes, out=made[rows])
        off = np.subtract(made[rows], part, out=pull[rows])
        total += float(np.vdot(off, off))
        off *= factor
    return total


def through_memberships(
    X: np.ndarray,
    prototypes: np.ndarray,
    weights: np.ndarray,
    root: bool,
    share: np.ndarray,
    distance: np.ndarray,
    pull: np.ndarray,
    slope: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients in prototypes and weights of a loss.

    ``pull`` is its slope in the representations, ``slope`` what it has beside in the shares.
    """
    direct = np.zeros_like(prototypes)
    products = np.zeros_like(prototypes)
    of_prototype = np.zeros(len(prototypes))
    of_square = np.zeros_like(weights)
    for rows in _blocks(X):
        part, near, far = X[rows], share[:, rows], distance[:, rows]
        direct += near @ pull[rows]
        back = prototypes @ pull[rows].T
        if slope is not None:
            back += slope[:, rows]
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
