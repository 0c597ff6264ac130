"""``equirank init``: write a commented example configuration."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import console, options

if TYPE_CHECKING:
    from ..io.column_roles import Guess

__all__ = ["init"]


@options.with_shared
def init(
    config: Annotated[
        str,
        console.Written(lambda path, values: _files(path, values["data"])),
        typer.Argument(metavar="CONFIG.toml", help="The file to write, or its folder."),
    ] = "config.toml",
    data: str | None = options.option(
        "FILE",
        "Your data, whose columns are guessed. By default the bundled hiring data, which "
        "is copied to the folder of the configuration.",
        mark=console.Read(),
    ),
    force: bool = options.switch("--force", "Replace existing files."),
    *,
    reading: options.Reading,
) -> None:
    """Write a commented configuration for `equirank train` and `equirank compare`.

    Without --data it uses synthetic applicants for 60 vacancies. With --data the columns are
    guessed from their names and contents: check the file before you train.
    """
    with console.errors_in_one_line():
        from ..datasets.hiring import hiring_path
        from ..io.files import replacing
        from ..recipes.config_example import example, guess_file, hiring_guess

        target, *copies = _files(config, data)
        _refuse(target, force)
        copied, keys = None, _keys(reading, os.path.dirname(os.path.abspath(target)))
        if data is None:
            if keys:
                raise console.CommandError(f"{next(iter(keys))} must be omitted without --data")
            copied = copies[0]
            guess, raw = hiring_guess(), hiring_path().read_bytes()
            if not _holds(copied, raw):
                _refuse(copied, force)
                with console.writing(copied), replacing(copied) as file:
                    file.write(raw)
            path = "hiring.csv"
        else:
            guess = guess_file(data, reading.format, reading.options())
            console.show_source(guess.source)
            folder = os.path.dirname(os.path.abspath(target))
            path = os.path.relpath(data, folder).replace(os.sep, "/")
        with console.writing(target), replacing(target) as file:
            file.write(example(path, guess, keys).encode("utf-8"))
        _show(target, copied, guess)


def _files(config: str, data: str | None) -> list[str]:
    """Return the configuration and, without data, the copy of the bundled data beside it."""
    target = os.path.join(config, "config.toml") if os.path.isdir(config) else config
    return [target] + [os.path.join(os.path.dirname(target), "hiring.csv")] * (data is None)


def _keys(reading: options.Reading, folder: str) -> dict[str, Any]:
    """Return the keys of ``[data]`` that state how the file is read."""
    plain = options.Reading().arguments()
    keys = {name: value for name, value in reading.arguments().items() if value != plain[name]}
    if "labels" in keys:
        keys["labels"] = os.path.relpath(keys["labels"], folder).replace(os.sep, "/")
    return {"file_encoding" if name == "encoding" else name: keys[name] for name in keys}


def _holds(path: str, raw: bytes) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read() == raw


def _refuse(path: str, force: bool) -> None:
    if os.path.exists(path) and not force:
        raise console.CommandError(f"{path}: already exists; --force replaces it")


def _show(target: str, copied: str | None, guess: "Guess") -> None:
    for path in (target, copied):
        if path is not None:
            typer.echo(f"written: {console.printable(path)}")
    if guess.relevance is None:
        typer.echo("to do: no column was recognised as relevance; name it under [data] relevance")
    elif copied is None:
        typer.echo("to do: check the file; the columns are guessed")
    from ..recipes.toml_text import shell_line

    folder = os.path.join(os.path.dirname(target), "model")
    typer.echo(f"next: {shell_line('equirank', 'train', target, '--out', folder)}")
