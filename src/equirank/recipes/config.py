"""The configuration file of ``train``, ``compare`` and ``alternatives``, read and checked.

::

    metrics = ["NDCG@10", "RND@50"]

    [data]
    path = "people.csv"          # beside this file
    query = "vacancy"
    relevance = "suitability"
    sensitive = ["sex"]
    features = ["experience", "degree"]

    [split]
    by = "query"
    test = 0.25

    [[models]]
    name = "boost"
    class = "RankBoost"
    params = { n_estimators = 100 }
    rerank = { class = "FAStarIR", params = { p = 0.4 } }
"""

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .config_objects import ConfigTable, Location, shown

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..core.metric import Metric
    from ..io.file_options import FileOptions
    from .data_columns import DataColumns

__all__ = ["Config", "DataTable", "ModelEntry", "SplitTable", "data_path", "read_config"]


DATA: tuple[str, ...] = (
    "path",
    "format",
    "query",
    "relevance",
    "sensitive",
    "cost",
    "id",
    "features",
)
MISSING_SENSITIVE = ("error", "unknown", "category")
DATA += ("encoding", "unseen", "missing_sensitive", "missing_relevance", "max_groups")
#: How the file is read, as in `equirank.io.read_file`; ``encoding`` is that of categories here.
FILE: tuple[str, ...] = (
    "file_encoding",
    "delimiter",
    "decimal",
    "columns",
    "repeated",
    "sheet",
    "unknown",
)
FILE += ("labels", "keep_labels")
FORMATS = ("csv", "tsv", "parquet", "letor", "excel")

#: What ``equirank alternatives`` reads: keys of the table ``[search]``, and of each model.
SEARCH: tuple[str, ...] = (
    "rule",
    "minimise",
    "trials",
    "minutes",
    "steered",
    "margin",
    "parts",
    "list_size",
)
SEARCH += ("leave_out",)
DRAWN = ("space", "path", "prepare", "sample", "weight")


@dataclass(frozen=True)
class DataTable:
    """``[data]``: a file and the roles of its columns; None if not given."""

    path: str
    format: str | None
    query: str | None
    relevance: str | None
    sensitive: tuple[str, ...]
    cost: str | None
    id: str | None
    features: tuple[str, ...] | None
    encoding: str
    unseen: str
    missing_sensitive: str
    missing_relevance: str
    max_groups: int | None
    file: "FileOptions"
    location: Location


@dataclass(frozen=True)
class SplitTable:
    """``[split]``: by query or item, a held-out share or folds, and the seeds."""

    by: str = "query"
    test: float | None = None
    folds: int | None = None
    seeds: tuple[int, ...] = (0,)

    @property
    def seed(self) -> int:
        """The first seed."""
        return self.seeds[0]


@dataclass(frozen=True)
class ModelEntry:
    """One of ``[[models]]``: its name, the unfitted estimator, and the keys of the file."""

    name: str
    estimator: Any
    class_name: str
    params: dict[str, Any]
    rerank: tuple[dict[str, Any], ...]
    location: Location
    drawn: ConfigTable


@dataclass(frozen=True)
class Config:
    """A configuration file. ``metrics`` is empty if the file names none.

    ``search`` is the table of that name, and each model's ``drawn`` its keys that ``equirank
    alternatives`` reads; other commands check their names and note that they have no effect.
    """

    file: str
    text: str
    data: DataTable
    split: SplitTable
    models: tuple[ModelEntry, ...]
    metrics: "tuple[Metric, ...]"
    search: ConfigTable

    @property
    def unused(self) -> tuple[str, ...]:
        """A note on what only ``equirank alternatives`` reads, if the file contains any."""
        drawn = [key for key in DRAWN if any(model.drawn.has(key) for model in self.models)]
        found = ["[search]"] * bool(self.search.values) + [f"[[models]] {key}" for key in drawn]
        if not found:
            return ()
        return (f"only equirank alternatives uses {', '.join(found)} of this configuration",)

    @property
    def estimators(self) -> dict[str, Any]:
        """The models by name, in the order of the file."""
        return {model.name: model.estimator for model in self.models}

    def model(self, name: str | None) -> ModelEntry:
        """Return a model by its name, or the first."""
        if name is None:
            return self.models[0]
        for entry in self.models:
            if entry.name == name:
                return entry
        from ..core.errors import suggest

        known = [entry.name for entry in self.models]
        words = ", ".join(f'"{word}"' for word in known)
        Location(self.file, "[[models]]").fail(
            f"must contain the model {shown(name)}{suggest(name, known)} (it contains {words})"
        )

    def read_data(self) -> "tuple[RankingData, DataColumns]":
        """Return the data with encoded features, and the columns needed to read another file."""
        from .data_columns import read_training_data

        return read_training_data(self.data)


