"""The list that a re-ranking gives back: all rows of the file, with positions and reasons."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..rerankers.reranking import Reranking

__all__ = ["POSITIONS", "in_new_order", "reranked_list", "selected_change"]

#: The columns that a re-ranked list adds to those of the file.
POSITIONS = ("old_position", "new_position")


def in_new_order(result: "Reranking", columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns with the positions before and after, list by list in the new order.

    Rows that are not shown come last in their list, in the previous order.
    """
    order = result.order_of_all()
    rows = order if result.data.rows is None else result.data.rows[order]
    positions = (result.places_before[order], result.places[order])
    kept = {name: values.take(rows) for name, values in columns.items()}
    return kept | dict(zip(POSITIONS, positions, strict=True))


def selected_change(result: "Reranking", k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return who is in the top k of a list before and after, by stored row."""
    before, after = (
        (places > 0) & (places <= k) for places in (result.places_before, result.places)
    )
    return before, after


def reranked_list(result: "Reranking", columns: Mapping[str, Any], k: int) -> dict[str, Any]:
    """Return all rows of a file in the new order, with positions, who is selected, and why.

    A column of the file that has the name of an added one keeps it; the added one gets a number.

    Parameters
    ----------
    result : Reranking
        The new order.
    columns : mapping of str to array
        The cells of the file, in its order.
    k : int
        The top k of each list are selected.

    Returns
    -------
    dict
        The columns, then ``old_position``, ``new_position`` (0: not shown), ``selected`` (yes or
        no) and ``reason`` (empty for people whose position is unchanged).
    """
    order = result.order_of_all()
    before, after = (each[order] for each in selected_change(result, k))
    old, new = result.places_before[order], result.places[order]
    shown_cut = result.k is not None
    up = (new > 0) & ((old == 0) | (new < old))
    down = (old > 0) & ((new > old) | ((new == 0) & ((old <= (result.k or 0)) | (not shown_cut))))
    moves = [after & ~before, before & ~after, up, down]
    words = ["joins the selected", "leaves the selected", "moves up", "moves down"]
    because = f": {result.bounds.words}" if result.bounds.words else ""
    reason = np.select(moves, [word + because for word in words], "").astype(object)
    added = {
        POSITIONS[0]: old,
        POSITIONS[1]: new,
        "selected": np.where(after, "yes", "no").astype(object),
        "reason": reason,
    }
    rows = order if result.data.rows is None else result.data.rows[order]
    found = {name: values.take(rows) for name, values in columns.items()}
    for name, values in added.items():
        found[_free_name(name, found)] = values
    return found


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}.{number}", number + 1
    return free
