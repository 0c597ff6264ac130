"""Threshold stumps on binned features: bin codes, histograms of potentials, the best cut."""

import numpy as np

from .compiling import compiled

__all__ = ["best_stump", "digitise", "histograms"]

#: Rows worked on at once, so that their potentials stay in cache for every feature.
BLOCK = 8192


@compiled
def digitise(
    X: np.ndarray,
    rows: np.ndarray,
    begin: int,
    end: int,
    edges: np.ndarray,
    n_edges: np.ndarray,
    missing: int,
    out: np.ndarray,
) -> None:
    """Write the bin of rows ``begin`` to ``end`` of each feature: how many edges lie below a value.

    ``out`` is feature by row, rows in the order of ``rows``; a missing value gets ``missing``.
    """
    for at in range(begin, end):
        row = rows[at]
        for feature in range(X.shape[1]):
            value = X[row, feature]
            if value != value:
                out[feature, at] = missing
                continue
            low, high = 0, n_edges[feature]
            while low < high:
                middle = (low + high) >> 1
                if edges[feature, middle] < value:
                    low = middle + 1
                else:
                    high = middle
            out[feature, at] = low


@compiled
def histograms(
    codes: np.ndarray, potential: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """Sum the potentials by bin, for the features ``first`` to ``last``."""
    n_rows = codes.shape[1]
    odd = np.zeros_like(out[first:last])
    out[first:last] = 0.0
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        part = potential[start:stop]
        for feature in range(first, last):
            column = codes[feature, start:stop]
            here, there = out[feature], odd[feature - first]
            for i in range(0, stop - start - 1, 2):
                here[column[i]] += part[i]
                there[column[i + 1]] += part[i + 1]
            if (stop - start) % 2:
                here[column[stop - start - 1]] += part[stop - start - 1]
    out[first:last] += odd


@compiled
def best_stump(
    sums: np.ndarray, n_edges: np.ndarray, missing_rule: int, allowed: np.ndarray, tie: float
) -> tuple[int, int, int, float]:
    """Find the stump with the largest absolute sum of potentials above its cut.

    ``sums`` is feature by bin, the last bin holding missing values. ``missing_rule`` 0: they count
    on neither side, 1: on the better of both, 2: half. Among stumps within ``tie`` of the best the
    lowest feature, then the lowest cut, then side 0 is taken. ``allowed`` (side, feature, cut) may
    rule stumps out; an empty one rules out none. Gives feature, cut, side and sum, feature -1 where
    there is no stump.
    """
    n_features, n_bins = sums.shape
    most = -1.0
    for round_ in range(2):
        for feature in range(n_features):
            total = 0.0
            count = n_edges[feature]
            for code in range(count + 1):
                total += sums[feature, code]
            lost = sums[feature, n_bins - 1] if missing_rule > 0 else 0.0
            below = 0.0
            for cut in range(count):
                below += sums[feature, cut]
                above = total - below
                if missing_rule == 2:
                    above += 0.5 * lost
                for side in range(2 if missing_rule == 1 else 1):
                    if allowed.size > 0 and not allowed[side, feature, cut]:
                        continue
                    value = above + side * lost
                    if round_ == 0:
                        most = max(most, abs(value))
                    elif abs(value) >= most - tie:
                        return feature, cut, side, value
    return -1, 0, 0, 0.0
