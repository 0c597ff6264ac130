"""The claims of an audit: each group compared with everyone else, tested by shuffled labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from ..core.outcomes import Decision
from ..core.shuffles import (
    Shuffled,
    bootstrap_t,
    critical_value,
    family_p,
    holm,
    normal_p,
    own_p,
    shuffle_labels,
)
from ..kernels.segments import divide
from ..reports.claims import Claim, effect_size
from ..statistics import exact_over_lists, mantel_haenszel, score_gap
from .audit_plan import Plan
from .people import Partition, People, Values, known_codes, list_ranks, make_values

__all__ = [
    "FEWEST_LISTS",
    "FEWEST_PEOPLE",
    "MOST_GRADES",
    "Ends",
    "Tested",
    "by_chance",
    "direction_of",
    "finish",
    "first_claim",
    "given_relevance",
    "group_blocks",
    "group_chance",
    "interval_levels",
    "mean_ends",
    "tested",
]


#: Fewest people on both sides of a tested comparison.
FEWEST_PEOPLE = 5
#: Lists from which on the intervals describe lists to come; below, these people.
FEWEST_LISTS = 20
#: Counts may differ by this much from whole numbers, from rounding.
WHOLE = 1e-6
#: More than the number of decisions, to order the claims of a group.
MANY = 1_000_000
#: Power of the detectable difference.
POWER = 0.8
#: Relevance with more values is cut into bands, and its trend is removed from positions.
MOST_GRADES, BANDS = 10, 20
#: Lists whose lengths differ by more than this factor are compared by the chance of pairs.
LENGTH_FACTOR = 2.0


@dataclass(frozen=True, eq=False)
class Tested:
    """A claim before the correction for the report, with its observed and drawn statistic."""

    claim: Claim
    z: float
    draws: np.ndarray
    deviation: float
    order: tuple[int, int] = (0, 0)
    exact: float = float("nan")


def group_blocks(plan: Plan, people: People) -> list[list[Tested]]:
    """Return the claims of an audit in blocks that share an error rate.

    (i) differences in position, exposure and selection, (ii) differences in position given
    relevance or given another attribute.
    """
    whole = [each for each in plan.decisions if each.among is None]
    values = make_values(plan.ranking, whole, people, ordered=plan.ordered, scored=plan.scored)
    sets = _shuffled_sets(plan, people, values)
    block = [tested for each in sets for tested in _claims_of_set(plan, people, values, each)]
    for at, decision in enumerate(plan.decisions):
        if decision.among is not None:
            block += _claims_among(plan, people, decision, at)
    block.sort(key=lambda each: each.order)
    return [block, _block_two(plan, people, values) if plan.ordered else []]


@dataclass(frozen=True, eq=False)
class ShuffledSet:
    """Partitions whose labels were shuffled together.

    Attributes
    ----------
    found : Shuffled
        The statistics; its groups are those of ``groups`` in this order.
    groups : list of int
        The partitions.
    sizes : ndarray
        Number of people in each list.
    """

    found: Shuffled
    groups: list[int]
    sizes: np.ndarray


def shuffle_set(
    people: People,
    groups: list[int],
    rows: Any,
    values: Values,
    sizes: np.ndarray,
    n_draws: int,
    seed: int,
    **options: Any,
) -> ShuffledSet:
    """Shuffle the labels of some rows, and compare some partitions."""
    found = shuffle_labels(
        people.query[rows],
        people.pattern[rows],
        people.vectors[rows],
        people.sides[groups],
        values.columns[rows],
        values.averaged,
        n_draws,
        seed,
        n_queries=len(sizes),
        **options,
    )
    return ShuffledSet(found, groups, sizes)


def _shuffled_sets(plan: Plan, people: People, values: Values) -> list[ShuffledSet]:
    sizes = np.diff(plan.data.offsets)
    return [
        shuffle_set(people, groups, rows, values, sizes, plan.n_permutations, _seed(plan, groups))
        for groups, rows in (people.shuffled_sets() if values.names else ())
    ]


def _seed(plan: Plan, groups: Sequence[int], key: int = 0) -> int:
    """Return the seed of a set of shuffles, which differs between sets."""
    return plan.seed + 1009 * key + (0 if len(groups) != 1 else 101 * groups[0])


def finish(blocks: Sequence[list[Tested]], plan: Plan) -> list[Claim]:
    """Return the claims with family p-values, detectable differences and status."""
    testable = [[t for t in block if not np.isnan(t.z)] for block in blocks]
    present = sum(bool(block) for block in testable)
    share = (1.0 - plan.level) / max(present, 1)
    claims = []
    for block in blocks:
        z = np.array([each.z for each in block])
        drawn = np.stack([each.draws for each in block], axis=1) if block else np.empty((0, 0))
        own, family = own_p(z, drawn), family_p(z, drawn)
        critical = critical_value(z, drawn, share) if len(drawn) else float("nan")
        if len(drawn) == 0 and not np.isnan(z).all():
            own, family = normal_p(z), holm(normal_p(z))
            m = int((~np.isnan(z)).sum())
            critical = NormalDist().inv_cdf(1.0 - share / (2.0 * m))
        factor = critical + NormalDist().inv_cdf(POWER)
        for at, each in enumerate(block):
            claim = replace(
                each.claim,
                p=float(own[at]) if np.isnan(each.exact) else each.exact,
                p_family=float(family[at]),
                threshold=share,
                detectable=factor * each.deviation if np.isfinite(factor) else float("nan"),
            )
            claims.append(_judged(claim))
    return [_with_id(claim, at) for at, claim in enumerate(claims)]


def _judged(claim: Claim) -> Claim:
    """Set the status: a finding needs the corrected test and the interval on the same side."""
    if claim.reason:
        return claim
    if np.isnan(claim.p_family) or np.isnan(claim.low) or np.isnan(claim.high):
        missing = "interval" if not np.isnan(claim.p_family) else "test"
        reason = f"no {missing} could be computed"
        return replace(claim, status="described", reason=reason)
    neutral = 1.0 if claim.unit == "ratio" else 0.0
    if claim.unit in ("chance", "gain") and not claim.quantity.startswith("change"):
        neutral = claim.shares[1]
    beyond = claim.low > neutral if claim.estimate > neutral else claim.high < neutral
    clear = claim.p_family <= claim.threshold + 1e-12 and beyond
    return replace(claim, status="finding" if clear else "cannot_tell")


def _with_id(claim: Claim, at: int) -> Claim:
    name = f"c{at + 1}"
    fields = ("estimate", "low", "high", "p", "p_family", "detectable", "size")
    cells: dict[str, Any] = {each: ("claims", name, each) for each in fields}
    cells["shares"] = ("claims", name, "share", "other_share")
    cells |= {f"scope.{each}": ("claims", name, each) for each in claim.scope}
    return replace(claim, id=name, cells=cells)


def _scope(sizes: np.ndarray, found: Shuffled, g: int) -> dict[str, Any]:
    used = found.used[:, g]
    sizes = sizes[used]
    people = (found.group_size + found.other_size)[used, g].sum()
    if len(sizes) == 0:
        return {"lists": 0, "people": 0, "shortest": 0, "median": 0.0, "longest": 0}
    return {
        "lists": int(used.sum()),
        "people": int(people),
        "shortest": int(sizes.min()),
        "median": float(np.median(sizes)),
        "longest": int(sizes.max()),
    }


def _why_not(plan: Plan, found: Shuffled, g: int) -> str:
    """Return why a comparison is not tested; empty if it is."""
    used = found.used[:, g]
    sides = [size[used, g].sum() for size in (found.group_size, found.other_size)]
    if min(sides) < FEWEST_PEOPLE:
        return f"one side has fewer than {FEWEST_PEOPLE} people in the lists that contain both"
    if plan.n_permutations == 0 or plan.n_boot == 0:
        return "no draws or no resamples were requested"
    return ""


def _claims_of_set(
    plan: Plan, people: People, values: Values, shuffled: ShuffledSet
) -> list[Tested]:
    """Return the claims of block (i) about everyone in the lists."""
    block = []
    for at, g in enumerate(shuffled.groups):
        partition, mine = people.partitions[g], {}
        if plan.ordered:
            mine[-2] = _position(plan, people, values, shuffled, at)
            mine[-1] = _exposure(plan, values, shuffled, at, partition)
        for key, decision in enumerate(plan.decisions):
            if decision.among is None:
                j = values.at(decision.name)
                mine[key] = _selected(plan, shuffled, at, partition, j, decision)
        if plan.scored:
            mine[MANY] = _scored(plan, values, shuffled, at, partition)
            mine[MANY + 1] = _score(plan, people, values, shuffled, at)
        block += [replace(each, order=(g, key)) for key, each in mine.items()]
    return block


def _claims_among(plan: Plan, people: People, decision: Decision, key: int) -> list[Tested]:
    """Return the claims of a decision about some people, with labels shuffled among them."""
    values = make_values(plan.ranking, [decision], people, ordered=False)
    query = people.query[decision.among]
    sizes = np.bincount(query, minlength=plan.data.n_queries)
    block = []
    for groups, rows in people.shuffled_sets(among=decision.among):
        seed = _seed(plan, groups, key + 1)
        shuffled = shuffle_set(people, groups, rows, values, sizes, plan.n_permutations, seed)
        for at, g in enumerate(groups):
            one = _selected(plan, shuffled, at, people.partitions[g], 0, decision)
            block.append(replace(one, order=(g, key)))
    return block


def first_claim(
    plan: Plan,
    partition: Partition,
    found: Shuffled,
    g: int,
    quantity: str,
    sizes: np.ndarray | None = None,
) -> Claim:
    """Return the claim of a group, without its numbers; ``sizes`` are those of the lists."""
    return Claim(
        "",
        quantity,
        partition.audited.name,
        partition.group,
        partition.against,
        scope=_scope(np.diff(plan.data.offsets) if sizes is None else sizes, found, g),
        test="shuffled labels" + (" (normal approximation)" if found.normal else ""),
        block="i",
        level=plan.level,
        reason=_why_not(plan, found, g),
    )


def tested(claim: Claim, found: Shuffled, g: int, j: int) -> Tested:
    """Return a claim with its statistic; a claim with a reason is not tested."""
    z = float("nan") if claim.reason else float(found.z[g, j])
    return Tested(claim, z, found.draws[:, g, j], float(found.deviation[g, j]))


def by_chance(scope: dict[str, Any]) -> bool:
    """Return whether lists differ so much in length that positions are not comparable."""
    return bool(scope["longest"] > LENGTH_FACTOR * scope["shortest"])


@dataclass(frozen=True)
class Ends:
    """The interval of an estimate, its one-sided bounds at the same level, and its units."""

    low: float = float("nan")
    high: float = float("nan")
    bound_low: float = float("nan")
    bound_high: float = float("nan")
    units: str = ""

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]], units: str) -> "Ends":
        """Return the ends of the interval, and those with twice the error, which are one-sided."""
        return cls(*pairs[0], *pairs[1], units)

    def mirrored(self, centre: float) -> "Ends":
        """Return the ends of ``centre`` minus the estimate."""
        low, high = centre - self.high, centre - self.low
        return Ends(low, high, centre - self.bound_high, centre - self.bound_low, self.units)

    def times(self, factor: float) -> "Ends":
        """Return the ends of the estimate times a factor."""
        if factor < 0:
            return self.mirrored(0.0).times(-factor)
        low, high = factor * self.low, factor * self.high
        return Ends(low, high, factor * self.bound_low, factor * self.bound_high, self.units)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a claim."""
        return {
            "low": self.low,
            "high": self.high,
            "bounds": (self.bound_low, self.bound_high),
            "interval_of": self.units,
        }


