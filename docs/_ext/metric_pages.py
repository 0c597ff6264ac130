"""Write a page per metric, from the public list.

Nothing here names a metric: whatever stands in ``equirank/metrics/__init__.pyi`` gets a page, made
of its docstring, its picture and its notes in ``docs/metric_notes.toml``.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import property_tables
from guide_links import guides
from metric_notes import (
    FAMILIES,
    better,
    definition,
    faults,
    function_of,
    home_of,
    is_metric,
    join,
    lies_in,
    metric_functions,
    object_of,
    read_notes,
    references,
    sections,
    sentence,
    summary,
    title_of,
    vectors,
    with_links,
)
from metric_pictures import draw

from equirank import metrics
from equirank.core.registry import parse_metric

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NEEDS = {"sensitive": "sensitive attributes", "cost": "costs", "score": "scores"}
INPUTS = {
    "Z": "a representation",
    "attention": "the attention of places",
    "metric": "a metric",
    "others": "other policies",
    "policy": "a policy (user by item by place)",
    "relevance": "relevance (user by item)",
    "sensitive_features": "sensitive attributes",
    "window": "the size of the window",
    "y_score": "scores",
    "y_true": "relevance",
}


def write_pages(app: Sphinx) -> None:
    """Write the folder ``metrics`` beside the other pages."""
    here = Path(app.srcdir)
    write_folder(here / "metrics", metric_files(here))


def metric_files(here: Path) -> dict[str, str]:
    """Return the text of every metric's page and of their index, by file name."""
    notes = read_notes()
    names = metric_functions()
    missing = sorted(set(names) - set(notes))
    if missing:
        raise ValueError(
            f"docs/metric_notes.toml has nothing on {', '.join(missing)}: add a table with its "
            "family, formula, cannot_see, when and picture, as the head of that file says, or name "
            "it under beside of the metric whose page describes it"
        )
    wrong = [fault for name in names for fault in faults(name, notes[name])]
    if wrong:
        raise ValueError(f"docs/metric_notes.toml: {'; '.join(wrong)}")
    pages = {f"{name}.rst": metric_page(name, notes[name], here) for name in names}
    return pages | {"index.rst": metric_index({name: notes[name] for name in names})}


def metric_index(notes: dict[str, dict[str, Any]]) -> str:
    """Return the list of all metrics by family, with one sentence each."""
    parts = [
        heading("Metrics", "="),
        "One sentence each; the page of a metric has its formula, a picture, what it cannot see",
        "and when to use it. No single number sees every harm: take one of relevance and at least",
        "one of fairness, from families that see different things. A group metric sees the",
        "attribute it is given: cross several, as in ``by=('sex', 'race')``, to see subgroups.",
        "Metrics that use relevance or merit trust it: a bias in the labels stays unseen.\n",
    ]
    for family, words in FAMILIES.items():
        names = sorted((name for name in notes if notes[name]["family"] == family), key=str.lower)
        parts.append(heading(words, "-"))
        parts += [
            f":doc:`{title_of(name)} <{name}>`\n   {sentence(name, notes[name])}" for name in names
        ]
        parts.append(f"\n.. toctree::\n   :hidden:\n   :caption: {words}\n")
        parts += [f"   {title_of(name)} <{name}>" for name in names]
        parts.append("")
    return "\n".join(parts)


def metric_page(name: str, notes: dict[str, Any], here: Path) -> str:
    """Return one metric's page."""
    title = title_of(name)
    doc = sections(inspect.getdoc(getattr(home_of(name), title)) or "")
    picture = notes["picture"]
    svg = draw(name, picture, picture.get("better", better(name, notes)))
    parts = [
        heading(title, "="),
        f".. currentmodule:: {home_of(name).__name__}\n",
        sentence(name, notes) + "\n",
        ".. raw:: html\n",
        indent(f'<figure style="margin:1.5rem 0">\n{svg}</figure>') + "\n",
        caption(picture) + "\n",
        heading("Definition", "-"),
        f".. math:: {notes['formula']}\n",
        definition(doc) + "\n",
        heading("What it cannot see", "-"),
        with_links(notes["cannot_see"]) + "\n",
        heading("When to use it", "-"),
        with_links(notes["when"]) + "\n",
        heading("In short", "-"),
        *facts(name, notes),
        *(guides(object_of(name)) if object_of(name) else []),
        *spellings(name, notes),
        heading("Reference", "-"),
        *(f"* {reference}" for reference in references(doc)),
        "",
        *conformance(name, here),
    ]
    return "\n".join(parts)


