"""BalancedSelection: the best k with lower bounds of groups and in-group fairness."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ..core.environment import progress
from ..core.errors import DataError
from ..core.params import Choice, Flag, Number
from ..core.ranking import Ranking
from ..core.table import Table
from ..kernels.segments import summable
from .bounded_lists import raise_or_warn
from .group_bounds import (
    POSITION_BOUNDS,
    OverlappingBounds,
    TableBounds,
    find_bounds,
    position_counts,
)
from .guaranteed import Guaranteed, Pool
from .integer_program import Program, Solution
from .reranking import Reranking

__all__ = ["BalancedReranking", "BalancedSelection", "Group", "Selection", "igf_of", "select"]


class BalancedSelection(Guaranteed):
    """Select the k items of highest total score with lower bounds and in-group fairness.

    Lower bounds on the groups of several attributes can select a worse item of a group instead of a
    better one of the same group. In-group fairness limits that, for every group of every attribute.
    IGF-ratio is ``min(1, lowest selected / highest rejected score)`` of the group. IGF-aggregated
    is the minimum over its selected items i of the selected share of its total score at or above i.
    Both are kept at ``level`` or above. With ``leximin`` the lowest value of all groups is
    maximised, then the second lowest, and so on. Among the remaining selections the total score is
    maximal. HiGHS solves an integer program per list; ``result.gap`` bounds the distance from the
    optimum if time runs out, ``result.igf`` is a table of the value of each group.

    Selected items are ranked in the order given; all others are not shown, and rows that were not
    shown stay so. Of tied items either may be selected. A group without a selected item has no
    value and is not bounded, nor has a list a lower bound of a group that it lacks. Without bounds
    the first k are selected.

    Parameters
    ----------
    lower : mapping of group to number of positions or share, optional
        Lower bounds: a number of positions, or a share p below 1, which means ``floor(k p)``. With
        several attributes: a mapping of attribute to such a mapping, or of groups whose names are
        unique.
    k : int, optional
        Number of selected items; None selects all.
    igf : {"ratio", "aggregated"}
        The in-group fairness.
    level : float
        Its lower bound for every group, in [0, 1]; above 0 all scores must be above 0.
    leximin : bool
        Whether the lowest value is maximised (all scores must then be above 0).
    by : str or sequence of str, optional
        The attribute; several are crossed. None takes every attribute. People with an unknown label
        have no bound; with several attributes they are an error.
    on_infeasible : {"error", "best"}
        What to do if lower bounds or the level cannot hold: raise an error that names the list and
        the group; or warn, miss the bounds by the smallest possible number, then maximise the
        level.
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
    >>> rule.rerank([9, 8, 7, 2], sensitive_features=groups).order()  # 8 + 7 exceeds 9 + 2
    array([1, 2])
    >>> rule.set_params(leximin=True).rerank([9, 8, 7, 2], sensitive_features=groups).igf
    query  attribute  group     igf
        0  sex        f      1.0000
        0  sex        m      0.8889
        0  race       b      1.0000
        0  race       w      0.7778
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive", "score"})
    positional = (
        "lower",
        "k",
        "igf",
        "level",
        "leximin",
        "by",
        "on_infeasible",
        "time_limit",
    )
    lower: Annotated[Mapping[Any, Any] | None, POSITION_BOUNDS] = None
    igf: Annotated[Literal["ratio", "aggregated"], Choice("ratio", "aggregated")] = "ratio"
    level: Annotated[float, Number(0.0, 1.0)] = 0.0
    leximin: Annotated[bool, Flag()] = False
    time_limit: Annotated[float, Number(0.0, open_low=True)] = 10.0

    test_params: ClassVar[Mapping[str, Any]] = {"lower": {"a": 2}, "k": 5}
    unknown: ClassVar[Literal["refused", "fixed", "free"]] = "free"
    acts_on: ClassVar[frozenset[str]] = frozenset({"selected"})
    strength: ClassVar[str] = "lower"
    slow: ClassVar[bool] = True
    plain_name: ClassVar[str] = "At least so many, with the best total score"
    guarantee: ClassVar[str] = (
        "lower bounds of groups; within every group better items first, to a level"
    )
    needs_text: ClassVar[str] = "groups of one or several attributes; lower bounds; scores above 0"
    cost: ClassVar[str] = "an integer program per list; the least score for its bounds"
    keeps_order: ClassVar[bool] = False
    reads_order: ClassVar[bool] = False

    def _rerank(self, ranking: Ranking) -> "BalancedReranking":
        data = ranking.data
        by = tuple(self.by) if isinstance(self.by, list) else self.by
        keys = [by] if by is not None else list(data.sensitive)
        if len(keys) > 1:
            for key in keys:
                data.known_attribute(key, f"{type(self).__name__} with several attributes")
        pool = self._pool(ranking, keys[0] if len(keys) == 1 else tuple(keys))
        score, _ = summable(np.asarray(data.score), data.offsets)
        if self.level > 0 or self.leximin:
            _check_merit(data, score)
        lower = self._lower_counts(pool, keys)
        gap, failed, orders, reason = np.zeros(data.n_queries), [], [], ""
        rows: list[tuple[int, Any, Any, float]] = []
        held_before = np.ones(data.n_queries, dtype=bool)
        for query in progress(range(data.n_queries), "selecting"):
            begin = int(pool.offsets[query])
            own = slice(begin, begin + int(pool.shown[query]))
            asked = Selection(
                score[pool.order[own]],
                pool.codes[own],
                self._groups(pool, keys, lower, query, own, score[pool.order[own]]),
                int(pool.limit[query]),
                self.igf,
                float(self.level),
                bool(self.leximin),
                float(self.time_limit),
            )
            found = select(asked, closest=self.on_infeasible == "best")
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
                held_before[query] = not any(value < self.level - 1e-9 for value in values)
            if found.reason:
                failed.append(query)
                reason = reason or found.reason
                if self.on_infeasible == "error":
                    break
        if failed:
            done = "the closest selection is returned"
            raise_or_warn(self, pool, np.array(failed), reason, done)
        return self._result(ranking, pool, keys, lower, orders, gap, rows, held_before)

    def _lower_counts(self, pool: Pool, keys: list[Any]) -> dict[Any, np.ndarray]:
        """Return the lower bounds by attribute (query x group)."""
        data, limit = pool.ranking.data, np.asarray(pool.limit)
        lower = {
            key: np.zeros((len(limit), len(data.attribute(key).categories)), dtype=np.int64)
            for key in keys
        }
        by = keys[0] if len(keys) == 1 else None
        for bound in find_bounds(type(self).__name__, "lower", self.lower, data, by):
            codes = data.attribute(bound.attribute).codes[pool.order]
            lists = zip(pool.offsets[:-1].tolist(), pool.shown.tolist(), strict=True)
            there = [bool((codes[at : at + n] == bound.code).any()) for at, n in lists]
            counts = position_counts(bound.value, limit, lower=True)
            lower[bound.attribute][:, bound.code] = counts * there
        return lower

    def _groups(
        self,
        pool: Pool,
        keys: list[Any],
        lower: dict[Any, np.ndarray],
        query: int,
        own: slice,
        merit: np.ndarray,
    ) -> "list[Group]":
        found = []
        for key in keys:
            attribute = pool.ranking.data.attribute(key)
            codes = attribute.codes[pool.order[own]]
            by_merit = np.argsort(-merit, kind="stable")
            for code, label in enumerate(attribute.categories):
                members = by_merit[codes[by_merit] == code]
                found.append(Group(key, label, members, int(lower[key][query, code])))
        return found

    def _result(
        self,
        ranking: Ranking,
        pool: Pool,
        keys: list[Any],
        lower: dict[Any, np.ndarray],
        orders: list[np.ndarray],
        gap: np.ndarray,
        rows: list[tuple[int, Any, Any, float]],
        held_before: np.ndarray,
    ) -> "BalancedReranking":
        data = ranking.data
        start = np.concatenate([[0], np.cumsum(pool.limit)])
        parts, members = {}, {}
        words = "lower bounds of groups hold, and within every group better items come first"
        for key, asked in lower.items():
            least = np.zeros((int(start[-1]), asked.shape[1]), dtype=np.int64)
            least[start[1:][pool.limit > 0] - 1] = asked[pool.limit > 0]
            parts[key] = TableBounds(words, least, None, start[:-1], pool.limit)
            members[key] = np.zeros(pool.n_groups, dtype=np.int32)
            members[key][pool.codes] = data.attribute(key).codes[pool.order]
        held = np.ones(data.n_queries, dtype=bool)
        for query, _, _, value in rows:
            held[query] &= self.level == 0 or not value < self.level - 1e-9
        columns = {
            "query": data.qids[[row[0] for row in rows]],
            "attribute": [str(row[1]) for row in rows],
            "group": [row[2] for row in rows],
            "igf": np.array([row[3] for row in rows]),
        }
        slots = np.concatenate(orders)
        codes = pool.groups.codes[pool.order[slots]]
        return BalancedReranking.from_order(
            ranking,
            pool.order[slots],
            pool.out_offsets,
            bounds=SelectionBounds(words, parts, members, held, held_before, codes),
            reranker=self,
            gap=gap,
            names=tuple(keys),
            igf=Table(columns, data.backend),
        )


