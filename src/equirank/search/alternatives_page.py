"""The report of a search for alternatives: verdict, trade-off, certificate, everything tried."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import plots
from ..core.metric import Metric
from ..core.table import table_to_json
from ..plots.theme import shorten
from ..reports.page import SIZES, asset, chart_for_page, table_rows, write_page
from ..reports.provenance import NOT_GIVEN

__all__ = ["how_it_was_done", "render", "tradeoff_chart"]

#: Most rows of failed candidates that have a reason on the page; the download contains all.
MOST_REASONS = 50


def tradeoff_chart(result: Any, **size: Any) -> Any:
    """Draw all candidates by target and quality on the choosing part, and the certified two.

    Filled points are on the front. The dashed line joins the candidate with the best quality to a
    random order. None if no candidate has both values, or chance has none.
    """
    x, y = result.target, result.metrics[0]
    if x.name not in result.chance or y.name not in result.chance:
        return None
    rows = [row for row in result.candidates if _known(row, x) and _known(row, y)]
    if not rows:
        return None
    front = {id(row): on for row, on in zip(result.candidates, result.front(), strict=True)}
    points: dict[str, list[Any]] = {"name": [], x.name: [], y.name: [], "front": [], "label": []}
    for row in rows:
        label = "chosen" if row is result.chosen else ""
        label = "baseline" if row["trial"] == 0 else label
        pair = [row["values"][metric.name]["value"] for metric in (x, y)]
        _add(points, shorten(row["name"], 60), *pair, bool(front[id(row)]), label)
    numbers = {row["metric"]: row for row in result.certified}
    if {x.name, y.name} <= set(numbers):
        for who in ("baseline", "chosen"):
            pair = [numbers[metric.name][who]["certify"]["value"] for metric in (x, y)]
            _add(points, f"{who}, certified", *pair, False, f"{who}, certified")
    quality = np.array([row["values"][y.name]["value"] for row in rows], dtype=np.float64)
    best = rows[int(np.argmax(quality if y.direction == "higher" else -quality))]
    ends = (result.chance[x.name], result.chance[y.name])
    ends += tuple(best["values"][metric.name]["value"] for metric in (x, y))
    return plots.tradeoff(
        points, x.name, y.name, mixture=ends, x_better=x.direction, y_better=y.direction, **size
    )


def _add(points: dict[str, list[Any]], *values: Any) -> None:
    for column, value in zip(points.values(), values, strict=True):
        column.append(value)


def _known(row: dict[str, Any], metric: Metric) -> bool:
    return row["values"].get(metric.name, {}).get("value") is not None


def how_it_was_done(result: Any) -> Iterator[tuple[str, str]]:
    """Yield titles and texts on the parts, the record, the choice and the certificate."""
    what = result.unit
    yield (
        "Four parts",
        f"The {what} are split at random into four parts that share none: candidates are fitted to "
        "the first; the second steers paths, early stopping and further trials; all candidates are "
        "compared on the third; the fourth is opened once, for the chosen candidate and the "
        "baseline.",
    )
    yield (
        "Draws",
        "Each independent draw takes a family, its parameters, a subset of the groups of columns "
        "to leave out, and a seed from the stated search. A path of one parameter is one draw with "
        "several candidates. Steered draws change one respect of a candidate on the front of the "
        "steering part and are not independent.",
    )
    yield (
        "Choice",
        "The rule is in the record before the certify part is opened. It compares candidates with "
        "the baseline as measured on the choosing part, which is fixed before any draw.",
    )
    yield (
        "Certificate",
        "If a share u of what the search can draw were better than the chosen candidate, n "
        "independent draws would all miss it with probability (1 - u)^n. The share stated is the "
        "one for which this probability is 5%.",
    )
    yield (
        "Intervals",
        f"Bootstrap over {'lists' if result.unit == 'lists' else 'people, within groups'}; the "
        "difference between the chosen candidate and the baseline uses the same draws for both.",
    )
    yield (
        "Record",
        "Each event is one line of a file that only grows; each line contains a hash of the line "
        "before, so that a changed or missing line is found.",
    )


def render(result: Any) -> str:
    """Return the report of `Alternatives` as one self-contained HTML page."""
    drawn = {ending: tradeoff_chart(result, **size) for ending, size in SIZES.items()}
    charts = {f"tradeoff{end}": chart_for_page(each) for end, each in drawn.items() if each}
    record = result.provenance
    tables = {"candidates": result.table, "certified": result.certified_table}
    document = result.to_dict() | {
        "tables": {name: table_to_json(table) for name, table in tables.items()}
    }
    front = result.front()
    rows = [
        row | {"drawn": drawn["parameters"], "out": drawn["left_out"], "on_front": bool(on)}
        for row, drawn, on in zip(result.candidates, table_rows(result.table), front, strict=True)
    ]
    return write_page(
        asset("alternatives.html"),
        kind="search for alternatives",
        title=f"{len(result.candidates) - 1} candidates"
        if record.title == NOT_GIVEN
        else record.title,
        first="verdict",
        provenance=record,
        tables=tables,
        charts=charts,
        document=document,
        json_name="alternatives.json",
        verdict=result.sentences,
        metrics=[{"name": m.name, "direction": m.direction} for m in result.metrics],
        target=result.target.name,
        level=result.level,
        certified=result.certified,
        certificate=result.certificate,
        candidates=rows,
        chosen=None if result.chosen is None else result.chosen["name"],
        failed=[row for row in rows if row["error"]][:MOST_REASONS],
        n_failed=result.n_failed,
        n_independent=result.n_independent,
        parts=result.parts,
        unit=result.unit,
        rule=result.rule,
        how=list(how_it_was_done(result)),
    )
