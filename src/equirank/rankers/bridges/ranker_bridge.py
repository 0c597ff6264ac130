"""Bridge to rankers of equirank: the last step of a pipeline, or a fitted ranker."""

from dataclasses import replace
from typing import Any

from ...core.data import RankingData
from ...core.ranker import METADATA
from .bridge import Bridge

__all__ = ["RankerBridge"]


class RankerBridge(Bridge):
    """Bridge to a `Ranker`, which receives what its class declares."""

    def needs(self, model: Any) -> frozenset[str]:
        """Return what the ranker needs to fit."""
        return frozenset(model.current_needs())

    def takes(self, model: Any) -> frozenset[str]:
        """Return what the ranker uses in `fit` if it is given."""
        return frozenset(model.fit_takes)

    def predict_needs(self, model: Any) -> frozenset[str]:
        """Return what the ranker needs to score."""
        return frozenset(model.predict_needs)

    def fit_arguments(self, model: Any, data: RankingData, lists: str | None) -> dict[str, Any]:
        """Return the arguments of ``fit`` that the ranker declares."""
        query = data.query_of_rows()
        people = {name: attribute.labels() for name, attribute in data.sensitive.items()}
        known = {
            "qid": query,
            "sensitive_features": people or None,
            "cost": data.cost,
            "query_weight": None if data.query_weight is None else data.query_weight[query],
        }
        declared = self.needs(model) | self.takes(model)
        return {name: known[name] for name in METADATA if name in declared}

    def scores(self, model: Any, X: Any, data: RankingData) -> Any:
        """Return the scores of the stored rows."""
        if X is not data.X:
            data = replace(data, X=X, feature_names=None, categories={})
        found = model.predict(data)
        return found[data.caller_rank]
