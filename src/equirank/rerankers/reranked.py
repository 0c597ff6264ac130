"""Reranked: a ranker and a re-ranker as one estimator."""

from dataclasses import replace
from typing import Annotated, Any, Unpack

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ..core.data import RankingData
from ..core.explain_pair import two_rows
from ..core.frames import take_named
from ..core.given_data import DeclaredGroups, as_empty_data, as_ranking_data, with_declared
from ..core.inputs import as_frame, is_frame
from ..core.keywords import ListKeywords, PairKeywords, shared_keywords
from ..core.named_groups import log_absent_groups, stated_groups
from ..core.pair_explanation import PairExplanation
from ..core.params import Check, Instance, accepted_by
from ..core.persistence import SavedFiles
from ..core.ranker import Ranker
from ..core.ranking import Ranking
from ..core.registry import find
from ..core.reranker import Reranker
from .reranking import Reranking

__all__ = ["Reranked"]


def _as_ranker(estimator: Any) -> Ranker:
    ranker: Ranker = find("as_ranker")(estimator)
    return ranker


class _Needs:
    """The needs of one instance, derived from its parts; those of the class as a fallback."""

    def __init__(self, when: str, of_class: frozenset[str]) -> None:
        self.when = when
        self.of_class = of_class

    def __get__(self, model: Any, kind: type) -> frozenset[str]:
        if model is None:
            return self.of_class
        inner = _as_ranker(model.estimator)
        groups = {"sensitive_features"} if "sensitive" in model.reranker.current_needs() else set()
        if self.when == "fit_takes":
            return inner.fit_takes | groups
        if self.when == "fit_needs":
            return inner.current_needs() | {"qid"}
        return inner.predict_needs | {"qid"} | groups


