"""HeldOutBound: error and violation of a fair reduction on new lists or people, with confidence."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.random import as_seed, generator
from ...core.ranking import Ranking
from ...core.table import Table
from ...kernels.segments import divide
from ...metrics.fairness.pairwise import count_pairs
from ...theory.generalization_bounds import disjoint_pairs
from ...theory.mean_bounds import mean_upper_bound
from .pairwise_constraint import group_sizes, pairwise_constraint

__all__ = ["HeldOutBound", "held_out_bound"]


#: Orders of the lists, or matchings of people into disjoint pairs, over which capital is averaged.
VIEWS = 12


@dataclass(frozen=True, eq=False)
class HeldOutBound:
    """Upper bounds of error and violation for new lists or people; all hold at once.

    `held_out_bound` computes them.

    Attributes
    ----------
    error, violation : float
        The values on these data.
    error_at_most, violation_at_most : float
        The upper bounds; a violation bound of 1 says nothing.
    level : float
        The probability that all bounds and intervals hold.
    unit : {"list", "person"}
        What is drawn: lists, of which each counts the same, or the people of one list.
    n_units : int
        Their number.
    table : Table
        Per difference: the two groups, the estimate, and its confidence interval.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import FairReduction, RankBoost
    >>> data = make_ranking(n_queries=300, n_items=10, random_state=0)
    >>> train, test = data.select(range(100)), data.select(range(100, 300))
    >>> fair = FairReduction(RankBoost(10), "rank_parity", max_iter=3, random_state=0).fit(train)
    >>> bound = fair.certify(test)
    >>> bound.violation <= bound.violation_at_most < 1.0
    True
    """

    error: float
    error_at_most: float
    violation: float
    violation_at_most: float
    level: float
    unit: str
    n_units: int
    constraint: str
    table: Table

    @property
    def sentence(self) -> str:
        """The bounds in words."""
        many = {"list": "lists", "person": "people"}[self.unit]
        words = self.constraint.replace("_", " ")
        text = (
            f"On new {many} drawn like these {self.n_units:,}, at most {self.error_at_most:.1%} of "
            "the pairs are misordered"
        )
        if self.violation_at_most < 1.0:
            text += f" and groups differ in {words} by at most {self.violation_at_most:.3f}"
        text += (
            f" ({100 * self.level:g}% confidence); here {self.error:.1%} and {self.violation:.3f}."
        )
        if self.violation_at_most >= 1.0:
            text += f" They are too few to bound the differences in {words}."
        return text

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence


def held_out_bound(
    data: RankingData, scores: np.ndarray, weights: np.ndarray, kind: str, by: Any,
    level: float, random_state: Any,
) -> HeldOutBound:  # fmt: skip
    """Bound the error and the differences of a mixture of rankers.

    Several lists are the draws, and a value of a list is a mean of its pairs. The rows of a single
    list are the draws: they are matched into disjoint pairs, whose values are independent.

    Parameters
    ----------
    data : RankingData
        Lists or people that no ranker was fitted to.
    scores : ndarray of shape (n_rows, n_rankers)
        Scores per stored row.
    weights : ndarray
        Share of each ranker.
    kind, by
        Constraint and attribute, as in `pairwise_constraint`.
    level : float
        Probability with which all bounds hold.
    random_state : int, Generator, RandomState or None
        Seed of the orders and matchings.
    """
    if data.y is None:
        raise DataError("y must be an array to bound the error, got None")
    attribute = data.known_attribute(by, "FairReduction.certify")
    names = attribute.categories
    if len(names) < 2:
        raise DataError(f"sensitive_features must have at least two groups, got {names[0]!r} only")
    shares = weights / weights.sum()
    seed = as_seed(random_state)
    if data.n_queries > 1:
        found = _bound_lists(*_list_values(data, scores, shares, kind, by), 1.0 - level, seed)
    else:
        found = _bound_people(data, scores, shares, kind, by, 1.0 - level, seed)
    error, error_at_most, rows = found
    table = Table(
        {
            "group": [names[g] for g, *_ in rows],
            "other": [names[h] for _, h, *_ in rows],
            "difference": np.array([row[2] for row in rows]),
            "low": np.array([max(row[3], -1.0) for row in rows]),
            "high": np.array([min(row[4], 1.0) for row in rows]),
        }
    )
    violation = float(np.abs(table["difference"]).max(initial=0.0))
    most = np.maximum(np.abs(table["low"]), np.abs(table["high"])).max(initial=0.0)
    one = data.n_queries == 1
    return HeldOutBound(
        error, error_at_most, violation, float(most), level,
        "person" if one else "list", data.n_rows if one else data.n_queries, kind, table,
    )  # fmt: skip


#: A difference: two groups, the estimate, and its interval.
Row = tuple[int, int, float, float, float]


def _list_values(
    data: RankingData, scores: np.ndarray, shares: np.ndarray, kind: str, by: Any
) -> tuple[list[tuple[int, int]], list[np.ndarray], np.ndarray]:
    """Return the differences and the error of each list, NaN where undefined."""
    size = len(data.attribute(by).categories)
    wrong, total, above = np.zeros((3, data.n_queries, size, size))
    for score, share in zip(scores.T, shares, strict=True):
        slots = Ranking.from_scores(data, data.to_original(score)).slots()
        codes = data.attribute(by).codes[slots.order]
        counts = count_pairs(slots, codes, size, slots.y)
        wrong, total = wrong + share * counts.wrong, counts.total
        if kind == "rank_parity":  # of each pair of two groups, the item of g counts as better
            each = [
                count_pairs(slots, codes, size, (codes == g).astype(np.float64)).wrong[:, g]
                for g in range(size)
            ]
            above = above + share * np.stack(each, axis=1)
    error = divide(wrong.sum(axis=(1, 2)), total.sum(axis=(1, 2)))
    groups = [(g, h) for g in range(size) for h in range(g + 1, size)]
    if kind == "group_pairwise_accuracy":
        lost = divide(wrong, total)
        return groups, [lost[:, h, g] - lost[:, g, h] for g, h in groups], error
    table = above if kind == "rank_parity" else wrong
    table[:, np.arange(size), np.arange(size)] = 0.0
    sizes = group_sizes(data, by)
    own = divide(table.sum(axis=1), sizes * (sizes.sum(axis=1, keepdims=True) - sizes))
    return groups, [own[:, g] - own[:, h] for g, h in groups], error


def _bound_lists(
    groups: list[tuple[int, int]],
    values: list[np.ndarray],
    error: np.ndarray,
    alpha: float,
    seed: int,
) -> tuple[float, float, list[Row]]:
    """Bound the means over lists; lists where a value is undefined do not count for it."""
    error = error[~np.isnan(error)]
    if len(error) == 0:
        raise DataError("y must have two grades in at least one list, got none")
    defined = [each[~np.isnan(each)] for each in values]
    part = alpha / (1 + 2 * sum(len(each) > 0 for each in defined))
    rows = []
    for (g, h), each in zip(groups, defined, strict=True):
        if len(each):
            orders = [generator(seed, at).permutation(len(each)) for at in range(VIEWS)]
            high, low = (
                2.0 * mean_upper_bound([(1.0 + sign * each[order]) / 2.0 for order in orders], part)
                - 1.0
                for sign in (1.0, -1.0)
            )
            rows.append((g, h, float(each.mean()), -low, high))
    orders = [generator(seed, at).permutation(len(error)) for at in range(VIEWS)]
    most = mean_upper_bound([error[order] for order in orders], part)
    return float(error.mean()), most, rows


def _bound_people(
    data: RankingData, scores: np.ndarray, shares: np.ndarray, kind: str, by: Any,
    alpha: float, seed: int,
) -> tuple[float, float, list[Row]]:  # fmt: skip
    """Bound the shares of pairs of people; a difference is bounded by those of its two shares."""
    rule = pairwise_constraint(data, kind, by)
    measured = [rule.measure(data, score) for score in scores.T]
    error = float(shares @ [each[0] for each in measured])
    differences = shares @ np.array([each[1] for each in measured])
    attribute = data.attribute(by)
    groups = [(attribute.code(g), attribute.code(h)) for g, h in rule.labels]
    accuracy = kind == "group_pairwise_accuracy"
    keys = [((g, h), (h, g)) if accuracy else ((g, g), (h, h)) for g, h in groups]
    wanted = sorted({key for two in keys for key in two})
    part = alpha / (1 + 2 * len(wanted))
    low, high = {}, {}
    for key in wanted:
        views = [
            _share_values(data, scores, shares, kind, attribute.codes, key, generator(seed, at))
            for at in range(VIEWS)
        ]
        low[key] = 1.0 - mean_upper_bound([1.0 - each for each in views], part)
        high[key] = mean_upper_bound(views, part)
    rows = [
        (g, h, float(value), low[one] - high[two], high[one] - low[two])
        for (g, h), (one, two), value in zip(groups, keys, differences, strict=True)
    ]
    pairs = [disjoint_pairs(data, generator(seed, 1, at)) for at in range(VIEWS)]
    most = mean_upper_bound([_lost(scores, shares, *each) for each in pairs], part)
    return error, most, rows


def _share_values(
    data: RankingData, scores: np.ndarray, shares: np.ndarray, kind: str, codes: np.ndarray,
    key: tuple[int, int], rng: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """Match people at random, and return the values of pairs whose mean is the share of a group.

    ``key`` is a group twice, for its pairs with everyone else, or the groups of the better and of
    the worse person.
    """
    y = np.asarray(data.y, dtype=np.float64)
    own, other = key
    a, b = _matched(
        np.flatnonzero(codes == own),
        np.flatnonzero(codes != own if own == other else codes == other),
        rng,
    )
    if kind == "group_pairwise_accuracy":
        better = y[a] > y[b]
        return 1.0 - _lost(scores, shares, a[better], b[better])
    above = _lost(scores, shares, b, a)
    return np.asarray(above * (y[b] > y[a])) if kind == "rank_equality" else above


def _lost(scores: np.ndarray, shares: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the share of rankers that rank b above a, ties half."""
    gap = scores[a] - scores[b]
    return np.asarray(((gap < 0) + 0.5 * (gap == 0)) @ shares)


def _matched(
    first: np.ndarray, second: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Match rows of two sets at random into disjoint pairs."""
    count = min(len(first), len(second))
    return rng.permutation(first)[:count], rng.permutation(second)[:count]
