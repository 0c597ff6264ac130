"""Before and after: a re-ranking held against what it was made from, in one small table."""

from typing import TYPE_CHECKING

import numpy as np

from ..core.metric import Metric
from ..core.ranking import Ranking
from ..core.slots import Slots
from ..core.table import Table
from ..kernels.segments import segment_sum
from ..metrics.fairness.exposure_gap import ExposureGap
from ..metrics.fairness.rnd import RND
from .bounds import NoBounds

if TYPE_CHECKING:
    from .reranking import Reranking

__all__ = ["before_after"]

#: Places looked at where the re-ranker has no cutoff.
USUAL = 10


def before_after(result: "Reranking") -> Table:
    """Give each measure before and after: guarantee, NDCG, score, shares in front, fairness gaps.

    Measures that the data does not allow are left out; means over the lists where they are defined.
    """
    rows: list[tuple[str, float, float]] = []
    before = result._made_from
    rows += _guarantee(result, before)
    price = result.price
    at = "" if result.k is None else f"@{result.k}"
    if price.gain is not None:
        rows.append((f"NDCG{at} ({price.gain})", price.ndcg_before, price.ndcg))
    rows += _mean_scores(result, before)
    if result.data.sensitive:
        rows += _shares(result, before)
        rows += _gaps(result, before)
    names, first, last = zip(*rows, strict=True) if rows else ((), (), ())
    return Table({"measure": list(names), "before": np.array(first), "after": np.array(last)})


def _heads(result: "Reranking", before: Ranking) -> tuple[Slots, Slots, np.ndarray]:
    """Give both lists, and how many places of each list are shown now."""
    old, new = before.slots(), result.slots()
    return old, new, new.sizes if new.shown is None else new.shown


def _guarantee(result: "Reranking", before: Ranking) -> list[tuple[str, float, float]]:
    if isinstance(result.bounds, NoBounds) or not result.data.sensitive:
        return []
    old, _, shown = _heads(result, before)
    front = old.position <= np.repeat(shown, old.sizes)
    codes = result.groups.codes[old.order[front]]
    offsets = np.concatenate([[0], np.cumsum(shown)])
    kept = result.bounds.holds(codes, offsets)
    return [
        ("lists that keep the guarantee", float(kept.mean()), float(result.holds_per_query.mean()))
    ]


def _mean_scores(result: "Reranking", before: Ranking) -> list[tuple[str, float, float]]:
    score = before.data.score
    if score is None:
        return []
    old, new, shown = _heads(result, before)
    first, last = (_mean_in_front(score[slots.order], slots, shown) for slots in (old, new))
    word = "mean score" if result.k is None else f"mean score of the first {result.k}"
    return [(word, first, last)]


def _mean_in_front(values: np.ndarray, slots: Slots, places: np.ndarray) -> float:
    front = slots.position <= np.repeat(places, slots.sizes)
    sums = segment_sum(np.where(front, values, 0.0).astype(np.float64), slots.offsets)
    return float((sums[places > 0] / places[places > 0]).mean()) if (places > 0).any() else np.nan


def _shares(result: "Reranking", before: Ranking) -> list[tuple[str, float, float]]:
    old, new, shown = _heads(result, before)
    k = USUAL if result.k is None else result.k
    places = np.minimum(shown, k)
    codes, rows = result.groups.codes, []
    for code, name in enumerate(result.groups.categories):
        pair = [
            _mean_in_front((codes[slots.order] == code).astype(float), slots, places)
            for slots in (old, new)
        ]
        rows.append((f"share of {name} in the first {k}", pair[0], pair[1]))
    return rows


def _gaps(result: "Reranking", before: Ranking) -> list[tuple[str, float, float]]:
    rows = []
    by, k = result.by, result.k
    metrics: list[Metric] = [ExposureGap(by=by, k=k), RND(by=by, k=k)]
    for metric in metrics:
        pair = [float(metric.summarize(metric.per_query(one))[0]) for one in (before, result)]
        if not np.isnan(pair).all():
            rows.append((str(metric), pair[0], pair[1]))
    return rows
