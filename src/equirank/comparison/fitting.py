"""Fitting and ranking with whatever kind of estimator: rankers, pipelines, searches, regressors."""

from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import is_classifier
from sklearn.utils.metadata_routing import get_routing_for_object

from ..core.data import RankingData
from ..core.errors import DataError, MissingExtraError
from ..core.ranker import Ranker
from ..core.ranking import Ranking
from ..core.table import Table

__all__ = ["fit", "rank"]


def fit(model: Any, data: RankingData) -> Any:
    """Fit an estimator; what is not a Ranker gets arrays, and metadata by scikit-learn's routing.

    Routing is switched on for this call only. Each part gets what it asks for: a `Ranker` at the
    end of a pipeline its lists, a search the lists for its folds and the groups for its scorer.
    """
    if isinstance(model, Ranker):
        return model.fit(data)
    if data.X is None or data.y is None:
        raise DataError(f"{type(model).__name__} needs X and y to fit, and the data lacks them")
    with config_context(enable_metadata_routing=True):
        return model.fit(data.X, data.y, **_asked_for(model, "fit", data))


def rank(model: Any, data: RankingData, *, n_draws: int | None, seed: int) -> Ranking:
    """Rank the lists with a fitted estimator.

    A search is asked for its best estimator. What has no ``rank`` is asked for scores: a classifier
    for its expected class (the sum of classes weighed by their probabilities), all others for their
    predictions.
    """
    best = model
    if hasattr(model, "best_estimator_"):
        best = model.best_estimator_
    elif hasattr(model, "cv_results_"):
        raise DataError(f"refit of {type(model).__name__} must be True, so that it can rank")
    if isinstance(best, Ranker):
        if n_draws is not None and hasattr(best, "_draw"):
            return best.rank(data, n_draws=n_draws, random_state=seed)
        return best.rank(data)
    with config_context(enable_metadata_routing=True):
        scores = np.asarray(_scores(best, data), dtype=np.float64).reshape(data.n_rows)
    return Ranking.from_scores(data, data.to_original(scores))


def _scores(model: Any, data: RankingData) -> Any:
    if is_classifier(model) and hasattr(model, "predict_proba"):
        known = _asked_for(model, "predict_proba", data)
        return model.predict_proba(data.X, **known) @ np.asarray(model.classes_, dtype=np.float64)
    if is_classifier(model) and hasattr(model, "decision_function"):
        return model.decision_function(data.X, **_asked_for(model, "decision_function", data))
    return model.predict(data.X, **_asked_for(model, "predict", data))


def _asked_for(model: Any, method: str, data: RankingData) -> dict[str, Any]:
    """Give the metadata that some part of an estimator asks for, of what the data holds."""
    query = data.query_of_rows()
    known = {
        "qid": data.qids[query],
        "sensitive_features": _people(data),
        "cost": data.cost,
        "query_weight": None if data.query_weight is None else data.query_weight[query],
    }
    there = {name: values for name, values in known.items() if values is not None}
    wanted = get_routing_for_object(model).consumes(method, there.keys())
    return {name: values for name, values in there.items() if name in wanted}


def _people(data: RankingData) -> Any:
    """Give the groups in a form that scikit-learn can cut into folds: a frame, else an array."""
    if not data.sensitive:
        return None
    columns = {}
    for name, attribute in data.sensitive.items():
        labels = np.empty(len(attribute.categories), dtype=object)
        labels[:] = attribute.categories
        columns[name] = labels[attribute.codes]
    try:
        return Table(columns, data.backend).to_frame()
    except MissingExtraError:
        stacked = np.stack(list(columns.values()), axis=1)
        return stacked[:, 0] if len(columns) == 1 else stacked