def interval_levels(plan: Plan) -> list[float]:
    """Return the level of intervals, and the two-sided level of one-sided bounds."""
    return [plan.level, max(2.0 * plan.level - 1.0, 0.0)]


def _quantiles(plan: Plan) -> list[float]:
    return [NormalDist().inv_cdf((1.0 + level) / 2.0) for level in interval_levels(plan)]


def mean_ends(plan: Plan, parts: np.ndarray, estimate: float, deviation: float) -> Ends:
    """Return the interval of a mean over lists: of lists if there are enough, else of people."""
    if plan.n_boot == 0:
        return Ends()
    parts = parts[~np.isnan(parts)]
    n = len(parts)
    if n >= FEWEST_LISTS:
        pairs = bootstrap_t(parts * n, np.ones(n), interval_levels(plan), plan.n_boot, plan.seed)
        return Ends.of(pairs, "lists")
    widths = [z * deviation for z in _quantiles(plan)]
    return Ends.of([(estimate - width, estimate + width) for width in widths], "people")


def _position(plan: Plan, people: People, values: Values, shuffled: ShuffledSet, g: int) -> Tested:
    partition, found = people.partitions[shuffled.groups[g]], shuffled.found
    claim = first_claim(plan, partition, found, g, "position")
    if claim.scope["lists"] == 0:
        return Tested(replace(claim, reason=_no_list()), float("nan"), found.draws[:, g, 0], 0.0)
    place, chance = values.at("position"), values.at(f"chance {people.mask_index(partition)}")
    total = {j: float(found.total[g, j]) for j in (place, chance)}
    ends = {
        j: mean_ends(plan, found.parts[:, g, j], total[j], float(found.deviation[g, j]))
        for j in (place, chance)
    }
    above = 0.5 - total[chance]
    ends[chance] = ends[chance].mirrored(0.5)
    estimates = {place: total[place], chance: above}
    j = chance if by_chance(dict(claim.scope)) else place
    claim = replace(
        claim,
        estimate=estimates[j],
        unit="chance" if j == chance else "positions",
        shares=(above, 0.5),
        direction=direction_of(-total[j]),
        size=effect_size(above, 0.5),
        also={
            unit: (
                estimates[at],
                *(ends[at].low, ends[at].high, ends[at].bound_low, ends[at].bound_high),
                float(own_p(found.z[g, at : at + 1], found.draws[:, g, at : at + 1])[0])
                if plan.n_permutations and not claim.reason
                else float("nan"),
            )
            for unit, at in (("positions", place), ("chance", chance))
        },
        **ends[j].fields,
    )
    return tested(claim, found, g, j)


