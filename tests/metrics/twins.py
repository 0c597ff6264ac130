"""Slow, obvious twins of the metrics: one query at a time, plain Python, nothing of the library.

A list is written as ``blocks``: the tied items of each block, best block first (item numbers), and
``hidden``, the items that are not shown. Every order of every block is listed where that matters.
"""

from functools import cache
from itertools import combinations, permutations, product
from math import isclose, log2, nan


def orders(blocks):
    """List all orders that the tied blocks allow."""
    for parts in product(*(permutations(block) for block in blocks)):
        yield [item for part in parts for item in part]


def expectation(blocks, value):
    """Average a value of an order over all orders."""
    values = [value(order) for order in orders(blocks)]
    return sum(values) / len(values)


def ratio(numerator, denominator):
    return numerator / denominator if denominator > 0 else nan


# Weights of places and of relevance


def weight_of_place(place, discount):
    if discount == "log2":
        return 1 / log2(1 + place)
    if discount == "zipf":
        return 1 / place
    return discount[place - 1] if place <= len(discount) else 0.0


def gain_of(y, gain):
    return 2**y - 1 if gain == "exp2" else y


# Relevance


def dcg(blocks, hidden, y, *, k=None, gain="exp2", discount="log2"):
    def value(order):
        shown = order if k is None else order[:k]
        return sum(
            gain_of(y[item], gain) * weight_of_place(place, discount)
            for place, item in enumerate(shown, 1)
        )

    return expectation(blocks, value)


def best_dcg(y, *, k=None, gain="exp2", discount="log2"):
    """The largest DCG over all orders of the list, by the rearrangement of weights and gains."""
    places = range(1, (len(y) if k is None else min(k, len(y))) + 1)
    weights = sorted((weight_of_place(place, discount) for place in places), reverse=True)
    gained = sorted((gain_of(value, gain) for value in y), reverse=True)
    return sum(a * b for a, b in zip(weights, gained, strict=False))


def ndcg(blocks, hidden, y, **options):
    return ratio(dcg(blocks, hidden, y, **options), best_dcg(y, **options))


def precision(blocks, hidden, y, *, k=None, threshold=1):
    depth = max(1, len(y) - len(hidden)) if k is None else k

    def value(order):
        return sum(y[item] >= threshold for item in order[:depth]) / depth

    return expectation(blocks, value)


def recall(blocks, hidden, y, *, k=None, threshold=1):
    def value(order):
        shown = order if k is None else order[:k]
        return sum(y[item] >= threshold for item in shown)

    return ratio(expectation(blocks, value), sum(value >= threshold for value in y))


def average_precision(blocks, hidden, y, *, k=None, threshold=1):
    def value(order):
        total, seen = 0.0, 0
        for place, item in enumerate(order, 1):
            if y[item] >= threshold:
                seen += 1
                if k is None or place <= k:
                    total += seen / place
        return total

    return ratio(expectation(blocks, value), sum(value >= threshold for value in y))


def reciprocal_rank(blocks, hidden, y, *, k=None, threshold=1):
    def value(order):
        for place, item in enumerate(order if k is None else order[:k], 1):
            if y[item] >= threshold:
                return 1 / place
        return 0.0

    return expectation(blocks, value)


def rbp(blocks, hidden, y, *, max_grade, p=0.8, k=None):
    def value(order):
        shown = order if k is None else order[:k]
        return sum((1 - p) * p**j * y[item] / max_grade for j, item in enumerate(shown))

    return expectation(blocks, value)


def bpref(blocks, hidden, y, *, threshold=1):
    wanted = sum(grade >= threshold for grade in y)
    others = len(y) - wanted

    def value(order):
        total, above = 0.0, 0
        for item in order:
            if y[item] >= threshold:
                total += 1 - min(above, wanted) / min(wanted, others) if above else 1
            else:
                above += 1
        return total

    return ratio(expectation(blocks, value), wanted)


def alpha_dcg(order, covers, alpha, k):
    """Gain of each aspect of each item, less for each item before it that covers it."""
    total = 0.0
    for place, item in enumerate(order if k is None else order[:k], 1):
        for aspect in covers[item]:
            seen = sum(aspect in covers[other] for other in order[: place - 1])
            total += (1 - alpha) ** seen / log2(1 + place)
    return total


