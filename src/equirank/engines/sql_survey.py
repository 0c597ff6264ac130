"""Survey of a table by SQL, for engines that group rows themselves."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.errors import DataError
from .log_columns import MOST_LABELS, SIDE, LogColumns
from .log_survey import MOST_GRADES, LogSurvey

__all__ = ["survey_table"]


def survey_table(
    columns: LogColumns,
    run: Callable[[str], Sequence[Any]],
    quoted: Callable[[str], str],
    scored: bool = False,
) -> LogSurvey:
    """Return the survey of the table ``log``, whose rows may be those of two tables.

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
    by = f" GROUP BY {by}" if by else ""
    if columns.paired:
        _count_pairs(survey, columns, run, quoted, by)
        sides = [(survey, f"log WHERE {quoted(SIDE)} = 0")]
        sides += [(survey.other, f"log WHERE {quoted(SIDE)} = 1")] if survey.other else []
    else:
        lists = f"SELECT COUNT(*) AS n FROM log{by}"
        for length, count in run(f"SELECT n, COUNT(*) AS lists FROM ({lists}) AS found GROUP BY n"):
            if length:
                survey.lengths[int(length)] += int(count)
        sides = [(survey, "log")]
    codes: dict[str, dict[Any, int]] = {name: {} for name in columns.roles.sensitive}
    for each, rows in sides:
        _count_labels(each, rows, codes, run, quoted)
    for each, _ in sides:
        each.labels = {name: list(code) for name, code in codes.items()}
    merit = columns.roles.single.get("relevance")
    if merit is not None:
        grade = quoted(merit)
        for each, rows in sides:
            found = run(
                f"SELECT {grade}, COUNT(*) AS n FROM {rows} GROUP BY {grade} "
                f"LIMIT {MOST_GRADES + 1}"
            )
            # A missing relevance is 0, or an error when rows are read.
            each.add_grades(_grades(found))
    score = columns.roles.single.get("score")
    if scored and score is not None:
        middle = run(f"SELECT MEDIAN({quoted(score)}) AS middle FROM {sides[0][1]}")[0][0]
        survey.median_score = None if middle is None else float(middle)
    return survey


def _count_labels(
    survey: LogSurvey,
    table: str,
    codes: dict[str, dict[Any, int]],
    run: Callable[[str], Sequence[Any]],
    quoted: Callable[[str], str],
) -> None:
    """Count the combinations of labels; new labels get codes."""
    if not codes:
        return
    some = ", ".join(map(quoted, codes))
    most = MOST_LABELS * len(codes)
    rows = run(f"SELECT {some}, COUNT(*) AS n FROM {table} GROUP BY {some} LIMIT {most + 1}")
    if len(rows) > most:
        raise DataError(
            f"sensitive ({', '.join(map(repr, codes))}) must be categories, got more than "
            f"{most:,} combinations of values; name columns of groups"
        )
    for *labels, count in rows:
        key = tuple(
            -1 if label is None or label != label else code.setdefault(label, len(code))
            for label, code in zip(labels, codes.values(), strict=True)
        )
        survey.combinations[key] += int(count)


def _count_pairs(
    survey: LogSurvey,
    columns: LogColumns,
    run: Callable[[str], Sequence[Any]],
    quoted: Callable[[str], str],
    by: str,
) -> None:
    """Count the lists of two tables by their rows in both, and by the rows that they show."""
    side, position = quoted(SIDE), columns.roles.single.get("position")
    shown = f"{side} = 0" if position is None else f"{side} = 0 AND {quoted(position)} > 0"
    lists = (
        f"SELECT COUNT(*) - SUM({side}) AS n, SUM({side}) AS m, "
        f"SUM(CASE WHEN {shown} THEN 1 ELSE 0 END) AS shown FROM log{by}"
    )
    survey.other = LogSurvey()
    text = f"SELECT n, m, shown, COUNT(*) AS lists FROM ({lists}) AS found GROUP BY n, m, shown"
    for given in run(text):
        n, m, seen, count = (int(each or 0) for each in given)
        if n:
            survey.lengths[n] += count
            survey.add_shown(np.array([seen]), np.array([n]))
        if m:
            survey.other.lengths[m] += count
        if n and m:
            survey.add_pairs(count, m * count)


def _grades(found: Sequence[Any]) -> dict[float, int]:
    grades: dict[float, int] = {}
    for value, count in found:
        grade = 0.0 if value is None or value != value else float(value)
        grades[grade] = grades.get(grade, 0) + int(count)
    return grades
