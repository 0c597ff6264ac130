"""Loss and regret of preferences and of orders made from them, exact for small lists."""

# With C[u, v] the expected cost of putting u before v, the loss of preferences h is the sum of
# h(u, v) C[u, v] over all pairs, and that of an order the same with 0 and 1 for h.

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..core.errors import DataError
from ..core.inputs import numbers
from ..core.params import Choice, check_params
from .pair_weights import weight_axioms, weight_matrix

__all__ = [
    "MOST_ROWS",
    "Regret",
    "consistent_preference",
    "order_probabilities",
    "preference_loss",
    "ranking_regret",
]


#: Largest number of rows for which all runs of quicksort are enumerated.
MOST_ROWS = 12


def order_probabilities(
    preference: Any,
    order: Literal["quicksort", "degree"] = "quicksort",
    pivoting: Literal["probabilistic", "deterministic"] = "probabilistic",
) -> np.ndarray:
    """Compute the exact probability that each row is ordered before each other row.

    For quicksort all pivots and splits are enumerated. By degree the probability is 1, 0, or 1/2 if
    two rows have equal sums of wins.

    Parameters
    ----------
    preference : array-like of shape (n, n)
        ``preference[u, v]`` in [0, 1]: the probability that u is preferred to v; made consistent,
        see `equirank.rankers.order_by_preference`. At most 12 rows for quicksort.
    order : {"quicksort", "degree"}
        Method of ordering.
    pivoting : {"probabilistic", "deterministic"}
        Whether a row goes before the pivot with probability h, or if h > 1/2.

    Returns
    -------
    ndarray of shape (n, n)
        ``P[u, v]``, the probability that u is before v; 0 on the diagonal.

    Examples
    --------
    A cycle of three: each pair is ordered as preferred in two of the three orders.

    >>> from equirank.theory import order_probabilities
    >>> order_probabilities([[0, 1, 0], [0, 0, 1], [1, 0, 0]]).round(3)
    array([[0.   , 0.667, 0.333],
           [0.333, 0.   , 0.667],
           [0.667, 0.333, 0.   ]])
    """
    declared = {
        "order": Choice("quicksort", "degree"),
        "pivoting": Choice("probabilistic", "deterministic"),
    }
    check_params("order_probabilities", {"order": order, "pivoting": pivoting}, declared)
    h = consistent_preference(preference)
    if order == "degree":
        wins = np.round(h.sum(axis=1), 12)
        odds = (np.sign(wins[:, None] - wins) + 1.0) / 2.0
        np.fill_diagonal(odds, 0.0)
        return odds
    if len(h) > MOST_ROWS:
        raise DataError(f"preference must have at most {MOST_ROWS} rows, got {len(h)}")
    if pivoting == "deterministic":
        h = (np.sign(h - 0.5) + 1.0) / 2.0
    return _quicksort_odds(h)


def consistent_preference(preference: Any) -> np.ndarray:
    """Return a checked matrix of preferences with h(u, v) + h(v, u) = 1 and a diagonal of 0.

    Examples
    --------
    >>> consistent_preference([[0, 1], [0.5, 0]])
    array([[0.  , 0.75],
           [0.25, 0.  ]])
    """
    h = np.array(preference, dtype=np.float64)
    if h.ndim != 2 or h.shape[0] != h.shape[1] or len(h) == 0:
        raise DataError(f"preference must be a square matrix, got shape {h.shape}")
    np.fill_diagonal(h, 0.5)
    bad = ~((h >= 0.0) & (h <= 1.0))
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        raise DataError(
            f"preference must hold numbers in [0, 1], got {h[row, column]} in row {row}, column "
            f"{column}"
        )
    h = (h + 1.0 - h.T) / 2.0
    np.fill_diagonal(h, 0.0)
    return h


def _quicksort_odds(h: np.ndarray) -> np.ndarray:
    """Enumerate all sets of rows, small before large, all pivots and all splits by a pivot."""
    n = len(h)
    odds = np.zeros((1 << n, n, n))  # indexed by the set of rows, one bit per row
    for whole in range(1, 1 << n):
        rows = [row for row in range(n) if whole >> row & 1]
        for pivot in rows:
            others = [row for row in rows if row != pivot]
            before, chance = np.zeros(1, dtype=np.int64), np.ones(1)
            for row in others:  # each goes before or behind the pivot
                before = np.concatenate([before | 1 << row, before])
                chance = np.concatenate([chance * h[row, pivot], chance * h[pivot, row]])
            behind = whole & ~(1 << pivot) & ~before
            one = np.tensordot(chance, odds[before] + odds[behind], 1)
            one += np.outer(h[:, pivot], h[pivot]) * _inside(n, others)
            one[others, pivot], one[pivot, others] = h[others, pivot], h[pivot, others]
            odds[whole] += one / len(rows)
    return odds[-1]


