"""Write a page per metric and a page per public module, from the public lists.

Nothing here names a metric: whatever stands in ``equirank/metrics/__init__.pyi`` gets a page,
and whatever stands in the other public lists stands in the reference.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

import equirank
from equirank import metrics
from equirank.core.names import metric_names, parse_metric

FAMILIES = {
    "relevance": "Relevance",
    "cost": "Costs",
    "fairness": "Fairness",
    "properties": "Properties",
}
NEEDS = {"sensitive": "sensitive attributes", "cost": "costs"}


def write_pages(app: Sphinx) -> None:
    """Write the folders ``metrics`` and ``api`` beside the other pages."""
    here = Path(app.srcdir)
    write_folder(here / "metrics", metric_files())
    write_folder(here / "api", reference_files())


def metric_files() -> dict[str, str]:
    """Return the text of every metric's page and of their index, by file name."""
    files, families = {}, defaultdict(list)
    for name in metric_names():
        kind = class_of(getattr(metrics, name))
        *_, family, function = kind.__module__.split(".")
        files[f"{function}.rst"] = metric_page(name, function)
        families[family].append(function)
    parts = [heading("Metrics", "=")]
    for family in sorted(families, key=list(FAMILIES).index):
        names = sorted(families[family])
        parts += [heading(FAMILIES[family], "-"), toctree(names)]
    files["index.rst"] = "\n".join(parts)
    return files


def metric_page(name: str, function: str) -> str:
    """Return one metric's page: its facts, its object with the formula, its plain function."""
    metric = parse_metric(name)
    low, high = metric.bounds
    needs = [NEEDS.get(need, need) for need in sorted(metric.needs)]
    facts = [
        f":Better: {metric.direction}",
        f":Lies in: [{low:g}, {high:g}]",
        f":Needs: {', '.join(needs) or 'nothing but the order'}",
    ]
    return "\n".join(
        [
            heading(name, "="),
            *facts,
            "",
            heading("As an object", "-"),
            f".. autoclass:: equirank.metrics.{name}\n",
            heading("On arrays", "-"),
            f".. autofunction:: equirank.metrics.{function}\n",
        ]
    )


def reference_files() -> dict[str, str]:
    """Return the text of the reference, one page for each public module."""
    modules = [equirank, *public_modules(equirank)]
    files = {
        f"{module.__name__}.rst": reference_page(module) for module in modules if module != metrics
    }
    files["index.rst"] = "\n".join([heading("Reference", "="), toctree(sorted(files))])
    return files


def reference_page(module: ModuleType) -> str:
    """Return one module's page: its public names in alphabetical order, classes first."""
    parts = [heading(module.__name__, "="), (module.__doc__ or "").strip(), ""]
    members = {
        name: getattr(module, name) for name in sorted(module.__all__) if not name.startswith("_")
    }
    for name, member in members.items():
        if module is not equirank and members_home(name) is equirank:
            parts.append(f"* :py:obj:`equirank.{name}`\n")
        elif inspect.isclass(member):
            parts += [f".. autoclass:: {module.__name__}.{name}", "   :members:", ""]
        elif callable(member):
            parts.append(f".. autofunction:: {module.__name__}.{name}\n")
    return "\n".join(parts)


def members_home(name: str) -> ModuleType | None:
    """Return the top module where it exports the name, so that nothing is described twice."""
    return equirank if name in equirank.__all__ else None


def public_modules(package: ModuleType) -> list[ModuleType]:
    """Return the public modules of a package that have a public list."""
    members = (getattr(package, name) for name in package.__all__ if not name.startswith("_"))
    return [member for member in members if inspect.ismodule(member) and hasattr(member, "__all__")]


def class_of(metric: Any) -> type:
    """Return the class of a metric's public name, be it a class or a ready object."""
    return metric if isinstance(metric, type) else type(metric)


def heading(text: str, line: str) -> str:
    """Return an underlined heading."""
    return f"{text}\n{line * len(text)}\n"


def toctree(names: list[str]) -> str:
    """Return a table of contents."""
    entries = "\n".join(f"   {name.removesuffix('.rst')}" for name in names)
    return f".. toctree::\n   :maxdepth: 1\n\n{entries}\n"


def write_folder(folder: Path, files: dict[str, str]) -> None:
    """Make the folder hold just these files, and touch none that is already right."""
    folder.mkdir(exist_ok=True)
    for stale in set(folder.glob("*.rst")) - {folder / name for name in files}:
        stale.unlink()
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def leave_out(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool:
    """Leave out the methods scikit-learn adds to classes: their text links to its own pages."""
    return skip or (name.startswith("set_") and name.endswith("_request"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Hook into the build: pages are written before Sphinx looks for them."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-skip-member", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
