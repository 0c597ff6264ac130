"""``equirank studio``: audit a ranking and try remedies in a browser, without code."""

import os
import sys
import webbrowser
from typing import TYPE_CHECKING, Annotated

import typer

from .console import CommandError, Read, errors_in_one_line, printable

if TYPE_CHECKING:
    from ..studio.server import Studio

__all__ = ["studio"]


def studio(
    file: Annotated[
        str | None,
        Read(),
        typer.Argument(metavar="FILE", help="The file to open; otherwise the page asks."),
    ] = None,
    recipe: Annotated[
        str | None,
        Read(),
        typer.Option(metavar="FILE", help="A recipe to apply to the file."),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port at 127.0.0.1; 0 is a free one.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address and open no browser.")
    ] = False,
    max_mb: Annotated[int, typer.Option(min=1, help="Largest file in megabytes.")] = 256,
    max_rows: Annotated[int, typer.Option(min=1, help="Most rows of a file.")] = 2_000_000,
) -> None:
    """Open a local page that audits a ranking and tries remedies, without code.

    The page is served to this computer only, and nothing of the data is written to disk or sent
    anywhere. Press Enter for a new address, which is valid once and for 60 seconds; Ctrl+C ends
    the studio. Use an SSH tunnel to reach it from another computer.
    """
    with errors_in_one_line():
        from ..core.environment import require

        for package in ("starlette", "uvicorn", "jinja2"):
            require(package, "studio")
        from ..studio.long_work import read_apart
        from ..studio.server import Studio
        from ..studio.workspace import Limits, StudioError, Workspace

        limits = Limits(max_bytes=max_mb << 20, max_rows=max_rows)
        first = Workspace(limits)
        try:
            if recipe is not None:
                with open(recipe, "rb") as raw:
                    text = raw.read(limits.max_bytes + 1).decode("utf-8", "replace")
                first.load_recipe(text, os.path.basename(recipe))
            if file is not None:
                with open(file, "rb") as raw:
                    content = raw.read(limits.max_bytes + 1)
                first.accept(read_apart(os.path.basename(file), content, limits))
        except StudioError as error:
            raise CommandError(error.message) from None
        made = Studio(limits, port, first, lambda line: typer.echo(f"equirank studio: {line}"))
        typer.echo("equirank studio: everything stays on this computer. Ctrl+C ends it.")

        def ready() -> None:
            address = made.address()
            typer.echo(f"open: {address}")
            if not no_browser:
                webbrowser.open(address)
            _new_addresses(made)

        made.run(ready)
        typer.echo("equirank studio: ended; nothing was kept.")


def _new_addresses(made: "Studio") -> None:
    """Print a new address at every line of the terminal."""
    if sys.stdin is None or sys.stdin.closed:
        return
    for _ in sys.stdin:
        typer.echo(f"open: {printable(made.address())}")
