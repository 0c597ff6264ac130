"""Lists: rows of a pandas frame as RankingData whose groups mean the same in every part."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..core.columns import vector
from ..core.data import Attribute, RankingData, as_ranking_data
from ..core.errors import DataError
from ..core.labels import encode
from ..datasets.columns import Roles
from ..rankers.lambdamart.categories import encode_frame

__all__ = ["Lists", "in_partition"]


@contextmanager
def in_partition(at: int) -> Iterator[None]:
    """Name the partition in what is said about its rows."""
    try:
        yield
    except DataError as error:
        raise DataError(f"partition {at}: {error}") from None


@dataclass(frozen=True, eq=False)
class Lists:
    """How rows become lists: which column is what, and what is known of the whole data.

    Attributes
    ----------
    roles : Roles
        The column of each role.
    weight : str or None
        The column of the query weights.
    missing_sensitive : str
        As in `as_ranking_data`.
    categories : mapping of str to tuple
        The groups of each attribute in the whole data.
    crossings : mapping of tuple to tuple
        Those of crossed attributes.
    text : mapping of str to list of str
        The categories of features that hold text.
    max_grade : float
        The largest relevance of the whole data.
    """

    roles: Roles
    weight: str | None = None
    missing_sensitive: str = "error"
    categories: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    crossings: Mapping[tuple[str, ...], tuple[Any, ...]] = field(default_factory=dict)
    text: Mapping[str, list[str]] = field(default_factory=dict)
    max_grade: float = 0.0

    @property
    def columns(self) -> list[str]:
        """Name the columns that are read."""
        return [*self.roles.needed, *([] if self.weight is None else [self.weight])]

    def queries(self, frame: Any) -> Any:
        """Give the query of each row, None where there is one list."""
        name = self.roles.single.get("query")
        return None if name is None else vector("query", frame[name])

    def people(self, frame: Any) -> dict[str, tuple[np.ndarray, tuple[Any, ...]]]:
        """Code each attribute's groups as they are in this frame."""
        missing = self.missing_sensitive == "category"
        return {
            name: encode(name, np.asarray(vector(name, frame[name])), missing)
            for name in self.roles.sensitive
        }

    def data(self, frames: Sequence[Any]) -> RankingData:
        """Join frames, one behind the other, and sort their rows by query."""
        import pandas as pd

        frame = frames[0] if len(frames) == 1 else pd.concat(list(frames), ignore_index=True)
        single, features = self.roles.single, list(self.roles.features)
        given = {
            argument: frame[single[role]]
            for role, argument in (
                ("relevance", "y"), ("score", "score"), ("position", "position"), ("cost", "cost"),
            )
            if role in single
        }  # fmt: skip
        X = encode_frame(frame[features], dict(self.text)) if features else None
        data = as_ranking_data(
            X,
            qid=self.queries(frame),
            query_weight=None if self.weight is None else frame[self.weight],
            **given,
        )
        sensitive = {}
        for name, (codes, seen) in self.people(frame).items():
            place = {label: at for at, label in enumerate(self.categories[name])}
            lookup = np.array([place[label] for label in seen], dtype=np.int32)
            codes = lookup[codes]
            stored = codes if data.rows is None else codes[data.rows]
            stored.setflags(write=False)
            sensitive[name] = Attribute(stored, tuple(self.categories[name]))
        data = replace(
            data, sensitive=sensitive, max_grade=self.max_grade, rows=None, backend="pandas"
        )
        for names, categories in self.crossings.items():
            data.keep_crossing(names, categories)
        return data
