"""Selection: who is among the first k, compared between groups and inside them."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product as every
from math import comb
from typing import Any

from .lists import (
    BadInput,
    Groups,
    Query,
    attention,
    by_query,
    mean_attention,
    orders,
    queries,
    worst,
)
from .numbers import Number, difference, fraction, largest, ratio, size, smallest, total

__all__ = [
    "adverse_impact_ratio",
    "calibration_gap",
    "fa_star_ir_test",
    "igf_aggregated",
    "igf_ratio",
    "recall_gap",
]


def chances(query: Query, ties: str, k: int | None) -> list[Number]:
    """Return each item's chance to be among the first k."""
    return mean_attention(query, ties, attention("flat", k))


def rate(inside: list[Number], items: list[int]) -> Number | None:
    """Return the share of the items that is expected inside; nothing where there are none."""
    return ratio(total(inside[i] for i in items), Fraction(len(items))) if items else None


@by_query
def adverse_impact_ratio(
    query: Query, protected: str | None = None, k: int | None = None, ties: str = "average"
) -> tuple[Number | None, Groups]:
    """Return selection rates over the highest selection rate of the list."""
    inside = chances(query, ties, k)
    rates = {g: rate(inside, query.members(g)) for g in query.all_groups}
    known = [r for r in rates.values() if r is not None]
    if len(known) < 2 or largest(known) == 0:
        return None, dict.fromkeys(query.all_groups)
    groups: Groups = {g: None if r is None else ratio(r, largest(known)) for g, r in rates.items()}
    return (worst(groups, "higher") if protected is None else groups[protected]), groups


@by_query
def recall_gap(
    query: Query,
    protected: str | None = None,
    k: int | None = None,
    threshold: Any = 1,
    rate: str = "recall",
    ties: str = "average",
) -> tuple[Number | None, Groups]:
    """Difference between the rates at which a group's items and everyone else's are found."""
    inside = chances(query, ties, k)
    wanted = query.all_groups if protected is None else [protected]

    def found(relevant: bool) -> tuple[Groups, Groups]:
        looked_for = [i for i in range(query.n) if (query.y[i] >= threshold) == relevant]
        rates, gaps = {}, {}
        for group in query.all_groups:
            mine = _rate(inside, [i for i in looked_for if query.g[i] == group])
            rest = _rate(inside, [i for i in looked_for if query.g[i] != group])
            rates[group] = mine
            missing = mine is None or rest is None
            gaps[group] = None if missing else size(difference(mine, rest))
        return rates, gaps

    if rate != "odds":
        rates, gaps = found(rate == "recall")
        return worst({g: gaps[g] for g in wanted}, "lower"), rates
    (_, hits), (_, alarms) = found(True), found(False)
    gaps = {g: worst({"hit": hits[g], "alarm": alarms[g]}, "lower") for g in query.all_groups}
    return worst({g: gaps[g] for g in wanted}, "lower"), gaps


_rate = rate