def _no_list() -> str:
    return "no list contains both them and others"


def direction_of(value: float) -> Any:
    """Return the direction of a value: positive is higher."""
    return "none" if abs(value) < 1e-12 else "higher" if value > 0 else "lower"


def _exposure(
    plan: Plan, values: Values, shuffled: ShuffledSet, g: int, partition: Partition
) -> Tested:
    found = shuffled.found
    j = values.at("exposure")
    claim = first_claim(plan, partition, found, g, "exposure")
    used = found.used[:, g]
    expected = found.expected[used, g, j]
    if not used.any() or expected.sum() <= 0:
        reason = claim.reason or _no_list()
        return Tested(replace(claim, reason=reason), float("nan"), found.draws[:, g, j], 0.0)
    observed = found.parts[used, g, j] + expected
    whole = expected.sum()
    estimate = float(observed.sum() / whole)
    share = found.group_size[used, g].sum() / (found.group_size + found.other_size)[used, g].sum()
    ends = Ends()
    if plan.n_boot and used.sum() >= FEWEST_LISTS:
        options = interval_levels(plan), plan.n_boot, plan.seed
        pairs = bootstrap_t(observed, expected, *options, logarithm=True)
        ends = Ends.of(pairs, "lists")
    elif plan.n_boot:
        widths = [z * float(found.deviation[g, j]) / whole for z in _quantiles(plan)]
        pairs = [(max(estimate - width, 0.0), estimate + width) for width in widths]
        ends = Ends.of(pairs, "people")
    claim = replace(
        claim,
        estimate=estimate,
        unit="ratio",
        shares=(float(share * estimate), float(share)),
        **ends.fields,
        direction=direction_of(estimate - 1.0),
        size=effect_size(float(share * estimate), float(share)),
    )
    return tested(claim, found, g, j)


