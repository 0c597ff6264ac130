"""Representation: who is among the first, prefix by prefix."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from math import floor
from typing import Any

from .lists import (
    BadInput,
    Groups,
    Query,
    attention,
    by_query,
    counts_in_prefix,
    mean_attention,
    worst,
)
from .numbers import (
    Number,
    difference,
    fraction,
    largest,
    ln,
    log2,
    product,
    ratio,
    size,
    total,
)

__all__ = ["awrf", "infeasible_index", "ndkl", "rkl", "rnd", "rrd", "skew"]

#: Distance of a prefix from the list: of (count, length of the prefix, group size, list length).
Distance = Callable[[Fraction, int, int, int], Number]


def share_distance(count: Fraction, length: int, members: int, n: int) -> Number:
    """Difference of shares (rND)."""
    return abs(count / length - Fraction(members, n))


def ratio_distance(count: Fraction, length: int, members: int, n: int) -> Number:
    """Difference of the ratios to the others, a ratio over nobody being 0 (rRD)."""
    others = length - count
    here = count / others if others else Fraction(0)
    return abs(here - (Fraction(members, n - members) if n > members else Fraction(0)))


def two_group_kl(count: Fraction, length: int, members: int, n: int) -> Number:
    """Divergence of the group and the others in bits (rKL)."""
    return divergence(
        [count, length - count], [Fraction(members, n), Fraction(n - members, n)], log2
    )


def divergence(
    counts: list[Fraction], target: list[Fraction], log: Callable[[Number], Number]
) -> Number:
    """Kullback-Leibler divergence of shares from a target; 0 log 0 is 0."""
    length = sum(counts)
    shares = [count / length for count in counts]
    return total(product([s, log(s / t)]) for s, t in zip(shares, target, strict=True) if s)


def cuts(n: int, step: int, k: int | None) -> list[int]:
    """Return the lengths of the prefixes: step, 2 step, ..., never 1."""
    last = n if k is None else min(n, k)
    return [length for length in range(step, last + 1, step) if length > 1]


def cut_weight(length: int, discount: str) -> Number:
    """Return what a prefix counts."""
    return ratio(Fraction(1), log2(Fraction(length + (discount == "code"))))


@cache
def worst_list(
    n: int,
    members: int,
    step: int,
    k: int | None,
    discount: str,
    normalizer: str,
    distance: Distance,
) -> Number:
    """Return the largest sum over the lists that the normaliser looks at."""

    def lists() -> Iterator[tuple[int, ...]]:
        if normalizer == "exact":
            yield from combinations(range(1, n + 1), members)
            return
        yield tuple(range(n - members + 1, n + 1))
        if normalizer == "extremes":
            yield tuple(range(1, members + 1))

    sums = []
    for places in lists():
        counts = {length: Fraction(sum(p <= length for p in places)) for length in cuts(n, step, k)}
        sums.append(
            total(
                product(
                    [cut_weight(length, discount), distance(counts[length], length, members, n)]
                )
                for length in counts
            )
        )
    return largest(sums)


def against_rest(
    query: Query,
    group: str,
    step: int,
    k: int | None,
    normalizer: str,
    discount: str,
    ties: str,
    distance: Distance,
) -> Number | None:
    """Compare one group with everyone else over the prefixes."""
    n, members = query.n, len(query.members(group))
    lengths = cuts(n, step, k)
    if members in (0, n) or not lengths:
        return None
    value = total(
        product(
            [
                cut_weight(length, discount),
                distance(counts_in_prefix(query, ties, group, length), length, members, n),
            ]
        )
        for length in lengths
    )
    if normalizer == "none":
        return value
    most = worst_list(n, members, step, k, discount, normalizer, distance)
    return None if most == 0 else ratio(value, most)


def prefix_metric(
    query: Query, protected: str | None, distance: Distance, **options: Any
) -> tuple[Number | None, Groups]:
    """Compare the protected group, or each and take the worst."""
    wanted = query.all_groups if protected is None else [protected]
    groups = {group: against_rest(query, group, distance=distance, **options) for group in wanted}
    return worst(groups, "lower"), groups


@by_query
def rnd(
    query: Query,
    protected: str | None = None,
    step: int = 10,
    k: int | None = None,
    normalizer: str = "extremes",
    discount: str = "paper",
    ties: str = "average",
) -> tuple[Number | None, Groups]:
    """Sum of the differences of shares at the cut points, normalised."""
    return prefix_metric(
        query,
        protected,
        share_distance,
        step=step,
        k=k,
        normalizer=normalizer,
        discount=discount,
        ties=ties,
    )


@by_query
def rrd(
    query: Query,
    protected: str | None = None,
    step: int = 10,
    k: int | None = None,
    normalizer: str = "exact",
    discount: str = "paper",
    ties: str = "average",
) -> tuple[Number | None, Groups]:
    """Sum of the differences of ratios at the cut points, normalised."""
    return prefix_metric(
        query,
        protected,
        ratio_distance,
        step=step,
        k=k,
        normalizer=normalizer,
        discount=discount,
        ties=ties,
    )


@by_query
def rkl(
    query: Query,
    protected: str | None = None,
    step: int = 10,
    k: int | None = None,
    normalizer: str = "extremes",
    discount: str = "paper",
    ties: str = "average",
) -> tuple[Number | None, Groups]:
    """Sum of the divergences at the cut points, normalised; without protected of all groups."""
    value, groups = prefix_metric(
        query,
        protected,
        two_group_kl,
        step=step,
        k=k,
        normalizer=normalizer,
        discount=discount,
        ties=ties,
    )
    if protected is not None or len(query.all_groups) <= 2:
        return value, groups
    if normalizer in ("exact", "last"):
        raise BadInput("bad option")
    present = sorted(set(query.g))
    lengths = cuts(query.n, step, k)
    if len(present) < 2 or not lengths:
        return None, groups
    sizes = {group: len(query.members(group)) for group in present}
    target = [Fraction(sizes[group], query.n) for group in present]

    def summed(count: Callable[[str, int], Fraction]) -> Number:
        return total(
            product(
                [
                    cut_weight(length, discount),
                    divergence([count(group, length) for group in present], target, log2),
                ]
            )
            for length in lengths
        )

    value = summed(lambda group, length: counts_in_prefix(query, ties, group, length))
    if normalizer == "none":
        return value, groups
    sums = []
    for sequence in permutations(present):
        places = [group for group in sequence for _ in range(sizes[group])]
        sums.append(summed(lambda g, length, p=places: Fraction(p[:length].count(g))))
    most = largest(sums)
    return (None if most == 0 else ratio(value, most)), groups


def targets(query: Query, proportions: dict[str, Any] | None) -> dict[str, Fraction]:
    """Return the share of each group that a fair list would have."""
    if proportions is not None:
        if set(proportions) != set(query.all_groups):
            raise BadInput("unknown group")
        return {group: fraction(proportions[group]) for group in query.all_groups}
    return {group: Fraction(len(query.members(group)), query.n) for group in query.all_groups}


def several(target: dict[str, Fraction]) -> bool:
    """Return whether at least two groups have a target."""
    return sum(share > 0 for share in target.values()) > 1


@by_query
def skew(
    query: Query,
    protected: str | None = None,
    k: int | None = None,
    extreme: str = "min",
    smoothing: Any = 0,
    proportions: dict[str, Any] | None = None,
    ties: str = "average",
) -> tuple[Number | None, Groups]:
    """Logarithm of a group's share of the first k over its target; none where the share is 0."""
    target, extra = targets(query, proportions), fraction(smoothing)
    length = query.n if k is None else min(k, query.n)
    groups: Groups = {}
    empty = False
    for group, goal in target.items():
        if not several(target) or goal == 0:
            groups[group] = None
            continue
        count = counts_in_prefix(query, ties, group, length)
        share = (count + extra * goal) / (length + extra)
        groups[group] = ln(share / goal) if share else None
        empty = empty or not share
    if protected is not None:
        return groups[protected], groups
    if extreme == "min" and empty:
        return None, groups
    return worst(groups, "lower" if extreme == "max" else "higher"), groups


