"""The space of a search: independent draws of what was stated, and fitted candidates."""

import numpy as np
import pytest
from comparison_methods import Weights
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from equirank import DataError, Ranking, as_ranking_data
from equirank.datasets import make_ranking
from equirank.preprocess import UniformSampler
from equirank.preprocess.fair_transformer import FairTransformer
from equirank.rankers import FairLambdaMART, RankBoost, RegressionRanker
from equirank.search import Family
from equirank.search.alternative_space import Space, fit_trials, jobs, without_columns

NAMES = ("a", "b=x", "b=y", "c")


def space(families=None, leave_out=None, seed=0):
    families = families or {"w": Family(Weights(), {"noise": {"low": 0.0, "high": 1.0}})}
    return Space(families, leave_out or {}, NAMES, seed)


def named(data):
    return as_ranking_data(
        data.X[:, :4],
        data.y,
        qid=data.query_of_rows(),
        sensitive_features=data.attribute().labels(),
    )


@pytest.fixture(scope="module")
def lists():
    return named(make_ranking(n_queries=12, n_items=8, feature_bias=1.0, random_state=0))


@pytest.mark.slow
def test_trials_are_draws_from_what_is_stated():
    values = {
        "noise": {"low": 0.5, "high": 2.0},
        "pause": {"low": 1e-4, "high": 1e-1, "log": True},
        "random_state": {"low": 3, "high": 5},
    }
    families = {"w": Family(Weights(), values), "other": Family(Weights(), weight=3.0)}
    drawn = [space(families, {"first": ["a"], "text": "b"}).trial(at) for at in range(1, 1501)]
    mine = [trial for trial in drawn if trial.family == "w"]
    assert len(mine) / 1500 == pytest.approx(0.25, abs=0.04)
    columns = {name: np.array([trial.params[name] for trial in mine]) for name in values}
    assert stats.kstest(columns["noise"], "uniform", (0.5, 1.5)).pvalue > 0.001
    assert stats.kstest(np.log10(columns["pause"]), "uniform", (-4, 3)).pvalue > 0.001
    assert (np.bincount(columns["random_state"])[3:] / len(mine)).round(1).tolist() == [0.3] * 3
    sets = [trial.left_out for trial in drawn]
    for each in ((), ("first",), ("text",), ("first", "text")):
        assert sets.count(each) / 1500 == pytest.approx(0.25, abs=0.04)
    assert len({trial.seed for trial in drawn}) == 1500
    assert space(families).trial(7) == space(families).trial(7)


def test_distributions_of_scipy_and_lists_are_drawn():
    family = Family(Weights(), {"noise": stats.expon(), "pause": [0.25]})
    drawn = [space({"w": family}).trial(at).params for at in range(200)]
    assert {params["pause"] for params in drawn} == {0.25}
    assert stats.kstest([params["noise"] for params in drawn], "expon").pvalue > 0.001


def test_some_feature_is_left():
    drawn = [space(leave_out={"all": ("a", "b", "c")}).trial(at) for at in range(20)]
    assert {trial.left_out for trial in drawn} == {()}
    assert space(leave_out={"text": ["b"]}).dropped(["text"]).tolist() == [1, 2]


def test_a_neighbour_differs_in_one_respect():
    where = space(leave_out={"first": ["a"], "last": ["c"]})
    start = where.trial(4)
    for number in range(1, 30):
        other = where.neighbour(start, -number)
        respects = [other.params != start.params, other.left_out != start.left_out]
        assert sum([*respects, other.seed != start.seed]) <= 1
        assert (other.parent, other.independent) == (4, False)


def test_columns_are_left_out_by_name(lists):
    kept = without_columns(lists, np.array([1, 2]))
    assert (lists.X[:, [0, 3]] == kept.X).all()
    assert kept.n_queries == lists.n_queries
    assert without_columns(lists, np.zeros(0, dtype=int)) is lists


