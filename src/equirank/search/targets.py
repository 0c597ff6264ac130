"""Targets of a remedy: a comparison of groups, in the grammar of gates, and its value."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from shlex import quote
from statistics import NormalDist
from typing import Any

import numpy as np

from ..auditing.audit_plan import TIMES
from ..auditing.gates import AnyFinding, GroupGate, MetricGate, read_gate
from ..core.attribute import Attribute
from ..core.data import RankingData
from ..core.errors import DataError, suggest
from ..core.evaluate import evaluate
from ..core.metric import GroupMetric
from ..core.ranking import Ranking
from ..core.rules import SIGNS
from ..core.shuffles import bootstrap_t
from ..kernels.discounts import discounts
from ..kernels.segments import divide, segment_sum
from ..reports.number_words import plain_column
from ..statistics import mantel_haenszel
from .list_selection import RULES, Selection

__all__ = [
    "FEWEST_LISTS",
    "Estimate",
    "GroupTarget",
    "MetricTarget",
    "Target",
    "crossed_target",
    "read_target",
    "target_of_claim",
]

#: Lists from which on intervals are about lists to come, as in audits.
FEWEST_LISTS = 20
#: A limit is reached within this share of it, so that rounding does not decide.
ROUNDING = 1e-9
#: The kind of target of each quantity, as re-rankers name it in ``acts_on``.
KINDS = {
    "selected": "selected",
    "exposure": "exposure",
    "above": "position",
    "positions": "position",
}
#: Draws of the chance value of a metric.
N_PERMUTATIONS = 199


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval.

    Attributes
    ----------
    value, low, high : float
        The number and its interval.
    units : str
        What the interval is about: ``"lists"`` to come, or the ``"people"`` of these lists.
    group : str
        The group whose value it is.
    """

    value: float
    low: float = float("nan")
    high: float = float("nan")
    units: str = ""
    group: str = ""


@dataclass(frozen=True, eq=False)
class _Sides:
    """Two sides of a comparison: per row 1 for the group, 0 for the other side, -1 for neither."""

    group: str
    side: np.ndarray
    query: np.ndarray
    offsets: np.ndarray

    @property
    def n_queries(self) -> int:
        """Number of lists."""
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """People of the group and of the other side in each list."""
        n1, n2 = (
            np.bincount(self.query[self.side == each], minlength=self.n_queries).astype(float)
            for each in (1, 0)
        )
        return n1, n2

    @cached_property
    def used(self) -> np.ndarray:
        """Whether each list contains both."""
        return (self.sizes[0] > 0) & (self.sizes[1] > 0)

    def sums(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of both sides in each list."""
        first, second = (segment_sum(values * mask, self.offsets) for mask in self._masks)
        return first, second

    @cached_property
    def _masks(self) -> tuple[np.ndarray, np.ndarray]:
        return (self.side == 1).astype(float), (self.side == 0).astype(float)

    def deviations(self, values: np.ndarray) -> np.ndarray:
        """Return the deviation of the group's sum in each list over all shuffles of labels."""
        n1, n2 = self.sizes
        n = n1 + n2
        mean = divide(sum(self.sums(values)), n)[self.query]
        squares = sum(self.sums((values - np.nan_to_num(mean)) ** 2))
        return np.sqrt(np.nan_to_num(divide(n1 * n2 * squares, n * (n - 1.0))))


class Target:
    """What a remedy must reach; see `read_target`.

    Attributes
    ----------
    text : str
        As given.
    kind : str
        What `equirank.Reranker.acts_on` calls it.
    by : str or tuple of str
        The attribute.
    sign, limit : str, float
        The comparison.
    selection : Selection or None
        Who is selected, of a target about selection.
    """

    text: str
    kind: str
    by: Any
    sign: str
    limit: float
    selection: Selection | None = None

    @property
    def upwards(self) -> bool:
        """Whether the value must be large."""
        return self.sign in (">", ">=")

    def reached(self, value: float) -> bool:
        """Return whether a value reaches the limit; rounding errors do not decide."""
        slack = ROUNDING * max(1.0, abs(self.limit))
        near = abs(value - self.limit) <= slack
        return self.sign in ("<=", ">=") if near else bool(SIGNS[self.sign](value, self.limit))

    def better(self, a: float, b: float) -> bool:
        """Return whether value a is nearer to the target, or further beyond it, than b."""
        if np.isnan(a) or np.isnan(b):
            return bool(np.isnan(b) and not np.isnan(a))
        return a > b if self.upwards else a < b

    @property
    def words(self) -> str:
        """The quantity in a few words."""
        raise NotImplementedError

    def plain_words(self, shown: Mapping[str, Mapping[str, str]]) -> str:
        """Return the quantity for people; ``shown`` are names of groups by attribute."""
        return self.words

    @property
    def wanted(self) -> str:
        """The comparison in words."""
        word = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}[self.sign]
        return f"{word} {self.limit:g}"

    def value(self, ranking: Ranking) -> float:
        """Return the value that decides."""
        raise NotImplementedError

    def measure(self, ranking: Ranking, level: float, n_boot: int, seed: int) -> Estimate:
        """Return the value with its interval."""
        raise NotImplementedError

    def per_list(self, ranking: Ranking) -> np.ndarray:
        """Return the value of each list; NaN where it is undefined."""
        raise NotImplementedError

    @property
    def mean_of_lists(self) -> bool:
        """Whether the value is the mean of the values of the lists."""
        raise NotImplementedError

    def on(self, data: RankingData, queries: np.ndarray) -> "Target":
        """Return the same target for some of the lists, and their data."""
        raise NotImplementedError

    def on_other(self, ranking: Ranking, selection: Selection | None) -> "Target":
        """Return the same target for other lists, which a quota or a cutoff may select from."""
        raise NotImplementedError

    def attribute(self, data: RankingData) -> Attribute:
        """Return the attribute."""
        return data.attribute(self.by)


