"""Kendall loss: the share of pairs in the wrong order, weighed by where they belong."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ...core.errors import DataError
from ...core.metric import Metric, Values, score_arrays
from ...core.params import Constraint, Integer, Optional, check_params
from ...core.slots import Slots
from ...kernels.division import divide
from ...kernels.pairs import grade_codes, truth_order

__all__ = ["KendallLoss", "WeightAxioms", "check_weight_axioms", "kendall_loss"]

#: How many weights are asked for at once.
WEIGHTS = 1 << 21


@dataclass(frozen=True)
class Weight:
    """A function of two arrays of true positions."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value can be called."""
        return callable(value)

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a callable on two arrays of positions"


@dataclass(frozen=True, repr=False, kw_only=True)
class KendallLoss(Metric):
    """How many pairs of items stand in the wrong order: 0 is the true order, 1 its reverse.

    ``L_w = 2/(n (n-1)) sum over misordered pairs of w(i, j)`` with i < j the true positions of the
    two items, by relevance. Without ``weight`` this is Kendall's distance divided by its largest
    value, O(n log n); with one it takes all n^2 weights, some at a time.

    A pair tied in score is half misordered; a pair of equal relevance is never misordered but
    stays in the denominator, and items of equal relevance share their true positions (each weight
    is the mean over the positions they may have). Items not shown stand tied behind those shown.
    Undefined for a single item. Values lie in [0, 1], with ``weight`` in [0, largest weight]. Over
    draws: the expected loss.

    Parameters
    ----------
    weight : callable, optional
        ``w(i, j)`` for arrays of 1-based true positions, >= 0. `check_weight_axioms` tests whether
        it is symmetric, monotone and keeps the triangle inequality, which the theory asks for.

    References
    ----------
    Kendall, A new measure of rank correlation, Biometrika 1938.
    Ailon and Mohri, An efficient reduction of ranking to classification, COLT 2008 (weights).

    Examples
    --------
    >>> from equirank.metrics import KendallLoss
    >>> KendallLoss()
    KendallLoss
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    takes_k: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "it holds a single item"
    params: ClassVar[Mapping[str, Constraint]] = {"weight": Optional(Weight())}

    weight: Callable[[np.ndarray, np.ndarray], Any] | None = None

    def __post_init__(self) -> None:
        """Check the options; a weight may be larger than 1."""
        super().__post_init__()
        if self.weight is not None:
            object.__setattr__(self, "bounds", (0.0, np.inf))

    def values(self, slots: Slots) -> Values:
        """Give the value of each query."""
        lost = self._counted(slots) if self.weight is None else self._weighted(slots, self.weight)
        n = slots.sizes.astype(np.float64)
        return Values(divide(2.0 * lost, n * (n - 1.0)))

    def _counted(self, slots: Slots) -> np.ndarray:
        from ...kernels.pair_loops import separable_sums

        one = np.ones(len(slots.order))
        grade = grade_codes(slots.y, slots.offsets)
        above, tied, _ = separable_sums(one, one, grade, slots.end(), slots.offsets)
        return above + tied / 2.0

    def _weighted(self, slots: Slots, weight: Callable[..., Any]) -> np.ndarray:
        from ...kernels.pair_loops import weighted_errors

        order, begin, end = truth_order(slots.y, slots.offsets)
        level, lost = slots.begin()[order], np.zeros(slots.n_queries)
        for first, table in _weight_rows(weight, int(slots.sizes.max())):
            weighted_errors(table, first, level, begin, end, slots.offsets, lost)
        return lost


def _weight_rows(weight: Callable[..., Any], n: int) -> Iterator[tuple[int, np.ndarray]]:
    """Ask for the weights of n positions, some rows of their table at a time."""
    rows = max(1, WEIGHTS // n)
    for first in range(0, n, rows):
        place = np.arange(first + 1, min(first + rows, n) + 1)
        i, j = np.meshgrid(place, np.arange(1, n + 1), indexing="ij")
        yield first, _ask(weight, i, j)


def _ask(weight: Callable[..., Any], i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Ask for weights; positions with themselves are never used and may be anything."""
    with np.errstate(divide="ignore", invalid="ignore"):
        answer = np.array(np.broadcast_to(np.asarray(weight(i, j), dtype=np.float64), i.shape))
    answer[i == j] = 0.0
    bad = ~(np.isfinite(answer) & (answer >= 0))
    if bad.any():
        at = tuple(np.argwhere(bad)[0])
        raise DataError(
            f"weight must give finite numbers >= 0, got {answer[at].item()!r} for the positions "
            f"{int(i[at])} and {int(j[at])}"
        )
    return answer


