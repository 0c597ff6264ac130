"""Loss and regret of preferences and of orders made with them, worked out exactly for small lists.

With C[u, v] the expected cost of putting u before v, the loss of preferences h is the sum of
h(u, v) C[u, v] over all pairs, and that of an order the same with 0 and 1 in place of h.
"""

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


#: Rows up to which every way quicksort may go is followed.
MOST_ROWS = 12


def order_probabilities(
    preference: Any,
    order: Literal["quicksort", "degree"] = "quicksort",
    pivoting: Literal["probabilistic", "deterministic"] = "probabilistic",
) -> np.ndarray:
    """Work out exactly how likely each row is to stand before each other row.

    Every pivot and every split of quicksort is followed, with its probability. By degree it is 1,
    0, or one half where two rows have equal sums of wins.

    Parameters
    ----------
    preference : array-like of shape (n, n)
        ``preference[u, v]`` in [0, 1]: the chance that u is preferred to v; made consistent, see
        `equirank.rankers.order_by_preference`. At most 12 rows for quicksort.
    order : {"quicksort", "degree"}
        How the list is ordered.
    pivoting : {"probabilistic", "deterministic"}
        Whether a row goes before the pivot with probability h, or where h > 1/2.

    Returns
    -------
    ndarray of shape (n, n)
        ``P[u, v]``, the probability that u stands before v; 0 on the diagonal.

    Examples
    --------
    A circle of three: each pair stands as preferred in two of the three orders.

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
        raise DataError(f"preference must be of {MOST_ROWS} rows at most, got {len(h)}")
    if pivoting == "deterministic":
        h = (np.sign(h - 0.5) + 1.0) / 2.0
    return _quicksort_odds(h)


def consistent_preference(preference: Any) -> np.ndarray:
    """Check a matrix of preferences and make it consistent: h(u, v) + h(v, u) = 1, 0 on itself.

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
    """Go through all sets of rows, small before large, all pivots, and all splits by a pivot."""
    n = len(h)
    odds = np.zeros((1 << n, n, n))  # by the set of rows, a bit per row
    for whole in range(1, 1 << n):
        rows = [row for row in range(n) if whole >> row & 1]
        for pivot in rows:
            others = [row for row in rows if row != pivot]
            before, chance = np.zeros(1, dtype=np.int64), np.ones(1)
            for row in others:  # each goes before the pivot, or behind it
                before = np.concatenate([before | 1 << row, before])
                chance = np.concatenate([chance * h[row, pivot], chance * h[pivot, row]])
            behind = whole & ~(1 << pivot) & ~before
            one = np.tensordot(chance, odds[before] + odds[behind], 1)
            one += np.outer(h[:, pivot], h[pivot]) * _inside(n, others)
            one[others, pivot], one[pivot, others] = h[others, pivot], h[pivot, others]
            odds[whole] += one / len(rows)
    return odds[-1]


def _inside(n: int, rows: list[int]) -> np.ndarray:
    """Mark the pairs of two different rows of a set."""
    mask = np.zeros((n, n))
    mask[np.ix_(rows, rows)] = 1.0
    np.fill_diagonal(mask, 0.0)
    return mask


#: Rows up to which the best of all orders is searched for.
MOST_TRUTH_ROWS = 16


@dataclass(frozen=True)
class Regret:
    """What preferences and the order made with them lose, and what the best of each would.

    Attributes
    ----------
    preference_loss, order_loss : float
        Expected loss of the preferences, and of the order made with them.
    best_preference_loss, best_order_loss : float
        The least that any preferences, any order could have.
    regret_factor, loss_factor : float or None
        The order's regret is at most so many times that of the preferences; the order's loss at
        most so many times theirs. None: nothing is known.

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
        """What better preferences could have saved."""
        return self.preference_loss - self.best_preference_loss

    @property
    def order_regret(self) -> float:
        """What a better order could have saved."""
        return self.order_loss - self.best_order_loss

    @property
    def holds(self) -> bool:
        """Whether what is known holds, but for rounding; also where nothing is."""
        regret, loss = self.regret_factor, self.loss_factor
        kept = regret is None or self.order_regret <= regret * self.preference_regret + 1e-9
        return kept and (loss is None or self.order_loss <= loss * self.preference_loss + 1e-9)


def preference_loss(preference: Any, truth: Any, *, weight: Any = None) -> float:
    """Return the share of truly ordered pairs that preferences, or an order, turn round.

    ``L_w(h) = sum w(i_u, i_v) h(v, u) / sum w(i_u, i_v)`` over the pairs with u truly above v; i
    are their true places.

    Parameters
    ----------
    preference : array-like of shape (n, n) or (n,)
        ``preference[u, v]``, the chance that u is preferred to v (made consistent); or a score per
        row, higher first: the loss of that order, tied pairs counting half.
    truth : array-like of shape (n,)
        Grades, higher is better. Pairs of equal grades do not count; without any other pair there
        is an error.
    weight : callable or array-like of shape (n, n), optional
        ``weight(i, j)`` of true places from 1; then all grades must differ. None: 1 for each pair.
        See `weight_axioms`.

    References
    ----------
    Ailon and Mohri, Preference-based learning to rank, Machine Learning, 2010.

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
    """Return loss and regret of preferences and of the order made with them, by exact enumeration.

    Known for truths of **two levels**: the regret of the order is at most that of the preferences
    by probabilistic quicksort (expected), at most twice that by degree, and no order made without
    chance does better than twice. With three levels the first fails: a circle of three gives
    quicksort 4/3 of the preferences' loss. For any grades, and weights that keep `weight_axioms`,
    quicksort's expected loss is at most twice that of the preferences.

    Parameters
    ----------
    preference : array-like of shape (n, n)
        The chance that u is preferred to v; at most 12 rows for quicksort, 16 by degree.
    truths : array-like of shape (n,) or (n_truths, n)
        Grades, higher is better: one truth, or those that may be true of the same list.
    chances : array-like of shape (n_truths,), optional
        The probability of each truth; None: all alike.
    order, pivoting : str
        As in `order_probabilities`.
    weight : callable or array-like, optional
        As in `preference_loss`.

    References
    ----------
    Ailon and Mohri, Preference-based learning to rank, Machine Learning, 2010. Balcan et al.,
    Robust reductions from ranking to classification, Machine Learning, 2008 (degree).

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
    """Return C[u, v], what it costs to put u before v: the share of v above u in all true pairs."""
    grade = numbers("truth", truth)
    if grade is None or len(grade) == 0:
        raise DataError("truth must hold grades, got none")
    above = (grade[None, :] > grade[:, None]).astype(np.float64)
    if weight is not None:
        if len(np.unique(grade)) < len(grade):
            raise DataError("truth must hold different grades where weight is given, got a tie")
        place = np.empty(len(grade), dtype=np.int64)
        place[np.argsort(-grade)] = np.arange(len(grade))
        above *= weight_matrix(weight, len(grade))[np.ix_(place, place)].T
    total = above.sum()
    if total == 0.0:
        raise DataError("truth must order a pair of rows that weighs something, and orders none")
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
    """Find the least loss of any order: the best order of each set of rows, small before large."""
    n = len(cost)
    if n > MOST_TRUTH_ROWS:
        raise DataError(f"truths must be of {MOST_TRUTH_ROWS} rows at most, got {n}")
    sets = np.arange(1 << n)
    inside = (sets[:, None] >> np.arange(n) & 1).astype(np.float64)
    behind = inside @ cost  # the cost of putting a row behind all rows of a set
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
