"""EquityOfAttention: a stream of rankings whose attention, over time, follows relevance."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
from scipy.sparse import csr_array, kron, vstack
from sklearn.base import BaseEstimator

from ..core.errors import DataError
from ..core.metric import DISCOUNT
from ..core.params import Choice, Constraint, Integer, Label, Number, Optional, check_params
from ..core.persistence import save
from ..core.ranking import Ranking
from ..kernels.discounts import discounts

__all__ = ["EquityOfAttention"]


class EquityOfAttention(BaseEstimator):  # type: ignore[misc]
    """Rank list after list so that each item's attention keeps up with its relevance.

    Each ranking minimises ``sum_i |A_i + a_pos(i) - (R_i + r_i)|``: A and R are the attention and
    relevance items have gathered so far, a and r those of this list, each scaled to sum 1. Its
    NDCG@k stays at or above ``theta``. Solved as an assignment of a prefiltered set of candidates
    with a price on quality, found by bisection, and exchanges after it; or exactly as a programme
    with whole numbers. Equal items keep their order. A list without any relevance is ranked by what
    items are owed.

    The state (``ids_``, ``attention_``, ``relevance_``) grows with the stream; `save` writes it
    whole or not at all, and `equirank.load` goes on where it stopped. With ``store`` that happens
    after every list.

    Parameters
    ----------
    theta : float in [0, 1]
        Least NDCG@k of each ranking; 1 keeps the order by relevance.
    k : int
        Places that draw attention and count for quality; items behind stand by relevance.
    discount : {"log2", "zipf"} or sequence
        Attention of the places.
    n_candidates : int
        How many items compete for the k places: the most relevant, then the ones owed most.
    method : {"assignment", "milp"}
        Fast, or exact (short lists).
    store : str, optional
        A folder the state is saved to after every list.

    References
    ----------
    Biega, Gummadi and Weikum, Equity of attention: amortizing individual fairness in rankings,
    SIGIR 2018.

    Examples
    --------
    Two items of equal relevance take turns at the top:

    >>> from equirank.allocation import EquityOfAttention
    >>> equity = EquityOfAttention(theta=0.5, k=1)
    >>> [equity.rank_next([0.5, 0.5], ids=["a", "b"])[0] for _ in range(4)]
    ['a', 'b', 'a', 'b']
    """

    ids_: list[Any]
    attention_: np.ndarray
    relevance_: np.ndarray
    n_rankings_: int
    _where: dict[Any, int]

    params: ClassVar[Mapping[str, Constraint]] = {
        "theta": Number(0.0, 1.0),
        "k": Integer(1),
        "discount": DISCOUNT,
        "n_candidates": Integer(1),
        "method": Choice("assignment", "milp"),
        "store": Optional(Label()),
    }

    def __init__(
        self,
        theta: float = 0.8,
        k: int = 10,
        *,
        discount: str | Sequence[float] = "log2",
        n_candidates: int = 100,
        method: str = "assignment",
        store: str | None = None,
    ) -> None:
        self.theta = theta
        self.k = k
        self.discount = discount
        self.n_candidates = n_candidates
        self.method = method
        self.store = store

    def rank_next(self, relevance: Any, ids: Any = None) -> list[Any]:
        """Rank one list and add it to the account.

        Parameters
        ----------
        relevance : array-like
            Of each item, >= 0.
        ids : array-like, optional
            Who they are, the same from list to list; row numbers by default.

        Returns
        -------
        list
            The ids, best place first.
        """
        check_params("EquityOfAttention", self.get_params(), self.params)
        values, names = _checked(relevance, ids)
        at = self._places_of(names)
        total = float(values.sum())
        share = values / total if total > 0.0 else np.zeros(len(values))
        attention = np.asarray(discounts(len(values), self.discount, self.k), dtype=np.float64)
        attention = attention / attention.sum()
        owed = self.relevance_[at] + share - self.attention_[at]
        order = self._order(values, owed, attention)
        drawn = np.empty(len(values))
        drawn[order] = attention
        attended, earned = self.attention_.copy(), self.relevance_.copy()
        attended[at] += drawn
        earned[at] += share
        self.attention_, self.relevance_ = attended, earned
        self.n_rankings_ += 1
        if self.store is not None:
            self.save(self.store)
        return [names[row] for row in order]

    def __call__(self, ranking: Ranking) -> Ranking:
        """Rank the lists of a ranking one after the other; its data must hold ids and scores."""
        data = ranking.data
        if data.ids is None or data.score is None:
            raise DataError(
                "EquityOfAttention needs ids and scores, which the ranking's data lacks"
            )
        position = np.empty(data.n_rows, dtype=np.int32)
        for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
            names = data.ids[begin:end].tolist()
            place = {name: at for at, name in enumerate(names)}
            order = self.rank_next(data.score[begin:end], names)
            position[[begin + place[name] for name in order]] = np.arange(1, end - begin + 1)
        return Ranking.from_positions(data, data.to_original(position))

    @property
    def unfairness_(self) -> float:
        """The sum over items of the distance between attention and relevance gathered so far."""
        self._places_of([])
        return float(np.abs(self.attention_ - self.relevance_).sum())

    def save(self, folder: str | Path) -> None:
        """Save parameters and account into a folder that `equirank.load` reads."""
        self._places_of([])
        save(self, folder)

    def reset(self) -> Self:
        """Forget all attention and relevance so far."""
        for name in ("ids_", "attention_", "relevance_", "n_rankings_"):
            self.__dict__.pop(name, None)
        self.__dict__.pop("_where", None)
        return self

    def _places_of(self, names: list[Any]) -> np.ndarray:
        """Return where items stand in the account, opening one for each new item."""
        if not hasattr(self, "ids_"):
            self.ids_ = []
            self.attention_, self.relevance_ = np.zeros(0), np.zeros(0)
            self.n_rankings_ = 0
        where = self.__dict__.get("_where")
        if where is None:
            where = self._where = {name: at for at, name in enumerate(self.ids_)}
        for name in names:
            if name not in where:
                where[name] = len(self.ids_)
                self.ids_.append(name)
        missing = len(self.ids_) - len(self.attention_)
        if missing:
            self.attention_ = np.concatenate([self.attention_, np.zeros(missing)])
            self.relevance_ = np.concatenate([self.relevance_, np.zeros(missing)])
        return np.array([where[name] for name in names], dtype=np.int64)

    def _order(self, values: np.ndarray, owed: np.ndarray, attention: np.ndarray) -> np.ndarray:
        """Choose who stands where: rows, best place first."""
        k = min(self.k, len(values))
        best = np.argsort(-values, kind="stable")
        chosen = np.zeros(len(values), dtype=bool)
        chosen[best[:k]] = True
        spare = max(self.n_candidates - k, 0)
        for row in np.argsort(-owed, kind="stable")[: spare + k]:
            if chosen.sum() < k + spare:
                chosen[row] = True
        rows = np.flatnonzero(chosen)
        gain = np.exp2(values / max(values.max(), 1e-300)) - 1.0
        worth = gain[rows, None] * discounts(k, "log2")[None]
        least = self.theta * float(np.sort(gain)[::-1][:k] @ discounts(k, "log2"))
        # cost of a place, less the cost of having none
        cost = np.abs(attention[None, :k] - owed[rows, None]) - np.abs(owed[rows, None])
        solve = _programme if self.method == "milp" else _assignment
        first = rows[solve(cost, worth, least)]
        rest = np.setdiff1d(np.arange(len(values)), first)
        return np.concatenate([first, rest[np.argsort(-values[rest], kind="stable")]])


def _assignment(cost: np.ndarray, worth: np.ndarray, least: float) -> np.ndarray:
    """Return the candidate of each place: least cost at the lowest price on quality that suffices."""
    places = np.arange(cost.shape[1])

    def solve(price: float) -> tuple[np.ndarray, float]:
        rows, columns = linear_sum_assignment(cost - price * worth)
        chosen = np.empty(len(places), dtype=np.int64)
        chosen[columns] = rows
        return chosen, float(worth[chosen, places].sum())

    slack = 1e-12 * max(least, 1.0)
    found, quality = solve(0.0)
    if quality >= least - slack:
        return found
    low, high = 0.0, 1e-3
    found, quality = solve(high)
    while quality < least - slack and high < 1e9:
        low, high = high, 4.0 * high
        found, quality = solve(high)
    if quality < least - slack:  # nothing but relevance counts
        return np.argsort(-worth[:, 0], kind="stable")[: len(places)]
    for _ in range(20):
        middle = 0.5 * (low + high)
        tried, quality = solve(middle)
        if quality >= least - slack:
            found, high = tried, middle
        else:
            low = middle
    return _exchanged(found, cost, worth, least - slack)


def _exchanged(found: np.ndarray, cost: np.ndarray, worth: np.ndarray, least: float) -> np.ndarray:
    """Exchange two places, or a place with someone without one, as long as that helps."""
    places = np.arange(cost.shape[1])
    for _ in range(10 * len(places)):
        saved = _changes(cost, found)
        quality = worth[found, places].sum() + _changes(worth, found)
        saved[quality < least] = 0.0
        item, at = (int(i) for i in np.unravel_index(int(np.argmin(saved)), saved.shape))
        if saved[item, at] > -1e-12:
            break
        was = np.flatnonzero(found == item)
        found = found.copy()
        found[was] = found[at]
        found[at] = item
    return found


def _changes(table: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Return how the sum changes when item i takes place j, whose holder takes i's place, if any."""
    holder = np.full(len(table), -1)
    holder[found] = np.arange(len(found))
    placed = (holder >= 0)[:, None]
    own = np.take_along_axis(table, np.maximum(holder, 0)[:, None], axis=1)
    other = table[found][:, np.maximum(holder, 0)].T
    now = table[found, np.arange(len(found))]
    return table - now + np.where(placed, other - own, 0.0)