def _selected(
    plan: Plan,
    shuffled: ShuffledSet,
    g: int,
    partition: Partition,
    j: int,
    decision: Decision,
) -> Tested:
    claim = first_claim(plan, partition, shuffled.found, g, "selected", shuffled.sizes)
    claim = replace(claim, scope={**decision.scope, **claim.scope})
    return _rates(plan, claim, shuffled.found, g, j, decision.name)


def _scored(
    plan: Plan, values: Values, shuffled: ShuffledSet, g: int, partition: Partition
) -> Tested:
    """Return the claim about the share of people above the median score of everybody."""
    claim = first_claim(plan, partition, shuffled.found, g, "scored", shuffled.sizes)
    return _rates(plan, claim, shuffled.found, g, values.at("scored"), "above the median score")


def _rates(plan: Plan, claim: Claim, found: Shuffled, g: int, j: int, name: str) -> Tested:
    """Return a claim about the ratio of two rates, stratified by list."""
    used = found.used[:, g]
    n1, n2 = found.group_size[used, g], found.other_size[used, g]
    expected = found.expected[used, g, j]
    a = found.parts[used, g, j] + expected
    b = np.maximum(divide(expected * (n1 + n2), n1) - a, 0.0)
    reason = claim.reason
    if not used.any():
        reason = reason or _no_list()
    elif b.sum() <= 1e-9:
        reason = reason or f"nobody {_other_side(claim)} is selected ({name})"
    elif not found.deviation[g, j] > 0:
        reason = reason or f"everyone or nobody is selected in each of these lists ({name})"
    if not used.any() or b.sum() <= 1e-9:
        return Tested(replace(claim, reason=reason), float("nan"), found.draws[:, g, j], 0.0)
    x, y = a * n2 / (n1 + n2), b * n1 / (n1 + n2)
    estimate = float(x.sum() / y.sum())
    ends = _ratio_ends(plan, a, b, n1, n2)
    if estimate == 0 and plan.n_boot:
        claim = replace(claim, scope={**claim.scope, "added": 0.5})
    shares = float(a.sum() / n1.sum()), float(b.sum() / n2.sum())
    claim = replace(
        claim,
        reason=reason,
        estimate=estimate,
        unit="ratio",
        shares=shares,
        direction=direction_of(estimate - 1.0),
        size=effect_size(*shares),
        **ends.fields,
    )
    one = tested(claim, found, g, j)
    counts = np.stack([a, n1, b, n2])
    if reason or np.isnan(one.z) or np.abs(counts - np.rint(counts)).max() > WHOLE:
        return one
    test = f"{claim.test}; own p exact over lists"
    return replace(one, claim=replace(claim, test=test), exact=_exact_p(*np.rint(counts)))


