"""Lists to sums: the columns of every list of data in memory, added up.

How a runner uses it. A runner reads whole lists from somewhere and returns their sums:

1. It makes a `Survey` of the whole data (groups, lengths of lists, grades of relevance), from
   label and attribute columns alone, and ``plan = SumsPlan.of(survey, ...)``.
2. It calls ``sum_lists(block, plan)`` for blocks of whole lists, in any order, in any thread or
   process. A block is a `RankingData` (as `as_ranking_data` makes it, with
   ``missing_sensitive="unknown"``) or a `Ranking`. Its attributes may have any subset of the
   groups of the plan: labels are matched by name. A group or a grade that the plan does not know
   is an error. Blocks of 50,000 to 500,000 rows are quickest.
3. It adds the results with ``+`` (or ``ListSums.total(parts)``, which keeps memory constant), and
   compares ``n_rows`` and ``n_lists`` with those of the survey (`ListSums.check`).

The result does not depend on how lists are distributed over blocks. `list_keys` are the keys of
lists, for runners that distribute lists themselves. ``sum_data(data, ...)`` does all of this for
data in memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .attribute import Attribute
from .block_columns import Block, Layout, fold_lists, measure_columns
from .data import BLOCK, RankingData
from .environment import in_threads
from .errors import DataError
from .group_columns import check_split, measure_groups, sum_groups
from .inputs import frozen
from .list_keys import list_keys
from .list_samples import Extremes, ListSample, most_unequal
from .list_sums import ListSums, few_moved, rare_lists, targets_of
from .metric import GroupMetric, Metric, measure
from .paired_rankings import matched_lists, pair_rankings
from .per_list import PerList
from .quick_metrics import measure_quick, quick_metrics
from .ranking import Ranking
from .recurrence import Recurrence
from .registry import parse_metrics
from .slots import Slots
from .sums_plan import MOST_PAIRED, SumsPlan, Survey, View
from .sums_views import (
    SumsView,
    count_lengths,
    count_margins,
    measure_view,
)
from .twins import KINDS, canonical_slots, kernel_gaps, tested_gaps, twin_means
from .value_views import GivenValues, given_values, moved_rows

__all__ = ["Before", "list_columns", "sum_data", "sum_lists"]


#: Lists measured at once, which bounds the memory of their columns.
LISTS_AT_ONCE = 8192


def sum_data(
    data: RankingData | Ranking,
    plan: SumsPlan | None = None,
    *,
    like: ListSums | None = None,
    before: "Before | None" = None,
    n_jobs: int = 1,
    per_list: PerList | None = None,
    most_key: np.uint64 | None = None,
    **options: Any,
) -> ListSums:
    """Return the sums over the lists of data in memory.

    Parameters
    ----------
    data : RankingData or Ranking
        With scores or positions.
    plan : SumsPlan, optional
        What to measure; by default that of the data and the options.
    like : ListSums, optional
        Earlier sums, whose plan is taken over, so that both can be added; groups may be new.
    before : Before, optional
        Another ranking that the lists are compared with.
    n_jobs : int
        Number of threads.
    per_list : PerList, optional
        Receives the values of every list.
    most_key : uint64, optional
        As in `sum_lists`.
    **options
        As in `SumsPlan.of`.
    """
    given = data.data if isinstance(data, Ranking) else data
    if plan is not None and like is not None:
        raise DataError("like must not be given beside a plan")
    if options and (plan is not None or like is not None):
        raise DataError(f"{next(iter(options))} must not be given beside a plan, which has it")
    if like is not None:
        plan = like.plan.extended(Survey.of(given))
    if plan is None:
        plan = check_split(SumsPlan.of(Survey.of(given, bool(options.get("scored"))), **options))
    ranking = data if isinstance(data, Ranking) else data.ranking(plan.ties)
    if ranking.n_draws > 1:
        raise DataError(f"sums need a ranking with one draw, got {ranking.n_draws} draws")
    encoded = _Encoded.of(ranking, plan, per_list, before, most_key)
    blocks = list(encoded.blocks())
    return ListSums.total(in_threads(encoded.measure, blocks, min(n_jobs, len(blocks))))


def sum_lists(
    block: RankingData | Ranking,
    plan: SumsPlan,
    per_list: PerList | None = None,
    before: "Before | None" = None,
    most_key: np.uint64 | None = None,
) -> ListSums:
    """Return the sums over a block of whole lists; see the module for how runners use it.

    Lists with a key above ``most_key`` are not kept: a runner that has 2,048 lists with smaller
    keys needs no others.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> data = as_ranking_data(
    ...     score=[4, 3, 2, 1], qid=[1, 1, 2, 2], sensitive_features={"sex": list("fmmf")}
    ... )
    >>> plan = SumsPlan.of(Survey.of(data))
    >>> one, other = (sum_lists(data.select([at]), plan) for at in (0, 1))
    >>> one + other
    ListSums(4 rows, 2 lists, sex (2 groups))
    """
    return sum_data(block, plan, per_list=per_list, before=before, most_key=most_key)


def list_columns(block: RankingData | Ranking, plan: SumsPlan) -> dict[str, np.ndarray]:
    """Return the columns of each list of a block, which `sum_lists` adds up.

    Those of `BUCKETED`, with one row per list in the order of the block instead of one per bucket;
    without changes.
    """
    ranking = block if isinstance(block, Ranking) else block.ranking(plan.ties)
    encoded = _Encoded.of(ranking, plan)
    parts = [encoded.columns(lists, encoded.block(lists))[0] for lists in encoded.blocks()]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@dataclass(frozen=True, eq=False)
class Before:
    """Another ranking that lists are compared with.

    Attributes
    ----------
    values : ndarray of shape (n_queries, n_targets + n_metrics)
        The gaps and metrics of the plan in the other ranking, per list of the first; NaN if
        undefined, or if the other lacks the list.
    sizes : ndarray of int
        Rows of each list in the other ranking, 0 if it lacks the list.
    alone : tuple of int
        Rows and lists that only the other ranking has.
    ranking : Ranking or None
        The other ranking over the rows of the first; None if no changes of people are compared.
    refused : str
        Why no changes of people are compared; empty otherwise.
    """

    values: np.ndarray
    sizes: np.ndarray
    alone: tuple[int, int] = (0, 0)
    ranking: Ranking | None = None
    refused: str = ""

    @classmethod
    def paired(
        cls,
        ranking: Ranking,
        other: Ranking,
        plan: SumsPlan,
        cut: tuple[int | None] | None = None,
    ) -> tuple["Before", SumsPlan]:
        """Match another ranking with the lists and people of the first, and measure it.

        The plan that is returned compares changes of people, if both rankings have the same ones.
        ``cut`` is that of `pair_rankings`.
        """
        found = pair_rankings(ranking, other, cut)
        if found.before is None:
            plan = plan.unchanged
            return cls.of(ranking.data, other, plan, refused=found.refused), plan
        if not plan.changed or plan.cut != found.cut:
            plan = replace(plan, changed=True, cut=found.cut)
        # by its own relevance, as where people differ in other lists
        return cls.of(ranking.data, other, plan, found.before), plan

    @classmethod
    def of(
        cls,
        data: RankingData,
        other: Ranking | None,
        plan: SumsPlan,
        ranking: Ranking | None = None,
        refused: str = "",
    ) -> "Before":
        """Measure the gaps and metrics of another ranking, whose lists may be others.

        ``data`` are those of the first ranking, and ``ranking`` is the other one over their rows.
        None has no lists.
        """
        if other is None:
            n, width = data.n_queries, len(plan.targets) + len(plan.metrics)
            return cls(np.full((n, width), np.nan), np.zeros(n, np.int64), (0, 0), None, refused)
        theirs, grade = plan, plan.max_grade
        if other.data is not data:
            grade = other.data.max_grade  # as where each ranking is evaluated alone
            survey = Survey.of(other.data)
            groups = {name: g for name, g in survey.groups.items() if name in plan.groups}
            theirs = plan.extended(replace(survey, groups=groups))
        # Cutoffs, so that no decision is looked for, and no strata, which other grades may not fit:
        # nothing of them is measured here.
        options: dict[str, Any] = {"ks": (1,), "n_twins": 0, "reference": {}, "median": None}
        options |= {"limits": (), "trend": False, "gains": (), "changed": False, "by": ()}
        options |= {"control": (), "max_grade": grade}
        encoded = _Encoded.of(other, replace(theirs, **options))
        gaps = []
        for lists in encoded.blocks():
            block = encoded.block(lists)
            gaps.append(_gaps(block, encoded.plan)[0])
            measure_quick(block, encoded.quick, encoded.metrics[lists])
        metrics = np.where(encoded.metrics[:, :, 1] > 0, encoded.metrics[:, :, 0], np.nan)
        measured = dict(zip(theirs.targets, np.concatenate(gaps).T, strict=True))
        nothing = np.full(other.data.n_queries, np.nan)
        values = np.stack([*(measured.get(t, nothing) for t in plan.targets), *metrics.T], axis=1)
        sizes = np.diff(other.data.offsets)
        if other.data is data:
            return cls(values, sizes, (0, 0), ranking, refused)
        found = matched_lists(data, other.data)
        own = np.where(found >= 0, sizes[found], 0)
        alone = other.data.n_rows - int(own.sum()), len(sizes) - int((found >= 0).sum())
        values = np.where((found >= 0)[:, None], values[found], np.nan)
        return cls(values, own, alone, ranking, refused)

    def counted(self, lists: slice) -> np.ndarray:
        """Return rows and lists of the other ranking, and lists that both have.

        Those that only the other ranking has are counted with the first list.
        """
        shared = int((self.sizes[lists] > 0).sum())
        rows, alone = self.alone if lists.start == 0 else (0, 0)
        found = [int(self.sizes[lists].sum()) + rows, shared + alone, shared]
        return np.array(found, dtype=np.float64)

    def changes(self, lists: slice, columns: dict[str, np.ndarray]) -> np.ndarray:
        """Return value, other value, defined, difference and its square of each list and metric."""
        both = np.concatenate([columns[name][:, :, :2] for name in ("gaps", "metrics")], axis=1)
        value, other = both[:, :, 0], self.values[lists]
        defined = (both[:, :, 1] > 0) & ~np.isnan(other)
        d = value - other
        found = np.stack([value, other, np.ones_like(value), d, d * d], axis=2)
        return np.where(defined[:, :, None], found, 0.0)


@dataclass(frozen=True, eq=False)
class _Encoded:
    """A ranking with the codes of a plan, in slots of ranked order."""

    ranking: Ranking
    plan: SumsPlan
    keys: np.ndarray
    codes: np.ndarray
    slots: Slots
    order: np.ndarray
    extra: np.ndarray
    among: np.ndarray
    undecided: np.ndarray
    metrics: np.ndarray
    quick: dict[int, tuple[int, int]]
    by_group: tuple[np.ndarray, np.ndarray]
    per_list: PerList | None
    before: Before | None
    given: dict[View, GivenValues]
    most_key: np.uint64 | None

    @classmethod
    def of(
        cls,
        ranking: Ranking,
        plan: SumsPlan,
        per_list: PerList | None = None,
        before: Before | None = None,
        most_key: np.uint64 | None = None,
    ) -> "_Encoded":
        _check_columns(ranking.data, plan)
        codes = np.empty((ranking.data.n_rows, len(plan.groups)), dtype=np.int64)
        for at, (name, labels) in enumerate(plan.groups.items()):
            codes[:, at] = _recoded(ranking.data, name, labels)
        ranking = _planned(ranking, plan, codes)
        data = ranking.data
        slots, order = ranking.slots(), canonical_slots(ranking)
        decided = () if plan.ks else plan.rule.decisions(ranking, ())
        everyone = np.ones(data.n_rows, dtype=bool)
        extra, among = np.zeros((data.n_rows, 0)), np.zeros((data.n_rows, 0), dtype=bool)
        if decided:
            extra = np.stack([each.selected for each in decided], axis=1)
            parts = [everyone if each.among is None else each.among for each in decided]
            among = np.stack(parts, axis=1)
        undecided = np.zeros(plan.n_decisions)
        undecided[: len(decided)] = [each.undecided for each in decided]
        keys, (metrics, quick, by_group) = list_keys(data.qids), _metrics(ranking, plan)
        old = None if before is None else before.ranking
        given = {v: given_values(ranking, plan, v, codes, old) for v in plan.views if v.values}
        return cls(
            ranking, plan, keys, codes, slots, order, extra, among, undecided, metrics, quick,
            by_group, per_list, before, given, most_key,
        )  # fmt: skip

    def blocks(self) -> Iterator[slice]:
        """Yield runs of lists that are measured at once."""
        # a block of a runner is not cut because of its last list
        for run in self.ranking.data.query_blocks(2 * BLOCK):
            for begin in range(run.start, run.stop, LISTS_AT_ONCE):
                yield slice(begin, min(begin + LISTS_AT_ONCE, run.stop))

    def block(self, lists: slice) -> Block:
        """Return the slots of a run of lists as arrays for the kernels."""
        data = self.ranking.data
        rows = slice(*data.offsets[[lists.start, lists.stop]].tolist())
        first, order = rows.start, self.order[rows]
        offsets = data.offsets[lists.start : lists.stop + 1] - first
        here = np.arange(rows.stop - first)
        begin = here if self.slots.lo is None else self.slots.lo[rows] - first
        end = here + 1 if self.slots.hi is None else self.slots.hi[rows] - first
        shown = np.diff(offsets) if self.slots.shown is None else self.slots.shown[lists]
        y = np.zeros(0) if data.y is None else np.asarray(data.y, dtype=np.float64).take(order)
        extra, among = (
            part.take(order, axis=0) if part.size else part[rows]
            for part in (self.extra, self.among)
        )
        codes, shown = self.codes.take(order, axis=0), shown.astype(np.int64, copy=False)
        return Block(offsets, begin, end, shown, y, codes, extra, among, self.keys[lists])

    def columns(
        self, lists: slice, block: Block
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return the columns of each list of a run, and the sums that have no columns."""
        columns, sums = _measured(block, self.plan)
        columns["metrics"] = self.metrics[lists]
        measure_quick(block, self.quick, columns["metrics"])
        return columns, sums

    def measure(self, lists: slice) -> ListSums:
        """Return the sums over a run of lists."""
        plan, data, keys = self.plan, self.ranking.data, self.keys[lists]
        block = self.block(lists)
        columns, sums = self.columns(lists, block)
        if self.before is not None:
            columns["changes"] = self.before.changes(lists, columns)
            sums["against"] = self.before.counted(lists)
        columns["lists"] = np.ones((len(keys), 1))
        sums |= {name: fold_lists(columns[name], keys) for name in columns}
        values, twins = self.by_group
        sums |= sum_groups(values[lists], twins[lists], keys)
        sizes = np.diff(data.offsets[lists.start : lists.stop + 1])
        if self.per_list is not None:
            self.per_list.write(data.qids[lists], sizes, plan, columns)
        lengths, sums["lengths"] = count_lengths(sizes, columns["claims"])
        if not plan.ks:
            sums["margins"] = count_margins(columns["claims"], plan.n_decisions)
        sums["undecided"] = self.undecided * (lists.start == 0)
        rows = slice(*data.offsets[[lists.start, lists.stop]].tolist())
        codes, people = self.codes[rows], None
        if data.ids is not None:
            people = Recurrence.of(data.ids[rows])
        part = data.select(lists) if len(sizes) < data.n_queries else data
        sample = ListSample.of(part, keys, codes, self._before(lists))
        moved, sums["moved"] = self._moved(lists)
        extremes = tuple(_extremes(plan, at, sample, columns) for at in range(len(plan.keys)))
        return ListSums(
            plan, len(codes), len(sizes), sums, lengths, _people(codes, plan),
            sample.smallest(self.most_key), rare_lists(sample, plan, sums["totals"]), extremes,
            few_moved(sample.take(moved), sums), (),
            {view: self._view(view, lists, block) for view in plan.views},
            "" if self.before is None else self.before.refused, (), people,
        )  # fmt: skip

    def _view(self, view: View, lists: slice, block: Block) -> SumsView:
        if not view.values:
            return measure_view(block, self.plan, view)
        offsets = self.ranking.data.offsets[lists.start : lists.stop + 1]
        return self.given[view].measure(offsets, block.keys, view)

    def _before(self, lists: slice) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the first and last positions of the rows of lists in the other ranking."""
        before = None if self.before is None else self.before.ranking
        if before is None:
            return None
        rows = slice(*self.ranking.data.offsets[[lists.start, lists.stop]].tolist())
        last = before.position if before.last is None else before.last
        return before.position[rows], last[rows]

    def _moved(self, lists: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return which lists of a run have another order, and the numbers of people and lists."""
        if self.moved is None:
            return np.zeros(0, dtype=np.int64), np.zeros(2)
        offsets = self.ranking.data.offsets[lists.start : lists.stop + 1]
        people = np.add.reduceat(self.moved[offsets[0] : offsets[-1]], offsets[:-1] - offsets[0])
        some = np.flatnonzero(people)
        return some, np.array([people.sum(), len(some)], dtype=np.float64)

    @cached_property
    def moved(self) -> np.ndarray | None:
        """Whether each row has another position in the other ranking, as a number."""
        before = None if self.before is None else self.before.ranking
        if before is None:
            return None
        return moved_rows(self.ranking, before, self.plan.cut).astype(np.int64)


