"""Scikit-learn models inside rankers come back as they were, and nothing else comes back."""

import sys

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from equirank.core.errors import DataError, MissingExtraError
from equirank.rankers.sklearn_part import ScikitModel, load_estimators, save_estimators

skops = pytest.importorskip("skops.io")
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = (X[:, 0] + 0.2 * rng.normal(size=60) > 0).astype(int)


class Mine(LogisticRegression):
    """A classifier of this file, which nobody else can load."""


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        HistGradientBoostingClassifier(max_iter=3),
        RandomForestRegressor(3, random_state=0),
        KNeighborsClassifier(),
        make_pipeline(StandardScaler(), Ridge()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_come_back_bit_for_bit(model, tmp_path):
    model.fit(X, y)
    save_estimators(tmp_path, given=None, fitted=model)
    back = load_estimators(tmp_path)
    assert set(back) == {"given", "fitted"}
    assert back["given"] is None
    assert type(back["fitted"]) is type(model)
    np.testing.assert_array_equal(back["fitted"].predict(X), model.predict(X))


def test_classes_of_others_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(DataError, match=r"fitted must hold classes of sklearn.*Mine"):
        save_estimators(tmp_path, fitted=Mine().fit(X, y))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("bad", [Mine(), FunctionTransformer(np.testing.assert_equal)])
def test_files_that_name_other_things_are_refused(bad, tmp_path):
    (tmp_path / "estimators.skops").write_bytes(skops.dumps({"fitted": bad}))
    with pytest.raises(DataError, match="must hold classes"):
        load_estimators(tmp_path)


def test_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(MissingExtraError, match=r"equirank\[save\]"):
        save_estimators(tmp_path, fitted=Ridge())


def test_what_may_be_a_model():
    classifier, regressor = ScikitModel("classifier"), ScikitModel("regressor")
    assert classifier.accepts(make_pipeline(StandardScaler(), LogisticRegression()))
    assert regressor.accepts(Ridge())
    for value in (None, object(), Ridge, StandardScaler(), "Ridge"):
        assert not classifier.accepts(value)
        assert not regressor.accepts(value)
    assert str(regressor) == "a scikit-learn regressor"