def _exact_p(a: np.ndarray, n1: np.ndarray, b: np.ndarray, n2: np.ndarray) -> float:
    """Return the exact p-value over lists; NaN if there are too many people to compute it."""
    return float(exact_over_lists(a, n1, b, n2).p_value)


def _other_side(claim: Claim) -> str:
    return "else" if claim.against == "rest" else f"of the reference {claim.against!r}"


def _score(plan: Plan, people: People, values: Values, shuffled: ShuffledSet, g: int) -> Tested:
    """Return the claim about the gap between mean scores, in pooled standard deviations.

    As in `score_gap`: lists count with ``n1 n2 / (n1 + n2)``.
    """
    found, partition = shuffled.found, people.partitions[shuffled.groups[g]]
    claim = first_claim(plan, partition, found, g, "score", shuffled.sizes)
    j, used = values.at("score"), found.used[:, g]
    side = np.where(used[people.query], partition.sides[people.vectors], -1)
    gap = score_gap(values.columns[:, j], side, qid=people.query, level=plan.level)
    if gap.reason:
        claim = replace(claim, reason=claim.reason or gap.reason)
        return Tested(claim, float("nan"), found.draws[:, g, j], 0.0)
    n1, n2 = found.group_size[used, g], found.other_size[used, g]
    weight = n1 * n2 / (n1 + n2)
    scale = gap.g / gap.d / gap.deviation if gap.d else 1.0 / gap.deviation
    if used.sum() >= FEWEST_LISTS:
        parts = found.parts[used, g, j]
        pairs = bootstrap_t(parts, weight, interval_levels(plan), plan.n_boot, plan.seed)
        ends = Ends.of(pairs, "lists").times(scale)
    else:
        error = gap.error * gap.deviation * scale
        pairs = [(gap.g - z * error, gap.g + z * error) for z in _quantiles(plan)]
        ends = Ends.of(pairs, "people")
    above = group_chance(people, values, shuffled.groups[g]) if plan.ordered else float("nan")
    claim = replace(
        claim,
        estimate=gap.g,
        unit="deviations",
        shares=(above, 0.5),
        direction=direction_of(gap.d),
        size=effect_size(above, 0.5),
        **ends.fields,
    )
    one = tested(claim, found, g, j)
    return replace(one, deviation=one.deviation * scale / float(weight.sum()))


