"""Soft memberships in prototypes, and the way back of a gradient through them.

Products of matrices are left to BLAS, in blocks of rows that stay in the cache; what is kept per
row is one number per prototype, so memory is linear in the rows. Prototypes are rows of the small
arrays and of ``share`` and ``distance``, so that sums over them run along memory.
"""

import numpy as np

__all__ = ["memberships", "through_memberships"]

#: Rows worked on at once.
STEP = 4096
#: Below this a distance counts as zero, where the root has no slope.
TINY = 1e-100


def memberships(
    X: np.ndarray,
    squares: np.ndarray,
    prototypes: np.ndarray,
    weights: np.ndarray,
    root: bool,
    share: np.ndarray,
    distance: np.ndarray,
) -> None:
    """Fill in the distances to the prototypes and the shares ``softmax_k(-distance_ki)``.

    A distance is ``sum_f weights_f (x_f - v_f)^2``, with ``root`` its root; ``squares`` is X * X.
    """
    scaled = -2.0 * prototypes * weights
    own = (weights * prototypes * prototypes).sum(axis=1)[:, None]
    for at in range(0, len(X), STEP):
        rows = slice(at, at + STEP)
        far = scaled @ X[rows].T
        far += own
        far += squares[rows] @ weights
        np.maximum(far, 0.0, out=distance[:, rows])
        if root:
            np.sqrt(distance[:, rows], out=distance[:, rows])
        np.subtract(distance[:, rows].min(axis=0), distance[:, rows], out=far)
        np.exp(far, out=far)
        np.multiply(far, 1.0 / far.sum(axis=0), out=share[:, rows])


def through_memberships(
    X: np.ndarray,
    squares: np.ndarray,
    prototypes: np.ndarray,
    weights: np.ndarray,
    root: bool,
    share: np.ndarray,
    distance: np.ndarray,
    slope: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Give the gradients in prototypes and weights of a loss with this slope in the shares."""
    products = np.zeros_like(prototypes)
    of_prototype = np.zeros(len(prototypes))
    of_square = np.zeros_like(weights)
    for at in range(0, len(X), STEP):
        rows = slice(at, at + STEP)
        near, far = share[:, rows], distance[:, rows]
        back = np.einsum("ki,ki->i", near, slope[:, rows]) - slope[:, rows]
        back *= near
        if root:
            zero = far <= TINY
            back /= 2.0 * np.maximum(far, TINY)
            if zero.any():
                back[zero] = 0.0
        products += back @ X[rows]
        of_prototype += back.sum(axis=1)
        of_square += back.sum(axis=0) @ squares[rows]
    for_prototypes = 2.0 * weights * (prototypes * of_prototype[:, None] - products)
    for_weights = of_square - 2.0 * (prototypes * products).sum(axis=0)
    for_weights += of_prototype @ (prototypes * prototypes)
    return for_prototypes, for_weights
