"""Objects from a configuration file: classes of the public list by name, never by a path."""

import inspect
from functools import cache
from typing import Any

from .config_table import ConfigTable, Place, shown

__all__ = ["make_model", "public_classes"]

Kinds = dict[str, type]


def make_model(kind: str, params: dict[str, Any], rerank: list[Any], place: Place) -> Any:
    """Make the ranker a ``[[models]]`` entry describes; re-rankers are put around it in order."""
    model = _make(_look_up(kind, _rankers(), "a ranker", place.key("class")), params, place)
    for at, step in enumerate(rerank):
        from ..rerankers import Reranked

        there = place.key("rerank") if len(rerank) == 1 else place.key("rerank").item(at)
        values = {"class": step} if isinstance(step, str) else step
        if not isinstance(values, dict):
            there.fail(f"must be the name of a re-ranker or a table, got {shown(step)}")
        model = Reranked(model, _from_table(values, there, _rerankers(), "a re-ranker"))
    return model


@cache
def public_classes(base: type) -> Kinds:
    """Give the public classes with this base that can be made, by name."""
    from importlib import import_module

    from ..core.metric import Metric
    from ..core.names import ROOMS

    found: Kinds = {}
    metrics = issubclass(base, Metric)  # of them there are many, and nothing else beside them
    rooms = [room for room in ROOMS[1:] if room.endswith(".metrics") == metrics]
    for room in map(import_module, rooms):
        for name in room.__all__:
            thing = getattr(room, name)
            if isinstance(thing, type) and issubclass(thing, base) and thing is not base:
                found.setdefault(name, thing)
    return found


def _rankers() -> Kinds:
    from ..core.ranker import Ranker

    return public_classes(Ranker)


def _rerankers() -> Kinds:
    from ..core.reranker import Reranker

    return public_classes(Reranker)


def _parts(name: str) -> Kinds:
    """Give what may stand inside ``params``: our classes, and scikit-learn's own estimators."""
    from sklearn.base import BaseEstimator

    from ..core.metric import Metric
    from ..core.pair_cost import PairCost

    ours = public_classes(BaseEstimator) | public_classes(PairCost)
    ours = ours if name in ours else ours | public_classes(Metric)
    if name in ours:
        return ours
    return _sklearn_classes() | ours


@cache
def _sklearn_classes() -> Kinds:
    """Give scikit-learn's estimators by name, from its own list; takes a second or two."""
    from sklearn.utils import all_estimators

    return dict(all_estimators())


def _look_up(name: str, known: Kinds, what: str, place: Place) -> type:
    if name in known:
        return known[name]
    from ..core.names import suggest

    rest = f"; known: {', '.join(sorted(known))}" if len(known) <= 40 else ""
    place.fail(
        f"must be {what} of the public list, got {shown(name)}{suggest(name, sorted(known))}{rest}"
    )


def _from_table(values: dict[str, Any], place: Place, known: Kinds, what: str) -> Any:
    """Make what ``{class = "...", params = {...}}`` describes."""
    table = ConfigTable(values, place, ("class", "params"))
    kind = _look_up(table.need("class", str), known, what, place.key("class"))
    return _make(kind, table.get("params", dict, {}), place)


def _make(kind: type, params: dict[str, Any], place: Place) -> Any:
    """Make an object; unknown, missing and bad parameters are errors of their key."""
    from ..core.errors import DataError
    from ..core.names import suggest

    there = place.key("params")
    signature = inspect.signature(kind).parameters
    allowed = [name for name, each in signature.items() if each.kind is not each.VAR_KEYWORD]
    for name in params:
        if name not in allowed:
            there.key(name).fail(
                f"{kind.__name__} has no parameter {name!r}{suggest(name, allowed)} "
                f"(it has {', '.join(allowed)})"
            )
    for name in allowed:
        each = signature[name]
        if (
            name not in params
            and each.default is each.empty
            and each.kind is not each.VAR_POSITIONAL
        ):
            there.key(name).fail(f"is missing, and {kind.__name__} needs it")
    lively = {name: _lively(value, there.key(name)) for name, value in params.items()}
    try:
        made = kind(**lively)
    except (DataError, TypeError, ValueError) as error:
        there.fail(str(error))
    if hasattr(made, "get_params"):
        _check(made, there)
    return made


def _lively(value: Any, place: Place) -> Any:
    """Turn tables with a ``class`` into objects, also inside arrays and tables."""
    if isinstance(value, list):
        return [_lively(part, place.item(at)) for at, part in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("class"), str) and set(value) <= {"class", "params"}:
        return _from_table(value, place, _parts(value["class"]), "a class")
    return {name: _lively(part, place.key(name)) for name, part in value.items()}


def _check(made: Any, place: Place) -> None:
    """Hold the parameters against what the class declares, before any work is done."""
    from ..core.errors import DataError
    from ..core.params import check_params

    declared = getattr(made, "params", {})
    for name, value in made.get_params(deep=False).items() if declared else ():
        if name in declared:
            try:
                check_params(type(made).__name__, {name: value}, {name: declared[name]})
            except DataError as error:
                place.key(name).fail(str(error))
