"""OnlineSelection: selecting items that arrive one by one, with bounds on groups."""

import math
import warnings
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ..core.declared import OnlyWith
from ..core.errors import EquirankWarning, InfeasibleError
from ..core.params import Choice, Flag, Integer, Number
from ..core.random import RandomState, label_keys
from ..core.ranking import Ranking
from .group_bounds import POSITION_BOUNDS, TableBounds, find_bounds, position_counts
from .guaranteed import Guaranteed, Pool, candidates
from .reranking import Reranking

__all__ = ["OnlineSelection", "closest_quotas", "why_not"]


class OnlineSelection(Guaranteed):
    """Select k items of a list that arrive one by one, with lower and upper bounds of groups.

    Each item is accepted or rejected before the next one arrives. The lower bound of a group is
    filled by a secretary rule: the first part of the group is only observed; then an item that
    exceeds the worst of the best observed is accepted, and that worst is removed. As soon as only
    as many items remain as are needed, all are accepted. The remaining positions go to a waiting
    list, which keeps the best items that upper bounds allow until the end (``deferred``), or are
    filled by the same rule over all arrivals. The bounds always hold, and exactly k are selected.

    Selected items are ranked in the order given; all others are not shown. Group sizes are known in
    advance, scores are not. Only the order of scores is used; ties are taken in input order. People
    with an unknown label have no bound, a list has no lower bound of a group that it lacks, and one
    with a single group has no bounds.

    Parameters
    ----------
    k : int, optional
        Number of selected items; None selects all.
    lower, upper : mapping of group to number of positions or share, optional
        Bounds: a number of positions, or a share p below 1, which means ``floor(k p)`` as a lower
        and ``ceil(k p)`` as an upper bound.
    warm_up : float
        Share that is only observed, in [0, 1); the default 1/e is optimal for one position.
    deferred : bool
        Whether the positions beyond the lower bounds are filled at the end.
    arrival : {"random", "given"}
        Whether items arrive in random order or in the order of the rows.
    n_draws : int
        Number of random orders; with several, ``moves`` and ``price`` are means over them.
    on_infeasible : {"error", "best"}
        What to do if bounds cannot hold: raise an error that names the list and the group, or warn
        and widen all of them by the smallest sufficient number.

    References
    ----------
    Stoyanovich, Yang and Jagadish, Online set selection with fairness and diversity constraints,
    EDBT 2018. The rule for one position is Dynkin's.

    Examples
    --------
    >>> from equirank.rerankers import OnlineSelection
    >>> rule = OnlineSelection(k=2, lower={"f": 1}, random_state=0)
    >>> result = rule.rerank([6, 5, 4, 3, 2, 1], sensitive_features=list("mmmfff"))
    >>> len(result.order()), result.holds
    (2, True)
    """

    positional = (
        "k",
        "lower",
        "upper",
        "warm_up",
        "deferred",
        "arrival",
        "n_draws",
        "random_state",
        "by",
        "on_infeasible",
    )
    lower: Annotated[Mapping[Any, Any] | None, POSITION_BOUNDS] = None
    upper: Annotated[Mapping[Any, Any] | None, POSITION_BOUNDS] = None
    warm_up: Annotated[float, Number(0.0, 1.0, open_high=True)] = 1.0 / math.e
    deferred: Annotated[bool, Flag()] = True
    arrival: Annotated[Literal["random", "given"], Choice("random", "given")] = "random"
    n_draws: Annotated[int, Integer(1)] = 1
    random_state: RandomState = None

    only_with: ClassVar[OnlyWith] = {
        "n_draws": ("arrival", ("random",)),
        "random_state": ("arrival", ("random",)),
    }
    test_params: ClassVar[Mapping[str, Any]] = {"k": 5, "lower": {"a": 1}, "random_state": 0}
    unknown: ClassVar[Literal["refused", "fixed", "free"]] = "free"
    plain_name: ClassVar[str] = "A decision about each person in turn"
    guarantee: ClassVar[str] = "exactly k selected, lower and upper bounds of groups always hold"
    needs_text: ClassVar[str] = "groups and their sizes; items one by one"
    cost: ClassVar[str] = "score lost by deciding early; less with a waiting list"
    keeps_order: ClassVar[bool] = False
    reads_order: ClassVar[bool] = False

    def _rerank(self, ranking: Ranking) -> Reranking:
        from ..kernels.drawn_lists import select_online

        pool = self._pool(ranking)
        lower, upper = self._bounds(pool)
        least, most = self._quotas(pool, lower, upper)
        given = self.arrival == "given"
        moved = select_online(
            pool.codes,
            pool.offsets,
            np.asarray(pool.shown, dtype=np.int64),
            np.asarray(pool.limit, dtype=np.int64),
            least,
            most,
            _arrivals(pool) if given else np.zeros(0, dtype=np.int64),
            label_keys(self.random_state, ranking.data.qids.tolist()),
            float(self.warm_up),
            bool(self.deferred),
            1 if given else int(self.n_draws),
        )
        position = np.empty_like(moved)
        position[pool.order] = moved
        bounds = _at_the_end(pool, lower, upper)
        return Reranking.from_draws(ranking, position, bounds=bounds, reranker=self)

    def _bounds(self, pool: Pool) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper bounds (query x group)."""
        name, data, limit = type(self).__name__, pool.ranking.data, np.asarray(pool.limit)
        lower = np.zeros((len(limit), pool.n_groups), dtype=np.int64)
        upper = np.full_like(lower, int(limit.max()) + 1)
        by = self.by if self.by is not None else next(iter(data.sensitive))
        for bound in find_bounds(name, "lower", self.lower, data, by):
            counts = position_counts(bound.value, limit, lower=True)
            lower[:, bound.code] = counts * pool.present[:, bound.code]
        for bound in find_bounds(name, "upper", self.upper, data, by):
            counts = position_counts(bound.value, limit, lower=False)
            upper[:, bound.code] = np.where(pool.alone, int(limit.max()) + 1, counts)
        return lower, upper

    def _quotas(
        self, pool: Pool, lower: np.ndarray, upper: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return bounds that can hold; otherwise raise, or warn and return the closest."""
        sizes, limit = candidates(pool), np.asarray(pool.limit)
        least, most, failed = closest_quotas(lower, upper, sizes, limit)
        if len(failed):
            at = int(failed[0])
            query = pool.ranking.data.qids[at : at + 1].tolist()[0]
            reason = why_not(lower[at], upper[at], sizes[at], int(limit[at]), pool.labels)
            message = f"{type(self).__name__} cannot meet its bounds in query {query!r}: {reason}"
            if self.on_infeasible == "error":
                raise InfeasibleError(
                    f"{message}; loosen the bounds, or pass on_infeasible='best' for the closest"
                )
            more = f" (and in {len(failed) - 1} more queries)" if len(failed) > 1 else ""
            warnings.warn(f"{message}{more}; the closest bounds are used", EquirankWarning, 4)
        return least, most


