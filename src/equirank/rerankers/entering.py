"""The lowest score with which an item would have reached a place: found by re-ranking its list."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import EquirankWarning, InfeasibleError
from ..core.ranking import Ranking

if TYPE_CHECKING:
    from .reranking import Reranking

__all__ = ["lowest_entry"]


def lowest_entry(result: "Reranking", query: int, row: int, target: int) -> dict[str, Any]:
    """Find the latest place in the given order from which a row reaches a place, by halving.

    The list is re-ranked anew with the row put elsewhere, all others in their order, so the answer
    is the algorithm's own. It supposes that a better place before never gives a worse one after.

    Parameters
    ----------
    result : Reranking
        Of a re-ranker that reads the order only (its class says so with ``reads_order``).
    query : int
        Index of the list.
    row : int
        The stored row.
    target : int
        The place to reach.

    Returns
    -------
    dict
        ``lowest_place``; ``lowest_score``, the score of who stands there, and ``score_above``,
        whether the score must lie above it (equal scores keep the order of rows); ``any_score``,
        where the last place is enough. All None or False where even the first place is not enough,
        or the method cannot tell.
    """
    found: dict[str, Any] = {"lowest_place": None, "lowest_score": None}
    found |= {"score_above": False, "any_score": False}
    reranker = result.reranker
    if reranker is None or not getattr(reranker, "reads_order", False) or target < 1:
        return found
    data = result.data.select([query])
    begin = int(result.data.offsets[query])
    places = result.places_before[begin : int(result.data.offsets[query + 1])]
    order = np.argsort(places, kind="stable")
    others = order[(places[order] > 0) & (order != row - begin)]

    def reaches(at: int) -> bool:
        moved = np.insert(others, at, row - begin)
        return _place_after(reranker, data, moved, row - begin) <= target

    low, high = 0, len(others)
    if not reaches(low):
        return found
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if reaches(middle) else (low, middle - 1)
    found |= {"lowest_place": low + 1, "any_score": low == len(others)}
    score = result._made_from.data.score
    if score is not None and low < len(others):
        following = int(others[low])
        found |= {
            "lowest_score": float(score[begin + following]),
            "score_above": following < row - begin,
        }
    return found


def _place_after(reranker: Any, data: RankingData, order: np.ndarray, row: int) -> float:
    """Re-rank one list given best first; give the row's new place, infinity where it has none."""
    import warnings

    position = np.zeros(data.n_rows, dtype=np.int32)
    position[order] = np.arange(1, len(order) + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquirankWarning)
            after = reranker(Ranking.from_positions(data, data.to_original(position)))
    except InfeasibleError:
        return np.inf
    place = int(after.position[row])
    return place if place > 0 else np.inf
