"""Parameters of a re-ranker from the words of the command line."""

import inspect
from typing import Any

from .failing import CommandError

__all__ = ["make_reranker", "method_names", "parse_value"]


def method_names() -> list[str]:
    """Give the names of all re-rankers with a stated guarantee, in alphabetical order."""
    from ..rerankers.chooser import methods

    return list(methods())


def make_reranker(method: str, given: dict[str, Any], more: list[str]) -> Any:
    """Make a re-ranker from the options that were given; those it does not have are refused."""
    from ..core.names import suggest
    from ..rerankers.chooser import methods

    known = methods()
    if method not in known:
        raise CommandError(
            f"--method must be one of {', '.join(sorted(known))}, got {method!r}"
            f"{suggest(method, list(known))}"
        )
    params = {name: value for name, value in given.items() if value is not None}
    for text in more:
        name, sign, value = text.partition("=")
        if not sign:
            raise CommandError(f"--set must be NAME=VALUE, got {text!r}")
        params[name] = parse_value(value)
    allowed = list(inspect.signature(known[method]).parameters)
    for name in params:
        if name not in allowed:
            raise CommandError(
                f"{method} has no option {name!r}{suggest(name, allowed)}; "
                f"it has {', '.join(allowed)}"
            )
    return known[method](**params)


def parse_value(text: str) -> Any:
    """Read a number, a word, or pairs of group and value.

    Examples
    --------
    >>> parse_value("0.4"), parse_value("3"), parse_value("pool"), parse_value("true")
    (0.4, 3, 'pool', True)
    >>> parse_value("f=0.4,m=0.6")
    {'f': 0.4, 'm': 0.6}
    """
    if "=" in text:
        pairs = {}
        for part in text.split(","):
            name, sign, value = part.rpartition("=")
            if not sign or not name.strip():
                raise CommandError(f"{text!r} must be GROUP=VALUE,GROUP=VALUE")
            if name.strip() in pairs:
                raise CommandError(f"{text!r} must name each group once")
            pairs[name.strip()] = parse_value(value)
        return pairs
    text = text.strip()
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
