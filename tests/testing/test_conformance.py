"""The library against the vectors, and the vectors against the definitions they are made from."""

import ast
import inspect
import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import equirank.allocation
import equirank.metrics
import equirank.preprocess
from equirank.core.errors import DataError
from equirank.core.metric_function import function_name
from equirank.core.registry import metric_names
from equirank.testing import conformance
from equirank.testing.conformance import load_vectors, run_conformance, vector_names

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "src" / "equirank" / "testing" / "vectors"
FACTS = {
    "schema_version", "metric", "object", "formula", "reference", "direction", "bounds",
    "tolerance", "cases",
}  # fmt: skip
WORDS = {"log2": math.log2, "ln": math.log, "exp": math.exp, "sqrt": math.sqrt, "max": max}


def functions():
    """Return what needs vectors: functions of metrics, and all of allocation and preprocess."""
    found = {function_name(name) for name in metric_names()} | {"merit_gap", "rbo"}
    for package in (equirank.allocation, equirank.preprocess):
        found |= {name for name in package.__all__ if inspect.isfunction(getattr(package, name))}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", vector_names())
def test_library_passes(name):
    (row,) = run_conformance(name)
    assert row["first failure"] == ""
    assert row["passed"] == row["cases"] == len(load_vectors(name)["cases"])
    assert row["deviation"] < 1e-13


def test_every_metric_has_vectors():
    lacking = sorted(functions() - set(vector_names()))
    assert not lacking, (
        f"{lacking} have no vectors: write a definition in conformance/definitions and an entry in "
        f"conformance/catalogue.toml, then run python -m conformance.generate {' '.join(lacking)}"
    )
    assert set(vector_names()) == functions()


def test_files_say_what_they_must():
    for name in vector_names():
        vectors = load_vectors(name)
        assert set(vectors) == FACTS
        assert (vectors["schema_version"], vectors["metric"]) == (1, name)
        cases = vectors["cases"]
        assert len(cases) >= 20
        titles = [case["name"] for case in cases]
        assert len(set(titles)) == len(titles)
        assert all({"name", "inputs", "options", "expected"} <= set(case) for case in cases)
        assert any("error" in case["expected"] for case in cases)
        golden = [case for case in cases if "working" in case]
        assert golden == cases[: len(golden)]
        assert golden or name == "representation_leakage"


def test_facts_are_those_of_the_objects():
    named = {load_vectors(name)["object"] for name in vector_names()} - {None}
    lacking = sorted(set(metric_names()) - named)
    assert named == set(metric_names()), f"{lacking} have no vectors: see docs/conformance.md"
    for name in vector_names():
        vectors = load_vectors(name)
        if vectors["object"]:
            metric = getattr(equirank.metrics, vectors["object"])()
            low, high = (bound if math.isfinite(bound) else None for bound in metric.bounds)
            assert vectors["bounds"] == [low, high], name
            assert vectors["direction"] == metric.direction, name


def test_values_keep_their_bounds():
    loose = {"normalizer", "kind", "weight", "proportions", "discount"}
    for name in vector_names():
        vectors = load_vectors(name)
        low, high = vectors["bounds"]
        for case in vectors["cases"]:
            value = case["expected"].get("value")
            if value is not None and not loose & set(case["options"]):
                assert low is None or float(Fraction(value)) >= low, (name, case["name"])
                assert high is None or float(Fraction(value)) <= high, (name, case["name"])


def test_workings_give_the_values():
    """What stands in golden cases as arithmetic is worked out."""
    done = 0
    for name in vector_names():
        for case in load_vectors(name)["cases"]:
            try:
                tree = ast.parse(case.get("working", "|"), mode="eval")
            except SyntaxError:
                continue
            known = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} <= set(WORDS)
            if known and not isinstance(tree.body, ast.Tuple) and case["expected"].get("value"):
                try:
                    value = eval(compile(tree, name, "eval"), {"__builtins__": {}}, WORDS)
                except (SyntaxError, TypeError) as error:
                    pytest.fail(f"working of {name}, {case['name']!r}, must be Python: {error}")
                expected = float(Fraction(case["expected"]["value"]))
                assert value == pytest.approx(expected, rel=1e-12, abs=1e-12), (name, case["name"])
                done += 1
    assert done > 60


