"""UncertainMerit: random rankings that follow the chance of each item to merit its position."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, kron, vstack

from ..core import inputs
from ..core.data import RankingData, counted_anew
from ..core.declared import OnlyWith
from ..core.errors import InfeasibleError
from ..core.given_data import as_ranking_data
from ..core.metric import DISCOUNT
from ..core.params import Choice, Number
from ..core.ranking import Ranking
from ..core.reranker import Reranker
from ..kernels.discounts import discounts
from ..policies.policy import Mixture
from .exposure_program import birkhoff_decomposition, side_by_side
from .group_bounds import NoBounds
from .reranking import Reranking

__all__ = ["UncertainMerit"]


class UncertainMerit(Reranker):
    """Random rankings in which the chances of each item follow its uncertain merit.

    The merit of items is often known only up to a posterior. A ranking is phi-fair if every item i
    is among the first j with a probability of at least ``phi M_ij`` for every j, where ``M_ij`` is
    the probability that i is among the j of largest merit. Of two candidates who are better with
    chances 0.6 and 0.4, the second then comes first in 40% of the rankings at phi = 1, and never at
    phi = 0, which is the order of expected merit. No groups are used.

    The ranking that is given has a draw per draw of merit (`Ranking.from_scores` of a matrix), and
    the score is the expected merit. A ranking of one draw is certain and stays as it is. Ties in a
    draw count by their exact chances; items that were not shown stay so.

    Parameters
    ----------
    phi : float
        Share of the merited chances that is guaranteed, in [0, 1].
    method : {"mixture", "program"}
        ``"mixture"``: the order of a random draw of merit with probability phi, otherwise that of
        expected merit. ``"program"``: the phi-fair ranking of largest expected utility, a linear
        program in n^2 variables for lists of up to about 60 items; never of less utility.
    discount : {"log2", "zipf"} or sequence
        Attention of the positions in the utility of the program.

    References
    ----------
    Singh, Kempe and Joachims, Fairness in ranking under uncertainty, NeurIPS 2021.

    Examples
    --------
    >>> from equirank.rerankers import UncertainMerit
    >>> draws = [[5, 4, 3, 1, 3], [1, 2, 2, 4, 2], [0, 0, 0, 0, 4]]
    >>> policy = UncertainMerit(phi=1.0).fit_policy(draws)
    >>> policy.marginals(1)[0].round(2).ravel()
    array([0.6, 0.2, 0.2])
    >>> UncertainMerit(phi=0.5).fit_policy(draws).marginals(1)[0].round(2).ravel()
    array([0.8, 0.1, 0.1])
    """

    positional = ("phi",)
    plain_name: ClassVar[str] = "A random order where scores are uncertain"
    needs: ClassVar[frozenset[str]] = frozenset({"score"})
    only_with: ClassVar[OnlyWith] = {"discount": ("method", ("program",))}
    phi: Annotated[float, Number(0.0, 1.0)] = 1.0
    method: Annotated[Literal["mixture", "program"], Choice("mixture", "program")] = "mixture"
    discount: Annotated[str | Sequence[float], DISCOUNT] = "log2"

    test_params: ClassVar[Mapping[str, Any]] = {}

    def fit_policy(self, merit: Any, *, qid: Any = None) -> Mixture:
        """Return the policy for draws of merit.

        Parameters
        ----------
        merit : array-like of shape (n_rows, n_draws)
            Draws of the merit of each row from its posterior.
        qid : array-like, optional
            As in `as_ranking_data`.
        """
        table = np.asarray(merit, dtype=np.float64)
        first = table[:, 0] if table.ndim == 2 and table.shape[1] else table
        data = as_ranking_data(qid=qid, score=first)
        return Mixture(self(Ranking.from_scores(data, table)))

    def _rerank(self, ranking: Ranking) -> Reranking:
        data = ranking.data
        words = f"every item has at least {self.phi:g} times the chance of the top that it merits"
        made: dict[str, Any] = {
            "before": _expected_order(ranking),
            "bounds": NoBounds(words),
            "reranker": self,
        }
        if ranking.n_draws == 1:
            return Reranking(data, ranking.position, ranking.last, **made)
        if self.method == "program":
            position, share = self._program(ranking)
            return Reranking.from_draws(made.pop("before"), position, weights=share, **made)
        draws = [*ranking.draws(), (np.ones(data.n_queries), made["before"])]
        shares = [self.phi] * ranking.n_draws + [1.0 - self.phi]
        weight = np.stack([s * w for s, (w, _) in zip(shares, draws, strict=True)], axis=1)
        position = np.stack([draw.position for _, draw in draws], axis=1)
        lasts = [draw.position if draw.last is None else draw.last for _, draw in draws]
        last = np.stack(lasts, axis=1)
        tied = bool((last != position).any())
        return Reranking(
            data,
            inputs.frozen(position),
            inputs.frozen(last) if tied else None,
            inputs.frozen(weight),
            **made,
        )

    def _program(self, ranking: Ranking) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and weights of the best phi-fair ranking of each list."""
        data = ranking.data
        shown: np.ndarray = np.any(ranking.position > 0, axis=1)
        found, weights = [], []
        for query, (begin, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
            inside = begin + np.flatnonzero(shown[begin:end])
            merited = _merited(ranking, query, inside)
            places = np.full((1, end - begin), -1)
            weight = np.ones(1)
            if len(inside):
                utility = np.asarray(data.score)[inside]
                weight, best = self._best(utility, merited, data, query)
                places = np.full((len(weight), end - begin), -1)
                places[:, inside - begin] = best
            found.append(places)
            weights.append(weight)
        return side_by_side(found, weights, data.offsets, None)

    def _best(
        self, utility: np.ndarray, merited: np.ndarray, data: RankingData, query: int
    ) -> tuple[np.ndarray, np.ndarray]:
        n = len(utility)
        attention = discounts(n, self.discount)
        ones, identity = csr_array(np.ones((1, n))), csr_array(np.eye(n))
        solved = linprog(
            -np.outer(utility, attention).ravel(),
            A_eq=vstack([kron(identity, ones), kron(ones, identity)]).tocsr(),
            b_eq=np.ones(2 * n),
            A_ub=-kron(identity, csr_array(np.tri(n))).tocsr(),
            b_ub=-float(self.phi) * merited.ravel() + 1e-12,
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if solved.x is None:  # the draws themselves are phi-fair, so rounding alone leads here
            raise InfeasibleError(f"the program of query {data.qids[query]!r} has no solution")
        return birkhoff_decomposition(solved.x.reshape(n, n))


def _merited(ranking: Ranking, query: int, rows: np.ndarray) -> np.ndarray:
    """Return the chance of each row to be among the first 1, 2, ... by merit."""
    tops = np.arange(1, len(rows) + 1)
    chance = np.zeros((len(rows), len(rows)))
    for weight, draw in ranking.draws():
        first = draw.position[rows, None]
        last = first if draw.last is None else draw.last[rows, None]
        share = np.clip((tops - first + 1) / (last - first + 1), 0.0, 1.0)
        chance += weight[query] * share * (first > 0)
    return chance


def _expected_order(ranking: Ranking) -> Ranking:
    """Return the order of expected merit, to which moves and price refer, of the shown items."""
    data = ranking.data
    if ranking.n_draws == 1:
        return ranking
    order = Ranking.from_scores(data)
    hidden = ~(ranking.position > 0).any(axis=1)
    if not hidden.any():
        return order
    places = counted_anew(np.where(hidden, 0, order.position), data.offsets)
    return Ranking.from_positions(data, data.to_original(places))
