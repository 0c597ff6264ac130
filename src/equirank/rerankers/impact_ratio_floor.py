"""ImpactRatioFloor: the cheapest exchanges at the cutoff that reach a ratio of selection rates."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ..core.errors import DataError, EquirankWarning, InfeasibleError
from ..core.params import Label, Number, Optional
from ..core.ranking import Ranking
from ..kernels.discounts import discounts
from ..kernels.segments import segment_sum
from .bounded_lists import slot_values
from .group_bounds import StatedBounds
from .guaranteed import LABELS, Guaranteed, Pool, protected_shares
from .integer_program import Program
from .reranking import Reranking

__all__ = ["ImpactRatioFloor"]

#: A ratio is reached within this share of it: rounding errors.
ROUNDING = 1e-9
#: Exchanges in all lists up to which an integer program closes a gap of the greedy choice.
MOST_EXCHANGES = 3000
#: Share of the loss that the greedy choice may exceed its lower bound by, without a program.
SMALL_GAP = 1e-3
#: Seconds of that program.
TIME_LIMIT = 5.0


@dataclass(frozen=True, eq=False)
class RatioBounds(StatedBounds):
    """Guarantee of a ratio of selection rates over all lists.

    It binds no single list: one may select fewer of a group if others select more.

    Attributes
    ----------
    codes : tuple of int
        The protected groups.
    others : tuple of int
        The groups that they are compared with.
    sizes, other_sizes : ndarray
        Per query the number of people on either side.
    ratio : float
        The smallest ratio.
    """

    codes: tuple[int, ...]
    others: tuple[int, ...]
    sizes: np.ndarray
    other_sizes: np.ndarray
    ratio: float

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether the ratio over all lists is reached."""
        a, b = (
            segment_sum(np.isin(codes, side).astype(np.float64), offsets)
            for side in (self.codes, self.others)
        )
        x, y = _weighted(a, b, self.sizes, self.other_sizes)
        reached = x.sum() >= self.ratio * y.sum() * (1.0 - ROUNDING) - ROUNDING
        return np.full(len(offsets) - 1, bool(reached))


class ImpactRatioFloor(Guaranteed):
    """Exchange people at the cutoff until a group's selection rate is a share of everyone else's.

    The top k of each list are selected. Over all lists that contain both sides, the ratio of
    selection rates ``sum(a n2 / n) / sum(b n1 / n)`` (Mantel-Haenszel) must be at least ``ratio``,
    where a of n1 people of the group and b of n2 others are selected. In each list the next best of
    the group enter and the lowest others leave; how many in which list is chosen such that the mean
    loss of NDCG@k by score is smallest. With one list that is exact; with several a greedy choice
    is improved by an integer program where the two may differ.

    The order within a group is kept; ties are taken in input order. Without a cutoff everyone is
    selected and the ranking is unchanged. Rows that were not shown stay so. People with an unknown
    label, and of groups that are not compared, are neither moved in nor out.

    Parameters
    ----------
    ratio : float
        The smallest ratio of selection rates.
    protected : label or sequence of labels, optional
        The group whose rate is raised; several count as one. None takes all groups except the
        largest.
    reference : label, optional
        The group that it is compared with; None for everyone else.
    on_infeasible : {"error", "best"}
        What to do if no exchange can reach the ratio: raise an error, or return the ranking with
        the largest ratio and warn.

    References
    ----------
    Mantel and Haenszel, Statistical aspects of the analysis of data from retrospective studies of
    disease, Journal of the National Cancer Institute 1959 (the ratio over lists).

    Examples
    --------
    >>> from equirank.rerankers import ImpactRatioFloor
    >>> rule = ImpactRatioFloor(0.8, protected="f", k=2)
    >>> result = rule.rerank([5, 4, 3, 2], sensitive_features=list("mmff"))
    >>> result.order(), result.holds
    (array([0, 2]), True)
    """

    positional = ("ratio", "protected", "k", "by", "on_infeasible")
    ratio: Annotated[float, Number(0.0)] = 0.8
    protected: Annotated[Any, Optional(LABELS)] = None
    reference: Annotated[Any, Optional(Label())] = None
    #: `protected_shares` reads it; this re-ranker has no parameter p.
    p: ClassVar[None] = None

    test_params: ClassVar[Mapping[str, Any]] = {"protected": "a", "k": 5}
    unknown: ClassVar[Literal["refused", "fixed", "free"]] = "free"
    acts_on: ClassVar[frozenset[str]] = frozenset({"selected"})
    strength: ClassVar[str] = "ratio"
    plain_name: ClassVar[str] = "At least a ratio of selection rates"
    guarantee: ClassVar[str] = "a ratio of selection rates in the top k, over all lists"
    needs_text: ClassVar[str] = "groups and the protected one; the cutoff"
    cost: ClassVar[str] = "the least NDCG by score for the ratio"

    def _rerank(self, ranking: Ranking) -> Reranking:
        pool = self._pool(ranking)
        codes, others = self._sides(pool)
        side = np.where(np.isin(pool.codes, codes), 1, np.where(np.isin(pool.codes, others), 0, -1))
        sizes, other_sizes = (
            segment_sum((side == each).astype(np.float64), pool.offsets) for each in (1, 0)
        )
        label = " or ".join(str(pool.groups.categories[code]) for code in codes)
        words = f"the selection rate of {label} is at least {self.ratio:g} times that of others"
        bounds = RatioBounds(
            words, tuple(codes), tuple(others), sizes, other_sizes, float(self.ratio)
        )
        lists = _Lists(pool, side, sizes, other_sizes, float(self.ratio))
        count = lists.exchanges()
        if count is None:
            self._cannot(lists)
            count = lists.most
        order = lists.exchanged(count)
        return Reranking.from_order(
            ranking, pool.order[order], pool.out_offsets, bounds=bounds, reranker=self
        )

    def _sides(self, pool: Pool) -> tuple[list[int], list[int]]:
        """Return the codes of the protected groups and of those they are compared with."""
        codes, _ = protected_shares(self, pool)
        every = range(len(pool.groups.categories))
        if self.reference is None:
            return codes, [code for code in every if code not in codes]
        reference = pool.groups.code(self.reference, "reference of ImpactRatioFloor")
        if reference in codes:
            raise DataError(
                "reference of ImpactRatioFloor must be another group than protected, got "
                f"{self.reference!r} for both"
            )
        return codes, [reference]

    def _cannot(self, lists: "_Lists") -> None:
        """Raise or warn that the ratio cannot be reached, and name the nearest."""
        message = (
            f"ImpactRatioFloor cannot reach a ratio of {self.ratio:g}: with everyone of the group "
            f"who fits into the top of each list it is {lists.largest:.4g}"
        )
        if self.on_infeasible == "error":
            raise InfeasibleError(
                f"{message}; lower ratio, choose another k, or pass on_infeasible='best' for the "
                "closest ranking"
            )
        warnings.warn(f"{message}; the closest ranking is returned", EquirankWarning, 4)


