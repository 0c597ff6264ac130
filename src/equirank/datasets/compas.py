"""COMPAS: risk scores of defendants, and recidivism within two years."""

from collections.abc import Sequence
from typing import Any, Literal, Unpack

import numpy as np

from ..core.inputs import choose
from ..core.keywords import shared_keywords
from ..core.table import Table
from ..io.sheet import Sheet
from .assembly import PeopleKeywords, choose_attributes, encode, people
from .catalogue import dataset
from .fetch import AnyPath, find

__all__ = ["load_compas"]


#: The only columns that are read: never names, birth dates, case numbers, dates or times.
_NUMBERS = (
    *("age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"),
    *("days_b_screening_arrest", "decile_score", "v_decile_score"),
    *("is_recid", "is_violent_recid", "two_year_recid"),
)
_WORDS = ("sex", "age_cat", "race", "c_charge_degree", "score_text", "v_score_text")
_FEATURES = (
    *("decile_score", "days_b_screening_arrest", "juv_fel_count", "juv_misd_count"),
    *("juv_other_count", "priors_count", "c_charge_degree", "sex", "age", "race"),
)
#: The feature of each attribute.
_ATTRIBUTES = {"race": "race", "sex": "sex", "age_cat": "age"}


@shared_keywords(PeopleKeywords)
def load_compas(
    *,
    path: AnyPath | None = None,
    relevance: Literal["decile_score", "two_year_recid"] = "decile_score",
    reverse: bool = False,
    sensitive: str | Sequence[str] | None = None,
    **how: Unpack[PeopleKeywords],
) -> Any:
    """Load the COMPAS data as one list of defendants.

    The rows are those of ProPublica: screened within 30 days of the arrest, recidivism known, no
    ordinary traffic offence, a score. Names, birth dates, case numbers and all other dates are
    never loaded.

    Parameters
    ----------
    path : path, optional
        The file ``compas-scores-two-years.csv`` or a folder with it. None: the data folder, the
        cache, or else a download.
    relevance : {"decile_score", "two_year_recid"}
        The risk score from 1 to 10, or whether the person was charged again within two years. The
        score is a feature unless it is the relevance.
    reverse : bool, default=False
        Lower risk first, as for parole decisions: the relevance is subtracted from its maximum
        (10 or 1).
    sensitive : str or sequence of str, optional
        Sensitive attributes: ``"race"``, ``"sex"`` and ``"age_cat"``. None: all.

    Returns
    -------
    RankingData or data frame
        6,172 rows.

    References
    ----------
    Larson, Mattu, Kirchner and Angwin, How we analyzed the COMPAS recidivism algorithm, ProPublica
    2016.

    Examples
    --------
    >>> data = load_compas(reverse=True)  # doctest: +SKIP
    >>> data.attribute("race").categories[:2]  # doctest: +SKIP
    ('African-American', 'Asian')
    """
    choose("relevance", relevance, ("decile_score", "two_year_recid"))
    names = choose_attributes("load_compas", sensitive, tuple(_ATTRIBUTES))
    columns = _read(path)
    if how["as_frame"]:
        return Table(columns).to_frame()
    left_out = {relevance, *(() if how["keep_sensitive"] else (_ATTRIBUTES[n] for n in names))}
    X, features = encode(
        {name: columns[name] for name in _FEATURES if name not in left_out}, how["encoding"]
    )
    y = columns[relevance].astype(np.float64)
    if reverse:
        y = (10 if relevance == "decile_score" else 1) - y
    return people(X, features, y, {name: columns[name] for name in names})


def _read(path: AnyPath | None) -> dict[str, np.ndarray]:
    """Read the permitted columns of the selected rows."""
    entry = dataset("compas")
    sheet = Sheet.read(find(entry, "compas/compas-scores-two-years.csv", path=path))
    days = sheet.numbers("days_b_screening_arrest")
    kept = (np.abs(days) <= 30) & (sheet.numbers("is_recid") != -1)
    kept &= (sheet.words("c_charge_degree") != "O") & (sheet.words("score_text") != "N/A")
    sheet = sheet.where(kept)
    columns = {name: sheet.words(name) for name in _WORDS}
    return columns | {name: sheet.integers(name) for name in _NUMBERS}
