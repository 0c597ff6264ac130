"""Values by group in sums over lists: which columns there are, and how they are measured."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from .block_columns import fold_lists
from .errors import DataError, listed, suggest
from .inference import TwinSums
from .metric import GroupMetric, Metric, Values, measure
from .query_values import ByGroup, split_twins
from .ranking import Ranking
from .registry import parse_metrics
from .sums_plan import SumsPlan
from .sums_views import spread

__all__ = [
    "GroupColumn",
    "check_split",
    "group_columns",
    "labels_of",
    "measure_groups",
    "regroup_columns",
    "split_metrics",
    "sum_groups",
]


class GroupColumn(NamedTuple):
    """One column of values by group.

    Attributes
    ----------
    metric : str
        The metric.
    split : bool
        Whether the metric is split by the attribute of the plan, or compares groups itself.
    part : int
        0, or 1 for the denominator of a metric whose values by group are quotients of sums.
    stratum, group : Any
        Labels; None for the only stratum, and for all groups of a stratum.
    """

    metric: str
    split: bool
    part: int
    stratum: Any
    group: Any


def group_columns(plan: SumsPlan) -> list[GroupColumn]:
    """Return the columns of a plan: of metrics that compare groups, then of those that are split.

    Examples
    --------
    >>> from equirank.core.sums_plan import Survey
    >>> plan = SumsPlan.of(Survey({"sex": ("f", "m")}, {10: 5}), metrics=["AWRF"])
    >>> [column.group for column in group_columns(plan)]
    ['f', 'm']
    """
    found: list[GroupColumn] = []
    for name, metric in _parsed(plan).items():
        if isinstance(metric, GroupMetric):
            found += [GroupColumn(name, False, 0, None, g) for g in labels_of(plan, metric.by)]
    for name, metric in split_metrics(plan).items():
        strata = labels_of(plan, plan.control) if plan.control else [None]
        groups = [*labels_of(plan, plan.by), None]
        parts = range(2 if metric.of_sums else 1)
        found += [GroupColumn(name, True, *each) for each in product(parts, strata, groups)]
    return found


def split_metrics(plan: SumsPlan) -> dict[str, ByGroup]:
    """Return the metrics that a plan splits by its attribute, by name."""
    if not plan.by:
        return {}
    by, control = _key(plan.by), _key(plan.control) if plan.control else None
    return {
        name: ByGroup(metric=metric, by=by, control=control)
        for name, metric in _parsed(plan).items()
        if metric.additive
    }


def check_split(plan: SumsPlan) -> SumsPlan:
    """Raise if a plan has an attribute to split by, and lacks it or what to split; return it."""
    if plan.control and not plan.by:
        raise DataError(
            "by must be given where control is: control repeats the split within strata"
        )
    for argument in ("by", "control"):
        for name in getattr(plan, argument):
            if name not in plan.groups:
                hint = suggest(name, list(plan.groups))
                raise DataError(
                    f"{argument} must be one of the attributes {listed(plan.groups)}, got "
                    f"{name!r}{hint}"
                )
    if plan.by and not split_metrics(plan):
        raise DataError(
            "by needs a metric that is a sum over items, such as DCG, NDCG, Precision, Recall "
            f"or AverageRank; none of {', '.join(plan.metrics)} is"
        )
    return plan


def labels_of(plan: SumsPlan, by: Any) -> list[Any]:
    """Return the labels of an attribute, or of every combination of several."""
    names = (by,) if isinstance(by, str) else tuple(by)
    if len(names) == 1:
        return list(plan.groups[names[0]])
    return [" & ".join(map(str, each)) for each in product(*(plan.groups[n] for n in names))]


def _parsed(plan: SumsPlan) -> dict[str, Metric]:
    return {name: metric for name in plan.metrics for metric in parse_metrics(name)}


def _key(names: Sequence[str]) -> Any:
    return names[0] if len(names) == 1 else tuple(names)


def measure_groups(
    ranking: Ranking, plan: SumsPlan, values: Mapping[str, Values]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of a plan and their means over relabellings, per list; NaN if undefined.

    ``values`` has those of metrics that compare groups.
    """
    columns = {column: at for at, column in enumerate(group_columns(plan))}
    found, twins = np.full((2, ranking.data.n_queries, len(columns)), np.nan)
    for name, each in values.items():
        if each.groups is not None:
            own = [columns[GroupColumn(name, False, 0, None, label)] for label in each.labels]
            found[:, own] = each.groups
    split = split_metrics(plan)
    if not split:
        return found, twins
    by, control = (ranking.data.attribute(part).categories if part else (None,)
                   for part in (plan.by, plan.control))  # fmt: skip
    several = measure(list(split.values()), ranking)
    means = split_twins(list(split.values()), ranking, plan.n_twins, plan.seed)
    for (name, metric), value, mean in zip(split.items(), several, means, strict=True):
        parts = range(2 if metric.of_sums else 1)
        own = [
            columns[GroupColumn(name, True, *each)] for each in product(parts, control, [*by, None])
        ]
        found[:, own], twins[:, own] = np.asarray(value.groups), mean
    return found, twins


def sum_groups(values: np.ndarray, twins: np.ndarray, keys: np.ndarray) -> dict[str, np.ndarray]:
    """Return the sums of the columns of some lists.

    ``group_values`` has sum and number of defined values by bucket, ``twin_totals`` those of the
    differences to relabellings, and ``twin_products`` their products.
    """
    defined = ~np.isnan(values)
    columns = np.stack([np.nan_to_num(values), defined], axis=2)
    sums = TwinSums.of(values, twins)
    return {
        "group_values": fold_lists(columns, keys),
        "twin_totals": sums.totals[:, 2:],
        "twin_products": sums.products,
    }


def regroup_columns(
    sums: dict[str, np.ndarray], plan: SumsPlan, other: SumsPlan
) -> dict[str, np.ndarray]:
    """Return the sums of columns for another plan, which has all groups of the first."""
    if "group_values" not in sums:  # those of an older format lack them
        return {}
    columns = {column: at for at, column in enumerate(group_columns(other))}
    index = np.array([columns[column] for column in group_columns(plan)], dtype=np.int64)
    n = len(columns)
    products = spread(sums["twin_products"], 0, index, n)
    return {
        "group_values": spread(sums["group_values"], 1, index, n),
        "twin_totals": spread(sums["twin_totals"], 0, index, n),
        "twin_products": spread(products, 1, index, n),
    }
