"""The examples in the docstrings of public names, each value at full precision."""

import ast
import doctest
import importlib
import inspect
import io
import re
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import equirank
from equirank.core.registry import public_names

from .compare import Difference, differences, plain

ROOT = Path(equirank.__file__).parent
#: Not installed by `make test`, and of results that depend on the machine.
LEFT_OUT = ("torch", "xgboost", "catboost")
LACKING = re.compile(
    r"\b(torch|xgboost|catboost)\b.* (is not installed|failed)|No module named '(torch|xgboost)",
    re.S,
)


class _Hidden:
    """A finder of modules that finds none of the packages that are left out."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in LEFT_OUT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def public_calls():
    """Return the public names with examples: "metrics.NDCG", "audit"."""
    found = {}
    for stub in sorted(ROOT.rglob("__init__.pyi")):
        package = ".".join(stub.parent.relative_to(ROOT).parts)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    found[f"{package}.{alias.asname or alias.name}".lstrip(".")] = package
    found |= {f"costs.{name}": "costs" for name in public_names("equirank.costs")}
    return [name for name, package in found.items() if _tests(name, package)]


def _thing(name):
    package, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"equirank.{package}".rstrip(".")), last)


def _tests(name, package=""):
    """Return the docstrings with examples of a public name, and of its methods."""
    thing = _thing(name)
    if inspect.ismodule(thing):
        return []
    tests = doctest.DocTestFinder(recurse=True).find(thing, name.rpartition(".")[2])
    return [test for test in tests if test.examples]


def stored(name):
    """Return the sources of the examples of a name, and their values."""
    if not any(isinstance(each, _Hidden) for each in sys.meta_path):
        sys.meta_path.insert(0, _Hidden())
    return {
        test.name: {"example": [each.source for each in test.examples], "values": _values(test)}
        for test in _tests(name)
    }


def _values(test):
    """Return what each example of a docstring returns, prints or raises."""
    names, values = dict(test.globs) | {"__name__": "__main__"}, []
    for example in test.examples:
        if not example.options.get(doctest.SKIP):
            got = _run(example.source, names)
            if any(isinstance(each, str) and LACKING.search(each) for each in got):
                return ["not run, since it needs a package that is left out"]
            values += [plain(each) for each in got]
    return values


def _run(source, names):
    """Return what a line returns, prints and raises."""
    got, printed, shown = [], io.StringIO(), sys.displayhook

    def note(value):
        got.extend([] if value is None else [value])

    sys.displayhook = note
    try:
        with redirect_stdout(printed):
            exec(compile(source, "example", "single"), names)
    except Exception as error:  # noqa: BLE001
        got.append(f"{type(error).__name__}: {error}")
    finally:
        sys.displayhook = shown
    text = printed.getvalue().replace(tempfile.gettempdir(), "TMP")
    return [*got, text] if text else got


def changed_examples(stored, now):
    """Yield the differences of the examples of a name; of an example that changed only that."""
    for name in stored:
        one, other = stored[name], now.get(name)
        if not isinstance(one, dict) or other is None or one["example"] == other["example"]:
            yield from differences({name: one}, {} if other is None else {name: other})
        else:
            same = not list(differences(one["values"], other["values"]))
            kind = f"example changed, its results {'are the same' if same else 'differ'}"
            yield Difference("example", kind, one["example"], other["example"])
    yield from differences({}, {name: each for name, each in now.items() if name not in stored})
