"""PrefixConstraints: the best list with so many of each group in every prefix."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...core.params import Constraint, Number
from ...core.ranking import Ranking
from ..bounds import TableBounds
from ..group_bounds import GroupBound, PrefixBounds, find_bounds
from ..guaranteed import COMMON, Guaranteed
from ..optimised import OptimisedReranking
from .bounded_lists import arrange_lists, bound_tables
from .overlapping_lists import arrange_overlapping

__all__ = ["PrefixConstraints"]


class PrefixConstraints(Guaranteed):
    """Give the list of the largest discounted score with bounds on each group in every prefix.

    Maximise ``sum over places j of s_j / log2(1 + j)`` such that the first j places hold at least
    ``lower`` and at most ``upper`` of a group, for all j up to the cutoff. With one attribute the
    groups are disjoint and the list is exact and quick: with floors only, or ceilings only, a
    greedy list has the largest score in every prefix at once; with both it is improved by
    exchanging places until none helps. With several attributes an item counts in one group of
    each: HiGHS solves a program with whole numbers, and ``result.gap`` says per query how far the
    list may be from the best when the time runs out.

    The order inside groups stays (inside crossed groups with several attributes); ties stand in the
    caller's order. Rows behind the cutoff are not shown; rows not shown before stay so. A group
    without members can meet no floor above 0. Without bounds the ranking comes back as it was.

    Parameters
    ----------
    lower, upper : mapping of group to share or counts, optional
        A share p stands for ``floor(j p)`` as a floor and ``ceil(j p)`` as a ceiling; an array
        gives the counts of the first 1, 2, ... places, and binds nothing behind its end. With
        several attributes: a mapping of attribute to such a mapping, or plain groups where their
        names say of which attribute they are.
    k : int, optional
        Cutoff; None ranks whole lists.
    by : str or sequence of str, optional
        The attribute meant; several are crossed into disjoint groups. None takes every attribute
        that the bounds name.
    on_infeasible : {"error", "best"}
        What happens where bounds cannot be met: an error that names the list, the prefix and the
        group; or, with a warning, the best list after widening all bounds of that list by the same
        number of people, the smallest that is enough (no group is asked for more than it has).
    time_limit : float
        Seconds per list with several attributes.

    References
    ----------
    Celis, Straszak and Vishnoi, Ranking with fairness constraints, ICALP 2018.

    Examples
    --------
    >>> from equirank.rerankers import PrefixConstraints
    >>> rule = PrefixConstraints(lower={"f": 0.5}, upper={"m": [1, 1, 2]})
    >>> result = rule.rerank([5, 4, 3, 2], sensitive_features=list("mmff"))
    >>> result.order(), result.holds
    (array([0, 2, 1, 3]), True)
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        "lower": PrefixBounds(),
        "upper": PrefixBounds(),
        **COMMON,
        "time_limit": Number(0.0, open_low=True),
    }
    test_params: ClassVar[Mapping[str, Any]] = {"lower": {"a": 0.2}, "upper": {"a": 0.9}}
    guarantee: ClassVar[str] = (
        "every prefix keeps floors and ceilings of each group; best such list"
    )
    needs_text: ClassVar[str] = "groups of one or several attributes; bounds"
    cost: ClassVar[str] = "one pass for one attribute; a program per list for several"

    def __init__(
        self,
        lower: Mapping[Any, Any] | None = None,
        upper: Mapping[Any, Any] | None = None,
        k: int | None = None,
        by: Any = None,
        on_infeasible: str = "error",
        time_limit: float = 10.0,
    ) -> None:
        self.lower = lower
        self.upper = upper
        self.k = k
        self.by = by
        self.on_infeasible = on_infeasible
        self.time_limit = time_limit

    @property
    def reads_order(self) -> bool:  # type: ignore[override]
        """Whether scores count by their order only: unless floors meet ceilings."""
        return not (self.lower and self.upper)

    def _rerank(self, ranking: Ranking) -> OptimisedReranking:
        name, data = type(self).__name__, ranking.data
        floors = find_bounds(name, "lower", self.lower, data, self.by)
        ceilings = find_bounds(name, "upper", self.upper, data, self.by)
        keys = _attributes(floors + ceilings)
        if len(keys) > 1:
            return arrange_overlapping(self, ranking, floors, ceilings, keys, self.time_limit)
        chosen = keys[0] if keys else self.by or next(iter(data.sensitive))
        pool = self._pool(ranking, chosen)
        least, most = bound_tables(floors, ceilings, pool)
        slots, gap = arrange_lists(self, pool, least, most)
        start = np.zeros(data.n_queries, dtype=np.int64)
        bounds = TableBounds(
            "every prefix keeps the floors and ceilings of each group",
            least if floors else None,
            most if ceilings else None,
            start,
            pool.limit,
        )
        return OptimisedReranking.found(
            ranking,
            pool.order[slots],
            pool.out_offsets,
            bounds=bounds,
            reranker=self,
            gap=gap,
            names=(chosen,),
        )


def _attributes(bounds: list[GroupBound]) -> list[Any]:
    keys: list[Any] = []
    for bound in bounds:
        if bound.attribute not in keys:
            keys.append(bound.attribute)
    return keys
