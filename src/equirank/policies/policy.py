"""Policy: a distribution over the rankings of each list."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.metric import Metric
from ..core.names import parse_metric
from ..core.ranking import Ranking
from ..core.saving import save
from ..core.table import Table
from ..kernels.discounts import discounts

__all__ = ["Policy"]


class Policy(ABC):
    """Base of all policies: ``sample`` draws rankings, the rest is read off them.

    A policy is bound to the rows it ranks, its ``data``. A new one writes `sample` and
    `marginals`; exposures, expected metrics and tables follow from these.

    Examples
    --------
    >>> from equirank.policies import PlackettLuce, Policy
    >>> isinstance(PlackettLuce([1.0, 0.0]), Policy)
    True
    """

    data: RankingData

    @abstractmethod
    def sample(self, n: int = 1, random_state: Any = None) -> Ranking:
        """Draw n rankings of every list: a Ranking with n draws of equal weight."""

    @abstractmethod
    def marginals(self, k: int | None = None) -> list[np.ndarray]:
        """Give, list by list, the probability of each row (first axis) at each place 1, 2, ..., k.

        Rows stand in the caller's order within their list.
        """

    def exposure(
        self, n_samples: int | None = None, *, discount: str | Sequence[float] = "log2"
    ) -> np.ndarray:
        """Give each row's expected exposure, in the caller's row order.

        Parameters
        ----------
        n_samples : int, optional
            Draw so many rankings instead of taking the policy's own way.
        discount : {"log2", "zipf"} or sequence
            ``1/log2(1 + j)``, ``1/j``, or the attention of places 1, 2, ... (0 behind its end).
        """
        return exposure_of(self.sample(n_samples or 1000, 0), discount)

    def expected(self, metric: Metric | str, n_samples: int = 1000, random_state: Any = 0) -> float:
        """Give a metric's value under the policy, as the mean over its lists.

        Metrics of the expectation (exposures, for one) are taken of the mean exposures; all others
        are averaged over the draws.

        Parameters
        ----------
        metric : Metric or str
            Such as ``"NDCG@10"``; the policy's data must hold what it needs.
        n_samples : int
            How many rankings are drawn.
        random_state : int, Generator, RandomState or None
            Seed of the draws.
        """
        taken = parse_metric(metric) if isinstance(metric, str) else metric
        return float(taken.summarize(taken.per_query(self.sample(n_samples, random_state)))[0])

    def to_table(self) -> Table:
        """Give query, row and expected exposure, in the caller's row order."""
        data = self.data
        rows = np.arange(data.n_rows) if data.rows is None else np.sort(data.rows)
        query = data.to_original(data.qids[data.query_of_rows()])
        return Table({"query": query, "row": rows, "exposure": self.exposure()}, data.backend)

    def to_frame(self, backend: str | None = None) -> Any:
        """Give query, row and expected exposure as a native data frame."""
        return self.to_table().to_frame(backend)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give what the policy was made from."""
        names = list(inspect.signature(type(self)).parameters)
        return {name: getattr(self, name) for name in names}

    def save(self, folder: str | Path) -> None:
        """Save the policy into a folder that `equirank.load` reads; no pickle is involved."""
        save(self, folder)


def exposure_of(ranking: Ranking, discount: str | Sequence[float]) -> np.ndarray:
    """Give the mean exposure of each row over ties and draws, in the caller's row order."""
    longest = int(np.diff(ranking.data.offsets).max())
    weights = discounts(longest, discount)
    return ranking.data.to_original(ranking.expect(lambda place: weights[place - 1]))
