"""Integer programs, written row by row and solved by HiGHS within a time limit."""

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Program", "Solution"]


@dataclass(frozen=True, eq=False)
class Solution:
    """Result of a program: the values (None if there are none), the gap, whether it is infeasible.

    ``gap`` bounds the relative distance of the objective from its optimum; 0 is optimal.
    """

    x: np.ndarray | None
    gap: float
    infeasible: bool


class Program:
    """An integer program: variables in [0, top], rows ``low <= a x <= high``.

    Examples
    --------
    >>> program = Program()
    >>> x = program.variables(2, whole=True)
    >>> program.row(x, [1.0, 1.0], high=1.0)
    >>> program.solve(x, [1.0, 2.0], time_limit=1.0).x
    array([0., 1.])
    """

    def __init__(self) -> None:
        self._top: list[np.ndarray] = []
        self._whole: list[np.ndarray] = []
        self._size = 0
        self._columns: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        self._low: list[float] = []
        self._high: list[float] = []

    def variables(self, count: int, *, whole: bool = False, top: float = 1.0) -> np.ndarray:
        """Add variables and return their indices."""
        self._top.append(np.full(count, top))
        self._whole.append(np.full(count, whole))
        self._size += count
        return np.arange(self._size - count, self._size)

    def row(self, columns: Any, values: Any, *, low: float = -np.inf, high: float = np.inf) -> None:
        """Add a row."""
        self._columns.append(np.asarray(columns, dtype=np.int32).ravel())
        self._values.append(np.asarray(values, dtype=np.float64).ravel())
        self._low.append(low)
        self._high.append(high)

    def solve(self, columns: Any, gain: Any, *, time_limit: float) -> Solution:
        """Maximise ``gain`` times some variables."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        cost = np.zeros(self._size)
        np.add.at(cost, np.asarray(columns), -np.asarray(gain, dtype=np.float64))
        lengths = [len(part) for part in self._columns]
        # SciPy up to 1.14 passes the indices to HiGHS as they are, and HiGHS reads 32 bits.
        matrix = csr_array(
            (
                np.concatenate([*self._values, np.zeros(0)]),
                np.concatenate([*self._columns, np.zeros(0, dtype=np.int32)]),
                np.cumsum([0, *lengths], dtype=np.int32),
            ),
            shape=(len(lengths), self._size),
        )
        matrix.sum_duplicates()  # HiGHS refuses a column that occurs twice in a row
        options = {"time_limit": float(time_limit), "mip_rel_gap": 1e-9}
        for presolve in (True, False):  # its presolve fails in rare programs
            found = milp(
                cost,
                integrality=np.concatenate(self._whole).astype(int),
                bounds=Bounds(0.0, np.concatenate(self._top)),
                constraints=LinearConstraint(matrix, np.array(self._low), np.array(self._high)),
                options=options | {"presolve": presolve},
            )
            if found.status != 4:
                break
        gap = 0.0 if found.status == 0 else float(getattr(found, "mip_gap", None) or np.inf)
        x = None if found.x is None else np.asarray(found.x)
        return Solution(x, gap if x is not None else np.inf, found.status == 2)
