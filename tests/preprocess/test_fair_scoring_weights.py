from itertools import pairwise

import numpy as np
import pytest

from equirank import DataError, InfeasibleError, as_ranking_data
from equirank.metrics import ExposureGap, FAStarIRTest, exposure_gap, fa_star_ir_test
from equirank.preprocess import (
    ExposureGapOracle,
    FairScoringWeights,
    FAStarIROracle,
    MetricOracle,
    PrefixSharesOracle,
)
from equirank.preprocess.fair_scoring_weights import angle_between, search, top_rows

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
GROUPS = np.where(X[:, 1] - 0.5 * X[:, 0] + 0.5 * RNG.normal(size=60) > 0.2, "b", "a")
ORACLES = [
    PrefixSharesOracle(k=(5, 20), low=0.4, high=0.8, protected="b"),
    PrefixSharesOracle(k=10, high=0.6),
    ExposureGapOracle(limit=0.05),
    ExposureGapOracle(limit=0.05, protected="b", k=20),
    FAStarIROracle(k=25, protected="b", p=0.5),
    FAStarIROracle(k=25, protected="b", adjusted=False),
]


def brute(fair):
    """All sectors, by sorting between all exchange angles, each judged on its own."""
    gap = X[:, None] - X[None]
    pairs = (gap[..., 0] > 0) & (gap[..., 1] < 0)
    ends = np.sort(np.arctan2(gap[..., 0][pairs], -gap[..., 1][pairs]))
    ends = np.concatenate([[0.0], ends, [np.pi / 2]])
    found = []
    for low, high in pairwise(ends):
        middle = (low + high) / 2
        order = np.argsort(-(X @ [np.cos(middle), np.sin(middle)]), kind="stable")
        if fair(order):
            if found and found[-1][1] == low:
                found[-1][1] = high
            else:
                found.append([low, high])
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ORACLES, ids=str)
@pytest.mark.parametrize("weights", [[1.0, 0.01], [1, 1], [0.0, 2.0]], ids=str)
def test_the_sweep_finds_what_brute_force_finds(oracle, weights):
    data = as_ranking_data(None, qid=np.zeros(60), sensitive_features=GROUPS)
    wanted = brute(oracle.bind(data).fair)
    model = FairScoringWeights(oracle, weights=weights).fit(X, sensitive_features=GROUPS)
    np.testing.assert_allclose(model.intervals_, wanted, atol=1e-9)
    angle = np.arctan2(weights[1], weights[0])
    inside = np.clip(angle, *wanted.T)
    assert model.angle_ == pytest.approx(np.abs(inside - angle).min(), abs=1e-8)
    assert np.linalg.norm(model.weights_) == pytest.approx(np.linalg.norm(weights))
    assert oracle.bind(data).fair(model.rank(X).order())
    assert model.fair_share_ == pytest.approx((wanted[:, 1] - wanted[:, 0]).sum() / (np.pi / 2))


def test_any_function_of_the_order_is_an_oracle():
    def fair(order):
        seen.append(len(order))
        return (GROUPS[order[:5]] == "b").sum() >= 3

    seen = []
    model = FairScoringWeights(fair, weights=[1, 0]).fit(X)
    np.testing.assert_allclose(model.intervals_, brute(fair), atol=1e-9)
    assert set(seen) == {60}
    assert len(seen) > 1000


def test_a_function_that_looks_at_the_top_is_asked_less_often():
    def fair(order):
        seen.append(len(order))
        return bool((GROUPS[order[:5]] == "b").sum() >= 3)

    seen = []
    plain = FairScoringWeights(fair, weights=[1, 0]).fit(X)
    before = len(seen)
    fair.depth = 5
    model = FairScoringWeights(fair, weights=[1, 0]).fit(X)
    np.testing.assert_array_equal(model.intervals_, plain.intervals_)
    assert set(seen[before:]) == {5}
    assert len(seen) - before < 0.2 * before


