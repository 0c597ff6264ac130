"""Tables in any supported format, recognised by the ending of the file name."""

import os
import re
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any, Literal, Unpack

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.given_data import as_ranking_data
from ..core.inputs import natural
from ..core.keywords import shared_keywords
from ..core.source import Source
from .column_roles import Names, Roles, assign
from .delimited import csv_cells, gather_csv
from .excel import Workbook, excel_cells, gather_excel
from .file_keywords import ColumnKeywords, HeaderKeywords, TextKeywords, split_keywords
from .file_options import FileOptions
from .files import FileInMemory, GivenFile, given_file, open_bytes
from .gatherer import Gatherer, expected, out_of_range, typed
from .letor import read_letor
from .number_cells import MISSING
from .parquet import gather_parquet, nested_columns, parquet_cells, parquet_columns
from .text_layout import TextLayout, text_layout

__all__ = ["FORMATS", "TEXTS", "TableFile", "format_of", "letor_cells", "read_file"]


#: The endings of each format; ``.gz`` may follow a text.
FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "letor": (".letor", ".svm", ".svmlight", ".libsvm"),
    "excel": (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"),
}
#: Endings of texts that are LETOR if their first line is, and delimited text otherwise.
TEXTS = (".txt", ".data", ".dat", ".test", ".train")
Kind = Literal["csv", "tsv", "parquet", "letor", "excel"]
_WORDS = {"csv": "CSV", "tsv": "TSV", "parquet": "Parquet", "letor": "LETOR", "excel": "workbook"}
_PAIR = re.compile(rb"\s(qid|[0-9]+):\S")


@shared_keywords(ColumnKeywords, HeaderKeywords, TextKeywords)
def read_file(
    path: GivenFile,
    format: Kind | None = None,
    *,
    features: Names = (),
    sheet: str | None = None,
    **given: Unpack[TextKeywords],
) -> RankingData:
    r"""Read a file as the commands do: in the given format, or else by the ending of its name.

    An option without effect on the format is an error. In LETOR, sensitive, score, position and
    cost are numbers of features.

    Parameters
    ----------
    path : path or open file of bytes
        CSV (.csv), TSV (.tsv, .tab), Parquet (.parquet, .pq), LETOR (.letor, .svm, .svmlight,
        .libsvm) or a workbook (.xlsx, .xlsm, .xls, .xlsb, .ods). A file ending in .txt, .data,
        .dat, .test or .train is LETOR if its first line is, and delimited text otherwise. ``.gz``
        may follow the ending of a text.
    format : {"csv", "tsv", "parquet", "letor", "excel"}, optional
        The format, if the ending does not show it.
    features : str or sequence of str, optional
        The columns of X, by default none. None: every remaining column of numbers.
    sheet : str, optional
        The sheet of a workbook.

    Raises
    ------
    DataError
        If the format is unknown or the file is invalid; the message names the file, the line and
        the option that may help.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "people.csv")
    >>> _ = path.write_text("sex;score\nFemale;0,25\nfemale ;0,5\nmale;0,125\n?;0,75\n")
    >>> data = read_file(path, sensitive="sex", missing_sensitive="category")
    >>> data.score, data.attribute("sex").categories
    (array([0.25 , 0.5  , 0.125, 0.75 ]), ('Female', 'male', '(missing)'))
    >>> data.source.labels["sex"][1]
    ('female ', 1, 'Female')
    >>> folder.cleanup()
    """
    single, policies, options = split_keywords(given, sheet=sheet)
    path = given_file(path)
    file = TableFile(path, format or format_of(path), options)
    if file.kind == "letor":
        return _read_letor(file, single, policies["max_groups"])
    roles = assign(file.path, file.columns, features=features, **single)
    left_out = [column for column in file.columns if not column]
    return file.gather(roles, **policies).finish(text=file.kind != "parquet", left_out=left_out)


def format_of(path: str | os.PathLike[str]) -> Kind:
    """Return the format that the ending of the name, or else the first line, implies."""
    name = os.path.basename(os.fspath(path)).lower().removesuffix(".gz")
    for word, known in FORMATS.items():
        if name.endswith(known):
            return word  # type: ignore[return-value]
    if name.endswith(TEXTS):
        return "letor" if _is_letor(path) else "csv"
    if not isinstance(path, FileInMemory) and not os.path.exists(path):
        raise FileNotFoundError(2, "", os.fspath(path))
    endings = ", ".join(ending for each in (*FORMATS.values(), TEXTS) for ending in each)
    raise DataError(
        f"{os.fspath(path)}: format must be one of {', '.join(FORMATS)}, since the name ends in "
        f"none of {endings}"
    )


def _is_letor(path: str | os.PathLike[str]) -> bool:
    """Return whether the first line with content has pairs of a number and a value."""
    with open_bytes(path) as stream:
        for line in islice(stream, 100):
            content = line.partition(b"#")[0].strip()
            if content:
                return _PAIR.search(content) is not None
    return False


def _format_words(path: str, kind: str) -> str:
    """Return the format for `Source`, with the reason if it was guessed."""
    word = _WORDS[kind]
    name = os.path.basename(path).lower().removesuffix(".gz")
    if not name.endswith(TEXTS):
        return word
    reason = "its first line has" if kind == "letor" else "its first line does not have"
    return f"{word} (guessed: {reason} pairs of a number and a value)"


