"""TreeRanker: what the rankers on LightGBM share, from binning to SHAP values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ...core.data import RankingData
from ...core.environment import require
from ...core.errors import DataError
from ...core.explain_pair import Parts
from ...core.params import AnyOf, Constraint, Integer, Number, Optional
from ...core.persistence import load, save
from ...core.ranker import Ranker
from ..early_stopping import held_out, metric_value, one_metric
from .lightgbm_params import (
    Columns,
    MetricName,
    ModelOrScores,
    Rows,
    check_names,
    encode_frame,
    find_categories,
    lightgbm_params,
    n_threads,
)

__all__ = ["Explaining", "Prepared", "TreeRanker", "as_matrix", "watcher"]


def watcher(
    data: RankingData, value: Callable[[RankingData, np.ndarray], float], name: str, higher: bool
) -> Callable[[np.ndarray, Any], tuple[str, float, bool]]:
    """Make what LightGBM calls after each round with the raw scores of the validation rows."""
    plain = replace(data, score=None, position=None)

    def watch(score: np.ndarray, dataset: Any) -> tuple[str, float, bool]:
        found = value(plain, np.asarray(score, dtype=np.float64))
        if np.isnan(found):
            raise DataError(f"metric {name} is undefined in every query of the validation data")
        return name, found, higher

    return watch


@dataclass(frozen=True, eq=False)
class Prepared:
    """Training and validation lists and their binned features, ready for any number of fits."""

    train: RankingData
    valid: RankingData | None
    train_set: Any
    valid_set: Any


class TreeRanker(Ranker):
    """Base of the rankers that grow trees with LightGBM.

    A subclass writes `_objective`: what LightGBM minimises, a word or a function.
    """

    fit_takes: ClassVar[frozenset[str]] = frozenset({"cost", "query_weight"})
    file_attributes: ClassVar[tuple[str, ...]] = ("booster_", "base_")
    params: ClassVar[Mapping[str, Constraint]] = {
        "base": ModelOrScores(),
        "n_estimators": Integer(1),
        "learning_rate": Number(0, open_low=True),
        "num_leaves": Integer(2),
        "min_child_samples": Integer(0),
        "early_stopping": Optional(Integer(1)),
        "validation": Optional(AnyOf(Number(0, 1, open_low=True, open_high=True), Rows())),
        "metric": MetricName(),
        "categorical": Optional(Columns()),
        "n_jobs": Optional(Integer(-1)),
    }

    base: Any
    n_estimators: int
    learning_rate: float
    num_leaves: int
    min_child_samples: int
    early_stopping: int | None
    validation: Any
    metric: Any
    categorical: Any
    n_jobs: int | None
    random_state: Any

    # parameters of LightGBM's own pass through the constructor

    def _pass_on(self, more: dict[str, Any]) -> None:
        if more:
            self._more = dict(more)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, those passed on to LightGBM included."""
        return super().get_params(deep=deep) | getattr(self, "_more", {})

    def set_params(self, **params: Any) -> Self:
        """Set parameters; names that are not ours are passed on to LightGBM, which `fit` checks."""
        known = super().get_params(deep=True)
        super().set_params(**{k: v for k, v in params.items() if k in known or "__" in k})
        self._pass_on(
            getattr(self, "_more", {})
            | {k: v for k, v in params.items() if k not in known and "__" not in k}
        )
        return self

    @property
    def file_params(self) -> tuple[str, ...]:
        """Parameters that are kept as files, or not at all, instead of as JSON."""
        names = ["base"] if hasattr(self.base, "predict") else []
        return (*names, *(["validation"] if isinstance(self.validation, RankingData) else []))

    # data frames with columns of text

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

    # fitting

    def _objective(self, data: RankingData) -> str | Callable[..., Any]:
        raise TypeError(f"{type(self).__name__} must define _objective; TreeRanker is abstract")

    def _label(self, data: RankingData) -> np.ndarray:
        return np.asarray(data.y)

    def _weight(self, data: RankingData) -> np.ndarray | None:
        return None

    def _lightgbm_params(self) -> dict[str, Any]:
        more = getattr(self, "_more", {})
        check_names(type(self).__name__, more, super().get_params(deep=False))
        return lightgbm_params(
            learning_rate=self.learning_rate,
            num_leaves=self.num_leaves,
            min_child_samples=self.min_child_samples,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            more=more,
        )

    def _fit(self, data: RankingData) -> None:
        prepared = self._prepare(data)
        self._grow(prepared, self._objective(prepared.train))

    def _prepare(self, data: RankingData) -> Prepared:
        """Split off the validation lists, score them with the base, and bin the features."""
        name = type(self).__name__
        if self.early_stopping is not None and self.validation is None:
            raise DataError(
                f"validation of {name} must be given with early_stopping: a share of the "
                "queries, or a RankingData"
            )
        params = self._lightgbm_params()
        data = self._with_base(data)
        train, valid = held_out(data, self.validation, self.random_state, name)
        if isinstance(self.validation, RankingData):
            given = replace(self.validation, position=None)
            valid = (
                replace(given, score=None) if self.base is None else self._with_base_scores(given)
            )
        train_set = self._binned(train, params)
        valid_set = None
        if valid is not None:
            valid_set = train_set.create_valid(
                as_matrix(valid.X), self._label(valid), init_score=valid.score, params=params
            )
        return Prepared(train, valid, train_set, valid_set)

    def _binned(self, train: RankingData, params: dict[str, Any]) -> Any:
        """Bin the features; where LightGBM would drop all of them, it is told to keep them."""
        lightgbm = require("lightgbm", "lightgbm")
        for extra in ({}, {"feature_pre_filter": False}):
            train_set = lightgbm.Dataset(
                as_matrix(train.X),
                self._label(train),
                weight=self._weight(train),
                init_score=train.score,
                categorical_feature=self._categorical(train),
                params=params | extra,
            ).construct()
            if any(train_set.feature_num_bin(at) > 0 for at in range(train.n_features)):
                break
        return train_set

    def _grow(self, prepared: Prepared, objective: Any, **more: Any) -> None:
        """Grow the trees, watching the validation lists where there are any."""
        lightgbm = require("lightgbm", "lightgbm")
        params = self._lightgbm_params() | {"objective": objective, "metric": "none"} | more
        params = prepared.train_set.params | params
        params.pop("forcedbins_filename", None)  # binned already; LightGBM refuses it a second time
        if prepared.valid is None:
            self.booster_ = lightgbm.train(params, prepared.train_set, self.n_estimators)
            self.best_iteration_ = self.booster_.current_iteration()
            return
        record: dict[str, Any] = {}
        callbacks = [lightgbm.record_evaluation(record)]
        if self.early_stopping is not None:
            callbacks.append(lightgbm.early_stopping(self.early_stopping, verbose=False))
        value, name, higher = self._watched(prepared.valid)
        self.booster_ = lightgbm.train(
            params,
            prepared.train_set,
            self.n_estimators,
            valid_sets=[prepared.valid_set],
            valid_names=["validation"],
            feval=watcher(prepared.valid, self._from_raw(value), name, higher),
            callbacks=callbacks,
        )
        scores = np.array(record["validation"][name])
        self.validation_scores_ = scores
        self.best_iteration_ = len(scores)
        if self.early_stopping is not None:
            self.best_iteration_ = int(np.argmax(scores if higher else -scores)) + 1

    def _from_raw(
        self, value: Callable[[RankingData, np.ndarray], float]
    ) -> Callable[[RankingData, np.ndarray], float]:
        """Let a value of scores take what the booster puts out."""
        return value

    def _watched(
        self, valid: RankingData
    ) -> tuple[Callable[[RankingData, np.ndarray], float], str, bool]:
        """Return what is watched: a function of lists and scores, its name, whether high is good."""
        metric = one_metric(self.metric)
        metric.check(valid)

        def value(data: RankingData, score: np.ndarray) -> float:
            return metric_value(metric, data, score)

        return value, str(metric), metric.direction == "higher"

    def _categorical(self, data: RankingData) -> list[int] | str:
        found: list[int] = []
        columns = [*(self.categorical or ()), *getattr(self, "categories_", {})]
        if not columns:
            return "auto"
        names = list(data.feature_names or self._names())
        for column in columns:
            if isinstance(column, str) and column not in names:
                raise DataError(
                    f"categorical of {type(self).__name__} must name columns of X, got {column!r}"
                )
            found.append(names.index(column) if isinstance(column, str) else int(column))
        if any(column >= data.n_features for column in found):
            raise DataError(
                f"categorical of {type(self).__name__} must be columns of X, which has "
                f"{data.n_features}, got {max(found)}"
            )
        return sorted(set(found))

    # starting from given scores or another model

    def _with_base(self, data: RankingData) -> RankingData:
        """Return the data with the scores to start from as its score."""
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
        self.base_ = self.base
        try:
            check_is_fitted(self.base)
        except NotFittedError:
            learner = clone(self.base)
            ours = isinstance(learner, Ranker)
            self.base_ = learner.fit(data) if ours else learner.fit(data.X, data.y)
        return self._with_base_scores(data)

    def _with_base_scores(self, data: RankingData) -> RankingData:
        if not hasattr(self, "base_"):
            if data.score is None:
                raise DataError(
                    f"validation of {type(self).__name__} must bring scores to start from (score), "
                    "since base is given as scores"
                )
            return data
        return replace(data, score=self._base_scores(data))

    def _base_scores(self, data: RankingData) -> np.ndarray:
        if isinstance(self.base_, Ranker):
            return np.asarray(self.base_.predict(data))[data.caller_rank]
        return np.asarray(self.base_.predict(data.X), dtype=np.float64)

    # predicting and explaining

    def _scores(self, data: RankingData) -> np.ndarray:
        raw = self._raw(data)
        return raw + self._base_scores(data) if hasattr(self, "base_") else raw

    def _raw(self, data: RankingData, **options: Any) -> np.ndarray:
        return np.asarray(
            self.booster_.predict(
                as_matrix(data.X),
                raw_score=True,
                num_iteration=self.best_iteration_,
                num_threads=n_threads(self.n_jobs),
                **options,
            )
        )

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each feature in the gain of all splits."""
        check_is_fitted(self)
        gain = self.booster_.feature_importance("gain", iteration=self.best_iteration_)
        return gain / gain.sum() if gain.sum() > 0 else gain

    def _shown_values(self, values: np.ndarray) -> Sequence[Any]:
        words: list[Any] = values.tolist()
        names = self._names()
        for column, labels in getattr(self, "categories_", {}).items():
            at = names.index(column)
            words[at] = None if np.isnan(words[at]) else labels[int(words[at])]
        return words

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            return [str(name) for name in names]
        return [f"x{at}" for at in range(self.n_features_in_)]

    # saving

    def _save_files(self, folder: Path) -> None:
        text = self.booster_.model_to_string(num_iteration=-1)
        (folder / "model.txt").write_text(text, encoding="utf-8")
        if not hasattr(self, "base_"):
            return
        if not isinstance(self.base_, Ranker):
            raise DataError(
                f"base cannot be saved: {type(self.base_).__name__} is no ranker of equirank"
            )
        save(self.base_, folder / "base")

    def _load_files(self, folder: Path) -> None:
        lightgbm = require("lightgbm", "lightgbm")
        text = (folder / "model.txt").read_text(encoding="utf-8")
        self.booster_ = lightgbm.Booster(model_str=text)
        if (folder / "base").is_dir():
            self.base_ = load(folder / "base")
            self.base = self.base_

    def __sklearn_tags__(self) -> Any:
        """Say that missing values and sparse matrices are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def as_matrix(X: Any) -> Any:
    """Return LightGBM the sparse class it knows."""
    if hasattr(X, "tocsr"):
        from scipy.sparse import csr_matrix

        return csr_matrix(X)
    return X


class Explaining(TreeRanker):
    """Base of the tree rankers whose score is a sum of trees, which SHAP values take apart."""

    def shap_values(self, X: Any) -> np.ndarray:
        """Return each feature's part in each row's score, and the mean score in a last column.

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
        """Return the SHAP values, and what a model to start from adds; linear trees have none."""
        if getattr(self, "_more", {}).get("linear_tree"):
            return None
        parts = self._raw(data, pred_contrib=True)
        values = np.asarray(parts.toarray() if hasattr(parts, "toarray") else parts)[:, :-1]
        if not hasattr(self, "base_"):
            return Parts(values, "shap")
        return Parts(np.column_stack([values, self._base_scores(data)]), "shap", ("(base)",))
