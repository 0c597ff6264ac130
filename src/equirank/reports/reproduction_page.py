"""The HTML page of a reproduction: verdicts on published claims, and the charts of the study."""

from collections.abc import Mapping
from typing import Any

from ..core.table import Table
from ..plots.theme import MUTED, altair, data, dress, shorten
from .page import asset, chart_for_page, table_rows, write_page
from .provenance import Provenance

__all__ = ["render"]

#: Verdicts whose claims are named at the top, in this order.
TOLD = ("contradicted", "not confirmed")
#: Most claims that are named at the top.
MOST_TOLD = 4


def render(
    results: Mapping[str, Any], charts: Mapping[str, Any], *, title: str, date: str | None = None
) -> str:
    """Return the results of a study as one self-contained HTML page.

    Parameters
    ----------
    results : mapping
        ``name``, ``quick``, ``parts`` and ``verdicts`` of a reproduction, whose rows have claim,
        published, ours, verdict and note; ``version`` and ``remarks`` if there are any.
    charts : mapping of str to altair.Chart
        The charts of the study by name.
    title : str
        Title of the study.
    date : str, optional
        Date of the page; by default that of SOURCE_DATE_EPOCH, else today.
    """
    rows = list(results["verdicts"])
    parts = [
        {"part": name, **{key: part.get(key) for key in ("seeds", "seconds", "version", "began")}}
        for name, part in results["parts"].items()
    ]
    record = Provenance.given(
        title=title, purpose="test published claims again", period=None, author=None, date=date
    ).with_inputs(study=results["name"], quick=results["quick"], version=results.get("version"))
    tables = {
        "claims": Table({key: [row[key] for row in rows] for key in (rows[0] if rows else ())}),
        "parts": Table({key: [part[key] for part in parts] for key in (parts[0] if parts else ())}),
    }
    drawn = {"verdicts": chart_for_page(_counts(rows))} if rows else {}
    drawn |= {f"study-{name}": chart_for_page(chart) for name, chart in charts.items()}
    return write_page(
        asset("reproduction.html"),
        kind="reproduction",
        title=title,
        first="verdict",
        provenance=record,
        tables=tables,
        charts=drawn,
        json_name="reproduction.json",
        sentences=_sentences(rows),
        quick=results["quick"],
        remarks=results.get("remarks") or [],
        rows={name: table_rows(table) for name, table in tables.items()},
        names=[(f"study-{name}", name.replace("_", " ")) for name in charts],
        command=f"equirank reproduce {results['name']}",
    )


def _sentences(rows: list[dict[str, Any]]) -> list[str]:
    """Return how many claims have each verdict, and the first ones that do not hold."""
    found = [row["verdict"] for row in rows]
    counts = ", ".join(f"{found.count(word)} {word}" for word in dict.fromkeys(found))
    claims = "claim was" if len(rows) == 1 else "claims were"
    said = [f"{len(rows)} published {claims} tested: {counts}."]
    for verdict in TOLD:
        for row in rows:
            if row["verdict"] == verdict:
                said.append(
                    f"{verdict.capitalize()}: {shorten(row['claim'], 160)}. Published: "
                    f"{shorten(row['published'], 80)}. Here: {shorten(row['ours'], 120)}."
                )
    more = len(said) - 1 - MOST_TOLD
    if more > 0:
        said = [*said[: MOST_TOLD + 1], f"The table of claims has {more} more that do not hold."]
    return said


def _counts(rows: list[dict[str, Any]]) -> Any:
    """Draw the number of claims with each verdict."""
    alt = altair()
    found = [row["verdict"] for row in rows]
    counts = [{"verdict": word, "claims": found.count(word)} for word in dict.fromkeys(found)]
    base = alt.Chart(data(counts)).encode(
        x=alt.X("claims:Q", title="number of claims").axis(tickMinStep=1),
        y=alt.Y("verdict:N", title=None, sort=None),
    )
    words = base.mark_text(align="left", dx=5, fontWeight=600).encode(text="claims:Q")
    chart = alt.layer(base.mark_bar(color=MUTED, height=16), words)
    return dress(
        chart.properties(width=460, height=34 * len(counts)),
        "Verdicts",
        "Number of published claims with each verdict.",
    )
