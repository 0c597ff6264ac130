"""``equirank evaluate``: a file of ranked items, measured.

``--json`` gives one object: ``equirank`` (the version), ``file``, ``rows``, ``metrics`` (per metric
name, direction, needs, bounds), ``n_boot``, ``seed``, and what `Evaluation.to_dict` holds:
``schema_version``, ``level``, ``queries``, ``summary`` (rows of metric, group or null for the
whole, value, low, high, p_value, queries, skipped), with ``--by`` also ``by_group``, ``overall``,
``difference``, ``ratio``, ``group_min`` and ``group_max``, and ``notes``. Undefined numbers are
null.
"""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .console import JsonOption, errors_in_one_line, printable, show_table, write_json

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..core.evaluation import Evaluation

__all__ = ["evaluate"]


COLUMN = "COLUMN"
DEFAULTS = "NDCG@10, Precision@10 and AveragePrecision; ExposureGap and RND for each attribute"


def _complete_metrics(incomplete: str) -> list[str]:
    """Complete the last name of a list of metrics."""
    from ..core.registry import metric_names

    last = incomplete.rpartition(",")[2].lstrip()
    begun = incomplete[: len(incomplete) - len(last)]
    return [begun + name for name in metric_names() if name.startswith(last)]


def evaluate(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, Parquet or LETOR, told by its ending; .gz may follow.",
            show_default=False,
        ),
    ],
    query: Annotated[
        str | None,
        typer.Option(metavar=COLUMN, help="Column that says which list a row belongs to."),
    ] = None,
    score: Annotated[
        str | None, typer.Option(metavar=COLUMN, help="Column of scores, higher is first.")
    ] = None,
    position: Annotated[
        str | None,
        typer.Option(metavar=COLUMN, help="Column of given positions from 1; 0 is not shown."),
    ] = None,
    relevance: Annotated[
        str | None, typer.Option(metavar=COLUMN, help="Column of relevance, from 0 up.")
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(metavar=COLUMN, help="Column of people's groups; may be repeated."),
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(metavar=COLUMN, help="Column of what a mistake about the item costs."),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRICS",
            help=f'Such as "NDCG@10,RND(step=5)@50"; may be repeated. Otherwise, as far as the '
            f"file has what they need: {DEFAULTS}. `equirank metrics` lists all.",
            autocompletion=_complete_metrics,
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar=COLUMN,
            help="Split metrics that are sums over items by this column; repeated: crossed.",
        ),
    ] = None,
    control: Annotated[
        list[str] | None,
        typer.Option(metavar=COLUMN, help="Repeat the split within the groups of this column."),
    ] = None,
    n_boot: Annotated[
        int, typer.Option(min=0, help="Bootstrap replicates for the intervals; 0: no intervals.")
    ] = 1000,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same intervals.")] = 0,
    ties: Annotated[
        Literal["average", "stable"],
        typer.Option(help="Equal scores share their places, or keep the order of the file."),
    ] = "average",
    missing_sensitive: Annotated[
        Literal["error", "category"],
        typer.Option(help="A missing group is an error, or a group of its own."),
    ] = "error",
    missing_relevance: Annotated[
        Literal["error", "irrelevant"],
        typer.Option(help="A missing relevance is an error, or 0."),
    ] = "error",
    file_format: Annotated[
        Literal["csv", "tsv", "parquet", "letor"] | None,
        typer.Option("--format", help="The format, where the ending does not tell it."),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Measure how good and how fair the order of the items in a file is.

    Columns called qid or query, score, rank or position, relevance or label, and cost are found
    without being named; groups of people must be named. In LETOR, name features by their number.
    """
    with errors_in_one_line():
        from ..core.evaluate import evaluate as measure
        from ..io.table_file import read_file
        from ..recipes.fit_recipe import default_metrics

        attributes = list(dict.fromkeys([*(sensitive or []), *(by or []), *(control or [])]))
        data = read_file(
            file,
            file_format,
            query=query,
            relevance=relevance,
            score=score,
            position=position,
            cost=cost,
            sensitive=attributes,
            missing_sensitive=missing_sensitive,
            missing_relevance=missing_relevance,
        )
        result = measure(
            data.ranking(ties),
            metrics or default_metrics(data),
            by=by or None,
            control=control or None,
            n_boot=n_boot,
            level=level,
            random_state=seed,
        )
        if json is not None:
            write_json(json, _document(file, data, result, n_boot, seed))
        if json != "-":
            _show(file, data, result, n_boot)


def _document(file: str, data: "RankingData", result: "Evaluation", n_boot: int, seed: int) -> str:
    import json
    import math

    from ..core.environment import library_version

    metrics = [
        {
            "name": each.metric.name,
            "direction": each.metric.direction,
            "needs": sorted(each.metric.needs),
            "bounds": [bound if math.isfinite(bound) else None for bound in each.metric.bounds],
        }
        for each in result.results
    ]
    head = {"equirank": library_version(), "file": file, "rows": data.n_rows, "metrics": metrics}
    head |= {"n_boot": n_boot, "seed": seed}
    return json.dumps(head | json.loads(result.to_json()), ensure_ascii=False, allow_nan=False)


def _show(file: str, data: "RankingData", result: "Evaluation", n_boot: int) -> None:
    """Print what was read, the tables and the notes."""
    from ..core.table import Table

    counts = f"{data.n_rows} items in {data.n_queries} list{'s' * (data.n_queries != 1)}"
    intervals = f"; intervals of {100 * result.level:g} %" if n_boot else ""
    typer.echo(f"{printable(file)}: {counts}{intervals}")
    summary = result.summary()
    better = {each.metric.name: each.metric.direction for each in result.results}
    rows = zip(summary["metric"].tolist(), summary["group"].tolist(), strict=True)
    directions = [better[metric] if group is None else None for metric, group in rows]
    columns = dict(summary.columns)
    show_table(
        Table({"metric": columns.pop("metric"), "better": directions, **columns}), "All lists"
    )
    if result.groups is not None:
        show_table(result.by_group, "By group")
        show_table(result.difference(), "Largest difference between groups")
    for note in result.notes:
        typer.echo(f"note: {printable(note)}")
