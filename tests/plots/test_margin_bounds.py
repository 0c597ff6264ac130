import pytest

from equirank import DataError
from equirank.core.table import Table
from equirank.plots import margin_bounds

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


@pytest.mark.parametrize("kind", [dict, Table])
def test_lines_and_the_best_margin(kind):
    rows = rows_of(margin_bounds(kind(COLUMNS)))
    assert [row["kind"] for row in rows[::3]] == ["bound", "margin loss", "error"]
    assert [row["rho"] for row in rows if row["best"]] == [0.3]
    assert rows[0]["value"] == 3.0  # above what is drawn, where lines are cut off


def test_vacuous_bounds_have_no_best():
    rows = rows_of(margin_bounds(COLUMNS | {"bound": [3.0, 2.0, 1.1], "vacuous": [True] * 3}))
    assert not any(row["best"] for row in rows)


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
