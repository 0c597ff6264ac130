"""Scores that are given: a column of the data, or one number per row."""

from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from ...core import inputs
from ...core.data import RankingData
from ...core.errors import DataError, suggest
from ...core.given_data import as_ranking_data, refuse_beside
from ...core.labels import MAX_GROUPS

__all__ = ["are_scores", "with_scores"]


def are_scores(model: Any) -> bool:
    """Return whether a model is a column name, or an array or series of numbers.

    Examples
    --------
    >>> are_scores("price"), are_scores([0.5, 1.0]), are_scores(len)
    (True, True, False)
    """
    if isinstance(model, str):
        return bool(model)
    if isinstance(model, type) or hasattr(model, "fit") or callable(model):
        return False
    try:
        found = inputs.vector("model", model)
    except (DataError, TypeError, ValueError):
        return False
    return found is not None and found.ndim == 1 and found.dtype.kind in "fiub"


def with_scores(
    model: Any, X: Any, y: Any = None, qid: Any = None, sensitive_features: Any = None
) -> RankingData:
    """Return the data with the given scores as its score.

    Parameters
    ----------
    model : str or array-like
        A column of a data frame or of a `RankingData` (``"score"`` is also its own score), or one
        score per input row. Data selected from others keep the row numbers of those.
    X : RankingData, data frame, array-like or None
        The data.
    y, qid, sensitive_features : array-like, optional
        As in `as_ranking_data`.
    """
    if isinstance(X, RankingData):
        refuse_beside({"y": y, "qid": qid, "sensitive_features": sensitive_features})
        return replace(X, score=inputs.frozen(_of_data(model, X)), position=None)
    score = _of_frame(model, X) if isinstance(model, str) else inputs.numbers("model", model)
    if X is not None and score is not None and len(X) != len(score):
        raise DataError(f"model must have one score per row ({len(X)}), got {len(score)}")
    frame = {"X": X, "features": ()} if inputs.is_frame(X) else {}
    given = {"y": y, "qid": qid, "sensitive_features": sensitive_features, "score": score}
    return as_ranking_data(**frame, **given, max_groups=MAX_GROUPS)


def _of_data(model: Any, data: RankingData) -> np.ndarray:
    """Return the scores of the stored rows."""
    if not isinstance(model, str):
        score = inputs.numbers("model", model)
        rows = np.arange(data.n_rows) if data.rows is None else data.rows
        if (
            score is None
            or len(score) <= int(rows.max())
            or (data.rows is None and len(score) != data.n_rows)
        ):
            found = 0 if score is None else len(score)
            raise DataError(
                f"model must have one score per row ({int(rows.max()) + 1}), got {found}"
            )
        return score[rows]
    names = list(data.feature_names or ())
    if model in data.categories:
        raise DataError(f"model must be a column of numbers, and {model!r} holds categories")
    if model in names:
        column = data.X[:, [names.index(model)]]
        column = column.toarray() if hasattr(column, "toarray") else column
        return np.asarray(column, dtype=np.float64)[:, 0]
    if model == "score" and data.score is not None:
        return np.asarray(data.score)
    raise _unknown(model, names)


def _of_frame(name: str, X: Any) -> np.ndarray | None:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise DataError(
            f"X must be a data frame with a column {name!r}, got {type(X).__name__}, which has no "
            "names"
        )
    if name not in frame.columns:
        raise _unknown(name, frame.columns)
    return inputs.numbers(name, frame[name].to_native())


def _unknown(name: str, names: list[str]) -> DataError:
    words = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    return DataError(
        f"model must be a column of the data ({words or 'it has no names'}), got "
        f"{name!r}{suggest(name, names)}"
    )
