"""Cuts of a line into ordered classes at the least cost."""

import numpy as np

__all__ = ["ordered_cuts"]


def ordered_cuts(score: np.ndarray, truth: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Find the cuts between ordered classes that cost the least on given scores.

    ``cost[i, j]`` is what it costs to put an item of class ``truth == i`` into class j; an item's
    class is the number of cuts below its score. A cut lies half-way between two scores, or at
    infinity. Of equally cheap cuts the lowest are taken, from the last to the first. Equal scores
    are never separated.
    """
    order = np.argsort(score, kind="stable")
    line, n_classes = score[order], len(cost)
    ends = np.append(np.flatnonzero(line[1:] != line[:-1]) + 1, len(line))
    places = np.append(0, ends)  # how many items may lie below a cut
    spent = np.zeros((n_classes, len(line) + 1))
    np.cumsum(cost[truth[order]].T, axis=1, out=spent[:, 1:])
    spent = spent[:, places]
    best = spent[0]
    chosen = []
    for j in range(1, n_classes):
        saved = best - spent[j]
        least = np.minimum.accumulate(saved)
        new = np.append(True, saved[1:] < least[:-1])
        chosen.append(np.maximum.accumulate(np.where(new, np.arange(len(saved)), 0)))
        best = least + spent[j]
    at = len(places) - 1
    cuts = np.empty(n_classes - 1)
    with np.errstate(invalid="ignore"):
        edges = np.concatenate([[-np.inf], 0.5 * line[ends[:-1] - 1] + 0.5 * line[ends[:-1]]])
    edges = np.append(edges, np.inf)
    for j in range(n_classes - 2, -1, -1):
        at = int(chosen[j][at])
        cuts[j] = edges[at]
    return cuts
