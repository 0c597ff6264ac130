"""The objective: scores in, gradient and curvature out, in the form LightGBM asks for."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.pair_cost import PairCost
from ...kernels.discounts import discounts, gains
from ...kernels.lambdas import (
    CELL_COST,
    NO_COST,
    PAIR_COST,
    PRODUCT_COST,
    SUM_COST,
    Performance,
    pair_gradients,
)
from ...kernels.segments import segment_index, segment_sum, sort_values_within
from ...kernels.swaps import Fairness

__all__ = ["Objective", "cost_sums", "performance_part"]


class Objective:
    """A plain function over arrays: current scores of the stored rows to gradient and curvature.

    It holds arrays only and knows nothing of LightGBM, so that a worker elsewhere can make one of
    its own lists and close over it. Queries are handed out to threads in runs of about equal work;
    each writes its own rows, so the number of threads changes nothing.

    Parameters
    ----------
    data : RankingData
        The lists.
    performance, fairness : Performance, Fairness
        What `performance_part` and `fairness_part` prepared of the same data.
    alpha : float
        The share of the performance part.
    sigma : float
        Steepness of the sigmoid.
    normalize : bool
        Damp by score distance and normalise the size per query, as LightGBM does.
    steady : bool
        Brake lists whose pull between groups turned round since the last call; lists with a target
        do not jump and are not braked.
    first_brake : float
        How strongly lists are braked in the first call.
    n_threads : int
        How many threads work at once.
    """

    def __init__(
        self,
        data: RankingData,
        performance: Performance,
        fairness: Fairness,
        *,
        alpha: float,
        sigma: float = 1.0,
        normalize: bool = True,
        steady: bool = True,
        first_brake: float = 1.0,
        n_threads: int = 1,
    ) -> None:
        self.offsets = np.array(data.offsets)
        self.performance, self.fairness = _own(performance), _own(fairness)
        self.alpha, self.sigma, self.normalize = float(alpha), float(sigma), bool(normalize)
        self.query_weight = np.ones(data.n_queries)
        if data.query_weight is not None:
            self.query_weight = np.array(data.query_weight, dtype=np.float64)
        self.n_threads, self.steady, self.first_brake = n_threads, steady, first_brake
        self.reset()
        sizes = np.diff(self.offsets)
        self.order = (np.arange(data.n_rows) - np.repeat(self.offsets[:-1], sizes)).astype(np.int32)
        self.runs = self._runs(sizes, 1 if n_threads == 1 else 8 * n_threads)

    def reset(self) -> None:
        """Forget earlier calls."""
        n_queries = len(self.offsets) - 1
        braked = self.steady and not self.fairness.targeted
        self.brake = np.full(n_queries, self.first_brake if braked else 1.0)
        columns = self.fairness.start.shape[1] if braked else 0
        self.pull_before = np.zeros((n_queries, columns))

    @staticmethod
    def _runs(sizes: np.ndarray, n_runs: int) -> list[tuple[int, int]]:
        """Cut the queries into runs of about equal numbers of pairs."""
        work = np.cumsum(sizes.astype(np.float64) ** 2)
        marks = np.searchsorted(work, work[-1] * np.arange(1, n_runs) / n_runs, side="left") + 1
        edges = np.unique(np.concatenate([[0], marks, [len(sizes)]]))
        return [(int(a), int(b)) for a, b in pairwise(edges)]

    def __call__(
        self, score: np.ndarray, dataset: Any = None, *, dtype: Any = np.float32
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient and curvature of each stored row at these scores."""
        gradient, curvature = np.empty(len(score), dtype), np.empty(len(score), dtype)
        score = np.ascontiguousarray(score, dtype=np.float64)

        def work(run: tuple[int, int]) -> None:
            pair_gradients(
                run[0], run[1], score, self.offsets, self.order, self.alpha, self.sigma,
                self.normalize, self.query_weight, self.performance, self.fairness,
                self.brake, self.pull_before, gradient, curvature,
            )  # fmt: skip

        if len(self.runs) == 1:
            work(self.runs[0])
        else:
            with ThreadPoolExecutor(self.n_threads) as pool:
                for _ in pool.map(work, self.runs):
                    pass
        return gradient, curvature


def _own(part: Any) -> Any:
    """Return a part whose arrays can all be written to: one type, so one compiled function."""
    fields = part._asdict()
    for name, value in fields.items():
        if isinstance(value, np.ndarray) and not value.flags.writeable:
            fields[name] = np.array(value)
    return type(part)(**fields)


#: Pair costs that depend on more than cells are kept pair by pair, at most so many (1 GiB).
MOST_PAIRS = 1 << 27


