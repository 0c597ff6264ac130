"""The report of a comparison: verdict, trade-off charts and tables."""

import re
import reprlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import plots
from ..core.errors import DataError
from ..core.metric import Metric
from ..core.table import Table, table_to_json
from ..plots.theme import shorten
from ..reports.number_words import joined, level_words, number
from ..reports.page import SIZES, asset, chart_for_page, table_rows, write_page
from ..reports.provenance import NOT_GIVEN
from .comparison_claims import lead, top_methods

__all__ = [
    "behind_mixture",
    "how_it_was_done",
    "render",
    "tradeoff_chart",
    "untimed",
    "verdict",
    "with_family_p",
]


#: Longer names are cut in charts, for small screens.
LONGEST = 22
#: The folders of a file in a traceback.
FOLDERS = re.compile(r'(File ")[^"\n]*[/\\\\]')


def tradeoff_chart(result: Any, x: Metric, y: Metric, options: dict[str, Any]) -> Any:
    """Draw two metrics of all methods, with intervals, the Pareto front and the mixture line."""
    ends = mixture_ends(result, x, y)
    rows = {metric.name: _rows(result, metric) for metric in (x, y)}
    points = {
        "name": [shorten(method, LONGEST) for method in result.methods],
        x.name: [row["value"] for row in rows[x.name]],
        y.name: [row["value"] for row in rows[y.name]],
        "x_low": [row["low"] for row in rows[x.name]],
        "x_high": [row["high"] for row in rows[x.name]],
        "low": [row["low"] for row in rows[y.name]],
        "high": [row["high"] for row in rows[y.name]],
        "front": result.front(x, y),
    }
    return plots.tradeoff(
        points, x.name, y.name, mixture=ends, x_better=x.direction, y_better=y.direction, **options
    )


def mixture_ends(result: Any, x: Metric, y: Metric) -> tuple[float, float, float, float]:
    """Return both ends of the mixture line: a random order, and the method leading in y."""
    for metric in (x, y):
        if metric.name not in result.chance:
            raise DataError(f"{metric.name} is undefined for a random order, which has no scores")
    ends = [result.chance[x.name], result.chance[y.name]]
    leader = _leader(result, x, y)
    ends += [float(_rows(result, metric)[leader]["value"]) for metric in (x, y)]
    return ends[0], ends[1], ends[2], ends[3]


def _leader(result: Any, x: Metric, y: Metric) -> int:
    """Return the index of the method with the best estimate of y, where x is known too."""
    values = {metric.name: _signed(result, metric) for metric in (x, y)}
    known = ~np.isnan(values[x.name]) & ~np.isnan(values[y.name])
    if not known.any():
        raise DataError(f"no method has a value of both {x.name} and {y.name}")
    return int(np.argmax(np.where(known, values[y.name], -np.inf)))


def behind_mixture(result: Any, x: Metric, y: Metric) -> list[str]:
    """Return the methods that a mixture of the one leading in y with chance beats in both."""
    x0, y0, x1, y1 = mixture_ends(result, x, y)
    signs = [1.0 if metric.direction == "higher" else -1.0 for metric in (x, y)]
    t = np.linspace(0.0, 1.0, 1001)
    line_x, line_y = signs[0] * (x0 + t * (x1 - x0)), signs[1] * (y0 + t * (y1 - y0))
    found = []
    for at, method in enumerate(result.methods):
        point = [_signed(result, metric)[at] for metric in (x, y)]
        slack = 1e-9 * max(1.0, *map(abs, point))
        if ((line_x > point[0] + slack) & (line_y > point[1] + slack)).any():
            found.append(method)
    return found


def _rows(result: Any, metric: Metric) -> list[dict[str, Any]]:
    return [row for row in result.summary() if row["metric"] == metric.name]


def _signed(result: Any, metric: Metric) -> np.ndarray:
    values = np.array([row["value"] for row in _rows(result, metric)], dtype=np.float64)
    return values if metric.direction == "higher" else -values


#: Names in a sentence before "and n more".
LISTED = 6


