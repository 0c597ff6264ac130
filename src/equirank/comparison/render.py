"""The page of a comparison: one HTML file that needs no network."""

import reprlib
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ..core.table import Table
from ..plots.page.shell import asset, chart_for_page, table_rows, write_page
from .drawing import tradeoff_chart
from .wording import how_it_was_done, verdict

__all__ = ["render"]

#: Trade-off pictures on a page: the first metric against each of so many others.
MOST_PICTURES = 6


def render(result: Any, baseline: str | None = None) -> str:
    """Write a comparison as one self-contained page.

    Parameters
    ----------
    result : Comparison
        Its tables are shown and offered for download.
    baseline : str, optional
        What the paired tests are against; by default the first method.

    Returns
    -------
    str
        The page, in HTML.
    """
    against = result.methods[0] if baseline is None else baseline
    tests = result.versus(against)
    charts = dict(_charts(result))
    params = _parameters(result)
    tables = {
        "results": result.table, "summary": result.summary(), "tests": tests,
        "groups": result.by_group(), "errors": result.errors, "parameters": params,
        "chance": Table({"metric": list(result.chance), "value": list(result.chance.values())}),
    }  # fmt: skip
    return write_page(
        asset(f"{__package__}.report", "page.html"),
        kind="comparison of rankers",
        title=f"{len(result.methods)} methods, {_counted(result)}",
        first="verdict",
        library_version=import_module("equirank").__version__,
        tables=tables,
        charts=charts,
        json_name="comparison.json",
        style=asset(f"{__package__}.report", "page.css"),
        verdict=verdict(result),
        methods=list(_methods(result)),
        metrics=[{"name": m.name, "direction": m.direction} for m in result.metrics],
        chance=result.chance,
        keys=list(charts),
        against=against,
        tests=table_rows(tests),
        groups=_by_method(result),
        errors=table_rows(result.errors),
        params=table_rows(params),
        n_cells=len(result.folds),
        unit=result.unit,
        how=how_it_was_done(result),
        fingerprint=result.fingerprint,
    )


def _counted(result: Any) -> str:
    return f"{result.n_queries:,} lists" if result.n_queries > 1 else f"{result.n_rows:,} rows"


def _charts(result: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Draw the first metric against each other, where chance and some method have values."""
    first = result.metrics[0]
    known = [metric for metric in result.metrics if metric.name in result.chance]
    if first not in known or all(result.table["error"].tolist()):
        return
    for metric in known[1 : MOST_PICTURES + 1]:
        chart = tradeoff_chart(result, metric, first, {})
        yield f"tradeoff-{metric.name}", chart_for_page(chart)


def _methods(result: Any) -> Iterator[dict[str, Any]]:
    """Give one row per method: its cells by metric, best ones marked."""
    rows = table_rows(result.summary())
    best = {}
    for metric in result.metrics:
        known = [r["value"] for r in rows if r["metric"] == metric.name and r["value"] is not None]
        known = known or [None]
        best[metric.name] = max(known) if metric.direction == "higher" else min(known)
    for method in result.methods:
        mine = [row for row in rows if row["method"] == method]
        cells = [row | {"best": row["value"] == best[row["metric"]]} for row in mine]
        yield {
            "name": method, "cells": cells, "seconds": mine[0]["fit_seconds"],
            "failed": mine[0]["failed"],
        }  # fmt: skip


def _by_method(result: Any) -> list[dict[str, Any]]:
    """Give one row per metric and method: the value in each group."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in table_rows(result.by_group()):
        found.setdefault((row["metric"], row["method"]), []).append(row)
    order = {metric.name: i for i, metric in enumerate(result.metrics)}
    return [
        {"metric": metric, "method": method, "groups": rows}
        for (metric, method), rows in sorted(found.items(), key=lambda item: order[item[0][0]])
    ]


def _parameters(result: Any) -> Table:
    """Give each method's parameters that are no estimators themselves, nested names joined."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = 200
    short.maxlist = short.maxdict = short.maxtuple = 20
    columns: dict[str, list[str]] = {"method": [], "class": [], "parameter": [], "value": []}
    for method, estimator in result.estimators.items():
        given = estimator.get_params(deep=True)
        shown = {k: v for k, v in sorted(given.items()) if not _is_part(v)}
        for key, value in (shown or {"": ""}).items():
            row = (method, type(estimator).__name__, key, short.repr(value) if key else "")
            for name, cell in zip(columns, row, strict=True):
                columns[name].append(cell)
    return Table(columns)


def _is_part(value: Any) -> bool:
    """Tell an estimator, or the list of a pipeline's steps, whose parameters are listed anyway."""
    if hasattr(value, "get_params"):
        return True
    return isinstance(value, list) and any(
        isinstance(each, tuple) and any(hasattr(part, "get_params") for part in each)
        for each in value
    )
