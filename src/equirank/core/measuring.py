"""Measuring: metrics over all draws of a ranking, block by block, as it is or replicated."""

from collections.abc import Iterator, Sequence

import numpy as np

from .metric import Metric, Values
from .ranking import Ranking
from .slots import Slots

__all__ = ["measure", "permuted", "resampled"]


def measure(metrics: Sequence[Metric], ranking: Ranking) -> list[Values]:
    """Give the values per query of several metrics, which share sorting and gathered columns."""
    found: list[list[Values]] = [[] for _ in metrics]
    for queries in ranking.data.query_blocks():
        shared: dict[bool, list[tuple[np.ndarray, Slots]]] = {}
        for at, metric in enumerate(metrics):
            kind = metric.of_expectation and ranking.n_draws > 1
            if kind not in shared:
                shared[kind] = list(_draws(ranking, queries, kind))
            found[at].append(_averaged(metric, shared[kind]))
    return [_joined(metric, parts) for metric, parts in zip(metrics, found, strict=True)]


def permuted(
    metric: Metric, ranking: Ranking, queries: slice, by: object, labels: np.ndarray
) -> Values:
    """Give the values of a block's queries under permuted groups (draws x queries first).

    ``labels`` holds one row per permutation and one column per row of the block.
    """
    first = int(ranking.data.offsets[queries.start])

    def relabel(slots: Slots) -> Slots:
        return slots.relabelled(by, labels[:, slots.order - first])

    draws = [(w, relabel(s)) for w, s in _draws(ranking, queries, metric.of_expectation)]
    values = metric.fill(_averaged(metric, draws))
    shape = (len(labels), -1)
    groups = values.groups
    if groups is not None:
        groups = groups.reshape(*shape, groups.shape[1])
    return Values(values.value.reshape(shape), groups, values.labels)


def resampled(metrics: Sequence[Metric], ranking: Ranking, counts: np.ndarray) -> list[Values]:
    """Give the values of replicates of a single list, each row repeated as counted."""
    shared: dict[tuple[bool, bool], list[tuple[np.ndarray, Slots]]] = {}
    found = []
    for metric in metrics:
        kind = (metric.of_expectation and ranking.n_draws > 1, metric.individual)
        if kind not in shared:
            some = _draws(ranking, slice(0, 1), metric.of_expectation)
            shared[kind] = [(w, slots.resampled(counts, metric.individual)) for w, slots in some]
        found.append(metric.fill(_averaged(metric, shared[kind])))
    return found


def _draws(ranking: Ranking, queries: slice, expected: bool) -> Iterator[tuple[np.ndarray, Slots]]:
    """Give a block's slots of every draw with the draw's weight in each query."""
    expected = expected and ranking.n_draws > 1
    if expected or ranking.n_draws == 1:
        n_queries = queries.stop - queries.start
        yield np.ones(n_queries), ranking.slots(expected=expected).block(queries)
        return
    for weight, draw in ranking.draws():
        yield weight[queries], draw.slots().block(queries)


def _averaged(metric: Metric, draws: Sequence[tuple[np.ndarray, Slots]]) -> Values:
    if len(draws) == 1:
        return metric.values(draws[0][1])
    parts = [(weight, metric.values(slots)) for weight, slots in draws]
    shares = [np.tile(weight, len(part.value) // len(weight)) for weight, part in parts]
    value = sum(share * part.value for share, (_, part) in zip(shares, parts, strict=True))
    groups = None
    if parts[0][1].groups is not None:
        groups = sum(
            share[:, None] * np.asarray(part.groups)
            for share, (_, part) in zip(shares, parts, strict=True)
        )
    return Values(
        np.asarray(value), None if groups is None else np.asarray(groups), parts[0][1].labels
    )


def _joined(metric: Metric, parts: list[Values]) -> Values:
    if len(parts) > 1:
        groups = None if parts[0].groups is None else np.concatenate([p.groups for p in parts])
        value = np.concatenate([part.value for part in parts])
        parts = [Values(value, groups, parts[0].labels)]
    return metric.fill(parts[0])
