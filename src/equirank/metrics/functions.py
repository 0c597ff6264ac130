"""The plain functions of the metrics, each made from its class when it is first used.

``functions.pyi`` and the function lines of the public list state their signatures for editors and
type checkers; ``make generate`` writes both.
"""

from typing import Any

from ..core.metric_function import function_name, metric_function
from ..core.registry import find, metric_names

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    """Make the function of this name from its metric class."""
    for metric in metric_names():
        if function_name(metric) == name:
            return globals().setdefault(name, metric_function(find(metric), __name__))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
