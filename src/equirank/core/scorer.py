"""A metric as a scikit-learn scorer."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from sklearn.utils.metadata_routing import MetadataRequest

from .data import RankingData
from .errors import outer_stacklevel
from .keywords import CostKeywords, ListKeywords, shared_keywords
from .metric import Metric

if TYPE_CHECKING:
    from .ranking import Ranking

__all__ = ["MetricScorer", "predicted_ranking"]


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

    @shared_keywords(ListKeywords, CostKeywords)
    def __call__(
        self, estimator: Any, X: Any, y: Any = None, **given: Unpack[CostKeywords]
    ) -> float:
        """Score the estimator's predictions on X."""
        needed = "sensitive" in self.metric.needs
        ranking = predicted_ranking(repr(self), estimator, X, y, given, groups=needed)
        values = self.metric.per_query(ranking)
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


def predicted_ranking(
    owner: str, estimator: Any, X: Any, y: Any, given: Mapping[str, Any], groups: bool = True
) -> "Ranking":
    """Return the ranking by an estimator's predictions, which receive what the class declares.

    Warnings name the ``owner``. Without ``groups`` the ranking has none. A pipeline predicts as its
    last step declares.
    """
    from .given_data import as_ranking_data, warn_of_one_list
    from .labels import MAX_GROUPS
    from .ranking import Ranking

    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    needs: frozenset[str] = getattr(type(last), "predict_needs", frozenset())
    if isinstance(X, RankingData):
        ranking: Ranking = estimator.rank(X, y)
        return ranking
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    warn_of_one_list(X, given["qid"], n_rows, owner, outer_stacklevel() + 1, above=0)
    given = {**given, "qid": 0 if given["qid"] is None else given["qid"]}
    passed = {name: value for name, value in given.items() if name in needs}
    data = as_ranking_data(
        None,
        y,
        **{**given, **({} if groups else {"sensitive_features": None})},
        score=estimator.predict(X, **passed),
        max_groups=MAX_GROUPS,  # a fold may be short
    )
    return Ranking.from_scores(data)
