"""Reranker: the base class of everything that maps a ranking to a ranking."""

from pathlib import Path
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from .data import RankingData, as_scored_data, refuse_beside
from .declared import Declared
from .errors import DataError
from .inputs import is_frame
from .persistence import save
from .ranking import Ranking, as_given_ranking

__all__ = ["Reranker"]


class Reranker(Declared, BaseEstimator):  # type: ignore[misc]
    """Base class of re-rankers: ``reranker(ranking)`` returns a Ranking of the same rows.

    A subclass writes ``_rerank(ranking)`` and declares its needs. Its parameters are annotated
    fields with a default, ``strength: Annotated[float, Number(0, 1)] = 0.5``.

    Attributes
    ----------
    needs : frozenset of str
        Those of ``"sensitive", "relevance", "score"`` that the ranking's data must contain.
    params : mapping of str to Constraint
        The constraint of each parameter, made from the fields; checked on every call.

    Examples
    --------
    A re-ranker that reverses every list:

    >>> from equirank import Ranking, Reranker
    >>> class Reverse(Reranker):
    ...     def _rerank(self, ranking):
    ...         data = ranking.data
    ...         return Ranking.from_scores(data, -data.to_original(data.score))
    >>> Reverse().rerank([0.1, 0.9, 0.5]).order()
    array([0, 2, 1])
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, ranking: Ranking) -> Ranking:
        """Re-rank a ranking."""
        name = type(self).__name__
        self.check_declared()
        if not isinstance(ranking, Ranking):
            raise DataError(f"ranking of {name} must be a Ranking, got {type(ranking).__name__}")
        data = ranking.data
        known = {
            "sensitive": ("sensitive_features", bool(data.sensitive)),
            "relevance": ("y_true", data.y is not None),
            "score": ("scores", data.score is not None),
        }
        for need in sorted(self.current_needs()):
            argument, given = known[need]
            if not given:
                raise DataError(f"{name} needs {argument}, which the ranking's data lacks")
        return self._rerank(ranking)

    def rerank(
        self,
        y_score: Any,
        *,
        sensitive_features: Any = None,
        qid: Any = None,
        y_true: Any = None,
        **columns: Any,
    ) -> Ranking:
        """Re-rank lists given as arrays, as a data frame or as a ranking.

        Parameters
        ----------
        y_score : array-like, data frame, RankingData or Ranking
            Scores (higher scores rank first), or what contains them.
        sensitive_features, qid, y_true : array-like or str, optional
            As in `as_ranking_data`: arrays, or columns of the data frame.
        **columns
            Further columns of a data frame, as in `as_ranking_data`: ``score="score", ids="sku"``.
        """
        given = {"y": y_true, "qid": qid, "sensitive_features": sensitive_features}
        if isinstance(y_score, (Ranking, RankingData)) or is_frame(y_score):
            present = {name: values for name, values in given.items() if values is not None}
            return self(
                as_given_ranking(y_score, f"{type(self).__name__}.rerank", present | columns)
            )
        refuse_beside(columns, "list of scores")
        data = as_scored_data(y_score, y_true, qid=qid, sensitive_features=sensitive_features)
        return self(data.ranking())

    def save(self, folder: str | Path) -> None:
        """Save the re-ranker to a folder that `equirank.load` reads."""
        save(self, folder)

    def current_needs(self) -> frozenset[str]:
        """Return the needs of this instance; parameters may add to those of the class."""
        return self.needs

    def _rerank(self, ranking: Ranking) -> Ranking:
        raise TypeError(f"{type(self).__name__} must define _rerank; Reranker is abstract")
