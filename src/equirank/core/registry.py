"""Late lookup of public names: classes and metrics, found in the stubs and imported one by one."""

import ast
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from .environment import require
from .errors import DataError, suggest

if TYPE_CHECKING:
    from .metric import Metric

__all__ = [
    "EXTERNAL",
    "PACKAGES",
    "external_class",
    "external_name",
    "find",
    "find_metric",
    "metric_names",
    "outside_brackets",
    "parse_metric",
    "parse_metrics",
    "public_class",
    "public_classes",
    "public_names",
]

#: Where public classes are looked up by name.
PACKAGES = (
    "equirank",
    "equirank.metrics",
    "equirank.policies",
    "equirank.preprocess",
    "equirank.rankers",
    "equirank.rerankers",
    "equirank.allocation",
    "equirank.costs",
    "equirank.search",
)
#: Names that others use, without case and underscores: class and options. trec_eval's ``ndcg_cut``
#: has a linear gain.
ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    "ap": ("AveragePrecision", {}),
    "map": ("AveragePrecision", {}),
    "mapcut": ("AveragePrecision", {}),
    "mrr": ("ReciprocalRank", {}),
    "ndcgcut": ("NDCG", {"gain": "linear"}),
    "p": ("Precision", {}),
    "r": ("Recall", {}),
    "reciprank": ("ReciprocalRank", {}),
    "rr": ("ReciprocalRank", {}),
}
#: Learners of other packages that files may name, and the extra that brings each package.
EXTERNAL = {
    f"{package}.{prefix}{kind}": package
    for package, prefix in (("lightgbm", "LGBM"), ("xgboost", "XGB"), ("catboost", "CatBoost"))
    for kind in ("Ranker", "Regressor", "Classifier")
}
T = TypeVar("T")
_SOURCE = os.path.dirname(os.path.dirname(__file__))


