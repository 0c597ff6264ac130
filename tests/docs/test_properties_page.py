"""The property bench computes the tables on the page of properties."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from equirank.metrics.properties import scenario_names

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
page_tables = import_module("property_tables")

ASKED = ["NDCG", "ExposureGap", "RankParityError", "clustering.z"]
ROWS = [
    "| `NDCG` | . | **4.16** | . | . | **2.96** | **5.30** | . | . | . |",
    "| `ExposureGap` | **2.24** | **6.22** | **4.23** | **1.52** | **1.57** | . | **3.53** "
    "| **8.40** | . |",
    "| `RankParityError` | . | -0.29 | . | . | **1.79** | . | **4.08** | **23.30** | . |",
    "| `clustering.z` | **11.14** | **2.80** | **8.25** | **16.32** | **1.56** | . | -0.02 "
    "| **1.55** | . |",
]


@pytest.mark.gate
def test_both_tables_are_put_into_the_page(monkeypatch):
    known = page_tables.tables(ASKED)
    monkeypatch.setattr(page_tables, "tables", lambda: known)
    source = [(DOCS / "properties.md").read_text(encoding="utf-8")]
    page_tables.fill(None, "properties", source)
    lines = source[0].splitlines()
    assert [line for line in lines if line in ROWS] == ROWS
    assert lines.count(f"| metric | {' | '.join(scenario_names())} |") == 2
    assert "<!--" not in source[0]


def test_other_pages_stay_as_they_are():
    source = [page_tables.MARKS["metrics"]]
    page_tables.fill(None, "index", source)
    assert source == [page_tables.MARKS["metrics"]]
