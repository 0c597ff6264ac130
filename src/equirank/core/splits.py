"""Train-test splits by whole queries, or by row if the data are one list."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from .data import RankingData
from .errors import DataError, routing_line
from .given_data import as_ranking_data
from .keywords import ListKeywords, shared_keywords
from .params import Choice, Flag, Integer, Number, check_params
from .random import generator

__all__ = ["QueryKFold", "query_train_test_split"]


class QueryKFold(BaseCrossValidator):  # type: ignore[misc]
    """K-fold cross-validation over whole queries.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    by : {"query", "item"}
        Whole queries; or, for data that is one list of people, its rows, spread evenly over the
        folds (stratified by ``sensitive_features`` where they are given).
    shuffle : bool
        Shuffle before cutting.
    random_state : int, Generator, RandomState or None
        Seed of the shuffle.

    Notes
    -----
    With scikit-learn's metadata routing on, a search passes ``qid`` on to it, to `fit` and to the
    score. Without, ``groups`` (the scikit-learn word for what must stay together) is taken as
    ``qid``, but each score is that of one list, with a `OneListWarning`.

    Examples
    --------
    >>> from equirank import QueryKFold
    >>> for train, test in QueryKFold(2).split([0, 1, 2, 3], qid=["a", "b", "a", "b"]):
    ...     print(train, test)
    [1 3] [0 2]
    [0 2] [1 3]
    """

    __metadata_request__split: ClassVar[dict[str, bool]] = {"qid": True, "sensitive_features": True}

    def __init__(
        self,
        n_splits: int = 5,
        *,
        by: Literal["query", "item"] = "query",
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_splits = n_splits
        self.by = by
        self.shuffle = shuffle
        self.random_state = random_state

    @shared_keywords(ListKeywords)
    def split(
        self, X: Any, y: Any = None, groups: Any = None, **lists: Unpack[ListKeywords]
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the row numbers of train and test of each fold.

        Parameters
        ----------
        X : array-like or RankingData
            Only its length is used (of a `RankingData`, its queries and groups).
        y : ignored
        groups : array-like, optional
            Taken as ``qid`` where that is not given.
        qid : array-like, optional
            The list of each row.
        sensitive_features : array-like, optional
            Groups to spread evenly with ``by="item"``.
        """
        check_params(
            "QueryKFold",
            vars(self),
            {"n_splits": Integer(2), "by": Choice("query", "item"), "shuffle": Flag()},
        )
        qid = groups if lists["qid"] is None else lists["qid"]
        if self.by == "query" and qid is None and not isinstance(X, RankingData):
            line, _ = routing_line()
            way = "write split(X, qid=qid)"
            if line is not None:
                way = f"with sklearn.set_config(enable_metadata_routing=True) write {line}"
            raise DataError(f"qid must be given to QueryKFold, which keeps lists whole; {way}")
        data = _rows_only(X, qid, lists["sensitive_features"])
        fold = _folds(data, self.n_splits, self.by, self.shuffle, self.random_state)
        fold = data.to_original(fold)
        for number in range(self.n_splits):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, **_: Any) -> int:
        """Return the number of folds."""
        return self.n_splits


def query_train_test_split(
    X: Any = None,
    y: Any = None,
    *,
    test_size: float = 0.25,
    by: Literal["query", "item"] = "query",
    random_state: Any = None,
    **given: Any,
) -> tuple[RankingData, RankingData]:
    """Split data into train and test by whole queries.

    Parameters
    ----------
    X, y, **given
        A `RankingData`, or what `as_ranking_data` takes.
    test_size : float
        Share of the queries (with ``by="item"`` of the rows) that becomes the test.
    by : {"query", "item"}
        Whole queries; or, for data that is one list of people, its rows, stratified by group, so
        that train and test are shorter lists of their own.
    random_state : int, Generator, RandomState or None
        Seed of the shuffle.

    Returns
    -------
    train, test : RankingData

    Examples
    --------
    >>> from equirank import query_train_test_split
    >>> from equirank.datasets import make_ranking
    >>> data = make_ranking(n_queries=8, random_state=0)
    >>> train, test = query_train_test_split(data, random_state=0)
    >>> train.n_queries, test.n_queries
    (6, 2)
    """
    check_params(
        "query_train_test_split",
        {"test_size": test_size, "by": by},
        {
            "test_size": Number(0, 1, open_low=True, open_high=True),
            "by": Choice("query", "item"),
        },
    )
    data = as_ranking_data(X, y, **given)
    rng = generator(random_state)
    if by == "query":
        _need_queries(data, 2)
        n_test = min(max(1, round(test_size * data.n_queries)), data.n_queries - 1)
        test = np.zeros(data.n_queries, dtype=bool)
        test[rng.permutation(data.n_queries)[:n_test]] = True
        return data.select(~test), data.select(test)
    if data.n_rows < 2:
        raise DataError("X must have at least two rows to be split by item, got 1")
    cells = _cells(data)
    order = np.lexsort((rng.random(data.n_rows), cells))
    place = np.arange(data.n_rows)
    chosen = np.floor((place + 1) * test_size + 0.5) > np.floor(place * test_size + 0.5)
    if chosen.all() or not chosen.any():
        chosen[-1] = not chosen[-1]
    return data.select_items(order[~chosen]), data.select_items(order[chosen])


def _rows_only(X: Any, qid: Any, sensitive_features: Any) -> RankingData:
    if isinstance(X, RankingData):
        return X
    n_rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    data = as_ranking_data(np.empty((n_rows, 0)), qid=qid, sensitive_features=sensitive_features)
    return data


def _folds(
    data: RankingData, n_splits: int, by: str, shuffle: bool, random_state: Any
) -> np.ndarray:
    """Return the fold of each stored row."""
    rng = generator(random_state) if shuffle else None
    if by == "query":
        _need_queries(data, n_splits)
        order = np.arange(data.n_queries) if rng is None else rng.permutation(data.n_queries)
        fold = np.empty(data.n_queries, dtype=np.int64)
        fold[order] = np.arange(data.n_queries) * n_splits // data.n_queries
        return np.repeat(fold, np.diff(data.offsets))
    if data.n_rows < n_splits:
        raise DataError(
            f"n_splits must be at most the number of rows ({data.n_rows}), got {n_splits}"
        )
    tie = np.arange(data.n_rows) if rng is None else rng.random(data.n_rows)
    order = np.lexsort((tie, _cells(data)))
    fold = np.empty(data.n_rows, dtype=np.int64)
    fold[order] = np.arange(data.n_rows) % n_splits
    return fold


def _cells(data: RankingData) -> np.ndarray:
    """Return each row's cell of query and groups, for stratified draws."""
    code = data.query_of_rows()
    for attribute in data.sensitive.values():
        code = code * (len(attribute.categories) + 1) + attribute.codes + 1
    return code


def _need_queries(data: RankingData, n: int) -> None:
    if data.n_queries >= n:
        return
    if data.n_queries == 1:
        raise DataError(
            "qid must name at least two lists to keep them whole, got one list; "
            'by="item" splits the rows of a single list'
        )
    raise DataError(f"n_splits must be at most the number of queries ({data.n_queries}), got {n}")
