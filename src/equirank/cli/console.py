"""What goes wrong at the command line: one line on standard error and an exit code."""

import sys
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from ..core.table import Table

__all__ = [
    "CommandError",
    "JsonCommand",
    "JsonOption",
    "errors_in_one_line",
    "printable",
    "show_table",
    "write_json",
]


class CommandError(Exception):
    """Something about the command line itself is wrong; the message says what."""


def printable(text: object) -> str:
    r"""Return a text in one line, with signs that could steer a terminal written out.

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
    """Turn bad input into one line and exit code 2, an interrupt into exit code 130.

    Warnings of the library are one line each, too. Anything else is a fault of ours, and shows
    where it happened.
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
            _fail("there is not enough memory for this file")
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
        FileNotFoundError: "there is no such file",
        IsADirectoryError: "is a folder, and a file is needed",
        PermissionError: "may not be read",
    }
    said = words.get(type(error), error.strerror or str(error))
    return said if error.filename is None else f"{error.filename}: {said}"


JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="[OUT.json]",
        help="Write JSON to this file, or to standard output in place of the tables.",
    ),
]


class JsonCommand(TyperCommand):
    """A command whose ``--json`` may stand alone.

    The next word is its value only if it is ``-`` or ends in ``.json``, so that
    ``--json data.csv`` never writes over data; ``--json=NAME`` takes any name.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the value ``-`` after each ``--json`` that stands alone."""
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
    """Write to standard output for ``-``, else to a file: another name first, then renamed."""
    if target == "-":
        typer.echo(text)
        return
    from ..io.files import replacing

    try:
        with replacing(target) as file:
            file.write(text.encode() + b"\n")
    except OSError as error:
        raise CommandError(f"{target}: cannot be written: {error.strerror}") from None


def show_table(
    table: "Table", title: str | None = None, to_the_right: Collection[str] = ()
) -> None:
    """Print a table with all its rows; what it holds is shown as it is, never read as markup.

    Columns that hold nothing are left out. Numbers stand to the right, and so do the columns named
    in ``to_the_right``, for numbers that are written out already.
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
