"""Users and items, individuals, and representations."""

from collections import Counter
from fractions import Fraction
from typing import Any

from .lists import BadInput, Query, by_query
from .numbers import DIGITS, Number, decimal, fraction, mean, total

__all__ = [
    "consistency",
    "dominance",
    "envy",
    "item_impact",
    "lipschitz_violations",
    "nash_welfare",
    "pareto_dominated",
    "representation_leakage",
    "user_utility",
]

Table = list[list[Fraction]]


def read(inputs: dict[str, Any], policy: str = "policy") -> tuple[Table, Table]:
    """Read relevance (user x item) and the attention each user gives to each item."""
    relevance = [[fraction(value) for value in row] for row in inputs["relevance"]]
    attention = [fraction(value) for value in inputs["attention"]]
    if any(value < 0 for row in relevance for value in row):
        raise BadInput("negative relevance")
    seen = []
    for user in inputs[policy]:
        if len(user) != len(relevance[0]):
            raise BadInput("length")
        if any(sum(map(fraction, item)) > 1 for item in user):
            raise BadInput("policy")
        seen.append(
            [
                sum((fraction(x) * v for x, v in zip(item, attention, strict=True)), Fraction(0))
                for item in user
            ]
        )
    return relevance, seen


def impacts(relevance: Table, seen: Table) -> list[Fraction]:
    """Return what the attention of all users is worth to each item."""
    users, items = range(len(relevance)), range(len(relevance[0]))
    return [sum((relevance[u][i] * seen[u][i] for u in users), Fraction(0)) for i in items]


def item_impact(inputs: dict[str, Any], options: dict[str, Any]) -> list[Number]:
    """Relevance times attention, added up over users."""
    return list(impacts(*read(inputs)))


def user_utility(inputs: dict[str, Any], options: dict[str, Any]) -> list[Number]:
    """Relevance times attention, added up over items."""
    relevance, seen = read(inputs)
    return [
        total(r * s for r, s in zip(*rows, strict=True))
        for rows in zip(relevance, seen, strict=True)
    ]


def envy(inputs: dict[str, Any], options: dict[str, Any]) -> Number:
    """Mean over items of the largest gain from another item's places, at least 0."""
    relevance, seen = read(inputs)
    users, items = range(len(relevance)), range(len(relevance[0]))
    own = impacts(relevance, seen)
    gains = [
        max(sum((relevance[u][i] * seen[u][j] for u in users), Fraction(0)) - own[i] for j in items)
        for i in items
    ]
    return mean(gains)


def nash_welfare(inputs: dict[str, Any], options: dict[str, Any]) -> Number | None:
    """Geometric mean of the impacts of the items that are relevant to somebody."""
    relevance, seen = read(inputs)
    own = impacts(relevance, seen)
    wanted = [own[i] for i in range(len(own)) if any(row[i] for row in relevance)]
    if not wanted:
        return None
    if 0 in wanted:
        return Fraction(0)
    result = Fraction(1)
    for impact in wanted:
        result *= impact
    return (
        result
        if len(wanted) == 1
        else DIGITS.power(decimal(result), decimal(Fraction(1, len(wanted))))
    )


def dominance(inputs: dict[str, Any], options: dict[str, Any]) -> Number:
    """Share of items with less impact than under the uniform policy, by more than the margin."""
    relevance, seen = read(inputs)
    n = len(relevance[0])
    own = impacts(relevance, seen)
    attention = sum(map(fraction, inputs["attention"])) / n
    uniform = impacts(relevance, [[attention] * n for _ in relevance])
    kept = 1 - fraction(options.get("margin", 0))
    return Fraction(sum(own[i] < kept * uniform[i] for i in range(n)), n)


def pareto_dominated(inputs: dict[str, Any], options: dict[str, Any]) -> list[bool]:
    """Whether each other policy is better for an item and worse for none."""
    own = impacts(*read(inputs))
    found = []
    for other in inputs["others"]:
        theirs = impacts(*read({**inputs, "policy": other}))
        found.append(all(t >= o for t, o in zip(theirs, own, strict=True)) and theirs != own)
    return found


def scaled(query: Query) -> list[Fraction]:
    """Return the scores scaled to [0, 1]; all 0 where they are equal."""
    low, high = min(query.s), max(query.s)
    return [(s - low) / (high - low) if high > low else Fraction(0) for s in query.s]


def squared_distance(query: Query, i: int, j: int) -> Fraction:
    """Return the squared Euclidean distance of two items."""
    return sum(((a - b) ** 2 for a, b in zip(query.X[i], query.X[j], strict=True)), Fraction(0))


@by_query
def consistency(query: Query, n_neighbors: int = 10, ties: str = "average") -> Number | None:
    """1 less the mean distance of a score from the mean score of the nearest items."""
    n, s = query.n, scaled(query)
    k = min(n_neighbors, n - 1)
    if k < 1:
        return None
    apart = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        radius = sorted(squared_distance(query, i, j) for j in others)[k - 1]
        closer = [s[j] for j in others if squared_distance(query, i, j) < radius]
        border = [s[j] for j in others if squared_distance(query, i, j) == radius]
        near = sum(closer, Fraction(0)) + (k - len(closer)) * sum(border) / Fraction(len(border))
        apart.append(abs(s[i] - near / k))
    return 1 - mean(apart)  # type: ignore[operator]


@by_query
def lipschitz_violations(query: Query, slope: Any = 1, ties: str = "average") -> Number | None:
    """Share of pairs with scores further apart than slope times the distance of their features."""
    s, limit = scaled(query), fraction(slope)
    pairs = [(i, j) for i in range(query.n) for j in range(i)]
    if not pairs:
        return None
    broken = [(s[i] - s[j]) ** 2 > limit**2 * squared_distance(query, i, j) for i, j in pairs]
    return Fraction(sum(broken), len(pairs))


def representation_leakage(inputs: dict[str, Any], options: dict[str, Any]) -> Number | None:
    """Accuracy less the largest share, for representations that leave no model a choice.

    Either the rows of a group all stand in one place of their own, far from the others': every
    held-out row is recognised. Or all rows stand in one place: the model can only guess.
    """
    Z, g = inputs["Z"], inputs["sensitive_features"]
    if len(Z) != len(g):
        raise BadInput("length")
    share = Fraction(max(Counter(g).values()), len(g))
    if len(set(g)) == 1:
        return None
    places = {group: {tuple(z) for z, h in zip(Z, g, strict=True) if h == group} for group in g}
    if len({tuple(z) for z in Z}) == 1:
        return Fraction(0)
    if all(len(spots) == 1 for spots in places.values()) and len(
        set.union(*places.values())
    ) == len(places):
        return 1 - share
    raise BadInput("no forced answer")
