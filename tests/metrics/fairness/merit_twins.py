"""Slow, obvious twins of the metrics of exposure and merit: one query, plain Python."""

from fractions import Fraction
from itertools import permutations, product
from math import log2, nan

import numpy as np

from equirank import Ranking, as_ranking_data
from equirank.core.metric import resampled

from ..agreement import batches, positions

OPTIONS = [{}, {"k": 2}, {"discount": "zipf"}, {"discount": (1.0, 0.5, 0.25), "k": 3}]


def attention(place, discount="log2", k=None, patience=0.5):
    if k is not None and place > k:
        return 0.0
    if discount == "log2":
        return 1 / log2(1 + place)
    if discount == "zipf":
        return 1 / place
    if discount == "rbp":
        return patience ** (place - 1)
    return discount[place - 1] if place <= len(discount) else 0.0


def exposures(blocks, n, **options):
    """List every order the ties allow, and average what each item draws; 0 if not shown."""
    result = [0.0] * n
    orders = [sum(parts, ()) for parts in product(*(permutations(b) for b in blocks))]
    for order in orders:
        for place, item in enumerate(order, 1):
            result[item] += attention(place, **options) / len(orders)
    return result


def lists_of(labels):
    """Return every list of the agreement tests with a function from options to its exposures."""
    for batch in batches(labels):
        yield "average", batch, [(case, [(1.0, case.blocks())]) for case in batch.cases]
        yield "stable", batch, [(case, [(1.0, case.in_order())]) for case in batch.cases]


def drawn_of(labels):
    """Return every ranking by position with its cases and their weighted draws."""
    for drawn in positions(labels):
        pairs = []
        for at, case in enumerate(drawn.batch.cases):
            draws = [
                (drawn.share(number, at), draw[at][0]) for number, draw in enumerate(drawn.draws)
            ]
            pairs.append((case, draws))
        yield drawn.ranking, pairs


def expected(case, draws, **options):
    """Average exposures over the draws."""
    total = np.zeros(len(case.y))
    for weight, blocks in draws:
        total += weight * np.array(exposures(blocks, len(case.y), **options))
    return total.tolist()


def copies_stay_tied(metric):
    """Rows of an untied list drawn several times share their places, as a list of copies would."""
    y, score = np.array([3.0, 1.0, 2.0, 1.0]), np.array([4.0, 1.0, 3.0, 2.0])
    counts = np.array([[1, 1, 1, 1], [2, 0, 1, 1], [0, 3, 1, 0], [4, 0, 0, 0], [1, 2, 0, 1]])
    ranking = Ranking.from_scores(as_ranking_data(y=y), score)
    (got,) = resampled([metric], ranking, counts)
    for value, times in zip(got.value, counts, strict=True):
        rows = np.repeat(np.arange(4), times)
        copied = Ranking.from_scores(as_ranking_data(y=y[rows]), score[rows])
        assert np.isclose(value, metric.per_query(copied).value[0], atol=1e-12), times


def mean(values):
    return sum(values) / len(values)


def sides(seen, y, groups, label):
    """Split what is drawn and the merits into a group and the rest; merits exact."""
    inside = [i for i, g in enumerate(groups) if g == label]
    outside = [i for i, g in enumerate(groups) if g != label]
    if not inside or not outside:
        return None
    e = [mean([seen[i] for i in side]) for side in (inside, outside)]
    m = [mean([Fraction(y[i]) for i in side]) for side in (inside, outside)]
    return e, m


def ratio(seen, y, groups, label):
    """What the group draws per merit over what the rest does."""
    both = sides(seen, y, groups, label)
    if both is None:
        return nan
    (e, f), (m, n) = both
    if m == 0 or n == 0 or f == 0:
        return nan
    return (e / float(m)) / (f / float(n))


def excess(seen, y, groups, label):
    """The side of more merit first; with equal merits the larger of both orders."""
    both = sides(seen, y, groups, label)
    if both is None:
        return nan
    (e, f), (m, n) = both
    if m == 0 or n == 0:
        return nan
    orders = []
    if m >= n:
        orders.append(max(0.0, e / float(m) - f / float(n)))
    if n >= m:
        orders.append(max(0.0, f / float(n) - e / float(m)))
    return max(orders)


def per_merit(seen, y, groups, label):
    inside = [i for i, g in enumerate(groups) if g == label]
    merit = sum(y[i] for i in inside)
    return sum(seen[i] for i in inside) / merit if merit > 0 else nan


def worst(values, choose):
    known = [value for value in values if value == value]
    return choose(known) if known else nan
