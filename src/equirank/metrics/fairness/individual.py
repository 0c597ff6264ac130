"""Individual fairness: scores compared between items with similar features."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.metric import Metric, Values
from ...core.params import Constraint, Integer, Number
from ...core.slots import Slots
from ...kernels.segments import divide, segment_sum, summable

__all__ = [
    "Consistency",
    "LipschitzViolations",
    "features_of",
    "neighbour_means",
    "scaled_scores",
]


#: Distances that differ by less than this relative tolerance are equal.
SAME = 1e-9
#: Largest number of distances computed at once.
CELLS = 1 << 20


def neighbour_means(points: np.ndarray, values: np.ndarray, k: int) -> np.ndarray:
    """Return the mean value of the k points nearest to each point, excluding itself.

    With fewer than k other points, all of them count; NaN if there are none. Points at the distance
    of the k-th share the remaining weight, so the order of rows does not matter. Equal points are
    merged first, so that a list of copies costs no more than any other.
    """
    from scipy.spatial import cKDTree

    n = len(points)
    k = min(k, n - 1)
    if k < 1:
        return np.full(n, np.nan)
    spots, spot, size = _merged(_squarable(points))
    total = np.bincount(spot, weights=values)
    tree = cKDTree(spots)
    reach = min(k + 2, len(spots))
    result = np.empty((5, len(spots)))
    step = max(1, CELLS // reach)
    for at in range(0, len(spots), step):
        some = np.arange(at, min(at + step, len(spots)))
        distance, near = tree.query(spots[some], k=np.arange(1, reach + 1))
        own = near == some[:, None]
        held = size[near] - own
        enough = np.argmax(np.cumsum(held, axis=1) >= k, axis=1)
        radius = distance[np.arange(len(some)), enough]
        closer, tied = _shells(distance, radius[:, None])
        result[:, some] = _sums(closer, tied, own, held, total[near])
        cut = np.flatnonzero(tied[:, -1]) if reach < len(spots) else np.empty(0, dtype=np.int64)
        for row in cut:
            others = np.sort(tree.query_ball_point(spots[some[row]], radius[row] * (1 + SAME)))
            far = np.sqrt(((spots[others] - spots[some[row]]) ** 2).sum(axis=1))[None]
            mine = (others == some[row])[None]
            shells = _shells(far, radius[row])
            result[:, some[row]] = _sums(*shells, mine, size[others] - mine, total[others])[:, 0]
    n_closer, sum_closer, n_tied, sum_tied, own_tied = result[:, spot]
    sum_closer = sum_closer - np.where(own_tied > 0, 0.0, values)
    sum_tied = sum_tied - np.where(own_tied > 0, values, 0.0)
    return (sum_closer + (k - n_closer) * sum_tied / n_tied) / k


def _squarable(points: np.ndarray) -> np.ndarray:
    """Return the points times a power of two, if squares of their distances would overflow."""
    largest = float(np.abs(points).max(initial=0.0))
    exponent = int(np.frexp(largest)[1])
    return np.ldexp(points, -exponent) if abs(exponent) > 400 and np.isfinite(largest) else points


def _merged(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct points, the index of each row's point, and the rows per point."""
    if points.shape[1] == 0:
        points = np.zeros((len(points), 1))
    packed = np.ascontiguousarray(points + 0.0)
    rows = packed.view(np.dtype((np.void, packed.itemsize * packed.shape[1])))[:, 0]
    _, first, spot, size = np.unique(
        rows, return_index=True, return_inverse=True, return_counts=True
    )
    return points[first], spot, size


