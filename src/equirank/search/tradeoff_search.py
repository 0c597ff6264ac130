"""TradeoffSearch: grid search for the best trade-off between relevance and fairness."""

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, Unpack, cast

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..core.data import RankingData
from ..core.declared import Declared, zero_weights_are_meant
from ..core.encoding import Encoding
from ..core.errors import DataError, EquirankWarning, outer_stacklevel
from ..core.given_data import as_ranking_data
from ..core.keywords import FitKeywords, ListKeywords, PredictKeywords, shared_keywords
from ..core.params import Flag, Instance, Number, check_params
from ..core.random import generator
from ..core.ranker import Ranker
from ..core.ranking import Ranking
from ..core.splits import QueryKFold, query_train_test_split
from ..core.table import Table
from ..rankers.tradeoff_path import pareto_points
from .stacked_fits import fit_all, training_data
from .tradeoff_scorer import TradeoffScorer, tradeoff_distance, tradeoff_score

__all__ = ["TradeoffSearch", "grid_points", "search_results"]


#: Number of random orders whose mean is the random baseline.
N_RANDOM_ORDERS = 10
#: Maximum number of points that are all labelled in a chart.
MAX_LABELS = 6


class TradeoffSearch(Declared, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Search a grid of rankers for the best trade-off between relevance and fairness.

    Every point of the grid is trained on one part of the data and evaluated on another. Points are
    compared by `TradeoffScorer`, by default with equal weights of relevance and 1 - unfairness; the
    first of tied points wins. Neural rankers of one shape train together as one stack, and step
    counts are checkpoints of one run (see `fit_together`), so a small machine can search hundreds
    of points. Other rankers are fitted one by one. A point whose loss does not stay finite has
    score NaN and causes a warning; if all points fail, the first error is raised.

    scikit-learn's own searches do the same with ``scoring=TradeoffScorer()``, one fit at a time.
    `equirank.plots.tradeoff` draws the result.

    Parameters
    ----------
    ranker : Ranker
        Cloned for every point.
    param_grid : dict, list of dict or iterable of dict
        As in scikit-learn's `GridSearchCV`: lists of values by parameter, or several such grids;
        or points, such as a `ParameterSampler`.
    relevance : str or Metric
        A metric of which higher values are better.
    unfairness : str or Metric
        A metric of which lower values are better.
    weight : float
        Weight of relevance in the score.
    cv : float, int, splitter or RankingData
        The share of the lists to evaluate on, a number of folds, a splitter such as `QueryKFold`,
        or the data to evaluate on. Data that is one list is split by person.
    refit : bool
        Whether the best ranker is fitted again on all data. Otherwise it is the one that was
        trained on the (first) training part.
    random_state : int, Generator, RandomState or None
        Seed of the split.

    Attributes
    ----------
    best_estimator_ : Ranker
        The best ranker.
    best_params_ : dict
        Its point of the grid.
    best_score_ : float
        Its score, a mean over the splits.
    best_index_ : int
        Its index in ``cv_results_``.
    cv_results_ : dict of str to array or list
        As in scikit-learn: ``params``, ``param_<name>``, ``split<i>_test_score``,
        ``mean_test_score``, ``std_test_score``, ``rank_test_score``, ``mean_fit_time`` (an equal
        share of the total time) and also ``mean_test_relevance``,
        ``mean_test_unfairness`` and ``mean_test_distance``: ``|1 - relevance| + |unfairness|``.

    References
    ----------
    Cerrato et al., DSAA 2020, as in `equirank.preprocess.representation_leakage`.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import DirectRanker
    >>> data = make_ranking(n_queries=40, n_items=20, feature_bias=1.0, random_state=0)
    >>> from equirank.search import TradeoffSearch
    >>> grid = {"gamma": [0.0, 0.3, 1.0], "max_steps": [20, 40], "learning_rate": [0.003, 0.01]}
    >>> ranker = DirectRanker("adversarial", layers=(8, 4), random_state=0)
    >>> search = TradeoffSearch(ranker, grid, random_state=0).fit(data)
    >>> len(search.table), sorted(search.best_params_)
    (12, ['gamma', 'learning_rate', 'max_steps'])
    >>> search.rank(data)
    Ranking(800 rows, 40 queries)
    """

    positional: ClassVar[tuple[str, ...]] = ("ranker", "param_grid")

    ranker: Annotated[Ranker, Instance(Ranker, "a ranker")]
    param_grid: Any
    relevance: Any = "NDCG"
    unfairness: Any = "RND"
    weight: Annotated[float, Number(0.0, 1.0)] = 0.5
    cv: Any = 0.25
    refit: Annotated[bool, Flag()] = True
    random_state: Any = None

    @shared_keywords(FitKeywords)
    def fit(self, X: Any, y: Any = None, **given: Unpack[FitKeywords]) -> Self:
        """Train and evaluate every point of the grid, and keep the best.

        The evaluation needs groups; a ranker receives them only if its class declares it.
        """
        self.check_declared(outer_stacklevel() + 1)
        scorer = TradeoffScorer(self.relevance, self.unfairness, self.weight)
        data = training_data(X, y, "TradeoffSearch.fit", **given)
        points = grid_points(self.param_grid)
        runs = []
        for train, test in self._splits(data):
            for metric in (scorer.relevance, scorer.unfairness):
                metric.check(test)
            rankers = [clone(self.ranker).set_params(**point) for point in points]
            began = time.perf_counter()
            errors = fit_all(rankers, train)
            spent = (time.perf_counter() - began) / len(rankers)
            if all(error is not None for error in errors):
                raise cast(DataError, errors[0])
            _warn(points, errors)
            values = [
                scorer.of_ranking(ranker.rank(test)) if error is None else (np.nan, np.nan)
                for ranker, error in zip(rankers, errors, strict=True)
            ]
            runs.append((np.array(values), spent))
            if len(runs) == 1:
                first = rankers
                self.chance_ = _chance(scorer, test)
        self.scorer_, self.n_splits_ = scorer, len(runs)
        self.cv_results_ = search_results(points, runs, self.weight)
        score = self.cv_results_["mean_test_score"]
        if np.isnan(score).all():
            raise DataError("at least one point of param_grid must have a score, got only NaN")
        self.best_index_ = int(np.nanargmax(score))
        self.best_params_ = points[self.best_index_]
        self.best_score_ = float(score[self.best_index_])
        chosen = first[self.best_index_]
        with zero_weights_are_meant():
            self.best_estimator_ = clone(chosen).fit(data) if self.refit else chosen
        return self

    def _splits(self, data: RankingData) -> Iterator[tuple[RankingData, RankingData]]:
        """Yield the parts to train and to evaluate on."""
        if isinstance(self.cv, RankingData):
            yield data, as_ranking_data(self.cv, like=data, unseen=data.unseen)
            return
        by: Literal["query", "item"] = "query" if data.n_queries > 1 else "item"
        if isinstance(self.cv, float):
            check_params("TradeoffSearch", {"cv": self.cv}, {"cv": Number(0, 1, open_low=True)})
            yield query_train_test_split(
                data, test_size=self.cv, by=by, random_state=self.random_state
            )
            return
        folds = self.cv
        if not hasattr(folds, "split"):
            folds = QueryKFold(self.cv, by=by, shuffle=True, random_state=self.random_state)
        for _, held_out in folds.split(data):
            mask = np.zeros(data.n_rows, dtype=bool)
            mask[held_out] = True
            mask = mask[data.caller_rank]
            yield data.select_items(np.flatnonzero(~mask)), data.select_items(np.flatnonzero(mask))

    @shared_keywords(ListKeywords, PredictKeywords)
    def predict(self, X: Any, **given: Unpack[PredictKeywords]) -> np.ndarray:
        """Return the scores of the best ranker, as `Ranker.predict` does."""
        check_is_fitted(self)
        found: np.ndarray = self.best_estimator_.predict(X, **given)
        return found

    @property
    def encoding(self) -> Encoding:
        """The features, categories and groups of the best ranker, as in `Ranker.encoding`."""
        check_is_fitted(self)
        found: Encoding = self.best_estimator_.encoding
        return found

    def rank(self, X: Any, y: Any = None, **given: Any) -> Ranking:
        """Rank with the best ranker, as `Ranker.rank` does."""
        check_is_fitted(self)
        return self.best_estimator_.rank(X, y, **given)

    @shared_keywords(ListKeywords)
    def score(self, X: Any, y: Any = None, **lists: Unpack[ListKeywords]) -> float:
        """Return the combined score of the best ranker on these data."""
        check_is_fitted(self)
        return self.scorer_(self.best_estimator_, X, y, **lists)

    @available_if(lambda self: hasattr(self.ranker, "transform"))  # type: ignore[untyped-decorator]
    def transform(self, X: Any) -> np.ndarray:
        """Return the representation of the best ranker, if it has one."""
        check_is_fitted(self)
        found: np.ndarray = self.best_estimator_.transform(X)
        return found

    @property
    def table(self) -> Table:
        """One row per point: its parameters, relevance, unfairness, distance, score and rank."""
        check_is_fitted(self)
        found, names = self.cv_results_, list(dict.fromkeys(k for p in self._params() for k in p))
        columns = {name: [point.get(name) for point in self._params()] for name in names}
        good, bad = found["mean_test_relevance"], found["mean_test_unfairness"]
        measured = {
            "relevance": good,
            "unfairness": bad,
            "distance": found["mean_test_distance"],
            "score": found["mean_test_score"],
            "rank": found["rank_test_score"],
            "pareto": pareto_points(good, bad) & ~np.isnan(good),
        }
        return Table(columns | measured)

    def _params(self) -> list[dict[str, Any]]:
        return cast(list[dict[str, Any]], self.cv_results_["params"])

    def tradeoff_points(self) -> dict[str, Any]:
        """Return the arguments of `equirank.plots.tradeoff`: relevance and 1 - unfairness by point.

        Up to six points are all labelled, of more only the best. The mixture line begins at a
        random order; points whose fit failed are omitted.
        """
        table = self.table
        known = np.flatnonzero(~np.isnan(table["relevance"]))
        relevance, unfairness = table["relevance"][known], table["unfairness"][known]
        names = [_point_name(self._params()[at]) for at in known]
        labels = names
        if len(known) > MAX_LABELS:
            labels = ["best" if at == self.best_index_ else "" for at in known]
        x, y = f"1 - {self.scorer_.unfairness}", str(self.scorer_.relevance)
        points = {
            "name": names,
            "label": labels,
            x: 1.0 - unfairness,
            y: relevance,
            "front": table["pareto"][known],
            "rival": np.zeros(len(known), dtype=bool),
        }
        best = int(np.argmax(relevance))
        mixture = (
            1.0 - self.chance_[1],
            self.chance_[0],
            1.0 - float(unfairness[best]),
            float(relevance[best]),
        )
        return {"points": Table(points), "x": x, "y": y, "mixture": mixture}


def grid_points(grid: Any) -> list[dict[str, Any]]:
    """Return the points of a grid, of several grids, or of an iterable of points.

    Examples
    --------
    >>> grid_points({"gamma": [0.1, 1.0]})
    [{'gamma': 0.1}, {'gamma': 1.0}]
    """
    if isinstance(grid, Mapping):
        return list(ParameterGrid(dict(grid)))
    if isinstance(grid, list) and all(isinstance(part, Mapping) for part in grid) and grid:
        return list(ParameterGrid(grid))
    if isinstance(grid, Iterable) and not isinstance(grid, (str, list)):
        found = [dict(point) for point in grid]
        if found:
            return found
    raise DataError(f"param_grid must be a dict, a list of dict or points, got {grid!r}")


def search_results(
    points: list[dict[str, Any]], runs: list[tuple[np.ndarray, float]], weight: float
) -> dict[str, Any]:
    """Return the results in scikit-learn's layout of ``cv_results_``."""
    found: dict[str, Any] = {"mean_fit_time": np.full(len(points), np.mean([t for _, t in runs]))}
    for name in dict.fromkeys(name for point in points for name in point):
        column = np.empty(len(points), dtype=object)
        column[:] = [point.get(name) for point in points]
        found[f"param_{name}"] = np.ma.array(column, mask=[name not in p for p in points])
    found["params"] = points
    values = np.stack([values for values, _ in runs])  # split x point x (relevance, unfairness)
    score = tradeoff_score(values[..., 0], values[..., 1], weight)
    for split, own in enumerate(score):
        found[f"split{split}_test_score"] = own
    mean = score.mean(axis=0)
    known = np.where(np.isnan(mean), -np.inf, mean)
    found["mean_test_score"], found["std_test_score"] = mean, score.std(axis=0)
    found["rank_test_score"] = np.array([1 + int((known > own).sum()) for own in known])
    found["mean_test_relevance"] = values[..., 0].mean(axis=0)
    found["mean_test_unfairness"] = values[..., 1].mean(axis=0)
    found["mean_test_distance"] = tradeoff_distance(values[..., 0], values[..., 1]).mean(axis=0)
    return found


def _warn(points: list[dict[str, Any]], errors: list[DataError | None]) -> None:
    failed = [at for at, error in enumerate(errors) if error is not None]
    if failed:
        warnings.warn(
            f"{len(failed)} of {len(points)} points of param_grid could not be fitted and have no "
            f"score; the first is {points[failed[0]]}: {errors[failed[0]]}",
            EquirankWarning,
            stacklevel=outer_stacklevel(),
        )


def _chance(scorer: TradeoffScorer, data: RankingData) -> tuple[float, float]:
    """Return the mean relevance and unfairness of random orders."""
    orders = [generator(0, at).random(data.n_rows) for at in range(N_RANDOM_ORDERS)]
    found = np.mean([scorer.of_ranking(Ranking.from_scores(data, o)) for o in orders], axis=0)
    return float(found[0]), float(found[1])


def _point_name(point: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in point.items())