def _inside(n: int, rows: list[int]) -> np.ndarray:
    """Return a mask of the pairs of two different rows of a set."""
    mask = np.zeros((n, n))
    mask[np.ix_(rows, rows)] = 1.0
    np.fill_diagonal(mask, 0.0)
    return mask


#: Largest number of rows for which the best order is searched.
MOST_TRUTH_ROWS = 16


@dataclass(frozen=True)
class Regret:
    """Loss of preferences and of the order made from them, with the smallest possible losses.

    `ranking_regret` computes it.

    Attributes
    ----------
    preference_loss, order_loss : float
        Expected loss of the preferences, and of the order made from them.
    best_preference_loss, best_order_loss : float
        The smallest loss of any preferences, and of any order.
    regret_factor, loss_factor : float or None
        Known bounds on the regret of the order over that of the preferences, and on the ratio of
        their losses. None: no bound is known.

    Examples
    --------
    >>> from equirank.theory.regret import Regret
    >>> Regret(0.3, 0.4, 0.1, 0.1, regret_factor=2.0).holds
    True
    """

    preference_loss: float
    order_loss: float
    best_preference_loss: float
    best_order_loss: float
    regret_factor: float | None = None
    loss_factor: float | None = None

    @property
    def preference_regret(self) -> float:
        """Loss of the preferences minus the smallest possible one."""
        return self.preference_loss - self.best_preference_loss

    @property
    def order_regret(self) -> float:
        """Loss of the order minus the smallest possible one."""
        return self.order_loss - self.best_order_loss

    @property
    def holds(self) -> bool:
        """Whether the known bounds hold, up to rounding; True without bounds."""
        regret, loss = self.regret_factor, self.loss_factor
        kept = regret is None or self.order_regret <= regret * self.preference_regret + 1e-9
        return kept and (loss is None or self.order_loss <= loss * self.preference_loss + 1e-9)


def preference_loss(preference: Any, truth: Any, *, weight: Any = None) -> float:
    """Compute the share of truly ordered pairs that preferences, or an order, reverse.

    ``L_w(h) = sum w(i_u, i_v) h(v, u) / sum w(i_u, i_v)`` over the pairs with u truly above v; i
    are their true positions.

    Parameters
    ----------
    preference : array-like of shape (n, n) or (n,)
        ``preference[u, v]``, the probability that u is preferred to v (made consistent); or a score
        per row, higher first: the loss of that order, with tied pairs counting half.
    truth : array-like of shape (n,)
        Grades, higher is better. Pairs of equal grades do not count; if there is no other pair, an
        error is raised.
    weight : callable or array-like of shape (n, n), optional
        ``weight(i, j)`` of true positions from 1; all grades must then differ. None: 1 for each
        pair. See `weight_axioms`.

    References
    ----------
    Ailon and Mohri, Machine Learning, 2010, as in `weight_axioms`.

    Examples
    --------
    >>> from equirank.theory import preference_loss
    >>> preference_loss([3.0, 1.0, 2.0], truth=[1, 1, 0])
    0.5
    >>> circle = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    >>> round(preference_loss(circle, truth=[3, 2, 1]), 4)
    0.3333
    >>> preference_loss(circle, truth=[3, 2, 1], weight=lambda i, j: abs(i - j))
    0.5
    """
    cost = _cost(truth, weight)
    given = np.asarray(preference, dtype=np.float64)
    if given.ndim == 1:
        score = numbers("preference", given)
        if score is None or len(score) != len(cost):
            raise DataError(f"preference must have one score per row ({len(cost)})")
        h = (np.sign(score[:, None] - score) + 1.0) / 2.0
    else:
        h = consistent_preference(given)
    _same_size(h, cost)
    return float((h * cost).sum())


