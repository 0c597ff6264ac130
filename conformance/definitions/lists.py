"""Lists: the rows of a query, the blocks of tied ones, their orders, and what holds for all."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from itertools import product as every
from typing import Any

from .numbers import Number, fraction, largest, log2, mean, ratio, smallest

__all__ = [
    "BadInput",
    "Query",
    "Result",
    "attention",
    "by_query",
    "counts_in_prefix",
    "mean_attention",
    "orders",
    "queries",
    "summary",
    "worst",
]

Groups = dict[str, Number | None]


class BadInput(Exception):
    """The input is refused; the word says what is wrong with it."""


@dataclass
class Query:
    """The rows of one list."""

    label: Any
    rows: list[int] = field(default_factory=list)
    y: list[Fraction] = field(default_factory=list)
    s: list[Fraction] = field(default_factory=list)
    g: list[str] = field(default_factory=list)
    hidden: list[bool] = field(default_factory=list)
    cost: list[Fraction] = field(default_factory=list)
    X: list[list[Fraction]] = field(default_factory=list)
    all_groups: list[str] = field(default_factory=list)
    top_grade: Fraction = Fraction(0)

    @property
    def n(self) -> int:
        """The number of items."""
        return len(self.rows)

    def members(self, group: str) -> list[int]:
        """Return the items of a group."""
        return [i for i in range(self.n) if self.g[i] == group]

    def blocks(self, ties: str = "average") -> list[list[int]]:
        """Return the items from the top of the list down, tied ones together."""
        ranked = sorted(range(self.n), key=lambda i: -self.s[i])
        if ties == "stable":
            return [[i] for i in ranked]
        levels = sorted(set(self.s), reverse=True)
        return [[i for i in range(self.n) if self.s[i] == level] for level in levels]

    def places(self, ties: str = "average") -> list[list[int]]:
        """Return for each item the places it may take, all with the same chance."""
        result: list[list[int]] = [[] for _ in range(self.n)]
        place = 1
        for block in self.blocks(ties):
            for i in block:
                result[i] = list(range(place, place + len(block)))
            place += len(block)
        return result


@dataclass
class Result:
    """What a definition gives: values per query, the overall value, and values of groups."""

    per_query: list[Number | None]
    value: Number | None
    groups: Groups | None = None


def queries(inputs: dict[str, Any]) -> list[Query]:
    """Read the input: refuse what is wrong, then one list per query in order of appearance.

    Positions may be given in place of scores; items at position 0 are hidden, behind all others.
    """
    hidden = [position == 0 for position in inputs.get("position", ())]
    if hidden:
        last = max(inputs["position"]) + 1
        inputs = {**inputs, "y_score": [-(position or last) for position in inputs["position"]]}
    columns = {
        name: inputs[name]
        for name in ("y_true", "y_score", "sensitive_features", "qid", "cost", "X")
        if inputs.get(name) is not None
    }
    n = len(columns["y_score"])
    if n == 0:
        raise BadInput("empty")
    if any(len(column) != n for column in columns.values()):
        raise BadInput("length")
    for name in ("y_true", "y_score", "cost"):
        if not all(math.isfinite(float(value)) for value in columns.get(name, ())):
            raise BadInput("not finite")
    if any(value < 0 for value in columns.get("y_true", ())):
        raise BadInput("negative relevance")
    if any(value <= 0 for value in columns.get("cost", ())):
        raise BadInput("cost not positive")
    found: dict[Any, Query] = {}
    labels = columns.get("qid", [0] * n)
    people = columns.get("sensitive_features", [])
    for row in range(n):
        query = found.setdefault(labels[row], Query(labels[row]))
        query.rows.append(row)
        query.s.append(fraction(columns["y_score"][row]))
        for name, column in (("y_true", query.y), ("cost", query.cost)):
            if name in columns:
                column.append(fraction(columns[name][row]))
        query.hidden.append(bool(hidden) and hidden[row])
        if people:
            query.g.append(people[row])
        if "X" in columns:
            query.X.append([fraction(value) for value in columns["X"][row]])
    for query in found.values():
        query.all_groups = sorted(set(people))
        query.top_grade = fraction(max(columns.get("y_true", [0])))
    return list(found.values())


def orders(blocks: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Return every order of the tied items, all equally likely."""
    for parts in every(*(permutations(block) for block in blocks)):
        yield tuple(i for part in parts for i in part)


def attention(discount: Any, k: int | None = None) -> Callable[[int], Number]:
    """Return the weight of a place: by name, or given one by one; nothing behind a cutoff."""

    def weight(place: int) -> Number:
        if k is not None and place > k:
            return Fraction(0)
        if discount == "log2":
            return ratio(Fraction(1), log2(Fraction(1 + place)))
        if discount == "zipf":
            return Fraction(1, place)
        if discount == "flat":
            return Fraction(1)
        if discount == "trec":
            return ratio(Fraction(1), log2(Fraction(max(place, 2))))
        return fraction(discount[place - 1]) if place <= len(discount) else Fraction(0)

    return weight


def mean_attention(query: Query, ties: str, weight: Callable[[int], Number]) -> list[Number]:
    """Return the mean weight of the places each item may take."""
    return [mean(weight(place) for place in places) for places in query.places(ties)]


def counts_in_prefix(query: Query, ties: str, group: str, length: int) -> Fraction:
    """Return the expected number of items of a group among the first places."""
    places = query.places(ties)
    inside = [
        Fraction(sum(place <= length for place in places[i]), len(places[i]))
        for i in query.members(group)
    ]
    return sum(inside, Fraction(0))


def worst(groups: Groups, direction: str) -> Number | None:
    """Return the worst of the groups that have a value."""
    known = [value for value in groups.values() if value is not None]
    if not known:
        return None
    return largest(known) if direction == "lower" else smallest(known)


def summary(
    values: list[Number | None], groups: list[Groups] | None = None, undefined: str = "skip"
) -> Result:
    """Average over the queries where there is a value."""
    if undefined == "raise" and None in values:
        raise BadInput("undefined")
    if undefined in ("zero", "one"):
        fill = Fraction(0 if undefined == "zero" else 1)
        values = [fill if value is None else value for value in values]
    known = [value for value in values if value is not None]
    result = Result(values, mean(known) if known else None)
    if groups is not None:
        result.groups = {}
        for label in sorted({label for some in groups for label in some}):
            of_group = [some.get(label) for some in groups]
            known = [value for value in of_group if value is not None]
            result.groups[label] = mean(known) if known else None
    return result


def by_query(
    one: Callable[..., Any],
) -> Callable[[dict[str, Any], dict[str, Any]], Result]:
    """Make a definition for one list into one for many: a value each, then their mean.

    ``one`` gives a value, or a value and a dict of group to value.
    """

    def measure(inputs: dict[str, Any], options: dict[str, Any]) -> Result:
        options = dict(options)
        undefined = options.pop("undefined", "skip")
        found = queries(inputs)
        known = [None, *found[0].all_groups]
        if len(known) > 1 and options.get("protected") not in known:
            raise BadInput("unknown group")
        results = [one(query, **options) for query in found]
        if isinstance(results[0], tuple):
            return summary([r[0] for r in results], [r[1] for r in results], undefined)
        return summary(results, None, undefined)

    measure.__doc__ = one.__doc__
    return measure
