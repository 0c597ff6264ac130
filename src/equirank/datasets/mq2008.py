"""MQ2008 of LETOR 4.0: web pages for 784 queries, with five published folds."""

from typing import Any

import numpy as np

from ._fetch import AnyPath, find
from .catalogue import dataset
from .encoding import frame_of
from .folds import stack
from .letor import read_letor
from .letor_folds import load_letor_folds, parts_of

__all__ = ["load_mq2008"]


def load_mq2008(
    *,
    path: AnyPath | None = None,
    folds: bool = False,
    dtype: Any = np.float64,
    as_frame: bool = False,
) -> Any:
    """Load MQ2008: web pages graded 0 to 2 for queries, described by 46 features.

    Parameters
    ----------
    path : path, optional
        A folder with ``S1.txt`` to ``S5.txt`` or ``Fold1`` to ``Fold5``, packed or not. None: the
        data folder, else the cache (``ltr/MQ2008`` in either).
    folds : bool, default=False
        Give the five published folds, each with train, validation and test, instead of all rows.
    dtype : {numpy.float64, numpy.float32}
        The type of X.
    as_frame : bool, default=False
        Give all rows as a native data frame instead.

    Returns
    -------
    RankingData, data frame or tuple of Fold
        15,211 rows in 784 queries; ids are the documents' names.

    See Also
    --------
    load_letor_folds : The same for other sets of LETOR.

    References
    ----------
    Qin and Liu, Introducing LETOR 4.0 datasets, arXiv 1306.2597.

    Examples
    --------
    >>> load_mq2008()  # doctest: +SKIP
    RankingData(15211 rows, 784 queries, 46 features, y)
    >>> train, validation, test = load_mq2008(folds=True)[0]  # doctest: +SKIP
    """
    usual, published = "ltr/MQ2008/S1.txt.gz", "ltr/MQ2008/Fold1/train.txt"
    file = find(dataset("mq2008"), usual, published, path=path)
    folder = file.parent.parent if file.parent.name == "Fold1" else file.parent
    if folds and not as_frame:
        return load_letor_folds(folder, dtype=dtype, ids_from_comments=True)
    parts = [read_letor(part, dtype=dtype, ids_from_comments=True) for part in parts_of(folder)]
    data = stack(parts)
    return frame_of(data) if as_frame else data