def alpha_ndcg(order, covers, *, alpha=0.5, k=None):
    """``order`` has the shown items, ``covers`` the aspects of all; the ideal is greedy."""
    left, ideal = list(range(len(covers))), []
    while left:

        def gain(item):
            return sum(
                (1 - alpha) ** sum(t in covers[i] for i in ideal) for t in sorted(covers[item])
            )

        most = max(map(gain, left))
        near = [item for item in left if isclose(gain(item), most, rel_tol=1e-9)]
        # of equal gains the one that covers the earlier aspects
        last = max(map(max, filter(None, covers)), default=0)
        best = max(near, key=lambda item: [t in covers[item] for t in range(last + 1)])
        ideal.append(best)
        left.remove(best)
    return ratio(alpha_dcg(order, covers, alpha, k), alpha_dcg(ideal, covers, alpha, k))


def rbo(blocks, hidden, other_blocks, other_hidden, *, p=0.9, k=None):
    """Rank-biased overlap, as the mean over all pairs of orders."""
    values = []
    for one in orders(blocks):
        for other in orders(other_blocks):
            depth = min(len(one), len(other), *([] if k is None else [k]))
            if depth == 0:
                return nan
            share = [len(set(one[:d]) & set(other[:d])) / d for d in range(1, depth + 1)]
            total = sum((1 - p) / p * a * p**d for d, a in enumerate(share, 1))
            values.append(share[-1] * p**depth + total)
    return sum(values) / len(values)


def err(blocks, hidden, y, *, max_grade, k=None):
    def value(order):
        total, going_on = 0.0, 1.0
        for place, item in enumerate(order if k is None else order[:k], 1):
            stop = (2 ** y[item] - 1) / 2**max_grade
            total += going_on * stop / place
            going_on *= 1 - stop
        return total

    return expectation(blocks, value)


def average_rank(blocks, hidden, y, *, threshold=1, weights="relevance"):
    """Items not shown share the places behind those shown."""
    relevant = {item: y[item] for item in range(len(y)) if y[item] >= threshold}
    if weights == "none":
        relevant = dict.fromkeys(relevant, 1)
    everyone = [*blocks, hidden] if hidden else blocks

    def value(order):
        return sum(
            relevant[item] * place for place, item in enumerate(order, 1) if item in relevant
        )

    return ratio(expectation(everyone, value), sum(relevant.values()))


def auc(blocks, hidden, y, *, threshold=1):
    """Count pairs; items not shown are one block behind those shown."""
    everyone = [*blocks, hidden] if hidden else blocks
    level = {item: number for number, block in enumerate(everyone) for item in block}
    won, pairs = 0.0, 0
    for a, b in product(range(len(y)), repeat=2):
        if y[a] >= threshold > y[b]:
            pairs += 1
            won += 1 if level[a] < level[b] else 0.5 if level[a] == level[b] else 0
    return ratio(won, pairs)


# Exposure


def exposure(blocks, hidden, n, *, k=None, discount="log2"):
    """Return each item's expected weight of its place; 0 if not shown or behind the cutoff."""
    seen = [0.0] * n
    listed = list(orders(blocks))
    for order in listed:
        for place, item in enumerate(order if k is None else order[:k], 1):
            seen[item] += weight_of_place(place, discount) / len(listed)
    return seen


def mean_of(values, members):
    return ratio(sum(values[item] for item in members), len(members))


def members(groups, label):
    return [item for item, group in enumerate(groups) if group == label]


def others(groups, label):
    return [item for item, group in enumerate(groups) if group != label]


def gap(seen, groups, label):
    """Return the difference of mean exposure between a group and the rest, NaN if one is empty."""
    return abs(mean_of(seen, members(groups, label)) - mean_of(seen, others(groups, label)))


def worst(values, pick):
    """Take the worst of the defined values; NaN where none is."""
    defined = [value for value in values if value == value]
    return pick(defined) if defined else nan


# Representation in prefixes


def cut_points(limit, step):
    return [cut for cut in range(step, limit + 1, step) if cut > 1]


