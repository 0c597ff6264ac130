"""Lists of disjoint groups under bounds: all at once, and in words where the bounds clash."""

import warnings

import numpy as np

from ..core.errors import EquirankWarning, InfeasibleError
from ..kernels.segments import sort_values_within
from .group_bounds import GroupBound, prefix_rows
from .guaranteed import Guaranteed, Pool, candidates

__all__ = ["arrange_lists", "bound_tables", "refuse_or_warn"]


def bound_tables(
    floors: list[GroupBound], ceilings: list[GroupBound], pool: Pool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest counts (prefix x group) that all lists share."""
    size = int(pool.limit.max())
    least = np.zeros((size, pool.n_groups), dtype=np.int64)
    most = np.full((size, pool.n_groups), size + 1, dtype=np.int64)
    for bound in floors:
        least[:, bound.code] = prefix_rows(bound.value, size, lower=True)
    for bound in ceilings:
        most[:, bound.code] = prefix_rows(bound.value, size, lower=False)
    return least, most


def arrange_lists(
    reranker: Guaranteed,
    pool: Pool,
    least: np.ndarray,
    most: np.ndarray,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the slots of every list in their new order, and the gap to the best list.

    ``start`` is the row of the tables at which each list's bounds begin, 0 where not given. Where
    the bounds of a list cannot be met: an error, or a warning and the best list under bounds
    widened by the same number of people, the smallest that is enough.
    """
    from ..kernels.prefix_lists import arrange

    start = np.zeros(len(pool.limit), dtype=np.int64) if start is None else start
    shown = np.asarray(pool.shown, dtype=np.int64)
    given = (pool.offsets, shown, pool.out_offsets, least, most, start)
    slots, solved = arrange(pool.codes, *given)
    closest = reranker.get_params()["on_infeasible"] == "best"
    widened = np.full(len(solved), -1, dtype=np.int64)
    left = np.flatnonzero((solved == 0) | ((solved < 0) & closest))
    if len(left):
        from ..kernels.prefix_clashes import arrange_meeting

        values = worths(pool)
        widened = arrange_meeting(pool.codes, values, *given, left, closest, slots, solved)
    failed = np.flatnonzero((solved < 0) | (widened >= 0))
    if len(failed):
        query = int(failed[0])
        rows = slice(int(start[query]), int(start[query] + pool.limit[query]))
        reason = why_not(least[rows], most[rows], candidates(pool)[query], pool.groups.categories)
        done = f"bounds are widened by up to {_people(int(widened.max()))}"
        refuse_or_warn(reranker, pool, failed, reason, done)
    return slots, np.where(solved > 0, 0.0, np.nan)


def worths(pool: Pool) -> np.ndarray:
    """Return the value of each slot: its score; where the order given defies scores, those sorted."""
    score = pool.ranking.data.score
    if score is None:
        return -np.arange(len(pool.order), dtype=np.float64)
    values = np.asarray(score, dtype=np.float64)[pool.order]
    rising = values[1:] > values[:-1]
    rising[pool.offsets[1:-1] - 1] = False
    return sort_values_within(values, pool.offsets) if rising.any() else values


def refuse_or_warn(
    reranker: Guaranteed, pool: Pool, failed: np.ndarray, reason: str, done: str
) -> None:
    """Raise for the first list whose bounds cannot be met, or warn, as ``on_infeasible`` says."""
    query = pool.ranking.data.qids[failed[:1]].tolist()[0]
    message = f"{type(reranker).__name__} cannot keep its bounds in query {query!r}: {reason}"
    if reranker.get_params()["on_infeasible"] == "error":
        raise InfeasibleError(
            f"{message}; loosen the bounds, take a smaller k, or say on_infeasible='best' for the "
            "closest ranking"
        )
    more = f" (and in {len(failed) - 1} more queries)" if len(failed) > 1 else ""
    warnings.warn(f"{message}{more}; {done}", EquirankWarning, 6)


def why_not(
    least: np.ndarray, most: np.ndarray, sizes: np.ndarray, labels: tuple[object, ...]
) -> str:
    """Say which prefix and which group make the bounds of one list impossible."""
    least = np.maximum.accumulate(least, axis=0)
    most = np.minimum.accumulate(most[::-1], axis=0)[::-1]
    room = np.minimum(most, sizes)
    place = np.arange(1, len(least) + 1)
    for j in place.tolist():
        need, may = least[j - 1], most[j - 1]
        places = f"the first {j} places" if j > 1 else "the first place"
        verb = "need" if j > 1 else "needs"
        for g, label in enumerate(labels):
            if need[g] > sizes[g]:
                return f"{places} {verb} {need[g]} of group {label!r}, and the list has {sizes[g]}"
            if need[g] > may[g]:
                return f"{places} {verb} {need[g]} of group {label!r} and may hold {may[g]}"
        if need.sum() > j:
            asked = ", ".join(f"{need[g]} of {labels[g]!r}" for g in np.flatnonzero(need))
            return f"{places} {verb} {asked}: {need.sum()} in all"
        if room[j - 1].sum() < j:
            short = [repr(labels[g]) for g in np.flatnonzero(may < sizes)]
            return (
                f"{places} can hold {room[j - 1].sum()} at most under the ceilings of "
                f"{' and '.join(short)}"
            )
    prefix, group = _late(least, room)
    return (
        f"the first {prefix} places need {least[prefix - 1, group]} of group "
        f"{labels[group]!r}, and ceilings and other floors leave them no places"
    )


def _late(least: np.ndarray, room: np.ndarray) -> tuple[int, int]:
    """Find the first floor that is missed when the most urgent group always goes first."""
    counts = np.zeros(least.shape[1], dtype=np.int64)
    for j in range(len(least)):
        due = [_due(least[:, g], counts[g]) for g in range(len(counts))]
        free = [g for g in range(len(counts)) if counts[g] < room[j, g]]
        chosen = min(free, key=lambda g: due[g])
        counts[chosen] += 1
        late = np.flatnonzero(counts < least[j])
        if len(late):
            return j + 1, int(late[0])
    return len(least), int(np.argmax(least[-1]))


def _due(least: np.ndarray, count: int) -> int:
    """Return the prefix by which a group needs one more than it has."""
    return int(np.searchsorted(least, count + 1))


def _people(count: int) -> str:
    return f"{count} {'person' if count == 1 else 'people'}"
