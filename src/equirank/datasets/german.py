"""German credit: 1,000 applicants, 700 of them creditworthy."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.table import Table
from ._fetch import AnyPath, find
from .catalogue import dataset
from .encoding import Encoding, choose_attributes, encode, people
from .sheet import Sheet

__all__ = ["load_german"]

_COLUMNS = (
    *("checking_account", "duration", "credit_history", "purpose", "amount", "savings"),
    *("employment", "installment_rate", "personal_status", "other_debtors", "residence_since"),
    *("property", "age", "other_plans", "housing", "n_credits", "job", "n_dependents"),
    *("telephone", "foreign_worker", "class"),
)
_NUMBERS = (
    *("duration", "amount", "installment_rate", "residence_since", "age", "n_credits"),
    *("n_dependents", "class"),
)
_SEX = {"A91": "male", "A92": "female", "A93": "male", "A94": "male", "A95": "female"}
#: The column each attribute is read from.
_ATTRIBUTES = {"sex": "personal_status", "age_25": "age", "age_35": "age"}


def load_german(
    *,
    path: AnyPath | None = None,
    sensitive: str | Sequence[str] | None = None,
    keep_sensitive: bool = False,
    encoding: Encoding = "onehot",
    as_frame: bool = False,
) -> Any:
    """Load the German credit data as one list of 1,000 people, relevant where creditworthy.

    Parameters
    ----------
    path : path, optional
        The file ``german.data`` or a folder that holds it. None: the data folder, the cache, else
        it is downloaded.
    sensitive : str or sequence of str, optional
        Among ``"sex"`` (from the ninth attribute), ``"age_25"`` and ``"age_35"`` (younger than
        that, or not). None: all three.
    keep_sensitive : bool, default=False
        Whether X also has the columns that the sensitive attributes are read from: the personal
        status, which tells the sex, and the age.
    encoding : {"onehot", "ordinal"}
        Categories in X as indicators or as integers.
    as_frame : bool, default=False
        Give the columns of the file, with ``sex``, as a native data frame instead.

    Returns
    -------
    RankingData or data frame
        1,000 rows, ids 0 to 999.

    See Also
    --------
    make_german_lists : Lists of 50 of these people, split into train and test.

    References
    ----------
    Hofmann, Statlog (German Credit Data), UCI Machine Learning Repository 1994.

    Examples
    --------
    >>> data = load_german(sensitive="age_35")  # doctest: +SKIP
    >>> data.attribute().categories  # doctest: +SKIP
    ('35 and over', 'under 35')
    """
    names = choose_attributes("load_german", sensitive, tuple(_ATTRIBUTES))
    file = find(dataset("german"), "german/german.data", path=path)
    sheet = Sheet.read(file, _COLUMNS, delimiter=" ", quoted=False)
    columns = {
        name: sheet.integers(name) if name in _NUMBERS else sheet.words(name) for name in _COLUMNS
    }
    columns["sex"] = sheet.choice("personal_status", _SEX)
    good = sheet.choice("class", {"1": "good", "2": "bad"}) == "good"
    if as_frame:
        return Table(columns).to_frame()
    return _data(columns, good, names, keep_sensitive, encoding)


def _data(
    columns: dict[str, np.ndarray],
    good: np.ndarray,
    names: tuple[str, ...],
    keep_sensitive: bool,
    encoding: Encoding,
) -> RankingData:
    sensitive = {}
    for name in names:
        if name == "sex":
            sensitive[name] = columns["sex"]
        else:
            limit = name.removeprefix("age_")
            young = columns["age"] < int(limit)
            sensitive[name] = np.where(young, f"under {limit}", f"{limit} and over")
    left_out = {"class"} | (set() if keep_sensitive else {_ATTRIBUTES[name] for name in names})
    X, features = encode({n: columns[n] for n in _COLUMNS if n not in left_out}, encoding)
    return people(X, features, good.astype(np.float64), sensitive, ids=np.arange(len(good)))
