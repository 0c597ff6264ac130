"""Ranking: a position per row and draw over one RankingData."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..kernels.discounts import block_means
from ..kernels.segments import segment_sum, sort_within, tie_blocks
from . import inputs
from .data import RankingData
from .errors import DataError
from .given_data import as_given_data, refuse_beside
from .params import Integer, check_params
from .slots import Slots
from .table import Table

__all__ = ["Ranking", "as_given_ranking"]


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """Positions of the rows of one `RankingData`, in one draw or many.

    Attributes
    ----------
    data : RankingData
        The ranked data.
    position : ndarray of int32
        Per stored row (and draw): the 1-based position, or the first of its tie block; 0 = not
        shown.
    last : ndarray of int32 or None
        The last position of the tie block; None without ties.
    weights : ndarray or None
        Per query and draw, summing to 1 over the draws; None if all draws have equal weight.

    Examples
    --------
    >>> from equirank import Ranking, as_ranking_data
    >>> data = as_ranking_data(None, [2, 0, 1], score=[0.3, 0.9, 0.3])
    >>> ranking = Ranking.from_scores(data)
    >>> ranking.position, ranking.last
    (array([2, 1, 2], dtype=int32), array([3, 1, 3], dtype=int32))
    >>> ranking.order()
    array([1, 0, 2])
    """

    data: RankingData
    position: np.ndarray
    last: np.ndarray | None = None
    weights: np.ndarray | None = None

    @classmethod
    def from_scores(
        cls,
        data: RankingData,
        score: Any = None,
        *,
        ties: Literal["average", "stable"] = "average",
    ) -> "Ranking":
        """Rank by score, highest first.

        Parameters
        ----------
        data : RankingData
            The ranked data.
        score : array-like of shape (n_rows,) or (n_rows, n_draws), optional
            Scores in the caller's row order; defaults to the data's own, and replaces them in
            ``ranking.data``. Each column of a matrix is a draw, such as one of a posterior of
            relevance; the scores of ``ranking.data`` are then their means.
        ties : {"average", "stable"}
            Equal scores share their block of positions, or are ordered as the caller gave them.
        """
        inputs.choose("ties", ties, ("average", "stable"))
        if score is None:
            if data.score is None:
                raise DataError("score must be given, and the data has none")
            values = data.score
        elif np.ndim(score) == 2:
            return cls._from_score_draws(data, np.asarray(score), ties)
        else:
            values = _stored(data, "score", inputs.numbers("score", score))
            data = replace(data, score=inputs.frozen(values))
        order = sort_within(values, data.offsets)
        lo = hi = None
        if ties == "average":
            lo, hi = tie_blocks(values[order], data.offsets)
        return cls._from_slots(Slots(data, order, data.offsets, lo, hi))

    @classmethod
    def from_positions(cls, data: RankingData, position: Any, *, weights: Any = None) -> "Ranking":
        """Create a ranking from positions, one column per draw.

        Parameters
        ----------
        data : RankingData
            The ranked data.
        position : array-like of shape (n_rows,) or (n_rows, n_draws)
            1-based, in input order; 0 = not shown. Tied rows have the same
            number and the next number skips (1, 1, 3).
        weights : array-like of shape (n_draws,) or (n_queries, n_draws), optional
            How much each draw counts; >= 0, scaled to sum 1.
        """
        table = np.asarray(position)
        table = table[:, None] if table.ndim == 1 else table
        if table.ndim != 2 or table.shape[1] == 0:
            raise DataError(f"position must be one column per draw, got shape {table.shape}")
        columns = [inputs.positions(column) for column in table.T]
        draws = [
            _check_places(data, _stored(data, "position", column), column)  # type: ignore[arg-type]
            for column in columns
        ]
        firsts = np.stack([first for first, _ in draws], axis=1)
        lasts = np.stack([last for _, last in draws], axis=1)
        tied = bool((firsts != lasts).any())
        share = None if weights is None else _check_weights(data, weights, table.shape[1])
        if table.shape[1] == 1:
            firsts, lasts, share = firsts[:, 0], lasts[:, 0], None
        return cls(data, inputs.frozen(firsts), inputs.frozen(lasts) if tied else None, share)

    @classmethod
    def _from_score_draws(
        cls, data: RankingData, score: np.ndarray, ties: Literal["average", "stable"]
    ) -> "Ranking":
        """Rank by each column of scores."""
        if score.shape[1] == 0:
            raise DataError(f"score must be one column per draw, got shape {score.shape}")
        draws = [cls.from_scores(data, column, ties=ties) for column in score.T]
        if len(draws) == 1:
            return draws[0]
        mean = np.mean([np.asarray(draw.data.score) for draw in draws], axis=0)
        position = np.stack([draw.position for draw in draws], axis=1)
        last = None
        if any(draw.last is not None for draw in draws):
            lasts = [draw.position if draw.last is None else draw.last for draw in draws]
            last = inputs.frozen(np.stack(lasts, axis=1))
        return cls(replace(data, score=inputs.frozen(mean)), inputs.frozen(position), last)

    @classmethod
    def _from_slots(cls, slots: Slots) -> "Ranking":
        position = np.empty(len(slots.order), dtype=np.int32)
        position[slots.order] = slots.begin() - slots.start + 1
        last = None
        if slots.hi is not None:
            last = np.empty(len(slots.order), dtype=np.int32)
            last[slots.order] = slots.hi - slots.start
        ranking = cls(
            slots.data, inputs.frozen(position), None if last is None else inputs.frozen(last)
        )
        ranking.__dict__["_slots"] = slots
        return ranking

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return 1 if self.position.ndim == 1 else int(self.position.shape[1])

    def __repr__(self) -> str:
        """Return a summary of the contents."""
        draws = f", {self.n_draws} draws" if self.n_draws > 1 else ""
        ties = ", ties" if self.last is not None else ""
        size = f"{self.data.n_rows} rows, {self.data.n_queries} {self.data.queries_word}"
        return f"Ranking({size}{draws}{ties})"

    @cached_property
    def _slots(self) -> Slots:
        """The rows best first, of a ranking with one draw."""
        if self.n_draws > 1:
            raise DataError(f"a ranking with one draw is needed here, got {self.n_draws} draws")
        offsets = self.data.offsets
        hidden = self.position == 0
        far = np.int32(np.iinfo(np.int32).max)
        key = np.where(hidden, far, self.position)
        order = sort_within(-key.astype(np.float64), offsets)
        lo, hi = (None, None)
        if self.last is not None or hidden.any():
            lo, hi = tie_blocks(key[order], offsets)
        shown = segment_sum((~hidden).astype(np.int64), offsets) if hidden.any() else None
        return Slots(self.data, order, offsets, lo, hi, shown)

    def slots(self, expected: bool = False) -> Slots:
        """Return the rows in ranked order; ``expected`` averages exposure over draws instead."""
        if not expected or self.n_draws == 1:
            return self._slots
        n = self.data.n_rows
        return Slots(self.data, np.arange(n), self.data.offsets, exposure=self._expected_weights)

    def draws(self) -> Iterator[tuple[np.ndarray, "Ranking"]]:
        """Yield the weight of each draw in each query, and the draw as a Ranking."""
        if self.n_draws == 1:
            yield np.ones(self.data.n_queries), self
            return
        for draw in range(self.n_draws):
            weight = (
                np.full(self.data.n_queries, 1.0 / self.n_draws)
                if self.weights is None
                else self.weights[:, draw]
            )
            last = None if self.last is None else self.last[:, draw]
            if last is not None and (last == self.position[:, draw]).all():
                last = None
            yield weight, Ranking(self.data, self.position[:, draw], last)

    def expect(self, f: Callable[[np.ndarray], Any]) -> np.ndarray:
        """Return the expectation of a function of position, per stored row, over ties and draws.

        Parameters
        ----------
        f : callable
            Maps an array of positions 1, 2, ... to numbers. Rows that are not shown count 0.

        Examples
        --------
        >>> from equirank import Ranking, as_ranking_data
        >>> data = as_ranking_data(None, score=[1.0, 1.0])
        >>> Ranking.from_scores(data).expect(lambda place: 1 / place)
        array([0.75, 0.75])
        """
        longest = int(np.diff(self.data.offsets).max())
        weights = np.asarray(f(np.arange(1, longest + 1)), dtype=float)
        return self._expected_weights(weights, 0, self.data.n_rows)

    def _expected_weights(self, weights: np.ndarray, begin: int, end: int) -> np.ndarray:
        """Return the expected weight of the stored rows of some whole queries."""
        rows = slice(begin, end)
        some = slice(*np.searchsorted(self.data.offsets, [begin, end]))
        sizes = np.diff(self.data.offsets)[some]
        table = np.concatenate([[0.0], weights])  # position 0 is not shown
        total = np.zeros(end - begin)
        for share, draw in self.draws():
            place = draw.position[rows]
            if draw.last is None:
                value = table[place]
            else:
                means = block_means(weights, np.maximum(place, 1), np.maximum(draw.last[rows], 1))
                value = np.where(place > 0, means, 0.0)
            if self.n_draws == 1:
                return value
            total += np.repeat(share[some], sizes) * value
        return total

    def order(self, query: Any = None, draw: int = 0) -> np.ndarray:
        """Return the input rows of one query in ranked order, without those not shown.

        Parameters
        ----------
        query : label, optional
            Which query; may be left out where there is only one.
        draw : int
            Which draw. Tied rows come in the caller's order.
        """
        if query is None and self.data.n_queries > 1:
            raise DataError(f"query must be named, since there are {self.data.n_queries} queries")
        check_params("order", {"draw": draw}, {"draw": Integer(0, self.n_draws - 1)})
        index = 0 if query is None else self.data.query_index(query)
        begin, end = self.data.offsets[index : index + 2]
        column = self.position if self.position.ndim == 1 else self.position[:, draw]
        place = column[begin:end]
        rows = np.arange(begin, end) if self.data.rows is None else self.data.rows[begin:end]
        best = np.argsort(place, kind="stable")
        return rows[best[place[best] > 0]]

    def top(self, k: int, draw: int = 0) -> Table:
        """Return the top k rows of every query: query, row, position (id and score if known)."""
        check_params("top", {"k": k}, {"k": Integer(1)})
        check_params("top", {"draw": draw}, {"draw": Integer(0, self.n_draws - 1)})
        chosen = next(ranking for at, (_, ranking) in enumerate(self.draws()) if at == draw)
        head = chosen.slots().head(k)
        stored = head.order[head.position <= k]
        return self._table(stored if self.data.rows is None else self.data.rows[stored], draw)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return query, row and position (and id and score if known) as a native data frame."""
        return self.to_table().to_frame(backend)

    def to_table(self) -> Table:
        """Return query, row and position (and id and score if known), in input order."""
        order = np.arange(self.data.n_rows) if self.data.rows is None else np.sort(self.data.rows)
        return self._table(order, None)

    def _table(self, rows: np.ndarray, draw: int | None) -> Table:
        data = self.data
        known = np.arange(data.n_rows) if data.rows is None else data.rows
        back = np.argsort(known)
        stored = back[np.searchsorted(known, rows, sorter=back)]
        columns: dict[str, Any] = {"query": data.qids[data.query_of_rows()[stored]], "row": rows}
        if data.ids is not None:
            columns["id"] = data.ids[stored]
        if self.position.ndim == 1 or draw is not None:
            one = self.position if self.position.ndim == 1 else self.position[:, draw or 0]
            columns["position"] = one[stored]
        else:
            columns |= {f"position_{d}": self.position[stored, d] for d in range(self.n_draws)}
        if self.last is not None and self.last.ndim == 1:
            columns["last"] = self.last[stored]
        if data.score is not None:
            columns["score"] = data.score[stored]
        return Table(columns, data.backend)


