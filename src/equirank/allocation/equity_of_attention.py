"""EquityOfAttention: a stream of rankings with exposure in proportion to relevance over time."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
from scipy.sparse import csr_array, kron, vstack
from sklearn.base import BaseEstimator

from ..core.declared import Declared
from ..core.errors import DataError
from ..core.metric import DISCOUNT
from ..core.params import Choice, Integer, Label, Number, Optional, check_params
from ..core.persistence import identity, is_saved, load, save
from ..core.ranking import Ranking
from ..kernels.discounts import discounts, gains

__all__ = ["EquityOfAttention"]


class EquityOfAttention(Declared, BaseEstimator):  # type: ignore[misc]
    """Rank list after list so that the exposure of each item keeps up with its relevance.

    Each ranking minimises ``sum_i |A_i + a_pos(i) - (R_i + r_i)|``: A and R are the accumulated
    exposure and relevance of items, a and r those of this list, each scaled to sum 1. NDCG@k of the
    ranking, as `equirank.metrics.ndcg` computes it, is at least ``theta`` (up to 1e-9). It is
    solved as an assignment of preselected candidates with a price on quality, found by bisection,
    followed by exchanges; or exactly as an integer program. Ties keep input order. A list without
    relevance is ranked by accumulated deficit.

    The state (``ids_``, ``attention_``, ``relevance_``) grows with the stream; `save` writes it
    atomically, and `equirank.load` resumes it. With ``store`` it is saved before a ranking is
    returned, so a ranking that was returned is never lost from the account.

    Parameters
    ----------
    theta : float in [0, 1]
        Minimum NDCG@k of each ranking; 1 keeps the order by relevance.
    k : int
        Number of positions with exposure, and cutoff of the quality; later items are ranked by
        relevance.
    discount : {"log2", "zipf"} or sequence
        Exposure of the positions.
    n_candidates : int
        Number of candidates for the k positions: the most relevant, then the largest deficits.
    method : {"assignment", "milp"}
        Fast, or exact (short lists).
    gain : {"exp2", "scaled"}
        Gain in NDCG: ``2**relevance - 1``, as in `equirank.metrics.ndcg`. With ``"scaled"`` the
        relevance is divided by the largest of the list first, so ``theta`` bounds the NDCG of
        ``relevance / max(relevance)``; by ``ndcg`` of graded relevance it may be lower.
    store : str, optional
        A folder to which the state is saved after every list. An account that it contains is
        continued. If the folder changes otherwise, `rank_next` raises `DataError`: two objects
        cannot keep one account.

    References
    ----------
    Biega, Gummadi and Weikum, Equity of attention: amortizing individual fairness in rankings,
    SIGIR 2018.

    Examples
    --------
    Two items of equal relevance alternate at the top:

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
    _stored: tuple[Any, ...]
    #: Files of format 1 were written before the parameter existed.
    former_params: ClassVar[dict[int, dict[str, Any]]] = {1: {"gain": "scaled"}}

    positional = ("theta", "k")
    theta: Annotated[float, Number(0.0, 1.0)] = 0.8
    k: Annotated[int, Integer(1)] = 10
    discount: Annotated[str | Sequence[float], DISCOUNT] = "log2"
    n_candidates: Annotated[int, Integer(1)] = 100
    method: Annotated[Literal["assignment", "milp"], Choice("assignment", "milp")] = "assignment"
    gain: Annotated[Literal["exp2", "scaled"], Choice("exp2", "scaled")] = "exp2"
    store: Annotated[str | None, Optional(Label())] = None

    def rank_next(self, relevance: Any, ids: Any = None) -> list[Any]:
        """Rank one list and update the accumulated exposure and relevance.

        Parameters
        ----------
        relevance : array-like
            Relevance of each item, >= 0.
        ids : array-like, optional
            Ids of the items, the same from list to list; row numbers by default.

        Returns
        -------
        list
            The ids, best first.

        Raises
        ------
        DataError
            If the input is invalid, or ``store`` contains another account.
        """
        check_params("EquityOfAttention", self.get_params(), self.params)
        values, names = _checked(relevance, ids)
        at = self._indices_of(names)
        total = float(values.sum())
        share = values / total if total > 0.0 else np.zeros(len(values))
        attention = np.asarray(discounts(len(values), self.discount, self.k), dtype=np.float64)
        attention = attention / attention.sum()
        owed = self.relevance_[at] + share - self.attention_[at]
        order = self._order(values, owed, attention)
        drawn = np.empty(len(values))
        drawn[order] = attention
        before = self.attention_, self.relevance_, self.n_rankings_
        attended, earned = self.attention_.copy(), self.relevance_.copy()
        attended[at] += drawn
        earned[at] += share
        self.attention_, self.relevance_, self.n_rankings_ = attended, earned, before[2] + 1
        try:
            self._write()
        except BaseException:  # a ranking that is not returned does not count
            self.attention_, self.relevance_, self.n_rankings_ = before
            raise
        return [names[row] for row in order]

    def __call__(self, ranking: Ranking) -> Ranking:
        """Rank the lists of a ranking one after the other; its data must have ids and scores."""
        data = ranking.data
        if data.ids is None or data.score is None:
            raise DataError(
                "EquityOfAttention needs ids and scores, which the ranking's data lacks"
            )
        position = np.empty(data.n_rows, dtype=np.int32)
        for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
            names = data.ids[begin:end].tolist()
            row = {name: at for at, name in enumerate(names)}
            order = self.rank_next(data.score[begin:end], names)
            position[[begin + row[name] for name in order]] = np.arange(1, end - begin + 1)
        return Ranking.from_positions(data, data.to_original(position))

    @property
    def unfairness_(self) -> float:
        """Sum over items of the distance between accumulated exposure and relevance."""
        self._indices_of([])
        return float(np.abs(self.attention_ - self.relevance_).sum())

    def save(self, folder: str | Path) -> None:
        """Save parameters and state to a folder that `equirank.load` reads."""
        self._indices_of([])
        save(self, folder)

    def reset(self) -> Self:
        """Delete the accumulated exposure and relevance, also in ``store``."""
        self._empty()
        self._write()
        return self

    def _empty(self) -> None:
        self.ids_, self.n_rankings_ = [], 0
        self.attention_, self.relevance_ = np.zeros(0), np.zeros(0)
        self.__dict__.pop("_where", None)

    def _write(self) -> None:
        """Save the state to ``store``, if there is one, and remember what was written."""
        if self.store is not None:
            save(self, self.store)
            self._stored = (self.store, identity(self.store))

    def _claim_store(self) -> None:
        """Continue the account in ``store``; raise if it is not the one of this object."""
        if self.store is None or not (is_saved(self.store) or os.path.lexists(self.store)):
            return
        seen = (self.store, identity(self.store))
        if self.__dict__.get("_stored") == seen:
            return
        found = load(self.store)
        if not isinstance(found, EquityOfAttention):
            raise DataError(
                "store of EquityOfAttention must be a new folder or that of an account, and "
                f"{self.store!r} contains {type(found).__name__}"
            )
        if not hasattr(self, "ids_"):
            for name in ("ids_", "attention_", "relevance_", "n_rankings_"):
                setattr(self, name, getattr(found, name))
        elif self._account() != found._account():
            raise DataError(
                f"store of EquityOfAttention must contain the account of this object, and "
                f"{self.store!r} contains another one, of {found.n_rankings_} rankings; this one "
                f"has {self.n_rankings_}: load the folder to continue it, or name another folder"
            )
        self._stored = seen

    def _account(self) -> tuple[int, dict[Any, tuple[float, float]]]:
        """Return the number of rankings, and exposure and relevance of each item that has any."""
        pairs = zip(self.attention_.tolist(), self.relevance_.tolist(), strict=True)
        known = dict(zip(self.ids_, pairs, strict=False))
        return self.n_rankings_, {name: pair for name, pair in known.items() if any(pair)}

    def _indices_of(self, names: list[Any]) -> np.ndarray:
        """Return the indices of items in the state, adding new items."""
        self._claim_store()
        if not hasattr(self, "ids_"):
            self._empty()
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
        """Return the rows of a list, best first."""
        k = min(self.k, len(values))
        best = np.argsort(-values, kind="stable")
        chosen = np.zeros(len(values), dtype=bool)
        chosen[best[:k]] = True
        spare = max(self.n_candidates - k, 0)
        for row in np.argsort(-owed, kind="stable")[: spare + k]:
            if chosen.sum() < k + spare:
                chosen[row] = True
        rows = np.flatnonzero(chosen)
        gain = _gains(values, self.gain)
        value = gain[rows, None] * discounts(k, "log2")[None]
        least = self.theta * float(np.sort(gain)[::-1][:k] @ discounts(k, "log2"))
        # cost of a position minus the cost of having none
        cost = np.abs(attention[None, :k] - owed[rows, None]) - np.abs(owed[rows, None])
        solve = _program if self.method == "milp" else _assignment
        first = rows[solve(cost, value, least)]
        rest = np.setdiff1d(np.arange(len(values)), first)
        return np.concatenate([first, rest[np.argsort(-values[rest], kind="stable")]])


