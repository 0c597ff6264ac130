"""ListSums: what an audit needs of any number of lists, as sums that can be added.

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

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .block_columns import Block, Layout, fold_lists, measure_columns
from .data import BLOCK, RankingData
from .errors import DataError
from .list_keys import list_keys
from .list_samples import Extremes, ListSample, most_unequal
from .metric import GroupMetric, Metric, measure
from .per_list import PerList
from .quick_metrics import measure_quick, quick_metrics
from .ranking import Ranking
from .registry import parse_metrics
from .slots import Slots
from .sums_plan import MOST_PAIRED, TIMES, SumsPlan, Survey, View
from .sums_views import (
    RAGGED,
    SumsView,
    add_lengths,
    add_margins,
    add_views,
    count_lengths,
    count_margins,
    measure_view,
    spread,
    spread_groups,
)
from .twins import KINDS, canonical_slots, kernel_gaps, tested_gaps, twin_means

__all__ = [
    "BUCKETED",
    "ListSums",
    "list_columns",
    "sum_data",
    "sum_lists",
]


#: A group is rare if at most this many lists contain it; their rows are stored.
MOST_RARE = 512
#: Lists measured at once, which bounds the memory of their columns.
LISTS_AT_ONCE = 8192
#: Parts whose samples are joined at once.
JOINED_AT_ONCE = 16
#: Those with one row per bucket.
BUCKETED = ("totals", "claims", "adjusted", "gaps", "metrics")


@dataclass(frozen=True, eq=False)
class ListSums:
    """Sums over lists, which an audit reads instead of rows.

    Attributes
    ----------
    plan : SumsPlan
        What was measured.
    n_rows, n_lists : int
        Number of rows and lists.
    sums : dict of str to ndarray
        The sums; those of `BUCKETED` have one row per bucket. ``margins``, if there are recorded
        decisions, has the lists by their counts.
    lengths : ndarray
        The lengths of lists that occur, ascending; ``sums["lengths"]`` has their number of lists,
        and per group that of the lists that contain both the group and others.
    people : dict
        Number of people by label vector (codes of the plan, -1 if unknown).
    kept : ListSample
        The lists with the smallest keys.
    rare : ListSample
        All lists that contain a group of at most 512 lists.
    extremes : tuple of Extremes
        The most unequal lists of each key.
    sources : tuple of str
        Digests of the files that were read.
    views : dict of View to SumsView
        Sums over some people of each list, as `SumsPlan.views` names them.

    Examples
    --------
    >>> from equirank.core.list_sums import sum_data
    >>> from equirank.datasets import load_hiring
    >>> people = load_hiring()
    >>> first = sum_data(people.select(slice(0, 30)))
    >>> first + sum_data(people.select(slice(30, 60)), like=first)
    ListSums(3213 rows, 60 lists, sex (2 groups), age_group (3 groups))
    """

    plan: SumsPlan
    n_rows: int
    n_lists: int
    sums: dict[str, np.ndarray]
    lengths: np.ndarray
    people: dict[tuple[int, ...], int]
    kept: ListSample
    rare: ListSample
    extremes: tuple[Extremes, ...]
    sources: tuple[str, ...] = field(default=())
    views: dict[View, SumsView] = field(default_factory=dict)

    @property
    def n_decisions(self) -> int:
        """Number of decisions."""
        return self.plan.n_decisions

    def decided(self, decision: int) -> SumsView | None:
        """Return the sums of those about whom it was decided; None if about everyone."""
        found = self.views.get(View((), "", "", decision))
        return None if found is None or found.n_people == self.n_rows else found

    def compared(self, key: tuple[str, ...], group: str, decision: int = -1) -> SumsView:
        """Return the sums of a group and its reference."""
        against = self.plan.reference[TIMES.join(key)]
        return self.views[View(key, group, against, decision)]

    @property
    def complete(self) -> bool:
        """Whether the rows of every list are kept."""
        return self.kept.n_lists == self.n_lists

    def __repr__(self) -> str:
        """Return a summary of the contents."""
        groups = ", ".join(f"{name} ({len(g)} groups)" for name, g in self.plan.groups.items())
        return f"ListSums({self.n_rows} rows, {self.n_lists} lists, {groups})"

    def median_length(self) -> float:
        """Return the median length of the lists."""
        return self.survey().median

    def survey(self) -> Survey:
        """Return groups and lengths of the lists; without grades."""
        counts = self.sums["lengths"][:, 0].astype(int).tolist()
        lengths = dict(zip(self.lengths.tolist(), counts, strict=True))
        return Survey(self.plan.groups, lengths, None, self.plan.score, self.plan.position)

    def check(self, survey: Survey) -> "ListSums":
        """Raise unless every row and list of the survey was measured once; return the sums."""
        for name in ("n_rows", "n_lists"):
            found, expected = getattr(self, name), getattr(survey, name)
            if found != expected:
                raise DataError(
                    f"the data must not change while they are read and every list must be whole: "
                    f"{expected:,} {name[2:]} were surveyed, {found:,} were measured"
                )
        return self

    def __add__(self, other: "ListSums") -> "ListSums":
        """Return the sums over the lists of both."""
        return ListSums.total([self, other])

    @classmethod
    def total(cls, parts: Iterable["ListSums"]) -> "ListSums":
        """Return the sums over the lists of all parts, which are read one after the other."""
        found: ListSums | None = None
        waiting: list[tuple[ListSample, tuple[Extremes, ...]]] = []
        for part in parts:
            if found is not None and part.plan is found.plan:
                found = _added(found, part, sampled=False)
                waiting.append((part.kept, part.extremes))
                if len(waiting) == JOINED_AT_ONCE:
                    found, waiting = _sampled(found, waiting), []
            else:
                found = part if found is None else _added(_sampled(found, waiting), part)
                waiting = []
        if found is None:
            raise DataError("there must be at least one part to add up, got none")
        return _sampled(found, waiting)

    def regrouped(self, plan: SumsPlan) -> "ListSums":
        """Return the sums with the groups of another plan, which has all of these groups."""
        if plan.groups == self.plan.groups:
            return self if plan is self.plan else replace(self, plan=plan)
        names = {name: at for at, name in enumerate(plan.group_names)}
        lookup = np.array([names[name] for name in self.plan.group_names], dtype=np.int64)
        targets = {name: at for at, name in enumerate(plan.targets)}
        # more groups than a gap may have drop it
        stays = [at for at, name in enumerate(self.plan.targets) if name in targets]
        at_target = np.array([targets[self.plan.targets[at]] for at in stays], dtype=np.int64)
        sums = {n: spread_groups(n, v, lookup, plan.n_groups) for n, v in self.sums.items()}
        sums["gaps"] = spread(sums["gaps"][:, stays], 1, at_target, len(targets))
        views = {
            view: found if view.key else found.regrouped(lookup, plan.n_groups)
            for view, found in self.views.items()
        }
        codes = [
            np.array([plan.groups[name].index(label) for label in labels], dtype=np.int64)
            for name, labels in self.plan.groups.items()
        ]
        people = {
            tuple(int(np.append(c, -1)[v]) for c, v in zip(codes, vector, strict=True)): count
            for vector, count in self.people.items()
        }
        extremes = []
        for at, each in enumerate(self.extremes):
            mine = slice(*self.plan.first[at : at + 2].tolist())
            own = _targets_of(plan, plan.keys[at])
            measured = [self.plan.targets[t] for t in _targets_of(self.plan, self.plan.keys[at])]
            has = [t for t, name in enumerate(measured) if name in targets]
            gaps = np.array([own.index(targets[measured[t]]) for t in has], dtype=int)
            part = replace(each, gaps=each.gaps[:, has])
            groups = lookup[mine] - plan.first[at]
            extremes.append(part.recoded(groups, int(plan.sizes[at]), gaps, len(own)))
        kept, rare = self.kept.recoded(codes), self.rare.recoded(codes)
        return replace(
            self, plan=plan, sums=sums, people=people, kept=kept, rare=rare,
            extremes=tuple(extremes), views=views,
        )  # fmt: skip

    def save(self, folder: Any) -> None:
        """Write the sums to a new folder: ``plan.json`` and Parquet files.

        Parameters
        ----------
        folder : path
            Must not exist, or be empty.
        """
        from .sums_files import save_sums

        save_sums(self, Path(folder))

    @classmethod
    def load(cls, folder: Any) -> "ListSums":
        """Read sums from a folder; a newer format raises `FormatError`."""
        from .sums_files import load_sums

        return load_sums(Path(folder))


def _targets_of(plan: SumsPlan, key: tuple[str, ...]) -> list[int]:
    return [at for at, (_, own, _) in enumerate(plan.targets) if own == key]


def _sampled(
    found: ListSums, further: Sequence[tuple[ListSample, tuple[Extremes, ...]]]
) -> ListSums:
    """Return sums with the kept and most unequal lists of further parts."""
    if not further:
        return found
    kept, extremes = zip((found.kept, found.extremes), *further, strict=True)
    joined = tuple(Extremes.join(each) for each in zip(*extremes, strict=True))
    return replace(found, kept=ListSample.join(kept).smallest(), extremes=joined)


def _added(a: ListSums, b: ListSums, sampled: bool = True) -> ListSums:
    """Return the sums over the lists of both; if not ``sampled``, with the samples of the first.

    Rare lists are those of both.
    """
    again = set(a.sources) & set(b.sources)
    if again:
        raise DataError(f"the same file must not be added twice, got {sorted(again)[0]!r} in both")
    plan = a.plan if a.plan is b.plan else a.plan.with_groups(b.plan)
    a, b = a.regrouped(plan), b.regrouped(plan)
    sums = {n: v + b.sums[n] for n, v in a.sums.items() if n not in RAGGED}
    lengths, sums["lengths"] = add_lengths([a, b])
    sums |= add_margins(a.sums, b.sums)
    people = dict(a.people)
    for vector, count in b.people.items():
        people[vector] = people.get(vector, 0) + count
    rare = _rare(ListSample.join([a.rare, b.rare]), plan, sums["totals"])
    found = ListSums(
        plan, a.n_rows + b.n_rows, a.n_lists + b.n_lists, sums, lengths, people, a.kept, rare,
        a.extremes, (*a.sources, *b.sources), add_views(a.views, b.views),
    )  # fmt: skip
    return _sampled(found, [(b.kept, b.extremes)]) if sampled else found


def _rare(sample: ListSample, plan: SumsPlan, totals: np.ndarray) -> ListSample:
    """Return the lists of a sample that contain a group of at most 512 lists."""
    lists = totals[:, :, 1].sum(axis=0)
    rare = (lists > 0) & (lists <= MOST_RARE)
    if not rare.any():
        return sample.take(np.zeros(0, dtype=np.int64))
    if rare[lists > 0].all():
        return sample.sorted()
    inside = np.zeros(sample.n_lists, dtype=bool)
    query = np.repeat(np.arange(sample.n_lists), sample.sizes)
    for at in range(len(plan.keys)):
        group = plan.codes_of(sample.codes, at)
        some = np.append(rare[plan.first[at] : plan.first[at + 1]], False)
        inside[query[some[group]]] = True
    return sample.take(np.flatnonzero(inside)).sorted()


def sum_data(
    data: RankingData | Ranking,
    plan: SumsPlan | None = None,
    *,
    like: ListSums | None = None,
    n_jobs: int = 1,
    per_list: PerList | None = None,
    most_key: np.uint64 | None = None,
    **options: Any,
) -> ListSums:
    """Return the sums over the lists of data in memory.

    Parameters
    ----------
    data : RankingData or Ranking
        With scores or positions and at least one attribute.
    plan : SumsPlan, optional
        What to measure; by default that of the data and the options.
    like : ListSums, optional
        Earlier sums, whose plan is taken over, so that both can be added; groups may be new.
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
        plan = SumsPlan.of(Survey.of(given), **options)
    ranking = data if isinstance(data, Ranking) else data.ranking(plan.ties)
    if ranking.n_draws > 1:
        raise DataError(f"sums need a ranking with one draw, got {ranking.n_draws} draws")
    encoded = _Encoded.of(ranking, plan, per_list, most_key)
    blocks = list(encoded.blocks())
    if n_jobs == 1 or len(blocks) == 1:
        return ListSums.total(encoded.measure(block) for block in blocks)
    with ThreadPoolExecutor(n_jobs) as pool:
        return ListSums.total(pool.map(encoded.measure, blocks))