def _stored(data: RankingData, name: str, values: Any) -> np.ndarray:
    if len(values) != data.n_rows:
        raise DataError(f"{name} must have one value per row ({data.n_rows}), got {len(values)}")
    if data.rows is None:
        return np.asarray(values)
    return np.asarray(values)[data.caller_rank]


def _check_places(
    data: RankingData, place: np.ndarray, given: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Check that the positions of each query are 1, 2, ... with ties; return first and last."""
    hidden = place == 0
    key = np.where(hidden, np.iinfo(np.int32).max, place)
    order = sort_within(-key.astype(np.float64), data.offsets)
    ranked = key[order]
    lo, hi = tie_blocks(ranked, data.offsets)
    slot = np.arange(len(order))
    begin = slot if lo is None else lo
    end = slot + 1 if hi is None else hi
    start = np.repeat(data.offsets[:-1], np.diff(data.offsets))
    expected = begin - start + 1
    wrong = (ranked != expected) & ~hidden[order]
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        query, row = data.place(int(order[at]))
        raise DataError(
            "position must count 1, 2, 3, ... within a query (ties skip: 1, 1, 3; "
            f"0 = not shown), got {int(ranked[at])} in row {row} of query {query!r} where "
            f"{int(expected[at])} was expected"
        )
    first = np.where(hidden, 0, place).astype(np.int32)
    last = np.empty(len(order), dtype=np.int32)
    last[order] = end - start
    return first, np.where(hidden, 0, last).astype(np.int32)


def _check_weights(data: RankingData, weights: Any, n_draws: int) -> np.ndarray:
    share = np.asarray(weights, dtype=float)
    if share.shape == (n_draws,):
        share = np.broadcast_to(share, (data.n_queries, n_draws))
    if share.shape != (data.n_queries, n_draws):
        raise DataError(
            f"weights must have shape ({n_draws},) or ({data.n_queries}, {n_draws}), "
            f"got {share.shape}"
        )
    total = share.sum(axis=1, keepdims=True)
    if not np.isfinite(share).all() or (share < 0).any() or (total <= 0).any():
        raise DataError("weights must be numbers >= 0 with a positive sum in every query")
    return inputs.frozen(share / total)


def as_given_ranking(data: Any, owner: str, columns: Mapping[str, Any]) -> Ranking:
    """Return a ranking as it is, or the one that a RankingData or the columns of a frame state.

    No column of a frame is a feature unless ``features`` names it.
    """
    if isinstance(data, Ranking):
        refuse_beside(columns, "Ranking")
        return data
    given = columns if isinstance(data, RankingData) else {"features": ()} | dict(columns)
    return as_given_data(data, owner, given).ranking()
