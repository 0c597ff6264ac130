"""Read what a metric's page is made of: its notes, its docstring and its conformance vectors."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from equirank import metrics
from equirank.core.metric import Metric

NOTES = Path(__file__).parents[1] / "metric_notes.toml"
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
LINK = re.compile(r"\{([a-z_]+)\}")


def metric_functions() -> list[str]:
    """List the metrics: the public functions that have a file of their own name."""
    named = ((name, getattr(metrics, name)) for name in metrics.__all__)
    return sorted(
        name
        for name, thing in named
        if inspect.isfunction(thing) and thing.__module__.rpartition(".")[2] == name
    )


def siblings(name: str) -> list[str]:
    """List the other public names that stand in the file of a metric, its object first."""
    module = getattr(metrics, name).__module__
    found = [
        other
        for other in metrics.__all__
        if other != name and getattr(getattr(metrics, other), "__module__", "") == module
    ]
    return sorted(found, key=lambda other: (not is_metric(other), other))


def is_metric(name: str) -> bool:
    """Return whether a public name is a metric object."""
    thing = getattr(metrics, name)
    return isinstance(thing, type) and issubclass(thing, Metric)


def object_of(name: str) -> str | None:
    """Return the name of the object of a metric function, None where it has none."""
    return next((other for other in siblings(name) if is_metric(other)), None)


def title_of(name: str) -> str:
    """Return the name under which a metric is listed."""
    return object_of(name) or name


def read_notes() -> dict[str, dict[str, Any]]:
    """Read the notes of all metrics."""
    return tomllib.loads(NOTES.read_text(encoding="utf-8"))


def with_links(text: str) -> str:
    """Turn ``{ndcg}`` into a link to that page."""
    return LINK.sub(lambda found: f":doc:`{title_of(found[1])} <{found[1]}>`", text.strip())


def sentence(name: str, notes: dict[str, Any]) -> str:
    """Return the one sentence for a lay reader."""
    if "sentence" in notes:
        return str(notes["sentence"])
    return summary(sections(inspect.getdoc(getattr(metrics, title_of(name))) or ""))


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
    """Read the conformance vectors of a metric; empty where there are none."""
    path = files("equirank.metrics") / "vectors" / f"{name}.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def sections(docstring: str) -> dict[str, list[str]]:
    """Split a numpydoc docstring at its underlined headings; what stands before is under ``""``."""
    found: dict[str, list[str]] = {"": []}
    at = ""
    lines = docstring.splitlines()
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if line and re.fullmatch("-{3,}", below) and len(below) == len(line):
            at = line
            found[at] = []
        elif not (re.fullmatch("-{3,}", line) and not found[at] and at):
            found[at].append(line)
    return found


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