def _ratio_ends(plan: Plan, a: np.ndarray, b: np.ndarray, n1: np.ndarray, n2: np.ndarray) -> Ends:
    """Return the interval of the Mantel-Haenszel ratio; Katz's with 0.5 added at a zero."""
    if plan.n_boot == 0:
        return Ends()
    n = n1 + n2
    x, y = a * n2 / n, b * n1 / n
    if len(a) >= FEWEST_LISTS and x.sum() > 0:
        pairs = bootstrap_t(x, y, interval_levels(plan), plan.n_boot, plan.seed, logarithm=True)
        return Ends.of(pairs, "lists")
    found = [mantel_haenszel(a, n1, b, n2, level=level) for level in interval_levels(plan)]
    return Ends.of([(each.low, each.high) for each in found], "people")


def _block_two(plan: Plan, people: People, values: Values) -> list[Tested]:
    """Return the differences in position given relevance, and given another attribute."""
    block: list[Tested] = []
    if plan.data.y is not None:
        band, columns = given_relevance(plan, people, values)
        every = list(range(len(people.partitions)))
        block += _given(plan, people, values, columns, band, every, "relevance", 11)
    single = [each for each in plan.audited if not each.crossed]
    for at, other in enumerate(single if len(single) > 1 else ()):
        codes = known_codes(other)
        some = [
            g
            for g, part in enumerate(people.partitions)
            if not part.audited.crossed and part.audited.name != other.name
        ]
        if some:
            columns = values.columns
            block += _given(plan, people, values, columns, codes, some, other.name, 12 + at)
    return block


