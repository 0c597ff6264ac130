"""The page of Fair LambdaMART has the figures of the stored run, and the lines are lines."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightgbm")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def study():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import fair_lines
    finally:
        sys.path.pop(0)
    return fair_lines


def test_the_page_has_the_figures_of_the_stored_run(study):
    rows = study.read()
    page = study.PAGE.read_text(encoding="utf-8")
    assert study.inserted(page, rows) == page
    assert all(len(values) in (4, 5) for row in rows for values in row["values"].values())
    for name in study.SETS:
        halves = [row["half"] for row in rows if row["set"] == name]
        assert sorted(halves) == list(range(len(halves)))


def test_the_first_paragraph_has_figures_of_the_run(study):
    rows = study.read()
    first = study.PAGE.read_text(encoding="utf-8").split("\n\n")[1]
    told = " ".join(text for name in study.SETS for text in study.acceptance(rows, name))
    shares = re.findall(r"[\d.]+%", first)
    assert len(shares) == 3
    assert set(shares) <= set(re.findall(r"[\d.]+%", told))
    halves = {len([row for row in rows if row["set"] == name]) for name in study.SETS}
    assert {int(n) for n in re.findall(r"(\d+) (?:fresh )?halves", first)} == halves


def test_distance_below_a_line_is_that_of_the_mean_point(study):
    rng = np.random.default_rng(0)
    start, middle, end = (
        np.array(point) + 0.1 * rng.normal(size=(7, 2))
        for point in ([80.0, 30.0], [60.0, 25.0], [40.0, 10.0])
    )
    line = study.Line([start, middle, end])
    mine = np.array([50.0, 12.0]) + rng.normal(size=(7, 2))
    (x, y), (x0, y0), (x1, y1) = (part.mean(axis=0) for part in (mine, middle, end))
    wanted = y - (y0 + (x0 - x) / (x0 - x1) * (y1 - y0))
    assert line.below(mine).mean() == pytest.approx(wanted)
    better = mine + np.array([40.0, 0.0])  # a larger NDCG than the plain ranker's
    assert line.below(better).mean() == pytest.approx(y - start.mean(axis=0)[1])
    np.testing.assert_allclose(line.below(middle).mean(), 0.0, atol=1e-9)


def test_the_wider_interval_allows_for_overlapping_halves(study):
    values = np.random.default_rng(1).normal(size=30)
    narrow, wide = study.halfwidths(values)
    assert wide / narrow == pytest.approx(np.sqrt(31.0))
    assert narrow == pytest.approx(2.045 * values.std(ddof=1) / np.sqrt(30), rel=1e-3)
