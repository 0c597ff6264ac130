"""One step of Adam over several vectors of weights, in one pass and in place."""

import numpy as np

from .compiled import compiled

__all__ = ["adam_step"]


@compiled(reordered=True)
def adam_step(
    weights: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    grad: np.ndarray,
    begin: int,
    end: int,
    numbers: np.ndarray,
) -> None:
    """Update columns ``begin`` to ``end`` of weights and moments (vector x weight), in place.

    All arrays have one type. The numbers of a vector (vector x 7) are ``a, b, c, d, eps, rate,
    decay`` of

    - ``first += a (grad - first)``, ``second = b second + c grad^2``
    - ``weights -= rate first / (d sqrt(second) + eps) + decay weights``

    Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015; Loshchilov and Hutter,
    Decoupled weight decay regularization, ICLR 2019.
    """
    for i in range(len(weights)):
        a, b, c, d = numbers[i, 0], numbers[i, 1], numbers[i, 2], numbers[i, 3]
        eps, rate, decay = numbers[i, 4], numbers[i, 5], numbers[i, 6]
        for j in range(np.uint64(begin), np.uint64(end)):
            g = grad[i, j]
            m = first[i, j] + a * (g - first[i, j])
            v = b * second[i, j] + c * g * g
            first[i, j], second[i, j] = m, v
            weights[i, j] -= rate * m / (d * np.sqrt(v) + eps) + decay * weights[i, j]
