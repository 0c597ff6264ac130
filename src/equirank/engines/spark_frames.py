"""Frames of Spark: lists are brought together and sorted by Spark, and summed in its workers."""

import io
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ..core.environment import require
from ..core.list_sums import ListSums
from .log_columns import SIDE, LogColumns, LogPiece
from .log_sums import LogOptions, refuse_stable
from .log_survey import LogSurvey
from .sql_survey import survey_table

__all__ = ["is_spark_frame", "sum_spark"]


def is_spark_frame(data: Any) -> bool:
    """Return whether data is a frame of Spark, without importing it."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")
        for kind in type(data).__mro__
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _survey(frame: Any, columns: LogColumns, scored: bool) -> LogSurvey:
    """Return the survey of a frame."""
    session = frame.sparkSession

    def run(text: str) -> Sequence[Any]:
        rows: Sequence[Any] = session.sql(
            text.replace("FROM log", "FROM {log}"), log=frame
        ).collect()
        return rows

    return survey_table(columns, run, _quoted, scored)


def sum_spark(
    frame: Any, columns: LogColumns, options: LogOptions, against: Any = None
) -> ListSums:
    """Return the sums of a frame; only they, and no rows, come to the calling process.

    Its lists may be compared with those of another frame.
    """
    refuse_stable(options, "a frame of Spark")
    if against is not None:
        frame = _both(frame, against, columns)
    survey = _survey(frame, columns, options.scored)
    measure = options.measure(survey, columns, "data")
    functions = require("pyspark.sql.functions", "spark")
    names = [*columns.needed, *([SIDE] if columns.paired else [])]
    chosen = frame.select(*[functions.col(_quoted(name)) for name in names])
    by = [functions.col(_quoted(name)) for name in columns.query]
    chosen = chosen.repartition(*by).sortWithinPartitions(*by) if by else chosen.coalesce(1)

    def summed(batches: Iterator[Any]) -> Iterator[Any]:
        parts = measure.of_pieces(_numbered(batches))
        first = next(parts, None)
        if first is not None:
            yield _packed(ListSums.total(chain([first], parts)))

    rows = chosen.mapInArrow(summed, "sums binary").collect()
    total = ListSums.total(_unpacked(row["sums"]) for row in rows)
    return survey.checked(total, "data")


def _both(frame: Any, against: Any, columns: LogColumns) -> Any:
    """Return the rows of two frames with a column that tells them apart."""
    functions = require("pyspark.sql.functions", "spark")
    columns.check_kinds(*({n: kind == "string" for n, kind in e.dtypes} for e in (frame, against)))
    parts = []
    for side, each in enumerate((frame, against)):
        names = [name for name in columns.needed if name in each.columns]
        mark = functions.lit(side).cast("tinyint").alias(SIDE)
        parts.append(each.select(*[functions.col(_quoted(name)) for name in names], mark))
    return parts[0].unionByName(parts[1], allowMissingColumns=True)


def _packed(sums: ListSums) -> Any:
    """Return sums as a record batch of one binary value: their files in an archive."""
    arrow = require("pyarrow", "data")
    content = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="equirank-") as folder:
        sums.save(Path(folder, "sums"))
        with zipfile.ZipFile(content, "w") as archive:
            for path in sorted(Path(folder, "sums").iterdir()):
                archive.write(path, path.name)
    values = arrow.array([content.getvalue()], arrow.binary())
    return arrow.RecordBatch.from_arrays([values], names=["sums"])


def _unpacked(content: bytes) -> ListSums:
    with tempfile.TemporaryDirectory(prefix="equirank-") as folder:
        zipfile.ZipFile(io.BytesIO(content)).extractall(folder)
        return ListSums.load(folder)


def _numbered(batches: Iterator[Any]) -> Iterator[LogPiece]:
    context = require("pyspark", "spark").TaskContext.get()
    where = "a partition" if context is None else f"partition {context.partitionId()}"
    begin = 0
    for batch in batches:
        yield LogPiece(where, batch, begin)
        begin += batch.num_rows
