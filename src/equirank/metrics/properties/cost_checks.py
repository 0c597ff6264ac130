"""Properties of metrics that weigh items by cost, tested on many small lists."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.errors import DataError
from ...core.given_data import as_ranking_data
from ...core.metric import Metric
from ...core.params import Integer, check_params
from ...core.random import RandomState, generator
from ...core.ranking import Ranking
from ...core.registry import parse_metric
from ...core.table import Table
from ..relevance.gain import NDCG

__all__ = ["cost_properties"]

#: Violations up to this size are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class _Lists:
    """Items of many lists, list after list: relevance, scores, costs and changed costs."""

    offsets: np.ndarray
    y: np.ndarray
    score: np.ndarray
    cost: np.ndarray
    changed: np.ndarray

    @property
    def query(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def values(
        self, metric: Metric, cost: np.ndarray, score: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the value of each list, NaN where it is undefined."""
        score = self.score if score is None else score
        data = as_ranking_data(y=self.y, cost=cost, score=score, qid=self.query)
        return metric.per_query(Ranking.from_scores(data)).value


def cost_properties(
    metric: Metric | str, *, n_lists: int = 500, random_state: RandomState = 0
) -> Table:
    """Test whether a metric of relevance and cost has the properties of a cost-sensitive NDCG.

    - ``bounded``: the value is in [0, 1];
    - ``equal costs``: with equal costs it is NDCG;
    - ``scale``: costs in another unit do not change it;
    - ``monotone``: exchanging two equally relevant items, so that the one whose pairs cost more
      comes first, does not lower it;
    - ``Lipschitz``: if no cost changes by more than a factor e^d, it changes by at most e^(2d) - 1.

    Lists have 2 to 8 items of grades 0 to 3, in a quarter of the lists of one grade; costs differ
    widely in half of the lists and by parts per thousand in the other half. Lists in which the
    metric is undefined are left out.

    Parameters
    ----------
    metric : Metric or str
        Such as ``"CostNDCG"`` or ``"CSDCG(normalized=True)"``; it must need relevance and cost.
    n_lists : int
        Number of random lists.
    random_state : int, Generator, RandomState or None
        Seed of the lists.

    Returns
    -------
    Table
        One row per property: whether it held in all lists, the largest violation, and the list with
        it: relevance and costs in ranked order.

    Examples
    --------
    >>> from equirank.metrics.properties import cost_properties
    >>> [bool(holds) for holds in cost_properties("CostNDCG")["holds"]]
    [True, True, True, True, True]
    >>> [bool(holds) for holds in cost_properties("CSDCG(normalized=True)")["holds"]]
    [True, False, True, False, False]
    """
    check_params("cost_properties", {"n_lists": n_lists}, {"n_lists": Integer(1)})
    taken = parse_metric(metric) if isinstance(metric, str) else metric
    if "cost" not in taken.needs:
        raise DataError(f"metric of cost_properties must need costs, got {taken!r}")
    lists = _lists(n_lists, generator(random_state))
    rows: dict[str, list[Any]] = {
        name: [] for name in ("property", "holds", "violation", "relevance", "cost")
    }
    for name, test in TESTS.items():
        violation = np.nan_to_num(test(taken, lists), nan=0.0)
        worst = int(np.argmax(violation))
        rows["property"].append(name)
        rows["holds"].append(violation[worst] <= ROUNDING)
        rows["violation"].append(max(0.0, violation[worst]))
        some = slice(*lists.offsets[worst : worst + 2])
        order = np.argsort(-lists.score[some])
        rows["relevance"].append(" ".join(f"{y:g}" for y in lists.y[some][order]))
        rows["cost"].append(" ".join(f"{c:.4g}" for c in lists.cost[some][order]))
    return Table({name: np.array(column) for name, column in rows.items()})


def _lists(n_lists: int, rng: np.random.Generator) -> _Lists:
    sizes = rng.integers(2, 9, size=n_lists)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n = int(offsets[-1])
    spread = np.repeat(np.where(np.arange(n_lists) % 2, 1.0, 1e-3), sizes)
    cost, changed = np.exp(spread * rng.normal(size=(2, n)))
    y = rng.integers(0, 4, size=n).astype(float)
    alike = np.repeat(np.arange(n_lists) % 8 < 2, sizes)
    y[alike] = np.repeat(rng.integers(1, 4, size=n_lists), sizes)[alike]
    return _Lists(offsets, y, rng.random(n), cost, changed)


def _outside(metric: Metric, lists: _Lists) -> np.ndarray:
    value = lists.values(metric, lists.cost)
    return np.maximum(-value, value - 1.0)


def _not_ndcg(metric: Metric, lists: _Lists) -> np.ndarray:
    same = np.ones(len(lists.cost))
    return np.abs(lists.values(metric, same) - lists.values(NDCG(k=metric.k), same))


def _of_scale(metric: Metric, lists: _Lists) -> np.ndarray:
    return np.abs(lists.values(metric, lists.cost) - lists.values(metric, 8.0 * lists.cost))


def _not_monotone(metric: Metric, lists: _Lists) -> np.ndarray:
    """Return how much the value falls if the costlier of two equally relevant items comes first.

    In each list the first pair that is the other way round is exchanged.
    """
    score = lists.score.copy()
    for begin, end in itertools.pairwise(lists.offsets):
        for a, b in itertools.permutations(range(begin, end), 2):
            later = lists.cost[a] > lists.cost[b] and score[a] < score[b]
            if later and lists.y[a] == lists.y[b] > 0:
                score[[a, b]] = score[[b, a]]
                break
    return lists.values(metric, lists.cost) - lists.values(metric, lists.cost, score)


def _not_lipschitz(metric: Metric, lists: _Lists) -> np.ndarray:
    distance = np.abs(np.log(lists.changed / lists.cost))
    furthest = np.maximum.reduceat(distance, lists.offsets[:-1])
    away = np.abs(lists.values(metric, lists.cost) - lists.values(metric, lists.changed))
    return away - np.expm1(2.0 * furthest)


TESTS: dict[str, Callable[[Metric, _Lists], np.ndarray]] = {
    "bounded": _outside,
    "equal costs": _not_ndcg,
    "scale": _of_scale,
    "monotone": _not_monotone,
    "Lipschitz": _not_lipschitz,
}
