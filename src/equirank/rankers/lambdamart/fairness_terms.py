"""The fairness part of the gradient: groups, tables of unfairness and target lists of a data set.

A prefix metric is a sum over cut points of a distance that depends on one group's count there, so
a table of count by cut holds all of it, normaliser and discount included. Lists of equal shape
share their table.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...kernels.discounts import discounts, gains
from ...kernels.prefixes import (
    cut_points,
    cut_weights,
    exact_maximum,
    ratio_distance,
    share_distance,
    sorted_lists_maximum,
    two_group_divergence,
)
from ...kernels.swaps import EXPOSURE, LARGEST, NO_FAIRNESS, PREFIXES, SUMMED, TREATMENT, Fairness
from ...kernels.target_lists import apportioned_counts, best_counts, blocks_of_ranks

__all__ = ["FAIRNESS", "STRATEGIES", "fairness_part", "no_fairness"]


FAIRNESS = ("rnd", "rkl", "rrd", "exposure", "treatment")
STRATEGIES = ("swap", "fair_first", "relevance_first")

#: Tables hold at most so many numbers (256 MiB).
MOST_NUMBERS = 1 << 25
#: Divergences of more groups at once take too many sorted lists to normalise.
MOST_GROUPS = 10

_DISTANCES: dict[str, Callable[..., np.ndarray]] = {
    "rnd": share_distance,
    "rkl": two_group_divergence,
    "rrd": ratio_distance,
}


def no_fairness(n_rows: int, n_queries: int) -> Fairness:
    """Return an empty fairness part, for plain LambdaMART."""
    nothing, whole = np.zeros(0), np.zeros(0, dtype=np.int64)
    return Fairness(
        kind=NO_FAIRNESS,
        joined=SUMMED,
        bucket=np.zeros(n_rows, dtype=np.int32),
        column=np.zeros(1, dtype=np.int64),
        first_cut=1,
        step=1,
        n_cuts=np.zeros(n_queries, dtype=np.int64),
        start=np.full((n_queries, 1), -1, dtype=np.int64),
        width=np.zeros((n_queries, 1), dtype=np.int64),
        table=nothing,
        attention=nothing,
        slope=np.zeros((n_queries, 1)),
        shift=np.zeros((n_queries, 1)),
        weight=np.zeros((n_queries, 1)),
        targeted=False,
        target_start=whole,
        target_class=whole,
        target_block=np.zeros(0, dtype=np.int32),
    )


def fairness_part(
    data: RankingData,
    *,
    fairness: str | Callable[..., Any] = "rnd",
    strategy: str = "swap",
    step: int = 10,
    cutoff: int | None = None,
    by: Any = None,
    protected: Any = None,
    over_groups: str = "mean",
    discount: str = "paper",
) -> Fairness:
    """Prepare what the objective needs to know about groups.

    Parameters are those of `FairLambdaMART`.
    """
    attribute = data.attribute(by)
    codes, n_groups = attribute.codes, len(attribute.categories)
    if protected is not None:
        codes = (codes != attribute.code(protected)).astype(np.int32)
        n_groups = 2
    sizes = _sizes(codes, data, n_groups)
    if fairness in ("exposure", "treatment"):
        if strategy != "swap":
            raise DataError(
                f"strategy must be 'swap' for fairness={fairness!r}: target lists are made for "
                f"metrics of prefixes, got {strategy!r}"
            )
        one = protected is not None or n_groups == 2
        return _attention_part(data, codes, sizes, str(fairness), cutoff, over_groups, one)
    part = _prefix_part(
        data,
        codes,
        sizes,
        fairness,
        step,
        cutoff,
        over_groups,
        discount,
        only_first=protected is not None,
    )
    return part if strategy == "swap" else _with_targets(data, part, sizes, strategy)


def _sizes(codes: np.ndarray, data: RankingData, n_groups: int) -> np.ndarray:
    cell = data.query_of_rows() * n_groups + codes
    return np.bincount(cell, minlength=data.n_queries * n_groups).reshape(-1, n_groups)


def _attention_part(
    data: RankingData,
    codes: np.ndarray,
    sizes: np.ndarray,
    fairness: str,
    cutoff: int | None,
    over_groups: str,
    one: bool,
) -> Fairness:
    n = np.diff(data.offsets)
    attention = discounts(int(n.max()), "log2", cutoff)
    drawn = np.concatenate([[0.0], np.cumsum(attention)])[n]
    columns = 1 if one else sizes.shape[1]
    size = sizes[:, :columns].astype(np.float64)
    rest = n[:, None] - size
    good = (size > 0) & (rest > 0)
    if fairness == "exposure":
        slope = 1.0 / np.where(good, size, 1.0) + 1.0 / np.where(good, rest, 1.0)
        shift = drawn[:, None] / np.where(good, rest, 1.0)
    else:
        cell = data.query_of_rows() * sizes.shape[1] + codes
        merit = np.bincount(cell, weights=np.asarray(data.y), minlength=sizes.size)
        merit = merit.reshape(sizes.shape)
        others = merit.sum(axis=1, keepdims=True) - merit
        merit, others = merit[:, :columns], others[:, :columns]
        good &= (merit > 0) & (others > 0)
        slope = others / np.where(good, merit, 1.0)
        shift = np.broadcast_to(drawn[:, None], slope.shape).copy()
    return no_fairness(data.n_rows, data.n_queries)._replace(
        kind=EXPOSURE if fairness == "exposure" else TREATMENT,
        joined=LARGEST if over_groups == "worst" else SUMMED,
        bucket=codes.astype(np.int32),
        column=_columns(sizes.shape[1], columns),
        start=np.full(slope.shape, -1, dtype=np.int64),
        width=np.zeros(slope.shape, dtype=np.int64),
        attention=np.ascontiguousarray(attention),
        slope=slope,
        shift=shift,
        weight=_weights(good, over_groups),
    )


def _columns(n_groups: int, n_columns: int) -> np.ndarray:
    code = np.arange(n_groups, dtype=np.int64)
    return np.where(code < n_columns, code, -1)


def _weights(good: np.ndarray, over_groups: str) -> np.ndarray:
    if over_groups == "worst":
        return good.astype(np.float64)
    return good / np.maximum(good.sum(axis=1, keepdims=True), 1)


def _prefix_part(
    data: RankingData,
    codes: np.ndarray,
    sizes: np.ndarray,
    fairness: str | Callable[..., Any],
    step: int,
    cutoff: int | None,
    over_groups: str,
    discount: str,
    *,
    only_first: bool,
) -> Fairness:
    n = np.diff(data.offsets)
    limit = n if cutoff is None else np.minimum(n, cutoff)
    n_cuts = np.maximum(limit // step - (1 if step == 1 else 0), 0)
    distance = _DISTANCES[fairness] if isinstance(fairness, str) else _elementwise(fairness)
    exact = fairness not in ("rnd", "rkl")
    n_groups = sizes.shape[1]
    even = fairness in ("rnd", "rkl") or over_groups == "mean"
    columns = 1 if only_first or (n_groups == 2 and even) else n_groups
    both = n_groups == 2 and exact and columns == 1 and not only_first
    wanted = sizes[:, :columns]
    good = (wanted > 0) & (wanted < n[:, None]) & (n_cuts > 0)[:, None]
    make = _Tables(step, discount, distance, exact, both)
    joint = fairness == "rkl" and columns > 2 and over_groups == "mean"
    if joint and columns <= MOST_GROUPS:
        start, width = make.joint(n, limit, n_cuts, sizes)
    else:
        share = _weights(good, over_groups)
        start, width = make.of_columns(n, limit, n_cuts, wanted, good, share)
    return no_fairness(data.n_rows, data.n_queries)._replace(
        kind=PREFIXES,
        joined=LARGEST if over_groups == "worst" and columns > 1 else SUMMED,
        bucket=codes.astype(np.int32),
        column=_columns(n_groups, columns),
        first_cut=2 if step == 1 else step,
        step=step,
        n_cuts=n_cuts.astype(np.int64),
        start=start,
        width=width,
        table=np.concatenate([np.zeros(0), *make.parts]),
        slope=np.zeros(start.shape),
        shift=np.zeros(start.shape),
        weight=np.zeros(start.shape),
    )


def _elementwise(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """Return a compiled function of four numbers as a function of arrays."""
    if not hasattr(function, "py_func"):
        return function
    vectorized = np.vectorize(function, otypes=[np.float64])

    def distance(count: Any, cut: Any, n: Any, size: Any) -> np.ndarray:
        return np.asarray(vectorized(count, cut, n, size))

    return distance


class _Tables:
    """Makes tables of unfairness, one per shape of list, laid out one behind the other."""

    def __init__(
        self,
        step: int,
        discount: str,
        distance: Callable[..., np.ndarray],
        exact: bool,
        both: bool,
    ) -> None:
        self.step, self.discount, self.distance = step, discount, distance
        self.exact, self.both = exact, both
        self.parts: list[np.ndarray] = []
        self.used = 0

    def add(self, table: np.ndarray) -> int:
        """Keep a table and say where it begins."""
        begin = self.used
        self.used += table.size
        if self.used > MOST_NUMBERS:
            raise DataError(
                "cutoff must be given (or step be larger) for lists this long: the tables of "
                f"unfairness would hold more than {MOST_NUMBERS} numbers"
            )
        self.parts.append(table.ravel())
        return begin

    def cuts(self, limit: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the cut points and their weights."""
        cut = cut_points(np.array([limit]), self.step)[1]
        return cut, cut_weights(cut, self.discount)

    def grid(self, n: int, size: int, cut: np.ndarray, width: int) -> np.ndarray:
        """Return the distance of each count (column) at each cut (row)."""
        count = np.tile(np.arange(width, dtype=np.float64), len(cut))
        at = np.repeat(cut.astype(np.float64), width)
        whole, members = np.full(len(at), float(n)), np.full(len(at), float(size))
        found = self.distance(np.minimum(count, at), at, whole, members)
        return np.asarray(found, dtype=np.float64).reshape(len(cut), width)

    def one(self, n: int, size: int, limit: int) -> np.ndarray:
        """Make the table of one group against the rest, divided by its largest sum."""
        cut, weight = self.cuts(limit)
        table = weight[:, None] * self.grid(n, size, cut, min(int(cut[-1]), size) + 1)
        row = np.arange(len(cut))
        if self.exact:
            worst = exact_maximum(n, size, limit, self.step, self.discount, self.distance)
        else:
            last = np.maximum(0, cut - (n - size))
            worst = max(table[row, last].sum(), table[row, np.minimum(cut, size)].sum())
        return table / worst if worst > 0 else np.zeros_like(table)

    def of_columns(
        self,
        n: np.ndarray,
        limit: np.ndarray,
        n_cuts: np.ndarray,
        wanted: np.ndarray,
        good: np.ndarray,
        share: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Make a table for each query and column, equal shapes sharing one."""
        start = np.full(wanted.shape, -1, dtype=np.int64)
        width = np.zeros(wanted.shape, dtype=np.int64)
        query, column = np.nonzero(good)
        shapes = np.stack(
            [n[query], limit[query], wanted[query, column], share[query, column]], axis=1
        )
        kinds, inverse = np.unique(shapes, axis=0, return_inverse=True)
        begins, widths = [], []
        for length, end, size, part in kinds.tolist():
            table = part * self.one(int(length), int(size), int(end))
            if self.both:
                table = self._with_rest(table, part, int(length), int(size), int(end))
            begins.append(self.add(table))
            widths.append(table.shape[1])
        start[query, column] = np.array(begins, dtype=np.int64)[inverse.ravel()]
        width[query, column] = np.array(widths, dtype=np.int64)[inverse.ravel()]
        return start, width

    def _with_rest(
        self, table: np.ndarray, part: float, n: int, size: int, limit: int
    ) -> np.ndarray:
        """Average with the table of the other group, as a function of the first one's count."""
        cut, _ = self.cuts(limit)
        other = part * self.one(n, n - size, limit)
        count = np.clip(cut[:, None] - np.arange(table.shape[1]), 0, other.shape[1] - 1)
        return 0.5 * (table + np.take_along_axis(other, count, axis=1))

    def joint(
        self, n: np.ndarray, limit: np.ndarray, n_cuts: np.ndarray, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Make the tables of the divergence of all groups at once: a sum over the groups."""
        start = np.full(sizes.shape, -1, dtype=np.int64)
        width = np.zeros(sizes.shape, dtype=np.int64)
        shapes = np.concatenate([limit[:, None], sizes], axis=1)
        kinds, inverse = np.unique(shapes, axis=0, return_inverse=True)
        for at, (end, *row) in enumerate(kinds.tolist()):
            size = np.array(row)
            length = int(size.sum())
            cut, weight = self.cuts(int(end))
            if len(cut) == 0 or (size > 0).sum() < 2:
                continue
            same = np.flatnonzero(inverse.ravel() == at)
            worst = self._joint_maximum(size, cut, weight)
            for g in np.flatnonzero(size).tolist():
                wide = min(int(cut[-1]), int(size[g])) + 1
                share = np.arange(wide) / cut[:, None]
                ratio = np.where(share > 0, share * length / size[g], 1.0)
                table = weight[:, None] * share * np.log2(ratio)
                start[same, g] = self.add(table / worst if worst > 0 else 0.0 * table)
                width[same, g] = wide
        return start, width

    @staticmethod
    def _joint_maximum(size: np.ndarray, cut: np.ndarray, weight: np.ndarray) -> float:
        base = size / size.sum()

        def divergence(counts: np.ndarray) -> np.ndarray:
            share = counts / cut[:, None]
            ratio = np.where(share > 0, share / np.where(base > 0, base, 1.0), 1.0)
            return (share * np.log2(ratio)).sum(axis=1)

        query, offsets = np.zeros(len(cut), dtype=np.int64), np.array([0, len(cut)])
        return float(
            sorted_lists_maximum(size[None, :], query, cut, offsets, weight, divergence)[0]
        )


def _with_targets(data: RankingData, part: Fairness, sizes: np.ndarray, strategy: str) -> Fairness:
    """Add the target lists of strategies 2 and 3."""
    y, query = np.asarray(data.y, dtype=np.float64), data.query_of_rows()
    relevance_first = strategy == "relevance_first"
    by_relevance = np.lexsort((-y, query))
    gain = gains(y, "exp2")[by_relevance]
    bucket = part.bucket[by_relevance]
    cut_offsets = np.concatenate([[0], np.cumsum(part.n_cuts)])
    counts = np.zeros((cut_offsets[-1], sizes.shape[1]), dtype=np.int64)
    common = (relevance_first, part.first_cut, part.step, part.n_cuts)
    if sizes.shape[1] == 2 and part.start.shape[1] == 1:
        weights = np.ascontiguousarray(discounts(int(np.diff(data.offsets).max()), "log2"))
        first = counts[:, 0].copy()
        best_counts(
            data.offsets, gain, bucket == 0, weights, *common, part.start[:, 0].copy(),
            part.width[:, 0].copy(), part.table, cut_offsets, first,
        )  # fmt: skip
        cut = cut_points(part.n_cuts * part.step + (1 if part.step == 1 else 0), part.step)[1]
        counts = np.stack([first, cut - first], axis=1)
    else:
        apportioned_counts(data.offsets, gain, bucket, sizes.shape[1], *common, cut_offsets, counts)
    block = np.zeros(data.n_rows, dtype=np.int32)
    blocks_of_ranks(data.offsets, sizes, part.n_cuts, cut_offsets, counts, block)
    order = np.lexsort((-y, part.bucket, query))
    keys = np.stack([query[order], part.bucket[order], -y[order]])
    new = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))
    begins = np.flatnonzero(new)
    kind = np.cumsum(new) - 1
    target_start, target_class = np.empty(data.n_rows, np.int64), np.empty(data.n_rows, np.int64)
    target_start[order] = begins[kind]
    target_class[order] = kind - kind[data.offsets[:-1]][query[order]]
    return part._replace(
        targeted=True, target_start=target_start, target_class=target_class, target_block=block
    )
