"""The trade-off chart: points, front, mixture line, and lines of equal distance."""

import pandas as pd
import pytest
import vl_convert

from equirank import DataError
from equirank.core.table import Table
from equirank.plots import tradeoff
from equirank.plots.export import vega_lite_version
from equirank.plots.tradeoff_chart import distance_lines

COLUMNS = {
    "name": ["plain", "a", "b", "other", "start", "end"],
    "NDCG@10": [0.8, 0.78, 0.7, 0.6, 0.8, 0.5],
    "gap.sex[0]": [0.3, 0.2, 0.1, 0.25, 0.3, 0.0],
    "low": [0.7, 0.7, None, 0.5, None, None],
    "high": [0.9, 0.8, None, 0.7, None, None],
    "front": [True, True, True, False, None, None],
    "path": [None, "fair", "fair", None, None, None],
    "mixture": [False, False, False, False, True, True],
}


def draw(points=COLUMNS, **options):
    return tradeoff(points, "gap.sex[0]", "NDCG@10", **options).to_dict()


def layers(spec, kind):
    """The data of each layer of one mark, with its encoding."""
    return [
        (layer["data"]["values"], layer) for layer in spec["layer"] if layer["mark"]["type"] == kind
    ]


def test_points_lines_and_intervals_are_the_rows_given():
    spec = draw()
    points = {row["name"]: row for rows, _ in layers(spec, "point") for row in rows}
    assert {name: (row["x"], row["y"]) for name, row in points.items()} == {
        "plain": (0.3, 0.8),
        "a": (0.2, 0.78),
        "b": (0.1, 0.7),
        "other": (0.25, 0.6),
    }
    hollow, filled = layers(spec, "point")
    assert [row["name"] for row in hollow[0]] == ["other"]
    assert not hollow[1]["mark"]["filled"]
    assert filled[1]["mark"]["filled"]
    mixture, path = layers(spec, "line")
    assert mixture[0] == [{"x": 0.0, "y": 0.5}, {"x": 0.3, "y": 0.8}]
    assert mixture[1]["mark"]["strokeDash"]
    assert [row["name"] for row in path[0]] == ["a", "b"]
    ((rows, rule),) = layers(spec, "rule")
    assert [(row["low"], row["high"]) for row in rows] == [(0.7, 0.9), (0.7, 0.8), (0.5, 0.7)]
    assert rule["encoding"]["y"]["field"] == "low"
    assert rule["encoding"]["y2"]["field"] == "high"


@pytest.mark.slow
def test_it_is_valid_named_and_described():
    spec = draw(x_better="lower")
    assert spec["title"]["text"] == "NDCG@10 against gap.sex[0]"
    assert "4 rankings" in spec["description"]
    assert spec["layer"][0]["encoding"]["x"]["title"] == "gap.sex[0] (lower is better)"
    svg = vl_convert.vegalite_to_svg(spec, vl_version=vega_lite_version())
    assert "random mixture" in svg
    assert ">other<" in svg


@pytest.mark.slow
def in_polars(columns):
    from polars import DataFrame

    return DataFrame(columns, strict=False)


@pytest.mark.slow
@pytest.mark.parametrize("make", [Table, pd.DataFrame, in_polars])
def test_any_table_will_do(make):
    assert draw(make(COLUMNS)) == draw()


def test_the_mixture_line_may_be_an_argument_and_is_never_missing():
    columns = {key: values[:4] for key, values in COLUMNS.items()}
    with pytest.raises(DataError, match="random-mixture line is always drawn"):
        draw(columns)
    mixture = layers(draw(columns, mixture=(0.3, 0.8, 0.05, 0.5)), "line")[0][0]
    assert mixture == [{"x": 0.05, "y": 0.5}, {"x": 0.3, "y": 0.8}]
    with pytest.raises(DataError, match="four finite numbers"):
        draw(columns, mixture=(0.3, 0.8, float("nan"), 0.5))


def test_the_noise_line_is_drawn_in_its_order_and_named():
    steps = [(0.3, 0.8), (0.2, 0.7), (0.25, 0.6)]
    spec = draw(noise=steps)
    drawn = layers(spec, "line")
    (rows,) = [r for r, layer in drawn if layer["mark"].get("strokeDash") == [2, 3]]
    assert [(row["x"], row["y"]) for row in rows] == steps
    assert [row["step"] for row in rows] == [0, 1, 2]
    texts = [layer["encoding"].get("text", {}).get("value") for layer in spec["layer"]]
    assert "score noise" in texts
    assert "Dotted grey: the ranking with noise on its scores." in spec["title"]["subtitle"]
    with pytest.raises(DataError, match="noise must be pairs of finite numbers"):
        draw(noise=[(0.1, float("nan"))])