def given_relevance(plan: Plan, people: People, values: Values) -> tuple[np.ndarray, np.ndarray]:
    """Return the grade or band of each row, and the columns, without trend if there are bands."""
    y = np.asarray(plan.data.y, dtype=np.float64)
    levels, grade = np.unique(y, return_inverse=True)
    grade = grade.reshape(-1)
    if len(levels) <= MOST_GRADES:
        return grade, values.columns
    ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    first = np.zeros(len(levels), dtype=np.int64)
    np.maximum.at(first, grade, ranks)
    band = first[grade] * BANDS // len(y)
    columns = values.columns.copy()
    predictor = list_ranks(y, people.query)
    n_queries = plan.data.n_queries
    count = np.bincount(people.query, minlength=n_queries).astype(float)
    centre = predictor - (np.bincount(people.query, predictor, n_queries) / count)[people.query]
    square = np.bincount(people.query, centre**2, n_queries)
    for j in np.flatnonzero(values.averaged):
        product = np.bincount(people.query, centre * columns[:, j], n_queries)
        slope = np.nan_to_num(divide(product, square))
        columns[:, j] -= slope[people.query] * centre
    return band, columns


def _given(
    plan: Plan,
    people: People,
    values: Values,
    columns: np.ndarray,
    stratum: np.ndarray,
    groups: Sequence[int],
    given: str,
    key: int,
) -> list[Tested]:
    """Return position claims with labels shuffled within strata of the lists."""
    cells = people.pattern * (int(stratum.max()) + 2) + stratum + 1
    used = [j for j in np.flatnonzero(values.averaged).tolist() if values.names[j] != "score"]
    names = [values.names[j] for j in used]
    block = []
    for some, rows in people.shuffled_sets(groups):
        found = shuffle_labels(
            people.query[rows],
            cells[rows],
            people.vectors[rows],
            people.sides[some],
            columns[rows][:, used],
            values.averaged[used],
            plan.n_permutations,
            _seed(plan, some) + key,
            n_queries=plan.data.n_queries,
        )
        block += [
            _given_group(plan, people, values, found, names, at, g, given)
            for at, g in enumerate(some)
        ]
    return block


def _given_group(
    plan: Plan,
    people: People,
    values: Values,
    found: Shuffled,
    names: list[str],
    at: int,
    g: int,
    given: str,
) -> Tested:
    """Return the claim of one group: its difference less the one expected from the strata."""
    partition = people.partitions[g]
    quantity = "merit" if given == "relevance" else "position"
    claim = replace(first_claim(plan, partition, found, at, quantity), block="ii")
    claim = replace(claim, scope={"given": given, **claim.scope})
    if claim.scope["lists"] == 0:
        claim = replace(claim, reason=claim.reason or _no_list())
        return Tested(claim, float("nan"), found.draws[:, at, 0], 0.0)
    chance = names.index(f"chance {people.mask_index(partition)}")
    use_chance = by_chance(dict(claim.scope))
    j = chance if use_chance else names.index("position")
    if not claim.reason and not found.deviation[at, j] > 0:
        claim = replace(claim, reason=f"no list contains both sides with the same {given}")
    adjusted = found.parts[:, at, j] - found.mean_parts[:, at, j]
    estimate = float(np.nansum(adjusted))
    ends = mean_ends(plan, adjusted, estimate, float(found.deviation[at, j]))
    raw = group_chance(people, values, g)
    shares = raw, raw + float(found.total[at, chance] - found.mean[at, chance])
    unit, direction = "positions", direction_of(-estimate)
    if use_chance:
        unit, estimate = "chance", raw
        ends = ends.mirrored(shares[1])
    claim = replace(
        claim,
        estimate=estimate,
        unit=unit,
        shares=shares,
        direction=direction,
        size=effect_size(*shares),
        **ends.fields,
    )
    return tested(claim, found, at, j)


def group_chance(people: People, values: Values, g: int) -> float:
    """Return the chance that a person of the group is ranked above one of the other side."""
    partition = people.partitions[g]
    column = values.columns[:, values.at(f"chance {people.mask_index(partition)}")]
    side = partition.sides[people.vectors]
    n_queries = int(people.query[-1]) + 1
    means = [
        divide(
            np.bincount(people.query, column * (side == wanted), n_queries),
            np.bincount(people.query, (side == wanted).astype(float), n_queries),
        )
        for wanted in (1, 0)
    ]
    return 0.5 - float(np.nanmean(means[0] - means[1]))
