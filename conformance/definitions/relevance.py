"""Relevance: what stands near the top."""

from fractions import Fraction
from typing import Any

from .lists import (
    BadInput,
    Query,
    Result,
    attention,
    by_query,
    mean_attention,
    orders,
    queries,
    summary,
)
from .numbers import Number, difference, exp2, mean, product, ratio, total

__all__ = [
    "alpha_ndcg",
    "auc",
    "average_precision",
    "average_rank",
    "bpref",
    "dcg",
    "err",
    "ndcg",
    "precision",
    "rbo",
    "rbp",
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
def rbp(
    query: Query,
    p: Any = Fraction(0.8),
    k: int | None = None,
    max_grade: Any = None,
    ties: str = "average",
) -> Number:
    """Share of the largest grade at each place, times (1 - p) p^(place - 1), added up."""
    top = query.top_grade if max_grade is None else Fraction(max_grade)
    p = Fraction(p)

    def weight(place: int) -> Number:
        return (1 - p) * p ** (place - 1) if k is None or place <= k else Fraction(0)

    weights = mean_attention(query, ties, weight)
    gains = [y / top if top else Fraction(0) for y in query.y]
    return total(product(pair) for pair in zip(gains, weights, strict=True))


@by_query
def bpref(query: Query, threshold: Any = 1, ties: str = "average") -> Number | None:
    """Share of the judged irrelevant items not above each relevant one; mean of all orders."""
    wanted = sum(y >= threshold for y in query.y)
    limit = min(wanted, query.n - wanted)
    if wanted == 0:
        return None
    values = []
    for order in orders(query.blocks(ties)):
        above, value = 0, Fraction(0)
        for i in order:
            if query.y[i] < threshold:
                above += 1
            else:
                value += 1 - (Fraction(min(above, wanted), limit) if limit else 0)
        values.append(value / wanted)
    return mean(values)


@by_query
def alpha_ndcg(
    query: Query, alpha: Any = Fraction(1, 2), k: int | None = None, ties: str = "average"
) -> Number | None:
    """Discounted gain of aspects, over that of the greedy order; different items may not tie."""
    covers = [[t for t, value in enumerate(row) if value > 0] for row in query.X]
    blocks = query.blocks(ties)
    place = 1
    for block in blocks:
        if any(covers[i] != covers[block[0]] for i in block) and (k is None or place <= k):
            raise BadInput("ties")
        place += len(block)
    keep = 1 - Fraction(alpha)

    def gain(i: int, above: list[int]) -> Fraction:
        return sum((keep ** sum(t in covers[j] for j in above) for t in covers[i]), Fraction(0))

    def worth(order: list[int]) -> Number:
        weight = attention("log2", k)
        return total(product([gain(i, order[:at]), weight(at + 1)]) for at, i in enumerate(order))

    greedy: list[int] = []
    while len(greedy) < query.n:
        left = [i for i in range(query.n) if i not in greedy]
        most = max(gain(i, greedy) for i in left)
        rows = [i for i in left if gain(i, greedy) == most]
        greedy.append(max(rows, key=lambda i: [value > 0 for value in query.X[i]]))
    best = worth(greedy)
    return None if best == 0 else ratio(worth([i for block in blocks for i in block]), best)


def rbo(inputs: dict[str, Any], options: dict[str, Any]) -> Result:
    """Overlap of the first d of two lists, weighted by (1 - p) p^(d - 1); mean of all orders."""
    p, k = Fraction(options.get("p", 0.9)), options.get("k")
    ties = options.get("ties", "average")
    lists = [
        queries({"y_score": inputs[name], "qid": inputs.get("qid")}) for name in ("first", "second")
    ]
    if len(inputs["first"]) != len(inputs["second"]):
        raise BadInput("length")
    found: list[Number | None] = []
    for one, other in zip(*lists, strict=True):
        depth = one.n if k is None else min(k, one.n)
        values = []
        for a in orders(one.blocks(ties)):
            for b in orders(other.blocks(ties)):
                shares = [Fraction(len({*a[:d]} & {*b[:d]}), d) for d in range(1, depth + 1)]
                terms = [(1 - p) * share * p**at for at, share in enumerate(shares)]
                values.append(sum(terms, Fraction(0)) + shares[-1] * p**depth)
        found.append(mean(values))
    return summary(found)


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
