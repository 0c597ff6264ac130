"""Logging of rankers to MLflow, with a stand-in for it and with MLflow itself if installed."""

import json
import re
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from equirank import DataError, MissingExtraError, as_ranking_data, evaluate, log_mlflow
from equirank.datasets import make_ranking
from equirank.rankers import RankBoost
from equirank.recipes import mlflow_run

METRICS = ["NDCG@10", "RND(step=5)@20", "ExposureGap"]


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=12, n_items=20, n_features=4, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return RankBoost(n_estimators=5, random_state=0).fit(data)


class StandIn(ModuleType):
    """What log_mlflow calls of MLflow; models are loaded by the stated module, as MLflow does."""

    def __init__(self, folder):
        super().__init__("mlflow")
        self.folder, self.runs, self.run = folder, [], None
        self.pyfunc = ModuleType("mlflow.pyfunc")
        self.pyfunc.log_model = self.log_model
        self.params, self.metrics, self.texts = {}, {}, {}

    def active_run(self):
        return self.run

    @contextmanager
    def start_run(self):
        self.run = f"run {len(self.runs)}"
        self.runs.append(self.run)
        yield self.run
        self.run = None

    def log_params(self, params):
        assert self.run
        assert all(len(str(value)) <= 500 for value in params.values())
        self.params |= params

    def log_metrics(self, metrics):
        assert all(re.fullmatch(r"[\w.\-/ ]+", name) for name in metrics)
        self.metrics |= metrics

    def log_text(self, text, name):
        self.texts[name] = text

    def log_model(self, name=None, loader_module=None, data_path=None, pip_requirements=None):
        import shutil

        shutil.copytree(data_path, self.folder / name)
        self.requirements = pip_requirements
        return SimpleNamespace(model_uri=self.folder / name, loader=loader_module)

    def load_model(self, info):
        return sys.modules[info.loader]._load_pyfunc(str(info.model_uri))


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    made = StandIn(tmp_path / "store")
    monkeypatch.setitem(sys.modules, "mlflow", made)
    monkeypatch.setitem(sys.modules, "mlflow.pyfunc", made.pyfunc)
    return made


def test_parameters_metrics_card_and_model_are_logged(data, model, mlflow):
    found = evaluate(model.rank(data), metrics=METRICS, n_boot=50)
    card = SimpleNamespace(to_html=lambda: "<p>card</p>")
    info = log_mlflow(model, found, card)
    assert mlflow.runs == ["run 0"]
    assert mlflow.run is None
    assert mlflow.params["class"] == "RankBoost"
    assert mlflow.params["n_estimators"] == "5"
    assert set(mlflow.params) == {"class", *model.get_params(deep=False)}
    assert mlflow.metrics["NDCG_at_10"] == found["NDCG@10"]
    low, high = (mlflow.metrics[f"NDCG_at_10.{end}"] for end in ("low", "high"))
    assert low < found["NDCG@10"] < high
    assert {"RND_step_5_at_20.low", "ExposureGap.high"} <= set(mlflow.metrics)
    assert "NDCG_at_10.p_value" not in mlflow.metrics
    stored = json.loads(mlflow.texts["evaluation.json"])
    assert [row["metric"] for row in stored["summary"] if row["group"] is None] == METRICS
    assert mlflow.texts["card.html"] == "<p>card</p>"
    assert mlflow.requirements[0].startswith("equirank==")
    np.testing.assert_array_equal(
        mlflow.load_model(info).predict(np.asarray(data.X)), model.predict(np.asarray(data.X))
    )
    kinds = {path.suffix for path in info.model_uri.rglob("*") if path.is_file()}
    assert kinds <= {".json", ".npz"}


def test_an_active_run_is_used_and_left_open(model, mlflow):
    mlflow.run = "mine"
    log_mlflow(model)
    assert mlflow.run == "mine"
    assert mlflow.runs == []
    assert mlflow.texts == {}


def test_cards_of_all_kinds(model, mlflow, tmp_path):
    path = tmp_path / "card.html"
    path.write_text("<b>file</b>", encoding="utf-8")
    mlflow.run = "mine"
    for card, text in (("<i>text</i>", "<i>text</i>"), (path, "<b>file</b>")):
        mlflow.folder = tmp_path / text[1]
        log_mlflow(model, card=card)
        assert mlflow.texts["card.html"] == text
    with pytest.raises(DataError, match=r"card of log_mlflow must be .*, got int"):
        log_mlflow(model, card=3)


