"""Reranking: the result of a re-ranker, with its moves, price, guarantee and explanations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..core import inputs
from ..core.attribute import Attribute
from ..core.data import RankingData
from ..core.errors import DataError
from ..core.metric import Metric
from ..core.ranking import Ranking
from ..core.slots import Slots
from ..core.table import Table
from ..kernels.resampling import weighted_means
from ..kernels.segments import divide, segment_sum, sort_within, summable
from ..metrics.fairness.exposure import ExposureGap
from ..metrics.fairness.prefix_divergence import RND
from ..metrics.relevance.gain import NDCG
from .group_bounds import Bounds, NoBounds

if TYPE_CHECKING:
    from ..core.reranker import Reranker
    from .explanation import Explanation

__all__ = ["Price", "Reranking", "price_of", "with_gains"]

#: Numbers of which a sum may exceed every double.
LARGE = 1e300


@dataclass(frozen=True, eq=False, repr=False)
class Reranking(Ranking):
    """Result of a re-ranker: a Ranking with its moves, price, guarantee and explanations.

    Everything except the positions is computed on first use. With several draws ``moves`` and
    ``price`` are (weighted) means over the draws, and the guarantee must hold in every draw.

    Attributes
    ----------
    before : Ranking
        The ranking that was re-ranked. Tied rows are taken in input order.
    bounds : Bounds
        The guarantee of the re-ranker.
    reranker : Reranker or None
        The re-ranker.
    gap : ndarray or None
        Per query, how far the list may be from the optimum, as a share; 0 if it is proven to be
        optimal. None if the re-ranker does not optimise.
    names : tuple of str or None
        The sensitive attributes of the bounds, if they differ from the re-ranker's ``by``.

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
    gap: np.ndarray | None = None
    names: tuple[Any, ...] | None = None

    @classmethod
    def from_order(
        cls, before: Ranking, order: np.ndarray, offsets: np.ndarray, **fields: Any
    ) -> Self:
        """Make a result from the stored rows of each list, best first; other rows are not shown.

        Parameters
        ----------
        before : Ranking
            The ranking that was re-ranked.
        order : ndarray of int
            Stored rows, list after list.
        offsets : ndarray of int
            Where each list begins in ``order``.
        **fields
            The other attributes: ``bounds``, ``reranker``, ...
        """
        data = before.data
        position = np.zeros(data.n_rows, dtype=np.int32)
        start = np.repeat(offsets[:-1], np.diff(offsets))
        position[order] = np.arange(1, len(order) + 1) - start
        result = cls(data, inputs.frozen(position), before=before, **fields)
        result.__dict__["_slots"] = _slots_of(data, position, order, offsets)
        return result

    @classmethod
    def from_draws(
        cls,
        before: Ranking,
        position: np.ndarray,
        *,
        weights: np.ndarray | None = None,
        **fields: Any,
    ) -> Self:
        """Make a result from positions (stored row x draw) and weights (query x draw).

        Parameters
        ----------
        position : ndarray of int
            Positions, 0 = not shown.
        weights : ndarray, optional
            Probability of each draw in each query; equal by default.
        before, **fields
            As in `from_order`.
        """
        if position.shape[1] == 1:
            position, weights = np.ascontiguousarray(position[:, 0]), None
        return cls(before.data, inputs.frozen(position), None, weights, before=before, **fields)

    def __repr__(self) -> str:
        """Show the size of the data and the name of the re-ranker."""
        made = "" if self.reranker is None else f", by {type(self.reranker).__name__}"
        return f"{type(self).__name__}{super().__repr__().removeprefix('Ranking')[:-1]}{made})"

    #: Whether groups are known as probabilities.
    by_probability: ClassVar[bool] = False

    @property
    def k(self) -> int | None:
        """The cutoff of the re-ranker."""
        return getattr(self.reranker, "k", None)

    @property
    def by(self) -> Any:
        """The sensitive attribute of the re-ranker; a tuple of several, None for the only one."""
        if self.names:
            return self.names[0] if len(self.names) == 1 else self.names
        by = getattr(self.reranker, "by", None)
        return tuple(by) if isinstance(by, list) else by

    @cached_property
    def groups(self) -> Attribute:
        """The sensitive attribute of the re-ranker, with its groups."""
        return self.data.attribute(self.by)

    @property
    def absent_groups(self) -> tuple[Any, ...]:
        """The groups of which no row is shown: those that were named, or seen in training.

        No bound of theirs limits anything here.
        """
        if not self.has_groups:
            return ()
        shown = set(self.groups.codes[(self._by_draw > 0).any(axis=1)].tolist())
        return tuple(g for code, g in enumerate(self.groups.categories) if code not in shown)

    @property
    def has_groups(self) -> bool:
        """Whether the attribute of the re-ranker is known: it is named, or there is only one."""
        return len(self.data.sensitive) == 1 or (self.by is not None and bool(self.data.sensitive))

    @cached_property
    def places_before(self) -> np.ndarray:
        """Position of each stored row before, ties in input order; 0 = not shown."""
        return _positions(self._made_from)

    @cached_property
    def places(self) -> np.ndarray:
        """Position of each stored row now, ties in input order; 0 = not shown."""
        return _positions(self)

    def order_of_all(self) -> np.ndarray:
        """Return all stored rows, list by list in the new order.

        Rows that are not shown come last in their list, in the previous order.
        """
        last = np.where(self.places > 0, self.places, self.data.n_rows + 1)
        return np.lexsort((self.places_before, last, self.data.query_of_rows()))

    def with_everyone(self) -> Ranking:
        """Return the new order with everyone in it whom the previous order showed.

        People behind the cutoff follow in the previous order, so that ``audit(new.with_everyone(),
        against=new.before)`` compares positions and exposure of the same people.
        """
        order = self.order_of_all()
        shown = ((self.places > 0) | (self.places_before > 0))[order]
        counts = np.cumsum(shown)
        start = np.repeat(self.data.offsets[:-1], np.diff(self.data.offsets))
        before = np.where(start > 0, counts[start - 1], 0)
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.where(shown, counts - before, 0)
        return Ranking.from_positions(self.data, self.data.to_original(position))

    @cached_property
    def shown_share(self) -> np.ndarray:
        """Share of draws that show each stored row."""
        shown = self._by_draw > 0
        if self.weights is None:
            return shown.mean(axis=1)
        return np.asarray((shown * self.weights[self.data.query_of_rows()]).sum(axis=1))

    @cached_property
    def mean_places(self) -> np.ndarray:
        """Mean position of each stored row over the draws that show it; 0 = in none."""
        position = self._by_draw
        if self.weights is None:
            times = (position > 0).sum(axis=1)
            return position.sum(axis=1) / np.maximum(times, 1)
        total = (position * self.weights[self.data.query_of_rows()]).sum(axis=1)
        return total / np.where(self.shown_share > 0, self.shown_share, 1.0)

    @cached_property
    def moves(self) -> Table:
        """The rows that moved: query, row, id (if known), group, from, to, by query and position.

        0 is not shown. With a cutoff, rows that were behind it and stay there have not moved. With
        several draws, ``to`` is the mean position and ``shown`` the share of draws with the row.
        """
        was, several = self.places_before, self.n_draws > 1
        now = self.mean_places if several else self.places
        moved = (self.position != was[:, None]).any(axis=1) if several else was != now
        if self.k is not None:
            moved &= (was <= self.k) & (was > 0) | (now > 0)
        query = self.data.query_of_rows()
        if several:
            rows = np.flatnonzero(moved)
            last = np.where(now[rows] == 0, np.inf, now[rows])
            rows = rows[np.lexsort((was[rows], last, query[rows]))]
        else:
            rows = np.flatnonzero(moved)  # of each list those not shown come last
            last = np.where(now[rows] == 0, self.data.n_rows + was[rows], now[rows])
            offsets = np.searchsorted(rows, self.data.offsets)
            rows = rows[sort_within(-last.astype(np.float64), offsets)]
        columns: dict[str, Any] = {
            "query": self.data.qids[query[rows]],
            "row": rows if self.data.rows is None else self.data.rows[rows],
        }
        if self.data.ids is not None:
            columns["id"] = self.data.ids[rows]
        if self.has_groups:
            columns["group"] = self.groups.labels()[rows]
        columns |= {"from": was[rows], "to": now[rows]}
        if several:
            columns["shown"] = self.shown_share[rows]
        return Table(columns, self.data.backend)

    @cached_property
    def price(self) -> "Price":
        """The loss in NDCG and score, per query and in the mean; see `Price`.

        Its attributes are ``gain``, ``ndcg_before``, ``ndcg``, ``score_loss``, ``worst_inversion``
        and ``per_query``.
        """
        if self.n_draws == 1:
            return price_of(self._made_from, self, self.k)
        return _mean_price(self)

    @cached_property
    def holds_per_query(self) -> np.ndarray:
        """Whether the guarantee holds in each query (in every draw), by ``data.qids``."""
        if self.n_draws > 1:
            return np.logical_and.reduce([draw.holds_per_query for draw in self.each_draw()])
        if not self.has_groups:
            return self.bounds.holds(np.zeros(0, dtype=np.int32), self.data.offsets)
        head = self.slots().head()
        return self.kept(head.order, head.offsets)

    def kept(self, order: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return whether the guarantee holds in each list, given the stored rows in order."""
        return self.bounds.holds(self.groups.codes[order], offsets)

    def members(self, code: int) -> np.ndarray:
        """Return whether each stored row is in a group, or its probability; NaN if unknown."""
        codes = self.groups.codes
        return np.where(codes < 0, np.nan, codes == code)

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds in every query."""
        return bool(self.holds_per_query.all())

    @cached_property
    def guaranteed(self) -> bool:
        """Whether the guarantee says something: some order of the lists would break it.

        An empty guarantee always holds. One that states how the order was made is not empty.

        Examples
        --------
        >>> from equirank.rerankers import ContinuousFairness
        >>> for theta in (0.5, 1.0):
        ...     rule = ContinuousFairness(theta)
        ...     print(rule.rerank([4, 3, 2, 1], sensitive_features=list("mmff")).guaranteed)
        False
        True
        """
        if not self.has_groups:
            return True
        head = next(self.each_draw()).slots().head()
        return bool(self.bound_lists(head.order, head.offsets).any())

    def bound_lists(self, order: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return whether each list could break the guarantee, given the stored rows in order."""
        return self.bounds.binding(self.groups.codes[order], offsets)

    def each_draw(self) -> "Iterator[Reranking]":
        """Iterate over the draws, each as a Reranking."""
        if self.n_draws == 1:
            yield self
            return
        for _, draw in self.draws():
            yield Reranking(
                self.data,
                draw.position,
                draw.last,
                before=self.before,
                bounds=self.bounds,
                reranker=self.reranker,
                names=self.names,
            )

    def summary(self) -> Table:
        """Return measures before and after: guarantee, NDCG, score, shares in the top, gaps.

        Measures that the data do not allow are left out. Values are means over the lists where the
        measure is defined, and over the draws.

        Examples
        --------
        >>> from equirank.rerankers import DetGreedy
        >>> result = DetGreedy().rerank([4, 3, 2, 1], sensitive_features=list("mmff"))
        >>> result.summary()["measure"][:2].tolist()
        ['lists that keep the guarantee', 'NDCG (score)']
        """
        values: dict[str, list[tuple[Any, Any]]] = {}
        for draw, weight in zip(self.each_draw(), self._draw_weights(), strict=True):
            for name, first, last, mean in _measures(draw):
                if weight is None:
                    pair = (mean(first), mean(last))
                else:  # the sum over draws of these, below, is the mean over lists and draws
                    pair = (mean(weight * first), mean(weight * last))
                values.setdefault(name, []).append(pair)
        join = np.mean if self.weights is None else np.sum
        means = np.array([join(pairs, axis=0) for pairs in values.values()]).reshape(-1, 2)
        return Table({"measure": list(values), "before": means[:, 0], "after": means[:, 1]})

    def explain(
        self,
        item: Any,
        query: Any = None,
        *,
        shown: Mapping[Any, str] | None = None,
        lower_first: bool = False,
    ) -> "Explanation":
        """Explain the position of an item.

        With several draws the reasons are those of the first draw; with bounds on several
        attributes, those of the first attribute whose bound binds.

        Parameters
        ----------
        item : label
            The item's id if the data have ids, else the row number in the input.
        query : label, optional
            The query, if the id occurs in several.
        shown : mapping, optional
            Names of groups in sentences, which are then about people: ``{"f": "women"}``.
        lower_first : bool
            Whether lower scores rank first and the scores of the data were therefore negated.

        Returns
        -------
        Explanation
            ``str()`` returns sentences, ``sentences`` is a tuple of them, ``facts`` a dict of
            numbers and names, and ``to_dict()`` joins both.

        Examples
        --------
        >>> from equirank.rerankers import DetGreedy
        >>> result = DetGreedy().rerank([4, 3, 2, 1], sensitive_features=list("mmff"))
        >>> result.explain(2).facts["binding"]["prefix"]
        2
        """
        from .explanation import Words, explain

        return explain(self, item, query, Words.about(shown, lower_first))

    def _draw_weights(self) -> list[np.ndarray | None]:
        return [None] * self.n_draws if self.weights is None else list(self.weights.T)

    @property
    def _by_draw(self) -> np.ndarray:
        return self.position.reshape(self.data.n_rows, self.n_draws)

    @property
    def _made_from(self) -> Ranking:
        if self.before is None:
            raise DataError("before of a Reranking must be the ranking it was made from, got None")
        return self.before


def _slots_of(
    data: RankingData, position: np.ndarray, order: np.ndarray, offsets: np.ndarray
) -> Slots:
    """Return the slots of lists whose stored rows are known in order; the others are not shown."""
    if len(order) == data.n_rows:
        return Slots(data, order, data.offsets)
    start, end, shown = data.offsets[:-1], data.offsets[1:], np.diff(offsets)
    behind = end - start - shown
    left_out = np.flatnonzero(position == 0)
    first_left_out = np.cumsum(behind) - behind
    slots = np.empty(data.n_rows, dtype=np.int64)
    slots[np.arange(len(order)) + np.repeat(start - offsets[:-1], shown)] = order
    at = np.arange(len(left_out)) + np.repeat(start + shown - first_left_out, behind)
    slots[at] = left_out
    if (behind <= 1).all():
        return Slots(data, slots, data.offsets, shown=shown)
    lo, hi = np.arange(data.n_rows), np.arange(1, data.n_rows + 1)
    lo[at], hi[at] = np.repeat(start + shown, behind), np.repeat(end, behind)
    return Slots(data, slots, data.offsets, lo, hi, shown)


def _positions(ranking: Ranking) -> np.ndarray:
    slots = ranking.slots()
    position = np.empty(len(slots.order), dtype=np.int64)
    position[slots.order] = slots.position
    position[ranking.position == 0] = 0
    return position


#: Length of the prefix whose group shares are reported if the re-ranker has no cutoff.
USUAL_CUTOFF = 10

#: Name, values per query before and after, and their mean over queries.
Measure = tuple[str, np.ndarray, np.ndarray, Callable[[np.ndarray], float]]


def _measures(result: Reranking) -> list[Measure]:
    """Return the measures of one draw that the data allow."""
    before, price = result._made_from, result.price
    rows = _guarantee(result, before)
    if price.gain is not None:
        at = "" if result.k is None else f"@{result.k}"
        table = price.per_query
        rows.append((f"NDCG{at} ({price.gain})", table["ndcg_before"], table["ndcg"], _mean))
    rows += _mean_scores(result, before)
    if result.has_groups:
        rows += _group_shares(result, before)
    if result.has_groups and result.groups.known.any():
        rows += _fairness_gaps(result, before)
    return rows


def _heads(result: Reranking, before: Ranking) -> tuple[Slots, Slots, np.ndarray]:
    """Return both lists, and the number of positions of each list that are shown now."""
    old, new = before.slots(), result.slots()
    return old, new, new.sizes if new.shown is None else new.shown


def _guarantee(result: Reranking, before: Ranking) -> list[Measure]:
    free = isinstance(result.bounds, NoBounds) and not result.by_probability
    if free or not result.has_groups or not result.guaranteed:
        return []
    old, _, shown = _heads(result, before)
    top = old.position <= np.repeat(shown, old.sizes)
    offsets = np.concatenate([[0], np.cumsum(shown)])
    first, last = result.kept(old.order[top], offsets), result.holds_per_query
    return [("lists that keep the guarantee", first.astype(float), last.astype(float), _mean)]


def _mean_scores(result: Reranking, before: Ranking) -> list[Measure]:
    score = before.data.score
    if score is None:
        return []
    old, new, shown = _heads(result, before)
    first, last = (_means_in_top(score[slots.order], slots, shown) for slots in (old, new))
    name = "mean score" if result.k is None else f"mean score of the first {result.k}"
    return [(name, first, last, _mean)]


def _means_in_top(values: np.ndarray, slots: Slots, sizes: np.ndarray) -> np.ndarray:
    """Return the mean value in the top of each list; NaN for an empty top."""
    values, shift = summable(values, slots.offsets)
    top = slots.position <= np.repeat(sizes, slots.sizes)
    sums = segment_sum(np.where(top, values, 0.0), slots.offsets)
    return np.where(sizes > 0, np.ldexp(sums / np.maximum(sizes, 1), shift), np.nan)


def _group_shares(result: Reranking, before: Ranking) -> list[Measure]:
    old, new, shown = _heads(result, before)
    k = USUAL_CUTOFF if result.k is None else result.k
    sizes = np.minimum(shown, k)
    word = "expected share" if result.by_probability else "share"
    tops = [slots.order[slots.position <= np.repeat(sizes, slots.sizes)] for slots in (old, new)]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rows: list[Measure] = []
    for code, name in enumerate(result.groups.categories):
        member = result.members(code)
        first, last = (_mean_known(member[top], offsets) for top in tops)
        rows.append((f"{word} of {name} in the first {k}", first, last, _mean))
    return rows


def _mean_known(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the mean of the values of each segment that are not NaN; NaN without any."""
    known = ~np.isnan(values)
    sums = segment_sum(np.where(known, values, 0.0), offsets)
    return divide(sums, segment_sum(known.astype(np.float64), offsets))


def _fairness_gaps(result: Reranking, before: Ranking) -> list[Measure]:
    rows: list[Measure] = []
    by, k = result.by, result.k
    metrics: list[Metric] = [ExposureGap(by=by, k=k), RND(by=by, k=k)]
    for metric in metrics:

        def values(ranking: Ranking, metric: Metric = metric) -> np.ndarray:
            return np.asarray(metric.per_query(ranking).value)

        first, last = _known(before, metric, values), values(result)
        if not (np.isnan(first).all() and np.isnan(last).all()):
            rows.append((str(metric), first, last, _mean))
    return rows


@dataclass(frozen=True, eq=False)
class Price:
    """Loss of a re-ranking in NDCG and score, per query and in the mean over queries.

    Attributes
    ----------
    gain : {"relevance", "score"} or None
        The gain of NDCG: relevance if it is known (``2**y - 1``), else the score above the lowest
        of its list; None if neither is known.
    ndcg_before, ndcg : float
        NDCG (at the cutoff) before and after, means over the queries where it is defined.
    score_loss : float
        Decrease of the mean score of the shown items; 0 if all are shown.
    worst_inversion : float
        Largest amount, over all queries, by which an item outscores one ranked above it. Items
        that are left out count as ranked last.
    per_query : Table
        The same values per query.

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
    """Return the price of a second ranking of the same rows; NaN where it is undefined."""
    data = before.data
    none = np.full(data.n_queries, np.nan)
    gain = "relevance" if data.y is not None else "score" if data.score is not None else None
    first, last = (none, none) if gain is None else _ndcgs(before, after, k)
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


def _mean_price(result: Reranking) -> Price:
    """Return the price of several draws: means over them, and the largest inversion of any."""
    parts = [price_of(result._made_from, draw, result.k) for _, draw in result.draws()]
    tables = [part.per_query.to_dict() for part in parts]
    names = ("ndcg_before", "ndcg", "score_loss")
    columns: dict[str, Any] = {"query": result.data.qids}
    if result.weights is None:
        for name in names:
            columns[name] = _mean_of_draws([table[name] for table in tables])
        means = {
            name: float(_mean_of_draws([getattr(part, name) for part in parts])) for name in names
        }
    else:
        weights = result.weights.T
        for name in names:
            columns[name] = (weights * [table[name] for table in tables]).sum(axis=0)
        means = {name: _mean(columns[name]) for name in names}
    worst = np.array([table["worst_inversion"] for table in tables], dtype=float)
    columns["worst_inversion"] = worst.max(axis=0)
    return Price(
        parts[0].gain,
        **means,
        worst_inversion=float(worst.max()),
        per_query=Table(columns, result.data.backend),
    )


def _mean_of_draws(values: Sequence[Any]) -> Any:
    """Return the mean over draws, also of numbers whose sum no double can hold."""
    array = np.asarray(values, dtype=np.float64)
    if not np.abs(array).max(initial=0.0, where=~np.isnan(array)) > LARGE:
        return np.mean(array, axis=0)
    small = np.ldexp(array, -64)
    # Rounding must not raise the mean of the largest doubles above them.
    mean = np.clip(np.mean(small, axis=0), small.min(axis=0), small.max(axis=0))
    return np.ldexp(mean, 64)


def _mean(values: np.ndarray) -> float:
    return float(weighted_means(values[:, None])[0])


def _ndcgs(before: Ranking, after: Ranking, k: int | None) -> tuple[np.ndarray, np.ndarray]:
    metric, data = with_gains(before.data, k)

    def ndcg(ranking: Ranking) -> np.ndarray:
        seen = ranking
        if data is not ranking.data:
            seen = Ranking(data, ranking.position, ranking.last, ranking.weights)
            if ranking.n_draws == 1:
                slots = replace(ranking.slots(), data=data, codes={}, _heads={})
                seen.__dict__["_slots"] = slots
        return np.asarray(metric.per_query(seen).value, dtype=np.float64)

    return _known(before, metric, ndcg), ndcg(after)


def _known(before: Ranking, metric: Metric, work: Callable[[Ranking], np.ndarray]) -> np.ndarray:
    """Return the values of a metric before, computed once for all re-rankings of a ranking."""
    known: dict[Metric, np.ndarray] = before.__dict__.setdefault("_measured", {})
    if metric not in known:
        known[metric] = inputs.frozen(work(before))
    return known[metric]


def with_gains(data: RankingData, k: int | None) -> tuple[NDCG, RankingData]:
    """Return the NDCG of a price, and the data whose y are its gains: relevance, else the score."""
    if data.y is not None:
        return NDCG(k=k), data
    return NDCG(k=k, gain="linear"), replace(data, y=_above_lowest(data), max_grade=0.0)


def _above_lowest(data: RankingData) -> np.ndarray:
    score, _ = summable(np.asarray(data.score), data.offsets)
    if len(score) == 0:
        return score
    lowest = np.minimum.reduceat(score, data.offsets[:-1])
    return score - np.repeat(lowest, np.diff(data.offsets))


def _scores(before: Ranking, after: Ranking) -> tuple[np.ndarray, np.ndarray]:
    """Return per query the loss of mean score among the shown, and the worst inversion."""
    from ..kernels.prefix_lists import worst_drops

    score, shift = summable(np.asarray(before.data.score), before.data.offsets)
    old, new = before.slots(), after.slots()
    shown = new.sizes if new.shown is None else new.shown
    means = []
    for slots in (old, new):
        top = np.where(slots.position <= np.repeat(shown, slots.sizes), score[slots.order], 0.0)
        means.append(segment_sum(top, slots.offsets) / np.maximum(shown, 1))
    offered = np.where(before.position > 0, score, -np.inf)
    worst = worst_drops(offered[new.order], new.offsets, shown)
    # of scores near the largest number, the differences can be infinite
    with np.errstate(over="ignore"):
        return np.ldexp(means[0] - means[1], shift), np.ldexp(worst, shift)
