"""``equirank remedy``: what can be done about a difference between groups, and what it costs.

``--json`` writes `Remedies.to_json`: ``schema_version``, ``kind``, ``provenance``, ``target``,
``quality``, ``sentences``, ``remedies`` (each with ``"uses_group": "blind"`` or ``"aware"``),
``unreachable``, ``not_tried``, ``lines``, ``notes`` and ``tables``. Undefined numbers are null.
"""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import typer

from . import options
from .console import (
    CommandError,
    JsonOption,
    Read,
    Written,
    command_line,
    counted,
    errors_in_one_line,
    printable,
    require_report_extra,
    show_source,
    show_table,
    write_json,
    writing,
)
from .rerank import file_columns

if TYPE_CHECKING:
    from ..search.remedies import Remedies

__all__ = ["remedy"]


# Long, since every option is a parameter.
@options.with_shared
def remedy(
    *,
    file: options.FileArgument,
    target: str | None = options.option(
        "RULE",
        'What is wanted, such as "sex=female selected at 10 >= 0.8", "race=Black exposure '
        'vs White >= 0.9" or "ExposureGap <= 0.02" (above chance); by default what the largest '
        "finding of an audit needs.",
    ),
    columns: options.Columns,
    ids: options.IdOption = None,
    model: str | None = options.option(
        "FOLDER",
        "Rank with the output of `equirank train`, and try its features, too.",
        mark=Read(),
    ),
    k: int | None = options.option(
        None, "The top k of each list are selected; by default 10.", flag="--k", min=1
    ),
    quota: options.QuotaOption = None,
    decision: options.Decision,
    stages: str | None = options.option(
        "COLUMN,COLUMN", "Recorded stages, which no order changes: refused."
    ),
    blind_only: bool = options.switch(
        "--blind-only", "Only remedies that do not use groups to decide."
    ),
    score_error: float | None = options.option(
        "NUMBER", "Standard error of the scores: lotteries are at most 1.96 sqrt(2) times as wide."
    ),
    calibration: str | None = options.option(
        "FILE",
        "Further lists with the same columns, which promise the target for new lists.",
        mark=Read(),
    ),
    delta: float = options.option(
        None, "Probability with which a promise may fail.", default=0.1, min=0.0, max=1.0
    ),
    apply: str | None = options.option("NAME", "The remedy whose order --out writes."),
    out: str | None = options.option(
        "OUT.csv",
        "Order of the remedy --apply: CSV, TSV (.gz may follow), Parquet or JSON.",
        mark=Written(),
    ),
    report: str | None = options.option(
        "OUT.html", "Write a page with the picture and all numbers.", mark=Written()
    ),
    n_boot: options.BootOption = 1000,
    level: options.LevelOption = 0.95,
    seed: int = options.option(
        None, "Random seed; the same seed produces the same result.", default=0, **options.SEEDS
    ),
    treatment: options.Treatment,
    keep_formulas: options.FormulasOption = False,
    heading: options.Heading,
    json: JsonOption = None,
    reading: options.Reading,
) -> None:
    """Find what can be done about a difference between groups, and what each remedy costs.

    Every re-ranker that can act on the target is tried at the strength that just reaches it, also
    lotteries, another cutoff and, with --model, its features. The list shows first whether a
    remedy uses groups to decide. Columns are recognised as in `equirank audit`. With --quota or
    --cutoff a remedy selects as many people of each list as these do; recorded decisions
    (--selected, --stages) are refused, since no order changes them.

    --out contains all columns of the file, then old_position and new_position (0 is not shown).
    The exit code is 0 even if no remedy reaches the target.
    """
    with errors_in_one_line():
        from ..core.outcomes import DecisionRule
        from ..io.write_table import check_ending, write_table
        from ..search.list_selection import refuse_recorded
        from ..search.remedy import remedy as find_remedies

        if (apply is None) is not (out is None):
            given, lacking = ("--apply", "--out") if out is None else ("--out", "--apply")
            raise CommandError(f"{given} must be given with {lacking}")
        cells: dict[str, Any] = {}
        if out is not None:
            check_ending(out)
            cells = file_columns(file, reading, out)
        if report is not None:
            require_report_extra()
        if not columns.sensitive and model is None:
            raise options.no_groups(file, reading)
        refuse_recorded(decision.selected, stages)
        rule = DecisionRule(quota=quota, cutoff=decision.cutoff, yes=decision.yes, k=k)
        roles: dict[str, Any] = asdict(columns) | {"id": ids}
        if model is None:
            roles["score"] = rule.score_column(columns.score, columns.position)
            roles["outcomes"] = rule.columns() or None
            data, ranker = _read(file, reading, roles, treatment), None
        elif calibration is not None:
            raise CommandError("--calibration must not be given with --model")
        elif rule.columns():
            raise CommandError("--quota and --cutoff of a column must not be given with --model")
        else:
            data, ranker = _read_for(model, file, reading, roles)
        lists = None
        if calibration is not None:
            lists = _read(calibration, reading, roles, treatment)
        result = find_remedies(
            data,
            target,
            score=ranker,
            k=k,
            quota=quota,
            cutoff=decision.cutoff,
            blind_only=blind_only,
            score_error=score_error,
            calibration=lists,
            delta=delta,
            ties=treatment.ties,
            n_boot=n_boot,
            level=level,
            random_state=seed,
            **asdict(heading),
        )
        result.provenance = replace(result.provenance, command=command_line())
        if out is not None:
            from ..recipes.reranked_list import in_new_order

            table = in_new_order(result.apply(apply), cells)
            with writing(out):
                write_table(out, table, keep_formulas=keep_formulas)
        if report is not None:
            with writing(report):
                result.to_html(report)
        if json is not None:
            write_json(json, result.to_json())
        if json != "-":
            _show(file, result, (out, report))