def test_frames_are_read_by_name(data, mlflow):
    pytest.importorskip("lightgbm")
    from equirank.rankers import LambdaMART

    frame = pd.DataFrame(np.asarray(data.X), columns=list("abcd"))
    frame["word"] = np.where(frame["a"] > 0, "up", "down")
    y, qid = np.asarray(data.y), data.query_of_rows()
    model = LambdaMART(n_estimators=3, num_leaves=5, n_jobs=1).fit(frame, y, qid=qid)
    served = mlflow.load_model(log_mlflow(model))
    mixed = frame.assign(other=1)[["other", "word", "d", "c", "b", "a"]]
    np.testing.assert_array_equal(served.predict(mixed), model.predict(frame))
    assert mlflow.requirements[0].startswith("equirank[lightgbm]==")
    with pytest.raises(DataError, match="the input must have a column 'word'"):
        served.predict(frame.drop(columns="word"))


def test_lists_and_groups_are_passed_if_the_ranker_needs_them(mlflow):
    class Needy(RankBoost):
        predict_needs = frozenset({"qid", "sensitive_features"})

        def predict(self, X, *, qid, sensitive_features):
            return np.asarray(X)[:, 0] + np.asarray(qid) + (sensitive_features["sex"] == "f")

    data = make_ranking(n_queries=4, n_features=2, random_state=0)
    groups = np.where(data.attribute().codes == 0, "f", "m")
    given = as_ranking_data(
        np.asarray(data.X), data.y, qid=data.query_of_rows(), sensitive_features={"sex": groups}
    )
    model = Needy(n_estimators=2).fit(given)
    model.groups_ = {"sex": ["f", "m"]}
    frame = pd.DataFrame(np.asarray(data.X)).assign(qid=data.query_of_rows(), sex=groups)
    wanted = data.X[:, 0] + data.query_of_rows() + (groups == "f")
    np.testing.assert_array_equal(mlflow_run.ServedRanker(model).predict(frame), wanted)


def test_long_values_are_cut_and_names_must_differ(data, model, mlflow):
    assert len(mlflow_run._text("x" * 900)) == 500
    assert mlflow_run._text(np.zeros((3, 2))) == "array of shape (3, 2)"
    assert mlflow_run._text(data) == f"RankingData {data.fingerprint()}"
    both = evaluate(model.rank(data), metrics=["NDCG@10"], n_boot=0)
    rows = [{"metric": name, "group": None, "value": 1.0, "low": None, "high": None,
             "p_value": None} for name in ("A@1", "A_at_1")]  # fmt: skip
    both.summary = lambda: rows
    with pytest.raises(DataError, match="different names in MLflow, got A_at_1 twice"):
        log_mlflow(model, both)
    assert mlflow.runs == []


def test_bad_input_is_refused_before_a_run(model, mlflow):
    with pytest.raises(DataError, match=r"must be a fitted Ranker, got RankBoost"):
        log_mlflow(RankBoost())
    with pytest.raises(DataError, match=r"evaluation of log_mlflow must be an Evaluation, got dic"):
        log_mlflow(model, {"NDCG@10": 1.0})
    assert mlflow.runs == []


@pytest.mark.skipif(find_spec("mlflow") is not None, reason="mlflow is installed")
def test_without_mlflow_the_extra_is_named(model):
    with pytest.raises(MissingExtraError, match=r"equirank\[mlflow\]"):
        log_mlflow(model)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_with_mlflow_itself(data, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("lightgbm")
    from equirank.rankers import LambdaMART

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    model = LambdaMART(n_estimators=3, num_leaves=5, n_jobs=1).fit(data)
    found = evaluate(model.rank(data), metrics=METRICS, n_boot=50)
    info = log_mlflow(model, found, "<p>card</p>")
    run = mlflow.get_run(info.run_id)
    assert run.info.status == "FINISHED"
    assert run.data.params["class"] == "LambdaMART"
    assert run.data.metrics["NDCG_at_10"] == pytest.approx(found["NDCG@10"])
    assert "RND_step_5_at_20.low" in run.data.metrics
    back = mlflow.pyfunc.load_model(info.model_uri)
    X = np.asarray(data.X)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.predict(pd.DataFrame(X)), model.predict(X))
    files = [path for path in Path(tmp_path).rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix in (".pkl", ".pickle")]
    assert any(path.name == "model.json" for path in files)
