"""Partitions of a Dask frame: roles of columns, and RankingData with the same groups everywhere."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..core.attribute import Attribute
from ..core.data import RankingData
from ..core.encoding import Encoding
from ..core.environment import require
from ..core.errors import DataError
from ..core.given_data import as_ranking_data
from ..core.inputs import label_column
from ..core.labels import encode
from ..io.column_roles import Roles, assign

__all__ = [
    "Lists",
    "current_client",
    "in_partition",
    "parts_of",
    "roles_of",
]


@contextmanager
def in_partition(at: int) -> Iterator[None]:
    """Add the number of the partition to errors about its rows."""
    try:
        yield
    except DataError as error:
        raise DataError(f"partition {at}: {error}") from None


@dataclass(frozen=True, eq=False)
class Lists:
    """How rows become lists: roles of columns, and what is known about the whole data.

    Attributes
    ----------
    roles : Roles
        The column of each role.
    weight : str or None
        The column of the query weights.
    categories : mapping of str to tuple
        The groups of each attribute in the whole data.
    crossings : mapping of tuple to tuple
        The groups of crossed attributes.
    text : mapping of str to list of str
        The categories of features that contain text.
    max_grade : float
        The largest relevance of the whole data.
    """

    roles: Roles
    weight: str | None = None
    categories: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    crossings: Mapping[tuple[str, ...], tuple[Any, ...]] = field(default_factory=dict)
    text: Mapping[str, list[str]] = field(default_factory=dict)
    max_grade: float = 0.0

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are read."""
        return [*self.roles.needed, *([] if self.weight is None else [self.weight])]

    def queries(self, frame: Any) -> Any:
        """Return the query of each row, or None if all rows are one list."""
        name = self.roles.single.get("query")
        return None if name is None else label_column("query", frame[name])

    def people(self, frame: Any) -> dict[str, tuple[np.ndarray, tuple[Any, ...]]]:
        """Return codes and labels of the groups of each attribute in this frame."""
        return {
            name: encode(name, np.asarray(label_column(name, frame[name])), "error")
            for name in self.roles.sensitive
        }

    def data(self, frames: Sequence[Any]) -> RankingData:
        """Concatenate frames and sort their rows by query."""
        import pandas as pd

        frame = frames[0] if len(frames) == 1 else pd.concat(list(frames), ignore_index=True)
        single, features = self.roles.single, list(self.roles.features)
        given = {
            argument: frame[single[role]]
            for role, argument in (("relevance", "y"), ("cost", "cost"))
            if role in single
        }
        data = as_ranking_data(
            frame[features] if features else None,
            like=Encoding(tuple(features), {n: tuple(c) for n, c in self.text.items()}),
            qid=self.queries(frame),
            query_weight=None if self.weight is None else frame[self.weight],
            **given,
        )
        sensitive = {}
        for name, (codes, seen) in self.people(frame).items():
            code = {label: at for at, label in enumerate(self.categories[name])}
            lookup = np.array([*(code[label] for label in seen), -1], dtype=np.int32)
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


def roles_of(
    frame: Any,
    *,
    sensitive: Any,
    features: Any = (),
    weight: Any = None,
    **single: Any,
) -> Roles:
    """Return the column of each role: the one named, else the one recognised as in `read_csv`.

    If ``features`` is None, all other numeric columns are features.
    """
    names = [str(name) for name in frame.columns]
    used = [name for name in names if weight is None or name != weight]
    roles = assign("data", used, sensitive=sensitive, features=features, ids=False, **single)
    if not roles.others:
        return roles
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    kinds = dict(zip(names, frame.dtypes, strict=True))
    numeric = [n for n in roles.features if is_numeric_dtype(kinds[n]) or is_bool_dtype(kinds[n])]
    return Roles(roles.single, roles.sensitive, tuple(numeric), others=True)


def parts_of(frame: Any, columns: Sequence[str]) -> list[Any]:
    """Return the partitions of some columns, each a delayed pandas frame."""
    return list(frame[list(dict.fromkeys(columns))].to_delayed())


def current_client(client: Any) -> Any:
    """Return the client, by default the current one; raise `DataError` if there is none."""
    distributed = require("distributed", "dask")
    if client is not None:
        return client
    try:
        return distributed.get_client()
    except ValueError:
        raise DataError(
            "client must be a Dask client if none is current; start one with: "
            "from distributed import Client; client = Client(n_workers=2, threads_per_worker=1)"
        ) from None