def _gains(values: np.ndarray, kind: str) -> np.ndarray:
    """Return the gains up to a factor; the largest is 1, or all are 0."""
    most = float(values.max())
    if kind == "scaled":
        return np.exp2(values / max(most, 1e-300)) - 1.0
    if most > 1000.0:  # 2^relevance would overflow, and 1 is nothing beside it
        return np.exp2(values - most)
    gain = gains(values, "exp2")
    return gain / gain.max() if gain.max() > 0.0 else gain


def _assignment(cost: np.ndarray, value: np.ndarray, least: float) -> np.ndarray:
    """Return the candidate at each position: least cost under the lowest sufficient price."""
    positions = np.arange(cost.shape[1])

    def solve(price: float) -> tuple[np.ndarray, float]:
        rows, columns = linear_sum_assignment(cost - price * value)
        chosen = np.empty(len(positions), dtype=np.int64)
        chosen[columns] = rows
        return chosen, float(value[chosen, positions].sum())

    slack = 1e-12 * max(least, 1.0)
    found, quality = solve(0.0)
    if quality >= least - slack:
        return found
    low, high = 0.0, 1e-3
    found, quality = solve(high)
    while quality < least - slack and high < 1e9:
        low, high = high, 4.0 * high
        found, quality = solve(high)
    if quality < least - slack:  # only relevance counts
        return np.argsort(-value[:, 0], kind="stable")[: len(positions)]
    for _ in range(20):
        middle = 0.5 * (low + high)
        tried, quality = solve(middle)
        if quality >= least - slack:
            found, high = tried, middle
        else:
            low = middle
    return _exchanged(found, cost, value, least - slack)


