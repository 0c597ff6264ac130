"""ScoreBonus: the same number of points added to the score of everyone in a group."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ..core.params import Number, Optional
from ..core.random import label_keys
from ..core.ranking import Ranking
from ..core.reranker import ORDER_TARGETS
from .continuous_fairness import MovedScores, rank_anew
from .group_bounds import NoBounds
from .guaranteed import LABELS, Guaranteed, Pool, protected_shares

__all__ = ["ScoreBonus"]


class ScoreBonus(Guaranteed):
    """Add the same number of points to the score of everyone in the protected group.

    Among all orders of a list with the same exposure of the group, the order by
    ``s_i + bonus [i protected]`` has the largest discounted score, for any discount: both are
    linear in the exposures, and the bonus is the price of exposure (Lagrange multiplier).

    The order within a group is kept. Items tied after the move share their positions. The ranking
    is made from the new scores, whatever the order given; they are ``result.score``, in input
    order. With a bonus of 0 scores are unchanged. Rows that were not shown stay so. People with an
    unknown label receive no bonus.

    Parameters
    ----------
    bonus : float
        The points, in units of the score.
    tied_first : float, optional
        How far the protected people of a tie rank above the others of the tie, in [0, 1]: in this
        share of the pairs. With a cutoff this share of them are within it, behind the others. None:
        tied people share their positions. With few distinct scores a bonus alone moves many people
        at once.
    protected : label or sequence of labels, optional
        Who receives the bonus. None takes all groups except the largest.
    on_infeasible : {"error", "best"}
        As in the other re-rankers; here every list is feasible.

    References
    ----------
    Singh and Joachims, Fairness of exposure in rankings, KDD 2018 (the linear program whose
    multipliers these are).

    Examples
    --------
    >>> from equirank.rerankers import ScoreBonus
    >>> rule = ScoreBonus(1.5, protected="f")
    >>> rule.rerank([4, 3, 2, 1], sensitive_features=list("mmff")).order()
    array([0, 2, 1, 3])
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive", "score"})
    positional = ("bonus", "protected", "k", "by", "on_infeasible")
    bonus: Annotated[float, Number(0.0)] = 0.0
    tied_first: Annotated[float | None, Optional(Number(0.0, 1.0))] = None
    protected: Annotated[Any, Optional(LABELS)] = None
    #: `protected_shares` reads it; this re-ranker has no parameter p.
    p: ClassVar[None] = None

    test_params: ClassVar[Mapping[str, Any]] = {"bonus": 0.5, "protected": "a"}
    unknown: ClassVar[Literal["refused", "fixed", "free"]] = "free"
    acts_on: ClassVar[frozenset[str]] = ORDER_TARGETS | {"score"}
    strength: ClassVar[str] = "bonus"
    plain_name: ClassVar[str] = "Points added to scores"
    guarantee: ClassVar[str] = "the best discounted score at the exposure that the group reaches"
    needs_text: ClassVar[str] = "groups and the protected one; scores on one scale"
    cost: ClassVar[str] = "the least score for the exposure gained"
    reads_order: ClassVar[bool] = False

    def _rerank(self, ranking: Ranking) -> MovedScores:
        pool = self._pool(ranking)
        codes, _ = protected_shares(self, pool)
        inside = np.isin(pool.groups.codes, codes)
        score = np.asarray(ranking.data.score, dtype=np.float64)
        moved = score + float(self.bonus) * inside
        key = moved
        if self.tied_first is not None:
            key = _untied(pool, moved, inside, float(self.tied_first), self.k is not None)
        _, position, last = rank_anew(ranking, key, pool.limit)
        label = " or ".join(str(pool.groups.categories[code]) for code in codes)
        words = f"{self.bonus:g} points are added to the score of {label}"
        return MovedScores(
            ranking.data,
            position,
            last,
            before=ranking,
            bounds=NoBounds(words),
            reranker=self,
            stored=moved,
        )


#: Scores closer than this share of the largest are tied.
ROUNDING = 1e-12
#: Fractions of multiples of the golden ratio, which spread the ties over [0, 1).
GOLDEN = 0.6180339887498949


def _untied(
    pool: Pool, moved: np.ndarray, inside: np.ndarray, share: float, cut: bool
) -> np.ndarray:
    """Return keys without ties: a share of the protected people of each tie come first.

    Without a cutoff the share is one of the pairs of a tie. With one it is a share of people, who
    come last within the cutoff, where they lose least. The order given decides between people of
    one side. As the share grows, ties change one by one, in an order by the labels of their lists.
    """
    slots, data = pool.ranking.slots(), pool.ranking.data
    if data.n_rows == 0:
        return moved
    place = np.empty(data.n_rows, dtype=np.int64)
    place[slots.order] = np.arange(data.n_rows)
    size = float(np.abs(moved).max(initial=0.0)) or 1.0
    level, query = np.rint(moved / (ROUNDING * size)), data.query_of_rows()
    level[pool.ranking.position == 0] = -np.inf
    order = np.lexsort((place, -level, query))
    new = np.concatenate(
        [[True], (np.diff(level[order]) != 0) | (np.diff(query[order]) != 0)]
    )  # fmt: skip
    tie = np.cumsum(new) - 1
    begin = np.flatnonzero(new)
    mine = inside[order]
    sizes = np.diff(np.append(begin, len(mine)))
    own = query[order[begin]]  # the list of each tie
    nth = np.arange(len(begin)) - np.searchsorted(own, own)
    keys = label_keys(0, data.qids.tolist())[own] / 2.0**64
    phase = (keys + nth * GOLDEN) % 1.0
    count = np.bincount(tie, mine).astype(np.int64)
    others = sizes - count
    before = np.concatenate([[0], np.cumsum(mine)])
    number = before[:-1] - before[begin][tie]  # of the protected people before this one
    number = np.where(mine, number, np.arange(len(mine)) - begin[tie] - number)
    behind = others.astype(float)  # where protected people are among the others of their tie
    if cut:
        room = pool.limit[own] - (begin - data.offsets[own])
        room = np.where((room > 0) & (room < sizes), room, 0)
        first = np.minimum(_steps(share, count, phase), room)
        ahead = np.where(number < first[tie], (room - first)[tie] - 0.5, behind[tie])
    else:
        passed = _steps(share, count * others, phase)
        first, rest = passed // np.maximum(others, 1), passed % np.maximum(others, 1)
        next_one = (others - rest)[tie] - 0.5 * (rest > 0)[tie]
        ahead = np.where(number < first[tie], -1.0, behind[tie])
        ahead = np.where(number == first[tie], next_one, ahead)
    key = np.where(mine, ahead, number)
    found = np.empty(data.n_rows)
    found[order[np.lexsort((number, mine, key, tie))]] = -np.arange(float(data.n_rows))
    return found


def _steps(share: float, most: np.ndarray, phase: np.ndarray) -> np.ndarray:
    """Return how many of ``most`` steps each tie has made; the phases let them go one by one."""
    made = np.floor(share * (most + 1.0 - phase) + phase).astype(np.int64)
    return np.minimum(made, most)
