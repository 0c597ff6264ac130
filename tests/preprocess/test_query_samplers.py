"""Samplers of queries: inclusion as promised, sums without bias, weights that reach the ranker."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from equirank import DataError
from equirank.datasets import make_ranking
from equirank.preprocess import KMedoidsSampler, LeverageSampler, RowNormSampler, UniformSampler
from equirank.preprocess.query_samplers import inclusion_probabilities, systematic
from equirank.rankers import RankBoost

RANDOM = [UniformSampler, RowNormSampler, LeverageSampler]


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=30, n_items=6, random_state=0)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.floats(0, 100), min_size=1, max_size=20), st.data())
def test_inclusion_probabilities(values, source):
    shares = np.array(values)
    if shares.sum() == 0:
        return
    size = source.draw(st.integers(1, len(values)))
    chances = inclusion_probabilities(shares / shares.sum(), size)
    assert chances.sum() == pytest.approx(size)
    assert (chances >= 0).all()
    assert (chances <= 1 + 1e-12).all()
    drawn = systematic(chances, np.random.default_rng(0))
    assert len(set(drawn)) == size


def test_what_is_certain_is_spread_over_the_rest():
    chances = inclusion_probabilities(np.array([0.7, 0.1, 0.1, 0.1]), 2)
    assert chances == pytest.approx([1, 1 / 3, 1 / 3, 1 / 3])


def test_systematic_draws_have_these_inclusions():
    chances = np.array([1.0, 0.6, 0.3, 0.1])
    rng = np.random.default_rng(0)
    counts = np.zeros(4)
    for _ in range(4000):
        counts[systematic(chances, rng)] += 1
    assert counts / 4000 == pytest.approx(chances, abs=0.035)


@pytest.mark.slow
@pytest.mark.parametrize("kind", RANDOM)
@pytest.mark.parametrize("replace", [False, True])
def test_sums_are_unbiased(data, kind, replace):
    values = np.random.default_rng(1).random(30) * 10
    estimates = []
    for seed in range(500):
        drawn = kind(8, replace=replace, random_state=seed).sample(data)
        estimates.append(values[drawn.indices] @ drawn.weights)
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - values.sum()) < 4.5 * error + 1e-9


@pytest.mark.parametrize("kind", [*RANDOM, KMedoidsSampler])
def test_one_list_is_nothing_to_draw_from(data, kind):
    with pytest.raises(DataError, match=f"at least two lists for {kind.__name__}.*not given"):
        kind(1).sample(data.X, data.y)
    with pytest.raises(DataError, match=f"at least two lists for {kind.__name__}.*one list"):
        kind(1).sample(data.select([0]))


@pytest.mark.parametrize("kind", [*RANDOM, KMedoidsSampler])
def test_what_comes_back(data, kind):
    drawn = kind(8, random_state=0).sample(data)
    assert len(drawn.queries) == 8
    assert drawn.data.n_queries == 8
    assert (drawn.data.qids == drawn.queries).all()
    assert (drawn.data.query_weight == drawn.weights).all()
    again = kind(8, random_state=0).sample(data)
    assert (again.indices == drawn.indices).all()
    arrays = kind(8, random_state=0).sample(
        np.asarray(data.X), data.y, qid=data.qids[data.query_of_rows()]
    )
    assert (arrays.indices == drawn.indices).all()
    assert clone(kind(8)).size == 8
    whole = kind(1.0, random_state=0).sample(data)
    assert len(whole.queries) == 30


def test_queries_may_have_any_labels(data):
    named = np.array([f"q{i}" for i in range(30)])[data.query_of_rows()]
    drawn = UniformSampler(7, random_state=0).sample(np.asarray(data.X), data.y, qid=named)
    assert drawn.queries.tolist() == [f"q{i}" for i in drawn.indices]
    assert (drawn.data.qids == drawn.queries).all()


def test_shares_are_what_they_say(data):
    vectors = RowNormSampler().represented(data)
    want = np.array([data.X[data.offsets[q] : data.offsets[q + 1]].mean(axis=0) for q in range(30)])
    assert vectors == pytest.approx(want)
    top = RowNormSampler(represent="top", n_top=2).represented(data)
    assert top[3] == pytest.approx(data.X[data.offsets[3] : data.offsets[3] + 2].ravel())
    own = RowNormSampler(represent=lambda d: np.arange(30.0)[:, None])
    assert own._shares(data) == pytest.approx(np.arange(30.0) ** 2)
    assert RowNormSampler(norm="l1")._shares(data) == pytest.approx(np.abs(want).sum(axis=1))
    u = np.linalg.svd(want, full_matrices=False)[0]
    assert LeverageSampler().leverages(data) == pytest.approx((u**2).sum(axis=1))


def test_leverages_of_rank_deficient_and_sketched_queries():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    X[:, 5] = X[:, 0]
    data = make_ranking(n_queries=400, n_items=1, n_features=6, random_state=0)

    def vectors(_):
        return X

    exact = LeverageSampler(represent=vectors).leverages(data)
    assert exact.sum() == pytest.approx(5)
    rough = LeverageSampler(represent=vectors, sketch=200, random_state=0, tol=1e-8).leverages(data)
    assert np.corrcoef(exact, rough)[0, 1] > 0.9


def test_medoids_weigh_their_clusters():
    X = np.repeat([[0.0], [10.0], [20.0]], [5, 3, 2], axis=0)
    data = make_ranking(n_queries=10, n_items=1, n_features=1, random_state=0)
    drawn = KMedoidsSampler(3, represent=lambda _: X, random_state=0).sample(data)
    assert sorted(drawn.weights) == [2, 3, 5]


def test_a_ranker_uses_the_weights(data):
    drawn = RowNormSampler(12, random_state=0).sample(data)
    weighed = RankBoost(n_estimators=5).fit(drawn.data)
    plain = RankBoost(n_estimators=5).fit(data.select(drawn.indices))
    assert (weighed.predict(data) != plain.predict(data)).any()


@pytest.mark.parametrize(
    ("sampler", "words"),
    [
        (UniformSampler(31), "at most the number of queries"),
        (UniformSampler(0), "size of UniformSampler must be"),
        (RowNormSampler(3, represent=lambda d: np.zeros(3)), "one vector per query"),
        (KMedoidsSampler(3, max_queries=10), "GiB of distances"),
    ],
)
def test_bad_input(data, sampler, words):
    with pytest.raises(DataError, match=words):
        sampler.sample(data)
