"""Checked tables of a configuration file, and the objects that they describe."""

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Never

from ..core import registry
from ..core.errors import DataError

__all__ = ["ConfigError", "ConfigTable", "Location", "make_model", "make_object", "public_classes"]


class ConfigError(DataError):
    """An error in a configuration or its data; the message names file, table and key."""


WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
WORDS |= {dict: "a table", list: "an array"}


class Location:
    """A location in a configuration: file, table and key.

    Examples
    --------
    >>> Location("c.toml", "[data]").key("path").fail("must be a text, got 3")
    Traceback (most recent call last):
    ...
    equirank.recipes.config_objects.ConfigError: c.toml: [data] path: must be a text, got 3
    """

    def __init__(self, file: str, table: str = "", path: str = "") -> None:
        self.file, self.table, self.path = file, table, path

    def key(self, name: str) -> "Location":
        """Return the location of a key in this one."""
        return Location(self.file, self.table, f"{self.path}.{name}" if self.path else name)

    def item(self, index: int) -> "Location":
        """Return the location of an element of an array, counted from 1."""
        return Location(self.file, self.table, f"{self.path}[{index + 1}]")

    def __str__(self) -> str:
        """Return file, table and key."""
        where = " ".join(part for part in (self.table, self.path) if part)
        return f"{self.file}: {where}" if where else self.file

    def fail(self, sentence: str) -> Never:
        """Raise the error of this location."""
        raise ConfigError(f"{self}: {sentence}") from None


class ConfigTable:
    """The keys of a table; unknown keys are errors.

    Parameters
    ----------
    values : mapping
        The table.
    location : Location
        Its location.
    known : sequence of str
        The allowed keys.
    """

    def __init__(self, values: Mapping[str, Any], location: Location, known: Sequence[str]) -> None:
        self.values, self.location = values, location
        for name in values:
            if name not in known:
                from ..core.errors import suggest

                hint = suggest(name, list(known))
                hint = "; it must precede the first table" if name == "metrics" else hint
                location.key(name).fail(f"is not a known key{hint} (known: {', '.join(known)})")

    def has(self, name: str) -> bool:
        """Return whether the key is present."""
        return name in self.values

    def need(self, name: str, kind: type) -> Any:
        """Return the value of a required key."""
        if name not in self.values:
            self.location.key(name).fail(f"is missing; it must be {WORDS[kind]}")
        return self.get(name, kind)

    def get(self, name: str, kind: type, default: Any = None) -> Any:
        """Return the value of a key, or the default; an integer is accepted as a float."""
        value = self.values.get(name, default)
        if value is default:
            return default
        right = isinstance(value, kind) or (kind is float and isinstance(value, int))
        if not right or (isinstance(value, bool) and kind is not bool):
            self.location.key(name).fail(f"must be {WORDS[kind]}, got {shown(value)}")
        if kind is str and not value:
            self.location.key(name).fail("must not be empty")
        return value

    def choice(self, name: str, choices: Sequence[str], default: str | None = None) -> Any:
        """Return the value of a key, one of the choices."""
        value = self.get(name, str, default)
        if value is not default and value not in choices:
            from ..core.errors import suggest

            words = ", ".join(f'"{word}"' for word in choices)
            self.location.key(name).fail(
                f"must be one of {words}, got {shown(value)}{suggest(value, list(choices))}"
            )
        return value

    def names(self, name: str) -> tuple[str, ...] | None:
        """Return a text or array of different texts as a tuple, or None without the key."""
        value = self.values.get(name)
        if value is None:
            return None
        listed = [value] if isinstance(value, str) else value
        location = self.location.key(name)
        if not isinstance(listed, list):
            location.fail(f"must be a text or an array of texts, got {shown(value)}")
        seen: set[str] = set()
        for at, each in enumerate(listed):
            if not isinstance(each, str) or not each:
                location.item(at).fail(f"must be a text, got {shown(each)}")
            if each in seen:
                location.item(at).fail(f"must be unique, got {shown(each)} again")
            seen.add(each)
        return tuple(listed)


