"""Write the reference from the public lists: a page per module with a table, a page per class.

Nothing here names a class. A page describes a class with every method that a user calls, inherited
ones too; what scikit-learn adds for its own use is left out.
"""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from guide_links import guides
from metric_notes import PACKAGES, metric_functions, read_notes
from metric_pages import heading, write_folder

import equirank
from equirank import metrics
from equirank.core.registry import metric_names
from equirank.metrics import properties

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: Methods of scikit-learn and of Python that users call.
ELSEWHERE = {"fit_transform", "get_params", "set_params"}
#: Methods that authors of classes override and the library calls. The classes to inherit from,
#: which the top module exports, describe them.
FOR_AUTHORS = {
    "bin_features",
    "bin_params",
    "categorical_columns",
    "check",
    "check_declared",
    "current_needs",
    "dtype",
    "encoding",
    "file_params",
    "fill",
    "finish",
    "get_metadata_routing",
    "grow",
    "is_prefit",
    "lightgbm_params",
    "plan",
    "prepare",
    "problem",
    "refuse_categories",
    "refuse_undefined",
    "seed",
    "visible",
}
KINDS = ("Classes", "Functions")


def write_pages(app: Sphinx) -> None:
    """Write the folder ``api`` beside the other pages."""
    write_folder(Path(app.srcdir) / "api", reference_files())


def reference_files() -> dict[str, str]:
    """Return the text of the reference by file name."""
    modules = [equirank, *public_modules(equirank), properties]
    files = {"index.rst": index_page(modules)}
    for module in modules:
        files[f"{module.__name__}.rst"] = module_page(module)
        files |= {
            f"{module.__name__}.{name}.rst": class_page(module, name)
            for name in own_names(module)
            if has_page(module, name)
        }
    return files


def index_page(modules: list[ModuleType]) -> str:
    """Return the list of modules with the first sentence of each."""
    rows = [(f":doc:`{m.__name__} <{m.__name__}>`", first_sentence(m)) for m in modules]
    entries = [f"   {module.__name__}" for module in modules]
    table = summary_table(rows)
    contents = [".. toctree::", "   :hidden:", "", *entries, ""]
    return "\n".join([heading("Modules and classes", "="), *table, *contents])


def module_page(module: ModuleType) -> str:
    """Return a module's page: a table of all names, then its functions."""
    parts = [heading(module.__name__, "="), (module.__doc__ or "").strip(), ""]
    names = own_names(module)
    tables: dict[str, list[tuple[str, str]]] = {kind: [] for kind in KINDS}
    for name in names:
        member = getattr(module, name)
        kind = KINDS[0] if inspect.isclass(member) else KINDS[1]
        tables[kind].append((link_to(module, name), first_sentence(member)))
    for kind, rows in tables.items():
        parts += [heading(kind, "-"), *summary_table(rows)] if rows else []
    pages = [f"   {name} <{module.__name__}.{name}>" for name in names if has_page(module, name)]
    parts += [".. toctree::", "   :hidden:", "", *pages, ""] if pages else []
    here = [name for name in names if is_described_here(module, name)]
    parts += [heading("Functions in full", "-")] if here else []
    parts += [f".. autofunction:: {module.__name__}.{name}\n" for name in here]
    return "\n".join(parts)


def class_page(module: ModuleType, name: str) -> str:
    """Return a class's page: its own text and every method that users call."""
    member = getattr(module, name)
    hidden = FOR_AUTHORS if module is not equirank else set()
    methods = ", ".join(name for name in called_methods(member) if name not in hidden)
    return "\n".join(
        [
            heading(name, "="),
            f"In :doc:`{module.__name__} <{module.__name__}>`.\n",
            *guides(name),
            f".. autoclass:: {module.__name__}.{name}",
            *([f"   :members: {methods}"] if methods else []),
            "",
        ]
    )


def called_methods(kind: type) -> list[str]:
    """Name the public methods and properties of a class that users call, inherited ones too."""

    def called(name: str) -> bool:
        owner = next(base for base in kind.__mro__ if name in vars(base))
        member = vars(owner)[name]
        if isinstance(member, classmethod | staticmethod):
            member = member.__func__
        described = callable(member) or inspect.isdatadescriptor(member)
        ours = owner.__module__.startswith("equirank.") and not name.endswith("_request")
        return described and bool(inspect.getdoc(member)) and (ours or name in ELSEWHERE)

    defined = {name for base in kind.__mro__ for name in vars(base)}
    return [name for name in sorted(defined) if name[0] != "_" and called(name)]


def has_page(module: ModuleType, name: str) -> bool:
    """Return whether a name has a page of its own in the reference."""
    member = getattr(module, name)
    if name_of_top(module, name) or (module is metrics and name in metric_names()):
        return False
    return inspect.isclass(member)


def is_described_here(module: ModuleType, name: str) -> bool:
    """Return whether a function is described on its module's page."""
    elsewhere = name_of_top(module, name) or (module in PACKAGES and name in on_metric_pages())
    return not (elsewhere or inspect.isclass(getattr(module, name)))


@cache
def on_metric_pages() -> frozenset[str]:
    """Return the functions that the pages of metrics describe."""
    beside = (other for notes in read_notes().values() for other in notes.get("beside", ()))
    return frozenset([*metric_functions(), *beside])


def name_of_top(module: ModuleType, name: str) -> bool:
    """Return whether the top module exports a name, so that nothing is described twice."""
    return module is not equirank and name in equirank.__all__


def link_to(module: ModuleType, name: str) -> str:
    """Return a link to where a name is described."""
    if module in PACKAGES and name in metric_functions():
        return f":doc:`{name} </metrics/{name}>`"
    home = "equirank" if name_of_top(module, name) else module.__name__
    return f":py:obj:`{name} <{home}.{name}>`"


def own_names(module: ModuleType) -> list[str]:
    """List the public classes and functions of a module, in alphabetical order."""
    names = (name for name in sorted(module.__all__, key=str.lower) if name[0] != "_")
    return [name for name in names if callable(getattr(module, name))]


def first_sentence(member: Any) -> str:
    """Return the first sentence of a docstring."""
    first = (inspect.getdoc(member) or "").split("\n\n")[0]
    return " ".join(first.split())


def summary_table(rows: list[tuple[str, str]]) -> list[str]:
    """Return a table of links and sentences."""
    lines = [".. list-table::", "   :widths: 30 70", ""]
    for link, words in rows:
        lines += [f"   * - {link}", f"     - {words}"]
    return [*lines, ""]


def public_modules(package: ModuleType) -> list[ModuleType]:
    """Return the public modules of a package that have a public list."""
    members = (getattr(package, name) for name in package.__all__ if not name.startswith("_"))
    return [member for member in members if inspect.ismodule(member) and hasattr(member, "__all__")]


def leave_out(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool:
    """Leave out the methods scikit-learn adds to classes: their text links to its own pages."""
    return skip or (name.startswith("set_") and name.endswith("_request"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Hook into the build: pages are written before Sphinx looks for them."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-skip-member", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