class Reranked(Ranker):
    """A ranker whose rankings are re-ranked, as one estimator.

    ``fit`` fits the estimator; ``rank`` ranks with it and returns a `Reranking`; its ``n_draws``
    must be None. ``predict`` returns scores in the new order: the estimator's scores of the list,
    reassigned where items moved (and separated minimally where they were tied), so that an
    unchanged list keeps its scores. Items that a cutoff
    leaves out get the lowest scores; with several draws the mean position counts. Groups must be
    passed to ``predict`` and ``rank`` if the re-ranker needs them; metadata routing requests them.
    Lists may have no rows, and lack groups of training and those that the re-ranker's parameters
    name; with ``unseen="missing"`` their labels may be unknown.
    The estimator receives only what its own class declares.

    Parameters
    ----------
    estimator : Ranker or other model
        Estimator whose predictions are scores, which is cloned; or whatever `as_ranker` takes.
    reranker : Reranker
        The re-ranker.

    Attributes
    ----------
    estimator_ : Ranker
        The fitted estimator, as a ranker.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from equirank.rerankers import DetGreedy, Reranked
    >>> model = Reranked(Ridge(), DetGreedy()).fit([[4], [3], [2], [1]], [3, 2, 1, 0])
    >>> model.rank([[4], [3], [2], [1]], sensitive_features=list("mmff")).order()
    array([0, 2, 1, 3])
    """

    fit_needs = _Needs("fit_needs", frozenset({"qid"}))
    fit_takes = _Needs("fit_takes", frozenset())
    predict_needs = _Needs("predict_needs", frozenset({"qid", "sensitive_features"}))
    positional = ("estimator", "reranker")
    takes_categories = True  # the estimator decides
    estimator: Annotated[
        Any,
        Check(accepted_by(_as_ranker), "a ranker, or another model whose predictions are scores"),
    ]
    reranker: Annotated[Any, Instance(Reranker, "a re-ranker")]

    def _ranked(self, data: RankingData) -> Ranking:
        scores = self._given_scores(self.visible(data))
        return self.reranker(Ranking.from_scores(data, data.to_original(scores)))

    @shared_keywords(ListKeywords, PairKeywords)
    def explain_pair(
        self, X: Any, a: int, b: int, **given: Unpack[PairKeywords]
    ) -> PairExplanation:
        """Explain why row a is ranked above (or below) row b: by the estimator and the re-ranker.

        Features contribute to the difference of the estimator's scores; the change by the re-ranker
        in the scores of `predict` is a separate row, ``(re-ranker)``. Its explanations of both rows
        (`Reranking.explain`) are in ``reasons`` and in the text.
        """
        data = self._prediction_data(X, None, given["qid"], given["sensitive_features"])
        self._warn_of_one_list(X, given["qid"], data, "explain_pair")
        stored = two_rows(data, a, b)
        drawn = {"n_draws": given["n_draws"], "random_state": given["random_state"]}
        explanation = self.estimator_.explain_pair(data, a, b, **drawn)
        before, after = self._both(self.visible(data))  # all lists, since draws depend on the list
        score_a, score_b = _reassigned(before, after)[list(stored)].tolist()
        reasons = []
        if isinstance(after, Reranking):
            query, keys = data.place(stored[0])[0], [data.place(row)[1] for row in stored]
            keys = keys if data.ids is None else data.ids[list(stored)].tolist()
            reasons = [after.explain(key, query) for key in keys]
        return explanation.reranked(score_a, score_b, type(self).__name__, reasons)

    def get_metadata_routing(self) -> Any:
        """Return the routing: the metadata of the estimator, and groups for the re-ranker."""
        return self._own_routing(score=True)

    def _prediction_data(
        self, X: Any, y: Any, qid: Any, sensitive_features: Any, unseen: str | None = None
    ) -> RankingData:
        """Return the data, in which the groups of training and of the re-ranker exist."""
        policy = unseen or getattr(self, "unseen_", "error")
        groups = DeclaredGroups(stated_groups(self.reranker))
        groups |= {
            name: [*groups.get(name, ()), *known]
            for name, known in getattr(self, "groups_", {}).items()
        }
        if not isinstance(X, RankingData) and _is_empty(X):
            check_is_fitted(self)
            given = {"y": y, "qid": qid, "sensitive_features": sensitive_features, "score": ()}
            data = as_empty_data(take_named(as_frame(X), given), groups)
        elif policy == "missing" and sensitive_features is not None and not is_frame(X):
            data = super()._prediction_data(X, y, qid, None, unseen)
            given = {"qid": qid, "sensitive_features": sensitive_features, "groups": groups}
            people = as_ranking_data(
                score=np.zeros(len(data)), **given, missing_sensitive="unknown"
            )
            data = replace(data, sensitive=people.sensitive)
        else:
            data = super()._prediction_data(X, y, qid, sensitive_features, unseen)
        data = with_declared(data, groups, getattr(self.reranker, "by", None))
        log_absent_groups(self.reranker, data, getattr(self, "groups_", None))
        return data

    def _fit(self, data: RankingData) -> None:
        self.estimator_ = clone(_as_ranker(self.estimator)).fit(data)

    def _scores(self, data: RankingData) -> np.ndarray:
        return _reassigned(*self._both(data))

    def _both(self, data: RankingData) -> tuple[Ranking, Ranking]:
        """Return the ranking by the estimator's scores, and its re-ranking."""
        before = Ranking.from_scores(data, data.to_original(self._given_scores(data)))
        return before, self.reranker(before)

    def _given_scores(self, data: RankingData) -> np.ndarray:
        """Return the estimator's scores per stored row."""
        if data.n_rows == 0:
            return np.zeros(0)
        found = self.estimator_.predict(data)
        return found if data.rows is None else found[data.caller_rank]

    @property
    def file_params(self) -> tuple[str, ...]:
        """Parameters that the files of the fitted estimator restore."""
        return () if isinstance(self.estimator, Ranker) else ("estimator",)

    def _load_files(self, files: SavedFiles) -> None:
        if self.estimator is None:
            self.estimator = self.estimator_.model

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the estimator's input."""
        tags = super().__sklearn_tags__()
        if self.params["estimator"].accepts(self.estimator):
            tags.input_tags = get_tags(_as_ranker(self.estimator)).input_tags
        return tags


def _is_empty(X: Any) -> bool:
    """Return whether features have no rows."""
    return (X.shape[0] if hasattr(X, "shape") else len(X)) == 0


def _reassigned(before: Ranking, after: Ranking) -> np.ndarray:
    """Return the scores of each list, reassigned so that they sort into the new order."""
    scores = np.asarray(before.data.score, dtype=np.float64)
    position = _mean_positions(after)
    result = scores.copy()
    for query in range(before.data.n_queries):
        begin, end = before.data.offsets[query : query + 2].tolist()
        old = np.argsort(-scores[begin:end], kind="stable")
        rank = np.empty(end - begin, dtype=np.int64)
        rank[old] = np.arange(end - begin)
        new = np.lexsort((rank, position[begin:end]))
        if np.array_equal(old, new):
            continue
        values = scores[begin:end][old]
        for at in range(1, len(values)):
            if values[at] >= values[at - 1]:
                values[at] = np.nextafter(values[at - 1], -np.inf)
        result[begin + new] = values
    return result


def _mean_positions(ranking: Ranking) -> np.ndarray:
    """Return the mean position of each row over the draws; rows not shown count as last."""
    data, position = ranking.data, ranking.position.reshape(ranking.data.n_rows, ranking.n_draws)
    query = data.query_of_rows()
    behind = np.diff(data.offsets)[query] + 1
    position = np.where(position > 0, position, behind[:, None])
    if ranking.weights is None:
        return np.asarray(position.mean(axis=1))
    return np.asarray((position * ranking.weights[query]).sum(axis=1))
