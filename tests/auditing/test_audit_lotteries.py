"""Reports on fair data state a finding, or fire a gate, at most once in 20: a short form.

``python benchmarks/claims.py`` runs 2,000 reports per shape.
"""

import importlib.util
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

RUNS = 200
#: Reports that cross two attributes have many times the comparisons of others.
CROSSED_RUNS = 25
#: Lotteries in which gates about metrics are judged too; each costs an evaluation per report.
WITH_METRICS = ("1 1 lists", "1 3 lists")


def benchmark():
    path = Path(__file__).parents[2] / "benchmarks" / "claims.py"
    spec = importlib.util.spec_from_file_location("benchmark_claims", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


BENCHMARK = benchmark()
SHAPES = BENCHMARK.shapes()
#: Shapes whose second attribute only multiplies comparisons: without it, and crossed.
for name, draw in {
    "5 unknown labels": BENCHMARK.unknown,
    "7 recorded decisions": BENCHMARK.recorded,
}.items():
    SHAPES |= {name: partial(draw, attributes=1), f"{name}, crossed": draw}

#: Shapes that are cheap and have many comparisons.
FEW_RUNS = 25
FEW_SHAPES = {
    "five groups": partial(BENCHMARK.lottery, lists=10, groups=5),
    "seven groups with ties": partial(BENCHMARK.lottery, lists=6, groups=7, levels=5),
    "recorded decisions": partial(BENCHMARK.recorded, attributes=1),
}


@pytest.mark.slow
def test_a_few_lotteries_together():
    """The sum over shapes finds what makes every report speak too often."""
    found = [
        BENCHMARK.report(make, seed, n_permutations=399, n_boot=40, metrics=False)
        for make in FEW_SHAPES.values()
        for seed in range(FEW_RUNS)
    ]
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(found))
    for field in ("finding", "fired", "fired_null"):
        assert np.mean([getattr(report, field) for report in found]) <= limit, field


@pytest.mark.gate
@pytest.mark.parametrize("shape", SHAPES)
def test_a_lottery(shape):
    make = SHAPES[shape]
    # A third of 0.05 / 10 is the smallest p-value of a gate for ten groups.
    draws = 1199 if "10 groups" in shape else 399
    runs = CROSSED_RUNS if "crossed" in shape else RUNS
    options = {"n_permutations": draws, "n_boot": 100, "metrics": shape in WITH_METRICS}
    found = [BENCHMARK.report(make, seed, **options) for seed in range(runs)]
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    for field in ("finding", "fired", "fired_null", "metric", "metric_null"):
        share = np.mean([getattr(report, field) for report in found])
        assert share <= limit, (field, share)


@pytest.mark.slow
def test_unfair_reports_state_a_finding():
    """The same reports speak where a group is ranked lower."""

    def make(rng):
        given = BENCHMARK.lottery(rng, lists=10)
        given["score"] = given["score"] - 0.4 * (given["sensitive_features"]["first"] == "g0")
        return given

    found = [BENCHMARK.report(make, seed, n_permutations=399, n_boot=100) for seed in range(20)]
    assert np.mean([report.finding for report in found]) > 0.8
    assert np.mean([report.fired_null for report in found]) > 0.5
    assert np.mean([report.metric_null for report in found]) > 0.5


@pytest.mark.gate
def test_intervals_of_few_lists_cover_these_lists_and_not_those_to_come():
    few, many = (
        np.mean([BENCHMARK.coverage("both vary", lists, seed) for seed in range(40)], axis=0)
        for lists in (6, 20)
    )
    assert few[0] >= 0.88
    assert few[1] <= 0.85
    assert many.min() >= 0.88
