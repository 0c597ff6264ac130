"""PrefixConstraints: the best list with bounds on the groups in every prefix."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ..core.environment import progress
from ..core.label_probability import GroupProbability
from ..core.ranking import Ranking
from ..core.reranker import ORDER_TARGETS, Control
from .bounded_lists import arrange_lists, bound_tables, raise_or_warn, slot_values
from .group_bounds import PREFIX_BOUNDS, GroupBound, OverlappingBounds, TableBounds, find_bounds
from .guaranteed import Pool
from .integer_program import Program
from .reranking import Reranking
from .uncertain_groups import LikelyReranking, UncertainGroups

__all__ = ["PrefixConstraints", "arrange_overlapping"]


WORDS = "every prefix keeps the lower and upper bounds of each group"


class PrefixConstraints(UncertainGroups):
    """Return the list of largest discounted score with bounds on each group in every prefix.

    Maximises ``sum over positions j of s_j / log2(1 + j)`` such that the first j positions hold at
    least ``lower`` and at most ``upper`` of a group, for all j up to the cutoff. With one attribute
    the groups are disjoint and the list is exact: with lower or upper bounds only, a greedy list
    has the largest score in every prefix; with both it is improved by exchanges. With several
    attributes HiGHS solves an integer program per list, and ``result.gap`` bounds the distance from
    the optimum if time runs out.

    The order within (crossed) groups is kept; ties are taken in input order. Rows that were not
    shown stay so. A list has no lower bound of a group that it lacks, and one with a single group
    has no bounds. Without bounds the ranking is unchanged. People with an unknown label have no
    bound and may move; with bounds on several attributes they are an error. With probabilities of
    groups (``labels``) of one attribute, an upper bound c of the first j positions is a lower bound
    j - c of everyone else.

    Parameters
    ----------
    lower, upper : mapping of group to share or counts, optional
        A share p means ``floor(j p)`` as a lower and ``ceil(j p)`` as an upper bound; an array
        holds the counts of the first 1, 2, ... positions and bounds no longer prefix. With several
        attributes: a mapping of attribute to such a mapping, or of groups whose names are unique.
    by : str or sequence of str, optional
        The attribute; several are crossed into disjoint groups. None takes every attribute that the
        bounds name.
    on_infeasible : {"error", "best"}
        What to do if bounds cannot hold: raise an error that names the list, the prefix and the
        group; or warn and widen all bounds of that list by the smallest sufficient number of items
        (no group needs more than it has).
    time_limit : float
        Seconds per list with several attributes, or with ``labels="expected"``.

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

    positional = ("lower", "upper", "k", "by", "on_infeasible", "time_limit")
    lower: Annotated[Mapping[Any, Any] | None, PREFIX_BOUNDS] = None
    upper: Annotated[Mapping[Any, Any] | None, PREFIX_BOUNDS] = None

    test_params: ClassVar[Mapping[str, Any]] = {"lower": {"a": 0.2}, "upper": {"a": 0.9}}
    unknown: ClassVar[Literal["refused", "fixed", "free"]] = "free"
    acts_on: ClassVar[frozenset[str]] = ORDER_TARGETS
    strength: ClassVar[str] = "lower"
    plain_name: ClassVar[str] = "At least a share"
    controls: ClassVar[Mapping[str, Control]] = {"lower": Control("At least", 0.0, 1.0, 0.01)}
    no_guarantee: ClassVar[str] = "where the share does not make up one whole person"
    guarantee: ClassVar[str] = (
        "every prefix keeps lower and upper bounds of each group; best such list"
    )
    needs_text: ClassVar[str] = "groups of one or several attributes; bounds"
    cost: ClassVar[str] = "one pass for one attribute; an integer program per list for several"

    @property
    def reads_order(self) -> bool:  # type: ignore[override]
        """Whether only the order is used, which is so unless there are lower and upper bounds."""
        return not (self.lower and self.upper) and self.labels == "known"

    def _rerank(self, ranking: Ranking) -> Reranking:
        name, data = type(self).__name__, ranking.data
        lower = find_bounds(name, "lower", self.lower, data, self.by)
        upper = find_bounds(name, "upper", self.upper, data, self.by)
        keys = _attributes(lower + upper)
        if len(keys) > 1:
            for key in keys:
                data.known_attribute(key, f"{name} with bounds on several attributes")
            return arrange_overlapping(self, ranking, lower, upper, keys, self.time_limit)
        chosen = keys[0] if keys else self.by or next(iter(data.sensitive))
        guess = self._guess(ranking, chosen)
        if guess is not None:
            return self._likely_lists(ranking, guess, lower, upper, chosen)
        pool = self._pool(ranking, chosen)
        least, most, start = bound_tables(lower, upper, pool)
        slots, gap = arrange_lists(self, pool, least, most, start)
        n_groups = len(pool.groups.categories)
        bounds = TableBounds(
            WORDS,
            least[:, :n_groups] if lower else None,
            most[:, :n_groups] if upper else None,
            start,
            pool.limit,
        )
        return Reranking.from_order(
            ranking,
            pool.order[slots],
            pool.out_offsets,
            bounds=bounds,
            reranker=self,
            gap=gap,
            names=(chosen,),
        )

    def _likely_lists(
        self,
        ranking: Ranking,
        guess: GroupProbability,
        lower: list[GroupBound],
        upper: list[GroupBound],
        by: Any,
    ) -> LikelyReranking:
        """Return lists that keep the bounds in expectation or with a probability.

        At most c of a group in the first j positions are at least j - c of everyone else.
        """
        pool = self._guessed_pool(ranking, guess, by)
        least, most, start = bound_tables(lower, upper, pool)
        prefix = np.arange(1, len(least) + 1)[:, None]
        sides = [(bound.code, False) for bound in lower] + [(bound.code, True) for bound in upper]
        floors = [least[:, code] for code, rest in sides if not rest]
        floors += [np.maximum(prefix[:, 0] - most[:, code], 0) for code, rest in sides if rest]
        table = np.stack(floors, axis=1) if floors else np.zeros((len(least), 0), dtype=np.int64)
        table = np.maximum.accumulate(table, axis=0)
        return self._likely(ranking, pool, guess, sides, table, start, WORDS, by)


