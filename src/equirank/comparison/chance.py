"""What a random order of the same test lists is worth: the far end of every mixture line."""

from collections.abc import Sequence

import numpy as np

from ..core.data import RankingData
from ..core.metric import Metric
from ..core.random import generator
from ..core.ranking import Ranking
from ..kernels.segments import sort_within
from .cell import measured
from .splits import Fold

__all__ = ["chance_values"]

#: Random orders that the value of chance is averaged over.
N_DRAWS = 20


def chance_values(
    data: RankingData, folds: Sequence[Fold], metrics: Sequence[Metric], unit: str
) -> dict[str, float]:
    """Give each metric's value of random orders, over the test lists of the first seed's folds.

    The orders are the draws of one random policy: metrics of an expectation (exposure) see their
    mean, all others are averaged over the draws. Metrics of scores are left out, since a random
    order has none.
    """
    able = [metric for metric in metrics if "score" not in metric.needs]
    if not able:
        return {}
    means: dict[str, list[np.ndarray]] = {metric.name: [] for metric in able}
    for fold in (each for each in folds if each.seed == folds[0].seed):
        test = data.select_items(fold.test)
        rng = generator(fold.seed, 7, fold.number)
        places = np.stack([_random_places(test, rng) for _ in range(N_DRAWS)], axis=1)
        ranking = Ranking.from_positions(test, test.to_original(places))
        values, summary, _ = measured(able, ranking)
        for metric in able:
            whole = unit == "folds" or type(metric).summarize is not Metric.summarize
            found = np.array([summary[metric.name]]) if whole else values[metric.name]
            means[metric.name].append(found[~np.isnan(found)])
    joined = {name: np.concatenate(parts) for name, parts in means.items()}
    return {name: float(each.mean()) for name, each in joined.items() if len(each)}


def _random_places(data: RankingData, rng: np.random.Generator) -> np.ndarray:
    """Give each stored row a place of its own in a random order of its list."""
    order = sort_within(rng.random(data.n_rows), data.offsets)
    place = np.empty(data.n_rows, dtype=np.int32)
    place[order] = np.arange(data.n_rows) - np.repeat(data.offsets[:-1], np.diff(data.offsets)) + 1
    return place
