"""Policy: distributions over the rankings of each list, and Mixture, a finite one."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.given_data import as_ranking_data
from ..core.inputs import frozen
from ..core.metric import Metric
from ..core.params import Integer, Optional, check_params
from ..core.persistence import save
from ..core.random import generator
from ..core.ranking import Ranking
from ..core.registry import parse_metric
from ..core.table import Table
from ..kernels.discounts import discounts

__all__ = ["Mixture", "Policy"]


class Policy(ABC):
    """Base of all policies: ``sample`` draws rankings, from which the rest is computed.

    A policy is bound to the rows it ranks, its ``data``. A subclass writes `sample` and
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
        """Draw n rankings of every list, as a Ranking with n draws of equal weight."""

    @abstractmethod
    def marginals(self, k: int | None = None) -> list[np.ndarray]:
        """Return for each list the probability of each row (first axis) at positions 1, 2, ..., k.

        Rows are in input order within their list.
        """

    def exposure(
        self, n_samples: int | None = None, *, discount: str | Sequence[float] = "log2"
    ) -> np.ndarray:
        """Return the expected exposure of each row, in input order.

        Parameters
        ----------
        n_samples : int, optional
            Number of rankings to draw, by default 1,000.
        discount : {"log2", "zipf"} or sequence
            ``1/log2(1 + j)``, ``1/j``, or the exposure of positions 1, 2, ... (0 after its end).
        """
        return exposure_of(self.sample(n_samples or 1000, 0), discount)

    def expected(self, metric: Metric | str, n_samples: int = 1000, random_state: Any = 0) -> float:
        """Return the value of a metric under the policy, the mean over its lists.

        Metrics of the expectation, such as exposure, use the mean exposures; all others are
        averaged over the draws.

        Parameters
        ----------
        metric : Metric or str
            Such as ``"NDCG@10"``; the data of the policy must contain what it needs.
        n_samples : int
            Number of rankings to draw.
        random_state : int, Generator, RandomState or None
            Seed of the draws.
        """
        taken = parse_metric(metric) if isinstance(metric, str) else metric
        return float(taken.summarize(taken.per_query(self.sample(n_samples, random_state)))[0])

    def to_table(self) -> Table:
        """Return query, row and expected exposure, in input order."""
        data = self.data
        rows = np.arange(data.n_rows) if data.rows is None else np.sort(data.rows)
        query = data.to_original(data.qids[data.query_of_rows()])
        return Table({"query": query, "row": rows, "exposure": self.exposure()}, data.backend)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return query, row and expected exposure as a native data frame."""
        return self.to_table().to_frame(backend)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments that the policy was made from."""
        names = list(inspect.signature(type(self)).parameters)
        return {name: getattr(self, name) for name in names}

    def save(self, folder: str | Path) -> None:
        """Save the policy to a folder that `equirank.load` reads, without pickle."""
        save(self, folder)


def exposure_of(ranking: Ranking, discount: str | Sequence[float]) -> np.ndarray:
    """Return the mean exposure of each row over ties and draws, in input order."""
    longest = int(np.diff(ranking.data.offsets).max())
    weights = discounts(longest, discount)
    return ranking.data.to_original(ranking.expect(lambda position: weights[position - 1]))


