"""Read what a metric's page is made of: its notes, its docstring and its conformance vectors."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from equirank import allocation, metrics, preprocess
from equirank.core.docstrings import docstring_sections as sections
from equirank.core.metric_function import function_name
from equirank.core.registry import metric_names
from equirank.testing.conformance import load_vectors, vector_names

NOTES = Path(__file__).parents[1] / "metric_notes.toml"
#: The packages whose functions have a page.
PACKAGES = (metrics, allocation, preprocess)
FAMILIES = {
    "relevance": "Relevance",
    "cost": "Cost",
    "representation": "Representation in the first places",
    "pairs": "Pairs of two groups",
    "exposure and merit": "Exposure and merit",
    "fair division": "Fair division",
    "in-group": "Within a group",
    "individual": "Individuals",
    "representations": "Learnt representations",
}
#: A longer label does not fit on one line at 360 pixels.
LABEL = 50
LINK = re.compile(r"\{([a-z_]+)\}")


def metric_functions() -> list[str]:
    """List the functions that have a page: all public ones that no other page describes."""
    beside = {other for notes in read_notes().values() for other in notes.get("beside", ())}
    named = ((name, getattr(package, name)) for package in PACKAGES for name in package.__all__)
    return sorted(name for name, found in named if inspect.isfunction(found) and name not in beside)


def home_of(name: str) -> ModuleType:
    """Return the package that exports a function or class."""
    return next(package for package in PACKAGES if name in package.__all__)


def function_of(name: str) -> Callable[..., Any]:
    """Return a function that has a page."""
    found: Callable[..., Any] = getattr(home_of(name), name)
    return found


def is_metric(name: str) -> bool:
    """Return whether a public name is a metric class."""
    return name in metric_names()


def object_of(name: str) -> str | None:
    """Return the name of the class of a metric function, None if it has none."""
    return {function_name(kind): kind for kind in metric_names()}.get(name)


def title_of(name: str) -> str:
    """Return the name under which a metric is listed."""
    return object_of(name) or name


@cache
def read_notes() -> dict[str, dict[str, Any]]:
    """Read the notes of all metrics."""
    return tomllib.loads(NOTES.read_text(encoding="utf-8"))


def faults(name: str, notes: dict[str, Any]) -> list[str]:
    """Return what is wrong with the notes of a metric, one sentence each."""
    found = []
    if notes["family"] not in FAMILIES:
        words = ", ".join(FAMILIES)
        found.append(f"family of {name} must be one of {words}, got {notes['family']!r}")
    if "\n" in notes["formula"] or not notes["formula"]:
        found.append(f"formula of {name} must be one line of LaTeX")
    found += _length(name, "cannot_see", notes["cannot_see"], 120, 900)
    if not re.search(r"\.\s", notes["cannot_see"]):
        found.append(f"cannot_see of {name} must have at least two sentences")
    found += _length(name, "when", notes["when"], 80, 700)
    linked = set(LINK.findall(notes["cannot_see"] + notes["when"]))
    unknown = linked - set(metric_functions())
    if unknown:
        words = ", ".join(f"{{{word}}}" for word in sorted(unknown))
        found.append(f"cannot_see and when of {name} must link functions with a page, got {words}")
    if not linked - unknown - {name}:
        found.append(f"when of {name} must link another metric, such as {{recall}}")
    found += _length(name, "sentence", sentence(name, notes), 20, 160)
    for row in notes["picture"]["rows"]:
        if len(row["label"]) > LABEL:
            found.append(
                f"a label of {name} must have at most {LABEL} characters, got {row['label']!r}"
            )
    return found


def _length(name: str, key: str, text: str, least: int, most: int) -> list[str]:
    if least <= len(text) <= most:
        return []
    return [f"{key} of {name} must have {least} to {most} characters, got {len(text)}"]


def with_links(text: str) -> str:
    """Turn ``{ndcg}`` into a link to that page."""
    return LINK.sub(lambda found: f":doc:`{title_of(found[1])} <{found[1]}>`", text.strip())


def sentence(name: str, notes: dict[str, Any]) -> str:
    """Return the one sentence for a lay reader."""
    if "sentence" in notes:
        return str(notes["sentence"])
    return summary(sections(inspect.getdoc(getattr(home_of(name), title_of(name))) or ""))


def better(name: str, notes: dict[str, Any]) -> str:
    """Say which values are better."""
    if "better" in notes:
        return str(notes["better"])
    title = object_of(name)
    direction = getattr(metrics, title).direction if title else vectors(name)["direction"]
    return f"{direction} is better"


def lies_in(name: str, notes: dict[str, Any]) -> str:
    """Say between which bounds the values lie."""
    if "lies_in" in notes:
        return str(notes["lies_in"])
    title = object_of(name)
    low, high = getattr(metrics, title)().bounds if title else vectors(name)["bounds"]
    opening = "(-∞" if low in (None, float("-inf")) else f"[{low:g}"
    closing = "∞)" if high in (None, float("inf")) else f"{high:g}]"
    return f"{opening}, {closing}"


def vectors(name: str) -> dict[str, Any]:
    """Return the conformance vectors of a metric; empty if it has none."""
    return load_vectors(name) if name in vector_names() else {}


def join(parts: dict[str, list[str]]) -> list[str]:
    """Put a split docstring together again."""
    lines = list(parts.get("", []))
    for heading, text in parts.items():
        if heading:
            lines += [heading, "-" * len(heading), *text]
    return lines


def summary(parts: dict[str, list[str]]) -> str:
    """Return the first paragraph of a split docstring."""
    return " ".join("\n".join(parts[""]).strip().split("\n\n")[0].split())


def definition(parts: dict[str, list[str]]) -> str:
    """Return what follows the first paragraph, before the first heading."""
    return "\n".join(parts[""]).strip().partition("\n\n")[2].strip()


def references(parts: dict[str, list[str]]) -> list[str]:
    """Return the references, one that ends its line with a full stop after the other."""
    found, words = [], []
    for line in parts.get("References", []):
        words.append(line.strip())
        if line.rstrip().endswith("."):
            found.append(" ".join(words).strip())
            words = []
    rest = " ".join(words).strip()
    return [*found, *([rest] if rest else [])]
