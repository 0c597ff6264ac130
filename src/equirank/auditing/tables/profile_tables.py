"""The tables that a profile asks for: rates of groups, their ratios, and who is counted beside."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.attribute import Attribute
from ...core.errors import DataError, suggest
from ...core.inputs import shown
from ...core.table import Table
from ...kernels.segments import divide
from ...statistics import (
    fisher_exact,
    flips,
    score_gap,
    selection_ratio,
    shortfall,
    two_proportion_z,
)
from ..profiles.profile import Profile, ProfileTable

__all__ = [
    "GroupCounts",
    "ProfileTables",
    "RateTable",
    "counted_tables",
    "profile_tables",
    "rate_table",
]


@dataclass(frozen=True, eq=False)
class RateTable:
    """Rates of the groups of one attribute, or of two crossed.

    Attributes
    ----------
    by : tuple of str
        The attributes, as the profile names them.
    kind : str
        ``"selection"``, or ``"scoring"``: the share above the median score.
    rows : Table
        One row per group: ``group``, ``people``, ``selected`` (or scored above the median),
        ``rate``, ``share`` (of the people with a known group), ``small`` (under the profile's
        share), ``left_out`` (of the ratios), ``ratio_to_highest``, ``ratio_to_reference`` and
        ``reason``; further statistics compare with the reference, or with the highest rate without
        one.
    reference : str or None
        The reference group.
    unknown_people, unknown_selected, unknown_rate : int, float, float
        People whose group is unknown, who are in no row.
    undecided : int
        People left out because the decision or the score is not recorded.
    median : float
        The median score of everybody scored, unknown included; NaN for selection.
    """

    by: tuple[str, ...]
    kind: str
    rows: Table
    reference: str | None = None
    unknown_people: int = 0
    unknown_selected: float = 0.0
    undecided: int = 0
    median: float = float("nan")

    @property
    def unknown_rate(self) -> float:
        """The rate of people whose group is unknown; NaN without any."""
        people = self.unknown_people
        return self.unknown_selected / people if people else float("nan")


@dataclass(frozen=True)
class ProfileTables:
    """The tables of a profile, and the attributes and inputs that the data lack."""

    tables: tuple[RateTable, ...]
    absent: tuple[str, ...]
    reasons: tuple[str, ...] = ()


def rate_table(
    names: Sequence[Any],
    people: Any,
    selected: Any,
    *,
    reference: Any = None,
    small_share: float = 0.0,
    leave_out_small: bool = False,
    leave_out: Collection[Any] = (),
) -> Table:
    """Return the rates of groups, with ratios to the highest rate and to a reference.

    Groups left out of the ratios keep their people and rate. They are those of ``leave_out``, and
    with ``leave_out_small`` those with less than ``small_share`` of the people.

    Parameters
    ----------
    names : sequence
        The groups.
    people, selected : array-like of shape (n_groups,)
        People of each group, and those selected (or scored above the median).
    reference : optional
        The reference group. It must have selected people and must not be left out.
    small_share : float
        Groups with a smaller share of the people are marked.
    leave_out_small : bool
        Whether marked groups are left out of the ratios.
    leave_out : collection
        Further groups to leave out of the ratios.

    Examples
    --------
    >>> table = rate_table(["f", "m", "x"], [50, 48, 1], [10, 12, 1], small_share=0.02,
    ...                    leave_out_small=True)
    >>> table["rate"].tolist(), table["ratio_to_highest"].tolist(), table["reason"][2]
    ([0.2, 0.25, 1.0], [0.8, 1.0, nan], 'left out of the ratios: under 2% of the people')
    """
    people, selected = np.asarray(people, dtype=np.int64), np.asarray(selected, dtype=np.float64)
    rate = divide(selected, people)
    share = people / max(int(people.sum()), 1)
    small = (share < small_share) & (people > 0)
    named = np.zeros(len(names), dtype=bool)
    named[[_find(names, group, "leave_out") for group in leave_out]] = True
    left_out = named | (small & leave_out_small)
    usable = ~left_out & (people > 0)
    highest = float(rate[usable].max()) if usable.any() else float("nan")
    to_highest = np.where(usable, divide(rate, np.full(len(rate), highest)), np.nan)
    to_reference = np.full(len(rate), np.nan)
    if reference is not None:
        at = _find(names, reference, "reference")
        if left_out[at] or not selected[at] > 0:
            why = "is left out of the ratios" if left_out[at] else "has nobody selected"
            raise DataError(
                f"reference must be a group with selected people, and {reference!r} {why}"
            )
        to_reference = np.where(usable, rate / rate[at], np.nan)
    reasons = np.full(len(rate), "", dtype=object)
    if not highest > 0:
        reasons[usable] = "nobody was selected: no ratio is defined"
    reasons[named] = "left out of the ratios by name"
    few = f"left out of the ratios: under {100 * small_share:g}% of the people"
    reasons[small & leave_out_small] = few
    reasons[people == 0] = "no people"
    return Table(
        {
            "group": np.array([str(name) for name in names], dtype=object),
            "people": people,
            "selected": selected,
            "rate": rate,
            "share": share,
            "small": small,
            "left_out": left_out,
            "ratio_to_highest": to_highest,
            "ratio_to_reference": to_reference,
            "reason": reasons,
        }
    )


def _find(names: Sequence[Any], group: Any, argument: str) -> int:
    for at, name in enumerate(names):
        if name == group or str(name) == str(group):
            return at
    words = [str(name) for name in names]
    raise DataError(
        f"{argument} must be one of {', '.join(words)}, got {shown(group)}"
        + suggest(str(group), words)
    )


def profile_tables(
    profile: Profile,
    attributes: Mapping[str, Attribute],
    *,
    selected: Any = None,
    score: Any = None,
    reference: Mapping[str, Any] | None = None,
    leave_out_small: bool = False,
) -> ProfileTables:
    """Return the tables that a profile asks for, from arrays with one entry per person.

    Parameters
    ----------
    profile : Profile
        What is asked for.
    attributes : mapping of str to Attribute
        The attributes of people by column name, as in ``data.sensitive``; the code -1 is an unknown
        label. The attributes of the profile are found among them.
    selected : array-like of float, optional
        1 if selected, 0 if not, or the chance of being selected if ties decide; NaN if undecided.
    score : array-like of float, optional
        Scores; NaN for people without one.
    reference : mapping of str to group, optional
        The reference group of an attribute, which replaces the profile's. A crossed table has the
        reference of both, if both are named.
    leave_out_small : bool
        Whether groups under the profile's ``small_share`` are left out of ratios.

    Returns
    -------
    ProfileTables
        The tables, the attributes that the data lack, and why tables are missing.

    Examples
    --------
    >>> from equirank.auditing.profiles.profile import load_profile
    >>> sex = Attribute(np.repeat([0, 1, -1], [10, 12, 3]), ("F", "M"))
    >>> score = [71, 64, 64, 58, 80, 55, 64, 49, 62, 77, 64, 69, 83, 90, 64, 72, 58, 66, 75, 61, 88,
    ...          70, 64, 59, 93]
    >>> found = profile_tables(load_profile("nyc-ll144"), {"sex": sex}, score=score)
    >>> found.absent
    ('race/ethnicity',)
    >>> found.tables[0].median, found.tables[0].rows["ratio_to_highest"].round(2).tolist()
    (64.0, [0.45, 1.0])
    """
    inputs = _inputs(attributes, selected, score)

    def counts(names: Sequence[str], kind: str) -> GroupCounts | None:
        return _counts(attributes, names, kind, inputs) if kind in inputs else None

    return counted_tables(profile, attributes, counts, reference, leave_out_small)


def counted_tables(
    profile: Profile,
    attributes: Mapping[str, Any],
    counts: Callable[[Sequence[str], str], "GroupCounts | None"],
    reference: Mapping[str, Any] | None,
    leave_out_small: bool,
) -> ProfileTables:
    """Return the tables that a profile asks for, from numbers of people.

    ``counts`` returns those of one attribute or two crossed ones, for rates of one kind
    (``"selection"`` or ``"scoring"``), or None if they are not known. The other parameters are
    those of `profile_tables`.
    """
    columns = profile.columns_of(attributes)
    absent = tuple(each.name for each in profile.attributes if each.name not in columns)
    chosen = dict(reference if reference is not None else {})
    if reference is None and isinstance(profile.reference, dict):
        chosen = dict(profile.reference)
    tables, reasons = [], []
    for wanted in profile.tables:
        if any(name in absent for name in wanted.by):
            continue
        names = [columns[name] for name in wanted.by]
        given = [chosen.get(name, chosen.get(columns[name])) for name in wanted.by]
        compared = None if None in given else " & ".join(str(group) for group in given)
        made = {kind: counts(names, kind) for kind in wanted.rates}
        if all(each is None for each in made.values()):
            lacking = " or ".join({"selection": "decisions", "scoring": "scores"}[each]
                                  for each in wanted.rates)  # fmt: skip
            reasons.append(f"{' x '.join(wanted.by)}: the data have no {lacking}")
        tables += [
            _table(profile, wanted, kind, each, compared, leave_out_small)
            for kind, each in made.items()
            if each is not None
        ]
    return ProfileTables(tuple(tables), absent, tuple(reasons))


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Numbers of people behind the rates of one table.

    Attributes
    ----------
    groups : tuple of str
        Names of the groups.
    people, selected : ndarray
        People of each group who were counted, and those selected (or scored above the median).
    unknown_people, unknown_selected
        The same of people whose group is unknown.
    undecided : int
        People who are not counted.
    median : float
        The median score; NaN for selections.
    gap : callable, optional
        The gap between the scores of two groups, given by their numbers.
    """

    groups: tuple[Any, ...]
    people: np.ndarray
    selected: np.ndarray
    unknown_people: int
    unknown_selected: float
    undecided: int
    median: float = float("nan")
    gap: Callable[[int, int], float] | None = None


