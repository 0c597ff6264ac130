"""Fairness part of the gradient: groups, tables of unfairness and target lists of a data set.

A prefix metric is a sum over cut points of a distance that depends on the count of one group, so a
table of count by cut describes it, including normaliser and discount. Lists of equal shape share a
table.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.label_probability import GroupProbability, depth_by_value, group_probability
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
from ...kernels.target_lists import apportioned_counts, best_counts, blocks_of_ranks, greedy_blocks

__all__ = [
    "FAIRNESS",
    "STRATEGIES",
    "fair_memberships",
    "fairness_part",
    "member_part",
    "no_fairness",
]


FAIRNESS = ("rnd", "rkl", "rrd", "exposure", "treatment")
STRATEGIES = ("swap", "fair_first", "relevance_first")

#: Maximum number of values in all tables (256 MiB).
MAX_VALUES = 1 << 25
#: Largest unfairness of a list, at or below which it has no fairness part.
WORST_LEAST = 1e-9
#: Maximum number of groups of a joint divergence; its normaliser needs many sorted lists.
MAX_GROUPS = 10

_DISTANCES: dict[str, Callable[..., np.ndarray]] = {
    "rnd": share_distance,
    "rkl": two_group_divergence,
    "rrd": ratio_distance,
}


def no_fairness(n_rows: int, n_queries: int) -> Fairness:
    """Return an empty fairness part, for plain LambdaMART."""
    no_values, no_numbers = np.zeros(0), np.zeros(0, dtype=np.int64)
    return Fairness(
        kind=NO_FAIRNESS,
        joined=SUMMED,
        bucket=np.zeros(n_rows, dtype=np.int32),
        column=np.zeros(1, dtype=np.int64),
        first_cut=1,
        step=1,
        n_cuts=np.zeros(n_queries, dtype=np.int64),
        last_cut=np.zeros(n_queries, dtype=np.int64),
        start=np.full((n_queries, 1), -1, dtype=np.int64),
        width=np.zeros((n_queries, 1), dtype=np.int64),
        table=no_values,
        attention=no_values,
        slope=np.zeros((n_queries, 1)),
        shift=np.zeros((n_queries, 1)),
        weight=np.zeros((n_queries, 1)),
        targeted=False,
        same_block=False,
        target_start=no_numbers,
        target_class=no_numbers,
        target_block=np.zeros(0, dtype=np.int32),
        members=np.zeros((0, 0)),
        divergence=False,
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
    last_cut: bool = False,
    rules: str = "equirank",
    same_block: bool = False,
) -> Fairness:
    """Return the groups, tables and target lists that the objective reads.

    The parameters are those of `FairLambdaMART`.
    """
    attribute = data.attribute(by)
    codes, shape = attribute.codes, (step, cutoff, over_groups, discount, last_cut)
    found = fair_memberships(data, by) if attribute.doubtful else None
    if found is not None and found.certain:
        codes = found.table.argmax(axis=1).astype(np.int32)
    elif found is not None:
        table = found.table
        if protected is not None:
            table = table[:, [attribute.code(protected)]]
        _check_memberships(fairness, strategy, rules, table.shape[1])
        table = table[:, :1] if table.shape[1] == 2 else table
        return member_part(data, table, str(fairness), *shape)
    n_groups = len(attribute.categories)
    if protected is not None:
        codes = (codes != attribute.code(protected)).astype(np.int32)
        n_groups = 2
    sizes = _sizes(codes, data, n_groups)
    if fairness in ("exposure", "treatment"):
        if strategy != "swap":
            raise DataError(
                f"strategy must be 'swap' for fairness={fairness!r}: target lists exist for "
                f"metrics of prefixes only, got {strategy!r}"
            )
        if discount != "paper" or last_cut:
            name = "last_cut" if last_cut else "discount"
            raise DataError(
                f"{name} must have its default for fairness={fairness!r}, which has no prefixes"
            )
        columns = 1 if protected is not None or n_groups == 2 else n_groups
        return _exposure_part(data, codes, sizes, str(fairness), cutoff, over_groups, columns)
    part = _prefix_part(data, codes, sizes, fairness, *shape, only_first=protected is not None)
    if strategy == "swap":
        return part
    targets = _greedy_targets if rules == "lambdafair" else _best_targets
    return _with_targets(data, part, targets(data, part, sizes, strategy), same_block)


def fair_memberships(data: RankingData, by: Any) -> GroupProbability:
    """Return the probability of each group, imputed at the same relevance where it is unknown."""
    depth = depth_by_value(np.asarray(data.y), data.offsets)
    return group_probability(data, by, "FairLambdaMART", depth, impute=True)


def _check_memberships(fairness: Any, strategy: str, rules: str, n_columns: int) -> None:
    """Raise for an objective that needs the label of every row."""
    needs = "the group of every row, and some are unknown or uncertain"
    if fairness not in ("rnd", "rkl", "exposure", "treatment"):
        raise DataError(
            f"fairness={fairness!r} of FairLambdaMART needs {needs}: choose 'rnd', 'rkl', "
            "'exposure' or 'treatment'"
        )
    if fairness == "rkl" and n_columns > 2:
        raise DataError(
            f"fairness='rkl' of FairLambdaMART with several groups needs {needs}: name one as "
            "protected, or choose 'rnd'"
        )
    if strategy != "swap" or rules != "equirank":
        name = "strategy" if strategy != "swap" else "rules"
        raise DataError(
            f"{name} of FairLambdaMART must have its default: target lists and the rules of "
            f"LambdaFair need {needs}"
        )


def member_part(
    data: RankingData,
    members: np.ndarray,
    fairness: str,
    step: int,
    cutoff: int | None,
    over_groups: str,
    discount: str,
    last_cut: bool,
) -> Fairness:
    """Return the fairness part of memberships (row x column), numbers in [0, 1].

    For prefixes, ``slope`` holds the share of each column in a list, ``weight`` the inverse of the
    largest unfairness (that of the lists sorted by membership), and ``attention`` the weight of a
    prefix that ends at each position.
    """
    members = np.ascontiguousarray(members, dtype=np.float64)
    n, n_columns = np.diff(data.offsets), members.shape[1]
    sizes = np.add.reduceat(members, data.offsets[:-1], axis=0)
    if fairness in ("exposure", "treatment"):
        codes = np.zeros(data.n_rows, dtype=np.int32)
        part = _exposure_part(data, codes, sizes, fairness, cutoff, over_groups, n_columns, members)
        return part._replace(members=members)
    limit = n if cutoff is None else np.minimum(n, cutoff)
    n_cuts = np.diff(cut_points(limit, step, last_cut)[2])
    base = sizes / n[:, None]
    worst = np.zeros(sizes.shape)
    attention = np.zeros(int(n.max()))
    distance = two_group_divergence if fairness == "rkl" else share_distance
    for q in range(data.n_queries):
        cut = cut_points(limit[q : q + 1], step, last_cut)[1]
        if len(cut) == 0:
            continue
        weight = cut_weights(cut, discount)
        attention[cut - 1] = weight
        rows = members[data.offsets[q] : data.offsets[q + 1]]
        ends = np.full(len(cut), float(n[q]))
        for c in range(n_columns):
            up = np.sort(rows[:, c])
            sums = [np.cumsum(one)[cut - 1] for one in (up, up[::-1])]
            size = np.full(len(cut), sizes[q, c])
            worst[q, c] = max(float(weight @ distance(s, cut, ends, size)) for s in sums)
    valid = worst > WORST_LEAST
    share = _weights(valid, over_groups)
    return no_fairness(data.n_rows, data.n_queries)._replace(
        kind=PREFIXES,
        joined=LARGEST if over_groups == "worst" and n_columns > 1 else SUMMED,
        first_cut=2 if step == 1 else step,
        step=step,
        n_cuts=n_cuts.astype(np.int64),
        last_cut=np.where(last_cut & (n_cuts > 0) & (limit % step > 0), limit, 0).astype(np.int64),
        start=np.full(sizes.shape, -1, dtype=np.int64),
        width=np.zeros(sizes.shape, dtype=np.int64),
        attention=attention,
        slope=base,
        shift=np.zeros(sizes.shape),
        weight=np.where(valid, share / np.where(valid, worst, 1.0), 0.0),
        members=members,
        divergence=fairness == "rkl",
    )


def _sizes(codes: np.ndarray, data: RankingData, n_groups: int) -> np.ndarray:
    cell = data.query_of_rows() * n_groups + codes
    return np.bincount(cell, minlength=data.n_queries * n_groups).reshape(-1, n_groups)


def _exposure_part(
    data: RankingData,
    codes: np.ndarray,
    sizes: np.ndarray,
    fairness: str,
    cutoff: int | None,
    over_groups: str,
    columns: int,
    members: np.ndarray | None = None,
) -> Fairness:
    """Return the part of exposure or treatment, a linear function of the exposure per column.

    ``members`` (row x column) replace the codes, if groups are uncertain.
    """
    n = np.diff(data.offsets)
    attention = discounts(int(n.max()), "log2", cutoff)
    total = np.concatenate([[0.0], np.cumsum(attention)])[n]
    size = sizes[:, :columns].astype(np.float64)
    rest = n[:, None] - size
    valid = (size > 0) & (rest > 0)
    if fairness == "exposure":
        slope = 1.0 / np.where(valid, size, 1.0) + 1.0 / np.where(valid, rest, 1.0)
        shift = total[:, None] / np.where(valid, rest, 1.0)
    else:
        y = np.asarray(data.y)
        if members is None:
            cell = data.query_of_rows() * sizes.shape[1] + codes
            merit = np.bincount(cell, weights=y, minlength=sizes.size).reshape(sizes.shape)
            rest_merit = merit.sum(axis=1, keepdims=True) - merit
        else:
            merit = np.add.reduceat(members * y[:, None], data.offsets[:-1], axis=0)
            rest_merit = np.add.reduceat(y, data.offsets[:-1])[:, None] - merit
        merit, rest_merit = merit[:, :columns], rest_merit[:, :columns]
        valid &= (merit > 0) & (rest_merit > 0)
        slope = rest_merit / np.where(valid, merit, 1.0)
        shift = np.broadcast_to(total[:, None], slope.shape).copy()
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
        weight=_weights(valid, over_groups),
    )


def _columns(n_groups: int, n_columns: int) -> np.ndarray:
    code = np.arange(n_groups, dtype=np.int64)
    return np.where(code < n_columns, code, -1)


def _weights(valid: np.ndarray, over_groups: str) -> np.ndarray:
    if over_groups == "worst":
        return valid.astype(np.float64)
    return valid / np.maximum(valid.sum(axis=1, keepdims=True), 1)


def _prefix_part(
    data: RankingData,
    codes: np.ndarray,
    sizes: np.ndarray,
    fairness: str | Callable[..., Any],
    step: int,
    cutoff: int | None,
    over_groups: str,
    discount: str,
    last_cut: bool,
    *,
    only_first: bool,
) -> Fairness:
    n = np.diff(data.offsets)
    limit = n if cutoff is None else np.minimum(n, cutoff)
    n_cuts = np.diff(cut_points(limit, step, last_cut)[2])
    distance = _DISTANCES[fairness] if isinstance(fairness, str) else _elementwise(fairness)
    exact = fairness not in ("rnd", "rkl")
    n_groups = sizes.shape[1]
    symmetric = fairness in ("rnd", "rkl") or over_groups == "mean"
    columns = 1 if only_first or (n_groups == 2 and symmetric) else n_groups
    both = n_groups == 2 and exact and columns == 1 and not only_first
    size = sizes[:, :columns]
    valid = (size > 0) & (size < n[:, None]) & (n_cuts > 0)[:, None]
    tables = _Tables(step, discount, last_cut, distance, exact, both)
    joint = fairness == "rkl" and columns > 2 and over_groups == "mean"
    if joint and columns <= MAX_GROUPS:
        start, width = tables.joint(limit, sizes)
    else:
        share = _weights(valid, over_groups)
        start, width = tables.of_columns(n, limit, size, valid, share)
    return no_fairness(data.n_rows, data.n_queries)._replace(
        kind=PREFIXES,
        joined=LARGEST if over_groups == "worst" and columns > 1 else SUMMED,
        bucket=codes.astype(np.int32),
        column=_columns(n_groups, columns),
        first_cut=2 if step == 1 else step,
        step=step,
        n_cuts=n_cuts.astype(np.int64),
        last_cut=np.where(last_cut & (n_cuts > 0) & (limit % step > 0), limit, 0).astype(np.int64),
        start=start,
        width=width,
        table=np.concatenate([np.zeros(0), *tables.parts]),
        slope=np.zeros(start.shape),
        shift=np.zeros(start.shape),
        weight=np.zeros(start.shape),
    )


def _elementwise(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """Return a function of arrays, also for a compiled function of four numbers."""
    if not hasattr(function, "py_func"):
        return function
    vectorized = np.vectorize(function, otypes=[np.float64])

    def distance(count: Any, cut: Any, n: Any, size: Any) -> np.ndarray:
        return np.asarray(vectorized(count, cut, n, size))

    return distance


class _Tables:
    """Tables of unfairness, one per shape of list, stored consecutively."""

    def __init__(
        self,
        step: int,
        discount: str,
        last_cut: bool,
        distance: Callable[..., np.ndarray],
        exact: bool,
        both: bool,
    ) -> None:
        self.step, self.discount, self.distance = step, discount, distance
        self.last_cut = last_cut
        self.exact, self.both = exact, both
        self.parts: list[np.ndarray] = []
        self.used = 0

    def add(self, table: np.ndarray) -> int:
        """Store a table and return its start."""
        begin = self.used
        self.used += table.size
        if self.used > MAX_VALUES:
            raise DataError(
                "cutoff must be given (or step be larger) for lists this long: the tables of "
                f"unfairness would have more than {MAX_VALUES} values"
            )
        self.parts.append(table.ravel())
        return begin

    def cuts(self, limit: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the cut points and their weights."""
        cut = cut_points(np.array([limit]), self.step, self.last_cut)[1]
        return cut, cut_weights(cut, self.discount)

    def grid(self, n: int, size: int, cut: np.ndarray, width: int) -> np.ndarray:
        """Return the distance of each count (column) at each cut (row)."""
        count = np.tile(np.arange(width, dtype=np.float64), len(cut))
        at = np.repeat(cut.astype(np.float64), width)
        n_items, n_members = np.full(len(at), float(n)), np.full(len(at), float(size))
        values = self.distance(np.minimum(count, at), at, n_items, n_members)
        return np.asarray(values, dtype=np.float64).reshape(len(cut), width)

    def one(self, n: int, size: int, limit: int) -> np.ndarray:
        """Return the table of one group against everyone else, divided by its largest sum."""
        cut, weight = self.cuts(limit)
        table = weight[:, None] * self.grid(n, size, cut, min(int(cut[-1]), size) + 1)
        row = np.arange(len(cut))
        if self.exact:
            worst = exact_maximum(
                n, size, limit, self.step, self.discount, self.distance, last_cut=self.last_cut
            )
        else:
            last = np.maximum(0, cut - (n - size))
            worst = max(table[row, last].sum(), table[row, np.minimum(cut, size)].sum())
        return table / worst if worst > 0 else np.zeros_like(table)

    def of_columns(
        self,
        n: np.ndarray,
        limit: np.ndarray,
        size: np.ndarray,
        valid: np.ndarray,
        share: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Make a table for each query and column; equal shapes share one."""
        start = np.full(size.shape, -1, dtype=np.int64)
        width = np.zeros(size.shape, dtype=np.int64)
        query, column = np.nonzero(valid)
        shapes = np.stack(
            [n[query], limit[query], size[query, column], share[query, column]], axis=1
        )
        kinds, inverse = np.unique(shapes, axis=0, return_inverse=True)
        begins, widths = [], []
        for length, end, members, part in kinds.tolist():
            table = part * self.one(int(length), int(members), int(end))
            if self.both:
                table = self._with_rest(table, part, int(length), int(members), int(end))
            begins.append(self.add(table))
            widths.append(table.shape[1])
        start[query, column] = np.array(begins, dtype=np.int64)[inverse.ravel()]
        width[query, column] = np.array(widths, dtype=np.int64)[inverse.ravel()]
        return start, width

    def _with_rest(
        self, table: np.ndarray, part: float, n: int, size: int, limit: int
    ) -> np.ndarray:
        """Return the mean with the table of the other group, by the count of the first."""
        cut, _ = self.cuts(limit)
        other = part * self.one(n, n - size, limit)
        count = np.clip(cut[:, None] - np.arange(table.shape[1]), 0, other.shape[1] - 1)
        return 0.5 * (table + np.take_along_axis(other, count, axis=1))

    def joint(self, limit: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Make the tables of the joint divergence of all groups: a sum over the groups."""
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
                n_counts = min(int(cut[-1]), int(size[g])) + 1
                share = np.arange(n_counts) / cut[:, None]
                ratio = np.where(share > 0, share * length / size[g], 1.0)
                table = weight[:, None] * share * np.log2(ratio)
                start[same, g] = self.add(table / worst if worst > 0 else 0.0 * table)
                width[same, g] = n_counts
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


def _best_targets(
    data: RankingData, part: Fairness, sizes: np.ndarray, strategy: str
) -> np.ndarray:
    """Return the block of each rank within a group in the lists that are best for the strategy."""
    y, query = np.asarray(data.y, dtype=np.float64), data.query_of_rows()
    relevance_first = strategy == "relevance_first"
    by_relevance = np.lexsort((-y, query))
    gain = gains(y, "exp2")[by_relevance]
    bucket = part.bucket[by_relevance]
    cut_offsets = np.concatenate([[0], np.cumsum(part.n_cuts)])
    counts = np.zeros((cut_offsets[-1], sizes.shape[1]), dtype=np.int64)
    common = (relevance_first, part.first_cut, part.step, part.n_cuts, part.last_cut)
    if sizes.shape[1] == 2 and part.start.shape[1] == 1:
        weights = np.ascontiguousarray(discounts(int(np.diff(data.offsets).max()), "log2"))
        first = counts[:, 0].copy()
        best_counts(
            data.offsets, gain, bucket == 0, weights, *common, part.start[:, 0].copy(),
            part.width[:, 0].copy(), part.table, cut_offsets, first,
        )  # fmt: skip
        nth = np.arange(cut_offsets[-1]) - np.repeat(cut_offsets[:-1], part.n_cuts)
        cut = part.first_cut + nth * part.step
        irregular = part.last_cut > 0
        cut[cut_offsets[1:][irregular] - 1] = part.last_cut[irregular]
        counts = np.stack([first, cut - first], axis=1)
    else:
        apportioned_counts(data.offsets, gain, bucket, sizes.shape[1], *common, cut_offsets, counts)
    block = np.zeros(data.n_rows, dtype=np.int32)
    blocks_of_ranks(data.offsets, sizes, part.n_cuts, cut_offsets, counts, block)
    return block


def _greedy_targets(
    data: RankingData, part: Fairness, sizes: np.ndarray, strategy: str
) -> np.ndarray:
    """Return the block of each rank within a group in the target lists of LambdaFair's code."""
    if sizes.shape[1] != 2:
        raise DataError(
            f"rules must be 'equirank' for {sizes.shape[1]} groups: the target lists of LambdaFair "
            "are for two; name the group to compare with everyone else (protected)"
        )
    y, query = np.asarray(data.y, dtype=np.float64), data.query_of_rows()
    order = np.lexsort((part.bucket, -y, query))
    block = np.zeros(data.n_rows, dtype=np.int32)
    greedy_blocks(
        data.offsets, y[order], part.bucket[order] == 0, strategy == "relevance_first", part.step,
        block,
    )  # fmt: skip
    return block


def _with_targets(
    data: RankingData, part: Fairness, block: np.ndarray, same_block: bool
) -> Fairness:
    """Return the part with target lists, given as the block of each rank within a group."""
    y, query = np.asarray(data.y, dtype=np.float64), data.query_of_rows()
    order = np.lexsort((-y, part.bucket, query))
    keys = np.stack([query[order], part.bucket[order], -y[order]])
    new = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))
    begins = np.flatnonzero(new)
    kind = np.cumsum(new) - 1
    target_start, target_class = np.empty(data.n_rows, np.int64), np.empty(data.n_rows, np.int64)
    target_start[order] = begins[kind]
    target_class[order] = kind - kind[data.offsets[:-1]][query[order]]
    return part._replace(
        targeted=True,
        same_block=same_block,
        target_start=target_start,
        target_class=target_class,
        target_block=block,
    )
