"""Tables at the command line: drawn on a terminal, plain text everywhere else."""

import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import typer

from .failing import printable

if TYPE_CHECKING:
    from ..core.table import Table

__all__ = ["show_table"]


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
