"""Whole queries: rows of partitions brought together so that no list is torn."""

from typing import Any

import numpy as np

from ..core.extras import require
from ..core.labels import group_rows
from .lists import Lists
from .survey import Survey

__all__ = ["balanced_homes", "gathered", "run_homes"]


def run_homes(survey: Survey) -> np.ndarray:
    """Give each query the number of its run, as `evaluate` cuts them."""
    home = np.empty(survey.n_queries, dtype=np.int64)
    for at, run in enumerate(survey.runs()):
        home[run] = at
    return home


def balanced_homes(sizes: np.ndarray, n_homes: int) -> np.ndarray:
    """Share queries out in their order, with about equal numbers of rows for each home.

    Examples
    --------
    >>> import numpy as np
    >>> balanced_homes(np.array([10, 10, 10, 30]), 2)
    array([0, 0, 0, 1])
    """
    middle = np.cumsum(sizes) - sizes / 2
    return np.minimum((middle * n_homes / sizes.sum()).astype(np.int64), n_homes - 1)


def gathered(parts: list[Any], survey: Survey, home: np.ndarray) -> dict[int, list[Any]]:
    """Give, for each home, the pieces of partitions with its queries, in order, not computed yet.

    A query's rows keep their order, and queries that of their first appearance. A partition all of
    whose queries have one home is passed on as it is.
    """
    delayed = require("dask", "dask").delayed
    found: dict[int, list[Any]] = {}
    for part, queries in zip(parts, survey.members, strict=True):
        homes = home[queries]
        several = np.unique(homes[homes >= 0])
        for each in several.tolist():
            piece = part
            if len(several) > 1 or (homes < 0).any():
                piece = delayed(take, pure=False)(part, survey.lists, homes == each)
            found.setdefault(each, []).append(piece)
    return dict(sorted(found.items()))


def take(frame: Any, lists: Lists, wanted: np.ndarray) -> Any:
    """Keep the rows of some queries, given in the order of the frame's own queries."""
    order, offsets, _ = group_rows(lists.queries(frame), len(frame))
    stored = np.repeat(wanted, np.diff(offsets))
    if order is None:
        return frame[stored]
    chosen = np.empty(len(frame), dtype=bool)
    chosen[order] = stored
    return frame[chosen]
