"""One cell of a comparison: one method, one fold, one seed."""

import time
import traceback
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.utils.metadata_routing import get_routing_for_object

from ..core.data import RankingData
from ..core.errors import DataError, MissingExtraError
from ..core.metric import Metric, measure
from ..core.ranker import METADATA, Ranker
from ..core.ranking import Ranking
from ..core.table import Table
from ..rankers.bridges.bridge import made_by
from ..rankers.bridges.external_ranker import as_ranker
from .folds import Fold

__all__ = ["Cell", "Groups", "as_method", "fit", "measured", "rank", "run_cell", "seeded_clone"]


#: Parameters that are seeds.
SEEDS = frozenset({"random_state", "seed", "random_seed"})


def as_method(estimator: Any) -> Any:
    """Return an estimator as a ranker, unless its parts receive the lists by metadata routing.

    Searches over rankers do.
    """
    ranker = as_ranker(estimator)
    if ranker is estimator or ranker.fit_needs or not hasattr(estimator, "get_metadata_routing"):
        return ranker
    with config_context(enable_metadata_routing=True):
        routed = get_routing_for_object(estimator).consumes("fit", METADATA)
    return estimator if routed else ranker


def fit(model: Any, data: RankingData) -> Any:
    """Fit an estimator; other than a Ranker, it receives arrays and routed metadata.

    Routing is enabled during this call only. Each part receives what it requests: a `Ranker` at the
    end of a pipeline its lists, a search the lists for its folds and the groups for its scorer.
    """
    if isinstance(model, Ranker):
        return model.fit(data)
    if data.X is None or data.y is None:
        raise DataError(f"{type(model).__name__} needs X and y to fit, got data without them")
    data.refuse_categories(type(model).__name__)
    with config_context(enable_metadata_routing=True):
        return model.fit(data.X, data.y, **_requested(model, "fit", data))


def rank(model: Any, data: RankingData, *, n_draws: int | None, seed: int) -> Ranking:
    """Rank the lists with a fitted estimator.

    A search uses its best estimator. An estimator without ``rank`` returns scores: a classifier its
    expected class (classes weighted by their probabilities), any other its predictions.
    """
    best = model
    if hasattr(model, "best_estimator_"):
        best = model.best_estimator_
    elif hasattr(model, "cv_results_"):
        raise DataError(f"refit of {type(model).__name__} must be True to rank")
    if isinstance(best, Ranker):
        if n_draws is not None and hasattr(best, "_draw"):
            return best.rank(data, n_draws=n_draws, random_state=seed)
        return best.rank(data)
    with config_context(enable_metadata_routing=True):
        scores = np.asarray(_scores(best, data), dtype=np.float64).reshape(data.n_rows)
    return Ranking.from_scores(data, data.to_original(scores))


def _scores(model: Any, data: RankingData) -> Any:
    if is_classifier(model) and hasattr(model, "predict_proba"):
        known = _requested(model, "predict_proba", data)
        return model.predict_proba(data.X, **known) @ np.asarray(model.classes_, dtype=np.float64)
    if is_classifier(model) and hasattr(model, "decision_function"):
        return model.decision_function(data.X, **_requested(model, "decision_function", data))
    return model.predict(data.X, **_requested(model, "predict", data))


def _requested(model: Any, method: str, data: RankingData) -> dict[str, Any]:
    """Return the metadata of the data that some part of an estimator requests."""
    query = data.query_of_rows()
    known = {
        "qid": data.qids[query],
        "sensitive_features": _groups(data),
        "cost": data.cost,
        "query_weight": None if data.query_weight is None else data.query_weight[query],
    }
    present = {name: values for name, values in known.items() if values is not None}
    wanted = get_routing_for_object(model).consumes(method, present.keys())
    return {name: values for name, values in present.items() if name in wanted}


def _groups(data: RankingData) -> Any:
    """Return the groups as a frame, else an array, which scikit-learn can split."""
    if not data.sensitive:
        return None
    columns = {name: attribute.labels() for name, attribute in data.sensitive.items()}
    try:
        return Table(columns, data.backend).to_frame()
    except MissingExtraError:
        stacked = np.stack(list(columns.values()), axis=1)
        return stacked[:, 0] if len(columns) == 1 else stacked