def sum_lists(
    block: RankingData | Ranking,
    plan: SumsPlan,
    per_list: PerList | None = None,
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
    return sum_data(block, plan, per_list=per_list, most_key=most_key)


def list_columns(block: RankingData | Ranking, plan: SumsPlan) -> dict[str, np.ndarray]:
    """Return the columns of each list of a block, which `sum_lists` adds up.

    Those of `BUCKETED`, with one row per list in the order of the block instead of one per bucket.
    """
    ranking = block if isinstance(block, Ranking) else block.ranking(plan.ties)
    encoded = _Encoded.of(ranking, plan)
    parts = [encoded.columns(lists, encoded.block(lists))[0] for lists in encoded.blocks()]
    return {name: np.concatenate([part[name] for part in parts]) for name in BUCKETED}


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
    per_list: PerList | None
    most_key: np.uint64 | None

    @classmethod
    def of(
        cls,
        ranking: Ranking,
        plan: SumsPlan,
        per_list: PerList | None = None,
        most_key: np.uint64 | None = None,
    ) -> "_Encoded":
        data = ranking.data
        _check_columns(data, plan)
        codes = np.empty((data.n_rows, len(plan.groups)), dtype=np.int64)
        for at, (name, labels) in enumerate(plan.groups.items()):
            codes[:, at] = _recoded(data, name, labels)
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
        keys, (metrics, quick) = list_keys(data.qids), _metrics(ranking, plan)
        return cls(
            ranking, plan, keys, codes, slots, order, extra, among, undecided, metrics, quick,
            per_list, most_key,
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
        sums |= {name: fold_lists(columns[name], keys) for name in BUCKETED}
        sizes = np.diff(data.offsets[lists.start : lists.stop + 1])
        if self.per_list is not None:
            self.per_list.write(data.qids[lists], sizes, plan, columns)
        lengths, sums["lengths"] = count_lengths(sizes, columns["claims"])
        if not plan.ks:
            sums["margins"] = count_margins(columns["claims"], plan.n_decisions)
        sums["undecided"] = self.undecided * (lists.start == 0)
        codes = self.codes[slice(*data.offsets[[lists.start, lists.stop]].tolist())]
        part = data.select(lists) if len(sizes) < data.n_queries else data
        sample = ListSample.of(part, keys, codes)
        extremes = tuple(_extremes(plan, at, sample, columns) for at in range(len(plan.keys)))
        return ListSums(
            plan, len(codes), len(sizes), sums, lengths, _people(codes, plan),
            sample.smallest(self.most_key), _rare(sample, plan, sums["totals"]), extremes, (),
            {view: measure_view(block, plan, view) for view in plan.views},
        )  # fmt: skip


def _metrics(ranking: Ranking, plan: SumsPlan) -> tuple[np.ndarray, dict[int, tuple[int, int]]]:
    """Return value, defined, d, its square and tested of the metrics of the plan, per list.

    Those of `quick_metrics` are left 0 and returned beside, to be measured block by block.
    """
    data = ranking.data
    found = np.zeros((data.n_queries, len(plan.metrics), 5))
    chosen: list[Metric] = [m for name in plan.metrics for m in parse_metrics(name)]
    for metric in chosen:
        metric.check(data)
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
    return found, quick


def _measured(block: Block, plan: SumsPlan) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the columns of each list, and the sums that have no columns."""
    layout = Layout.of(plan)
    columns, found = measure_columns(block, layout)
    gaps = [(KINDS[name], plan.keys.index(key)) for name, key in plan.gaps]
    if plan.relevance:
        crossed = [at for at, key in enumerate(plan.keys) if len(key) > 1]
        gaps += [(4, at) for at in crossed if plan.sizes[at] <= MOST_PAIRED]
    values, twins, found["pairs"], found["pairs_with_others"] = kernel_gaps(
        block.slots, block.keys, layout.parts, layout.width, plan.sizes, gaps,
        step=plan.step, n_twins=plan.n_twins, seed=plan.seed,
    )  # fmt: skip
    columns["gaps"] = tested_gaps(values, twins)
    return columns, found


def _people(codes: np.ndarray, plan: SumsPlan) -> dict[tuple[int, ...], int]:
    """Return the number of people by label vector."""
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
    wanted = np.ix_(few, np.array(_targets_of(plan, plan.keys[at]), dtype=np.int64))
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
