"""AdditiveTreeRanker: base of tree rankers whose score is a sum of trees."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ...core.data import RankingData
from ...core.environment import library_version, require
from ...core.errors import DataError
from ...core.explain_pair import Parts
from ...core.given_data import as_ranking_data
from ...core.params import Flag
from ...core.persistence import SavedFiles, save
from ...core.random import as_seed, generator
from ...core.ranker import Ranker
from .averaged_trees import joined_text
from .fit_inputs import FitInputs
from .lightgbm_params import BASE
from .onnx_trees import write_onnx_trees
from .tree_ranker import Binned, TreeRanker

__all__ = ["AdditiveTreeRanker"]


class AdditiveTreeRanker(TreeRanker):
    """Base of the tree rankers whose score is a sum of trees, which SHAP values decompose.

    Parameters
    ----------
    base : model or array-like, optional
        A model to start from, whose scores are added in prediction; one that is not fitted yet is
        fitted first. Or one score per training row; `predict` then returns what is to be added to
        such scores.
    warm_start : bool
        Continue an earlier fit of this object: trees are added to ``booster_`` until there are
        ``n_estimators``, on the same columns and categories. 10 trees and then 10 more equal 20 at
        once, up to rounding and to LightGBM's random draws. With the same data, early stopping
        and damping continue too; ``base`` is that of the first fit.
    """

    file_attributes: ClassVar[tuple[str, ...]] = ("booster_", "base_")

    base: Annotated[Any, BASE] = None
    warm_start: Annotated[bool, Flag()] = False

    def shap_values(self, X: Any) -> np.ndarray:
        """Return the contribution of each feature to each score, and the mean score last.

        Rows sum to the score without the base model's part. The contributions are LightGBM's exact
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
        return data.to_original(self._contributions(data))

    def _contributions(self, data: RankingData) -> np.ndarray:
        parts = self._raw(data, pred_contrib=True)
        return np.asarray(parts.toarray() if hasattr(parts, "toarray") else parts)

    def _parts(self, data: RankingData) -> Parts | None:
        """Return the SHAP values and the score of the base model; None for linear trees."""
        if self.options.get("linear_tree"):
            return None
        values = self._contributions(data)[:, :-1]
        if not hasattr(self, "base_"):
            return Parts(values, "shap")
        return Parts(np.column_stack([values, self._base_scores(data)]), "shap", ("(base)",))

    def export_onnx(self, path: Any) -> None:
        """Write the trees as an ONNX file: float32 ``X`` (rows x features) to ``score`` (rows).

        The graph is one TreeEnsembleRegressor. Splits of float32 features, categories and missing
        values are those of `predict`; scores agree to about 1e-5 of their standard deviation,
        since the sum is computed in single precision. The metadata contain the names of the
        features (``feature_names``) and the categories of text columns (``categories``), whose
        codes are their numbers in this list.

        Parameters
        ----------
        path : path
            The file, which is replaced if it exists.
        """
        check_is_fitted(self)
        name = type(self).__name__
        if hasattr(self, "base_"):
            raise DataError(
                f"base of {name} must be None or scores to export ONNX: a file contains trees only"
            )
        properties = {
            "feature_names": list(
                self.encoding.names or map("x{}".format, range(self.n_features_in_))
            ),
            "categories": getattr(self, "categories_", {}),
            "equirank": library_version(),
        }
        dump = self.booster_.dump_model(num_iteration=self.best_iteration_)
        write_onnx_trees(path, dump, properties, name)

    # warm start

    def _continues(self) -> bool:
        """Return whether `fit` adds trees to those of an earlier fit."""
        return self.warm_start and hasattr(self, "booster_")

    def _training_data(
        self, X: Any, y: Any, qid: Any, sensitive_features: Any, cost: Any, query_weight: Any
    ) -> RankingData:
        if self._continues():
            self._prediction_data(X, None, None, None)  # raises if the columns are others
            if isinstance(X, RankingData):
                X = as_ranking_data(X, like=self.encoding)
        return super()._training_data(X, y, qid, sensitive_features, cost, query_weight)

    def _frame_data(self, X: Any, y: Any, given: dict[str, Any]) -> RankingData:
        data = super()._frame_data(X, y, given)
        return as_ranking_data(data, like=self.encoding) if self._continues() else data

    def _n_before(self, given: FitInputs) -> int:
        if not self._continues():
            return super()._n_before(given)
        name = type(self).__name__
        if getattr(self, "n_models", 1) > 1:
            raise DataError(f"warm_start of {name} must be False if n_models is more than 1")
        if self.n_estimators <= self.best_iteration_:
            raise DataError(
                f"n_estimators of {name} must be more than the {self.best_iteration_} trees of the "
                f"earlier fit with warm_start, got {self.n_estimators}"
            )
        share = self.validation is not None and not isinstance(self.validation, RankingData)
        if share and self.random_state is None:
            raise DataError(
                f"random_state of {name} must be given with warm_start if validation is a share of "
                "the queries: another share would contain lists of the earlier training"
            )
        if not given.same_data:
            self.__dict__.pop("history_", None)  # values on other lists are not comparable
        return int(self.best_iteration_)

    def grow(self, binned: Binned, objective: Any, **given: Any) -> None:
        """Grow the trees; with ``warm_start`` add them to those of the earlier fit."""
        n_before = binned.n_before
        if n_before == 0:
            super().grow(binned, objective, **given)
            return
        earlier = self.booster_.model_to_string(num_iteration=n_before)
        record = getattr(self, "history_", {})
        seed = 0 if self.random_state is None else as_seed(self.random_state)
        given = {"seed": int(generator(seed, n_before).integers(2**31 - 1)), **given}
        super().grow(binned, objective, **given)
        text = joined_text([earlier, self.booster_.model_to_string(num_iteration=-1)])
        self.booster_ = require("lightgbm", "lightgbm").Booster(model_str=text)
        self.best_iteration_ += n_before
        self._join_history(record, binned)

    def _join_history(self, earlier: dict[str, dict[str, list[float]]], binned: Binned) -> None:
        """Put the metrics of the earlier rounds before those of the later ones, NaN if unknown."""
        if not binned.watched:
            self.__dict__.pop("history_", None)
            self.__dict__.pop("validation_scores_", None)
            return
        unknown = [float("nan")] * binned.n_before
        for name, metrics in self.history_.items():
            for metric, values in metrics.items():
                before = earlier.get(name, {}).get(metric, unknown)[: binned.n_before]
                metrics[metric] = before + values
        first = next(iter(binned.watched))
        _, metric, higher = self._watched(binned.watched[first][0])[0]
        self.validation_scores_ = np.array(self.history_[first][metric])
        if self.early_stopping is not None:
            scores = self.validation_scores_ if higher else -self.validation_scores_
            self.best_iteration_ = max(binned.n_before, int(np.nanargmax(scores)) + 1)

    # the model or the scores to start from

    @property
    def file_params(self) -> tuple[str, ...]:
        """Parameters that are saved as files, or not at all, instead of as JSON."""
        return (*(["base"] if hasattr(self.base, "predict") else []), *super().file_params)

    def _with_start(self, data: RankingData) -> RankingData:
        return self._with_trees(self._with_base(data))

    def _with_trees(self, data: RankingData) -> RankingData:
        """Add the scores of the trees to continue from."""
        if not self._continues():
            return data
        raw = self._raw(data)
        return replace(data, score=raw if data.score is None else raw + data.score)

    def _with_base(self, data: RankingData) -> RankingData:
        if self.base is None:
            return data
        if not hasattr(self.base, "predict"):
            scores = np.asarray(self.base, dtype=np.float64)
            if len(scores) != data.n_rows:
                raise DataError(
                    f"base of {type(self).__name__} must have one score per row ({data.n_rows}), "
                    f"got {len(scores)}"
                )
            return replace(data, score=scores[data.caller_rank])
        if not (self._continues() and hasattr(self, "base_")):
            self.base_ = self.base
            try:
                check_is_fitted(self.base)
            except NotFittedError:
                learner = clone(self.base)
                is_ranker = isinstance(learner, Ranker)
                self.base_ = learner.fit(data) if is_ranker else learner.fit(data.X, data.y)
        return replace(data, score=self._base_scores(data))

    def _validation_with_start(self, valid: RankingData, name: str = "") -> RankingData:
        if self.base is None:
            return self._with_trees(super()._validation_with_start(valid))
        if hasattr(self, "base_"):
            return self._with_trees(replace(valid, score=self._base_scores(valid)))
        if valid.score is None:
            raise DataError(
                f"{name or f'validation of {type(self).__name__}'} must have scores to start from "
                "(score), since base is given as scores"
            )
        return self._with_trees(valid)

    def _base_scores(self, data: RankingData) -> np.ndarray:
        if isinstance(self.base_, Ranker):
            return np.asarray(self.base_.predict(data))[data.caller_rank]
        return np.asarray(self.base_.predict(data.X), dtype=np.float64)

    def _store_start(self) -> None:
        if self.base is not None:
            self.base_ = self.base

    def _scores(self, data: RankingData) -> np.ndarray:
        scores = super()._scores(data)
        return scores + self._base_scores(data) if hasattr(self, "base_") else scores

    def _save_files(self, folder: Path) -> None:
        super()._save_files(folder)
        if not hasattr(self, "base_"):
            return
        if not isinstance(self.base_, Ranker):
            raise DataError(
                f"base cannot be saved: {type(self.base_).__name__} is not a ranker of equirank"
            )
        save(self.base_, folder / "base")

    def _load_files(self, files: SavedFiles) -> None:
        super()._load_files(files)
        if files.has("base"):
            self.base = self.base_ = files.load("base")
