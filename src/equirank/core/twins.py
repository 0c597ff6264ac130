"""Twins of lists: the mean of a group metric over random relabellings of each list."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..kernels.discounts import discounts
from ..kernels.segments import divide
from .list_keys import list_keys
from .metric import GroupMetric, Metric, Values, permuted
from .ranking import Ranking

__all__ = [
    "KINDS",
    "canonical_slots",
    "column_means",
    "kernel_gaps",
    "tested_gaps",
    "twin_means",
]


#: Numbers of the gaps in the kernel.
KINDS = {"ExposureGap": 0, "RND": 1, "DisparateTreatment": 2, "GroupPairwiseAccuracy": 3}


def kernel_gaps(
    slots: Sequence[np.ndarray],
    keys: np.ndarray,
    parts: np.ndarray,
    width: np.ndarray,
    sizes: np.ndarray,
    gaps: Sequence[tuple[int, int]],
    *,
    step: int,
    n_twins: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return gaps and their means over relabellings per list, and sums over pairs of groups.

    Parameters
    ----------
    slots : sequence of ndarray
        ``offsets, begin, end, shown, y, codes`` of `measure_lists`.
    keys, parts, width, sizes
        Keys of lists; attributes of each key; groups of each attribute and of each key.
    gaps : sequence of tuple
        Kind and key of each gap; those of kind 4 have no columns.
    step, n_twins, seed
        As in `measure_gaps`.
    """
    from ..kernels.gap_columns import measure_gaps
    from ..kernels.packed_counts import MOST_PACKED

    wide = [1 + int(sizes[key]) if kind < 4 else 0 for kind, key in gaps]
    starts = np.concatenate([[0], np.cumsum(wide)]).astype(np.int64)
    longest = int(np.diff(slots[0]).max(initial=0))
    sums = np.concatenate([[0.0], np.cumsum(discounts(longest, "log2"))])
    values, means = np.zeros((2, len(keys), int(starts[-1])))
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    pairs, others = np.zeros((first[-1], first[-1], 3)), np.zeros((first[-1], 3))
    given = (
        *slots, keys, parts, width, sizes, sums,
        np.array([kind for kind, _ in gaps], dtype=np.int64),
        np.array([key for _, key in gaps], dtype=np.int64), starts, step, n_twins,
        np.uint64(seed), values, means, pairs, others, first, MOST_PACKED,
    )  # fmt: skip
    slot_by_slot = np.zeros(len(keys), dtype=bool)
    measure_gaps(None, slot_by_slot, *given)
    if slot_by_slot.any():
        measure_gaps(slot_by_slot, slot_by_slot, *given)
    return values, means, pairs, others


def tested_gaps(values: np.ndarray, twins: np.ndarray) -> np.ndarray:
    """Return value, defined, d = value - mean of twins, its square, and whether d is defined."""
    from ..kernels.gap_columns import write_tested

    found = np.zeros((*values.shape, 5))
    write_tested(values, twins, found)
    return found


def canonical_slots(ranking: Ranking) -> np.ndarray:
    """Return the rows in ranked order, tied ones by relevance, highest first."""
    slots, y = ranking.slots(), ranking.data.y
    if slots.lo is None or y is None:
        return slots.order
    from ..kernels.list_columns import canonical_order

    return np.asarray(canonical_order(slots.order, slots.end(), np.asarray(y, dtype=np.float64)))


def twin_means(
    metrics: Sequence[GroupMetric], ranking: Ranking, n_twins: int, seed: int
) -> list[np.ndarray]:
    """Return for each metric its mean over relabellings of each list, NaN if undefined.

    Labels are dealt anew among the people of a list whose label is known.
    """
    found: list[Any] = [None] * len(metrics)
    for by in dict.fromkeys(metric.by for metric in metrics):
        some = [at for at, metric in enumerate(metrics) if metric.by == by]
        known = {at: _kind(metrics[at]) for at in some}
        steps = {getattr(metrics[at], "step", 0) for at in some if known[at] == KINDS["RND"]}
        fast = [at for at in some if known[at] is not None and len(steps) <= 1]
        if fast:
            step = max(steps, default=10)
            means = _by_kernel([metrics[at] for at in fast], ranking, n_twins, seed, step)
            for at, mean in zip(fast, means, strict=True):
                found[at] = mean
        slow = [at for at in some if at not in fast]
        if slow:
            several = _by_metric([metrics[at] for at in slow], ranking, n_twins, seed)
            for at, mean in zip(slow, several, strict=True):
                found[at] = mean
    return found


def _kind(metric: GroupMetric) -> int | None:
    """Return the number of a metric in the kernel, or None."""
    options: dict[str, Any] = {"by": None, "protected": None, "undefined": "skip"}
    plain = replace(metric, **options)
    name = type(metric).__name__
    if name == "RND":
        plain = replace(plain, step=10)  # type: ignore[call-arg]
    return KINDS.get(name) if str(plain) == name else None


