"""``equirank train``: one model of a configuration, fitted, measured and saved with a card.

``--json`` gives what the file ``metrics.json`` in the model's folder holds: ``equirank`` (the
version), ``model``, ``class``, ``data`` (file, rows, queries, fingerprint), ``split``, ``seed``,
``held_out`` (rows, queries), and what `Evaluation.to_dict` holds: ``summary`` and ``notes``, with
``by_group`` per attribute. Undefined numbers are null.
"""

import os
import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import CommandError, JsonOption, errors_in_one_line, printable, show_table, write_json

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..recipes.config import Config, ModelEntry
    from ..recipes.data_columns import DataColumns
    from ..recipes.fit_recipe import Trained

__all__ = ["train"]


CARD = "card.html"
METRICS = "metrics.json"


def train(
    config: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG.toml",
            help="What to learn from, how to split it, the models; `equirank init` writes one.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str, typer.Option(metavar="FOLDER", help="Write the model, its metrics and its card there.")
    ],
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which of the [[models]]; otherwise the first."),
    ] = None,
    n_boot: Annotated[
        int, typer.Option(min=0, help="Bootstrap replicates for the intervals; 0: no intervals.")
    ] = 1000,
    json: JsonOption = None,
) -> None:
    """Train a model, measure it on what was held out, and save it with a model card.

    [split] says what is held out. With a share (test = 0.25) the saved model is the one that was
    measured; with folds every row is measured by a model that has not seen it, and the saved model
    is fitted on all rows.

    The folder holds what equirank.load reads, metrics.json, card.html and a copy of the
    configuration. An earlier model there is replaced when all is done; any other folder is refused.
    """
    with errors_in_one_line():
        from ..recipes.config import read_config
        from ..recipes.fit_recipe import train_model

        settings = read_config(config)
        entry = settings.model(model)
        _check_out(out)
        data, columns = settings.read_data()
        if json != "-":
            _say_what(settings, entry, data, columns, model)
        trained = train_model(settings, entry, data, n_boot=n_boot)
        document = _document(settings, entry, data, columns, trained)
        page, why = _page(settings, entry, data, columns, trained, out, n_boot)
        _save(settings, columns, trained, out, document, page)
        if json is not None:
            write_json(json, document)
        if json != "-":
            _show(trained, out, why)


def _check_out(out: str) -> None:
    """Refuse a folder that is something else, before the work."""
    if os.path.exists(out) and not os.path.isfile(os.path.join(out, "model.json")):
        kind = "a folder without a model" if os.path.isdir(out) else "a file"
        empty = os.path.isdir(out) and not os.listdir(out)
        if not empty:
            raise CommandError(f"--out must be a new folder or a model's, and {out} is {kind}")


def _save(
    settings: "Config",
    columns: "DataColumns",
    trained: "Trained",
    out: str,
    document: str,
    page: str | None,
) -> None:
    from ..core.persistence import save

    files = {METRICS: document + "\n", "config.toml": settings.text}
    files |= {} if page is None else {CARD: page}
    try:
        if os.path.isdir(out) and not os.listdir(out):
            os.rmdir(out)
        save(trained.model, out, extra={"columns": columns.to_dict()}, files=files)
    except OSError as error:
        raise CommandError(f"{out}: cannot be written: {error.strerror}") from None


def _page(
    settings: "Config",
    entry: "ModelEntry",
    data: "RankingData",
    columns: "DataColumns",
    trained: "Trained",
    out: str,
    n_boot: int,
) -> tuple[str | None, str]:
    """Write the card, or say why there is none: a model without it is still a model."""
    from ..core.errors import MissingExtraError
    from ..recipes.model_card import make_card

    try:
        return make_card(settings, entry, data, columns, trained, out, n_boot=n_boot).to_html(), ""
    except MissingExtraError as error:
        return None, str(error)


def _document(
    settings: "Config",
    entry: "ModelEntry",
    data: "RankingData",
    columns: "DataColumns",
    trained: "Trained",
) -> str:
    import json

    from ..core.environment import library_version

    held = trained.ranking.data
    head: dict[str, Any] = {
        "equirank": library_version(),
        "model": entry.name,
        "class": entry.class_name,
        "data": {
            "file": os.path.basename(settings.data.path),
            "rows": data.n_rows,
            "queries": data.n_queries,
            "features": list(columns.feature_names),
            "fingerprint": getattr(trained.model, "data_fingerprint_", None),
        },
        "split": trained.how,
        "seed": settings.split.seed,
        "held_out": {"rows": held.n_rows, "queries": held.n_queries},
    }
    head |= json.loads(trained.evaluation.to_json())
    split = {name: json.loads(each.to_json()) for name, each in trained.by_group.items()}
    head["by_group"] = {name: each["by_group"] for name, each in split.items()}
    return json.dumps(head, ensure_ascii=False, allow_nan=False, indent=1)


def _say_what(
    settings: "Config",
    entry: "ModelEntry",
    data: "RankingData",
    columns: "DataColumns",
    asked: str | None,
) -> None:
    """Say what is about to be trained, before the long work."""
    counts = f"{data.n_rows} items in {data.n_queries} list{'s' * (data.n_queries != 1)}"
    typer.echo(f"{printable(settings.data.path)}: {counts}, {data.n_features} features")
    steps = "".join(f", re-ranked with {step['class']}" for step in entry.rerank)
    typer.echo(f"training {printable(entry.name)}: {entry.class_name}{steps}")
    others = [repr(printable(each.name)) for each in settings.models if each is not entry]
    if others and asked is None:
        typer.echo(f"note: the first model is trained; --model takes {' or '.join(others)}")
    for note in columns.notes:
        typer.echo(f"note: {printable(note)}")


def _show(trained: "Trained", out: str, why: str) -> None:
    """Print the held-out tables, and where everything is."""
    from ..core.table import Table

    summary = trained.evaluation.summary()
    better = {each.metric.name: each.metric.direction for each in trained.evaluation.results}
    rows = zip(summary["metric"].tolist(), summary["group"].tolist(), strict=True)
    directions = [better[metric] if group is None else None for metric, group in rows]
    columns = dict(summary.columns)
    head = {"metric": columns.pop("metric"), "better": directions}
    show_table(Table(head | columns), f"Held out: {trained.how}")
    for name, each in trained.by_group.items():
        show_table(each.by_group, f"By {printable(name)}")
    for note in trained.evaluation.notes:
        typer.echo(f"note: {printable(note)}")
    typer.echo(f"\nmodel: {printable(os.path.abspath(out))}")
    if why:
        typer.echo(f"note: no model card: {printable(why)}")
    else:
        typer.echo(f"model card: {printable(os.path.join(os.path.abspath(out), CARD))}")
    typer.echo(f"next: equirank predict {shlex.quote(out)} FILE --out scores.csv")
