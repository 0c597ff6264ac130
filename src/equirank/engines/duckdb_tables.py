"""Tables, queries and database files of DuckDB, whose rows it sorts by list."""

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..core.environment import progress, require
from ..core.errors import DataError
from ..core.list_sums import ListSums
from .log_columns import SIDE, LogColumns, LogPiece
from .log_sums import FIRST_ROWS, LogOptions, refuse_stable
from .log_survey import LogSurvey
from .sql_survey import survey_table

__all__ = ["DATABASES", "is_relation", "opened_database", "sum_relation"]


#: Endings of database files.
DATABASES = (".duckdb", ".ddb")
#: Types of numbers; labels of other types are read as texts.
NUMBERS = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT|FLOAT|DOUBLE|DECIMAL")


def is_relation(data: Any) -> bool:
    """Return whether data is a relation of DuckDB: a table, a query or a file that it reads."""
    return type(data).__name__ == "DuckDBPyRelation"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def sum_relation(
    relation: Any, columns: LogColumns, options: LogOptions, where: str, against: Any = None
) -> ListSums:
    """Return the sums of a relation, whose lists may be compared with those of another."""
    refuse_stable(options, "a table of DuckDB")
    if against is not None:
        relation = _both(relation, against, columns)
    options = options.fitted(_rows(relation, columns, FIRST_ROWS, sample=True))
    survey = _survey(relation, columns, options.scored)
    measure = options.measure(survey, columns, where)
    pieces = progress(
        _rows(relation, columns, options.rows),
        "Measuring",
        survey.n_rows,
        rows=lambda piece: piece.n_rows,
    )
    total = ListSums.total(measure.of_pieces(pieces, options.n_jobs))
    return survey.checked(total, where)


def _both(relation: Any, against: Any, columns: LogColumns) -> Any:
    """Return the rows of two relations with a column that tells them apart."""
    duckdb = require("duckdb", "duckdb")
    kinds = [
        dict(zip(each.columns, map(str, each.types), strict=True)) for each in (relation, against)
    ]
    texts = [{name: not NUMBERS.match(kind) for name, kind in each.items()} for each in kinds]
    columns.check_kinds(*texts)
    parts = []
    for side, each in enumerate((relation, against)):
        chosen = [
            _quoted(name) if name in kinds[side] else f"NULL AS {_quoted(name)}"
            for name in columns.needed
        ]
        parts.append(each.project(", ".join([*chosen, f"{side}::TINYINT AS {_quoted(SIDE)}"])))
    try:
        return parts[0].union(parts[1])
    except duckdb.InvalidInputException as error:
        raise DataError(f"against must be a relation of the connection of data: {error}") from None


def _survey(relation: Any, columns: LogColumns, scored: bool) -> LogSurvey:
    """Return the survey of a relation."""

    def run(text: str) -> Sequence[Any]:
        rows: Sequence[Any] = _query(relation, text).fetchall()
        return rows

    return survey_table(columns, run, _quoted, scored)


def _query(relation: Any, text: str) -> Any:
    """Return the result of a query of the table ``log``, which names the relation.

    The name is replaced by one that no table has: DuckDB would read that table instead.
    """
    return relation.query("equirank_log", text.replace("FROM log", "FROM equirank_log"))


def _rows(
    relation: Any, columns: LogColumns, rows: int, sample: bool = False
) -> Iterator[LogPiece]:
    """Yield the rows of a relation sorted by list; DuckDB sorts them, on disk if it must.

    With ``sample``, only as many rows as one piece has, in any order.
    """
    names = [*columns.needed, *([SIDE] if columns.paired else [])]
    chosen = ", ".join(map(_quoted, names))
    by = ", ".join(map(_quoted, columns.query))
    order = f" LIMIT {rows}" if sample else f" ORDER BY {by}" if by else ""
    text = f"SELECT {chosen} FROM log{order}"
    begin = 0
    found = _query(relation, text)
    read = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader  # before DuckDB 2
    for batch in read(rows):
        yield LogPiece("the sorted table", batch, begin)
        begin += batch.num_rows


@contextmanager
def opened_database(
    path: str, table: str | None, memory: int, against: str | None = None
) -> Iterator[tuple[Any, Any]]:
    """Open a table or a query of a database file, read-only, with a limit of memory.

    With ``against``, also the table of the same name in another database; else None. What DuckDB
    writes while it sorts is in a temporary folder, which is removed at the end.
    """
    duckdb = require("duckdb", "duckdb")
    for each in (path, against):
        if each is not None and not os.path.exists(each):
            raise FileNotFoundError(2, "", each)
    with tempfile.TemporaryDirectory(prefix="equirank-") as folder:
        settings = {"memory_limit": f"{memory >> 20}MiB", "temp_directory": folder}
        try:
            connection = duckdb.connect(path, read_only=True, config=settings)
        except duckdb.Error as error:
            words = str(error).splitlines()[0]
            raise DataError(f"{path}: must be a database of DuckDB: {words}") from None
        try:
            first = _chosen(connection, path, table)
            yield first, None if against is None else _attached(connection, against, table)
        except duckdb.Error as error:
            raise DataError(f"{path}: {' '.join(str(error).split())}") from None
        finally:
            connection.close()


def _attached(connection: Any, path: str, table: str | None) -> Any:
    """Return the named or only table of a second database."""
    if table is not None and (_is_query(table) or "." in table):
        raise DataError(
            "table must be the name of a table that both databases have beside against, got "
            f"{table!r}; queries are given as relations of one connection"
        )
    name = path.replace("'", "''")
    connection.execute(f"ATTACH '{name}' AS equirank_against (READ_ONLY)")
    found = _table(connection, path, table, "SHOW TABLES FROM equirank_against")
    return connection.table(f"equirank_against.main.{_quoted(found)}")


def _chosen(connection: Any, path: str, table: str | None) -> Any:
    """Return the named table, the given query, or the only table of a database."""
    if table is not None and _is_query(table):
        return connection.sql(table)
    if table is not None and "." in table:
        return connection.table(table)
    return connection.table(_quoted(_table(connection, path, table, "SHOW TABLES")))


def _is_query(table: str) -> bool:
    return table.lstrip().lower().startswith(("select", "from", "with"))


def _table(connection: Any, path: str, table: str | None, show: str) -> str:
    """Return the name of a table of a database: the given one, or the only one."""
    found = [str(row[0]) for row in connection.sql(show).fetchall()]
    if table is None and len(found) == 1:
        return found[0]
    known = ", ".join(map(repr, found[:10])) or "none"
    if table is None:
        raise DataError(f"{path}: table must name one of its tables ({known}) or be a query")
    if table not in found:
        raise DataError(
            f"{path}: table must be one of its tables ({known}) or a query, got {table!r}"
        )
    return table