def test_oracles_agree_with_the_metrics_of_the_same_name():
    data = as_ranking_data(None, qid=np.zeros(60), sensitive_features=GROUPS)
    gap_rule = ExposureGapOracle(limit=0.05).bind(data)
    ir_rule = FAStarIROracle(k=25, protected="b", p=0.5).bind(data)
    answers = set()
    for seed in range(40):
        score = np.random.default_rng(seed).normal(size=60) + (GROUPS == "b") * (seed % 4 - 1)
        order = np.argsort(-score)
        gap, passed = (
            exposure_gap(score, GROUPS) <= 0.05,
            fa_star_ir_test(score, GROUPS, k=25, protected="b", p=0.5).passed,
        )
        assert gap_rule.fair(order) == gap
        assert ir_rule.fair(order) == passed
        answers.add((bool(gap), bool(passed)))
    assert len(answers) == 4 or len(answers) == 3  # both answers of both


@pytest.mark.parametrize(
    ("ready", "metric"),
    [
        (ExposureGapOracle(limit=0.05), MetricOracle(metric=ExposureGap(), high=0.05)),
        (
            FAStarIROracle(k=25, protected="b", p=0.5),
            MetricOracle(metric=FAStarIRTest(p=0.5, protected="b") @ 25, low=1),
        ),
    ],
    ids=["exposure", "fa_star_ir"],
)
def test_a_metric_is_an_oracle(ready, metric):
    few, groups = X[:14], GROUPS[:14]
    if isinstance(ready, FAStarIROracle):
        ready = FAStarIROracle(k=14, protected="b", p=0.5)
        metric = MetricOracle(metric='FAStarIRTest(p=0.5, protected="b")@14', low=1)
    a = FairScoringWeights(ready).fit(few, sensitive_features=groups)
    b = FairScoringWeights(metric).fit(few, sensitive_features=groups)
    np.testing.assert_allclose(a.intervals_, b.intervals_, atol=1e-9)


def test_bounds_of_a_metric_hold_on_both_sides():
    few, groups = X[:14], GROUPS[:14]
    model = FairScoringWeights(MetricOracle(metric="ExposureGap", low=0.05, high=0.1))
    model.fit(few, sensitive_features=groups)
    below = FairScoringWeights(ExposureGapOracle(limit=0.05)).fit(few, sensitive_features=groups)
    within = FairScoringWeights(ExposureGapOracle(limit=0.1)).fit(few, sensitive_features=groups)
    assert 0 < model.fair_share_ < 1
    assert model.fair_share_ == pytest.approx(within.fair_share_ - below.fair_share_)


@pytest.mark.parametrize("degrees", [1, 30, 44, 46, 60, 89])
def test_of_several_intervals_the_nearest_end_is_taken(degrees):
    ends = [int(X[:, 0].argmax()), int(X[:, 1].argmax())]
    asked = [np.cos(np.radians(degrees)), np.sin(np.radians(degrees))]
    model = FairScoringWeights(lambda order: bool(order[0] in ends), weights=asked).fit(X)
    assert len(model.intervals_) == 2
    away = np.abs(np.clip(np.radians(degrees), *model.intervals_.T) - np.radians(degrees))
    assert model.angle_ == pytest.approx(away.min(), abs=1e-8)


def test_weights_that_are_fair_stay_as_they_are():
    model = FairScoringWeights(lambda order: True, weights=[3, 4]).fit(X)
    assert model.weights_.tolist() == [3, 4]
    assert model.angle_ == 0.0
    assert model.fair_share_ == pytest.approx(1)
    np.testing.assert_allclose(model.transform(X)[:, 0], X @ [3, 4])


def test_more_columns_are_searched_by_samples():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 3))
    groups = np.where(Z[:, 2] + 0.3 * rng.normal(size=200) > 0.8, "b", "a")
    oracle = PrefixSharesOracle(k=20, low=0.5, protected="b")
    asked = np.array([1.0, 1.0, 0.1])
    model = FairScoringWeights(oracle, weights=asked, n_samples=300, random_state=0)
    model.fit(Z, sensitive_features=groups)
    assert (model.weights_ >= 0).all()
    assert np.linalg.norm(model.weights_) == pytest.approx(np.linalg.norm(asked))
    top = model.rank(Z).order()[:20]
    assert (groups[top] == "b").sum() >= 10
    assert 0 < model.fair_share_ < 1
    # No direction of a fine grid is fair and much nearer.
    grid = np.abs(rng.normal(size=(4000, 3)))
    grid /= np.linalg.norm(grid, axis=1, keepdims=True)
    fair = [(groups[top_rows(Z @ w, 20)] == "b").sum() >= 10 for w in grid]
    nearest = angle_between(grid[fair], asked / np.linalg.norm(asked)).min()
    assert model.angle_ <= nearest + 1e-9