def test_transformers_and_samplers_precede_the_ranker(lists):
    families = {
        "r": Family(
            RegressionRanker(Ridge()), prepare=[StandardScaler()], sample=[UniformSampler(0.5)]
        )
    }
    where = space(families)
    (points,) = fit_trials(where, [where.trial(1)], lists, lists)
    model = points[0][1]
    assert model.transformer.n_samples_seen_ == 6 * 8
    expected = model.ranker.predict(model.transformer.transform(lists.X), qid=lists.query_of_rows())
    assert (model.rank(lists).position == Ranking.from_scores(lists, expected).position).all()


class Twice(FairTransformer):
    """Returns twice the features, in input order as all transformers of the package do."""

    def fit(self, X, y=None):
        self.n_rows_ = len(self._matrix(X, fitting=True))
        return self

    def transform(self, X):
        return 2 * self._matrix(X, fitting=False)


def test_rows_keep_their_features_after_a_fair_representation(lists):
    shuffled = np.random.default_rng(0).permutation(lists.n_rows)
    mixed = as_ranking_data(
        lists.X[shuffled], lists.y[shuffled], qid=lists.query_of_rows()[shuffled],
        sensitive_features=lists.attribute().labels()[shuffled],
    )  # fmt: skip
    families = {"r": Family(Weights(), prepare=[Twice()])}
    where = space(families)
    (points,) = fit_trials(where, [where.trial(1)], mixed, mixed)
    model = points[0][1]
    assert (model.prepared(mixed).X == 2 * mixed.X).all()


@pytest.mark.slow
def test_a_path_is_fitted_at_once(lists):
    fair = FairLambdaMART(n_estimators=3, step=3, n_jobs=1, min_child_samples=2)
    where = space({"fair": Family(fair, path={"alpha": [0.0, 1.0]})})
    (points,) = fit_trials(where, [where.trial(1)], lists, lists)
    assert [point for point, _ in points] == [{"alpha": 0.0}, {"alpha": 1.0}]
    assert [model.ranker.alpha for _, model in points] == [0.0, 1.0]
    plain = space({"boost": Family(RankBoost(), path={"n_estimators": [1, 5]})})
    (points,) = fit_trials(plain, [plain.trial(1)], lists, lists)
    assert [model.ranker.n_estimators for _, model in points] == [1, 5]


def test_jobs_contain_every_trial_once():
    families = {"w": Family(Weights()), "p": Family(Weights(), path={"noise": [0.0, 1.0]})}
    where = space(families, {"first": ["a"]})
    trials = [where.trial(at) for at in range(1, 30)]
    found = jobs(where, trials)
    assert sorted(trial.number for job in found for trial in job) == list(range(1, 30))


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (Family(Weights(), {"nois": [1]}), "no parameter 'nois' of Weights; did you mean 'noise'"),
        (Family(Weights(), {"noise": []}), "must be values, or low and high"),
        (Family(Weights(), {"noise": "1"}), "must be values, or low and high"),
        (Family(Weights(), {"noise": {"low": 1, "high": 0}}), "must have low < high"),
        (
            Family(Weights(), {"noise": {"low": 0, "high": 1, "log": True}}),
            "above 0 on a log scale",
        ),
        (Family(Weights(), {"noise": {"low": 0, "high": 1, "mean": 1}}), "and may have log"),
        (Family(Weights(), path={"noise": []}), "one parameter with its values"),
        (Family(Weights(), {"noise": [1]}, path={"noise": [1]}), "not in both"),
        (Family(Weights(), prepare=[3]), "must be transformers or None"),
        (Family(Weights(), sample=[3]), "must be samplers or None"),
        (Family(Weights(), weight=0.0), "must be above 0"),
    ],
)
def test_a_family_that_cannot_be_drawn_is_refused(family, words):
    with pytest.raises(DataError, match="families\\['w'\\]") as error:
        space({"w": family})
    assert words in str(error.value)


def test_columns_that_are_unknown_are_refused():
    with pytest.raises(DataError, match="leave_out\\['x'\\] must name features, got 'd'"):
        space(leave_out={"x": ["d"]})
    with pytest.raises(DataError, match="at least one feature"):
        space(leave_out={"x": []})
    with pytest.raises(DataError, match="features have names"):
        Space({"w": Family(Weights())}, {"x": ["a"]}, None, 0)
