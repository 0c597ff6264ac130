"""A ridge regression of relevance that pays for differences between the mean scores of groups."""

import numpy as np


class ParityRidge:
    """Linear scores that minimise ``mean (y - z w)^2 + ||w||^2 / n + gamma sum_g (d_g w)^2``.

    ``z`` are standardised features and ``d_g`` the difference of their means between group g and
    everyone else: with a large gamma all groups have equal mean scores. It is the plainest rival: a
    closed form without a network.
    """

    def __init__(self, gamma):
        self.gamma = gamma

    def fit(self, data):
        """Solve for the weights."""
        X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)
        codes, n = data.attribute().codes, data.n_rows
        self.mean_, scale = X.mean(axis=0), X.std(axis=0)
        self.scale_ = np.where(scale > 0.0, scale, 1.0)
        Z, goal = (X - self.mean_) / self.scale_, (y - y.mean()) / (y.std() or 1.0)
        matrix = Z.T @ Z / n + np.eye(Z.shape[1]) / n
        for group in np.unique(codes):
            apart = Z[codes == group].mean(axis=0) - Z[codes != group].mean(axis=0)
            matrix += self.gamma * np.outer(apart, apart)
        self.weights_ = np.linalg.solve(matrix, Z.T @ goal / n)
        return self

    def predict(self, X):
        """Return the scores."""
        return (np.asarray(X, dtype=np.float64) - self.mean_) / self.scale_ @ self.weights_
