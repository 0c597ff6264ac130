"""The plain functions of the metrics, each made from its class when it is first used.

``functions.pyi`` and the function lines of the public list state their signatures for editors and
type checkers; ``python docs/_ext/metric_stubs.py`` writes both.
"""

import sys
from typing import Any

from ..core.metric_function import function_name, metric_function

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    """Make the function of this name from its metric class."""
    package = sys.modules[__package__]
    for listed in package.__all__:
        if listed[0].isupper() and function_name(listed) == name:
            made = metric_function(getattr(package, listed), __name__)
            return globals().setdefault(name, made)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
