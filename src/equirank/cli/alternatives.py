"""``equirank alternatives``: search the families of a configuration for a less unfair ranker.

``--json`` writes ``equirank`` (the version), ``data`` (file, rows, queries), ``rule``,
``minimise``, ``metrics``, ``parts`` (name to size), ``unit``, ``level``, ``chosen`` (a name or
null), ``gain``, ``certificate`` (n, share, margin, level, more, sentence, not_covered),
``certified`` (per metric: chosen, baseline and difference), ``candidates`` (everything tried),
``sentences`` and ``provenance``. Undefined numbers are null.
"""

import os
from typing import TYPE_CHECKING, Any

import typer

from . import console, options
from .compare import announce, file_words, fitting
from .options import ConfigArgument, FormulasOption, LevelOption

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..recipes.search_config import SearchConfig
    from ..search.alternatives_result import Alternatives

__all__ = ["alternatives"]


#: The folder of the record in the folder of results.
RECORD = "record"
#: Candidates of the front that the terminal shows.
MOST_SHOWN = 12


def _files(folder: str, _: Any) -> list[str]:
    """Return the files of a folder of results."""
    from ..search.alternatives_result import FILES

    return [os.path.join(folder, name) for name in FILES]


@options.with_shared
def alternatives(
    *,
    config: ConfigArgument,
    out: str = options.option(
        "FOLDER",
        "Folder for report.html, candidates.csv etc. and the record.",
        default="alternatives",
        mark=console.Written(_files, folder=True),
    ),
    store: str | None = options.option(
        "FOLDER",
        "Keep the record there, so that an interrupted search continues; "
        "by default in the folder of --out.",
        mark=console.Written(lambda *_: (), folder=True),
    ),
    trials: int | None = options.option(
        None, "Number of independent draws; 200 by default.", min=1
    ),
    minutes: float | None = options.option(
        "MINUTES", "Limit of time, checked between blocks of draws."
    ),
    closed: bool = options.switch("--closed", "Leave the certify part closed, to add draws later."),
    n_jobs: int = options.option("N", "Number of parallel fits; -1 for all cores.", default=-1),
    level: LevelOption = 0.95,
    keep_formulas: FormulasOption = False,
    heading: options.Heading,
    json: console.JsonOption = None,
) -> None:
    """Search the models of a configuration for a less unfair one, and record everything tried.

    Every model is a family: [[models]] names what is drawn (space, path, prepare, sample). The
    first one, as it is, is the baseline. [search] states the rule of the choice. The data are split
    into four parts: fit, steer, choose and certify; the last is opened once.

    The exit code is 0 if a candidate was chosen, 1 if none satisfies the rule, and 2 for bad input.
    """
    chosen = True
    with console.errors_in_one_line():
        from dataclasses import asdict, replace

        from ..recipes.search_config import read_search_config

        settings = read_search_config(config)
        console.require_report_extra()
        store = os.path.join(out, RECORD) if store is None else store
        data, columns = settings.config.read_data()
        console.show_source(data.source)
        if json != "-":
            announce("searching", settings.config, data, (*settings.notes, *columns.notes))
        limits = {"n_trials": trials, "minutes": minutes}
        given: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
        given |= {"certify": not closed, "store": store, "n_jobs": n_jobs, "level": level}
        with fitting(settings.config.file, n_jobs):
            result = _search(settings, data, given | asdict(heading))
        record = result.provenance.with_inputs(config)
        result.provenance = replace(record, command=console.command_line())
        with console.writing(out):
            result.save(out, keep_formulas=keep_formulas)
        if json is not None:
            console.write_json(json, _document(settings, data, result))
        if json != "-":
            _show(result, out)
        chosen = result.chosen is not None
    if not chosen:
        raise typer.Exit(1)


def _search(settings: "SearchConfig", data: "RankingData", how: dict[str, Any]) -> "Alternatives":
    from ..search.alternatives import search_alternatives

    config = settings.config
    words = settings.options | how
    more: dict[str, Any] = {"by": config.split.by, "random_state": config.split.seed}
    rule, metrics = words.pop("rule", None), list(config.metrics)
    return search_alternatives(settings.families, data, metrics, rule, **more, **words)


def _document(settings: "SearchConfig", data: "RankingData", result: "Alternatives") -> str:
    import json

    from ..core.environment import library_version

    about = {"equirank": library_version(), "data": file_words(settings.config, data)}
    document = about | result.to_dict()
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)


def _show(result: "Alternatives", out: str) -> None:
    """Print the front, the certified numbers, the verdict, and the path of the report."""
    from ..core.table import Table

    table, front = result.table, result.front()
    names = ["candidate", result.metrics[0].name, result.target.name]
    wanted = [at for at, row in enumerate(table) if front[at] or row["chosen"] or at == 0]
    wanted.sort(key=lambda at: -float(table[names[1]][at]))
    shown = wanted[:MOST_SHOWN]
    columns = {name: [table[name][at] for at in shown] for name in names}
    columns["chosen"] = ["yes" if table["chosen"][at] else "" for at in shown]
    console.show_table(Table(columns), "Baseline and front, on the choosing part")
    if result.certified:
        console.show_table(result.certified_table, "Chosen and baseline")
    typer.echo()
    for sentence in result.sentences:
        typer.echo(f"- {console.printable(sentence)}")
    report = os.path.join(os.path.abspath(out), "report.html")
    typer.echo(f"\nFull report: {console.printable(report)}")
