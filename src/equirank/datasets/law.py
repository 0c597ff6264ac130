"""Law students: entrance test, college grades, and first-year average."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ..core.inputs import choose
from ..core.params import Number, Optional, check_params
from ..core.random import generator
from ..core.table import Table
from ..io.sheet import Sheet
from .assembly import choose_attributes, keep_share, people
from .catalogue import dataset
from .fetch import AnyPath, find

__all__ = ["load_law"]


_FEATURES = ("LSAT", "UGPA")
_NUMBERS = ("LSAT", "UGPA", "ZFYA", "sander_index", "first_pf")
_SEX = {"1": "female", "2": "male"}
_LOWEST = 3.35  # the minimum of the standardised average is -3.35


def load_law(
    *,
    path: AnyPath | None = None,
    variant: Literal["full", "deltr_sex", "deltr_race"] = "full",
    part: Literal["train", "test"] = "train",
    races: Sequence[str] | None = None,
    subsample: float | None = None,
    sensitive: str | Sequence[str] | None = None,
    random_state: Any = 0,
    as_frame: bool = False,
) -> Any:
    """Load law students as one list; relevance: first-year average.

    Features are the entrance test (``LSAT``) and the college grade (``UGPA``). The average is
    standardised; 3.35 is added, so that the lowest relevance is 0.

    Parameters
    ----------
    path : path, optional
        The file ``law_data.csv`` (or that of the variant), or a folder with it. None: the data
        folder, or else the cache.
    variant : {"full", "deltr_sex", "deltr_race"}
        All students, or one of the two published samples of DELTR, whose features are
        standardised.
    part : {"train", "test"}
        The part of a DELTR sample.
    races : sequence of str, optional
        Keep only students of these races, such as ``("Black", "White")``.
    subsample : float, optional
        Keep this share of the students, stratified by sex and race; 0.1 as published.
    sensitive : str or sequence of str, optional
        Sensitive attributes: ``"sex"`` and ``"race"``. None: both; in a DELTR sample, its own.
    random_state : int, Generator, RandomState or None
        Seed of the subsample.
    as_frame : bool, default=False
        Return the columns of the file as a native data frame.

    Returns
    -------
    RankingData or data frame
        21,791 rows.

    References
    ----------
    Wightman, LSAC national longitudinal bar passage study, 1998. Kusner, Loftus, Russell and Silva,
    Counterfactual fairness, NeurIPS 2017. Zehlike and Castillo, Reducing disparate exposure in
    ranking, WWW 2020.

    Examples
    --------
    >>> load_law(subsample=0.1)  # doctest: +SKIP
    RankingData(2179 rows, 1 query, 2 features, y, sex (2 groups), race (8 groups))
    """
    choose("variant", variant, ("full", "deltr_sex", "deltr_race"))
    choose("part", part, ("train", "test"))
    share = Optional(Number(0, 1, open_low=True))
    check_params("load_law", {"subsample": subsample}, {"subsample": share})
    known = ("sex", "race") if variant == "full" else (variant.removeprefix("deltr_"),)
    names = choose_attributes("load_law", sensitive, known)
    columns = _full(path) if variant == "full" else _sample(path, known[0], part)
    kept = np.ones(len(columns["ZFYA"]), dtype=bool)
    if races is not None:
        choose_attributes("load_law(races=...)", races, sorted(set(columns["race"].tolist())))
        kept &= np.isin(columns["race"].astype(str), list(races))
    columns = {name: values[kept] for name, values in columns.items()}
    if subsample is not None:
        drawn = keep_share([columns[name] for name in known], subsample, generator(random_state))
        columns = {name: values[drawn] for name, values in columns.items()}
    if as_frame:
        return Table(columns).to_frame()
    X = np.column_stack([columns[name] for name in _FEATURES])
    y = np.round(columns["ZFYA"] + _LOWEST, 6)
    return people(X, _FEATURES, y, {name: columns[name] for name in names})


def _full(path: AnyPath | None) -> dict[str, np.ndarray]:
    sheet = Sheet.read(find(dataset("law"), "law/law_data.csv", path=path))
    columns = {"race": sheet.words("race"), "sex": sheet.choice("sex", _SEX)}
    columns["region_first"] = sheet.words("region_first")
    return columns | {name: sheet.numbers(name) for name in _NUMBERS}


def _sample(path: AnyPath | None, attribute: str, part: str) -> dict[str, np.ndarray]:
    word = {"sex": "Gender", "race": "Race"}[attribute]
    file = find(dataset("law"), f"law/deltr/LawStudents_{word}_{part}.txt", path=path)
    sheet = Sheet.read(file, ("query", "protected", *_FEATURES, "ZFYA"), quoted=False)
    meaning = {"sex": ("male", "female"), "race": ("White", "Black")}[attribute]
    columns = {attribute: sheet.choice("protected", dict(zip("01", meaning, strict=True)))}
    return columns | {name: sheet.numbers(name) for name in (*_FEATURES, "ZFYA")}
