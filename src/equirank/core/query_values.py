"""Metric values of all queries, by group if asked, and their tests by permuted groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..kernels.segments import divide
from . import inference
from .data import RankingData
from .errors import DataError
from .metric import GroupMetric, Metric, Values, measure, permuted
from .random import as_seed
from .ranking import Ranking
from .slots import Slots
from .sums_plan import n_twins_of
from .twins import column_means, twin_means

__all__ = [
    "ByGroup",
    "Measures",
    "QueryValues",
    "Split",
    "difference",
    "measure_queries",
    "nan_extreme",
    "permutation_test",
    "ratio",
    "split_twins",
    "spread",
]


@dataclass(frozen=True, eq=False)
class Split:
    """A metric by group: values (strata x groups, the whole stratum last) and their replicates."""

    value: np.ndarray
    replicates: np.ndarray | None
    p_value: np.ndarray


@dataclass(frozen=True, repr=False, kw_only=True)
class ByGroup(Metric):
    """Values of a metric by group, at the positions of the full list.

    For each stratum, the columns are the groups, then the whole stratum, both without people whose
    label is unknown. Of a metric with
    `Metric.split_sums`, these are the numerators, and as many columns of denominators follow.
    `quotients` returns the values.

    Parameters
    ----------
    metric : Metric
        A sum over items (``additive``).
    by, control : str or tuple of str
        The attribute of the groups, and that of the strata (None: one stratum).
    """

    metric: Metric
    by: Any
    control: Any = None

    @property
    def of_expectation(self) -> bool:  # type: ignore[override]
        """Same as for the metric that is split."""
        return self.metric.of_expectation

    def values(self, slots: Slots) -> Values:
        """Return the group values of each query; the value is their largest difference."""
        codes, labels = slots.groups(self.by)
        if self.control is None:
            stratum, n_strata = np.zeros(len(codes), dtype=np.int64), 1
        else:
            stratum, strata = slots.groups(self.control)
            n_strata = len(strata)
        cells = stratum.astype(np.int64) * len(labels) + codes
        if min(codes.min(), stratum.min()) < 0:
            unknown = (codes < 0) | (stratum < 0)
            cells, stratum = np.where(unknown, -1, cells), np.where(unknown, -1, stratum)
        n_cells, shape = n_strata * len(labels), (slots.n_queries, n_strata, -1)
        sums = self.metric.split_sums(slots, cells, n_cells)
        if sums is None:
            values = self.metric.split(slots, cells, n_cells).reshape(shape)
            whole = self.metric.split(slots, stratum, n_strata)[:, :, None]
            tables = [np.concatenate([values, whole], axis=2)]
        else:
            parts = [each.reshape(shape) for each in sums]
            tables = [np.concatenate([p, p.sum(axis=2, keepdims=True)], axis=2) for p in parts]
        columns = np.concatenate([each.reshape(shape[0], -1) for each in tables], axis=1)
        table = self.quotients(columns).reshape(shape)
        return Values(spread(table[:, :, :-1]).max(axis=1), columns, labels)

    @property
    def of_sums(self) -> bool:
        """Whether the values are quotients of sums over queries, not means."""
        return type(self.metric).split_sums is not Metric.split_sums

    def quotients(self, columns: np.ndarray) -> np.ndarray:
        """Return the values from columns (last axis) of one query or means over several."""
        if not self.of_sums:
            return columns
        above, below = np.split(columns, 2, axis=-1)
        return divide(above, below)

    def group_values(self, columns: np.ndarray, n_strata: int) -> np.ndarray:
        """Return the values of the groups in each stratum, without those of whole strata."""
        table = self.quotients(columns).reshape(*columns.shape[:-1], n_strata, -1)
        return table[..., :-1]

    def p_value(
        self, sums: inference.TwinSums, n_strata: int, rng: np.random.Generator, n_draws: int
    ) -> np.ndarray:
        """Return the p-value of each stratum from many queries and their relabellings."""
        return sums.p_value(partial(self.group_values, n_strata=n_strata), spread, rng, n_draws)

    def summarize(
        self, values: Values, counts: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the mean difference, and per group the mean or the quotient of sums."""
        value, columns = super().summarize(values, counts)
        return value, self.quotients(np.asarray(columns))