def _programme(cost: np.ndarray, worth: np.ndarray, least: float) -> np.ndarray:
    """Return the candidate of each place, exactly."""
    items, places = cost.shape
    one_place = kron(csr_array(np.eye(items)), csr_array(np.ones((1, places))))
    one_item = kron(csr_array(np.ones((1, items))), csr_array(np.eye(places)))
    rows = vstack([one_place, one_item, csr_array(worth.reshape(1, -1))]).tocsr()
    low = np.concatenate([np.zeros(items), np.ones(places), [least - 1e-9 * max(least, 1.0)]])
    high = np.concatenate([np.ones(items), np.ones(places), [np.inf]])
    found = milp(
        cost.ravel(),
        integrality=np.ones(cost.size),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows, low, high),
    )
    if found.x is None:
        return np.argsort(-worth[:, 0], kind="stable")[:places]
    return np.argmax(found.x.reshape(items, places), axis=0)


def _checked(relevance: Any, ids: Any) -> tuple[np.ndarray, list[Any]]:
    values = np.asarray(relevance, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise DataError(f"relevance must be one number per item, got shape {values.shape}")
    bad = ~(np.isfinite(values) & (values >= 0.0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(f"relevance must be finite numbers >= 0, got {values[at]} in row {at}")
    if ids is None:
        return values, list(range(len(values)))
    names = np.asarray(ids).tolist()
    if len(names) != len(values):
        raise DataError(f"ids must be one per item ({len(values)}), got {len(names)}")
    if len(set(names)) != len(names):
        raise DataError("ids must name each item of a list once")
    return values, names
