"""Names: metric strings that parse back, and the nearest word for one that is unknown."""

import ast
import difflib
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import DataError

if TYPE_CHECKING:
    from .metric import Metric

__all__ = ["metric_names", "parse_metric", "parse_metrics", "public_class", "suggest"]


ROOMS = (
    "equirank",
    "equirank.metrics",
    "equirank.policies",
    "equirank.preprocess",
    "equirank.rankers",
    "equirank.rerankers",
)


def suggest(word: str, choices: Sequence[str]) -> str:
    """Finish an error sentence with the nearest known word, if one is near.

    Examples
    --------
    >>> suggest("NDGC", ["NDCG", "RND"])
    "; did you mean 'NDCG'?"
    >>> suggest("zzz", ["NDCG", "RND"])
    ''
    """
    lowered = {choice.lower(): choice for choice in reversed(choices)}
    near = difflib.get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.5)
    return f"; did you mean {lowered[near[0]]!r}?" if near else ""


def metric_names() -> list[str]:
    """List the names of all public metric objects, sorted.

    Examples
    --------
    >>> "NDCG" in metric_names()
    True
    """
    from .metric import Metric

    room = import_module("equirank.metrics")
    named = ((name, getattr(room, name)) for name in room.__all__)
    return sorted(
        name for name, thing in named if isinstance(thing, type) and issubclass(thing, Metric)
    )


def public_class(name: str) -> type:
    """Find a class by its name in the public lists, never by a path."""
    for room in ROOMS:
        try:
            module = import_module(room)
        except ModuleNotFoundError:
            continue
        if name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if isinstance(found, type):
                return found
    raise DataError(f"class must be a public class of equirank, got {name!r}")


def parse_metric(text: str) -> "Metric":
    """Read a metric from its string, as it prints itself.

    Examples
    --------
    >>> parse_metric("RND(step=5)@50")
    RND(step=5)@50
    >>> parse_metric("NDGC@10")
    Traceback (most recent call last):
    ...
    equirank.core.errors.DataError: metric 'NDGC@10' is not known; did you mean 'NDCG'?
    """
    name, options, cutoff = _take_apart(text)
    names = metric_names()
    if name not in names:
        raise DataError(f"metric {text!r} is not known{suggest(name, names)}")
    kind = getattr(import_module("equirank.metrics"), name)
    unknown = [option for option in options if option not in kind.options()]
    if unknown:
        raise DataError(
            f"metric {text!r} has no option {unknown[0]!r}{suggest(unknown[0], kind.options())}"
            f" ({name} takes {', '.join(kind.options())})"
        )
    metric: Metric = kind(**options, **({} if cutoff is None else {"k": cutoff}))
    return metric


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
                raise DataError(f"metric {text!r} must give each option once")
            node = node.func
        if isinstance(node, ast.Name):
            return node.id, options, cutoff
    except (SyntaxError, ValueError):
        pass
    raise DataError(
        f'metric {text!r} cannot be read; it looks like NDCG@10 or RND(step=5, protected="f")@50'
    )


def _split(text: str) -> list[str]:
    """Split at commas outside brackets and quotes."""
    parts, depth, quote, begin = [], 0, "", 0
    for at, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [part.strip() for part in [*parts, text[begin:]] if part.strip()]
