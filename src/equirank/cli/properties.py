"""``equirank properties``: show which metric detects which property."""

from typing import TYPE_CHECKING, Any

import typer

from . import options
from .console import CommandError, JsonOption, errors_in_one_line, show_table, write_json

if TYPE_CHECKING:
    from ..core.table import Table

__all__ = ["properties"]


def _complete_metric(incomplete: str) -> list[str]:
    """Return the metrics and checks that begin with the incomplete word."""
    from ..core.registry import metric_names
    from ..metrics.properties.property_bench import CHECKS

    return [name for name in (*metric_names(), *CHECKS) if name.startswith(incomplete)]


@options.with_shared
def properties(
    metric: list[str] | None = options.option(
        "NAME",
        "Metric such as RND@50, check such as smoothness.ks, or my.module:metric; "
        "may be repeated. By default all of equirank.",
        autocompletion=_complete_metric,
    ),
    repetitions: int = options.option(
        None, "Number of repetitions; under 11 nothing can be detected.", default=50, min=2
    ),
    seed: int = options.option(
        None, "Seed of the scenarios and tests.", default=0, **options.SEEDS
    ),
    json: JsonOption = None,
) -> None:
    """Show which metric detects which property, on pairs of a fair and a bad version of lists.

    The numbers are effect sizes: the mean difference of the two versions divided by its standard
    deviation, above 0 if the bad version scores worse. A star marks detected properties: p < 0.01
    after Holm's correction, in the right direction.

    my.module:metric is a Metric, object or class, in a module importable from this folder.

    --json lists objects with metric, property, effect (null if undefined or infinite), p, detected
    and repetitions.
    """
    with errors_in_one_line():
        from ..metrics.properties import bench

        chosen = [_load(name) if _is_path(name) else name for name in metric or ()]
        found = bench(chosen or None, n_repetitions=repetitions, random_state=seed)
        if json is not None:
            write_json(json, found.to_json())
        if json != "-":
            show_table(_wide(found))
            typer.echo("effect sizes; * detected: p < 0.01 after correction, bad version worse")


def _is_path(name: str) -> bool:
    module, colon, thing = name.partition(":")
    return bool(colon) and thing.isidentifier() and module.replace(".", "_").isidentifier()


def _load(path: str) -> Any:
    """Import a user's metric, also from the current folder."""
    from ..core.environment import load_object

    module, _, name = path.partition(":")
    try:
        return load_object(path)
    except ImportError as error:
        raise CommandError(f"metric {path!r} cannot be imported: {error}") from None
    except AttributeError:
        raise CommandError(f"metric {path!r} cannot be found: {module} has no {name}") from None


def _wide(found: "Table") -> "Table":
    """Return one row per metric and one column per property."""
    from ..core.table import Table

    rows = list(found)
    metrics, heads = (list(dict.fromkeys(row[key] for row in rows)) for key in _KEYS)
    cells = {(row["metric"], row["property"]): _cell(row) for row in rows}
    columns = {head: [cells[metric, head] for metric in metrics] for head in heads}
    return Table({"metric": metrics, **columns})


_KEYS = ("metric", "property")


def _cell(row: dict[str, Any]) -> str:
    if row["effect"] != row["effect"]:
        return "-"
    return f"{row['effect'] + 0.0:.2f}" + ("*" if row["detected"] else "")
