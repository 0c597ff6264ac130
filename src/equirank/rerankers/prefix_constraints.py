"""Lists under bounds on the groups of several attributes: one program with whole numbers each."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..core.environment import progress
from ..core.params import Constraint, Number
from ..core.ranking import Ranking
from .bounded_lists import arrange_lists, bound_tables, refuse_or_warn, worths
from .group_bounds import GroupBound, PrefixBounds, TableBounds, find_bounds
from .guaranteed import COMMON, Guaranteed, Pool
from .integer_program import Program
from .reranking_kinds import OptimisedReranking, OverlappingBounds

__all__ = ["PrefixConstraints", "arrange_overlapping"]


def arrange_overlapping(
    reranker: Guaranteed,
    ranking: Ranking,
    floors: list[GroupBound],
    ceilings: list[GroupBound],
    keys: list[Any],
    time_limit: float,
) -> OptimisedReranking:
    """Return every list under bounds on several attributes, with the gap left by the time limit."""
    pool = reranker._pool(ranking, tuple(keys))
    parts, members = {}, {}
    start = np.zeros(len(pool.limit), dtype=np.int64)
    for key in keys:
        single = reranker._pool(ranking, key)
        low = [bound for bound in floors if bound.attribute == key]
        high = [bound for bound in ceilings if bound.attribute == key]
        least, most = bound_tables(low, high, single)
        words = "every prefix keeps the floors and ceilings of each group"
        parts[key] = TableBounds(words, least, most, start, pool.limit)
        members[key] = _inner(pool.codes, single.codes, pool.n_groups)
    values = worths(pool)
    gap, failed, orders, reason = np.zeros(len(pool.limit)), [], [], ""
    for query in progress(range(len(pool.limit)), "re-ranking"):
        begin, size = int(pool.offsets[query]), int(pool.limit[query])
        mine = slice(begin, begin + int(pool.shown[query]))
        tables = [
            (members[key], parts[key].least[:size], parts[key].most[:size])  # type: ignore[index]
            for key in keys
        ]
        order, gap[query], missed = _solve(
            pool.codes[mine], values[mine], size, tables, pool.n_groups, time_limit
        )
        orders.append(order + begin)
        if missed is not None:
            failed.append(query)
            if not reason:
                reason = _words(pool, reranker, ranking, keys, missed)
            if reranker.get_params()["on_infeasible"] == "error":
                break
    if failed:
        done = "the list that misses them by the fewest people is given"
        refuse_or_warn(reranker, pool, np.array(failed), reason, done)
    bounds = OverlappingBounds(
        "every prefix keeps the floors and ceilings of each group", parts, members
    )
    return OptimisedReranking.found(
        ranking,
        pool.order[np.concatenate(orders)],
        pool.out_offsets,
        bounds=bounds,
        reranker=reranker,
        gap=gap,
        names=tuple(keys),
    )


def _inner(crossed: np.ndarray, codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the group of one attribute that each crossed group belongs to."""
    inner = np.zeros(n_groups, dtype=np.int32)
    inner[crossed] = codes
    return inner


Tables = list[tuple[np.ndarray, np.ndarray, np.ndarray]]
Missed = tuple[int, int, int, int, int]


def _solve(
    codes: np.ndarray, values: np.ndarray, size: int, tables: Tables, n_cells: int, limit: float
) -> tuple[np.ndarray, float, Missed | None]:
    """Solve one list: the order, the gap, and where bounds are missed if they cannot be met.

    Cells are crossed groups; inside one the order stays, so a list is a sequence of cells. The
    score of a prefix is concave in the counts of its cells, so only the sequence needs whole
    numbers: ``inside[i, j]``, whether item i is among the first j, follows.
    """
    if size == 0:
        return np.zeros(0, dtype=np.int64), 0.0, None
    cells = np.flatnonzero(np.bincount(codes, minlength=n_cells))
    items = [np.flatnonzero(codes == cell)[:size] for cell in cells]
    for closest in (False, True):
        bound = _reachable(tables, codes) if closest else tables
        gap, sequence = _program(values, size, bound, cells, items, closest, limit)
        if gap is None:
            continue
        order = _read(sequence, items)
        counts = np.cumsum(cells[sequence][:, None] == np.arange(n_cells), axis=0)
        return order, gap, _first_missed(counts, tables) if closest else None
    return np.arange(size), np.inf, (-1, 0, 0, 0, 0)


def _reachable(tables: Tables, codes: np.ndarray) -> Tables:
    """Ask of no group more than its members."""
    result = []
    for inner, least, most in tables:
        sizes = np.bincount(inner[codes], minlength=least.shape[1])
        result.append((inner, np.minimum(least, sizes), most))
    return result


