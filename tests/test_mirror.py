"""The tests mirror the source: a test file is named after its subject, and every module has one."""

import ast
import re
import tomllib
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import pytest

import equirank
from equirank.cli.app import app
from equirank.core.metric_function import function_name

TESTS = Path(__file__).parent
SOURCE = Path(equirank.__file__).parent
LINES = "tests/mirror.toml"
#: Imports, over several lines if in parentheses.
IMPORT = re.compile(r"^[ \t]*from ([.\w]+) import (\([^)]*\)|[^\n]*)", re.M)
DEFINED = re.compile(r"^(?:def|class) ([a-zA-Z]\w*)", re.M)
#: How many imports may lie between what a test imports and the module that it tests.
STEPS = 3
#: Packages whose public classes each have a test of their own, besides the generated ones.
OWN = ["metrics", "rankers", "rerankers", "preprocess"]


@cache
def words_of(path):
    """The names in the code of a test file, and the words of its short texts (``"NDCG@10"``)."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        found |= {getattr(node, key, None) for key in ("id", "attr", "name")}
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= set(re.findall(r"\w+", node.value)) if " " not in node.value else set()
    return found


def uses(path, names):
    """Whether the code of a test file has one of the names."""
    text = path.read_text("utf-8")
    return any(name in text for name in names) and not names.isdisjoint(words_of(path))


def imported(text, package):
    """The pairs (package, name) that a file imports; ``package`` is where it is, as a tuple."""
    for base, names in IMPORT.findall(text):
        dots = len(base) - len(base.lstrip("."))
        parts = tuple(part for part in base.strip(".").split(".") if part)
        if dots:
            parts = package[: len(package) - dots + 1] + parts
        elif parts[:1] == ("equirank",):
            parts = parts[1:]
        else:
            continue
        for each in re.sub(r"#[^\n]*|[()]", "", names).split(","):
            if words := each.split():
                yield parts, words[0], words[-1]


@dataclass
class Mirror:
    """A folder of source, a folder of tests, and the table of ``tests/mirror.toml``."""

    source: Path
    tests: Path
    #: The test file of a module that has none of its own name.
    modules: dict = field(default_factory=dict)
    #: Files in the folder of tests itself, which test no single module, with what they test.
    whole: dict = field(default_factory=dict)
    #: The commands of the command line.
    commands: tuple = ()

    @cached_property
    def texts(self):
        """The modules as paths without suffix, with their source."""
        return {
            path.relative_to(self.source).with_suffix("").as_posix(): path.read_text("utf-8")
            for path in sorted(self.source.rglob("*.py"))
        }

    @cached_property
    def subjects(self):
        """By folder: the names that a test file there may begin with, and the modules of each."""
        found = {}
        for module, text in self.texts.items():
            folder, _, name = module.rpartition("/")
            own = found.setdefault(folder, {})
            if name == "__init__":  # the package as a whole, here and in the folder above
                above, _, package = folder.rpartition("/")
                own.setdefault(package, set())
                found.setdefault(above, {}).setdefault(package, set())
                continue
            for each in {name, *map(function_name, DEFINED.findall(text))}:
                own.setdefault(each, set()).add(module)
        return found

    @cached_property
    def files(self):
        return [path.relative_to(self.tests) for path in sorted(self.tests.rglob("test_*.py"))]

    @cached_property
    def folders(self):
        """The folders of the project and of its tests, such as docs, fuzz and golden."""
        beside = [*self.tests.parent.iterdir(), *self.tests.iterdir()]
        return {path.name for path in beside if path.is_dir()}

    def tested_by(self, file):
        """The modules that a file tests by its name; none for a whole package, None if unknown."""
        folder, name = file.parent.as_posix().strip("."), file.stem.removeprefix("test_")
        known = self.subjects.get(folder, {})
        fitting = [each for each in known if name == each or name.startswith(f"{each}_")]
        return known[max(fitting, key=len)] if fitting else None

    def misnamed(self):
        """What is wrong with the places and the names of test files."""
        for file in self.files:
            folder, name = file.parent.as_posix().strip("."), file.stem.removeprefix("test_")
            if folder not in self.subjects:
                if not (self.tests.parent / folder).is_dir():
                    yield (
                        f"tests/{file}: tests/{folder} is no package of src/equirank and no "
                        "folder of the project; move the file to the folder of what it tests"
                    )
            elif self.tested_by(file) is None and (
                folder or name not in {*self.whole, *self.folders}
            ):
                yield (
                    f"tests/{file}: name it after what it tests, test_NAME.py or "
                    "test_NAME_and_more.py, where NAME is a module, a public class or function in "
                    f"snake case, or a package, of src/equirank/{folder}, or the package itself"
                    + (f"; or state in [whole] of {LINES} what it tests" if not folder else "")
                )

    @cached_property
    def covered(self):
        return set().union(*(self.tested_by(file) or set() for file in self.files))

    def untested(self):
        """Modules without a test file."""
        for module, text in self.texts.items():
            folder, _, name = module.rpartition("/")
            entry = re.fullmatch("__(init|main)__", name) or not DEFINED.search(text)
            if not entry and module not in self.covered | self.modules.keys():
                yield (
                    f"src/equirank/{module}.py has no test: write tests/{folder}/test_{name}.py, "
                    f"or, where another file tests it, add to [modules] of {LINES}: "
                    f'"{module}" = "{folder}/test_....py"'
                )

    def wrong_lines(self):
        """Lines of the table that are of no use."""
        for name in self.whole:
            known = {*self.subjects[""], *self.folders}
            if name in known or not (self.tests / f"test_{name}.py").exists():
                yield f"{LINES}: remove {name} from [whole]; no such file needs a reason"
        for module, file in self.modules.items():
            if module not in self.texts:
                yield f"{LINES}: remove {module}; there is no such module"
            elif module in self.covered:
                yield f"{LINES}: remove {module}; a test file has its name"
            elif not (self.tests / file).is_file():
                yield f"{LINES}: {module} is tested by tests/{file}, which does not exist"
            elif module not in self.reached(file):
                yield (
                    f"{LINES}: {module} is tested by tests/{file}, which imports neither it nor "
                    f"a module from which {STEPS} imports lead to it; name the file that tests it"
                )

    def unproven(self):
        """Public metrics and estimators that no test of their own uses, and such commands."""
        for package in OWN:
            for base, _, name in self.names(self.source / package / "__init__.pyi"):
                home = self.home(base, name) or ""
                if home not in self.covered | self.modules.keys():
                    continue  # said of the module
                folder, _, module = home.rpartition("/")
                if name[0].islower() or "Protocol" in self.bases(home, name):
                    continue
                files = [file for file in self.files if Path(folder) in [*file.parents]]
                files = [self.tests / file for file in files if self.tested_by(file)]
                if not any(uses(file, {name, function_name(name)}) for file in files):
                    yield (
                        f"{name} has no test of its own: write tests/{folder}/test_{module}.py, or "
                        f"use {name} in another file of tests/{folder} that is named after a module"
                    )
        for command in self.commands:
            if not (self.tests / f"cli/test_{command}.py").exists():
                yield f"equirank {command} has no test: write tests/cli/test_{command}.py"

    def bases(self, module, name):
        found = re.search(rf"^class {name}\(([^)]*)\)", self.texts[module], re.M)
        return found[1] if found else ""

    # which modules a test file uses

    def home(self, package, name):
        """The module that ``from package import name`` reads, or None."""
        for path in ("/".join((*package, name)), "/".join(package)):
            if path in self.texts:
                return path
        for suffix in (".pyi", ".py"):
            stub = self.source.joinpath(*package, f"__init__{suffix}")
            for base, here, there in self.names(stub):
                if there == name and (base, here) != (package, name):
                    return self.home(base, here)
        return None

    def names(self, path):
        """The imports of a file, read once."""
        if path not in self.read:
            package = (
                path.parent.relative_to(self.source).parts if self.source in path.parents else ()
            )
            text = path.read_text("utf-8") if path.is_file() else ""
            self.read[path] = list(imported(text, package))
        return self.read[path]

    @cached_property
    def read(self):
        return {}

    @cached_property
    def leads(self):
        """The modules that each module imports."""
        return {
            module: {self.home(*each[:2]) for each in self.names(self.source / f"{module}.py")}
            for module in self.texts
        }

    def reached(self, file):
        """The modules that a test file imports, and those that few imports lead to."""
        names = list(self.names(self.tests / file))
        text = (self.tests / file).read_text("utf-8")
        packages = [((*base, here), there) for base, here, there in names] + [((), "equirank")]
        for package, alias in packages:
            if self.source.joinpath(*package).is_dir():
                names += [(package, used, "") for used in re.findall(rf"\b{alias}\.(\w+)", text)]
        found = {self.home(base, here) for base, here, _ in names}
        for _ in range(STEPS):
            found |= set().union(*(self.leads.get(module, set()) for module in found))
        return found


@pytest.fixture(scope="module")
def mirror():
    commands = [command.callback.__name__ for command in app.registered_commands]
    return Mirror(
        SOURCE,
        TESTS,
        commands=commands,
        **tomllib.loads(Path(TESTS, "mirror.toml").read_text("utf-8")),
    )


def test_a_test_file_is_where_its_subject_is_and_has_its_name(mirror):
    faults = "\n".join(mirror.misnamed())
    assert not faults, faults


def test_every_module_has_a_test(mirror):
    faults = "\n".join(mirror.untested())
    assert not faults, faults


def test_the_table_of_modules_is_needed_and_right(mirror):
    faults = "\n".join(mirror.wrong_lines())
    assert not faults, faults


@pytest.mark.slow
def test_every_metric_estimator_and_command_has_a_test_of_its_own(mirror):
    faults = "\n".join(mirror.unproven())
    assert not faults, faults


# the rules themselves, on a small project


@pytest.fixture
def small(tmp_path):
    """A project with one metric, one command and their tests."""
    write(
        tmp_path,
        {
            "src/__init__.py": "",
            "src/metrics/__init__.py": "",
            "src/metrics/__init__.pyi": "from .relevance.gain import NDCG as NDCG\n",
            "src/metrics/relevance/__init__.py": "",
            "src/metrics/relevance/gain.py": "from ..sums import total\n\nclass NDCG:\n",
            "src/metrics/sums.py": "def total(x):\n",
            "src/cli/__init__.py": "",
            "src/cli/app.py": "def start():\n",
            "src/cli/audit.py": "def audit():\n",
            "docs/page.md": "",
            "tests/metrics/relevance/test_ndcg.py": "from equirank.metrics import NDCG\nNDCG()\n",
            "tests/metrics/test_metrics_contract.py": "",
            "tests/cli/test_audit.py": "",
            "tests/cli/test_app.py": "",
            "tests/docs/test_page.py": "",
            "tests/test_layout.py": "",
            "tests/test_docs.py": "",
        },
    )
    return tmp_path


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


#: What the small project states.
TABLE = {
    "modules": {"metrics/sums": "metrics/relevance/test_ndcg.py"},
    "whole": {"layout": "the layout"},
}


def faults(folder, files=None, modules=None, **more):
    """What the rules find in the small project with more files and lines."""
    write(folder, files or {})
    given = (
        TABLE
        | {"commands": ["audit"]}
        | more
        | ({"modules": TABLE["modules"] | modules} if modules else {})
    )
    mirror = Mirror(folder / "src", folder / "tests", **given)
    return [
        *mirror.misnamed(),
        *mirror.untested(),
        *mirror.wrong_lines(),
        *mirror.unproven(),
    ]


def test_a_mirrored_project_has_no_fault(small):
    assert not faults(small)


@pytest.mark.parametrize(
    ("files", "modules", "said"),
    [
        ({"tests/metrics/test_floors.py": ""}, {}, "tests/metrics/test_floors.py: name it after"),
        ({"tests/test_floors.py": ""}, {}, r"or state in \[whole\]"),
        ({"tests/gains/test_ndcg.py": ""}, {}, "tests/gains is no package"),
        (
            {"src/metrics/new.py": "def f():\n"},
            {},
            "new.py has no test: write tests/metrics/test_new",
        ),
        ({}, {"metrics/gone": "cli/test_app.py"}, "no such module"),
        ({}, {"metrics/relevance/gain": "metrics/relevance/test_ndcg.py"}, "has its name"),
        ({}, {"metrics/sums": "metrics/test_none.py"}, "does not exist"),
        ({}, {"metrics/sums": "cli/test_app.py"}, "imports neither it"),
    ],
)
def test_what_is_not_mirrored_is_named(small, files, modules, said):
    (found,) = faults(small, files, modules)
    assert re.search(said, found)


@pytest.mark.parametrize("name", ["gone", "docs"])
def test_a_reason_for_no_file_is_found(small, name):
    (found,) = faults(small, whole=TABLE["whole"] | {name: "nothing"})
    assert f"remove {name}" in found


def test_a_command_needs_a_test(small):
    (found,) = faults(small, commands=["audit", "run"])
    assert found == "equirank run has no test: write tests/cli/test_run.py"


def test_a_public_class_needs_a_test_beside_the_generated_ones(small):
    stub = "from .relevance.gain import NDCG as NDCG\nfrom .relevance.new import Gap as Gap\n"
    new = {
        "src/metrics/__init__.pyi": stub,
        "src/metrics/relevance/new.py": "class Gap:\n",
        "tests/metrics/relevance/test_new.py": '"""Gap is not used here."""\n',
        "tests/metrics/test_metrics_contract.py": "from equirank.metrics import Gap\nGap()\n",
    }
    (found,) = faults(small, new)
    assert found.startswith("Gap has no test of its own: write tests/metrics/relevance/test_new.py")
    used = 'from equirank.core.registry import parse_metric\nparse_metric("Gap@10")\n'
    assert not faults(small, {"tests/metrics/relevance/test_new_numbers.py": used})