def cut_weight(cut, discount):
    return 1 / log2(cut) if discount == "paper" else 1 / log2(cut + 1)


def expected_count(blocks, inside, cut):
    """Expected number of ``inside`` items among the first ``cut``: a block spreads evenly."""
    count, place = 0.0, 0
    for block in blocks:
        taken = min(len(block), max(0, cut - place))
        count += taken * sum(item in inside for item in block) / len(block)
        place += len(block)
    return count


def kl(shares, base):
    return sum(s * log2(s / b) for s, b in zip(shares, base, strict=True) if s > 1e-12)


def prefix_term(kind, count, cut, size, n):
    """Distance of a prefix (count of cut) from the whole list (size of n), two groups."""
    if kind == "rnd":
        return abs(count / cut - size / n)
    if kind == "rkl":
        return kl([count / cut, 1 - count / cut], [size / n, 1 - size / n])
    here = 0.0 if isclose(cut, count) else count / (cut - count)
    whole = 0.0 if size == n else size / (n - size)
    return abs(here - whole)


def prefix_sum(kind, count_at, n, size, limit, step, discount):
    return sum(
        cut_weight(cut, discount) * prefix_term(kind, count_at(cut), cut, size, n)
        for cut in cut_points(limit, step)
    )


def value_of_list(kind, protected, limit, step, discount):
    """Value of one untied list, given as a tuple of 0 and 1 (protected)."""
    n, size = len(protected), sum(protected)
    return prefix_sum(kind, lambda cut: sum(protected[:cut]), n, size, limit, step, discount)


@cache
def normalizer_value(kind, normalizer, n, size, limit, step, discount):
    if normalizer == "none":
        return 1.0
    first = (1,) * size + (0,) * (n - size)
    last = first[::-1]
    if normalizer == "last":
        lists = [last]
    elif normalizer == "extremes":
        lists = [first, last]
    else:
        lists = [
            tuple(int(place in chosen) for place in range(n))
            for chosen in map(set, combinations(range(n), size))
        ]
    return max(value_of_list(kind, some, limit, step, discount) for some in lists)


def prefix_metric(
    kind, blocks, hidden, groups, label, *, step=10, k=None, normalizer="extremes", discount="paper"
):
    """Value of one group against the rest; prefixes end with the cutoff or with what is shown."""
    inside, n = set(members(groups, label)), len(groups)
    shown = n - len(hidden)
    limit = shown if k is None else min(k, shown)
    if len(inside) in (0, n) or not cut_points(limit, step):
        return nan
    total = prefix_sum(
        kind,
        lambda cut: expected_count(blocks, inside, cut),
        n,
        len(inside),
        limit,
        step,
        discount,
    )
    return ratio(total, normalizer_value(kind, normalizer, n, len(inside), limit, step, discount))


def many_group_sum(count_at, sizes, limit, step, discount):
    n = sum(sizes)
    base = [size / n for size in sizes]
    return sum(
        cut_weight(cut, discount) * kl([count / cut for count in count_at(cut)], base)
        for cut in cut_points(limit, step)
    )


@cache
def many_group_worst(sizes, limit, step, discount):
    """The largest over the G! lists sorted by group."""
    found = 0.0
    for order in permutations(range(len(sizes))):
        row = [group for group in order for _ in range(sizes[group])]

        def count_at(cut, row=row):
            return [row[:cut].count(group) for group in range(len(sizes))]

        found = max(found, many_group_sum(count_at, sizes, limit, step, discount))
    return found


def many_group_rkl(
    blocks, hidden, groups, labels, *, step=10, k=None, normalizer="extremes", discount="paper"
):
    """rKL of all groups at once."""
    sets = [set(members(groups, label)) for label in labels if label in groups]
    sizes = tuple(len(inside) for inside in sets)
    shown = len(groups) - len(hidden)
    limit = shown if k is None else min(k, shown)
    if len(sets) < 2 or not cut_points(limit, step):
        return nan

    def count_at(cut):
        return [expected_count(blocks, inside, cut) for inside in sets]

    total = many_group_sum(count_at, sizes, limit, step, discount)
    if normalizer == "none":
        return total
    return ratio(total, many_group_worst(sizes, limit, step, discount))
