"""BalancedSelection: the best k with floors of groups, and fairness inside every group."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..core.environment import progress
from ..core.errors import DataError
from ..core.params import Choice, Constraint, Flag, Number
from ..core.ranking import Ranking
from ..core.table import Table
from .bounded_lists import refuse_or_warn
from .group_bounds import PlaceBounds, TableBounds, find_bounds, places_of
from .guaranteed import COMMON, Guaranteed, Pool
from .reranking_kinds import OptimisedReranking, OverlappingBounds
from .selection_program import Choosing, Group, choose, igf_of

__all__ = ["BalancedReranking", "BalancedSelection"]


class BalancedSelection(Guaranteed):
    """Choose the k of the highest total score with floors of groups and in-group fairness.

    Floors on the groups of several attributes can make a worse member of a group win over a better
    one of the same group. In-group fairness bounds that, for every group of every attribute:
    IGF-ratio is ``min(1, lowest accepted / highest rejected score)`` of the group; IGF-aggregated
    the least over its accepted i of the share of all its score at or above i that is accepted. They
    are kept at ``level`` or above; or, with ``leximin``, the lowest of all groups is made as high
    as can be, then the second lowest, and so on. Among what is left the total score is largest. A
    program with whole numbers is solved per list by HiGHS; ``result.gap`` says how far the choice
    may be from the best when the time runs out, ``result.igf`` gives each group's value.

    The chosen stand in the order given; the others are not shown, and rows not shown before stay
    so. Ties: of equal scores either may be chosen. A group nobody of whom is chosen has no value
    and is not bound. Without floors the first k come back.

    Parameters
    ----------
    lower : mapping of group to number of places or share, optional
        Floors: a number of places, or a share p below 1, which stands for ``floor(k p)``. With
        several attributes, a mapping of attribute to such a mapping, or plain groups where their
        names say of which attribute they are.
    k : int, optional
        How many are chosen; None takes all.
    igf : {"ratio", "aggregated"}
        Which in-group fairness.
    level : float
        Its bound for every group, in [0, 1]; above 0 all scores must be above 0.
    leximin : bool
        Whether the lowest value is raised as far as can be (then scores must be above 0).
    by : str or sequence of str, optional
        The attribute meant; several are crossed. None takes every attribute.
    on_infeasible : {"error", "best"}
        What happens where floors or the level cannot be met: an error that names the list and the
        group; or, with a warning, floors missed by as few as can be, and then the level as high as
        can be.
    time_limit : float
        Seconds per program; a list needs one, with ``leximin`` one more for every group.

    References
    ----------
    Yang, Gkatzelis and Stoyanovich, Balanced ranking with diversity constraints, IJCAI 2019.

    Examples
    --------
    >>> from equirank.rerankers import BalancedSelection
    >>> groups = {"sex": list("mmff"), "race": list("wbwb")}
    >>> rule = BalancedSelection({"f": 1, "b": 1}, k=2)
    >>> rule.rerank([9, 8, 7, 2], sensitive_features=groups).order()  # 8 + 7 is more than 9 + 2
    array([1, 2])
    >>> rule.set_params(leximin=True).rerank([9, 8, 7, 2], sensitive_features=groups).igf
    query  attribute  group     igf
        0  sex        f      1.0000
        0  sex        m      0.8889
        0  race       b      1.0000
        0  race       w      0.7778
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive", "score"})
    params: ClassVar[Mapping[str, Constraint]] = {
        "lower": PlaceBounds(),
        "igf": Choice("ratio", "aggregated"),
        "level": Number(0.0, 1.0),
        "leximin": Flag(),
        **COMMON,
        "time_limit": Number(0.0, open_low=True),
    }
    test_params: ClassVar[Mapping[str, Any]] = {"lower": {"a": 2}, "k": 5}
    guarantee: ClassVar[str] = (
        "floors of groups; inside every group the better go first, to a level"
    )
    needs_text: ClassVar[str] = "groups of one or several attributes; floors; scores above 0"
    cost: ClassVar[str] = "a program per list; the least score for its bounds"
    keeps_order: ClassVar[bool] = False
    reads_order: ClassVar[bool] = False

    def __init__(
        self,
        lower: Mapping[Any, Any] | None = None,
        k: int | None = None,
        igf: str = "ratio",
        level: float = 0.0,
        leximin: bool = False,
        by: Any = None,
        on_infeasible: str = "error",
        time_limit: float = 10.0,
    ) -> None:
        self.lower = lower
        self.k = k
        self.igf = igf
        self.level = level
        self.leximin = leximin
        self.by = by
        self.on_infeasible = on_infeasible
        self.time_limit = time_limit

    def _rerank(self, ranking: Ranking) -> "BalancedReranking":
        data = ranking.data
        keys = [self.by] if self.by is not None else list(data.sensitive)
        pool = self._pool(ranking, keys[0] if len(keys) == 1 else tuple(keys))
        score = np.asarray(data.score, dtype=np.float64)
        if self.level > 0 or self.leximin:
            _refuse_merit(data, score)
        floors = self._floors(pool, keys)
        gap, failed, orders, reason = np.zeros(data.n_queries), [], [], ""
        rows: list[tuple[int, Any, Any, float]] = []
        kept_before = np.ones(data.n_queries, dtype=bool)
        for query in progress(range(data.n_queries), "choosing"):
            begin = int(pool.offsets[query])
            mine = slice(begin, begin + int(pool.shown[query]))
            asked = Choosing(
                score[pool.order[mine]],
                pool.codes[mine],
                self._groups(pool, keys, floors, query, mine),
                int(pool.limit[query]),
                self.igf,
                float(self.level),
                bool(self.leximin),
                float(self.time_limit),
            )
            found = choose(asked, closest=self.on_infeasible == "best")
            orders.append(np.flatnonzero(found.accepted) + begin)
            gap[query] = found.gap
            rows += [
                (query, group.key, group.label, igf_of(asked, group, found.accepted))
                for group in asked.groups
                if len(group.members)
            ]
            first = np.arange(len(asked.merit)) < asked.k
            if self.level > 0:
                values = [igf_of(asked, group, first) for group in asked.groups]
                kept_before[query] = not any(value < self.level - 1e-9 for value in values)
            if found.reason:
                failed.append(query)
                reason = reason or found.reason
                if self.on_infeasible == "error":
                    break
        if failed:
            done = "the closest choice is given"
            refuse_or_warn(self, pool, np.array(failed), reason, done)
        return self._result(ranking, pool, keys, floors, orders, gap, rows, kept_before)

    def _floors(self, pool: Pool, keys: list[Any]) -> dict[Any, np.ndarray]:
        """Return the floors asked for, by attribute (query x group)."""
        data, limit = pool.ranking.data, np.asarray(pool.limit)
        floors = {
            key: np.zeros((len(limit), len(data.attribute(key).categories)), dtype=np.int64)
            for key in keys
        }
        by = self.by if self.by is not None or len(keys) > 1 else keys[0]
        for bound in find_bounds(type(self).__name__, "lower", self.lower, data, by):
            floors[bound.attribute][:, bound.code] = places_of(bound.value, limit, lower=True)
        return floors

    def _groups(
        self, pool: Pool, keys: list[Any], floors: dict[Any, np.ndarray], query: int, mine: slice
    ) -> list[Group]:
        found = []
        for key in keys:
            attribute = pool.ranking.data.attribute(key)
            codes = attribute.codes[pool.order[mine]]
            merit = np.asarray(pool.ranking.data.score)[pool.order[mine]]
            by_merit = np.argsort(-merit, kind="stable")
            for code, label in enumerate(attribute.categories):
                members = by_merit[codes[by_merit] == code]
                found.append(Group(key, label, members, int(floors[key][query, code])))
        return found

    def _result(
        self,
        ranking: Ranking,
        pool: Pool,
        keys: list[Any],
        floors: dict[Any, np.ndarray],
        orders: list[np.ndarray],
        gap: np.ndarray,
        rows: list[tuple[int, Any, Any, float]],
        kept_before: np.ndarray,
    ) -> "BalancedReranking":
        data = ranking.data
        start = np.concatenate([[0], np.cumsum(pool.limit)])
        parts, members = {}, {}
        words = "floors of groups are met, and inside every group the better go first"
        for key, asked in floors.items():
            least = np.zeros((int(start[-1]), asked.shape[1]), dtype=np.int64)
            least[start[1:][pool.limit > 0] - 1] = asked[pool.limit > 0]
            parts[key] = TableBounds(words, least, None, start[:-1], pool.limit)
            members[key] = np.zeros(pool.n_groups, dtype=np.int32)
            members[key][pool.codes] = data.attribute(key).codes[pool.order]
        low = np.ones(data.n_queries, dtype=bool)
        for query, _, _, value in rows:
            low[query] &= not value < self.level - 1e-9
        columns = {
            "query": data.qids[[row[0] for row in rows]],
            "attribute": [str(row[1]) for row in rows],
            "group": [row[2] for row in rows],
            "igf": np.array([row[3] for row in rows]),
        }
        slots = np.concatenate(orders)
        return BalancedReranking.found(
            ranking,
            pool.order[slots],
            pool.out_offsets,
            bounds=SelectionBounds(words, parts, members, low, kept_before, pool.codes[slots]),
            reranker=self,
            gap=gap,
            names=tuple(keys),
        ).with_igf(Table(columns, data.backend))


