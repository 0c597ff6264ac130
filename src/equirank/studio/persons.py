"""People of the lists: pages of them, and why one has its position."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .answers import PAGE, STUDIO, ExplainAnswer, PeoplePage, PersonRow, StudioError
from .findings import plain_number

if TYPE_CHECKING:
    from ..recipes.recipe_run import RecipeRun
    from ..recipes.remedy_settings import Tried
    from ..rerankers.reranking import Reranking

__all__ = ["explained", "people_page", "person", "person_row", "row_of"]


def person(data: Any, row: int) -> str:
    """Return the id of a stored row, or its row in the file, counted from 1."""
    if data.ids is not None:
        return str(data.ids[row])
    return str((row if data.rows is None else int(data.rows[row])) + 1)


def person_row(run: "RecipeRun", row: int, result: "Reranking | None" = None) -> PersonRow:
    """Return a person of the given order, and the position after a remedy."""
    data, score = run.data, run.data.score
    sign = 1.0 if run.recipe.data.get("higher_first", True) else -1.0
    query = int(np.searchsorted(data.offsets, row, side="right")) - 1
    place = run.given.position[row] if result is None else result.places_before[row]
    shown = run.shown_names()
    found = PersonRow(
        list=str(data.qids[query]),
        person=person(data, row),
        position=int(place),
        score=None if score is None else plain_number(sign * float(score[row])),
        groups={
            name: shown.get(name, {}).get(label := _label(each, row), label)
            for name, each in data.sensitive.items()
        },
        selected=bool(0 < place <= run.k),
    )
    if result is not None:
        found["new_position"] = int(result.places[row])
    return found


def _label(attribute: Any, row: int) -> str:
    code = int(attribute.codes[row])
    return "unknown" if code < 0 else str(attribute.categories[code])


def _rows_of(run: "RecipeRun", name: str | None) -> np.ndarray:
    """Return the rows of a list, or all, in the given order."""
    data, order = run.data, run.given.slots().order
    if name is None:
        return np.asarray(order)
    known = [str(each) for each in data.qids.tolist()]
    if name not in known:
        raise StudioError("missing", f"There is no list {name!r}.", {"list": name})
    at = known.index(name)
    return np.asarray(order[int(data.offsets[at]) : int(data.offsets[at + 1])])


def row_of(run: "RecipeRun", wanted: str, name: str | None) -> int:
    """Return the stored row of a person, in a list or in any."""
    for row in _rows_of(run, name).tolist():
        if person(run.data, row) == wanted:
            return int(row)
    where = f" in list {name!r}" if name is not None else ""
    raise StudioError("missing", f"There is no person {wanted!r}{where}.")


def people_page(
    run: "RecipeRun", name: str | None, after: int, find: str, result: "Reranking | None"
) -> PeoplePage:
    """Return 100 people of a list, or of all, whose id contains a text."""
    rows = _rows_of(run, name)
    if find:
        word = find.casefold()
        kept = [row for row in rows.tolist() if word in person(run.data, row).casefold()]
        rows = np.array(kept, dtype=np.int64)
    first = max(after, 0)
    page = rows[first : first + PAGE]
    last = first + len(page)
    return PeoplePage(
        studio=STUDIO,
        list=name or "",
        total=len(rows),
        people=[person_row(run, int(row), result) for row in page],
        next=last if last < len(rows) else None,
    )


def explained(run: "RecipeRun", tried: "Tried", row: int, name: str) -> ExplainAnswer:
    """Return why a person has its position after a setting."""
    data = run.data
    query = int(np.searchsorted(data.offsets, row, side="right")) - 1
    own = data.qids[query : query + 1].tolist()[0]
    item: Any = row if data.rows is None else int(data.rows[row])
    if data.ids is not None:
        item = data.ids[row : row + 1].tolist()[0]
    by = str(tried.result.by or next(iter(data.sensitive)))
    found = tried.result.explain(
        item, own, shown=run.shown_names().get(by, {}), lower_first=tried.sign < 0
    )
    return ExplainAnswer(
        studio=STUDIO,
        person=name,
        list=str(own),
        sentences=list(found.sentences),
        facts=_plain_facts(found.facts),
    )


def _plain_facts(value: Any) -> Any:
    """Return facts for JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain_facts(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_facts(each) for each in value]
    value = plain_number(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
