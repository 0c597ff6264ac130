"""Pairs of a list that share no item, and so are as independent as the items."""

from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.random import generator

__all__ = ["disjoint_pairs"]


def disjoint_pairs(data: RankingData, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Match the items of each list at random into pairs of unequal relevance, no item in two.

    A list of two grades gives as many pairs as the rarer grade has items; one of more grades is
    paired blindly and pairs of equal relevance are dropped, so that every pair of unequal relevance
    is equally likely.

    Returns
    -------
    better, worse : ndarray of int
        Stored rows.
    """
    if data.y is None:
        raise DataError("y must be given to form pairs")
    query = data.query_of_rows()
    if not ((data.y[1:] != data.y[:-1]) & (query[1:] == query[:-1])).any():
        raise DataError("y must differ within a list, and no list has two grades to compare")
    attempt = 0
    while True:  # blind pairing of a few items may find nothing; the next attempt may
        pairs = [_match(data, data.y, at, random_state, attempt) for at in range(data.n_queries)]
        better, worse = np.concatenate(pairs, axis=1)
        if len(better):
            return better, worse
        attempt += 1


def _match(
    data: RankingData, y: np.ndarray, query: int, random_state: Any, attempt: int
) -> np.ndarray:
    """Match one list at random: two rows of stored rows, the better above."""
    begin, end = int(data.offsets[query]), int(data.offsets[query + 1])
    order = generator(random_state, query, attempt).permutation(end - begin) + begin
    high = y[order] == y[order].max()
    if (y[order[~high]] == y[order].min()).all():
        size = min(int(high.sum()), int((~high).sum()))
        return np.stack([order[high][:size], order[~high][:size]])
    half = len(order) // 2
    two = np.stack([order[:half], order[half : 2 * half]])
    two = np.where(y[two[0]] > y[two[1]], two, two[::-1])
    return two[:, y[two[0]] > y[two[1]]]
