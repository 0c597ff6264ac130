"""Lines of equal trade-off distance: through the best rival and through the best of all."""

import pytest

from equirank.plots import tradeoff
from equirank.plots.tradeoff_chart import distance_lines

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
