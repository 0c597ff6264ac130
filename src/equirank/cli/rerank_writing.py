"""Writing a new order to a file: another name first, then renamed."""

import csv
import io
import os
from typing import TYPE_CHECKING

from .failing import CommandError

if TYPE_CHECKING:
    from ..rerankers.reranking import Reranking

__all__ = ["write_order"]


def write_order(path: str, result: "Reranking") -> None:
    """Write query, row, id, groups, score, from and position, list by list in the new order.

    Rows that are not shown come last in their list, in their old order.
    """
    import numpy as np

    from ..datasets.opening import replacing

    name = os.path.basename(path).lower().removesuffix(".gz")
    if not name.endswith((".csv", ".tsv", ".tab")):
        raise CommandError(f"--out must end in .csv or .tsv (.gz may follow), got {path!r}")
    data = result.data
    query = data.query_of_rows()
    last = np.where(result.places > 0, result.places, data.n_rows + 1)
    order = np.lexsort((result.places_before, last, query))
    columns = {"query": data.qids[query], "row": np.arange(data.n_rows)}
    if data.rows is not None:
        columns["row"] = data.rows
    if data.ids is not None:
        columns["id"] = data.ids
    for attribute, known in data.sensitive.items():
        names = np.empty(len(known.categories), dtype=object)
        names[:] = known.categories
        columns[attribute] = names[known.codes]
    if data.y is not None:
        columns["relevance"] = data.y
    score = None if result.before is None else result.before.data.score
    if score is not None:
        columns["score"] = score
    columns |= {"from": result.places_before, "position": result.places}
    cells = [values[order].tolist() for values in columns.values()]
    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if name.endswith(".csv") else "\t", lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*cells, strict=True))
    try:
        with replacing(path) as file:
            file.write(text.getvalue().encode("utf-8"))
    except OSError as error:
        raise CommandError(f"{path}: cannot be written: {error.strerror}") from None