def _metrics(
    ranking: Ranking, plan: SumsPlan
) -> tuple[np.ndarray, dict[int, tuple[int, int]], tuple[np.ndarray, np.ndarray]]:
    """Return value, defined, d, its square and tested of the metrics of the plan, per list.

    Those of `quick_metrics` are left 0 and returned beside, to be measured block by block; so are
    values by group (see `measure_groups`).
    """
    data = ranking.data
    found = np.zeros((data.n_queries, len(plan.metrics), 5))
    chosen: list[Metric] = [m for name in plan.metrics for m in parse_metrics(name)]
    for metric in chosen:
        # the lists of a block may lack the protected group
        free: dict[str, Any] = {"protected": None} if isinstance(metric, GroupMetric) else {}
        replace(metric, **free).check(data)
    of_groups = [metric for metric in chosen if isinstance(metric, GroupMetric)]
    twins = dict(
        zip(of_groups, twin_means(of_groups, ranking, plan.n_twins, plan.seed), strict=True)
    )
    quick = quick_metrics(chosen, data.y)
    slow = [at for at in range(len(chosen)) if at not in quick]
    several = measure([chosen[at] for at in slow], ranking)
    for at, values in zip(slow, several, strict=True):
        metric = chosen[at]
        metric.refuse_undefined(data, values)
        value = values.value
        mean = twins[metric] if isinstance(metric, GroupMetric) else np.full_like(value, np.nan)
        found[:, at] = tested_gaps(value[:, None], mean[:, None])[:, 0]
    known = {plan.metrics[at]: values for at, values in zip(slow, several, strict=True)}
    return found, quick, measure_groups(ranking, plan, known)


