"""Comparison of a group metric with its twin: function and object, value and groups, all lists.

A twin of chances is called as ``twin(chances, y, groups, labels, protected, **options)``, where
``chances(k, discount)`` lists each item's expected weight; a twin of blocks as ``twin(blocks,
hidden, y, groups, labels, protected, **options)``. Both give a value and a dict of group to value.
"""

from dataclasses import replace
from functools import cache

import numpy as np

from equirank import Ranking

from .. import twins
from ..agreement import batches, longer_batches, positions
from ..cases import same


def exposure(blocks, k, discount, n_hidden=0):
    """List each item's expected weight; each shape of blocks is worked out once."""
    n = sum(map(len, blocks)) + n_hidden
    discount = discount if isinstance(discount, str) else tuple(discount)
    weights = weights_of_blocks(tuple(map(len, blocks)), k, discount)
    seen = [0.0] * n
    for block, weight in zip(blocks, weights, strict=True):
        for item in block:
            seen[item] = weight
    return seen


@cache
def weights_of_blocks(sizes, k, discount):
    """List the expected weight of an item of each block, from all orders of all items."""
    items, blocks = iter(range(sum(sizes))), []
    for size in sizes:
        blocks.append([next(items) for _ in range(size)])
    seen = twins.exposure(blocks, [], sum(sizes), k=k, discount=discount)
    return [seen[block[0]] for block in blocks]


def agree_on_chances(function, metric, twin, labels, **options):
    """Compare a metric of the expectation."""
    for batch in batches(labels):
        for ties in ("average", "stable"):
            wanted = []
            for case in batch.cases:
                blocks = case.blocks() if ties == "average" else case.in_order()

                def chances(k=None, discount="log2", blocks=blocks):
                    return exposure(blocks, k, discount)

                wanted.append(
                    twin(chances, case.y, case.groups, labels, metric.protected, **options)
                )
            compare_batch(function, metric, batch, ties, wanted, options)
    for drawn in positions(labels):
        wanted = []
        for at, case in enumerate(drawn.batch.cases):

            def chances(k=None, discount="log2", at=at, case=case, drawn=drawn):
                total = np.zeros(len(case.y))
                for number, draw in enumerate(drawn.draws):
                    blocks, hidden = draw[at]
                    seen = exposure(blocks, k, discount, len(hidden))
                    total += drawn.share(number, at) * np.array(seen)
                return total.tolist()

            wanted.append(twin(chances, case.y, case.groups, labels, metric.protected, **options))
        compare_values(metric, drawn.ranking, wanted)


def lifted(batch, by):
    """Add to every relevance, so that none is 0."""
    cases = [replace(case, y=[y + by for y in case.y]) for case in batch.cases]
    return replace(batch, cases=cases, y=batch.y + by)


def lifted_draws(drawn, by):
    """Add to every relevance of a ranking."""
    ranking = drawn.ranking
    ranking = replace(ranking, data=replace(ranking.data, y=ranking.data.y + by))
    return replace(drawn, batch=lifted(drawn.batch, by), ranking=ranking)


def agree_on_blocks(function, metric, twin, labels, lift=0, **options):
    """Compare a metric whose draws are averaged."""
    for batch in longer_batches(labels):
        batch = lifted(batch, lift)
        for ties in ("average", "stable"):
            wanted = []
            for case in batch.cases:
                blocks = case.blocks() if ties == "average" else case.in_order()
                wanted.append(
                    twin(blocks, [], case.y, case.groups, labels, metric.protected, **options)
                )
            compare_batch(function, metric, batch, ties, wanted, options)
    for drawn in positions(labels):
        drawn = lifted_draws(drawn, lift)
        parts = []
        for number, draw in enumerate(drawn.draws):
            for at, (blocks, hidden) in enumerate(draw):
                case = drawn.batch.cases[at]
                value, groups = twin(
                    blocks, hidden, case.y, case.groups, labels, metric.protected, **options
                )
                share = drawn.share(number, at)
                parts.append((at, share * value, {g: share * v for g, v in groups.items()}))
        wanted = [(0.0, dict.fromkeys(parts[0][2], 0.0)) for _ in drawn.batch.cases]
        for at, value, groups in parts:
            before, known = wanted[at]
            wanted[at] = (before + value, {g: known[g] + v for g, v in groups.items()})
        compare_values(metric, drawn.ranking, wanted)


def compare_batch(function, metric, batch, ties, wanted, options):
    rows = [batch.score, batch.groups]
    if "relevance" in metric.needs:
        rows = [batch.y, *rows]
    call = {"qid": batch.qid, "ties": ties, "protected": metric.protected, **options}
    if function is not None:
        got, groups = function(*rows, per_query=True, return_groups=True, **call)
        same(got, [value for value, _ in wanted])
        for label, column in groups.items():
            same(column, [known[label] for _, known in wanted])
        assert set(groups) <= set(wanted[0][1])
    ranking = Ranking.from_scores(batch.data(), batch.score, ties=ties)
    compare_values(metric, ranking, wanted)


def compare_values(metric, ranking, wanted):
    got = metric.per_query(ranking)
    same(got.value, [value for value, _ in wanted])
    for label, column in zip(got.labels, got.groups.T, strict=True):
        same(column, [known[label] for _, known in wanted])