def _check_merit(data: Any, score: np.ndarray) -> None:
    bad = np.flatnonzero(~(score > 0))
    if len(bad):
        row = data.place(int(bad[0]))[1]
        raise DataError(
            "y_score must be > 0 if in-group fairness is bounded (level or leximin), "
            f"got {float(score[bad[0]])} in row {row}"
        )


@dataclass(frozen=True, eq=False)
class SelectionBounds(OverlappingBounds):
    """Lower bounds of a selection, and whether each list keeps its level of in-group fairness.

    The level is known of the selection (``codes`` are its groups) and of the first k before.
    """

    held: np.ndarray
    held_before: np.ndarray
    codes: np.ndarray

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether lower bounds and level hold."""
        level = self.held if np.array_equal(codes, self.codes) else self.held_before
        return super().holds(codes, offsets) & level

    def binding(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return True for each list: the selection is stated to be the best."""
        return np.ones(len(offsets) - 1, dtype=bool)


@dataclass(frozen=True, eq=False, repr=False)
class BalancedReranking(Reranking):
    """Result of `BalancedSelection`, with the in-group fairness of every group.

    Attributes
    ----------
    igf : Table or None
        query, attribute, group, igf; NaN for a group without a selected item, and in lists with a
        score that is not above 0.

    Examples
    --------
    >>> from equirank.rerankers import BalancedSelection
    >>> result = BalancedSelection(k=1).rerank([2, 1], sensitive_features=list("ab"))
    >>> result.igf.to_dict()["group"]
    ['a', 'b']
    """

    igf: Table | None = None


