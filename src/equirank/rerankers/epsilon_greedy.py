"""EpsilonGreedy: the order given, with places swapped at random."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..core.params import Choice, Constraint, Integer, Number, Optional
from ..core.random import RandomState
from ..core.ranking import Ranking
from .group_bounds import NoBounds
from .guaranteed import Guaranteed
from .reranking import Reranking
from .reranking_kinds import DrawnReranking, query_keys

__all__ = ["EpsilonGreedy"]


class EpsilonGreedy(Guaranteed):
    """Swap each place, from the top, with a random later one with probability eps.

    The plain stochastic baseline: place j goes with probability ``1 - eps`` to whoever stands there
    and with ``eps`` to one of those behind, each as likely as the others. It spreads attention and
    looks at no group, so it promises none a share. With eps = 0 the order stays.

    Ties stand in the caller's order, and only the order of scores counts. Rows behind the cutoff
    are not shown (who stands there may be drawn in front of it); rows not shown before stay so. The
    draws of a list depend on the seed and its label only, not on the other lists.

    Parameters
    ----------
    eps : float
        Probability of a swap, in [0, 1].
    k : int, optional
        Cutoff; None ranks whole lists.
    n_draws : int
        How many rankings are drawn; with several ``moves`` and ``price`` are means over them.
    random_state : int, Generator, RandomState or None
        Seed of the draws.
    on_infeasible : {"error", "best"}
        What happens where a list is shorter than the cutoff: an error, or it is ranked whole.

    References
    ----------
    Sutton and Barto, Reinforcement learning: an introduction, 2018, chapter 2 (the rule for one
    choice).

    Examples
    --------
    >>> from equirank.rerankers import EpsilonGreedy
    >>> result = EpsilonGreedy(0.3, n_draws=1000, random_state=0).rerank([3, 2, 1])
    >>> first = result.expect(lambda place: place == 1)
    >>> bool(abs(first[0] - 0.7) < 0.05)  # whoever leads stays there with probability 1 - eps
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    params: ClassVar[Mapping[str, Constraint]] = {
        "eps": Number(0.0, 1.0),
        "k": Optional(Integer(1)),
        "n_draws": Integer(1),
        "on_infeasible": Choice("error", "best"),
    }
    test_params: ClassVar[Mapping[str, Any]] = {"random_state": 0, "n_draws": 3}
    guarantee: ClassVar[str] = "none for groups: a stochastic baseline that spreads attention"
    needs_text: ClassVar[str] = "nothing but the order"
    cost: ClassVar[str] = "grows with eps"
    keeps_order: ClassVar[bool] = False
    reads_order: ClassVar[bool] = False

    def __init__(
        self,
        eps: float = 0.1,
        k: int | None = None,
        n_draws: int = 1,
        random_state: RandomState = None,
        on_infeasible: str = "error",
    ) -> None:
        self.eps = eps
        self.k = k
        self.n_draws = n_draws
        self.random_state = random_state
        self.on_infeasible = on_infeasible

    def _rerank(self, ranking: Ranking) -> Reranking:
        from ..kernels.drawn_lists import epsilon_swaps

        slots = ranking.slots()
        shown = np.asarray(slots.sizes if slots.shown is None else slots.shown, dtype=np.int64)
        limit = np.asarray(self._limit(ranking, shown), dtype=np.int64)
        keys = query_keys(ranking.data, self.random_state)
        moved = epsilon_swaps(slots.offsets, shown, limit, keys, float(self.eps), int(self.n_draws))
        places = np.empty_like(moved)
        places[slots.order] = moved
        words = f"each place is swapped with a later one with probability {self.eps:g}"
        return DrawnReranking.from_places(ranking, places, NoBounds(words), self)
