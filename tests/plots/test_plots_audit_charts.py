"""The charts of an audit: valid, titled, described, and drawn from the rows of the table."""

import json
import math
import warnings
from pathlib import Path

import pytest
import vl_convert
from sample_audit import HOSTILE, sample_audit

from equirank import DataError, plots
from equirank.core.table import Table
from equirank.plots.export import vega_lite_version
from equirank.plots.theme import (
    BETTER,
    FOCUS,
    METHOD,
    MOST_GROUPS,
    PALETTE,
    WORSE,
    colours,
    group_scale,
)

#: Each picture, its table, and the columns that are drawn.
PICTURES = {
    "comparison": ("comparison", ["value", "other", "difference", "low", "high", "p_value"]),
    "exposure_merit": ("exposure_merit", ["merit_share", "exposure_share"]),
    "exposure": ("groups", ["share", "exposure"]),
    "impact_ratios": ("selection", ["k", "impact_ratio", "ratio_low", "ratio_high"]),
    "pairwise_accuracy": ("pairwise", ["group", "other", "accuracy", "n_pairs"]),
    "position_difference": (
        "groups",
        ["group", "position_difference", "position_difference_low", "position_difference_high"],
    ),
    "position_strip": ("strip", ["query", "position", "length"]),
    "prefix_shares": ("prefix_shares", ["group", "k", "share", "pool_share", "band_low"]),
    "score_distributions": ("scores", ["group", "left", "right", "share"]),
    "selection_rates": ("selection", ["group", "k", "selected", "size", "rate", "low", "high"]),
}


@pytest.fixture(scope="module")
def result():
    return sample_audit(n_queries=4)


def drawn(spec):
    """All lists of rows in a specification, wherever they stand."""
    if isinstance(spec, dict):
        if isinstance(spec.get("values"), list) and spec["values"][:1] != [1]:
            yield spec["values"]
        for part in spec.values():
            yield from drawn(part)
    elif isinstance(spec, list):
        for part in spec:
            yield from drawn(part)


#: Charts of other results, tested in the test file of their module.
OTHERS = {
    "before_after",
    "causal_dag",
    "fair_angles",
    "findings",
    "margin_bounds",
    "pair_explanation",
    "remedies",
    "sampling_error",
    "tradeoff",
}


def test_every_picture_is_tested():
    assert set(PICTURES) == set(plots.__all__) - OTHERS - {"save_chart"}
    for name in OTHERS:
        module = getattr(plots, name).__module__.rpartition(".")[2]
        assert f"{name}(" in Path(__file__).with_name(f"test_{module}.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize(
    "attribute", ["sex", pytest.param("sex x age_group", marks=pytest.mark.gate)]
)
def test_a_picture_is_valid_named_and_holds_the_rows_of_its_table(result, name, attribute):
    table, columns = PICTURES[name]
    spec = getattr(plots, name)(result, attribute).to_dict()
    rows = [row for row in result.tables[table] if row["attribute"] == attribute]
    if name == "impact_ratios":
        rows = [row for row in rows if not row["reference"]]
    wanted = [{key: row[key] for key in columns} for row in rows]
    found = [
        [{key: row.get(key) for key in columns} for row in values if isinstance(row, dict)]
        for values in drawn(spec)
    ]
    assert wanted in found
    assert spec["title"]["text"].endswith((attribute, "list by list"))
    assert len(spec["description"]) > 40
    svg = vl_convert.vegalite_to_svg(spec, vl_version=vega_lite_version())
    assert svg.startswith("<svg")
    assert "NaN" not in svg