@cache
def public_names(package: str) -> dict[str, str]:
    """Return the public names of a package and the module that defines each.

    They are read from the package's stub, or from ``__all__`` of a single module. Nothing is
    imported.

    Examples
    --------
    >>> public_names("equirank.metrics")["NDCG"]
    'equirank.metrics.relevance.gain'
    """
    stub = os.path.join(_SOURCE, *package.split(".")[1:], "__init__.pyi")
    if not os.path.isfile(stub):
        module = import_module(package)
        return dict.fromkeys(module.__all__, package)
    found: dict[str, str] = {}
    with open(stub, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            module_name = f"{package}.{node.module}" if node.module else package
            found |= {alias.name: module_name for alias in node.names}
    return found


def find(name: str, packages: Iterable[str] = PACKAGES) -> Any:
    """Return the object of this public name, or None; only the module that defines it is loaded.

    Examples
    --------
    >>> find("NDCG").__name__
    'NDCG'
    >>> find("os.system") is None
    True
    """
    for package in packages:
        module = public_names(package).get(name)
        if module is not None:
            return getattr(import_module(module), name)
    return None


def public_class(name: str) -> type:
    """Return a class by its name in the public lists, never by a path."""
    found = find(name)
    if not isinstance(found, type):
        raise DataError(f"class must be a public class of equirank, got {name!r}")
    return found


def public_classes(base: type[T], packages: Iterable[str] = PACKAGES) -> dict[str, type[T]]:
    """Return the public subclasses of a class by name, sorted; all of the packages is loaded."""
    found: dict[str, type[T]] = {}
    for package in packages:
        for name in public_names(package):
            thing = find(name, [package]) if name[0].isupper() else None
            if isinstance(thing, type) and issubclass(thing, base) and thing is not base:
                found.setdefault(name, thing)
    return dict(sorted(found.items()))


def external_class(name: str) -> Any:
    """Return a learner of another package by its name in `EXTERNAL`.

    Raises
    ------
    MissingExtraError
        If the package is not installed.
    """
    if name not in EXTERNAL:
        raise DataError(f"class must be one of {', '.join(EXTERNAL)}, got {name!r}")
    package, _, kind = name.partition(".")
    return getattr(require(package, EXTERNAL[name]), kind)


def external_name(value: Any) -> str | None:
    """Return the name in `EXTERNAL` of the class of a value, or None; nothing is imported.

    Examples
    --------
    >>> external_name(3) is None
    True
    """
    name = f"{type(value).__module__.split('.')[0]}.{type(value).__name__}"
    return name if name in EXTERNAL and external_class(name) is type(value) else None


def metric_names() -> list[str]:
    """Return the names of all public metric objects, sorted.

    Examples
    --------
    >>> "NDCG" in metric_names()
    True
    """
    return sorted(name for name in public_names("equirank.metrics") if name[0].isupper())


def parse_metric(text: str) -> "Metric":
    """Read a metric from its string, as it prints itself, or from another spelling of it.

    Case and underscores do not matter, the names of trec_eval and usual abbreviations are known,
    and ``_10`` at the end is a cutoff. The metric prints its own name.

    Examples
    --------
    >>> parse_metric("RND(step=5)@50")
    RND(step=5)@50
    >>> parse_metric("ndcg@10"), parse_metric("MRR@10"), parse_metric("P_5")
    (NDCG@10, ReciprocalRank@10, Precision@5)
    >>> parse_metric("ndcg_cut_10")  # that of trec_eval
    NDCG(gain="linear")@10
    >>> parse_metric("NDGC@10")
    Traceback (most recent call last):
    ...
    equirank.core.errors.DataError: metric 'NDGC@10' is not known; did you mean 'NDCG'?
    """
    word, options, cutoff = _take_apart(text)
    known = _spellings()
    suffix = re.fullmatch("(.+)_([1-9][0-9]{0,8})", word)
    if suffix is not None and _key(word) not in known:
        if cutoff is not None or "k" in options:
            raise DataError(f"metric {_quoted(text)} must give each option once")
        word, cutoff = suffix[1], int(suffix[2])
    if _key(word) not in known:
        raise DataError(f"metric {_quoted(text)} is not known{suggest(word, metric_names())}")
    name, implied = known[_key(word)]
    kind = find(name, ["equirank.metrics"])
    unknown = [option for option in options if option not in kind.options()]
    if unknown:
        raise DataError(
            f"metric {_quoted(text)} has no option {_quoted(unknown[0])}"
            f"{suggest(unknown[0], kind.options())}"
            f" ({name} takes {', '.join(kind.options())})"
        )
    metric: Metric = kind(**(implied | options), **({} if cutoff is None else {"k": cutoff}))
    return metric


def find_metric(wanted: "str | Metric", metrics: "Sequence[Metric]") -> "Metric":
    """Return that of several metrics which a string, in any spelling, or a metric names.

    Examples
    --------
    >>> find_metric("map", [parse_metric("NDCG@10"), parse_metric("AveragePrecision")])
    AveragePrecision
    """
    text = str(wanted).strip()
    for metric in metrics:
        if metric == wanted or metric.name == text:
            return metric
    if isinstance(wanted, str):
        try:
            parsed = parse_metric(text)
        except DataError:  # the message below names the metrics there are
            parsed = None
        for metric in metrics:
            if metric == parsed:
                return metric
    names = [metric.name for metric in metrics]
    raise DataError(
        f"metric must be one of {', '.join(names)}, got {str(wanted)!r}{suggest(text, names)}"
    )


@cache
def _spellings() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return class name and options of every name of a metric, without case and underscores."""
    own: dict[str, tuple[str, dict[str, Any]]] = {_key(name): (name, {}) for name in metric_names()}
    return ALIASES | own


def _key(name: str) -> str:
    return name.replace("_", "").lower()


def parse_metrics(metrics: Any) -> "list[Metric]":
    """Read one metric or several: objects, classes, strings, or one string with commas."""
    from .metric import Metric

    if isinstance(metrics, str):
        metrics = _split(metrics)
    elif isinstance(metrics, Metric) or not isinstance(metrics, Iterable):
        metrics = [metrics]
    found: list[Metric] = []
    for metric in metrics:
        if isinstance(metric, str):
            found.extend(parse_metric(part) for part in _split(metric))
        elif isinstance(metric, Metric):
            found.append(metric)
        elif isinstance(metric, type) and issubclass(metric, Metric):
            found.append(metric())
        else:
            raise DataError(f"metrics must be metrics or their names, got {metric!r}")
    if not found:
        raise DataError("metrics must name at least one metric, got none")
    repeated = [metric for at, metric in enumerate(found) if metric in found[:at]]
    if repeated:
        raise DataError(f"metrics must differ, and {repeated[0]} is named twice")
    return found


def _take_apart(text: str) -> tuple[str, dict[str, Any], int | None]:
    try:
        node = ast.parse(text.strip(), mode="eval").body
        cutoff = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            cutoff, node = ast.literal_eval(node.right), node.left
        options: dict[str, Any] = {}
        if isinstance(node, ast.Call) and not node.args:
            options = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
            if len(options) < len(node.keywords) or (cutoff is not None and "k" in options):
                raise DataError(f"metric {_quoted(text)} must give each option once")
            node = node.func
        if isinstance(node, ast.Name):
            return node.id, options, cutoff
    except (SyntaxError, ValueError, TypeError):  # TypeError: a set or key that is not hashable
        pass
    except (RecursionError, MemoryError):  # nested too deeply for Python's parser
        pass
    raise DataError(
        f"metric {_quoted(text)} cannot be read; it looks like NDCG@10 or "
        'RND(step=5, protected="f")@50'
    )


def _quoted(text: str) -> str:
    """Return a text in quotes for a message, truncated."""
    return repr(text if len(text) <= 200 else text[:197] + "...")


def _split(text: str) -> list[str]:
    """Split at commas outside brackets and quotes."""
    parts, begin = [], 0
    for at in outside_brackets(text, ","):
        parts.append(text[begin:at])
        begin = at + 1
    return [part.strip() for part in [*parts, text[begin:]] if part.strip()]


def outside_brackets(text: str, signs: str) -> Iterator[int]:
    """Yield where one of the signs is, outside brackets and quotes.

    Examples
    --------
    >>> list(outside_brackets('RND(by="a,b", step=5), NDCG', ","))
    [21]
    """
    depth, quote = 0, ""
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter in signs and depth == 0:
            yield at
