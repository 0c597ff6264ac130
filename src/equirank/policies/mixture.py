"""Mixture: a few rankings with their probabilities."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core import columns as door
from ..core.data import as_ranking_data
from ..core.errors import DataError
from ..core.metric import Metric
from ..core.names import parse_metric
from ..core.params import Integer, Optional, check_params
from ..core.random import generator
from ..core.ranking import Ranking
from .policy import Policy, exposure_of

__all__ = ["Mixture"]


class Mixture(Policy):
    """A few rankings of each list, one of which is shown, each with its probability.

    What column generation and Birkhoff decompositions give. All numbers are exact: nothing is
    sampled but `sample`.

    Parameters
    ----------
    ranking : Ranking, or array-like of shape (n_rows, n_draws)
        A Ranking with weighted draws, or positions in the caller's row order (1-based, 0 = not
        shown) with ``weights`` and ``qid`` beside them. One draw is a policy without chance.
    weights : array-like of shape (n_draws,) or (n_queries, n_draws), optional
        How likely each column is; only beside positions.
    qid : array-like, optional
        The list of each row; only beside positions.

    Examples
    --------
    Two items of equal merit take turns:

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
                raise DataError("weights and qid must be None beside a Ranking")
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
        """Draw n rankings of every list, each list by itself.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, Generator, RandomState or None
            Seed of the draws.
        """
        check_params("sample", {"n": n}, {"n": Integer(1)})
        data, mixed = self.data, self._mixed
        if mixed.n_draws == 1:
            return mixed
        share = np.stack([weight for weight, _ in mixed.draws()], axis=1)
        edges = np.cumsum(share, axis=1)
        edges[:, -1] = np.inf  # rounding cannot point behind the last
        spin = generator(random_state).random((data.n_queries, n))
        chosen = (spin[:, :, None] >= edges[:, None, :]).sum(axis=2)[data.query_of_rows()]
        position = np.take_along_axis(mixed.position, chosen, axis=1)
        last = None if mixed.last is None else np.take_along_axis(mixed.last, chosen, axis=1)
        if n == 1:
            position, last = position[:, 0], None if last is None else last[:, 0]
        return Ranking(data, door.frozen(position), None if last is None else door.frozen(last))

    def marginals(self, k: int | None = None) -> list[np.ndarray]:
        """Give, list by list, the probability of each row (first axis) at each place 1, 2, ..., k.

        Rows stand in the caller's order within their list; tied rows share their places.
        """
        check_params("marginals", {"k": k}, {"k": Optional(Integer(1))})
        result = []
        for query, (begin, end) in enumerate(
            zip(self.data.offsets[:-1], self.data.offsets[1:], strict=True)
        ):
            places = np.arange(1, 1 + (end - begin if k is None else min(k, end - begin)))
            table = np.zeros((end - begin, len(places)))
            for weight, draw in self._mixed.draws():
                first = draw.position[begin:end, None]
                last = first if draw.last is None else draw.last[begin:end, None]
                inside = (first > 0) & (first <= places) & (places <= last)
                table += weight[query] * inside / (last - first + 1)
            result.append(table)
        return result

    def exposure(
        self, n_samples: int | None = None, *, discount: str | Sequence[float] = "log2"
    ) -> np.ndarray:
        """Give each row's expected exposure, exactly, in the caller's row order.

        Parameters
        ----------
        n_samples : int, optional
            Draw so many rankings instead.
        discount : {"log2", "zipf"} or sequence
            ``1/log2(1 + j)``, ``1/j``, or the attention of places 1, 2, ... (0 behind its end).
        """
        ranking = self._mixed if n_samples is None else self.sample(n_samples, 0)
        return exposure_of(ranking, discount)

    def expected(self, metric: Metric | str, n_samples: int = 1000, random_state: Any = 0) -> float:
        """Give a metric's value under the policy, exactly, as the mean over its lists.

        Parameters
        ----------
        metric : Metric or str
            Such as ``"NDCG@10"``; the policy's data must hold what it needs.
        n_samples, random_state
            Not used: all rankings of the mixture are weighed.
        """
        taken = parse_metric(metric) if isinstance(metric, str) else metric
        return float(taken.summarize(taken.per_query(self._mixed))[0])

    def save(self, folder: str | Path) -> None:
        """Save positions, weights and lists into a folder that `equirank.load` reads."""
        data, mixed = self.data, self._mixed
        share = np.stack([weight for weight, _ in mixed.draws()], axis=1)
        position = data.to_original(mixed.position.reshape(data.n_rows, -1))
        query = data.to_original(data.qids[data.query_of_rows()])
        Policy.save(Mixture(position, share, query), folder)
