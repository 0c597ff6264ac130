"""Write the signatures of the metric functions for editors and type checkers.

Run by ``make generate``: reads the metric classes of the public list
``equirank/metrics/__init__.pyi``, adds a line for each of their functions to it, and writes
``equirank/metrics/functions.pyi``.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from equirank import metrics
from equirank.core.metric import Metric
from equirank.core.metric_function import function_name, metric_function

FOLDER = Path(metrics.__file__).parent
HEAD = '''"""Signatures of the metric functions, written by docs/_ext/metric_stubs.py."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

# ruff: noqa: E501
# fmt: off
'''


def stub_files() -> dict[Path, str]:
    """Return the text of both files."""
    listing = FOLDER / "__init__.pyi"
    imports = _imports(listing.read_text(encoding="utf-8"))
    written = {name for module, name, _ in imports if module != ".functions"}
    classes = [getattr(metrics, name) for _, name, _ in imports if name[0].isupper()]
    derived = {
        function_name(kind.__name__): kind
        for kind in classes
        if issubclass(kind, Metric) and function_name(kind.__name__) not in written
    }
    lines = [entry for entry in imports if entry[0] != ".functions"]
    lines += [(".functions", n, f"from .functions import {n} as {n}") for n in sorted(derived)]
    head = ast.get_docstring(ast.parse(listing.read_text(encoding="utf-8")))
    body = "\n".join(text for _, _, text in sorted(lines, key=lambda entry: entry[0]))
    functions = [signature_text(name, derived[name]) for name in sorted(derived)]
    return {
        listing: f'"""{head}"""\n\n{body}\n',
        FOLDER / "functions.pyi": "".join([HEAD, *functions]),
    }


def _imports(text: str) -> list[tuple[str, str, str]]:
    """Return the module, the name and the source of each import of a public list."""
    return [
        (
            "." * node.level + str(node.module),
            node.names[0].name,
            ast.get_source_segment(text, node),
        )
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom)
    ]


def signature_text(name: str, kind: type[Metric]) -> str:
    """Return the definition of a metric function as it is written in a stub."""
    function = metric_function(kind, "equirank.metrics.functions")
    text = re.sub(r"\b(typing|collections\.abc)\.", "", str(inspect.signature(function)))
    return f"def {name}{text}: ...\n".replace("numpy.", "np.").replace("'", '"')


if __name__ == "__main__":
    for path, text in stub_files().items():
        path.write_text(text, encoding="utf-8")
