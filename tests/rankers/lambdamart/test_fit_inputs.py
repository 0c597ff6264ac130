"""Inputs of fit of tree rankers: evaluation sets, callbacks, weights of items."""

import logging

import lightgbm
import numpy as np
import pandas as pd
import pytest

import equirank
from equirank import DataError, EquirankWarning, as_ranking_data, evaluate
from equirank.datasets import make_ranking
from equirank.rankers import MART, FairLambdaMART, LambdaMART, McRank
from equirank.rankers.lambdamart.fairness_terms import fairness_part
from equirank.rankers.lambdamart.objective import FairObjective, performance_part

from .test_objective import lists, slow_gradient

SMALL = {"n_estimators": 6, "num_leaves": 5, "n_jobs": 1, "random_state": 3}
TREES = [LambdaMART, FairLambdaMART, MART, McRank]


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=20, n_items=15, feature_bias=1.0, random_state=0)


@pytest.fixture(scope="module")
def other():
    return make_ranking(n_queries=8, n_items=15, feature_bias=1.0, random_state=1)


def parts(data, groups=True):
    given = (data.X, data.y, data.qids[data.query_of_rows()])
    return (*given, data.attribute().codes.astype(str)) if groups else given


# evaluation sets


@pytest.mark.slow
@pytest.mark.parametrize("kind", TREES)
def test_history_holds_every_metric_of_every_set(kind, data, other):
    metrics = ["NDCG@10", "RND(step=5)"]
    model = kind(metric=metrics, **SMALL).fit(data, eval_set={"new": other, "old": data})
    assert {name: list(found) for name, found in model.history_.items()} == dict.fromkeys(
        ["new", "old"], metrics
    )
    for name, each in (("new", other), ("old", data)):
        found = evaluate(model.rank(each), metrics=metrics)
        for metric in metrics:
            assert len(model.history_[name][metric]) == 6
            assert model.history_[name][metric][-1] == pytest.approx(found[metric], abs=1e-12)
    np.testing.assert_array_equal(model.validation_scores_, model.history_["new"]["NDCG@10"])
    plain = kind(**SMALL).fit(data)
    np.testing.assert_array_equal(plain.predict(other), model.predict(other))


def test_tuples_are_evaluation_sets_too(data, other):
    model = LambdaMART(metric=["NDCG@10", "RND(step=5)"], **SMALL)
    wanted = model.fit(data, eval_set={"valid_0": other, "valid_1": data}).history_
    order = np.arange(other.n_rows).reshape(8, 15).T.ravel()
    moved = tuple(np.asarray(part)[order] for part in parts(other))
    assert model.fit(data, eval_set=[moved, parts(data)]).history_ == wanted
    plain = LambdaMART(metric="NDCG@10", **SMALL).fit(data, eval_set=[parts(other, groups=False)])
    assert plain.history_["valid_0"]["NDCG@10"] == wanted["valid_0"]["NDCG@10"]


def test_early_stopping_uses_the_first_metric_of_the_first_set(data, other):
    options = {**SMALL, "n_estimators": 40, "min_child_samples": 1, "early_stopping": 3}
    metrics = ["RND(step=5)", "NDCG@10"]
    wanted = LambdaMART(validation=other, metric="RND(step=5)", **options).fit(data)
    sets = {"new": other, "old": data}
    found = LambdaMART(metric=metrics, **options).fit(data, eval_set=sets)
    assert len(wanted.validation_scores_) == wanted.best_iteration_ + 3
    assert found.best_iteration_ == wanted.best_iteration_
    np.testing.assert_array_equal(found.validation_scores_, wanted.validation_scores_)
    improving = LambdaMART(metric="NDCG@10", **options)
    improving.fit(data, eval_set={"old": data, "new": other})
    wanted_length = len(LambdaMART(validation=data, **options).fit(data).validation_scores_)
    assert len(improving.validation_scores_) == wanted_length > len(wanted.validation_scores_)
    both = LambdaMART(validation=other, metric=metrics, **options).fit(data, eval_set={"a": data})
    assert list(both.history_) == ["validation", "a"]
    assert both.best_iteration_ == wanted.best_iteration_


