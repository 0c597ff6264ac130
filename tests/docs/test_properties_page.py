"""The table on the page of properties is what the bench says."""

import re
from pathlib import Path

import pytest

from equirank.metrics.properties import bench, scenario_names
from equirank.metrics.properties.property_bench import default_metrics

PAGE = (Path(__file__).parents[2] / "docs" / "properties.md").read_text(encoding="utf-8")
ROWS = {
    name: [cell.strip() for cell in rest.strip(" |").split("|")]
    for name, rest in re.findall(r"^\| `([^`]+)` \|(.*)$", PAGE, flags=re.MULTILINE)
}


def test_every_metric_has_its_row():
    assert list(ROWS) == [metric.name for metric in default_metrics()]
    assert f"| metric | {' | '.join(scenario_names())} |" in PAGE


@pytest.mark.parametrize("metric", ["NDCG", "ExposureGap", "RankParityError", "clustering.z"])
def test_rows_are_what_the_bench_says(metric):
    for row, cell in zip(bench(metric), ROWS[metric], strict=True):
        assert cell.startswith("**") == row["detected"], row
        shown = cell.strip("*")
        value = 0.0 if shown == "." else float(shown)
        assert value == pytest.approx(row["effect"], abs=0.0051)
