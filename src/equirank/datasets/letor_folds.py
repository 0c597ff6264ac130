"""Folders of LETOR files with their published folds, such as MQ2007, MQ2008 and MSLR."""

from pathlib import Path
from typing import Any, Unpack, overload

import numpy as np

from ..core.errors import DataError
from ..core.keywords import shared_keywords
from ..core.params import Integer, Optional, check_params
from ..io.letor import read_letor
from .assembly import Fold, FrameKeywords, frame_of, stack, widen
from .catalogue import dataset
from .fetch import AnyPath, find

__all__ = ["load_letor_folds", "load_mq2008", "parts_of"]


N_FOLDS = 5
_TRAIN, _VALIDATION, _TEST = ("train", "training"), ("vali", "validation", "valid"), ("test",)


@overload
def load_letor_folds(
    path: AnyPath, *, fold: None = None, sparse: bool = False, dtype: Any = np.float64,
    ids_from_comments: bool = False,
) -> tuple[Fold, ...]: ...  # fmt: skip
@overload
def load_letor_folds(
    path: AnyPath, *, fold: int, sparse: bool = False, dtype: Any = np.float64,
    ids_from_comments: bool = False,
) -> Fold: ...  # fmt: skip
def load_letor_folds(
    path: AnyPath,
    *,
    fold: int | None = None,
    sparse: bool = False,
    dtype: Any = np.float64,
    ids_from_comments: bool = False,
) -> tuple[Fold, ...] | Fold:
    r"""Load the published folds of a folder of LETOR files, each with train, validation and test.

    Three layouts are supported, with files compressed by gzip or not:

    - ``Fold1`` to ``Fold5``, each with ``train.txt``, ``vali.txt`` and ``test.txt`` (LETOR, MSLR);
    - the parts ``S1.txt`` to ``S5.txt``: fold 1 trains on S1, S2 and S3, validates on S4 and
      tests on S5, and each further fold shifts by one (LETOR);
    - ``rank.train`` and ``rank.test`` with query sizes in ``rank.train.query`` and
      ``rank.test.query``: one fold without validation (LightGBM's example).

    Parameters
    ----------
    path : path
        The folder.
    fold : int, optional
        Load only this fold, counted from 1. All folds of a large data set may not fit into memory.
    sparse, dtype, ids_from_comments
        As in `read_letor`.

    Returns
    -------
    tuple of Fold, or Fold
        A fold has the fields ``train``, ``validation`` (None if there is none) and ``test``, with
        the same number of features.

    Raises
    ------
    DataError
        If the folder has none of the layouts or lacks a file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> for part in range(1, 6):
    ...     text = f"1 qid:{part} 1:0.5 2:1\n0 qid:{part} 1:0.1\n"
    ...     _ = pathlib.Path(folder.name, f"S{part}.txt").write_text(text)
    >>> train, validation, test = load_letor_folds(folder.name, fold=2)
    >>> train.qids, validation.qids, test.qids
    (array([2, 3, 4]), array([5]), array([1]))
    >>> len(load_letor_folds(folder.name))
    5
    >>> folder.cleanup()
    """
    folder = Path(path)
    if not folder.is_dir():
        raise DataError(f"path must be a folder of LETOR files, got {str(path)!r}")
    plans = _plans(folder)
    declared = {"fold": Optional(Integer(1, len(plans)))}
    check_params("load_letor_folds", {"fold": fold}, declared)
    options = {"sparse": sparse, "dtype": dtype, "ids_from_comments": ids_from_comments}
    known: dict[Path, Any] = {}  # the parts S1 to S5 are read once

    def part(files: list[Path]) -> Any:
        for file in files:
            if file not in known:
                known[file] = read_letor(file, **options)
        return stack([known[file] for file in files]) if files else None

    folds = []
    for plan in plans if fold is None else [plans[fold - 1]]:
        train, validation, test = (part(files) for files in plan)
        if validation is None:
            train, test = widen([train, test])
        else:
            train, validation, test = widen([train, validation, test])
        folds.append(Fold(train, validation, test))
        if len(plan[0]) == 1:
            known.clear()
    return tuple(folds) if fold is None else folds[0]


def _plans(folder: Path) -> list[list[list[Path]]]:
    """Return for each fold the files of train, validation and test."""
    if (folder / "Fold1").is_dir():
        folders = [folder / f"Fold{number}" for number in range(1, N_FOLDS + 1)]
        return [[[_file(each, *n)] for n in (_TRAIN, _VALIDATION, _TEST)] for each in folders]
    if _exists(folder / "S1.txt"):
        parts = [_file(folder, f"S{number}") for number in range(1, N_FOLDS + 1)]
        shifted = [[parts[(first + step) % N_FOLDS] for step in range(N_FOLDS)]
                  for first in range(N_FOLDS)]  # fmt: skip
        return [[five[:3], five[3:4], five[4:]] for five in shifted]
    if _exists(folder / "rank.train"):
        return [[[folder / "rank.train"], [], [folder / "rank.test"]]]
    raise DataError(
        f"{folder}: must contain Fold1 to Fold5, or S1.txt to S5.txt, or rank.train and rank.test, "
        "got none of these"
    )


def _exists(file: Path) -> bool:
    return file.is_file() or file.with_name(f"{file.name}.gz").is_file()


def _file(folder: Path, *stems: str) -> Path:
    for stem in stems:
        for name in (f"{stem}.txt", f"{stem}.txt.gz"):
            if (folder / name).is_file():
                return folder / name
    raise DataError(f"{folder}: must contain {stems[0]}.txt (or .txt.gz), got no such file")


def parts_of(folder: Path) -> list[Path]:
    """Return files that contain each row once: S1 to S5, or the tests of the five folds."""
    plans = _plans(folder)
    if len(plans) == 1:
        raise DataError(f"{folder}: must contain Fold1 to Fold5 or S1.txt to S5.txt, got neither")
    tests = [plan[2][0] for plan in plans]
    return [*tests[1:], tests[0]]  # the test of fold 2 is S1


@shared_keywords(FrameKeywords)
def load_mq2008(
    *,
    path: AnyPath | None = None,
    folds: bool = False,
    dtype: Any = np.float64,
    **form: Unpack[FrameKeywords],
) -> Any:
    """Load MQ2008: web pages for queries, with grades 0 to 2 and 46 features.

    Parameters
    ----------
    path : path, optional
        A folder with ``S1.txt`` to ``S5.txt`` or ``Fold1`` to ``Fold5``. None: ``ltr/MQ2008`` in
        the data folder, or else in the cache.
    folds : bool, default=False
        Return the five published folds, each with train, validation and test.
    dtype : {numpy.float64, numpy.float32}
        The type of X.

    Returns
    -------
    RankingData, data frame or tuple of Fold
        15,211 rows in 784 queries; ids are the names of the documents.

    See Also
    --------
    load_letor_folds : Folds of other LETOR data sets.

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
    if folds and not form["as_frame"]:
        return load_letor_folds(folder, dtype=dtype, ids_from_comments=True)
    parts = [read_letor(part, dtype=dtype, ids_from_comments=True) for part in parts_of(folder)]
    data = stack(parts)
    return frame_of(data) if form["as_frame"] else data
