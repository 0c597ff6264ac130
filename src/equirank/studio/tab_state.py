"""What a tab shows of its file: steps and what they lack, columns by the recipe, the first list."""

from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Any

from .answers import STEPS, FileFacts, FirstList, LabelFacts, Offer, Step, Upload
from .persons import person_row
from .uploads import column_roles, counted_words

if TYPE_CHECKING:
    from ..recipes.recipe import Recipe
    from ..recipes.recipe_run import RecipeRun

__all__ = ["NO_FILE", "file_facts", "first_list", "steps"]

TITLES = {"load": "Load", "columns": "Columns", "findings": "Findings", "remedy": "Remedy",
          "report": "Report"}  # fmt: skip
NO_FILE = "Open a file first."
NO_ORDER = "Name the column of the score or the position."
#: People of the first list.
MOST_FIRST = 10


def steps(recipe: "Recipe", has_file: bool) -> list[Step]:
    """Return the steps of the path, and what a locked one lacks."""
    lacks = dict.fromkeys(STEPS, "")
    table, rule = recipe.data, recipe.audit
    if not has_file:
        lacks |= dict.fromkeys(STEPS[1:], NO_FILE)
    else:
        needed = []
        if not table.get("sensitive"):
            needed.append("the group to look at")
        order = "score" in table or "position" in table
        if not order and not (rule.get("selected") or rule.get("stages")):
            needed.append("the score or the position")
        words = f"Name the column of {' and of '.join(needed)}." if needed else ""
        lacks |= dict.fromkeys(STEPS[2:], words)
        if not words and not order:
            lacks["remedy"] = NO_ORDER
    return [Step(key=key, title=TITLES[key], missing=lacks[key]) for key in STEPS]


def file_facts(
    upload: Upload, recipe: "Recipe", settled: Set[str], lists: int | None = None
) -> FileFacts:
    """Return the facts of a file, with what its columns are by the recipe.

    ``settled`` are the columns that the user has set; ``lists`` is the number of lists, if they
    are read.
    """
    facts, table = upload.facts, recipe.data
    roles = column_roles(table)
    columns: list[Any] = []
    for column in facts["columns"]:
        name = column["name"]
        role = roles.get(name, column["role"] if name not in settled else "unused")
        named = table.get("labels", {}).get(name, {})
        banded = name in table.get("bands", {})
        labels = [] if banded else _labels(column["labels"], named, name, recipe.shown)
        offers = [
            offer for offer in column["offers"] if _open(offer, name, role, banded, set(named))
        ]
        columns.append({**column, "role": role, "labels": labels, "offers": offers})
    known = facts["lists"] if lists is None else lists
    words = counted_words(facts["name"], facts["rows"], known or 1, upload.example)
    return {**facts, "columns": columns, "lists": known, "words": words}


def _labels(
    given: list[LabelFacts], named: Mapping[str, str], column: str, shown: Mapping[str, str]
) -> list[LabelFacts]:
    """Return the labels of a column after merging, with the names shown for them."""
    rows: dict[str, int] = {}
    for each in given:
        label = named.get(each["label"], each["label"])
        if label:
            rows[label] = rows.get(label, 0) + each["rows"]
    return [
        LabelFacts(label=label, rows=n, shown=shown.get(f"{column}={label}", ""))
        for label, n in rows.items()
    ]


def _open(offer: Offer, name: str, role: str, banded: bool, named: Set[str]) -> bool:
    """Return whether an offer is not yet taken, and about a column that may be a group."""
    data = offer["patch"].get("data", {})
    if "bands" in data:
        return not banded
    return role in ("sensitive", "ask") and not set(data["labels"][name]) & named


def first_list(run: "RecipeRun") -> FirstList:
    """Return the first list as read, with its first people."""
    size = int(run.data.offsets[1])
    rows = run.given.slots().order[:size][:MOST_FIRST]
    return FirstList(
        list=str(run.data.qids[0]), size=size, people=[person_row(run, int(row)) for row in rows]
    )