def _measured(block: Block, plan: SumsPlan) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the columns of each list, and the sums that have no columns."""
    columns, found = measure_columns(block, Layout.of(plan))
    values, twins, found["pairs"], found["pairs_with_others"] = _gaps(block, plan)
    columns["gaps"] = tested_gaps(values, twins)
    return columns, found


def _gaps(block: Block, plan: SumsPlan) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return gaps, their means over relabellings, and sums over pairs of groups."""
    layout = Layout.of(plan)
    gaps = [(KINDS[name], plan.keys.index(key)) for name, key in plan.gaps]
    if plan.relevance:
        crossed = [at for at, key in enumerate(plan.keys) if len(key) > 1]
        gaps += [(4, at) for at in crossed if plan.sizes[at] <= MOST_PAIRED]
    return kernel_gaps(
        block.slots, block.keys, layout.parts, layout.width, plan.sizes, gaps,
        step=plan.step, n_twins=plan.n_twins, seed=plan.seed,
    )  # fmt: skip


def _people(codes: np.ndarray, plan: SumsPlan) -> dict[tuple[int, ...], int]:
    """Return the number of people by label vector."""
    if not plan.groups:
        return {(): len(codes)}
    widths = [len(labels) + 1 for labels in plan.groups.values()]
    if np.prod(widths) <= BLOCK:
        from ..kernels.list_columns import count_vectors

        found = np.zeros(np.prod(widths), dtype=np.int64)
        count_vectors(codes, np.array(widths, dtype=np.int64), found)
        vectors, counts = np.flatnonzero(found), found[found > 0]
    else:
        mixed = np.zeros(len(codes), dtype=np.int64)
        for at, width in enumerate(widths):
            mixed = mixed * width + codes[:, at] + 1
        vectors, counts = np.unique(mixed, return_counts=True)
    people = {}
    for vector, count in zip(vectors.tolist(), counts.tolist(), strict=True):
        labels = []
        for width in reversed(widths):
            vector, label = divmod(vector, width)
            labels.append(label - 1)
        people[tuple(reversed(labels))] = count
    return people