def _counts(
    attributes: Mapping[str, Attribute],
    names: Sequence[str],
    kind: str,
    inputs: Mapping[str, np.ndarray],
) -> GroupCounts:
    """Return the numbers of people of one or two crossed attributes from arrays."""
    parts = [attributes[name] for name in names]
    attribute = parts[0] if len(parts) == 1 else _crossed(parts[0], parts[1])
    values, median, score = inputs[kind], float("nan"), inputs.get("scoring")
    counted = ~np.isnan(values)
    if kind == "scoring":
        if not counted.any():
            raise DataError("score must have at least one score, and all are missing")
        median = float(np.median(values[counted]))
        values = np.where(counted, values > median, np.nan)
    known, size = counted & (attribute.codes >= 0), len(attribute.categories)
    unknown = counted & (attribute.codes < 0)
    return GroupCounts(
        attribute.categories,
        np.bincount(attribute.codes[known], minlength=size),
        np.bincount(attribute.codes[known], values[known], size),
        int(unknown.sum()),
        float(values[unknown].sum()),
        int((~counted).sum()),
        median,
        None if score is None else lambda one, other: _gap(attribute.codes, score, one, other),
    )


def _crossed(first: Attribute, second: Attribute) -> Attribute:
    """Return all combinations of groups, also those without people; unknown if one label is."""
    codes = first.codes.astype(np.int64) * len(second.categories) + second.codes
    codes = np.where((first.codes < 0) | (second.codes < 0), -1, codes)
    names = tuple(f"{one} & {other}" for one in first.categories for other in second.categories)
    return Attribute(codes, names)