@by_query
def calibration_gap(
    query: Query, protected: str | None = None, n_bins: int = 10, ties: str = "average"
) -> tuple[Number | None, Groups]:
    """Largest difference of mean relevance between groups in bins of equal count."""
    n, places = query.n, query.places(ties)
    bins = min(n_bins, n)
    sizes = [n // bins + (b < n % bins) for b in range(bins)]
    gaps: dict[str, list[Number]] = {g: [] for g in query.all_groups}
    pair_gaps: list[Number] = []
    first = 1
    for length in sizes:
        inside = range(first, first + length)
        first += length
        chance = [Fraction(sum(p in inside for p in places[i]), len(places[i])) for i in range(n)]

        def relevance(items: list[int], chance: list[Fraction] = chance) -> Fraction | None:
            count = sum((chance[i] for i in items), Fraction(0))
            return (
                sum((chance[i] * query.y[i] for i in items), Fraction(0)) / count if count else None
            )

        means = {g: relevance(query.members(g)) for g in query.all_groups}
        known = [m for m in means.values() if m is not None]
        if len(known) > 1:
            pair_gaps.append(max(known) - min(known))
        for g in query.all_groups:
            rest = relevance([i for i in range(n) if query.g[i] != g])
            if means[g] is not None and rest is not None:
                gaps[g].append(abs(means[g] - rest))  # type: ignore[operator]
    groups: Groups = {g: largest(found) if found else None for g, found in gaps.items()}
    if protected is not None:
        return groups[protected], groups
    return (largest(pair_gaps) if pair_gaps else None), groups


def positive_merits(
    one: Callable[..., Any],
) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    """Refuse merits that are not above 0."""
    measure = by_query(one)

    def checked(inputs: dict[str, Any], options: dict[str, Any]) -> Any:
        queries(inputs)
        if any(value <= 0 for value in inputs["y_true"]):
            raise BadInput("merit not positive")
        return measure(inputs, options)

    return checked


@positive_merits
def igf_ratio(
    query: Query, protected: str | None = None, k: int | None = None, ties: str = "average"
) -> tuple[Number | None, Groups]:
    """Lowest accepted over highest rejected merit in the group; the lowest of all orders."""
    accepted = query.n if k is None else k
    groups: Groups = {}
    for group in query.all_groups if protected is None else [protected]:
        values: list[Number] = []
        for order in orders(query.blocks(ties)):
            mine = [(place, i) for place, i in enumerate(order, 1) if query.g[i] == group]
            taken = [query.y[i] for place, i in mine if place <= accepted]
            left = [query.y[i] for place, i in mine if place > accepted]
            if taken:
                values.append(min(Fraction(1), min(taken) / max(left)) if left else Fraction(1))
        groups[group] = smallest(values) if values else None
    return worst(groups, "higher"), groups


@positive_merits
def igf_aggregated(
    query: Query, protected: str | None = None, k: int | None = None, ties: str = "average"
) -> tuple[Number | None, Groups]:
    """Least share of the merit at or above an accepted item of the group that is accepted."""
    inside = chances(query, ties, k)
    groups: Groups = {}
    for group in query.all_groups if protected is None else [protected]:
        mine = query.members(group)
        values = []
        for i in mine:
            if inside[i] > 0:
                high = [j for j in mine if query.y[j] >= query.y[i]]
                taken = total(inside[j] * query.y[j] for j in high)  # type: ignore[operator]
                values.append(ratio(taken, total(query.y[j] for j in high)))
        groups[group] = smallest(values) if values else None
    return worst(groups, "higher"), groups


# FA*IR


def binomial(m: int, j: int, p: Fraction) -> Fraction:
    """Return the chance of at most m successes among j."""
    return sum((comb(j, i) * p**i * (1 - p) ** (j - i) for i in range(m + 1)), Fraction(0))


def minimum_counts(k: int, p: Fraction, level: Fraction) -> tuple[int, ...]:
    """Return for each prefix the smallest m with F(m; j, p) > level."""
    return tuple(
        next(m for m in range(j + 1) if binomial(m, j, p) > level) for j in range(1, k + 1)
    )


def chance_of(k: int, p: Fraction, event: Callable[[list[int]], bool]) -> Fraction:
    """Return the chance of an event, by going through all lists of k places."""
    result = Fraction(0)
    for places in every((0, 1), repeat=k):
        counts = [sum(places[:j]) for j in range(1, k + 1)]
        if event(counts):
            result += p ** counts[-1] * (1 - p) ** (k - counts[-1])
    return result


def adjusted_counts(k: int, p: Fraction, alpha: Fraction) -> tuple[int, ...]:
    """Return the largest table of minimum counts that a fair list misses with chance <= alpha."""
    levels = {binomial(m, j, p) for j in range(1, k + 1) for m in range(j)} | {alpha}
    best = (0,) * k
    seen = {best}
    for level in sorted(level for level in levels if level <= alpha):
        table = minimum_counts(k, p, level)
        if table not in seen:
            seen.add(table)
            if chance_of(k, p, lambda c, t=table: any(map(int.__lt__, c, t))) > alpha:
                break
            best = table
    return best


def fa_star_ir_test(inputs: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Every prefix must hold the minimum count; ties are broken against the protected."""
    query = queries(inputs)[0]
    protected = options["protected"]
    if protected not in query.all_groups:
        raise BadInput("unknown group")
    members = query.members(protected)
    p = fraction(options["p"]) if "p" in options else Fraction(len(members), query.n)
    alpha = fraction(options.get("alpha", 0.1))
    k = min(options.get("k", query.n), query.n)
    against = sorted(range(query.n), key=lambda i: (-query.s[i], i in members))
    counts = [sum(i in members for i in against[:j]) for j in range(1, k + 1)]
    table = (adjusted_counts if options.get("adjusted", True) else minimum_counts)(k, p, alpha)
    failing = [j for j in range(1, k + 1) if counts[j - 1] < table[j - 1]]
    observed = min(binomial(counts[j - 1], j, p) for j in range(1, k + 1))

    def as_extreme(found: list[int]) -> bool:
        return min(binomial(c, j, p) for j, c in enumerate(found, 1)) <= observed

    return {
        "passed": not failing,
        "first_failing_prefix": failing[0] if failing else None,
        "p_value": chance_of(k, p, as_extreme),
        "minimum": list(table),
    }