def _extremes(
    plan: SumsPlan, at: int, sample: ListSample, columns: dict[str, np.ndarray]
) -> Extremes:
    mine = slice(*plan.first[at : at + 2].tolist())
    few = most_unequal(np.abs(columns["claims"][:, mine, 3]).max(axis=1) / sample.sizes)
    claims = columns["claims"][few, mine]
    differences = np.where(claims[:, :, 0] > 0, claims[:, :, 3], np.nan)
    wanted = np.ix_(few, np.array(targets_of(plan, plan.keys[at]), dtype=np.int64))
    values = np.where(columns["gaps"][(*wanted, 1)] > 0, columns["gaps"][(*wanted, 0)], np.nan)
    found = Extremes(sample.keys[few], sample.labels[few], sample.sizes[few], differences, values)
    return found.most()


def _recoded(data: RankingData, name: str, labels: Sequence[Any]) -> np.ndarray:
    """Return the codes of an attribute in the order of the plan's groups."""
    attribute = data.attribute(name)
    known = {(isinstance(label, str), label): at for at, label in enumerate(labels)}
    lookup = np.full(len(attribute.categories) + 1, -1, dtype=np.int64)
    for code, label in enumerate(attribute.categories):
        at = known.get((isinstance(label, str), label))
        if at is None and (attribute.codes == code).any():
            raise DataError(
                f"{name} must have one of the groups of the plan, got {label!r}; survey the whole "
                "data first"
            )
        lookup[code] = -1 if at is None else at
    return lookup[attribute.codes]


