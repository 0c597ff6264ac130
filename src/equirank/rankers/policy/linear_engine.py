"""LinearEngine: compiled training of a linear policy on the CPU, list by list or in batches."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from ...core.data import RankingData
from ...core.inputs import frozen
from ...core.random import generator
from ...kernels.policy_gradient import batch_gradient, train_in_turn
from .rewards import Rewards

__all__ = ["LinearEngine"]

#: Lists per call of the compiled loop, so that training can be interrupted and show progress.
CHUNK = 2048
#: Number of parts in which a batch is summed, whatever the number of threads.
PARTS = 8


class LinearEngine:
    """Trains the coefficients of a linear scorer by policy gradients and Adam."""

    def __init__(self, data: RankingData, reward: Rewards, settings: dict[str, Any]) -> None:
        self.data, self.reward, self.settings = data, reward, settings
        X = np.ascontiguousarray(data.X)
        # Frozen whoever made them: one type of argument, so one compiled function.
        self.X = frozen(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64))
        start = generator(settings["seed"], 0).uniform(-1e-3, 1e-3, self.X.shape[1])
        self.coef = np.asarray(start, dtype=self.X.dtype)
        self.first, self.second = np.zeros_like(self.coef), np.zeros_like(self.coef)
        self.step = 0
        self.facts = np.zeros((data.n_queries, 3))
        weight = data.query_weight
        self.query_weight = frozen(
            np.ones(data.n_queries) if weight is None else np.asarray(weight, float)
        )

    def epoch(self, number: int) -> Iterator[int]:
        """Process all lists once in random order; yield the number of lists of each chunk."""
        order = generator(self.settings["seed"], 1, number).permutation(self.data.n_queries)
        if self.settings["batch_size"] == 1:
            for begin in range(0, len(order), CHUNK):
                queries = order[begin : begin + CHUNK]
                self.step = train_in_turn(
                    self.X, self.data.offsets, queries, self.coef, self.first, self.second,
                    self.step, self.settings["learning_rate"], *self._fixed(), self._seed(),
                    number, self.facts,
                )  # fmt: skip
                yield len(queries)
            return
        threads = effective_n_jobs(self.settings["n_jobs"])
        with ThreadPoolExecutor(threads) as pool:
            size = self.settings["batch_size"]
            for begin in range(0, len(order), size):
                queries = order[begin : begin + size]
                self._batch(queries, number, pool)
                yield len(queries)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Score rows."""
        return np.asarray(X @ self.coef, dtype=np.float64)

    def _fixed(self) -> tuple[Any, ...]:
        """Return the arguments that do not change from list to list."""
        r, s = self.reward, self.settings
        return (
            r.gain, r.stop, frozen(r.merit), r.group, r.n_groups, r.theta, r.attention,
            self.query_weight,
            float(s["lam"]), r.disparity, float(s["entropy"]), s["n_samples"],
            s["gradient"] == "plrank", s["baseline"] == "leave_one_out",
        )  # fmt: skip

    def _seed(self) -> int:
        return int(self.settings["seed"]) & 0x7FFFFFFFFFFFFFFF

    def _batch(self, queries: np.ndarray, number: int, pool: ThreadPoolExecutor) -> None:
        parts = [part for part in np.array_split(queries, PARTS) if len(part)]
        grads = [np.zeros_like(self.coef) for _ in parts]

        def work(at: int) -> None:
            batch_gradient(
                self.X, self.data.offsets, parts[at], self.coef, *self._fixed(), self._seed(),
                number, grads[at], self.facts,
            )  # fmt: skip

        list(pool.map(work, range(len(parts))))
        grad = np.add.reduce(grads) / len(queries)
        self.step += 1
        self.first = 0.9 * self.first + 0.1 * grad
        self.second = 0.999 * self.second + 0.001 * grad * grad
        rate = self.settings["learning_rate"] / (1.0 - 0.9**self.step)
        root = np.sqrt(self.second / (1.0 - 0.999**self.step)) + 1e-8
        self.coef = (self.coef + rate * self.first / root).astype(self.X.dtype)