class GroupTarget(Target):
    """A target about one group, or every group, of an attribute.

    Parameters
    ----------
    gate : GroupGate
        The parsed target.
    data : RankingData
        The lists.
    selection : Selection or None
        Who is selected, if the target is about that.
    """

    def __init__(self, gate: GroupGate, data: RankingData, selection: Selection | None) -> None:
        self.gate, self.text, self.sign, self.limit = gate, gate.text, gate.sign, gate.limit
        self.quantity, self.kind = gate.quantity, KINDS[gate.quantity]
        self.selection = selection
        self.by, self.group = _attribute(gate, data)
        self.data = data
        attribute = data.attribute(self.by)
        codes, query = attribute.codes, data.query_of_rows()
        labels = [self.group] if self.group else [str(each) for each in attribute.categories]
        other = None
        if gate.against != "rest":
            other = attribute.code(gate.against, f"target {gate.text!r}: the group after 'vs'")
        self.sides = []
        for label in labels:
            code = attribute.code(label, f"target {gate.text!r}: the group")
            if code == other:
                continue
            rest = (codes >= 0) & (codes != code) if other is None else codes == other
            side = np.where(codes == code, 1, np.where(rest, 0, -1)).astype(np.int8)
            self.sides.append(_Sides(label, side, query, data.offsets))
        if not any(each.used.any() for each in self.sides):
            raise DataError(f"target {gate.text!r} cannot be measured: no list contains both sides")

    @property
    def single(self) -> bool:
        """Whether it is about one group."""
        return len(self.sides) == 1

    @property
    def words(self) -> str:
        """The quantity in a few words."""
        who = f"{_name(self.by)}={self.group}" if self.group else f"any {_name(self.by)}"
        chosen = self.selection
        at = "" if chosen is None else f" at {chosen.k}" if chosen.k else f" by {chosen.words}"
        against = "" if self.gate.against == "rest" else f" vs {self.gate.against}"
        return f"{who} {self.quantity}{against}{at}"

    def plain_words(self, shown: Mapping[str, Mapping[str, str]]) -> str:
        """Return the quantity for people; ``shown`` are names of groups by attribute."""
        name, other = _name(self.by), str(self.gate.against)
        names = shown.get(name, {})
        who = f"people in each group of {plain_column(name)}"
        if self.group:
            who = names.get(self.group) or f'people in group "{self.group}" ({name})'
        rest = "everyone else" if other == "rest" else names.get(other) or f'group "{other}"'
        if self.quantity == "above":
            return f"share of pairs with {rest} in which {who} rank first"
        if self.quantity == "positions":
            return f"positions by which {who} rank lower than {rest}"
        if self.quantity == "exposure":
            among = "all people" if other == "rest" else f"these and {rest}"
            return f"exposure of {who}, as a multiple of their share of {among}"
        chosen = self.selection
        top = "" if chosen is None else f" {'in' if chosen.k else 'by'} {chosen.words}"
        return f"selection rate of {who}{top}, as a multiple of that of {rest}"

    @property
    def mean_of_lists(self) -> bool:
        """Whether the value is the mean of the values of the lists."""
        return self.quantity in ("above", "positions") and self.single

    def on(self, data: RankingData, queries: np.ndarray) -> "GroupTarget":
        """Return the same target for some of the lists, and their data."""
        chosen = None if self.selection is None else self.selection.on(queries)
        return GroupTarget(self.gate, data, chosen)

    def on_other(self, ranking: Ranking, selection: Selection | None) -> "GroupTarget":
        """Return the same target for other lists, which a quota or a cutoff may select from."""
        if self.selection is not None and self.selection.k is not None:
            selection = Selection.top(ranking.data.n_queries, self.selection.k)
        return GroupTarget(self.gate, ranking.data, selection if self.selection else None)

    def _rows(self, ranking: Ranking, sides: _Sides) -> np.ndarray:
        """Return the compared number of each row."""
        if self.selection is not None:
            return self.selection.chance(ranking)
        if self.quantity == "exposure":
            longest = int(np.diff(ranking.data.offsets).max())
            weights = discounts(longest, "log2")
            exposure = ranking.expect(lambda position: weights[: len(position)])
            total = np.bincount(sides.query, exposure, sides.n_queries)[sides.query]
            sizes = np.diff(ranking.data.offsets)[sides.query]
            return np.nan_to_num(divide(exposure * sizes, total))
        if self.quantity == "positions":
            return ranking.expect(lambda position: position.astype(float))
        among = _positions_among(ranking, sides.side >= 0)
        people = sides.sizes[0] + sides.sizes[1]
        return np.nan_to_num(divide(among, people[sides.query]))

    def _parts(self, ranking: Ranking, sides: _Sides) -> tuple[np.ndarray, np.ndarray]:
        """Return numerator and denominator of each used list, whose sums make the value."""
        first, second = sides.sums(self._rows(ranking, sides))
        n1, n2 = sides.sizes
        used = sides.used
        a, b, n1, n2 = first[used], second[used], n1[used], n2[used]
        if self.quantity == "selected":
            return a * n2 / (n1 + n2), b * n1 / (n1 + n2)
        if self.quantity == "exposure":
            return a, (a + b) * n1 / (n1 + n2)
        gap = a / n1 - b / n2
        return (gap if self.quantity == "positions" else 0.5 - gap), np.ones(len(gap))

    def _all(self, ranking: Ranking) -> tuple[list[float], list[tuple[np.ndarray, np.ndarray]]]:
        """Return the value of each group, NaN if it is undefined, and the parts of each."""
        parts = [self._parts(ranking, sides) for sides in self.sides]
        totals = [(float(x.sum()), float(y.sum())) for x, y in parts]
        return [x / y if y > 1e-12 else float("nan") for x, y in totals], parts

    def _worst(self, values: list[float]) -> int:
        known = [at for at, value in enumerate(values) if not np.isnan(value)]
        if not known:
            return 0
        return (min if self.upwards else max)(known, key=lambda at: values[at])

    def value(self, ranking: Ranking) -> float:
        """Return the value of the group, or of the one furthest from the target."""
        values, _ = self._all(ranking)
        return values[self._worst(values)]

    def per_list(self, ranking: Ranking) -> np.ndarray:
        """Return the value of each list; of several groups that of the worst over all lists."""
        values, parts = self._all(ranking)
        worst = self._worst(values)
        sides, (x, y) = self.sides[worst], parts[worst]
        found = np.full(sides.n_queries, np.nan)
        found[sides.used] = divide(x, y)
        return found

    def measure(self, ranking: Ranking, level: float, n_boot: int, seed: int) -> Estimate:
        """Return the value with its interval, as an audit does."""
        values, parts = self._all(ranking)
        worst = self._worst(values)
        value, sides, (x, y) = values[worst], self.sides[worst], parts[worst]
        ends, units = (float("nan"), float("nan")), ""
        ratio = self.quantity in ("selected", "exposure")
        if n_boot and len(x) >= FEWEST_LISTS and (not ratio or self._varies(ranking, sides)):
            ends = bootstrap_t(x, y, [level], n_boot, seed, logarithm=ratio)[0]
            units = "lists"
        if n_boot and not np.isnan(value) and (not units or (ratio and ends[0] == ends[1])):
            ends, units = self._people(ranking, sides, value, level), "people"
        return Estimate(value, *ends, units, sides.group)

    def _varies(self, ranking: Ranking, sides: _Sides) -> bool:
        """Return whether neither side has a rate, or an exposure, of 0, nor a rate of 1."""
        cells = np.stack(sides.sums(self._rows(ranking, sides)))
        if self.quantity == "selected":
            cells = np.concatenate([cells, sides.sizes - cells])
        return bool(cells[:, sides.used].sum(axis=1).min() > ROUNDING)

    def _people(
        self, ranking: Ranking, sides: _Sides, value: float, level: float
    ) -> tuple[float, float]:
        """Return the interval of few lists, about their people."""
        rows, used = self._rows(ranking, sides), sides.used
        n1, n2 = (size[used] for size in sides.sizes)
        if self.quantity == "selected":
            a, b = (part[used] for part in sides.sums(rows))
            found = mantel_haenszel(a, n1, b, n2, level=level)
            return float(found.low), float(found.high)
        z = NormalDist().inv_cdf((1.0 + level) / 2.0)
        deviations = sides.deviations(rows)[used]
        if self.quantity == "exposure":
            whole = float(self._parts(ranking, sides)[1].sum())
            width = z * float(np.sqrt((deviations**2).sum())) / whole
            return max(value - width, 0.0), value + width
        scaled = deviations * (n1 + n2) / (n1 * n2 * len(n1))
        width = z * float(np.sqrt((scaled**2).sum()))
        return value - width, value + width


