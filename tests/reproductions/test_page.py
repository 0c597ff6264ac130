"""The page of results: marks for every study, and a writer that touches nothing else."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from shutil import copy

import pytest

from .studies import ROOT, load

PAGE = Path(__file__).parents[2] / "docs" / "results" / "reproductions.md"


STUDIES = sorted(path.parent.name for path in ROOT.glob("*/run.py"))


@pytest.mark.parametrize("name", STUDIES)
def test_the_page_has_marks(name):
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(f"<!-- begin {name} -->") == text.count(f"<!-- end {name} -->") == 1


def test_only_what_is_between_the_marks_is_written(tmp_path, monkeypatch):
    page = load(".", "page.py")
    target = tmp_path / "page.md"
    target.write_text("a\n<!-- begin theory -->\nold\n<!-- end theory -->\nz\n", encoding="utf-8")
    monkeypatch.setattr(page, "PAGE", target)
    kept = tmp_path / "theory" / "results.json.gz"
    kept.parent.mkdir()
    copy(ROOT / "theory" / "expected.toml", kept.parent)
    moved = replace(load("theory").STUDY, file=str(kept.with_name("run.py")))
    monkeypatch.setattr(page, "study_of", lambda name: moved)
    monkeypatch.setattr(page, "HERE", tmp_path)
    good, bad = ({"seed": 0, "difference": d} for d in (1e-9, 1.0))
    part = {"seconds": 60.0, "seeds": 1, "version": "1", "began": "then"}
    folders = []
    for number, row in enumerate((good, bad)):
        folder = tmp_path / str(number)
        folder.mkdir()
        parts = {"bipartite": part | {"tables": {"bipartite": [row]}}}
        results = {"name": "theory", "quick": False, "parts": parts}
        (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
        folders.append(str(folder))
    page.main(folders[:1])
    first = target.read_text(encoding="utf-8")
    assert first.startswith("a\n<!-- begin theory -->\n\n1 claims: 1 confirmed.")
    assert first.endswith("<!-- end theory -->\nz\n")
    assert "old" not in first
    assert "Not confirmed or contradicted" not in first
    bytes_before = kept.read_bytes()
    page.main(folders[:1])
    assert kept.read_bytes() == bytes_before  # equal results are equal files
    page.main(folders)  # the later folder has the later run of the part
    assert "1 claims: 1 contradicted." in target.read_text(encoding="utf-8")
    page.main([])  # from what is stored
    assert "1 claims: 1 contradicted." in target.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", STUDIES)
def test_the_page_has_the_figures_of_the_stored_run(name):
    page, study = load(".", "page.py"), load(name).STUDY
    results = page.v.stored(study)
    assert results["name"] == name
    assert results["quick"] is False
    before = results["verdicts"], results.get("remarks")
    page.v.judge(study, results)  # the rules of today on the rows of the run
    assert (results["verdicts"], results.get("remarks")) == before
    text = PAGE.read_text(encoding="utf-8")
    assert page.inserted(text, name, results) == text
    assert ("Pieced together" in page.written(results)) == (
        "pieced_together" in results
        or len({part.get("began") for part in results["parts"].values()}) > 1
    )


@pytest.mark.parametrize("name", STUDIES)
def test_stored_runs_are_small_and_have_no_rows_of_data(name):
    file = ROOT / name / "results.json.gz"
    assert file.stat().st_size < 200_000
    results = json.loads(gzip.decompress(file.read_bytes()))
    for part in results["parts"].values():
        for rows in part["tables"].values():
            for row in rows:
                assert all(isinstance(value, str | float | int | None) for value in row.values())


def test_runs_of_several_times_are_named():
    page = load(".", "page.py")
    part = {"seconds": 60, "seeds": 2, "version": "1"}
    parts = {"a": part | {"began": "Monday"}, "b": part | {"began": "Tuesday"}}
    said = page.origin({"parts": parts})
    assert said.endswith("Pieced together from 2 runs: a (Monday UTC); b (Tuesday UTC).")
    assert "Pieced" not in page.origin({"parts": {"a": parts["a"]}})


def test_quick_runs_are_refused(tmp_path):
    page = load(".", "page.py")
    results = {"name": "theory", "quick": True, "parts": {}}
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    with pytest.raises(SystemExit, match="must contain a full run"):
        page.merged([tmp_path])