@by_query
def ndkl(
    query: Query,
    protected: str | None = None,
    k: int | None = None,
    proportions: dict[str, Any] | None = None,
    ties: str = "average",
) -> tuple[Number | None, Groups]:
    """Divergence of all prefixes in natural logarithms, weighted by 1/log2(i + 1)."""
    target = targets(query, proportions)
    lengths = range(1, (query.n if k is None else min(k, query.n)) + 1)
    weight = attention("log2")
    z = total(weight(length) for length in lengths)

    def value(parts: list[list[str]]) -> Number | None:
        goal = [sum((target[g] for g in part), Fraction(0)) for part in parts]
        if sum(share > 0 for share in goal) < 2:
            return None
        terms = []
        for length in lengths:
            counts = [
                sum((counts_in_prefix(query, ties, g, length) for g in part), Fraction(0))
                for part in parts
            ]
            if any(c and not t for c, t in zip(counts, goal, strict=True)):
                return None
            terms.append(product([weight(length), divergence(counts, goal, ln)]))
        return ratio(total(terms), z)

    def one_and_rest(group: str) -> list[list[str]]:
        return [[group], [other for other in query.all_groups if other != group]]

    if protected is not None:
        wanted = [protected]
        groups = {group: value(one_and_rest(group)) for group in wanted}
        return groups[protected], groups
    groups = {group: value(one_and_rest(group)) for group in query.all_groups}
    return value([[group] for group in query.all_groups]), groups


