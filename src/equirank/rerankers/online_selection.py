"""OnlineSelection: choosing among people who arrive one by one, with floors and ceilings."""

import math
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..core.errors import EquirankWarning, InfeasibleError
from ..core.params import Choice, Constraint, Flag, Integer, Number
from ..core.random import RandomState
from ..core.ranking import Ranking
from .group_bounds import PlaceBounds, TableBounds, find_bounds, places_of
from .guaranteed import COMMON, Guaranteed, Pool, candidates
from .reranking import Reranking
from .reranking_kinds import DrawnReranking, query_keys

__all__ = ["OnlineSelection", "closest_quotas", "why_not"]


def closest_quotas(
    floors: np.ndarray, ceilings: np.ndarray, sizes: np.ndarray, limit: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return floors and ceilings (query x group) that can be met, and the queries that were changed.

    No group is asked for more than its members; then all bounds of a query are widened by the
    smallest number that is enough.
    """
    least, most = floors.copy(), np.minimum(ceilings, sizes)
    failed = np.flatnonzero(~_possible(least, most, sizes, limit))
    for query in failed.tolist():
        need, k = np.minimum(floors[query], sizes[query]), limit[query : query + 1]
        wide = 0
        while True:
            low = np.maximum(need - wide, 0)[None]
            high = np.minimum(ceilings[query] + wide, sizes[query])[None]
            if _possible(low, high, sizes[query : query + 1], k)[0]:
                break
            wide += 1
        least[query], most[query] = low[0], high[0]
    return least, most, failed


def _possible(
    least: np.ndarray, most: np.ndarray, sizes: np.ndarray, limit: np.ndarray
) -> np.ndarray:
    inside = (least <= most).all(axis=1)
    return inside & (least.sum(axis=1) <= limit) & (most.sum(axis=1) >= limit)


def why_not(
    floors: np.ndarray,
    ceilings: np.ndarray,
    sizes: np.ndarray,
    k: int,
    labels: tuple[object, ...],
) -> str:
    """Say which group makes the bounds of one choice impossible."""
    for g, label in enumerate(labels):
        if floors[g] > sizes[g]:
            return f"{floors[g]} of group {label!r} are asked for, and the list has {sizes[g]}"
        if floors[g] > ceilings[g]:
            return f"at least {floors[g]} and at most {ceilings[g]} of group {label!r}"
    if floors.sum() > k:
        asked = ", ".join(f"{floors[g]} of {labels[g]!r}" for g in np.flatnonzero(floors))
        return f"the {k} places need {asked}: {floors.sum()} in all"
    short = " and ".join(repr(labels[g]) for g in np.flatnonzero(ceilings < sizes))
    room = int(np.minimum(ceilings, sizes).sum())
    return f"{k} places are to be filled, and the ceilings of {short} leave {room}"


class OnlineSelection(Guaranteed):
    """Choose k of a list whose members arrive one by one, with floors and ceilings of groups.

    Whoever arrives is taken, or refused, before the next one comes. The floor of a group is filled
    by a secretary rule of its own: the first part of the group is only looked at; then whoever
    beats the worst of the best seen is taken, and that worst is struck off; when as many are left
    as are still needed, all are taken. The places beyond the floors go to a waiting list, which
    keeps the best that ceilings allow until the end (``deferred``), or by the same rule over all
    who arrive. Floors and ceilings are always met, and exactly k are chosen.

    The chosen are ranked in the order given; the others are not shown. Sizes of groups are known in
    advance; scores are not. Only the order of scores counts, ties stand in the caller's order.

    Parameters
    ----------
    k : int, optional
        How many are chosen; None takes all.
    lower, upper : mapping of group to number of places or share, optional
        Floors and ceilings: a number of places, or a share p below 1, which stands for
        ``floor(k p)`` as a floor and ``ceil(k p)`` as a ceiling.
    warm_up : float
        Share that is only looked at, in [0, 1); the default is 1/e, the best for one place.
    deferred : bool
        Whether the places beyond the floors wait for the end.
    arrival : {"random", "given"}
        Whether people arrive in random order or in the order of the rows.
    n_draws : int
        How many random orders; with several ``moves`` and ``price`` are means over them.
    random_state : int, Generator, RandomState or None
        Seed of the orders.
    by : str or sequence of str, optional
        The attribute, where there are several; several are crossed.
    on_infeasible : {"error", "best"}
        What happens where floors or ceilings cannot be met: an error that names the list and the
        group, or, with a warning, all of them widened by the smallest number that is enough.

    References
    ----------
    Stoyanovich, Yang and Jagadish, Online set selection with fairness and diversity constraints,
    EDBT 2018. The rule of one place is Dynkin's.

    Examples
    --------
    >>> from equirank.rerankers import OnlineSelection
    >>> rule = OnlineSelection(k=2, lower={"f": 1}, random_state=0)
    >>> result = rule.rerank([6, 5, 4, 3, 2, 1], sensitive_features=list("mmmfff"))
    >>> len(result.order()), result.holds
    (2, True)
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        "lower": PlaceBounds(),
        "upper": PlaceBounds(),
        "warm_up": Number(0.0, 1.0, open_high=True),
        "deferred": Flag(),
        "arrival": Choice("random", "given"),
        "n_draws": Integer(1),
        **COMMON,
    }
    test_params: ClassVar[Mapping[str, Any]] = {"k": 5, "lower": {"a": 1}, "random_state": 0}
    guarantee: ClassVar[str] = "exactly k chosen, floors and ceilings of groups always met"
    needs_text: ClassVar[str] = "groups and their sizes; people one by one"
    cost: ClassVar[str] = "what a decision before the end costs; less with a waiting list"
    keeps_order: ClassVar[bool] = False
    reads_order: ClassVar[bool] = False

    def __init__(
        self,
        k: int | None = None,
        lower: Mapping[Any, Any] | None = None,
        upper: Mapping[Any, Any] | None = None,
        warm_up: float = 1.0 / math.e,
        deferred: bool = True,
        arrival: str = "random",
        n_draws: int = 1,
        random_state: RandomState = None,
        by: Any = None,
        on_infeasible: str = "error",
    ) -> None:
        self.k = k
        self.lower = lower
        self.upper = upper
        self.warm_up = warm_up
        self.deferred = deferred
        self.arrival = arrival
        self.n_draws = n_draws
        self.random_state = random_state
        self.by = by
        self.on_infeasible = on_infeasible

    def _rerank(self, ranking: Ranking) -> Reranking:
        from ..kernels.drawn_lists import select_online

        pool = self._pool(ranking)
        floors, ceilings = self._asked(pool)
        least, most = self._quotas(pool, floors, ceilings)
        given = self.arrival == "given"
        moved = select_online(
            pool.codes,
            pool.offsets,
            np.asarray(pool.shown, dtype=np.int64),
            np.asarray(pool.limit, dtype=np.int64),
            least,
            most,
            _arrivals(pool) if given else np.zeros(0, dtype=np.int64),
            query_keys(ranking.data, self.random_state),
            float(self.warm_up),
            bool(self.deferred),
            1 if given else int(self.n_draws),
        )
        places = np.empty_like(moved)
        places[pool.order] = moved
        return DrawnReranking.from_places(
            ranking, places, _at_the_end(pool, floors, ceilings), self
        )

    def _asked(self, pool: Pool) -> tuple[np.ndarray, np.ndarray]:
        """Return the floors and ceilings asked for (query x group)."""
        name, data, limit = type(self).__name__, pool.ranking.data, np.asarray(pool.limit)
        floors = np.zeros((len(limit), pool.n_groups), dtype=np.int64)
        ceilings = np.full_like(floors, int(limit.max()) + 1)
        by = self.by if self.by is not None else next(iter(data.sensitive))
        for bound in find_bounds(name, "lower", self.lower, data, by):
            floors[:, bound.code] = places_of(bound.value, limit, lower=True) * (limit > 0)
        for bound in find_bounds(name, "upper", self.upper, data, by):
            ceilings[:, bound.code] = places_of(bound.value, limit, lower=False)
        return floors, ceilings

    def _quotas(
        self, pool: Pool, floors: np.ndarray, ceilings: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what can be met; else an error, or a warning and the closest."""
        sizes, limit = candidates(pool), np.asarray(pool.limit)
        least, most, failed = closest_quotas(floors, ceilings, sizes, limit)
        if len(failed):
            at = int(failed[0])
            query = pool.ranking.data.qids[at : at + 1].tolist()[0]
            reason = why_not(
                floors[at], ceilings[at], sizes[at], int(limit[at]), pool.groups.categories
            )
            message = f"{type(self).__name__} cannot meet its bounds in query {query!r}: {reason}"
            if self.on_infeasible == "error":
                raise InfeasibleError(
                    f"{message}; loosen the bounds, or say on_infeasible='best' for the closest"
                )
            more = f" (and in {len(failed) - 1} more queries)" if len(failed) > 1 else ""
            warnings.warn(f"{message}{more}; the closest are met", EquirankWarning, 4)
        return least, most


def _arrivals(pool: Pool) -> np.ndarray:
    """Return the slots of each list in the order of the caller's rows."""
    rows = pool.ranking.data.caller_rank[pool.order]
    query = np.repeat(np.arange(len(pool.limit)), np.diff(pool.offsets))
    slots = np.lexsort((rows, query))
    hidden = slots - pool.offsets[query] >= pool.shown[query]
    last = np.lexsort((hidden, query))
    return slots[last] - pool.offsets[query]


def _at_the_end(pool: Pool, floors: np.ndarray, ceilings: np.ndarray) -> TableBounds:
    """Return floors and ceilings of the whole choice as bounds of its last prefix."""
    start = np.concatenate([[0], np.cumsum(pool.limit)])
    least = np.zeros((int(start[-1]), pool.n_groups), dtype=np.int64)
    most = np.full_like(least, int(np.max(pool.limit)) + 1)
    filled = np.flatnonzero(pool.limit)
    least[start[1:][filled] - 1] = floors[filled]
    most[start[1:][filled] - 1] = ceilings[filled]
    words = "exactly k are chosen, and floors and ceilings of groups are met"
    return TableBounds(words, least, most, start[:-1], pool.limit)
