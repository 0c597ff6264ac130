"""The loss of learned fair representations and its gradient."""

import numpy as np

from ..kernels.prototypes import representations, through_memberships

__all__ = ["LFRLoss"]


class LFRLoss:
    """The loss of LFR on given rows, as a function of weights, prototypes and targets in a vector.

    ``parity * mean over groups sum_k |mean_group u_k - mean_rest u_k| + reconstruction * mean_i
    |x_i - x~_i|^2 + prediction * mean_i (y_i - sum_k u_ik w_k)^2``. Of two groups both have the
    same term, so that the mean is the one of the paper. ``codes`` is 0, 1, ... per row.
    """

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray | None,
        codes: np.ndarray,
        n_prototypes: int,
        parity: float,
        reconstruction: float,
        prediction: float,
        root: bool,
    ) -> None:
        n, width = X.shape
        self.X, self.y, self.root = X, y, root
        self.n_prototypes = n_prototypes
        self.parity, self.reconstruction, self.prediction = parity, reconstruction, prediction
        sizes = np.bincount(codes)
        member = codes == np.arange(len(sizes))[:, None]
        # One row per group: its mean less the mean of the rest.
        self.contrast = np.where(member, 1.0 / sizes[:, None], -1.0 / (n - sizes)[:, None])
        self.share, self.distance = np.empty((n_prototypes, n)), np.empty((n_prototypes, n))
        self.made, self.pull = np.empty((n, width)), np.empty((n, width))

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Give the loss and its gradient."""
        n, width = self.X.shape
        last = width * (1 + self.n_prototypes)
        weights, target = theta[:width], theta[last:]
        prototypes = theta[width:last].reshape(self.n_prototypes, width)
        known = (self.X, prototypes, weights, self.root, self.share, self.distance)
        per_row = self.reconstruction / n
        loss = per_row * representations(*known, self.made, self.pull, 2.0 * per_row)
        gap = self.contrast @ self.share.T
        loss += self.parity * float(np.abs(gap).sum()) / len(gap)
        slope = (self.parity / len(gap) * np.sign(gap)).T @ self.contrast
        for_target = np.zeros(len(target))
        if self.y is not None:
            error = target @ self.share - self.y
            loss += self.prediction / n * float(error @ error)
            error *= 2.0 * self.prediction / n
            for_target = self.share @ error
            slope += target[:, None] * error
        for_prototypes, for_weights = through_memberships(*known, self.pull, slope)
        return loss, np.concatenate([for_weights, for_prototypes.ravel(), for_target])
