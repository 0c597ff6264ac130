"""Slow, obvious twins of the pair metrics: every pair of a list is looked at, one by one.

As in `twins`, a list is written as ``blocks`` of tied items, best first, and ``hidden`` items,
which are one more block behind. The arithmetic is plain Python and nothing of the library.
"""

from fractions import Fraction
from itertools import permutations, product
from math import exp, log2, nan

from .twins import ratio


def levels(blocks, hidden):
    """Number the blocks: a lower level stands above."""
    everyone = [*blocks, hidden] if hidden else blocks
    return {item: number for number, block in enumerate(everyone) for item in block}


def misplaced(level, a, b, tied=Fraction(1, 2)):
    """How wrong it is that a, which should be above, stands where it does."""
    if level[a] == level[b]:
        return tied
    return int(level[a] > level[b])


def better_pairs(y):
    return [(a, b) for a, b in product(range(len(y)), repeat=2) if y[a] > y[b]]


def pair_loss(blocks, hidden, y, score=None, cost=lambda a, b: 1, *, kind="R1"):
    level = levels(blocks, hidden)
    lost = total = 0
    for a, b in better_pairs(y):
        if kind == "E1":
            error = exp(-(score[a] - score[b]))
        else:
            error = misplaced(level, a, b, {"R1": 1, "R2": Fraction(1, 2)}[kind])
        lost += cost(a, b) * error
        total += cost(a, b)
    return float(ratio(lost, total))


def true_orders(y):
    """All orders that relevance allows."""
    grades = sorted(set(y), reverse=True)
    same_grade = [[i for i, value in enumerate(y) if value == grade] for grade in grades]
    for parts in product(*(permutations(part) for part in same_grade)):
        yield [item for part in parts for item in part]


def kendall_loss(blocks, hidden, y, *, weight=lambda i, j: 1):
    """The mean over the true orders; only pairs of unequal relevance can be misordered."""
    level, n = levels(blocks, hidden), len(y)
    orders = list(true_orders(y))
    total = 0.0
    for order in orders:
        place = {item: at for at, item in enumerate(order, 1)}
        for a, b in better_pairs(y):
            total += weight(place[a], place[b]) * float(misplaced(level, a, b))
    return ratio(2 * total / len(orders), n * (n - 1))


def mean_costs(n, cost):
    return [sum(cost(i, j) for j in range(n) if j != i) / (n - 1) for i in range(n)]


def signs(y):
    """+1 in the top half, -1 below: the mean over the true orders."""
    orders, n = list(true_orders(y)), len(y)
    high = [0] * n
    for order in orders:
        for item in order[: n // 2]:
            high[item] += Fraction(1, len(orders))
    return [float(2 * share - 1) for share in high]


def csdcg(blocks, hidden, y, cost, *, k=None, normalized=False):
    """Sum over places; best and worst by trying every order of the list."""
    n = len(y)
    if n == 1:
        return nan
    mean, sign = mean_costs(n, cost), signs(y)
    weight = [sign[i] * (2 ** y[i] - 1) * mean[i] for i in range(n)]
    place, shown = 0, n - len(hidden)
    depth = shown if k is None else min(k, shown)
    value = 0.0
    for block in blocks:
        places = range(place + 1, place + len(block) + 1)
        seen = sum(1 / log2(1 + p) for p in places if p <= depth) / len(block)
        value += seen * sum(weight[i] for i in block)
        place += len(block)
    if not normalized:
        return value
    worths = [
        sum(weight[i] / log2(1 + p) for p, i in enumerate(order[:depth], 1))
        for order in permutations(range(n))
    ]
    best, worst = max(worths), min(worths)
    if best - worst <= 1e-11 * sum(map(abs, weight)):
        return nan
    return (value - worst) / (best - worst)


def cost_ndcg(blocks, hidden, y, cost, *, k=None):
    """Sum over places, over the largest sum of any order of the whole list."""
    n = len(y)
    mean = mean_costs(n, cost) if n > 1 else [1.0]
    weight = [(2 ** y[i] - 1) * mean[i] for i in range(n)]
    depth, place, value = n if k is None else min(k, n), 0, 0.0
    for block in blocks:
        places = range(place + 1, place + len(block) + 1)
        seen = sum(1 / log2(1 + p) for p in places if p <= depth) / len(block)
        value += seen * sum(weight[i] for i in block)
        place += len(block)
    best = max(
        sum(weight[i] / log2(1 + p) for p, i in enumerate(order[:depth], 1))
        for order in permutations(range(n))
    )
    return value / best if best > 0 else nan


# Groups


def rank_equality_error(blocks, hidden, y, groups, label, *, denominator="all"):
    level = levels(blocks, hidden)
    wrong = total = 0
    for a, b in product(range(len(y)), repeat=2):
        if groups[a] == label != groups[b]:
            total += denominator == "all" or y[a] != y[b]
            if y[a] < y[b]:
                wrong += misplaced(level, b, a)
    return float(ratio(wrong, total))


def rank_calibration_error(blocks, hidden, y, groups, label, *, denominator="all"):
    level = levels(blocks, hidden)
    wrong = total = 0
    for a in range(len(y)):
        for b in range(a):
            if label in (groups[a], groups[b]):
                total += denominator == "all" or y[a] != y[b]
                if y[a] != y[b]:
                    better, worse = (a, b) if y[a] > y[b] else (b, a)
                    wrong += misplaced(level, better, worse)
    return float(ratio(wrong, total))


def rank_parity_error(blocks, hidden, groups, label):
    level = levels(blocks, hidden)
    above = total = 0
    for a, b in product(range(len(groups)), repeat=2):
        if groups[a] == label != groups[b]:
            total += 1
            above += 1 - misplaced(level, a, b)
    return float(ratio(above, total))


def accuracy(blocks, hidden, y, groups, better, worse):
    """Share of pairs, the better item in one set of groups and the worse in the other, in order."""
    level = levels(blocks, hidden)
    pairs = [(a, b) for a, b in better_pairs(y) if groups[a] in better and groups[b] in worse]
    return float(ratio(sum(1 - misplaced(level, a, b) for a, b in pairs), len(pairs)))


def accuracy_gap(blocks, hidden, y, groups, better, worse):
    return abs(
        accuracy(blocks, hidden, y, groups, better, worse)
        - accuracy(blocks, hidden, y, groups, worse, better)
    )


def group_benefit(score, groups, label):
    inside = [i for i, group in enumerate(groups) if group == label]
    outside = [i for i, group in enumerate(groups) if group != label]
    if not inside or not outside:
        return nan
    return sum(score[a] - score[b] for a in inside for b in outside)
