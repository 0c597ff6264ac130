"""Every block of code in the prose runs, and shows the output it says it shows."""

import doctest
import inspect
import itertools
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from sklearn import config_context
from typer.testing import CliRunner
from waiting import LIMIT

from equirank import Ranker
from equirank.cli.app import app
from equirank.core.registry import metric_names, public_classes
from equirank.metrics.properties import scenario_names

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "results").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),  # their cells run when pages are built
]
#: The pages whose code make test runs, too; that of the others is for the gate.
FIRST_PAGES = {"README.md"} | {
    f"docs/{name}.md" for name in ("cheat_sheet", "concepts", "evaluation", "explain", "remedy")
}
FIRST_EXAMPLES = {"plot_evaluate.py", "plot_rerank.py"}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>\w+)\n(?P<body>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
END = "\x1e"  # printed after each command, to tell their outputs apart


def blocks(page, *kinds):
    """Yield the kind, the text and the line number of each fenced block of these kinds."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        if match["kind"] in kinds:
            body = re.sub(f"^{match['indent']}", "", match["body"], flags=re.MULTILINE)
            yield match["kind"], body, text.count("\n", 0, match.start("body"))


def name_of(page):
    """Return the path of a page below the repository."""
    return page.relative_to(ROOT).as_posix()


def parametrised(name, paths, name_of, first):
    """Parametrise over files, of which all but the first are for the gate."""
    return pytest.mark.parametrize(
        name,
        [
            pytest.param(path, id=name, marks=() if name in first else pytest.mark.gate)
            for path, name in ((path, name_of(path)) for path in paths)
        ],
    )


def pages_with(*kinds):
    """Parametrise over the pages that have such blocks."""
    found = [page for page in PAGES if any(blocks(page, *kinds))]
    return parametrised("page", found, name_of, FIRST_PAGES)


@pytest.mark.slow
@pages_with("python", "pycon")
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with config_context():  # a page may switch metadata routing on
        run_python_blocks(page)


def run_python_blocks(page):
    """Run the blocks of a page and return their names."""
    names = {"__name__": "__main__"}
    for kind, body, line in blocks(page, "python", "pycon"):
        if kind == "python":
            exec(compile("\n" * line + body, str(page), "exec"), names)
            continue
        example = doctest.DocTestParser().get_doctest(body, names, page.name, str(page), line)
        report = []
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        runner.run(example, out=report.append, clear_globs=False)
        names.update(example.globs)  # the test works on a copy
        assert not runner.failures, "".join(report)
    return names


@pytest.mark.gate
def test_the_searches_of_the_lightgbm_page_score_each_list():
    """The scores and the alpha of the page, without scikit-learn's tools."""
    with config_context():
        page = run_python_blocks(ROOT / "docs" / "move_from_lgbmranker.md")
    X, y, qid, sex, scorer = (page[name] for name in ("X", "y", "qid", "sex", "TradeoffScorer"))
    scores, tradeoffs = [], {alpha: [] for alpha in page["grid"]["alpha"]}
    for at in range(5):
        test = qid // 2 == at
        fit, held = {"qid": qid[~test]}, {"qid": qid[test]}
        model = page["model"].fit(X[~test], y[~test], **fit)
        scores.append(model.score(X[test], y[test], **held))
        for alpha, values in tradeoffs.items():
            fair = page["FairLambdaMART"](alpha=alpha, n_estimators=20)
            fair.fit(X[~test], y[~test], sensitive_features=sex[~test], **fit)
            values.append(scorer()(fair, X[test], y[test], sensitive_features=sex[test], **held))
    assert page["scores"].tolist() == scores
    means = {alpha: sum(values) / 5 for alpha, values in tradeoffs.items()}
    assert page["alpha"] == max(means, key=means.get)


#: A call that needs nothing of a shell: it runs in this process, which has imported the library.
PLAIN = re.compile(r"equirank [^$*|<>&;()\\]*")


def is_plain(line):
    return PLAIN.fullmatch(line) is not None


def commands(body):
    """Split a console block into its commands, each with the output shown below it."""
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)
    return [tuple(part.partition("\n")[::2]) for part in parts if part.strip()]


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Return a function that runs lines in one shell that knows ``python`` and ``equirank``.

    It returns what each line printed.
    """
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, function = scripts["equirank"].split(":")
    start = f"import sys; sys.argv[0] = 'equirank'; from {module} import {function}; {function}()"
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, options in {"python": "", "equirank": f'-c "{start}"'}.items():
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {options} "$@"\n')
        (tools / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PYTHONWARNINGS", "error")

    def run(lines):
        if is_plain(lines[0]):
            words = shlex.split(lines[0])[1:]
            result = CliRunner().invoke(app, words, prog_name="equirank")
            assert result.exit_code == 0, f"{lines}\n{result.output}"
            return [result.stdout]
        script = "\n".join(["set -e", *(f"{line}\nprintf '{END}'" for line in lines)])
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, f"{lines}\n{done.stdout}{done.stderr}"
        return done.stdout.split(END)[:-1]

    return run


@pytest.mark.slow
@pages_with("console")
def test_commands_run(page, shell):
    for _, body, line in blocks(page, "console"):
        done, outputs = commands(body), []
        for plain, part in itertools.groupby((each for each, _ in done), is_plain):
            lines = list(part)
            for each in [lines[at : at + 1] for at in range(len(lines))] if plain else [lines]:
                outputs += shell(each)
        for (command, shown), output in zip(done, outputs, strict=True):
            if shown.strip():
                same = doctest.OutputChecker().check_output(shown, output, FLAGS)
                assert same, f"{page.name}:{line}\n$ {command}\n{output}"


@pytest.mark.slow
@parametrised("script", EXAMPLES, lambda script: script.name, FIRST_EXAMPLES)
def test_examples_run(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), {"__name__": "__main__"})


def test_links_to_files_lead_somewhere():
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not target.endswith(".rst"):  # written when pages are built
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_blocks_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "a\n```python\nx = 1\n```\n\n1. b\n\n   ```console\n   $ c\n   d\n   $ e\n   ```\n"
    )
    assert list(blocks(page, "python")) == [("python", "x = 1\n", 2)]
    ((_, body, _),) = blocks(page, "console")
    assert commands(body) == [("c", "d\n"), ("e", "")]


#: A count in the prose: the page, the words around it, and the number in the code.
COUNTS = [
    ("README.md", r"(\w+) metrics, rankers", lambda: len(metric_names())),
    ("docs/overview.md", r"\*\*\[(\w+) metrics\]", lambda: len(metric_names())),
    ("docs/overview.md", r"(\w+) kinds of harm", lambda: len(scenario_names())),
    ("docs/properties.md", r"which of (\w+) harms", lambda: len(scenario_names())),
    ("docs/overview.md", r"(\w+) studies", lambda: len([*ROOT.glob("reproductions/*/run.py")])),
    ("docs/tutorials/index.md", r"in (\w+) chapters", lambda: len([*ROOT.glob(COURSE)])),
    ("docs/index.md", r"in (\w+) chapters", lambda: len([*ROOT.glob(COURSE)])),
    ("docs/neighbours.md", r"Which of (\w+) packages", lambda: len(neighbours())),
    ("docs/install.md", r"has (\w+) dependencies", lambda: len(dependencies())),
]
COURSE = "docs/tutorials/course_*.md"
SMALL = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def neighbours():
    """Return the rows of the table of packages, of which the first is this one."""
    overview = (ROOT / "docs" / "neighbours.md").read_text(encoding="utf-8").split("\n## ")[1]
    return [line for line in overview.splitlines() if line.startswith("| ")][2:]


def dependencies():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]


@pytest.mark.parametrize(("page", "words", "count"), COUNTS, ids=[each[1] for each in COUNTS])
def test_counts_are_those_of_the_code(page, words, count):
    found = re.findall(words, (ROOT / page).read_text(encoding="utf-8"))
    assert found, f"{page} has no {words}: change COUNTS, too"
    n = count()
    assert set(found) <= {str(n), *SMALL[n : n + 1]}


def test_what_other_packages_have_is_not_in_this_one():
    """The page that says what is lacking names in backticks what is there."""
    page = (ROOT / "docs" / "neighbours.md").read_text(encoding="utf-8")
    lacking = re.search(r"\n## What they have.*?(?=\n## )", page, re.DOTALL)[0]
    for name in re.findall(r"`([A-Z]\w+)`", lacking):
        assert name in public_classes(object) or name in metric_names()
        lacking = lacking.replace(f"`{name}`", "")
    words = {"bpref": "Bpref", "rank-biased precision": "RBP", "diversity": "AlphaNDCG"}
    words |= {name.lower(): name for name in metric_names()}
    for word, name in words.items():
        assert not re.search(rf"(?<![-\w]){word}\b", lacking.lower()), f"{name} exists"
    unbiased = [n for n, kind in public_classes(Ranker).items() if "position" in taken(kind.fit)]
    assert "`LambdaMART` and `FairLambdaMART`\n  [correct for it]" in page
    assert sorted(unbiased) == ["FairLambdaMART", "LambdaMART"]


def taken(method):
    """Return the names of a method's arguments."""
    return inspect.signature(method).parameters


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_picture_has_one_for_a_phone(page):
    """Text of a page of 1280 pixels is too small on a screen of 390."""
    assert "images/audit_narrow.png" in (ROOT / page).read_text(encoding="utf-8")
    width = (ROOT / "docs" / "images" / "audit_narrow.png").read_bytes()[16:20]
    assert int.from_bytes(width, "big") / 1.5 == 390