class MetricTarget(Target):
    """A target about a metric that compares groups: its value corrected for chance, or bare.

    Parameters
    ----------
    gate : MetricGate
        The parsed target.
    ranking : Ranking
        The lists as they are ranked now, from which the value by chance is computed.
    seed : int
        Seed of the shuffles of that value.
    """

    kind = "metric"

    def __init__(self, gate: MetricGate, ranking: Ranking, seed: int) -> None:
        self.gate, self.text, self.sign, self.limit = gate, gate.text, gate.sign, gate.limit
        self.metric: GroupMetric = gate.metric  # type: ignore[assignment]
        data = ranking.data
        self.metric.check(data)
        by: Any = self.metric.by
        self.by = by if by is not None else next(iter(data.sensitive))
        self.by = self.by if isinstance(self.by, str) else tuple(self.by)
        self.group = "" if self.metric.protected is None else str(self.metric.protected)
        self.shift = 0.0
        if self.metric.biased and not gate.raw:
            found = evaluate(
                ranking, [self.metric], n_boot=0, n_permutations=N_PERMUTATIONS, random_state=seed
            ).result(self.metric)
            sign = 1.0 if self.metric.direction == "lower" else -1.0
            null = np.asarray([] if found.null is None else found.null)
            null = null[np.isfinite(null)]
            if len(null) == 0:
                raise DataError(f"target {gate.text!r} cannot be measured: its value is undefined")
            self.shift = self.metric.ideal - sign * float(null.mean())

    @property
    def words(self) -> str:
        """The quantity in a few words."""
        return f"{self.metric}{' above chance' if self.shift else ''}"

    @property
    def mean_of_lists(self) -> bool:
        """Whether the value is the mean of the values of the lists."""
        return type(self.metric).summarize is GroupMetric.summarize

    def on(self, data: RankingData, queries: np.ndarray) -> "MetricTarget":
        """Return the same target, whose value by chance is that of all lists."""
        return self

    def on_other(self, ranking: Ranking, selection: Selection | None) -> "MetricTarget":
        """Return the same target, whose value by chance is that of the first lists."""
        self.metric.check(ranking.data)
        return self

    def value(self, ranking: Ranking) -> float:
        """Return the value, corrected unless the target is raw."""
        found = self.metric.summarize(self.metric.per_query(ranking))[0]
        return float(found) + self.shift

    def per_list(self, ranking: Ranking) -> np.ndarray:
        """Return the value of each list."""
        return np.asarray(self.metric.per_query(ranking).value, dtype=float) + self.shift

    def measure(self, ranking: Ranking, level: float, n_boot: int, seed: int) -> Estimate:
        """Return the value with its bootstrap interval."""
        units = "lists" if ranking.data.n_queries > 1 else "people"
        value, low, high = self.value(ranking), float("nan"), float("nan")
        lists = self.per_list(ranking)
        lists = lists[~np.isnan(lists)]
        if n_boot and self.mean_of_lists and len(lists) >= FEWEST_LISTS:
            low, high = bootstrap_t(lists, np.ones(len(lists)), [level], n_boot, seed)[0]
        elif n_boot:
            options: dict[str, Any] = {"n_permutations": 0, "level": level, "random_state": seed}
            row = next(iter(evaluate(ranking, [self.metric], n_boot=n_boot, **options).summary()))
            low, high = row["low"] + self.shift, row["high"] + self.shift
        return Estimate(value, low, high, units, self.group)


