"""CategoryFrames: base of rankers that encode the text columns of a data frame."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..core.data import RankingData
from ..core.ranker import Ranker
from .lambdamart.lightgbm_params import encode_frame, find_categories

__all__ = ["CategoryFrames"]


class CategoryFrames(Ranker):
    """Base of rankers whose learners accept categories.

    Columns of a data frame that contain text or categories become codes. The categories are stored
    in ``categories_``; missing and unseen ones become NaN.
    """

    def _training_data(
        self, X: Any, y: Any, qid: Any, sensitive_features: Any, cost: Any, query_weight: Any
    ) -> RankingData:
        if not isinstance(X, RankingData):
            self.categories_ = find_categories(X)
            X = encode_frame(X, self.categories_)
        return super()._training_data(X, y, qid, sensitive_features, cost, query_weight)

    def _prediction_data(self, X: Any, y: Any, qid: Any, sensitive_features: Any) -> RankingData:
        check_is_fitted(self)
        if not isinstance(X, RankingData):
            X = encode_frame(X, getattr(self, "categories_", {}))
        return super()._prediction_data(X, y, qid, sensitive_features)

    def _shown_values(self, values: np.ndarray) -> Sequence[Any]:
        shown: list[Any] = values.tolist()
        for column, labels in getattr(self, "categories_", {}).items():
            at = self._names().index(column)
            shown[at] = None if np.isnan(shown[at]) else labels[int(shown[at])]
        return shown

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            return [str(name) for name in names]
        return [f"x{at}" for at in range(self.n_features_in_)]
