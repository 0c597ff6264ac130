"""The metrics of an audit from sums over lists, with buckets of lists as units of the bootstrap."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.evaluation import Evaluation, Result
from ..core.list_sums import ListSums
from ..core.metric import Metric, measure
from ..core.summed_results import SummedResult, gap_target, replicate_counts, used_buckets
from ..kernels.column_names import TOTAL_COLUMNS
from ..kernels.resampled_sums import resampled_sums
from ..kernels.segments import divide
from .audit_plan import Audited, Plan
from .measured import Gap, Measured, chosen_metrics
from .measures import GroupTotals, Totals, list_differences

__all__ = ["SummedMeasured", "extra_metrics", "measure_sums"]


@dataclass(frozen=True, eq=False)
class SummedMeasured(Measured):
    """The measures of an audit from sums; rows are those of the sample of lists."""

    results: dict[Metric, SummedResult]
    counts: np.ndarray | None
    drawn: dict[tuple[str, ...], Totals] = field(default_factory=dict)
    differences: dict[tuple[str, ...], np.ndarray] = field(default_factory=dict)

    @property
    def sums(self) -> ListSums:
        """The sums."""
        if self.plan.sums is None:
            raise DataError("measures from sums need a plan with sums")
        return self.plan.sums

    def result(self, metric: Metric) -> Any:
        """Return the result of a metric."""
        return self.results[metric]

    def totals(self, audited: Audited) -> tuple[Totals, Totals | None]:
        """Return an attribute's totals, and those of the bootstrap replicates."""
        buckets = self.sums.sums["totals"][:, self.plan.group_indices(audited)]
        table = np.moveaxis(buckets, 2, 1)[:, : len(TOTAL_COLUMNS) + len(self.plan.ks)]
        flat = table.reshape(len(table), -1)
        total = Totals(flat.sum(axis=0), self.plan.ks)
        if self.counts is not None and audited.by not in self.drawn:
            replicates = resampled_sums(self.counts, flat[used_buckets(self.sums)])
            self.drawn[audited.by] = Totals(replicates, self.plan.ks)
        return total, self.drawn.get(audited.by)

    def position_differences(self, audited: Audited) -> np.ndarray:
        """Return the difference in mean position of each list of the sample and each group."""
        if audited.by not in self.differences:
            metric = GroupTotals(by=audited.key, ks=self.plan.ks)
            values = measure([metric], self.plan.ranking)[0]
            result = Result(metric, values, None, None, float("nan"), None)
            self.differences[audited.by] = list_differences(result)
        return self.differences[audited.by]

    def mean_differences(self, each: Audited) -> np.ndarray:
        """Return the mean over all lists of each group's difference in position."""
        claims = self.sums.sums["claims"][:, self.plan.group_indices(each)].sum(axis=0)
        return divide(claims[:, 3], claims[:, 0])

    def unequal_lists(
        self, each: Audited
    ) -> tuple[Any, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Return labels and sizes of lists, the focus group's position difference, and gaps."""
        plan = self.sums.plan
        key = plan.keys.index(each.by)
        found, own = self.sums.extremes[key], [t for t in plan.targets if t[1] == each.by]
        columns: dict[str, np.ndarray] = {}
        for gap in self.gaps:
            target = gap_target(gap.metric, self.sums)
            if gap.audited is each and gap.short not in columns and target in own:
                columns[gap.short] = found.gaps[:, own.index(target)]
        focus = self.plan.group_indices(each)[each.focus] - plan.first[key]
        return found.labels, found.sizes, found.differences[:, focus], columns


def measure_sums(plan: Plan, wanted: Iterable[Metric] = ()) -> SummedMeasured:
    """Return the measures of an audit from the sums of its plan."""
    sums = plan.sums
    if sums is None:
        raise DataError("measures from sums need a plan with sums")
    overall, gaps = chosen_metrics(plan, wanted) if plan.ordered else ([], [])
    counts = replicate_counts(sums, plan.n_boot, plan.seed)
    chosen = dict.fromkeys([*overall, *(gap.metric for gap in gaps)])
    tested = plan.n_permutations > 0
    found = SummedResult.each({metric: metric for metric in chosen}, sums, counts, tested)
    results = dict(zip(chosen, found, strict=True))
    n_units = int(used_buckets(sums).sum())
    empty = Evaluation(
        (), plan.data.qids, level=plan.level, sample_size=n_units, seed_state=plan.seed
    )
    return SummedMeasured(plan, empty, tuple(gaps), tuple(overall), results, counts)


def extra_metrics(plan: Plan, wanted: Iterable[Metric]) -> list[Metric]:
    """Return the wanted metrics as sums of this audit must measure them, bound to groups."""
    overall, gaps = chosen_metrics(plan, wanted, only=True)
    found: list[Metric] = [*overall, *(gap.metric for gap in gaps if _is_extra(gap, plan))]
    return list(dict.fromkeys(found))


def _is_extra(gap: Gap, plan: Plan) -> bool:
    default, _ = chosen_metrics(plan, ())
    return gap.metric not in default