#: Rounding error allowed in a level.
TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class Group:
    """One group of one attribute: its members (indices, highest merit first), its lower bound."""

    key: Any
    label: Any
    members: np.ndarray
    lower: int


@dataclass(frozen=True, eq=False)
class Selection:
    """One selection problem: merits and cells of the candidates, best first, the groups, k, ..."""

    merit: np.ndarray
    cells: np.ndarray
    groups: list[Group]
    k: int
    igf: str
    level: float
    leximin: bool
    time_limit: float


@dataclass(frozen=True, eq=False)
class Selected:
    """The accepted items, the gap to the optimum, and why bounds cannot hold ("" if they do)."""

    accepted: np.ndarray
    gap: float
    reason: str = ""


def igf_of(asked: Selection, group: Group, accepted: np.ndarray) -> float:
    """Return the in-group fairness of a group.

    NaN without an accepted item, or if a score of the list is not above 0: a share or ratio of such
    scores has no meaning.
    """
    merit, taken = asked.merit[group.members], accepted[group.members]
    if not taken.any() or asked.merit.min() <= 0:
        return float("nan")
    if asked.igf == "ratio":
        lowest, highest = merit[taken].min(), merit[~taken].max(initial=0.0)
        return 1.0 if lowest >= highest else float(lowest / highest)
    shares = [
        float(merit[taken & (merit >= least)].sum() / merit[merit >= least].sum())
        for least in merit[taken]
    ]
    return min(shares)


