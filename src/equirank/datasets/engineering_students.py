"""Engineering students: entrance tests, school grades, and first-year grades."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..io.sheet import Sheet
from .assembly import Fold, choose_attributes, frame_of, people
from .catalogue import dataset
from .fetch import AnyPath, find

__all__ = ["load_engineering_students"]


_FEATURES = ("psu_math", "psu_lang", "psu_science", "gpa")
#: Attribute: its word in the file name and column, and the meaning of 0 and 1 (protected).
_ATTRIBUTES = {
    "sex": ("gender", {"0": "male", "1": "female", "0.0": "male", "1.0": "female"}),
    "high_school": (
        "highschool",
        {"0": "private", "1": "public", "0.0": "private", "1.0": "public"},
    ),
}


def load_engineering_students(
    *,
    path: AnyPath | None = None,
    sensitive: str | Sequence[str] | None = None,
    folds: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load five years of engineering students, one list per year; relevance: first-year grade.

    The grade is standardised; its minimum is subtracted, so that the lowest relevance is 0.

    Parameters
    ----------
    path : path, optional
        A folder with ``chileDataL2R_gender_nosemi_full.txt`` and
        ``chileDataL2R_highschool_nosemi_full.txt``. None: the data folder, or else the cache.
    sensitive : str or sequence of str, optional
        Sensitive attributes: ``"sex"`` (protected: female) and ``"high_school"`` (protected:
        public). None: both. Each has its own file with the same students.
    folds : bool, default=False
        Return the five published folds: each tests on one year and trains on all other years.
    as_frame : bool, default=False
        Return all rows as a native data frame.

    Returns
    -------
    RankingData, data frame or tuple of Fold
        2,403 rows in 5 queries.

    References
    ----------
    Zehlike and Castillo, Reducing disparate exposure in ranking: a learning to rank approach, WWW
    2020.

    Examples
    --------
    >>> load_engineering_students(sensitive="sex")  # doctest: +SKIP
    RankingData(2403 rows, 5 queries, 4 features, y, sex (2 groups))
    """
    names = choose_attributes("load_engineering_students", sensitive, tuple(_ATTRIBUTES))
    sheets = {name: Sheet.read(_file(name, path), quoted=False) for name in names}
    first = sheets[names[0]]
    same = ("entrance_year", *_FEATURES, "score")
    for sheet in sheets.values():
        if any(first.column(column) != sheet.column(column) for column in same):
            raise DataError(
                f"{first.path} and {sheet.path} must contain the same students in order"
            )
    groups = {n: s.choice(_ATTRIBUTES[n][0], _ATTRIBUTES[n][1]) for n, s in sheets.items()}
    score, year = first.numbers("score"), first.integers("entrance_year")
    data = people(first.matrix(_FEATURES), _FEATURES, score - score.min(), groups, qid=year)
    if as_frame:
        return frame_of(data)
    if not folds:
        return data
    years = np.arange(data.n_queries)
    return tuple(Fold(data.select(years != q), None, data.select(years == q)) for q in years)


def _file(attribute: str, path: AnyPath | None) -> Any:
    name = f"engineering_students/chileDataL2R_{_ATTRIBUTES[attribute][0]}_nosemi_full.txt"
    return find(dataset("engineering_students"), name, path=path)