def test_sets_of_frames_are_encoded_by_the_training_categories(data, other):
    def frame(each):
        columns = {f"f{at}": each.X[:, at] for at in range(each.n_features)}
        words = np.where(each.X[:, 0] > 0, "up", "down")
        return pd.DataFrame(columns | {"word": words})

    X, y, qid = frame(data), np.asarray(data.y), data.qids[data.query_of_rows()]
    later = frame(other).iloc[::-1]
    given = (later, np.asarray(other.y)[::-1], other.qids[other.query_of_rows()][::-1])
    model = LambdaMART(metric="NDCG@10", **SMALL).fit(X, y, qid=qid, eval_set=[given])
    found = model.rank(given[0], given[1], qid=given[2])
    assert model.history_["valid_0"]["NDCG@10"][-1] == pytest.approx(
        evaluate(found, metrics="NDCG@10")["NDCG@10"]
    )


def test_a_base_is_added_in_evaluation_sets(data, other):
    base = LambdaMART(**SMALL).fit(data)
    model = LambdaMART(base=base, metric="NDCG@10", **SMALL).fit(data, eval_set={"new": other})
    last = model.history_["new"]["NDCG@10"][-1]
    assert last == pytest.approx(evaluate(model.rank(other), metrics="NDCG@10")["NDCG@10"])
    scores = np.asarray(base.predict(data))
    with pytest.raises(DataError, match="set valid_0 of eval_set must have scores to start from"):
        LambdaMART(base=scores, **SMALL).fit(data, eval_set=[parts(other)])


def test_several_models_have_one_history_each(data, other):
    model = LambdaMART(n_models=2, metric="NDCG@10", **SMALL).fit(data, eval_set={"new": other})
    first, second = model.history_["new"]["NDCG@10"]
    assert len(first) == len(second) == 6
    assert first != second
    np.testing.assert_array_equal(model.validation_scores_, [first, second])


def test_a_new_fit_forgets_the_record(data, other, tmp_path):
    model = LambdaMART(**SMALL, base=LambdaMART(**SMALL)).fit(data, eval_set={"new": other})
    model.save(tmp_path / "model")
    assert equirank.load(tmp_path / "model").history_ == model.history_
    model.set_params(base=None).fit(data)
    assert not {"history_", "validation_scores_", "base_"} & set(vars(model))
    np.testing.assert_array_equal(
        model.predict(other), LambdaMART(**SMALL).fit(data).predict(other)
    )


@pytest.mark.parametrize(
    ("eval_set", "words"),
    [
        ("x", "eval_set must be a list of .*, got str"),
        ([(1, 2)], "set valid_0 of eval_set must be .*, got 2 parts"),
        ({"a": 3}, "set a of eval_set must be .*, got int"),
    ],
)
def test_bad_sets_are_refused(data, eval_set, words):
    with pytest.raises(DataError, match=words):
        LambdaMART(**SMALL).fit(data, eval_set=eval_set)


def test_sets_must_fit_the_training_data(data, other):
    model = LambdaMART(**SMALL)
    with pytest.raises(DataError, match="other names than training and validation, got training"):
        model.fit(data, eval_set={"training": other})
    with pytest.raises(ValueError, match="features"):
        model.fit(data, eval_set=[(other.X[:, 1:], other.y, other.query_of_rows())])
    with pytest.raises(DataError, match="set a of eval_set must have X and y"):
        model.fit(data, eval_set={"a": as_ranking_data(other.X, qid=other.query_of_rows())})
    with pytest.raises(DataError, match="RND needs groups"):
        LambdaMART(metric="RND", **SMALL).fit(data, eval_set=[parts(other, groups=False)])


# callbacks and log


