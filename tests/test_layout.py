"""The layout of the source: direction of imports, private names, file names, and words."""

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import equirank

ROOT = Path(equirank.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
#: The two files that may import a module by its name: optional packages, and public names.
LATE = {"core/environment.py", "core/registry.py"}
#: Factories with a local import of a module that imports theirs; the only two cycles.
CYCLES = {("core/data.py", "core.ranking"), ("core/metric.py", "core.scorer")}
PROJECT = Path(__file__).parents[1]
#: Layers of packages from the top down, as lines of the import contract.
LINES = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
    "contracts"
][0]["layers"]
#: The same from the bottom up, as sets of packages.
LAYERS = [set(re.split(r" [|:] ", line)) for line in reversed(LINES)]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def advice(what, found):
    """The message of a check: what to do, and each place."""
    return "\n".join([what, *found])


def layer_of(package):
    return next((at for at, names in enumerate(LAYERS) if package in names), len(LAYERS))


def imported(path, node):
    """The modules below ``equirank`` that an import names, as dotted paths."""
    package = list(path.relative_to(ROOT).parts[:-1])
    if isinstance(node, ast.Import):
        return [a.name.removeprefix("equirank.") for a in node.names if "equirank" in a.name]
    if node.level:
        base = package[: len(package) - node.level + 1]
        return [".".join([*base, *([node.module] if node.module else [])])]
    if (node.module or "").split(".")[0] == "equirank":
        return [(node.module or "").removeprefix("equirank").lstrip(".")]
    return []


def test_every_package_has_a_layer():
    packages = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES}
    different = sorted((packages - {"__init__"}) ^ set().union(*LAYERS))
    assert not different, f"layers of [tool.importlinter] in pyproject.toml must list {different}"


def test_contributors_read_the_layers_of_the_contract():
    text = (PROJECT / "CONTRIBUTING.md").read_text("utf-8")
    layers = "\n".join(line for line in LINES if line != "__main__")
    assert f"```text\n{layers}\n```" in text, f"CONTRIBUTING.md must list the layers:\n{layers}"


def climbs(path, tree):
    """Imports of a package of the same or of a higher layer, in functions or not."""
    home = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for target in imported(path, node):
                other = target.split(".")[0]
                if other and other != home and layer_of(other) >= layer_of(home):
                    yield f"{name_of(path)}:{node.lineno} imports {target}"


def names_modules(tree):
    """Lines that import a module by a name made at run time."""
    for node in ast.walk(tree):
        name = getattr(node, "id", getattr(node, "attr", None))
        if name in {"import_module", "__import__"}:
            yield node.lineno


def private_uses(path, tree):
    """Private names of another package: imported, or read off an object made elsewhere."""
    home = path.relative_to(ROOT).parts[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for target in imported(path, node):
                if target.split(".")[0] not in {home, ""}:
                    for alias in node.names:
                        if alias.name.startswith("_") and not alias.name.startswith("__"):
                            yield f"{name_of(path)}:{node.lineno} imports {target}.{alias.name}"


#: Private methods and attributes by the package that defines them, found in the source.
def defined_private():
    found = {}
    for path in FILES:
        package = path.relative_to(ROOT).parts[0]
        for node in ast.walk(tree_of(path)):
            name = None
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                name = node.name
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                name = node.attr
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
            if name and re.match(r"_[a-z]", name):
                found.setdefault(name, set()).add(package)
    return found


def private_calls(path, tree, defined):
    """Private attributes of objects, other than ``self`` and ``cls``, defined in other packages."""
    home = path.relative_to(ROOT).parts[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in defined:
            owner = node.value
            own = isinstance(owner, ast.Name) and owner.id in {"self", "cls"}
            own |= isinstance(owner, ast.Call) and getattr(owner.func, "id", "") == "super"
            if not own and home not in defined[node.attr]:
                yield f"{name_of(path)}:{node.lineno} uses .{node.attr}"


@pytest.mark.gate
def test_modules_are_imported_by_name_in_two_files_only():
    late = {name_of(path) for path in FILES if list(names_modules(tree_of(path)))}
    assert late == LATE, f"import_module belongs in these files only: {sorted(LATE)}"


@pytest.mark.gate
def test_imports_never_climb():
    found = [
        each for path in FILES if name_of(path) not in LATE for each in climbs(path, tree_of(path))
    ]
    assert not found, advice("imports go down only, as CONTRIBUTING.md lists the packages", found)


@pytest.mark.gate
def test_no_package_uses_private_names_of_another():
    defined = defined_private()
    found = [each for path in FILES for each in private_uses(path, tree_of(path))]
    found += [each for path in FILES for each in private_calls(path, tree_of(path), defined)]
    assert not found, advice("make public, or move, what another package uses", found)


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("from ..rankers.boosting import booster", climbs),
        ("def f():\n    from ..cli import app", climbs),
        ("from equirank.plots import theme", climbs),
        ("from ..kernels.segments import _cut", private_uses),
    ],
)
def test_the_rules_find_what_they_are_for(source, rule):
    assert list(rule(ROOT / "core" / "some.py", ast.parse(source)))


def test_the_rules_find_late_imports_and_private_calls():
    assert list(names_modules(ast.parse("import importlib\nimportlib.import_module('x')")))
    tree = ast.parse("model._grow(3)")
    assert list(private_calls(ROOT / "distributed/x.py", tree, {"_grow": {"rankers"}}))
    assert not list(private_calls(ROOT / "rankers/x.py", tree, {"_grow": {"rankers"}}))


def test_no_file_name_occurs_twice():
    """A command may have the name of the library module it calls."""
    names = Counter(
        path.name for path in FILES if path.name != "__init__.py" and path.parent != ROOT / "cli"
    )
    found = [name for name, times in names.items() if times > 1]
    assert not found, advice("give each file a name of its own", found)


def prose(path):
    """Docstrings and comments of a Python file, or the text of a page without code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield re.sub(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", " ", text, flags=re.S)
        return
    for node in ast.walk(tree_of(path)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            yield re.sub(r"``.*?``|`[^`]*`", " ", ast.get_docstring(node) or "", flags=re.S)
    yield "\n".join(re.findall(r"#[: ](.*)$", text, flags=re.M))


#: Words of the old house style, which say nothing to a reader from outside.
REFUSED = re.compile(r"\b(doors?|rooms?|speaks|pulls?)\b", re.I)
DOCS = sorted((PROJECT / "docs").glob("**/*.md"))


@pytest.mark.gate
def test_prose_uses_plain_words():
    found = [
        f"{path.name}: {m[0]}"
        for path in [*FILES, *DOCS]
        for part in prose(path)
        for m in REFUSED.finditer(part.replace("pull request", ""))
    ]
    assert not found, advice("use plain words instead", found)


@pytest.mark.gate
def test_docstrings_begin_with_what_a_function_does():
    begin = re.compile(r"(Give|Gives|Say|Says|Tell|Tells|Let|Lets)\b")
    found = [
        f"{name_of(path)}, {node.name}: {doc.splitlines()[0]}"
        for path in FILES
        for node in ast.walk(tree_of(path))
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        for doc in [ast.get_docstring(node) or ""]
        if begin.match(doc)
    ]
    assert not found, advice("begin with another verb than Give, Say, Tell or Let", found)