def slightly_wrong(real, options):
    return real(**options) * (1 + 1e-9)


def stable(real, options):
    return real(**{**options, "ties": "stable"})


def never_undefined(real, options):
    return real(**{**options, "undefined": "zero"})


def never_per_query(real, options):
    return real(**{**options, "per_query": False})


def lenient(real, options):
    try:
        return real(**options)
    except DataError:
        return 0.0


def without_groups(real, options):
    found = real(**options)
    return (found[0], {}) if options.get("return_groups") else found


def crashing(real, options):
    raise ZeroDivisionError("oh")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "broken", "said"),
    [
        ("ndcg", slightly_wrong, "the value must be 1/2, got 0.5000000005"),
        ("recall", stable, "tied across the cutoff: the value must be 2/3, got 1.0"),
        ("auc", never_undefined, "the value must be None, got 0.0"),
        ("precision", never_per_query, "each query must be ['1/2'], got 0.5"),
        ("dcg", lenient, "score not a number: error must be not finite, got 0.0"),
        ("exposure_gap", without_groups, "group f must be 6.3"),
        ("err", crashing, "error must be None, got ZeroDivisionError: oh"),
    ],
)
def test_broken_metric_is_caught(monkeypatch, name, broken, said):
    real = getattr(equirank.metrics, name)
    monkeypatch.setattr(equirank.metrics, name, lambda **options: broken(real, options))
    (row,) = run_conformance(name)
    assert row["passed"] < row["cases"]
    assert said in row["first failure"]


def test_missing_function_fails(monkeypatch):
    monkeypatch.setattr(equirank.metrics, "__all__", ["NDCG"])
    (row,) = run_conformance("ndcg")
    assert (row["passed"], row["first failure"]) == (0, "there is no such function")


def test_unknown_metric():
    with pytest.raises(DataError, match="metric 'ndgc' has no vectors; did you mean 'ndcg'"):
        run_conformance(["recall", "ndgc"])


def test_deviation():
    deviation = conformance._deviation
    assert deviation("1/4", 0.25) == 0.0
    assert deviation("4", 5.0) == 0.25
    assert deviation(None, math.nan) == 0.0
    for expected, got in [("1/4", math.nan), ("1/4", math.inf), (None, 0.0), (True, False)]:
        assert deviation(expected, got) == math.inf
    assert deviation("empty", "DataError: so") == 0.0
    assert deviation("empty", "TypeError: so") == math.inf
    assert deviation(None, "DataError: so") == math.inf


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


@pytest.mark.slow
def test_definitions_share_nothing_with_the_library():
    paths = sorted((ROOT / "conformance").rglob("*.py"))
    assert len(paths) > 8
    standard = sys.stdlib_module_names
    for path in paths:
        for module in imported(path):
            assert module.startswith(".") or module.split(".")[0] in standard, (path.name, module)


@pytest.mark.gate
def test_vectors_are_made_again_byte_for_byte(tmp_path):
    command = [sys.executable, "-m", "conformance.generate", "--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in FOLDER.glob("*.json")}
    assert made == kept
    assert sum(map(len, kept.values())) < 3e6


def test_only_the_named_vectors_are_written(tmp_path):
    command = [sys.executable, "-m", "conformance.generate", "recall", "--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert [path.name for path in tmp_path.iterdir()] == ["recall.json"]


@pytest.mark.slow
def test_vectors_stand_at_the_top_too():
    assert (ROOT / "vectors").resolve() == FOLDER
    assert (ROOT / "vectors").is_symlink()


def test_files_are_plain_json():
    for path in FOLDER.glob("*.json"):
        json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
