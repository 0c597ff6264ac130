"""Explaining: SHAP values, which say why an item stands where it does."""

from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.explaining import Parts
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

    def _parts(self, data: RankingData) -> Parts | None:
        """Give the SHAP values, and what a model to start from adds; linear trees have none."""
        if getattr(self, "_more", {}).get("linear_tree"):
            return None
        parts = self._raw(data, pred_contrib=True)
        values = np.asarray(parts.toarray() if hasattr(parts, "toarray") else parts)[:, :-1]
        if not hasattr(self, "base_"):
            return Parts(values, "shap")
        return Parts(np.column_stack([values, self._base_scores(data)]), "shap", ("(base)",))
