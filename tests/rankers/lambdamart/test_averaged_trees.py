"""Means of several boosters, and the unfairness that a fair fit records."""

import warnings

import numpy as np
import pytest

import equirank
from equirank import FairnessOverfitWarning, NoHeadroomWarning, as_ranking_data, evaluate
from equirank.core.chance import chance_by_query, exceeds
from equirank.datasets import make_ranking
from equirank.metrics import RND
from equirank.rankers import FairLambdaMART, LambdaMART

SMALL = {"n_estimators": 6, "num_leaves": 5, "n_jobs": 1, "random_state": 3}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=20, n_items=20, feature_bias=1.0, random_state=0)


@pytest.fixture(scope="module")
def other():
    return make_ranking(n_queries=10, n_items=20, feature_bias=1.0, random_state=1)


def one_by_one(kind, data, n_models, *given, **options):
    """The models of a mean, each as a model of its own."""
    found = []
    for at in range(n_models):
        sequence = np.random.SeedSequence(3, spawn_key=(at,))
        seed = int(np.random.default_rng(sequence).integers(2**31 - 1))
        chosen = {"feature_fraction": 0.3, "bagging_fraction": 0.5, "bagging_freq": 1}
        params = {**SMALL, **chosen, **options, "random_state": seed}
        found.append(kind(*given, **params).fit(data))
    return found


def test_scores_and_contributions_are_means(data, other):
    options = {"step": 5}
    mean = FairLambdaMART(0.4, n_models=3, **options, **SMALL).fit(data)
    models = one_by_one(FairLambdaMART, data, 3, 0.4, **options)
    assert len({model.predict(other)[0] for model in models}) == 3
    for method in ("predict", "shap_values"):
        wanted = np.mean([getattr(model, method)(other) for model in models], axis=0)
        np.testing.assert_allclose(getattr(mean, method)(other), wanted, atol=1e-13)
    assert mean.booster_.num_trees() == mean.best_iteration_ == 18


@pytest.mark.parametrize("options", [{"linear_tree": True}, {"categorical": [0]}])
def test_every_kind_of_tree_is_averaged(data, other, options):
    lists = [
        as_ranking_data(
            np.column_stack([np.floor(3 * each.X[:, 0] - 3 * each.X[:, 0].min()), each.X[:, 1:]]),
            each.y,
            qid=each.query_of_rows(),
        )
        for each in (data, other)
    ]
    mean = LambdaMART(n_models=2, **options, **SMALL).fit(lists[0])
    models = one_by_one(LambdaMART, lists[0], 2, **options)
    wanted = np.mean([model.predict(lists[1]) for model in models], axis=0)
    np.testing.assert_allclose(mean.predict(lists[1]), wanted, atol=1e-12)


def test_options_that_are_given_are_kept(data, other):
    given = {"colsample_bytree": 1.0, "bagging_freq": 0, "bagging_fraction": 1.0}
    mean = LambdaMART(n_models=2, **given, **SMALL).fit(data)
    np.testing.assert_allclose(
        mean.predict(other), LambdaMART(**SMALL).fit(data).predict(other), atol=1e-13
    )


def test_means_are_saved_and_stopped_early(data, other, tmp_path):
    mean = FairLambdaMART(
        0.9, step=5, n_models=3, validation=other, early_stopping=2, learning_rate=0.5, **SMALL
    ).fit(data)
    rounds = (~np.isnan(mean.validation_scores_)).sum(axis=1)
    best = np.nanargmax(mean.validation_scores_, axis=1) + 1
    assert mean.validation_scores_.shape == (3, rounds.max())
    assert mean.best_iteration_ == best.sum()
    found = evaluate(mean.rank(data), metrics="RND", n_boot=0)["RND"]
    assert mean.set_params(step=10).step == 10
    mean.save(tmp_path / "model")
    loaded = equirank.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(other), mean.predict(other))
    assert loaded.unfairness_ == mean.unfairness_
    assert found > 0


def test_a_path_of_means_equals_its_fits(data, other):
    model = FairLambdaMART(step=5, n_models=2, validation=other, **SMALL)
    path = model.tradeoff_path([0.3, 1.0], data)
    for alpha, ranker in zip([0.3, 1.0], path.rankers, strict=True):
        alone = FairLambdaMART(alpha, step=5, n_models=2, validation=other, **SMALL).fit(data)
        assert np.array_equal(alone.predict(other), ranker.predict(other))
        assert alone.unfairness_ == ranker.unfairness_
        assert alone.validation_unfairness_ == ranker.validation_unfairness_