def caption(picture: dict[str, Any]) -> str:
    """Say how to read the picture."""
    order = ", from best to worst," if picture.get("ordered", True) else ""
    words = [f"Each row is an example{order} with the value the library gives it."]
    if any(row.get("blind") for row in picture["rows"]):
        words.append("A row in italics has the same value as the one above it:")
        words.append("that is something the metric misses.")
    return " ".join(words)


def facts(name: str, notes: dict[str, Any]) -> list[str]:
    """Say which values are better, where they lie, what is needed and which options there are."""
    title = object_of(name)
    taken = inspect.signature(function_of(name)).parameters.values()
    if title:
        metric = parse_metric(title)
        needs = [NEEDS.get(need, need) for need in sorted(metric.needs)]
        options = [f"``{option}={getattr(metric, option)!r}``" for option in metric.options()]
    else:
        needs = [INPUTS.get(p.name, p.name) for p in taken if p.default is p.empty]
        options = [f"``{p.name}={p.default!r}``" for p in taken if p.default is not p.empty]
    return [
        f":Direction: {better(name, notes)}",
        f":Lies in: {lies_in(name, notes)}",
        f":Needs: {', '.join(needs) or 'nothing but the order'}",
        f":Options: {', '.join(options) or 'none'}",
        "",
    ]


def spellings(name: str, notes: dict[str, Any]) -> list[str]:
    """Describe the class with its string, the function, and what the notes name beside them."""
    title = object_of(name)
    parts = []
    if title:
        word = f"{title}@10" if getattr(metrics, title).takes_k else title
        parts += [
            heading("As an object", "-"),
            f'In Python ``evaluate(data, "{word}")`` or ``{word}``'
            f'{"" if "@" in word else "()"}, on the command line ``--metrics "{word}"``.\n',
            f".. autoclass:: equirank.metrics.{title}",
            *own_methods(title),
            "",
        ]
    package = home_of(name).__name__
    parts += [heading("On arrays", "-"), f".. autofunction:: {package}.{name}\n"]
    others = notes.get("beside", [])
    parts += [heading("Beside it", "-")] if others else []
    return parts + [f".. autofunction:: {package}.{other}\n" for other in others]


def own_methods(title: str) -> list[str]:
    """Name the public methods that a metric has and its bases have not."""
    kind = getattr(metrics, title)
    own = [
        name
        for name, member in vars(kind).items()
        if inspect.isfunction(member)
        and not name.startswith("_")
        and not any(hasattr(base, name) for base in kind.__mro__[1:])
    ]
    return [f"   :members: {', '.join(own)}"] if own else []


def conformance(name: str, here: Path) -> list[str]:
    """Point to the conformance vectors of a metric, where there are any."""
    found = vectors(name)
    if not found:
        return []
    page = " See :doc:`/conformance`." if (here / "conformance.md").exists() else ""
    return [
        heading("Conformance", "-"),
        f"``vectors/{name}.json`` holds {len(found['cases'])} cases with exact values, to check "
        f"this or any other library.{page}\n",
    ]


def trim(app: Sphinx, what: str, name: str, member: Any, options: Any, lines: list[str]) -> None:
    """Leave out of a metric's docstring what its page says elsewhere."""
    package, _, short = name.rpartition(".")
    function = short in metric_functions() and package == home_of(short).__name__
    if not (function or (is_metric(short) and package == metrics.__name__)):
        return
    parts = sections("\n".join(lines))
    parts.pop("References", None)
    parts[""] = [summary(parts), ""] if function else []
    if function and object_of(short):
        parts.pop("Examples", None)
    lines[:] = join(parts)


def heading(text: str, line: str) -> str:
    """Return an underlined heading."""
    return f"{text}\n{line * len(text)}\n"


def indent(text: str) -> str:
    """Return a text moved to the right, as a directive wants it."""
    return "\n".join(f"   {line}" for line in text.splitlines())


def write_folder(folder: Path, files: dict[str, str]) -> None:
    """Make the folder hold just these files, and touch none that is already right."""
    folder.mkdir(exist_ok=True)
    for stale in set(folder.glob("*.rst")) - {folder / name for name in files}:
        stale.unlink()
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Hook into the build: pages are written before Sphinx looks for them."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", property_tables.fill)
    app.connect("autodoc-process-docstring", trim, priority=100)  # before numpydoc reads it
    return {"parallel_read_safe": True, "parallel_write_safe": True}