class Mixture(Policy):
    """Policy over a few rankings of each list, each with its probability.

    Column generation and Birkhoff decompositions result in such policies. All values are exact;
    only `sample` draws.

    Parameters
    ----------
    ranking : Ranking, or array-like of shape (n_rows, n_draws)
        A Ranking with weighted draws, or positions in input order (1-based, 0 = not shown) with
        ``weights`` and ``qid``. One draw is a deterministic policy.
    weights : array-like of shape (n_draws,) or (n_queries, n_draws), optional
        Probability of each column; only with positions.
    qid : array-like, optional
        The list of each row; only with positions.

    Examples
    --------
    Two items of equal merit alternate:

    >>> from equirank.policies import Mixture
    >>> policy = Mixture([[1, 2], [2, 1]], weights=[0.5, 0.5])
    >>> policy.exposure().round(3)
    array([0.815, 0.815])
    >>> policy.sample(4, random_state=0).position
    array([[2, 1, 1, 1],
           [1, 2, 2, 2]], dtype=int32)
    """

    def __init__(self, ranking: Any, weights: Any = None, qid: Any = None) -> None:
        if isinstance(ranking, Ranking):
            if weights is not None or qid is not None:
                raise DataError("weights and qid must be None if a Ranking is given")
            self._mixed = ranking
        else:
            table = np.asarray(ranking)
            rows = as_ranking_data(position=table[:, 0] if table.ndim == 2 else table, qid=qid)
            self._mixed = Ranking.from_positions(rows, table, weights=weights)
        self.ranking = ranking
        self.weights = weights
        self.qid = qid
        self.data = self._mixed.data

    def sample(self, n: int = 1, random_state: Any = None) -> Ranking:
        """Draw n rankings of every list, independently per list.

        Parameters
        ----------
        n : int
            Number of draws.
        random_state : int, Generator, RandomState or None
            Seed of the draws.
        """
        check_params("sample", {"n": n}, {"n": Integer(1)})
        data, mixed = self.data, self._mixed
        if mixed.n_draws == 1:
            return mixed
        share = np.stack([weight for weight, _ in mixed.draws()], axis=1)
        edges = np.cumsum(share, axis=1)
        edges[:, -1] = np.inf  # rounding cannot select beyond the last draw
        spin = generator(random_state).random((data.n_queries, n))
        chosen = (spin[:, :, None] >= edges[:, None, :]).sum(axis=2)[data.query_of_rows()]
        position = np.take_along_axis(mixed.position, chosen, axis=1)
        last = None if mixed.last is None else np.take_along_axis(mixed.last, chosen, axis=1)
        if n == 1:
            position, last = position[:, 0], None if last is None else last[:, 0]
        return Ranking(data, frozen(position), None if last is None else frozen(last))

    def marginals(self, k: int | None = None) -> list[np.ndarray]:
        """Return for each list the probability of each row (first axis) at positions 1, 2, ..., k.

        Rows are in input order within their list; tied rows share the positions they span equally.
        """
        check_params("marginals", {"k": k}, {"k": Optional(Integer(1))})
        result = []
        for query, (begin, end) in enumerate(
            zip(self.data.offsets[:-1], self.data.offsets[1:], strict=True)
        ):
            position = np.arange(1, 1 + (end - begin if k is None else min(k, end - begin)))
            table = np.zeros((end - begin, len(position)))
            for weight, draw in self._mixed.draws():
                first = draw.position[begin:end, None]
                last = first if draw.last is None else draw.last[begin:end, None]
                inside = (first > 0) & (first <= position) & (position <= last)
                table += weight[query] * inside / (last - first + 1)
            result.append(table)
        return result

    def exposure(
        self, n_samples: int | None = None, *, discount: str | Sequence[float] = "log2"
    ) -> np.ndarray:
        """Return the exact expected exposure of each row, in input order.

        Parameters
        ----------
        n_samples : int, optional
            Number of rankings to draw, for an estimate instead.
        discount
            As in `Policy.exposure`.
        """
        ranking = self._mixed if n_samples is None else self.sample(n_samples, 0)
        return exposure_of(ranking, discount)

    def expected(self, metric: Metric | str, n_samples: int = 1000, random_state: Any = 0) -> float:
        """Return the exact value of a metric under the policy, the mean over its lists.

        Parameters
        ----------
        metric : Metric or str
            Such as ``"NDCG@10"``; the data of the policy must contain what it needs.
        n_samples, random_state
            Not used: the value is computed from all rankings of the mixture.
        """
        taken = parse_metric(metric) if isinstance(metric, str) else metric
        return float(taken.summarize(taken.per_query(self._mixed))[0])

    def save(self, folder: str | Path) -> None:
        """Save positions, weights and lists to a folder that `equirank.load` reads."""
        data, mixed = self.data, self._mixed
        share = np.stack([weight for weight, _ in mixed.draws()], axis=1)
        position = data.to_original(mixed.position.reshape(data.n_rows, -1))
        query = data.to_original(data.qids[data.query_of_rows()])
        Policy.save(Mixture(position, share, query), folder)
