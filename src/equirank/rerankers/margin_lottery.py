"""MarginLottery: people whose scores are too close to tell apart are drawn by lot."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np

from ..core import inputs
from ..core.params import Number
from ..core.random import label_keys
from ..core.ranking import Ranking
from .group_bounds import NoBounds
from .guaranteed import DrawnReranker
from .reranking import Reranking

__all__ = ["MarginLottery", "lots"]


class MarginLottery(DrawnReranker):
    """Draw the people whose scores are within a width of each other by lot, without using groups.

    With a cutoff k, everyone whose score is at most ``width`` away from the middle between the
    k-th and the next score is drawn in random order; all others keep their positions. Without a
    cutoff, each list is cut into bands from the top, each ``width`` wide, and every band is drawn.
    A width that the error of the score justifies is ``1.96 sqrt(2)`` times its standard error:
    closer scores are not told apart at 95%.

    With width 0 only tied people are drawn, and a list without ties is unchanged. Rows that were
    not shown stay so. The draws of a list depend only on the seed and the label of its query.
    If the scores contradict the order, they are sorted first.

    Parameters
    ----------
    width : float
        Width of the margin, or of a band, in units of the score.
    k : int, optional
        Cutoff; rows behind it are not shown. None draws within bands of whole lists.

    References
    ----------
    Roumbanis, Peer review or lottery? A critical analysis of two different forms of
    decision-making mechanisms for allocation of research grants, Science, Technology & Human
    Values 2019 (lotteries among proposals that reviewers cannot tell apart).

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> from equirank.rerankers import MarginLottery
    >>> lottery = MarginLottery(1.0, k=2, random_state=0)
    >>> lottery.rerank([9, 5, 4, 1]).order()
    array([0, 1])
    >>> tied = lottery.tied(as_ranking_data(score=[9, 5, 4, 1]).ranking())
    >>> tied.expect(lambda position: position <= 2)  # the second and third share one position
    array([1. , 0.5, 0.5, 0. ])
    """

    needs: ClassVar[frozenset[str]] = frozenset({"score"})
    positional = ("width", "k", "n_draws", "random_state", "on_infeasible")
    width: Annotated[float, Number(0.0)] = 0.0

    test_params: ClassVar[Mapping[str, Any]] = {"width": 0.5, "random_state": 0}
    strength: ClassVar[str] = "width"
    plain_name: ClassVar[str] = "Lots among people with close scores"
    guarantee: ClassVar[str] = "equal chances of people whose scores are within a width"
    needs_text: ClassVar[str] = "scores"
    cost: ClassVar[str] = "little score: only close scores change their order"

    def tied(self, ranking: Ranking) -> Ranking:
        """Return the ranking before the draw: people who are drawn together are tied.

        All rows are shown that were shown before, so expectations over the lottery are exact.
        """
        slots = ranking.slots()
        shown = np.asarray(slots.sizes if slots.shown is None else slots.shown)
        score = self._sorted_scores(ranking)
        k = self.k if self._limits is None else self._limits
        if k is None:
            blocks = _bands(score, slots.offsets, float(self.width))
        else:
            blocks = _margins(score, slots.offsets, shown, k, float(self.width))
        ties = slots.begin()
        same = (ties[1:] == ties[:-1]) | (blocks[1:] == blocks[:-1])
        same[slots.offsets[1:-1] - 1] = False
        first = np.flatnonzero(np.concatenate([[True], ~same]))
        sizes = np.diff(np.append(first, len(score)))
        start = slots.start
        begin, end = np.repeat(first, sizes), np.repeat(first + sizes, sizes)
        # A band ends where rows are not shown.
        end = np.minimum(end, start + np.repeat(shown, slots.sizes))
        position, last = np.empty(len(score), dtype=np.int32), np.empty(len(score), dtype=np.int32)
        position[slots.order], last[slots.order] = begin - start + 1, end - start
        hidden = ranking.position == 0
        position[hidden] = last[hidden] = 0
        tied = bool((position != last).any())
        return Ranking(ranking.data, inputs.frozen(position), inputs.frozen(last) if tied else None)

    def _sorted_scores(self, ranking: Ranking) -> np.ndarray:
        """Return the score of each slot, descending in every list."""
        from ..kernels.segments import sort_values_within

        slots = ranking.slots()
        score = np.asarray(ranking.data.score, dtype=np.float64)[slots.order]
        rising = score[1:] > score[:-1]
        rising[slots.offsets[1:-1] - 1] = False
        return sort_values_within(score, slots.offsets) if rising.any() else score

    def _rerank(self, ranking: Ranking) -> Reranking:
        slots, data = ranking.slots(), ranking.data
        limit = self._shown_and_limit(ranking)[1]
        tied = self.tied(ranking)
        keys = label_keys(self.random_state, data.qids.tolist())
        position = np.zeros((data.n_rows, int(self.n_draws)), dtype=np.int32)
        block = np.where(tied.position[slots.order] == 0, data.n_rows, tied.position[slots.order])
        for draw in range(int(self.n_draws)):
            lot = lots(keys[slots.query], slots.position, draw)
            order = np.lexsort((lot, block, slots.query))
            place = slots.position  # of the slot that each row moves to
            inside = place <= np.repeat(limit, slots.sizes)
            position[slots.order[order], draw] = np.where(inside, place, 0)
        words = f"people whose scores are within {self.width:g} have equal chances"
        return Reranking.from_draws(ranking, position, bounds=NoBounds(words), reranker=self)


def _margins(
    score: np.ndarray, offsets: np.ndarray, shown: np.ndarray, k: Any, width: float
) -> np.ndarray:
    """Return a block per slot: one for all slots at the margin of the cutoff of their list."""
    blocks = np.arange(len(score))
    cut = offsets[:-1] + k  # the first slot behind the cutoff
    long = np.flatnonzero((shown > k) & (np.asarray(k) > 0))
    middle = np.full(len(shown), np.nan)
    middle[long] = score[cut[long] - 1] / 2.0 + score[cut[long]] / 2.0
    sizes = np.diff(offsets)
    near = np.abs(score - np.repeat(middle, sizes)) <= width * (1.0 + 1e-12)
    return np.where(near, np.repeat(cut, sizes) + len(score), blocks)


def _bands(score: np.ndarray, offsets: np.ndarray, width: float) -> np.ndarray:
    """Return a band per slot, from the top of each list."""
    if width == 0 or len(score) == 0:
        return np.arange(len(score))
    top = np.repeat(score[offsets[:-1]], np.diff(offsets))
    with np.errstate(over="ignore"):
        return np.asarray(np.floor((top - score) / width * (1.0 - 1e-12)))


def lots(keys: np.ndarray, position: np.ndarray, draw: int) -> np.ndarray:
    """Return a random whole number per slot from the key of its list (splitmix64)."""
    with np.errstate(over="ignore"):
        x = keys.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15) * (
            position.astype(np.uint64) + np.uint64(draw) * np.uint64(1 << 40)
        )
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> np.uint64(31)))
