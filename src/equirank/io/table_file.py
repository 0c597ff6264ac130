"""Tables in any supported format, recognised by the ending of the file name."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import file_digest
from itertools import islice
from typing import Any, Literal

import numpy as np

from ..core.data import RankingData, as_ranking_data
from ..core.errors import DataError
from ..core.inputs import natural
from ..core.source import Source
from .column_roles import MISSING, Gatherer, Roles, assign, expected, out_of_range, typed
from .delimited import csv_cells, csv_columns, gather_csv, read_csv
from .files import open_bytes
from .letor import read_letor
from .parquet import gather_parquet, parquet_cells, parquet_columns, read_parquet

__all__ = ["FORMATS", "TableFile", "format_of", "letor_cells", "read_file"]


#: The endings of each format; ``.gz`` may follow.
FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "letor": (".txt", ".letor", ".svm", ".svmlight", ".libsvm"),
}


def read_file(
    path: str,
    file_format: str | None,
    *,
    sensitive: list[str],
    missing_sensitive: Any,
    missing_relevance: Any,
    max_groups: int | None = None,
    ids: Any = False,
    outcomes: Sequence[str] = (),
    **columns: str | None,
) -> RankingData:
    """Read a file in the given format, or else by the ending of its name."""
    chosen = file_format or format_of(path)
    if chosen == "letor":
        if outcomes:
            raise DataError(f"{path}: recorded decisions need a file with named columns, got LETOR")
        read = _read_letor(path, sensitive=sensitive, max_groups=max_groups, **columns)
        return _recorded(read, path, chosen)
    names: dict[str, Any] = dict(columns)
    names |= {"sensitive": sensitive, "ids": ids, "outcomes": outcomes, "features": ()}
    names |= {"missing_sensitive": missing_sensitive, "missing_relevance": missing_relevance}
    names["max_groups"] = max_groups
    if chosen == "parquet":
        return _recorded(read_parquet(path, **names), path, chosen)
    read = read_csv(path, delimiter="\t" if chosen == "tsv" else ",", **names)
    return _recorded(read, path, chosen)


def _recorded(data: RankingData, path: str, kind: str) -> RankingData:
    """Return the data with the record of their file, unless the reader made one."""
    if data.source is not None:
        return data
    with open(path, "rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    source = Source(os.path.basename(path), digest, data.n_rows, {"format": kind})
    return replace(data, source=source)


def format_of(path: str) -> str:
    """Return the format that the ending of the name implies."""
    name = os.path.basename(path).lower().removesuffix(".gz")
    for word, known in FORMATS.items():
        if name.endswith(known):
            return word
    if not os.path.exists(path):
        raise FileNotFoundError(2, "", path)
    endings = ", ".join(ending for each in FORMATS.values() for ending in each)
    raise DataError(
        f"{path}: the name must end in one of {endings}, or the format must be given with "
        f"--format {'|'.join(FORMATS)}"
    )


def _read_letor(
    path: str, *, sensitive: list[str], max_groups: int | None, **columns: str | None
) -> RankingData:
    """Read SVMlight with query ids, where columns are feature numbers."""
    for role in ("query", "relevance"):
        if columns[role] is not None:
            raise DataError(f"--{role} must be omitted for LETOR, whose lines begin with it")
    data = read_letor(path, sparse=True)  # of which a few columns are used

    def feature(option: str, number: str | None) -> Any:
        if number is None:
            return None
        if not 1 <= natural(number) <= data.n_features:
            raise DataError(
                f"--{option} must be a feature number from 1 to {data.n_features} "
                f"for LETOR, got {number!r}"
            )
        values = data.to_original(data.X[:, [int(number) - 1]].toarray()[:, 0])
        if option != "sensitive":
            missing = np.isnan(values)
            bad = int(missing.argmax()) if missing.any() else out_of_range(option, values)
            if bad is not None:
                where = f"{path}, line {_line_of(path, bad)}"
                raise DataError(f"{where}: {option} ({number!r}) {expected(option, values[bad])}")
        return values

    given = {role: feature(role, columns[role]) for role in ("cost", "score", "position")}
    given["sensitive_features"] = {name: feature("sensitive", name) for name in sensitive} or None
    try:
        return as_ranking_data(
            y=data.to_original(data.y) if data.y is not None else None,
            qid=data.to_original(data.qids[data.query_of_rows()]),
            max_groups=max_groups,
            **given,
        )
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _line_of(path: str, row: int) -> int:
    """Return the line of a row of a LETOR file, which may have lines without a row."""
    with open_bytes(path) as stream:
        rows = (at for at, line in enumerate(stream, start=1) if line.partition(b"#")[0].strip())
        return next(islice(rows, row, None))


def letor_cells(path: str) -> dict[str, np.ndarray]:
    """Return relevance, query, id (if each line has a comment) and features of a LETOR file."""
    try:
        data = read_letor(path, ids_from_comments=True)
    except DataError:
        data = read_letor(path)
    columns = {"relevance": data.y, "qid": data.qids[data.query_of_rows()], "id": data.ids}
    columns |= {str(number + 1): data.X[:, number] for number in range(data.n_features)}
    return {name: data.to_original(cells) for name, cells in columns.items() if cells is not None}


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

    def __contains__(self, name: object) -> bool:
        """Return whether there is a column with this name."""
        return name in self._known

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.columns)

    def read(
        self,
        features: list[str],
        *,
        sensitive: tuple[str, ...] = (),
        missing_sensitive: str = "error",
        missing_relevance: str = "error",
        max_groups: int | None = None,
        **single: Any,
    ) -> tuple[RankingData, list[str]]:
        """Return the data with its numeric features, and the names of the other features.

        ``single`` names the columns of query, relevance, cost and ids, as in `read_csv`.
        """
        roles = assign(
            self.path, self.columns, sensitive=list(sensitive), features=features, **single
        )
        rows = self._gather(
            replace(roles, others=True),
            missing_sensitive=missing_sensitive,
            missing_relevance=missing_relevance,
            max_groups=max_groups,
        )
        data = rows.finish(text=self._text, quiet=True)
        return _recorded(data, self.path, self.kind), rows.left_out

    def cells(self, *, text: bool) -> dict[str, Any]:
        """Return all columns as arrays of NumPy or pyarrow, in the order of the file.

        Cells of CSV and TSV are text as in the file. Without ``text``, columns of numbers become
        numbers, and missing cells None.
        """
        if self.kind == "parquet":
            return parquet_cells(self.path)
        columns = csv_cells(self.path, self._delimiter)
        return {name: _array(cells if text else _values(cells)) for name, cells in columns.items()}

    def labels(self, names: list[str]) -> dict[str, np.ndarray]:
        """Return columns of labels in the order of the file; None if missing."""
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

    def _gather(self, roles: Roles, **options: Any) -> Gatherer:
        if self.kind == "parquet":
            return gather_parquet(self.path, roles, **options)
        return gather_csv(self.path, roles, self._delimiter, **options)


def _values(cells: list[str]) -> list[Any]:
    """Return numbers if all cells are written as such, else text; None if missing."""
    present = [cell for cell in cells if cell not in MISSING]
    values = iter(typed(present, decimals=True))
    return [None if cell in MISSING else next(values) for cell in cells]


def _array(cells: list[Any]) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