def _exchanged(found: np.ndarray, cost: np.ndarray, value: np.ndarray, least: float) -> np.ndarray:
    """Exchange two positions, or fill one with another item, as long as the cost decreases."""
    positions = np.arange(cost.shape[1])
    for _ in range(10 * len(positions)):
        saved = _changes(cost, found)
        quality = value[found, positions].sum() + _changes(value, found)
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
    """Return the change of the sum if item i takes position j and its holder that of i, if any."""
    holder = np.full(len(table), -1)
    holder[found] = np.arange(len(found))
    placed = (holder >= 0)[:, None]
    own = np.take_along_axis(table, np.maximum(holder, 0)[:, None], axis=1)
    other = table[found][:, np.maximum(holder, 0)].T
    now = table[found, np.arange(len(found))]
    return table - now + np.where(placed, other - own, 0.0)


def _program(cost: np.ndarray, value: np.ndarray, least: float) -> np.ndarray:
    """Return the candidate at each position, by an integer program."""
    items, positions = cost.shape
    one_position = kron(csr_array(np.eye(items)), csr_array(np.ones((1, positions))))
    one_item = kron(csr_array(np.ones((1, items))), csr_array(np.eye(positions)))
    rows = vstack([one_position, one_item, csr_array(value.reshape(1, -1))]).tocsr()
    low = np.concatenate([np.zeros(items), np.ones(positions), [least - 1e-9 * max(least, 1.0)]])
    high = np.concatenate([np.ones(items), np.ones(positions), [np.inf]])
    found = milp(
        cost.ravel(),
        integrality=np.ones(cost.size),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows, low, high),
    )
    if found.x is None:
        return _assignment(cost, value, least)
    chosen = np.argmax(found.x.reshape(items, positions), axis=0)
    short = value[chosen, np.arange(positions)].sum() < least - 1e-12 * max(least, 1.0)
    return _assignment(cost, value, least) if short else chosen  # the solver's tolerance is 1e-6


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
        raise DataError("ids must be unique within a list")
    return values, names