def verdict(result: Any) -> list[str]:
    """Return sentences on the methods at the top, all findings, mixtures and failures."""
    sentences = [_scope(result)]
    main = result.metrics[0]
    whole = [method for method in result.methods if method not in result.first_errors()]
    if whole:
        said = lead(result.claims, result.metrics, whole)
        sentences += [statement.text for statement in said]
    else:
        sentences.append("No method finished every fold, so there is no best method.")
    for metric in result.metrics[1:]:
        if all(each.name in result.chance for each in (main, metric)) and whole:
            behind = behind_mixture(result, metric, main)
            if behind:
                be = "is" if len(behind) == 1 else "are"
                leader = result.methods[_leader(result, metric, main)]
                sentences.append(
                    f"{_listed(behind)} {be} behind the line of random mixtures in {metric.name} "
                    f"and {main.name}: a mixture of {shorten(leader, 40)} with a random order has "
                    "better mean values of both."
                )
    for method, error in result.first_errors().items():
        failed = int((result.errors["method"] == method).sum())
        cells = f"{failed} of {len(result.folds)} cells"
        sentences.append(f"{shorten(method)} failed in {cells}: {shorten(error, 160)}")
    return sentences


def _scope(result: Any) -> str:
    seeds = len({fold.seed for fold in result.folds})
    folds = len(result.folds) // seeds
    lists = f"{result.n_queries:,} lists" if result.n_queries > 1 else "one list"
    cut = f"{folds} {'folds' if folds > 1 else 'held-out part'}"
    times = f", {seeds} seeds" if seeds > 1 else ""
    count = len(result.methods)
    methods = f"{count} methods were" if count > 1 else "One method was"
    return f"{methods} compared on {lists} ({result.n_rows:,} rows): {cut}{times}."


def _listed(names: list[str]) -> str:
    shown = [shorten(name, 40) for name in names[:LISTED]]
    if len(names) > LISTED:
        shown.append(f"{len(names) - LISTED} more")
    return joined(shown)


def how_it_was_done(result: Any) -> list[tuple[str, str]]:
    """Return titles and texts on the split, intervals and tests, for the page."""
    train = np.mean([len(fold.train) for fold in result.folds])
    by_query = result.unit == "queries"
    split = (
        "Each list is in one fold as a whole."
        if by_query
        else "The rows of the list are split into folds, stratified by group; each fold is a "
        "shorter list."
    )
    unit = (
        "Queries. A method's values are averaged over the seeds for each query, and the tests "
        "compare the differences per query. They test whether the fitted methods differ on new "
        "queries."
        if by_query
        else "Folds. Each fold is one list with one value. Folds share most of their training "
        "rows, so their values are not independent; the corrected resampled t-test widens the "
        "variance by test size over train size (Nadeau and Bengio, 2003)."
    )
    return [
        ("Split", f"{split} On average {train:,.0f} rows are used for training."),
        ("Unit of intervals and tests", unit),
        (
            "Intervals",
            f"{level_words(result.level)} confidence intervals, by "
            + ("a bootstrap over queries." if by_query else "Student's t with that variance."),
        ),
        (
            "Paired tests",
            "P-values are corrected for all pairs of methods and all metrics of this report, "
            + (
                "by step-down maxT over random sign flips of the differences per query. A metric "
                "that is not a mean over queries has the corrected resampled t-test and Holm's "
                "method."
                if by_query
                else "by Holm's method."
            )
            + " A difference is stated if its corrected p-value is at most "
            f"{number(1 - result.level)} and its confidence interval excludes 0.",
        ),
        (
            "Random mixture",
            "The dashed line in each chart joins the method that leads on the vertical axis to a "
            "random order of the same lists: the values of showing a random order with some "
            "probability. Mixing any ranking with noise closes every gap, so a method behind that "
            "line has no advantage over random mixing.",
        ),
    ]


#: Trade-off charts on a page: the first metric against this many others.
MOST_CHARTS = 6


