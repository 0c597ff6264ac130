"""The HTML page of remedies: sentences, picture, table, moves and commands."""

import shlex
from typing import Any

from .. import plots
from ..core.table import table_to_json
from ..plots.theme import shorten
from ..reports.number_words import level_words
from ..reports.page import SIZES, asset, chart_for_page, table_rows, write_page
from ..reports.provenance import NOT_GIVEN
from .remedies import MOST_MOVES, Remedies, Remedy, loss_words, value_words

__all__ = ["render"]


def render(result: Remedies) -> str:
    """Return the page of a `Remedies` as one self-contained HTML page."""
    moves = result.moves() if result.remedies else None
    tables = {"remedies": result.table} | ({} if moves is None else {"moves": moves})
    first = result.best() if result.remedies else None
    record = result.provenance
    return write_page(
        asset("remedies.html"),
        kind="remedies",
        title=record.title if record.title != NOT_GIVEN else result.title,
        first="answer",
        provenance=record,
        tables=tables,
        charts=_charts(result),
        document=result.to_dict() | {"tables": {n: table_to_json(t) for n, t in tables.items()}},
        json_name="remedies.json",
        sentences=result.sentences,
        target=result.target,
        before=result.before,
        quality_name=result.quality_name,
        quality_before=result.quality_before,
        remedies=[_row(each, result.target.limit) for each in result.remedies],
        chosen=None if first is None else first.name,
        moves=[] if moves is None else table_rows(moves)[:MOST_MOVES],
        n_moves=0 if moves is None else len(moves),
        random=first is not None and first.random,
        selected=result.selection.words,
        k=result.selection.k,
        level=result.level,
        not_tried=result.not_tried,
        commands=_commands(result),
        blind_only=result.blind_only,
    )


def _charts(result: Remedies) -> dict[str, dict[str, Any]]:
    if not result.remedies or not result.quality_name:
        return {}
    return {
        f"remedies{ending}": chart_for_page(plots.remedies(result, **size))
        for ending, size in SIZES.items()
    }


def _row(remedy: Remedy, limit: float) -> dict[str, Any]:
    """Return the numbers of a remedy as the template needs them."""
    row = remedy.to_dict()
    row["failing"] = [shorten(each, 40) for each in row["failing"]]
    row["target_words"] = value_words(remedy.target.value, [limit])
    row["loss_words"] = loss_words(remedy.loss.value)
    row["promised"] = _promised(remedy)
    row["parameter"] = f"{remedy.strength_name} = {remedy.strength:.4g}"
    return row


def _promised(remedy: Remedy) -> str:
    """Return what is promised for new lists, shortly; the sentences have it in full."""
    if remedy.promise is None:
        return ""
    if remedy.promise.strength is None:
        return "Not promised for new lists with this calibration part."
    sure = level_words(1.0 - remedy.promise.delta)
    setting = f"{remedy.strength_name} = {remedy.promise.strength:.4g}"
    return f"Promised for new lists with {setting} ({sure} confidence)."


def _commands(result: Remedies) -> list[tuple[str, str]]:
    """Return for each remedy the command, or the line of Python, that applies it."""
    given = result.provenance.command
    found = []
    for each in result.remedies:
        if given and given != NOT_GIVEN:
            words = shlex.split(given)
            while "--apply" in words:
                at = words.index("--apply")
                del words[at : at + 2]
            words += ["--apply", each.name, "--out", "new_order.csv"]
            found.append((each.name, shlex.join(words)))
        else:
            line = f"equirank.remedy(data, {result.target.text!r}).apply({each.name!r})"
            found.append((each.name, line))
    return found
