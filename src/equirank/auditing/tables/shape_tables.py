"""The table of distributional checks: the shape of one group's places, against chance."""

from typing import Any

import numpy as np

from ...core.environment import progress
from ...core.inference import holm, interval, permutation_p, query_counts
from ...core.random import generator
from ...core.table import Table, make_table
from ...kernels.resampling import weighted_means
from ...metrics.properties.property_bench import CHECKS, true_positions
from ..audit_plan import Audited
from ..measured import Measured

__all__ = ["CHECK_WORDS", "MOST_LISTS", "checks_table", "reading"]


#: Lists that are checked, spread evenly over all; and items of a longer list, drawn at random.
MOST_LISTS, MOST_ITEMS = 40, 1000
#: Below this corrected p-value a shape is called more than chance.
LEVEL = 0.05

#: What each check looks at, and what is said of a group where it is more than chance.
CHECK_WORDS = {
    "smoothness.ks": ("evenness, largest distance", "spread less evenly over the list"),
    "smoothness.wasserstein": ("evenness, mean distance", "spread less evenly over the list"),
    "bimodality.coefficient": ("two heaps", "gathered more at both ends of the list"),
    "clustering.z": ("clumps", "standing in clumps more often"),
    "tokenisation_index.index": (
        "tokens",
        "more often split into a few lifted above and others dropped below their merit",
    ),
    "noisy_ranking.ratio": ("noise", "farther away from the place of their merit"),
    "arbitrary_treatment.difference": ("order within the group", "ordered less by merit"),
    "statistical_independence.difference": ("mean place", "farther from the mean place"),
    "conditional_independence.difference": (
        "mean place given merit",
        "moved farther from the place of their merit, as a group,",
    ),
    "conditional_independence(bins=2).absolute": (
        "mean place given merit, by halves",
        "moved farther from the place of their merit, in either half of the list,",
    ),
}
#: Checks that need no relevance.
WITHOUT_MERIT = (
    *("smoothness.ks", "smoothness.wasserstein", "bimodality.coefficient", "clustering.z"),
    "statistical_independence.difference",
)

COLUMNS = (
    "o:attribute o:group o:check f:value f:low f:high f:expected f:p_value f:p_holm i:n_queries "
    "o:reading"
)


def checks_table(measured: Measured) -> Table:
    """Check the focus group of each attribute that is not crossed, on up to 40 lists.

    Values are means over lists, larger is farther from chance, with a bootstrap interval over
    lists. Groups permuted within lists give what chance gives (``expected``) and the p-value,
    which is corrected by Holm over the checks of the attribute.
    """
    single = [each for each in measured.plan.audited if not each.crossed]
    rows = [row for key, each in enumerate(single) for row in _rows(measured, each, key)]
    return make_table(COLUMNS, rows)


def _rows(measured: Measured, each: Audited, key: int) -> list[dict[str, Any]]:
    plan = measured.plan
    names = list(CHECKS) if plan.data.y is not None else list(WITHOUT_MERIT)
    lists = _lists(measured, each, key)
    if not lists or plan.n_permutations == 0:
        return []
    pool_size = 199 if len(lists) == 1 else 19
    observed = np.empty((len(lists), len(names)))
    pool = np.empty((pool_size, *observed.shape))
    for at, (place, truth, mask) in enumerate(progress(lists, "checking shapes")):
        observed[at] = _numbers(names, place, truth, mask)
        rng = generator(plan.seed, 5, key, at)
        for draw in range(pool_size):
            pool[draw, at] = _numbers(names, place, truth, rng.permutation(mask))
    rng = generator(plan.seed, 6, key)
    p, _ = permutation_p(observed, pool, False, lambda means: means, rng, 999)
    low = high = np.full(len(names), np.nan)
    if len(lists) > 1 and plan.n_boot:
        counts = np.concatenate(list(query_counts(rng, plan.n_boot, len(lists))))
        low, high = interval(weighted_means(observed, counts), plan.level, len(lists))
    value, expected = weighted_means(observed), weighted_means(weighted_means_of(pool))
    corrected, group = holm(p), each.groups[each.focus]
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
            "p_holm": corrected[at],
            "n_queries": int((~np.isnan(observed[:, at])).sum()),
            "reading": reading(name, group, float(corrected[at])),
        }
        for at, name in enumerate(names)
    ]


def weighted_means_of(pool: np.ndarray) -> np.ndarray:
    """Average the lists of every draw, undefined ones left out."""
    return np.stack([weighted_means(draw) for draw in pool])


def reading(check: str, group: str, p: float) -> str:
    """Say in words what a check found.

    Examples
    --------
    >>> reading("clustering.z", "f", 0.001)
    'people of group f are standing in clumps more often than chance would have it'
    >>> reading("clustering.z", "f", 0.4)
    'no more than chance gives'
    """
    if np.isnan(p):
        return "could not be checked: too few people of the group in each list"
    if p >= LEVEL:
        return "no more than chance gives"
    return f"people of group {group} are {CHECK_WORDS[check][1]} than chance would have it"


def _lists(
    measured: Measured, each: Audited, key: int
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Pick lists that hold the focus group and others: places 1..n, true places, who is of it.

    Ties are broken at random, and of a long list a random part is taken.
    """
    data = measured.plan.data
    slots = next(draw for _, draw in measured.plan.ranking.draws()).slots()
    column = np.asarray(measured.places(each).values.groups)[:, each.focus]
    usable = np.flatnonzero(~np.isnan(column))
    picked = usable
    if len(usable) > MOST_LISTS:
        picked = usable[np.linspace(0, len(usable) - 1, MOST_LISTS).astype(int)]
    found = []
    for query in picked.tolist():
        part = slots.block(slice(query, query + 1))
        rng = generator(measured.plan.seed, 4, key, query)
        order = part.order
        if part.lo is not None:
            order = order[np.lexsort((rng.random(len(order)), part.lo))]
        if len(order) > MOST_ITEMS:
            order = order[np.sort(rng.choice(len(order), MOST_ITEMS, replace=False))]
        mask = each.attribute.codes[order] == each.focus
        if mask.all() or not mask.any():
            continue
        place = np.arange(1, len(order) + 1)
        found.append((place, place if data.y is None else true_positions(data.y[order]), mask))
    return found


def _numbers(
    names: list[str], place: np.ndarray, truth: np.ndarray, mask: np.ndarray
) -> np.ndarray:
    values = np.array([CHECKS[name](place, truth, mask) for name in names])
    return np.where(np.isfinite(values), values, np.nan)