def _shells(distance: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of the points closer than the radius and of those at its distance."""
    closer = distance < radius * (1 - SAME)
    return closer, (distance <= radius * (1 + SAME)) & ~closer


def _sums(
    closer: np.ndarray, tied: np.ndarray, own: np.ndarray, held: np.ndarray, total: np.ndarray
) -> np.ndarray:
    """Return counts and sums of both shells, and whether the point itself is in the outer one."""
    return np.stack(
        [
            (held * closer).sum(axis=1),
            (total * closer).sum(axis=1),
            (held * tied).sum(axis=1),
            (total * tied).sum(axis=1),
            (own & tied).any(axis=1),
        ]
    )


def scaled_scores(slots: Slots) -> np.ndarray:
    """Return the scores scaled to [0, 1] in each query; all 0 if they are equal."""
    score, _ = summable(slots.score, slots.offsets)
    low = np.repeat(np.minimum.reduceat(score, slots.offsets[:-1]), slots.sizes)
    high = np.repeat(np.maximum.reduceat(score, slots.offsets[:-1]), slots.sizes)
    return np.nan_to_num(divide(score - low, high - low))


def features_of(data: RankingData, rows: np.ndarray) -> np.ndarray:
    """Return the features of some stored rows as a dense array of float64."""
    data.refuse_categories("a distance between items")
    some: Any = data.X[rows]
    dense = some.toarray() if hasattr(some, "toarray") else some
    points = np.ascontiguousarray(dense, dtype=np.float64)
    bad = ~np.isfinite(points)
    if bad.any():
        at, column = np.argwhere(bad)[0]
        row = data.place(int(rows[at]))[1]
        raise DataError(
            "X must be finite numbers, to measure distances, got "
            f"{points[at, column].item()!r} in row {row}, column {column}"
        )
    return points


@dataclass(frozen=True, repr=False, kw_only=True)
class Consistency(Metric):
    """Consistency: the similarity of each score to the scores of the nearest items; 1 is equal.

    ``1 - 1/n sum_i | s_i - mean of s_j over the n_neighbors items nearest to i |``, with scores
    scaled to [0, 1] in the query and Euclidean distances between the features as given (so leave
    out sensitive features and scale the others). An item is not its own neighbour. Items at the
    distance of the last neighbour share its weight, so the order of rows does not matter; if a
    query has fewer other items, all of them count. Equal scores have the value 1. It depends on the
    scores, not on positions or draws. Undefined for a single item.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours.

    References
    ----------
    Zemel, Wu, Swersky, Pitassi and Dwork, Learning fair representations, ICML 2013.

    Examples
    --------
    >>> from equirank.metrics import Consistency, consistency
    >>> Consistency(n_neighbors=5)
    Consistency(n_neighbors=5)
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> consistency([1, 1, 0, 0], X, n_neighbors=1)  # similar items have equal scores
    1.0
    >>> consistency([1, 0, 1, 0], X, n_neighbors=1)
    0.0
    """

    needs: ClassVar[frozenset[str]] = frozenset({"features", "score"})
    takes_k: ClassVar[bool] = False
    of_expectation: ClassVar[bool] = True
    leading_arguments: ClassVar[tuple[str, ...]] = ("n_neighbors",)
    why_undefined: ClassVar[str] = "it contains a single item"
    params: ClassVar[Mapping[str, Constraint]] = {"n_neighbors": Integer(1)}

    n_neighbors: int = 10

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        score = scaled_scores(slots)
        means = np.empty(len(score))
        for begin, end in zip(slots.offsets[:-1], slots.offsets[1:], strict=True):
            points = features_of(slots.data, slots.order[begin:end])
            means[begin:end] = neighbour_means(points, score[begin:end], self.n_neighbors)
        away = segment_sum(np.abs(score - means), slots.offsets)
        return Values(1.0 - away / slots.sizes)


@dataclass(frozen=True, repr=False, kw_only=True)
class LipschitzViolations(Metric):
    """Share of Lipschitz violations: pairs whose scores differ more than their features allow.

    The share of the pairs of a query with ``|s_i - s_j| > slope * d(x_i, x_j)``, with scores scaled
    to [0, 1] in the query and d the Euclidean distance of the features as given (so leave out
    sensitive features and scale the others). Differences up to 1e-12 above the bound do not count.
    It depends on the scores, not on positions or draws. Undefined for a single item. O(n^2) per
    query, since every pair is compared.

    Parameters
    ----------
    slope : float
        Largest allowed difference in score per unit of distance, > 0.

    References
    ----------
    Dwork, Hardt, Pitassi, Reingold and Zemel, Fairness through awareness, ITCS 2012.

    Examples
    --------
    >>> from equirank.metrics import LipschitzViolations, lipschitz_violations
    >>> LipschitzViolations(slope=2)
    LipschitzViolations(slope=2)
    >>> X = [[0.0], [0.1], [5.0]]
    >>> round(lipschitz_violations([1, 0, 0], X), 4)  # of three pairs only the first is too close
    0.3333
    """

    needs: ClassVar[frozenset[str]] = frozenset({"features", "score"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    takes_k: ClassVar[bool] = False
    of_expectation: ClassVar[bool] = True
    leading_arguments: ClassVar[tuple[str, ...]] = ("slope",)
    why_undefined: ClassVar[str] = "it contains a single item"
    params: ClassVar[Mapping[str, Constraint]] = {"slope": Number(0.0, open_low=True)}

    slope: float = 1.0

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        from ...kernels.metric_loops import broken_pairs

        points = features_of(slots.data, slots.order)
        broken = broken_pairs(points, scaled_scores(slots), slots.offsets, float(self.slope))
        pairs = slots.sizes * (slots.sizes - 1.0) / 2.0
        return Values(divide(broken, np.asarray(pairs)))
