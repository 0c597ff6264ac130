"""``equirank predict``: rank a file with a trained model.

``--json`` writes one object: ``equirank`` (the version), ``model``, ``class``, ``file``,
``rows``, ``queries``, ``written`` (rows), ``out`` and ``notes``. Paths are names without folders.
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .console import (
    JsonOption,
    Written,
    counted,
    errors_in_one_line,
    name_of,
    printable,
    write_json,
    writing,
)

if TYPE_CHECKING:
    from ..recipes.data_columns import DataColumns
    from ..recipes.new_file import NewFile

__all__ = ["predict"]


@options.with_shared
def predict(
    model: options.ModelArgument,
    file: options.FileArgument,
    out: Annotated[
        str,
        Written(),
        typer.Option(
            metavar="SCORES.csv", help="Output file: CSV, TSV (.gz may follow), Parquet or JSON."
        ),
    ],
    top: int | None = options.option(None, "Write only the top rows of each list.", min=1),
    query: options.TrainedQueryOption = None,
    unseen: options.UnseenOption = None,
    keep: list[str] | None = options.option(
        options.COLUMN, "Copy this column to the output; may be repeated."
    ),
    keep_formulas: options.FormulasOption = False,
    json: JsonOption = None,
    *,
    reading: options.Reading,
) -> None:
    """Rank the lists in a file with a trained model.

    Columns are matched by name, in any order. A missing feature is an error, and so is an unseen
    category or group unless --unseen is missing; unknown columns are ignored. Rows are written in
    the order of the file: list, id and the columns of --keep, then score and position (from 1; tied
    items share a position; 0 is not shown). With a re-ranker, the score is that of the ranker and
    the position that of the re-ranker.
    """
    with errors_in_one_line():
        from ..io.write_table import check_ending, write_table
        from ..recipes.new_file import scored

        check_ending(out)
        ranker, columns, read = reading.read_new(
            file, model, query=query, keep=tuple(dict.fromkeys(keep or ())), unseen=unseen
        )
        score, position = scored(ranker, read.data, model)
        table: dict[str, Any] = {**read.carried, "score": score, "position": position}
        if top is not None:
            shown = (position > 0) & (position <= top)
            table = {name: values[shown] for name, values in table.items()}
        with writing(out):
            write_table(out, table, keep_formulas=keep_formulas)
        if json is not None:
            write_json(json, _document(model, ranker, file, read, table, out))
        if json != "-":
            _show(model, ranker, file, read, table, out, columns)


def _document(
    model: str, ranker: Any, file: str, read: "NewFile", table: dict[str, Any], out: str
) -> str:
    import json

    from ..core.environment import library_version
    from ..recipes.new_file import in_words

    document = {
        "equirank": library_version(),
        "model": name_of(model),
        "class": in_words(ranker),
        "file": name_of(file),
        "rows": read.data.n_rows,
        "queries": read.data.n_queries,
        "written": len(table["score"]),
        "out": name_of(out),
        "notes": read.notes,
    }
    return json.dumps(document, ensure_ascii=False)


def _show(
    model: str,
    ranker: Any,
    file: str,
    read: "NewFile",
    table: dict[str, Any],
    out: str,
    columns: "DataColumns",
) -> None:
    """Print what was ranked and ignored, the path of the output, and the next command."""
    from ..recipes.new_file import in_words
    from ..recipes.toml_text import shell_line

    typer.echo(f"{printable(file)}: {counted(read.data)}, ranked with {in_words(ranker)}")
    for note in read.notes:
        typer.echo(f"note: {printable(note)}")
    typer.echo(f"written: {printable(out)}, {len(table['score'])} rows")
    people = [name for name in columns.sensitive if name in table]
    if people and not out.lower().endswith(".json"):
        words = ["equirank", "audit", out, "--score", "score"]
        words += ["--query", next(iter(table))] if columns.query else []
        for name in people:
            words += ["--sensitive", name]
        typer.echo(f"next: {shell_line(*words)} --out report.html")
    elif columns.sensitive:
        more = shell_line(*(word for name in columns.sensitive for word in ("--keep", name)))
        typer.echo(f"to audit the result: add {more}, then equirank audit")
