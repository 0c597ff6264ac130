"""The command ``equirank`` with its subcommands, which import heavy packages only when run."""

import signal
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from .alternatives import alternatives
from .audit import audit
from .compare import compare
from .conformance import conformance
from .console import INTERRUPTED, Command
from .datasets import datasets
from .evaluate import evaluate
from .explain import explain
from .init import init
from .metrics import metrics
from .predict import predict
from .profiles import profiles
from .properties import properties
from .remedy import remedy
from .reproduce import reproduce
from .rerank import rerank
from .run import run
from .studio import studio
from .sums import sums
from .train import train

__all__ = ["app", "main"]


# Without a markup mode, help and errors are plain text: faster, and "[bold]" is not interpreted.
app = typer.Typer(
    name="equirank",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(requested: bool) -> None:
    if requested:
        from .. import __version__

        typer.echo(f"equirank {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Measure the quality and fairness of rankings, and train fair rankers."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


#: The commands in the order of the help, each with its line there.
COMMANDS: dict[Callable[..., None], str] = {
    audit: "Audit the rankings in a file; write a report.",
    studio: "Open the studio: audit and remedies in a browser.",
    evaluate: "Measure the rankings in a file.",
    sums: "Sum the lists of a log, to add and audit later.",
    rerank: "Re-rank a file with a guarantee.",
    remedy: "Find remedies for a difference, and their costs.",
    run: "Repeat a recipe of the studio.",
    init: "Write an example configuration.",
    train: "Train a model from a configuration.",
    predict: "Rank a file with a trained model.",
    explain: "Explain a position to a person, or a pair of items.",
    compare: "Compare the models of a configuration.",
    alternatives: "Search for a less unfair model; record all tried.",
    metrics: "List the metrics.",
    conformance: "Check the metrics against test vectors.",
    datasets: "List the data sets.",
    profiles: "List the profiles of laws and guidelines.",
    properties: "Show which metric detects which property.",
    reproduce: "Run a published study again.",
}
for _command, _words in COMMANDS.items():
    app.command(cls=Command, short_help=_words)(_command)


def main() -> None:
    """Run the command line; an interrupt after its end has no effect."""
    try:
        app(prog_name="equirank")
    except SystemExit as end:
        if end.code == INTERRUPTED:
            # Objects that were half made fail when they are freed, after the command's last line.
            sys.unraisablehook = lambda _: None
        # Typer says nothing of an interrupt before the command runs.
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            typer.echo("equirank: interrupted", err=True)
        raise
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