def test_callbacks_of_lightgbm_are_called_as_they_are(data, other):
    record, rates = {}, []
    given = [
        lightgbm.record_evaluation(record),
        lightgbm.reset_parameter(learning_rate=lambda at: 0.1 * 0.5**at),
        lambda env: rates.append(env.params["learning_rate"]),
    ]
    model = FairLambdaMART(0.5, step=5, metric="NDCG@10", **SMALL)
    model.fit(data, eval_set={"new": other}, callbacks=given)
    assert record == {"new": {"NDCG@10": model.history_["new"]["NDCG@10"]}}
    assert rates[-1] == 0.1 * 0.5**5
    stop = lightgbm.early_stopping(2, verbose=False)
    options = {**SMALL, "n_estimators": 40, "min_child_samples": 1}
    stopped = LambdaMART(metric="RND(step=5)", **options)
    stopped.fit(data, eval_set={"new": other}, callbacks=[stop])
    assert stopped.best_iteration_ == int(np.argmin(stopped.validation_scores_)) + 1
    assert len(stopped.validation_scores_) == stopped.best_iteration_ + 2
    fair = FairLambdaMART(0.2, step=5, metric="NDCG@10", **options)
    fair.fit(data, eval_set={"new": other}, callbacks=[lightgbm.early_stopping(39, verbose=False)])
    assert fair.best_iteration_ < len(fair.validation_scores_) == 40
    found = evaluate(fair.rank(data), metrics="RND(step=5)")["RND(step=5)"]
    assert fair.unfairness_ == pytest.approx(found, abs=1e-12)
    with pytest.raises(DataError, match=r"callbacks of LambdaMART.fit must be a list of callables"):
        LambdaMART(**SMALL).fit(data, callbacks=[3])


def test_verbose_logs_rounds_and_prints_nothing(data, other, caplog, capfd):
    with caplog.at_level(logging.INFO, logger="equirank"):
        LambdaMART(**{**SMALL, "n_estimators": 5}).fit(data, eval_set={"new": other}, verbose=2)
    rounds = [record.getMessage() for record in caplog.records]
    assert [line.split(":")[0] for line in rounds] == ["round 2", "round 4", "round 5"]
    assert rounds[0].startswith("round 2: new NDCG@10 0.")
    assert capfd.readouterr() == ("", "")


def test_what_has_no_effect_is_a_warning(data):
    with pytest.warns(EquirankWarning, match="verbose of LambdaMART.fit has no effect") as caught:
        LambdaMART(**SMALL).fit(data, verbose=True)
    assert caught[0].filename == __file__
    with pytest.warns(EquirankWarning, match="metric of MART has no effect: validation or eval_se"):
        MART(metric="MAP", **SMALL).fit(data)
    with pytest.raises(DataError, match=r"verbose of LambdaMART.fit must be an integer >= 0"):
        LambdaMART(**SMALL).fit(data, verbose=-1)
    with pytest.raises(DataError, match=r"metric of LambdaMART must be .* or a list of them"):
        LambdaMART(metric=[], validation=0.2, **SMALL).fit(data)


# weights of items


@pytest.mark.parametrize("strategy", ["swap", "relevance_first"])
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("normalize", [True, False])
def test_pairs_of_both_parts_are_weighted(strategy, n_groups, normalize, monkeypatch):
    from . import test_objective

    plain = test_objective.slow_pairs
    data, score = lists(1, n_groups)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, size=data.n_rows)

    def weighted(data, score, alpha, part, truncation, q, pair_cost, targets):
        begin = data.offsets[q]
        for a, b, delta in plain(data, score, alpha, part, truncation, q, pair_cost, targets):
            yield a, b, delta * np.sqrt(weight[begin + a] * weight[begin + b])

    monkeypatch.setattr(test_objective, "slow_pairs", weighted)
    part = fairness_part(data, strategy=strategy, step=2)
    targets = None if strategy == "swap" else test_objective.slow_targets(data, score, part)
    for alpha in (0.0, 0.4, 1.0):
        objective = FairObjective(
            data, performance_part(data, truncation=4), part, alpha=alpha, normalize=normalize,
            sample_weight=weight,
        )  # fmt: skip
        wanted = slow_gradient(
            data, score, alpha, part, truncation=4, sigma=1.0, normalize=normalize, targets=targets
        )
        for got, right in zip(objective(score), wanted, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-13)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::equirank.FairnessOverfitWarning")