@by_query
def awrf(
    query: Query,
    protected: str | None = None,
    k: int | None = None,
    discount: Any = "log2",
    stop: Any = Fraction(1, 10),
    distance: str = "difference",
    proportions: dict[str, Any] | None = None,
    ties: str = "average",
) -> tuple[Number | None, Groups]:
    """Share of all attention against the target share."""
    target = targets(query, proportions)
    if discount == "geometric":
        given = [fraction(stop) * (1 - fraction(stop)) ** j for j in range(query.n)]
        weight = attention(given, k)
    else:
        weight = attention(discount, k)
    seen = mean_attention(query, ties, weight)
    everything = total(seen)
    if everything == 0 or not several(target):
        return None, dict.fromkeys(query.all_groups)
    share = {
        g: ratio(total(seen[i] for i in query.members(g)), everything) for g in query.all_groups
    }
    groups: Groups = {
        g: difference(share[g], target[g]) if target[g] else None for g in query.all_groups
    }
    if protected is not None and target[protected] == 0:
        return None, groups
    if distance in ("js", "trec"):
        names = query.all_groups if protected is None else [protected, None]
        pairs = []
        for g in names:
            if g is None:
                pairs.append((difference(Fraction(1), share[protected]), 1 - target[protected]))
            else:
                pairs.append((share[g], target[g]))
        divergence = jensen_shannon(pairs)
        # a bit is ln(2) nats
        return divergence if distance == "js" else product([divergence, ln(Fraction(2))]), groups
    wanted = query.all_groups if protected is None else [protected]
    return largest(size(difference(share[g], target[g])) for g in wanted), groups


def jensen_shannon(pairs: list[tuple[Number, Number]]) -> Number:
    """Return the Jensen-Shannon divergence in bits of two distributions, given as pairs."""
    terms = []
    for a, b in pairs:
        middle = ratio(total([a, b]), Fraction(2))
        terms += [product([x, log2(ratio(x, middle))]) for x in (a, b) if x != 0]
    return ratio(total(terms), Fraction(2))


@by_query
def infeasible_index(
    query: Query,
    protected: str | None = None,
    k: int | None = None,
    per_group: bool = False,
    proportions: dict[str, Any] | None = None,
    ties: str = "average",
) -> tuple[Number | None, Groups]:
    """Prefixes in which a group has fewer than its target share of the places, rounded down."""
    target = targets(query, proportions)
    if not several(target):
        return None, dict.fromkeys(query.all_groups)
    short = {
        (group, length)
        for group in query.all_groups
        for length in range(1, (query.n if k is None else min(k, query.n)) + 1)
        if counts_in_prefix(query, ties, group, length) < floor(length * target[group])
    }
    groups: Groups = {
        group: Fraction(sum(g == group for g, _ in short)) if target[group] else None
        for group in query.all_groups
    }
    if protected is not None:
        return groups[protected], groups
    return Fraction(len(short) if per_group else len({length for _, length in short})), groups
