"""promise: valid by enumeration, exact tests in sequence and in sets, clear refusals."""

from dataclasses import dataclass
from itertools import product
from math import ceil, comb, e, inf, isnan, log, prod, sqrt
from typing import Annotated

import numpy as np
import pytest

from equirank import DataError, Ranker, as_ranking_data
from equirank.core.metric import Metric
from equirank.core.params import Integer
from equirank.core.registry import parse_metric, parse_metrics
from equirank.datasets import load_hiring, make_ranking
from equirank.rankers import RegressionRanker
from equirank.rankers.tradeoff_path import TradeoffPath
from equirank.rerankers import ContinuousFairness, DetGreedy
from equirank.search import promise
from equirank.search.guarantee import P_VALUES, hoeffding_bentkus_p, lists_needed
from equirank.theory.mean_bounds import betting_p


@dataclass(frozen=True)
class Path:
    """Losses by strength."""

    table: dict[float, list[float]]

    @property
    def strengths(self):
        return list(self.table)

    def losses(self, strength):
        return np.array(self.table[strength])


def anything(ranking):
    raise AssertionError("losses are given")


def slow_betting(losses, at_most, delta):
    """Return the p-value bet by bet."""
    capital, largest, seen = 1.0, 1.0, []
    deviations = 0.25
    for loss in losses:
        variance = deviations / (len(seen) + 1)
        bet = min(sqrt(2 * log(1 / delta) / (len(losses) * variance)), 0.9 / (1 - at_most))
        capital *= 1 + bet * (at_most - loss)
        largest = max(largest, capital)
        seen.append(loss)
        deviations += (loss - (0.5 + sum(seen)) / (len(seen) + 1)) ** 2
    return 1 / largest


def slow_hoeffding_bentkus(losses, at_most):
    n, mean = len(losses), sum(losses) / len(losses)
    below = min(mean, at_most)
    entropy = (below * log(below / at_most) if below else 0) + (1 - below) * log(
        (1 - below) / (1 - at_most)
    )
    most = ceil(round(n * mean, 6))
    tail = sum(comb(n, k) * at_most**k * (1 - at_most) ** (n - k) for k in range(most + 1))
    return min(1.0, e ** (-n * entropy), e * tail)


@pytest.mark.parametrize("seed", range(5))
def test_p_values_equal_their_slow_twins(seed):
    rng = np.random.default_rng(seed)
    losses, at_most = rng.beta(1, 6, 40), rng.uniform(0.1, 0.5)
    assert betting_p(losses, at_most, 0.1) == pytest.approx(slow_betting(losses, at_most, 0.1))
    slow = slow_hoeffding_bentkus(losses, at_most)
    assert hoeffding_bentkus_p(losses, at_most) == pytest.approx(slow)


@pytest.mark.parametrize("method", P_VALUES)
@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 0.3, 1.0)])
def test_p_values_are_valid_by_enumeration(method, values):
    n = 9 if len(values) == 2 else 6
    for at_most in (0.2, 0.5):
        share = [1 - at_most, at_most]  # a mean of exactly at_most
        if len(values) == 3:
            share = [1 - at_most - 0.07, 0.1, at_most - 0.03]
        assert sum(s * v for s, v in zip(share, values, strict=True)) == pytest.approx(at_most)
        for delta in (0.05, 0.1, 0.3):
            rejected = sum(
                prod(share[i] for i in which)
                for which in product(range(len(values)), repeat=n)
                if P_VALUES[method](np.array([values[i] for i in which]), at_most, delta) <= delta
            )
            assert rejected <= delta + 1e-12


def test_either_p_value_can_be_the_smaller():
    losses = np.random.default_rng(0).beta(2, 38, 500)
    assert betting_p(losses, 0.07) < hoeffding_bentkus_p(losses, 0.07)
    few = np.array([0.0] * 4)
    assert hoeffding_bentkus_p(few, 0.5) == pytest.approx(0.5**4)


@pytest.mark.parametrize("method", P_VALUES)
def test_no_list_and_a_bound_of_one(method):
    assert P_VALUES[method](np.zeros(0), 0.5, 0.1) == 1.0
    assert P_VALUES[method](np.ones(3), 1.0, 0.1) == 0.0


@pytest.mark.parametrize("method", P_VALUES)
def test_lists_needed_promise_about_half_of_the_time(method):
    rng = np.random.default_rng(1)
    some = rng.beta(2, 18, 50)
    needed = lists_needed(some, 0.13, 0.1, method)
    assert P_VALUES[method](some, 0.13, 0.1) > 0.1
    assert needed > 50
    draws = [rng.choice(some, int(needed)) for _ in range(200)]
    held = np.mean([P_VALUES[method](losses, 0.13, 0.1) <= 0.1 for losses in draws])
    assert 0.35 <= held <= 0.9
    assert lists_needed(some + 0.2, 0.13, 0.1, method) == inf


