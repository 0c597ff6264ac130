"""The tables of positions: shares by prefix, score histograms, and strips of positions."""

from typing import Any

import numpy as np

from ...core.block_columns import prefix_grid
from ...core.list_sums import ListSums
from ...core.order_values import slot_positions
from ...core.table import Table, as_label, make_table
from ...kernels.prefixes import expected_counts
from ..audit_plan import Audited, Plan
from ..measured import Measured

__all__ = [
    "BAND_ALPHA",
    "LISTS_SHOWN",
    "binomial_minimum",
    "largest_groups",
    "prefix_shares_table",
    "prefixes",
    "scores_table",
    "strip_table",
]


#: Largest probability that a list without any difference leaves the band on one side.
BAND_ALPHA = 0.1
#: Longest prefix of the FA*IR table.
LONGEST_BAND = 2000
MOST_PREFIXES = 60
MOST_GROUPS = 12

COLUMNS = "o:attribute o:group i:k f:share f:pool_share f:band_low f:band_high i:n_queries o:band"


def prefix_shares_table(measured: Measured) -> Table:
    """Return each group's share of up to 60 prefixes, and its share of the lists.

    Both shares are shares of the people with a known label, and means over the lists with at least
    k items.
    """
    plan = measured.plan
    if plan.sums is not None:
        found = [row for each in plan.audited for row in _summed_rows(plan, plan.sums, each)]
        return make_table(COLUMNS, found)
    shown = _shown(measured)
    cuts = prefixes(int(np.median(shown)) if len(shown) > 1 else int(shown[0]))
    enough = [shown >= k for k in cuts]
    rows = []
    if enough[0].any():
        rows = [row for each in plan.audited for row in _rows(measured, each, cuts, enough)]
    return make_table(COLUMNS, rows)


def prefixes(longest: int) -> list[int]:
    """Return up to 60 lengths from 1 to the longest, with smaller steps at the top.

    Examples
    --------
    >>> prefixes(5), len(prefixes(1000)), prefixes(1000)[-1]
    ([1, 2, 3, 4, 5], 60, 1000)
    """
    if longest <= MOST_PREFIXES:
        return list(range(1, max(longest, 1) + 1))
    low, high = 1.0, float(longest)
    found: list[int] = []
    for _ in range(60):  # bisect for the smallest growth with at most 60 lengths
        growth = np.sqrt(low * high)
        found = [1]
        while found[-1] < longest:
            found.append(min(longest, max(found[-1] + 1, round(found[-1] * growth))))
        low, high = (growth, high) if len(found) > MOST_PREFIXES else (low, growth)
        if len(found) == MOST_PREFIXES:
            break
    return found


