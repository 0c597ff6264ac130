"""Reranker: the base of everything that turns one ranking into another."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from .data import as_scored_data
from .errors import DataError
from .params import Constraint, check_params
from .persistence import save
from .ranking import Ranking

__all__ = ["Reranker"]


class Reranker(BaseEstimator):  # type: ignore[misc]
    """Base of all re-rankers: ``reranker(ranking)`` gives a Ranking of the same rows.

    A re-ranker writes ``_rerank(ranking)`` and declares what it needs.

    Attributes
    ----------
    needs : frozenset of str
        Of ``"sensitive", "relevance", "score"``: what the ranking's data must hold.
    params : mapping of str to Constraint
        What each parameter may be; checked on every call.

    Examples
    --------
    A re-ranker that turns every list upside down:

    >>> from equirank import Ranking, Reranker
    >>> class Reverse(Reranker):
    ...     def _rerank(self, ranking):
    ...         data = ranking.data
    ...         return Ranking.from_scores(data, -data.to_original(data.score))
    >>> Reverse().rerank([0.1, 0.9, 0.5]).order()
    array([0, 2, 1])
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    params: ClassVar[Mapping[str, Constraint]] = {}

    def __call__(self, ranking: Ranking) -> Ranking:
        """Re-rank a ranking."""
        name = type(self).__name__
        check_params(name, self.get_params(deep=False), self.params)
        if not isinstance(ranking, Ranking):
            raise DataError(f"ranking of {name} must be a Ranking, got {type(ranking).__name__}")
        data = ranking.data
        known = {"sensitive": bool(data.sensitive), "relevance": data.y is not None}
        known["score"] = data.score is not None
        words = {"sensitive": "sensitive_features", "relevance": "y_true", "score": "scores"}
        for need in sorted(self._needs()):
            if not known[need]:
                raise DataError(f"{name} needs {words[need]}, which the ranking's data lacks")
        return self._rerank(ranking)

    def rerank(
        self,
        y_score: Any,
        *,
        sensitive_features: Any = None,
        qid: Any = None,
        y_true: Any = None,
    ) -> Ranking:
        """Re-rank plain arrays, rows as given.

        Parameters
        ----------
        y_score : array-like
            Scores, higher is ranked earlier.
        sensitive_features, qid, y_true : array-like, optional
            As in `as_ranking_data`.
        """
        data = as_scored_data(y_score, y_true, qid=qid, sensitive_features=sensitive_features)
        return self(data.ranking())

    def save(self, folder: str | Path) -> None:
        """Save parameters (and what was learned) into a folder that `equirank.load` reads."""
        save(self, folder)

    def _needs(self) -> frozenset[str]:
        """Return what this very re-ranker needs, which its parameters may add to."""
        return self.needs

    def _rerank(self, ranking: Ranking) -> Ranking:
        raise TypeError(f"{type(self).__name__} must define _rerank; Reranker is abstract")
