"""Libras: 360 hand movements of Brazilian sign language in 15 classes."""

from typing import Any, Unpack

import numpy as np

from ..core.keywords import shared_keywords
from ..core.params import Integer, Optional, check_params
from ..core.random import generator
from ..io.sheet import Sheet
from .assembly import Fold, FrameKeywords, frame_of, people
from .catalogue import dataset
from .fetch import AnyPath, find

__all__ = ["load_libras"]


_NAMES = tuple(f"{axis}{frame}" for frame in range(1, 46) for axis in "xy")


@shared_keywords(FrameKeywords)
def load_libras(
    *,
    path: AnyPath | None = None,
    folds: int | None = None,
    random_state: Any = 0,
    **form: Unpack[FrameKeywords],
) -> Any:
    """Load Libras as one list, with the class from 1 to 15 as relevance.

    30 of the 360 rows are exact duplicates. Equal rows have equal ids, so that they can be kept in
    one fold: by ``folds``, or by any group splitter, such as
    ``QueryKFold(5).split(data.X, qid=data.ids)`` with `RankingData.select_items`.

    Parameters
    ----------
    path : path, optional
        The file ``movement_libras.data`` or a folder with it. None: the data folder, or else the
        cache.
    folds : int, optional
        Return this number of folds, each with train and test (validation is None), stratified by
        class. Equal rows are in one fold.
    random_state : int, Generator, RandomState or None
        Seed of the folds.

    Returns
    -------
    RankingData, data frame or tuple of Fold
        360 rows with 90 coordinates: 45 points on the path of the hand.

    References
    ----------
    Dias, Madeo, Rocha, Biscaro and Peres, Hand movement recognition for Brazilian sign language,
    IJCNN 2009.

    Examples
    --------
    >>> train, _, test = load_libras(folds=5)[0]  # doctest: +SKIP
    >>> set(train.ids) & set(test.ids)  # doctest: +SKIP
    set()
    """
    check_params("load_libras", {"folds": folds}, {"folds": Optional(Integer(2))})
    file = find(dataset("libras"), "libras/movement_libras.data", path=path)
    sheet = Sheet.read(file, (*_NAMES, "class"), quoted=False)
    X, y = sheet.matrix(_NAMES), sheet.numbers("class")
    _, first, inverse = np.unique(
        np.column_stack([X, y]), axis=0, return_index=True, return_inverse=True
    )
    data = people(X, _NAMES, y, None, ids=first[inverse])
    if form["as_frame"]:
        return frame_of(data)
    if folds is None:
        return data
    fold = _fold_of(np.asarray(data.ids), y, folds, generator(random_state))
    return tuple(
        Fold(
            data.select_items(np.flatnonzero(fold != number)),
            None,
            data.select_items(np.flatnonzero(fold == number)),
        )
        for number in range(folds)
    )


def _fold_of(ids: np.ndarray, y: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Return the fold of each row: distinct rows assigned class by class, duplicates together."""
    distinct, inverse = np.unique(ids, return_inverse=True)
    order = np.lexsort((rng.random(len(distinct)), y[distinct]))
    fold = np.empty(len(distinct), dtype=np.int64)
    fold[order] = np.arange(len(distinct)) % folds
    return fold[inverse]
