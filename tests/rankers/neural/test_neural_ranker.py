"""What all neural rankers share: standardising, stopping early, saving, weights of queries."""

import json
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from waiting import LIMIT

import equirank
from equirank import DataError, FormatError, MissingExtraError, as_ranking_data, evaluate
from equirank.core import environment as extras
from equirank.datasets import make_ranking
from equirank.rankers import (
    DELTR,
    ConstrainedPairwise,
    DebiasClassifier,
    DirectRanker,
    PairwiseRegularised,
)


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=30, n_items=15, n_features=6, random_state=0)


SMALL = {"layers": (8, 4), "n_epochs": 4, "batch_size": 32, "random_state": 0}


def test_scales_of_the_features_change_nothing(data):
    plain = DirectRanker(**SMALL, precision="float64").fit(data)
    moved = as_ranking_data(
        data.X * [1e6, 1, 1e-6, 1, 1, 1] + 1e3, data.y, qid=data.query_of_rows()
    )
    other = DirectRanker(**SMALL, precision="float64").fit(moved)
    np.testing.assert_allclose(plain.predict(data), other.predict(moved), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DELTR, ConstrainedPairwise, PairwiseRegularised, DirectRanker])
def test_the_score_is_linear_in_the_representation(data, kind):
    model = kind(**SMALL).fit(data)
    hidden = model.transform(data)
    assert hidden.shape == (data.n_rows, 4)
    assert len(model.get_feature_names_out()) == 4
    score = hidden @ model.weights_["output.0.weight"][0]
    np.testing.assert_allclose(score, model.predict(data), rtol=1e-9)