def _refuse_merit(data: Any, score: np.ndarray) -> None:
    bad = np.flatnonzero(~(score > 0))
    if len(bad):
        row = data.place(int(bad[0]))[1]
        raise DataError(
            "y_score must be a merit > 0 where in-group fairness is bound (level or leximin), "
            f"got {float(score[bad[0]])} in row {row}"
        )


@dataclass(frozen=True, eq=False)
class SelectionBounds(OverlappingBounds):
    """Floors of a choice, and whether each list keeps its level of in-group fairness.

    The level is known of the choice made (``codes`` are its groups) and of the first k of before.
    """

    kept: np.ndarray
    kept_before: np.ndarray
    codes: np.ndarray

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Say for each list whether floors and level are kept."""
        level = self.kept if np.array_equal(codes, self.codes) else self.kept_before
        return super().holds(codes, offsets) & level


@dataclass(frozen=True, eq=False, repr=False)
class BalancedReranking(OptimisedReranking):
    """A choice with in-group fairness: ``igf`` gives the value of every group.

    Attributes
    ----------
    igf : Table or None
        query, attribute, group, igf; NaN where nobody of a group is chosen.

    Examples
    --------
    >>> from equirank.rerankers import BalancedSelection
    >>> result = BalancedSelection(k=1).rerank([2, 1], sensitive_features=list("ab"))
    >>> result.igf.to_dict()["group"]
    ['a', 'b']
    """

    igf: Table | None = None

    def with_igf(self, igf: Table) -> "BalancedReranking":
        """Set the table, while the result is made."""
        self.__dict__["igf"] = igf
        return self
