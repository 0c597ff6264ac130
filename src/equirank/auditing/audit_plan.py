"""The plan of an audit: attributes, protected groups, cutoffs and resampling."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from ..core.attribute import Attribute
from ..core.data import RankingData
from ..core.errors import DataError, suggest
from ..core.list_sums import ListSums
from ..core.named_groups import named_groups
from ..core.outcomes import Decision, DecisionRule
from ..core.ranking import Ranking
from ..core.recurrence import Recurrence
from ..core.sums_plan import TIMES, choose_ks, choose_step
from ..kernels.column_names import TOTAL_COLUMNS
from ..metrics import NDCG

__all__ = ["SMALL_SELECTED", "TIMES", "Audited", "Plan", "make_plan", "shown_names"]


#: A group is too small to be compared if fewer are in the top k at the rate of all people.
SMALL_SELECTED = 5.0


@dataclass(frozen=True, eq=False)
class Audited:
    """An attribute of an audit, or several crossed.

    Attributes
    ----------
    by : tuple of str
        The columns.
    attribute : Attribute
        Its codes and groups.
    protected : tuple of int
        Codes of the protected groups.
    focus : int
        Code of the group shown in charts: the protected one, else the one ranked lowest.
    reference : int or None
        Code of the group that the others are compared with; None for everyone else.
    """

    by: tuple[str, ...]
    attribute: Attribute
    protected: tuple[int, ...] = ()
    focus: int = 0
    reference: int | None = None

    @property
    def name(self) -> str:
        """The name, with crossed columns joined."""
        return TIMES.join(self.by)

    @property
    def key(self) -> Any:
        """The value for ``by`` of a metric."""
        return self.by[0] if len(self.by) == 1 else self.by

    @property
    def crossed(self) -> bool:
        """Whether it crosses several columns."""
        return len(self.by) > 1

    @property
    def groups(self) -> list[str]:
        """The groups' names."""
        return [str(category) for category in self.attribute.categories]

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.attribute.categories)

    def focused(self, focus: int) -> "Audited":
        """Return a copy with another focus."""
        return replace(self, focus=focus)


@dataclass(frozen=True, eq=False)
class Plan:
    """The ranking to audit, and the settings.

    With ``sums``, the ranking is a sample of lists, and numbers are those of the sums. What needs
    rows then reads ``rows``: the plan of all rows if they are in memory, else that of the sample.
    ``recurrence`` has the people if they have ids. ``untested`` says why nothing is tested, if so.
    """

    ranking: Ranking
    audited: tuple[Audited, ...]
    decisions: tuple[Decision, ...]
    step: int
    level: float
    n_boot: int
    n_permutations: int
    seed: int
    ordered: bool = True
    scored: bool = False
    shown: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    gains: tuple[NDCG, ...] = ()
    sums: ListSums | None = None
    rows: "Plan | None" = None
    recurrence: Recurrence | None = None
    untested: str = ""

    @property
    def of_rows(self) -> "Plan":
        """The plan for what needs rows."""
        return self if self.rows is None else self.rows

    @property
    def given_rows(self) -> RankingData | None:
        """The rows as they were given; None if sums are audited without them."""
        return self.of_rows.data if self.of_rows.sums is None else None

    @property
    def sampled(self) -> bool:
        """Whether the rows are those of a sample of lists."""
        return self.of_rows.data.n_queries < self.n_queries

    @property
    def ks(self) -> tuple[int, ...]:
        """The cutoffs, if the top k of each list are selected."""
        return tuple(each.scope["k"] for each in self.decisions if "k" in each.scope)

    @property
    def data(self) -> RankingData:
        """The ranked data."""
        return self.ranking.data

    @property
    def n_rows(self) -> int:
        """Number of people audited."""
        return self.data.n_rows if self.sums is None else self.sums.n_rows

    @property
    def n_queries(self) -> int:
        """Number of lists audited."""
        return self.data.n_queries if self.sums is None else self.sums.n_lists

    @property
    def one_list(self) -> bool:
        """Whether there is only one list."""
        return self.n_queries == 1

    def without_tests(self, reason: str) -> "Plan":
        """Return the plan without tests and intervals."""
        rows = None if self.rows is None else self.rows.without_tests(reason)
        return replace(self, n_boot=0, n_permutations=0, rows=rows, untested=reason)

    def group_indices(self, each: Audited) -> np.ndarray:
        """Return the number of each group of an attribute among all groups of the sums."""
        sums = self._sums
        key = sums.plan.keys.index(each.by)
        labels = {label: at for at, label in enumerate(sums.plan.labels(each.by))}
        return sums.plan.first[key] + np.array([labels[group] for group in each.groups], dtype=int)

    @property
    def _sums(self) -> ListSums:
        if self.sums is None:
            raise DataError("this plan has rows, not sums")
        return self.sums

    def group_sizes(self, each: Audited) -> np.ndarray:
        """Return the number of people of each group of an attribute."""
        if self.sums is None:
            return each.attribute.sizes
        people = self.sums.sums["totals"][:, self.group_indices(each), 2].sum(axis=0)
        return np.rint(people).astype(np.int64)

    def selected_by_group(self, each: Audited, at: int) -> np.ndarray:
        """Return the number of selected people of each group, by one of the decisions."""
        if self.sums is not None:
            totals = self.sums.sums["totals"][:, self.group_indices(each), len(TOTAL_COLUMNS) + at]
            return np.asarray(totals.sum(axis=0))
        known, selected = each.attribute.known, self.decisions[at].selected
        return np.bincount(each.attribute.codes[known], selected[known], each.n_groups)

    def expected_in_top(self, each: Audited, at: int) -> np.ndarray:
        """Return how many people of each group a decision selects at the rate of all people."""
        people = self.group_sizes(each)
        rate = self.selected_by_group(each, at).sum() / max(people.sum(), 1)
        return np.asarray(people * rate)

    def not_compared(self, each: Audited, at: int) -> np.ndarray:
        """Return which groups have no ratio of rates in a top k, since a side of it is too small.

        Fewer than 5 people of that side would be selected at the rate of all people.
        """
        if "k" not in self.decisions[at].scope:
            return np.zeros(each.n_groups, dtype=bool)
        expected = self.expected_in_top(each, at)
        if not self.group_sizes(each).any():  # bounds are all that is known
            return np.zeros(each.n_groups, dtype=bool)
        others = expected.sum() - expected
        if each.reference is not None:
            others = np.full(each.n_groups, expected[each.reference])
        return np.asarray(np.minimum(expected, others) < SMALL_SELECTED)

    def n_unknown(self, each: Audited) -> int:
        """Return the number of people whose label of an attribute is unknown."""
        if self.sums is None:
            return each.attribute.n_unknown
        return self.n_rows - int(self.group_sizes(each).sum())