def _attributes(bounds: list[GroupBound]) -> list[Any]:
    keys: list[Any] = []
    for bound in bounds:
        if bound.attribute not in keys:
            keys.append(bound.attribute)
    return keys


def arrange_overlapping(
    reranker: PrefixConstraints,
    ranking: Ranking,
    lower: list[GroupBound],
    upper: list[GroupBound],
    keys: list[Any],
    time_limit: float,
) -> Reranking:
    """Return every list under bounds on several attributes, with the gap left by the time limit."""
    pool = reranker._pool(ranking, tuple(keys))
    parts, members = _bounds_by_attribute(reranker, ranking, pool, lower, upper, keys)
    values = slot_values(pool)
    gap, failed, orders, reason = np.zeros(len(pool.limit)), [], [], ""
    for query in progress(range(len(pool.limit)), "re-ranking"):
        begin, size = int(pool.offsets[query]), int(pool.limit[query])
        own = slice(begin, begin + int(pool.shown[query]))
        rows = [slice(parts[key].start[query], parts[key].start[query] + size) for key in keys]
        tables = [
            (members[key], parts[key].least[own_rows], parts[key].most[own_rows])  # type: ignore[index]
            for key, own_rows in zip(keys, rows, strict=True)
        ]
        order, gap[query], missed = _solve(
            pool.codes[own], values[own], size, tables, pool.n_groups, time_limit
        )
        orders.append(order + begin)
        if missed is not None:
            failed.append(query)
            reason = reason or _reason(ranking, keys, missed)
            if reranker.on_infeasible == "error":
                break
    if failed:
        done = "the list that misses them by the fewest items is returned"
        raise_or_warn(reranker, pool, np.array(failed), reason, done)
    return Reranking.from_order(
        ranking,
        pool.order[np.concatenate(orders)],
        pool.out_offsets,
        bounds=OverlappingBounds(WORDS, parts, members),
        reranker=reranker,
        gap=gap,
        names=tuple(keys),
    )


def _bounds_by_attribute(
    reranker: PrefixConstraints,
    ranking: Ranking,
    pool: Pool,
    lower: list[GroupBound],
    upper: list[GroupBound],
    keys: list[Any],
) -> tuple[dict[Any, TableBounds], dict[Any, np.ndarray]]:
    """Return the bounds of each attribute, and the group of it that each crossed group is in."""
    parts, members = {}, {}
    for key in keys:
        single = reranker._pool(ranking, key)
        least, most, start = bound_tables(
            [bound for bound in lower if bound.attribute == key],
            [bound for bound in upper if bound.attribute == key],
            single,
        )
        parts[key] = TableBounds(WORDS, least, most, start, pool.limit)
        members[key] = _inner(pool.codes, single.codes, pool.n_groups)
    return parts, members