class WeightAxioms(NamedTuple):
    """Which axioms hold: True, or the first positions that break one."""

    symmetric: bool | tuple[int, ...]
    monotone: bool | tuple[int, ...]
    triangle: bool | tuple[int, ...]

    def __bool__(self) -> bool:
        """Say whether all hold."""
        return all(axiom is True for axiom in self)


def check_weight_axioms(w: Callable[..., Any], n: int, *, tol: float = 1e-9) -> WeightAxioms:
    """Test a weight of pairs of positions 1 to n for what `KendallLoss` asks of it.

    Symmetric: ``w(i, j) = w(j, i)``. Monotone: ``w(i, j) <= w(i, k)`` for ``i < j < k`` and for
    ``i > j > k``. Triangle: ``w(i, j) <= w(i, k) + w(k, j)``. Takes n^3 steps.

    Parameters
    ----------
    w : callable
        Maps two arrays of 1-based positions to numbers >= 0.
    n : int
        Length of the list, >= 1.
    tol : float
        What two sides may differ by, relative to the largest weight.

    Returns
    -------
    WeightAxioms
        ``symmetric``, ``monotone``, ``triangle``: True, or the first positions (i, j) or (i, j, k)
        that break it. True as a whole where all hold.

    References
    ----------
    Ailon and Mohri, An efficient reduction of ranking to classification, COLT 2008.

    Examples
    --------
    >>> from equirank.metrics import check_weight_axioms
    >>> bool(check_weight_axioms(lambda i, j: abs(i - j), 5))
    True
    >>> check_weight_axioms(lambda i, j: 1 / i + 1 / j, 5)
    WeightAxioms(symmetric=True, monotone=(1, 2, 3), triangle=True)
    """
    given = {"w": w, "n": n}
    check_params("check_weight_axioms", given, {"w": Weight(), "n": Integer(1)})
    place = np.arange(1, n + 1)
    i, j = np.meshgrid(place, place, indexing="ij")
    table = _ask(w, i, j)
    slack = tol * table.max()
    symmetric = _first(np.abs(table - table.T) > slack)
    monotone: bool | tuple[int, ...] = True
    triangle: bool | tuple[int, ...] = True
    for row in range(n):
        # (j, k) beyond each other on the same side of i
        side = ((row < place[:, None] - 1) & (i < j)) | ((row > place[:, None] - 1) & (i > j))
        if monotone is True:
            monotone = _first(side & (table[row][:, None] > table[row][None, :] + slack), row)
        if triangle is True:
            apart = (i != j) & (i - 1 != row) & (j - 1 != row)
            triangle = _first(
                apart & (table[row][:, None] > table[row][None, :] + table.T + slack), row
            )
    return WeightAxioms(symmetric, monotone, triangle)


def _first(broken: np.ndarray, row: int | None = None) -> bool | tuple[int, ...]:
    """Give the first positions that are marked, or True where none are."""
    if not broken.any():
        return True
    found = tuple(int(at) + 1 for at in np.argwhere(broken)[0])
    return found if row is None else (row + 1, *found)


def kendall_loss(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    weight: Callable[[np.ndarray, np.ndarray], Any] | None = None,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute the weighted Kendall distance to the order by relevance.

    The formula and its reference stand with `KendallLoss`, the object this calls.

    Parameters
    ----------
    y_true : array-like
        Relevance, >= 0.
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    weight : callable, optional
        ``w(i, j)`` for arrays of 1-based true positions, >= 0; None weighs all pairs 1.
    ties : {"average", "stable"}
        Equal scores are tied, or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> from equirank.metrics import kendall_loss
    >>> round(kendall_loss([3, 2, 1], [0.9, 0.1, 0.5]), 4)  # 1 of 3 pairs
    0.3333
    >>> round(kendall_loss([3, 2, 1], [0.9, 0.1, 0.5], weight=lambda i, j: 1 / (i * j)), 4)
    0.0556
    """
    metric = KendallLoss(weight=weight, undefined=undefined)
    return score_arrays(
        metric, y_true=y_true, y_score=y_score, qid=qid, ties=ties, per_query=per_query
    )
