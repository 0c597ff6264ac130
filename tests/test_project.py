"""The project's own promises: what is installed, what is shipped, what is imported."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

BASE = {
    *("numpy", "scipy", "scikit-learn", "numba", "narwhals"),
    *("rich", "typer", "joblib", "lazy_loader"),
}
EXTRAS = {
    "lightgbm": {"lightgbm"},
    "xgboost": {"xgboost"},
    "catboost": {"catboost"},
    "onnx": {"onnx"},
    "neural": {"onnx", "safetensors", "torch"},
    "dask": {"dask"},
    "report": {"jinja2", "altair", "vl-convert-python"},
    "data": {"pooch", "pyarrow"},
    "excel": {"python-calamine"},
    "save": {"skops"},
    "duckdb": {"duckdb", "pyarrow"},
    "studio": {"equirank", "starlette", "uvicorn"},
}
#: Extras that are asked for by name, and not part of all.
BY_NAME = {"gpu": {"cupy-cuda12x"}, "mlflow": {"mlflow-skinny"}, "trec": {"ir-measures", "ranx"}}
BY_NAME["spark"] = {"pandas", "pyarrow", "pyspark"}
DEVELOPMENT = {"test", "test-all", "test-bare", "lint", "docs", "release", "bench"}
HEAVY = {
    *(
        "torch",
        "lightgbm",
        "xgboost",
        "catboost",
        "dask",
        "distributed",
        "pandas",
        "polars",
        "pyarrow",
        "altair",
    ),
    *("matplotlib", "sklearn", "scipy.stats", "numba"),
}


def names(requirements):
    """Return the packages named by requirement strings."""
    return {re.match(r"[\w.-]+", requirement)[0] for requirement in requirements}


def test_base_dependencies_are_the_nine():
    requirements = PROJECT["project"]["dependencies"]
    assert names(requirements) == BASE
    assert len(requirements) == len(BASE)
    assert all(">=" in requirement for requirement in requirements)


def test_extras_are_those_promised():
    extras = PROJECT["project"]["optional-dependencies"]
    promised = EXTRAS | BY_NAME
    assert {name: names(extras[name]) for name in promised} == promised
    assert set(extras) == set(promised) | DEVELOPMENT | {"all"}


def test_all_is_the_union_of_the_extras():
    (everything,) = PROJECT["project"]["optional-dependencies"]["all"]
    assert set(re.fullmatch(r"equirank\[(.*)\]", everything)[1].split(",")) == set(EXTRAS)


def test_version_stands_in_one_place():
    import equirank

    assert PROJECT["project"]["dynamic"] == ["version"]
    source = ROOT / PROJECT["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{equirank.__version__}"' in source.read_text(encoding="utf-8")
    assert f"version: {equirank.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def shipped(target):
    """Return the files that the build is told to ship by name, whatever is ignored."""
    patterns = PROJECT["tool"]["hatch"]["build"]["targets"][target]["artifacts"]
    return {path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}


@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_types_and_data_are_shipped(target):
    package = ROOT / "src" / "equirank"
    wanted = {package / "py.typed", *package.rglob("*.pyi")}
    wanted |= {path for path in (package / "datasets" / "data").iterdir() if path.is_file()}
    wanted |= set((package / "auditing" / "profiles").glob("*.toml"))
    assert wanted <= shipped(target)
    assert len(wanted) > 4


def test_every_install_of_the_makefile_is_constrained():
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    installs = [line for line in lines if "$(PIP) install" in line]
    assert installs
    assert all("-c constraints.txt" in line for line in installs)
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()


def test_importing_the_library_stays_light():
    program = "import sys, json, equirank; print(json.dumps(sorted(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not HEAVY & set(json.loads(output.stdout))


def own_files():
    """Yield the text files of the repository, leaving out what was built or installed."""
    made = {"__pycache__", "build", "dist"}
    for top in ROOT.iterdir():
        if top.name in made or (top.name.startswith(".") and top.name not in {".ci", ".gitignore"}):
            continue
        for path in [top] if top.is_file() else top.rglob("*"):
            if path.is_file() and not made & set(path.parts[len(ROOT.parts) :]):
                yield path


@pytest.mark.slow
def test_no_file_names_a_place_on_some_machine():
    places = "|".join(["home", "root", "work", "tmp", "opt", "Users"])
    place = re.compile(rb"(?<![\w.$})])/(" + places.encode() + rb")/")
    found = [
        f"{path.relative_to(ROOT)}: {match[0].decode()}"
        for path in own_files()
        if path.suffix not in {".gz", ".parquet", ".npz", ".nbi", ".nbc"}
        for match in place.finditer(path.read_bytes())
    ]
    assert not found


def test_tests_wait_for_states_with_the_one_limit():
    """A limit or a pause of some seconds is too short on a machine that is busy."""
    short = re.compile(r"(timeout=|\.(wait|join|result)\()\d|wait_for_timeout\(|sleep\([1-9]")
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in ("tests", ".ci")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if short.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        ("No module named 'torch.nn'", "skipped"),
        ("could not import 'torch': No module named 'torch'", "skipped"),
        ("torch is not installed; it comes with equirank[neural]", "skipped"),
        ("No module named 'torchh'", "failed"),
        ("assert 1 == 2", "failed"),
    ],
)
def test_tests_that_lack_a_package_are_one_line_with_its_target(
    pytestconfig, monkeypatch, message, outcome
):
    plugins = pytestconfig.pluginmanager.get_plugins()
    (conftest,) = (p for p in plugins if getattr(p, "__file__", "") == str(ROOT / "conftest.py"))
    monkeypatch.setattr(conftest, "MISSING", {"torch"})
    report = SimpleNamespace(outcome="failed", longrepr=None)
    conftest.skip_if_missing(report, message)
    assert report.outcome == outcome
    if outcome == "skipped":  # the same file, line and words: pytest counts them as one
        assert report.longrepr[:2] == (conftest.__file__, None)
        assert report.longrepr[2].startswith("Skipped: make test-all installs ")
