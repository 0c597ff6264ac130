"""Warm start: trees are added to those of an earlier fit."""

import numpy as np
import pandas as pd
import pytest

import equirank
from equirank import DataError
from equirank.datasets import make_ranking
from equirank.rankers import MART, FairLambdaMART, LambdaMART
from equirank.rankers.linear.pointwise import RegressionRanker

SMALL = {"num_leaves": 5, "n_jobs": 1, "random_state": 3}
KINDS = [LambdaMART, FairLambdaMART, MART]


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=20, n_items=15, feature_bias=1.0, random_state=0)


@pytest.fixture(scope="module")
def other():
    return make_ranking(n_queries=8, n_items=15, feature_bias=1.0, random_state=1)


def in_two_parts(model, data, first=10, second=20, **given):
    model.set_params(warm_start=True, n_estimators=first).fit(data, **given)
    return model.set_params(n_estimators=second).fit(data, **given)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ten_and_ten_trees_are_twenty(kind, data, other):
    given = {"eval_set": {"new": other}}
    whole = kind(n_estimators=20, **SMALL).fit(data, **given)
    model = in_two_parts(kind(**SMALL), data, **given)
    np.testing.assert_allclose(model.predict(other), whole.predict(other), rtol=0, atol=9e-16)
    assert model.booster_.num_trees() == model.best_iteration_ == 20
    assert model.history_ == whole.history_
    np.testing.assert_allclose(model.shap_values(other), whole.shap_values(other), atol=1e-14)
    if kind is FairLambdaMART:
        assert model.unfairness_ == whole.unfairness_
        np.testing.assert_array_equal(model.state_, whole.state_)


@pytest.mark.slow
def test_the_damping_of_fairness_continues(data, other, tmp_path):
    whole = FairLambdaMART(0.2, step=5, n_estimators=20, **SMALL).fit(data)
    first = FairLambdaMART(0.2, step=5, n_estimators=10, warm_start=True, **SMALL).fit(data)
    first.save(tmp_path / "model")
    loaded = equirank.load(tmp_path / "model").set_params(n_estimators=20).fit(data)
    np.testing.assert_allclose(loaded.predict(other), whole.predict(other), rtol=0, atol=9e-16)
    del first.state_
    forgotten = first.set_params(n_estimators=20).fit(data)
    assert np.abs(forgotten.predict(other) - whole.predict(other)).max() > 0.01


def test_positions_and_weights_continue(data, other):
    given = {
        "position": np.tile(np.arange(1, 16), 20),
        "sample_weight": np.random.default_rng(0).uniform(0.5, 2.0, size=data.n_rows),
    }
    whole = LambdaMART(n_estimators=12, **SMALL).fit(data, **given)
    model = in_two_parts(LambdaMART(**SMALL), data, 5, 12, **given)
    np.testing.assert_allclose(model.predict(other), whole.predict(other), rtol=0, atol=9e-16)
    np.testing.assert_allclose(model.position_bias_, whole.position_bias_, atol=1e-15)


@pytest.mark.parametrize("fitted", [True, False])
def test_a_base_is_kept(data, other, fitted):
    from sklearn.linear_model import Ridge

    base = RegressionRanker(Ridge())
    whole = LambdaMART(n_estimators=9, base=base, **SMALL).fit(data)
    model = LambdaMART(base=base.fit(data) if fitted else base, **SMALL)
    model = in_two_parts(model, data, 4, 9)
    np.testing.assert_allclose(model.predict(other), whole.predict(other), rtol=0, atol=2e-15)


@pytest.mark.slow
def test_early_stopping_continues_from_the_best_round(data, other):
    options = {**SMALL, "min_child_samples": 5, "learning_rate": 0.2}
    options |= {"early_stopping": 12, "validation": other, "metric": "NDCG@10"}
    whole = LambdaMART(n_estimators=60, **options).fit(data)
    assert 10 < whole.best_iteration_ < 50
    model = in_two_parts(LambdaMART(**options), data, whole.best_iteration_ - 2, 60)
    assert model.best_iteration_ == whole.best_iteration_
    np.testing.assert_allclose(model.predict(other), whole.predict(other), rtol=0, atol=9e-16)
    # further trees that do not improve the metric are not used
    more = in_two_parts(LambdaMART(**options), data, 50, 60)
    assert more.best_iteration_ == whole.best_iteration_
    np.testing.assert_array_equal(more.predict(other), whole.predict(other))


def test_other_lists_can_be_added(data, other):
    model = FairLambdaMART(n_estimators=5, warm_start=True, **SMALL)
    model.fit(data, eval_set={"new": other})
    before = model.predict(other)
    history = model.history_["new"]["NDCG@10"]
    model.set_params(n_estimators=8).fit(other, eval_set={"new": data})
    assert model.booster_.num_trees() == 8
    after = model.booster_.predict(other.X, num_iteration=5)
    np.testing.assert_allclose(after, before, atol=1e-15)
    assert len(history) == 5
    later = model.history_["new"]["NDCG@10"]
    assert np.isnan(later[:5]).all()
    assert np.isfinite(later[5:]).all()
    assert model.state_.shape[0] == other.n_queries


def test_random_draws_differ_from_the_earlier_ones(data):
    one_feature = FairLambdaMART(0.5, step=5, feature_fraction=0.1, min_child_samples=1, **SMALL)
    model = in_two_parts(one_feature, data, 5, 10)
    trees = model.booster_.dump_model()["tree_info"]
    features = [each["tree_structure"]["split_feature"] for each in trees]
    assert features[:5] != features[5:]


def test_columns_and_categories_must_be_the_same(data, other):
    model = LambdaMART(n_estimators=3, warm_start=True, **SMALL).fit(data)
    model.set_params(n_estimators=6)
    with pytest.raises(ValueError, match="expecting 10 features"):
        model.fit(data.X[:, 1:], data.y, qid=data.query_of_rows())
    assert model.n_features_in_ == 10
    names = [f"f{at}" for at in range(10)]
    frame = pd.DataFrame(data.X, columns=names).assign(word=np.where(data.X[:, 0] > 0, "b", "c"))
    y, qid = np.asarray(data.y), data.query_of_rows()
    texts = LambdaMART(n_estimators=3, warm_start=True, **SMALL).fit(frame, y, qid=qid)
    texts.set_params(n_estimators=5).fit(frame.replace({"word": {"b": "c"}}), y, qid=qid)
    assert texts.categories_ == {"word": ["b", "c"]}
    texts.set_params(n_estimators=6)
    with pytest.raises(
        DataError, match=r"X\['word'\] must be one of .* training \('b', 'c'\), got 'a'"
    ):
        texts.fit(frame.replace({"word": {"b": "a"}}), y, qid=qid)


def test_what_cannot_continue_is_refused(data):
    model = LambdaMART(n_estimators=3, warm_start=True, **SMALL).fit(data)
    with pytest.raises(DataError, match="n_estimators of LambdaMART must be more than the 3 trees"):
        model.fit(data)
    mean = LambdaMART(n_estimators=3, n_models=2, warm_start=True, **SMALL).fit(data)
    with pytest.raises(DataError, match="warm_start of LambdaMART must be False if n_models"):
        mean.set_params(n_estimators=6).fit(data)
    share = model.set_params(n_estimators=6, validation=0.2, random_state=None)
    with pytest.raises(DataError, match="random_state of LambdaMART must be given with warm_start"):
        share.fit(data)
