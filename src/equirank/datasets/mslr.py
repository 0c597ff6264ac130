"""MSLR: web pages for queries, in groups by a quality score."""

from dataclasses import replace
from typing import Any, Literal, Unpack

import numpy as np

from ..core.errors import DataError
from ..core.inputs import choose
from ..core.keywords import shared_keywords
from ..core.params import Integer, Number, check_params
from ..io.letor import read_letor
from .assembly import FrameKeywords, frame_of, people
from .catalogue import dataset
from .fetch import AnyPath, find

__all__ = ["load_mslr"]


_QUALITY = 133  # QualityScore2, counted from 1
_N_FEATURES = 136


@shared_keywords(FrameKeywords)
def load_mslr(
    *,
    path: AnyPath | None = None,
    version: Literal["sample", "WEB10K", "WEB30K"] = "sample",
    part: Literal["train", "vali", "test"] = "train",
    fold: int = 1,
    threshold: float = 10.0,
    drop_quality: bool = False,
    dtype: Any = np.float64,
    **form: Unpack[FrameKeywords],
) -> Any:
    """Load a part of MSLR: web pages for queries, with grades 0 to 4 and 136 features.

    The attribute ``quality`` is ``"low"`` if feature 133, QualityScore2, is below the threshold,
    else ``"high"``.

    Parameters
    ----------
    path : path, optional
        The file, or the folder with ``Fold1`` to ``Fold5`` (for the sample: the folder with its two
        files). None: ``ltr`` in the data folder, or else in the cache.
    version : {"sample", "WEB10K", "WEB30K"}
        5,000 rows each of train and test, or a whole data set.
    part : {"train", "vali", "test"}
        The part of the fold; the sample has no validation.
    fold : int, default=1
        From 1 to 5; the sample has only the first.
    threshold : float, default=10.0
        Threshold of feature 133.
    drop_quality : bool, default=False
        Whether feature 133 is left out of X.
    dtype : {numpy.float64, numpy.float32}
        The type of X.

    Returns
    -------
    RankingData or data frame
        5,000 rows in 43 queries for the training part of the sample.

    References
    ----------
    Qin and Liu, Introducing LETOR 4.0 datasets, arXiv 1306.2597.

    Examples
    --------
    >>> load_mslr(drop_quality=True)  # doctest: +SKIP
    RankingData(5000 rows, 43 queries, 135 features, y, quality (2 groups))
    """
    choose("version", version, ("sample", "WEB10K", "WEB30K"))
    choose("part", part, ("train", "vali", "test"))
    values = {"fold": fold, "threshold": threshold}
    check_params("load_mslr", values, {"fold": Integer(1, 5), "threshold": Number()})
    if version == "sample":
        if part == "vali" or fold != 1:
            raise DataError(
                f"part of load_mslr must be 'train' or 'test' of fold 1 for the sample, got "
                f"{part!r} of fold {fold}"
            )
        name = f"ltr/MSLR-WEB10K-sample/msn1.fold1.{part}.5k.txt.gz"
    else:
        name = f"ltr/MSLR-{version}/Fold{fold}/{part}.txt"
    file = find(dataset("mslr"), name, path=path)
    data = read_letor(file, dtype=dtype, n_features=_N_FEATURES)
    X, column = data.X, _QUALITY - 1
    quality = np.where(X[:, column] < threshold, "low", "high")
    names = tuple(f"feature_{number}" for number in range(1, _N_FEATURES + 1))
    if drop_quality:
        X, names = np.delete(X, column, axis=1), names[:column] + names[_QUALITY:]
    grouped = people(
        X,
        names,
        np.asarray(data.y),
        {"quality": quality},
        categories={"quality": ("high", "low")},
        qid=data.qids[data.query_of_rows()],
    )
    grouped = replace(grouped, rows=data.rows)
    return frame_of(grouped) if form["as_frame"] else grouped
