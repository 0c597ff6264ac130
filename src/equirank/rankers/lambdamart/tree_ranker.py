"""TreeRanker: base classes of the rankers that grow trees with LightGBM."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ...core.data import RankingData
from ...core.declared import GIVEN, OnlyWith, complete_docstring
from ...core.environment import require
from ...core.errors import DataError, FormatError
from ...core.explain_pair import Parts
from ...core.params import AnyOf, Integer, Number, Optional
from ...core.persistence import SavedFiles, save
from ...core.ranker import Ranker
from ..early_stopping import held_out, metric_value, one_metric
from .lightgbm_params import (
    BASE,
    COLUMNS,
    RANKING_DATA,
    as_matrix,
    check_names,
    check_trees,
    lightgbm_params,
    metric_name,
    n_threads,
    try_options,
)

__all__ = ["AdditiveTreeRanker", "Binned", "TreeRanker"]

#: A value of scores on lists, as in early stopping.
Value = Callable[[RankingData, np.ndarray], float]


@dataclass(frozen=True, eq=False)
class Binned:
    """Training and validation lists with their binned features, for any number of fits."""

    train: RankingData
    valid: RankingData | None
    train_set: Any
    valid_set: Any


class TreeRanker(Ranker):
    """Base of the rankers that grow trees with LightGBM.

    A subclass writes `objective`. `fit` runs `prepare`, `bin_features`, `objective`, `grow` and
    `finish`; they are public for callers that run these steps elsewhere, such as Dask workers.

    Parameters
    ----------
    n_estimators : int
        Maximum number of trees.
    learning_rate : float
        Factor on the output of each tree.
    num_leaves : int
        Maximum number of leaves of a tree.
    min_child_samples : int
        Minimum number of rows of a leaf.
    early_stopping : int, optional
        Stop after this number of rounds without a better value on the validation lists.
    validation : float or RankingData, optional
        Share of the queries to hold out for validation, or the validation lists.
    metric : str or Metric
        Metric of the validation lists.
    categorical : list of str or int, optional
        Columns of X that contain categories as integers >= 0. Columns of a data frame that contain
        text or categories are found and encoded automatically.
    n_jobs : int, optional
        Number of threads; None and -1 use all cores. It does not change the result.
    random_state : int, optional
        Seed of the validation split and of LightGBM's random draws.
    **lightgbm
        Any other parameter of LightGBM.
    """

    fit_takes: ClassVar[frozenset[str]] = frozenset({"cost", "query_weight"})
    takes_categories: ClassVar[bool] = True
    file_attributes: ClassVar[tuple[str, ...]] = ("booster_",)
    only_with: ClassVar[OnlyWith] = {"metric": ("validation", GIVEN)}

    n_estimators: Annotated[int, Integer(1)] = 100
    learning_rate: Annotated[float, Number(0, open_low=True)] = 0.1
    num_leaves: Annotated[int, Integer(2)] = 31
    min_child_samples: Annotated[int, Integer(0)] = 20
    early_stopping: Annotated[int | None, Optional(Integer(1))] = None
    validation: Annotated[
        Any, Optional(AnyOf(Number(0, 1, open_low=True, open_high=True), RANKING_DATA))
    ] = None
    metric: Annotated[Any, metric_name()] = "NDCG@10"
    categorical: Annotated[list[str | int] | None, Optional(COLUMNS)] = None
    n_jobs: Annotated[int | None, Optional(Integer(-1))] = None
    random_state: Any = None

    # constructor and parameters

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Extend the constructor made from the fields by options of LightGBM."""
        super().__init_subclass__(**kwargs)
        cls.__init__ = _constructor_with_options(cls)  # type: ignore[method-assign]
        cls.__doc__ = complete_docstring(cls)

    @property
    def options(self) -> dict[str, Any]:
        """Options that are passed to LightGBM unchanged."""
        return dict(getattr(self, "_options", {}))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, including LightGBM's own."""
        return super().get_params(deep=deep) | self.options

    def set_params(self, **params: Any) -> Self:
        """Set parameters; unknown names are options of LightGBM, which `fit` checks."""
        known = super().get_params(deep=True)
        own = {name: value for name, value in params.items() if name in known or "__" in name}
        super().set_params(**own)
        options = {name: value for name, value in params.items() if name not in own}
        if options:
            self._options = self.options | options
        return self

    def lightgbm_params(self) -> dict[str, Any]:
        """Return the parameters of LightGBM; raise `DataError` for an option it does not accept."""
        check_names(type(self).__name__, self.options, super().get_params(deep=False))
        return lightgbm_params(
            learning_rate=self.learning_rate,
            num_leaves=self.num_leaves,
            min_child_samples=self.min_child_samples,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            options=self.options,
        )

    @property
    def file_params(self) -> tuple[str, ...]:
        """Parameters that are saved as files, or not at all, instead of as JSON."""
        return ("validation",) if isinstance(self.validation, RankingData) else ()

    # the steps of fit

    def _fit(self, data: RankingData) -> None:
        binned = self._split_and_bin(data)
        self.grow(binned, self.objective(binned.train))

    def _split_and_bin(self, data: RankingData) -> Binned:
        """Split off the validation lists, add the scores to start from, and bin the features."""
        name = type(self).__name__
        if self.early_stopping is not None and self.validation is None:
            raise DataError(
                f"validation of {name} must be given with early_stopping: a share of the "
                "queries, or a RankingData"
            )
        self.lightgbm_params()  # raises before a base model is fitted
        data = self._with_start(data)
        train, valid = held_out(data, self.validation, self.random_state, name)
        if isinstance(self.validation, RankingData) and valid is not None:
            valid = self._validation_with_start(replace(valid, position=None))
        return self.bin_features(train, valid)

    def prepare(self, data: RankingData) -> RankingData:
        """Return the data with the scores to start from as its score; refuse infinite features."""
        self._check_finite(data)
        return self._with_start(replace(data, score=None, position=None))

    def _with_start(self, data: RankingData) -> RankingData:
        """Return the training data with the scores to start from as its score, if any."""
        return data

    def _validation_with_start(self, valid: RankingData) -> RankingData:
        return replace(valid, score=None)

    def bin_features(
        self,
        train: RankingData,
        valid: RankingData | None = None,
        *,
        reference: str | Path | None = None,
    ) -> Binned:
        """Bin the features of training and validation lists.

        Parameters
        ----------
        train, valid : RankingData
            The lists, with the scores to start from as their score.
        reference : path, optional
            A binary data set of LightGBM, whose bins are used instead of new ones.
        """
        params = self.lightgbm_params()
        if reference is not None:
            params |= {"enable_bundle": False, "feature_pre_filter": False}
            lightgbm = require("lightgbm", "lightgbm")
            bins = lightgbm.Dataset(reference, params=params).construct()
            train_set = self._dataset(train, params, bins)
            valid_set = None if valid is None else self._dataset(valid, params, bins)
            return Binned(train, valid, train_set, valid_set)
        if self.options:
            try_options(type(self).__name__, params, train.n_features)
        train_set = self._dataset(train, params)
        if not _has_bins(train_set, train.n_features):
            # LightGBM would drop all features
            train_set = self._dataset(train, params | {"feature_pre_filter": False})
        valid_set = None
        if valid is not None:
            valid_set = train_set.create_valid(
                as_matrix(valid.X), self._label(valid), init_score=valid.score, params=params
            )
        return Binned(train, valid, train_set, valid_set)

    def _dataset(self, data: RankingData, params: dict[str, Any], reference: Any = None) -> Any:
        return (
            require("lightgbm", "lightgbm")
            .Dataset(
                as_matrix(data.X),
                self._label(data),
                weight=self._weight(data),
                init_score=data.score,
                categorical_feature=self.categorical_columns(data) or "auto",
                reference=reference,
                params=params,
            )
            .construct()
        )

    def objective(self, data: RankingData) -> str | Callable[..., Any]:
        """Return what LightGBM minimises on this data: a name, or a function of the scores."""
        raise TypeError(f"{type(self).__name__} must define objective; TreeRanker is abstract")

    def _label(self, data: RankingData) -> np.ndarray:
        return np.asarray(data.y)

    def _weight(self, data: RankingData) -> np.ndarray | None:
        return None

    def grow(self, binned: Binned, objective: Any, **params: Any) -> None:
        """Grow the trees, and record the metric of the validation lists after each round.

        Parameters
        ----------
        binned : Binned
            The result of `bin_features`.
        objective : str or callable
            The result of `objective` for the training lists.
        **params
            Further parameters of LightGBM, such as those of a network.
        """
        lightgbm = require("lightgbm", "lightgbm")
        params = self.lightgbm_params() | {"objective": objective, "metric": "none"} | params
        params = binned.train_set.params | params
        params.pop("forcedbins_filename", None)  # LightGBM refuses it for binned data
        if callable(objective) and not _has_bins(binned.train_set, binned.train.n_features):
            raise DataError("X must have at least one column that is not 0 in every row")
        if self.options and callable(objective) and "num_machines" not in params:
            try_options(type(self).__name__, params, binned.train.n_features)
        if binned.valid is None:
            self.booster_ = lightgbm.train(params, binned.train_set, self.n_estimators)
            self.best_iteration_ = self.booster_.current_iteration()
            return
        record: dict[str, Any] = {}
        callbacks = [lightgbm.record_evaluation(record)]
        if self.early_stopping is not None:
            callbacks.append(lightgbm.early_stopping(self.early_stopping, verbose=False))
        value, name, higher = self._watched(binned.valid)
        self.booster_ = lightgbm.train(
            params,
            binned.train_set,
            self.n_estimators,
            valid_sets=[binned.valid_set],
            valid_names=["validation"],
            feval=_evaluator(binned.valid, self._from_raw(value), name, higher),
            callbacks=callbacks,
        )
        scores = np.array(record["validation"][name])
        self.validation_scores_ = scores
        self.best_iteration_ = len(scores)
        if self.early_stopping is not None:
            self.best_iteration_ = int(np.argmax(scores if higher else -scores)) + 1

    def finish(
        self,
        trees: str,
        best_iteration: int,
        validation_scores: np.ndarray | None,
        fingerprint: str,
    ) -> None:
        """Store trees that were grown elsewhere, and mark the ranker as fitted.

        Parameters
        ----------
        trees : str
            The text of the booster.
        best_iteration : int
            Number of trees in use.
        validation_scores : ndarray or None
            Metric of the validation lists after each round.
        fingerprint : str
            Fingerprint of the training data.
        """
        self.booster_ = require("lightgbm", "lightgbm").Booster(model_str=trees)
        self.best_iteration_ = best_iteration
        if validation_scores is not None:
            self.validation_scores_ = validation_scores
        self._store_start()
        self.data_fingerprint_ = fingerprint
        self.is_fitted_ = True

    def _store_start(self) -> None:
        """Store the fitted model to start from, if there is one."""

    def _from_raw(self, value: Value) -> Value:
        """Return ``value`` as a function of the raw output of the booster."""
        return value

    def _watched(self, valid: RankingData) -> tuple[Value, str, bool]:
        """Return the value to watch, its name, and whether higher is better."""
        metric = one_metric(self.metric)
        metric.check(valid)

        def value(data: RankingData, score: np.ndarray) -> float:
            return metric_value(metric, data, score)

        return value, str(metric), metric.direction == "higher"

    def categorical_columns(self, data: RankingData) -> list[int]:
        """Return the sorted numbers of the columns that contain categories."""
        given = [*(self.categorical or ()), *getattr(self, "categories_", {})]
        if not given:
            return []
        columns: list[int] = []
        names = self._feature_names(data)
        for column in given:
            if isinstance(column, str) and column not in names:
                raise DataError(
                    f"categorical of {type(self).__name__} must name columns of X, got {column!r}"
                )
            columns.append(names.index(column) if isinstance(column, str) else int(column))
        if any(column >= data.n_features for column in columns):
            raise DataError(
                f"categorical of {type(self).__name__} must be columns of X, which has "
                f"{data.n_features}, got {max(columns)}"
            )
        return sorted(set(columns))

    # prediction

    def _scores(self, data: RankingData) -> np.ndarray:
        return self._raw(data)

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
        """Share of each feature in the gain of all splits."""
        check_is_fitted(self)
        gain = self.booster_.feature_importance("gain", iteration=self.best_iteration_)
        return gain / gain.sum() if gain.sum() > 0 else gain

    # files

    def _save_files(self, folder: Path) -> None:
        text = self.booster_.model_to_string(num_iteration=-1)
        (folder / "model.txt").write_text(text, encoding="utf-8")

    def _load_files(self, files: SavedFiles) -> None:
        lightgbm = require("lightgbm", "lightgbm")
        raw, path = files.read("model.txt"), str(files.folder / "model.txt")
        check_trees(raw, repr(path), self.n_features_in_)
        try:
            self.booster_ = lightgbm.Booster(model_str=raw.decode("utf-8"))
        except (lightgbm.basic.LightGBMError, ValueError) as error:
            raise FormatError(f"{path!r} is damaged: {error}") from None

    def __sklearn_tags__(self) -> Any:
        """Declare that missing values and sparse matrices are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _constructor_with_options(cls: type[TreeRanker]) -> Any:
    """Return the constructor of the fields with ``**lightgbm`` added."""
    from_fields = cls.__init__
    signature = inspect.signature(from_fields)
    parameters = [each for each in signature.parameters.values() if each.name != "lightgbm"]

    def __init__(self: TreeRanker, *args: Any, **keywords: Any) -> None:
        options = {name: value for name, value in keywords.items() if name not in cls.__fields__}
        own = {name: value for name, value in keywords.items() if name not in options}
        from_fields(self, *args, **own)
        if options:
            self._options = options

    rest = inspect.Parameter("lightgbm", inspect.Parameter.VAR_KEYWORD, annotation=Any)
    __init__.__dict__.update(vars(from_fields))
    __init__.__signature__ = signature.replace(parameters=[*parameters, rest])  # type: ignore[attr-defined]
    __init__.__qualname__, __init__.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return __init__


def _has_bins(dataset: Any, n_features: int) -> bool:
    """Return whether LightGBM keeps any feature of the data set."""
    return any(dataset.feature_num_bin(at) > 0 for at in range(n_features))


def _evaluator(
    data: RankingData, value: Value, name: str, higher: bool
) -> Callable[[np.ndarray, Any], tuple[str, float, bool]]:
    """Return the function that LightGBM calls after each round with the validation scores."""
    plain = replace(data, score=None, position=None)

    def evaluate(score: np.ndarray, dataset: Any) -> tuple[str, float, bool]:
        found = value(plain, np.asarray(score, dtype=np.float64))
        if np.isnan(found):
            raise DataError(f"metric {name} is undefined in every query of the validation data")
        return name, found, higher

    return evaluate


class AdditiveTreeRanker(TreeRanker):
    """Base of the tree rankers whose score is a sum of trees, which SHAP values decompose.

    Parameters
    ----------
    base : model or array-like, optional
        A model to start from, whose scores are added in prediction; one that is not fitted yet is
        fitted first. Or one score per training row; `predict` then returns what is to be added to
        such scores.
    """

    file_attributes: ClassVar[tuple[str, ...]] = ("booster_", "base_")

    base: Annotated[Any, BASE] = None

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

    # the model or the scores to start from

    @property
    def file_params(self) -> tuple[str, ...]:
        """Parameters that are saved as files, or not at all, instead of as JSON."""
        return (*(["base"] if hasattr(self.base, "predict") else []), *super().file_params)

    def _with_start(self, data: RankingData) -> RankingData:
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
            is_ranker = isinstance(learner, Ranker)
            self.base_ = learner.fit(data) if is_ranker else learner.fit(data.X, data.y)
        return replace(data, score=self._base_scores(data))

    def _validation_with_start(self, valid: RankingData) -> RankingData:
        if self.base is None:
            return super()._validation_with_start(valid)
        if hasattr(self, "base_"):
            return replace(valid, score=self._base_scores(valid))
        if valid.score is None:
            raise DataError(
                f"validation of {type(self).__name__} must have scores to start from (score), "
                "since base is given as scores"
            )
        return valid

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