def test_a_path_is_tested_from_its_strongest_setting_until_one_fails():
    table = {0.0: [0.0] * 50, 0.5: [0.9] * 50, 0.8: [0.05] * 50, 1.0: [0.0] * 50}
    result = promise(Path(table), anything, 0.3)
    assert result.table["candidate"].tolist() == ["strength 1", "strength 0.8", "strength 0.5"]
    assert result.table["promised"].tolist() == [True, True, False]
    assert (result.chosen, result.candidate) == ("strength 0.8", 0.8)
    assert set(result.table["level"].tolist()) == {0.1}


def test_other_strengths_can_be_tested():
    path = Path({0.0: [0.0] * 50, 0.5: [0.2] * 50, 1.0: [0.0] * 50})
    result = promise(path, anything, 0.3, strengths=[1.0, 0.0])
    assert result.table["candidate"].tolist() == ["strength 1", "strength 0"]
    assert result.candidate == 0.0


def test_a_set_shares_delta_and_the_first_that_holds_is_chosen():
    p = betting_p(np.zeros(30), 0.1, 0.05)
    assert 0.05 < p <= 0.1
    alone = promise(Path({1.0: [0.0] * 30}), anything, 0.1)
    both = promise([Path({1.0: [0.0] * 30}), Path({1.0: [0.0] * 30})], anything, 0.1)
    assert alone
    assert not both
    assert set(both.table["level"].tolist()) == {0.05}
    lists = load_hiring()
    fair = {"plain": lists.ranking(), "fair": DetGreedy(by="sex")}
    assert promise(fair, "ExposureGap(by='sex')", 0.2, data=lists).chosen == "plain"
    assert promise(fair, "ExposureGap(by='sex')", 0.08, data=lists).chosen == "fair"


class Fixed(Ranker):
    """A ranker by one feature."""

    positional = ("column",)
    column: Annotated[int, Integer(0)] = 0

    def _fit(self, data):
        pass

    def _scores(self, data):
        return data.X[:, self.column]


def test_the_rankers_of_a_path_are_tested_by_their_validation_values():
    lists = make_ranking(n_queries=300, n_items=8, feature_bias=1.0, random_state=0)
    rankers = [Fixed(column).fit(lists.select([0])) for column in range(3)]
    path = TradeoffPath(
        rankers, [0.0, 0.5, 1.0], [0.6, 0.8, 0.7], [0.3, 0.1, 0.2],
        ("NDCG@10", "ExposureGap"), (0.5, 0.1),
    )  # fmt: skip
    fair = promise(path, "ExposureGap", 0.9, data=lists)
    assert fair.table["candidate"].tolist() == ["alpha 0.5", "alpha 1", "alpha 0"]
    assert (fair.chosen, fair.candidate.column) == ("alpha 0.5", 1)  # the largest NDCG
    good = promise(path, "1 - NDCG@10", 0.9, data=lists)
    assert good.table["candidate"].tolist() == ["alpha 0.5", "alpha 1", "alpha 0"]
    assert good.chosen == "alpha 0.5"  # the least unfair


def test_the_order_of_rows_has_no_influence():
    frame = load_hiring(as_frame=True)
    rows = np.random.default_rng(0).permutation(len(frame))
    found = []
    for each in (frame, frame.iloc[rows]):
        data = as_ranking_data(None, each["suitability"], qid=each["vacancy"],
                               score=each["score"], sensitive_features=each["sex"])  # fmt: skip
        found.append(promise(data.ranking(), "ExposureGap", 0.09).to_dict())
    assert found[0] == found[1]
    assert 0 < found[0]["tests"][0]["p"] < 1


def test_the_sentences():
    fine = promise(Path({1.0: [0.0] * 60}), "ExposureGap", 0.05)
    assert fine.sentence == (
        "On new lists drawn like these, the difference in exposure of strength 1 is at most 0.05 "
        "on average (90% confidence)."
    )
    few = promise(Path({1.0: [0.0] * 20, 0.5: [0.04] * 20}), "ExposureGap", 0.05)
    assert not few
    assert few.needed == lists_needed(np.zeros(20), 0.05, 0.1, "betting")
    assert few.sentence.startswith("None can be promised with these 20 lists")
    assert few.sentence.endswith(f"about {int(few.needed)} would be needed.")
    never = promise(Path({1.0: [0.2] * 20}), "ExposureGap", 0.05)
    assert never.sentence.endswith("would not help, as the mean on them is 0.2.")
    assert never.to_dict()["needed"] is None
    assert isnan(fine.needed)