def _inputs(
    attributes: Mapping[str, Attribute], selected: Any, score: Any
) -> dict[str, np.ndarray]:
    """Return the arrays of both kinds of rates, checked."""
    lengths = {name: len(each.codes) for name, each in attributes.items()}
    found: dict[str, np.ndarray] = {}
    for kind, argument, values in (
        ("selection", "selected", selected),
        ("scoring", "score", score),
    ):
        if values is None:
            continue
        array = np.asarray(values, dtype=np.float64)
        for name, length in lengths.items():
            if array.shape != (length,):
                raise DataError(
                    f"{argument} must have one value per person of {name} ({length}), "
                    f"got shape {array.shape}"
                )
        wrong = (array < 0) | (array > 1) if kind == "selection" else np.isinf(array)
        if wrong.any():
            at = int(wrong.argmax())
            expected = "from 0 to 1" if kind == "selection" else "a finite number"
            raise DataError(f"{argument} must be {expected}, got {array[at]:g} in row {at}")
        found[kind] = array
    return found


def _table(
    profile: Profile,
    wanted: ProfileTable,
    kind: str,
    counts: GroupCounts,
    reference: str | None,
    leave_out_small: bool,
) -> RateTable:
    rows = rate_table(
        counts.groups,
        counts.people,
        counts.selected,
        reference=reference,
        small_share=profile.small_share,
        leave_out_small=leave_out_small,
    )
    rows = _with_statistics(rows, wanted.statistics, counts.gap, reference)
    return RateTable(
        wanted.by,
        kind,
        rows,
        reference,
        counts.unknown_people,
        counts.unknown_selected,
        counts.undecided,
        counts.median,
    )


def _with_statistics(
    rows: Table,
    wanted: Sequence[str],
    gap: Callable[[int, int], float] | None,
    reference: str | None,
) -> Table:
    """Return the rows with the statistics against the reference, or the highest rate."""
    used = ~rows["left_out"] & (rows["people"] > 0)
    if not wanted or not used.any():
        return rows
    if reference is None:
        at = int(np.where(used, rows["rate"], -1.0).argmax())
    else:
        at = rows["group"].tolist().index(reference)
    others = used & (np.arange(len(rows)) != at)
    selected, people = rows["selected"], rows["people"]
    counts = selected[others], people[others], selected[at], people[at]
    whole = bool(np.all(np.abs(selected - np.round(selected)) < 1e-9))
    columns: dict[str, np.ndarray] = {}

    def add(name: str, values: Any) -> None:
        columns[name] = np.full(len(rows), np.nan)
        columns[name][others] = values

    if others.any():
        if "z" in wanted:
            add("z", two_proportion_z(*counts).statistic)
            ratio = selection_ratio(*counts)
            add("low", ratio.low)
            add("high", ratio.high)
        if "fisher" in wanted and whole:
            add("fisher", fisher_exact(*counts).p_value)
        if "shortfall" in wanted:
            pairs = zip(counts[0].tolist(), counts[1].tolist(), strict=True)
            add("shortfall", [shortfall(a, n, *counts[2:]).estimate for a, n in pairs])
        if "flip" in wanted and whole:
            moved = flips(*counts)
            columns["flip"] = np.full(len(rows), None, dtype=object)
            columns["flip"][others] = moved.flip.tolist()
            add("to_four_fifths", moved.to_four_fifths)
        if "score_gap" in wanted and gap is not None:
            add("score_gap", [gap(code, at) for code in np.flatnonzero(others).tolist()])
    return Table({**rows.columns, **columns})


def _gap(codes: np.ndarray, score: np.ndarray, code: int, other: int) -> float:
    side = np.where(codes == code, 1, np.where(codes == other, 0, -1))
    return score_gap(score, side).g
