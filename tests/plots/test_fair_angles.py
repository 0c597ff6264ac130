import numpy as np
import pytest

from equirank import DataError
from equirank.plots import fair_angles
from equirank.preprocess import FairScoringWeights


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).normal(size=(40, 2))
    best = X[:, 1].argmax()
    return FairScoringWeights(lambda order: bool(order[0] == best), weights=[1, 0]).fit(X)


def test_sectors_and_both_directions_are_drawn(model):
    spec = fair_angles(model).to_dict()
    kinds = [layer["data"]["values"][0]["kind"] for layer in spec["layer"]]
    assert kinds == ["not fair", *["fair"] * len(model.intervals_), "asked for", "nearest fair"]
    ray = spec["layer"][-1]["data"]["values"][1]
    assert np.arctan2(ray["y"], ray["x"]) == pytest.approx(np.arctan2(*model.weights_[::-1]))
    sector = spec["layer"][1]["data"]["values"]
    assert np.arctan2(sector[1]["y"], sector[1]["x"]) == pytest.approx(model.intervals_[0, 0])
    assert f"{100 * model.fair_share_:.1f} %" in spec["title"]["text"]


def test_it_can_be_drawn(model):
    import vl_convert

    assert "nearest fair" in vl_convert.vegalite_to_svg(fair_angles(model).to_json())


def test_three_columns_have_no_such_picture():
    X = np.random.default_rng(0).normal(size=(20, 3))
    found = FairScoringWeights(lambda order: True, n_samples=5, random_state=0).fit(X)
    with pytest.raises(DataError, match="two columns"):
        fair_angles(found)