def read_target(
    text: str,
    ranking: Ranking,
    ks: tuple[int, ...],
    seed: int = 0,
    selection: Selection | None = None,
) -> Target:
    """Return the target that a text states about a ranking.

    Parameters
    ----------
    text : str
        In the grammar of gates, stating what is wanted.
    ranking : Ranking
        The lists.
    ks : tuple of int
        The cutoffs that decide who is selected; a target about selection without ``at`` needs one.
    seed : int
        Seed of the value of a metric by chance.
    selection : Selection, optional
        Who is selected by a quota or a score cutoff, instead of ``ks``.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> data = as_ranking_data(score=[4, 3, 2, 1], sensitive_features={"sex": list("mmff")})
    >>> target = read_target("sex=f selected at 3 >= 0.8", data.ranking(), (10,))
    >>> target.value(data.ranking()), target.reached(0.8)
    (0.5, True)
    """
    gate, data = read_gate(text, wanted=True), ranking.data
    if not data.sensitive:
        raise DataError("sensitive must name at least one attribute, got none")
    if isinstance(gate, AnyFinding):
        raise DataError(
            f"target {text!r} must compare groups; without a target the largest finding is used"
        )
    if isinstance(gate, MetricGate):
        return _metric_target(gate, ranking, seed)
    if gate.quantity not in KINDS:
        raise DataError(_about_scores(text, gate.quantity, data))
    if gate.stage is not None:
        raise DataError(
            f"target {text!r} must not name a stage, which is decided and not ranked: keep the "
            f"people who reached it, and state how they will be selected, with {RULES}"
        )
    if gate.observed:
        raise DataError(f"target {text!r} always means the observed value; omit 'observed'")
    if gate.quantity != "selected":
        return GroupTarget(gate, data, None)
    if selection is not None and gate.k is not None:
        raise DataError(f"target {text!r} must not name a k: {selection.words} selects")
    if selection is None and gate.k is None and len(ks) != 1:
        words = ", ".join(map(str, ks))
        raise DataError(f"target {text!r} must name one cutoff, as in 'at {ks[0]}' ({words})")
    if selection is None:
        selection = Selection.top(data.n_queries, ks[0] if gate.k is None else gate.k)
    return GroupTarget(gate, data, selection)


