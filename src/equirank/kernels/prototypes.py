"""Soft memberships in prototypes, and the way back of a gradient through them.

Products of matrices are left to BLAS, in blocks of rows that stay in the cache from the first
product to the last; what is kept per row is one number per prototype, so memory is linear in the
rows. Prototypes are rows of the small arrays and of ``share`` and ``distance``, so that sums over
them run along memory.
"""

import numpy as np

__all__ = ["memberships", "representations", "through_memberships"]

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
    """Give the gradients in prototypes and weights of a loss.

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
