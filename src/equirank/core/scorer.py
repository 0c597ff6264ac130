"""A metric as a scikit-learn scorer."""

from typing import Any

from sklearn.utils.metadata_routing import MetadataRequest

from .metric import Metric

__all__ = ["MetricScorer"]


class MetricScorer:
    """scikit-learn scorer of a metric; higher is better.

    `Metric.scorer` creates it. With metadata routing it requests ``qid``, groups and what the
    metric needs. A search passes the groups to the scorer but not to the ranker, unless the
    class of the ranker needs them to predict.

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
        from .data import as_ranking_data, warn_of_one_list
        from .labels import MAX_GROUPS
        from .ranking import Ranking

        given = {"qid": qid, "sensitive_features": sensitive_features}
        passed = _to_predict(estimator, given)
        data = as_ranking_data(
            None,
            y,
            qid=qid,
            sensitive_features=sensitive_features if "sensitive" in self.metric.needs else None,
            cost=cost,
            score=estimator.predict(X, **passed),
            max_groups=MAX_GROUPS,  # a fold may be short
        )
        if "qid" not in passed:  # otherwise predict warns
            warn_of_one_list(X, qid, data.n_rows, repr(self))
        values = self.metric.per_query(Ranking.from_scores(data))
        value = float(self.metric.summarize(values)[0])
        return value if self.metric.direction == "higher" else -value

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the metadata requests of the scorer."""
        request = MetadataRequest(owner=repr(self))
        # A ranker that re-ranks needs the groups to predict, whatever the metric.
        wanted = {"qid", "sensitive_features", *({"cost"} & self.metric.needs)}
        for name in ("qid", "sensitive_features", "cost"):
            request.score.add_request(param=name, alias=name in wanted)
        return request

    def __repr__(self) -> str:
        """Return the name of the metric."""
        return f"{self.metric}.scorer()"


def _to_predict(estimator: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the declared prediction needs of a ranker or of the last step of a pipeline."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    needs: frozenset[str] = getattr(type(last), "predict_needs", frozenset())
    return {name: value for name, value in given.items() if name in needs}
