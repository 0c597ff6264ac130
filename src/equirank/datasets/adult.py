"""Adult: people of the 1994 census and whether they earned more than 50,000 dollars."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np

from ..core.inputs import choose
from ..core.keywords import shared_keywords
from ..core.table import Table
from ..io.sheet import Sheet
from .assembly import Column, PeopleKeywords, choose_attributes, encode, people
from .catalogue import dataset
from .fetch import AnyPath, find

__all__ = ["load_adult"]


_COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation"),
    *("relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week"),
    *("native_country", "income"),
)
_NUMBERS = (*("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"),)
_ATTRIBUTES = ("sex", "race")
_NO_FEATURES = ("fnlwgt", "education", "income")
_MISSING = ", ?"  # never the first cell, which is the age


@shared_keywords(PeopleKeywords)
def load_adult(
    *,
    path: AnyPath | None = None,
    part: Literal["all", "train", "test"] = "all",
    drop_missing: bool = True,
    sensitive: str | Sequence[str] | None = None,
    **how: Unpack[PeopleKeywords],
) -> Any:
    """Load Adult as one list of people; relevant: income above 50K.

    Parameters
    ----------
    path : path, optional
        A folder with ``adult.data`` and ``adult.test``. None: the data folder, the cache, or else
        a download.
    part : {"all", "train", "test"}
        Both files, or one. Categories are always those of both.
    drop_missing : bool, default=True
        Whether rows with a missing value are dropped; otherwise ``"?"`` is a category.
    sensitive : str or sequence of str, optional
        Sensitive attributes: ``"sex"`` and ``"race"``. None: both.

    Returns
    -------
    RankingData or data frame
        45,222 rows. X lacks ``fnlwgt``, a survey weight, and ``education``, which
        ``education_num`` encodes.

    References
    ----------
    Kohavi, Scaling up the accuracy of naive-Bayes classifiers, KDD 1996.

    Examples
    --------
    >>> load_adult(part="test", sensitive="sex")  # doctest: +SKIP
    RankingData(15060 rows, 1 query, 83 features, y, sex (2 groups))
    """
    choose("part", part, ("all", "train", "test"))
    names = choose_attributes("load_adult", sensitive, _ATTRIBUTES)
    entry = dataset("adult")
    sheets = [
        _read(find(entry, f"adult/adult.{end}", path=_folder(path)), drop_missing)
        for end in ("data", "test")
    ]
    sheet = sheets[0].above(sheets[1])
    rows = {
        "all": slice(None),
        "train": slice(0, len(sheets[0])),
        "test": slice(len(sheets[0]), None),
    }[part]
    rich = sheet.choice("income", {"<=50K": 0, "<=50K.": 0, ">50K": 1, ">50K.": 1})
    if how["as_frame"]:
        columns = {name: _column(sheet, name)[rows] for name in _COLUMNS[:-1]}
        income = np.where(rich == 1, ">50K", "<=50K").astype(object)
        return Table(columns | {"income": income[rows]}).to_frame()
    left_out = {*_NO_FEATURES, *(() if how["keep_sensitive"] else names)}
    kept = {name: _column(sheet, name) for name in _COLUMNS if name not in left_out}
    X, features = encode(kept, how["encoding"])
    groups = {name: sheet.column(name) for name in names}
    y = rich.astype(np.float64)
    found = {name: values[rows] for name, values in groups.items()}
    return people(X[rows], features, y[rows], found, categories=groups)


def _column(sheet: Sheet, name: str) -> Column:
    return sheet.integers(name) if name in _NUMBERS else sheet.column(name)


def _read(file: Path, drop_missing: bool) -> Sheet:
    """Read one of the two files; the test file begins with a comment."""

    def keep(line: str) -> bool:
        return not (line.startswith("|") or (drop_missing and _MISSING in line))

    return Sheet.read(file, _COLUMNS, delimiter=", ", quoted=False, keep=keep)


def _folder(path: AnyPath | None) -> AnyPath | None:
    """Return the folder if one of the two files was given."""
    return path if path is None or not Path(path).is_file() else Path(path).parent
