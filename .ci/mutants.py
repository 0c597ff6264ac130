# ruff: noqa: D102 - what a visitor visits, its name says.
"""Plant breaks in the source, one at a time, and count how many of them the tests find.

``make mutants`` draws breaks from five packages, each possible break of a package with the same
probability and without replacement. A break is planted in a copy of the tree, and the tests of the
package's folder run until one fails: first those named after the module and its examples, then
those that mention what the broken function is called, then the rest. The breaks of mutants.toml
that are listed as planted are tried too; a survivor that is listed as same has a stated reason.
Results are kept in build/mutants.jsonl, so that an interrupted run goes on where it was.
"""

import argparse
import ast
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import cache, partial
from hashlib import sha256
from importlib import import_module
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from rich.progress import Progress

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "mutants"
#: A copy of the tree as it was when the run began; breaks are planted in copies of it.
CLEAN = PLACE / "clean"
LISTED = tomllib.loads((ROOT / ".ci/mutants.toml").read_text(encoding="utf-8"))
ROOMS = ("core", "metrics", "rerankers", "statistics", "io")
GOAL = 0.95
#: Of pytest: hypothesis is loaded once, before the fork.
IGNORED = "ignore::pytest.PytestAssertRewriteWarning"
#: Seconds of processor time that one test may take; a loop without end counts as caught.
LIMIT = 120
#: What only an installation, a stack of calls or a mistake inside the library could show.
UNSEEN = {"strict", "stacklevel", "slots", "repr"}
COMMUTATIVE = {"min", "max", "minimum", "maximum", "array_equal", "add", "multiply", "gcd"}
OPERATORS = {
    **{ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")},
    **{ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not")},
    **{ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in")},
    **{ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")},
    **{ast.FloorDiv: ("//", "/"), ast.Mod: ("%", "//"), ast.Pow: ("**", "*")},
    **{ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&")},
    **{ast.And: ("and", "or"), ast.Or: ("or", "and")},
}
CALLED = {
    **{"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "argmin": "argmax"},
    **{"argmax": "argmin", "floor": "ceil", "ceil": "floor", "any": "all", "all": "any"},
    **{"sorted": "list", "nanmin": "nanmax", "nanmax": "nanmin"},
}


class Break(NamedTuple):
    """One change of one file: the text from ``start`` to ``end`` (bytes) becomes ``new``."""

    file: str
    start: int
    end: int
    new: str
    tests: str
    #: Names of the module and of the functions and classes around the change.
    names: tuple[str, ...]

    def text(self) -> bytes:
        """Return the text of the broken file."""
        old = source(self.file)
        return old[: self.start] + self.new.encode() + old[self.end :]

    def lines(self) -> tuple[int, str, str]:
        """Return the number of the line, the line, and the broken line."""
        old, text = source(self.file), self.text()
        first, stop = old.rfind(b"\n", 0, self.start) + 1, (old + b"\n").find(b"\n", self.end)
        both = old[first:stop], text[first : len(text) - len(old) + stop]
        one, other = (" ".join(each.decode().split()) for each in both)
        return old.count(b"\n", 0, self.start) + 1, one, other


@cache
def source(file: str) -> bytes:
    """Return the text of a file."""
    return (CLEAN / file).read_bytes()


def digest(data: bytes) -> str:
    """Return a short name of a content."""
    return sha256(data).hexdigest()[:20]


class Breaks(ast.NodeVisitor):
    """All possible breaks of one file, as (start, end, new text, names around it).

    Left alone: text for people (errors, logs, warnings, docstrings), types, decorators, imports.
    """

    def __init__(self, file: str) -> None:
        self.text, self.names, self.compiled = source(file), [Path(file).stem], False
        self.found: list[tuple[int, int, str, tuple[str, ...]]] = []
        self.begins = [0, *(match.end() for match in re.finditer(b"\n", self.text))]
        self.visit(ast.parse(self.text))

    def span(self, node: Any) -> tuple[int, int]:
        """Return where the text of a node begins and ends."""
        start = self.begins[node.lineno - 1] + node.col_offset
        return start, self.begins[node.end_lineno - 1] + node.end_col_offset

    def add(self, start: int, end: int, new: str) -> None:
        """Note a break; the number of lines stays."""
        new += "\n" * (self.text[start:end].count(b"\n") - new.count("\n"))
        self.found.append((start, end, new, tuple(self.names)))

    def operators(self, operands: list[Any], kinds: list[ast.AST]) -> None:
        """Note the change of each operator between two operands."""
        for left, right, kind in zip(operands, operands[1:], kinds, strict=False):
            start, end = self.span(left)[1], self.span(right)[0]
            gap = self.text[start:end].decode()
            if "#" not in gap and type(kind) in OPERATORS:
                self.add(start, end, gap.replace(*OPERATORS[type(kind)], 1))

    def negate(self, test: ast.AST) -> None:
        """Note the negation of a condition, unless a change of its operator is the same."""
        one = isinstance(test, ast.Compare) and len(test.ops) == 1
        if not one and not isinstance(test, ast.UnaryOp):
            start, end = self.span(test)
            self.add(start, end, f"(not ({self.text[start:end].decode()}))")

    def visit(self, node: Any) -> None:
        if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)):
            return
        getattr(self, f"visit_{type(node).__name__}", self.generic_visit)(node)

    def visit_FunctionDef(self, node: Any) -> None:
        outside = self.compiled
        self.compiled |= any("compiled" in ast.unparse(each) for each in node.decorator_list)
        self.names.append(node.name)
        defaults = [*node.args.defaults, *node.args.kw_defaults] if hasattr(node, "args") else []
        for each in filter(None, (*defaults, *node.body)):
            self.visit(each)
        self.names.pop()
        self.compiled = outside

    visit_ClassDef = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node: Any) -> None:
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self.negate(node.test)
            self.generic_visit(node)

    visit_IfExp = visit_If

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for each in node.ifs:
            self.negate(each)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        self.operators([node.left, *node.comparators], node.ops)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.operators(node.values, [node.op] * (len(node.values) - 1))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not any(
            isinstance(getattr(x, "value", 0), (str, bytes)) or isinstance(x, ast.JoinedStr)
            for x in (node.left, node.right)
        ):
            self.operators([node.left, node.right], [node.op])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, (ast.Not, ast.USub)):
            self.add(self.span(node)[0], self.span(node.operand)[0], " ")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, (bool, int, float)):
            new = (
                not value
                if isinstance(value, bool)
                else value + 1
                if isinstance(value, int)
                else 2 * value or 1.0
            )
            self.add(*self.span(node), repr(new))

    def visit_Call(self, node: ast.Call) -> None:
        called = ast.unparse(node.func)
        if re.match(r"(warnings|logger|logging)\.|cast$|TypeVar", called):
            return
        name, end = re.split(r"\W", called)[-1], self.span(node.func)[1]
        if name in CALLED or (called == "round" and len(node.args) == 1):
            self.add(end - len(name), end, CALLED.get(name, "int"))
        first = node.args[:2]
        if (
            len(set(map(ast.dump, first))) == 2
            and name not in COMMUTATIVE
            and not any(isinstance(each, ast.Starred) for each in first)
        ):
            (start, stop), (begin, end) = map(self.span, first)
            text = self.text
            self.add(start, end, (text[begin:end] + text[stop:begin] + text[start:stop]).decode())
        self.visit(node.func)
        for each in (*node.args, *(each.value for each in node.keywords if each.arg not in UNSEEN)):
            self.visit(each)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.add(*self.span(node), "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(each, (ast.Attribute, ast.Subscript)) for each in node.targets):
            self.add(*self.span(node), "pass")
        if ast.unparse(node.targets[0]) != "__all__":
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.visit(node.value)
            if not ast.unparse(node.value).startswith(("logger.", "logging.")):
                self.add(*self.span(node), "pass")
        elif not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            if not self.compiled and ast.unparse(node.value) != "None":  # a kernel has a type
                self.add(*self.span(node.value), "None")
            self.visit(node.value)


def drawn(room: str, seed: int) -> list[Break]:
    """Return the breaks of a package in random order."""
    found = []
    for path in sorted((CLEAN / "src/equirank" / room).rglob("*.py")):
        file = path.relative_to(CLEAN).as_posix()
        found += [Break(file, *each[:3], f"tests/{room}", each[3]) for each in Breaks(file).found]
    random.Random(f"{seed} {room}").shuffle(found)
    return found


def planted() -> list[Break]:
    """Return the breaks of mutants.toml that are always tried."""
    found = []
    for each in LISTED.get("planted", []):
        file, old = each["file"], each["old"].encode()
        if source(file).count(old) != 1:
            sys.exit(f".ci/mutants.toml: {file} must contain {each['old']!r} once")
        start = source(file).index(old)
        names = (Path(file).stem,)
        found.append(Break(file, start, start + len(old), each["new"], each["tests"], names))
    return found


def prepare() -> None:
    """Bring the clean copy of the tree up to date; its compiled code stays."""
    for each in PLACE.glob("work-*"):
        shutil.rmtree(each)
    command = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"]
    listing = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    files = {each for each in listing.split("\0") if each and (ROOT / each).is_file()}
    for path in [*CLEAN.rglob("*.py"), *CLEAN.rglob("*.pyi")]:
        if path.relative_to(CLEAN).as_posix() not in files:
            path.unlink()
    for name in files:
        old, new = ROOT / name, CLEAN / name
        new.parent.mkdir(parents=True, exist_ok=True)
        if not new.exists() or old.stat().st_mtime_ns != new.stat().st_mtime_ns:
            new.unlink(missing_ok=True)
            shutil.copy2(old, new)


class Watch:
    """A plugin of pytest: slow tests last, a limit for each, and the name of the first failure."""

    failed = ""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        # A function of the source whose name begins with "test" is no test.
        items[:] = [each for each in items if "src/" not in each.nodeid or "." in each.name]
        items.sort(key=lambda item: item.get_closest_marker("slow") is not None)

    def pytest_runtest_setup(self) -> None:
        """Limit the processor time of the test; beyond it the system ends the process."""
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + LIMIT, hard))

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed = self.failed or (report.nodeid if report.failed else "")

    pytest_collectreport = pytest_runtest_logreport