def _arrivals(pool: Pool) -> np.ndarray:
    """Return the slots of each list in input order."""
    rows = pool.ranking.data.caller_rank[pool.order]
    query = np.repeat(np.arange(len(pool.limit)), np.diff(pool.offsets))
    slots = np.lexsort((rows, query))
    hidden = slots - pool.offsets[query] >= pool.shown[query]
    last = np.lexsort((hidden, query))
    return slots[last] - pool.offsets[query]


def _at_the_end(pool: Pool, lower: np.ndarray, upper: np.ndarray) -> TableBounds:
    """Return the bounds of the whole selection as bounds of its last prefix."""
    start = np.concatenate([[0], np.cumsum(pool.limit)])
    least = np.zeros((int(start[-1]), pool.n_groups), dtype=np.int64)
    most = np.full_like(least, int(np.max(pool.limit)) + 1)
    filled = np.flatnonzero(pool.limit)
    least[start[1:][filled] - 1] = lower[filled]
    most[start[1:][filled] - 1] = upper[filled]
    words = "exactly k are selected, and lower and upper bounds of groups hold"
    n_groups = len(pool.groups.categories)
    return TableBounds(words, least[:, :n_groups], most[:, :n_groups], start[:-1], pool.limit)


def closest_quotas(
    lower: np.ndarray, upper: np.ndarray, sizes: np.ndarray, limit: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return bounds (query x group) that can hold, and the queries whose bounds were changed.

    Lower bounds are limited to the group sizes; then all bounds of a query are widened by the
    smallest sufficient number.
    """
    least, most = lower.copy(), np.minimum(upper, sizes)
    failed = np.flatnonzero(~_possible(least, most, sizes, limit))
    for query in failed.tolist():
        need, k = np.minimum(lower[query], sizes[query]), limit[query : query + 1]
        wide = 0
        while True:
            low = np.maximum(need - wide, 0)[None]
            high = np.minimum(upper[query] + wide, sizes[query])[None]
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
    lower: np.ndarray,
    upper: np.ndarray,
    sizes: np.ndarray,
    k: int,
    labels: tuple[object, ...],
) -> str:
    """Return which group makes the bounds of one selection impossible."""
    for g, label in enumerate(labels):
        if lower[g] > sizes[g]:
            return f"{lower[g]} of group {label!r} are required, and the list has {sizes[g]}"
        if lower[g] > upper[g]:
            return f"at least {lower[g]} and at most {upper[g]} of group {label!r} are required"
    if lower.sum() > k:
        needed = ", ".join(f"{lower[g]} of {labels[g]!r}" for g in np.flatnonzero(lower))
        return f"the {k} positions need {needed}: {lower.sum()} in all"
    short = " and ".join(repr(labels[g]) for g in np.flatnonzero(upper < sizes))
    most = int(np.minimum(upper, sizes).sum())
    return f"there are {k} positions, and the upper bounds of {short} allow {most} items"
