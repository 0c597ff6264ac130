"""Lists under bounds on disjoint groups, and the reason if the bounds cannot hold."""

import warnings

import numpy as np

from ..core.errors import EquirankWarning, InfeasibleError
from ..kernels.segments import sort_values_within
from .group_bounds import GroupBound, prefix_rows
from .guaranteed import Guaranteed, Pool, candidates

__all__ = ["arrange_lists", "bound_tables", "raise_or_warn", "slot_values"]


def bound_tables(
    lower: list[GroupBound], upper: list[GroupBound], pool: Pool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the least and the largest counts (prefix x group), and where those of a list begin.

    A list has no lower bound of a group that it lacks, and no upper bound if it has one group only.
    """
    size = int(pool.limit.max())
    there = pool.present[:, [bound.code for bound in lower]]
    several = (~pool.alone & bool(upper))[:, None]
    kinds, kind = np.unique(np.hstack([there, several]), axis=0, return_inverse=True)
    least = np.zeros((len(kinds), size, pool.n_groups), dtype=np.int64)
    most = np.full_like(least, size + 1)
    for at, bound in enumerate(lower):
        rows = prefix_rows(bound.value, size, lower=True)
        least[:, :, bound.code] = kinds[:, at, None] * rows
    for bound in upper:
        rows = prefix_rows(bound.value, size, lower=False)
        most[:, :, bound.code] = np.where(kinds[:, -1:], rows, size + 1)
    shape = (len(kinds) * size, pool.n_groups)
    return least.reshape(shape), most.reshape(shape), kind.ravel() * size


def arrange_lists(
    reranker: Guaranteed,
    pool: Pool,
    least: np.ndarray,
    most: np.ndarray,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the slots of every list in their new order, and the gap to the best list.

    ``start`` is the row of the tables at which the bounds of each list begin, 0 by default. If the
    bounds of a list cannot hold: an error, or a warning and the best list under bounds that are all
    widened by the smallest sufficient number of items.
    """
    from ..kernels.prefix_lists import arrange

    start = np.zeros(len(pool.limit), dtype=np.int64) if start is None else start
    shown = np.asarray(pool.shown, dtype=np.int64)
    given = (pool.offsets, shown, pool.out_offsets, least, most, start)
    slots, solved = arrange(pool.codes, *given)
    closest = reranker.on_infeasible == "best"
    widened = np.full(len(solved), -1, dtype=np.int64)
    left = np.flatnonzero((solved == 0) | ((solved < 0) & closest))
    if len(left):
        from ..kernels.prefix_clashes import arrange_meeting

        values = slot_values(pool)
        widened = arrange_meeting(pool.codes, values, *given, left, closest, slots, solved)
    failed = np.flatnonzero((solved < 0) | (widened >= 0))
    if len(failed):
        query = int(failed[0])
        rows = slice(int(start[query]), int(start[query] + pool.limit[query]))
        reason = why_not(least[rows], most[rows], candidates(pool)[query], pool.labels)
        done = f"bounds are widened by up to {_items(int(widened.max()))}"
        raise_or_warn(reranker, pool, failed, reason, done)
    return slots, np.where(solved > 0, 0.0, np.nan)


def slot_values(pool: Pool) -> np.ndarray:
    """Return the score of each slot; if scores contradict the order, the sorted scores."""
    score = pool.ranking.data.score
    if score is None:
        return -np.arange(len(pool.order), dtype=np.float64)
    values = np.asarray(score, dtype=np.float64)[pool.order]
    rising = values[1:] > values[:-1]
    rising[pool.offsets[1:-1] - 1] = False
    return sort_values_within(values, pool.offsets) if rising.any() else values


def raise_or_warn(
    reranker: Guaranteed, pool: Pool, failed: np.ndarray, reason: str, done: str
) -> None:
    """Raise or warn, depending on ``on_infeasible``, about the lists whose bounds cannot hold."""
    query = pool.ranking.data.qids[failed[:1]].tolist()[0]
    message = f"{type(reranker).__name__} cannot keep its bounds in query {query!r}: {reason}"
    if reranker.on_infeasible == "error":
        raise InfeasibleError(
            f"{message}; loosen the bounds, choose a smaller k, or pass on_infeasible='best' for "
            "the closest ranking"
        )
    more = f" (and in {len(failed) - 1} more queries)" if len(failed) > 1 else ""
    warnings.warn(f"{message}{more}; {done}", EquirankWarning, 6)


def why_not(
    least: np.ndarray, most: np.ndarray, sizes: np.ndarray, labels: tuple[object, ...]
) -> str:
    """Return which prefix and which group make the bounds of one list impossible."""
    least = np.maximum.accumulate(least, axis=0)
    most = np.minimum.accumulate(most[::-1], axis=0)[::-1]
    supply = np.minimum(most, sizes)
    for j in range(1, len(least) + 1):
        need, may = least[j - 1], most[j - 1]
        top = f"the first {j} positions" if j > 1 else "the first position"
        verb = "need" if j > 1 else "needs"
        for g, label in enumerate(labels):
            if need[g] > sizes[g]:
                return f"{top} {verb} {need[g]} of group {label!r}, and the list has {sizes[g]}"
            if need[g] > may[g]:
                return f"{top} {verb} {need[g]} of group {label!r} and may hold {may[g]}"
        if need.sum() > j:
            asked = ", ".join(f"{need[g]} of {labels[g]!r}" for g in np.flatnonzero(need))
            return f"{top} {verb} {asked}: {need.sum()} in all"
        if supply[j - 1].sum() < j:
            short = [repr(labels[g]) for g in np.flatnonzero(may < sizes)]
            return (
                f"{top} can hold {supply[j - 1].sum()} at most under the upper bounds of "
                f"{' and '.join(short)}"
            )
    prefix, group = _late(least, supply)
    return (
        f"the first {prefix} positions need {least[prefix - 1, group]} of group "
        f"{labels[group]!r}, and the other bounds leave them too few positions"
    )


def _late(least: np.ndarray, supply: np.ndarray) -> tuple[int, int]:
    """Find the first lower bound that is missed if the most urgent group always goes first."""
    counts = np.zeros(least.shape[1], dtype=np.int64)
    for j in range(len(least)):
        due = [_due(least[:, g], counts[g]) for g in range(len(counts))]
        free = [g for g in range(len(counts)) if counts[g] < supply[j, g]]
        chosen = min(free, key=lambda g: due[g])
        counts[chosen] += 1
        late = np.flatnonzero(counts < least[j])
        if len(late):
            return j + 1, int(late[0])
    return len(least), int(np.argmax(least[-1]))


def _due(least: np.ndarray, count: int) -> int:
    """Return the prefix by which a group needs one item more than it has."""
    return int(np.searchsorted(least, count + 1))


def _items(count: int) -> str:
    return f"{count} {'item' if count == 1 else 'items'}"
