"""``equirank evaluate``: compute metrics of a file of ranked items, of a log or of stored sums.

``--json`` writes one object: ``equirank`` (the version), ``file``, ``rows``, ``metrics`` (name,
direction, needs, bounds of each), ``n_boot``, ``seed``, and `Evaluation.to_dict`:
``schema_version``, ``level``, ``queries``, ``summary`` (rows of metric, group or null for all,
value, low, high, p_value, queries, skipped), ``notes``, and with ``--by`` also ``by_group``,
``overall``, ``difference``, ``ratio``, ``group_min`` and ``group_max``. Undefined numbers are null.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import typer

from . import options
from .console import (
    CommandError,
    JsonOption,
    Read,
    counted,
    errors_in_one_line,
    name_of,
    printable,
    show_summary,
    show_table,
    write_json,
)
from .sums import PARQUET, is_log, is_stored, log_name, log_sums, refuse_columns, stored_sums

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..core.evaluation import Evaluation
    from ..core.list_sums import ListSums

__all__ = ["evaluate"]


UNNAMED = "metrics of relevance are left out, since --relevance must name the column of a log"
DEFAULTS = "NDCG@10, Precision@10 and AveragePrecision; ExposureGap and RND for each attribute"


def _complete_metrics(incomplete: str) -> list[str]:
    """Return completions of the last name in a list of metrics."""
    from ..core.registry import metric_names

    last = incomplete.rpartition(",")[2].lstrip()
    start = incomplete[: len(incomplete) - len(last)]
    return [start + name for name in metric_names() if name.startswith(last)]


# Long, since every option is a parameter.
@options.with_shared
def evaluate(
    *,
    files: options.FilesArgument,
    columns: options.Columns,
    cost: options.CostOption = None,
    metrics: list[str] | None = options.option(
        "METRICS",
        f'Such as "NDCG@10,RND(step=5)@50"; may be repeated. By default, if the file has '
        f"the columns: {DEFAULTS}. `equirank metrics` lists all.",
        autocompletion=_complete_metrics,
    ),
    by: list[str] | None = options.option(
        options.COLUMN, "Split additive metrics by this column; repeat it to cross columns."
    ),
    control: list[str] | None = options.option(
        options.COLUMN, "Repeat the split within the groups of this column."
    ),
    n_boot: options.BootOption = 1000,
    level: options.LevelOption = 0.95,
    seed: int = options.option(
        None, "Random seed; the same seed produces the same intervals.", default=0, **options.SEEDS
    ),
    ties: Literal["average", "stable", "trec"] = options.option(
        None,
        "Tied items share the mean of their positions, or keep the file's order; with "
        "--qrels, trec breaks ties by id, descending.",
        default="average",
    ),
    missing_sensitive: options.MissingSensitiveOption = "error",
    missing_relevance: Literal["error", "irrelevant", "drop"] = options.option(
        None,
        "A missing relevance is an error, or 0; with --qrels, drop leaves out documents "
        "that are not judged.",
        default="error",
    ),
    max_groups: options.MaxGroupsOption = None,
    qrels: str | None = options.option(
        "QRELS", "TREC judgements; FILE is then a TREC run.", mark=Read()
    ),
    memory: options.MemoryOption = None,
    json: JsonOption = None,
    reading: options.Reading,
) -> None:
    """Measure the quality and fairness of the rankings in a file.

    Columns called qid or query, score, rank or position, relevance or label, and cost are
    recognised; columns of people's groups must be named. In LETOR files, name features by their
    number. With --qrels, FILE is a TREC run. Logs of any size are read as by
    `equirank audit`; their relevance and costs must be named.
    """
    with errors_in_one_line():
        from dataclasses import asdict

        from ..core.evaluate import evaluate as measure
        from ..core.list_sums import ListSums
        from ..recipes.fit_recipe import default_metrics, usual_metrics

        file, told = files[0], ""
        roles = asdict(columns) | {"cost": cost}
        groups = {"sensitive": roles.pop("sensitive") or [], "by": by or []}
        groups["control"] = control or []
        missing = {"missing_sensitive": missing_sensitive, "missing_relevance": missing_relevance}
        how: dict[str, Any] = {"by": by or None, "control": control or None, "n_boot": n_boot}
        how |= {"level": level, "random_state": seed}
        data: RankingData | ListSums
        if qrels is not None:
            given = {**roles, **groups, "format": reading.format, "max-groups": max_groups}
            data = _read_run(files, qrels, given | {"memory": memory}, ties, missing_relevance)
        else:
            _refuse_without_judgements(ties=ties, missing_relevance=missing_relevance)
            stored = all(map(is_stored, files))
            if stored or _is_log(files, reading, memory):
                if not (stored or metrics):
                    names = {name: None for names in groups.values() for name in names}
                    metrics = [*map(str, usual_metrics(roles["relevance"] is not None, [*names]))]
                    told = "" if roles["relevance"] else UNNAMED
                plan: dict[str, Any] = {"ties": ties, "max_groups": max_groups, "memory": memory}
                plan |= {"metrics": metrics, "random_state": seed} | missing
                data = _read_lists(files, reading, roles, groups, plan)
            else:
                data = _read_columns(file, reading, roles, groups, missing, max_groups)
        if isinstance(data, ListSums):
            size = f"{data.n_rows} items in {data.n_lists} lists"
            result = measure(data, metrics or _contained(data), **how)
        else:
            size = counted(data)
            ranking = data.ranking("stable" if ties == "stable" else "average")
            result = measure(ranking, metrics or default_metrics(data), **how)
        if json is not None:
            write_json(json, _document(files, data.n_rows, result, n_boot, seed))
        if json != "-":
            _show(files, size, result, n_boot)
        if told:
            typer.echo(f"equirank: note: {told}", err=True)


def _is_log(files: Sequence[str], reading: options.Reading, memory: str | None) -> bool:
    """Return whether files are evaluated from sums; one Parquet file only with --memory."""
    one = len(files) == 1 and files[0].lower().endswith(PARQUET) and os.path.isfile(files[0])
    return not (one and memory is None) and is_log(files, reading, memory)


def _read_columns(
    file: str,
    reading: options.Reading,
    columns: Mapping[str, Any],
    groups: Mapping[str, list[str]],
    missing: Mapping[str, str],
    max_groups: int | None,
) -> "RankingData":
    """Read a table; an error about groups names the option that named their column."""
    from ..core.errors import DataError

    named = {name: option for option in ("control", "by", "sensitive") for name in groups[option]}
    try:
        return reading.read(
            file,
            **columns,
            id=False,
            sensitive=list(dict.fromkeys(name for names in groups.values() for name in names)),
            missing_sensitive=missing["missing_sensitive"],
            missing_relevance=missing["missing_relevance"],
            max_groups=max_groups,
        )
    except DataError as error:
        message = str(error)
        for name, option in named.items():
            message = message.replace(f"sensitive ({name!r})", f"{option} ({name!r})")
            message = message.replace(f"sensitive_features[{name!r}]", f"{option} ({name!r})")
            if f", got {name!r}" in message:
                message = message.replace(
                    ": sensitive must be one of", f": {option} must be one of"
                )
        raise DataError(message) from None


def _read_lists(
    files: Sequence[str],
    reading: options.Reading,
    columns: Mapping[str, Any],
    groups: Mapping[str, list[str]],
    plan: dict[str, Any],
) -> "ListSums":
    """Return the sums of a log, or stored ones."""
    missing = plan.pop("missing_sensitive")
    if missing == "category":
        raise CommandError(
            f"--missing-sensitive must be error or unknown for {files[0]}, which is evaluated from "
            "sums over its lists"
        )
    split = {name: groups[name] or None for name in ("by", "control")}
    named = list(dict.fromkeys(name for names in groups.values() for name in names)) or None
    if all(map(is_stored, files)):
        own = {
            name: value for name, value in plan.items() if name not in ("metrics", "random_state")
        }
        refuse_columns({**columns, "sensitive": groups["sensitive"] or None, **own}, files[0])
        found = stored_sums(files)
    else:
        found = log_sums(files, reading, like=None, **columns, sensitive=named, **split, **plan)
    unknown = [any(code < 0 for code in vector) for vector in found.people]
    if missing == "error" and any(unknown):
        rows = sum(n for n, some in zip(found.people.values(), unknown, strict=True) if some)
        raise CommandError(
            f"{files[0]}: sensitive must not be missing, got {rows:,} rows with an unknown label; "
            "--missing-sensitive unknown keeps such rows in no group"
        )
    return found


def _contained(sums: "ListSums") -> list[Any]:
    """Return the metrics that stored sums contain, of which gaps have several."""
    from dataclasses import replace

    from ..core.registry import parse_metric

    found: list[Any] = list(sums.plan.metrics)
    single = {by[0] for _, by, _ in sums.plan.targets if len(by) == 1}
    for name, by, group in sums.plan.targets:
        if len(by) == 1 and group is None and name.startswith(("ExposureGap", "RND")):
            gap: Any = parse_metric(name)
            steps = {"step": sums.plan.step} if name == "RND" else {}
            found.append(replace(gap, by=by[0] if len(single) > 1 else None, **steps))
    return found


def _refuse_without_judgements(**given: str) -> None:
    for option, value in given.items():
        if value in ("trec", "drop"):
            raise CommandError(f"--{option.replace('_', '-')} {value} needs --qrels")


def _read_run(
    files: Sequence[str], qrels: str, given: Mapping[str, object], ties: str, missing_relevance: str
) -> "RankingData":
    """Read a TREC run, for which no columns are given."""
    from ..io.trec import read_trec

    for option, value in given.items():
        if value not in (None, []):
            raise CommandError(
                f"--{option} must be omitted with --qrels: a TREC run has no columns"
            )
    if ties == "stable":
        raise CommandError("--ties must be average or trec with --qrels, got stable")
    if len(files) > 1:
        raise CommandError(f"FILE must be one TREC run with --qrels, got {len(files)} files")
    return read_trec(
        files[0],
        qrels,
        ties="trec" if ties == "trec" else "average",
        missing_relevance=missing_relevance,  # type: ignore[arg-type]
    )


def _document(files: Sequence[str], rows: int, result: "Evaluation", n_boot: int, seed: int) -> str:
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
        "file": name_of(files[0]) if len(files) == 1 else log_name(files),
        "rows": rows,
        "metrics": metrics,
    }
    head |= {"n_boot": n_boot, "seed": seed}
    return json.dumps(head | json.loads(result.to_json()), ensure_ascii=False, allow_nan=False)


def _show(files: Sequence[str], words: str, result: "Evaluation", n_boot: int) -> None:
    """Print the size of the file, the tables and the notes."""
    from ..reports.number_words import level_words

    intervals = f"; {level_words(result.level)} confidence intervals" if n_boot else ""
    name = files[0] if len(files) == 1 else log_name(files)
    typer.echo(f"{printable(name)}: {words}{intervals}")
    show_summary(result, "All lists")
    if result.groups is not None:
        show_table(result.by_group, "By group")
        show_table(result.difference(), "Largest difference between groups")
    for note in result.notes:
        typer.echo(f"note: {printable(note)}")
