"""The command ``equirank`` with its subcommands, which import heavy packages only when run."""

import signal
from typing import Annotated

import typer

from .audit import audit
from .compare import compare
from .conformance import conformance
from .console import Command
from .datasets import datasets
from .evaluate import evaluate
from .explain import explain
from .init import init
from .metrics import metrics
from .predict import predict
from .profiles import profiles
from .properties import properties
from .reproduce import reproduce
from .rerank import rerank
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


app.command(cls=Command, short_help="Audit the rankings in a file; write a report.")(audit)
app.command(cls=Command, short_help="Measure the rankings in a file.")(evaluate)
app.command(cls=Command, short_help="Re-rank a file with a guarantee.")(rerank)
app.command(cls=Command, short_help="Write an example configuration.")(init)
app.command(cls=Command, short_help="Train a model from a configuration.")(train)
app.command(cls=Command, short_help="Rank a file with a trained model.")(predict)
app.command(cls=Command, short_help="Explain a position to a person, or a pair of items.")(explain)
app.command(cls=Command, short_help="Compare the models of a configuration.")(compare)
app.command(cls=Command, short_help="List the metrics.")(metrics)
app.command(cls=Command, short_help="Check the metrics against test vectors.")(conformance)
app.command(cls=Command, short_help="List the data sets.")(datasets)
app.command(cls=Command, short_help="List the profiles of laws and guidelines.")(profiles)
app.command(cls=Command, short_help="Show which metric detects which property.")(properties)
app.command(cls=Command, short_help="Run a published study again.")(reproduce)


def main() -> None:
    """Run the command line; an interrupt after its end has no effect."""
    try:
        app(prog_name="equirank")
    except SystemExit as end:
        # Typer says nothing of an interrupt before the command runs.
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            typer.echo("equirank: interrupted", err=True)
        raise
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