def test_undefined_points_are_left_out_and_none_left_is_an_error():
    columns = {"name": ["a", "b"], "x": [0.1, float("nan")], "y": [0.5, 0.6]}
    spec = tradeoff(columns, mixture=(0, 0, 1, 1)).to_dict()
    assert [row["name"] for rows, _ in layers(spec, "point") for row in rows] == ["a"]
    with pytest.raises(DataError, match="at least one row"):
        tradeoff({"name": ["b"], "x": [None], "y": [0.6]}, mixture=(0, 0, 1, 1))


def test_bad_input_is_named():
    with pytest.raises(DataError, match="column 'AUC'"):
        tradeoff(COLUMNS, "AUC", "NDCG@10")
    with pytest.raises(DataError, match="x_better must be"):
        draw(x_better="up")
    with pytest.raises(DataError, match="got a int"):
        tradeoff(3)


POINTS = {
    "name": ["plain", "rival", "ours", "other"],
    "fair": [0.5, 0.7, 0.9, 0.8],
    "good": [0.9, 0.8, 0.75, 0.75],
    "rival": [True, True, False, False],
}


def rows(points=POINTS, x=lambda v: v):
    return [
        {"x": x(a), "y": b, "rival": c}
        for a, b, c in zip(points["fair"], points["good"], points["rival"], strict=True)
    ]


def test_distances_and_who_is_best():
    lines = distance_lines(rows(), [], "higher", "higher")
    assert [line["name"] for line in lines] == ["best rival", "best of all"]
    # plain .5 + .1, rival .3 + .2, ours .1 + .25, other .2 + .25
    assert [line["distance"] for line in lines] == pytest.approx([0.5, 0.35])
    for line in lines:
        for end in line["ends"]:
            assert (1 - end["x"]) + (1 - end["y"]) == pytest.approx(line["distance"])
            assert end["x"] <= 1.0
            assert end["y"] <= 1.0


def test_no_line_goes_beyond_what_is_perfect():
    near = POINTS | {"fair": [0.5, 0.7, 0.99, 0.8], "good": [0.999, 0.8, 0.5, 0.75]}
    for line in distance_lines(rows(near), [], "higher", "higher"):
        assert max(max(end["x"], end["y"]) for end in line["ends"]) <= 1.0


def test_an_axis_of_which_lower_is_better():
    turned = distance_lines(rows(x=lambda v: 1 - v), [], "lower", "higher")
    assert [line["distance"] for line in turned] == pytest.approx([0.5, 0.35])
    for line in turned:
        for end in line["ends"]:
            assert end["x"] + (1 - end["y"]) == pytest.approx(line["distance"])
            assert end["x"] >= 0.0


def test_without_rivals_and_where_a_rival_is_best():
    none = POINTS | {"rival": [False] * 4}
    (line,) = distance_lines(rows(none), [], "higher", "higher")
    assert line["name"] == "best of all"
    wins = POINTS | {"rival": [False, False, True, False]}
    (line,) = distance_lines(rows(wins), [], "higher", "higher")
    assert line["name"] == "best of all, a rival"
    assert distance_lines(rows(POINTS | {"rival": [None] * 4}), [], "higher", "higher") == []


@pytest.mark.slow
def test_dashed_for_the_rival_dotted_for_all_and_the_mixture_stays():
    spec = tradeoff(POINTS, "fair", "good", mixture=(0.9, 0.5, 0.5, 0.9)).to_dict()
    lines = [layer for layer in spec["layer"] if layer["mark"]["type"] == "line"]
    dashes = [line["mark"]["strokeDash"] for line in lines]
    assert dashes == [[1, 0], [7, 4], [2, 3]]
    assert [row["x"] for row in lines[0]["data"]["values"]] == [0.5, 0.9]
    texts = [layer["encoding"].get("text", {}).get("value") for layer in spec["layer"]]
    assert {"best rival: 0.500", "best of all: 0.350", "random mixture"} <= set(texts)
    assert spec["title"]["subtitle"][1:] == [
        "Dashed: as far from perfect as the best rival.",
        "Dotted: as far from perfect as the best of all.",
    ]
    plain = {name: values for name, values in POINTS.items() if name != "rival"}
    spec = tradeoff(plain, "fair", "good", mixture=(0.9, 0.5, 0.5, 0.9)).to_dict()
    assert len([layer for layer in spec["layer"] if layer["mark"]["type"] == "line"]) == 1
