"""Bounds over unknown labels of rND, rKL, pairwise accuracy and the ratio to the highest rate."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import inputs
from ..core.attribute import Attribute
from ..core.docstrings import describe_as
from ..core.errors import DataError
from ..core.given_data import as_ranking_data
from ..core.labels import encode
from ..core.params import Choice, Integer, Number, Optional, check_params
from ..kernels.label_bounds import extreme_lists
from ..kernels.pair_bounds import accuracy_ranges, exact_range, gap_ranges
from ..kernels.prefix_bounds import prefix_range
from ..kernels.prefixes import share_distance, two_group_divergence
from ..kernels.segments import sort_within, tie_blocks
from .unknown_labels import CompletionBounds, bounds_of_sides, imbens_manski

__all__ = [
    "ListRange",
    "best_ratio_bounds",
    "mean_range",
    "pair_list_ranges",
    "pairwise_bounds",
    "prefix_bounds",
    "ratio_to_best",
]

#: Smallest and largest value of a list, whether both are attained, and if it can be undefined.
ListRange = tuple[float, float, bool, bool]

DISTANCES: dict[str, Callable[..., np.ndarray]] = {
    "rnd": share_distance,
    "rkl": two_group_divergence,
}


def prefix_bounds(
    y_score: Any,
    sensitive_features: Any,
    protected: Any,
    *,
    metric: str = "rnd",
    qid: Any = None,
    step: int = 10,
    k: int | None = None,
    groups: Sequence[Any] | None = None,
    level: float = 0.95,
) -> CompletionBounds:
    """Return the smallest and largest rND or rKL over all completions of unknown labels.

    Neither "all unknown first" nor "all unknown last" is always the extreme. Dynamic programming
    over cut points and counts finds it for every number of unknown people in the group. Tied scores
    have outer bounds, and ``sharp`` is then False.

    Parameters
    ----------
    y_score : array-like of shape (n,)
        Scores; higher is first.
    sensitive_features : array-like of shape (n,)
        The group of each person; None or NaN if it is unknown.
    protected : label
        The group that is compared with everyone else.
    metric : {"rnd", "rkl"}
        The metric.
    qid : array-like of shape (n,), optional
        The list of each person. By default all people are one list.
    step, k : int, int or None
        As in `equirank.metrics.RND`.
    groups : sequence of labels, optional
        All groups, also those without a known member.
    level : float
        Level of the Imbens-Manski interval of the mean over lists.

    Returns
    -------
    CompletionBounds
        The bounds of the mean over lists, and more.

    Examples
    --------
    >>> from equirank.statistics import prefix_bounds
    >>> found = prefix_bounds([6, 5, 4, 3, 2, 1], ["b", "a", None, "b", "a", "b"], "a", step=2)
    >>> round(found.low, 3), round(found.high, 3), found.sharp
    (0.0, 0.278, True)
    """
    limits: Any = {"metric": Choice(*DISTANCES), "step": Integer(1), "k": Optional(Integer(1))}
    limits["level"] = Number(0, 1, open_low=True, open_high=True)
    given = {"metric": metric, "step": step, "k": k, "level": level}
    check_params("prefix_bounds", given, limits)
    score, side, offsets, _ = _sorted(y_score, sensitive_features, protected, qid, groups)
    ranked = sort_within(score, offsets)
    lo, hi = tie_blocks(score[ranked], offsets)
    side = side[ranked]
    found = []
    for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        blocks = [None if part is None else part[begin:end] - begin for part in (lo, hi)]
        limit = end - begin if k is None else min(k, end - begin)
        found.append(
            prefix_range(
                side[begin:end], *blocks, distance=DISTANCES[metric], limit=limit, step=step
            )
        )
    return mean_range(found, side, level)


def mean_range(ranges: Sequence[ListRange], side: np.ndarray, level: float) -> CompletionBounds:
    """Return the bounds of a mean over lists, each with its own range.

    Lists that can become undefined are part of the mean where that moves it to its extreme.
    """
    table = np.array([each[:2] for each in ranges])
    optional = np.array([each[3] for each in ranges])
    ends, errors = [], []
    for at, highest in ((0, False), (1, True)):
        values = table[:, at]
        counted = extreme_lists(values, optional, highest=highest)
        used = values[counted]
        ends.append(float(used.mean()) if len(used) else np.nan)
        errors.append(float(used.std(ddof=1) / np.sqrt(len(used))) if len(used) > 1 else np.nan)
    found = imbens_manski(*ends, *errors, level=level)
    unknown = int((side < 0).sum())
    return CompletionBounds(
        low=ends[0],
        high=ends[1],
        sharp=all(each[2] for each in ranges),
        known=np.nan,
        interval_low=max(found.low, 0.0),
        interval_high=found.high,
        low_error=errors[0],
        high_error=errors[1],
        n_known=len(side) - unknown,
        n_unknown=unknown,
        lists=len(ranges),
        undefined=int(optional.sum()),
        reason="" if not np.isnan(ends[0]) else "the measure is undefined for all completions",
    )


@describe_as(prefix_bounds)
def pairwise_bounds(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    protected: Any,
    *,
    measure: str = "gap",
    qid: Any = None,
    groups: Sequence[Any] | None = None,
    level: float = 0.95,
) -> CompletionBounds:
    """Return the bounds of a group's pairwise accuracy over all completions of unknown labels.

    In a list of up to 12 unknown people all completions are tried, and its bounds are sharp. In
    others every pair with an unknown person counts or not by itself, which bounds the value from
    outside: to find the extreme over all labels is a quadratic problem without a fast solution.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Relevance; pairs of equal relevance do not count.
    y_score : array-like of shape (n,)
        Scores; higher is first, and tied pairs are half right.
    measure : {"gap", "accuracy"}
        `equirank.metrics.GroupPairwiseAccuracy`, or the accuracy of the pairs whose better item is
        of the group.

    Returns
    -------
    CompletionBounds
        The bounds of the mean over lists, and more; ``sharp`` is False if a list has outer bounds.

    Examples
    --------
    >>> from equirank.statistics import pairwise_bounds
    >>> y, score = [2, 1, 2, 0, 1, 0], [6, 5, 4, 3, 2, 1]
    >>> found = pairwise_bounds(y, score, ["a", "b", "b", None, "a", "b"], "a")
    >>> round(found.low, 3), round(found.high, 3), found.sharp
    (0.0, 0.2, True)
    """
    limits: Any = {"measure": Choice("gap", "accuracy")}
    limits["level"] = Number(0, 1, open_low=True, open_high=True)
    check_params("pairwise_bounds", {"measure": measure, "level": level}, limits)
    score, side, offsets, y = _sorted(y_score, sensitive_features, protected, qid, groups, y_true)
    if y is None:
        raise DataError("y_true must be given, got None")
    ranked = sort_within(score, offsets)
    _, end = tie_blocks(score[ranked], offsets)
    end = np.arange(1, len(score) + 1) if end is None else end
    side = side[ranked]
    found = pair_list_ranges(side, y[ranked], end, offsets, gap=measure == "gap")
    return mean_range(found, side, level)


def pair_list_ranges(
    side: np.ndarray,
    y: np.ndarray,
    end: np.ndarray,
    offsets: np.ndarray,
    *,
    gap: bool,
    exact: bool = True,
) -> list[ListRange]:
    """Return the range of pairwise accuracy, or of its gap, in each list, in order of rank.

    Without ``exact`` all bounds are outer, as they are if some people are on neither side.
    """
    ranges, certain = accuracy_ranges(side, y, end, offsets)
    outer = gap_ranges(ranges) if gap else ranges[:, 0]
    sure = np.asarray(certain.all(axis=1) if gap else certain[:, 0])
    found: list[ListRange] = []
    for q, (begin, stop) in enumerate(
        zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    ):
        rows = slice(begin, stop)
        tried = exact_range(side[rows], y[rows], end[rows], gap=gap) if exact else None
        low, high = outer[q].tolist()
        found.append(tried or (low, high, not (side[rows] < 0).any(), not bool(sure[q])))
    return found


def best_ratio_bounds(
    selected: Any,
    sensitive_features: Any,
    protected: Any,
    *,
    groups: Sequence[Any] | None = None,
) -> CompletionBounds:
    """Return the bounds of a group's selection rate divided by the highest rate of all groups.

    The smallest value is the smallest ratio to one of the other groups. For the largest, all
    unknown selected people are in the group, and the others are distributed over the other groups
    so that their highest rate is lowest, by bisection. All people are taken together.

    Parameters
    ----------
    selected : array-like of shape (n,)
        1 for selected and 0 for not, or the chance of it if ties decide: the upper bound is then
        not sharp.
    sensitive_features : array-like of shape (n,)
        The group of each person; None or NaN if it is unknown.
    protected : label
        The group.
    groups : sequence of labels, optional
        All groups, also those without a known member.

    Returns
    -------
    CompletionBounds
        The bounds, at most 1, without an interval.

    Examples
    --------
    >>> from equirank.statistics import best_ratio_bounds
    >>> labels = ["a", "a", "b", "b", "c", "c", None, None]
    >>> found = best_ratio_bounds([1, 0, 1, 1, 1, 0, 1, 0], labels, "a")
    >>> round(found.low, 3), round(found.high, 3)
    (0.333, 1.0)
    """
    labels = inputs.label_column("sensitive_features", sensitive_features)
    column = inputs.numbers("selected", selected)
    if column is None or labels is None:
        name = "selected" if column is None else "sensitive_features"
        raise DataError(f"{name} must be given, got None")
    inputs.same_length({"selected": column, "sensitive_features": labels})
    inputs.refuse("selected", column, (column < 0) | (column > 1), "between 0 and 1")
    attribute = Attribute(*encode("sensitive_features", labels, "unknown", groups))
    code = attribute.code(protected)
    n_groups = len(attribute.categories)
    return ratio_to_best(column.astype(np.float64), attribute.codes, code, n_groups)


def ratio_to_best(
    selected: np.ndarray, codes: np.ndarray, code: int, n_groups: int
) -> CompletionBounds:
    """Return the bounds of the ratio to the highest rate, for codes with -1 for unknown."""
    rivals = [each for each in range(n_groups) if each != code]
    offsets = np.array([0, len(codes)])
    lows, highs = [1.0], [1.0]
    for rival in rivals:
        side = np.where(codes < 0, -1, np.where(codes == code, 1, np.where(codes == rival, 0, 2)))
        pair = bounds_of_sides(
            selected, side.astype(np.int8), offsets, measure="ratio", third=n_groups > 2,
            average="people", n_boot=0,
        )  # fmt: skip
        if not np.isnan(pair.low):
            lows.append(pair.low)
            highs.append(pair.high)
    whole = bool(np.isin(selected, (0.0, 1.0)).all())
    high = _highest(selected, codes, code, rivals) if whole else min(highs)
    unknown = int((codes < 0).sum())
    nobody = not ((codes == code).any() or unknown)
    return CompletionBounds(
        low=np.nan if nobody else min(lows),
        high=np.nan if nobody else min(high, 1.0),
        sharp=whole,
        known=np.nan,
        interval_low=np.nan,
        interval_high=np.nan,
        low_error=np.nan,
        high_error=np.nan,
        n_known=len(codes) - unknown,
        n_unknown=unknown,
        lists=1,
        undefined=0,
        reason="nobody can be in the group" if nobody else "one list: no interval",
    )


def _highest(selected: np.ndarray, codes: np.ndarray, code: int, rivals: Sequence[int]) -> float:
    """Return the largest ratio to the highest rate of the rivals, for whole selections."""
    free = codes < 0
    chosen, other = int(selected[free].sum()), int((free & (selected == 0)).sum())
    a, n = float(selected[codes == code].sum()) + chosen, int((codes == code).sum()) + chosen
    if n == 0:  # someone who is not selected must be in the group
        n, other = 1, other - 1
    b = np.array([selected[codes == rival].sum() for rival in rivals])
    m = np.array([(codes == rival).sum() for rival in rivals], dtype=np.float64)
    lowest = _poured(b[m > 0], m[m > 0], other)
    return 1.0 if lowest <= 0 else a / n / lowest


def _poured(b: np.ndarray, m: np.ndarray, people: int) -> float:
    """Return the smallest highest rate after adding unselected people to groups, by bisection."""
    if len(b) == 0 or not (b > 0).any():
        return 0.0
    b, m = b[b > 0], m[b > 0]
    low, high = 0.0, float((b / m).max())
    for _ in range(60):
        middle = (low + high) / 2.0
        needed = np.ceil(b / middle - m - 1e-9) if middle > 0 else np.full(len(b), np.inf)
        low, high = (low, middle) if np.maximum(needed, 0).sum() <= people else (middle, high)
    added = np.maximum(np.ceil(b / high - m - 1e-9), 0)
    return float((b / (m + added)).max())


def _sorted(
    y_score: Any,
    sensitive_features: Any,
    protected: Any,
    qid: Any,
    groups: Any,
    y_true: Any = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Return scores and sides sorted by list, the offsets, and the relevance."""
    data = as_ranking_data(
        y=y_true,
        score=y_score,
        qid=qid,
        sensitive_features={"sensitive_features": sensitive_features},
        missing_sensitive="unknown",
        groups=None if groups is None else {"sensitive_features": groups},
    )
    attribute = data.attribute()
    inside = (attribute.codes == attribute.code(protected)).astype(np.int8)
    score = np.asarray(data.score, dtype=np.float64)
    side = np.where(attribute.known, inside, np.int8(-1))
    return score, side, data.offsets, data.y
