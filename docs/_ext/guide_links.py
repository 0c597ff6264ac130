"""Links between guides and the reference, in both directions, found by name.

In a guide, the name of a public class in code font becomes a link to the page that describes it.
The page of a class or a metric lists the guides that use it most.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import equirank
from equirank.metrics import properties

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]
#: Generated pages, whose names are links already.
REFERENCE = ("api/", "gallery/", "metrics/")
#: Pages that mention most names and explain none.
LISTS = {
    *("adding", "changelog", "cheat_sheet", "choosing", "decisions", "explanation", "faq"),
    *("glossary", "how_to", "index", "neighbours", "overview", "project", "reference"),
}
MOST = 5
NAME = re.compile(r"(?:equirank\.(?:\w+\.)*)?([A-Z]\w+)(?:\.\w+)?(?:@\d+)?(?:\(.*\))?")
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.M | re.S)


@cache
def classes() -> dict[str, str]:
    """Return the full name of each public class by its short name."""
    members = (getattr(equirank, name) for name in equirank.__all__)
    modules = [properties, *(m for m in members if inspect.ismodule(m)), equirank]
    return {
        name: f"{module.__name__}.{name}"
        for module in modules
        for name in getattr(module, "__all__", ())
        if inspect.isclass(getattr(module, name))
    }


def target_of(code: str) -> str | None:
    """Return the full name of the class that a piece of code names, if it names one."""
    match = NAME.fullmatch(code)
    return classes().get(match[1]) if match else None


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Turn names of classes into links, except in headings and in what is a link already."""
    from docutils import nodes
    from sphinx.addnodes import pending_xref

    page = app.env.docname
    if page.startswith(REFERENCE):
        return
    for code in list(doctree.findall(nodes.literal)):
        target = target_of(code.astext())
        if target and not inside(code, (nodes.title, nodes.reference, pending_xref)):
            options = {"refdomain": "py", "reftype": "obj", "refexplicit": True, "refwarn": True}
            link = pending_xref("", reftarget=target, refdoc=page, **options)
            code.replace_self(link)
            link += code


def inside(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    """Return whether one of the nodes around a node is of these kinds."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False


@cache
def uses() -> dict[str, Counter[str]]:
    """Return how often the code of each guide names each public class."""
    found: dict[str, Counter[str]] = {}
    for path in sorted([*DOCS.glob("*.md"), *DOCS.glob("tutorials/*.md")]):
        page = path.relative_to(DOCS).with_suffix("").as_posix()
        if page not in LISTS:
            code = "\n".join(CODE.findall(path.read_text(encoding="utf-8")))
            for name, times in Counter(re.findall(r"\b[A-Z]\w+", code)).items():
                if name in classes():
                    found.setdefault(name, Counter())[page] = times
    return found


def guides(name: str) -> list[str]:
    """Return the line of a reference page that links to the guides that use a class most."""
    pages = [page for page, _ in uses().get(name, Counter()).most_common(MOST)]
    links = ", ".join(f":doc:`/{page}`" for page in pages)
    return [f"Guides: {links}.\n"] if pages else []


def setup(app: Sphinx) -> dict[str, bool]:
    """Hook into the build."""
    app.connect("doctree-read", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
