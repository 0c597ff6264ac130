"""A comparison in sentences, made by rules from its tables."""

from typing import Any

import numpy as np

from ..core.metric import Metric
from ..plots.theme import shorten
from .drawing import behind_mixture

__all__ = ["how_it_was_done", "verdict"]

#: Names listed in a sentence before "and so many more".
LISTED = 6


def verdict(result: Any) -> list[str]:
    """Say what was compared, who is best, who cannot be told from the best, and what failed."""
    sentences = [_what(result)]
    main = result.metrics[0]
    whole = [method for method in result.methods if method not in result.first_errors()]
    if whole:
        sentences.append(_best(result, main, whole))
    else:
        sentences.append("No method finished every fold, so none is best.")
    for metric in result.metrics[1:]:
        if all(each.name in result.chance for each in (main, metric)) and whole:
            behind = behind_mixture(result, metric, main)
            if behind:
                lie = "lies" if len(behind) == 1 else "lie"
                sentences.append(
                    f"{_listed(behind)} {lie} behind the line of random mixtures in {metric.name} "
                    f"against {main.name}: mixing the best ranking with a random order is better "
                    "in both, by the mean values."
                )
    for method, error in result.first_errors().items():
        failed = int((result.errors["method"] == method).sum())
        cells = f"{failed} of {len(result.folds)} cells"
        sentences.append(f"{shorten(method)} failed in {cells}: {shorten(error, 160)}")
    return sentences


def _what(result: Any) -> str:
    seeds = len({fold.seed for fold in result.folds})
    folds = len(result.folds) // seeds
    lists = f"{result.n_queries:,} lists" if result.n_queries > 1 else "one list"
    cut = f"{folds} {'folds' if folds > 1 else 'held-out part'}"
    times = f", {seeds} seeds" if seeds > 1 else ""
    count = len(result.methods)
    methods = f"{count} methods were" if count > 1 else "One method was"
    return f"{methods} compared on {lists} ({result.n_rows:,} rows): {cut}{times}."


def _best(result: Any, metric: Metric, whole: list[str]) -> str:
    rows = {r["method"]: r for r in result.summary() if r["metric"] == metric.name}
    sign = 1.0 if metric.direction == "higher" else -1.0
    known = [method for method in whole if rows[method]["value"] == rows[method]["value"]]
    if not known:
        return f"{metric.name} is undefined for every method."
    best = max(known, key=lambda method: sign * rows[method]["value"])
    row = rows[best]
    interval = ""
    if row["low"] == row["low"]:
        percent = f"{100 * result.level:g} %"
        interval = f" ({percent} interval {row['low']:.3f} to {row['high']:.3f})"
    said = f"By {metric.name}, {shorten(best)} is best with {row['value']:.3f}{interval}."
    others = [method for method in known if method != best]
    if not others:
        return said
    tests = [r for r in result.versus(best) if r["metric"] == metric.name]
    p = {r["method"]: r["p_t_holm" if r["unit"] == "folds" else "p_random_holm"] for r in tests}
    alike = [method for method in others if not p[method] <= 1 - result.level]
    if not alike:
        return f"{said} It is told from every other method."
    return f"{said} {_listed(alike)} cannot be told from it by the paired test."


def _listed(names: list[str]) -> str:
    shown = [shorten(name, 40) for name in names[:LISTED]]
    if len(names) > LISTED:
        shown.append(f"{len(names) - LISTED} more")
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]


def how_it_was_done(result: Any) -> list[tuple[str, str]]:
    """Say, for the page, what the numbers are and how the tests count."""
    level = f"{100 * result.level:g} %"
    train = np.mean([len(fold.train) for fold in result.folds])
    by_query = result.unit == "queries"
    split = (
        "Whole lists go to one fold each; no list is torn."
        if by_query
        else "The rows of the list are spread over the folds, evenly by group; each fold is then a "
        "shorter list of its own."
    )
    unit = (
        "Queries. A method's values are averaged over the seeds query by query, and the tests look "
        "at the differences per query. They ask whether the methods, as fitted here, differ on new "
        "queries."
        if by_query
        else "Folds. Each fold is one list with one value. Folds share most of their training "
        "rows, so their values are not independent; the corrected resampled t-test widens the "
        "variance by test size over train size (Nadeau and Bengio, 2003)."
    )
    return [
        ("Split", f"{split} On average {train:,.0f} rows to fit on."),
        ("Unit of intervals and tests", unit),
        (
            "Intervals",
            f"{level}, by "
            + ("a bootstrap over queries." if by_query else "Student's t with that variance."),
        ),
        (
            "Paired tests",
            ("Random sign flips of the differences per query. " if by_query else "")
            + "All rows of the table of tests are corrected together by Holm's method.",
        ),
        (
            "Random mixture",
            "The dashed line in each picture joins the best method by the vertical axis to a "
            "random order of the same lists: what one gets by showing a random order now and "
            "then. Mixing any ranking with noise closes every gap, so a method behind that line "
            "buys nothing.",
        ),
    ]
