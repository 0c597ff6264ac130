"""Pairs: items in the right and the wrong order, with costs, between groups."""

from collections.abc import Callable
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
    queries,
    summary,
    worst,
)
from .numbers import (
    Number,
    difference,
    exp,
    exp2,
    fraction,
    largest,
    mean,
    product,
    ratio,
    size,
    total,
)

__all__ = [
    "cost_ndcg",
    "cross_group_auc",
    "csdcg",
    "group_benefit",
    "group_pairwise_accuracy",
    "kendall_loss",
    "pair_loss",
    "rank_calibration_error",
    "rank_equality_error",
    "rank_parity_error",
]

HALF = Fraction(1, 2)


def above(query: Query, ties: str) -> Callable[[int, int], Fraction]:
    """Return the function that says whether a stands above b: 1, 0, or 1/2 where they are tied."""
    places = query.places(ties)

    def value(a: int, b: int) -> Fraction:
        return HALF if places[a] == places[b] else Fraction(places[a][0] < places[b][0])

    return value


# Losses of one list


def pair_cost(query: Query, inputs: dict[str, Any], combine: str) -> Callable[[int, int], Fraction]:
    """Return the cost of a pair of items: constant, by item, by a table of grades, or listed."""
    table, listed = inputs.get("cost_table"), inputs.get("cost_pairs")
    if listed is not None:
        known = {(a, b): fraction(c) for a, b, c in listed}
        return lambda a, b: known.get((query.rows[a], query.rows[b]), Fraction(0))
    if table is not None:
        if any(y.denominator != 1 or y >= len(table) for y in query.y):
            raise BadInput("cost table")
        return lambda a, b: fraction(table[int(query.y[a])][int(query.y[b])])
    if not query.cost:
        return lambda a, b: Fraction(1)
    c = query.cost
    rules: dict[str, Callable[[int, int], Fraction]] = {
        "product": lambda a, b: c[a] * c[b],
        "mean": lambda a, b: (c[a] + c[b]) / 2,
        "sum": lambda a, b: c[a] + c[b],
        "max": lambda a, b: max(c[a], c[b]),
    }
    return rules[combine]


def with_costs(
    one: Callable[..., Number | None],
) -> Callable[[dict[str, Any], dict[str, Any]], Result]:
    """Make a definition for one list and a pair cost into one for many lists."""

    def measure(inputs: dict[str, Any], options: dict[str, Any]) -> Result:
        options = dict(options)
        undefined, combine = options.pop("undefined", "skip"), options.pop("combine", "product")
        values = [one(q, pair_cost(q, inputs, combine), **options) for q in queries(inputs)]
        return summary(values, None, undefined)

    return measure


@with_costs
def pair_loss(
    query: Query, cost: Callable[[int, int], Fraction], kind: str = "R1", ties: str = "average"
) -> Number | None:
    """Errors over the pairs with y_a > y_b, each weighing its cost."""
    is_above = above(query, ties)
    lost, weights = [], []
    for a in range(query.n):
        for b in range(query.n):
            if query.y[a] > query.y[b]:
                wrong: Number = 1 - is_above(a, b)
                if kind == "R1":
                    wrong = Fraction(wrong > 0)
                if kind == "E1":
                    wrong = exp(query.s[b] - query.s[a])
                lost.append(product([cost(a, b), wrong]))
                weights.append(cost(a, b))
    return ratio(total(lost), total(weights)) if sum(weights) else None


WEIGHTS: dict[str | None, Callable[[int, int], Fraction]] = {
    None: lambda i, j: Fraction(1),
    "reciprocal_product": lambda i, j: Fraction(1, i * j),
    "distance": lambda i, j: Fraction(abs(i - j)),
}


@by_query
def kendall_loss(query: Query, weight: str | None = None, ties: str = "average") -> Number | None:
    """Weights of the misordered pairs, over the number of pairs."""
    n = query.n
    if n < 2:
        return None
    is_above, w = above(query, ties), WEIGHTS[weight]
    true = Query(None, query.rows, query.y, query.y).places()
    lost = []
    for a in range(n):
        for b in range(n):
            if query.y[a] > query.y[b]:
                mean_weight = mean(w(i, j) for i in true[a] for j in true[b])
                lost.append(product([mean_weight, 1 - is_above(a, b)]))
    return ratio(total(lost), Fraction(n * (n - 1), 2))


