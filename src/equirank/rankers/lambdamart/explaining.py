"""Explaining: why an item stands where it does, and why one stands above another."""

from typing import Any

import numpy as np

from ...core.errors import DataError
from ...core.table import Table
from .tree_ranker import TreeRanker

__all__ = ["Explaining"]


class Explaining(TreeRanker):
    """Base of the tree rankers whose score is a sum of trees, which SHAP values take apart."""

    def shap_values(self, X: Any) -> np.ndarray:
        """Give each feature's part in each row's score, and the mean score in a last column.

        Rows add up to the score, less what a base model adds. The parts are LightGBM's exact
        TreeSHAP values.

        Parameters
        ----------
        X : array-like, sparse array, data frame or RankingData
            Features.

        Returns
        -------
        ndarray of shape (n_rows, n_features + 1)
        """
        data = self._prediction_data(X, None, None, None)
        parts = self._raw(data, pred_contrib=True)
        return data.to_original(np.asarray(parts.toarray() if hasattr(parts, "toarray") else parts))

    def explain_pair(self, X: Any, a: int, b: int) -> Table:
        """Say why row a stands above (or below) row b, feature by feature.

        The difference of the two rows' SHAP values: positive where a feature lifts a over b. The
        differences add up to the difference of the scores.

        Parameters
        ----------
        X : array-like, sparse array, data frame or RankingData
            Features.
        a, b : int
            Row numbers in X.

        Returns
        -------
        Table
            Of feature, value_a, value_b, shap_a, shap_b and difference, the largest first; a model
            to start from has a row of its own.
        """
        data = self._prediction_data(X, None, None, None)
        for name, row in (("a", a), ("b", b)):
            whole = isinstance(row, (int, np.integer)) and not isinstance(row, bool)
            if not whole or not 0 <= row < data.n_rows:
                raise DataError(
                    f"{name} must be a row number from 0 to {data.n_rows - 1}, got {row!r}"
                )
        stored = np.argsort(data.caller_rank)[[a, b]]
        two = data.select_items(np.unique(stored))
        at = np.searchsorted(np.unique(stored), stored)
        parts = self._raw(two, pred_contrib=True)
        parts = np.asarray(parts.toarray() if hasattr(parts, "toarray") else parts)[at, :-1]
        values = two.X.toarray() if hasattr(two.X, "toarray") else np.asarray(two.X)
        values, names = values[at].astype(np.float64), self._names()
        if hasattr(self, "base_"):
            start = self._base_scores(two)[at][:, None]
            parts, values = np.hstack([parts, start]), np.hstack([values, start])
            names = [*names, "(base)"]
        difference = parts[0] - parts[1]
        order = np.argsort(-np.abs(difference), kind="stable")
        return Table(
            {
                "feature": [names[j] for j in order],
                "value_a": values[0, order],
                "value_b": values[1, order],
                "shap_a": parts[0, order],
                "shap_b": parts[1, order],
                "difference": difference[order],
            }
        )