def read_config(path: str) -> Config:
    """Return a configuration after checking tables, keys, types, classes and metrics.

    Raises
    ------
    ConfigError
        If something is invalid; the message names file, table and key.
    """
    with open(path, "rb") as file:
        raw = file.read()
    top = Location(path)
    try:
        text = raw.decode("utf-8")
        values = tomllib.loads(text)
    except UnicodeDecodeError:
        top.fail("must be text in UTF-8")
    except ValueError as error:
        top.fail(f"must be TOML: {error}")
    except RecursionError:
        top.fail("must be TOML: it is nested too deeply")
    table = ConfigTable(values, top, ("metrics", "data", "split", "models", "search"))
    data = _data(table.need("data", dict), Location(path, "[data]"))
    split = _split(table.get("split", dict, {}), Location(path, "[split]"))
    models = _models(table.need("models", list), path)
    _warn_of_seeds(models, split)
    search = ConfigTable(table.get("search", dict, {}), Location(path, "[search]"), SEARCH)
    return Config(path, text, data, split, models, _metrics(table), search)


def data_path(config: str, name: str) -> str:
    """Return the path of the data that a configuration names, relative to its own folder."""
    return os.path.normpath(os.path.join(os.path.dirname(config), os.path.expanduser(name)))


def _data(values: dict[str, Any], location: Location) -> DataTable:
    table = ConfigTable(values, location, DATA + FILE)
    path = data_path(location.file, table.need("path", str))
    if not os.path.exists(path):
        location.key("path").fail(f"file {path} not found")
    features = table.names("features")
    if features == ():
        location.key("features").fail("must name a column, got an empty array")
    return DataTable(
        path=path,
        format=table.choice("format", FORMATS),
        query=table.get("query", str),
        relevance=table.get("relevance", str),
        sensitive=table.names("sensitive") or (),
        cost=table.get("cost", str),
        id=table.get("id", str),
        features=features,
        encoding=table.choice("encoding", ("onehot", "ordinal", "category"), "onehot"),
        unseen=table.choice("unseen", ("error", "missing"), "error"),
        missing_sensitive=table.choice("missing_sensitive", MISSING_SENSITIVE, "error"),
        missing_relevance=table.choice("missing_relevance", ("error", "irrelevant"), "error"),
        max_groups=_max_groups(table),
        file=_file_options(table),
        location=location,
    )


def _file_options(table: ConfigTable) -> "FileOptions":
    from ..core.errors import DataError
    from ..io.file_options import FileOptions

    labels = table.get("labels", str)
    try:
        return FileOptions(
            encoding=table.get("file_encoding", str),
            delimiter=table.get("delimiter", str),
            decimal=table.get("decimal", str),
            columns=table.names("columns"),
            repeated=table.choice("repeated", ("error", "number"), "error"),
            sheet=table.get("sheet", str),
            unknown=table.names("unknown"),
            labels=None if labels is None else data_path(table.location.file, labels),
            keep_labels=table.get("keep_labels", bool, False),
        )
    except DataError as error:
        name, _, words = str(error).partition(" ")
        table.location.key("file_encoding" if name == "encoding" else name).fail(words)


