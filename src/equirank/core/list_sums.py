"""ListSums: what an audit needs of any number of lists, as sums that can be added."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .errors import DataError
from .group_columns import regroup_columns
from .list_samples import Extremes, ListSample
from .paired_rankings import first_reason
from .recurrence import Recurrence
from .sums_plan import TIMES, SumsPlan, Survey, View
from .sums_views import (
    RAGGED,
    SumsView,
    add_lengths,
    add_margins,
    add_views,
    spread,
    spread_groups,
)

__all__ = ["BUCKETED", "MOST_RARE", "ListSums", "few_moved", "rare_lists", "targets_of"]


#: A group is rare if at most this many lists contain it; their rows are stored.
MOST_RARE = 512
#: Parts whose samples are joined at once.
JOINED_AT_ONCE = 16
#: Those with one row per bucket; the last are those of another ranking, if there is one.
BUCKETED = ("totals", "claims", "adjusted", "gaps", "metrics", "group_values", "lists", "changes")


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
        The sums; those of `BUCKETED` have one row per bucket. ``group_values``, ``twin_totals`` and
        ``twin_products`` have values by group (see `sum_groups`), and ``lists`` the number of
        lists. ``margins``, if there are recorded decisions, has the lists by their counts.
        ``changes``, if there is another ranking, has the values of gaps and metrics in both and
        their difference (see `Before`), ``moved`` the people and lists with another position, and
        ``against`` the rows and lists of the other ranking, and the lists that both have.
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
    moved : ListSample
        All lists in which a position changed since another ranking, if these are at most 512.
    sources : tuple of str
        Digests of the files that were read.
    views : dict of View to SumsView
        Sums over some people of each list, as `SumsPlan.views` names them.
    refused : str
        Why no change of people since another ranking is claimed; empty otherwise.
    against_sources : tuple of str
        Digests of the files of the other ranking.
    recurrence : Recurrence or None
        How many different people there are, if they have ids.

    Examples
    --------
    >>> from equirank.core.summed_lists import sum_data
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
    moved: ListSample
    sources: tuple[str, ...] = field(default=())
    views: dict[View, SumsView] = field(default_factory=dict)
    refused: str = ""
    against_sources: tuple[str, ...] = field(default=())
    recurrence: Recurrence | None = None

    @property
    def paired(self) -> bool:
        """Whether the lists are compared with another ranking."""
        return "changes" in self.sums

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

    def given(self, values: str, key: tuple[str, ...] = (), group: str = "") -> SumsView:
        """Return the sums of scores, gains or changes, of all groups or one and its reference."""
        against = self.plan.reference[TIMES.join(key)] if key else ""
        return self.views[View(key, group, against, -1, values)]

    @property
    def complete(self) -> bool:
        """Whether the rows of every list are kept."""
        return self.kept.n_lists == self.n_lists

    def __repr__(self) -> str:
        """Return a summary of the contents."""
        parts = [f"{self.n_rows} rows", f"{self.n_lists} lists"]
        parts += [f"{name} ({len(groups)} groups)" for name, groups in self.plan.groups.items()]
        return f"ListSums({', '.join(parts)})"

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
            if found is not None:
                found, part = _agreeing(found, part)
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

    def without_changes(self, refused: str = "") -> "ListSums":
        """Return the sums without changes of people since another ranking, and why.

        Without a reason nothing of the other ranking remains.
        """
        names = [] if refused else ["changes", "against"]
        sums = {name: v for name, v in self.sums.items() if name not in names}
        samples: dict[str, Any] = {}
        for name in ("kept", "rare", "moved"):
            sample: ListSample = getattr(self, name)
            some = {n: v for n, v in sample.columns.items() if n not in ("before", "before last")}
            samples[name] = replace(sample, columns=some)
        samples["moved"] = samples["moved"].take(np.zeros(0, dtype=np.int64))
        views = {view: each for view, each in self.views.items() if view.values != "change"}
        sums["moved"] = np.zeros(2)
        return replace(
            self, plan=self.plan.unchanged, sums=sums, views=views, refused=refused, **samples
        )

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
        sums |= regroup_columns(self.sums, self.plan, plan)
        if "changes" in sums:
            old, new = len(self.plan.targets), len(targets)
            metrics = np.arange(len(plan.metrics))
            stays_too = [*stays, *(old + metrics)]
            moves_to = np.concatenate([at_target, new + metrics])
            sums["changes"] = spread(sums["changes"][:, stays_too], 1, moves_to, new + len(metrics))
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
            own = targets_of(plan, plan.keys[at])
            measured = [self.plan.targets[t] for t in targets_of(self.plan, self.plan.keys[at])]
            has = [t for t, name in enumerate(measured) if name in targets]
            gaps = np.array([own.index(targets[measured[t]]) for t in has], dtype=int)
            part = replace(each, gaps=each.gaps[:, has])
            groups = lookup[mine] - plan.first[at]
            extremes.append(part.recoded(groups, int(plan.sizes[at]), gaps, len(own)))
        samples = {name: getattr(self, name).recoded(codes) for name in ("kept", "rare", "moved")}
        return replace(
            self, plan=plan, sums=sums, people=people, extremes=tuple(extremes), views=views,
            **samples,
        )  # fmt: skip

    def save(self, folder: Any) -> None:
        """Write the sums to a new folder: ``plan.json`` and Parquet files, with their digests.

        Parameters
        ----------
        folder : path
            Must not exist, or be empty. Of several processes that write to it, one succeeds.
        """
        from .sums_files import save_sums

        save_sums(self, Path(folder))

    @classmethod
    def load(cls, folder: Any) -> "ListSums":
        """Read sums from a folder; damage and a newer format raise `FormatError`."""
        from .sums_files import load_sums

        return load_sums(Path(folder))


def targets_of(plan: SumsPlan, key: tuple[str, ...]) -> list[int]:
    """Return the numbers of the gaps of a key among the targets of a plan."""
    return [at for at, (_, own, _) in enumerate(plan.targets) if own == key]


def _agreeing(a: ListSums, b: ListSums) -> tuple[ListSums, ListSums]:
    """Return two sums that claim changes of people, or neither: a refusal of one is that of both.

    The reason is the one that is looked for first.
    """
    if a.paired != b.paired:
        raise DataError(
            "sums must all be compared with another ranking to be added, or none of them"
        )
    refused = first_reason([a.refused, b.refused], a.plan.groups)
    if not refused:
        return a, b
    one, other = (
        each if each.refused == refused else each.without_changes(refused) for each in (a, b)
    )
    return one, other


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
    # sums of older formats lack some
    sums = {n: v + b.sums[n] for n, v in a.sums.items() if n not in RAGGED and n in b.sums}
    lengths, sums["lengths"] = add_lengths([a, b])
    sums |= add_margins(a.sums, b.sums)
    people = dict(a.people)
    for vector, count in b.people.items():
        people[vector] = people.get(vector, 0) + count
    rare = rare_lists(ListSample.join([a.rare, b.rare]), plan, sums["totals"])
    moved = few_moved(ListSample.join([a.moved, b.moved]), sums)
    found = ListSums(
        plan, a.n_rows + b.n_rows, a.n_lists + b.n_lists, sums, lengths, people, a.kept, rare,
        a.extremes, moved, (*a.sources, *b.sources), add_views(a.views, b.views), a.refused,
        tuple(dict.fromkeys([*a.against_sources, *b.against_sources])), _people_of_both(a, b),
    )  # fmt: skip
    return _sampled(found, [(b.kept, b.extremes)]) if sampled else found


def _people_of_both(a: ListSums, b: ListSums) -> Recurrence | None:
    """Return the people of two sums, which must both have ids, or none."""
    if a.recurrence is None and b.recurrence is None:
        return None
    if a.recurrence is None or b.recurrence is None:
        raise DataError(
            "sums must all be made with id to be added, or none of them; else nobody knows who is "
            "in several of them"
        )
    return a.recurrence + b.recurrence


def few_moved(moved: ListSample, sums: dict[str, np.ndarray]) -> ListSample:
    """Return the lists in which somebody moved, none if they are too many."""
    few = "moved" in sums and sums["moved"][1] <= MOST_RARE
    return moved.sorted() if few else moved.take(np.zeros(0, dtype=np.int64))


def rare_lists(sample: ListSample, plan: SumsPlan, totals: np.ndarray) -> ListSample:
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
