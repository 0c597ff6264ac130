"""Tables of methods and of blind spots."""

import numpy as np
import pytest

from equirank.auditing.tables.method_tables import packaged
from equirank.metrics.properties import bench, scenario_names
from equirank.metrics.properties.property_bench import default_metrics


def test_all_is_explained(hiring):
    methods = hiring.tables["methods"]
    names = set(methods["name"])
    measured = {
        metric.partition("(")[0].partition("@")[0] for metric in hiring.tables["gaps"]["metric"]
    }
    measured |= {metric.partition("@")[0] for metric in hiring.tables["metrics"]["metric"]}
    assert measured <= names
    assert {"Confidence intervals of statements", "Tests of statements", "Small cells"} <= names
    assert "Detectable difference" in names
    for row in methods:
        assert row["formula"], row["name"]
        assert row["reading"].endswith("."), row["name"]
    cited = [row["reference"] for row in methods if row["name"] == "RND"]
    assert "Yang and Stoyanovich" in cited[0]


def test_a_further_metric_is_explained_by_its_docstring():
    from equirank import audit

    result = audit(
        score=[3, 2, 1], sensitive=list("aab"), metrics="NDKL", n_boot=0, n_permutations=0
    )
    row = next(row for row in result.tables["methods"] if row["name"] == "NDKL")
    assert "Geyik" in row["reference"]
    assert row["formula"]


HOW = "make it anew: equirank properties --json=src/equirank/auditing/blind_spots.json"


def test_it_holds_every_metric_and_property():
    keys = {(row["metric"], row["property"]) for row in packaged()}
    expected = {(m.name, prop) for m in default_metrics() for prop in scenario_names()}
    assert keys == expected, HOW


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ExposureGap", "clustering.z"])
def test_it_is_current(metric):
    table = bench([metric])
    kept = {row["property"]: row for row in packaged() if row["metric"] == metric}
    for row in table:
        known = kept[row["property"]]
        assert row["detected"] == known["detected"], HOW
        effect = np.nan if known["effect"] is None else known["effect"]
        shown = row["effect"] if np.isfinite(row["effect"]) else np.nan
        assert shown == pytest.approx(effect, nan_ok=True), HOW


@pytest.mark.slow
def test_the_audit_shows_what_it_measured(hiring, one_list):
    table = hiring.tables["blind_spots"]
    assert len(table) == len(set(table["metric"])) * len(scenario_names())
    assert {"position", "ExposureGap", "RND", "clustering.z"} <= set(table["metric"])
    assert "ExposureGap, crossed attributes" in table["metric"]
    found = {(row["metric"], row["property"]): row["detects"] for row in table}
    assert not found["position", "bimodality"]
    assert found["clustering.z", "clustering"]
    assert not found["ExposureGap", "gerrymandering"]
    assert found["ExposureGap, crossed attributes", "gerrymandering"]
    assert "tokenisation_index.index" not in one_list.tables["blind_spots"]["metric"]
