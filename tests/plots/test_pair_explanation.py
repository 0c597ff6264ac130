import numpy as np
import pytest
import vl_convert

from equirank.core.pair_explanation import PairExplanation, PairFacts
from equirank.plots import pair_explanation


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
    assert [row["side"] for row in found] == ["lifts bob", "lifts <ann>", "lifts <ann>"]
    assert chart.to_dict()["title"]["text"] == "Why <ann> stands below bob"
    assert len(chart.to_dict()["layer"]) == 4


def test_what_is_left_has_one_bar_together():
    found = rows(pair_explanation(explained([6, 5, 4, -3, 2], "sampled"), max_features=3))
    assert found[-1]["feature"] == "2 others"
    assert found[-1]["contribution"] == -1.0
    assert found[-1]["standard_error"] == pytest.approx(0.1 * 2**0.5)
    assert sum(row["contribution"] for row in found) == 14.0


def test_estimates_have_their_interval():
    chart = pair_explanation(explained([2.0, -1.0], "sampled"))
    assert len(chart.to_dict()["layer"]) == 5
    assert rows(chart)[0]["low"] == pytest.approx(2.0 - 1.96 * 0.1)
    assert "20 orders" in chart.to_dict()["title"]["subtitle"]


@pytest.mark.parametrize("contribution", [[2.0, -1.0], [1.0], [0.0, 0.0]])
def test_it_can_be_drawn(contribution):
    assert "Why" in vl_convert.vegalite_to_svg(pair_explanation(explained(contribution)).to_json())