def first_failure(tree: Path, files: list[str], module: str = "") -> str:
    """Return the first test that fails in a tree, or nothing; or why a module is not imported.

    This is done by a forked process, which has the packages that tests need already.
    """
    note = tree / "failed.txt"
    note.write_text("it cannot be imported")
    child = os.fork()
    if child == 0:
        try:
            _enter(tree)
            if module:
                import_module(module)
            note.write_text("ended by the system: beyond the limit of time, or a crash")
            note.write_text(_tested(files) if files else "")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return note.read_text()


def _enter(tree: Path) -> None:
    """Make a tree the place of this process: its output, folder, limits and imports."""
    from numba.core import caching

    # What the code consists of is compared (DiskCache), so the time of the file need not be.
    caching._SourceFileBackedLocatorMixin.get_source_stamp = lambda self: 0
    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
    output = os.open(tree / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, stream in enumerate((os.open(os.devnull, os.O_RDONLY), output, output)):
        os.dup2(stream, number)
    os.chdir(tree)
    os.environ |= {"PYTHONPATH": str(tree / "src"), "EQUIRANK_PROGRESS": "0"}
    sys.path[:] = [str(tree / "src"), *(each for each in sys.path if each != str(ROOT / ".ci"))]


def _tested(files: list[str]) -> str:
    import pytest

    watch = Watch()
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", IGNORED]
    code = pytest.main([*options, *files], plugins=[watch])
    return watch.failed or ("" if code in (0, 5) else f"pytest ended with {int(code)}")


def stages(this: Break) -> list[list[str]]:
    """Return the test files of a break: its own, those that mention it, the rest."""
    place = CLEAN / this.tests
    paths = [place] if place.is_file() else sorted(place.rglob("test_*.py"))
    names = [each.relative_to(CLEAN).as_posix() for each in paths]
    if not names:
        sys.exit(f"there are no tests in {this.tests}")
    own = [each for each in names if Path(each).stem.startswith(f"test_{this.names[0]}")]
    rest = [each for each in names if each not in own]
    rest.sort(key=lambda each: -sum(source(each).count(name.encode()) for name in this.names))
    if b">>> " in source(this.file) and place.is_dir():
        own.append(this.file)
    return [own, rest[:6], rest[6:]]


def judge(this: Break, passed: dict[str, str]) -> dict[str, Any]:
    """Plant a break in a copy and return what the tests say; what passed before is left out."""
    began, tree, passed = time.monotonic(), PLACE / f"work-{os.getpid()}", dict(passed)
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(CLEAN, tree, copy_function=os.link)
    broken = tree / this.file
    for each in (broken, *broken.parent.glob(f"__pycache__/{broken.stem}.*.pyc")):
        each.unlink()  # not written to: the clean copy has the same file
    broken.write_bytes(this.text())
    module = this.file.removeprefix("src/").removesuffix(".py").replace("/", ".")
    failed = why = first_failure(tree, [], module.removesuffix(".__init__"))
    for files in [] if why else stages(this):
        files = [each for each in files if passed.get(each) != digest(source(each))]
        failed = first_failure(tree, files) if files else ""
        if failed:
            break
        passed |= {each: digest(source(each)) for each in files}
    shutil.rmtree(tree, ignore_errors=True)
    line, old, new = this.lines()
    result = {"key": key_of(this), "valid": not why, "file": this.file, "line": line, "old": old}
    result |= {"new": new, "by": failed, "passed": passed}
    if "::" in failed:
        result["test"] = digest(source(failed.split("::")[0]))
    return result | {"seconds": round(time.monotonic() - began, 1)}


def key_of(this: Break) -> str:
    """Return the name under which the result of a break is kept."""
    return digest(this.tests.encode() + this.file.encode() + this.text())


class Results:
    """Results of earlier runs, from a file to which each new one is added."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.known = {each["key"]: each for each in map(json.loads, lines)}

    def add(self, result: dict[str, Any]) -> None:
        """Keep a result."""
        self.known[result["key"]] = result
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(result) + "\n")

    def final(self, this: Break) -> dict[str, Any] | None:
        """Return a result that the tests of today would give too, or None."""
        known = self.known.get(key_of(this))
        if known is None or not known["valid"]:
            return known
        needed = {each: known["passed"].get(each) for part in stages(this) for each in part}
        if known["by"]:  # it is enough that the test that failed is the same
            needed = {known["by"].split("::")[0]: known["test"]} if "test" in known else {}
        same = ((CLEAN / each).exists() and digest(source(each)) == needed[each] for each in needed)
        return known if all(same) else None


def check_clean(breaks: list[Break], results: Results) -> None:
    """Run the tests without a break, which also compiles what they need; stop if one fails."""
    files = {each for this in breaks for part in stages(this) for each in part}
    tree = digest(b"".join(each.read_bytes() for each in sorted((CLEAN / "src").rglob("*.py"))))
    keys = {each: digest(f"clean {tree} {each}".encode() + source(each)) for each in files}
    waiting = sorted(each for each in files if keys[each] not in results.known)
    if not waiting:
        return
    say(f">> running {len(waiting)} files of tests without a break")
    failed = first_failure(CLEAN, waiting)
    if failed:
        say((CLEAN / "output.txt").read_text(encoding="utf-8")[-4000:])
        sys.exit(f"without a break, this test fails: {failed}")
    for each in waiting:
        results.add({"key": keys[each], "valid": True, "by": "clean"})


def say(text: str) -> None:
    """Write a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def outcomes(
    breaks: list[Break], count: int, pool: Executor, results: Results, tell: Callable[[], None]
) -> list[dict[str, Any]]:
    """Return the results of the first ``count`` breaks that can be imported."""
    done: list[dict[str, Any]] = []
    rest = iter(breaks)
    while batch := list(islice(rest, count - len(done))):
        waiting = {}
        for this in batch:
            if results.final(this) is None:
                passed = results.known.get(key_of(this), {}).get("passed", {})
                waiting[this] = pool.submit(judge, this, passed)
        for this in batch:
            if this in waiting:
                results.add(waiting[this].result())
            result = results.known[key_of(this)]
            if not result["valid"]:
                continue
            done.append(result)
            tell()
            if not result["by"]:
                say(f"{result['file']}:{result['line']}: survived")
                say(f"  - {result['old']}\n  + {result['new']}")
    return done


def main() -> None:
    """Plant the breaks that were asked for and write the share that was caught."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--per-room", type=int, default=24, help="breaks of each package")
    parser.add_argument("--room", choices=[*ROOMS, "planted"], action="append", help="only this")
    parser.add_argument("--only", default="", help="only breaks of files whose path contains this")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    PLACE.mkdir(parents=True, exist_ok=True)
    prepare()
    # Read when packages are loaded, which is done once, before the first fork.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    for name in ("hypothesis", "numba", "pytest", "scipy.optimize", "scipy.stats", "sklearn.utils"):
        import_module(name)
    results = Results(PLACE.with_suffix(".jsonl"))
    reasons = {(each["file"], each["old"], each["new"]): each["reason"] for each in LISTED["same"]}
    shares = []
    with (
        ProcessPoolExecutor(options.jobs, mp_context=get_context("fork")) as pool,
        Progress(disable=not sys.stdout.isatty(), transient=True) as progress,
    ):
        for room in options.room or [*ROOMS, "planted"]:
            breaks = planted() if room == "planted" else drawn(room, options.seed)
            breaks = [each for each in breaks if options.only in each.file]
            count = len(breaks) if room == "planted" else min(options.per_room, len(breaks))
            check_clean(breaks[: count + 5], results)
            tell = partial(progress.advance, progress.add_task(room, total=count))
            done = outcomes(breaks, count, pool, results, tell)
            lost = [each for each in done if not each["by"]]
            told = [reasons.get((each["file"], each["old"], each["new"])) for each in lost]
            for each, reason in zip(lost, told, strict=True):
                if reason:
                    say(f"{each['file']}:{each['line']}: no effect: {reason}")
            shares.append((room, len(done), len(done) - len(lost), sum(map(bool, told))))
    shares.append(("all", *map(sum, list(zip(*shares, strict=True))[1:])))
    for room, n, caught, same in shares:
        share = caught / max(1, n - same)
        say(f"{room:12}{caught:4} of {n:4} caught, {same:2} have no effect: {share:.1%}")
    sys.exit(share < GOAL)


if __name__ == "__main__":
    main()
