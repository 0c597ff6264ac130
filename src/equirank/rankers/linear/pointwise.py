"""Pointwise: what rankers around a scikit-learn model share."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.ranker import Ranker
from ..lambdamart.mart import row_weights
from ..sklearn_part import read_models, write_models

__all__ = ["Pointwise"]


class Pointwise(Ranker):
    """Base of rankers that fit a scikit-learn model row by row; lists can weigh, and no more.

    Learned attribute: ``estimators_``, the fitted models.
    """

    fit_takes: ClassVar[frozenset[str]] = frozenset({"cost", "query_weight"})
    file_params: ClassVar[tuple[str, ...]] = ("estimator",)
    file_attributes: ClassVar[tuple[str, ...]] = ("estimators_",)
    files_hold_classes: ClassVar[bool] = True

    estimator: Any
    estimators_: list[Any]

    def _base(self) -> BaseEstimator:
        """Give the model to fit: the one given, or the default."""
        raise TypeError(f"{type(self).__name__} must define _base; Pointwise is abstract")

    def _fit_one(self, data: RankingData, target: np.ndarray) -> Any:
        """Fit a copy of the model, rows weighing what their cost and their list weigh."""
        model, weight = clone(self._base()), row_weights(data)
        if weight is None:
            return model.fit(data.X, target)
        last = model.steps[-1] if isinstance(model, Pipeline) else ("", model)
        if not has_fit_parameter(last[1], "sample_weight"):
            raise DataError(
                f"cost and query_weight must not be given: {type(last[1]).__name__} takes no "
                "sample weights"
            )
        name = f"{last[0]}__sample_weight" if last[0] else "sample_weight"
        return model.fit(data.X, target, **{name: weight})

    def _save_files(self, folder: Path) -> None:
        write_models(folder, {"estimator": self.estimator, "estimators": self.estimators_})

    def _load_files(self, folder: Path, classes: Iterable[type] = ()) -> None:
        found = read_models(folder, classes)
        self.estimator, self.estimators_ = found["estimator"], found["estimators"]

    def __sklearn_tags__(self) -> Any:
        """Allow what the model allows: missing values, sparse features."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self._base()).input_tags
        tags.input_tags.allow_nan = inner.allow_nan
        tags.input_tags.sparse = inner.sparse
        return tags
