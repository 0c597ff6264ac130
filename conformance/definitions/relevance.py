"""Relevance: what stands near the top."""

from fractions import Fraction
from typing import Any

from .lists import Query, attention, by_query, mean_attention, orders
from .numbers import Number, difference, exp2, mean, product, ratio, total

__all__ = [
    "auc",
    "average_precision",
    "average_rank",
    "dcg",
    "err",
    "ndcg",
    "precision",
    "recall",
    "reciprocal_rank",
]


def gain(y: Fraction, kind: str) -> Number:
    """Return what an item of this relevance is worth."""
    return difference(exp2(y), Fraction(1)) if kind == "exp2" else y


def plain_dcg(query: Query, k: int | None, kind: str, discount: Any, ties: str) -> Number:
    """Return each item's gain times the mean discount of its places, added up."""
    weights = mean_attention(query, ties, attention(discount, k))
    return total(product([gain(y, kind), w]) for y, w in zip(query.y, weights, strict=True))


@by_query
def dcg(
    query: Query,
    k: int | None = None,
    gain: str = "exp2",
    discount: Any = "log2",
    ties: str = "average",
) -> Number:
    """DCG of one list."""
    return plain_dcg(query, k, gain, discount, ties)


@by_query
def ndcg(
    query: Query,
    k: int | None = None,
    gain: str = "exp2",
    discount: Any = "log2",
    ties: str = "average",
) -> Number | None:
    """DCG over the best there is: the largest gains at the places with the largest weights."""
    best = ideal(query, k, gain, discount)
    return None if best == 0 else ratio(plain_dcg(query, k, gain, discount, ties), best)


def ideal(query: Query, k: int | None, kind: str, discount: Any) -> Number:
    """Return the largest DCG of any order."""
    weight = attention(discount, k)
    weights = sorted((weight(place) for place in range(1, query.n + 1)), key=float, reverse=True)
    gains = sorted((gain(y, kind) for y in query.y), key=float, reverse=True)
    return total(product(pair) for pair in zip(gains, weights, strict=True))


@by_query
def precision(
    query: Query, k: int | None = None, threshold: Any = 1, ties: str = "average"
) -> Number:
    """Return the expected relevant items in the top k, over k (by default the items shown)."""
    shown = query.n - sum(query.hidden)
    return Fraction(hits(query, k, threshold, ties), max(1, shown) if k is None else k)


@by_query
def recall(
    query: Query, k: int | None = None, threshold: Any = 1, ties: str = "average"
) -> Number | None:
    """Return the expected relevant items in the top k, over all relevant items."""
    wanted = sum(y >= threshold for y in query.y)
    return None if wanted == 0 else Fraction(hits(query, k, threshold, ties), wanted)


def hits(query: Query, k: int | None, threshold: Any, ties: str) -> Fraction:
    """Count the relevant items shown among the first k, averaged over the orders of the tied."""
    inside = mean_attention(query, ties, attention("flat", k))
    items = zip(query.y, inside, query.hidden, strict=True)
    return total(w for y, w, hidden in items if y >= threshold and not hidden)  # type: ignore[return-value]


@by_query
def average_precision(
    query: Query, k: int | None = None, threshold: Any = 1, ties: str = "average"
) -> Number | None:
    """Precision at the relevant items of the first k, over all relevant; mean of all orders."""
    wanted = sum(y >= threshold for y in query.y)
    if wanted == 0:
        return None
    values = []
    for order in orders(query.blocks(ties)):
        seen, value = 0, Fraction(0)
        for place, i in enumerate(order, start=1):
            if query.y[i] >= threshold and (k is None or place <= k):
                seen += 1
                value += Fraction(seen, place)
        values.append(value / wanted)
    return mean(values)


@by_query
def reciprocal_rank(
    query: Query, k: int | None = None, threshold: Any = 1, ties: str = "average"
) -> Number:
    """1 over the place of the first relevant item, 0 if it is not among k; mean of all orders."""
    values = []
    for order in orders(query.blocks(ties)):
        places = [place for place, i in enumerate(order, start=1) if query.y[i] >= threshold]
        reached = bool(places) and (k is None or places[0] <= k)
        values.append(Fraction(1, places[0]) if reached else Fraction(0))
    return mean(values)


@by_query
def err(query: Query, k: int | None = None, max_grade: Any = None, ties: str = "average") -> Number:
    """Chance to stop at each place over the place, added up; mean of all orders."""
    top = query.top_grade if max_grade is None else Fraction(max_grade)
    stop = [ratio(difference(exp2(y), Fraction(1)), exp2(top)) for y in query.y]
    values = []
    for order in orders(query.blocks(ties)):
        going: Number = Fraction(1)
        terms = []
        for place, i in enumerate(order, start=1):
            if k is None or place <= k:
                terms.append(product([going, stop[i], Fraction(1, place)]))
            going = product([going, difference(Fraction(1), stop[i])])
        values.append(total(terms))
    return mean(values)


@by_query
def average_rank(
    query: Query, threshold: Any = 1, weights: str = "relevance", ties: str = "average"
) -> Number | None:
    """Mean place of the relevant items, weighted by relevance or not."""
    relevant = [i for i in range(query.n) if query.y[i] >= threshold]
    weight = {i: query.y[i] if weights == "relevance" else Fraction(1) for i in relevant}
    if not relevant:
        return None
    places = query.places(ties)
    means = {i: Fraction(sum(places[i]), len(places[i])) for i in relevant}
    return ratio(total(weight[i] * means[i] for i in relevant), total(weight.values()))


@by_query
def auc(query: Query, threshold: Any = 1, ties: str = "average") -> Number | None:
    """Share of the pairs of a relevant and an irrelevant item in the right order, ties half."""
    places = query.places(ties)
    values = [
        Fraction(places[a][0] < places[b][0]) + Fraction(places[a] == places[b], 2)
        for a in range(query.n)
        for b in range(query.n)
        if query.y[a] >= threshold > query.y[b]
    ]
    return mean(values) if values else None
