"""What models learn from a representation: relevance, and groups where it does not hide them."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from equirank import DataError, as_ranking_data
from equirank.datasets import make_ranking
from equirank.metrics import ndcg, rnd
from equirank.preprocess import representation_leakage
from equirank.search import evaluate_representation
from equirank.search.representation_tests import _splits, _table

ONLY_MERIT = FunctionTransformer(lambda X: X[:, :1])
ONLY_GROUP = FunctionTransformer(lambda X: X[:, 1:])


def people(n=400, seed=0):
    """One list: merit, and a copy of the group, as the two features."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 2
    merit = rng.standard_normal(n)
    X = np.stack([merit, group + 0.01 * rng.standard_normal(n)], axis=1)
    return X, np.clip(np.round(merit + 2.0), 0, None), np.where(group, "m", "f")


def cells(table):
    return {(r["model"], r["metric"], r["attribute"]): r["value"] for r in table}


@pytest.mark.slow
def test_a_representation_of_merit_ranks_well_and_tells_no_group():
    found = cells(evaluate_representation(ONLY_MERIT, *people(), n_splits=2))
    assert {model for model, _, _ in found} == {"linear", "forest"}
    for model in ("linear", "forest"):
        assert found[model, "ADRG", "sensitive"] < 0.1
        assert found[model, "NDCG", ""] > 0.95
        assert found[model, "1 - RND", "sensitive"] > 0.8


@pytest.mark.slow
def test_a_representation_of_the_group_tells_all_of_it():
    found = cells(evaluate_representation(ONLY_GROUP, *people(), models=["linear"]))
    assert found["linear", "ADRG", "sensitive"] == pytest.approx(0.5)
    assert found["linear", "NDCG", ""] < 0.9


def test_values_are_those_of_the_metrics_on_what_is_held_out():
    X, y, group = people(60)
    table = evaluate_representation(None, X, y, group, models=["linear"], n_splits=2)
    from equirank import QueryKFold
    from equirank.core.random import generator

    good, fair, leak = [], [], []
    folds = QueryKFold(2, by="item", shuffle=True, random_state=0)
    for at, (train, test) in enumerate(folds.split(X, sensitive_features=group)):
        scaler = StandardScaler().fit(X[train])
        model = Ridge().fit(scaler.transform(X[train]), y[train])
        score = model.predict(scaler.transform(X[test]))
        good.append(ndcg(y[test], score))
        fair.append(1.0 - rnd(score, group[test]))
        seed = int(generator(0, at).integers(2**31))
        leak.append(representation_leakage(X, group, test_size=0.5, random_state=seed))
    means = [np.mean(values) for values in (leak, good, fair)]
    np.testing.assert_allclose(table["value"], means, atol=1e-12)
    assert table["n"].tolist() == [2, 2, 2]


@pytest.mark.slow
def test_lists_stay_whole_and_the_order_of_rows_does_not_matter():
    data = make_ranking(n_queries=10, n_items=12, feature_bias=1.0, random_state=0)
    rows = np.random.default_rng(1).permutation(data.n_rows)
    qid = data.qids[data.query_of_rows()][rows]
    group = data.attribute("group").codes[rows]
    mixed = as_ranking_data(data.X[rows], data.y[rows], qid=qid, sensitive_features=group)
    arrays = (data.X[rows], data.y[rows], group, qid)
    scaler = StandardScaler().fit(data.X)
    given = evaluate_representation(scaler, *arrays, models=["linear"])
    held = evaluate_representation(scaler, mixed, models=["linear"])
    np.testing.assert_allclose(given["value"], held["value"])
    for train, test in _splits(mixed, 5, 0):
        assert (train.n_queries, test.n_queries) == (8, 2)
        assert not set(train.qids) & set(test.qids)


@pytest.mark.slow
def test_each_attribute_by_itself_or_crossed():
    X, y, group = people(200)
    other = np.tile(["x", "y", "z", "z"], 50)
    both = {"sex": group, "race": other}
    found = cells(evaluate_representation(None, X, y, both, models=["linear"]))
    assert found["linear", "ADRG", "sex"] == pytest.approx(0.5)
    assert ("linear", "1 - RND", "race") in found
    crossed = evaluate_representation(None, X, y, both, models=["linear"], by=("sex", "race"))
    assert set(crossed["attribute"]) == {"sex x race", ""}


@pytest.mark.slow
def test_a_frame_that_a_scikit_learn_transformer_was_fitted_on():
    pandas = pytest.importorskip("pandas")
    X, y, group = people(100)
    frame = pandas.DataFrame(X, columns=["merit", "copy"])
    scaler = StandardScaler().fit(frame)
    given = evaluate_representation(scaler, frame, y, group, models=["linear"])
    data = as_ranking_data(frame, y, sensitive_features=group)
    held = evaluate_representation(scaler, data, models=["linear"])
    np.testing.assert_allclose(given["value"], held["value"])


def test_intervals_are_student_s():
    row = next(iter(_table({("linear", "NDCG", ""): [0.5, 0.7]}, 0.95)))
    half = 12.706204736 * 0.1 / np.sqrt(1.0)  # t quantile of one degree x (0.1 sqrt 2) / sqrt 2
    assert (row["value"], row["n"]) == (pytest.approx(0.6), 2)
    assert (row["low"], row["high"]) == (max(0.0, 0.6 - half), min(1.0, 0.6 + half))
    row = next(iter(_table({("linear", "NDCG", ""): [0.50, 0.52, float("nan")]}, 0.9)))
    assert row["n"] == 2
    assert row["high"] == pytest.approx(0.51 + 6.313751515 * 0.01)
    one = next(iter(_table({("linear", "NDCG", ""): [0.5, float("nan")]}, 0.9)))
    assert one["value"] == 0.5
    assert np.isnan(one["low"])


def test_bad_input_is_refused():
    X, y, group = people(40)
    with pytest.raises(DataError, match="transformer must have a method transform"):
        evaluate_representation(object(), X, y, group)
    with pytest.raises(DataError, match="models of evaluate_representation must be"):
        evaluate_representation(None, X, y, group, models=["tree"])
    with pytest.raises(DataError, match="sensitive_features must be given"):
        evaluate_representation(None, X, y)
    with pytest.raises(DataError, match="unfairness must be a metric of which lower is better"):
        evaluate_representation(None, X, y, group, unfairness="NDCG")
    data = as_ranking_data(X, y, sensitive_features=group)
    short = SimpleNamespace(transform=lambda X: X[:-1])
    with pytest.raises(DataError, match="one row for each of the 40 rows"):
        evaluate_representation(short, data)