# what a fair fit records


def test_chance_is_the_mean_over_random_orders(data):
    metric = RND(step=5)
    found = chance_by_query(metric, data)
    assert found.shape == (20, data.n_queries)
    rng = np.random.default_rng(5)
    groups = np.array(data.attribute().categories)[data.attribute().codes]
    qid = data.query_of_rows()
    many = [
        equirank.metrics.rnd(rng.random(data.n_rows), groups, qid=qid, step=5) for _ in range(60)
    ]
    assert found.mean() == pytest.approx(np.mean(many), abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("fairness", ["rnd", "rkl", "exposure", "treatment"])
def test_a_fit_records_its_unfairness(data, other, fairness):
    ranker = FairLambdaMART(0.5, fairness=fairness, step=5, cutoff=15, validation=other, **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessOverfitWarning)
        ranker.fit(data)
    name = {
        "rnd": "RND(step=5)@15", "rkl": "RKL(step=5)@15", "exposure": "ExposureGap@15",
        "treatment": "DisparateTreatment@15",
    }[fairness]  # fmt: skip
    for lists, got in ((data, ranker.unfairness_), (other, ranker.validation_unfairness_)):
        value = evaluate(ranker.rank(lists), metrics=name, n_boot=0)[name]
        value = value if fairness != "treatment" else 1 - min(value, 1 / value)
        assert got == pytest.approx(value, abs=1e-9)
    assert 0 < ranker.chance_unfairness_ < 1


def test_early_stopping_records_the_trees_in_use(data, other):
    ranker = FairLambdaMART(
        0.9, step=5, validation=other, early_stopping=1, learning_rate=1.0, **SMALL
    ).fit(data)
    assert ranker.best_iteration_ < 6
    value = evaluate(ranker.rank(data), metrics="RND(step=5)", n_boot=0)["RND(step=5)"]
    assert ranker.unfairness_ == pytest.approx(value, abs=1e-9)


def test_a_base_counts(data):
    base = LambdaMART(n_estimators=3, n_jobs=1).fit(data)
    ranker = FairLambdaMART(0.5, step=5, base=base, **SMALL).fit(data)
    value = evaluate(ranker.rank(data), metrics="RND(step=5)", n_boot=0)["RND(step=5)"]
    assert ranker.unfairness_ == pytest.approx(value, abs=1e-9)


def test_a_function_has_no_metric(data):
    ranker = FairLambdaMART(
        0.5, fairness=lambda c, k, n, s: abs(c / k - s / n), step=5, **SMALL
    ).fit(data)
    assert not hasattr(ranker, "unfairness_")


def test_fairness_that_was_memorised_is_a_warning():
    data = make_ranking(n_queries=60, n_items=30, feature_bias=1.0, random_state=0)
    small = {"step": 5, "n_estimators": 20, "n_jobs": 1, "random_state": 0}
    ranker = FairLambdaMART(0.1, validation=0.25, **small)
    with pytest.warns(FairnessOverfitWarning, match="two standard errors above") as caught:
        ranker.fit(data)
    assert caught[0].filename == __file__
    assert ranker.unfairness_ < ranker.chance_unfairness_ < ranker.validation_unfairness_


def test_a_path_without_headroom_is_a_warning(data, other):
    rng = np.random.default_rng(0)
    n = 400
    blind = as_ranking_data(
        rng.normal(size=(n, 3)), rng.integers(0, 3, size=n), qid=np.repeat(np.arange(40), 10),
        sensitive_features=rng.choice(["a", "b"], size=n),
    )  # fmt: skip
    model = FairLambdaMART(step=2, validation=0.5, **SMALL)
    with pytest.warns(NoHeadroomWarning, match="cannot show an effect") as caught:
        model.tradeoff_path([1.0], blind)
    assert caught[0].filename == __file__
    FairLambdaMART(step=5, validation=other, **SMALL).tradeoff_path([1.0], data)  # no warning


def test_two_standard_errors():
    value = np.array([0.3, 0.5, 0.4, np.nan])
    error = 0.1 / np.sqrt(3)
    assert exceeds(value, np.full(4, 0.4 - 2.01 * error))
    assert not exceeds(value, np.full(4, 0.4 - 1.99 * error))
    assert not exceeds(value[:1], np.zeros(1))