@with_costs
def csdcg(
    query: Query,
    cost: Callable[[int, int], Fraction],
    k: int | None = None,
    normalized: bool = False,
    ties: str = "average",
) -> Number | None:
    """Signed, cost-weighted gain: the better half counts for, the worse half against."""
    n = query.n
    if n < 2:
        return None
    true = Query(None, query.rows, query.y, query.y).places()
    worth = []
    for i in range(n):
        high = Fraction(sum(place <= n // 2 for place in true[i]), len(true[i]))
        mean_cost = mean(cost(i, j) for j in range(n) if j != i)
        gain = difference(exp2(query.y[i]), Fraction(1))
        worth.append(product([2 * high - 1, gain, mean_cost]))
    weight = attention("log2", k)
    seen = mean_attention(query, ties, weight)
    value = total(product(pair) for pair in zip(worth, seen, strict=True))
    if not normalized:
        return value
    places = [weight(place) for place in range(1, n + 1)]
    ranked = sorted(worth, key=float)
    low = total(product(pair) for pair in zip(ranked, places, strict=True))
    high_value = total(product(pair) for pair in zip(reversed(ranked), places, strict=True))
    if low == high_value or abs(float(low) - float(high_value)) < 1e-30:
        return None
    return ratio(difference(value, low), difference(high_value, low))


@with_costs
def cost_ndcg(
    query: Query,
    cost: Callable[[int, int], Fraction],
    k: int | None = None,
    ties: str = "average",
) -> Number | None:
    """Discounted gain times the mean cost of the item's pairs, over that of the best order."""
    n = query.n
    worth = []
    for i in range(n):
        mean_cost = mean(cost(i, j) for j in range(n) if j != i) if n > 1 else Fraction(1)
        worth.append(product([difference(exp2(query.y[i]), Fraction(1)), mean_cost]))
    weight = attention("log2", k)
    value = total(product(p) for p in zip(worth, mean_attention(query, ties, weight), strict=True))
    places = [weight(place) for place in range(1, n + 1)]
    best = total(product(p) for p in zip(sorted(worth, key=float)[::-1], places, strict=True))
    return None if float(best) == 0 else ratio(value, best)


# Between groups


def each_group(
    query: Query, protected: str | None, one: Callable[[list[int], list[int]], Number | None]
) -> tuple[Number | None, Groups]:
    """Compute for every group and everyone else; the largest counts unless one is protected."""
    groups: Groups = {}
    for group in query.all_groups if protected is None else [protected]:
        mine = query.members(group)
        groups[group] = one(mine, [i for i in range(query.n) if i not in mine])
    return worst(groups, "lower"), groups


def share(values: list[Fraction]) -> Number | None:
    """Return the mean, or nothing where there are no pairs."""
    return mean(values) if values else None


@by_query
def rank_equality_error(
    query: Query, protected: str | None = None, denominator: str = "all", ties: str = "average"
) -> tuple[Number | None, Groups]:
    """Mixed pairs with the group's item above although the other one is better."""
    is_above, y = above(query, ties), query.y

    def one(mine: list[int], rest: list[int]) -> Number | None:
        return share(
            [
                is_above(a, b) if y[a] < y[b] else Fraction(0)
                for a in mine
                for b in rest
                if denominator == "all" or y[a] != y[b]
            ]
        )

    return each_group(query, protected, one)


@by_query
def rank_calibration_error(
    query: Query, protected: str | None = None, denominator: str = "all", ties: str = "average"
) -> tuple[Number | None, Groups]:
    """Misordered pairs among those with at least one item of the group."""
    is_above, y = above(query, ties), query.y

    def one(mine: list[int], rest: list[int]) -> Number | None:
        wrong = []
        for a in range(query.n):
            for b in range(a):
                if (a in mine or b in mine) and (denominator == "all" or y[a] != y[b]):
                    better, worse = (a, b) if y[a] > y[b] else (b, a)
                    wrong.append(Fraction(0) if y[a] == y[b] else 1 - is_above(better, worse))
        return share(wrong)

    return each_group(query, protected, one)


@by_query
def rank_parity_error(
    query: Query, protected: str | None = None, ties: str = "average"
) -> tuple[Number | None, Groups]:
    """Mixed pairs with the group's item above."""
    is_above = above(query, ties)
    return each_group(
        query, protected, lambda mine, rest: share([is_above(a, b) for a in mine for b in rest])
    )


def accuracy_gap(
    query: Query, protected: str | None, pair: Callable[[int, int], bool], ties: str
) -> tuple[Number | None, Groups]:
    """Return the largest gap of two groups (or one and the rest), and the accuracy of each."""
    is_above = above(query, ties)

    def accuracy(better: list[int], worse: list[int]) -> Number | None:
        return share([is_above(a, b) for a in better for b in worse if pair(a, b)])

    def rest(group: str) -> list[int]:
        return [i for i in range(query.n) if query.g[i] != group]

    sides = []
    if protected is not None:
        sides = [(query.members(protected), rest(protected))]
    else:
        names = query.all_groups
        sides = [(query.members(g), query.members(h)) for g in names for h in names if g < h]
    gaps = []
    for one, other in sides:
        here, there = accuracy(one, other), accuracy(other, one)
        if here is not None and there is not None:
            gaps.append(size(difference(here, there)))
    groups = {g: accuracy(query.members(g), rest(g)) for g in query.all_groups}
    return (largest(gaps) if gaps else None), groups


@by_query
def group_pairwise_accuracy(
    query: Query, protected: str | None = None, ties: str = "average"
) -> tuple[Number | None, Groups]:
    """Gap between how often one group's better items stand above and the other's do."""
    return accuracy_gap(query, protected, lambda a, b: query.y[a] > query.y[b], ties)


@by_query
def cross_group_auc(
    query: Query, protected: str | None = None, threshold: Any = 1, ties: str = "average"
) -> tuple[Number | None, Groups]:
    """Gap between how often one group's relevant items beat the other's irrelevant ones."""
    return accuracy_gap(query, protected, lambda a, b: query.y[a] >= threshold > query.y[b], ties)


@by_query
def group_benefit(
    query: Query, protected: str | None = None, ties: str = "average"
) -> tuple[Number | None, Groups]:
    """Score differences between the group's items and everyone else's, added up."""
    groups: Groups = {}
    for group in query.all_groups if protected is None else [protected]:
        mine = query.members(group)
        rest = [i for i in range(query.n) if i not in mine]
        terms = [query.s[a] - query.s[b] for a in mine for b in rest]
        groups[group] = total(terms) if terms else None
    return worst(groups, "higher"), groups
