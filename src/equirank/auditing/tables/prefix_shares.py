"""The table of shares by prefix: how much of the first k places each group has, and by chance."""

from typing import Any

import numpy as np

from ...core.table import Table
from ...kernels.prefixes import expected_counts
from ..measuring import Measured
from ..plan import Audited
from .rows import make_table

__all__ = ["BAND_ALPHA", "binomial_minimum", "largest_groups", "prefix_shares_table", "prefixes"]

#: The chance, at most, that a list without any difference leaves the band on one side.
BAND_ALPHA = 0.1
#: The FA*IR table is made for prefixes up to this length.
LONGEST_BAND = 2000
MOST_PREFIXES = 60
MOST_GROUPS = 12

COLUMNS = "o:attribute o:group i:k f:share f:pool_share f:band_low f:band_high i:n_queries o:band"


def prefix_shares_table(measured: Measured) -> Table:
    """Give, for up to 60 prefixes, each group's share of the places and its share of the lists.

    A prefix of k places is averaged over the lists with at least k items, and so is the share of
    the pool beside it.
    """
    plan = measured.plan
    shown = _shown(measured)
    cuts = prefixes(int(np.median(shown)) if len(shown) > 1 else int(shown[0]))
    enough = [shown >= k for k in cuts]
    rows = []
    if enough[0].any():
        rows = [row for each in plan.audited for row in _rows(measured, each, cuts, enough)]
    return make_table(COLUMNS, rows)


def prefixes(longest: int) -> list[int]:
    """Give up to 60 lengths from 1 to the longest, denser at the top.

    Examples
    --------
    >>> prefixes(5), len(prefixes(1000)), prefixes(1000)[-1]
    ([1, 2, 3, 4, 5], 60, 1000)
    """
    if longest <= MOST_PREFIXES:
        return list(range(1, max(longest, 1) + 1))
    low, high = 1.0, float(longest)
    found: list[int] = []
    for _ in range(60):  # the smallest growth that needs no more than 60 lengths
        growth = np.sqrt(low * high)
        found = [1]
        while found[-1] < longest:
            found.append(min(longest, max(found[-1] + 1, round(found[-1] * growth))))
        low, high = (growth, high) if len(found) > MOST_PREFIXES else (low, growth)
        if len(found) == MOST_PREFIXES:
            break
    return found


def largest_groups(each: Audited, most: int = MOST_GROUPS) -> list[int]:
    """Give the codes of the groups that are shown: all, or the largest of many, the focus too."""
    size = np.bincount(each.attribute.codes, minlength=each.n_groups)
    order = sorted(range(each.n_groups), key=lambda code: (code != each.focus, -size[code]))
    return sorted(order[:most])


def _shown(measured: Measured) -> np.ndarray:
    shown = [draw.slots().shown for _, draw in measured.plan.ranking.draws()]
    sizes = np.diff(measured.plan.data.offsets)
    return np.minimum.reduce([sizes if part is None else part for part in shown])


def _rows(
    measured: Measured, each: Audited, cuts: list[int], enough: list[np.ndarray]
) -> list[dict[str, Any]]:
    data = measured.plan.data
    queries = [np.flatnonzero(part) for part in enough]
    ends = np.cumsum([len(part) for part in queries])
    flat = np.concatenate(queries)
    cut = np.repeat(cuts, np.diff(ends, prepend=0))
    first = data.offsets[flat]
    sizes = np.diff(data.offsets)
    rows: list[dict[str, Any]] = []
    for code in largest_groups(each):
        count = np.zeros(len(flat))
        for weight, draw in measured.plan.ranking.draws():
            slots = draw.slots()
            member = (each.attribute.codes == code)[slots.order]
            found = expected_counts(member, first + cut - 1, first, slots.lo, slots.hi)
            count += weight[flat] * found
        people = np.add.reduceat((each.attribute.codes == code).astype(np.int64), data.offsets[:-1])
        pool = (people / sizes)[flat]
        share = [float(part.mean()) for part in np.split(count / cut, ends[:-1])]
        pooled = [float(part.mean()) for part in np.split(pool, ends[:-1])]
        n_lists = [len(part) for part in queries]
        low, high, word = _band(np.array(cuts), np.array(pooled), np.array(n_lists))
        rows += [
            {
                "attribute": each.name,
                "group": each.groups[code],
                "k": k,
                "share": share[at],
                "pool_share": pooled[at],
                "band_low": low[at],
                "band_high": high[at],
                "n_queries": n_lists[at],
                "band": word,
            }
            for at, k in enumerate(cuts)
        ]
    return rows


def _band(k: np.ndarray, p: np.ndarray, n_lists: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    """Give the lowest and highest shares that chance gives, and how they were found.

    One list: the exact FA*IR tables of the group and of the others. Several: binomial minima of
    the places of all lists together, the level shared out over the prefixes.
    """
    nothing = np.full(len(k), np.nan)
    if p.min() <= 0.0 or p.max() >= 1.0:
        return nothing, nothing, ""
    if n_lists.max() > 1:
        places, level = k * n_lists, BAND_ALPHA / len(k)
        low = binomial_minimum(places, p, level) / places
        return low, 1.0 - binomial_minimum(places, 1.0 - p, level) / places, "binomial"
    from ...kernels.fa_star_ir import adjusted_table

    known = k <= LONGEST_BAND
    at, last = k[known] - 1, int(k[known].max())
    low, high = nothing.copy(), nothing.copy()
    low[known] = adjusted_table(last, float(p[0]), BAND_ALPHA).counts[at] / k[known]
    high[known] = 1.0 - adjusted_table(last, 1.0 - float(p[0]), BAND_ALPHA).counts[at] / k[known]
    return low, high, "FA*IR"


def binomial_minimum(n: np.ndarray, p: np.ndarray, alpha: float) -> np.ndarray:
    """Give the smallest m with ``F(m; n, p) > alpha``, F the binomial distribution function.

    Examples
    --------
    >>> import numpy as np
    >>> binomial_minimum(np.array([4, 10]), np.array([0.5, 0.5]), 0.1)
    array([1, 3])
    """
    from scipy.special import bdtr

    low, high = np.full(len(n), -1), np.asarray(n).copy()
    while (high - low > 1).any():
        middle = (low + high) // 2
        enough = bdtr(np.maximum(middle, 0), n, p) > alpha
        high = np.where(enough & (middle > low), middle, high)
        low = np.where(enough | (middle <= low), low, middle)
    return high
