"""What goes wrong at the command line: one line on standard error and an exit code."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

__all__ = ["CommandError", "errors_in_one_line", "printable"]


class CommandError(Exception):
    """Something about the command line itself is wrong; the message says what."""


def printable(text: object) -> str:
    r"""Give a text in one line, with signs that could steer a terminal written out.

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
