"""Scikit-learn models inside rankers come back as they were, and nothing else comes back."""

import sys

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import get_data_home
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from equirank.core.errors import FormatError, MissingExtraError
from equirank.rankers.sklearn_models import ScikitModel, _in_python, read_models, write_models

pytest.importorskip("skops.io")
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = (X[:, 0] + 0.2 * rng.normal(size=60) > 0).astype(int)


class Mine(LogisticRegression):
    """A classifier of this file, which nobody else can load."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        HistGradientBoostingClassifier(max_iter=3),
        RandomForestRegressor(3, random_state=0),
        CalibratedClassifierCV(LinearSVC(), cv=2),
        MLPClassifier((3,), max_iter=2, random_state=0),
        make_pipeline(StandardScaler(), Ridge()),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore:.*iterations")
def test_models_come_back_bit_for_bit(model, tmp_path):
    model.fit(X, y)
    write_models(tmp_path, {"given": None, "fitted": model})
    back = read_models(tmp_path, [])
    assert set(back) == {"given", "fitted"}
    assert back["given"] is None
    assert type(back["fitted"]) is type(model)
    np.testing.assert_array_equal(back["fitted"].predict(X), model.predict(X))


@pytest.mark.parametrize(
    "bad",
    [
        Mine(),
        KNeighborsClassifier().fit(X, y),
        FunctionTransformer(np.testing.assert_equal),
        FunctionTransformer(get_data_home),
    ],
)
def test_classes_of_others_and_functions_are_refused(bad, tmp_path):
    write_models(tmp_path, {"fitted": bad})
    with pytest.raises(FormatError, match="not trusted; name them in classes="):
        read_models(tmp_path, [])


def test_a_class_that_scikit_learn_only_imports_is_not_its_own():
    assert _in_python("sklearn.svm._classes.LinearSVC")
    assert not _in_python("sklearn.base.defaultdict")  # of collections
    assert not _in_python("collections.defaultdict")
    assert not _in_python("sklearn.nowhere.LinearSVC")


def test_classes_that_are_named_are_taken(tmp_path):
    write_models(tmp_path, {"fitted": Mine(C=0.5)})
    assert read_models(tmp_path, [Mine])["fitted"].C == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, HistGradientBoostingClassifier])
def test_trees_that_lead_nowhere_are_refused(kind, tmp_path):
    write_models(tmp_path, {"fitted": kind().fit(X, y)})
    read_models(tmp_path, [])
    narrow = kind().fit(X, y)
    narrow.n_features_in_ = 1
    write_models(tmp_path, {"fitted": narrow})
    with pytest.raises(FormatError, match="a tree has an invalid node"):
        read_models(tmp_path, [])


def test_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(MissingExtraError, match=r"equirank\[save\]"):
        write_models(tmp_path, {"fitted": Ridge()})


def test_what_may_be_a_model():
    classifier, regressor = ScikitModel("classifier"), ScikitModel("regressor")
    assert classifier.accepts(make_pipeline(StandardScaler(), LogisticRegression()))
    assert regressor.accepts(Ridge())
    for value in (None, object(), Ridge, StandardScaler(), "Ridge"):
        assert not classifier.accepts(value)
        assert not regressor.accepts(value)
    assert str(regressor) == "a scikit-learn regressor"
