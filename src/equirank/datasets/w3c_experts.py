"""W3C experts: candidate experts for topics, by the match of their documents."""

from typing import Any, Literal

import numpy as np

from ..core.data import RankingData
from ..core.inputs import choose
from ..io.sheet import Sheet
from .assembly import Fold, frame_of, people, stack
from .catalogue import dataset
from .fetch import AnyPath, find

__all__ = ["load_w3c_experts"]


_FEATURES = tuple(f"feature_{number}" for number in range(1, 6))
_DELTR = ("session", "sensitive_attribute", *_FEATURES, "score")
_N_FOLDS = 6


def load_w3c_experts(
    *,
    path: AnyPath | None = None,
    variant: Literal["deltr", "ba_laura"] = "deltr",
    folds: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load candidate experts for 60 topics, with judgements by position; protected: women.

    The data set is nearly degenerate: only 3,962 of 12,190 rows have different features (50 of the
    2,000 test rows of fold 1), so ties determine every metric. It is included because published
    results use it.

    Parameters
    ----------
    path : path, optional
        A folder with the files. None: ``trec_w3c`` in the data folder, or else in the cache.
    variant : {"deltr", "ba_laura"}
        The data of DELTR, or of an earlier study with 1,092 candidates for each topic.
    folds : bool, default=False
        Return the published folds: six of DELTR, each testing on ten topics, without validation;
        one of the other variant, with train, validation and test.
    as_frame : bool, default=False
        Return all rows as a native data frame.

    Returns
    -------
    RankingData, data frame or tuple of Fold
        12,190 rows in 60 queries (the other variant: 65,520 rows).

    References
    ----------
    Zehlike and Castillo, WWW 2020, as in `load_engineering_students`.

    Examples
    --------
    >>> load_w3c_experts()  # doctest: +SKIP
    RankingData(12190 rows, 60 queries, 5 features, y, sex (2 groups))
    """
    choose("variant", variant, ("deltr", "ba_laura"))
    if folds and not as_frame:
        return _folds(variant, path)
    names = ["deltr_total"]
    if variant == "ba_laura":
        names = [f"ba_laura_fold1_{part}" for part in ("train", "validation", "test")]
    data = stack([_read(name, path) for name in names])
    return frame_of(data) if as_frame else data


def _folds(variant: str, path: AnyPath | None) -> tuple[Fold, ...]:
    if variant == "ba_laura":
        parts = [_read(f"ba_laura_fold1_{part}", path) for part in ("train", "validation", "test")]
        return (Fold(*parts),)
    return tuple(
        Fold(
            _read(f"deltr_fold{number}_train", path),
            None,
            _read(f"deltr_fold{number}_test", path),
        )
        for number in range(1, _N_FOLDS + 1)
    )


def _read(name: str, path: AnyPath | None) -> RankingData:
    file = find(dataset("w3c_experts"), f"trec_w3c/{name}.csv.gz", path=path)
    sheet = Sheet.read(file, _DELTR if name.startswith("deltr") else None, quoted=False)
    female = sheet.numbers("sensitive_attribute") == 1
    return people(
        sheet.matrix(_FEATURES),
        _FEATURES,
        sheet.numbers("score"),
        {"sex": np.where(female, "female", "male")},
        categories={"sex": ("female", "male")},
        qid=sheet.integers("session"),
    )
