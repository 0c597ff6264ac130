"""The plan of per-list sums: what is measured of every list, fixed before the first is read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import combinations
from types import UnionType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from . import list_samples
from .attribute import Attribute
from .data import RankingData
from .errors import DataError, FormatError, listed, suggest
from .metric import GroupMetric, Metric
from .named_groups import named_groups
from .outcomes import DecisionRule
from .params import Integer, check_params
from .registry import parse_metrics

__all__ = [
    "BANDS",
    "MOST_GRADES",
    "MOST_PAIRED",
    "MOST_PREFIXED",
    "TIMES",
    "SumsPlan",
    "Survey",
    "View",
    "choose_ks",
    "choose_step",
    "fits",
    "n_twins_of",
]


#: Version of the format of stored sums; format 6 added people of several rows, and digests.
FORMAT = 6
#: Joins the names of crossed attributes.
TIMES = " x "
#: Default cutoffs, used if the lists are longer.
DEFAULT_KS = (10, 50)
#: Most groups of an attribute that are compared pair by pair, and prefix by prefix.
MOST_PAIRED, MOST_PREFIXED = 12, 50
#: Most grades of relevance that are strata themselves; more are cut into bands.
MOST_GRADES, BANDS = 10, 20
#: Metrics of every audit with relevance.
RELEVANCE_METRICS = ("NDCG@10", "Precision@10", "AveragePrecision")
#: Lists times twins that make the noise of twins small, and most twins of a list.
TWIN_LISTS, MOST_TWINS = 200_000, 99


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of a whole data set before its lists are measured.

    Attributes
    ----------
    groups : mapping of str to tuple
        The groups of each attribute, in the order of their codes (sorted as by `as_ranking_data`).
    lengths : mapping of int to int
        List length to number of lists.
    grades : mapping of float to int, or None
        Relevance to number of rows; None without relevance.
    score, position : bool
        Whether there are scores, and given positions (which then state the order).
    median_score : float or None
        Median score of everybody; None if scores are not compared.
    max_grade : float or None
        The largest relevance of the whole data set; None if it is the largest of ``grades``.
    """

    groups: Mapping[str, tuple[Any, ...]]
    lengths: Mapping[int, int]
    grades: Mapping[float, int] | None = None
    score: bool = True
    position: bool = False
    median_score: float | None = None
    max_grade: float | None = None

    @property
    def n_lists(self) -> int:
        """Number of lists."""
        return sum(self.lengths.values())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(length * count for length, count in self.lengths.items())

    @property
    def median(self) -> float:
        """Median length."""
        sizes = sorted(self.lengths)
        ends = np.cumsum([self.lengths[size] for size in sizes])
        at = [int(np.searchsorted(ends, rank, side="right")) for rank in _middle(self.n_lists)]
        return (sizes[at[0]] + sizes[at[1]]) / 2.0

    @classmethod
    def of(cls, data: RankingData, scored: bool = False) -> "Survey":
        """Return the survey of data in memory; ``scored`` says that scores are compared."""
        grades = None
        if data.y is not None:
            grades = _grades_of(np.asarray(data.y))
        sizes, counts = np.unique(np.diff(data.offsets), return_counts=True)
        return cls(
            {name: attribute.categories for name, attribute in data.sensitive.items()},
            dict(zip(sizes.tolist(), counts.tolist(), strict=True)),
            grades,
            data.score is not None,
            data.position is not None,
            float(np.median(data.score)) if scored and data.score is not None else None,
            data.max_grade,
        )


def _grades_of(y: np.ndarray) -> dict[float, int]:
    whole = y.astype(np.int64) if y.max() < 1024 else np.zeros(0)
    if len(whole) and (whole == y).all():
        counts = np.bincount(whole)
        return {float(grade): int(counts[grade]) for grade in np.flatnonzero(counts).tolist()}
    values, found = np.unique(y, return_counts=True)
    return dict(zip(values.astype(float).tolist(), found.tolist(), strict=True))