def largest_groups(
    each: Audited, most: int = MOST_GROUPS, sizes: np.ndarray | None = None
) -> list[int]:
    """Return the codes of the groups shown: all, or the focus and the largest others."""
    size = each.attribute.sizes if sizes is None else sizes
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
    rows: list[dict[str, Any]] = []

    def counted(member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected members of each prefix, and the members of its list."""
        count = np.zeros(len(flat))
        for weight, draw in measured.plan.ranking.draws():
            slots = draw.slots()
            inside = member[slots.order]
            found = expected_counts(inside, first + cut - 1, first, slots.lo, slots.hi)
            count += weight[flat] * found
        return count, np.add.reduceat(member.astype(np.int64), data.offsets[:-1])[flat]

    known, listed = cut, np.diff(data.offsets)[flat]
    if each.attribute.n_unknown:
        known, listed = counted(each.attribute.known)
    found = [part[known[part] > 0] for part in np.split(np.arange(len(cut)), ends[:-1])]
    # a prefix without a known label in any list has no shares
    parts = [(k, part) for k, part in zip(cuts, found, strict=True) if len(part)]
    people = np.array([known[part].sum() for _, part in parts])
    for code in largest_groups(each) if parts else ():
        count, size = counted(each.attribute.codes == code)
        share = [float((count[part] / known[part]).mean()) for _, part in parts]
        pooled = [float((size[part] / listed[part]).mean()) for _, part in parts]
        n_lists = [len(part) for _, part in parts]
        low, high, word = _band(people, np.array(pooled), np.array(n_lists))
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
            for at, (k, _) in enumerate(parts)
        ]
    return rows


def _summed_rows(plan: Plan, sums: ListSums, each: Audited) -> list[dict[str, Any]]:
    """Return the shares of an attribute from sums, at up to 60 prefixes of their fixed grid."""
    grid, key = prefix_grid(), sums.plan.keys.index(each.by)
    lists, known = sums.sums["prefix_keys"][key].T
    wanted = prefixes(int(sums.median_length()))
    near = np.unique(np.searchsorted(grid, wanted).clip(max=len(grid) - 1))
    at = near[(lists[near] > 0) & (grid[near] <= wanted[-1])]
    rows: list[dict[str, Any]] = []
    if len(at) == 0:
        return rows
    sizes = plan.group_sizes(each)
    for code in largest_groups(each, sizes=sizes):
        share, pooled = sums.sums["prefix_groups"][plan.group_indices(each)[code]].T
        share, pooled = share[at] / lists[at], pooled[at] / lists[at]
        low, high, word = _band(known[at], pooled, np.maximum(lists[at], 2))
        rows += [
            {
                "attribute": each.name,
                "group": each.groups[code],
                "k": int(grid[cut]),
                "share": share[i],
                "pool_share": pooled[i],
                "band_low": low[i],
                "band_high": high[i],
                "n_queries": int(lists[cut]),
                "band": word,
            }
            for i, cut in enumerate(at.tolist())
        ]
    return rows


def _band(
    people: np.ndarray, p: np.ndarray, n_lists: np.ndarray
) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the lowest and highest shares that chance produces, and the method's name.

    ``people`` is the number of people with a known label in each prefix of all lists together.

    One list: the exact FA*IR tables of the group and of everyone else. Several: binomial minima of
    the positions of all lists together, with the level divided by the number of prefixes.
    """
    k = np.maximum(np.rint(people), 1).astype(np.int64)
    nothing = np.full(len(k), np.nan)
    if p.min() <= 0.0 or p.max() >= 1.0:
        return nothing, nothing, ""
    if n_lists.max() > 1:
        level = BAND_ALPHA / len(k)
        low = binomial_minimum(k, p, level) / k
        return low, 1.0 - binomial_minimum(k, 1.0 - p, level) / k, "binomial"
    from ...kernels.fa_star_ir_minimums import adjusted_table

    known = k <= LONGEST_BAND
    at, last = k[known] - 1, int(k[known].max())
    low, high = nothing.copy(), nothing.copy()
    low[known] = adjusted_table(last, float(p[0]), BAND_ALPHA).counts[at] / k[known]
    high[known] = 1.0 - adjusted_table(last, 1.0 - float(p[0]), BAND_ALPHA).counts[at] / k[known]
    return low, high, "FA*IR"


def binomial_minimum(n: np.ndarray, p: np.ndarray, alpha: float) -> np.ndarray:
    """Return the smallest m with ``F(m; n, p) > alpha``, F the binomial distribution function.

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


BINS = 40
#: Scores beyond these quantiles count in the first and the last bin.
ENDS = (0.001, 0.999)
LISTS_SHOWN = 12
MOST_MARKS = 1500


def scores_table(measured: Measured) -> Table:
    """Return a histogram of the scores of each group, over bins that all groups share."""
    score = measured.plan.data.score
    rows: list[dict[str, Any]] = []
    if score is not None:
        low, high = np.quantile(score, ENDS)
        if low == high:
            low, high = float(score.min()), float(score.max())
        edges = np.linspace(low, high, BINS + 1) if low < high else np.array([low, low])
        at = np.clip(np.searchsorted(edges, score, side="right") - 1, 0, len(edges) - 2)
        for each in measured.plan.audited:
            rows += _histogram(each, at, edges)
    return make_table("o:attribute o:group f:left f:right f:share", rows)


def _histogram(each: Audited, at: np.ndarray, edges: np.ndarray) -> list[dict[str, Any]]:
    bins = len(edges) - 1
    known = each.attribute.known
    cell = (each.attribute.codes * bins + at)[known]
    table = np.bincount(cell, minlength=each.n_groups * bins)
    table = table.reshape(each.n_groups, bins)
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    return [
        {
            "attribute": each.name,
            "group": each.groups[code],
            "left": edges[j],
            "right": edges[j + 1],
            "share": share[code, j],
        }
        for code in largest_groups(each)
        for j in range(bins)
    ]


def strip_table(measured: Measured) -> Table:
    """Return the positions of the focus group in up to 12 lists, from most to least unequal.

    Lists are chosen at even steps of the group's position difference divided by the list length.
    Many positions are thinned evenly.
    """
    rows: list[dict[str, Any]] = []
    data = measured.plan.data
    ranking = next(draw for _, draw in measured.plan.ranking.draws())
    slots = ranking.slots()
    sizes = np.diff(data.offsets)
    for each in measured.plan.audited:
        column = measured.position_differences(each)[:, each.focus]
        order = np.argsort(-np.nan_to_num(column / sizes, nan=-np.inf), kind="stable")
        order = order[: max(1, int((~np.isnan(column)).sum()))]
        chosen = order[np.linspace(0, len(order) - 1, min(LISTS_SHOWN, len(order))).astype(int)]
        for query in chosen.tolist():
            part = slots.block(slice(query, query + 1))
            member = each.attribute.codes[part.order] == each.focus
            marks = slot_positions(part)[member]
            most = MOST_MARKS // len(chosen)
            if len(marks) > most:
                marks = marks[np.linspace(0, len(marks) - 1, most).astype(int)]
            label = as_label(data.qids[query])
            rows += [
                {
                    "attribute": each.name,
                    "group": each.groups[each.focus],
                    "query": label,
                    "position": position,
                    "length": sizes[query],
                }
                for position in marks.tolist()
            ]
    return make_table("o:attribute o:group o:query f:position i:length", rows)
