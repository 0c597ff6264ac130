"""TradeoffScorer: relevance and fairness as one score, for scikit-learn's searches."""

from typing import Any, Unpack

from sklearn.utils.metadata_routing import MetadataRequest

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.keywords import ListKeywords, shared_keywords
from ..core.metric import Metric
from ..core.params import Number, check_params
from ..core.ranking import Ranking
from ..core.scorer import predicted_ranking
from ..rankers.early_stopping import one_metric

__all__ = ["TradeoffScorer", "tradeoff_distance", "tradeoff_score", "two_metrics"]


class TradeoffScorer:
    r"""Score a ranker by a weighted sum of relevance and fairness.

    .. math::

        w \cdot \mathrm{relevance} + (1 - w) (1 - \mathrm{unfairness})

    With w = 1/2 this is 1 less half the trade-off distance ``|1 - relevance| + |unfairness|``, so
    the best score has the shortest distance. If a value is undefined, as for lists of one group,
    the score is NaN.

    It is a ``scoring`` for scikit-learn's searches with metadata routing enabled: it requests
    ``qid`` and the groups, which the ranker receives only if its class declares it.

    Parameters
    ----------
    relevance, unfairness : str or Metric, default="NDCG", "RND"
        A metric of which higher and one of which lower values are better; both should be between 0
        and 1.
    weight : float, default=0.5
        Weight of relevance, w.

    References
    ----------
    Cerrato, Köppel, Segner, Esposito and Kramer, Fair pairwise learning to rank, DSAA 2020.

    Examples
    --------
    >>> from sklearn import config_context
    >>> from sklearn.model_selection import GridSearchCV
    >>> from equirank import QueryKFold
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import DirectRanker
    >>> from equirank.search import TradeoffScorer
    >>> data = make_ranking(n_queries=20, n_items=20, feature_bias=1.0, random_state=0)
    >>> qid, group = data.query_of_rows(), data.attribute("group").codes
    >>> ranker = DirectRanker("adversarial", n_epochs=2, random_state=0)
    >>> grid = {"gamma": [0.1, 1.0]}
    >>> with config_context(enable_metadata_routing=True):
    ...     search = GridSearchCV(ranker, grid, scoring=TradeoffScorer(), cv=QueryKFold(2))
    ...     _ = search.fit(data.X, data.y, qid=qid, sensitive_features=group)
    >>> bool(0.0 < search.best_score_ < 1.0)
    True
    """

    def __init__(
        self, relevance: Any = "NDCG", unfairness: Any = "RND", weight: float = 0.5
    ) -> None:
        check_params("TradeoffScorer", {"weight": weight}, {"weight": Number(0.0, 1.0)})
        self.relevance, self.unfairness = two_metrics(relevance, unfairness)
        self.weight = weight

    @shared_keywords(ListKeywords)
    def __call__(
        self, estimator: Any, X: Any, y: Any = None, **lists: Unpack[ListKeywords]
    ) -> float:
        """Score the estimator's predictions on X, which may be a `RankingData`."""
        return float(tradeoff_score(*self.values(estimator, X, y, **lists), self.weight))

    @shared_keywords(ListKeywords)
    def values(
        self, estimator: Any, X: Any, y: Any = None, **lists: Unpack[ListKeywords]
    ) -> tuple[float, float]:
        """Return relevance and unfairness of the estimator's predictions on X."""
        if isinstance(X, RankingData):
            return self.of_ranking(estimator.rank(X))
        return self.of_ranking(predicted_ranking("TradeoffScorer", estimator, X, y, lists))

    def of_ranking(self, ranking: Ranking) -> tuple[float, float]:
        """Return relevance and unfairness of a ranking."""
        good, bad = (
            float(metric.summarize(metric.per_query(ranking))[0])
            for metric in (self.relevance, self.unfairness)
        )
        return good, bad

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the metadata that the scorer requests."""
        request = MetadataRequest(owner=repr(self))
        for name in ("qid", "sensitive_features"):
            request.score.add_request(param=name, alias=True)
        return request

    def __repr__(self) -> str:
        """Show metrics and weight."""
        return f"TradeoffScorer('{self.relevance}', '{self.unfairness}', {self.weight})"


def tradeoff_score(relevance: Any, unfairness: Any, weight: float = 0.5) -> Any:
    """Return the weighted sum of relevance and 1 - unfairness; higher is better.

    Examples
    --------
    >>> tradeoff_score(0.75, 0.25)
    0.75
    """
    return weight * relevance + (1.0 - weight) * (1.0 - unfairness)


def tradeoff_distance(relevance: Any, unfairness: Any) -> Any:
    """Return the distance to perfect relevance and fairness, ``|1 - relevance| + |unfairness|``.

    Examples
    --------
    >>> round(tradeoff_distance(0.8, 0.1), 12)
    0.3
    """
    return abs(1.0 - relevance) + abs(unfairness)


def two_metrics(relevance: Any, unfairness: Any) -> tuple[Metric, Metric]:
    """Return a metric of which higher is better and one of which lower is better."""
    found = one_metric(relevance), one_metric(unfairness)
    wanted = {"relevance": "higher", "unfairness": "lower"}
    for (argument, direction), metric in zip(wanted.items(), found, strict=True):
        if metric.direction != direction:
            raise DataError(
                f"{argument} must be a metric of which {direction} is better, got {metric}"
            )
    return found