def make_plan(
    ranking: Ranking,
    *,
    protected: Any,
    rule: DecisionRule,
    cross: bool,
    level: float,
    n_boot: int,
    n_permutations: int,
    seed: int,
    reference: Any = None,
    ordered: bool = True,
    scored: bool = False,
    shown: Mapping[str, Mapping[Any, str]] | None = None,
    gains: Sequence[NDCG] = (),
    sums: ListSums | None = None,
) -> Plan:
    """Return the plan: attributes, intersections, protected groups, references and decisions.

    With ``sums``, the ranking is a sample of their lists.
    """
    data = ranking.data
    if not data.sensitive:
        raise DataError("sensitive must name at least one attribute, got none")
    keys: list[tuple[str, ...]] = [(name,) for name in data.sensitive]
    if cross:
        keys += list(combinations(data.sensitive, 2))
    audited = [Audited(by, data.attribute(by[0] if len(by) == 1 else by)) for by in keys]
    audited = [each for each in audited if each.n_groups]  # two labels may never be known together
    named = _codes_by_attribute("protected", protected, audited)
    references = _codes_by_attribute("reference", reference, audited)
    for name, codes in references.items():
        if len(codes) > 1:
            raise DataError(f"reference must be one group of {name!r}, got {len(codes)}")
    audited = [
        replace(
            each,
            protected=named[each.name],
            focus=(*named[each.name], 0)[0],
            reference=(*references[each.name], None)[0],
        )
        for each in audited
    ]
    median = float(np.median(np.diff(data.offsets)))
    if scored and data.score is None:
        raise DataError("scored must be False for data without scores")
    decisions = rule.decisions(ranking, choose_ks(rule.k, median) if ordered else ())
    if sums is not None:
        decided = [(each, sums.decided(at)) for at, each in enumerate(decisions)]
        decisions = tuple(
            replace(each, among=None if some is None else np.ones(data.n_rows, dtype=bool))
            for each, some in decided
        )
    plan = Plan(
        ranking,
        tuple(audited),
        decisions,
        choose_step(median) if sums is None else sums.plan.step,
        level,
        n_boot,
        n_permutations,
        seed,
        ordered,
        scored,
        shown_names(shown or {}, {each.name: each.attribute for each in audited}),
        tuple(gains),
        sums,
    )
    _check_references(plan)
    return plan


def shown_names(
    given: Mapping[str, Mapping[Any, str]], known: Mapping[str, Attribute]
) -> dict[str, dict[str, str]]:
    """Return the names of groups in sentences, by attribute; unknown groups are an error."""
    if not isinstance(given, Mapping) or not all(isinstance(v, Mapping) for v in given.values()):
        raise DataError(f'shown must look like {{"sex": {{"female": "women"}}}}, got {given!r}')
    found: dict[str, dict[str, str]] = {}
    for name, names in given.items():
        if name not in known:
            hint = suggest(str(name), list(known))
            raise DataError(
                f"shown must name one of the attributes {', '.join(map(repr, known))}, got "
                f"{name!r}{hint}"
            )
        labels = [str(label) for label in known[name].categories]
        codes = {known[name].code(group, f"shown of {name!r}"): group for group in names}
        found[name] = {labels[code]: str(names[group]) for code, group in codes.items()}
    return found


def _check_references(plan: Plan) -> None:
    """Raise if nobody of a reference group is selected, so that no ratio to it is defined."""
    for each in plan.audited:
        if each.reference is None:
            continue
        for at, decision in enumerate(plan.decisions):
            if not plan.selected_by_group(each, at)[each.reference] > 0:
                raise DataError(
                    f"reference must have somebody selected ({decision.name}), and group "
                    f"{each.groups[each.reference]!r} of {each.name!r} has nobody"
                )


def _codes_by_attribute(
    argument: str, given: Any, audited: list[Audited]
) -> dict[str, tuple[int, ...]]:
    """Return the codes of the named groups of each attribute."""
    found: dict[str, tuple[int, ...]] = {each.name: () for each in audited}
    known = {each.name: each.attribute for each in audited}
    for name, group in named_groups(given, known, argument):
        if name not in known:
            hint = suggest(name, list(known))
            raise DataError(
                f"{argument} must name one of the attributes {', '.join(map(repr, known))}, "
                f"got {name!r}{hint}"
            )
        code = known[name].code(group, f"{argument} of {name!r}")
        if code not in found[name]:
            found[name] = (*found[name], code)
    return found
