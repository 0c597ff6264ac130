"""ONNX files of trees: runtimes score as the ranker does."""

import json

import numpy as np
import pandas as pd
import pytest

from equirank import DataError, as_ranking_data
from equirank.datasets import make_ranking
from equirank.rankers import MART, FairLambdaMART, LambdaMART
from equirank.rankers.lambdamart.onnx_trees import float32_below

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

SMALL = {"n_estimators": 30, "num_leaves": 15, "min_child_samples": 3, "n_jobs": 1}


def mixed(seed, n_queries=40, n_items=15):
    """Lists with numbers, zeros, categories and missing values, all of them float32."""
    rng = np.random.default_rng(seed)
    n = n_queries * n_items
    X = rng.normal(size=(n, 6))
    X[:, 1] = np.round(X[:, 1] * 2) / 2
    X[:, 2] = np.where(rng.random(n) < 0.3, 0.0, X[:, 2])
    X[:, 3], X[:, 4] = rng.integers(0, 40, size=n), rng.integers(0, 4, size=n)
    effect = rng.normal(size=40)
    utility = X[:, 0] + np.abs(X[:, 1]) + effect[X[:, 3].astype(int)] + (X[:, 2] == 0)
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X).astype(np.float32)
    y = np.clip(np.round(utility + rng.normal(size=n)), 0, 4)
    groups = rng.integers(0, 2, size=n).astype(str)
    return as_ranking_data(X, y, qid=np.repeat(np.arange(n_queries), n_items),
                           sensitive_features=groups)  # fmt: skip


def runtime(path, X):
    session = onnxruntime.InferenceSession(path)
    return session.run(["score"], {"X": np.asarray(X, dtype=np.float32)})[0]


def check(model, path, X):
    """Compare the file with the ranker, by the acceptance of the export."""
    model.export_onnx(path)
    wanted, found = model.predict(X), runtime(path, X)
    assert found.shape == wanted.shape
    near = 1e-5 * wanted.std()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=near)
    order = np.argsort(-wanted, kind="stable")
    apart = -np.diff(wanted[order]) > 2 * near
    assert apart.sum() > 10
    assert (-np.diff(found[order])[apart] > 0).all()
    return found


CASES = [
    {},
    {"categorical": [3, 4]},
    {"categorical": [3, 4], "max_cat_to_onehot": 1, "cat_smooth": 1.0, "min_data_per_group": 1},
    {"use_missing": False},
    {"zero_as_missing": True},
    {"zero_as_missing": True, "categorical": [3]},
    {"n_models": 3, "random_state": 0},
    {"max_depth": 2, "categorical": [3]},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", CASES, ids=lambda options: "-".join(options) or "plain")
def test_scores_and_orders_agree(options, tmp_path):
    data, new = mixed(0), mixed(1)
    model = LambdaMART(**SMALL, **options).fit(data)
    X = np.array(new.X)
    X[:30, 3] = np.arange(30) + 30  # categories that training did not contain
    X[30:40, 2] = [0.0, -0.0, 1e-38, -1e-38, 1e-35, -1e-35, 1e-34, -1e-34, 3e38, -3e38]
    check(model, tmp_path / "trees.onnx", X)


@pytest.mark.parametrize("kind", [FairLambdaMART, MART])
def test_other_rankers_and_early_stopping(kind, tmp_path):
    data, new = mixed(0), mixed(1)
    stop = {"early_stopping": 2, "validation": 0.3, "metric": "NDCG@10", "random_state": 0}
    model = kind(**SMALL, **stop).fit(data)
    assert model.best_iteration_ < len(model.validation_scores_)
    check(model, tmp_path / "trees.onnx", new.X)


@pytest.mark.slow
def test_another_runtime_agrees(tmp_path):
    from onnx.reference import ReferenceEvaluator

    data = mixed(0)
    model = LambdaMART(**{**SMALL, "n_estimators": 8}, categorical=[3, 4]).fit(data)
    path = tmp_path / "trees.onnx"
    found = check(model, path, data.X)
    few = np.asarray(data.X[:25])
    again = ReferenceEvaluator(onnx.load(path)).run(["score"], {"X": few})[0]
    np.testing.assert_allclose(again, found[:25], rtol=0, atol=1e-5)


def test_the_file_is_one_ensemble_whose_parents_come_first(tmp_path):
    data = mixed(0)
    model = LambdaMART(**SMALL, categorical=[3, 4]).fit(data)
    path = tmp_path / "new" / "trees.onnx"
    model.export_onnx(path)
    model.export_onnx(path)
    assert [each.name for each in path.parent.iterdir()] == ["trees.onnx"]
    graph = onnx.load(path).graph
    assert [node.op_type for node in graph.node] == ["TreeEnsembleRegressor", "Squeeze"]
    found = {each.name: onnx.helper.get_attribute_value(each) for each in graph.node[0].attribute}
    nodes = [found[f"nodes_{name}"] for name in ("treeids", "nodeids", "truenodeids")]
    for tree, node, yes, no, mode in zip(
        *nodes, found["nodes_falsenodeids"], found["nodes_modes"], strict=True
    ):
        assert mode == b"LEAF" or min(yes, no) > node, tree
    one = runtime(path, data.X[:1])
    assert one.shape == (1,)


def test_frames_store_names_and_categories(tmp_path):
    data = mixed(0)
    frame = pd.DataFrame(np.asarray(data.X[:, :3]), columns=["a", "b", "c"])
    frame["word"] = np.array(["red", "green", "blue"])[np.arange(len(frame)) % 3]
    y = data.y + (frame["word"] == "green")
    model = LambdaMART(**SMALL).fit(frame, y, qid=data.query_of_rows())
    path = tmp_path / "trees.onnx"
    model.export_onnx(path)
    stored = {each.key: json.loads(each.value) for each in onnx.load(path).metadata_props}
    assert stored["feature_names"] == ["a", "b", "c", "word"]
    assert stored["categories"] == {"word": ["blue", "green", "red"]}
    codes = frame.assign(word=frame["word"].map(stored["categories"]["word"].index))
    found, wanted = runtime(path, codes), model.predict(frame)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * wanted.std())


def test_trees_of_one_leaf(tmp_path):
    data = mixed(0)
    model = MART(n_estimators=2, n_jobs=1, min_gain_to_split=1e9).fit(data)
    model.export_onnx(tmp_path / "trees.onnx")
    np.testing.assert_allclose(runtime(tmp_path / "trees.onnx", data.X), model.predict(data.X))


def test_what_cannot_be_exported_is_refused(tmp_path):
    data = make_ranking(n_queries=20, random_state=0)
    linear = LambdaMART(n_estimators=3, n_jobs=1, linear_tree=True).fit(data)
    with pytest.raises(DataError, match="linear_tree of LambdaMART must be False"):
        linear.export_onnx(tmp_path / "a.onnx")
    base = LambdaMART(n_estimators=3, n_jobs=1, base=LambdaMART(n_estimators=2, n_jobs=1)).fit(data)
    with pytest.raises(DataError, match="base of LambdaMART must be None or scores"):
        base.export_onnx(tmp_path / "a.onnx")
    assert list(tmp_path.iterdir()) == []


def test_thresholds_are_the_largest_float32_not_above():
    for value in (0.1, -0.1, 1.0, 1e-40, -1e-40, 1e39, -1e39, 16777217.0):
        found = float32_below(value)
        assert float(found) <= value
        with np.errstate(over="ignore"):
            assert float(np.nextafter(found, np.float32(np.inf))) > value
