"""PlackettLuce: a policy that draws each position by a softmax over the remaining items."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.given_data import as_scored_data, refuse_beside
from ..core.inputs import frozen
from ..core.params import Constraint, Integer, Number, Optional, check_params
from ..core.random import as_seed, generator
from ..core.ranking import Ranking
from ..kernels.discounts import discounts
from ..kernels.segments import sort_within
from .policy import Policy

__all__ = ["PlackettLuce"]


#: Longest list that is computed exactly if no number of samples is given.
EXACT = 8


class PlackettLuce(Policy):
    """Policy that draws each position by a softmax of the scores of the remaining items.

    ``P(ranking) = prod_j exp(s_j / T) / sum_{i >= j} exp(s_i / T)`` over the positions j = 1, 2,
    ..., with items numbered by position. Items of equal score are exchangeable; a list of one item
    has one ranking. Draws use the Gumbel trick: scores plus Gumbel noise are sorted, O(n log n).

    Parameters
    ----------
    scores : array-like or RankingData
        Log-strengths, one per row; higher values tend to rank first. Or data with scores, whose
        relevance and groups `expected` uses.
    qid : array-like, optional
        The list of each row.
    temperature : float
        T in the formula; as it tends to 0 the policy sorts by score, to infinity it is uniform.
    k : int, optional
        Only the top k are shown; the remaining rows have position 0 and no exposure.

    References
    ----------
    Plackett, The analysis of permutations, Journal of the Royal Statistical Society C, 1975.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank.policies import PlackettLuce
    >>> policy = PlackettLuce(np.log([2.0, 1.0, 1.0]))
    >>> round(float(np.exp(policy.log_prob([0, 1, 2]))), 6)
    0.25
    >>> policy.sample(3, random_state=0)
    Ranking(3 rows, 1 query, 3 draws)
    >>> policy.exposure().round(3)
    array([0.794, 0.669, 0.669])
    """

    def __init__(
        self, scores: Any, qid: Any = None, *, temperature: float = 1.0, k: int | None = None
    ) -> None:
        rules: dict[str, Constraint] = {
            "temperature": Number(0.0, open_low=True),
            "k": Optional(Integer(1)),
        }
        check_params("PlackettLuce", {"temperature": temperature, "k": k}, rules)
        self.scores = scores
        self.qid = qid
        self.temperature = temperature
        self.k = k
        if isinstance(scores, RankingData):
            refuse_beside({"qid": qid})
            if scores.score is None:
                raise DataError("scores must be given, but the data has none")
            self.data = scores
        else:
            self.data = as_scored_data(scores, qid=qid)

    @cached_property
    def _strength(self) -> np.ndarray:
        """Log-strengths of the stored rows."""
        return np.asarray(self.data.score, dtype=np.float64) / self.temperature

    @cached_property
    def _shown(self) -> np.ndarray:
        sizes = np.diff(self.data.offsets)
        return sizes if self.k is None else np.minimum(sizes, self.k)

    def sample(self, n: int = 1, random_state: Any = None) -> Ranking:
        """Draw n rankings of every list.

        Parameters
        ----------
        n : int
            Number of draws; the first draws of a longer sample are those of a shorter one.
        random_state : int, Generator, RandomState or None
            Seed of the draws.
        """
        check_params("sample", {"n": n}, {"n": Integer(1)})
        seed = as_seed(random_state)
        position = np.empty((self.data.n_rows, n), dtype=np.int32)
        for draw in range(n):
            position[:, draw] = self._positions(seed, draw)
        return Ranking(self.data, frozen(position[:, 0] if n == 1 else position))

    def log_prob(self, ranking: Any) -> Any:
        """Return the log-probability of a ranking.

        Parameters
        ----------
        ranking : array-like of int, or Ranking
            Rows of a single list, best first (the first positions suffice), or a Ranking of the
            same rows without ties. Positions after ``k`` do not count.

        Returns
        -------
        float or ndarray
            One number for one list and one draw; otherwise one per list, and a column per draw.
        """
        from ..kernels.softmax_orders import order_log_prob

        if isinstance(ranking, Ranking):
            columns = [self._order(draw) for _, draw in ranking.draws()]
        else:
            columns = [self._listed(ranking)]
        values = np.stack(
            [
                order_log_prob(
                    self._strength, order, self.data.offsets, np.minimum(shown, self._shown)
                )
                for order, shown in columns
            ],
            axis=1,
        )
        if values.size == 1:
            return float(values[0, 0])
        return values[:, 0] if len(columns) == 1 else values

    def entropy(self, n_samples: int | None = None, random_state: Any = 0) -> np.ndarray:
        """Return the entropy of the shown positions in nats, one number per list.

        Exact for lists of up to 8 items if ``n_samples`` is None; otherwise the mean over draws
        (1,000 by default) of the entropies of the choices along each.
        """
        from ..kernels.softmax_orders import exact_marginals, order_entropy

        offsets = self.data.offsets
        sizes = np.diff(offsets)
        exact = self._exact(n_samples)
        result = np.zeros(len(sizes))
        for query in np.flatnonzero(exact):
            score = self._strength[offsets[query] : offsets[query + 1]]
            result[query] = exact_marginals(score, int(self._shown[query]))[1]
        if exact.all():
            return result
        total, seed, count = np.zeros(len(sizes)), as_seed(random_state), n_samples or 1000
        for draw in range(count):
            order = self._drawn(seed, draw)
            total += order_entropy(self._strength, order, offsets, self._shown)
        return np.where(exact, result, total / count)

    def marginals(self, k: int | None = None, n_samples: int | None = None) -> list[np.ndarray]:
        """Return for each list the probability of each row (first axis) at positions 1, 2, ..., k.

        Exact for lists of up to 8 items if ``n_samples`` is None; otherwise shares in the draws
        (1,000 by default). Rows are in input order within their list. Needs n x k numbers per list.
        """
        from ..kernels.softmax_orders import exact_marginals

        check_params("marginals", {"k": k}, {"k": Optional(Integer(1))})
        exact = self._exact(n_samples)
        drawn = np.empty(0) if exact.all() else self.sample(n_samples or 1000, 0).position
        result = []
        for query, (begin, end) in enumerate(
            zip(self.data.offsets[:-1], self.data.offsets[1:], strict=True)
        ):
            n_positions = int(end - begin) if k is None else min(k, int(end - begin))
            if exact[query]:
                score = self._strength[begin:end]
                table = exact_marginals(score, min(n_positions, int(self._shown[query])))[0]
                table = np.pad(table, ((0, 0), (0, n_positions - table.shape[1])))
            else:
                position = drawn[begin:end].reshape(int(end - begin), -1)
                shares = [(position == j + 1).mean(axis=1) for j in range(n_positions)]
                table = np.stack(shares, axis=1)
            result.append(table)
        return result

    def exposure(
        self,
        n_samples: int | None = None,
        *,
        discount: str | Sequence[float] = "log2",
        random_state: Any = 0,
        return_error: bool = False,
    ) -> Any:
        """Return the expected exposure of each row, in input order.

        Parameters
        ----------
        n_samples : int, optional
            Number of rankings to draw. If None, lists of up to 8 items are computed exactly, and
            longer ones from 1,000 draws.
        discount : {"log2", "zipf"} or sequence
            ``1/log2(1 + j)``, ``1/j``, or the exposure of positions 1, 2, ... (0 after its end).
        random_state : int, Generator, RandomState or None
            Seed of the draws.
        return_error : bool
            Whether to return the standard errors as well, 0 for exact values.
        """
        from ..kernels.softmax_orders import exact_marginals

        rules = {"n_samples": Optional(Integer(2))}
        check_params("exposure", {"n_samples": n_samples}, rules)
        offsets = self.data.offsets
        weights = discounts(int(np.diff(offsets).max()), discount)
        exact = self._exact(n_samples)
        mean, error = np.zeros(self.data.n_rows), np.zeros(self.data.n_rows)
        if not exact.all():
            mean, error = self._sampled_exposure(weights, n_samples or 1000, as_seed(random_state))
        for query in np.flatnonzero(exact):
            rows = slice(offsets[query], offsets[query + 1])
            k = int(self._shown[query])
            mean[rows] = exact_marginals(self._strength[rows], k)[0] @ weights[:k]
            error[rows] = 0.0
        values = self.data.to_original(mean)
        return (values, self.data.to_original(error)) if return_error else values

    def _exact(self, n_samples: int | None) -> np.ndarray:
        return (np.diff(self.data.offsets) <= EXACT) & (n_samples is None)

    def _drawn(self, seed: int, draw: int) -> np.ndarray:
        """Return the stored rows of each list, best first, of one draw."""
        noise = generator(seed, draw).standard_exponential(self.data.n_rows)
        np.maximum(noise, np.finfo(np.float64).tiny, out=noise)
        return sort_within(self._strength - np.log(noise), self.data.offsets)

    def _positions(self, seed: int, draw: int) -> np.ndarray:
        order = self._drawn(seed, draw)
        sizes = np.diff(self.data.offsets)
        rank = np.arange(1, len(order) + 1) - np.repeat(self.data.offsets[:-1], sizes)
        if self.k is not None:
            rank[rank > self.k] = 0
        position = np.empty(len(order), dtype=np.int32)
        position[order] = rank
        return position

    def _sampled_exposure(
        self, weights: np.ndarray, count: int, seed: int
    ) -> tuple[np.ndarray, np.ndarray]:
        padded = np.concatenate([[0.0], weights])  # position 0 is not shown
        total, squares = np.zeros(self.data.n_rows), np.zeros(self.data.n_rows)
        for draw in range(count):
            value = padded[self._positions(seed, draw)]
            total += value
            squares += value * value
        mean = total / count
        variance = np.maximum(squares / count - mean * mean, 0.0) * count / (count - 1)
        return mean, np.sqrt(variance / count)

    def _order(self, draw: Ranking) -> tuple[np.ndarray, np.ndarray]:
        """Return the stored rows of a draw, best first, hidden ones last, and the number shown."""
        if draw.data is not self.data and not np.array_equal(draw.data.offsets, self.data.offsets):
            raise DataError("ranking must be of the rows of the policy")
        if draw.last is not None:
            raise DataError("ranking must be without ties to have a probability")
        position = draw.position.astype(np.float64)
        hidden = position == 0
        order = sort_within(np.where(hidden, -np.inf, -position), self.data.offsets)
        return order, np.add.reduceat(~hidden, self.data.offsets[:-1]).astype(np.int64)

    def _listed(self, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the same for rows of a single list, best first."""
        if self.data.n_queries > 1:
            raise DataError(
                f"ranking must be a Ranking for {self.data.n_queries} lists, got row numbers"
            )
        given = np.asarray(rows)
        known = np.arange(self.data.n_rows) if self.data.rows is None else self.data.rows
        if given.ndim != 1 or given.dtype.kind not in "iu" or len(np.unique(given)) != len(given):
            raise DataError("ranking must list row numbers, best first, each once")
        if not np.isin(given, known).all():
            wrong = given[~np.isin(given, known)][0]
            raise DataError(f"ranking must list rows of the policy, got {wrong}")
        stored = np.argsort(known)[np.searchsorted(np.sort(known), given)]
        rest = np.setdiff1d(np.arange(self.data.n_rows), stored)
        return np.concatenate([stored, rest]), np.array([len(given)])

    def _save_plain(self) -> "PlackettLuce":
        """Return an equal policy made of plain arrays, in input order."""
        data = self.data
        score = data.to_original(data.score)  # type: ignore[arg-type]
        query = data.to_original(data.qids[data.query_of_rows()])
        return PlackettLuce(score, query, temperature=self.temperature, k=self.k)

    def save(self, folder: Any) -> None:
        """Save scores and lists to a folder that `equirank.load` reads, without pickle."""
        Policy.save(self._save_plain(), folder)
