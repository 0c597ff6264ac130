"""TableFile: a CSV, TSV or Parquet file seen as named columns, whichever of them it is."""

import os
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..core.data import RankingData
from .columns import Gatherer, Roles, assign
from .delimited import csv_columns, gather_csv
from .parquet import gather_parquet, parquet_columns

__all__ = ["TableFile"]


class TableFile:
    r"""A file of named columns.

    Parameters
    ----------
    path : path
        The file.
    kind : {"csv", "tsv", "parquet"}
        Its format.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "people.csv")
    >>> _ = path.write_text("query,home,age\n1,own,30\n1,rent,40\n")
    >>> file = TableFile(path, "csv")
    >>> file.columns
    ['query', 'home', 'age']
    >>> file.labels(["home"])["home"].tolist()
    ['own', 'rent']
    >>> data, texts = file.read(["home", "age"], query="query")
    >>> data.feature_names, texts
    (('age',), ['home'])
    >>> folder.cleanup()
    """

    def __init__(
        self, path: str | os.PathLike[str], kind: Literal["csv", "tsv", "parquet"]
    ) -> None:
        self.path, self.kind = os.fspath(path), kind

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns."""
        if self.kind == "parquet":
            return parquet_columns(self.path)
        return csv_columns(self.path, self._delimiter)

    def read(
        self,
        features: list[str],
        *,
        sensitive: tuple[str, ...] = (),
        missing_sensitive: str = "error",
        missing_relevance: str = "error",
        **single: Any,
    ) -> tuple[RankingData, list[str]]:
        """Give the data with the features that hold numbers, and the names of those that do not.

        ``single`` names the columns of query, relevance, cost and ids as `read_csv` takes them.
        """
        roles = assign(
            self.path, self.columns, sensitive=list(sensitive), features=features, **single
        )
        rows = self._gather(
            replace(roles, others=True),
            missing_sensitive=missing_sensitive,
            missing_relevance=missing_relevance,
        )
        return rows.finish(text=self._text, quiet=True), rows.left_out

    def labels(self, names: list[str]) -> dict[str, np.ndarray]:
        """Give columns of labels in the order of the file; None where one is missing."""
        if not names:
            return {}
        rows = self._gather(Roles({}, tuple(names), (), False), missing_sensitive="category")
        return rows.labels(text=self._text)

    @property
    def _delimiter(self) -> str:
        return "\t" if self.kind == "tsv" else ","

    @property
    def _text(self) -> bool:
        return self.kind != "parquet"

    def _gather(self, roles: Roles, **missing: str) -> Gatherer:
        if self.kind == "parquet":
            return gather_parquet(self.path, roles, **missing)
        return gather_csv(self.path, roles, self._delimiter, **missing)
