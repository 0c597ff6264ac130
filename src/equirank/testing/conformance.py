"""Conformance: comparison of the library with vectors of exact values for each metric."""

import json
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from importlib.resources import files
from typing import Any

from .. import allocation, metrics, preprocess
from ..core.errors import DataError, EquirankWarning, suggest
from ..core.given_data import as_ranking_data
from ..core.ranking import Ranking
from ..core.table import Table

__all__ = ["load_vectors", "run_conformance", "vector_names"]


#: The packages whose functions have vectors.
PACKAGES = (metrics, allocation, preprocess)
#: The weights of pairs of positions that vectors name.
WEIGHTS: dict[str, Callable[[Any, Any], Any]] = {
    "reciprocal_product": lambda i, j: 1.0 / (i * j),
    "distance": lambda i, j: abs(i - j),
}
#: Fields of a test result that are compared besides its p-value.
PARTS = ("passed", "first_failing_prefix", "minimum")


def vector_names() -> list[str]:
    """List the metrics that have vectors, by the name of their function.

    Examples
    --------
    >>> "ndcg" in vector_names()
    True
    """
    folder = files("equirank.testing") / "vectors"
    return sorted(
        path.name.removesuffix(".json") for path in folder.iterdir() if path.name.endswith(".json")
    )


def load_vectors(metric: str) -> dict[str, Any]:
    """Read the vectors of one metric.

    Examples
    --------
    >>> vectors = load_vectors("average_precision")
    >>> first = vectors["cases"][0]
    >>> first["inputs"], first["expected"]["value"]
    ({'y_true': [1, 0, 1], 'y_score': [3, 2, 1]}, '5/6')
    """
    names = vector_names()
    if metric not in names:
        raise DataError(f"metric {metric!r} has no vectors{suggest(metric, names)}")
    path = files("equirank.testing") / "vectors" / f"{metric}.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def run_conformance(metrics: str | Iterable[str] | None = None) -> Table:
    """Compute every case of the vectors with this library and compare the results.

    A number may differ by the tolerance of the file, relative to the expected value if that is
    above 1. Undefined values must be NaN, and bad input must raise `DataError`.

    Parameters
    ----------
    metrics : str or iterable of str, optional
        Names of metric functions; None selects all that have vectors.

    Returns
    -------
    Table
        One row per metric: the number of ``cases``, how many of them ``passed``, the largest
        ``deviation`` of any number, and the ``first failure``, empty if there is none.

    Examples
    --------
    >>> from equirank.testing.conformance import run_conformance
    >>> table = run_conformance("recall")
    >>> bool(table["passed"] == table["cases"])
    True
    """
    names = [metrics] if isinstance(metrics, str) else metrics
    rows = [_check(load_vectors(name)) for name in (vector_names() if names is None else names)]
    heads = ("metric", "cases", "passed", "deviation", "first failure")
    return Table({head: [row[at] for row in rows] for at, head in enumerate(heads)})


def _check(vectors: dict[str, Any]) -> tuple[str, int, int, float, str]:
    """Compare all cases of one metric."""
    name, cases = vectors["metric"], vectors["cases"]
    home = next((package for package in PACKAGES if name in package.__all__), None)
    if home is None:
        return name, len(cases), 0, math.nan, "there is no such function"
    function = getattr(home, name)
    passed, worst, first = 0, 0.0, ""
    for case in cases:
        failure = ""
        for part, expected, got in _outcomes(function, case):
            deviation = _deviation(expected, got)
            worst = max(worst, deviation) if math.isfinite(deviation) else worst
            if deviation > vectors["tolerance"] and not failure:
                failure = f"{case['name']}: {part} must be {expected}, got {got}"
        passed += not failure
        first = first or failure
    return name, len(cases), passed, worst, first


def _outcomes(function: Callable[..., Any], case: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Call the function and yield each part of its result: name, expected value, value found."""
    expected = case["expected"]
    arguments = {**_arguments(case["inputs"]), **case["options"]}
    if "weight" in arguments:
        arguments["weight"] = WEIGHTS[arguments["weight"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquirankWarning)
        try:
            if "groups" in expected:
                value, groups = function(**arguments, return_groups=True)
            else:
                value, groups = function(**arguments), {}
            several = function(**arguments, per_query=True) if "per_query" in expected else ()
        except DataError as error:
            yield "error", expected.get("error"), f"DataError: {error}"
            return
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            yield "error", expected.get("error"), f"{type(error).__name__}: {error}"
            return
    if "error" in expected:
        yield "error", expected["error"], value
    if "passed" in expected:
        yield from ((part, expected[part], _plain(getattr(value, part))) for part in PARTS)
        yield "p_value", expected["p_value"], value.p_value
    elif "values" in expected:
        yield from _side_by_side("value", expected["values"], value)
    elif "value" in expected:
        yield "the value", expected["value"], value
    if "per_query" in expected:
        yield from _side_by_side("query", expected["per_query"], several)
    for group, number in expected.get("groups", {}).items():
        yield f"group {group}", number, groups.get(group, "nothing")


def _arguments(inputs: dict[str, Any]) -> dict[str, Any]:
    """Turn the inputs of a case into arguments of the function."""
    arguments = {name: _numbers(value) for name, value in inputs.items()}
    if "position" in arguments:
        data = as_ranking_data(y=arguments["y_true"], qid=arguments.get("qid"))
        ranking = Ranking.from_positions(data, arguments["position"])
        return {"y_true": None, "y_score": ranking}
    if "cost_table" in arguments:
        arguments["cost"] = arguments.pop("cost_table")
    if "cost_pairs" in arguments:
        arguments["cost"] = {(a, b): cost for a, b, cost in arguments.pop("cost_pairs")}
    return arguments


def _numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers(one) for one in value]
    return float(value) if value in ("NaN", "Infinity") else value


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _side_by_side(word: str, expected: list[Any], got: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the elements of two lists in pairs, or both lists if their lengths differ."""
    found = _plain(got)
    if not isinstance(found, list) or len(found) != len(expected):
        yield f"each {word}", expected, found
        return
    for at, pair in enumerate(zip(expected, found, strict=True), start=1):
        yield f"{word} {at}", *pair


def _deviation(expected: Any, got: Any) -> float:
    """Return the deviation of a result: 0 if equal, infinite if it is of another kind."""
    if isinstance(got, str):
        return 0.0 if got.startswith("DataError") and isinstance(expected, str) else math.inf
    if isinstance(expected, str) and isinstance(got, (int, float)):
        try:
            wanted = float(Fraction(expected))
        except ValueError:
            return math.inf
        if not math.isfinite(got):
            return math.inf
        return abs(got - wanted) / max(1.0, abs(wanted))
    if expected is None and isinstance(got, float):
        return 0.0 if math.isnan(got) else math.inf
    return 0.0 if expected == got else math.inf
