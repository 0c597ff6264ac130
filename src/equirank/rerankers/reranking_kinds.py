"""A re-ranking in many draws: moves, price and reasons in the mean, guarantees in every draw."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..core import inputs as door
from ..core.data import RankingData
from ..core.random import label_keys
from ..core.ranking import Ranking
from ..core.table import Table
from .group_bounds import Bounds, TableBounds
from .reranking import Reranking

if TYPE_CHECKING:
    from ..core.reranker import Reranker
    from .explanation import Explanation
    from .reranking import Price

__all__ = ["DrawnReranking", "OptimisedReranking", "OverlappingBounds", "query_keys"]


def query_keys(data: RankingData, random_state: Any) -> np.ndarray:
    """Return one seed per query, made of the seed and the query's label, not of its place."""
    return label_keys(random_state, data.qids.tolist())


@dataclass(frozen=True, eq=False, repr=False)
class DrawnReranking(Reranking):
    """A Reranking of several draws.

    ``moves`` gives for every row that is not always where it was the mean place over the draws that
    show it, and the share of draws that do; ``price`` is the mean over draws (the worst inversion
    the largest), and the guarantee holds where it holds in every draw.

    Examples
    --------
    >>> from equirank.rerankers import EpsilonGreedy
    >>> result = EpsilonGreedy(0.5, n_draws=100, random_state=0).rerank([3, 2, 1])
    >>> result.n_draws, len(result.moves)
    (100, 3)
    """

    @classmethod
    def from_places(
        cls, before: Ranking, places: np.ndarray, bounds: Bounds, reranker: "Reranker"
    ) -> Reranking:
        """Make it of places (stored row x draw); one draw gives a plain Reranking."""
        if places.shape[1] == 1:
            position = door.frozen(np.ascontiguousarray(places[:, 0]))
            return Reranking(before.data, position, before=before, bounds=bounds, reranker=reranker)
        return cls(
            before.data, door.frozen(places), before=before, bounds=bounds, reranker=reranker
        )

    @cached_property
    def shown_share(self) -> np.ndarray:
        """The share of draws that show each stored row."""
        return (self.position > 0).mean(axis=1)

    @cached_property
    def mean_places(self) -> np.ndarray:
        """Each stored row's mean place over the draws that show it; 0 = in none."""
        times = (self.position > 0).sum(axis=1)
        return self.position.sum(axis=1) / np.maximum(times, 1)

    @cached_property
    def moves(self) -> Table:
        """Who moved: query, row, id (if known), group (if known), from, to (mean), shown."""
        was, now = self.places_before, self.mean_places
        moved = (self.position != was[:, None]).any(axis=1)
        if self.k is not None:
            moved &= ((was > 0) & (was <= self.k)) | (now > 0)
        query = self.data.query_of_rows()
        rows = np.flatnonzero(moved)
        last = np.where(now[rows] == 0, np.inf, now[rows])
        rows = rows[np.lexsort((was[rows], last, query[rows]))]
        columns: dict[str, Any] = {
            "query": self.data.qids[query[rows]],
            "row": rows if self.data.rows is None else self.data.rows[rows],
        }
        if self.data.ids is not None:
            columns["id"] = self.data.ids[rows]
        if self.by is not None or len(self.data.sensitive) == 1:
            names = np.empty(len(self.groups.categories), dtype=object)
            names[:] = self.groups.categories
            columns["group"] = names[self.groups.codes[rows]]
        columns |= {"from": was[rows], "to": now[rows], "shown": self.shown_share[rows]}
        return Table(columns, self.data.backend)

    @cached_property
    def price(self) -> "Price":
        """What it cost in the mean over draws; the worst inversion is the largest."""
        from .reranking import Price, price_of

        parts = [price_of(self._made_from, draw, self.k) for _, draw in self.draws()]
        tables = [part.per_query.to_dict() for part in parts]
        columns: dict[str, Any] = {"query": self.data.qids}
        for name in ("ndcg_before", "ndcg", "score_loss"):
            columns[name] = np.mean([table[name] for table in tables], axis=0)
        worst = np.array([table["worst_inversion"] for table in tables], dtype=float)
        columns["worst_inversion"] = worst.max(axis=0)
        means = {
            name: float(np.mean([getattr(part, name) for part in parts]))
            for name in ("ndcg_before", "ndcg", "score_loss")
        }
        return Price(
            parts[0].gain,
            **means,
            worst_inversion=float(worst.max()),
            per_query=Table(columns, self.data.backend),
        )

    @cached_property
    def holds_per_query(self) -> np.ndarray:
        """Whether the guarantee holds in each query and in every draw."""
        return np.logical_and.reduce([draw.holds_per_query for draw in self._each()])

    def summary(self) -> Table:
        """Return measures before and after, in the mean over draws; see `Reranking.summary`."""
        from .reranking import before_after

        values: dict[str, list[tuple[float, float]]] = {}
        for draw in self._each():
            table = before_after(draw).to_dict()
            for name, *pair in zip(*table.values(), strict=True):
                values.setdefault(name, []).append((pair[0], pair[1]))
        means = np.array([np.mean(pairs, axis=0) for pairs in values.values()])
        return Table({"measure": list(values), "before": means[:, 0], "after": means[:, 1]})

    def _each(self) -> Iterator[Reranking]:
        """Go through the draws, each a Reranking of its own."""
        for _, draw in self.draws():
            yield Reranking(
                self.data,
                draw.position,
                before=self.before,
                bounds=self.bounds,
                reranker=self.reranker,
            )

    def explain(self, item: Any, query: Any = None) -> "Explanation":
        """Say where an item stands over the draws, and the first draw's reasons.

        Parameters
        ----------
        item : label
            The item's id where the data has ids, else the caller's row number.
        query : label, optional
            Which query, where the id occurs in several.
        """
        from .explanation import Explanation, explain

        found = explain(next(self._each()), item, query)
        known = np.arange(self.data.n_rows) if self.data.rows is None else self.data.rows
        row = int(np.flatnonzero(known == found.facts["row"])[0])
        places = self.position[row][self.position[row] > 0]
        facts = {"shown": float(self.shown_share[row]), "mean_place": float(self.mean_places[row])}
        said = f"Over {self.n_draws} draws it is shown in {facts['shown']:.0%}"
        if len(places):
            said += f", at place {facts['mean_place']:.4g} in the mean ({places.min()} to "
            said += f"{places.max()})"
        sentences = (f"{said}. In the first draw:", *found.sentences)
        return Explanation(sentences, found.facts | facts)


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
