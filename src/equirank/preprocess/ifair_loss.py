"""The loss of iFair and its gradient."""

import numpy as np

from ..kernels.pair_distances import add_pair_errors, pair_distances
from ..kernels.prototypes import memberships, through_memberships

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
        self.X, self.squares, self.root = X, X * X, root
        self.n_prototypes, self.n_pairs = n_prototypes, n_pairs
        self.reconstruction, self.fairness = reconstruction, fairness
        self.base, self.extra = divmod(n_pairs, n)
        self.target = pair_distances(np.ascontiguousarray(open_columns), self.base, self.extra)
        self.share = np.empty((n_prototypes, n))
        self.distance, self.slope = np.empty_like(self.share), np.empty_like(self.share)
        self.made, self.pull = np.empty((n, width)), np.empty((n, width))

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Give the loss and its gradient."""
        n, width = self.X.shape
        weights, prototypes = theta[:width], theta[width:].reshape(self.n_prototypes, width)
        memberships(self.X, self.squares, prototypes, weights, self.root, self.share, self.distance)
        np.matmul(self.share.T, prototypes, out=self.made)
        np.subtract(self.made, self.X, out=self.pull)
        loss = self.reconstruction / n * float(np.vdot(self.pull, self.pull))
        self.pull *= 2.0 * self.reconstruction / n
        if self.fairness > 0 and self.n_pairs > 0:
            scale = self.fairness / self.n_pairs
            loss += scale * add_pair_errors(
                self.made, self.target, self.base, self.extra, scale, self.pull
            )
        np.matmul(prototypes, self.pull.T, out=self.slope)
        for_prototypes, for_weights = through_memberships(
            self.X, self.squares, prototypes, weights, self.root, self.share, self.distance,
            self.slope,
        )  # fmt: skip
        for_prototypes += self.share @ self.pull
        return loss, np.concatenate([for_weights, for_prototypes.ravel()])
