"""``equirank conformance``: check the metrics against the published test vectors."""

import typer

from . import options
from .console import JsonOption, errors_in_one_line, show_table, write_json

__all__ = ["conformance"]


def _complete_metric(incomplete: str) -> list[str]:
    """Return the metric functions that begin with the incomplete word."""
    from ..testing.conformance import vector_names

    return [name for name in vector_names() if name.startswith(incomplete)]


@options.with_shared
def conformance(
    metric: list[str] | None = options.option(
        "NAME",
        "Metric function, such as ndcg; may be repeated. By default all.",
        autocompletion=_complete_metric,
    ),
    json: JsonOption = None,
) -> None:
    """Check the metrics against the published test vectors.

    Each case of the vectors contains inputs, options and the exact result. The exit code is 1 if a
    number is missing or exceeds the tolerance of its file, or if bad input is accepted.

    --json lists objects with metric, cases, passed, deviation (the largest, null if nothing could
    be computed) and first failure.
    """
    with errors_in_one_line():
        from ..core.table import Table
        from ..testing.conformance import run_conformance

        found = run_conformance(metric or None)
        if json is not None:
            write_json(json, found.to_json())
        if json != "-":
            deviations = [f"{value:.1e}" for value in found["deviation"]]
            show_table(Table({**found.columns, "deviation": deviations}))
            typer.echo(f"{found['passed'].sum()} of {found['cases'].sum()} cases passed")
    if (found["passed"] < found["cases"]).any():
        raise typer.Exit(1)