def _read(
    file: str,
    reading: options.Reading,
    roles: dict[str, Any],
    treatment: options.Treatment,
) -> Any:
    """Read the lists of a file; relevance and ids count only if they are named."""
    named = roles | {
        "relevance": roles["relevance"] or False,
        "id": roles["id"] or False,
        "sensitive": list(dict.fromkeys(roles["sensitive"])),
    }
    return reading.read(
        file,
        cost=None,
        missing_sensitive="unknown",
        missing_relevance=treatment.missing_relevance,
        max_groups=treatment.max_groups,
        **named,
    )


def _read_for(
    model: str, file: str, reading: options.Reading, roles: dict[str, Any]
) -> tuple[Any, Any]:
    """Read the columns that a trained model needs, and load it."""
    from ..recipes.fit_recipe import check_features
    from ..recipes.new_file import load_trained, read_new_file

    for name in ("score", "position", "relevance", "sensitive", "id"):
        if roles[name]:
            raise CommandError(f"--{name} must not be given with --model, whose columns are used")
    ranker, columns = load_trained(model)
    read = read_new_file(
        file,
        reading.format,
        columns,
        sensitive=True,
        query=roles["query"],
        options=reading.options(),
    )
    show_source(read.data.source)
    check_features(read.data, ranker, file)
    return read.data, ranker


def _show(file: str, result: "Remedies", written: tuple[str | None, ...]) -> None:
    """Print the sentences, the table, and why remedies were not tried."""
    typer.echo(f"{printable(file)}: {counted(result.ranking.data)}\n")
    for sentence in result.sentences:
        typer.echo(f"- {printable(sentence)}")
    if result.remedies:
        table = result.shown_table()
        words = ("remedy", "uses groups", "random", "reached")
        right = [name for name in table.columns if name not in words]
        show_table(table, f"Remedies; quality is {result.quality_name or 'unknown'}", right)
    for name, reason in result.not_tried:
        typer.echo(f"note: {printable(name)} was not tried: {printable(reason)}")
    for path in written:
        if path is not None:
            typer.echo(f"written: {printable(path)}")
