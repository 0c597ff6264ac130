"""Objective of LambdaMART: from scores to gradient and Hessian, with pair costs."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.errors import DataError
from ...core.pair_cost import PairCost
from ...kernels.cuda_lambdas import DeviceLists, DeviceSteps
from ...kernels.discounts import discounts, gains
from ...kernels.lambdas import (
    CELL_COST,
    NO_COST,
    PAIR_COST,
    PRODUCT_COST,
    SUM_COST,
    GroupSteps,
    Lists,
    Loss,
    Performance,
    pair_gradients,
)
from ...kernels.segments import segment_index, segment_sum, sort_values_within
from ...kernels.swaps import NO_FAIRNESS, PREFIXES, Fairness
from .fairness_terms import no_fairness
from .position_bias import PositionBias

__all__ = ["FairObjective", "cost_sums", "performance_part"]


class FairObjective:
    """Function from the scores of rows to the gradient and Hessian of relevance and fairness.

    `fair_objective` makes it, for any trainer that takes a custom objective; `LambdaMART` and
    `FairLambdaMART` use it too. It holds arrays only and is independent of LightGBM, so a Dask
    worker can make one for its own lists. Threads process blocks of queries of about equal work;
    each writes its own rows, so the number of threads does not change the result.

    Parameters
    ----------
    data : RankingData
        The lists.
    performance, fairness : Performance, Fairness
        Results of `performance_part` and `fairness_part` for the same data.
    alpha : float
        Share of the NDCG part.
    sigma : float
        Steepness of the sigmoid.
    normalize : bool or {"mixed", "parts"}
        Damp by score distance and normalise the size per query, as LightGBM does: of both parts
        together (True, ``"mixed"``), or of each apart.
    tied_pairs : bool
        Whether tied items have a fairness gradient in a combined loss.
    steady : bool
        Shrink the fairness step of lists whose gradient between groups changed sign since the last
        call. Lists with a target do not need it and are exempt.
    initial_divisor : float
        Divisor of the fairness gradient in the first call.
    n_threads : int
        Number of threads.
    input_order : bool
        Whether scores and results are in the caller's row order instead of that of the stored rows.
    sample_weight : ndarray, optional
        Weight of each stored row: both parts of a pair are multiplied by ``sqrt(w_i w_j)``.
    position_bias : PositionBias, optional
        Biases of the positions of the stored rows, which every call adds to the scores and changes.
    device : {"cpu", "cuda"}
        Where gradients are computed. On a CUDA device for two groups, metrics of prefixes and no
        costs other than those of items; other data is a `DataError`.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.rankers import fair_objective
    >>> sex = ["f", "m", "f", "m"]
    >>> data = as_ranking_data(None, [1, 0, 1, 0], qid=[1, 1, 2, 2], sensitive_features=sex)
    >>> objective = fair_objective(data, alpha=1.0, n_jobs=1)
    >>> grad, hess = objective(np.zeros(4))
    >>> grad.round(2), objective.n_rows
    (array([-0.23,  0.23, -0.23,  0.23]), 4)
    """

    def __init__(
        self,
        data: RankingData,
        performance: Performance,
        fairness: Fairness,
        *,
        alpha: float,
        sigma: float = 1.0,
        normalize: bool | str = True,
        tied_pairs: bool = False,
        steady: bool = True,
        initial_divisor: float = 1.0,
        n_threads: int = 1,
        input_order: bool = False,
        sample_weight: np.ndarray | None = None,
        position_bias: PositionBias | None = None,
        device: str = "cpu",
    ) -> None:
        offsets = np.array(data.offsets)
        self.performance, self.fairness = _writable(performance), _writable(fairness)
        self.alpha, self.sigma, self.normalize = float(alpha), float(sigma), normalize
        self.tied_pairs = bool(tied_pairs)
        weight = np.ones(data.n_queries)
        if data.query_weight is not None:
            weight = np.array(data.query_weight, dtype=np.float64)
        self.n_threads, self.steady, self.initial_divisor = n_threads, steady, initial_divisor
        #: Input row of each stored row; None if both orders are the same.
        self.rows = data.caller_rank if input_order and data.rows is not None else None
        sizes = np.diff(offsets)
        order = (np.arange(data.n_rows) - np.repeat(offsets[:-1], sizes)).astype(np.int32)
        root = np.zeros(0) if sample_weight is None else np.sqrt(sample_weight)
        self.lists = Lists(offsets, order, weight, root)
        self.position_bias = position_bias
        self.blocks = self._blocks(sizes, 1 if n_threads == 1 else 8 * n_threads)
        self.on_device: DeviceLists | None = None
        if device == "cuda":
            _check_device_data(self.performance, self.fairness)
            if sample_weight is not None or position_bias is not None:
                raise DataError('device must be "cpu" with weights or positions of items')
            cupy = require("cupy", "gpu")
            self.on_device = DeviceLists(cupy, self.lists, self.performance, self.fairness)
        self.reset()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.lists.offsets[-1])

    def reset(self) -> None:
        """Reset the step control to its state before the first call."""
        n_queries = len(self.lists.weight)
        adaptive = self.steady and not self.fairness.targeted
        columns = self.fairness.start.shape[1] if adaptive else 0
        divisor = np.full(n_queries, self.initial_divisor if adaptive else 1.0)
        self.steps = GroupSteps(divisor, np.zeros((n_queries, columns)))
        if self.position_bias is not None:
            self.position_bias.reset()
        if self.on_device is not None:
            self.device_steps = DeviceSteps(self.on_device.cupy, self.steps)

    @property
    def state(self) -> np.ndarray | None:
        """The step control: per query the divisor and the last gradients between groups.

        None if the objective has no step control.
        """
        if self.steps.last_grad.shape[1] == 0 or self.fairness.kind == NO_FAIRNESS:
            return None
        return np.column_stack([self.steps.divisor, self.steps.last_grad])

    def restore(self, state: np.ndarray) -> None:
        """Continue with an earlier `state` of the same lists."""
        self.steps.divisor[:], self.steps.last_grad[:] = state[:, 0], state[:, 1:]

    @staticmethod
    def _blocks(sizes: np.ndarray, n_blocks: int) -> list[tuple[int, int]]:
        """Cut the queries into blocks of about equal numbers of pairs."""
        work = np.cumsum(sizes.astype(np.float64) ** 2)
        marks = np.searchsorted(work, work[-1] * np.arange(1, n_blocks) / n_blocks, side="left") + 1
        edges = np.unique(np.concatenate([[0], marks, [len(sizes)]]))
        return [(int(a), int(b)) for a, b in pairwise(edges)]

    def __call__(
        self, score: np.ndarray, dataset: Any = None, *, dtype: Any = np.float64
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient and Hessian of each row at these scores.

        Parameters
        ----------
        score : ndarray
            One score per row. On a CUDA device also an array of CuPy, which makes the results such
            arrays.
        dataset : object, optional
            What a trainer passes besides. If it is XGBoost's, which accepts arrays of the device,
            results on a CUDA device are not copied back.
        dtype : dtype
            Type of the results.

        Raises
        ------
        DataError
            If the scores have another length or are not finite.
        """
        if self.on_device is not None:
            return self._from_device(score, dataset, dtype)
        score = self._checked(score)
        if self.rows is not None:
            score = score[self.rows]
        grad, hess = np.empty(len(score), dtype), np.empty(len(score), dtype)
        if self.position_bias is None:
            self._write(score, grad, hess)
        else:
            self._write(score + self.position_bias.of_rows(), grad, hess)
            self.position_bias.update(grad, hess)
        if self.rows is None:
            return grad, hess
        given = np.empty_like(grad), np.empty_like(hess)
        given[0][self.rows], given[1][self.rows] = grad, hess
        return given

    def _from_device(self, score: Any, dataset: Any, dtype: Any) -> tuple[Any, Any]:
        """Return gradient and Hessian of each row, computed on the device."""
        lists: Any = self.on_device
        cupy = lists.cupy
        stays = isinstance(score, cupy.ndarray)
        stays |= type(dataset).__module__.split(".")[0] == "xgboost"
        values = self._checked(score, cupy)
        if self.rows is not None:
            values = values[cupy.asarray(self.rows)]
        parts = ("ndcg", "fair") if self.normalize == "parts" else ("both",)
        grad, hess = 0.0, 0.0
        for part in parts:
            found = lists.gradients(values, self._loss(), self.device_steps, part)
            grad, hess = grad + found[0], hess + found[1]
        results = []
        for stored in (grad, hess):
            result = cupy.empty(self.n_rows, dtype=dtype)
            result[slice(None) if self.rows is None else cupy.asarray(self.rows)] = stored
            results.append(result if stays else cupy.asnumpy(result))
        return results[0], results[1]

    def _loss(self) -> Loss:
        return Loss(self.alpha, self.sigma, bool(self.normalize), self.tied_pairs)

    def _checked(self, score: Any, numpy: Any = np) -> Any:
        """Return the scores as one contiguous column; ``numpy`` may be CuPy."""
        values = numpy.ascontiguousarray(numpy.asarray(score, dtype=np.float64)).reshape(-1)
        if len(values) != self.n_rows:
            raise DataError(
                f"score of FairObjective must have one number per row ({self.n_rows}), got "
                f"{len(values)}"
            )
        if not numpy.isfinite(values).all():
            at = int(numpy.flatnonzero(~numpy.isfinite(values))[0])
            raise DataError(f"score of FairObjective must be finite, got {values[at]} in row {at}")
        return values

    def _write(self, score: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Write gradient and Hessian of the stored rows, block by block."""
        loss = self._loss()
        parts = [(self.performance, self.fairness)]
        if self.normalize == "parts":
            no_ndcg = np.zeros_like(self.performance.inverse_ideal)
            parts = [
                (self.performance, no_fairness(self.n_rows, len(no_ndcg))),
                (self.performance._replace(inverse_ideal=no_ndcg), self.fairness),
            ]
        self._write_part(score, loss, *parts[0], grad, hess)
        for part in parts[1:]:
            more = np.empty_like(grad), np.empty_like(hess)
            self._write_part(score, loss, *part, *more)
            grad += more[0]
            hess += more[1]

    def _write_part(
        self,
        score: np.ndarray,
        loss: Loss,
        performance: Performance,
        fairness: Fairness,
        grad: np.ndarray,
        hess: np.ndarray,
    ) -> None:
        """Write the derivatives of one sum of pairs, normalised by itself."""

        def work(block: tuple[int, int]) -> None:
            pair_gradients(
                *block, score, self.lists, loss, performance, fairness, self.steps, grad, hess
            )

        if len(self.blocks) == 1:
            work(self.blocks[0])
        else:
            with ThreadPoolExecutor(self.n_threads) as pool:
                for _ in pool.map(work, self.blocks):
                    pass


def _check_device_data(performance: Performance, fairness: Fairness) -> None:
    """Raise if the kernel of the device cannot compute these terms."""
    if fairness.kind != PREFIXES or fairness.start.shape[1] != 1 or len(fairness.members) > 0:
        raise DataError(
            'device must be "cpu" unless labels are known and fairness is a metric of prefixes '
            '("rnd", "rkl", "rrd") of two groups, or of one group (protected) and everyone else'
        )
    if performance.cost_kind not in (NO_COST, PRODUCT_COST, SUM_COST):
        raise DataError('device must be "cpu" with pair_cost; costs of items are possible')


def _writable(part: Any) -> Any:
    """Return a part whose arrays are writable: one type, so one compiled function."""
    fields = part._asdict()
    for name, value in fields.items():
        if isinstance(value, np.ndarray) and not value.flags.writeable:
            fields[name] = np.array(value)
    return type(part)(**fields)


#: Maximum number of pairs whose costs are stored one by one (1 GiB).
MAX_PAIRS = 1 << 27


def performance_part(
    data: RankingData,
    *,
    gain: str = "exp2",
    truncation: int = 30,
    cost_combination: str = "product",
    pair_cost: PairCost | None = None,
    cost_mean: float | None = None,
    rules: str = "equirank",
) -> Performance:
    """Return the gains, discounts and pair costs that the objective reads.

    Costs are divided by their mean over the pairs of unequal relevance, so that equal costs have no
    effect and ``alpha`` keeps its meaning. ``cost_mean`` is that mean if the data is a part of a
    larger data set (see `cost_sums`). With the rules of LambdaFair, positions after the truncation
    have no discount.
    """
    y = np.asarray(data.y, dtype=np.float64)
    gain_of_row = gains(y, gain)
    longest = int(np.diff(data.offsets).max())
    discount = np.ascontiguousarray(discounts(longest, "log2"))
    rank = np.arange(data.n_rows) - data.offsets[:-1][segment_index(data.offsets)]
    discounted = sort_values_within(gain_of_row, data.offsets) * np.where(
        rank < truncation, discount[rank], 0.0
    )
    ideal = segment_sum(discounted, data.offsets)
    if rules == "lambdafair":
        discount = np.where(np.arange(longest) < truncation, discount, 0.0)
    part = Performance(
        gain=gain_of_row,
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
    """Return the total cost and the number of the pairs of unequal relevance.

    The sums of the parts of a data set add up; their ratio is the mean cost of the whole.
    """
    if pair_cost is None:
        return _item_cost_sums(data, cost_combination)
    cells, total, count = pair_cost.blocks(data), 0.0, 0.0
    for first, second in _unequal_pairs(data):
        if len(first) == 0:
            continue
        if cells is not None:
            costs = cells[1][cells[0][first], cells[0][second]]
        else:
            costs = np.asarray(pair_cost.pairs(data, first, second), dtype=np.float64)
        total += float(np.abs(costs).sum())
        count += len(first)
    return total, count


def _item_cost_sums(data: RankingData, combination: str) -> tuple[float, float]:
    cost = np.asarray(data.cost, dtype=np.float64)
    y, query = np.asarray(data.y), data.query_of_rows()
    _, grade = np.unique(np.stack([query, y]), axis=1, return_inverse=True)
    grade = grade.ravel()
    n_unequal = np.diff(data.offsets)[query] - np.bincount(grade)[grade]
    n_pairs = n_unequal.sum() / 2
    if combination == "product":
        whole = segment_sum(cost, data.offsets)
        total = ((whole**2).sum() - (np.bincount(grade, weights=cost) ** 2).sum()) / 2
    else:
        total = (cost * n_unequal).sum()
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
    if found is None:
        return _with_listed_costs(data, part, pair_cost, mean)
    cells, matrix = found
    total, count = 0.0, 0.0
    for first, second in _unequal_pairs(data):
        total += np.abs(matrix[cells[first], cells[second]]).sum()
        count += len(first)
    scale = mean or (total / count if total > 0 else 1.0)
    return part._replace(
        cost_kind=CELL_COST,
        cell=np.ascontiguousarray(cells, dtype=np.int32),
        cell_cost=np.ascontiguousarray(matrix, dtype=np.float64) / scale,
    )


def _with_listed_costs(
    data: RankingData, part: Performance, pair_cost: PairCost, mean: float | None
) -> Performance:
    sizes = np.diff(data.offsets)
    start = np.concatenate([[0], np.cumsum(sizes.astype(np.int64) ** 2)])
    if start[-1] > MAX_PAIRS:
        raise DataError(
            f"pair_cost must be a function of a few cells for lists this long: {start[-1]} pairs "
            f"would be stored one by one, and {MAX_PAIRS} is the maximum"
        )
    costs = np.zeros(int(start[-1]))
    total, count = 0.0, 0.0
    for q, (first, second) in enumerate(_unequal_pairs(data)):
        if len(first) == 0:
            continue
        values = np.asarray(pair_cost.pairs(data, first, second), dtype=np.float64)
        begin = data.offsets[q]
        costs[start[q] + (first - begin) * sizes[q] + (second - begin)] = values
        total += np.abs(values).sum()
        count += len(first)
    scale = mean or (total / count if total > 0 else 1.0)
    return part._replace(
        cost_kind=PAIR_COST, pair_start=start[:-1].astype(np.int64), pair_cost=costs / scale
    )


def _unequal_pairs(data: RankingData) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the stored rows (better, worse) of the pairs of unequal relevance of each query."""
    y = np.asarray(data.y)
    for q in range(data.n_queries):
        begin, end = data.offsets[q : q + 2]
        grade = y[begin:end]
        better, worse = np.nonzero(grade[:, None] > grade[None, :])
        yield better + begin, worse + begin