def test_without_hidden_layers_the_representation_is_the_standardised_features(data):
    hidden = DELTR(layers=(), n_epochs=1, random_state=0).fit(data).transform(data)
    np.testing.assert_allclose(hidden.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(hidden.std(axis=0), 1.0, rtol=1e-6)


def test_early_stopping_keeps_the_best_epoch(data):
    watched = make_ranking(n_queries=30, n_items=15, n_features=6, random_state=9)
    params = SMALL | {"n_epochs": 40, "learning_rate": 0.05}
    model = DirectRanker(**params, validation=watched, early_stopping=3, metric="NDCG@5").fit(data)
    values = model.curve_["validation"]
    best = int(np.argmax(values))
    assert len(values) == model.n_epochs_ == best + 4 < 40
    assert float(evaluate(model.rank(watched), metrics="NDCG@5")["NDCG@5"]) == values[best]
    cut = DirectRanker(**params | {"n_epochs": best + 1}).fit(data)
    assert np.array_equal(cut.predict(data), model.predict(data))
    table = model.learning_curve_
    assert list(table.columns) == ["epoch", "loss", "validation"]


def test_a_metric_where_lower_is_better_sees_the_groups(data):
    model = DirectRanker(**SMALL, validation=0.3, early_stopping=1, metric="RND")
    with pytest.raises(DataError, match="sensitive_features must be given"):
        model.fit(data.X, data.y, qid=data.query_of_rows())
    model.fit(data)
    values = model.curve_["validation"]
    assert model.n_epochs_ == len(values)
    assert values[int(np.argmin(values))] <= values[0]
    with pytest.raises(DataError, match="validation must be a share"):
        DirectRanker(early_stopping=2).fit(data)


@pytest.mark.parametrize("kind", [DirectRanker, DebiasClassifier])
def test_query_weights_count(data, kind):
    """Lists that weigh nothing are as good as not there, and only ratios count."""
    given = SMALL | {"n_epochs": 3, "batch_size": 10_000, "precision": "float64"}
    given |= {"target": "value"} if kind is DebiasClassifier else {"fairness": "both"}

    def losses(weight):
        return kind(**given).fit(replace(data, query_weight=weight)).curve_["loss"]

    even = losses(np.ones(data.n_queries))
    np.testing.assert_allclose(losses(np.full(data.n_queries, 3.0)), even, rtol=1e-12)
    assert losses(None) == even
    one = losses(np.where(np.arange(data.n_queries) == 0, 1.0, 1e-12))
    other = losses(np.where(np.arange(data.n_queries) == 1, 1.0, 1e-12))
    assert not np.allclose(one, other, rtol=1e-3)
    assert not np.allclose(one, even, rtol=1e-3)


def test_step_counts_cut_one_run(data):
    params = SMALL | {"schedule": "cosine"}
    whole = DirectRanker(**params).fit(data)
    cut = DirectRanker(**params, max_steps=whole.n_steps_).fit(data)
    shorter = DirectRanker(**params, max_steps=7).fit(data)
    assert np.array_equal(whole.predict(data), cut.predict(data))
    assert shorter.n_steps_ == 7


def test_save_load_pickle_clone(data, tmp_path):
    model = DirectRanker("both", noise=True, **SMALL).fit(data)
    model.save(tmp_path / "model")
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        "model.json", "network.json", "weights.safetensors",
    }  # fmt: skip
    for back in (equirank.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(back.predict(data), model.predict(data))
        assert np.array_equal(back.transform(data), model.transform(data))
        assert np.array_equal(back.weights_["features.eta"], model.weights_["features.eta"])
        assert back.learning_curve_["loss"].tolist() == model.curve_["loss"]
    assert clone(model).get_params() == model.get_params()
    with_folder = DirectRanker(**SMALL, checkpoint=tmp_path / "run").fit(data)
    with_folder.save(tmp_path / "other")
    assert equirank.load(tmp_path / "other").checkpoint is None


def as_version_1(folder):
    """Turn a saved model into one of format 1, which had no digests."""
    document = json.loads((folder / "model.json").read_text()) | {"format_version": 1}
    del document["digest"], document["files"]
    (folder / "model.json").write_text(json.dumps(document))


@pytest.mark.slow
def test_weights_that_are_not_those_of_the_network_are_refused(data, tmp_path):
    """Before they are used, and also in a folder of format 1, which has no digests."""
    numpy = pytest.importorskip("safetensors.numpy")
    model = DirectRanker("both", noise=True, **SMALL).fit(data)
    model.save(tmp_path / "model")
    path = tmp_path / "model" / "weights.safetensors"
    whole, weights = path.read_bytes(), numpy.load_file(path)
    path.write_bytes(whole[:-3] + b"x" + whole[-2:])
    with pytest.raises(FormatError, match=r"weights\.safetensors' is damaged"):
        equirank.load(tmp_path / "model")
    as_version_1(tmp_path / "model")
    path.write_bytes(whole)
    assert np.array_equal(equirank.load(tmp_path / "model").predict(data), model.predict(data))
    texts = [b"", b"\0" * 9, whole[:50], whole[:-1]]
    for name in weights:
        without = {key: values for key, values in weights.items() if key != name}
        texts.append(numpy.save(without))
        texts.append(numpy.save(without | {name: np.zeros((2, 2, 2))}))
        texts.append(numpy.save(without | {name: weights[name].astype(np.int32)}))
    for text in texts:
        path.write_bytes(text)
        with pytest.raises(FormatError, match=r"weights\.safetensors' is damaged"):
            equirank.load(tmp_path / "model")
    (tmp_path / "model" / "network.json").write_text("[" * 100_000)
    with pytest.raises(FormatError, match=r"network\.json' is damaged: it is nested too deeply"):
        equirank.load(tmp_path / "model")


def test_bad_features_are_refused(data):
    rows = as_ranking_data(sparse.csr_array(data.X), data.y, qid=data.query_of_rows())
    with pytest.raises(DataError, match="X must be dense"):
        DirectRanker(**SMALL).fit(rows)
    X = data.X.copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        DirectRanker(**SMALL).fit(X, data.y)
    for layers in (8, (0,), ("a",), None):
        with pytest.raises(DataError, match="layers of DirectRanker must be a tuple or list"):
            DirectRanker(layers=layers).fit(data)


def test_without_pytorch_the_error_names_the_extra(data, monkeypatch):
    def missing(module):
        raise ModuleNotFoundError(name=module)

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r'pip install "equirank\[neural\]"'):
        DirectRanker(**SMALL).fit(data)


@pytest.mark.gate
def test_a_fitted_model_ranks_without_pytorch_and_numba(data, tmp_path):
    model = DirectRanker(**SMALL).fit(data)
    model.save(tmp_path / "model")
    np.save(tmp_path / "X.npy", data.X)
    np.save(tmp_path / "scores.npy", model.predict(data.X))
    code = (
        "import sys\n"
        "import equirank\n"
        "from equirank.rankers import DirectRanker\n"
        "assert 'torch' not in sys.modules, 'torch came in with the class'\n"
        "sys.modules['torch'] = sys.modules['numba'] = None\n"
        "import numpy as np\n"
        "model = equirank.load('model')\n"
        "assert np.array_equal(model.predict(np.load('X.npy')), np.load('scores.npy'))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, timeout=LIMIT)
