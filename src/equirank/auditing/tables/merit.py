"""The tables that need relevance: attention against merit, and who wins against whom."""

from ...core.table import Table
from ...metrics import pairwise_accuracy_matrix
from ..measuring import MOST_PAIRED, Measured
from .rows import make_table

__all__ = ["exposure_merit_table", "pairwise_table"]


def exposure_merit_table(measured: Measured) -> Table:
    """Give each group's share of exposure and of merit over the lists that hold any merit."""
    rows = []
    for each in measured.plan.audited if measured.plan.data.y is not None else ():
        totals, drawn = measured.totals(each)
        ratio = totals.exposure_per_merit
        replicates = None if drawn is None else drawn.exposure_per_merit
        low, high = measured.interval(replicates, ratio.shape)
        exposure = totals.exposure_of_merit_lists
        for code, group in enumerate(each.groups):
            rows.append(
                {
                    "attribute": each.name,
                    "group": group,
                    "exposure_share": exposure[code],
                    "merit_share": totals.merit[code],
                    "ratio": ratio[code],
                    "low": low[code],
                    "high": high[code],
                }
            )
    columns = "o:attribute o:group f:exposure_share f:merit_share f:ratio f:low f:high"
    return make_table(columns, rows)


def pairwise_table(measured: Measured) -> Table:
    """Give, for every two groups, how often the better item of the one stands above."""
    rows = []
    for each in measured.plan.audited if measured.plan.data.y is not None else ():
        if each.n_groups > MOST_PAIRED:
            continue
        for row in pairwise_accuracy_matrix(None, measured.plan.ranking, None, by=each.key):
            rows.append(
                {
                    "attribute": each.name,
                    "group": str(row["better"]),
                    "other": str(row["worse"]),
                    "accuracy": row["accuracy"],
                    "n_pairs": row["pairs"],
                    "n_queries": row["queries"],
                    "kind": row["kind"],
                }
            )
    columns = "o:attribute o:group o:other f:accuracy i:n_pairs i:n_queries o:kind"
    return make_table(columns, rows)
