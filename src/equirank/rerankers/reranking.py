"""Reranking: a ranking that knows what it was made from, what it guarantees and what it cost."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import columns as door
from ..core.data import Attribute
from ..core.errors import DataError
from ..core.ranking import Ranking
from ..core.slots import Slots
from ..core.table import Table
from .bounds import Bounds, NoBounds

if TYPE_CHECKING:
    from ..core.reranker import Reranker
    from .explanation import Explanation
    from .price import Price

__all__ = ["Reranking"]


@dataclass(frozen=True, eq=False, repr=False)
class Reranking(Ranking):
    """What a re-ranker gives back: a Ranking with its moves, price, guarantee and reasons.

    Everything beside the positions is worked out when it is asked for.

    Attributes
    ----------
    before : Ranking
        What was re-ranked. Rows that share a place in it stand in the caller's order.
    bounds : Bounds
        What the re-ranker guarantees.
    reranker : Reranker or None
        What made it.

    Examples
    --------
    >>> from equirank.rerankers import DetGreedy
    >>> result = DetGreedy().rerank([4, 3, 2, 1], sensitive_features=list("mmff"))
    >>> result.order()
    array([0, 2, 1, 3])
    >>> result.holds
    True
    >>> result.moves
    query  row  group  from  to
        0    2  f         3   2
        0    1  m         2   3
    """

    before: Ranking | None = None
    bounds: Bounds = field(default_factory=NoBounds)
    reranker: "Reranker | None" = None

    @classmethod
    def from_order(
        cls,
        before: Ranking,
        order: np.ndarray,
        offsets: np.ndarray,
        *,
        bounds: Bounds | None = None,
        reranker: "Reranker | None" = None,
    ) -> "Reranking":
        """Make it of the stored rows of each list, best first; rows left out are not shown.

        Parameters
        ----------
        before : Ranking
            What was re-ranked.
        order : ndarray of int
            Stored rows, list after list.
        offsets : ndarray of int
            Where each list begins in ``order``.
        bounds, reranker : optional
            As the attributes.
        """
        data = before.data
        position = np.zeros(data.n_rows, dtype=np.int32)
        start = np.repeat(offsets[:-1], np.diff(offsets))
        position[order] = np.arange(1, len(order) + 1) - start
        result = cls(
            data,
            door.frozen(position),
            before=before,
            bounds=bounds or NoBounds(),
            reranker=reranker,
        )
        if len(order) == data.n_rows:
            result.__dict__["_slots"] = Slots(data, order, data.offsets)
        return result

    @property
    def k(self) -> int | None:
        """The cutoff the re-ranker was asked for."""
        return getattr(self.reranker, "k", None)

    @cached_property
    def groups(self) -> Attribute:
        """The attribute the re-ranker looked at."""
        return self.data.attribute(getattr(self.reranker, "by", None))

    @cached_property
    def places_before(self) -> np.ndarray:
        """Each stored row's place before, ties in the caller's order; 0 = not shown."""
        return _places(self._made_from)

    @cached_property
    def places(self) -> np.ndarray:
        """Each stored row's place now, ties in the caller's order; 0 = not shown."""
        return _places(self)

    @cached_property
    def moves(self) -> Table:
        """Who moved: query, row, id (if known), group, from, to, by query and new place.

        0 is not shown. With a cutoff, rows that were behind it and stay so have not moved.
        """
        was, now = self.places_before, self.places
        moved = was != now
        if self.k is not None:
            moved &= (was <= self.k) & (was > 0) | (now > 0)
        rows = np.flatnonzero(moved)
        last = np.where(now[rows] == 0, np.iinfo(np.int64).max, now[rows])
        query = self.data.query_of_rows()
        rows = rows[np.lexsort((was[rows], last, query[rows]))]
        columns: dict[str, Any] = {
            "query": self.data.qids[query[rows]],
            "row": rows if self.data.rows is None else self.data.rows[rows],
        }
        if self.data.ids is not None:
            columns["id"] = self.data.ids[rows]
        if self.data.sensitive:
            names = np.empty(len(self.groups.categories), dtype=object)
            names[:] = self.groups.categories
            columns["group"] = names[self.groups.codes[rows]]
        columns |= {"from": was[rows], "to": now[rows]}
        return Table(columns, self.data.backend)

    @cached_property
    def price(self) -> "Price":
        """What it cost: NDCG and score before and after, per query and in the mean."""
        from .price import price_of

        return price_of(self._made_from, self, self.k)

    @cached_property
    def holds_per_query(self) -> np.ndarray:
        """Whether the guarantee holds in each query, in the order of ``data.qids``."""
        if not self.data.sensitive:
            return self.bounds.holds(np.zeros(0, dtype=np.int32), self.data.offsets)
        head = self.slots().head()
        return self.bounds.holds(self.groups.codes[head.order], head.offsets)

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds in every query."""
        return bool(self.holds_per_query.all())

    def explain(self, item: Any, query: Any = None) -> "Explanation":
        """Say why an item stands where it stands.

        Parameters
        ----------
        item : label
            The item's id where the data has ids, else the caller's row number.
        query : label, optional
            Which query, where the id occurs in several.

        Returns
        -------
        Explanation
            ``str()`` gives plain sentences, ``facts`` a dict.

        Examples
        --------
        >>> from equirank.rerankers import DetGreedy
        >>> result = DetGreedy().rerank([4, 3, 2, 1], sensitive_features=list("mmff"))
        >>> result.explain(2).facts["binding"]["prefix"]
        2
        """
        from .explanation import explain

        return explain(self, item, query)

    @property
    def _made_from(self) -> Ranking:
        if self.before is None:
            raise DataError("this Reranking must know what it was made from, and before is None")
        return self.before


def _places(ranking: Ranking) -> np.ndarray:
    slots = ranking.slots()
    place = np.empty(len(slots.order), dtype=np.int64)
    place[slots.order] = slots.position
    place[ranking.position == 0] = 0
    return place
