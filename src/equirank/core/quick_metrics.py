"""The metrics of relevance that a kernel measures beside the other columns of lists."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..kernels.discounts import MOST_GRADE, discounts
from .block_columns import Block
from .metric import Metric

__all__ = ["measure_quick", "quick_metrics"]


#: Numbers of the metrics in the kernel.
KINDS = {"NDCG": 0, "Precision": 1, "AveragePrecision": 2}


def quick_metrics(metrics: Sequence[Metric], y: np.ndarray | None) -> dict[int, tuple[int, int]]:
    """Return number and cutoff (0: none) in the kernel of the metrics that it knows, by index."""
    if y is None or y.max(initial=0.0) > MOST_GRADE:
        return {}
    found = {}
    for at, metric in enumerate(metrics):
        name = type(metric).__name__
        if name in KINDS and str(replace(metric, k=None)) == name:
            found[at] = KINDS[name], getattr(metric, "k", None) or 0
    return found


def measure_quick(block: Block, quick: Mapping[int, tuple[int, int]], found: np.ndarray) -> None:
    """Write value and defined of these metrics in each list of a block to their columns."""
    from ..kernels.relevance_columns import measure_relevance

    if not quick:
        return
    kinds, ks = np.array(list(quick.values()), dtype=np.int64).T.copy()
    longest = int(np.diff(block.offsets).max(initial=0))
    sums = np.concatenate([[0.0], np.cumsum(discounts(longest, "log2"))])
    values = np.zeros((len(block.keys), len(quick)))
    measure_relevance(block.offsets, block.end, block.shown, block.y, kinds, ks, sums, values)
    found[:, list(quick), 0] = np.nan_to_num(values, nan=0.0)
    found[:, list(quick), 1] = ~np.isnan(values)
