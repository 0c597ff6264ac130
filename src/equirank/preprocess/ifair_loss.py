"""The loss of iFair and its gradient."""

import numpy as np

from ..kernels.pair_distances import add_pair_errors, pair_distances
from ..kernels.prototypes import representations, through_memberships

__all__ = ["IFairLoss"]


class IFairLoss:
    """The loss of iFair on given rows, as a function of weights and prototypes in one vector.

    ``reconstruction * mean_i |x_i - x~_i|^2 + fairness * mean over pairs (d(x~_i, x~_j) -
    d(x*_i, x*_j))^2``; ``x*`` is ``open_columns``. The pairs lie in a ring, see `pair_distances`.
    Arrays are made once and filled anew in each evaluation.
    """

    def __init__(
        self,
        X: np.ndarray,
        open_columns: np.ndarray,
        n_prototypes: int,
        n_pairs: int,
        reconstruction: float,
        fairness: float,
        root: bool,
    ) -> None:
        n, width = X.shape
        self.X, self.root = X, root
        self.n_prototypes, self.n_pairs = n_prototypes, n_pairs
        self.reconstruction, self.fairness = reconstruction, fairness
        self.base, self.extra = divmod(n_pairs, n)
        self.target = pair_distances(np.ascontiguousarray(open_columns), self.base, self.extra)
        self.share, self.distance = np.empty((n_prototypes, n)), np.empty((n_prototypes, n))
        self.made, self.pull = np.empty((n, width)), np.empty((n, width))

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Give the loss and its gradient."""
        n, width = self.X.shape
        weights, prototypes = theta[:width], theta[width:].reshape(self.n_prototypes, width)
        known = (self.X, prototypes, weights, self.root, self.share, self.distance)
        per_row = self.reconstruction / n
        loss = per_row * representations(*known, self.made, self.pull, 2.0 * per_row)
        if self.fairness > 0 and self.n_pairs > 0:
            scale = self.fairness / self.n_pairs
            loss += scale * add_pair_errors(
                self.made, self.target, self.base, self.extra, scale, self.pull
            )
        for_prototypes, for_weights = through_memberships(*known, self.pull)
        return loss, np.concatenate([for_weights, for_prototypes.ravel()])
