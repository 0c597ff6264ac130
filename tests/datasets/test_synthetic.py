"""Made-up data: what was planted can be found again."""

import numpy as np
import pytest
from scipy.special import ndtri

from equirank import DataError, evaluate
from equirank.datasets import make_ranking

LARGE = {"n_queries": 2000, "n_items": 50, "n_features": 6, "n_informative": 3}
N = 100_000
WEIGHTS = np.array([3.0, 2.0, 1.0]) / np.sqrt(14)


def group(data, name="a"):
    attribute = data.attribute("group")
    return attribute.codes == attribute.code(name)


def gap(values, chosen):
    """Return rest minus chosen, and how far chance alone moves it (four standard errors)."""
    one, rest = values[chosen], values[~chosen]
    error = np.sqrt(one.var() / len(one) + rest.var() / len(rest))
    return rest.mean() - one.mean(), 4 * error


def probit_gaps(data, chosen):
    grades = range(1, int(data.max_grade) + 1)
    return [
        ndtri((data.y[~chosen] >= r).mean()) - ndtri((data.y[chosen] >= r).mean()) for r in grades
    ]


def test_without_bias_groups_are_alike():
    data = make_ranking(**LARGE, random_state=1)
    chosen = group(data)
    for values in (*data.X.T, data.y, data.score):
        difference, chance = gap(values, chosen)
        assert abs(difference) < chance


@pytest.mark.parametrize("size", [0.5, -0.3])
def test_bias_in_features_is_found_there_and_in_the_score_that_reads_them(size):
    data = make_ranking(**LARGE, feature_bias=size, noise=0.8, random_state=2)
    chosen = group(data)
    for j, column in enumerate(data.X.T):
        difference, chance = gap(column, chosen)
        assert abs(difference - (size if j < 3 else 0.0)) < chance
    difference, chance = gap(data.y, chosen)
    assert abs(difference) < chance
    difference, chance = gap(data.score, chosen)
    assert abs(difference - size * WEIGHTS.sum() / np.sqrt(1 + 0.8**2)) < chance


@pytest.mark.parametrize("n_grades", [2, 5])
def test_bias_in_labels_is_found_at_every_threshold(n_grades):
    data = make_ranking(**LARGE, n_grades=n_grades, label_bias=0.4, random_state=3)
    chosen = group(data)
    assert probit_gaps(data, chosen) == pytest.approx([0.4] * (n_grades - 1), abs=0.06)
    for values in (*data.X.T, data.score):
        difference, chance = gap(values, chosen)
        assert abs(difference) < chance


@pytest.mark.slow
def test_bias_in_scores_is_found_by_regression():
    data = make_ranking(**LARGE, score_bias=0.7, feature_bias=0.5, noise=0.6, random_state=4)
    design = np.column_stack([data.X, group(data), np.ones(len(data))])
    found = np.linalg.lstsq(design, data.score, rcond=None)[0]
    scale = np.sqrt(1 + 0.6**2)
    assert found[:3] == pytest.approx(WEIGHTS / scale, abs=0.01)
    assert found[3:6] == pytest.approx([0, 0, 0], abs=0.01)
    assert found[6] == pytest.approx(-0.7, abs=0.02)


def test_score_and_features_have_unit_deviation_within_a_group():
    data = make_ranking(**LARGE, score_bias=1, feature_bias=1, noise=2, random_state=5)
    for chosen in (group(data), ~group(data)):
        assert data.score[chosen].std() == pytest.approx(1, abs=0.02)
        assert data.X[chosen].std(axis=0) == pytest.approx(np.ones(6), abs=0.02)


def test_shares_and_biases_by_name():
    shares = {"x": 0.2, "y": 0.3, "z": 0.5}
    data = make_ranking(**LARGE, groups=shares, score_bias={"y": 0.5, "z": -0.5}, random_state=6)
    for name, share in shares.items():
        assert group(data, name).mean() == pytest.approx(share, abs=4 * np.sqrt(0.25 / N))
    means = {name: data.score[group(data, name)].mean() for name in shares}
    assert means == pytest.approx({"x": 0, "y": -0.5, "z": 0.5}, abs=0.03)


