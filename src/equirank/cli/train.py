"""``equirank train``: fit, evaluate and save a model of a configuration.

``--json`` writes the contents of ``metrics.json`` in the model's folder: ``equirank`` (the
version), ``model``, ``class``, ``data`` (file, rows, queries, fingerprint), ``split``, ``seed``,
``held_out`` (rows, queries), and `Evaluation.to_dict`: ``summary`` and ``notes``, with
``by_group`` per attribute, and ``provenance``. Undefined numbers are null.
"""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import console, options
from .options import BootOption, ConfigArgument

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..recipes.config import Config, ModelEntry
    from ..recipes.data_columns import DataColumns
    from ..recipes.fit_recipe import Trained
    from ..reports.provenance import Provenance

__all__ = ["train"]


CARD = "card.html"
METRICS = "metrics.json"


@options.with_shared
def train(
    *,
    config: ConfigArgument,
    out: Annotated[
        str,
        console.Written(whole=True),
        typer.Option(metavar="FOLDER", help="Write the model, its metrics and its card there."),
    ],
    model: str | None = options.option("NAME", "One of the [[models]]; by default the first."),
    n_boot: BootOption = 1000,
    heading: options.Heading,
    json: console.JsonOption = None,
) -> None:
    """Train a model, evaluate it on held-out data, and save it with a model card.

    [split] defines the held-out data. With a share (test = 0.25), the saved model is the evaluated
    one. With folds, every row is ranked by a model not trained on it, and the saved model is fitted
    on all rows.

    The folder contains the model for equirank.load, metrics.json, card.html and a copy of the
    configuration. An earlier model is replaced at the end; any other existing folder is an error.
    """
    with console.errors_in_one_line():
        from dataclasses import asdict, replace

        from ..recipes.config import read_config
        from ..recipes.fit_recipe import train_model
        from ..recipes.model_card import recorded
        from ..reports.provenance import Provenance

        settings = read_config(config)
        record = Provenance.given(**asdict(heading))
        entry = settings.model(model)
        _check_out(out)
        data, columns = settings.read_data()
        console.show_source(data.source)
        if json != "-":
            _announce(settings, entry, data, columns, model)
        trained = train_model(settings, entry, data, n_boot=n_boot)
        record = recorded(record, settings, entry, data, trained, n_boot)
        record = replace(record, command=console.command_line())
        document = _document(settings, entry, data, columns, trained, record)
        page, why = _page(settings, entry, data, columns, trained, out, n_boot, record)
        _save(settings, columns, trained, out, document, page)
        if json is not None:
            console.write_json(json, document)
        if json != "-":
            _show(trained, out, why)


def _check_out(out: str) -> None:
    """Raise if the folder exists and is not a model."""
    model = os.path.isfile(os.path.join(out, "model.json"))
    if os.path.isdir(out) and os.listdir(out) and not model:
        raise console.CommandError(
            f"--out must be a new folder or that of a model, got {out}, which has no model.json"
        )


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
    with console.writing(out):
        if os.path.isdir(out) and not os.listdir(out):
            os.rmdir(out)
        save(trained.model, out, extra={"columns": columns.to_dict()}, files=files)


def _page(
    settings: "Config",
    entry: "ModelEntry",
    data: "RankingData",
    columns: "DataColumns",
    trained: "Trained",
    out: str,
    n_boot: int,
    record: "Provenance",
) -> tuple[str | None, str]:
    """Return the card, or None and the reason if a package is missing."""
    from ..core.errors import MissingExtraError
    from ..recipes.model_card import make_card

    try:
        card = make_card(
            settings, entry, data, columns, trained, out, n_boot=n_boot, provenance=record
        )
        return card.to_html(), ""
    except MissingExtraError as error:
        return None, str(error)


def _document(
    settings: "Config",
    entry: "ModelEntry",
    data: "RankingData",
    columns: "DataColumns",
    trained: "Trained",
    record: "Provenance",
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
    head["provenance"] = record.to_dict()
    return json.dumps(head, ensure_ascii=False, allow_nan=False, indent=1)


def _announce(
    settings: "Config",
    entry: "ModelEntry",
    data: "RankingData",
    columns: "DataColumns",
    requested: str | None,
) -> None:
    """Print what will be trained."""
    path = console.printable(settings.data.path)
    typer.echo(f"{path}: {console.counted(data)}, {data.n_features} features")
    steps = "".join(f", re-ranked with {step['class']}" for step in entry.rerank)
    typer.echo(f"training {console.printable(entry.name)}: {entry.class_name}{steps}")
    others = [repr(console.printable(each.name)) for each in settings.models if each is not entry]
    if others and requested is None:
        typer.echo(f"note: the first model is trained; --model can name {' or '.join(others)}")
    if len(settings.split.seeds) > 1:
        typer.echo(f"note: the first seed, {settings.split.seed}, is used; compare uses all")
    for note in (*settings.unused, *columns.notes):
        typer.echo(f"note: {console.printable(note)}")


def _show(trained: "Trained", out: str, why: str) -> None:
    """Print the held-out tables and the paths of the files."""
    from ..recipes.toml_text import shell_line

    console.show_summary(trained.evaluation, f"Held out: {trained.how}")
    for name, each in trained.by_group.items():
        console.show_table(each.by_group, f"By {console.printable(name)}")
    for note in trained.evaluation.notes:
        typer.echo(f"note: {console.printable(note)}")
    typer.echo(f"\nmodel: {console.printable(os.path.abspath(out))}")
    if why:
        typer.echo(f"note: no model card: {console.printable(why)}")
    else:
        typer.echo(f"model card: {console.printable(os.path.join(os.path.abspath(out), CARD))}")
    command = shell_line("equirank", "predict", out, "FILE", "--out", "scores.csv")
    typer.echo(f"next: {command}")