def _about_scores(text: str, quantity: str, data: RankingData) -> str:
    """Return why no order reaches a target about scores, and what to ask for instead."""
    if quantity == "scored" and data.score is not None:
        return (
            f"target {text!r} must be about {', '.join(KINDS)} or a metric, since an order does "
            f'not change scores; cutoff "score>{float(np.median(data.score)):g}" with a target '
            "about selected compares who is above the median"
        )
    return (
        f"target {text!r} must be about {', '.join(KINDS)} or a metric, got {quantity!r}: an order "
        "does not change scores; 'above' compares how pairs of people are ranked"
    )


def _metric_target(gate: MetricGate, ranking: Ranking, seed: int) -> MetricTarget:
    if not isinstance(gate.metric, GroupMetric):
        raise DataError(
            f"target {gate.text!r} must compare groups, and {gate.metric} does not; quality is "
            "shown beside every remedy"
        )
    if gate.part:
        raise DataError(f"target {gate.text!r} must be about the value, got .{gate.part}")
    if gate.metric.by is None and len(ranking.data.sensitive) > 1:
        names = ", ".join(map(repr, ranking.data.sensitive))
        raise DataError(f"target {gate.text!r} must name one attribute with by= ({names})")
    return MetricTarget(gate, ranking, seed)


def _attribute(gate: GroupGate, data: RankingData) -> tuple[Any, str]:
    """Return the attribute of a target and its group, empty for every group."""
    names = list(data.sensitive)
    if gate.attribute:
        parts = tuple(gate.attribute.split(TIMES))
        for part in parts:
            if part not in names:
                raise DataError(
                    f"target {gate.text!r} must name one of the attributes {', '.join(names)}, "
                    f"got {part!r}{suggest(part, names)}"
                )
        known = map(str, data.attribute(parts[0]).categories)
        if len(parts) == 1 < len(names) and AND in gate.group and gate.group not in known:
            raise DataError(
                f"target {gate.text!r} must name one group of {parts[0]!r}; a group of several "
                f"attributes is written {crossed_target(data, gate.k)!r}"
            )
        return (parts[0] if len(parts) == 1 else parts), gate.group
    holders = [
        name
        for name, attribute in data.sensitive.items()
        if gate.group in map(str, attribute.categories)
    ]
    if len(holders) == 1:
        return holders[0], gate.group
    crossed = _crossed(gate.group, data)
    if crossed and not holders:
        return crossed, gate.group
    every = [str(c) for attribute in data.sensitive.values() for c in attribute.categories]
    if not holders:
        raise DataError(
            f"target {gate.text!r} must name a group of the data, got {gate.group!r}"
            f"{suggest(gate.group, every)}"
        )
    where = " and ".join(f"{name}={gate.group}" for name in holders)
    raise DataError(f"target {gate.text!r} is ambiguous: {where}")


