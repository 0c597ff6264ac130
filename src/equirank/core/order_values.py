"""Values that an order gives to people: positions, chances to be ranked above, and exposure."""

from collections.abc import Callable, Sequence

import numpy as np

from ..kernels.discounts import discounts
from ..kernels.segments import divide
from .ranking import Ranking
from .slots import Slots

__all__ = ["expected_positions", "list_ranks", "list_shares", "order_values", "slot_positions"]


def slot_positions(slots: Slots) -> np.ndarray:
    """Return each slot's position; ties have the mean of their block, hidden items come last."""
    if slots.lo is None:
        return slots.position.astype(np.float64)
    return (slots.lo + slots.end() - 2.0 * slots.start + 1.0) / 2.0


def expected_positions(ranking: Ranking, known: np.ndarray | None = None) -> np.ndarray:
    """Return each row's expected position, or that among the known rows only."""
    data = ranking.data
    found = np.zeros(data.n_rows)
    for share, draw in ranking.draws():
        slots = draw.slots()
        here = np.empty(data.n_rows)
        here[slots.order] = slot_positions(slots)
        if known is not None:
            here = _among(slots, known)
        found += np.repeat(share, np.diff(data.offsets)) * here
    return found


def _among(slots: Slots, known: np.ndarray) -> np.ndarray:
    """Return positions counted over known rows; ties have the mean of their block."""
    inside = known[slots.order].astype(np.float64)
    before = np.concatenate([[0.0], np.cumsum(inside)])
    begin, end = slots.begin(), slots.end()
    first, last = before[begin], before[end]
    found = np.empty(len(known))
    found[slots.order] = (first + last + 1.0) / 2.0 - before[slots.start]
    return found


def order_values(
    ranking: Ranking, masks: Sequence[np.ndarray], cut: int | None = None
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Return position and exposure of each row, and its chances among the people of each mask.

    Exposure has the mean 1 in each list. A chance is the position among the rows of a mask, divided
    by their number in the list.

    Parameters
    ----------
    ranking : Ranking
        The order.
    masks : sequence of ndarray of bool
        Rows that are compared with each other.
    cut : int, optional
        Only the first ``cut`` of each list count as shown; everyone below shares the mean of the
        remaining positions.
    """
    data = ranking.data
    query, position, chances = data.query_of_rows(), _cut_positions(ranking, cut), []
    for known in masks:
        own = position
        if not known.all():
            own = (
                expected_positions(ranking, known)
                if cut is None
                else _ranks_among(position, known, query)
            )
        chances.append(divide(own, np.bincount(query, known, data.n_queries)[query]))
    return position, chances, list_shares(ranking, cut) * np.diff(data.offsets)[query]


def list_shares(ranking: Ranking, cut: int | None = None) -> np.ndarray:
    """Return each row's share of the exposure of its list; below the cut there is none."""
    longest = int(np.diff(ranking.data.offsets).max())
    weights = discounts(longest, "log2") * (np.arange(longest) < (cut or longest))
    exposure = ranking.expect(lambda positions: weights[: len(positions)])
    query, n_queries = ranking.data.query_of_rows(), ranking.data.n_queries
    return np.nan_to_num(divide(exposure, np.bincount(query, exposure, n_queries)[query]))


def _within(k: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda position: (position <= k).astype(np.float64)


def _cut_positions(ranking: Ranking, cut: int | None) -> np.ndarray:
    """Return expected positions, those below the cut replaced by their mean."""
    if cut is None:
        return expected_positions(ranking)
    sizes = np.repeat(np.diff(ranking.data.offsets), np.diff(ranking.data.offsets))
    inside = ranking.expect(_within(cut))
    shown = ranking.expect(lambda position: np.where(position <= cut, position, 0.0))
    tail = (np.minimum(cut, sizes) + 1 + sizes) / 2.0
    return shown + (1.0 - inside) * tail


def _ranks_among(position: np.ndarray, known: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return the ranks of the known rows of each list; equal positions have their mean."""
    rows = np.flatnonzero(known)
    found = np.zeros(len(position))
    first = np.searchsorted(query[rows], query[rows])
    found[rows] = list_ranks(position[rows], query[rows]) - first + 1.0
    return found


def list_ranks(y: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return ranks over all rows sorted by list and value, from 0; ties have their mean."""
    order = np.lexsort((y, query))
    sorted_y, sorted_query = y[order], query[order]
    new = np.flatnonzero(
        (np.diff(sorted_y, prepend=np.nan) != 0) | np.diff(sorted_query, prepend=-1)
    )
    ends = np.append(new[1:], len(y))
    block = np.repeat((new + ends - 1) / 2.0, ends - new)
    ranks = np.empty(len(y))
    ranks[order] = block
    return ranks