@pytest.mark.parametrize("kind", TREES)
def test_weights_follow_their_rows(kind, data, other):
    weight = np.random.default_rng(0).uniform(0.3, 3.0, size=data.n_rows)
    order = np.arange(data.n_rows).reshape(20, 15).T.ravel()  # the first items of all lists first
    X, y, qid, groups = parts(data)
    model = kind(validation=0.3, metric="NDCG@10", **SMALL)
    wanted = model.fit(data, sample_weight=weight).predict(other)
    moved = kind(validation=0.3, metric="NDCG@10", **SMALL).fit(
        X[order], y[order], qid=qid[order], sensitive_features=groups[order],
        sample_weight=weight[order],
    )  # fmt: skip
    np.testing.assert_array_equal(moved.predict(other), wanted)
    plain = kind(validation=0.3, metric="NDCG@10", **SMALL).fit(data).predict(other)
    assert np.abs(wanted - plain).max() > 0.01
    ones = model.fit(data, sample_weight=np.ones(data.n_rows)).predict(other)
    np.testing.assert_array_equal(ones, plain)


def test_weights_of_training_rows_survive_the_split(data, monkeypatch):
    seen = []
    real = LambdaMART.objective
    monkeypatch.setattr(
        LambdaMART,
        "objective",
        lambda self, data, **given: seen.append((data, given)) or real(self, data, **given),
    )
    weight = 1.0 + np.abs(data.to_original(data.X)[:, 0])
    LambdaMART(validation=0.4, metric="NDCG@10", **SMALL).fit(data, sample_weight=weight)
    ((train, given),) = seen
    assert train.n_queries == 12
    np.testing.assert_array_equal(given["sample_weight"], 1.0 + np.abs(train.X[:, 0]))


def test_mart_weighs_its_squared_error(data, other):
    weight = np.random.default_rng(0).uniform(0.3, 3.0, size=data.n_rows)
    cost = as_ranking_data(data.X, data.y, qid=data.query_of_rows(), cost=weight)
    given = MART(**SMALL).fit(data, sample_weight=weight).predict(other)
    np.testing.assert_array_equal(given, MART(**SMALL).fit(cost).predict(other))


def test_the_grower_gets_no_weights_of_pairs(data, monkeypatch):
    seen = []
    real = lightgbm.Dataset.__init__

    def record(self, *args, **given):
        seen.append(given.get("weight"))
        real(self, *args, **given)

    monkeypatch.setattr(lightgbm.Dataset, "__init__", record)
    LambdaMART(**SMALL).fit(data, sample_weight=np.linspace(1, 2, data.n_rows))
    assert seen == [None]


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (0.0, "sample_weight must be a number greater than zero, got 0.0 in row 7"),
        (-1.0, "sample_weight must be a number greater than zero, got -1.0 in row 7"),
        (np.nan, "sample_weight must be a finite number, got nan in row 7"),
    ],
)
def test_bad_weights_are_refused(data, weight, words):
    given = np.ones(data.n_rows)
    given[7] = weight
    with pytest.raises(DataError, match=words):
        LambdaMART(**SMALL).fit(data, sample_weight=given)
    with pytest.raises(
        DataError, match=r"sample_weight must have one value per row \(300\), got 3"
    ):
        LambdaMART(**SMALL).fit(data, sample_weight=[1, 2, 3])


def test_weights_are_routed(data):
    from sklearn import config_context
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y, qid, _ = parts(data)
    weight = np.linspace(1, 2, data.n_rows)
    model = LambdaMART(**SMALL)
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scaler, model).fit(X, y, qid=qid, sample_weight=weight)
    wanted = model.fit(scaler.fit_transform(X), y, qid=qid, sample_weight=weight)
    np.testing.assert_array_equal(pipe[-1].predict(X), wanted.predict(X))
