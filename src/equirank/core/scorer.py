"""A metric as a scikit-learn scorer."""

from typing import Any

from sklearn.utils.metadata_routing import MetadataRequest

from .metric import Metric

__all__ = ["MetricScorer"]


class MetricScorer:
    """Call a ranker on data and give the metric, signed so that higher is better.

    Made by `Metric.scorer`. With metadata routing on it asks for ``qid``, for groups and for what
    its metric needs. A search hands it the groups without handing them to the ranker, unless the
    ranker's class says that it needs them to predict.

    Examples
    --------
    >>> from equirank.metrics import RND
    >>> RND(step=5).scorer()
    RND(step=5).scorer()
    """

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sensitive_features: Any = None,
        cost: Any = None,
    ) -> float:
        """Score the estimator's predictions on X."""
        from .data import as_ranking_data
        from .ranking import Ranking

        given = {"qid": qid, "sensitive_features": sensitive_features}
        data = as_ranking_data(
            None,
            y,
            qid=qid,
            sensitive_features=sensitive_features if "sensitive" in self.metric.needs else None,
            cost=cost,
            score=estimator.predict(X, **_to_predict(estimator, given)),
        )
        values = self.metric.per_query(Ranking.from_scores(data))
        value = float(self.metric.summarize(values)[0])
        return value if self.metric.direction == "higher" else -value

    def get_metadata_routing(self) -> MetadataRequest:
        """State what to pass on to the scorer."""
        request = MetadataRequest(owner=repr(self))
        # A ranker that re-ranks needs the groups to predict, whatever the metric.
        wanted = {"qid", "sensitive_features", *({"cost"} & self.metric.needs)}
        for name in ("qid", "sensitive_features", "cost"):
            request.score.add_request(param=name, alias=name in wanted)
        return request

    def __repr__(self) -> str:
        """Say which metric it is."""
        return f"{self.metric}.scorer()"


def _to_predict(estimator: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the ranker, or the ranker at the end of a pipeline, declares to need to predict."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    needs: frozenset[str] = getattr(type(last), "predict_needs", frozenset())
    return {name: value for name, value in given.items() if name in needs}