def render(result: Any, baseline: str | None = None) -> str:
    """Return the report of a `Comparison` as one self-contained HTML page."""
    against = result.methods[0] if baseline is None else baseline
    tests = with_family_p(result, against)
    charts = dict(_charts(result))
    params = _parameters(result)
    record = result.provenance
    tables = {
        "results": untimed(result.table), "summary": untimed(result.summary()), "tests": tests,
        "groups": result.by_group(), "errors": _without_folders(result.errors),
        "parameters": params,
        "chance": Table({"metric": list(result.chance), "value": list(result.chance.values())}),
    }  # fmt: skip
    said = verdict(result)
    return write_page(
        asset("comparison.html"),
        kind="comparison of rankers",
        title=f"{len(result.methods)} methods, {_counted(result)}"
        if record.title == NOT_GIVEN
        else record.title,
        first="verdict",
        provenance=record,
        tables=tables,
        charts=charts,
        document={
            "provenance": record.to_dict(),
            "claims": [claim.to_dict() for claim in result.claims],
            "tables": {name: table_to_json(table) for name, table in tables.items()},
        },
        json_name="comparison.json",
        scope=said[0],
        verdict=said[1:],
        methods=list(_methods(result)),
        metrics=[{"name": m.name, "direction": m.direction} for m in result.metrics],
        level=result.level,
        chance=result.chance,
        keys=[key for key in charts if not key.endswith("@narrow")],
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
    """Draw the first metric against each other that has values for chance and a method."""
    first = result.metrics[0]
    known = [metric for metric in result.metrics if metric.name in result.chance]
    if first not in known or all(result.table["error"].tolist()):
        return
    for metric in known[1 : MOST_CHARTS + 1]:
        for ending, size in SIZES.items():
            chart = tradeoff_chart(result, metric, first, size)
            yield f"tradeoff-{metric.name}{ending}", chart_for_page(chart)


def with_family_p(result: Any, baseline: str) -> Table:
    """Return the paired tests against one method, with the p-values of the claims."""
    tests = result.versus(baseline)
    family = {
        (claim.quantity, frozenset((claim.group, claim.against))): claim.p_family
        for claim in result.claims
    }
    keys = zip(tests["metric"].tolist(), tests["method"].tolist(), strict=True)
    p = [family[metric, frozenset((method, baseline))] for metric, method in keys]
    return Table({**tests.columns, "p_family": p})


def _methods(result: Any) -> Iterator[dict[str, Any]]:
    """Return one row per method: its cells by metric, with those at the top marked."""
    rows = table_rows(result.summary())
    whole = [method for method in result.methods if method not in result.first_errors()]
    top = {metric.name: top_methods(result.claims, metric, whole) for metric in result.metrics}
    for method in result.methods:
        own = [row for row in rows if row["method"] == method]
        cells = [row | {"top": method in top[row["metric"]]} for row in own]
        yield {
            "name": method, "cells": cells, "failed": own[0]["failed"],
        }  # fmt: skip


def untimed(table: Table) -> Table:
    """Return a table without seconds, which differ from run to run."""
    return Table({name: each for name, each in table.columns.items() if "_seconds" not in name})


def _without_folders(errors: Table) -> Table:
    """Return the errors with file names without folders in their tracebacks."""
    traces = [FOLDERS.sub(r"\1", trace or "") for trace in errors["trace"].tolist()]
    return Table({**errors.columns, "trace": traces})


def _by_method(result: Any) -> list[dict[str, Any]]:
    """Return one row per metric and method: the value of each group."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in table_rows(result.by_group()):
        found.setdefault((row["metric"], row["method"]), []).append(row)
    order = {metric.name: i for i, metric in enumerate(result.metrics)}
    return [
        {"metric": metric, "method": method, "groups": rows}
        for (metric, method), rows in sorted(found.items(), key=lambda item: order[item[0][0]])
    ]


def _parameters(result: Any) -> Table:
    """Return each method's parameters, except nested estimators, whose own are listed."""
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
    """Return whether a value is an estimator or the list of a pipeline's steps."""
    if hasattr(value, "get_params"):
        return True
    return isinstance(value, list) and any(
        isinstance(each, tuple) and any(hasattr(part, "get_params") for part in each)
        for each in value
    )