def _middle(n: int) -> tuple[int, int]:
    return (n - 1) // 2, n // 2


def choose_ks(k: Any, median: float) -> tuple[int, ...]:
    """Return the given cutoffs; else 10 and 50 if lists are longer, else half a list.

    Examples
    --------
    >>> choose_ks(None, 53.0), choose_ks(None, 20.0), choose_ks(None, 8.0), choose_ks(5, 8.0)
    ((10, 50), (10,), (4,), (5,))
    """
    if k is None:
        return tuple(each for each in DEFAULT_KS if each < median) or (max(1, int(median // 2)),)
    several = tuple(k) if isinstance(k, Iterable) and not isinstance(k, str) else (k,)
    if not several:
        raise DataError("k must contain at least one cutoff, got none")
    for each in several:
        check_params("audit", {"k": each}, {"k": Integer(1)})
    return tuple(sorted({int(each) for each in several}))


def choose_step(median: float) -> int:
    """Return the step between prefixes: 10, or a fifth of lists shorter than 50."""
    return 10 if median >= 50 else max(2, int(median // 5))


def n_twins_of(n_lists: int) -> int:
    """Return the number of relabellings of each list: 99 of few lists, 1 of very many.

    Examples
    --------
    >>> n_twins_of(100), n_twins_of(40_000), n_twins_of(10**9)
    (99, 5, 1)
    """
    return min(MOST_TWINS, max(1, -(-TWIN_LISTS // n_lists)))


class View(NamedTuple):
    """Some people of each list, who have sums of their own.

    Attributes
    ----------
    key : tuple of str
        The attributes of two groups that are compared; empty for all groups.
    group, against : str
        The group and its reference, if there is a key.
    decision : int
        The decision about the people, if it was not made about everyone; -1 for everyone.
    values : str
        What is compared: ``"score"``, ``"change"`` since another ranking, or an NDCG by group;
        empty for positions, exposure and decisions.
    """

    key: tuple[str, ...]
    group: str
    against: str
    decision: int
    values: str = ""


@dataclass(frozen=True, eq=False)
class SumsPlan:
    """What is measured of every list.

    Attributes
    ----------
    groups : dict of str to tuple
        The groups of each attribute, in the order of their codes.
    cross : bool
        Whether every two attributes are crossed.
    ks : tuple of int
        Cutoffs; empty if ``rule`` decides otherwise.
    step : int
        Step between the prefixes of RND.
    n_twins : int
        Relabellings of every list for the tests of gaps.
    relevance, score, position : bool
        Which columns there are.
    limits : tuple of float
        Upper ends of the strata of relevance; empty without comparisons given relevance.
    trend : bool
        Whether strata are bands of relevance, so that its trend is removed from positions.
    metrics : tuple of str
        Metrics without groups, and further ones of groups, bound to their attribute.
    rule : DecisionRule
        The way in which people are selected.
    ties : {"average", "stable"}
        As in `audit`.
    seed : int
        Seed of the relabellings.
    reference : dict of str to str
        Attributes (or ``"sex x race"``) whose groups are compared with one of them.
    median : float or None
        Median score, above which the share of each group is compared; None to compare no scores.
    gains : tuple of str
        Metrics (NDCG) that are compared by group, given relevance.
    changed : bool
        Whether the lists are compared with another ranking of the same people.
    cut : int or None
        Number of positions that are compared with the other ranking; None for all.
    max_grade : float
        The largest relevance of the whole data set.
    by, control : tuple of str
        Attributes by whose groups metrics are split, and within whose groups; empty for none.
    """

    groups: dict[str, tuple[Any, ...]]
    ks: tuple[int, ...]
    step: int
    n_twins: int
    cross: bool = True
    relevance: bool = False
    score: bool = True
    position: bool = False
    limits: tuple[float, ...] = ()
    trend: bool = False
    metrics: tuple[str, ...] = ()
    rule: DecisionRule = field(default_factory=DecisionRule)
    ties: Literal["average", "stable"] = "average"
    seed: int = 0
    reference: dict[str, str] = field(default_factory=dict)
    median: float | None = None
    gains: tuple[str, ...] = ()
    changed: bool = False
    cut: int | None = None
    max_grade: float = 0.0
    by: tuple[str, ...] = ()
    control: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        survey: Survey,
        *,
        k: Any = None,
        cross: bool = True,
        metrics: Sequence[Any] = (),
        rule: DecisionRule | None = None,
        ties: Literal["average", "stable"] = "average",
        seed: int = 0,
        reference: Any = None,
        scored: bool = False,
        changed: bool = False,
        cut: int | None = None,
        by: Any = None,
        control: Any = None,
    ) -> "SumsPlan":
        """Return the plan of a data set that was surveyed.

        Parameters
        ----------
        survey : Survey
            Of the whole data.
        k, cross, metrics, ties
            As in `audit`.
        rule : DecisionRule, optional
            The way in which people are selected, if it is not the top k.
        seed : int
            Seed of the relabellings.
        reference, scored : optional
            As in `audit`.
        changed, cut
            Whether the lists are compared with another ranking, and how many positions of it.
        by, control
            As in `evaluate`.
        """
        if survey.n_lists == 0:
            raise DataError("data must have at least one row, got none")
        if scored and survey.median_score is None:
            raise DataError("scored must be False for data without scores")
        rule = DecisionRule(k=k) if rule is None else rule
        decided = bool(rule.columns()) or bool(rule.cutoff)
        grades = survey.grades
        usual = RELEVANCE_METRICS if grades is not None else ()
        limits, trend = _strata(grades) if grades is not None else ((), False)
        return cls(
            {name: tuple(labels) for name, labels in survey.groups.items()},
            () if decided else choose_ks(rule.k, survey.median),
            choose_step(survey.median),
            n_twins_of(survey.n_lists),
            cross,
            grades is not None,
            survey.score,
            survey.position,
            limits,
            trend,
            tuple(dict.fromkeys([*usual, *_bound(metrics, survey)])),
            rule,
            ties,
            seed,
            _references(reference, survey.groups, cross),
            survey.median_score if scored else None,
            tuple(_gains(metrics)) if limits and not trend else (),
            changed,
            cut,
            _largest(grades) if survey.max_grade is None else survey.max_grade,
            _names(by),
            _names(control),
        )

    @cached_property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """The attributes, then every two crossed."""
        single: list[tuple[str, ...]] = [(name,) for name in self.groups]
        return (*single, *(combinations(self.groups, 2) if self.cross else ()))

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of groups of each key; every combination of two crossed attributes is one."""
        return np.array([np.prod([len(self.groups[n]) for n in key]) for key in self.keys], int)

    @cached_property
    def first(self) -> np.ndarray:
        """Index of the first group of each key among all groups, and their number at the end."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @property
    def n_groups(self) -> int:
        """Number of groups of all keys."""
        return int(self.first[-1])

    def labels(self, key: tuple[str, ...]) -> list[str]:
        """Return the names of the groups of a key, in the order of their codes."""
        parts = [[str(label) for label in self.groups[name]] for name in key]
        if len(parts) == 1:
            return parts[0]
        return [f"{one} & {other}" for one in parts[0] for other in parts[1]]

    @cached_property
    def group_names(self) -> list[tuple[tuple[str, ...], str]]:
        """Key and name of every group."""
        return [(key, label) for key in self.keys for label in self.labels(key)]

    def place(self, index: int) -> tuple[int, int]:
        """Return key and code of a group, given by its number among all groups."""
        key = int(np.searchsorted(self.first, index, side="right")) - 1
        return key, index - int(self.first[key])

    def codes_of(self, codes: np.ndarray, key: int) -> np.ndarray:
        """Return the code of each row in a key, -1 if unknown, from those of the attributes."""
        names = list(self.groups)
        parts = [names.index(name) for name in self.keys[key]]
        if len(parts) == 1:
            return codes[:, parts[0]]
        one, other = codes[:, parts[0]], codes[:, parts[1]]
        code = one * len(self.groups[names[parts[1]]]) + other
        return np.where((one < 0) | (other < 0), -1, code)

    @cached_property
    def decisions(self) -> tuple[dict[str, Any], ...]:
        """What decides, for each decision: cutoffs, or the one of the rule."""
        if self.ks:
            return tuple({"k": k} for k in self.ks)
        if self.rule.stages:
            last = {"stage": self.rule.stages[-1], "overall": True}
            return (*({"stage": name} for name in self.rule.stages), last)
        name = {"selected": "column", "quota": "quota", "cutoff": "cutoff"}
        way = next(way for way in name if getattr(self.rule, way))
        return ({name[way]: getattr(self.rule, way)},)

    @property
    def n_decisions(self) -> int:
        """Number of decisions."""
        return len(self.decisions)

    @cached_property
    def needs(self) -> frozenset[str]:
        """What the metrics need of the data, as `Metric.needs` names it."""
        several = [metric.needs for name in self.metrics for metric in parse_metrics(name)]
        return frozenset().union(*several)

    @cached_property
    def views(self) -> tuple[View, ...]:
        """Who is measured apart: those decided about, and each group with its reference.

        Scores, gains and changes are measured of everyone, and of each group with its reference.
        """
        if not self.groups:
            return ()
        some = bool(self.rule.columns()) and not self.rule.quota
        decisions = range(self.n_decisions) if some else range(0)
        found = [View((), "", "", at) for at in decisions]
        found += [View((), "", "", -1, name) for name in self.given_values]
        for key in self.keys:
            against = self.reference.get(TIMES.join(key))
            for group in self.labels(key) if against is not None else ():
                if against is not None and group != against:
                    found += [View(key, group, against, at) for at in (-1, *decisions)]
                    found += [View(key, group, against, -1, name) for name in self.given_values]
        return tuple(found)

    @cached_property
    def unchanged(self) -> "SumsPlan":
        """The plan without changes of people since another ranking."""
        return replace(self, changed=False, cut=None) if self.changed else self

    @property
    def given_values(self) -> tuple[str, ...]:
        """What is compared beside positions, exposure and decisions, as views name it."""
        scores = () if self.median is None else ("score",)
        return (*scores, *self.gains, *(("change",) if self.changed else ()))

    @property
    def designs(self) -> list[str]:
        """Ways to shuffle labels: among everyone, given relevance, given each attribute."""
        several = list(self.groups) if len(self.groups) > 1 else []
        return ["", *(["relevance"] if self.limits else []), *several]

    @cached_property
    def gaps(self) -> list[tuple[str, tuple[str, ...]]]:
        """Name and key of the gap metrics that are measured with all groups."""
        found = [("ExposureGap", key) for key in self.keys]
        single = [key for key in self.keys if len(key) == 1]
        found += [("RND", key) for key in single if len(self.groups[key[0]]) <= MOST_PREFIXED]
        if self.relevance:
            found += [("DisparateTreatment", key) for key in single]
            few = [key for key in single if len(self.groups[key[0]]) <= MOST_PAIRED]
            found += [("GroupPairwiseAccuracy", key) for key in few]
        return found

    @cached_property
    def targets(self) -> list[tuple[str, tuple[str, ...], str | None]]:
        """Metric, key and group of every measured gap; the group None is the worst of all."""
        return [
            (name, key, group) for name, key in self.gaps for group in [None, *self.labels(key)]
        ]

    def with_groups(self, other: "SumsPlan") -> "SumsPlan":
        """Return the plan with the groups of both; other differences are an error."""
        for name in self.comparable:
            mine, theirs = self.comparable[name], other.comparable[name]
            if mine != theirs:
                raise DataError(
                    f"sums must have the same plan to be added, and {name} differs: {mine!r} and "
                    f"{theirs!r}"
                )
        groups = self._groups_with(other.groups)
        return replace(self, groups=groups, n_twins=min(self.n_twins, other.n_twins))

    def extended(self, survey: Survey) -> "SumsPlan":
        """Return the plan for further data, whose groups may be new; attributes must be these.

        Examples
        --------
        >>> plan = SumsPlan.of(Survey({"sex": ("f", "m")}, {10: 5}))
        >>> plan.extended(Survey({"sex": ("f", "x")}, {50: 5})).groups
        {'sex': ('f', 'm', 'x')}
        """
        if set(survey.groups) != set(self.groups):
            raise DataError(
                f"the data must have the attributes of the plan ({listed(self.groups)}), got "
                f"{listed(survey.groups)}"
            )
        groups = self._groups_with(survey.groups)
        return replace(self, groups=groups, n_twins=n_twins_of(survey.n_lists))

    def _groups_with(self, others: Mapping[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
        """Return the groups of each attribute, with those of others."""
        return {
            name: tuple(sorted({*mine, *others[name]}, key=_sorting))
            for name, mine in self.groups.items()
        }

    @cached_property
    def comparable(self) -> dict[str, Any]:
        """The fields that two sums must share, by name."""
        found = {"attributes": list(self.groups)} | self.to_json()
        return {name: v for name, v in found.items() if name not in ("groups", "n_twins")}

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        found = {**asdict(self), "format": FORMAT}
        found["groups"] = {name: list(labels) for name, labels in self.groups.items()}
        rule = {name: v for name, v in found["rule"].items() if name != "k"}
        return (
            found
            | {"rule": rule | {"stages": list(self.rule.stages)}}
            | {name: list(found[name]) for name in _TUPLES}
        )

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], where: str) -> "SumsPlan":
        """Return a stored plan; a newer format is an error."""
        given = dict(stored)
        version = given.pop("format", None)
        if type(version) is not int or not 0 < version <= FORMAT:
            raise FormatError(
                f"{where} must be sums of format {FORMAT} or older, got {version!r}; a newer "
                "equirank reads them"
            )
        given["groups"] = {name: _tuple(labels) for name, labels in given["groups"].items()}
        rule = given["rule"]
        given["rule"] = DecisionRule(**rule | {"stages": _tuple(rule["stages"])})
        for name in _TUPLES:
            given[name] = _tuple(given.get(name, []))
        given.setdefault("max_grade", max(given["limits"], default=0.0))  # until format 4
        plan = cls(**given)
        for part in (plan, plan.rule):
            for name, hint in get_type_hints(type(part)).items():
                if not fits(getattr(part, name), hint):
                    raise FormatError(f"{where} is damaged: {name} of its plan has another type")
        plan._check()
        return plan

    def _check(self) -> None:
        """Raise unless the values of a plan that was read belong together."""
        if min([*self.ks, self.step, self.n_twins]) < 1:
            raise DataError("ks, step and n_twins must be at least 1")
        if not fits(self.groups, dict[str, tuple[str | float | bool, ...]]):
            raise DataError("groups must be texts and numbers")
        keys = {TIMES.join(key): key for key in self.keys}
        if any(group not in self.labels(keys[name]) for name, group in self.reference.items()):
            raise DataError("reference must name groups of the plan")
        _ = self.views, self.targets, self.needs, self.decisions  # they fail if they cannot be made


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value read from JSON has a type; a whole number is a float, too.

    Examples
    --------
    >>> fits((1, 2), tuple[int, ...]), fits((1, "a"), tuple[int, ...]), fits(True, int)
    (True, False, False)
    """
    kind, parts = get_origin(hint), get_args(hint)
    if kind is UnionType:
        return any(fits(value, part) for part in parts)
    if kind is Literal:
        return value in parts
    if kind in (tuple, list):
        return isinstance(value, kind) and all(fits(each, parts[0]) for each in value)
    if kind is dict:
        return isinstance(value, dict) and all(
            fits(name, parts[0]) and fits(each, parts[1]) for name, each in value.items()
        )
    if hint is Any or hint is bool:
        return hint is Any or isinstance(value, bool)
    if hint is float:
        return fits(value, int) or (isinstance(value, float) and bool(np.isfinite(value)))
    return isinstance(value, hint) and not isinstance(value, bool)


def _tuple(given: Any) -> tuple[Any, ...]:
    if not isinstance(given, list):
        raise TypeError(f"{given!r} must be a list")
    return tuple(given)


def _references(given: Any, groups: Mapping[str, tuple[Any, ...]], cross: bool) -> dict[str, str]:
    """Return the reference group of each attribute that has one."""
    labels = {name: tuple(map(str, each)) for name, each in groups.items()}
    for one, other in combinations(groups, 2) if cross else ():
        crossed = tuple(f"{a} & {b}" for a in labels[one] for b in labels[other])
        labels[TIMES.join((one, other))] = crossed
    known = {name: Attribute(np.zeros(0, np.int32), each) for name, each in labels.items()}
    found: dict[str, str] = {}
    for name, group in named_groups(given, known, "reference"):
        if name not in known:
            hint = suggest(name, list(known))
            raise DataError(
                f"reference must name one of the attributes {listed(known)}, got {name!r}{hint}"
            )
        label = labels[name][known[name].code(str(group), f"reference of {name!r}")]
        if found.setdefault(name, label) != label:
            raise DataError(f"reference must be one group of {name!r}, got 2")
    return found


#: Fields of a plan that are stored as lists.
_TUPLES = ("ks", "limits", "metrics", "gains", "by", "control")


def _names(by: Any) -> tuple[str, ...]:
    """Return the names of an attribute, of several, or of none."""
    return () if by is None else (by,) if isinstance(by, str) else tuple(by)


def _largest(grades: Mapping[float, int] | None) -> float:
    return max(grades, default=0.0) if grades is not None else 0.0


def _bound(metrics: Sequence[Any], survey: Survey) -> Iterable[str]:
    """Yield the names of metrics; those of groups without an attribute once per attribute.

    A metric that is no mean over lists needs their rows, so it is left to these if every list is
    kept.
    """
    most_lists, most_rows = list_samples.MOST_LISTS, list_samples.MOST_ROWS
    kept = survey.n_lists <= most_lists and survey.n_rows <= most_rows
    for metric in [each for given in metrics for each in parse_metrics(given)]:
        if type(metric).summarize is not Metric.summarize:
            if kept:
                continue
            raise DataError(f"{metric} is no mean over lists, so sums of lists cannot contain it")
        if isinstance(metric, GroupMetric) and metric.by is None:
            yield from (str(replace(metric, by=name)) for name in survey.groups)
        else:
            yield str(metric)


def _gains(metrics: Sequence[Any]) -> Iterable[str]:
    """Yield the names of metrics whose gains can be compared by group."""
    for metric in [each for given in metrics for each in parse_metrics(given)]:
        if hasattr(metric, "item_gains"):
            yield str(metric)


def _sorting(label: Any) -> tuple[bool, Any]:
    """Order labels as `as_ranking_data` does: numbers first, then texts."""
    return isinstance(label, str), label


def _strata(grades: Mapping[float, int]) -> tuple[tuple[float, ...], bool]:
    """Return the upper ends of the strata of relevance, and whether they are bands of it."""
    values = np.array(sorted(grades))
    if len(values) <= MOST_GRADES:
        return tuple(values.tolist()), False
    ends = np.cumsum([grades[value] for value in values.tolist()]) - 1
    band = ends * BANDS // int(ends[-1] + 1)
    last = np.append(np.flatnonzero(np.diff(band)), len(values) - 1)
    return tuple(values[last].tolist()), True
