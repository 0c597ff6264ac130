"""Exposure: how much attention items and groups draw, alone and per merit."""

from fractions import Fraction
from typing import Any

from .lists import (
    BadInput,
    Groups,
    Query,
    Result,
    attention,
    by_query,
    mean_attention,
    orders,
    queries,
    summary,
    worst,
)
from .numbers import Number, difference, fraction, largest, mean, product, ratio, size, total

__all__ = [
    "disparate_impact",
    "disparate_treatment",
    "expected_exposure_loss",
    "exposure_by_group",
    "exposure_gap",
    "group_disparity",
    "individual_amortised_attention",
    "individual_disparity",
    "merit_gap",
]


def group_means(query: Query, values: list[Number]) -> Groups:
    """Return the mean over the items of each group."""
    members = {group: query.members(group) for group in query.all_groups}
    return {g: mean(values[i] for i in found) if found else None for g, found in members.items()}


def rest_mean(query: Query, values: list[Number], group: str) -> Number | None:
    """Return the mean over everyone else."""
    others = [values[i] for i in range(query.n) if query.g[i] != group]
    return mean(others) if others else None


@by_query
def exposure_by_group(
    query: Query,
    protected: str | None = None,
    k: int | None = None,
    discount: Any = "log2",
    ties: str = "average",
) -> tuple[Number | None, Groups]:
    """Mean attention of the group's items; the least of all groups."""
    groups = group_means(query, mean_attention(query, ties, attention(discount, k)))
    if protected is not None:
        groups = {protected: groups[protected]}
    return worst(groups, "higher"), groups


@by_query
def exposure_gap(
    query: Query,
    protected: str | None = None,
    k: int | None = None,
    discount: Any = "log2",
    ties: str = "average",
) -> tuple[Number | None, Groups]:
    """Mean attention of the group and of everyone else, apart; the largest of all groups."""
    seen = mean_attention(query, ties, attention(discount, k))
    groups = group_means(query, seen)
    gaps: Groups = {}
    for group in query.all_groups if protected is None else [protected]:
        mine, rest = groups[group], rest_mean(query, seen, group)
        gaps[group] = None if mine is None or rest is None else size(difference(mine, rest))
    return worst(gaps, "lower"), groups


def per_merit(
    query: Query, drawn: list[Number], group: str
) -> tuple[Number, Number, Number, Number] | None:
    """Return what the group and the rest draw on average, and their mean merits."""
    mine = query.members(group)
    rest = [i for i in range(query.n) if i not in mine]
    if not mine or not rest:
        return None
    merit = mean(query.y[i] for i in mine), mean(query.y[i] for i in rest)
    if 0 in merit:
        return None
    return mean(drawn[i] for i in mine), merit[0], mean(drawn[i] for i in rest), merit[1]


def rates(query: Query, drawn: list[Number]) -> Groups:
    """Return what each group draws per merit."""
    result: Groups = {}
    for group in query.all_groups:
        mine = query.members(group)
        merit = mean(query.y[i] for i in mine) if mine else Fraction(0)
        result[group] = ratio(mean(drawn[i] for i in mine), merit) if merit else None
    return result


def merit_ratio(
    query: Query, drawn: list[Number], protected: str | None
) -> tuple[Number | None, Groups]:
    """Return what the group draws per merit over what the rest does; the smallest of all groups."""
    values: Groups = {}
    for group in query.all_groups if protected is None else [protected]:
        parts = per_merit(query, drawn, group)
        values[group] = None
        if parts is not None and parts[2] != 0:
            values[group] = ratio(ratio(parts[0], parts[1]), ratio(parts[2], parts[3]))
    return worst(values, "higher"), rates(query, drawn)


@by_query
def disparate_treatment(
    query: Query,
    protected: str | None = None,
    k: int | None = None,
    discount: Any = "log2",
    ties: str = "average",
) -> tuple[Number | None, Groups]:
    """Exposure per merit of the group over that of everyone else."""
    return merit_ratio(query, mean_attention(query, ties, attention(discount, k)), protected)


@by_query
def disparate_impact(
    query: Query,
    protected: str | None = None,
    k: int | None = None,
    discount: Any = "log2",
    ties: str = "average",
) -> tuple[Number | None, Groups]:
    """Exposure times relevance per merit of the group over that of everyone else."""
    seen = mean_attention(query, ties, attention(discount, k))
    clicks = [product(pair) for pair in zip(seen, query.y, strict=True)]
    return merit_ratio(query, clicks, protected)


@by_query
def group_disparity(
    query: Query,
    protected: str | None = None,
    k: int | None = None,
    discount: Any = "log2",
    ties: str = "average",
) -> tuple[Number | None, Groups]:
    """Excess of exposure per merit of whoever has more merit, the group or everyone else."""
    seen = mean_attention(query, ties, attention(discount, k))
    values: Groups = {}
    for group in query.all_groups if protected is None else [protected]:
        parts = per_merit(query, seen, group)
        if parts is None:
            values[group] = None
            continue
        here, there = ratio(parts[0], parts[1]), ratio(parts[2], parts[3])
        excess = []
        if parts[1] >= parts[3]:
            excess.append(difference(here, there))
        if parts[3] >= parts[1]:
            excess.append(difference(there, here))
        values[group] = largest([Fraction(0), *excess])
    return worst(values, "lower"), rates(query, seen)


