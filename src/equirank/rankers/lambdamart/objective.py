"""The objective: scores in, gradient and curvature out, in the form LightGBM asks for."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...kernels.lambdas import Performance, pair_gradients
from ...kernels.swaps import Fairness

__all__ = ["Objective"]


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
        """Give gradient and curvature of each stored row at these scores."""
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
    """Give a part whose arrays can all be written to: one type, so one compiled function."""
    fields = part._asdict()
    for name, value in fields.items():
        if isinstance(value, np.ndarray) and not value.flags.writeable:
            fields[name] = np.array(value)
    return type(part)(**fields)
