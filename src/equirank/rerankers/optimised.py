"""A re-ranking found by optimisation: the gap to the best, and groups of several attributes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..core.ranking import Ranking
from .bounds import Bounds, TableBounds
from .reranking import Reranking

if TYPE_CHECKING:
    from ..core.reranker import Reranker
    from .explanation import Explanation

__all__ = ["OptimisedReranking", "OverlappingBounds"]


@dataclass(frozen=True, eq=False)
class OverlappingBounds:
    """Bounds on the groups of several attributes; an item counts in one group of each.

    Attributes
    ----------
    words : str
        The guarantee in one sentence.
    parts : dict of str to TableBounds
        The bounds of each attribute.
    members : dict of str to ndarray
        The group of each attribute that every crossed group belongs to.
    """

    words: str
    parts: dict[Any, TableBounds]
    members: dict[Any, np.ndarray]

    def lower(self, query: int, counts: np.ndarray) -> None:
        """Bind no crossed group by itself."""

    def upper(self, query: int, counts: np.ndarray) -> None:
        """Bind no crossed group by itself."""

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Say for each list, given the crossed group of each place, whether all bounds are kept."""
        kept = [part.holds(self.members[key][codes], offsets) for key, part in self.parts.items()]
        return np.logical_and.reduce(kept)


@dataclass(frozen=True, eq=False, repr=False)
class OptimisedReranking(Reranking):
    """A Reranking that knows how far it may be from the best.

    Attributes
    ----------
    gap : ndarray or None
        Per query: the relative distance of what was found from what may be possible; 0 where it is
        proven to be the best.
    names : tuple of str or None
        The attributes it looked at, where the re-ranker's ``by`` does not say it.

    Examples
    --------
    >>> from equirank.rerankers import PrefixConstraints
    >>> rule = PrefixConstraints(lower={"f": 0.5})
    >>> rule.rerank([4, 3, 2, 1], sensitive_features=list("mmff")).gap
    array([0.])
    """

    gap: np.ndarray | None = None
    names: tuple[Any, ...] | None = None

    @classmethod
    def found(
        cls,
        before: Ranking,
        order: np.ndarray,
        offsets: np.ndarray,
        *,
        bounds: Bounds,
        reranker: "Reranker",
        gap: np.ndarray,
        names: tuple[Any, ...] | None = None,
    ) -> Self:
        """Make it of the stored rows of each list, best first; see `Reranking.from_order`."""
        made = cls.from_order(before, order, offsets, bounds=bounds, reranker=reranker)
        result = cls(
            made.data,
            made.position,
            before=before,
            bounds=bounds,
            reranker=reranker,
            gap=gap,
            names=names,
        )
        if "_slots" in made.__dict__:
            result.__dict__["_slots"] = made.__dict__["_slots"]
        return result

    @property
    def by(self) -> Any:
        """The name of the attribute the re-ranker looked at; several in a tuple."""
        if not self.names:
            return super().by
        return self.names[0] if len(self.names) == 1 else self.names

    def explain(self, item: Any, query: Any = None) -> "Explanation":
        """Say why an item stands where it stands; see `Reranking.explain`.

        With several attributes the reason is looked for in one after the other.
        """
        if not isinstance(self.bounds, OverlappingBounds):
            return super().explain(item, query)
        first = None
        for name, part in self.bounds.parts.items():
            view = OptimisedReranking(
                self.data,
                self.position,
                before=self.before,
                bounds=part,
                reranker=self.reranker,
                names=(name,),
            )
            found = view.explain(item, query)
            first = first or found
            if found.facts["binding"] is not None:
                return found
        return first or super().explain(item, query)
