"""Hiring: bundled synthetic applicants, ranked by a system with a known bias."""

import csv
from pathlib import Path
from typing import Any, Literal, overload

from ..core.data import RankingData
from ..core.table import Table
from ..io.delimited import read_csv

__all__ = ["hiring_path", "load_hiring"]


_WHOLE = ("years_experience", "test_score", "suitability")
_FEATURES = ("years_experience", "test_score", "interview_score", "distance_km")
_DECIMAL = ("interview_score", "distance_km", "score")


def hiring_path() -> Path:
    """Return the path of the bundled file ``hiring.csv``; its folder describes its generation.

    Examples
    --------
    >>> hiring_path().name
    'hiring.csv'
    """
    return Path(__file__).parent / "data" / "hiring.csv"


@overload
def load_hiring(*, as_frame: Literal[False] = False) -> RankingData: ...
@overload
def load_hiring(*, as_frame: bool) -> Any: ...
def load_hiring(*, as_frame: bool = False) -> Any:
    """Load synthetic applicants for 60 vacancies, ranked by a biased screening system.

    The relevance is ``suitability`` (0 to 3), without bias: women and men are equally suitable.
    The score is biased against women by 6 of 100 points, 0.4 of its standard deviations.

    Parameters
    ----------
    as_frame : bool, default=False
        Return the file as a native data frame of the first installed library of pandas, polars
        and pyarrow.

    Returns
    -------
    RankingData or data frame
        3,213 rows in 60 queries: four features, relevance, score, the attributes ``sex`` and
        ``age_group``, ids of the applicants.

    See Also
    --------
    make_ranking : The generator of these numbers.

    Examples
    --------
    >>> data = load_hiring()
    >>> data
    RankingData(3213 rows, 60 queries, 4 features, y, score, sex (2 groups), age_group (3 groups))
    >>> data.feature_names
    ('years_experience', 'test_score', 'interview_score', 'distance_km')
    """
    return _frame() if as_frame else _ranking_data()


def _ranking_data() -> RankingData:
    return read_csv(
        hiring_path(),
        query="vacancy",
        relevance="suitability",
        score="score",
        position=False,
        sensitive=["sex", "age_group"],
        cost=False,
        id="applicant",
        features=_FEATURES,
    )


def _frame() -> Any:
    with open(hiring_path(), encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    columns: dict[str, list[Any]] = {
        name: list(cells) for name, cells in zip(header, zip(*rows, strict=True), strict=True)
    }
    for name in _WHOLE:
        columns[name] = [int(cell) for cell in columns[name]]
    for name in _DECIMAL:
        columns[name] = [float(cell) for cell in columns[name]]
    return Table(columns).to_frame()
