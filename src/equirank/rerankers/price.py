"""Price: what a re-ranking cost, in NDCG and in score."""

from dataclasses import dataclass, field, replace

import numpy as np

from ..core.data import RankingData
from ..core.ranking import Ranking
from ..core.table import Table
from ..kernels.segments import segment_sum
from ..metrics.relevance.ndcg import NDCG

__all__ = ["Price", "price_of"]


@dataclass(frozen=True, eq=False)
class Price:
    """What a re-ranking cost, in the mean over queries and per query.

    Attributes
    ----------
    gain : {"relevance", "score"} or None
        What NDCG counts: relevance where it is known (``2**y - 1``), else the score above the
        lowest of its list; None where neither is known.
    ndcg_before, ndcg : float
        NDCG (at the cutoff) before and after, means over the queries where it is defined.
    score_loss : float
        How much lower the mean score of the shown is; 0 where everyone is shown.
    worst_inversion : float
        The largest amount by which somebody behind, or left out, outscores somebody in front; the
        largest of all queries. Rows left out stand behind all others.
    per_query : Table
        The same per query.

    Examples
    --------
    >>> from equirank.rerankers import DetGreedy
    >>> result = DetGreedy(k=2).rerank([4, 3, 2, 1], sensitive_features=list("mmff"))
    >>> result.price.score_loss, result.price.worst_inversion  # (4 + 3) / 2 - (4 + 2) / 2, 3 - 2
    (0.5, 1.0)
    """

    gain: str | None
    ndcg_before: float
    ndcg: float
    score_loss: float
    worst_inversion: float
    per_query: Table = field(repr=False)

    def to_dict(self) -> dict[str, float | str | None]:
        """Give the means as plain values."""
        names = ("gain", "ndcg_before", "ndcg", "score_loss", "worst_inversion")
        return {name: getattr(self, name) for name in names}


def price_of(before: Ranking, after: Ranking, k: int | None) -> Price:
    """Compare two rankings of the same rows; NaN where neither relevance nor score is known."""
    data = before.data
    none = np.full(data.n_queries, np.nan)
    gain = "relevance" if data.y is not None else "score" if data.score is not None else None
    first, last = (none, none) if gain is None else _ndcgs(before, after, gain, k)
    loss, worst = (none, none) if data.score is None else _scores(before, after)
    table = Table(
        {
            "query": data.qids,
            "ndcg_before": first,
            "ndcg": last,
            "score_loss": loss,
            "worst_inversion": worst,
        },
        data.backend,
    )
    largest = float(worst.max()) if data.score is not None else np.nan
    return Price(gain, _mean(first), _mean(last), _mean(loss), largest, table)


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _ndcgs(
    before: Ranking, after: Ranking, gain: str, k: int | None
) -> tuple[np.ndarray, np.ndarray]:
    data = before.data
    metric = NDCG(k=k)
    if gain == "score":
        metric = NDCG(k=k, gain="linear")
        data = replace(data, y=_above_lowest(data), max_grade=0.0)
    pair = []
    for ranking in (before, after):
        seen = Ranking(data, ranking.position, ranking.last, ranking.weights)
        pair.append(np.asarray(metric.per_query(seen).value, dtype=np.float64))
    return pair[0], pair[1]


def _above_lowest(data: RankingData) -> np.ndarray:
    score = np.asarray(data.score, dtype=np.float64)
    lowest = np.minimum.reduceat(score, data.offsets[:-1])
    return score - np.repeat(lowest, np.diff(data.offsets))


def _scores(before: Ranking, after: Ranking) -> tuple[np.ndarray, np.ndarray]:
    """Give the loss of mean score among the shown, and the worst inversion."""
    from ..kernels.prefix_bounds import worst_drops

    score = np.asarray(before.data.score, dtype=np.float64)
    old, new = before.slots(), after.slots()
    shown = new.sizes if new.shown is None else new.shown
    means = []
    for slots in (old, new):
        here = np.where(slots.position <= np.repeat(shown, slots.sizes), score[slots.order], 0.0)
        means.append(segment_sum(here, slots.offsets) / np.maximum(shown, 1))
    offered = np.where(before.position > 0, score, -np.inf)
    worst = worst_drops(offered[new.order], new.offsets, shown)
    return means[0] - means[1], worst
