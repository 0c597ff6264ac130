"""Metrics from sums over lists: values, intervals over buckets of lists, and tests by twins."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np

from ..kernels.segments import divide
from . import inference
from .data import RankingData
from .errors import DataError
from .evaluation import Evaluation
from .group_columns import GroupColumn, group_columns, labels_of, split_metrics
from .list_sums import ListSums
from .metric import GroupMetric, Metric, Values
from .query_values import Split
from .random import generator

__all__ = ["SummedResult", "evaluate_sums", "gap_target", "replicate_counts", "used_buckets"]


@dataclass(frozen=True, eq=False)
class SummedResult:
    """One metric from sums: what tables read of a `Result`.

    Attributes
    ----------
    metric : Metric
        The metric.
    columns : ndarray of shape (n_units, 5)
        Sums over the lists of each unit: value, defined, difference to the mean of relabellings,
        its square, and where that is defined.
    n_lists : int
        Number of lists.
    replicates : ndarray or None
        Values of the bootstrap replicates.
    tested : bool
        Whether there is a test.
    change : SummedChange or None
        The difference to another ranking, if the sums have one.
    groups : GroupSums or None
        Values of the groups that the metric compares, if the sums have them.
    split : Split or None
        Values by group, if the evaluation splits the metric.
    """

    metric: Metric
    columns: np.ndarray
    n_lists: int
    replicates: np.ndarray | None
    tested: bool
    change: "SummedChange | None" = None
    groups: "GroupSums | None" = None
    split: Split | None = None

    @classmethod
    def each(
        cls,
        metrics: Mapping[Metric, Metric],
        sums: ListSums,
        counts: np.ndarray | None,
        tested: bool,
    ) -> list["SummedResult"]:
        """Return the result of each metric; the values of ``metrics`` have its attribute.

        ``counts`` are those of `replicate_counts`.
        """
        used = used_buckets(sums)
        columns = [_columns(bound, sums)[used] for bound in metrics.values()]
        groups = [GroupSums.of(bound, sums, used, counts) for bound in metrics.values()]
        changes: list[SummedChange | None] = [None] * len(columns)
        if "changes" in sums.sums:
            both = [_columns(bound, sums, "changes")[used] for bound in metrics.values()]
            changes = [SummedChange.of(each, counts, tested) for each in both]
        replicates: Sequence[np.ndarray | None] = [None] * len(columns)
        if counts is not None and columns:
            from ..kernels.resampled_sums import resampled_sums

            drawn = resampled_sums(counts, np.concatenate([own[:, :2] for own in columns], axis=1))
            replicates = list(divide(drawn[:, ::2], drawn[:, 1::2]).T)
        return [
            cls(metric, own, sums.n_lists, boot, tested and bool(own[:, 4].any()), change, part)
            for metric, own, boot, change, part in zip(
                metrics, columns, replicates, changes, groups, strict=True
            )
        ]

    @property
    def values(self) -> Values:
        """Values of single lists, which sums do not contain."""
        raise DataError(
            f"values of {self.metric} for single lists are not in sums over so many lists; "
            "evaluate the rows instead"
        )

    @cached_property
    def _total(self) -> np.ndarray:
        return np.asarray(self.columns.sum(axis=0))

    @property
    def _sign(self) -> float:
        return 1.0 if self.metric.direction == "lower" else -1.0

    @property
    def summary(self) -> tuple[float, None]:
        """The mean over the lists where the metric is defined."""
        value, defined = self._total[:2]
        return (float(value / defined) if defined else float("nan")), None

    def interval(self, level: float, n: int) -> tuple[float, float]:
        """Return the interval of the value over n resampled units; NaN without replicates."""
        if self.replicates is None:
            return float("nan"), float("nan")
        one_each = len(self.columns) == self.n_lists
        units = divide(self.columns[:, 0], self.columns[:, 1]) if one_each else self.columns
        low, high = inference.mean_interval(self.replicates, units, level, n)
        bounds = self.metric.bounds
        return float(np.clip(low, *bounds)), float(np.clip(high, *bounds))

    def group_rows(self, level: float, n: int) -> Iterator[tuple[Any, float, float, float, int]]:
        """Yield label, value, interval and number of defined lists of each group."""
        if self.groups is None:
            return
        low, high = self.groups.interval(level, n)
        total = self.groups.columns.sum(axis=0)
        value = divide(total[:, 0], total[:, 1])
        for at, label in enumerate(self.groups.labels):
            yield label, float(value[at]), float(low[at]), float(high[at]), round(total[at, 1])

    @property
    def n_skipped(self) -> int:
        """Number of lists where the metric is undefined."""
        return self.n_lists - round(self._total[1])

    @property
    def p_value(self) -> float:
        """The one-sided p-value of ``z = sum d / sqrt(sum d^2)``; NaN without a test."""
        d, square, n = self._total[2:]
        if not self.tested or n == 0:
            return float("nan")
        if square == 0:
            return 1.0
        return NormalDist().cdf(-self._sign * float(d / np.sqrt(square)))

    @property
    def chance(self) -> float:
        """The mean over relabellings; NaN without a test."""
        n = self._total[4]
        if not self.tested or n == 0:
            return float("nan")
        # d is defined almost wherever the value is, so its mean is that of all lists
        return self.summary[0] - float(self._total[2] / n)

    def edge(self, level: float) -> float:
        """Return the value that chance exceeds with probability ``1 - level``, times the sign."""
        d, square, n = self._total[2:]
        if not self.tested or n == 0:
            return float("nan")
        error = np.sqrt(max(square / n - (d / n) ** 2, 0.0) / n)
        return self._sign * self.chance + NormalDist().inv_cdf(level) * float(error)


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Values of groups from sums.

    Attributes
    ----------
    labels : tuple
        The groups.
    columns : ndarray of shape (n_units, n_groups, 2)
        Sums over the lists of each unit: value and defined.
    counts : ndarray or None
        Those of `replicate_counts`.
    """

    labels: tuple[Any, ...]
    columns: np.ndarray
    counts: np.ndarray | None

    @classmethod
    def of(
        cls, metric: Metric, sums: ListSums, used: np.ndarray, counts: np.ndarray | None
    ) -> "GroupSums | None":
        """Return the values of the groups that a metric compares; None if the sums have none."""
        if not isinstance(metric, GroupMetric) or metric.by is None:
            return None
        plan, labels = sums.plan, present_labels(sums, metric.by)
        if "group_values" not in sums.sums or str(metric) not in plan.metrics:
            return None
        known = group_columns(plan)
        at = [known.index(GroupColumn(str(metric), False, 0, None, label)) for label in labels]
        columns = sums.sums["group_values"][used][:, at]
        if metric.protected is not None:  # some metrics then have no value of other groups
            some = np.flatnonzero(columns[:, :, 1].any(axis=0))
            labels, columns = [labels[each] for each in some.tolist()], columns[:, some]
        return cls(tuple(labels), columns, counts)

    def replicates(self) -> np.ndarray | None:
        """Return the means of the columns over the bootstrap replicates."""
        if self.counts is None:
            return None
        from ..kernels.resampled_sums import resampled_sums

        n_units, n_groups, _ = self.columns.shape
        drawn = resampled_sums(self.counts, self.columns.reshape(n_units, 2 * n_groups).copy())
        return divide(drawn[:, ::2], drawn[:, 1::2])

    def interval(self, level: float, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the interval of each value over n lists; NaN without replicates."""
        drawn = self.replicates()
        if drawn is None:
            return (np.full(len(self.labels), np.nan),) * 2
        return inference.interval(drawn, level, n)


def present_labels(sums: ListSums, by: Any) -> list[Any]:
    """Return the labels of an attribute, or of the combinations of several that somebody has."""
    labels = labels_of(sums.plan, by)
    names = _names(by)
    if len(names) == 1:
        return labels
    at = [list(sums.plan.groups).index(name) for name in names]
    vectors = {tuple(vector[each] for each in at) for vector in sums.people}
    several = product(*(range(len(sums.plan.groups[name])) for name in names))
    return [label for label, vector in zip(labels, several, strict=True) if vector in vectors]


def split_of(
    name: str, sums: ListSums, counts: np.ndarray | None, n_permutations: int, random_state: Any
) -> Split:
    """Return the values by group of a metric that the sums split, their replicates and p-values."""
    metric, plan = split_metrics(sums.plan)[name], sums.plan
    strata = present_labels(sums, plan.control) if plan.control else [None]
    groups = present_labels(sums, plan.by)
    known = {column: at for at, column in enumerate(group_columns(plan))}
    wanted = product(range(2 if metric.of_sums else 1), strata, [*groups, None])
    at = [known[GroupColumn(name, True, *each)] for each in wanted]
    own = GroupSums((), sums.sums["group_values"][used_buckets(sums)][:, at], counts)
    total = own.columns.sum(axis=0)
    shape = (len(strata), len(groups) + 1)
    value = metric.quotients(divide(total[:, 0], total[:, 1])).reshape(shape)
    drawn = own.replicates()
    if drawn is not None:
        drawn = metric.quotients(drawn).reshape(len(drawn), *shape)
    p = np.full(len(strata), np.nan)
    if n_permutations:
        totals = np.concatenate([total, sums.sums["twin_totals"][at]], axis=1)
        twins = inference.TwinSums(totals, sums.sums["twin_products"][np.ix_(at, at)])
        rng = inference.pool_generator(random_state)
        p = metric.p_value(twins, len(strata), rng, n_permutations)
    return Split(value, drawn, p)


@dataclass(frozen=True, eq=False)
class SummedChange:
    """The difference of a metric between two rankings of the same lists, from sums.

    Attributes
    ----------
    total : ndarray
        Sums over lists where both values are defined: value, other value, lists, difference, and
        its square.
    replicates : ndarray or None
        Mean differences of the bootstrap replicates.
    n_units : int
        Number of resampled buckets.
    tested : bool
        Whether there is a test.
    """

    total: np.ndarray
    replicates: np.ndarray | None
    n_units: int
    tested: bool

    @classmethod
    def of(cls, columns: np.ndarray, counts: np.ndarray | None, tested: bool) -> "SummedChange":
        """Return the difference from its columns by bucket."""
        drawn = None
        if counts is not None:
            from ..kernels.resampled_sums import resampled_sums

            sums = resampled_sums(counts, np.ascontiguousarray(columns[:, 2:4]))
            drawn = divide(sums[:, 1], sums[:, 0])
        return cls(columns.sum(axis=0), drawn, len(columns), tested)

    def row(self, level: float) -> dict[str, float]:
        """Return values, difference, interval, p-value and number of lists, for a table."""
        value, other, lists, d, square = self.total.tolist()
        nan = float("nan")
        mean = [each / lists if lists else nan for each in (value, other, d)]
        low = high = p = nan
        if self.replicates is not None and lists > 1:
            low, high = map(float, inference.interval(self.replicates, level, self.n_units))
        if self.tested and lists > 1:
            p = 2.0 * NormalDist().cdf(-abs(d) / np.sqrt(square)) if square > 0 else 1.0
        found = {"value": mean[0], "other": mean[1], "difference": mean[2]}
        return found | {"low": low, "high": high, "p_value": p, "n_queries": lists}


def replicate_counts(sums: ListSums, n_boot: int, random_state: Any) -> np.ndarray | None:
    """Return how often each bucket with lists is in each bootstrap replicate; None without."""
    if n_boot == 0:
        return None
    n_units = int(used_buckets(sums).sum())
    drawn = inference.query_counts(generator(random_state, 0), n_boot, n_units)
    return np.concatenate(list(drawn))


def used_buckets(sums: ListSums) -> np.ndarray:
    """Return which buckets contain a list."""
    if "lists" in sums.sums:
        return np.asarray(sums.sums["lists"][:, 0] > 0)
    # until format 4
    keys = [sums.sums["totals"][:, :, 1].sum(axis=1), sums.sums["metrics"].sum(axis=(1, 2))]
    return np.asarray(keys[0] + keys[1] > 0)


def gap_target(metric: Metric, sums: ListSums) -> tuple[str, tuple[str, ...], str | None] | None:
    """Return the target of a gap that sums measure for every group, or None."""
    by = getattr(metric, "by", None)
    if by is None:
        return None
    group = metric.protected  # type: ignore[attr-defined]
    options: dict[str, Any] = {"by": None, "protected": None}
    name = str(replace(metric, **options)).partition("(step=")[0]
    step = getattr(metric, "step", None)
    known = str(replace(metric, **options)) in (name, f"{name}(step={step})")
    if not known or step not in (None, sums.plan.step):
        return None
    target = (
        name,
        _names(by),
        None if group is None else str(group),
    )
    return target if target in sums.plan.targets else None


def _columns(metric: Metric, sums: ListSums, changes: str = "") -> np.ndarray:
    """Return the columns of a metric by bucket; a metric that was not measured is an error.

    With ``changes``, those of the difference to another ranking.
    """
    target = gap_target(metric, sums)
    if target is not None:
        return sums.sums[changes or "gaps"][:, sums.plan.targets.index(target)]
    if str(metric) in sums.plan.metrics:
        at = sums.plan.metrics.index(str(metric))
        return sums.sums[changes or "metrics"][:, at + (len(sums.plan.targets) if changes else 0)]
    names = dict.fromkeys(name for name, _, _ in sums.plan.targets)
    steps = {"RND": "RND" if sums.plan.step == 10 else f"RND(step={sums.plan.step})"}
    known = [*(steps.get(name, name) for name in names), *sums.plan.metrics]
    raise DataError(f"metrics must be measured by the sums ({', '.join(known)}), got {metric}")


def evaluate_sums(
    sums: ListSums,
    metrics: Sequence[Metric],
    *,
    by: Any = None,
    control: Any = None,
    n_boot: int,
    n_permutations: int,
    level: float,
    random_state: Any,
) -> Evaluation:
    """Evaluate metrics from sums without the rows of every list; parameters as in `evaluate`."""
    counts, data = replicate_counts(sums, n_boot, random_state), sums.kept.to_data(sums.plan)
    bound = {metric: _bound(metric, sums, data) for metric in metrics}
    results = dict(
        zip(bound, SummedResult.each(bound, sums, counts, n_permutations > 0), strict=True)
    )
    shown: dict[str, Any] = {}
    if by is not None or control is not None:
        _check_split(sums, by, control)
        for metric in [each for each in metrics if each.additive]:
            split = split_of(str(metric), sums, counts, n_permutations, random_state)
            results[metric] = replace(results[metric], split=split)
        shown["by"] = tuple(present_labels(sums, sums.plan.by))
        shown["strata"] = tuple(present_labels(sums, control)) if control is not None else ()
    made: Any = tuple(results[metric] for metric in metrics)
    found = Evaluation(
        made, np.zeros(0), level=level, sample_size=sums.n_lists, n_queries=sums.n_lists,
        seed_state=random_state, **shown,
    )  # fmt: skip
    found.notes += list(_unknown_labels(sums, metrics, [by, control]))
    return found


def _check_split(sums: ListSums, by: Any, control: Any) -> None:
    """Raise unless the sums are split by these attributes."""
    for name, given in (("by", by), ("control", control)):
        made = getattr(sums.plan, name)
        if made != (() if given is None else _names(given)):
            words = f"{', '.join(made)}" if made else "none"
            raise DataError(
                f"{name} must be that of list_sums, whose sums lack the rows of every list: "
                f"{words}, got {given!r}"
            )


def _unknown_labels(
    sums: ListSums, metrics: Sequence[Metric], split: Sequence[Any]
) -> Iterator[str]:
    """Yield how many labels of the attributes that are compared are unknown."""
    used = {name for part in split if part is not None for name in _names(part)}
    used |= {
        name
        for metric in metrics
        if isinstance(metric, GroupMetric)
        for name in (sums.plan.groups if metric.by is None else _names(metric.by))
    }
    for at, name in enumerate(sums.plan.groups):
        unknown = sum(n for vector, n in sums.people.items() if vector[at] < 0)
        if unknown and name in used:
            yield f"{name} unknown: {unknown:,} of {sums.n_rows:,} rows, which are in no group"


def _names(by: Any) -> tuple[str, ...]:
    return (by,) if isinstance(by, str) else tuple(by)


def _bound(metric: Metric, sums: ListSums, data: RankingData) -> Metric:
    """Return a metric of groups with its attribute, checked with a sample of the lists."""
    metric.check(data)
    if not isinstance(metric, GroupMetric) or metric.by is not None:
        return metric
    return replace(metric, by=next(iter(sums.plan.groups)))
