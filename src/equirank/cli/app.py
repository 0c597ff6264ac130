"""The command ``equirank`` with its subcommands, which import heavy packages only when run."""

import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from .alternatives import alternatives
from .audit import audit
from .compare import compare
from .conformance import conformance
from .console import FAULT, INTERRUPTED, READER_LEFT, Command, printable, tell
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
    """Run the command line; an interrupt after its end has no effect.

    A fault of the library ends with exit code 70, a reader of the output that went away with 141.
    """
    _open_streams()
    try:
        app(prog_name="equirank")
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            _broken(end.__context__)
        if end.code == INTERRUPTED:
            # Objects that were half made fail when they are freed, after the command's last line.
            sys.unraisablehook = lambda _: None
        # Typer says nothing of an interrupt before the command runs.
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            tell("equirank: interrupted")
        raise
    except OSError as error:  # outside of a command: help on a full disk
        tell(f"equirank: {error.strerror}")
        sys.exit(2)
    except Exception as error:  # noqa: BLE001
        _fault(error)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _open_streams() -> None:
    """Open standard streams that are closed as the null device, so that no file gets their number.

    What is written to them is lost, as the caller wants, and the exit code is that of the command.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w" if number else "r"))  # noqa: SIM115


def _broken(error: BrokenPipeError) -> NoReturn:
    """End in silence if a reader of the output went away; any other broken pipe is a fault."""
    if hasattr(select, "poll"):
        streams = select.poll()
        for number in (1, 2):
            streams.register(number, 0)
        if not any(event & select.POLLERR for _, event in streams.poll(0)):
            _fault(error)
    with open(os.devnull, "w") as nowhere:
        for number in (1, 2):
            os.dup2(nowhere.fileno(), number)  # the last flush must not fail, too
    sys.exit(READER_LEFT)


def _fault(error: Exception) -> NoReturn:
    """Report a fault of the library in one line, after the traceback if that is asked for."""
    from .. import __version__

    if os.environ.get("EQUIRANK_TRACEBACK", "0") != "0":
        tell("".join(traceback.format_exception(error)).rstrip())
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(last.filename)}:{last.lineno}"
    tell(
        f"equirank: {type(error).__name__}: {printable(error)} ({where}); this is a fault of "
        f"equirank {__version__}: please report it with the traceback, which EQUIRANK_TRACEBACK=1 "
        "prints"
    )
    sys.exit(FAULT)