def select(asked: Selection, closest: bool) -> Selected:
    """Solve a selection problem; if bounds cannot hold, return the reason.

    With ``closest`` the closest selection is returned with the reason.
    """
    best_first = np.arange(len(asked.merit)) < asked.k
    if asked.k == 0:
        return Selected(best_first, 0.0)
    model = _Model(asked)
    lower, level = [min(g.lower, len(g.members)) for g in asked.groups], asked.level
    reason = _too_few(asked)
    if reason and not closest:
        return Selected(best_first, np.inf, reason)
    if not reason:
        found = model.best(lower, level, asked.leximin)
        if found.x is not None:
            return Selected(model.read(found), found.gap)
        if not found.infeasible:
            return Selected(
                best_first, np.inf, "no selection was found in time; increase time_limit"
            )
        reason = _clash(model, asked, lower)
        if not closest:
            return Selected(best_first, np.inf, reason)
    missing = model.fewest_missing(lower)
    lower = [max(0, least - missing) for least in lower]
    found = model.best(lower, level, asked.leximin)
    if found.x is None:
        found = model.best(lower, 0.0, True)
    if found.x is None:
        return Selected(best_first, np.inf, reason)
    return Selected(model.read(found), found.gap, reason)


def _too_few(asked: Selection) -> str:
    for group in asked.groups:
        there = len(group.members)
        if group.lower > there:
            return f"{group.lower} of group {group.label!r} are required, and the list has {there}"
        if group.lower > asked.k:
            return f"{group.lower} of group {group.label!r} are required in {asked.k} positions"
    return ""


def _clash(model: "_Model", asked: Selection, lower: list[int]) -> str:
    """Return the group from which on the lower bounds conflict, or that the level is too high."""
    bounded = [at for at, least in enumerate(lower) if least]
    for count in range(1, len(bounded) + 1):
        some = [least if at in bounded[:count] else 0 for at, least in enumerate(lower)]
        if model.best(some, 0.0, False).infeasible:
            group = asked.groups[bounded[count - 1]]
            return (
                f"{group.lower} of group {group.label!r} do not fit into {asked.k} positions with "
                "the other lower bounds"
            )
    return f"no selection has an IGF-{asked.igf} of {asked.level:g} in every group"


