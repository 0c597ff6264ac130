"""Weights of a mixture of lists that raise the welfare of the items (compiled)."""

import numpy as np

from .compiling import compiled

__all__ = ["reweigh"]


@compiled
def _slopes(point: np.ndarray, weight: np.ndarray, aversion: float, slope: np.ndarray) -> None:
    """Write what one more unit of each item's impact is worth: ``w / impact^aversion``."""
    for item in range(len(weight)):
        if weight[item] <= 0.0:
            slope[item] = 0.0
            continue
        impact = max(point[item], 1e-300)
        if aversion == 1.0:
            slope[item] = weight[item] / impact
        else:
            slope[item] = weight[item] * min(impact**-aversion, 1e250)


@compiled
def _rise(
    point: np.ndarray, step: np.ndarray, size: float, weight: np.ndarray, aversion: float
) -> float:
    """Give the slope of the welfare along a step, some way along it."""
    total = 0.0
    for item in range(len(weight)):
        if weight[item] > 0.0 and step[item] != 0.0:
            impact = max(point[item] + size * step[item], 1e-300)
            if aversion == 1.0:
                total += weight[item] * step[item] / impact
            else:
                total += weight[item] * step[item] * min(impact**-aversion, 1e250)
    return total


@compiled
def reweigh(
    table: np.ndarray, shares: np.ndarray, weight: np.ndarray, aversion: float, gap: float
) -> None:
    """Move shares between the rows of a table of impacts until no pair promises half the gap.

    Each step goes from the worst row that has a share to the best one, as far as the welfare
    rises (bisection). Changes ``shares`` in place.
    """
    count, n = table.shape
    point = np.zeros(n)
    for row in range(count):
        for item in range(n):
            point[item] += shares[row] * table[row, item]
    slope, step = np.empty(n), np.empty(n)
    for _ in range(50 * count):
        _slopes(point, weight, aversion, slope)
        best, worst = -1, -1
        high, low = -np.inf, np.inf
        for row in range(count):
            worth = 0.0
            for item in range(n):
                worth += slope[item] * table[row, item]
            if worth > high:
                best, high = row, worth
            if shares[row] > 0.0 and worth < low:
                worst, low = row, worth
        if high - low <= 0.5 * gap:
            break
        for item in range(n):
            step[item] = table[best, item] - table[worst, item]
        near, far = 0.0, shares[worst]
        size = far
        if _rise(point, step, far, weight, aversion) < 0.0:
            for _ in range(60):
                size = 0.5 * (near + far)
                if _rise(point, step, size, weight, aversion) > 0.0:
                    near = size
                else:
                    far = size
                if far - near <= 1e-4 * far:
                    break
            size = near
        shares[best] += size
        shares[worst] -= size
        if shares[worst] < 1e-15:
            shares[worst] = 0.0
        for item in range(n):
            point[item] += size * step[item]