def _by_kernel(
    metrics: Sequence[GroupMetric], ranking: Ranking, n_twins: int, seed: int, step: int
) -> list[np.ndarray]:
    data, slots, order = ranking.data, ranking.slots(), canonical_slots(ranking)
    attribute = data.attribute(metrics[0].by)
    y = np.zeros(0) if data.y is None else np.asarray(data.y, dtype=np.float64)[order]
    shown = np.diff(data.offsets) if slots.shown is None else slots.shown
    ends = slots.begin().astype(np.int64), slots.end().astype(np.int64), shown.astype(np.int64)
    size = np.array([len(attribute.categories)], dtype=np.int64)
    codes = attribute.codes[order].astype(np.int64)[:, None]
    kinds = [(_kind(metric) or 0, 0) for metric in metrics]
    # writable, as those of blocks: another type would be compiled anew
    offsets = data.offsets.copy()
    _, means, _, _ = kernel_gaps(
        (offsets, *ends, y, codes), list_keys(data.qids), np.array([[0, -1]]), size, size,
        kinds, step=step, n_twins=n_twins, seed=seed,
    )  # fmt: skip
    targets = []
    for at, metric in enumerate(metrics):
        code = -1 if metric.protected is None else attribute.code(metric.protected)
        targets.append(means[:, at * (1 + int(size[0])) + 1 + code])
    return targets


def _by_metric(
    metrics: Sequence[GroupMetric], ranking: Ranking, n_twins: int, seed: int
) -> list[np.ndarray]:
    def column(_: Metric, drawn: Values) -> np.ndarray:
        return drawn.value[..., None]

    by = metrics[0].by
    return [mean[:, 0] for mean in column_means(metrics, ranking, by, None, n_twins, seed, column)]


def column_means(
    metrics: Sequence[Metric],
    ranking: Ranking,
    by: Any,
    control: Any,
    n_twins: int,
    seed: int,
    columns: Callable[[Metric, Values], np.ndarray],
) -> list[np.ndarray]:
    """Return for each metric the means of its columns over relabellings, NaN if undefined.

    Parameters
    ----------
    metrics, ranking, n_twins, seed
        As in `twin_means`.
    by, control : str or tuple of str
        Labels of ``by`` are dealt anew among the people of a list and, if there is one, of the same
        group of ``control``.
    columns : callable
        A metric and its values (draws x lists) -> columns (draws x lists x columns).
    """
    from ..kernels.gap_columns import deal_labels

    data, attribute = ranking.data, ranking.data.attribute(by)
    order, cells, keys = _dealt_cells(ranking, control)
    width = np.array([len(attribute.categories)], dtype=np.int64)
    found: list[list[np.ndarray]] = [[] for _ in metrics]
    for lists in data.query_blocks():
        rows = slice(*data.offsets[[lists.start, lists.stop]].tolist())
        here = order[rows]
        codes = attribute.codes[here].astype(np.int64)[:, None]
        some = slice(*np.searchsorted(cells, [rows.start, rows.stop]).tolist())
        offsets = cells[some.start : some.stop + 1] - rows.start
        dealt = deal_labels(offsets, codes, keys[some], width, n_twins, np.uint64(seed))
        total: list[Any] = [0.0] * len(metrics)
        count: list[Any] = [0] * len(metrics)
        for first in range(0, n_twins, 8):  # a few at a time, which bounds the memory
            labels = np.empty((min(8, n_twins - first), len(here)), dtype=np.int64)
            labels[:, here - rows.start] = dealt[first : first + 8, :, 0]
            for at, metric in enumerate(metrics):
                drawn = columns(metric, permuted(metric, ranking, lists, by, labels))
                total[at] = total[at] + np.nan_to_num(drawn).sum(axis=0)
                count[at] = count[at] + (~np.isnan(drawn)).sum(axis=0)
        for at in range(len(metrics)):
            found[at].append(divide(total[at], count[at]))
    return [np.concatenate(parts) for parts in found]


def _dealt_cells(ranking: Ranking, control: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows in the order of their labels' dealing, and offsets and keys of its cells."""
    data, order = ranking.data, canonical_slots(ranking)
    keys = list_keys(data.qids)
    if control is None:
        return order, data.offsets, keys
    stratum, query = data.attribute(control).codes[order], data.query_of_rows()
    by_cell = np.lexsort((stratum, query))
    stratum = stratum[by_cell]
    first = np.flatnonzero((np.diff(query, prepend=-1) != 0) | (np.diff(stratum, prepend=-2) != 0))
    mixed = (stratum[first] + 2).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    cells = np.append(first, data.n_rows).astype(np.int64)
    return order[by_cell], cells, keys[query[first]] ^ mixed