@by_query
def individual_disparity(
    query: Query, k: int | None = None, discount: Any = "log2", ties: str = "average"
) -> Number | None:
    """Mean excess of exposure per merit over the ordered pairs with M_i >= M_j > 0."""
    seen = mean_attention(query, ties, attention(discount, k))
    excess = [
        largest([Fraction(0), difference(ratio(seen[i], query.y[i]), ratio(seen[j], query.y[j]))])
        for i in range(query.n)
        for j in range(query.n)
        if i != j and query.y[i] >= query.y[j] > 0
    ]
    return mean(excess) if excess else None


def browsing(discount: Any, patience: Any, k: int | None, n: int) -> Any:
    """Return the attention of places; geometric for "rbp"."""
    if discount == "rbp":
        return attention([fraction(patience) ** j for j in range(n)], k)
    return attention(discount, k)


def several_rankings(inputs: dict[str, Any]) -> list[list[Query]]:
    """Read a sequence of rankings of the same rows, each a list of queries."""
    rankings = inputs["rankings"]
    truths = inputs["y_true"]
    if not isinstance(truths[0], list):
        truths = [truths] * len(rankings)
    return [
        queries({"y_true": y, "y_score": scores, "qid": inputs.get("qid")})
        for y, scores in zip(truths, rankings, strict=True)
    ]


def expected_exposure_loss(inputs: dict[str, Any], options: dict[str, Any]) -> Result:
    """Squared distance of expected exposure from that of the ideal policy, or its parts."""
    options = dict(options)
    part, ties = options.pop("part", "loss"), options.pop("ties", "average")
    undefined = options.pop("undefined", "skip")
    rankings = several_rankings(inputs)
    values = []
    for lists in zip(*rankings, strict=True):
        first = lists[0]
        weight = browsing(
            options.get("discount", "log2"), options.get("patience", 0.5), options.get("k"), first.n
        )
        seen = [mean_attention(one, ties, weight) for one in lists]
        e = [mean(one[i] for one in seen) for i in range(first.n)]
        best = Query(None, first.rows, first.y, first.y)
        goal = mean_attention(best, "average", weight)
        if part == "disparity":
            terms = [product([x, x]) for x in e]
        elif part == "relevance":
            terms = [product([x, g]) for x, g in zip(e, goal, strict=True)]
        else:
            apart = [difference(x, g) for x, g in zip(e, goal, strict=True)]
            terms = [product([x, x]) for x in apart]
        values.append(total(terms))
    return summary(values, None, undefined)  # type: ignore[arg-type]


def individual_amortised_attention(inputs: dict[str, Any], options: dict[str, Any]) -> Result:
    """Distance of accumulated shares of attention from those of relevance, per ranking."""
    ties, undefined = options.get("ties", "average"), options.get("undefined", "skip")
    rankings = several_rankings(inputs)
    ids = inputs.get("ids")
    gap: dict[Any, list[Number]] = {}
    values: list[Number | None] = []
    defined = 0
    for lists in zip(*rankings, strict=True):
        first = lists[0]
        weight = browsing(
            options.get("discount", "log2"), options.get("patience", 0.5), options.get("k"), first.n
        )
        apart: list[list[Number]] = [[] for _ in range(first.n)]
        for one in lists:
            seen = mean_attention(one, ties, weight)
            everything, deserved = total(seen), total(one.y)
            if everything == 0 or deserved == 0:
                break
            for i in range(first.n):
                apart[i].append(difference(ratio(seen[i], everything), ratio(one.y[i], deserved)))
        else:
            means = [mean(some) for some in apart]
            values.append(total(size(m) for m in means))
            defined += 1
            for row, m in zip(first.rows, means, strict=True):
                gap.setdefault(row if ids is None else ids[row], []).append(m)
            continue
        values.append(None)
    result = summary(values, None, undefined)
    if defined:
        result.value = ratio(total(size(total(some)) for some in gap.values()), Fraction(defined))
    return result


def merit_gap(inputs: dict[str, Any], options: dict[str, Any]) -> Result:
    """Largest lack of a chance of the top j below phi times the chance to merit it, all orders."""
    phi, k = Fraction(options.get("phi", 1)), options.get("k")
    if len(inputs["ranking"]) != len(inputs["merit"]):
        raise BadInput("length")
    columns = [inputs["ranking"], *zip(*inputs["merit"], strict=True)]
    lists = [queries({"y_score": list(c), "qid": inputs.get("qid")}) for c in columns]
    found: list[Number | None] = []
    for given, *draws in zip(*lists, strict=True):
        deepest = given.n if k is None else min(k, given.n)
        worst_lack = Fraction(0)
        for top in range(1, deepest + 1):
            for item in range(given.n):
                chance, *deserved = (
                    mean([Fraction(item in o[:top]) for o in orders(each.blocks("average"))])
                    for each in (given, *draws)
                )
                worst_lack = max(worst_lack, phi * mean(deserved) - chance)
        found.append(worst_lack)
    return summary(found)