def _read_letor(file: "TableFile", columns: dict[str, Any], max_groups: int | None) -> RankingData:
    """Read SVMlight with query ids, where columns are feature numbers."""
    path, sensitive = file.path, columns["sensitive"]
    if columns["outcomes"]:
        raise DataError(f"{path}: recorded decisions need a file with named columns, got LETOR")
    for role in ("query", "relevance"):
        if columns[role] is not None and columns[role] is not False:
            raise DataError(f"{role} must be omitted for LETOR, whose lines begin with it")
    data = read_letor(path, sparse=True)  # of which a few columns are used
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive or ())

    def feature(option: str, number: Any) -> Any:
        if number is None or number is False:
            return None
        if not 1 <= natural(number) <= data.n_features:
            raise DataError(
                f"{option} must be a feature number from 1 to {data.n_features} "
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
    given["sensitive_features"] = {name: feature("sensitive", name) for name in names} or None
    try:
        found = as_ranking_data(
            y=data.to_original(data.y) if data.y is not None else None,
            qid=data.to_original(data.qids[data.query_of_rows()]),
            max_groups=max_groups,
            **given,
        )
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    named = {role: columns[role] for role in ("cost", "score", "position") if columns[role]}
    roles = Roles(named, tuple(names), (), False)
    return replace(found, source=_letor_source(file, roles, data.source))


def _letor_source(file: "TableFile", roles: Roles, source: Any) -> Source:
    """Return the record of a LETOR file."""
    words = _format_words(file.path, "letor")
    return replace(source, how={"format": words}, columns=roles.record())


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
    kind : {"csv", "tsv", "parquet", "excel", "letor"}
        Its format.
    options : FileOptions, optional
        How it is read.

    Examples
    --------
    >>> from equirank.datasets import hiring_path
    >>> file = TableFile(hiring_path(), "csv")
    >>> file.columns[:3]
    ['vacancy', 'applicant', 'sex']
    >>> file.labels(["sex"])["sex"][:3].tolist()
    ['female', 'male', 'male']
    >>> data, texts = file.read(["sex", "test_score"], query="vacancy")
    >>> data.feature_names, texts
    (('test_score',), ['sex'])
    """

    def __init__(
        self, path: str | os.PathLike[str], kind: str, options: FileOptions | None = None
    ) -> None:
        self.path, self.kind, self.options = os.fspath(path), kind, options or FileOptions()
        self.options.check_kind(kind)

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns."""
        if self.kind == "parquet":
            return parquet_columns(self.path)
        return self._book.names if self.kind == "excel" else list(self._layout.names)

    @cached_property
    def nested(self) -> dict[str, str]:
        """The columns that hold several values per row, and their types."""
        return nested_columns(self.path) if self.kind == "parquet" else {}

    @cached_property
    def _layout(self) -> TextLayout:
        words = _format_words(self.path, self.kind)
        return text_layout(self.path, self.options, self.kind, words)

    @cached_property
    def _book(self) -> Workbook:
        return Workbook(self.path, self.options)

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

        ``single`` names the columns of query, relevance, cost and id, as in `read_csv`.
        """
        roles = assign(
            self.path, self.columns, sensitive=list(sensitive), features=features, **single
        )
        rows = self.gather(
            replace(roles, others=True),
            missing_sensitive=missing_sensitive,
            missing_relevance=missing_relevance,
            max_groups=max_groups,
        )
        return rows.finish(text=self._text, quiet=True), rows.left_out

    def cells(self, *, text: bool) -> dict[str, Any]:
        """Return all columns as arrays of NumPy or pyarrow, in the order of the file.

        Cells of CSV, TSV and workbooks are text. Without ``text``, columns of numbers become
        numbers, and missing cells None.
        """
        if self.kind == "parquet":
            return parquet_cells(self.path)
        columns = excel_cells(self._book) if self.kind == "excel" else csv_cells(self._layout)
        return {name: _array(cells if text else _values(cells)) for name, cells in columns.items()}

    def labels(self, names: list[str]) -> dict[str, np.ndarray]:
        """Return columns of labels in the order of the file, not cleaned; None if missing."""
        if not names:
            return {}
        rows = self.gather(Roles({}, (), (), False, tuple(names)))
        return rows.labels(text=self._text)

    @property
    def _text(self) -> bool:
        return self.kind != "parquet"

    def gather(self, roles: Roles, **options: Any) -> Gatherer:
        """Read the columns with a role."""
        if self.kind == "parquet":
            return gather_parquet(self.path, roles, self.options, **options)
        if self.kind == "excel":
            return gather_excel(self._book, roles, **options)
        return gather_csv(self._layout, roles, self.options, **options)


def _values(cells: list[str]) -> list[Any]:
    """Return numbers if all cells are written as such, else text; None if missing."""
    present = [cell for cell in cells if cell not in MISSING]
    values = iter(typed(present, decimals=True))
    return [None if cell in MISSING else next(values) for cell in cells]


def _array(cells: list[Any]) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
