"""A killed comparison continues: the same table, nothing twice, nothing damaged believed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from comparison_methods import METRICS, Weights, slow_run, small_data, values
from waiting import until

from equirank import compare
from equirank.comparison import cell as cells

TESTS = Path(__file__).parents[1]


def finished(store):
    return list(Path(store).glob("*.json"))


def start_and_kill(store, n_cells, n_jobs):
    """Run in another process and kill it with signal 9 once so many cells are finished."""
    path = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import comparison_methods as m; m.slow_run({str(store)!r}, {n_jobs})",
        ],
        env=os.environ | {"PYTHONPATH": path, "HELD": f"{store}:{n_cells}"},
    )
    try:
        until(lambda: len(finished(store)) >= n_cells or child.poll() is not None)
    finally:
        child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL, "it ended by itself"


@pytest.mark.gate
@pytest.mark.skipif(os.name != "posix", reason="needs signal 9")
def test_killed_again_and_again_it_ends_with_the_same_table(tmp_path, monkeypatch):
    store = tmp_path / "store"
    for n_cells, n_jobs in ((1, 1), (4, 2), (8, 1)):
        start_and_kill(store, n_cells, n_jobs)
    there = {path: path.read_bytes() for path in finished(store)}
    assert 8 <= len(there) < 12
    ran = []
    run = cells.run_cell
    monkeypatch.setattr(
        "equirank.comparison.compare.run_cell",
        lambda *words: ran.append(words) or run(*words),
    )
    continued = slow_run(store)
    assert len(ran) == 12 - len(there)
    assert {path: path.read_bytes() for path in there} == there
    assert values(continued) == values(slow_run(None))
    assert len(finished(store)) == 12


def count(monkeypatch):
    ran = []
    run = cells.run_cell

    def counted(estimator, data, fold, *rest):
        ran.append((repr(estimator), fold.number, fold.seed))
        return run(estimator, data, fold, *rest)

    monkeypatch.setattr("equirank.comparison.compare.run_cell", counted)
    return ran


@pytest.mark.slow
def test_what_changed_is_computed_anew(tmp_path, monkeypatch):
    ran, data = count(monkeypatch), small_data()
    options = {"cv": 2, "store": tmp_path}
    methods = {"a": Weights(), "b": Weights(noise=0.1)}
    first = compare(methods, data, METRICS, **options)
    assert len(ran) == 4
    ran.clear()
    again = compare({"renamed": Weights(), "b": Weights(noise=0.1)}, data, METRICS, **options)
    assert not ran
    assert again.table["value"].tolist() == first.table["value"].tolist()
    for changed, n in (
        (lambda: compare({"a": Weights(), "b": Weights(noise=0.2)}, data, METRICS, **options), 2),
        (lambda: compare(methods, data, METRICS, seeds=[0, 1], **options), 4),
        (lambda: compare(methods, data, METRICS[:1], **options), 4),
        (lambda: compare(methods, data, METRICS, **(options | {"cv": 3})), 6),
        (lambda: compare(methods, data, METRICS, fresh=True, **options), 4),
        (lambda: compare(methods, data.select(slice(0, 11)), METRICS, **options), 4),
    ):
        ran.clear()
        changed()
        assert len(ran) == n
    monkeypatch.setattr("equirank.__version__", "99.0")
    ran.clear()
    compare(methods, data, METRICS, **options)
    assert len(ran) == 4


def test_one_changed_feature_is_noticed(tmp_path, monkeypatch):
    from dataclasses import replace

    ran, data = count(monkeypatch), small_data()
    compare({"a": Weights()}, data, METRICS, cv=2, store=tmp_path)
    X = data.X.copy()
    X[7, 0] += 1e-9
    compare({"a": Weights()}, replace(data, X=X), METRICS, cv=2, store=tmp_path)
    assert len(ran) == 4


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["empty", "cut", "text", "number", "missing", "list", "deep"])
def test_a_damaged_cell_is_computed_anew(tmp_path, harm):
    first = slow_run(tmp_path)
    path = sorted(finished(tmp_path))[3]
    whole = path.read_text()
    document = json.loads(whole)
    if harm == "number":
        document["cell"]["summary"]["NDCG@5"] += 0.25
    elif harm == "missing":
        del document["cell"]["values"]
    text = {"empty": "", "cut": whole[: len(whole) // 2], "text": "hello", "list": "[1]"}
    text["deep"] = "[" * 100_000
    path.write_text(text.get(harm, json.dumps(document)))
    assert values(slow_run(tmp_path)) == values(first)
    restored = json.loads(path.read_text())
    assert restored["cell"]["summary"] == json.loads(whole)["cell"]["summary"]


@pytest.mark.slow
def test_files_left_unfinished_are_swept_when_old(tmp_path):
    old, new = tmp_path / ".a.json.0.partial", tmp_path / ".b.json.0.partial"
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (0, 0))
    slow_run(tmp_path)
    assert not old.exists()
    assert new.exists()
