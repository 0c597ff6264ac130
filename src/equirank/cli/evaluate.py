"""``equirank evaluate``: compute metrics of a file of ranked items.

``--json`` writes one object: ``equirank`` (the version), ``file``, ``rows``, ``metrics`` (name,
direction, needs, bounds of each), ``n_boot``, ``seed``, and `Evaluation.to_dict`:
``schema_version``, ``level``, ``queries``, ``summary`` (rows of metric, group or null for all,
value, low, high, p_value, queries, skipped), ``notes``, and with ``--by`` also ``by_group``,
``overall``, ``difference``, ``ratio``, ``group_min`` and ``group_max``. Undefined numbers are null.
"""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import options
from .console import (
    JsonOption,
    counted,
    errors_in_one_line,
    name_of,
    printable,
    show_summary,
    show_table,
    write_json,
)

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..core.evaluation import Evaluation

__all__ = ["evaluate"]


DEFAULTS = "NDCG@10, Precision@10 and AveragePrecision; ExposureGap and RND for each attribute"


def _complete_metrics(incomplete: str) -> list[str]:
    """Return completions of the last name in a list of metrics."""
    from ..core.registry import metric_names

    last = incomplete.rpartition(",")[2].lstrip()
    start = incomplete[: len(incomplete) - len(last)]
    return [start + name for name in metric_names() if name.startswith(last)]


# Long, since every option is a parameter.
@options.with_reading
def evaluate(
    file: options.FileArgument,
    query: options.QueryOption = None,
    score: options.ScoreOption = None,
    position: options.PositionOption = None,
    relevance: options.RelevanceOption = None,
    sensitive: options.SensitiveOption = None,
    cost: options.CostOption = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRICS",
            help=f'Such as "NDCG@10,RND(step=5)@50"; may be repeated. By default, if the file has '
            f"the columns: {DEFAULTS}. `equirank metrics` lists all.",
            autocompletion=_complete_metrics,
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar=options.COLUMN,
            help="Split additive metrics by this column; repeat it to cross columns.",
        ),
    ] = None,
    control: Annotated[
        list[str] | None,
        typer.Option(
            metavar=options.COLUMN, help="Repeat the split within the groups of this column."
        ),
    ] = None,
    n_boot: options.BootOption = 1000,
    level: options.LevelOption = 0.95,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed; the same seed produces the same intervals.")
    ] = 0,
    ties: options.TiesOption = "average",
    missing_sensitive: Annotated[
        Literal["error", "category"],
        typer.Option(help="A missing group is an error, or a separate group."),
    ] = "error",
    missing_relevance: options.MissingRelevanceOption = "error",
    max_groups: options.MaxGroupsOption = None,
    json: JsonOption = None,
    *,
    reading: options.Reading,
) -> None:
    """Measure the quality and fairness of the rankings in a file.

    Columns called qid or query, score, rank or position, relevance or label, and cost are
    recognised; columns of people's groups must be named. In LETOR files, name features by their
    number.
    """
    with errors_in_one_line():
        from ..core.evaluate import evaluate as measure
        from ..recipes.fit_recipe import default_metrics

        attributes = list(dict.fromkeys([*(sensitive or []), *(by or []), *(control or [])]))
        data = reading.read(
            file,
            query=query,
            relevance=relevance,
            score=score,
            position=position,
            cost=cost,
            id=False,
            sensitive=attributes,
            missing_sensitive=missing_sensitive,
            missing_relevance=missing_relevance,
            max_groups=max_groups,
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
    head = {
        "equirank": library_version(),
        "file": name_of(file),
        "rows": data.n_rows,
        "metrics": metrics,
    }
    head |= {"n_boot": n_boot, "seed": seed}
    return json.dumps(head | json.loads(result.to_json()), ensure_ascii=False, allow_nan=False)


def _show(file: str, data: "RankingData", result: "Evaluation", n_boot: int) -> None:
    """Print the size of the file, the tables and the notes."""
    from ..reports.number_words import level_words

    intervals = f"; {level_words(result.level)} confidence intervals" if n_boot else ""
    typer.echo(f"{printable(file)}: {counted(data)}{intervals}")
    show_summary(result, "All lists")
    if result.groups is not None:
        show_table(result.by_group, "By group")
        show_table(result.difference(), "Largest difference between groups")
    for note in result.notes:
        typer.echo(f"note: {printable(note)}")