def test_the_search_walks_back_to_the_border_of_a_cone():
    axis, asked = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    found = search(lambda w: w @ axis >= 0.8, asked, 200, 300, np.random.default_rng(0))
    exact = np.pi / 2 - np.arccos(0.8)
    assert exact <= angle_between(found.direction, asked) < exact + 0.01


def test_top_rows_are_those_of_a_stable_sort():
    score = np.random.default_rng(0).integers(0, 5, 100).astype(float)
    for depth in (1, 7, 24, 25, 60, 100):
        wanted = np.argsort(-score, kind="stable")[:depth]
        assert top_rows(score, depth).tolist() == wanted.tolist()


def test_an_oracle_that_accepts_nothing_is_said_so_with_the_share():
    with pytest.raises(InfeasibleError, match=r"none of the \d+ orders.*0% of the angles"):
        FairScoringWeights(lambda order: False).fit(X)
    many = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(InfeasibleError, match=r"none of 50 sampled ones \(fair share 0%\)"):
        FairScoringWeights(lambda order: False, n_samples=50, random_state=0).fit(many)


def test_a_fair_cone_too_narrow_for_the_samples_is_found_near_the_weights():
    asked = np.ones(5) / np.sqrt(5)
    center = asked + np.array([0.02, -0.02, 0, 0, 0])
    center /= np.linalg.norm(center)
    found = search(lambda w: w @ center > 1 - 2e-4, asked, 50, 400, np.random.default_rng(0))
    assert found.share == 0.0
    assert found.direction @ center > 1 - 2e-4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PrefixSharesOracle(k=5), "low or high"),
        (lambda: PrefixSharesOracle(k=0, low=0.5), "k of PrefixSharesOracle"),
        (lambda: PrefixSharesOracle(k=5, low=0.5, high=0.2), "at most high"),
        (lambda: MetricOracle(metric="NDKL@5"), "low or high"),
        (lambda: FAStarIROracle(protected="b", p=1.0), "p of FAStarIROracle"),
        (lambda: ExposureGapOracle(limit=-1), "limit of ExposureGapOracle"),
    ],
)
def test_oracles_refuse_bad_parameters(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_bad_input(tmp_path):
    oracle = PrefixSharesOracle(k=5, low=0.5, protected="b")
    with pytest.raises(DataError, match="sensitive_features must be passed"):
        FairScoringWeights(oracle).fit(X)
    with pytest.raises(DataError, match="one of the groups"):
        FairScoringWeights(oracle).fit(X, sensitive_features=["u", "v"] * 30)
    with pytest.raises(DataError, match="one number per column"):
        FairScoringWeights(oracle, weights=[1, 2, 3]).fit(X, sensitive_features=GROUPS)
    with pytest.raises(DataError, match="weights of FairScoringWeights must be"):
        FairScoringWeights(oracle, weights=[1, -1]).fit(X, sensitive_features=GROUPS)
    with pytest.raises(DataError, match="must include a number > 0"):
        FairScoringWeights(oracle, weights=[0, 0]).fit(X, sensitive_features=GROUPS)
    with pytest.raises(DataError, match="True or False, got float"):
        FairScoringWeights(lambda order: 0.3).fit(X)
    with pytest.raises(DataError, match="function has no safe form"):
        FairScoringWeights(lambda order: True).fit(X).save(tmp_path / "model")
    with pytest.raises(DataError, match="a share of the rows"):
        FairScoringWeights(FAStarIROracle(protected="b")).fit(X, sensitive_features=["b"] * 60)
