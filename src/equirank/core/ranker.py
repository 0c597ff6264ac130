"""Ranker: base class of all rankers, a scikit-learn estimator."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted, validate_data

from . import inputs
from .data import RankingData
from .declared import Declared
from .encoding import Encoding, Unseen, align
from .errors import DataError, outer_stacklevel
from .explain_pair import Parts, Scored, explain_pair
from .frames import as_frame, column_names
from .given_data import (
    LONG_REQUEST,
    MANY_ROWS,
    as_ranking_data,
    refuse_beside,
    warn_of_one_list,
)
from .keywords import FitKeywords, ListKeywords, PairKeywords, PredictKeywords, shared_keywords
from .label_knowledge import detail_columns
from .labels import MAX_GROUPS
from .pair_cost import PairCost
from .pair_explanation import PairExplanation
from .params import Integer, check_params
from .persistence import save
from .ranking import Ranking
from .registry import parse_metric

__all__ = ["Ranker"]


METADATA = ("qid", "sensitive_features", "cost", "query_weight")


class Ranker(Declared, BaseEstimator):  # type: ignore[misc]
    """Base class of rankers: ``fit`` on data, ``predict`` scores, ``rank`` to a Ranking.

    A subclass defines ``_fit(data)`` and ``_scores(data)``; a stochastic one also defines
    ``_draw(data, n_draws, rng)``. It declares what it needs, and everything else is hidden from it:
    a ranker does not receive the sensitive attribute at prediction unless its class declares it.
    scikit-learn's metadata routing is derived from the same declarations.

    Attributes
    ----------
    fit_needs : frozenset of str
        Of ``"qid", "sensitive_features", "cost", "query_weight"``: inputs that `fit` requires. A
        parameter ``pair_cost`` adds its own needs.
    fit_takes : frozenset of str
        Of the same: the inputs that `fit` uses if they are given.
    predict_needs : frozenset of str
        Of ``"qid", "sensitive_features"``: the inputs of `predict` and `rank`.
    takes_categories : bool
        Whether `_fit` accepts features that are codes of categories (``data.categories``); for
        other rankers they are an error.
    params : mapping of str to Constraint
        The constraint of each parameter, made from the annotated fields; checked in `fit`.

    Examples
    --------
    A ranker that ranks by the mean of the features:

    >>> import numpy as np
    >>> from equirank import Ranker
    >>> from equirank.datasets import make_ranking
    >>> class MeanRanker(Ranker):
    ...     def _fit(self, data):
    ...         self.sign_ = float(np.sign(np.corrcoef(data.X.mean(axis=1), data.y)[0, 1]))
    ...
    ...     def _scores(self, data):
    ...         return self.sign_ * data.X.mean(axis=1)
    >>> data = make_ranking(n_queries=20, random_state=0)
    >>> MeanRanker().fit(data).rank(data)
    Ranking(1000 rows, 20 queries)
    """

    fit_needs: ClassVar[frozenset[str]] = frozenset({"qid"})
    fit_takes: ClassVar[frozenset[str]] = frozenset()
    predict_needs: ClassVar[frozenset[str]] = frozenset()
    takes_categories: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Derive the metadata requests from the declared needs, and the constructor from fields."""
        predict = {"qid": "qid" in cls.predict_needs}
        predict["sensitive_features"] = "sensitive_features" in cls.predict_needs
        taken = cls.fit_needs | cls.fit_takes
        cls.__metadata_request__fit = {name: name in taken for name in METADATA}
        cls.__metadata_request__predict = predict | {"unseen": UNUSED}
        cls.__metadata_request__score = {
            "qid": True,
            "sample_weight": True,
            "sensitive_features": predict["sensitive_features"],
        }
        super().__init_subclass__(**kwargs)

    @shared_keywords(FitKeywords)
    def fit(self, X: Any, y: Any = None, **given: Unpack[FitKeywords]) -> Self:
        """Fit the ranker."""
        self._fit(self._begin(X, y, **given))
        self.is_fitted_ = True
        return self

    @shared_keywords(ListKeywords, PredictKeywords)
    def predict(self, X: Any, **given: Unpack[PredictKeywords]) -> np.ndarray:
        """Return one score per row, in input order; higher scores rank first.

        The columns of a data frame are found by name, so their order does not matter and others are
        ignored.
        """
        data = self._prediction_data(X, None, **given)
        self._warn_of_one_list(X, given["qid"], data, "predict")
        return data.to_original(np.asarray(self._scores(self.visible(data)), dtype=np.float64))

    @shared_keywords(ListKeywords, PredictKeywords)
    def rank(
        self,
        X: Any,
        y: Any = None,
        *,
        n_draws: int | None = None,
        random_state: Any = None,
        **given: Unpack[PredictKeywords],
    ) -> Ranking:
        """Rank the rows of each query.

        Parameters
        ----------
        X : array-like, sparse array, data frame or RankingData
            Features. The other inputs are stored in ``ranking.data`` for evaluation; the ranker
            uses only what its class declares.
        y : array-like, optional
            Relevance.
        n_draws : int, optional
            Number of draws of a stochastic ranker.
        random_state : int, Generator, RandomState or None
            Seed of the draws.
        """
        data = self._prediction_data(X, y, **given)
        above = LONG_REQUEST if y is None else MANY_ROWS  # relevance is for evaluation
        self._warn_of_given(X, given["qid"], data, "rank", above)
        if n_draws is not None:
            if not hasattr(self, "_draw"):
                name = type(self).__name__
                raise DataError(f"n_draws of {name}.rank must be None, got {n_draws!r}")
            check_params("rank", {"n_draws": n_draws}, {"n_draws": Integer(1)})
            needs = self.predict_needs | {"qid"}
            position = self._draw(self._hide(data, needs, predicting=True), n_draws, random_state)
            return Ranking.from_positions(data, data.to_original(position))
        return self._ranked(data)

    def _ranked(self, data: RankingData) -> Ranking:
        """Return the ranking without draws."""
        scores = np.asarray(self._scores(self.visible(data)), dtype=np.float64)
        return Ranking.from_scores(data, data.to_original(scores))

    @shared_keywords(ListKeywords)
    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, **lists: Unpack[ListKeywords]
    ) -> float:
        """Return the mean NDCG@10 over queries.

        ``sample_weight`` is ignored; scikit-learn's Pipeline passes it if routing is enabled. After
        a fit to several lists a missing ``qid`` is a warning for any number of rows.
        """
        data = self._prediction_data(X, y, **lists)
        self._warn_of_given(X, lists["qid"], data, "score")
        ranking = self.rank(data)
        metric = parse_metric("NDCG@10")
        return float(metric.summarize(metric.per_query(ranking))[0])

    @shared_keywords(ListKeywords, PairKeywords)
    def explain_pair(
        self, X: Any, a: int, b: int, **given: Unpack[PairKeywords]
    ) -> PairExplanation:
        """Explain why row a ranks above (or below) row b by the contribution of each feature.

        If the score is a sum over features, its terms are compared; tree rankers compare SHAP
        values. Otherwise the contributions are Shapley values of a game between the two rows, exact
        if at most ten features differ and estimated if more do. In each case they sum to the
        difference of the scores of `predict`.
        """
        data = self._prediction_data(X, None, given["qid"], given["sensitive_features"])
        self._warn_of_one_list(X, given["qid"], data, "explain_pair")
        names = self._feature_names(data)
        shown = self._shown_values
        model = Scored(
            type(self).__name__, names, self._own_scores, self._own_parts, self.predict_needs, shown
        )
        drawn = {"n_draws": given["n_draws"], "random_state": given["random_state"]}
        return explain_pair(model, data, a, b, **drawn)

    def _own_routing(self, *, score: bool = False) -> Any:
        """Return the routing of what the object declares, where that differs from its class.

        With ``score``, the inputs of `predict` are those of `score`, too.
        """
        request = super().get_metadata_routing()
        for name in METADATA:
            request.fit.add_request(param=name, alias=name in self.fit_needs | self.fit_takes)
        for name in ("qid", "sensitive_features"):
            for method in (request.predict, request.score) if score else (request.predict,):
                method.add_request(param=name, alias=name in self.predict_needs)
        return request

    def save(self, folder: str | Path) -> None:
        """Save the fitted model to a folder for `equirank.load`, without pickle."""
        check_is_fitted(self)
        save(self, folder)

    def _fit(self, data: RankingData) -> None:
        raise TypeError(f"{type(self).__name__} must define _fit; Ranker is abstract")

    def _scores(self, data: RankingData) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} must define _scores; Ranker is abstract")

    def _parts(self, data: RankingData) -> Parts | None:
        """Return the contribution of each feature to each score, or None.

        A ranker whose score is a sum of functions of single features returns its terms here, which
        makes its explanations exact.
        """
        return None

    def _shown_values(self, values: np.ndarray) -> Sequence[Any]:
        """Return the original feature values of a row, with encoded categories as words."""
        shown: list[Any] = values.tolist()
        for column, at in self._category_places().items():
            labels = self._encoding().categories[column]
            shown[at] = None if np.isnan(shown[at]) else labels[int(shown[at])]
        return shown

    def _category_places(self) -> dict[str, int]:
        """Return the number of each column that contains category codes."""
        known = self._encoding()
        place = {name: at for at, name in enumerate(known.names or ())}
        return {name: place[name] for name in known.categories}

    @property
    def encoding(self) -> Encoding:
        """The features, categories and groups of training, for ``like`` of `as_ranking_data`."""
        check_is_fitted(self)
        return self._encoding()

    def _encoding(self) -> Encoding:
        names = getattr(self, "feature_names_in_", None)
        known = getattr(self, "categories_", {})
        return Encoding(
            None if names is None else tuple(str(name) for name in names),
            {name: tuple(labels) for name, labels in known.items()},
            {name: tuple(groups) for name, groups in getattr(self, "groups_", {}).items()},
        )

    def _own_scores(self, data: RankingData) -> np.ndarray:
        return self._scores(self.visible(data))

    def _own_parts(self, data: RankingData) -> Parts | None:
        return self._parts(self.visible(data))

    def _feature_names(self, data: RankingData) -> list[str]:
        names = getattr(self, "feature_names_in_", data.feature_names)
        count = data.n_features
        return [f"x{at}" for at in range(count)] if names is None else [str(n) for n in names]

    def _begin(self, X: Any, y: Any = None, **given: Any) -> RankingData:
        """Check parameters and data, store their properties, and return the training data."""
        level = outer_stacklevel() + 1
        self.check_declared(level)
        arrays = [given.get(name) for name in METADATA]
        data = self._training_data(X, y, *arrays)
        if "qid" in self.current_needs():
            warn_of_one_list(X, arrays[0], data.n_rows, f"{type(self).__name__}.fit", level)
        for need, there in _present(data).items():
            if need in self.current_needs() and not there:
                raise DataError(f"{need} must be given: {type(self).__name__} needs it to fit")
        self.groups_ = {name: list(a.categories) for name, a in data.sensitive.items()}
        self.data_fingerprint_ = data.fingerprint()
        return data

    def _store_encoding(self, data: RankingData) -> None:
        """Store how the features are encoded; refuse categories that the class cannot use."""
        if not self.takes_categories:
            data.refuse_categories(type(self).__name__)
        self.n_features_in_ = data.n_features
        if data.feature_names is not None:
            self.feature_names_in_ = np.asarray(data.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.categories_ = {name: list(labels) for name, labels in data.categories.items()}
        self.unseen_ = data.unseen

    def _training_data(
        self, X: Any, y: Any, qid: Any, sensitive_features: Any, cost: Any, query_weight: Any
    ) -> RankingData:
        given = {"qid": qid, "sensitive_features": sensitive_features, "cost": cost}
        given["query_weight"] = query_weight
        if isinstance(X, RankingData):
            refuse_beside(given | {"y": y})
        elif inputs.is_frame(X):
            X = self._frame_data(X, y, given)
        if isinstance(X, RankingData):
            if X.X is None or X.y is None:
                raise DataError(
                    f"{type(self).__name__} needs X and y to fit, and the data lacks them"
                )
            self._store_encoding(X)
            self._check_finite(X)
            return self._own(X)
        if y is not None:
            inputs.numbers("y", y)  # names the row, which scikit-learn does not
        tags = self.__sklearn_tags__()
        finite = "allow-nan" if tags.input_tags.allow_nan else True
        checked, relevance = validate_data(
            self,
            X,
            y,
            accept_sparse="csr" if tags.input_tags.sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite=finite,
            y_numeric=True,
        )
        self.categories_, self.unseen_ = {}, "error"
        data = as_ranking_data(
            checked,
            relevance,
            qid=qid,
            sensitive_features=self._wanted("sensitive_features", sensitive_features),
            cost=self._wanted("cost", cost),
            query_weight=self._wanted("query_weight", query_weight),
        )
        return self._own(data)

    def _own(self, data: RankingData) -> RankingData:
        """Store the number of lists, and return what `fit` declares."""
        self.n_lists_ = data.n_queries
        return self._hide(data, self._taken())

    def _frame_data(self, X: Any, y: Any, given: dict[str, Any]) -> RankingData:
        """Return the data of a frame; columns that are named are no features, used or not."""
        frame = as_frame(X)
        people = detail_columns(frame, given.get("sensitive_features"))
        given = given | {"sensitive_features": people}
        named = {name for values in (y, *given.values()) for name in column_names(frame, values)}
        names = [str(name) for name in frame.columns if str(name) not in named]
        wanted = {name: self._wanted(name, values) for name, values in given.items()}
        data = as_ranking_data(X, y, **wanted | {"qid": given["qid"]}, features=names)
        texts = data.categories or all(isinstance(name, str) for name in frame.columns)
        return data if texts else replace(data, feature_names=None)  # as in scikit-learn

    def current_needs(self) -> frozenset[str]:
        """Return the inputs that `fit` requires, including those of the pair cost."""
        pair_cost = getattr(self, "pair_cost", None)
        return self.fit_needs | (
            pair_cost.needs if isinstance(pair_cost, PairCost) else frozenset()
        )

    def _taken(self) -> frozenset[str]:
        return self.current_needs() | self.fit_takes

    def _wanted(self, name: str, values: Any) -> Any:
        return values if name in self._taken() else None

    def get_metadata_routing(self) -> Any:
        """Return the metadata requests; those of `fit` include the needs of the pair cost."""
        routing = super().get_metadata_routing()
        for name in sorted(self.current_needs() - self.fit_needs):
            if routing.fit.requests.get(name) is False:
                routing.fit.add_request(param=name, alias=True)
        return routing

    def _prediction_data(
        self, X: Any, y: Any, qid: Any, sensitive_features: Any, unseen: str | None = None
    ) -> RankingData:
        check_is_fitted(self)
        policy: Any = getattr(self, "unseen_", "error") if unseen is None else unseen
        inputs.choose("unseen", policy, ("error", "missing"))
        given = {"qid": qid, "sensitive_features": sensitive_features}
        if isinstance(X, RankingData):
            refuse_beside(given | {"y": y})
            return self._aligned(X, Unseen(policy))
        known = self._encoding()
        if inputs.is_frame(X) and known.names is not None:
            if "sensitive_features" not in self.predict_needs:
                known = replace(known, groups={})
            data = as_ranking_data(
                X,
                y,
                **given,
                like=known,
                unseen=policy,
                missing_sensitive="unknown" if policy == "missing" else "error",
                max_groups=self._most_groups(),
            )
            self._check_finite(data)
            return data
        tags = self.__sklearn_tags__()
        checked = validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr" if tags.input_tags.sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if tags.input_tags.allow_nan else True,
        )
        return as_ranking_data(
            checked,
            y,
            qid=qid,
            sensitive_features=sensitive_features,
            max_groups=self._most_groups(),
        )

    def _aligned(self, data: RankingData, unseen: Unseen) -> RankingData:
        """Return data with the columns and categories of training, and its groups if needed."""
        data = align(data, self._encoding(), unseen, "sensitive_features" in self.predict_needs)
        unseen.warn()
        if data.n_features != self.n_features_in_:
            raise DataError(
                f"X has {data.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        self._check_finite(data)
        return data

    def _most_groups(self) -> int:
        return max([MAX_GROUPS, *map(len, self.groups_.values())])  # as many as in fit

    def _warn_of_one_list(self, X: Any, qid: Any, data: RankingData, method: str) -> None:
        """Warn in a method whose result depends on the lists for some rankers only."""
        if "qid" in self.predict_needs:
            self._warn_of_given(X, qid, data, method, LONG_REQUEST)

    def _warn_of_given(
        self, X: Any, qid: Any, data: RankingData, method: str, above: int | None = None
    ) -> None:
        """Warn in a method whose result depends on the lists.

        If ``above`` is None, any number of rows is too many after a fit to several lists.
        """
        owner = f"{type(self).__name__}.{method}"
        if above is None:
            above = 0 if getattr(self, "n_lists_", 1) > 1 else MANY_ROWS
        warn_of_one_list(X, qid, data.n_rows, owner, outer_stacklevel() + 1, above)

    def _check_finite(self, data: RankingData) -> None:
        """Raise if features are infinite, or missing and not allowed."""
        sparse = hasattr(data.X, "tocsr")
        values = data.X.data if sparse else data.X
        missing = self.__sklearn_tags__().input_tags.allow_nan
        bad = np.isinf(values) if missing else ~np.isfinite(values)
        if bad.any():
            stored = int(np.flatnonzero(bad if sparse else bad.any(axis=1))[0])
            if sparse:
                stored = int(np.searchsorted(data.X.indptr, stored, side="right")) - 1
            row = data.place(stored)[1]
            raise DataError(f"X must hold finite numbers, got NaN or infinity in row {row}")

    def visible(self, data: RankingData) -> RankingData:
        """Return the data without what the class does not declare for prediction."""
        missing = "sensitive_features" in self.predict_needs and not data.sensitive
        if missing:
            raise DataError(
                f"sensitive_features must be given: {type(self).__name__} needs it to predict"
            )
        return self._hide(data, self.predict_needs, predicting=True)

    @staticmethod
    def _hide(data: RankingData, needs: frozenset[str], predicting: bool = False) -> RankingData:
        if "qid" not in needs:
            whole = np.array([0, data.n_rows])
            data = replace(data, offsets=whole, qids=np.array([0]), query_weight=None)
        return replace(
            data,
            y=None if predicting else data.y,
            sensitive=data.sensitive if "sensitive_features" in needs else {},
            cost=data.cost if "cost" in needs else None,
            query_weight=data.query_weight if "query_weight" in needs else None,
            score=None,
            position=None,
        )

    def __sklearn_tags__(self) -> Any:
        """Return tags that require a relevance >= 0."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        return tags


def _present(data: RankingData) -> dict[str, bool]:
    return {
        "sensitive_features": bool(data.sensitive),
        "cost": data.cost is not None,
    }
