"""EpsilonGreedy: a stochastic baseline that swaps positions at random."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np

from ..core.params import Number
from ..core.random import label_keys
from ..core.ranking import Ranking
from .group_bounds import NoBounds
from .guaranteed import DrawnReranker
from .reranking import Reranking

__all__ = ["EpsilonGreedy"]


class EpsilonGreedy(DrawnReranker):
    """Swap each position, from the top, with a random later one with probability eps.

    With probability ``1 - eps`` position j keeps its item; otherwise the item is drawn uniformly
    from those behind it. This stochastic baseline spreads exposure but uses no groups and
    guarantees none of them a share. With eps = 0 the order is unchanged.

    Ties are taken in input order; only the order of scores is used. Items behind the cutoff may be
    drawn into the top. Rows that were not shown stay so. The draws of a list depend only on the
    seed and the label of its query.

    Parameters
    ----------
    eps : float
        Probability of a swap, in [0, 1].

    References
    ----------
    Sutton and Barto, Reinforcement learning: an introduction, 2018, chapter 2 (the rule for one
    choice).

    Examples
    --------
    >>> from equirank.rerankers import EpsilonGreedy
    >>> result = EpsilonGreedy(0.3, n_draws=1000, random_state=0).rerank([3, 2, 1])
    >>> first = result.expect(lambda position: position == 1)
    >>> bool(abs(first[0] - 0.7) < 0.05)  # the first item stays with probability 1 - eps
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    positional = ("eps", "k", "n_draws", "random_state", "on_infeasible")
    eps: Annotated[float, Number(0.0, 1.0)] = 0.1

    test_params: ClassVar[Mapping[str, Any]] = {"random_state": 0, "n_draws": 3}
    strength: ClassVar[str] = "eps"
    plain_name: ClassVar[str] = "Random exchanges"
    guarantee: ClassVar[str] = "none for groups: a stochastic baseline that spreads exposure"
    needs_text: ClassVar[str] = "the order only"
    cost: ClassVar[str] = "grows with eps"

    def _rerank(self, ranking: Ranking) -> Reranking:
        from ..kernels.drawn_lists import epsilon_swaps

        slots = ranking.slots()
        shown, limit = self._shown_and_limit(ranking)
        keys = label_keys(self.random_state, ranking.data.qids.tolist())
        moved = epsilon_swaps(slots.offsets, shown, limit, keys, float(self.eps), int(self.n_draws))
        position = np.empty_like(moved)
        position[slots.order] = moved
        words = f"each position is swapped with a later one with probability {self.eps:g}"
        return Reranking.from_draws(ranking, position, bounds=NoBounds(words), reranker=self)
