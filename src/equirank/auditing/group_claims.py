"""The claims of an audit: each group compared with everyone else, tested by shuffled labels."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..core.outcomes import Decision
from ..core.shuffles import Shuffled, bootstrap_t, own_p
from ..reports.claims import Claim, effect_size
from ..statistics import exact_over_lists
from ..statistics.score_gaps import ScoreGap, score_gap
from .audit_plan import SMALL_SELECTED, Plan
from .claim_intervals import (
    FEWEST_LISTS,
    Ends,
    interval_levels,
    mean_ends,
    normal_quantiles,
    ratio_ends,
)
from .claim_tests import Tested
from .people import Partition, People, Values, group_chance, make_values
from .shuffled_sets import AnyShuffled, AnyValues, ShuffledSet, set_seed, shuffle_set

__all__ = [
    "FEWEST_PEOPLE",
    "MANY",
    "by_chance",
    "claims_of_set",
    "direction_of",
    "first_claim",
    "group_block",
    "no_list",
    "score_claims",
    "selected_claim",
    "tested",
    "too_small",
]


#: Fewest people on both sides of a tested comparison.
FEWEST_PEOPLE = 5
#: Counts may differ by this much from whole numbers, from rounding.
WHOLE = 1e-6
#: More than the number of decisions, to order the claims of a group.
MANY = 1_000_000
#: Lists whose lengths differ by more than this factor are compared by the chance of pairs.
LENGTH_FACTOR = 2.0


def group_block(plan: Plan, people: People, values: Values) -> list[Tested]:
    """Return the claims of block (i): differences in position, exposure and selection."""
    sets = _shuffled_sets(plan, people, values)
    block = [tested for each in sets for tested in claims_of_set(plan, people, values, each)]
    for at, decision in enumerate(plan.decisions):
        if decision.among is not None:
            block += _claims_among(plan, people, decision, at)
    block.sort(key=lambda each: each.order)
    return block


def _shuffled_sets(plan: Plan, people: People, values: Values) -> list[ShuffledSet[Shuffled]]:
    sizes = np.diff(plan.data.offsets)
    return [
        shuffle_set(
            people, groups, rows, values, sizes, plan.n_permutations, set_seed(plan, groups)
        )
        for groups, rows in (people.shuffled_sets() if values.names else ())
    ]


def _why_not(plan: Plan, found: AnyShuffled, g: int) -> str:
    """Return why a comparison is not tested; empty if it is."""
    if min(found.sides(g)) < FEWEST_PEOPLE:
        return f"one side has fewer than {FEWEST_PEOPLE} people in the lists that contain both"
    if plan.n_permutations == 0 or plan.n_boot == 0:
        return "no draws or no resamples were requested"
    return ""


def claims_of_set(
    plan: Plan, people: People, values: Values, shuffled: ShuffledSet[Any]
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
                mine[key] = selected_claim(plan, shuffled, at, partition, j, decision)
        if plan.scored:
            used = shuffled.found.used[:, at]
            side = np.where(used[people.query], partition.sides[people.vectors], -1)
            score = values.columns[:, values.at("score")]
            gap = score_gap(score, side, qid=people.query, level=plan.level)
            above = group_chance(people, values, g) if plan.ordered else float("nan")
            columns = values.at("scored"), values.at("score")
            both = score_claims(plan, shuffled, at, partition, columns, gap, above)
            mine |= dict(zip((MANY, MANY + 1), both, strict=True))
        block += [replace(each, order=(g, key)) for key, each in mine.items()]
    return block


def _claims_among(plan: Plan, people: People, decision: Decision, key: int) -> list[Tested]:
    """Return the claims of a decision about some people, with labels shuffled among them."""
    values = make_values(plan.ranking, [decision], people, ordered=False)
    query = people.query[decision.among]
    sizes = np.bincount(query, minlength=plan.data.n_queries)
    block = []
    for groups, rows in people.shuffled_sets(among=decision.among):
        seed = set_seed(plan, groups, key + 1)
        shuffled = shuffle_set(people, groups, rows, values, sizes, plan.n_permutations, seed)
        for at, g in enumerate(groups):
            one = selected_claim(plan, shuffled, at, people.partitions[g], 0, decision)
            block.append(replace(one, order=(g, key)))
    return block


def first_claim(
    plan: Plan,
    partition: Partition,
    found: AnyShuffled,
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
        scope=found.scope(g, np.diff(plan.data.offsets) if sizes is None else sizes),
        test="shuffled labels" + (" (normal approximation)" if found.normal else ""),
        block="i",
        level=plan.level,
        reason=_why_not(plan, found, g),
    )


def tested(claim: Claim, found: AnyShuffled, g: int, j: int) -> Tested:
    """Return a claim with its statistic; a claim with a reason is not tested."""
    z = float("nan") if claim.reason else float(found.z[g, j])
    deviation = float(found.deviation[g, j])
    return Tested(claim, z, found.draws[:, g, j], deviation, column=j)


def by_chance(scope: dict[str, Any]) -> bool:
    """Return whether lists differ so much in length that positions are not comparable."""
    return bool(scope["longest"] > LENGTH_FACTOR * scope["shortest"])


def _position(
    plan: Plan, people: People, values: Values, shuffled: ShuffledSet[Any], g: int
) -> Tested:
    partition, found = people.partitions[shuffled.groups[g]], shuffled.found
    claim = first_claim(plan, partition, found, g, "position")
    if claim.scope["lists"] == 0:
        return Tested(replace(claim, reason=no_list()), float("nan"), found.draws[:, g, 0], 0.0)
    place, chance = values.at("position"), values.at(f"chance {people.mask_index(partition)}")
    total = {j: float(found.total[g, j]) for j in (place, chance)}
    ends = {
        j: mean_ends(plan, found.mean_terms(g, j), total[j], float(found.deviation[g, j]))
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


def no_list() -> str:
    """Return why a claim has no lists."""
    return "no list contains both them and others"


def direction_of(value: float) -> Any:
    """Return the direction of a value: positive is higher."""
    return "none" if abs(value) < 1e-12 else "higher" if value > 0 else "lower"


def _exposure(
    plan: Plan, values: Values, shuffled: ShuffledSet[Any], g: int, partition: Partition
) -> Tested:
    found = shuffled.found
    j = values.at("exposure")
    claim = first_claim(plan, partition, found, g, "exposure")
    observed, expected = found.observed_terms(g, j)
    whole = expected.sum()
    if whole <= 0:
        reason = claim.reason or no_list()
        return Tested(replace(claim, reason=reason), float("nan"), found.draws[:, g, j], 0.0)
    estimate = float(observed.sum() / whole)
    people, others = found.sides(g)
    share = people / (people + others)
    ends = Ends()
    if plan.n_boot and found.lists(g) >= FEWEST_LISTS:
        options = interval_levels(plan), plan.n_boot, plan.seed
        pairs = bootstrap_t(observed, expected, *options, logarithm=True)
        ends = Ends.of(pairs, "lists")
    elif plan.n_boot:
        widths = [z * float(found.deviation[g, j]) / whole for z in normal_quantiles(plan)]
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


def selected_claim(
    plan: Plan,
    shuffled: ShuffledSet[Any],
    g: int,
    partition: Partition,
    j: int,
    decision: Decision,
) -> Tested:
    """Return the claim about who is selected, from value ``j`` of a group."""
    claim = first_claim(plan, partition, shuffled.found, g, "selected", shuffled.sizes)
    claim = replace(claim, scope={**decision.scope, **claim.scope})
    small = too_small(plan, partition, plan.decisions.index(decision))
    if small:
        claim = replace(claim, reason=claim.reason or small)
        return Tested(claim, float("nan"), shuffled.found.draws[:, g, j], float("nan"))
    return _rates(plan, claim, shuffled.found, g, j, decision.name)


def too_small(plan: Plan, partition: Partition, at: int) -> str:
    """Return why rates in a top k are not compared; empty if they are."""
    each, code = partition.audited, partition.code
    if not plan.not_compared(each, at)[code]:
        return ""
    own = plan.expected_in_top(each, at)[code] < SMALL_SELECTED
    who = "them" if own else "everyone else" if each.reference is None else "the reference"
    return (
        f"at the rate of all people, fewer than {SMALL_SELECTED:g} of {who} would be in the "
        f"{plan.decisions[at].name}"
    )


def score_claims(
    plan: Plan,
    shuffled: ShuffledSet[Any],
    g: int,
    partition: Partition,
    columns: tuple[int, int],
    gap: ScoreGap,
    above: float,
) -> tuple[Tested, Tested]:
    """Return the claims about scores above the median of everybody, and about mean scores.

    Parameters
    ----------
    plan, shuffled, g, partition
        The comparison, and its number in the shuffles.
    columns : tuple of int
        The numbers of both values.
    gap : ScoreGap
        The difference in mean scores.
    above : float
        The chance that a person of the group is ranked above one of the other side.
    """
    claim = first_claim(plan, partition, shuffled.found, g, "scored", shuffled.sizes)
    rate = _rates(plan, claim, shuffled.found, g, columns[0], "above the median score")
    claim = replace(claim, quantity="score")
    return rate, _score(plan, claim, shuffled.found, g, columns[1], gap, above)


def _rates(plan: Plan, claim: Claim, found: AnyShuffled, g: int, j: int, name: str) -> Tested:
    """Return a claim about the ratio of two rates, stratified by list."""
    rates, lists = found.rates(g, j), found.lists(g)
    reason = claim.reason
    if lists == 0:
        reason = reason or no_list()
    elif rates.b <= 1e-9:
        reason = reason or f"nobody {_other_side(claim)} is selected ({name})"
    elif not found.deviation[g, j] > 0:
        reason = reason or f"everyone or nobody is selected in each of these lists ({name})"
    if lists == 0 or rates.b <= 1e-9:
        return Tested(replace(claim, reason=reason), float("nan"), found.draws[:, g, j], 0.0)
    estimate = float(rates.x.sum() / rates.y.sum())
    ends = ratio_ends(plan, rates, lists, float(found.deviation[g, j]))
    shares = rates.a / rates.n1, rates.b / rates.n2
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
    counts = rates.counts
    if reason or np.isnan(one.z) or counts is None:
        return one
    if np.abs(counts - np.rint(counts)).max() > WHOLE:
        return one
    test = f"{claim.test}; own p exact over lists"
    return replace(one, claim=replace(claim, test=test), exact=_exact_p(*np.rint(counts)))


def _exact_p(a: np.ndarray, n1: np.ndarray, b: np.ndarray, n2: np.ndarray) -> float:
    """Return the exact p-value over lists; NaN if there are too many people to compute it."""
    return float(exact_over_lists(a, n1, b, n2).p_value)


def _other_side(claim: Claim) -> str:
    return "else" if claim.against == "rest" else f"of the reference {claim.against!r}"


def _score(
    plan: Plan, claim: Claim, found: AnyValues, g: int, j: int, gap: ScoreGap, above: float
) -> Tested:
    """Return the claim about the gap between mean scores, in pooled standard deviations.

    As in `score_gap`: lists count with ``n1 n2 / (n1 + n2)``.
    """
    if gap.reason:
        claim = replace(claim, reason=claim.reason or gap.reason)
        return Tested(claim, float("nan"), found.draws[:, g, j], 0.0)
    parts, weight = found.weighted_terms(g, j)
    scale = gap.g / gap.d / gap.deviation if gap.d else 1.0 / gap.deviation
    if found.lists(g) >= FEWEST_LISTS:
        pairs = bootstrap_t(parts, weight, interval_levels(plan), plan.n_boot, plan.seed)
        ends = Ends.of(pairs, "lists").times(scale)
    else:
        error = gap.error * gap.deviation * scale
        pairs = [(gap.g - z * error, gap.g + z * error) for z in normal_quantiles(plan)]
        ends = Ends.of(pairs, "people")
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
