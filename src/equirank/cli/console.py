"""Console output: errors, JSON, tables and wrapped text."""

import sys
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..core.evaluation import Evaluation
    from ..core.table import Table

__all__ = [
    "CommandError",
    "JsonCommand",
    "JsonOption",
    "counted",
    "errors_in_one_line",
    "printable",
    "require_report_extra",
    "show_summary",
    "show_table",
    "write_json",
    "writing",
]


class CommandError(Exception):
    """An error in the command line; the message describes it."""


def printable(text: object) -> str:
    r"""Return a text in one line, with control characters escaped.

    Examples
    --------
    >>> printable("a\nb\x1b[31m [bold]")
    'a\\nb\\x1b[31m [bold]'
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in str(text)
    )


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Report bad input in one line with exit code 2, and an interrupt with exit code 130.

    Warnings of the library are printed in one line each. Other exceptions keep their traceback.
    """
    from ..core.errors import (
        DataError,
        EquirankWarning,
        FormatError,
        InfeasibleError,
        MissingExtraError,
    )

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EquirankWarning)
        try:
            yield
        except (
            DataError, InfeasibleError, FormatError, MissingExtraError, CommandError
        ) as error:  # fmt: skip
            _fail(str(error))
        except BrokenPipeError:
            raise
        except OSError as error:
            _fail(_in_words(error))
        except MemoryError:
            _fail("not enough memory for this file")
        except KeyboardInterrupt:
            typer.echo("equirank: interrupted", err=True)
            raise typer.Exit(130) from None
    for warning in caught:
        if issubclass(warning.category, EquirankWarning):
            typer.echo(f"equirank: warning: {printable(warning.message)}", err=True)
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


def _fail(message: str) -> None:
    sys.stdout.flush()
    typer.echo(f"equirank: {printable(message)}", err=True)
    raise typer.Exit(2) from None


def _in_words(error: OSError) -> str:
    words = {
        FileNotFoundError: "file not found",
        IsADirectoryError: "must be a file, got a folder",
        PermissionError: "permission denied",
    }
    text = words.get(type(error), error.strerror or str(error))
    return text if error.filename is None else f"{error.filename}: {text}"


JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="[OUT.json]",
        help="Write JSON to this file, or to standard output instead of the tables.",
    ),
]


class JsonCommand(TyperCommand):
    """A command whose option ``--json`` has an optional value.

    The next word is its value only if it is ``-`` or ends in ``.json``, so that ``--json data.csv``
    never overwrites data; ``--json=NAME`` takes any name.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the value ``-`` after each ``--json`` without one."""
        completed: list[str] = []
        end = args.index("--") if "--" in args else len(args)
        for at, word in enumerate(args):
            completed.append(word)
            following = args[at + 1] if at + 1 < end else ""
            named = following == "-" or (
                following.endswith(".json") and not following.startswith("-")
            )
            if word == "--json" and at < end and not named:
                completed.append("-")
        return list(super().parse_args(ctx, completed))


def write_json(target: str, text: str) -> None:
    """Write to standard output for ``-``, else to a file."""
    if target == "-":
        typer.echo(text)
        return
    from ..io.files import replacing

    with writing(target), replacing(target) as file:
        file.write(text.encode() + b"\n")


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Report a failure to write as an error of the path."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"{path}: cannot be written: {error.strerror}") from None


def require_report_extra() -> None:
    """Raise unless the packages that reports need are installed."""
    from ..core.environment import require

    for package in ("altair", "jinja2", "vl_convert"):
        require(package, "report")


def counted(data: "RankingData") -> str:
    """Return the numbers of items and lists, in words."""
    return f"{data.n_rows} items in {data.n_queries} list{'s' * (data.n_queries != 1)}"


def show_summary(evaluation: "Evaluation", title: str) -> None:
    """Print the metrics of an evaluation, with the better direction of each."""
    from ..core.table import Table

    summary = evaluation.summary()
    better = {each.metric.name: each.metric.direction for each in evaluation.results}
    rows = zip(summary["metric"].tolist(), summary["group"].tolist(), strict=True)
    directions = [better[metric] if group is None else None for metric, group in rows]
    columns = dict(summary.columns)
    show_table(Table({"metric": columns.pop("metric"), "better": directions, **columns}), title)


def show_table(
    table: "Table", title: str | None = None, to_the_right: Collection[str] = ()
) -> None:
    """Print all rows of a table as plain text, never interpreted as markup.

    Empty columns are omitted. Numbers are aligned to the right, as are the columns named in
    ``to_the_right``.
    """
    columns = {
        printable(name): (
            [_cell(value) for value in values.tolist()],
            values.dtype.kind in "fiu" or name in to_the_right,
        )
        for name, values in table.columns.items()
    }
    columns = {name: column for name, column in columns.items() if any(column[0])}
    if sys.stdout.isatty():
        _draw(columns, title)
        return
    if title:
        typer.echo(f"\n{title}")
    lines = [""] * (len(table) + 1)
    for name, (cells, right) in columns.items():
        texts = [name, *cells]
        width = max(map(len, texts))
        for at, text in enumerate(texts):
            lines[at] += (text.rjust(width) if right else text.ljust(width)) + "  "
    typer.echo("\n".join(line.rstrip() for line in lines))


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else printable(value)


def _draw(columns: dict[str, tuple[list[str], bool]], title: str | None) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawing
    from rich.text import Text

    drawing = Drawing(
        box=box.SIMPLE_HEAD,
        title=Text(title) if title else None,
        title_justify="left",
        title_style="bold",
    )
    for name, (_, right) in columns.items():
        drawing.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for row in zip(*(cells for cells, _ in columns.values()), strict=True):
        drawing.add_row(*(Text(cell) for cell in row))
    Console(file=sys.stdout, highlight=False).print(drawing)