#: Between the labels of a group of several attributes.
AND = " & "


def _crossed(group: str, data: RankingData) -> tuple[str, ...]:
    """Return the attributes of a group such as ``female & under 35``; empty if it is none."""
    names = []
    for label in group.split(AND):
        holders = [
            name
            for name, attribute in data.sensitive.items()
            if label in map(str, attribute.categories)
        ]
        names += holders if len(holders) == 1 else []
    return tuple(names) if len(set(names)) == len(names) == group.count(AND) + 1 > 1 else ()


def crossed_target(data: RankingData, k: int | None) -> str:
    """Return a target about a group of the first two attributes together, as an example.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> people = {"sex": ["f", "m"], "race": ["b", "w"]}
    >>> crossed_target(as_ranking_data(score=[2, 1], sensitive_features=people), 5)
    'sex x race=f & b selected at 5 >= 0.8'
    """
    first = list(data.sensitive)[:2]
    at = "" if k is None else f" at {k}"
    return f"{TIMES.join(first)}={data.attribute(first).categories[0]} selected{at} >= 0.8"


def _name(by: Any) -> str:
    return by if isinstance(by, str) else TIMES.join(by)


def _positions_among(ranking: Ranking, known: np.ndarray) -> np.ndarray:
    """Return the expected position of each row among the known rows of its list."""
    if known.all():
        return ranking.expect(lambda position: position.astype(float))
    found = np.zeros(len(known))
    sizes = np.diff(ranking.data.offsets)
    for share, draw in ranking.draws():
        slots = draw.slots()
        before = np.concatenate([[0.0], np.cumsum(known[slots.order])])
        place = (before[slots.begin()] + before[slots.end()] + 1.0) / 2.0 - before[slots.start]
        here = np.empty(len(known))
        here[slots.order] = place
        found += np.repeat(share, sizes) * here
    return found


#: Targets of findings: a ratio of four fifths, and 45% of the pairs.
USUAL_RATIO, USUAL_CHANCE = 0.8, 0.45


def target_of_claim(claim: Any) -> str | None:
    """Return the target of a finding: four fifths, or 45% of pairs; equality if it is beyond that.

    None if no order can be asked for it.
    """
    who = quote(f"{claim.attribute}={claim.group}")
    against = "" if claim.against == "rest" else f" vs {quote(claim.against)}"
    if claim.scope.get("given") or claim.attribute == "":
        return None
    if claim.quantity == "position":
        low, value, quantity, equal = USUAL_CHANCE, claim.shares[0], "above", 0.5
        high = 1.0 - low
    elif claim.quantity == "exposure" or (
        claim.quantity == "selected" and {"k", "cutoff", "quota"} & set(claim.scope)
    ):
        low, value, quantity, equal = USUAL_RATIO, claim.estimate, claim.quantity, 1.0
        high = 1.0 / low
    else:
        return None
    at = f" at {claim.scope['k']}" if quantity == "selected" and "k" in claim.scope else ""
    if value < equal:
        return f"{who} {quantity}{against}{at} >= {low if value < low else equal:g}"
    return f"{who} {quantity}{against}{at} <= {high if value > high else equal:g}"
