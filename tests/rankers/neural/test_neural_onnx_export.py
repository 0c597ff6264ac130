"""ONNX: onnxruntime scores as the model does, to single precision."""

import numpy as np
import pytest

from equirank.datasets import make_ranking
from equirank.rankers import DebiasClassifier, DirectRanker
from equirank.rankers.neural.network import ACTIVATIONS

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def data():
    made = make_ranking(n_queries=10, n_items=20, n_features=5, random_state=0)
    made.X.flags.writeable = True
    made.X[:, 2] = made.X[:, 2] * 50 + 1000
    return made


MODELS = [
    *(DirectRanker(activation=name, noise=True) for name in ACTIVATIONS),
    DirectRanker(layers=()),
    DirectRanker("both"),
    DebiasClassifier(),
    DebiasClassifier(target="value", noise=True),
]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_scores_agree(model, data, tmp_path):
    model.set_params(n_epochs=3, random_state=0).fit(data)
    path = tmp_path / "new" / "scorer.onnx"
    model.export_onnx(path)
    model.export_onnx(path)
    assert [each.name for each in path.parent.iterdir()] == ["scorer.onnx"]
    session = onnxruntime.InferenceSession(path)
    (found,) = session.run(["score"], {"X": data.X.astype(np.float32)})
    expected = model.predict(data.X)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
    (one,) = session.run(["score"], {"X": data.X[:1].astype(np.float32)})
    assert one.shape == (1,)