def _program(
    values: np.ndarray,
    size: int,
    tables: Tables,
    cells: np.ndarray,
    items: list[np.ndarray],
    closest: bool,
    limit: float,
) -> tuple[float | None, np.ndarray]:
    """Solve one list; ``closest`` first finds by how much all bounds must be widened."""
    nothing, slack = np.zeros(0, dtype=np.int64), 0.0
    if closest:
        program, place, _ = _sequences(size, cells, items)
        wide = program.variables(1, top=float(len(values) + size))
        _bind(program, place, cells, tables, 0.0, wide)
        least = program.solve(wide, [-1.0], time_limit=limit)
        if least.x is None:
            return None, nothing
        slack = float(np.round(least.x[wide[0]]))
    program, place, inside = _sequences(size, cells, items)
    _bind(program, place, cells, tables, slack, None)
    weight = 1.0 / np.log2(np.arange(2.0, size + 2.0))
    step = weight - np.append(weight[1:], 0.0)
    gain = [np.outer(values[mine] - values.min(), step) for mine in items]
    columns = np.concatenate([part.ravel() for part in inside])
    found = program.solve(
        columns, np.concatenate([part.ravel() for part in gain]), time_limit=limit
    )
    if found.x is None:
        return None, nothing
    return found.gap, np.argmax(found.x[place], axis=0)


def _sequences(
    size: int, cells: np.ndarray, items: list[np.ndarray]
) -> tuple[Program, np.ndarray, list[np.ndarray]]:
    """Write the program of all sequences: ``place[c, j]``, and ``inside`` of each cell's items."""
    program = Program()
    place = program.variables(len(cells) * size, whole=True).reshape(len(cells), size)
    inside = [program.variables(len(mine) * size).reshape(len(mine), size) for mine in items]
    for j in range(size):
        program.row(place[:, j], np.ones(len(cells)), low=1.0, high=1.0)
        for c, mine in enumerate(inside):
            columns = np.concatenate([mine[:, j], place[c, : j + 1]])
            signs = np.concatenate([np.ones(len(mine)), -np.ones(j + 1)])
            program.row(columns, signs, low=0.0, high=0.0)
    return program, place, inside


def _bind(
    program: Program,
    place: np.ndarray,
    cells: np.ndarray,
    tables: Tables,
    slack: float,
    wide: np.ndarray | None,
) -> None:
    """Write the bounds of every group and prefix, widened by a number or by a variable."""
    extra = np.zeros(0, dtype=np.int64) if wide is None else wide
    for inner, least, most in tables:
        for g in range(least.shape[1]):
            mine = np.flatnonzero(inner[cells] == g)
            for j in range(len(least)):
                columns = np.append(place[mine, : j + 1].ravel(), extra)
                ones = np.ones(len(columns) - len(extra))
                room, need = most[j, g] + slack, least[j, g] - slack
                if need > 0:
                    program.row(columns, np.append(ones, np.ones(len(extra))), low=float(need))
                if room < j + 1:
                    program.row(columns, np.append(ones, -np.ones(len(extra))), high=float(room))


def _read(sequence: np.ndarray, items: list[np.ndarray]) -> np.ndarray:
    """Fill a sequence of cells with their items, best first."""
    order = np.empty(len(sequence), dtype=np.int64)
    for c, mine in enumerate(items):
        at = np.flatnonzero(sequence == c)
        order[at] = mine[: len(at)]
    return order


def _first_missed(counts: np.ndarray, tables: Tables) -> Missed:
    """Find the first prefix and group whose bound the closest list misses."""
    found = []
    for at, (inner, least, most) in enumerate(tables):
        mine = np.stack([counts[:, inner == g].sum(axis=1) for g in range(least.shape[1])], axis=1)
        for j, g in np.argwhere((mine < least) | (mine > most))[:1].tolist():
            has = int(mine[j, g])
            found.append((j, at, g, int(least[j, g] if has < least[j, g] else most[j, g]), has))
    j, at, g, need, has = min(found)
    return at, j + 1, g, need, has


def _words(
    pool: Pool, reranker: Guaranteed, ranking: Ranking, keys: list[Any], missed: Missed
) -> str:
    at, prefix, group, need, has = missed
    if at < 0:
        return "no list was found in time; raise time_limit"
    label = ranking.data.attribute(keys[at]).categories[group]
    places = f"the first {prefix} places" if prefix > 1 else "the first place"
    word = "must" if has < need else "may"
    return f"{places} {word} hold {need} of group {label!r}, and the closest list has {has} there"


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
