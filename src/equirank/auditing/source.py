"""What is audited: a ranking from data, a frame with named columns, or plain arrays."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from ..core.data import RankingData, as_ranking_data, refuse_beside
from ..core.errors import DataError
from ..core.ranking import Ranking
from ..core.table import Table
from ..datasets.columns import assign

__all__ = ["as_ranking"]

Ties = Literal["average", "stable"]


def as_ranking(data: Any, columns: Mapping[str, Any], ties: Ties) -> Ranking:
    """Give the ranking that data states.

    ``columns`` (query, score, relevance, position, sensitive) are names of columns beside a frame,
    arrays beside nothing, and must be None beside a `RankingData` or a `Ranking`.
    """
    if isinstance(data, (RankingData, Ranking)):
        refuse_beside(columns, type(data).__name__)
        return data if isinstance(data, Ranking) else data.ranking(ties)
    if data is None:
        found = {role: values for role, values in columns.items() if values is not None}
    else:
        found = _from_frame(data, columns)
    if "score" not in found and "position" not in found:
        raise DataError("score or position must be given to know the order, got neither")
    return as_ranking_data(
        y=found.get("relevance"),
        qid=found.get("query"),
        score=found.get("score"),
        position=found.get("position"),
        sensitive_features=found.get("sensitive"),
        missing_sensitive="category",
    ).ranking(ties)


def _from_frame(data: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Take the named columns of a frame; those not named are recognised as in `read_csv`."""
    for role, name in columns.items():
        if isinstance(name, np.ndarray):
            raise DataError(f"{role} must be the name of a column of data, got an array")
    names, column = _columns_of(data)
    named: dict[str, Any] = dict(columns)
    sensitive = named.pop("sensitive")
    roles = assign("data", names, sensitive=sensitive, features=(), cost=False, ids=False, **named)
    found: dict[str, Any] = {role: column(name) for role, name in roles.single.items()}
    if roles.sensitive:
        found["sensitive"] = {name: column(name) for name in roles.sensitive}
    return found


def _columns_of(data: Any) -> tuple[list[str], Any]:
    if isinstance(data, Table):
        return list(data.columns), data.columns.__getitem__
    if isinstance(data, Mapping):
        return [str(name) for name in data], dict(data).__getitem__
    import narwhals as nw

    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        raise DataError(
            "data must be a RankingData, a Ranking, a data frame, a mapping of columns, or None "
            f"beside arrays, got {type(data).__name__}"
        ) from None
    return [str(name) for name in frame.columns], lambda name: frame[name].to_native()