def _inner(crossed: np.ndarray, codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the group of one attribute that each crossed group is in."""
    inner = np.zeros(n_groups, dtype=np.int32)
    inner[crossed] = codes
    return inner


Tables = list[tuple[np.ndarray, np.ndarray, np.ndarray]]
Missed = tuple[int, int, int, int, int]


def _solve(
    codes: np.ndarray, values: np.ndarray, size: int, tables: Tables, n_cells: int, limit: float
) -> tuple[np.ndarray, float, Missed | None]:
    """Return the order of one list, its gap, and where bounds are missed if they cannot hold.

    Cells are crossed groups. The order within a cell is kept, so a list is a sequence of cells. The
    score of a prefix is concave in the counts of its cells, so only the sequence needs integer
    variables: ``inside[i, j]``, whether item i is among the first j, follows.
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
    """Limit every lower bound to the size of its group."""
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
    """Solve one list; with ``closest``, first find by how much all bounds must be widened."""
    nothing, slack = np.zeros(0, dtype=np.int64), 0.0
    if closest:
        program, at, _ = _sequences(size, cells, items)
        wide = program.variables(1, top=float(len(values) + size))
        _bind(program, at, cells, tables, 0.0, wide)
        least = program.solve(wide, [-1.0], time_limit=limit)
        if least.x is None:
            return None, nothing
        slack = float(np.round(least.x[wide[0]]))
    program, at, inside = _sequences(size, cells, items)
    _bind(program, at, cells, tables, slack, None)
    weight = 1.0 / np.log2(np.arange(2.0, size + 2.0))
    step = weight - np.append(weight[1:], 0.0)
    gain = [np.outer(values[mine] - values.min(), step) for mine in items]
    columns = np.concatenate([part.ravel() for part in inside])
    found = program.solve(
        columns, np.concatenate([part.ravel() for part in gain]), time_limit=limit
    )
    if found.x is None:
        return None, nothing
    return found.gap, np.argmax(found.x[at], axis=0)


def _sequences(
    size: int, cells: np.ndarray, items: list[np.ndarray]
) -> tuple[Program, np.ndarray, list[np.ndarray]]:
    """Return the program of all sequences, its variables ``at[c, j]`` and those of each item."""
    program = Program()
    at = program.variables(len(cells) * size, whole=True).reshape(len(cells), size)
    inside = [program.variables(len(mine) * size).reshape(len(mine), size) for mine in items]
    for j in range(size):
        program.row(at[:, j], np.ones(len(cells)), low=1.0, high=1.0)
        for c, mine in enumerate(inside):
            columns = np.concatenate([mine[:, j], at[c, : j + 1]])
            signs = np.concatenate([np.ones(len(mine)), -np.ones(j + 1)])
            program.row(columns, signs, low=0.0, high=0.0)
    return program, at, inside


def _bind(
    program: Program,
    at: np.ndarray,
    cells: np.ndarray,
    tables: Tables,
    slack: float,
    wide: np.ndarray | None,
) -> None:
    """Add the bounds of every group and prefix, widened by a number or by a variable."""
    extra = np.zeros(0, dtype=np.int64) if wide is None else wide
    for inner, least, most in tables:
        for g in range(least.shape[1]):
            mine = np.flatnonzero(inner[cells] == g)
            for j in range(len(least)):
                columns = np.append(at[mine, : j + 1].ravel(), extra)
                ones = np.ones(len(columns) - len(extra))
                low, high = least[j, g] - slack, most[j, g] + slack
                if low > 0:
                    program.row(columns, np.append(ones, np.ones(len(extra))), low=float(low))
                if high < j + 1:
                    program.row(columns, np.append(ones, -np.ones(len(extra))), high=float(high))


def _read(sequence: np.ndarray, items: list[np.ndarray]) -> np.ndarray:
    """Return the items of a sequence of cells, each cell best first."""
    order = np.empty(len(sequence), dtype=np.int64)
    for c, mine in enumerate(items):
        positions = np.flatnonzero(sequence == c)
        order[positions] = mine[: len(positions)]
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


def _reason(ranking: Ranking, keys: list[Any], missed: Missed) -> str:
    at, prefix, group, need, has = missed
    if at < 0:
        return "no list was found in time; increase time_limit"
    label = ranking.data.attribute(keys[at]).categories[group]
    top = f"the first {prefix} positions" if prefix > 1 else "the first position"
    word = "must" if has < need else "may"
    return f"{top} {word} hold {need} of group {label!r}, and the closest list has {has} there"
