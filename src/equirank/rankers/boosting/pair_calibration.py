"""Calibrated probabilities of pairs: that the first of two rows is the more relevant one."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.random import generator
from ..feature_bins import Workers
from ..sklearn_models import calibrated, fit_calibration
from ..training_pairs import PairOptions, PairWeights, cost_rule

__all__ = ["fit_pair_calibration", "pair_probability"]


#: Largest number of held-out pairs per fold.
MOST_PAIRS = 100_000


def fit_pair_calibration(
    data: RankingData,
    scores: Callable[[RankingData, RankingData], np.ndarray],
    method: Literal["sigmoid", "isotonic"],
    n_folds: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Fit the map from a difference of scores to the probability of the order of a pair.

    Lists are divided into folds, the rows of a single list likewise. Each pair of unequal relevance
    of a fold is used in both directions, without its cost, so that the map is symmetric.

    Parameters
    ----------
    data : RankingData
        The training data.
    scores : callable
        Fits to its first argument, and returns the scores of the stored rows of its second.
    method : {"sigmoid", "isotonic"}
        As in `fit_calibration`.
    n_folds : int
        Number of folds, at most as many as lists or rows.
    seed : int
        Seed of the folds, and of the pairs if there are more than 100,000 in a fold.
    """
    gaps = []
    for train, test in _folds(data, n_folds, seed):
        if _has_pairs(train) and _has_pairs(test):
            better, worse = _held_out_pairs(test, seed)
            score = scores(train, test)
            gaps.append(score[better] - score[worse])
    if not gaps:
        raise DataError(
            "calibration must be None for data without pairs of unequal relevance in two folds"
        )
    gap = np.concatenate(gaps)
    both = np.concatenate([gap, -gap])
    x, y = fit_calibration(both, np.repeat([True, False], len(gap)), method)
    return (x, np.zeros(1)) if method == "sigmoid" else (x, y)


def pair_probability(gap: np.ndarray, curve: tuple[np.ndarray, np.ndarray], method: str) -> Any:
    """Return the probability of each difference of scores; that of its negative is 1 minus it."""
    return 0.5 * (1.0 + calibrated(gap, curve, method) - calibrated(-gap, curve, method))


def _folds(data: RankingData, n_folds: int, seed: int) -> Iterator[tuple[RankingData, RankingData]]:
    """Yield training and held-out parts: whole lists, or rows of a single list."""
    size = data.n_queries if data.n_queries > 1 else data.n_rows
    select = data.select if data.n_queries > 1 else data.select_items
    fold = generator(seed, 5).permutation(size) % min(n_folds, size)
    for number in range(int(fold.max()) + 1 if size > 1 else 0):
        yield select(np.flatnonzero(fold != number)), select(np.flatnonzero(fold == number))


def _has_pairs(data: RankingData) -> bool:
    y, query = np.asarray(data.y), data.query_of_rows()
    return bool(((y[1:] != y[:-1]) & (query[1:] == query[:-1])).any())


def _held_out_pairs(data: RankingData, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return stored rows of pairs of unequal relevance, the better ones first."""
    options = PairOptions(MOST_PAIRS, MOST_PAIRS, "float32", seed)
    with Workers(1) as workers:
        listed = PairWeights(data, cost_rule(data, "product", None).blind(), options, workers)
    first = np.repeat(np.arange(data.n_rows), np.diff(listed.starts))
    return listed.rows[first], listed.rows[listed.second]
