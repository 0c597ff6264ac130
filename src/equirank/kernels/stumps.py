"""Threshold stumps on binned features: bin codes, histograms of potentials, the best stump."""

import numpy as np

from .compiled import compiled

__all__ = ["best_stump", "digitise", "histograms", "output_hashes"]


#: Number of rows digitised together, so that they stay in the cache for every feature.
BLOCK = 256


@compiled
def digitise(
    X: np.ndarray,
    rows: np.ndarray,
    begin: int,
    end: int,
    edges: np.ndarray,
    low: np.ndarray,
    width: np.ndarray,
    table: np.ndarray,
    missing: int,
    out: np.ndarray,
) -> None:
    """Write the bins of rows ``begin`` to ``end``: the number of edges below each value.

    ``out`` is feature by row, in the order of ``rows``; a missing value has the bin ``missing``.
    ``table[f, c]`` counts the edges of feature f before cell c of an even grid, where the cell of a
    value is ``(value - low) * width``, so that few edges remain to search.
    """
    n_cells = table.shape[1] - 2
    for start in range(begin, end, BLOCK):
        stop = min(start + BLOCK, end)
        for feature in range(X.shape[1]):
            cuts, counts = edges[feature], table[feature]
            lowest, wide = low[feature], width[feature]
            for at in range(start, stop):
                value = X[rows[at], feature]
                if value != value:
                    out[feature, at] = missing
                    continue
                scaled = (value - lowest) * wide
                cell = 0 if scaled < 0.0 else (n_cells if scaled >= n_cells else int(scaled))
                first, last = counts[cell], counts[cell + 1]
                while first < last:
                    middle = (first + last) >> 1
                    if cuts[middle] < value:
                        first = middle + 1
                    else:
                        last = middle
                out[feature, at] = first


@compiled
def histograms(
    codes: np.ndarray, potential: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """Sum the potentials by bin, for the features ``first`` to ``last``.

    Four interleaved histograms avoid stalls between rows of the same bin.
    """
    n_rows = codes.shape[1]
    whole = n_rows - n_rows % 4
    sums = np.zeros((4, out.shape[1]))
    h0, h1, h2, h3 = sums[0], sums[1], sums[2], sums[3]
    for feature in range(first, last):
        sums[:] = 0.0
        column = codes[feature]
        for i in range(0, whole, 4):
            h0[column[i]] += potential[i]
            h1[column[i + 1]] += potential[i + 1]
            h2[column[i + 2]] += potential[i + 2]
            h3[column[i + 3]] += potential[i + 3]
        for i in range(whole, n_rows):
            h0[column[i]] += potential[i]
        for code in range(out.shape[1]):
            out[feature, code] = (h0[code] + h1[code]) + (h2[code] + h3[code])


@compiled
def best_stump(
    sums: np.ndarray, n_edges: np.ndarray, missing_rule: int, allowed: np.ndarray, tie: float
) -> tuple[int, int, int, float]:
    """Return feature, cut, side and sum of the stump with the largest absolute sum above its cut.

    ``sums`` is feature by bin; the last bin has the missing values, which count on neither side
    (``missing_rule`` 0), on the better side (1) or half (2). Among stumps within ``tie`` of the
    best, the one with the lowest feature, then cut, then side is chosen. ``allowed`` (side,
    feature, cut) may exclude stumps; an empty one excludes none. The feature is -1 if there is no
    stump.
    """
    n_features, n_bins = sums.shape
    most = -1.0
    for round_ in range(2):
        for feature in range(n_features):
            total = 0.0
            count = n_edges[feature]
            for code in range(count + 1):
                total += sums[feature, code]
            missing_sum = sums[feature, n_bins - 1] if missing_rule > 0 else 0.0
            below = 0.0
            for cut in range(count):
                below += sums[feature, cut]
                above = total - below
                if missing_rule == 2:
                    above += 0.5 * missing_sum
                for side in range(2 if missing_rule == 1 else 1):
                    if allowed.size > 0 and not allowed[side, feature, cut]:
                        continue
                    value = above + side * missing_sum
                    if round_ == 0:
                        most = max(most, abs(value))
                    elif abs(value) >= most - tie:
                        return feature, cut, side, value
    return -1, 0, 0, 0.0


@compiled
def output_hashes(
    codes: np.ndarray, keys: np.ndarray, n_edges: np.ndarray, missing: int, out: np.ndarray
) -> None:
    """Hash the rows above each cut and the rows with a missing value, by exclusive or of keys.

    ``out`` is feature by cut; its last column is for the missing rows.
    """
    for feature in range(codes.shape[0]):
        hashes = out[feature]
        hashes[:] = 0
        for i in range(codes.shape[1]):
            hashes[codes[feature, i]] ^= keys[i]
        above = hashes[n_edges[feature]]
        for cut in range(n_edges[feature] - 1, -1, -1):
            own = hashes[cut]
            hashes[cut] = above
            above ^= own
