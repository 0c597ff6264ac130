"""Charts of fitted models: fair angles, margin bounds, and explanations of a pair."""

import numpy as np
import pytest
import vl_convert

from equirank import DataError
from equirank.core.pair_explanation import PairExplanation, PairFacts
from equirank.core.table import Table
from equirank.plots import fair_angles, margin_bounds, pair_explanation, sampling_error
from equirank.preprocess import FairScoringWeights


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).normal(size=(40, 2))
    best = X[:, 1].argmax()
    return FairScoringWeights(lambda order: bool(order[0] == best), weights=[1, 0]).fit(X)


def test_sectors_and_both_directions_are_drawn(model):
    spec = fair_angles(model).to_dict()
    kinds = [layer["data"]["values"][0]["kind"] for layer in spec["layer"]]
    assert kinds == ["not fair", *["fair"] * len(model.intervals_), "requested", "nearest fair"]
    ray = spec["layer"][-1]["data"]["values"][1]
    assert np.arctan2(ray["y"], ray["x"]) == pytest.approx(np.arctan2(*model.weights_[::-1]))
    sector = spec["layer"][1]["data"]["values"]
    assert np.arctan2(sector[1]["y"], sector[1]["x"]) == pytest.approx(model.intervals_[0, 0])
    assert f"{100 * model.fair_share_:.1f}%" in spec["title"]["text"]


@pytest.mark.slow
def test_fair_angles_can_be_drawn(model):
    import vl_convert

    assert "nearest fair" in vl_convert.vegalite_to_svg(fair_angles(model).to_json())


def test_three_columns_have_no_such_picture():
    X = np.random.default_rng(0).normal(size=(20, 3))
    found = FairScoringWeights(lambda order: True, n_samples=5, random_state=0).fit(X)
    with pytest.raises(DataError, match="two columns"):
        fair_angles(found)


COLUMNS = {
    "rho": [0.1, 0.3, 1.0],
    "error": [0.1, 0.1, 0.1],
    "margin_loss": [0.2, 0.4, 0.9],
    "bound": [3.0, 0.8, 1.1],
    "vacuous": [True, False, True],
}


def rows_of(chart):
    spec = chart.to_dict()
    layers = [spec, *spec["layer"]]
    found = [part["data"]["values"] for part in layers if "data" in part]
    found += list(spec.get("datasets", {}).values())
    return next(rows for rows in found if "kind" in rows[0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", [dict, Table])
def test_lines_and_the_best_margin(kind):
    rows = rows_of(margin_bounds(kind(COLUMNS)))
    assert [row["kind"] for row in rows[::3]] == ["bound", "margin loss", "error"]
    assert [row["rho"] for row in rows if row["best"]] == [0.3]
    assert rows[0]["value"] == 3.0  # above what is drawn, where lines are cut off


def test_vacuous_bounds_have_no_best():
    rows = rows_of(margin_bounds(COLUMNS | {"bound": [3.0, 2.0, 1.1], "vacuous": [True] * 3}))
    assert not any(row["best"] for row in rows)


@pytest.mark.slow
def test_several_rankers_are_told_apart_and_drawn():
    import vl_convert

    chart = margin_bounds({"RankBoost": Table(COLUMNS), "RankSVM": Table(COLUMNS)})
    assert {row["ranker"] for row in rows_of(chart)} == {"RankBoost", "RankSVM"}
    assert "RankSVM" in vl_convert.vegalite_to_svg(chart.to_json())


def test_what_is_missing_is_named():
    with pytest.raises(DataError, match="'bound'"):
        margin_bounds({"rho": [1.0], "error": [0.1], "margin_loss": [0.2]})
    with pytest.raises(DataError, match="at least one report"):
        margin_bounds({})
    with pytest.raises(DataError, match="at least one margin"):
        margin_bounds({key: [] for key in COLUMNS})


def explained(contribution, method="exact", **facts):
    parts = np.array(contribution, dtype=float)
    given = {"a": "<ann>", "b": "bob", "ids": True, "n_draws": 20 if method == "sampled" else 0}
    facts = PairFacts(
        **given, score_a=float(parts.sum()), score_b=0.0, model="Some", method=method, **facts
    )
    names = [f"x{at}" for at in range(len(parts))]
    values = [list(range(len(parts)))] * 2
    error = np.full(len(parts), 0.1 if method == "sampled" else 0.0)
    return PairExplanation.of(names, values, parts, error, facts)


def rows(chart):
    spec = chart.to_dict()
    return spec["layer"][0]["data"]["values"]


def test_bars_hold_the_contributions_and_their_sides():
    chart = pair_explanation(explained([0.5, -2.0, 0.0, 1.0]))
    found = rows(chart)
    assert [row["feature"] for row in found] == [
        "x1 (1 against 1)",
        "x3 (3 against 3)",
        "x0 (0 against 0)",
    ]
    assert [row["contribution"] for row in found] == [-2.0, 1.0, 0.5]
    assert [row["side"] for row in found] == ["raises bob", "raises <ann>", "raises <ann>"]
    assert chart.to_dict()["title"]["text"] == "Why <ann> ranks below bob"
    assert len(chart.to_dict()["layer"]) == 4


def test_what_is_left_has_one_bar_together():
    found = rows(pair_explanation(explained([6, 5, 4, -3, 2], "sampled"), max_features=3))
    assert found[-1]["feature"] == "2 more"
    assert found[-1]["contribution"] == -1.0
    assert found[-1]["standard_error"] == pytest.approx(0.1 * 2**0.5)
    assert sum(row["contribution"] for row in found) == 14.0


def test_estimates_have_their_interval():
    chart = pair_explanation(explained([2.0, -1.0], "sampled"))
    assert len(chart.to_dict()["layer"]) == 5
    assert rows(chart)[0]["low"] == pytest.approx(2.0 - 1.96 * 0.1)
    assert "20 orders" in chart.to_dict()["title"]["subtitle"]


@pytest.mark.slow
@pytest.mark.parametrize("contribution", [[2.0, -1.0], [1.0], [0.0, 0.0]])
def test_an_explanation_can_be_drawn(contribution):
    assert "Why" in vl_convert.vegalite_to_svg(pair_explanation(explained(contribution)).to_json())


@pytest.mark.slow
def test_sampling_error_draws_errors_and_the_bounds_that_exist():
    table = {
        "sampler": ["uniform", "uniform", "k-medoids", "k-medoids"],
        "size": [30, 300, 30, 300],
        "error": [0.1, 0.03, 0.2, 0.0],
        "bound": [0.3, 0.08, float("nan"), None],
    }
    rows = rows_of(sampling_error(table))
    shown = {(row["sampler"], row["size"], row["kind"]): row["value"] for row in rows}
    assert shown == {
        ("uniform", 30, "error"): 0.1,
        ("uniform", 300, "error"): 0.03,
        ("k-medoids", 30, "error"): 0.2,
        ("uniform", 30, "bound"): 0.3,
        ("uniform", 300, "bound"): 0.08,
    }
    assert "number of queries drawn" in vl_convert.vegalite_to_svg(sampling_error(table).to_json())
    with pytest.raises(DataError, match="table must have the column 'bound'"):
        sampling_error({name: table[name] for name in ("sampler", "size", "error")})
    with pytest.raises(DataError, match="table must contain an error above 0"):
        sampling_error({name: [] for name in table})