def _max_groups(table: ConfigTable) -> int | None:
    most = table.get("max_groups", int)
    if most is not None and most < 1:
        table.location.key("max_groups").fail(f"must be at least 1, got {shown(most)}")
    return most


def _split(values: dict[str, Any], location: Location) -> SplitTable:
    table = ConfigTable(values, location, ("by", "test", "folds", "seed"))
    by = table.choice("by", ("query", "item"), "query")
    test, folds = table.get("test", float), table.get("folds", int)
    if test is not None and folds is not None:
        location.key("folds").fail('must be omitted if "test" is given')
    if test is not None and not 0 < test < 1:
        location.key("test").fail(f"must be a share between 0 and 1, got {shown(test)}")
    if folds is not None and folds < 2:
        location.key("folds").fail(f"must be at least 2, got {shown(folds)}")
    seeds = values.get("seed", 0)
    listed = seeds if isinstance(seeds, list) else [seeds]
    for seed in listed:
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            location.key("seed").fail(f"must be whole numbers of at least 0, got {shown(seed)}")
    if not listed or len(set(listed)) < len(listed):
        location.key("seed").fail(f"must be a number or different numbers, got {shown(seeds)}")
    return SplitTable(by, test, folds, tuple(listed))


def _models(entries: list[Any], file: str) -> tuple[ModelEntry, ...]:
    from .config_objects import make_model

    if not entries:
        Location(file, "[[models]]").fail("must contain at least one model")
    found: list[ModelEntry] = []
    for number, values in enumerate(entries, start=1):
        location = Location(file, f"[[models]] {number}")
        if not isinstance(values, dict):
            location.fail(f"must be a table, got {shown(values)}")
        table = ConfigTable(values, location, ("name", "class", "params", "rerank", *DRAWN))
        kind = table.need("class", str)
        name = table.get("name", str, kind)
        location.table += f" ({shown(name)})"
        if name in [other.name for other in found]:
            location.key("name").fail(f"must be unique, got {shown(name)} again")
        params = table.get("params", dict, {})
        steps = values.get("rerank", [])
        steps = steps if isinstance(steps, list) else [steps]
        estimator = make_model(kind, params, steps, location)
        rerank = tuple({"class": step} if isinstance(step, str) else step for step in steps)
        drawn = {key: values[key] for key in DRAWN if key in values}
        more = ConfigTable(drawn, location, DRAWN)
        found.append(ModelEntry(name, estimator, kind, params, rerank, location, more))
    return tuple(found)


def _warn_of_seeds(models: tuple[ModelEntry, ...], split: SplitTable) -> None:
    """Warn of each seed in the models that the seed of the split replaces."""
    import warnings

    from ..core.errors import EquirankWarning

    for model in models:
        parts = {"params": model.params, "rerank": list(model.rerank)}
        for where, value in _seeds(parts, Location(model.location.file, model.location.table)):
            if (value,) != split.seeds:
                warnings.warn(
                    f"{where}: {shown(value)} has no effect: [split] seed is the seed of the data "
                    "and of every model",
                    EquirankWarning,
                    stacklevel=3,
                )


def _seeds(value: Any, location: Location) -> Iterator[tuple[Location, Any]]:
    """Yield the location and value of each seed of a model in nested tables and arrays."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name in ("random_state", "seed", "random_seed"):
                yield location.key(name), part
            else:
                yield from _seeds(part, location.key(name))
    elif isinstance(value, list):
        for at, part in enumerate(value):
            yield from _seeds(part, location if len(value) == 1 else location.item(at))


def _metrics(table: ConfigTable) -> "tuple[Metric, ...]":
    names = table.names("metrics")
    if names is None:
        return ()
    from ..core.errors import DataError
    from ..core.registry import parse_metric, parse_metrics

    location = table.location.key("metrics")
    for at, name in enumerate(names):
        try:
            parse_metric(name)
        except DataError as error:
            location.item(at).fail(str(error))
    try:
        return tuple(parse_metrics(list(names)))
    except DataError as error:
        location.fail(str(error))
