"""TreeRanker: base classes of the rankers that grow trees with LightGBM."""

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...core.data import RankingData
from ...core.declared import complete_docstring
from ...core.environment import require
from ...core.errors import DataError, EquirankWarning, FormatError, outer_stacklevel
from ...core.keywords import FitKeywords, shared_keywords
from ...core.params import AnyOf, Integer, Number, Optional
from ...core.persistence import SavedFiles
from ...core.ranker import METADATA, Ranker
from ..early_stopping import held_out, metric_value, one_metric
from .fit_inputs import (
    FitInputs,
    LogRounds,
    TreeFitKeywords,
    WatchOne,
    check_callbacks,
    item_weights,
    named_sets,
)
from .lightgbm_params import (
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

__all__ = ["Binned", "TreeRanker", "evaluator"]

#: Name under which the index of each row travels through the split.
ROW = "(row)"
#: Attributes of the training, which a fit from the beginning forgets.
RECORDED = ("history_", "validation_scores_", "state_", "positions_", "position_bias_", "base_")
NO_INPUTS = FitInputs()

#: A value of scores on lists, as in early stopping.
Value = Callable[[RankingData, np.ndarray], float]


@dataclass(frozen=True, eq=False)
class Binned:
    """Training and validation lists with their binned features, for any number of fits.

    Attributes
    ----------
    train, valid : RankingData
        The lists, with the scores that the trees are added to as their score.
    train_set, valid_set : lightgbm.Dataset
        Their binned features.
    eval_sets : mapping of str to (RankingData, lightgbm.Dataset)
        Further evaluation sets by name.
    n_before : int
        Number of trees of an earlier fit that the scores contain.
    """

    train: RankingData
    valid: RankingData | None
    train_set: Any
    valid_set: Any
    eval_sets: Mapping[str, tuple[RankingData, Any]] = field(default_factory=dict)
    n_before: int = 0

    @property
    def watched(self) -> dict[str, tuple[RankingData, Any]]:
        """The sets on which metrics are computed; the first one decides early stopping."""
        if self.valid is None:
            return dict(self.eval_sets)
        return {"validation": (self.valid, self.valid_set), **self.eval_sets}


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
    metric : str or Metric, or a list of them
        Metrics of the validation lists and evaluation sets; early stopping uses the first.
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
    #: Why a weight of 2 differs from a row twice, for `testing.expected_failed_checks`.
    weight_is_no_copy: ClassVar[str] = "a leaf has a minimum number of rows, not of weights"
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
        cls.__metadata_request__fit = {"sample_weight": True}
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

    # fit

    @shared_keywords(FitKeywords, TreeFitKeywords)
    def fit(self, X: Any, y: Any = None, **given: Unpack[TreeFitKeywords]) -> Self:
        """Fit the ranker."""
        return self._fit_given(X, y, given)

    def _fit_given(self, X: Any, y: Any, given: Mapping[str, Any]) -> Self:
        """Fit to the inputs of `fit`, which some rankers have more of."""
        earlier = getattr(self, "data_fingerprint_", None)
        data = self._begin(X, y, **{name: given[name] for name in METADATA})
        same_data = earlier == self.data_fingerprint_
        self._fit(data, replace(self._inputs(data, given), same_data=same_data))
        self.is_fitted_ = True
        return self

    def _inputs(self, data: RankingData, given: Mapping[str, Any]) -> FitInputs:
        """Return the inputs of `fit` beyond the lists, after checking them."""
        name = type(self).__name__
        sets = named_sets(given["eval_set"], self._prediction_data)
        watching = given["callbacks"], given["verbose"]
        functions, every = check_callbacks(f"{name}.fit", *watching)
        if self.validation is None and not sets:
            for unused, is_set in {
                f"metric of {name}": self.metric != self.__fields__["metric"].default,
                f"verbose of {name}.fit": every > 0,
            }.items():
                if is_set:
                    warnings.warn(
                        f"{unused} has no effect: validation or eval_set must be given",
                        EquirankWarning,
                        stacklevel=outer_stacklevel(),
                    )
        return FitInputs(
            sample_weight=item_weights(given["sample_weight"], data),
            eval_sets=sets,
            callbacks=functions,
            verbose=every,
        )

    # the steps of fit

    def _fit(self, data: RankingData, given: FitInputs = NO_INPUTS) -> None:
        binned, given = self._split_and_bin(data, given)
        objective = self._objective_of(binned.train, given)
        self.grow(binned, objective, callbacks=given.callbacks, verbose=given.verbose)

    def _objective_of(self, train: RankingData, given: FitInputs) -> Any:
        """Return the objective of the training lists with the weights of their items."""
        return self.objective(train)

    def _split_and_bin(
        self, data: RankingData, given: FitInputs = NO_INPUTS
    ) -> tuple[Binned, FitInputs]:
        """Split off the validation lists, add the scores to start from, and bin the features.

        Returns the lists and the inputs of the training rows.
        """
        name = type(self).__name__
        if self.early_stopping is not None and self.validation is None and not given.eval_sets:
            raise DataError(
                f"validation of {name} must be given with early_stopping: a share of the "
                "queries, or a RankingData; or give eval_set to fit"
            )
        self.lightgbm_params()  # raises before a base model is fitted
        n_before = self._n_before(given)
        data = self._with_start(data)
        if given.sample_weight is not None or given.position is not None:
            data = replace(data, outcomes={ROW: np.arange(data.n_rows)})
        train, valid = held_out(data, self.validation, self.random_state, name)
        if ROW in train.outcomes:
            given = given.of_rows(train.outcomes[ROW])
        if isinstance(self.validation, RankingData) and valid is not None:
            valid = self._validation_with_start(replace(valid, position=None))
        binned = self.bin_features(train, valid, sample_weight=given.sample_weight)
        sets = {}
        for key, each in given.eval_sets.items():
            started = self._validation_with_start(each, f"set {key} of eval_set")
            sets[key] = (started, self._valid_set(binned.train_set, started))
        return replace(binned, eval_sets=sets, n_before=n_before), given

    def _n_before(self, given: FitInputs) -> int:
        """Return the number of trees of an earlier fit to continue from, and forget the others."""
        for attribute in RECORDED:
            self.__dict__.pop(attribute, None)
        return 0

    def prepare(self, data: RankingData) -> RankingData:
        """Return the data with the scores to start from as its score; refuse infinite features."""
        self._check_finite(data)
        return self._with_start(replace(data, score=None, position=None))

    def _with_start(self, data: RankingData) -> RankingData:
        """Return the training data with the scores to start from as its score, if any."""
        return data

    def _validation_with_start(self, valid: RankingData, name: str = "") -> RankingData:
        """Return evaluation lists with the scores to start from; messages call them ``name``."""
        return replace(valid, score=None)

    def bin_features(
        self,
        train: RankingData,
        valid: RankingData | None = None,
        *,
        sample_weight: np.ndarray | None = None,
        reference: str | Path | None = None,
    ) -> Binned:
        """Bin the features of training and validation lists.

        Parameters
        ----------
        train, valid : RankingData
            The lists, with the scores to start from as their score.
        sample_weight : ndarray, optional
            Weight of each training row, for rankers that learn from single items.
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
        train_set = self._dataset(train, params, sample_weight=sample_weight)
        if not _has_bins(train_set, train.n_features):
            # LightGBM would drop all features
            params |= {"feature_pre_filter": False}
            train_set = self._dataset(train, params, sample_weight=sample_weight)
        valid_set = None if valid is None else self._valid_set(train_set, valid)
        return Binned(train, valid, train_set, valid_set)

    def _valid_set(self, train_set: Any, valid: RankingData) -> Any:
        """Return evaluation lists with the bins of the training lists."""
        return train_set.create_valid(
            as_matrix(valid.X),
            self._label(valid),
            init_score=valid.score,
            params=self.lightgbm_params(),
        )

    def _dataset(
        self,
        data: RankingData,
        params: dict[str, Any],
        reference: Any = None,
        sample_weight: np.ndarray | None = None,
    ) -> Any:
        return (
            require("lightgbm", "lightgbm")
            .Dataset(
                as_matrix(data.X),
                self._label(data),
                weight=self._weight(data, sample_weight),
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

    def _weight(
        self, data: RankingData, sample_weight: np.ndarray | None = None
    ) -> np.ndarray | None:
        """Return the weight of each row in LightGBM; None if the gradient contains it."""
        return None

    def grow(
        self,
        binned: Binned,
        objective: Any,
        *,
        callbacks: Sequence[Any] = (),
        verbose: int = 0,
        **params: Any,
    ) -> None:
        """Grow the trees, and record the metrics of the watched sets after each round.

        Parameters
        ----------
        binned : Binned
            The result of `bin_features`.
        objective : str or callable
            The result of `objective` for the training lists.
        callbacks : sequence of callables
            Callbacks of LightGBM.
        verbose : int
            Log the metrics every so many rounds.
        **params
            Further parameters of LightGBM, such as those of a network.
        """
        lightgbm = require("lightgbm", "lightgbm")
        function = _as_function(objective) if callable(objective) else objective
        params = self.lightgbm_params() | {"objective": function, "metric": "none"} | params
        params = binned.train_set.params | params
        params.pop("forcedbins_filename", None)  # LightGBM refuses it for binned data
        if callable(objective) and not _has_bins(binned.train_set, binned.train.n_features):
            raise DataError("X must have at least one column that is not 0 in every row")
        if self.options and callable(objective) and "num_machines" not in params:
            try_options(type(self).__name__, params, binned.train.n_features)
        n_rounds, sets = self.n_estimators - binned.n_before, binned.watched
        if not sets:
            self.booster_ = lightgbm.train(
                params, binned.train_set, n_rounds, callbacks=list(callbacks)
            )
            self.best_iteration_ = self.booster_.current_iteration()
            return
        watched = {name: self._watched(data) for name, (data, _) in sets.items()}
        first = next(iter(sets))
        _, metric, higher = watched[first][0]
        record: dict[str, Any] = {}
        every = [lightgbm.record_evaluation(record), *callbacks]
        if self.early_stopping is not None:
            stop = lightgbm.early_stopping(self.early_stopping, verbose=False)
            every.append(WatchOne(stop, first, metric))
        if verbose:
            every.append(LogRounds(verbose, binned.n_before))
        self.booster_ = lightgbm.train(
            params,
            binned.train_set,
            n_rounds,
            valid_sets=[dataset for _, dataset in sets.values()],
            valid_names=list(sets),
            feval=self._evaluators(sets, watched),
            callbacks=every,
        )
        self.history_ = {name: {k: list(v) for k, v in of.items()} for name, of in record.items()}
        scores = np.array(record[first][metric])
        self.validation_scores_ = scores
        self.best_iteration_ = len(scores)
        if self.early_stopping is not None:
            self.best_iteration_ = int(np.argmax(scores if higher else -scores)) + 1
        elif self.booster_.best_iteration > 0:  # a callback stopped the training
            self.best_iteration_ = self.booster_.best_iteration

    def _evaluators(
        self,
        sets: Mapping[str, tuple[RankingData, Any]],
        watched: Mapping[str, list[tuple[Value, str, bool]]],
    ) -> Callable[[np.ndarray, Any], list[tuple[str, float, bool]]]:
        """Return the function that computes all metrics of the set that LightGBM passes."""
        functions = {
            id(dataset): [evaluator(data, self._from_raw(v), n, up) for v, n, up in watched[name]]
            for name, (data, dataset) in sets.items()
        }
        return lambda score, dataset: [each(score, dataset) for each in functions[id(dataset)]]

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

    def _watched(self, data: RankingData) -> list[tuple[Value, str, bool]]:
        """Return the values to watch, their names, and whether higher is better."""
        several = isinstance(self.metric, (list, tuple))
        return [self._watch(each, data) for each in (self.metric if several else [self.metric])]

    def _watch(self, given: Any, data: RankingData) -> tuple[Value, str, bool]:
        metric = one_metric(given)
        metric.check(data)

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

    def _raw(self, data: RankingData, *, start_iteration: int = 0, **options: Any) -> np.ndarray:
        n_trees = self.best_iteration_ - start_iteration
        if n_trees == 0:
            return np.zeros(data.n_rows)
        return np.asarray(
            self.booster_.predict(
                as_matrix(data.X),
                raw_score=True,
                start_iteration=start_iteration,
                num_iteration=n_trees,
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


def _as_function(objective: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls the objective: LightGBM copies any other object."""
    return lambda score, dataset: objective(score, dataset)


def _has_bins(dataset: Any, n_features: int) -> bool:
    """Return whether LightGBM keeps any feature of the data set."""
    return any(dataset.feature_num_bin(at) > 0 for at in range(n_features))


def evaluator(
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
