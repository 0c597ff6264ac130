"""``equirank init``: write a commented example configuration."""

import os
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from .console import CommandError, errors_in_one_line, printable

if TYPE_CHECKING:
    from ..recipes.config_example import Guess

__all__ = ["init"]


def init(
    config: Annotated[
        str, typer.Argument(metavar="CONFIG.toml", help="The file to write, or its folder.")
    ] = "config.toml",
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Your data, whose columns are guessed. By default the bundled hiring data, which "
            "is copied to the folder of the configuration.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Write a commented configuration for `equirank train` and `equirank compare`.

    Without --data it uses synthetic applicants for 60 vacancies. With --data the columns are
    guessed from their names and contents: check the file before you train.
    """
    with errors_in_one_line():
        from ..datasets.hiring import hiring_path
        from ..io.files import replacing
        from ..recipes.config_example import example, guess_columns, hiring_guess

        target = os.path.join(config, "config.toml") if os.path.isdir(config) else config
        folder = os.path.dirname(os.path.abspath(target))
        if not os.path.isdir(folder):
            raise CommandError(f"{target}: cannot be written: folder {folder} not found")
        _refuse(target, force)
        copied = None
        if data is None:
            guess, raw = hiring_guess(), hiring_path().read_bytes()
            copied = os.path.join(os.path.dirname(target), "hiring.csv")
            if not _holds(copied, raw):
                _refuse(copied, force)
                with replacing(copied) as file:
                    file.write(raw)
            path = "hiring.csv"
        else:
            guess = guess_columns(data)
            path = os.path.relpath(data, folder).replace(os.sep, "/")
        with replacing(target) as file:
            file.write(example(path, guess).encode("utf-8"))
        _show(target, copied, guess)


def _holds(path: str, raw: bytes) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read() == raw


def _refuse(path: str, force: bool) -> None:
    if os.path.exists(path) and not force:
        raise CommandError(f"{path}: already exists; --force replaces it")


def _show(target: str, copied: str | None, guess: "Guess") -> None:
    for path in (target, copied):
        if path is not None:
            typer.echo(f"written: {printable(path)}")
    if guess.relevance is None:
        typer.echo("to do: no column was recognised as relevance; name it under [data] relevance")
    elif copied is None:
        typer.echo("to do: check the file; the columns are guessed")
    folder = shlex.quote(os.path.join(os.path.dirname(target), "model"))
    typer.echo(f"next: equirank train {shlex.quote(target)} --out {printable(folder)}")
