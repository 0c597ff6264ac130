"""The metrics of an audit, evaluated for every attribute in one pass."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.evaluate import evaluate
from ..core.evaluation import Evaluation, Result
from ..core.inference import interval
from ..core.metric import GroupMetric, Metric
from ..core.registry import parse_metrics
from ..core.sums_plan import MOST_PAIRED, MOST_PREFIXED
from ..kernels.resampling import weighted_means
from ..metrics import (
    NDCG,
    RND,
    AveragePrecision,
    DisparateTreatment,
    ExposureGap,
    GroupPairwiseAccuracy,
    Precision,
)
from .audit_plan import Audited, Plan
from .measures import GroupTotals, Totals, list_differences

__all__ = [
    "Gap",
    "Measured",
    "chosen_metrics",
    "gains_of",
    "measure_all",
    "parse_wanted",
    "short_name",
]


@dataclass(frozen=True, eq=False)
class Gap:
    """A group metric, as evaluated for one attribute."""

    audited: Audited
    metric: GroupMetric
    short: str

    @property
    def group(self) -> str:
        """The group compared with everyone else; empty if the worst group counts."""
        return "" if self.metric.protected is None else str(self.metric.protected)


@dataclass(frozen=True, eq=False)
class Measured:
    """The evaluation of an audit, with access to its results."""

    plan: Plan
    evaluation: Evaluation
    gaps: tuple[Gap, ...]
    overall: tuple[Metric, ...]

    def result(self, metric: Metric) -> Result:
        """Return the result of a metric."""
        return self._by_metric[metric]

    @cached_property
    def _by_metric(self) -> dict[Metric, Result]:
        return {result.metric: result for result in self.evaluation.results}

    def totals(self, audited: Audited) -> tuple[Totals, Totals | None]:
        """Return an attribute's totals, and those of the bootstrap replicates."""
        return Totals.of(self.result(GroupTotals(by=audited.key, ks=self.plan.ks)))

    def position_differences(self, audited: Audited) -> np.ndarray:
        """Return the difference in mean position of each list and group."""
        return list_differences(self.result(GroupTotals(by=audited.key, ks=self.plan.ks)))

    def mean_differences(self, each: Audited) -> np.ndarray:
        """Return the mean over lists of each group's difference in position."""
        return weighted_means(self.position_differences(each))

    def unequal_lists(
        self, each: Audited
    ) -> tuple[Any, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Return labels and sizes of lists, the focus group's position difference, and gaps."""
        columns: dict[str, np.ndarray] = {}
        for gap in self.gaps:
            if gap.audited is each and gap.short not in columns:
                columns[gap.short] = self.result(gap.metric).values.value
        data = self.plan.data
        difference = self.position_differences(each)[:, each.focus]
        return data.qids, np.diff(data.offsets), difference, columns

    def interval(
        self, replicates: np.ndarray | None, shape: Any = (), level: float | None = None
    ) -> tuple[Any, Any]:
        """Return the interval of replicates, by default at the audit's level; NaN without them."""
        if replicates is None:
            return np.full(shape, np.nan), np.full(shape, np.nan)
        level = self.plan.level if level is None else max(level, 0.0)
        return interval(replicates, level, self.evaluation.sample_size)


def measure_all(plan: Plan, wanted: Iterable[Metric] = (), only: bool = False) -> Measured:
    """Evaluate totals, gaps and relevance metrics in one pass; ``only`` the wanted ones."""
    overall, gaps = chosen_metrics(plan, wanted, only)
    inner = [] if only else _inner(plan)
    found = evaluate(
        plan.ranking,
        list(dict.fromkeys([*overall, *inner, *(gap.metric for gap in gaps)])),
        n_boot=plan.n_boot,
        n_permutations=plan.n_permutations,
        level=plan.level,
        random_state=plan.seed,
    )
    return Measured(plan, found, tuple(gaps), tuple(overall))


def chosen_metrics(
    plan: Plan, wanted: Iterable[Metric], only: bool = False
) -> tuple[list[Metric], list[Gap]]:
    """Return the metrics without groups and the gaps of an audit; ``only`` the wanted ones."""
    wanted = list(wanted)
    of_groups = [m for m in wanted if isinstance(m, GroupMetric)]
    return _overall(plan, wanted, only), list(_gaps(plan, of_groups, only))


def _overall(plan: Plan, wanted: list[Metric], only: bool) -> list[Metric]:
    """Return the metrics that do not depend on groups."""
    usual: list[Metric] = []
    if plan.data.y is not None and not only:
        usual = [NDCG(k=10), Precision(k=10), AveragePrecision()]
    extra = [metric for metric in wanted if not isinstance(metric, GroupMetric)]
    return list(dict.fromkeys([*usual, *extra]))


def _inner(plan: Plan) -> list[Metric]:
    """Return the metrics behind the tables of groups and selection."""
    return [GroupTotals(by=each.key, ks=plan.ks) for each in plan.audited]


def _gaps(plan: Plan, wanted: list[GroupMetric], only: bool) -> Iterable[Gap]:
    """Yield the gap metrics of each attribute: the default ones, then the requested ones."""
    for metric in wanted:
        if metric.by is not None and not any(_same(metric.by, each) for each in plan.audited):
            plan.data.attribute(metric.by)
            names = ", ".join(repr(each.name) for each in plan.audited)
            raise DataError(f"by of {metric} must be an audited attribute: {names}")
    for each in plan.audited:
        default = [] if only else [*_default(plan.data, each, plan.step)]
        extra = [m for m in wanted if m.by is None or _same(m.by, each)]
        if each.crossed:
            extra = [m for m in wanted if m.by is not None and _same(m.by, each)]
        seen = set()
        for metric in [*default, *extra]:
            for bound in _bound(metric, each):
                if bound not in seen:
                    seen.add(bound)
                    yield Gap(each, bound, short_name(bound))


def _default(data: RankingData, each: Audited, step: int) -> Iterable[GroupMetric]:
    yield ExposureGap()
    if each.crossed:
        return
    if each.n_groups <= MOST_PREFIXED:
        yield RND() if step == 10 else RND(step=step)
    if data.y is not None:
        yield DisparateTreatment()
        if each.n_groups <= MOST_PAIRED:
            yield GroupPairwiseAccuracy()


def _bound(metric: GroupMetric, each: Audited) -> list[GroupMetric]:
    """Return a metric bound to an attribute and, unless it names one, to each protected group."""
    options: dict[str, Any] = {"by": each.key}
    if metric.protected is not None or not each.protected:
        return [replace(metric, **options)]
    names = [each.attribute.categories[code] for code in each.protected]
    return [replace(metric, **options, protected=name) for name in names]


def _same(by: Any, each: Audited) -> bool:
    return ((by,) if isinstance(by, str) else tuple(by)) == each.by


def short_name(metric: Metric) -> str:
    """Return a metric's name without attribute and group, which tables show in other columns.

    Examples
    --------
    >>> short_name(RND(by="sex", protected="f", step=5)@50)
    'RND(step=5)@50'
    """
    known = {field.name for field in fields(metric)}
    options: dict[str, Any] = {name: None for name in ("by", "protected") if name in known}
    return str(replace(metric, **options))


def gains_of(metrics: Iterable[Metric]) -> tuple[NDCG, ...]:
    """Return the metrics that are compared by group, given relevance."""
    return tuple(metric for metric in metrics if isinstance(metric, NDCG))


def parse_wanted(metrics: Any) -> list[Metric]:
    """Return the requested metrics."""
    if metrics is None:
        return []
    several = [metrics] if isinstance(metrics, (str, Metric, type)) else list(metrics)
    found = [each for metric in several for each in parse_metrics(metric)]
    if any(isinstance(metric, GroupTotals) for metric in found):
        raise DataError("metrics must be metrics or their names")
    return [*dict.fromkeys(found)]
