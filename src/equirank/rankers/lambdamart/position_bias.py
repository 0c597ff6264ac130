"""Additive position bias of LambdaMART, as in LightGBM's lambdarank."""

import numpy as np

__all__ = ["PositionBias"]


#: What LightGBM adds to the absolute second derivative of a bias.
_DAMPING = 0.001


class PositionBias:
    """Bias of each position, learned together with the trees.

    Clicks depend on relevance and on the position at which an item was shown. The gradient is
    computed at ``score + bias[position]``. After each tree one Newton step changes the bias of
    position p, with sums over its n rows: ``D1 = -sum(grad) - reg n b``,
    ``D2 = -sum(hess) - reg n``, ``b += rate D1 / (|D2| + 0.001)``. Prediction uses the score alone.

    Parameters
    ----------
    position : ndarray of int
        The position at which each row was shown.
    learning_rate : float
        Factor on the steps.
    regularization : float
        Strength of the L2 penalty on the biases.

    Examples
    --------
    >>> import numpy as np
    >>> bias = PositionBias(np.array([1, 2, 1, 2]), learning_rate=0.1)
    >>> bias.update(np.array([-1.0, 1.0, -1.0, 1.0]), np.full(4, 0.5))
    >>> bias.values.round(3)
    array([ 0.2, -0.2])
    """

    def __init__(
        self, position: np.ndarray, learning_rate: float, regularization: float = 0.0
    ) -> None:
        self.positions, codes = np.unique(position, return_inverse=True)
        self.codes = codes.ravel()
        self.n_rows = np.bincount(self.codes)
        self.learning_rate, self.regularization = float(learning_rate), float(regularization)
        self.reset()

    def reset(self) -> None:
        """Set all biases to 0."""
        self.values = np.zeros(len(self.positions))

    def of_rows(self) -> np.ndarray:
        """Return the bias of each row."""
        return self.values[self.codes]

    def update(self, grad: np.ndarray, hess: np.ndarray) -> None:
        """Change each bias by a Newton step on these derivatives of the rows."""
        penalty = self.regularization * self.n_rows
        n = len(self.values)
        first = -np.bincount(self.codes, grad, minlength=n) - penalty * self.values
        second = -np.bincount(self.codes, hess, minlength=n) - penalty
        self.values = self.values + self.learning_rate * first / (np.abs(second) + _DAMPING)
