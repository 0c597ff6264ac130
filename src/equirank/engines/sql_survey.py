"""Survey of a table by SQL, for engines that group rows themselves."""

from collections.abc import Callable, Sequence
from typing import Any

from ..core.errors import DataError
from .log_columns import MOST_LABELS, LogColumns
from .log_survey import MOST_GRADES, LogSurvey

__all__ = ["survey_table"]


def survey_table(
    columns: LogColumns,
    run: Callable[[str], Sequence[Any]],
    quoted: Callable[[str], str],
    scored: bool = False,
) -> LogSurvey:
    """Return the survey of the table ``log``.

    Parameters
    ----------
    columns : LogColumns
        The columns by role.
    run : callable
        SQL text -> rows.
    quoted : callable
        Name of a column -> the name in the quotes of this dialect.
    scored : bool
        Whether the median score is needed.
    """
    survey = LogSurvey()
    by = ", ".join(map(quoted, columns.query))
    lists = f"SELECT COUNT(*) AS n FROM log{f' GROUP BY {by}' if by else ''}"
    for length, count in run(f"SELECT n, COUNT(*) AS lists FROM ({lists}) AS found GROUP BY n"):
        if length:
            survey.lengths[int(length)] += int(count)
    names = columns.roles.sensitive
    if names:
        some = ", ".join(map(quoted, names))
        most = MOST_LABELS * len(names)
        codes: dict[str, dict[Any, int]] = {name: {} for name in names}
        rows = run(f"SELECT {some}, COUNT(*) AS n FROM log GROUP BY {some} LIMIT {most + 1}")
        if len(rows) > most:
            raise DataError(
                f"sensitive ({', '.join(map(repr, names))}) must be categories, got more than "
                f"{most:,} combinations of values; name columns of groups"
            )
        for *labels, count in rows:
            key = tuple(
                -1 if label is None or label != label else code.setdefault(label, len(code))
                for label, code in zip(labels, codes.values(), strict=True)
            )
            survey.combinations[key] += int(count)
        survey.labels = {name: list(code) for name, code in codes.items()}
    merit = columns.roles.single.get("relevance")
    if merit is not None:
        grade = quoted(merit)
        found = run(
            f"SELECT {grade}, COUNT(*) AS n FROM log GROUP BY {grade} LIMIT {MOST_GRADES + 1}"
        )
        # A missing relevance is 0, or an error when rows are read.
        survey.add_grades(_grades(found))
    score = columns.roles.single.get("score")
    if scored and score is not None:
        middle = run(f"SELECT MEDIAN({quoted(score)}) AS middle FROM log")[0][0]
        survey.median_score = None if middle is None else float(middle)
    return survey


def _grades(found: Sequence[Any]) -> dict[float, int]:
    grades: dict[float, int] = {}
    for value, count in found:
        grade = 0.0 if value is None or value != value else float(value)
        grades[grade] = grades.get(grade, 0) + int(count)
    return grades