def test_impact_ratios_have_an_axis_of_the_reference_and_no_group_without_a_ratio():
    few = sample_audit({"school": ["a", "b", "c", "d"]}, n_queries=2)
    columns = few.tables["selection"].to_dict()
    columns["impact_ratio"] = [
        math.nan if group == "b" else ratio
        for group, ratio in zip(columns["group"], columns["impact_ratio"], strict=True)
    ]
    few.tables["selection"] = Table(columns)
    text = json.dumps(plots.impact_ratios(few).to_dict())
    assert '"selection rate / rate of the reference"' in text
    assert "highest" not in text
    drawn_groups = {
        row["group"]
        for values in drawn(plots.impact_ratios(few).to_dict())
        for row in values
        if isinstance(row, dict) and "group" in row
    }
    assert drawn_groups == {"a", "c"}  # d is the reference


def test_the_first_attribute_is_the_default_and_another_name_is_refused(result):
    assert plots.exposure(result).to_dict() == plots.exposure(result, "sex").to_dict()
    with pytest.raises(DataError, match=r"'sex', 'age_group', .* got 'height'"):
        plots.exposure(result, "height")


@pytest.mark.parametrize("name", ["exposure_merit", "pairwise_accuracy", "comparison"])
def test_a_table_without_rows_is_refused_by_name(name):
    bare = sample_audit(n_queries=2, relevance=False, against=False)
    with pytest.raises(DataError, match=f"table '{PICTURES[name][0]}'"):
        getattr(plots, name)(bare)


def test_the_group_looked_at_has_its_colour_everywhere(result):
    scale = group_scale(result, "age_group")
    assert scale["domain"][0] == "under 35"
    assert scale["range"][0] == FOCUS
    assert len(set(scale["range"])) == 4
    assert FOCUS not in scale["range"][1:]


@pytest.mark.slow
def test_more_than_three_groups_have_small_pictures_of_their_own(result):
    for name in ("prefix_shares", "score_distributions"):
        assert "facet" not in getattr(plots, name)(result, "sex").to_dict()
        spec = getattr(plots, name)(result, "age_group").to_dict()
        assert spec["facet"]["field"] == "group"
        assert spec["columns"] == 3


def test_undefined_numbers_are_null():
    bare = sample_audit(n_queries=2, relevance=False)
    columns = bare.tables["groups"].to_dict()
    columns["position_difference"][0] = math.nan
    bare.tables["groups"] = Table(columns)
    rows = next(v for v in drawn(plots.position_difference(bare).to_dict()) if len(v) > 1)
    assert rows[0]["position_difference"] is None


@pytest.mark.gate
def test_only_the_largest_of_many_groups_are_drawn():
    names = [f"group {i}" for i in range(MOST_GROUPS + 6)]
    many = sample_audit({"school": names}, n_queries=2, against=False)
    columns = many.tables["groups"].to_dict()
    columns["size"] = list(range(len(names)))
    many.tables["groups"] = Table(columns)
    kept = {"group 0", *names[7:]}
    for name in ("pairwise_accuracy", "position_difference", "prefix_shares"):
        rows = max(drawn(getattr(plots, name)(many).to_dict()), key=len)
        assert {row["group"] for row in rows} == kept


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        each if each in ("comparison", "exposure") else pytest.param(each, marks=pytest.mark.gate)
        for each in PICTURES
    ],
)
def test_hostile_names_are_only_text(name):
    groups = [name for key, name in HOSTILE.items() if key != "long"]
    hostile = sample_audit({HOSTILE["long"]: groups}, n_queries=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spec = getattr(plots, name)(hostile).to_dict()
    assert len(spec["title"]["text"]) <= 100
    assert len(spec["description"]) <= 400
    svg = vl_convert.vegalite_to_svg(spec, vl_version=vega_lite_version())
    assert "<script" not in svg
    assert "<img" not in svg


def test_vermilion_is_the_colour_of_the_protected_group_alone():
    assert FOCUS not in colours(range(20))["range"]
    assert not {METHOD, BETTER, WORSE} & set(PALETTE)
    result = sample_audit({"sex": ["f", "m"]}, n_queries=3)
    for draw in (plots.findings, plots.comparison):
        assert FOCUS not in json.dumps(draw(result).to_dict())