class _Model:
    """The programs of one selection, over the best k candidates of each cell.

    Members of a cell have the same groups. Replacing one by a better one of its cell keeps all
    lower bounds and lowers neither the total nor the in-group fairness of a group, so of each cell
    the first are selected. The programs require that, which leaves far fewer choices.
    """

    def __init__(self, asked: Selection) -> None:
        self.asked = asked
        by_merit = np.argsort(-asked.merit, kind="stable")
        cells = [by_merit[asked.cells[by_merit] == cell] for cell in np.unique(asked.cells)]
        self.kept = np.sort(np.concatenate([members[: asked.k] for members in cells]))
        self.at = np.full(len(asked.merit), -1)
        self.at[self.kept] = np.arange(len(self.kept))
        self.chains = [self.at[members[: asked.k]] for members in cells]

    def read(self, found: Solution) -> np.ndarray:
        """Return the accepted candidates as a mask."""
        accepted = np.zeros(len(self.asked.merit), dtype=bool)
        x = np.asarray(found.x)[: len(self.kept)]
        accepted[self.kept[np.argsort(-x, kind="stable")[: self.asked.k]]] = True
        return accepted

    def _choices(self, lower: list[int], missing: bool = False) -> tuple[Program, np.ndarray]:
        """Return the program of selections under lower bounds, and its (missing) variables."""
        program = Program()
        x = program.variables(len(self.kept), whole=True)
        program.row(x, np.ones(len(x)), low=float(self.asked.k), high=float(self.asked.k))
        for chain in self.chains:
            for better, worse in pairwise(x[chain]):
                program.row([better, worse], [1.0, -1.0], low=0.0)
        extra = program.variables(1, top=float(self.asked.k)) if missing else x[:0]
        for group, least in zip(self.asked.groups, lower, strict=True):
            mine = x[self._columns(group)]
            if least > 0:
                both = np.append(mine, extra)
                program.row(both, np.ones(len(both)), low=float(least))
        return program, extra if missing else x

    def _columns(self, group: Group) -> np.ndarray:
        at = self.at[group.members]
        return at[at >= 0]

    def fewest_missing(self, lower: list[int]) -> int:
        """Return the smallest number by which all lower bounds must be reduced."""
        program, extra = self._choices(lower, missing=True)
        found = program.solve(extra, [-1.0], time_limit=self.asked.time_limit)
        return self.asked.k if found.x is None else int(np.ceil(found.x[extra[0]] - 1e-6))

    def best(self, lower: list[int], level: float, leximin: bool) -> Solution:
        """Return the selection of largest total merit under lower bounds, level and leximin."""
        limits: list[float] = []
        gap = 0.0
        if leximin:
            for _ in self.asked.groups:
                found, worst = self._lower_worst(lower, level, limits)
                if found.x is None:
                    return found
                gap = max(gap, found.gap)
                limits.append(worst + TOLERANCE)
                if worst <= TOLERANCE:
                    break
        program, x = self._choices(lower)
        self._keep_level(program, x, level)
        if limits:
            self._keep_limits(program, x, limits)
        merit = self.asked.merit[self.kept]
        gain = merit - merit.min()
        # HiGHS compares objectives with absolute tolerances
        if not 1.0 <= gain.max() <= 2.0**30:
            gain = np.ldexp(gain, 20 - int(np.frexp(gain.max())[1]))
        found = program.solve(x, gain, time_limit=self.asked.time_limit)
        return replace(found, gap=max(gap, found.gap))

    def _keep_level(self, program: Program, x: np.ndarray, level: float) -> None:
        if level <= 0:
            return
        for group in self.asked.groups:
            if self.asked.igf == "ratio":
                self._keep_ratio(program, x, group, level)
            else:
                for own, above, share in self._shares(group):
                    columns = np.append(x[above], x[own])
                    program.row(columns, np.append(share, -level), low=0.0)

    def _keep_ratio(self, program: Program, x: np.ndarray, group: Group, level: float) -> None:
        """Require of each accepted member all members whose merit times the level is higher."""
        merit = self.asked.merit[group.members]
        all_above = self._all_in(program, x, group)
        for i, member in enumerate(group.members):
            if self.at[member] < 0:
                continue
            with np.errstate(over="ignore"):
                ahead = int(np.searchsorted(-merit, -merit[i] / level * (1 + 1e-12)))
            if ahead > 0:
                columns = [x[self.at[member]], all_above[ahead - 1]]
                program.row(columns, [1.0, -1.0], high=0.0)

    def _all_in(self, program: Program, x: np.ndarray, group: Group) -> np.ndarray:
        """Add a variable per member: whether it and all above it are accepted."""
        all_in = program.variables(len(group.members))
        for i, member in enumerate(group.members):
            if self.at[member] >= 0:
                program.row([all_in[i], x[self.at[member]]], [1.0, -1.0], high=0.0)
            else:
                program.row([all_in[i]], [1.0], high=0.0)
            if i > 0:
                program.row([all_in[i], all_in[i - 1]], [1.0, -1.0], high=0.0)
        return all_in

    def _shares(self, group: Group) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Return of each member its column, the columns at or above it and their shares."""
        merit, found = self.asked.merit[group.members], []
        for i, member in enumerate(group.members):
            if self.at[member] < 0:
                continue
            above = group.members[merit >= merit[i]]
            known = above[self.at[above] >= 0]
            share = self.asked.merit[known] / self.asked.merit[above].sum()
            found.append((int(self.at[member]), self.at[known], share))
        return found

    # leximin: the loss of a group is -log of its ratio, or 1 - its aggregated value

    def _lower_worst(
        self, lower: list[int], level: float, limits: list[float]
    ) -> tuple[Solution, float]:
        """Minimise the next largest loss, with the larger ones at their limits."""
        program, x = self._choices(lower)
        self._keep_level(program, x, level)
        losses = self._keep_limits(program, x, limits)
        worst = program.variables(1, top=self._range())
        exempt = program.variables(len(losses), whole=True)
        for loss, free in zip(losses, exempt, strict=True):
            program.row([loss, worst[0], free], [1.0, -1.0, -self._range()], high=0.0)
        program.row(exempt, np.ones(len(exempt)), high=float(len(limits)))
        found = program.solve(worst, [-1.0], time_limit=self.asked.time_limit)
        if found.x is None:
            return found, 0.0
        values = [igf_of(self.asked, group, self.read(found)) for group in self.asked.groups]
        known = sorted((self._loss(value) for value in values), reverse=True)
        return found, known[len(limits)]

    def _loss(self, value: float) -> float:
        if np.isnan(value):
            return 0.0
        return float(-np.log(value)) if self.asked.igf == "ratio" else 1.0 - value

    def _range(self) -> float:
        if self.asked.igf != "ratio":
            return 1.0
        return float(np.log(self.asked.merit.max()) - np.log(self.asked.merit.min())) + 1e-3

    def _keep_limits(self, program: Program, x: np.ndarray, limits: list[float]) -> np.ndarray:
        """Add the loss of each group; at most ``p`` groups may lose more than the p-th limit."""
        losses = program.variables(len(self.asked.groups), top=self._range())
        for loss, group in zip(losses, self.asked.groups, strict=True):
            self._write_loss(program, x, group, int(loss))
        for count, limit in enumerate(limits):
            exempt = program.variables(len(losses), whole=True)
            for loss, free in zip(losses, exempt, strict=True):
                program.row([loss, free], [1.0, -self._range()], high=limit)
            program.row(exempt, np.ones(len(exempt)), high=float(count))
        return losses

    def _write_loss(self, program: Program, x: np.ndarray, group: Group, loss: int) -> None:
        if not len(group.members):
            return
        if self.asked.igf == "aggregated":
            for own, above, share in self._shares(group):
                columns = np.concatenate([x[above], [loss, x[own]]])
                program.row(columns, np.concatenate([share, [1.0, -1.0]]), low=0.0)
            return
        high = np.log(self.asked.merit[group.members]) - np.log(self.asked.merit.min())
        all_in = self._all_in(program, x, group)
        lowest = program.variables(1, top=self._range())
        for i, member in enumerate(group.members):
            if self.at[member] >= 0:
                pair = [lowest[0], x[self.at[member]]]
                program.row(pair, [1.0, self._range()], high=high[i] + self._range())
        # loss >= (log of the highest rejected) - (log of the lowest accepted)
        drop = high - np.append(high[1:], 0.0)
        columns = np.concatenate([[loss, lowest[0]], all_in])
        program.row(columns, np.concatenate([[1.0, 1.0], drop]), low=float(high[0]))
