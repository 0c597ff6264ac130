"""Orders of lists by a preference function or matrix, which may be intransitive."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...core.errors import DataError
from ...core.params import Choice, Constraint, Flag, Integer, Optional, check_params
from ...core.random import label_keys
from ...kernels.comparison_sort import (
    add_wins,
    drawn_before,
    finish_parts,
    later_pairs,
    row_priorities,
    split_parts,
)
from ...kernels.segments import sort_within

__all__ = [
    "Comparisons",
    "PreferenceOrder",
    "order_by_preference",
    "sort_by_degree",
    "sort_by_quicksort",
]


#: Largest number of rows of a part whose pairs are all compared in one call.
SMALL = 8
#: Unit to which probabilities are rounded, so that their sums are exact and ties stay ties.
UNIT = 2.0**-32

Prefer = Callable[[np.ndarray, np.ndarray], Any]


@dataclass(frozen=True, eq=False)
class PreferenceOrder:
    """Lists ordered by preferences, with the number of comparisons.

    Attributes
    ----------
    order : ndarray of int
        The rows of each list, best first, list by list.
    scores : ndarray of float
        Per row: the number of rows of its list ranked below it, in expectation over ties. By degree
        it is the sum of its wins, which determines the order.
    n_compared : int
        Number of compared pairs; both directions of a pair count as one.
    n_calls : int
        Number of batched calls of the preference function.

    Examples
    --------
    >>> from equirank.rankers import order_by_preference
    >>> found = order_by_preference([[0.5, 1, 1], [0, 0.5, 1], [0, 0, 0.5]], order="degree")
    >>> found
    PreferenceOrder(3 rows, 3 pairs compared in 1 call)
    >>> found.order, found.scores
    (array([0, 1, 2]), array([2., 1., 0.]))
    """

    order: np.ndarray
    scores: np.ndarray
    n_compared: int
    n_calls: int

    def __repr__(self) -> str:
        """Show the number of rows, pairs and calls."""
        calls = f"{self.n_calls:,} call{'' if self.n_calls == 1 else 's'}"
        pairs = f"{self.n_compared:,} pairs compared in {calls}"
        return f"PreferenceOrder({len(self.order):,} rows, {pairs})"


class Comparisons:
    """A preference function called in batches, made consistent, checked and counted.

    Parameters
    ----------
    prefer : callable
        ``prefer(first, second)`` returns h in [0, 1] for arrays of rows.
    batch_size : int
        Largest number of pairs in one call.
    consistent : bool
        Whether ``h(u, v) + h(v, u) = 1`` holds. If not, both are computed in the same call, and
        ``h(u, v)`` becomes ``(h(u, v) + 1 - h(v, u)) / 2``.
    """

    def __init__(self, prefer: Prefer, batch_size: int, consistent: bool) -> None:
        self.prefer, self.batch_size, self.consistent = prefer, batch_size, consistent
        self.n_compared = self.n_calls = 0

    def __call__(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the probability that each first row is preferred, in as few calls as possible."""
        probability = np.empty(len(first))
        for begin in range(0, len(first), self.batch_size):
            part = slice(begin, begin + self.batch_size)
            probability[part] = self._ask(first[part], second[part])
        return np.rint(probability / UNIT) * UNIT

    def _ask(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        self.n_compared += len(first)
        self.n_calls += 1
        if self.consistent:
            return self._checked(first, second)
        both = self._checked(np.concatenate([first, second]), np.concatenate([second, first]))
        return (both[: len(first)] + 1.0 - both[len(first) :]) / 2.0

    def _checked(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        h = np.asarray(self.prefer(first, second), dtype=np.float64)
        if h.shape != first.shape:
            raise DataError(
                f"prefer must return one value per pair ({len(first)}), got shape {h.shape}"
            )
        bad = ~((h >= 0.0) & (h <= 1.0))
        if bad.any():
            at = int(bad.argmax())
            raise DataError(
                f"prefer must return values in [0, 1], got {h[at]} for the rows {first[at]} and "
                f"{second[at]}"
            )
        return h


def sort_by_degree(compare: Comparisons, offsets: np.ndarray) -> PreferenceOrder:
    """Order each list by the sum of wins over all other rows."""
    wins = np.zeros(offsets[-1])
    for first, second in later_pairs(offsets, compare.batch_size):
        add_wins(wins, first, second, compare(first, second))
    return PreferenceOrder(sort_within(wins, offsets), wins, compare.n_compared, compare.n_calls)


def sort_by_quicksort(
    compare: Comparisons, offsets: np.ndarray, keys: np.ndarray, k: int | None, deterministic: bool
) -> PreferenceOrder:
    """Order each list by quicksort, with one call per level for all parts of all lists.

    The rows of each list are shuffled first. The pivot of a part is its first row in that order,
    which is a uniform choice given all earlier decisions. Each pair has its own coin, so small
    parts are finished in one call: all their pairs are compared, and the order is the one that
    further levels would produce. With ``k`` the parts below position k stay as they are, tied.

    Parameters
    ----------
    compare : Comparisons
        The preference function.
    offsets : ndarray
        Begin of each list.
    keys : ndarray of uint64
        Key of the random numbers of each list.
    k : int or None
        Number of top positions to compute.
    deterministic : bool
        Whether rows are ranked before the pivot if h > 1/2; otherwise with probability h.
    """
    order = sort_within(row_priorities(keys, offsets), offsets)
    begins, ends = offsets[:-1].copy(), offsets[1:].copy()
    query = np.arange(len(keys))
    limit = ends if k is None else np.minimum(begins + k, ends)
    position = np.arange(offsets[-1], dtype=np.float64)
    while True:
        left = (ends - begins > 1) & (begins >= limit[query])
        middle = (begins[left] + ends[left] - 1) / 2.0
        position[_spans(begins[left], ends[left])] = np.repeat(middle, (ends - begins)[left])
        live = (ends - begins > 1) & (begins < limit[query])
        if not live.any():
            break
        small = live & (ends - begins <= SMALL)
        few = begins[small], ends[small]
        pairs = _all_pairs(order, *few, query[small])
        live &= ~small
        begins, ends, query = begins[live], ends[live], query[live]
        more = _against_pivots(order, begins, ends, query)
        others, pivots, lists = (np.concatenate(both) for both in zip(pairs, more, strict=True))
        probability = compare(others, pivots)
        before = drawn_before(keys, offsets, lists, others, pivots, probability, deterministic)
        finish_parts(order, *few, before[: len(pairs[0])])
        cuts = split_parts(order, begins, ends, before[len(pairs[0]) :])
        begins, ends = np.concatenate([begins, cuts + 1]), np.concatenate([cuts, ends])
        query = np.concatenate([query, query])
    scores = np.empty(offsets[-1])
    scores[order] = np.repeat(offsets[1:], np.diff(offsets)) - 1.0 - position
    return PreferenceOrder(order, scores, compare.n_compared, compare.n_calls)


Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


def _against_pivots(
    order: np.ndarray, begins: np.ndarray, ends: np.ndarray, query: np.ndarray
) -> Triple:
    """Return the rows of each part after its first, the pivots, and the lists."""
    sizes = ends - begins - 1
    pivots = np.repeat(order[begins], sizes)
    return order[_spans(begins + 1, ends)], pivots, np.repeat(query, sizes)


def _all_pairs(
    order: np.ndarray, begins: np.ndarray, ends: np.ndarray, query: np.ndarray
) -> Triple:
    """Return the later and the earlier row of all pairs of each part, and the lists."""
    sizes = ends - begins
    rows, lists = order[_spans(begins, ends)], np.repeat(query, sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    for earlier, later in later_pairs(offsets, max(1, len(rows) * SMALL)):  # one block
        return rows[later], rows[earlier], lists[later]
    return rows[:0], rows[:0], lists[:0]


def _spans(begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the concatenation of ``range(begin, end)``."""
    sizes = ends - begins
    skipped = np.cumsum(sizes) - sizes - begins
    return np.arange(sizes.sum()) - np.repeat(skipped, sizes)


DECLARED: dict[str, Constraint] = {
    "n_rows": Optional(Integer(1)),
    "order": Choice("degree", "quicksort"),
    "pivoting": Choice("probabilistic", "deterministic"),
    "k": Optional(Integer(1)),
    "consistent": Flag(),
    "batch_size": Integer(1),
}


def order_by_preference(
    preference: Any,
    n_rows: int | None = None,
    *,
    order: Literal["degree", "quicksort"] = "quicksort",
    pivoting: Literal["probabilistic", "deterministic"] = "probabilistic",
    k: int | None = None,
    consistent: bool = False,
    batch_size: int = 1 << 16,
    random_state: Any = None,
) -> PreferenceOrder:
    """Order one list by a preference function, which may be intransitive.

    Parameters
    ----------
    preference : array-like of shape (n, n) or callable
        ``preference[u, v]``, or ``preference(u, v)`` for arrays of row numbers: the probability
        that row u is preferred to row v. The diagonal is ignored.
    n_rows : int, optional
        The number of rows, if the preference is a function.
    order : {"quicksort", "degree"}
        Quicksort compares at most ``2 n ln n`` expected pairs, in one call per level (about
        ``3 ln n``); all pairs of parts of up to 8 rows are compared in one call. Degree sorts by
        the sum of ``preference(u, v)`` over all other rows v and compares ``n (n - 1) / 2`` pairs;
        equal sums are ties.
    pivoting : {"probabilistic", "deterministic"}
        Quicksort ranks a row before the pivot with probability h, or if h > 1/2 (a fair coin
        decides at 1/2). Pivots are drawn uniformly either way.
    k : int, optional
        Quicksort computes only the top k positions; the parts below are tied.
    consistent : bool
        Whether ``h(u, v) + h(v, u) = 1`` holds. If not, both are computed in one call, and h
        becomes ``(h(u, v) + 1 - h(v, u)) / 2``.
    batch_size : int
        Largest number of pairs in one call.
    random_state : int, Generator, RandomState or None
        Seed of pivots and coin flips.

    Returns
    -------
    PreferenceOrder
        The order, the scores, the compared pairs and the calls.

    References
    ----------
    Ailon and Mohri, Preference-based learning to rank, Machine Learning, 2010. Balcan et al.,
    Robust reductions from ranking to classification, Machine Learning, 2008 (degree).

    Examples
    --------
    >>> from equirank.rankers import order_by_preference
    >>> lengths = np.array([3.0, 9.0, 5.0, 1.0])
    >>> found = order_by_preference(lambda u, v: lengths[u] > lengths[v], 4, random_state=0)
    >>> found.order.tolist(), found.scores.tolist()
    ([1, 2, 0, 3], [1.0, 3.0, 2.0, 0.0])

    A cycle of three rows is allowed; its three orders are equally likely:

    >>> circle = [[0.5, 1, 0], [0, 0.5, 1], [1, 0, 0.5]]
    >>> found = [order_by_preference(circle, random_state=seed).order for seed in range(9)]
    >>> sorted({tuple(order.tolist()) for order in found})
    [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    """
    given = {
        "n_rows": n_rows, "order": order, "pivoting": pivoting, "k": k, "consistent": consistent,
        "batch_size": batch_size,
    }  # fmt: skip
    check_params("order_by_preference", given, DECLARED)
    prefer, size = _function(preference, n_rows)
    compare = Comparisons(prefer, batch_size, consistent)
    offsets = np.array([0, size])
    if order == "degree":
        return sort_by_degree(compare, offsets)
    keys = label_keys(random_state, [0])
    return sort_by_quicksort(compare, offsets, keys, k, pivoting == "deterministic")


def _function(preference: Any, n_rows: int | None) -> tuple[Callable[..., Any], int]:
    """Return the preference as a function of rows, and the number of rows."""
    if callable(preference):
        if n_rows is None:
            raise DataError("n_rows must be given if preference is a function, got None")
        return preference, n_rows
    matrix = np.asarray(preference, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise DataError(f"preference must be a square matrix or a function, got {matrix.shape}")
    if n_rows is not None and n_rows != len(matrix):
        raise DataError(f"n_rows must be the size of the matrix ({len(matrix)}), got {n_rows}")
    return lambda first, second: matrix[first, second], len(matrix)