def _planned(ranking: Ranking, plan: SumsPlan, codes: np.ndarray) -> Ranking:
    """Return a ranking whose data have the groups and the largest grade of the whole data set.

    Features and costs that no metric reads are left out.
    """
    data = ranking.data
    changed: dict[str, Any] = {}
    if data.max_grade != plan.max_grade:
        changed["max_grade"] = plan.max_grade
    if data.X is not None and "features" not in plan.needs:
        changed |= {"X": None, "feature_names": None, "categories": {}}
    if data.cost is not None and "cost" not in plan.needs:
        changed["cost"] = None
    if any(data.sensitive[name].categories != labels for name, labels in plan.groups.items()):
        changed["sensitive"] = {
            name: Attribute(frozen(codes[:, at].astype(np.int32)), labels)
            for at, (name, labels) in enumerate(plan.groups.items())
        }
    if not changed:
        return ranking
    return Ranking(replace(data, **changed), ranking.position, ranking.last)


def _check_columns(data: RankingData, plan: SumsPlan) -> None:
    """Raise if the data lack a column of the plan, or have relevance that it does not know."""
    lacking = [name for name in plan.groups if name not in data.sensitive]
    if lacking:
        raise DataError(f"the data must have the attribute {lacking[0]!r} of the plan")
    if plan.relevance and data.y is None:
        raise DataError("the data must have relevance, as the plan has")
    if not plan.limits or data.y is None:
        return
    seen = data.y <= plan.limits[-1] if plan.trend else np.isin(data.y, plan.limits)
    if not seen.all():
        row = int(np.argmin(seen))
        words = f"at most {plan.limits[-1]:g}" if plan.trend else "one of the grades"
        raise DataError(
            f"relevance must be {words} of the survey, got {data.y[row]:g} in row "
            f"{data.place(row)[1]}"
        )