def shown(value: Any) -> str:
    """Return a value as in TOML, shortened if long.

    Examples
    --------
    >>> shown(True), shown("a"), shown([1, 2]), shown({})
    ('true', '"a"', '[1, 2]', 'a table')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


Kinds = dict[str, type]
#: Rankers of other packages that a configuration may name.
EXTERNAL_RANKERS = tuple(name for name in registry.EXTERNAL if name.endswith("Ranker"))


def make_model(kind: str, params: dict[str, Any], rerank: list[Any], location: Location) -> Any:
    """Return the ranker of a ``[[models]]`` entry, wrapped in its re-rankers in order."""
    if kind in EXTERNAL_RANKERS:
        from ..rankers import as_ranker

        model = as_ranker(_make(registry.external_class(kind), params, location))
    else:
        known = _rankers() | dict.fromkeys(EXTERNAL_RANKERS, object)
        found = _look_up(kind, known, "a ranker", location.key("class"))
        model = _make(found, params, location)
    for at, step in enumerate(rerank):
        from ..rerankers import Reranked

        key = location.key("rerank") if len(rerank) == 1 else location.key("rerank").item(at)
        values = {"class": step} if isinstance(step, str) else step
        if not isinstance(values, dict):
            key.fail(f"must be the name of a re-ranker or a table, got {shown(step)}")
        model = Reranked(model, _from_table(values, key, _rerankers(), "a re-ranker"))
    return model


@cache
def public_classes(base: type) -> Kinds:
    """Return the public subclasses of a base, by name."""
    from ..core.metric import Metric

    metrics = issubclass(base, Metric)  # there are many, and all are in one package
    packages = [each for each in registry.PACKAGES[1:] if each.endswith(".metrics") == metrics]
    return registry.public_classes(base, packages)


def _rankers() -> Kinds:
    from ..core.ranker import Ranker

    return public_classes(Ranker)


def _rerankers() -> Kinds:
    from ..core.reranker import Reranker

    return public_classes(Reranker)


def _parts(name: str) -> Kinds:
    """Return the classes allowed in ``params``: public ones and scikit-learn's estimators."""
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
    """Return scikit-learn's estimators by name; takes a second or two."""
    from sklearn.utils import all_estimators

    return dict(all_estimators())


def _look_up(name: str, known: Kinds, what: str, location: Location) -> type:
    if name in known:
        return known[name]
    from ..core.errors import suggest

    rest = f"; known: {', '.join(sorted(known))}" if len(known) <= 40 else ""
    location.fail(
        f"must be the name of {what}, got {shown(name)}{suggest(name, sorted(known))}{rest}"
    )


def _from_table(values: dict[str, Any], location: Location, known: Kinds, what: str) -> Any:
    """Return the object of ``{class = "...", params = {...}}``."""
    table = ConfigTable(values, location, ("class", "params"))
    kind = _look_up(table.need("class", str), known, what, location.key("class"))
    return _make(kind, table.get("params", dict, {}), location)


def _make(kind: type, params: dict[str, Any], location: Location) -> Any:
    """Return an object; unknown, missing and invalid parameters are errors of their key."""
    from ..core.errors import suggest

    params_location = location.key("params")
    signature = inspect.signature(kind).parameters
    allowed = [name for name, each in signature.items() if each.kind is not each.VAR_KEYWORD]
    allowed += [name for name in _keywords(kind) if name not in allowed]
    for name in params:
        if name not in allowed:
            params_location.key(name).fail(
                f"{kind.__name__} has no parameter {name!r}{suggest(name, allowed)} "
                f"(it has {', '.join(allowed)})"
            )
    for name in (name for name in allowed if name in signature):
        each = signature[name]
        if (
            name not in params
            and each.default is each.empty
            and each.kind is not each.VAR_POSITIONAL
        ):
            params_location.key(name).fail(f"is missing; {kind.__name__} needs it")
    values = {name: make_object(value, params_location.key(name)) for name, value in params.items()}
    try:
        made = kind(**values)
    except (DataError, TypeError, ValueError) as error:
        params_location.fail(str(error))
    if hasattr(made, "get_params"):
        _check(made, params_location)
    return made


#: Parameters of XGBoost's ranking objectives, which its constructor takes without naming them.
XGBOOST_RANKING = (
    *("lambdarank_pair_method", "lambdarank_num_pair_per_sample", "lambdarank_normalization"),
    *("lambdarank_score_normalization", "lambdarank_unbiased", "lambdarank_bias_norm"),
    "ndcg_exp_gain",
)


def _keywords(kind: type) -> list[str]:
    """Return the parameters that a class of LightGBM or XGBoost takes without naming them."""
    package = kind.__module__.split(".")[0]
    if package == "xgboost":
        return [*kind().get_params(), *XGBOOST_RANKING]
    if package == "lightgbm":
        from ..rankers.lambdamart.lightgbm_params import lightgbm_names

        return sorted(lightgbm_names())
    return []


def make_object(value: Any, location: Location) -> Any:
    """Return a value with its tables that have a ``class`` replaced by objects, recursively."""
    if isinstance(value, list):
        return [make_object(part, location.item(at)) for at, part in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("class"), str) and set(value) <= {"class", "params"}:
        return _from_table(value, location, _parts(value["class"]), "a class")
    return {name: make_object(part, location.key(name)) for name, part in value.items()}


def _check(made: Any, location: Location) -> None:
    """Check the parameters against the constraints of the class."""
    from ..core.params import check_params

    declared = getattr(made, "params", {})
    for name, value in made.get_params(deep=False).items() if declared else ():
        if name in declared:
            try:
                check_params(type(made).__name__, {name: value}, {name: declared[name]})
            except DataError as error:
                location.key(name).fail(str(error))
