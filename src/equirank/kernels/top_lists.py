"""The best few items of every user, and what a list of them is worth to the items (compiled)."""

import numpy as np

from .compiling import compiled

__all__ = ["add_worth", "top_lists"]


@compiled
def top_lists(
    relevance: np.ndarray, scale: np.ndarray, shift: np.ndarray, places: int, lists: np.ndarray
) -> None:
    """Write each user's items with the largest ``relevance * scale + shift``, best first.

    Equal items: the lowest number first. ``lists`` is users x places.
    """
    best = np.empty(places)
    for user in range(relevance.shape[0]):
        filled = 0
        for item in range(relevance.shape[1]):
            value = relevance[user, item] * scale[item] + shift[item]
            if filled == places and value <= best[places - 1]:
                continue
            at = filled if filled < places else places - 1
            while at > 0 and best[at - 1] < value:
                best[at] = best[at - 1]
                lists[user, at] = lists[user, at - 1]
                at -= 1
            best[at] = value
            lists[user, at] = item
            if filled < places:
                filled += 1


@compiled
def add_worth(
    relevance: np.ndarray, lists: np.ndarray, attention: np.ndarray, impact: np.ndarray,
    exposure: np.ndarray,
) -> None:  # fmt: skip
    """Add to each item's impact and exposure what these users' lists give it."""
    for user in range(lists.shape[0]):
        for place in range(lists.shape[1]):
            item = lists[user, place]
            exposure[item] += attention[place]
            impact[item] += attention[place] * relevance[user, item]
