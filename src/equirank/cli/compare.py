"""``equirank compare``: compare all models of a configuration on the same folds.

``--json`` writes ``equirank`` (the version), ``data`` (file, rows, queries), ``unit`` (of the
tests), ``baseline``, ``summary`` (method, metric, value, low, high, unit, n, failed), ``tests``
(`Comparison.versus`), ``chance`` (metric to the value of a random order), ``errors`` (method, fold,
seed, error), ``claims`` (`Comparison.claims`, each with its sentence), ``verdict`` (sentences) and
``provenance``. Undefined numbers are null. Seconds are in results.csv and summary.csv alone, so
that equal runs write equal bytes.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from . import console, options
from .options import ConfigArgument, FormulasOption, LevelOption

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison
    from ..core.data import RankingData
    from ..recipes.config import Config

__all__ = ["announce", "compare", "file_words", "fitting"]


#: Folds if the configuration has neither a share nor folds.
FOLDS = 5
#: The folder of finished cells in the folder of results.
CELLS = "cells"


def _files(folder: str, _: Any) -> list[str]:
    """Return the files of a folder of results."""
    from ..comparison.comparison import FILES

    return [os.path.join(folder, name) for name in FILES]


@options.with_shared
def compare(
    *,
    config: ConfigArgument,
    out: str | None = options.option(
        "FOLDER",
        "Folder for report.html, results.csv etc.",
        mark=console.Written(_files, folder=True),
    ),
    store: str | None = options.option(
        "FOLDER",
        "Keep finished cells there, so that an interrupted run continues; "
        "by default in the folder of --out.",
        mark=console.Written(lambda *_: (), folder=True),
    ),
    n_jobs: int = options.option("N", "Number of parallel cells; -1 for all cores.", default=-1),
    fresh: bool = options.switch("--fresh", "Recompute every cell, ignoring the store."),
    baseline: str | None = options.option(
        "NAME", "The model to test against; by default the first."
    ),
    n_draws: int | None = options.option(None, "Draws of stochastic rankers.", min=1),
    level: LevelOption = 0.95,
    keep_formulas: FormulasOption = False,
    heading: options.Heading,
    json: console.JsonOption = None,
) -> None:
    """Compare the models of a configuration on the same folds, with paired tests.

    [split] defines the folds: folds = 5 splits the lists into folds, test = 0.25 holds out a share,
    seed = [0, 1, 2] repeats the split for each seed. If a model fails, its error is reported and
    the other models continue.

    The exit code is 0 if at least one model finished, 1 if all failed, and 2 for bad input.
    """
    failed = False
    with console.errors_in_one_line():
        from dataclasses import asdict, replace

        from ..recipes.config import read_config

        settings = read_config(config)
        name = settings.model(baseline).name
        if out is not None:
            console.require_report_extra()
            store = os.path.join(out, CELLS) if store is None else store
        data, columns = settings.read_data()
        console.show_source(data.source)
        if json != "-":
            announce("comparing", settings, data, (*settings.unused, *columns.notes))
        how = {"n_jobs": n_jobs, "store": store, "fresh": fresh, "n_draws": n_draws, "level": level}
        with fitting(settings.file, n_jobs):
            result = _compare(settings, data, how | asdict(heading))
        record = result.provenance.with_inputs(config)
        result.provenance = replace(record, command=console.command_line())
        if out is not None:
            with console.writing(out):
                result.save(out, baseline=name, keep_formulas=keep_formulas)
        if json is not None:
            console.write_json(json, _document(settings, data, result, name))
        if json != "-":
            _show(result, name, out)
        errors = result.first_errors()
        failed = len(errors) == len(result.methods)
        for method, error in errors.items():
            words = console.printable(console.in_options(error))
            typer.echo(f"equirank: {console.printable(method)} failed: {words}", err=True)
    if failed:
        raise typer.Exit(1)


@contextmanager
def fitting(file: str, n_jobs: int) -> Iterator[None]:
    """Raise if nothing is to be fitted at once; an error about the data names the configuration."""
    from ..core.errors import DataError

    if n_jobs == 0:
        raise console.CommandError(
            "--n-jobs must be a number of workers or -1 for all cores, got 0"
        )
    try:
        yield
    except DataError as error:
        raise console.CommandError(f"{file}: {error}") from None


def _compare(settings: "Config", data: "RankingData", how: dict[str, Any]) -> "Comparison":
    from ..comparison.compare import compare
    from ..recipes.fit_recipe import default_metrics

    split = settings.split
    cv: Any = split.test if split.test is not None else split.folds or FOLDS
    metrics = list(settings.metrics) or default_metrics(data)
    by: Any = split.by
    return compare(settings.estimators, data, metrics, cv=cv, by=by, seeds=split.seeds, **how)


def announce(verb: str, settings: "Config", data: "RankingData", notes: Any) -> None:
    """Print the data, what is done, with which models, and the notes on the columns."""
    path = console.printable(settings.data.path)
    typer.echo(f"{path}: {console.counted(data)}, {data.n_features} features")
    typer.echo(f"{verb} {', '.join(console.printable(model.name) for model in settings.models)}")
    for note in notes:
        typer.echo(f"note: {console.printable(note)}")


def file_words(settings: "Config", data: "RankingData") -> dict[str, Any]:
    """Return the name of the data file, its rows and its queries, for JSON."""
    name = os.path.basename(settings.data.path)
    return {"file": name, "rows": data.n_rows, "queries": data.n_queries}


def _document(settings: "Config", data: "RankingData", result: "Comparison", baseline: str) -> str:
    import json

    from ..comparison.comparison_page import untimed, verdict
    from ..core.environment import library_version

    errors = [
        {key: row[key] for key in ("method", "fold", "seed", "error")} for row in result.errors
    ]
    document = {
        "equirank": library_version(),
        "data": file_words(settings, data),
        "unit": result.unit,
        "baseline": baseline,
        "summary": json.loads(untimed(result.summary()).to_json()),
        "tests": json.loads(result.versus(baseline).to_json()),
        "chance": {name: None if v != v else v for name, v in result.chance.items()},
        "errors": errors,
        "claims": [claim.to_dict() for claim in result.claims],
        "verdict": verdict(result),
        "provenance": result.provenance.to_dict(),
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)


def _show(result: "Comparison", baseline: str, out: str | None) -> None:
    """Print one line per model, the tests, the verdict, and the path of the report."""
    from ..comparison.comparison_page import verdict, with_family_p
    from ..core.table import Table

    console.show_table(result.wide(), f"Held-out values, by {result.unit}")
    tests = with_family_p(result, baseline)
    if len(tests):
        columns = {name: tests[name] for name in ("method", "metric", "difference", "low", "high")}
        columns |= {"p (corrected)": tests["p_family"], "n": tests["n"]}
        console.show_table(Table(columns), f"Compared with {console.printable(baseline)}")
    typer.echo()
    for sentence in verdict(result):
        typer.echo(f"- {console.printable(sentence)}")
    if out is None:
        typer.echo("\nFor the full report with charts, add --out FOLDER")
    else:
        report = os.path.join(os.path.abspath(out), "report.html")
        typer.echo(f"\nFull report: {console.printable(report)}")
