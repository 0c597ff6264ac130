"""Reranking: a ranking that knows what it was made from, what it guarantees and what it cost."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import inputs as door
from ..core.data import Attribute, RankingData
from ..core.errors import DataError
from ..core.metric import Metric
from ..core.ranking import Ranking
from ..core.slots import Slots
from ..core.table import Table
from ..kernels.segments import segment_sum, sort_within
from ..metrics.fairness.exposure import ExposureGap
from ..metrics.fairness.prefix_divergence import RND
from ..metrics.relevance.gain import NDCG
from .group_bounds import Bounds, NoBounds

if TYPE_CHECKING:
    from ..core.reranker import Reranker
    from .explanation import Explanation

__all__ = ["Price", "Reranking", "before_after", "price_of"]


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

    def __repr__(self) -> str:
        """Say what was re-ranked, and by what."""
        made = "" if self.reranker is None else f", by {type(self.reranker).__name__}"
        return f"{type(self).__name__}{super().__repr__().removeprefix('Ranking')[:-1]}{made})"

    @property
    def k(self) -> int | None:
        """The cutoff the re-ranker was asked for."""
        return getattr(self.reranker, "k", None)

    @property
    def by(self) -> Any:
        """The name of the attribute the re-ranker looked at; several in a tuple, None: the one."""
        by = getattr(self.reranker, "by", None)
        return tuple(by) if isinstance(by, list) else by

    @cached_property
    def groups(self) -> Attribute:
        """The attribute the re-ranker looked at."""
        return self.data.attribute(self.by)

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
        hidden = now == 0
        behind = np.where(hidden, self.data.n_rows + was, now).astype(np.float64)
        order = sort_within(-behind, self.data.offsets) if hidden.any() else self.slots().order
        rows = order[moved[order]]
        query = self.data.query_of_rows()
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

    def summary(self) -> Table:
        """Return measures before and after: the guarantee, NDCG, score, shares in front, gaps.

        Examples
        --------
        >>> from equirank.rerankers import DetGreedy
        >>> result = DetGreedy().rerank([4, 3, 2, 1], sensitive_features=list("mmff"))
        >>> result.summary()["measure"][:2].tolist()
        ['lists that keep the guarantee', 'NDCG (score)']
        """
        return before_after(self)

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


#: Places looked at where the re-ranker has no cutoff.
USUAL = 10


def before_after(result: "Reranking") -> Table:
    """Return each measure before and after: guarantee, NDCG, score, shares in front, fairness gaps.

    Measures that the data does not allow are left out; means over the lists where they are defined.
    """
    rows: list[tuple[str, float, float]] = []
    before = result._made_from
    rows += _guarantee(result, before)
    price = result.price
    at = "" if result.k is None else f"@{result.k}"
    if price.gain is not None:
        rows.append((f"NDCG{at} ({price.gain})", price.ndcg_before, price.ndcg))
    rows += _mean_scores(result, before)
    if result.data.sensitive:
        rows += _shares(result, before)
        rows += _gaps(result, before)
    names, first, last = zip(*rows, strict=True) if rows else ((), (), ())
    return Table({"measure": list(names), "before": np.array(first), "after": np.array(last)})


def _heads(result: "Reranking", before: Ranking) -> tuple[Slots, Slots, np.ndarray]:
    """Return both lists, and how many places of each list are shown now."""
    old, new = before.slots(), result.slots()
    return old, new, new.sizes if new.shown is None else new.shown


def _guarantee(result: "Reranking", before: Ranking) -> list[tuple[str, float, float]]:
    if isinstance(result.bounds, NoBounds) or not result.data.sensitive:
        return []
    old, _, shown = _heads(result, before)
    front = old.position <= np.repeat(shown, old.sizes)
    codes = result.groups.codes[old.order[front]]
    offsets = np.concatenate([[0], np.cumsum(shown)])
    kept = result.bounds.holds(codes, offsets)
    return [
        ("lists that keep the guarantee", float(kept.mean()), float(result.holds_per_query.mean()))
    ]


def _mean_scores(result: "Reranking", before: Ranking) -> list[tuple[str, float, float]]:
    score = before.data.score
    if score is None:
        return []
    old, new, shown = _heads(result, before)
    first, last = (_mean_in_front(score[slots.order], slots, shown) for slots in (old, new))
    word = "mean score" if result.k is None else f"mean score of the first {result.k}"
    return [(word, first, last)]


def _mean_in_front(values: np.ndarray, slots: Slots, places: np.ndarray) -> float:
    front = slots.position <= np.repeat(places, slots.sizes)
    sums = segment_sum(np.where(front, values, 0.0).astype(np.float64), slots.offsets)
    return float((sums[places > 0] / places[places > 0]).mean()) if (places > 0).any() else np.nan


def _shares(result: "Reranking", before: Ranking) -> list[tuple[str, float, float]]:
    old, new, shown = _heads(result, before)
    k = USUAL if result.k is None else result.k
    places = np.minimum(shown, k)
    codes, rows = result.groups.codes, []
    for code, name in enumerate(result.groups.categories):
        pair = [
            _mean_in_front((codes[slots.order] == code).astype(float), slots, places)
            for slots in (old, new)
        ]
        rows.append((f"share of {name} in the first {k}", pair[0], pair[1]))
    return rows


def _gaps(result: "Reranking", before: Ranking) -> list[tuple[str, float, float]]:
    rows = []
    by, k = result.by, result.k
    metrics: list[Metric] = [ExposureGap(by=by, k=k), RND(by=by, k=k)]
    for metric in metrics:
        pair = [float(metric.summarize(metric.per_query(one))[0]) for one in (before, result)]
        if not np.isnan(pair).all():
            rows.append((str(metric), pair[0], pair[1]))
    return rows


@dataclass(frozen=True, eq=False)
class Price:
    """What a re-ranking cost, in the mean over queries and per query.

    Attributes
    ----------
    gain : {"relevance", "score"} or None
        What NDCG counts: relevance where it is known (``2**y - 1``), else the score above the
        lowest of its list; None where neither is known.
    ndcg_before, ndcg : float
        NDCG (at the cutoff) before and after, means over the queries where it is defined.
    score_loss : float
        How much lower the mean score of the shown is; 0 where everyone is shown.
    worst_inversion : float
        The largest amount by which somebody behind, or left out, outscores somebody in front; the
        largest of all queries. Rows left out stand behind all others.
    per_query : Table
        The same per query.

    Examples
    --------
    >>> from equirank.rerankers import DetGreedy
    >>> result = DetGreedy(k=2).rerank([4, 3, 2, 1], sensitive_features=list("mmff"))
    >>> result.price.score_loss, result.price.worst_inversion  # (4 + 3) / 2 - (4 + 2) / 2, 3 - 2
    (0.5, 1.0)
    """

    gain: str | None
    ndcg_before: float
    ndcg: float
    score_loss: float
    worst_inversion: float
    per_query: Table = field(repr=False)

    def to_dict(self) -> dict[str, float | str | None]:
        """Return the means as plain values."""
        names = ("gain", "ndcg_before", "ndcg", "score_loss", "worst_inversion")
        return {name: getattr(self, name) for name in names}


def price_of(before: Ranking, after: Ranking, k: int | None) -> Price:
    """Compare two rankings of the same rows; NaN where neither relevance nor score is known."""
    data = before.data
    none = np.full(data.n_queries, np.nan)
    gain = "relevance" if data.y is not None else "score" if data.score is not None else None
    first, last = (none, none) if gain is None else _ndcgs(before, after, gain, k)
    loss, worst = (none, none) if data.score is None else _scores(before, after)
    table = Table(
        {
            "query": data.qids,
            "ndcg_before": first,
            "ndcg": last,
            "score_loss": loss,
            "worst_inversion": worst,
        },
        data.backend,
    )
    largest = float(worst.max()) if data.score is not None else np.nan
    return Price(gain, _mean(first), _mean(last), _mean(loss), largest, table)


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _ndcgs(
    before: Ranking, after: Ranking, gain: str, k: int | None
) -> tuple[np.ndarray, np.ndarray]:
    data = before.data
    metric = NDCG(k=k)
    if gain == "score":
        metric = NDCG(k=k, gain="linear")
        data = replace(data, y=_above_lowest(data), max_grade=0.0)
    pair = []
    for ranking in (before, after):
        seen = Ranking(data, ranking.position, ranking.last, ranking.weights)
        pair.append(np.asarray(metric.per_query(seen).value, dtype=np.float64))
    return pair[0], pair[1]


def _above_lowest(data: RankingData) -> np.ndarray:
    score = np.asarray(data.score, dtype=np.float64)
    lowest = np.minimum.reduceat(score, data.offsets[:-1])
    return score - np.repeat(lowest, np.diff(data.offsets))


def _scores(before: Ranking, after: Ranking) -> tuple[np.ndarray, np.ndarray]:
    """Return the loss of mean score among the shown, and the worst inversion."""
    from ..kernels.prefix_lists import worst_drops

    score = np.asarray(before.data.score, dtype=np.float64)
    old, new = before.slots(), after.slots()
    shown = new.sizes if new.shown is None else new.shown
    means = []
    for slots in (old, new):
        here = np.where(slots.position <= np.repeat(shown, slots.sizes), score[slots.order], 0.0)
        means.append(segment_sum(here, slots.offsets) / np.maximum(shown, 1))
    offered = np.where(before.position > 0, score, -np.inf)
    worst = worst_drops(offered[new.order], new.offsets, shown)
    return means[0] - means[1], worst