def spread(table: np.ndarray) -> np.ndarray:
    """Return largest minus smallest over the last axis, NaN left out, NaN for fewer than two."""
    several = (~np.isnan(table)).sum(axis=-1) > 1
    return np.where(several, nan_extreme(table, 1.0) - nan_extreme(table, -1.0), np.nan)


def nan_extreme(table: np.ndarray, sign: float) -> np.ndarray:
    """Return the largest (sign 1) or smallest (-1) over the last axis, NaN left out."""
    best = np.where(np.isnan(table), -np.inf, sign * table).max(axis=-1)
    return np.where(np.isinf(best), np.nan, sign * best)


def difference(table: np.ndarray, method: str) -> np.ndarray:
    """Return the largest difference between groups, or of a group to the whole (last column)."""
    groups, whole = table[..., :-1], table[..., -1:]
    if method == "to_overall":
        return nan_extreme(np.abs(groups - whole), 1.0)
    if method != "between_groups":
        raise DataError(f"method must be 'between_groups' or 'to_overall', got {method!r}")
    return spread(groups)


def ratio(table: np.ndarray, method: str) -> np.ndarray:
    """Return the smallest ratio between groups, or of a group and the whole (last column)."""
    groups, whole = table[..., :-1], table[..., -1:]
    if method == "to_overall":
        quotient = divide(groups, whole, whole != 0)
        other = divide(whole, groups, groups != 0)
        return nan_extreme(np.fmin(quotient, other), -1.0)
    if method != "between_groups":
        raise DataError(f"method must be 'between_groups' or 'to_overall', got {method!r}")
    high = nan_extreme(groups, 1.0)
    return divide(nan_extreme(groups, -1.0), high, high != 0)


@dataclass(frozen=True, eq=False)
class Measures:
    """The metrics to compute, their splits by group, and the groups and strata of the splits."""

    chosen: tuple[Metric, ...]
    split: Mapping[Metric, ByGroup]
    groups: tuple[Any, ...] | None
    strata: tuple[Any, ...]

    @property
    def everything(self) -> list[Metric]:
        """The metrics, then their splits."""
        return [*self.chosen, *self.split.values()]

    @property
    def n_strata(self) -> int:
        """Number of strata of the splits."""
        return max(1, len(self.strata))

    @classmethod
    def of(cls, chosen: Sequence[Metric], data: RankingData, by: Any, control: Any) -> "Measures":
        """Check that the data contain what the metrics need, and return metrics and splits."""
        for metric in chosen:
            metric.check(data)
        by, control = _key(by), _key(control)
        if by is None:
            if control is not None:
                raise DataError(
                    "by must be given where control is: control repeats the split within strata"
                )
            return cls(tuple(chosen), {}, None, ())
        groups = data.attribute(by).categories
        if not groups:
            raise DataError(f"by must name groups, and one of {by} is unknown in every row")
        strata = () if control is None else data.attribute(control).categories
        split = {m: ByGroup(metric=m, by=by, control=control) for m in chosen if m.additive}
        if not split:
            raise DataError(
                "by needs a metric that is a sum over items, such as DCG, NDCG, Precision, Recall "
                f"or AverageRank; none of {', '.join(map(str, chosen))} is"
            )
        return cls(tuple(chosen), split, groups, strata)


def _key(names: Any) -> Any:
    return names if isinstance(names, str) or names is None else tuple(names)


@dataclass(frozen=True, eq=False)
class QueryValues:
    """Values of all queries, and pools of their values under permuted groups.

    Attributes
    ----------
    qids : ndarray
        Label of each query, in the order of the data.
    values : list of Values
        Of each metric.
    pools : list of ndarray or None
        Of each metric that compares groups (draws x queries x tested columns); with more than
        2,048 queries, the means over relabellings of each query instead, of metrics by group with
        one column for each of theirs.
    exact : list of bool
        Whether the pools contain every arrangement.
    """

    qids: np.ndarray
    values: list[Values]
    pools: list[np.ndarray | None]
    exact: list[bool]


