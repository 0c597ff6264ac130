"""LightGBM's own output: none reaches stdout or stderr of the process, and others' lines do."""

import os
import threading

import numpy as np
import pytest
from waiting import LIMIT, ended

import equirank
from equirank import DataError
from equirank.datasets import make_ranking
from equirank.rankers import MART, FairLambdaMART, LambdaMART
from equirank.rankers.lambdamart.lightgbm_params import without_output

pytest.importorskip("lightgbm")


def test_lines_of_lightgbm_are_dropped_and_others_kept(capfd):
    with without_output():
        os.write(1, b"mine\n[LightGBM] [Info] Listening...\nmine too\n")
        os.write(2, b"[LightGBM] [Fatal] Check failed: x .\n\nand this")
        assert capfd.readouterr() == ("", "")
    assert capfd.readouterr() == ("mine\nmine too\n", "and this")


def test_blocks_of_threads_overlap(capfd):
    first, second = threading.Event(), threading.Event()

    def hold():
        with without_output():
            os.write(1, b"one\n")
            first.set()
            second.wait(LIMIT)

    thread = threading.Thread(target=hold)
    thread.start()
    assert first.wait(LIMIT)
    with without_output():
        second.set()
        ended(thread)
        os.write(1, b"[LightGBM] [Info] two\n")
    os.write(1, b"three\n")
    assert capfd.readouterr() == ("one\nthree\n", "")


def test_a_closed_descriptor_stays_closed(monkeypatch):
    def closed(descriptor):
        raise OSError("bad file descriptor")

    monkeypatch.setattr(os, "dup", closed)
    with without_output():
        pass


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LambdaMART, FairLambdaMART, MART])
def test_training_saving_and_loading_print_nothing(kind, tmp_path, capfd):
    data = make_ranking(n_queries=12, random_state=0)
    options = {"n_estimators": 4, "n_jobs": 2, "early_stopping": 2, "validation": 0.3}
    model = kind(**options, random_state=0, feature_fraction=0.5, min_child_samples=5).fit(data)
    model.save(tmp_path / "model")
    equirank.load(tmp_path / "model").predict(data)
    kind(n_estimators=2, min_child_samples=10_000).fit(data)  # no split is possible
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"feature_fraction": 3.0}, r"\(feature_fraction\) <= \(1.0\)$"),
        ({"max_bin": -1}, r"\(max_bin\) > \(1\)$"),
        ({"boosting": "nope"}, "Unknown boosting type nope"),
        ({"monotone_constraints": [1]}, "monotone_constraints"),
        (
            {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
            "RF mode do not support custom objective",
        ),
    ],
)
def test_values_that_lightgbm_refuses_are_one_error_and_nothing_is_printed(options, words, capfd):
    data = make_ranking(n_queries=5, random_state=0)
    with pytest.raises(DataError, match=f"the options of LambdaMART for LightGBM .*{words}"):
        LambdaMART(n_estimators=2, **options).fit(data)
    assert capfd.readouterr() == ("", "")


def test_a_random_forest_of_a_built_in_objective_is_accepted(capfd):
    data = make_ranking(n_queries=5, random_state=0)
    MART(n_estimators=2, boosting="rf", bagging_freq=1, bagging_fraction=0.5).fit(data)
    assert capfd.readouterr() == ("", "")


def test_features_of_zeros_are_refused_where_lightgbm_fails(capfd):
    y, qid = np.arange(50) % 2, np.arange(50) // 5
    with pytest.raises(DataError, match="X must have at least one column that is not 0"):
        LambdaMART().fit(np.zeros((50, 2)), y, qid=qid)
    assert (
        np.ptp(LambdaMART(n_estimators=2).fit(np.ones((50, 2)), y, qid=qid).predict([[1, 1]])) == 0
    )
    assert capfd.readouterr() == ("", "")
