"""Checkpoints: an interrupted run goes on to the same bits, and strangers' runs are refused."""

import numpy as np
import pytest
import torch

from equirank import DataError
from equirank.core.errors import FormatError
from equirank.datasets import make_ranking
from equirank.rankers import DirectRanker
from equirank.rankers.neural import neural_ranker
from equirank.rankers.neural import training_loop as training
from equirank.rankers.neural.model_files import NAME, read_checkpoint, write_checkpoint
from equirank.rankers.neural.training_loop import begin


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=8, n_items=10, n_features=4, random_state=0)


def ranker(**given):
    params = {"layers": (6, 3), "n_epochs": 6, "batch_size": 16, "random_state": 3} | given
    return DirectRanker("both", **params)


def same(one, other):
    assert one.curve_ == other.curve_
    assert one.weights_.keys() == other.weights_.keys()
    return all(np.array_equal(one.weights_[name], other.weights_[name]) for name in one.weights_)


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 12, 13, 29])
@pytest.mark.parametrize("given", [{}, {"validation": 0.25, "early_stopping": 2, "clip": 1.0}])
def test_interrupted_and_resumed_is_the_same_to_the_bit(data, tmp_path, monkeypatch, step, given):
    whole = ranker(**given).fit(data)
    plain = training.descend

    def interrupted(state, *rest):
        if state.step == step:
            raise KeyboardInterrupt
        plain(state, *rest)

    model = ranker(checkpoint=tmp_path / "run", schedule="constant", **given)
    with monkeypatch.context() as patch:
        patch.setattr(training, "descend", interrupted)
        if whole.n_steps_ > step:
            with pytest.raises(KeyboardInterrupt):
                model.fit(data)
            assert not hasattr(model, "is_fitted_")
    assert same(model.fit(data), whole)
    assert [path.name for path in (tmp_path / "run").iterdir()] == [NAME]
    done = ranker(checkpoint=tmp_path / "run", **given)
    with monkeypatch.context() as patch:
        patch.setattr(training, "descend", lambda *_: pytest.fail("nothing is left to do"))
        assert same(done.fit(data), whole)


@pytest.mark.slow
def test_interrupted_while_writing_keeps_the_last_checkpoint(data, tmp_path, monkeypatch):
    safetensors = pytest.importorskip("safetensors.torch")
    plain, calls = safetensors.save_file, []

    def broken(tensors, path, metadata):
        calls.append(path)
        if len(calls) == 3:
            path.write_bytes(b"half")
            raise KeyboardInterrupt
        plain(tensors, path, metadata)

    with monkeypatch.context() as patch:
        patch.setattr(safetensors, "save_file", broken)
        with pytest.raises(KeyboardInterrupt):
            ranker(checkpoint=tmp_path).fit(data)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    assert same(ranker(checkpoint=tmp_path).fit(data), ranker().fit(data))


def test_more_epochs_of_the_same_run(data, tmp_path):
    ranker(checkpoint=tmp_path, n_epochs=2).fit(data)
    assert same(ranker(checkpoint=tmp_path).fit(data), ranker().fit(data))


@pytest.mark.slow
def test_a_step_within_an_epoch_is_no_place_to_go_on_from(data, tmp_path):
    ranker(checkpoint=tmp_path, max_steps=8).fit(data)
    assert same(ranker(checkpoint=tmp_path).fit(data), ranker().fit(data))


def test_the_run_of_others_is_refused(data, tmp_path):
    ranker(checkpoint=tmp_path).fit(data)
    with pytest.raises(DataError, match="differs in gamma"):
        ranker(checkpoint=tmp_path, gamma=2.0).fit(data)
    with pytest.raises(DataError, match=r"differs in .*seed"):
        ranker(checkpoint=tmp_path, random_state=4).fit(data)
    with pytest.raises(DataError, match=r"differs in .*data"):
        ranker(checkpoint=tmp_path).fit(make_ranking(n_queries=3, n_features=4, random_state=1))


def test_a_run_that_is_further_is_refused(data, tmp_path):
    model = ranker(checkpoint=tmp_path).fit(data)
    with pytest.raises(DataError, match="n_epochs must be at least 6"):
        ranker(checkpoint=tmp_path, n_epochs=3).fit(data)
    with pytest.raises(DataError, match=f"max_steps must be at least {model.n_steps_}"):
        ranker(checkpoint=tmp_path, max_steps=4).fit(data)
    assert same(ranker(checkpoint=tmp_path, max_steps=model.n_steps_).fit(data), model)


def test_without_a_seed_the_runs_own_is_taken_up(data, tmp_path):
    first = ranker(checkpoint=tmp_path, random_state=None, n_epochs=2).fit(data)
    longer = ranker(checkpoint=tmp_path, random_state=None, n_epochs=4).fit(data)
    assert longer.curve_["loss"][:2] == first.curve_["loss"]


def test_a_file_that_is_no_checkpoint(data, tmp_path):
    (tmp_path / NAME).write_bytes(b"something else")
    with pytest.raises(FormatError, match="is not a checkpoint"):
        ranker(checkpoint=tmp_path).fit(data)


@pytest.mark.slow
def test_a_damaged_checkpoint_is_refused(tmp_path):
    write_checkpoint(tmp_path, begin(torch.arange(3.0)), {"seed": 1})
    whole, refused = (tmp_path / NAME).read_bytes(), 0
    for at in range(len(whole)):
        (tmp_path / NAME).write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            read_checkpoint(tmp_path, {"seed": 1}, torch.device("cpu"))
        except (FormatError, DataError):
            refused += 1
    assert refused >= len(whole) - 8  # the letters of the word digest itself, and of a blank
    safetensors = pytest.importorskip("safetensors.torch")
    notes = {"identity": '{"seed": 1}', "numbers": "{}"}
    safetensors.save_file({"weights": torch.ones(2)}, tmp_path / NAME, metadata=notes)
    with pytest.raises(FormatError, match="is damaged"):
        read_checkpoint(tmp_path, {"seed": 1}, torch.device("cpu"))


def test_a_state_comes_back(tmp_path):
    state = begin(torch.arange(3.0))
    state.step, state.epoch, state.losses, state.watched = 7, 2, [1.0, 0.1], [float("nan"), 0.3]
    state.kept = {4: torch.ones(3)}
    write_checkpoint(tmp_path / "a", state, {"seed": 1})
    back = read_checkpoint(tmp_path / "a", {"seed": 1}, torch.device("cpu"))
    assert (back.step, back.epoch, back.losses, back.watched[1]) == (7, 2, [1.0, 0.1], 0.3)
    assert torch.equal(back.weights, state.weights)
    assert torch.equal(back.kept[4], torch.ones(3))
    assert read_checkpoint(tmp_path / "b", {}, torch.device("cpu")) is None
    assert neural_ranker.NeuralRanker.file_params == ("checkpoint",)
