"""The table of distributional checks: the distribution of one group's positions, against chance."""

from typing import Any

import numpy as np

from ...core.environment import progress
from ...core.inference import interval, permutation_p, query_counts
from ...core.random import generator
from ...core.table import Table, make_table
from ...kernels.resampling import weighted_means
from ..audit_plan import Audited
from ..measured import Measured

__all__ = ["MOST_LISTS", "checks_table"]


#: Number of lists checked, spread evenly over all, and of items sampled from a longer list.
MOST_LISTS, MOST_ITEMS = 40, 1000
#: Checks that need no relevance.
WITHOUT_MERIT = (
    *("smoothness.ks", "smoothness.wasserstein", "bimodality.coefficient", "clustering.z"),
    "statistical_independence.difference",
)

COLUMNS = "o:attribute o:group o:check f:value f:low f:high f:expected f:p_value i:n_queries"


def checks_table(measured: Measured) -> Table:
    """Return the checks of each single attribute's focus group, on up to 40 lists.

    Values are means over lists with a bootstrap interval; larger values are farther from chance.
    ``expected`` and the p-value come from permuting groups within lists. The checks describe one
    group's positions; they are not corrected for their number and no statement rests on them.
    """
    single = [each for each in measured.plan.audited if not each.crossed]
    rows = [row for key, each in enumerate(single) for row in _rows(measured, each, key)]
    return make_table(COLUMNS, rows)


def _rows(measured: Measured, each: Audited, key: int) -> list[dict[str, Any]]:
    plan = measured.plan
    from ...metrics.properties.position_checks import Arrangements
    from ...metrics.properties.property_bench import CHECKS

    names = list(CHECKS) if plan.data.y is not None else list(WITHOUT_MERIT)
    lists = _lists(measured, each, key)
    if not lists or plan.n_permutations == 0:
        return []
    pool_size = 199 if len(lists) == 1 else 9
    observed = np.empty((len(lists), len(names)))
    pool = np.empty((pool_size, *observed.shape))
    for at, (position, truth, mask) in enumerate(progress(lists, "checking shapes")):
        rng = generator(plan.seed, 5, key, at)
        masks = np.stack([mask, *(rng.permutation(mask) for _ in range(pool_size))])
        found = Arrangements(position, truth, masks)
        values = np.stack([CHECKS[name](found) for name in names], axis=1)
        values[~np.isfinite(values)] = np.nan
        observed[at], pool[:, at] = values[0], values[1:]
    rng = generator(plan.seed, 6, key)
    p, _ = permutation_p(observed, pool, False, lambda means: means, rng, 999)
    low = high = np.full(len(names), np.nan)
    if len(lists) > 1 and plan.n_boot:
        counts = np.concatenate(list(query_counts(rng, plan.n_boot, len(lists))))
        low, high = interval(weighted_means(observed, counts), plan.level, len(lists))
    value, expected = weighted_means(observed), weighted_means(weighted_means_of(pool))
    group = each.groups[each.focus]
    return [
        {
            "attribute": each.name,
            "group": group,
            "check": name,
            "value": value[at],
            "low": low[at],
            "high": high[at],
            "expected": expected[at],
            "p_value": p[at],
            "n_queries": int((~np.isnan(observed[:, at])).sum()),
        }
        for at, name in enumerate(names)
    ]


def weighted_means_of(pool: np.ndarray) -> np.ndarray:
    """Return the mean over lists of every draw, undefined values excluded."""
    return np.stack([weighted_means(draw) for draw in pool])


def _lists(
    measured: Measured, each: Audited, key: int
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return positions, true positions and membership in the focus group, for up to 40 lists.

    Only lists with the focus group and others are used, without people whose label is unknown. Ties
    are broken at random; long lists are sampled.
    """
    from ...metrics.properties.property_bench import true_positions

    data = measured.plan.data
    slots = next(draw for _, draw in measured.plan.ranking.draws()).slots()
    column = measured.position_differences(each)[:, each.focus]
    usable = np.flatnonzero(~np.isnan(column))
    chosen = usable
    if len(usable) > MOST_LISTS:
        chosen = usable[np.linspace(0, len(usable) - 1, MOST_LISTS).astype(int)]
    found = []
    for query in chosen.tolist():
        part = slots.block(slice(query, query + 1))
        rng = generator(measured.plan.seed, 4, key, query)
        order = part.order
        if part.lo is not None:
            order = order[np.lexsort((rng.random(len(order)), part.lo))]
        order = order[each.attribute.known[order]]
        if len(order) > MOST_ITEMS:
            order = order[np.sort(rng.choice(len(order), MOST_ITEMS, replace=False))]
        mask = each.attribute.codes[order] == each.focus
        if mask.all() or not mask.any():
            continue
        position = np.arange(1, len(order) + 1)
        truth = position if data.y is None else true_positions(data.y[order])
        found.append((position, truth, mask))
    return found
