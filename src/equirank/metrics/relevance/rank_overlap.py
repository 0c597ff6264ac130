"""Rank-biased overlap: the similarity of two rankings, with more weight at the top."""

import warnings
from typing import Any, Literal

import numpy as np

from ...core import inputs
from ...core.docstrings import describe_as
from ...core.errors import DataError, EquirankWarning
from ...core.given_data import as_ranking_data, refuse_beside
from ...core.metric_function import SHARED
from ...core.params import Integer, Number, Optional, check_params
from ...core.ranking import Ranking
from ...kernels.segments import segment_sum

__all__ = ["paired_rankings", "rbo"]


@describe_as(SHARED)
def rbo(
    first: Any,
    second: Any,
    *,
    p: float = 0.9,
    k: int | None = None,
    qid: Any = None,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
) -> Any:
    """Compute the rank-biased overlap of two rankings of the same items; 1 if they are equal.

    ``RBO = A_k p^k + (1 - p)/p sum_{d <= k} A_d p^d`` with the overlap ``A_d``, the share of the
    top d of one ranking that is in the top d of the other, extrapolated beyond k. The depth k is
    at most the number of shown items of the shorter ranking; undefined if one shows none.
    Ties: the exact expectation over the orders of the tied items, independent in both rankings, so
    a ranking with ties has a value below 1 with itself. Draws are averaged over all pairs.

    Parameters
    ----------
    first, second : array-like or Ranking
        Scores, higher scores rank first, a column per draw if there are several; or rankings. With
        a `Ranking`, the scores of the other are in its input order.
    p : float
        Weight of a position relative to the one before it, above 0 and below 1.
    k : int, optional
        Depth of the comparison; None compares the whole lists.

    Returns
    -------
    float or ndarray

    References
    ----------
    Webber, Moffat and Zobel, A similarity measure for indefinite rankings, TOIS 2010.
    Corsi and Urbano, The treatment of ties in rank-biased overlap, SIGIR 2024.

    Examples
    --------
    >>> from equirank.metrics import rbo
    >>> rbo([3, 2, 1], [3, 2, 1])
    1.0
    >>> rbo([2, 1], [1, 2], p=0.5)  # A_1 = 0, A_2 = 1: 1/4 + 1/2 * 1/2
    0.5
    """
    share = Number(0, 1, open_low=True, open_high=True)
    check_params("rbo", {"p": p, "k": k}, {"p": share, "k": Optional(Integer(1))})
    one, other = paired_rankings(first, second, qid, ties)
    values = np.zeros(one.data.n_queries)
    for weight, draw in one.draws():
        for other_weight, against in other.draws():
            values += weight * other_weight * _overlaps(draw, against, float(p), k)
    if per_query:
        return values
    known = values[~np.isnan(values)]
    if not len(known):
        warnings.warn(
            "rbo is undefined in every query (a ranking shows no item): the result is NaN",
            EquirankWarning,
            stacklevel=2,
        )
        return float("nan")
    return float(known.mean())


def paired_rankings(first: Any, second: Any, qid: Any, ties: Any) -> tuple[Ranking, Ranking]:
    """Return both rankings over the same lists."""
    inputs.choose("ties", ties, ("average", "stable"))
    given = [each for each in (first, second) if isinstance(each, Ranking)]
    if given:
        refuse_beside({"qid": qid}, "Ranking")
        data = given[0].data
    else:
        scores = {"first": _scores("first", first), "second": _scores("second", second)}
        inputs.same_length(scores)
        data = as_ranking_data(
            qid=qid, score=scores["first"].reshape(len(scores["first"]), -1)[:, 0]
        )
    one, other = (
        each
        if isinstance(each, Ranking)
        else Ranking.from_scores(data, _scores(name, each), ties=ties)
        for name, each in (("first", first), ("second", second))
    )
    same = np.array_equal(one.data.offsets, other.data.offsets)
    if not same or one.data.qids.tolist() != other.data.qids.tolist():
        raise DataError("first and second must rank the same lists, and their lists differ")
    if (one.data.caller_rank != other.data.caller_rank).any():
        raise DataError("first and second must rank the same rows, and their rows differ")
    return one, other


def _scores(name: str, values: Any) -> np.ndarray:
    """Return scores, one column per draw if there are several."""
    if np.ndim(values) != 2:
        return np.asarray(inputs.numbers(name, values))
    columns = [np.asarray(inputs.numbers(name, column)) for column in np.asarray(values).T]
    if not columns:
        raise DataError(f"{name} must have a column per draw, got none")
    return np.stack(columns, axis=1)


def _overlaps(first: Ranking, second: Ranking, p: float, k: int | None) -> np.ndarray:
    """Return the value of each query for rankings of one draw."""
    data, slots = first.data, first.slots()
    depth = np.minimum(*(segment_sum((r.position > 0) * 1, data.offsets) for r in (first, second)))
    depth = depth if k is None else np.minimum(depth, k)
    place = slots.position
    overlap = _expected_overlap(first, second)
    agreement = overlap / place
    reach = np.repeat(depth, slots.sizes)
    inside = np.where(place <= reach, agreement * (1.0 - p) * p ** (place - 1.0), 0.0)
    last = np.where(place == reach, agreement * p ** place.astype(np.float64), 0.0)
    value = segment_sum(inside, data.offsets) + segment_sum(last, data.offsets)
    return np.where(depth > 0, value, np.nan)


def _expected_overlap(first: Ranking, second: Ranking) -> np.ndarray:
    """Return the expected number of items that both rankings have in their top d, for each d.

    At each depth at most one tied block of each ranking is cut, so that items are inside, outside,
    or inside with the share of the cut block. Counts of these cases are running sums.
    """
    data, n = first.data, first.data.n_rows
    rows = np.flatnonzero((first.position > 0) & (second.position > 0))
    base = np.repeat(data.offsets[:-1], np.diff(data.offsets))
    (s1, e1), (s2, e2) = (
        (r.position[rows] - 1, (r.position if r.last is None else r.last)[rows])
        for r in (first, second)
    )

    def running(begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Count the items with ``begin < d <= end`` at each depth d."""
        some = end > begin
        at = base[rows][some]
        change = np.bincount(at + begin[some], minlength=n + 1)
        change -= np.bincount(at + end[some], minlength=n + 1)
        return np.cumsum(change)[:n]

    sizes = np.repeat(np.diff(data.offsets), np.diff(data.offsets))[rows]
    inside = running(np.maximum(e1, e2) - 1, sizes)
    cut_first = running(np.maximum(s1, e2 - 1), e1 - 1)
    cut_second = running(np.maximum(s2, e1 - 1), e2 - 1)
    cut_both = running(np.maximum(s1, s2), np.minimum(e1, e2) - 1)
    one, other = (_cut_shares(ranking) for ranking in (first, second))
    return inside + one * cut_first + other * cut_second + one * other * cut_both


def _cut_shares(ranking: Ranking) -> np.ndarray:
    """Return for each depth the share of its tied block that is in the top."""
    slots = ranking.slots()
    begin, end = slots.begin(), slots.end()
    share: np.ndarray = (np.arange(1, len(begin) + 1) - begin) / (end - begin)
    return share
