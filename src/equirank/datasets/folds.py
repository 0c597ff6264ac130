"""Folds as they were published, and parts of a data set put together."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..core.data import RankingData
from .encoding import labels_of, people

__all__ = ["Fold", "stack", "widen"]


class Fold(NamedTuple):
    """One fold: train, validation (None where there is none) and test.

    Examples
    --------
    >>> from equirank import make_ranking, query_train_test_split
    >>> train, test = query_train_test_split(make_ranking(n_queries=4, random_state=0))
    >>> fold = Fold(train, None, test)
    >>> fold.train.n_queries, fold.test.n_queries
    (3, 1)
    """

    train: RankingData
    validation: RankingData | None
    test: RankingData


def stack(parts: list[RankingData]) -> RankingData:
    """Put the rows of several parts below one another; their queries must differ.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> a = as_ranking_data([[1.0]], [0], qid=[7])
    >>> b = as_ranking_data([[2.0]], [1], qid=[8])
    >>> stack([a, b])
    RankingData(2 rows, 2 queries, 1 features, y)
    """
    if len(parts) == 1:
        return parts[0]
    first, parts = parts[0], widen(parts)

    def joined(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        return None if any(value is None for value in values) else np.concatenate(values)

    sensitive = {
        name: np.concatenate([labels_of(part.sensitive[name]) for part in parts])
        for name in first.sensitive
    }
    categories = {
        name: {label for part in parts for label in part.sensitive[name].categories}
        for name in sensitive
    }
    return people(
        _stacked([part.X for part in parts]),
        first.feature_names,
        joined("y"),
        sensitive,
        categories=categories,
        qid=np.concatenate([part.qids[part.query_of_rows()] for part in parts]),
        ids=joined("ids"),
    )


def widen(parts: list[RankingData]) -> list[RankingData]:
    """Give all parts the features of the widest; features that a part lacks are 0."""
    width = max(part.n_features for part in parts)
    return [part if part.n_features == width else replace(part, X=_padded(part, width))
            for part in parts]  # fmt: skip


def _stacked(matrices: list[Any]) -> Any:
    if hasattr(matrices[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(matrices, format="csr")
    return np.concatenate(matrices)


def _padded(part: RankingData, width: int) -> Any:
    if part.X is None:
        return np.zeros((len(part), width))
    if hasattr(part.X, "tocsr"):
        wide = part.X.copy()
        wide.resize((len(part), width))
        return wide
    return np.pad(part.X, ((0, 0), (0, width - part.n_features)))
