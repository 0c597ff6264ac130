"""Merging every list under its region of passing counts."""

import numpy as np

from ..guaranteed import Missed, Pool
from ..targets import candidates
from .regions import RegionBounds

__all__ = ["merge_lists"]


def merge_lists(pool: Pool, bounds: RegionBounds) -> tuple[np.ndarray, Missed, np.ndarray]:
    """Give the slots in their new order, where a list could not pass, and the count it needed.

    Where a group runs out on the way, the list is merged again with its supply in mind, so that a
    list is given up only if no order of it passes.
    """
    from ...kernels.fa_star_ir_groups import reachable
    from ...kernels.merging import merge_in_region

    n_queries, codes = len(pool.limit), bounds.protected
    kind = np.full(pool.n_groups, -1)
    kind[codes] = np.arange(len(codes))
    there = candidates(pool)[:, codes]
    plenty = [reachable(need, np.full(len(codes), len(need))).ravel() for need in bounds.needs]
    chosen = np.empty(int(pool.out_offsets[-1]), dtype=np.int64)
    prefix, group = np.zeros((2, n_queries), dtype=np.int64)
    needed = np.zeros(n_queries, dtype=np.int64)
    for query in range(n_queries):
        begin, end = pool.out_offsets[query : query + 2].tolist()
        first, which = int(pool.offsets[query]), int(bounds.which[query])
        if which < 0:
            chosen[begin:end] = first + np.arange(end - begin)
            continue
        shape = (pool.codes, first, int(pool.shown[query]), end - begin, kind, len(codes))
        order, missed = merge_in_region(*shape, plenty[which])
        if missed:
            capped = reachable(bounds.needs[which], there[query]).ravel()
            again, still = merge_in_region(*shape, capped)
            if not still:
                order, missed = again, 0
        chosen[begin:end] = order
        if missed:
            prefix[query], at, needed[query] = _first_short(
                bounds.needs[which], there[query], missed
            )
            group[query] = codes[at]
    return chosen, Missed(prefix, group), needed


def _first_short(need: np.ndarray, there: np.ndarray, missed: int) -> tuple[int, int, int]:
    """Find the first prefix that even all the protected there are do not pass, and who is short."""
    for j in range(len(need)):
        have = np.minimum(there, j + 1)
        if need[(j, *have[1:])] > have[0]:
            best = (j + 1, 0, int(have[0]) + 1)
            for at in range(len(there)):
                for count in range(int(have[at]) + 1, j + 2):
                    more = have.copy()
                    more[at] = count
                    if need[(j, *more[1:])] <= more[0]:
                        return j + 1, at, count
            return best
    return missed, int(np.argmin(there)), int(there.min()) + 1