def test_each_grade_is_half_as_frequent_as_the_one_below():
    data = make_ranking(**LARGE, n_grades=4, random_state=7)
    shares = np.bincount(data.y.astype(int)) / len(data)
    assert shares == pytest.approx(np.array([8, 4, 2, 1]) / 15, abs=0.007)


def test_noise_0_ranks_by_merit():
    data = make_ranking(noise=0, random_state=8)
    order = np.argsort(data.score)
    assert (np.diff(data.y[order]) >= 0).all()
    assert evaluate(data, "NDCG", n_boot=0)["NDCG"] == pytest.approx(1)


def test_sizes_of_lists():
    data = make_ranking(n_queries=500, n_items=(3, 7), random_state=9)
    assert set(np.diff(data.offsets).tolist()) == {3, 4, 5, 6, 7}
    assert data.qids.tolist() == list(range(500))
    assert len(make_ranking(n_queries=3, n_items=1, n_features=1, random_state=0)) == 3


def test_costs():
    assert make_ranking(random_state=0).cost is None
    uniform = make_ranking(cost="uniform", random_state=0).cost
    assert uniform.min() > 0
    assert uniform.max() <= 2
    assert uniform.mean() == pytest.approx(1, abs=0.05)
    ternary = make_ranking(cost="ternary", random_state=0).cost
    assert set(ternary.tolist()) == {0.5, 1.0, 1.5}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_type(dtype):
    data = make_ranking(dtype=dtype, cost="uniform", feature_bias=0.5, random_state=0)
    assert {data.X.dtype, data.score.dtype, data.cost.dtype} == {np.dtype(dtype)}


def test_the_same_seed_gives_the_same_and_a_bias_changes_nothing_else():
    one, two = (make_ranking(random_state=3) for _ in range(2))
    assert (one.X == two.X).all()
    assert (one.score == two.score).all()
    biased = make_ranking(random_state=3, score_bias=1.0)
    assert (biased.X == one.X).all()
    assert (biased.y == one.y).all()
    assert one.score - biased.score == pytest.approx(1.0 * group(one))
    assert (make_ranking(random_state=4).X != one.X).any()
    drawn = [make_ranking(random_state=np.random.default_rng(5)).X for _ in range(2)]
    assert (drawn[0] == drawn[1]).all()
    assert (make_ranking().X != make_ranking().X).any()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"n_queries": 0}, "n_queries of make_ranking must be an integer >= 1, got 0"),
        ({"n_items": (5, 4)}, "n_items of make_ranking must be an integer >= 5, got 4"),
        ({"n_items": (1, 2, 3)}, "n_items of make_ranking"),
        ({"n_items": 2.5}, "n_items of make_ranking"),
        ({"n_features": 0}, "n_features of make_ranking must be an integer >= 1"),
        ({"n_features": 3, "n_informative": 4}, "must be an integer from 1 to 3, got 4"),
        ({"n_grades": 1}, "n_grades of make_ranking"),
        ({"noise": -1}, "noise of make_ranking must be a number >= 0"),
        ({"noise": np.nan}, "noise of make_ranking"),
        ({"cost": "free"}, "cost of make_ranking must be one of 'none', 'uniform', 'ternary'"),
        ({"dtype": int}, "dtype of make_ranking must be float64 or float32, got int64"),
        ({"groups": {"a": 0.5, "b": 0.6}}, "shares that sum to 1, got 1.1"),
        ({"groups": {"a": 1.5, "b": -0.5}}, r"groups\['a'\] of make_ranking"),
        ({"groups": ("a", "a")}, "groups of make_ranking must differ"),
        ({"groups": "ab"}, "groups of make_ranking must be names"),
        ({"groups": ()}, "groups of make_ranking must be names"),
        ({"groups": (1, 2)}, "groups of make_ranking must be names"),
        ({"score_bias": {"c": 1}}, "score_bias of make_ranking must name groups among 'a', 'b'"),
        ({"label_bias": np.inf}, "label_bias of make_ranking must be a finite number"),
    ],
)
def test_wrong_parameters(wrong, said):
    with pytest.raises(DataError, match=said):
        make_ranking(**wrong)
