"""The configuration file of ``equirank alternatives``: families of rankers, and how to search them.

::

    metrics = ["NDCG@10", "ExposureGap"]      # the quality, the unfairness, more to record

    [data]                                    # as for train and compare
    path = "people.csv"

    [split]
    by = "query"
    seed = 0

    [search]
    rule = "NDCG@10 >= baseline - 0.01"       # least ExposureGap among these
    trials = 200
    leave_out = { place = ["zip", "distance"] }

    [[models]]                                # the first is also the baseline, as it is
    name = "boost"
    class = "LambdaMART"
    space = { learning_rate = { low = 0.01, high = 0.3, log = true }, num_leaves = [7, 15, 31] }

    [[models]]
    name = "fair"
    class = "FairLambdaMART"
    path = { alpha = [0.2, 0.4, 0.6, 0.8] }
    prepare = ["none", { class = "IFair" }]
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .config import Config, ModelEntry, read_config
from .config_objects import ConfigTable, Location, make_object, shown

if TYPE_CHECKING:
    from ..search.alternative_space import Family

__all__ = ["SearchConfig", "read_search_config"]

#: The least value of each number, and whether it is allowed.
LEAST = {"trials": (1, True), "steered": (0, True), "list_size": (2, True)}
LEAST |= {"minutes": (0, False), "margin": (0, True)}
#: The keys of a model by which its candidates differ.
VARIED = ("space", "path", "prepare", "sample")


@dataclass(frozen=True)
class SearchConfig:
    """A configuration, its families, the options of `search_alternatives`, and notes."""

    config: Config
    families: "dict[str, Family]"
    options: dict[str, Any]
    notes: tuple[str, ...] = ()


def read_search_config(path: str) -> SearchConfig:
    """Return a configuration of a search after checking all of it.

    Raises
    ------
    ConfigError
        If something is invalid; the message names file, table and key.
    """
    config = read_config(path)
    split = config.split
    notes = [
        f"[split] {name} is that of train and compare; a search splits into four parts"
        for name in ("test", "folds")
        if getattr(split, name) is not None
    ]
    if len(split.seeds) > 1:
        notes.append(f"the first seed, {split.seed}, is used; compare uses all")
    if not config.metrics:
        Location(path).key("metrics").fail("is missing; a search needs a quality and an unfairness")
    families = {entry.name: _family(entry) for entry in config.models}
    options = _options(config.search)
    if not any(model.drawn.has(key) for model in config.models for key in VARIED) and (
        "leave_out" not in options
    ):
        notes.append(
            "the search draws nothing: it compares the models as they are; space of [[models]] "
            "states values to draw, such as space = { n_estimators = [50, 100, 200] }"
        )
    return SearchConfig(config, families, options, tuple(notes))


def _options(table: ConfigTable) -> dict[str, Any]:
    """Return the options that the file gives."""
    kinds = {"rule": str, "minimise": str, "trials": int, "minutes": float, "steered": int}
    kinds |= {"margin": float, "parts": list, "list_size": int, "leave_out": dict}
    found = {name: table.get(name, kind) for name, kind in kinds.items() if table.has(name)}
    for name, (least, allowed) in LEAST.items():
        value = found.get(name)
        if value is not None and (value < least or (value == least and not allowed)):
            words = f"must be {'at least' if allowed else 'above'} {least}, got {shown(value)}"
            table.location.key(name).fail(words)
    if "leave_out" in found:
        groups = ConfigTable(
            found["leave_out"], table.location.key("leave_out"), list(found["leave_out"])
        )
        found["leave_out"] = {name: groups.names(name) for name in found["leave_out"]}
    parts = found.get("parts", [1.0])
    if not all(isinstance(share, (int, float)) and share is not True for share in parts):
        table.location.key("parts").fail(f"must be four shares, got {shown(parts)}")
    if "trials" in found:
        found["n_trials"] = found.pop("trials")
    return found


def _family(entry: ModelEntry) -> "Family":
    from ..core.errors import DataError
    from ..search.alternative_space import Family

    table = entry.drawn
    path = table.get("path", dict)
    family = Family(
        entry.estimator,
        _values(table, "space"),
        None if path is None else _values(table, "path"),
        _steps(table, "prepare"),
        _steps(table, "sample"),
        float(table.get("weight", float, 1.0)),
    )
    try:
        family.check(entry.name)
    except DataError as error:
        entry.location.fail(str(error).removeprefix(f"families[{entry.name!r}]").lstrip(".: "))
    return family


def _values(table: ConfigTable, key: str) -> dict[str, Any]:
    """Return the values of each parameter; tables with a class become objects."""
    given, where = table.get(key, dict, {}), table.location.key(key)
    return {name: make_object(values, where.key(name)) for name, values in given.items()}


def _steps(table: ConfigTable, key: str) -> list[Any]:
    """Return the objects of an array of names or tables; ``"none"`` is None."""
    given, where = table.get(key, list, []), table.location.key(key)
    found: list[Any] = []
    for at, each in enumerate(given):
        values = {"class": each} if isinstance(each, str) else each
        if not isinstance(values, dict):
            where.item(at).fail(f'must be a class, a table or "none", got {shown(each)}')
        found.append(None if each == "none" else make_object(values, where.item(at)))
    return found
