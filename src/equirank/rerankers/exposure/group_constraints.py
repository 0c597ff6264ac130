"""What fairness of exposure asks of one list, as linear constraints on its exposures."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.errors import DataError
from .columns import Constraints

__all__ = ["group_constraints"]


def group_constraints(
    kind: str | None,
    utility: np.ndarray,
    codes: np.ndarray,
    categories: tuple[Any, ...],
    *,
    slack: float,
    lower: Mapping[Any, float],
    upper: Mapping[Any, float],
    query: Any,
) -> Constraints:
    """Compare every group of a list with every other one, and bound the groups that have bounds.

    ``parity`` compares the mean exposure, ``treatment`` the mean exposure per merit, ``impact``
    the mean exposure times utility per merit; merit is the utility, relative to the list's mean, so
    that all three speak in units of exposure.
    """
    present = np.unique(codes)
    rows, low, high, names = [], [], [], []
    drawn = {} if kind is None else _drawn(kind, utility, codes, present, categories, query)
    for at, group in enumerate(present[1:], 1):
        others = present[:at] if slack > 0.0 else present[at - 1 : at]
        for other in others if kind is not None else ():
            rows.append(drawn[group] - drawn[other])
            low.append(-slack)
            high.append(slack)
            names.append(f"{kind} of {categories[group]!r} and {categories[other]!r}")
    for group in present:
        name = categories[group]
        if name in lower or name in upper:
            inside = codes == group
            rows.append(inside / inside.sum())
            low.append(lower.get(name, -np.inf))
            high.append(upper.get(name, np.inf))
            names.append(f"mean exposure of {name!r}")
    table = np.array(rows) if rows else np.zeros((0, len(codes)))
    return Constraints(table, np.array(low), np.array(high), tuple(names))


def _drawn(
    kind: str,
    utility: np.ndarray,
    codes: np.ndarray,
    present: np.ndarray,
    categories: tuple[Any, ...],
    query: Any,
) -> dict[int, np.ndarray]:
    """Give each group's coefficients: what it draws, per merit where merit counts."""
    result = {}
    for group in present:
        inside = codes == group
        share = inside / inside.sum()
        if kind != "parity":
            merit = float(utility[inside].mean())
            if merit <= 0.0:
                raise DataError(
                    f"utility must give every group some merit for constraint {kind!r}, and that "
                    f"of {categories[group]!r} in query {query!r} is 0"
                )
            share = share / merit
            share = share * (utility if kind == "impact" else utility.mean())
        result[int(group)] = share
    return result