def measure_queries(
    measures: Measures, ranking: Ranking, n_permutations: int, random_state: Any
) -> QueryValues:
    """Compute the values of a ranking, and those under permuted groups for the tests."""
    metrics, data = measures.everything, ranking.data
    values = measure(metrics, ranking)
    for metric, value in zip(measures.chosen, values, strict=False):
        metric.refuse_undefined(data, value)
    pools: list[np.ndarray | None] = [None] * len(metrics)
    exact = [False] * len(metrics)
    tested = [
        (at, metric)
        for at, metric in enumerate(metrics)
        if isinstance(metric, (GroupMetric, ByGroup)) and n_permutations > 0
    ]
    if data.n_queries > inference.MANY_QUERIES and ranking.n_draws == 1:
        seed, n_twins = as_seed(random_state), n_twins_of(data.n_queries)
        few = [(at, metric) for at, metric in tested if isinstance(metric, GroupMetric)]
        means = twin_means([metric for _, metric in few], ranking, n_twins, seed)
        split = [(at, metric) for at, metric in tested if isinstance(metric, ByGroup)]
        means += split_twins([metric for _, metric in split], ranking, n_twins, seed)
        for (at, _), mean in zip([*few, *split], means, strict=True):
            pools[at] = mean
        tested = []
    for by, control in dict.fromkeys((m.by, getattr(m, "control", None)) for _, m in tested):
        some = [(at, m) for at, m in tested if (m.by, getattr(m, "control", None)) == (by, control)]
        strata = None if control is None else data.attribute(control).codes
        plan = inference.PermutationPlan(data, data.attribute(by).codes, strata, n_permutations)
        parts: dict[int, list[tuple[slice, np.ndarray]]] = {at: [] for at, _ in some}
        for queries, labels in plan.draws(random_state):
            for at, metric in some:
                drawn = permuted(metric, ranking, queries, by, labels)
                parts[at].append((queries, tested_columns(metric, drawn)))
        for at, _ in some:
            pools[at], exact[at] = plan.pool(parts[at]), plan.exact
    return QueryValues(data.qids, values, pools, exact)


def split_twins(
    metrics: Sequence[ByGroup], ranking: Ranking, n_twins: int, seed: int
) -> list[np.ndarray]:
    """Return the means of the columns of metrics by group over relabellings of each query.

    The metrics have one attribute and one control.
    """
    if not metrics:
        return []
    by, control = metrics[0].by, metrics[0].control
    return column_means(metrics, ranking, by, control, n_twins, seed, tested_columns)


def permutation_test(
    measures: Measures, found: QueryValues, at: int, n_permutations: int, random_state: Any
) -> Any:
    """Return the p-value and the draws of the permutation test; NaN and None without groups."""
    pool, metric = found.pools[at], measures.everything[at]
    if pool is None:
        return float("nan"), None
    if pool.ndim == 1:
        sign = 1.0 if metric.direction == "lower" else -1.0
        return inference.twin_p(found.values[at].value, pool, sign), None
    observed, rng = tested_columns(metric, found.values[at]), inference.pool_generator(random_state)
    if pool.ndim == 2 and isinstance(metric, ByGroup):
        sums = inference.TwinSums.of(observed, pool)
        return metric.p_value(sums, measures.n_strata, rng, n_permutations), None
    statistic: Any = _only_column
    if isinstance(metric, ByGroup):
        statistic = _Spread(metric, measures.n_strata)
    return inference.permutation_p(observed, pool, found.exact[at], statistic, rng, n_permutations)


def tested_columns(metric: Metric, values: Values) -> np.ndarray:
    """Return the columns of a permutation test (last axis); larger is stronger."""
    if isinstance(metric, ByGroup):
        return np.asarray(values.groups)
    return (1.0 if metric.direction == "lower" else -1.0) * values.value[..., None]


def _only_column(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


@dataclass(frozen=True)
class _Spread:
    """The largest difference of groups in each stratum."""

    metric: ByGroup
    n_strata: int

    def __call__(self, means: np.ndarray) -> np.ndarray:
        return spread(self.metric.group_values(means, self.n_strata))
