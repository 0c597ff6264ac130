"""Tables, queries and database files of DuckDB, whose rows it sorts by list."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..core.environment import progress, require
from ..core.errors import DataError
from ..core.list_sums import ListSums
from .log_columns import LogColumns, LogPiece
from .log_sums import LogOptions, refuse_stable
from .log_survey import LogSurvey
from .sql_survey import survey_table

__all__ = ["DATABASES", "is_relation", "opened_database", "sum_relation"]


#: Endings of database files.
DATABASES = (".duckdb", ".ddb")


def is_relation(data: Any) -> bool:
    """Return whether data is a relation of DuckDB: a table, a query or a file that it reads."""
    return type(data).__name__ == "DuckDBPyRelation"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def sum_relation(relation: Any, columns: LogColumns, options: LogOptions, where: str) -> ListSums:
    """Return the sums of a relation."""
    refuse_stable(options, "a table of DuckDB")
    survey = _survey(relation, columns, options.scored)
    measure = options.measure(survey, columns, where)
    pieces = progress(
        _rows(relation, columns, columns.needed, options.rows),
        "Measuring",
        survey.n_rows,
        rows=lambda piece: piece.n_rows,
    )
    total = ListSums.total(measure.of_pieces(pieces, options.n_jobs))
    survey.check(total.n_rows, total.n_lists, where)
    return total


def _survey(relation: Any, columns: LogColumns, scored: bool) -> LogSurvey:
    """Return the survey of a relation."""

    def run(text: str) -> Sequence[Any]:
        rows: Sequence[Any] = relation.query("log", text).fetchall()
        return rows

    return survey_table(columns, run, _quoted, scored)


def _rows(
    relation: Any, columns: LogColumns, names: Sequence[str], rows: int
) -> Iterator[LogPiece]:
    """Yield the rows of a relation sorted by list; DuckDB sorts them, on disk if it must."""
    chosen = ", ".join(map(_quoted, names))
    by = ", ".join(map(_quoted, columns.query))
    text = f"SELECT {chosen} FROM log{f' ORDER BY {by}' if by else ''}"
    begin = 0
    found = relation.query("log", text)
    read = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader  # before DuckDB 2
    for batch in read(rows):
        yield LogPiece("the sorted table", batch, begin)
        begin += batch.num_rows


@contextmanager
def opened_database(path: str, table: str | None, memory: int) -> Iterator[Any]:
    """Open a table or a query of a database file, read-only, with a limit of memory.

    What DuckDB writes while it sorts is in a temporary folder, which is removed at the end.
    """
    duckdb = require("duckdb", "duckdb")
    if not os.path.exists(path):
        raise FileNotFoundError(2, "", path)
    with tempfile.TemporaryDirectory(prefix="equirank-") as folder:
        settings = {"memory_limit": f"{memory >> 20}MiB", "temp_directory": folder}
        try:
            connection = duckdb.connect(path, read_only=True, config=settings)
        except duckdb.Error as error:
            words = str(error).splitlines()[0]
            raise DataError(f"{path}: must be a database of DuckDB: {words}") from None
        try:
            yield _chosen(connection, path, table)
        except duckdb.Error as error:
            raise DataError(f"{path}: {' '.join(str(error).split())}") from None
        finally:
            connection.close()


def _chosen(connection: Any, path: str, table: str | None) -> Any:
    """Return the named table, the given query, or the only table of a database."""
    if table is not None and table.lstrip().lower().startswith(("select", "from", "with")):
        return connection.sql(table)
    found = [row[0] for row in connection.sql("SHOW TABLES").fetchall()]
    if table is None and len(found) == 1:
        return connection.table(_quoted(found[0]))
    known = ", ".join(map(repr, found[:10])) or "none"
    if table is None:
        raise DataError(f"{path}: table must name one of its tables ({known}) or be a query")
    if table not in found and "." not in table:
        raise DataError(
            f"{path}: table must be one of its tables ({known}) or a query, got {table!r}"
        )
    return connection.table(table if "." in table else _quoted(table))