def performance_part(
    data: RankingData,
    *,
    gain: str = "exp2",
    truncation: int = 30,
    cost_combination: str = "product",
    pair_cost: PairCost | None = None,
    cost_mean: float | None = None,
) -> Performance:
    """Prepare what the objective needs to know about relevance and costs.

    Costs are divided by their mean over the pairs of unequal relevance, so that equal costs are the
    same as none and ``alpha`` keeps its meaning. ``cost_mean`` is that mean where the data is a
    part of more (see `cost_sums`).
    """
    y = np.asarray(data.y, dtype=np.float64)
    value = gains(y, gain)
    longest = int(np.diff(data.offsets).max())
    discount = np.ascontiguousarray(discounts(longest, "log2"))
    place = np.arange(data.n_rows) - data.offsets[:-1][segment_index(data.offsets)]
    best = sort_values_within(value, data.offsets) * np.where(
        place < truncation, discount[place], 0.0
    )
    ideal = segment_sum(best, data.offsets)
    part = Performance(
        gain=value,
        discount=discount,
        inverse_ideal=np.divide(1.0, ideal, out=np.zeros(len(ideal)), where=ideal > 0),
        truncation=truncation,
        cost_kind=NO_COST,
        cost=np.zeros(0),
        cell=np.zeros(0, dtype=np.int32),
        cell_cost=np.zeros((0, 0)),
        pair_start=np.zeros(0, dtype=np.int64),
        pair_cost=np.zeros(0),
    )
    if pair_cost is not None:
        return _with_pair_cost(data, part, pair_cost, cost_mean)
    if data.cost is not None:
        return _with_item_costs(data, part, cost_combination, cost_mean)
    return part


def cost_sums(
    data: RankingData, *, cost_combination: str = "product", pair_cost: PairCost | None = None
) -> tuple[float, float]:
    """Add up the costs of the pairs of unequal relevance, and count these pairs.

    The sums of the parts of a data set add up, and their quotient is the mean of the whole.
    """
    if pair_cost is None:
        return _item_cost_sums(data, cost_combination)
    found, total, count = pair_cost.blocks(data), 0.0, 0.0
    for first, second in _compared(data):
        if len(first) == 0:
            continue
        if found is not None:
            costs = found[1][found[0][first], found[0][second]]
        else:
            costs = np.asarray(pair_cost.pairs(data, first, second), dtype=np.float64)
        total += float(np.abs(costs).sum())
        count += len(first)
    return total, count


def _item_cost_sums(data: RankingData, combination: str) -> tuple[float, float]:
    cost = np.asarray(data.cost, dtype=np.float64)
    y, query = np.asarray(data.y), data.query_of_rows()
    _, kind = np.unique(np.stack([query, y]), axis=1, return_inverse=True)
    kind = kind.ravel()
    mine = np.bincount(kind)[kind]
    others = np.diff(data.offsets)[query] - mine
    n_pairs = others.sum() / 2
    if combination == "product":
        whole = segment_sum(cost, data.offsets)
        total = ((whole**2).sum() - (np.bincount(kind, weights=cost) ** 2).sum()) / 2
    else:
        total = (cost * others).sum()
    return float(total), float(n_pairs)


def _with_item_costs(
    data: RankingData, part: Performance, combination: str, mean: float | None
) -> Performance:
    cost = np.asarray(data.cost, dtype=np.float64)
    if mean is None:
        total, n_pairs = _item_cost_sums(data, combination)
        if n_pairs == 0:
            return part
        mean = total / n_pairs
    if combination == "product":
        return part._replace(cost_kind=PRODUCT_COST, cost=cost / np.sqrt(mean))
    return part._replace(cost_kind=SUM_COST, cost=cost / mean)


def _with_pair_cost(
    data: RankingData, part: Performance, pair_cost: PairCost, mean: float | None
) -> Performance:
    found = pair_cost.blocks(data)
    sizes = np.diff(data.offsets)
    if found is not None:
        cells, matrix = found
        total, count = 0.0, 0.0
        for first, second in _compared(data):
            total += np.abs(matrix[cells[first], cells[second]]).sum()
            count += len(first)
        scale = mean or (total / count if total > 0 else 1.0)
        return part._replace(
            cost_kind=CELL_COST,
            cell=np.ascontiguousarray(cells, dtype=np.int32),
            cell_cost=np.ascontiguousarray(matrix, dtype=np.float64) / scale,
        )
    pairs = (sizes.astype(np.int64) ** 2).sum()
    if pairs > MOST_PAIRS:
        raise DataError(
            f"pair_cost must be a function of a few cells for lists this long: {pairs} pairs "
            f"would be kept one by one, and {MOST_PAIRS} is the most"
        )
    start = np.concatenate([[0], np.cumsum(sizes.astype(np.int64) ** 2)])
    costs = np.zeros(int(start[-1]))
    total, count = 0.0, 0.0
    for q, (first, second) in enumerate(_compared(data)):
        if len(first) == 0:
            continue
        given = np.asarray(pair_cost.pairs(data, first, second), dtype=np.float64)
        begin = data.offsets[q]
        costs[start[q] + (first - begin) * sizes[q] + (second - begin)] = given
        total += np.abs(given).sum()
        count += len(first)
    scale = mean or (total / count if total > 0 else 1.0)
    return part._replace(
        cost_kind=PAIR_COST, pair_start=start[:-1].astype(np.int64), pair_cost=costs / scale
    )


def _compared(data: RankingData) -> Any:
    """Go through the queries: stored rows (better, worse) of the pairs of unequal relevance."""
    y = np.asarray(data.y)
    for q in range(data.n_queries):
        begin, end = data.offsets[q : q + 2]
        grade = y[begin:end]
        better, worse = np.nonzero(grade[:, None] > grade[None, :])
        yield better + begin, worse + begin