def ranking_regret(
    preference: Any,
    truths: Any,
    chances: Any = None,
    *,
    order: Literal["quicksort", "degree"] = "quicksort",
    pivoting: Literal["probabilistic", "deterministic"] = "probabilistic",
    weight: Any = None,
) -> Regret:
    """Compute loss and regret of preferences and of the order made from them, by enumeration.

    For truths of **two levels** the expected regret of probabilistic quicksort is at most that of
    the preferences, and the regret by degree at most twice that; no deterministic order has a
    smaller factor than two. With three levels the first fails: on a cycle of three quicksort has
    4/3 of the loss of the preferences. For any grades, and weights that satisfy `weight_axioms`,
    the expected loss of quicksort is at most twice that of the preferences.

    Parameters
    ----------
    preference : array-like of shape (n, n)
        The probability that u is preferred to v; at most 12 rows for quicksort, 16 by degree.
    truths : array-like of shape (n,) or (n_truths, n)
        Grades, higher is better: one truth, or several possible ones of the same list.
    chances : array-like of shape (n_truths,), optional
        The probability of each truth; None: all equal.
    order, pivoting : str
        As in `order_probabilities`.
    weight : callable or array-like, optional
        As in `preference_loss`.

    Returns
    -------
    Regret
        ``preference_loss`` and ``order_loss`` with the smallest possible ones
        (``best_preference_loss``, ``best_order_loss``), the differences ``preference_regret`` and
        ``order_regret``, the known ``regret_factor`` and ``loss_factor``, and ``holds``.

    References
    ----------
    As in `equirank.rankers.order_by_preference`.

    Examples
    --------
    >>> from equirank.theory import ranking_regret
    >>> circle = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    >>> found = ranking_regret(circle, [1, 1, 0])
    >>> round(found.preference_loss, 4), round(found.order_loss, 4), found.holds
    (0.5, 0.5, True)
    >>> found = ranking_regret(circle, [3, 2, 1])
    >>> round(found.order_regret / found.preference_regret, 4), found.regret_factor
    (1.3333, None)
    """
    grades = np.atleast_2d(np.asarray(truths, dtype=np.float64))
    shares = _shares(chances, len(grades))
    cost = sum(share * _cost(one, weight) for share, one in zip(shares, grades, strict=True))
    h = consistent_preference(preference)
    _same_size(h, cost)
    odds = order_probabilities(h, order, pivoting)
    drawn = order == "quicksort" and pivoting == "probabilistic"
    two_levels = weight is None and all(len(np.unique(one)) == 2 for one in grades)
    ruled = weight is None or weight_axioms(weight, grades.shape[1]).hold
    regret_factor = None
    if two_levels:
        regret_factor = 1.0 if drawn else 2.0 if order == "degree" else None
    return Regret(
        float((h * cost).sum()),
        float((odds * cost).sum()),
        float(np.triu(np.minimum(cost, cost.T)).sum()),
        _best_order(cost),
        regret_factor,
        2.0 if drawn and ruled else None,
    )


def _cost(truth: Any, weight: Any) -> np.ndarray:
    """Return C[u, v], the cost of putting u before v: the share of v above u in all true pairs."""
    grade = numbers("truth", truth)
    if grade is None or len(grade) == 0:
        raise DataError("truth must hold grades, got none")
    above = (grade[None, :] > grade[:, None]).astype(np.float64)
    if weight is not None:
        if len(np.unique(grade)) < len(grade):
            raise DataError("truth must hold different grades if weight is given, got a tie")
        rank = np.empty(len(grade), dtype=np.int64)
        rank[np.argsort(-grade)] = np.arange(len(grade))
        above *= weight_matrix(weight, len(grade))[np.ix_(rank, rank)].T
    total = above.sum()
    if total == 0.0:
        raise DataError("truth must order a pair of rows with a weight > 0, and orders none")
    return above / total


def _shares(chances: Any, count: int) -> np.ndarray:
    if chances is None:
        return np.full(count, 1.0 / count)
    shares = numbers("chances", chances)
    if shares is None or len(shares) != count or (shares < 0).any() or shares.sum() <= 0:
        raise DataError(f"chances must be {count} numbers >= 0, one per truth, got {chances!r}")
    return shares / shares.sum()


def _same_size(h: np.ndarray, cost: np.ndarray) -> None:
    if h.shape != cost.shape:
        raise DataError(f"preference must have one row per grade ({len(cost)}), got {len(h)}")


def _best_order(cost: np.ndarray) -> float:
    """Return the smallest loss of any order, by dynamic programming over sets of rows."""
    n = len(cost)
    if n > MOST_TRUTH_ROWS:
        raise DataError(f"truths must have at most {MOST_TRUTH_ROWS} rows, got {n}")
    sets = np.arange(1 << n)
    inside = (sets[:, None] >> np.arange(n) & 1).astype(np.float64)
    behind = inside @ cost  # cost of putting a row behind all rows of a set
    best = np.zeros(1 << n)
    for size in range(1, n + 1):
        some = sets[inside.sum(axis=1) == size]
        options = np.full((len(some), n), np.inf)
        for last in range(n):
            has = some >> last & 1 == 1
            before = some[has] ^ (1 << last)
            options[has, last] = best[before] + behind[before, last]
        best[some] = options.min(axis=1)
    return float(best[-1])
