"""Keywords of the functions that read a file of named columns."""

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict

from ..core.keywords import Default
from .column_roles import Name, Names
from .file_options import FileOptions
from .label_words import LabelMap

__all__ = ["ColumnKeywords", "HeaderKeywords", "TextKeywords", "split_keywords"]


_ROLES = ("query", "relevance", "score", "position", "cost", "id", "sensitive", "outcomes")
_POLICIES = ("missing_sensitive", "missing_relevance", "max_groups")


class ColumnKeywords(TypedDict, total=False):
    """Columns, what is missing in them, and labels.

    Parameters
    ----------
    query : str, optional
        The query of each row. Recognised: qid, query, query_id, list, list_id. Without such a
        column all rows are one query.
    relevance : str, optional
        Numbers >= 0. Recognised: relevance, rel, label, grade, y, y_true.
    score : str, optional
        A given score, higher first. Recognised, unless the position is named: score, scores,
        y_score, prediction.
    position : str, optional
        A given position from 1 (0: not shown). Recognised, unless the score is named: position,
        rank.
    sensitive : str or sequence of str, optional
        Sensitive attributes. They are never recognised by name.
    cost : str, optional
        Item costs > 0. Recognised: cost.
    id : str, optional
        The id of each row. Recognised: id, ids, doc_id, docid, item_id.
    outcomes : str or sequence of str, optional
        Columns of recorded decisions, for `audit`. They are never recognised by name.
    features : str or sequence of str, optional
        The columns of X. None: every remaining column with a name and only numbers, in the order
        of the file; a warning names the omitted columns. ``()``: no X.
    missing_sensitive : {"error", "unknown", "category"}
        Treatment of a missing group, as in `as_ranking_data`.
    missing_relevance : {"error", "irrelevant"}
        Treatment of a missing relevance: an error, or 0.
    max_groups : int, optional
        Most groups of a sensitive column, as in `as_ranking_data`.
    unknown : sequence of str, optional
        Words that mean an unknown group, in any case of letters. None: empty, na, n/a, null, nan,
        unknown, not given, not specified, prefer not to say, decline to answer, declined, ?, -.
    labels : mapping or path, optional
        For each sensitive column the name of each label, ``{"sex": {"weiblich": "female"}}``, or a
        TOML file with such tables. An empty name means unknown.
    keep_labels : bool, default=False
        Whether labels that differ in case stay apart, and unknown words stay groups.
    bands : mapping, optional
        For each sensitive column of numbers where each band but the first begins, in ascending
        order: ``{"age": [35, 50]}`` compares under 35, 35 to 49, and 50 and over.

    Returns
    -------
    RankingData
        Its ``source`` states how the file was read, with the reason of every guess.
    """

    query: Name
    relevance: Name
    score: Name
    position: Name
    sensitive: Names
    cost: Name
    id: Name
    outcomes: Names
    missing_sensitive: Annotated[Literal["error", "unknown", "category"], Default("error")]
    missing_relevance: Annotated[Literal["error", "irrelevant"], Default("error")]
    max_groups: int | None
    unknown: Sequence[str] | None
    labels: LabelMap | str | os.PathLike[str] | None
    keep_labels: Annotated[bool, Default(False)]
    bands: Mapping[str, Sequence[float]] | None


class HeaderKeywords(ColumnKeywords, total=False):
    """Names of columns and numbers of a file without types.

    Parameters
    ----------
    decimal : {"comma", "point"}, optional
        The decimal sign; the other sign may separate thousands. None: a column in which every
        value fits digits, comma, digits has decimal commas.
    columns : sequence of str, optional
        The names of all columns, if the file has no line of names. Lines above the first row that
        begin with ``|`` or ``#`` are then comments.
    repeated : {"error", "number"}
        A column name that occurs again is an error, or gets a number (``score.2``).
    """

    decimal: str | None
    columns: Sequence[str] | None
    repeated: Annotated[Literal["error", "number"], Default("error")]


class TextKeywords(HeaderKeywords, total=False):
    """How a text is read.

    Parameters
    ----------
    encoding : str, optional
        The encoding. None: that of the byte-order mark, else UTF-8, else Windows-1252 with a
        warning.
    delimiter : str, optional
        One character, or comma, semicolon, tab, bar or space (white space of any length). None:
        the one of the first four that occurs equally often in each of the first 50 records.
    """

    encoding: str | None
    delimiter: str | None


def split_keywords(
    given: Mapping[str, Any], **options: Any
) -> tuple[dict[str, Any], dict[str, Any], FileOptions]:
    """Return the arguments of `assign`, those of a gatherer, and how the file is read."""
    roles = {name: given[name] for name in _ROLES}
    policies = {name: given[name] for name in _POLICIES}
    options |= {name: given[name] for name in given if name not in (*_ROLES, *_POLICIES)}
    return roles, policies, FileOptions(**options)
