"""Scikit-learn models inside rankers come back as they were, and nothing else comes back."""

import importlib.util
import io
import json
import os
import sys
import zipfile
from contextlib import suppress
from importlib import import_module
from types import SimpleNamespace

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

pytest.importorskip("skops")
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = (X[:, 0] + 0.2 * rng.normal(size=60) > 0).astype(int)


def bare(folder):
    """The files of a folder without digests."""
    return SimpleNamespace(folder=folder, read=lambda name: (folder / name).read_bytes())


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
    back = read_models(bare(tmp_path), [])
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
        read_models(bare(tmp_path), [])


def test_a_class_that_scikit_learn_only_imports_is_not_its_own():
    assert _in_python("sklearn.svm._classes.LinearSVC")
    assert not _in_python("sklearn.base.defaultdict")  # of collections
    assert not _in_python("collections.defaultdict")
    assert not _in_python("sklearn.nowhere.LinearSVC")


def test_classes_that_are_named_are_taken(tmp_path):
    write_models(tmp_path, {"fitted": Mine(C=0.5)})
    assert read_models(bare(tmp_path), [Mine])["fitted"].C == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, HistGradientBoostingClassifier])
def test_trees_that_lead_nowhere_are_refused(kind, tmp_path):
    write_models(tmp_path, {"fitted": kind().fit(X, y)})
    read_models(bare(tmp_path), [])
    narrow = kind().fit(X, y)
    narrow.n_features_in_ = 1
    write_models(tmp_path, {"fitted": narrow})
    with pytest.raises(FormatError, match="a tree has an invalid node"):
        read_models(bare(tmp_path), [])


def rewritten(raw, change):
    """Yield a skops file again and again, each time with another of its nodes changed."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(parts["schema.json"])

    def nodes(part):
        if isinstance(part, dict):
            if "__class__" in part and "__loader__" in part:
                yield part
            for each in part.values():
                yield from nodes(each)
        elif isinstance(part, list):
            for each in part:
                yield from nodes(each)

    first = {node.get("__id__", -at): node for at, node in reversed(list(enumerate(nodes(schema))))}
    for node in first.values():  # skops reads each object once
        before = dict(node)
        node.update(change)
        with io.BytesIO() as file:
            with zipfile.ZipFile(file, "w") as archive:
                for name, content in (parts | {"schema.json": json.dumps(schema)}).items():
                    archive.writestr(name, content)
            yield file.getvalue()
        node.clear()
        node.update(before)


@pytest.mark.slow
def test_foreign_classes_in_any_node_are_neither_imported_nor_called(tmp_path, monkeypatch):
    """Whatever node of a file names them, and by whatever loader of skops."""
    evil = "import os\nos.mkdir(os.environ['CRATER'])\ndef Evil(*a, **k): os.mkdir(a[0])\n"
    (tmp_path / "evil_module.py").write_text(evil)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("CRATER", str(tmp_path / "crater"))
    write_models(tmp_path, {"fitted": Ridge().fit(X, y)})
    whole, tried, quiet, called = (tmp_path / "estimators.skops").read_bytes(), 0, 0, []
    monkeypatch.setattr(os, "mkdir", called.append)
    loaders = sorted({name for name, _ in import_module("skops.io._audit").NODE_TYPE_MAPPING})
    for module, kind in (("evil_module", "Evil"), ("os", "mkdir")):
        for loader in (None, *loaders):
            named = {"__module__": module, "__class__": kind}
            change = named | ({} if loader is None else {"__loader__": loader})
            change |= {"content": {**named, "__loader__": loader or "TypeNode"}}
            for raw in rewritten(whole, change):
                (tmp_path / "estimators.skops").write_bytes(raw)
                tried += 1
                with suppress(FormatError):  # else skops used neither the name nor the loader
                    read_models(bare(tmp_path), [])
                    quiet += 1
    assert tried > 300
    assert quiet < 0.1 * tried
    assert called == []
    assert not (tmp_path / "crater").exists()
    assert "evil_module" not in sys.modules
    assert importlib.util.find_spec("evil_module")  # it would have been found


def test_damaged_files_are_refused_by_name(tmp_path):
    write_models(tmp_path, {"fitted": Ridge().fit(X, y)})
    path = tmp_path / "estimators.skops"
    whole = path.read_bytes()
    deep = zipfile.ZipFile(io.BytesIO(), "w")
    with deep.fp as file:
        deep.writestr("schema.json", '{"content": ' * 5000 + "1" + "}" * 5000)
        deep.close()
        texts = [whole[: len(whole) // 2], b"", b"no zip", file.getvalue()]
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("schema.json", b" " * 10**7)
        texts.append(file.getvalue())
    for text in texts:
        path.write_bytes(text)
        with pytest.raises(FormatError, match=r"estimators\.skops' is damaged"):
            read_models(bare(tmp_path), [])


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
