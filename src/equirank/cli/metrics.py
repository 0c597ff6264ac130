"""``equirank metrics``: list the metrics."""

import math
from typing import Any

from .console import JsonOption, errors_in_one_line, show_table, write_json

__all__ = ["metrics"]


def metrics(json: JsonOption = None) -> None:
    """List the metrics: name, better direction, required data and options.

    --metrics of `equirank evaluate` takes these names, with options in brackets and a cutoff
    after @: NDCG@10, RND(step=5)@50, ExposureGap(by="sex").

    --json lists objects with name, direction, bounds (null if unbounded), needs, options with
    their defaults, by_group (whether --by splits it) and summary.
    """
    with errors_in_one_line():
        from ..core.table import Table

        rows = _rows()
        if json is not None:
            from json import dumps

            write_json(json, dumps(rows, ensure_ascii=False, allow_nan=False))
        if json != "-":
            show_table(
                Table({head: [_words(row[key]) for row in rows] for key, head in _HEADS.items()})
            )


_HEADS = {
    "name": "name",
    "direction": "better",
    "needs": "needs",
    "options": "options",
    "summary": "summary",
}


def _rows() -> list[dict[str, Any]]:
    """Return a description of each metric for JSON."""
    from dataclasses import fields

    from .. import metrics as package
    from ..core.registry import metric_names

    rows = []
    for name in metric_names():
        kind = getattr(package, name)
        defaults = {field.name: field.default for field in fields(kind)}
        rows.append(
            {
                "name": name,
                "direction": kind.direction,
                "bounds": [bound if math.isfinite(bound) else None for bound in kind().bounds],
                "needs": sorted(kind.needs),
                "options": {option: defaults[option] for option in kind.options()},
                "by_group": kind.additive,
                "summary": kind.summary(),
            }
        )
    return rows


def _words(value: Any) -> str:
    return value if isinstance(value, str) else ", ".join(map(str, value))