def _weighted(
    a: np.ndarray, b: np.ndarray, n1: np.ndarray, n2: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return both sums of the Mantel-Haenszel ratio per list; 0 where a side is empty."""
    both = (n1 > 0) & (n2 > 0)
    n = np.where(both, n1 + n2, 1.0)
    return np.where(both, a * n2 / n, 0.0), np.where(both, b * n1 / n, 0.0)


class _Lists:
    """The possible exchanges of all lists."""

    def __init__(
        self, pool: Pool, side: np.ndarray, n1: np.ndarray, n2: np.ndarray, ratio: float
    ) -> None:
        self.pool, self.side = pool, side
        sizes = np.diff(pool.offsets)
        self.begin = pool.offsets[:-1]
        place = np.arange(len(side)) - np.repeat(self.begin, sizes)
        self.top = place < np.repeat(pool.limit, sizes)
        behind = ~self.top & (place < np.repeat(pool.shown, sizes))
        both = np.repeat((n1 > 0) & (n2 > 0), sizes)
        self.entering = np.flatnonzero(behind & (side == 1) & both)
        self.leaving = np.flatnonzero(self.top & (side == 0) & both)[::-1]  # lowest first
        query = np.repeat(np.arange(len(sizes)), sizes)
        n_in, n_out = (
            np.bincount(query[slots], minlength=len(sizes))
            for slots in (self.entering, self.leaving)
        )
        self.most = np.minimum(n_in, n_out)
        self.first_in = np.concatenate([[0], np.cumsum(n_in)])
        last_out = np.cumsum(n_out[::-1])[::-1]  # the lists are in reverse order there
        self.first_out = np.append(last_out[1:], 0)
        counts = [np.bincount(query[self.top & (side == s)], minlength=len(sizes)) for s in (1, 0)]
        x, y = _weighted(counts[0], counts[1], n1, n2)
        gain_x, gain_y = _weighted(np.ones(len(sizes)), np.ones(len(sizes)), n1, n2)
        self.gain = gain_x + ratio * gain_y
        self.need = ratio * float(y.sum()) * (1.0 - ROUNDING) - float(x.sum()) - ROUNDING
        most_x, most_y = x + self.most * gain_x, y - self.most * gain_y
        total = float(most_y.sum())
        self.largest = float(most_x.sum()) / total if total > 0 else float("inf")

    def exchanges(self) -> np.ndarray | None:
        """Return the number of exchanges in each list; None if the ratio cannot be reached."""
        count = np.zeros(len(self.most), dtype=np.int64)
        if self.need <= 0:
            return count
        if self.need > float((self.gain * self.most).sum()) + ROUNDING:
            return None
        possible = np.flatnonzero(self.most)
        if len(possible) == 1:
            count[possible] = int(np.ceil(self.need / self.gain[possible[0]] - ROUNDING))
            return np.minimum(count, self.most)
        # Losses are computed as far as the choice needs them.
        depth, full, most = 2, int(self.most.max()), self.most[possible]
        chosen = None
        while chosen is None or not ((chosen < depth) | (chosen == most)).all():
            if chosen is not None and depth == full:
                break
            depth = min(2 * depth, full)
            losses = self._losses(possible, depth)
            chosen = _cheapest(losses, self.gain[possible], most, self.need)
            if chosen is None and depth == full:
                return None
        count[possible] = chosen
        return count

    def _losses(self, lists: np.ndarray, depth: int) -> np.ndarray:
        """Return the loss of NDCG by score after 1 to ``depth`` exchanges (list x exchanges)."""
        pool = self.pool
        values = slot_values(pool)
        lowest = np.minimum.reduceat(values, np.minimum(self.begin, len(values) - 1))[lists]
        width = int(pool.limit[lists].max())
        column = np.arange(width)
        inside = column < pool.limit[lists][:, None]
        slots = np.where(inside, self.begin[lists][:, None] + column, self.begin[lists][:, None])
        gain = np.where(inside, values[slots] - lowest[:, None], 0.0)
        weight = discounts(width, "log2")
        ideal = gain @ weight
        kept = inside.copy()
        found = np.full((len(lists), depth), np.inf)
        entered = np.zeros((len(lists), depth))
        rows = np.arange(len(lists))
        for j in range(depth):
            able = self.most[lists] > j
            out = self.leaving[np.minimum(self.first_out[lists] + j, len(self.leaving) - 1)]
            kept[rows[able], (out - self.begin[lists])[able]] = False
            new = self.entering[np.minimum(self.first_in[lists] + j, len(self.entering) - 1)]
            entered[able, j] = (values[new] - lowest)[able]
            place = np.cumsum(kept, axis=1) - 1
            total = (np.where(kept, gain, 0.0) * weight[np.maximum(place, 0)]).sum(axis=1)
            left = kept.sum(axis=1)
            for at in range(j + 1):
                total += entered[:, at] * weight[np.minimum(left + at, width - 1)]
            loss = np.where(ideal > 0, 1.0 - total / np.where(ideal > 0, ideal, 1.0), 0.0)
            found[able, j] = loss[able]
        return found

    def exchanged(self, count: np.ndarray) -> np.ndarray:
        """Return the slots that are selected, list by list in the order before."""
        selected = self.top.copy()
        query = np.repeat(np.arange(len(count)), count)
        at = np.arange(len(query)) - np.repeat(np.cumsum(count) - count, count)
        selected[self.leaving[self.first_out[query] + at]] = False
        selected[self.entering[self.first_in[query] + at]] = True
        return np.flatnonzero(selected)


def _cheapest(
    losses: np.ndarray, gain: np.ndarray, most: np.ndarray, need: float
) -> np.ndarray | None:
    """Return how many exchanges of each list reach the need with the smallest loss.

    Exchanges are taken by loss per gain, and those that turn out to be superfluous are taken back.
    None if the exchanges that ``losses`` covers do not reach it.
    """
    known = np.isfinite(losses)
    step = np.where(known, np.diff(np.where(known, losses, 0.0), axis=1, prepend=0.0), np.inf)
    rate = np.maximum.accumulate(np.maximum(step, 0.0), axis=1) / gain[:, None]
    rows, columns = np.nonzero(np.isfinite(rate))
    order = np.lexsort((columns, rate[rows, columns]))
    rows, columns = rows[order], columns[order]
    reached = np.cumsum(gain[rows])
    n = int(np.searchsorted(reached, need - ROUNDING))
    if n >= len(rows):
        return None
    taken = slice(0, n + 1)
    count = np.bincount(rows[taken], minlength=len(most))
    spare = float(reached[n]) - need
    for at in np.argsort(-step[rows[taken], columns[taken]], kind="stable").tolist():
        row = rows[at]
        if count[row] == columns[at] + 1 and gain[row] <= spare + ROUNDING:
            count[row] -= 1
            spare -= float(gain[row])
    loss = _loss(losses, count)
    before = float(reached[n - 1]) if n else 0.0
    share = (need - before) / float(gain[rows[n]])
    bound = _loss(losses, np.bincount(rows[:n], minlength=len(most)))
    bound += share * float(rate[rows[n], columns[n]] * gain[rows[n]])
    if loss - bound <= SMALL_GAP * loss or np.isfinite(losses).sum() > MOST_EXCHANGES:
        return count
    better = _program(losses, gain, need)
    return better if better is not None and _loss(losses, better) < loss else count


def _loss(losses: np.ndarray, count: np.ndarray) -> float:
    some = np.flatnonzero(count)
    return float(losses[some, count[some] - 1].sum())


def _program(losses: np.ndarray, gain: np.ndarray, need: float) -> np.ndarray | None:
    """Return the numbers of exchanges that an integer program chooses; None if it fails."""
    program = Program()
    rows, columns = np.nonzero(np.isfinite(losses))
    chosen = program.variables(len(rows), whole=True)
    for row in np.unique(rows).tolist():
        own = chosen[rows == row]
        program.row(own, np.ones(len(own)), high=1.0)
    program.row(chosen, gain[rows] * (columns + 1), low=need)
    found = program.solve(chosen, -losses[rows, columns], time_limit=TIME_LIMIT).x
    if found is None:
        return None
    count = np.zeros(len(losses), dtype=np.int64)
    taken = found > 0.5
    count[rows[taken]] = columns[taken] + 1
    return count
