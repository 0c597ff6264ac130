"""German credit: 1,000 applicants, 700 of them creditworthy, and lists drawn from them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.given_data import as_ranking_data
from ..core.keywords import shared_keywords
from ..core.params import Flag, Integer, Number, check_params
from ..core.random import as_seed, generator
from ..core.table import Table
from ..io.sheet import Sheet
from .assembly import (
    Encoding,
    PeopleKeywords,
    choose_attributes,
    encode,
    keep_share,
    people,
)
from .catalogue import dataset
from .fetch import AnyPath, find

__all__ = ["load_german", "make_german_lists"]


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
#: The column of each attribute.
_ATTRIBUTES = {"sex": "personal_status", "age_25": "age", "age_35": "age"}


@shared_keywords(PeopleKeywords)
def load_german(
    *,
    path: AnyPath | None = None,
    sensitive: str | Sequence[str] | None = None,
    **how: Unpack[PeopleKeywords],
) -> Any:
    """Load German credit as one list of 1,000 people; relevant: creditworthy.

    Parameters
    ----------
    path : path, optional
        The file ``german.data`` or a folder with it. None: the data folder, the cache, or else a
        download.
    sensitive : str or sequence of str, optional
        Sensitive attributes: ``"sex"``, ``"age_25"`` and ``"age_35"`` (younger than that, or not).
        None: all three. Their columns are the personal status, which includes the sex, and the age.
    as_frame : bool, default=False
        Return the columns of the file, and ``sex``, as a native data frame.

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
    if how["as_frame"]:
        return Table(columns).to_frame()
    return _data(columns, good, names, how["keep_sensitive"], how["encoding"])


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


_BLOCK = 1 << 22  # random numbers drawn at a time
_SPLIT, _TRAIN, _TEST, _ALL = range(4)  # streams of random numbers


def make_german_lists(
    n_lists: int = 5000,
    *,
    split_people: bool = True,
    test_size: float = 0.25,
    list_size: int = 50,
    share_creditworthy: float = 0.2,
    random_state: Any = None,
    **options: Any,
) -> tuple[RankingData, RankingData]:
    """Draw lists of people from German credit: train and test.

    Every list is drawn independently, without replacement: ``list_size`` people, a fifth of them
    creditworthy, in random order. A model can memorise 1,000 people, so by default no person of a
    test list is in a training list.

    Parameters
    ----------
    n_lists : int, default=5000
        Number of lists, train and test in total.
    split_people : bool, default=True
        Whether people are split first (stratified by class and sensitive attributes), each list
        drawn from one side. False draws all lists from all people and then splits the lists, as
        published; the test then measures how well the model memorised people.
    test_size : float, default=0.25
        The share of the lists, and with ``split_people`` of the people, in the test set.
    list_size : int, default=50
        Number of people in a list.
    share_creditworthy : float, default=0.2
        The share of creditworthy people in a list.
    random_state : int, Generator, RandomState or None
        Seed.
    **options
        Passed to `load_german`: path, sensitive, keep_sensitive, encoding.

    Returns
    -------
    train, test : RankingData
        Queries 0, 1, ...; ids are the people's row numbers in the file.

    Raises
    ------
    DataError
        If a side has fewer people of a class than a list needs.

    Examples
    --------
    >>> train, test = make_german_lists(100, random_state=0)  # doctest: +SKIP
    >>> set(train.ids) & set(test.ids)  # doctest: +SKIP
    set()
    """
    check_params(
        "make_german_lists",
        {"n_lists": n_lists, "list_size": list_size, "split_people": split_people,
         "test_size": test_size, "share_creditworthy": share_creditworthy},
        {"n_lists": Integer(2), "list_size": Integer(1), "split_people": Flag(),
         "test_size": Number(0, 1, open_low=True, open_high=True),
         "share_creditworthy": Number(0, 1)},
    )  # fmt: skip
    seed = as_seed(random_state)
    people = load_german(**options)
    n_test = min(max(1, round(test_size * n_lists)), n_lists - 1)
    n_good = round(share_creditworthy * list_size)
    sizes = (n_good, list_size - n_good)
    if split_people:
        classes = [np.asarray(people.y), *(a.codes for a in people.sensitive.values())]
        held_out = keep_share(classes, test_size, generator(seed, _SPLIT))
        sides = ((~held_out, n_lists - n_test, _TRAIN), (held_out, n_test, _TEST))
        rows = [_draw(people, side, n, sizes, generator(seed, key)) for side, n, key in sides]
    else:
        everyone = np.ones(len(people), dtype=bool)
        drawn = _draw(people, everyone, n_lists, sizes, generator(seed, _ALL))
        rows = [drawn[: n_lists - n_test], drawn[n_lists - n_test :]]
    return _lists(people, rows[0], 0), _lists(people, rows[1], n_lists - n_test)


def _draw(
    people: RankingData,
    side: np.ndarray,
    n_lists: int,
    sizes: tuple[int, int],
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the rows of each list (lists x positions): drawn by class, then shuffled."""
    good = np.asarray(people.y) > 0
    parts = []
    for word, members, size in zip(("", "not "), (good, ~good), sizes, strict=True):
        pool = np.flatnonzero(side & members)
        if len(pool) < size:
            raise DataError(
                f"list_size of make_german_lists must need at most the {len(pool)} people who are "
                f"{word}creditworthy, got {size}"
            )
        parts.append(pool[_subsets(len(pool), size, n_lists, rng)])
    drawn = np.concatenate(parts, axis=1)
    return np.take_along_axis(drawn, rng.random(drawn.shape).argsort(axis=1), axis=1)


def _subsets(n: int, size: int, n_lists: int, rng: np.random.Generator) -> np.ndarray:
    """Return random subsets of 0, ..., n - 1, each equally likely."""
    if size == 0:
        return np.empty((n_lists, 0), dtype=np.int64)
    result = np.empty((n_lists, size), dtype=np.int64)
    step = max(1, _BLOCK // n)
    for begin in range(0, n_lists, step):
        keys = rng.random((min(step, n_lists - begin), n))
        result[begin : begin + step] = np.argpartition(keys, size - 1, axis=1)[:, :size]
    return result


def _lists(people: RankingData, rows: np.ndarray, first: int) -> RankingData:
    flat = rows.ravel()
    data = as_ranking_data(
        people.X[flat],
        np.asarray(people.y)[flat],
        qid=np.repeat(np.arange(first, first + len(rows)), rows.shape[1]),
        ids=flat,
    )
    sensitive = {name: replace(a, codes=a.codes[flat]) for name, a in people.sensitive.items()}
    return replace(data, sensitive=sensitive, feature_names=people.feature_names)
