"""The option ``--json``: alone it means standard output, with a name it means that file."""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from .failing import CommandError

__all__ = ["JsonCommand", "JsonOption", "write_json"]

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
    from ..datasets.opening import replacing

    try:
        with replacing(target) as file:
            file.write(text.encode() + b"\n")
    except OSError as error:
        raise CommandError(f"{target}: cannot be written: {error.strerror}") from None