def seeded_clone(estimator: Any, seed: int) -> Any:
    """Return a clone with every ``random_state``, ``seed`` and ``random_seed`` set, also of parts.

    Parts are the steps of a pipeline, the ranker of a search, the re-ranker of a `Reranked`, and
    splitters (such as `QueryKFold`) that shuffle.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> seeded_clone(make_pipeline(StandardScaler(), Ridge()), 3)["ridge"].random_state
    3
    """
    model = clone(estimator)
    if not hasattr(model, "get_params"):
        return model
    params = sorted(model.get_params(deep=True).items())
    for name, value in params:
        if name.rsplit("__", 1)[-1] in SEEDS:
            model.set_params(**{name: seed})
        elif _shuffles(value):
            splitter = copy(value)
            splitter.random_state = seed
            model.set_params(**{name: splitter})
    for name, value in [("", model), *params]:
        if made_by(value, "catboost", "CatBoost") and not SEEDS & set(value.get_params()):
            model.set_params(**{f"{name}__random_seed" if name else "random_seed": seed})
    return model


def _shuffles(value: Any) -> bool:
    """Return whether a value is a splitter with a seed, which cloning does not copy."""
    if not hasattr(value, "split") or hasattr(value, "get_params"):
        return False
    return hasattr(value, "random_state") and getattr(value, "shuffle", True) is not False


@dataclass(frozen=True, eq=False)
class Groups:
    """A metric's value in each group."""

    labels: list[str]
    values: list[float]


@dataclass(frozen=True, eq=False)
class Cell:
    """The result of a cell: values per query and summary of each metric, or an error.

    Attributes
    ----------
    values : dict of str to ndarray
        Per metric, one value per test query; NaN if undefined.
    summary : dict of str to float
        Per metric, the value over the test rows.
    groups : dict of str to Groups
        Per group metric, each group's value over the test rows.
    fit_seconds, other_seconds : float
        Time to fit; time to rank and evaluate.
    error, trace : str
        The exception and its traceback; empty without an error.
    """

    values: dict[str, np.ndarray]
    summary: dict[str, float]
    groups: dict[str, Groups]
    fit_seconds: float
    other_seconds: float
    error: str = ""
    trace: str = ""


def run_cell(
    estimator: Any, data: RankingData, fold: Fold, metrics: Sequence[Metric], n_draws: int | None
) -> Cell:
    """Fit on the train rows, rank and evaluate the test rows; record an exception as error."""
    started = time.perf_counter()
    fitted = started
    try:
        model = seeded_clone(as_method(estimator), fold.seed)
        model = fit(model, data.select_items(fold.train))
        fitted = time.perf_counter()
        ranking = rank(model, data.select_items(fold.test), n_draws=n_draws, seed=fold.seed)
        values, summary, groups = measured(metrics, ranking)
    except Exception as error:  # noqa: BLE001 - any exception is the result of the method
        now = time.perf_counter()
        message = f"{type(error).__name__}: {error}"
        trace = "".join(traceback.format_exception(error))
        fit_seconds = (fitted if fitted > started else now) - started
        return Cell({}, {}, {}, fit_seconds, now - started - fit_seconds, message, trace)
    seconds = fitted - started, time.perf_counter() - fitted
    return Cell(values, summary, groups, *seconds)


def measured(
    metrics: Sequence[Metric], ranking: Ranking
) -> tuple[dict[str, np.ndarray], dict[str, float], dict[str, Groups]]:
    """Return each metric's values per query, their summary, and the summary of each group."""
    values, summary, groups = {}, {}, {}
    for metric in metrics:
        if "score" in metric.needs and ranking.data.score is None:
            raise DataError(f"{metric} needs scores, but the method returns positions only")
    for metric, found in zip(metrics, measure(metrics, ranking), strict=True):
        value, by_group = metric.summarize(found)
        values[metric.name] = found.value
        summary[metric.name] = float(value)
        if by_group is not None and len(by_group) == len(found.labels) <= 100:
            labels = [str(label) for label in found.labels]
            groups[metric.name] = Groups(labels, [float(each) for each in by_group])
    return values, summary, groups
