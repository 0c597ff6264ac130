"""RegressionRanker: any scikit-learn regressor, ranking by the relevance it predicts."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from ...core.data import RankingData
from ...core.params import Constraint, Instance, Optional
from .pointwise import Pointwise

__all__ = ["RegressionRanker"]


class RegressionRanker(Pointwise):
    """Pointwise ranking: scores are the relevance that a regressor predicts for each row.

    Item costs and the weights of lists become sample weights (their product, of mean 1); a model
    that takes none refuses them. Ties are left as the model makes them. `save` needs the extra
    ``save``.

    Parameters
    ----------
    estimator : scikit-learn regressor, optional
        A model with ``fit`` and ``predict``, also a Pipeline; None is ``Ridge()``.

    Attributes
    ----------
    estimators_ : list
        The fitted model.
    coef_ : ndarray of shape (n_features,)
        The weights, where the model is linear and has them.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from equirank import make_ranking, query_train_test_split
    >>> from equirank.rankers import RegressionRanker
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> train, test = query_train_test_split(data, random_state=0)
    >>> forest = RandomForestRegressor(20, min_samples_leaf=5, random_state=0)
    >>> RegressionRanker(forest).fit(train).score(test) > 0.8
    True
    >>> RegressionRanker().fit(train).coef_.shape == (data.n_features,)
    True
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        "estimator": Optional(Instance(BaseEstimator, "a scikit-learn regressor")),
    }

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def _base(self) -> BaseEstimator:
        if self.estimator is not None:
            return self.estimator
        from sklearn.linear_model import Ridge

        return Ridge()

    def _fit(self, data: RankingData) -> None:
        self.estimators_ = [self._fit_one(data, np.asarray(data.y, dtype=np.float64))]

    def _scores(self, data: RankingData) -> np.ndarray:
        return np.asarray(self.estimators_[0].predict(data.X), dtype=np.float64).ravel()

    @property
    def coef_(self) -> np.ndarray:
        """The weights of a linear model."""
        return np.asarray(self.estimators_[0].coef_, dtype=np.float64).ravel()
