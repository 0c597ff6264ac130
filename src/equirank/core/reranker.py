"""Reranker: the base class of everything that maps a ranking to a ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from sklearn.base import BaseEstimator

from .data import RankingData
from .declared import Declared
from .errors import DataError
from .frames import take_named
from .given_data import DeclaredGroups, as_empty_data, as_scored_data, refuse_beside, with_declared
from .inputs import as_frame, is_frame, numbers
from .named_groups import log_absent_groups, stated_groups
from .persistence import save
from .ranking import Ranking, as_given_ranking

__all__ = ["ORDER_TARGETS", "Control", "Reranker"]

#: Kinds of targets that a change of the order can reach; see ``acts_on``.
ORDER_TARGETS = frozenset({"selected", "exposure", "position", "metric"})


@dataclass(frozen=True)
class Control:
    """How a parameter of a re-ranker is set by hand: its words, its range and its step.

    Attributes
    ----------
    words : str
        What the parameter is called on pages for people.
    low, high : float, float or None
        The range; None for the length of the list.
    step : float
        The smallest change.
    """

    words: str
    low: float
    high: float | None
    step: float


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
    acts_on : frozenset of str
        Kinds of targets that `equirank.remedy` may use it for: those of ``"selected", "exposure",
        "position", "metric", "score"``; empty if it is no remedy. It uses groups to decide if
        ``needs`` contains ``"sensitive"``.
    strength : str
        The parameter that says how strongly it acts, which `equirank.remedy` searches.
    random, slow : bool
        Whether its order is random; whether it solves a program for each list.
    plain_name : str
        What it does, in a few words for people who do not program.
    controls : mapping of str to Control
        The parameters that they set, ``strength`` first; of a mapping of groups the value of one
        group. Empty if it is not offered to them.
    two_sided : bool
        Whether it can also move the group down: its result is near a target, not at least that.
    no_guarantee : str
        Where the guarantee is empty, in words; empty if it never is.

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
    acts_on: ClassVar[frozenset[str]] = frozenset()
    strength: ClassVar[str] = ""
    random: ClassVar[bool] = False
    slow: ClassVar[bool] = False
    plain_name: ClassVar[str] = ""
    controls: ClassVar[Mapping[str, Control]] = {}
    two_sided: ClassVar[bool] = False
    no_guarantee: ClassVar[str] = ""

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
        groups: Mapping[str, Sequence[Any]] | Sequence[Any] | None = None,
        missing_sensitive: Literal["error", "unknown", "category"] = "error",
        **columns: Any,
    ) -> Ranking:
        """Re-rank lists given as arrays, as a data frame or as a ranking.

        Without rows the result is one empty list.

        Parameters
        ----------
        y_score : array-like, data frame, RankingData or Ranking
            Scores (higher scores rank first), or what contains them. A data frame of one column
            that no argument names is a column of scores.
        sensitive_features, qid, y_true : array-like or str, optional
            As in `as_ranking_data`: arrays, or columns of the data frame.
        groups : mapping of attribute to groups, or sequence of groups, optional
            All groups of an attribute, or of the only one, also those that the rows lack; other
            labels are an error. None: the groups that occur and those that parameters of the
            re-ranker name. With ``groups`` a misspelt name in a parameter is an error; without,
            a name that no row has is logged once.
        missing_sensitive : {"error", "unknown", "category"}
            Treatment of a missing group, as in `as_ranking_data`: with ``"unknown"`` the row is
            ranked and counts for no group.
        **columns
            Further columns of a data frame, as in `as_ranking_data`: ``score="score", ids="sku"``.
        """
        given = {"y": y_true, "qid": qid, "sensitive_features": sensitive_features} | columns
        present = {name: values for name, values in given.items() if values is not None}
        policy = {} if missing_sensitive == "error" else {"missing_sensitive": missing_sensitive}
        told = policy | ({} if groups is None else {"groups": groups})
        owner = f"{type(self).__name__}.rerank"
        if isinstance(y_score, (Ranking, RankingData)):
            return self(as_given_ranking(y_score, owner, present | told))
        named = DeclaredGroups(stated_groups(self))
        told = {"groups": named} | told
        frame = None if _is_one_column(y_score, given) else as_frame(y_score)
        if frame is None:
            refuse_beside(columns, "list of scores")
            present["score"] = numbers("y_score", y_score)
        if len(present["score"] if frame is None else frame) == 0:
            data = as_empty_data(take_named(frame, present), told["groups"])
        elif frame is None:
            beside = {"qid": qid, "sensitive_features": sensitive_features}
            data = as_scored_data(y_score, y_true, **beside, **told)
        else:
            data = as_given_ranking(y_score, owner, present | told).data
        if groups is None:
            data = with_declared(data, named, getattr(self, "by", None))
        result = self(data.ranking())
        if groups is None:
            log_absent_groups(self, data)
        return result

    def save(self, folder: str | Path) -> None:
        """Save the re-ranker to a folder that `equirank.load` reads."""
        save(self, folder)

    def current_needs(self) -> frozenset[str]:
        """Return the needs of this instance; parameters may add to those of the class."""
        return self.needs

    def _rerank(self, ranking: Ranking) -> Ranking:
        raise TypeError(f"{type(self).__name__} must define _rerank; Reranker is abstract")


def _is_one_column(frame: Any, given: Mapping[str, Any]) -> bool:
    """Return whether a frame is a column of scores: no argument names a column of it."""
    named = any(isinstance(values, str) for values in given.values())
    return is_frame(frame) and not named and len(frame.columns) == 1
