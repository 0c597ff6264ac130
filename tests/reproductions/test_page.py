"""The page of results: marks for every study, and a writer that touches nothing else."""

import json
from pathlib import Path

import pytest

from .studies import load

PAGE = Path(__file__).parents[2] / "docs" / "reproductions.md"


@pytest.mark.parametrize(
    "name", ["cost_boosting", "fair_lambdamart", "lambdafair", "measures", "theory"]
)
def test_the_page_has_marks(name):
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(f"<!-- begin {name} -->") == text.count(f"<!-- end {name} -->") == 1


def test_only_what_is_between_the_marks_is_written(tmp_path, monkeypatch):
    page = load(".", "page.py")
    target = tmp_path / "page.md"
    target.write_text("a\n<!-- begin theory -->\nold\n<!-- end theory -->\nz\n", encoding="utf-8")
    monkeypatch.setattr(page, "PAGE", target)
    good, bad = ({"seed": 0, "difference": d} for d in (1e-9, 1.0))
    part = {"seconds": 60.0, "seeds": 1, "tables": {"bipartite": [good]}}
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
    page.main(folders)  # the later folder has the later run of the part
    assert "1 claims: 1 contradicted." in target.read_text(encoding="utf-8")


def test_quick_runs_are_refused(tmp_path):
    page = load(".", "page.py")
    results = {"name": "theory", "quick": True, "parts": {}}
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    with pytest.raises(SystemExit, match="must contain a full run"):
        page.merged([tmp_path])
