"""order_by_preference: a list ordered with any preference function or matrix, transitive or not."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ...core.errors import DataError
from ...core.params import Choice, Constraint, Flag, Integer, Optional, check_params
from ...core.random import label_keys
from .ordering import Comparisons, PreferenceOrder, sort_by_degree, sort_by_quicksort

__all__ = ["order_by_preference"]

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
    """Order one list with a preference function, which need not be transitive.

    Parameters
    ----------
    preference : array-like of shape (n, n) or callable
        ``preference[u, v]``, or ``preference(u, v)`` for arrays of row numbers: the chance in
        [0, 1] that row u is preferred to row v. The diagonal is not looked at.
    n_rows : int, optional
        The number of rows, where the preference is a function.
    order : {"quicksort", "degree"}
        Quicksort: at most ``2 n ln n`` compared pairs expected, in one call per level (about
        ``3 ln n``); parts of up to 8 rows are finished in one call, by all their pairs. Degree:
        sort by the sum of ``preference(u, v)`` over all other rows v, ``n (n - 1) / 2`` compared
        pairs; equal sums are ties.
    pivoting : {"probabilistic", "deterministic"}
        Of quicksort: a row goes before the pivot with probability h, or where h > 1/2 (at exactly
        1/2 a fair coin decides). Pivots are drawn evenly either way.
    k : int, optional
        Of quicksort: only the first k places matter. Parts behind them are left alone, tied.
    consistent : bool
        Whether ``h(u, v) + h(v, u) = 1`` holds already. If not, both are asked for, in one call,
        and h becomes ``(h(u, v) + 1 - h(v, u)) / 2``.
    batch_size : int
        Pairs of one call at most. Up to that quicksort makes one call per level.
    random_state : int, Generator, RandomState or None
        Seed of pivots and coins.

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

    A circle of three is legal; each of its three orders is as likely as the others:

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
    ask = Comparisons(prefer, batch_size, consistent)
    offsets = np.array([0, size])
    if order == "degree":
        return sort_by_degree(ask, offsets)
    keys = label_keys(random_state, [0])
    return sort_by_quicksort(ask, offsets, keys, k, pivoting == "deterministic")


def _function(preference: Any, n_rows: int | None) -> tuple[Callable[..., Any], int]:
    """Read a preference as a function of rows, and the number of rows."""
    if callable(preference):
        if n_rows is None:
            raise DataError("n_rows must be given where preference is a function")
        return preference, n_rows
    matrix = np.asarray(preference, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise DataError(f"preference must be a square matrix or a function, got {matrix.shape}")
    if n_rows is not None and n_rows != len(matrix):
        raise DataError(f"n_rows must be that of the matrix ({len(matrix)}), got {n_rows}")
    return lambda first, second: matrix[first, second], len(matrix)