def test_lists_without_a_loss_are_left_out_and_said():
    result = promise(Path({1.0: [0.0] * 60 + [np.nan] * 3}), anything, 0.1)
    assert (result.n_lists, result.n_undefined) == (60, 3)
    assert "The 3 lists where it is undefined are left out" in result.sentence


def test_bounds_of_a_metric_are_scaled():
    @dataclass(frozen=True, repr=False, kw_only=True)
    class Twice(Metric):
        bounds = (0.0, 2.0)
        direction = "lower"

    losses = np.random.default_rng(0).uniform(0, 1, 400)
    one = promise(Path({1.0: losses}), anything, 0.55)
    two = promise(Path({1.0: 2 * losses}), Twice(), 1.1)
    assert 0 < two.table["p"][0] < 1
    assert two.table["p"][0] == pytest.approx(one.table["p"][0])
    assert two.table["loss"][0] == pytest.approx(2 * losses.mean())


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        ("sex=female selected vs male at 10 >= 0.8", "pooled over all lists"),
        ("NDCG@10", 'write "1 - NDCG@10"'),
        ("1 - ExposureGap", 'write "ExposureGap"'),
        ("DCG@10", "1 - DCG@10"),
        ("1 - DCG@10", "must be bounded"),
    ],
)
def test_a_loss_that_is_no_bounded_mean_is_refused(loss, words):
    with pytest.raises(DataError, match="loss must be") as error:
        promise(load_hiring().ranking(), loss, 0.1)
    assert words in str(error.value)


def test_a_metric_that_is_pooled_is_refused():
    from equirank.recipes.config_objects import public_classes

    pooled = [
        name for name, kind in public_classes(Metric).items()
        if kind.summarize is not Metric.summarize
    ]  # fmt: skip
    assert pooled
    for name in pooled:
        try:
            parse_metrics(name)
        except DataError:
            continue  # it needs options
        with pytest.raises(DataError, match="no promise of this kind exists"):
            promise(load_hiring().ranking(), name, 0.1)


def test_bad_candidates_are_refused():
    lists = load_hiring()
    with pytest.raises(DataError, match="losses must be between 0 and 1, got 2 to 2"):
        promise(Path({1.0: [2.0]}), anything, 0.1)
    with pytest.raises(DataError, match="at least one candidate"):
        promise([], anything, 0.1)
    with pytest.raises(DataError, match="at least one number"):
        promise(Path({}), anything, 0.1)
    with pytest.raises(DataError, match="at_most must be between 0 and 1, got 1"):
        promise(Path({1.0: [0.0]}), anything, 1.0)
    with pytest.raises(DataError, match="data must be the calibration lists"):
        promise(DetGreedy(by="sex"), "1 - NDCG", 0.1)
    with pytest.raises(DataError, match="must be a fitted ranker, a re-ranker or a ranking"):
        promise([object()], "1 - NDCG", 0.1, data=lists)
    with pytest.raises(DataError, match="got other rows"):
        promise(lists.ranking(), "1 - NDCG", 0.1, data=lists.select([0, 1]))
    with pytest.raises(DataError, match="one number per list"):
        promise(lists.ranking(), lambda ranking: [0.0], 0.1)
    with pytest.raises(DataError, match="method"):
        promise(lists.ranking(), "1 - NDCG", 0.1, method="smaller")
    half = lists.select(slice(0, 30))
    assert promise(RegressionRanker().fit(half), "1 - NDCG", 0.9, data=lists.select(slice(30, 60)))


@pytest.mark.slow
@pytest.mark.parametrize("method", P_VALUES)
def test_promises_fail_at_most_as_often_as_they_say(method):
    data = make_ranking(
        n_queries=600, n_items=12, groups={"a": 0.4, "b": 0.6}, score_bias=1.0, random_state=0
    )
    strengths = np.linspace(0, 1, 9).tolist()
    table = np.stack(
        [
            promise_losses(ContinuousFairness(theta=theta)(data.ranking()))
            for theta in strengths
        ]
    )  # fmt: skip
    means = table.mean(axis=1)
    bound, rng, failed, trials = float(means[4]) - 1e-9, np.random.default_rng(0), 0, 150
    ratio = []
    for _ in range(trials):
        some = table[:, rng.integers(0, table.shape[1], 500)]
        result = promise(Path(dict(zip(strengths, some, strict=True))), anything, bound,
                         method=method)  # fmt: skip
        assert result
        failed += bool(means[strengths.index(result.candidate)] > bound)
        ratio.append(result.candidate / strengths[5])
    assert failed / trials <= 0.1 + 3 * sqrt(0.09 / trials)
    if method == "betting":
        assert np.mean(ratio) <= 1.3


def promise_losses(ranking):
    return parse_metric("RND(step=5, undefined='zero')").per_query(ranking).value
