"""save and load: round trips, refusals, interruptions, and models stored by older formats."""

import gc
import json
import os
import pickle
import shutil
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from reference_ranker import GroupRidgeRanker, RidgeRanker, SwapTopReranker

import equirank
from equirank import DataError, FormatError, load
from equirank.core import persistence as saving
from equirank.core.ranker import Ranker

STORED = Path(__file__).parent / "models"
X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.arange(12) % 3
QID = np.arange(12) % 4


class Keeper(Ranker):
    """Keeps attributes of every kind that can be saved."""

    def __init__(self, size=1, words=("a", "b"), table=None, weights=None):
        self.size = size
        self.words = words
        self.table = table
        self.weights = weights

    def _fit(self, data):
        self.flag_ = np.array([True, False])
        self.whole_ = np.array([[1, 2], [3, 4]], dtype=np.int32)
        self.single_ = np.float32([1.5])
        self.number_ = np.float64(0.1)
        self.text_ = "é"
        self.nothing_ = None
        self.pair_ = (1, ("x", 2.5))
        self.nested_ = {"a": [1, {"b": (2,)}], "c": float("inf")}
        self.names_ = np.array(["x", "y"], dtype=object)
        self._hidden_ = object()
        self.public = object()

    def _scores(self, data):
        return data.X[:, 0]


class Filer(RidgeRanker):
    """Writes a file of its own beside the arrays."""

    def _save_files(self, folder):
        (folder / "own.txt").write_text("own words")

    def _load_files(self, files):
        self.own_ = files.read("own.txt").decode()


@pytest.fixture
def folder(tmp_path):
    RidgeRanker().fit(X, Y, qid=QID).save(tmp_path / "model")
    return tmp_path / "model"


def read(folder, **options):
    return load(folder, classes=[RidgeRanker], **options)


def edit(folder, **changes):
    path = folder / "model.json"
    path.write_bytes(saving.seal(json.loads(path.read_text()) | changes))


def as_version_1(folder):
    """Turn a saved model into one of format 1, which had no digests."""
    for path in folder.rglob("model.json"):
        document = json.loads(path.read_text())
        document |= {"format_version": 1}
        del document["digest"], document["files"]
        path.write_text(json.dumps(document))


def refused(folder, *words, **options):
    with pytest.raises(FormatError) as caught:
        load(folder, **({"classes": [RidgeRanker]} | options))
    for word in words:
        assert word in str(caught.value)


# there and back


def test_a_round_trip_keeps_predictions_to_the_bit(folder):
    model = RidgeRanker().fit(X, Y, qid=QID)
    back = read(folder)
    assert type(back) is RidgeRanker
    assert np.array_equal(back.predict(X), model.predict(X))
    assert back.get_params() == model.get_params()
    assert back.data_fingerprint_ == model.data_fingerprint_
    assert back.n_features_in_ == 3
    assert sorted(path.name for path in folder.iterdir()) == ["arrays.npz", "model.json"]


def test_what_the_file_says(folder):
    document = json.loads((folder / "model.json").read_text())
    assert document["format_version"] == saving.FORMAT_VERSION == 2
    assert document["equirank"] == equirank.__version__
    assert document["class"] == "RidgeRanker"
    assert document["params"] == {"penalty": 1.0}
    assert "data_fingerprint_" in document["attributes"]


def test_groups_seen_and_feature_names_are_kept(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = GroupRidgeRanker(penalty=0.5).fit(frame, Y, qid=QID, sensitive_features=list("fm" * 6))
    model.save(tmp_path / "model")
    back = load(tmp_path / "model", classes=[GroupRidgeRanker])
    assert back.groups_ == {"sensitive": ["f", "m"]}
    assert back.feature_names_in_.tolist() == ["a", "b", "c"]
    assert back.penalty == 0.5
    assert np.array_equal(back.predict(frame), model.predict(frame))


def test_attributes_of_every_kind_come_back_as_they_were(tmp_path):
    model = Keeper(3, ("x", 1), {"k": [1, (2,)]}, np.float32([1, 2])).fit(X, Y)
    model.save(tmp_path / "model")
    back = load(tmp_path / "model", classes=[Keeper])
    assert back.words == ("x", 1)
    assert back.table == {"k": [1, (2,)]}
    assert back.weights.dtype == np.float32
    assert back.weights.tolist() == [1, 2]
    for name in ("flag_", "whole_", "single_", "names_"):
        one, other = getattr(model, name), getattr(back, name)
        assert other.dtype == one.dtype
        assert other.tolist() == one.tolist()
    for name in ("number_", "text_", "nothing_", "pair_", "nested_"):
        assert getattr(back, name) == getattr(model, name)
    assert not hasattr(back, "_hidden_")
    assert not hasattr(back, "public")


def test_a_class_may_have_files_of_its_own(tmp_path):
    Filer().fit(X, Y).save(tmp_path / "model")
    assert load(tmp_path / "model", classes=[Filer]).own_ == "own words"


def test_a_reranker_is_saved_with_the_same_verbs(tmp_path):
    SwapTopReranker(places=2).save(tmp_path / "deep" / "er" / "model")
    back = load(str(tmp_path / "deep" / "er" / "model"), classes=[SwapTopReranker])
    assert back.rerank([3, 2, 1]).order().tolist() == [1, 0, 2]


def test_tables_with_any_keys_come_back(tmp_path):
    for table in ({1: 2.5, "1": None}, {("a", True): [1], 2.5: {"b": 3}}):
        Keeper(table=table).fit(X, Y).save(tmp_path / "model")
        assert load(tmp_path / "model", classes=[Keeper]).table == table


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        RidgeRanker().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"size": object()}, "size"),
        ({"table": {1: object()}}, "table"),
        ({"words": {"a"}}, "words"),
    ],
)
def test_what_has_no_safe_form_is_refused_by_name(tmp_path, params, word):
    model = Keeper(**params).fit(X, Y)
    with pytest.raises(DataError, match=f"{word} cannot be saved"):
        model.save(tmp_path / "model")
    model = Keeper(size=np.random.default_rng(0)).fit(X, Y)
    with pytest.raises(DataError, match="size must be an integer or None to be saved"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_an_array_of_anything_is_refused_by_name(tmp_path):
    model = Keeper().fit(X, Y)
    model.odd_ = np.array([object(), {1}], dtype=object)
    with pytest.raises(DataError, match="odd_ cannot be saved"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_groups_named_by_dates_can_be_saved(tmp_path):
    days = np.array(["2024-01-01", "2024-01-02"] * 6, "M8[D]")
    model = GroupRidgeRanker().fit(X, Y, sensitive_features=days)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model", classes=[GroupRidgeRanker]).groups_ == model.groups_


# nothing is unpickled


class Bomb:
    def __init__(self, crater):
        self.crater = crater

    def __reduce__(self):
        return (os.mkdir, (self.crater,))


def test_a_planted_pickle_is_refused(folder, tmp_path):
    bomb = Bomb(str(tmp_path / "crater"))
    as_version_1(folder)
    np.savez(folder / "arrays.npz", coef_=np.array([bomb], dtype=object))
    refused(folder, "damaged")
    (folder / "arrays.npz").write_bytes(pickle.dumps(bomb))
    refused(folder, "damaged")
    assert not (tmp_path / "crater").exists()
    pickle.loads(pickle.dumps(bomb))
    assert (tmp_path / "crater").exists()  # it would have gone off


# folders that cannot be read


def test_a_newer_format_is_refused_in_a_clear_sentence(folder):
    edit(folder, format_version=saving.FORMAT_VERSION + 1, equirank="99.0")
    refused(folder, "newer", "99.0", "format 3", "up to 2", "upgrade")


def test_a_missing_folder_is_no_model(tmp_path):
    refused(tmp_path / "nowhere", "not a saved model", "nowhere")
    refused(tmp_path, "no model.json")


def test_a_file_is_no_model(tmp_path):
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", "not a saved model")


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "3", '"x"', "null", "{}"])
def test_damaged_json(folder, text):
    (folder / "model.json").write_text(text)
    refused(folder, "model.json")


def test_json_that_is_not_text(folder):
    (folder / "model.json").write_bytes(b"\xff\xfe\x00\x81")
    refused(folder, "damaged")


@pytest.mark.parametrize(
    "changes",
    [
        {"format_version": "1"},
        {"format_version": None},
        {"format_version": True},
        {"format_version": 0},
        {"format_version": -1},
        {"params": [1]},
        {"params": {"nonsense": 1}},
        {"params": None},
        {"attributes": 3},
        {"attributes": {"coef_": 3}},
        {"class": None},
        {"class": ["RidgeRanker"]},
    ],
)
def test_damaged_contents(folder, changes):
    edit(folder, **changes)
    refused(folder, "model")


def test_missing_entries(folder):
    path = folder / "model.json"
    whole = json.loads(path.read_text())
    for key in ("class", "params", "attributes", "format_version", "files"):
        path.write_bytes(saving.seal({k: v for k, v in whole.items() if k != key}))
        refused(folder, "model")


@pytest.mark.parametrize(
    "name", ["NoSuchRanker", "os.system", "subprocess.Popen", "Pool", "load", "dict"]
)
def test_an_unknown_class_is_refused(folder, name):
    edit(folder, **{"class": name})
    refused(folder, "public class", name)


def test_a_class_of_ones_own_must_be_handed_in(folder):
    refused(folder, "public class", "RidgeRanker", classes=())


@pytest.mark.parametrize("name", ["DataError", "RankingData", "NDCG", "QueryKFold", "Slots"])
def test_a_public_class_that_is_no_model_is_refused(folder, name):
    edit(folder, params={}, attributes={}, **{"class": name})
    refused(folder, name)


@pytest.mark.slow
def test_arrays_cut_short(folder):
    as_version_1(folder)
    path = folder / "arrays.npz"
    whole = path.read_bytes()
    for length in (len(whole) // 2, 10, 0):
        path.write_bytes(whole[:length])
        refused(folder, "damaged")
    path.write_bytes(whole[:200] + b"XXXX" + whole[204:])
    refused(folder, "damaged")
    gc.collect()  # a file left open would warn here


def test_arrays_that_are_gone(folder):
    (folder / "arrays.npz").unlink()
    refused(folder, "arrays")


# every byte counts


@pytest.mark.slow
@pytest.mark.parametrize("apart", [9, pytest.param(1, marks=pytest.mark.gate)])
def test_every_changed_byte_and_every_cut_is_found(folder, apart):
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        for at in range(0, len(whole), apart):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            refused(folder, path.name)
        for length in range(0, len(whole), 6 + apart):
            path.write_bytes(whole[:length])
            refused(folder, path.name)
        path.write_bytes(whole + b" ")
        refused(folder, path.name)
        path.write_bytes(whole)
    assert read(folder).penalty == 1.0


@pytest.mark.slow
def test_files_of_parts_are_checked_too(tmp_path):
    from equirank.rankers import FairReduction, RankBoost
    from equirank.rerankers import DetGreedy, Reranked

    y = (X[:, 0] > 0).astype(float)
    inner = FairReduction(RankBoost(3, alpha="continuous"), max_iter=2)
    Reranked(inner, DetGreedy()).fit(X, y, sensitive_features=list("ab" * 6)).save(tmp_path / "m")
    paths = sorted(path for path in (tmp_path / "m").rglob("*") if path.is_file())
    assert len(paths) == 5
    for path in paths:
        whole = path.read_bytes()
        path.write_bytes(whole[:-5] + b"x" + whole[-4:])
        refused(tmp_path / "m", path.name)
        path.unlink()
        refused(tmp_path / "m", path.name)
        path.write_bytes(whole)
    load(tmp_path / "m")
    # a part that is a valid model, but not the one that was saved
    RidgeRanker().fit(X, y).save(tmp_path / "m" / "models" / "estimator_")
    refused(tmp_path / "m", "model.json")


DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000


@pytest.mark.parametrize("place", ["params", "attributes", "extra"])
def test_json_that_is_nested_too_deeply(folder, place):
    as_version_1(folder)
    text = (folder / "model.json").read_text()
    for deep in (DEEP, "[" * 900 + "]" * 900):
        (folder / "model.json").write_text(
            text[:-1] + f', "{place}": {{"x_": {{"value": {deep}}}}}}}'
        )
        if place == "extra" and deep is not DEEP:
            continue  # never walked
        refused(folder, "model.json" if deep is DEEP else "model")


def test_json_that_is_too_large(folder, monkeypatch):
    monkeypatch.setattr(saving, "MAX_JSON", 500)
    refused(folder, "model.json", "at most 500 bytes")
    with pytest.raises(DataError, match="at most 500 bytes to be saved"):
        RidgeRanker().fit(X, Y).save(folder)


def test_a_number_of_too_many_digits(folder):
    (folder / "model.json").write_text('{"format_version": 1, "params": ' + "9" * 5000 + "}")
    refused(folder, "model.json", "damaged")


def test_arrays_that_unpack_to_more_than_they_are(folder):
    as_version_1(folder)
    np.savez_compressed(folder / "arrays.npz", coef_=np.zeros(10**6), mean_=np.zeros(3))
    refused(folder, "arrays.npz", "must not be compressed")


def test_what_is_not_a_file_is_not_opened(folder):
    (folder / "arrays.npz").unlink()
    os.mkfifo(folder / "arrays.npz")
    refused(folder, "arrays.npz", "not a file")


@pytest.mark.parametrize("name", ["predict", "__class__", "_hidden_", "a b_", "../x_"])
def test_only_learned_attributes_are_set(folder, name):
    edit(folder, attributes={name: {"value": 1}})
    refused(folder, "not the name of a learned attribute")
    edit(folder, attributes={}, arrays=[name])
    refused(folder, "not the name of a learned attribute")


# a folder that changes


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("when", ["model.json", "arrays.npz"])
def test_a_folder_that_is_replaced_while_it_is_read(folder, monkeypatch, version, when):
    """Whichever file was read last before the replacement, the result is one of the two models."""
    if version == 1:
        as_version_1(folder)
    first, second = RidgeRanker().fit(X, Y, qid=QID), RidgeRanker(penalty=50.0).fit(X, -Y + 2)
    real, left = saving.SavedFiles.read, [3]

    def read_and_replace(self, name, limit=None):
        raw = real(self, name, limit)
        if name == when and left[0]:
            left[0] -= 1
            second.save(folder)
        return raw

    monkeypatch.setattr(saving.SavedFiles, "read", read_and_replace)
    got = read(folder)
    assert got.penalty in (1.0, 50.0)
    expected = first if got.penalty == 1.0 else second
    assert np.array_equal(got.predict(X), expected.predict(X))


def test_a_folder_that_is_replaced_all_the_time(folder, monkeypatch):
    as_version_1(folder)
    monkeypatch.setattr(saving, "ATTEMPTS", 3)
    model = RidgeRanker().fit(X, Y)
    real = saving._load

    def load_and_replace(*args):
        found = real(*args)
        model.save(folder)
        as_version_1(folder)
        return found

    monkeypatch.setattr(saving, "_load", load_and_replace)
    refused(folder, "replaced all the time")


@pytest.mark.slow
def test_a_folder_that_is_replaced_by_another_process(tmp_path):
    """Readers see whole models only, also where the system cannot exchange folders."""
    models = [RidgeRanker(penalty).fit(X, Y * penalty) for penalty in (1.0, 2.0)]
    models[0].save(tmp_path / "model")
    over, errors = threading.Event(), []

    def write():
        while not over.is_set():
            for model in models:
                model.save(tmp_path / "model")

    def look():
        try:
            for _ in range(60):
                got = read(tmp_path / "model")
                expected = models[int(got.penalty) - 1]
                assert np.array_equal(got.coef_, expected.coef_)
        except (AssertionError, OSError, FormatError) as error:
            errors.append(error)

    for exchange in (saving._exchange, lambda *paths: False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(saving, "_exchange", exchange)
            over.clear()
            threads = [threading.Thread(target=each) for each in (write, look, look)]
            for thread in threads:
                thread.start()
            for thread in threads[1:]:
                thread.join()
            over.set()
            threads[0].join()
    assert errors == []


# writing


def test_a_folder_that_is_no_model_is_not_overwritten(tmp_path):
    target = tmp_path / "precious"
    target.mkdir()
    (target / "thesis.tex").write_text("words")
    model = RidgeRanker().fit(X, Y)
    with pytest.raises(DataError, match="folder must be new or a saved model"):
        model.save(target)
    (tmp_path / "file").write_text("words")
    with pytest.raises(DataError, match="folder must be new or a saved model"):
        model.save(tmp_path / "file")
    assert (target / "thesis.tex").read_text() == "words"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "precious"]


def test_a_model_is_replaced_whole(folder):
    (folder / "left_over.txt").write_text("x")
    RidgeRanker(penalty=9.0).fit(X, Y).save(folder)
    assert read(folder).penalty == 9.0
    assert sorted(path.name for path in folder.iterdir()) == ["arrays.npz", "model.json"]
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


class StopNow(BaseException):
    """What an interruption looks like."""


@pytest.mark.parametrize("when", ["savez", "own files", "move 1", "move 2", "move 3"])
@pytest.mark.parametrize("existing", [True, False])
def test_an_interruption_leaves_the_old_model_whole(tmp_path, monkeypatch, when, existing):
    folder = tmp_path / "model"
    if existing:
        Filer().fit(X, Y, qid=QID).save(folder)
    elif when in ("move 2", "move 3"):
        return
    new = Filer(penalty=9.0).fit(X, Y, qid=QID)
    real, calls = os.rename, []

    def rename(*args):
        calls.append(args)
        if len(calls) == int(when[-1]):
            raise StopNow
        return real(*args)

    def stop(*args, **kwargs):
        raise StopNow

    if when == "savez":
        monkeypatch.setattr(np, "savez", stop)
    elif when == "own files":
        monkeypatch.setattr(Filer, "_save_files", stop)
    else:
        monkeypatch.setattr(saving, "_exchange", lambda *paths: False)
        monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(StopNow):
        new.save(folder)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == (["model"] if existing else [])
    if existing:
        assert load(folder, classes=[Filer]).penalty == 1.0


# Saves a model over another one in a child that kills itself after n steps, for n = 0, 1, ... until
# a child ends by itself; a step is a line of the module or a call to the file system. After each
# kill the model must load as one of the two, and the next save must remove what was left.
KILLED = """
import os, signal, sys
import numpy as np
sys.path[:0] = [os.environ["TESTS"]]
from reference_ranker import RidgeRanker
from equirank import load
from equirank.core import persistence

if sys.argv[2] == "renames":
    persistence._exchange = lambda *paths: False
os.fsync = lambda file: None  # a kill loses nothing that was written
folder, steps, seen = os.path.join(sys.argv[1], "model"), 0, set()
X, y = np.arange(8.0).reshape(4, 2), np.arange(4)
old, new = (RidgeRanker(penalty).fit(X, y) for penalty in (1.0, 9.0))
CALLS = ("os.rename", "os.mkdir", "os.rmdir", "os.remove", "open", "shutil.rmtree")

def run(limit):
    count = 0
    def step():
        nonlocal count
        count += 1
        if count > limit:
            os.kill(os.getpid(), signal.SIGKILL)
    def trace(frame, event, arg):
        code = frame.f_code
        if code.co_filename != persistence.__file__ or code.co_name == "_plain":
            return None
        if event == "line":
            step()
        return trace
    sys.addaudithook(lambda event, args: step() if event in CALLS else None)
    sys.settrace(trace)
    persistence.save(new, folder)
    os._exit(0)

old.save(folder)
while True:
    child = os.fork()
    if child == 0:
        run(steps)
    killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    seen.add(load(folder, classes=[RidgeRanker]).penalty)
    assert os.path.isdir(folder), steps
    old.save(folder)
    assert os.listdir(sys.argv[1]) == ["model"], (steps, os.listdir(sys.argv[1]))
    if not killed:
        break
    steps += 1
assert seen == {1.0, 9.0}, seen
print(steps)
"""


@pytest.mark.gate
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("how", ["exchange", "renames"])
def test_a_kill_at_any_step_leaves_one_of_the_two_models(tmp_path, how):
    env = os.environ | {"TESTS": str(Path(__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), how], capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


def test_no_moment_without_a_model_where_the_system_can_exchange(folder, monkeypatch):
    if not saving._exchange(folder, folder):
        pytest.skip("this system cannot exchange folders")
    real, seen = os.rename, []

    def rename(*args):
        seen.append((folder / "model.json").is_file())
        with suppress(OSError):
            return real(*args)
        seen.append((folder / "model.json").is_file())
        raise OSError

    monkeypatch.setattr(os, "rename", rename)
    RidgeRanker(penalty=9.0).fit(X, Y).save(folder)
    assert seen == [True, True]  # the one rename of the target was refused; then the exchange
    assert read(folder).penalty == 9.0


def test_a_replacement_that_was_cut_off_is_undone_by_load(folder):
    old = folder.with_name(".model.0123abcd.old")
    folder.rename(old)
    assert saving.is_saved(folder)
    assert read(folder).penalty == 1.0
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_replacement_that_was_cut_off_is_read_in_a_read_only_folder(folder, monkeypatch):
    folder.rename(folder.with_name(".model.0123abcd.old"))

    def refuse(*args):
        raise PermissionError

    monkeypatch.setattr(os, "rename", refuse)
    assert read(folder).penalty == 1.0


def test_leftovers_are_swept_unless_they_are_in_use(folder, monkeypatch):
    used, left = (folder.with_name(f".model.{name}.partial") for name in ("used", "left"))
    other = folder.with_name(".model.of.another.partial.x")
    for path in (used, left, other):
        path.mkdir()
    lock = saving._locked(used)
    RidgeRanker().fit(X, Y).save(folder)
    assert {path.name for path in folder.parent.iterdir()} == {"model", used.name, other.name}
    os.close(lock)
    monkeypatch.setattr(saving, "fcntl", None)  # a system without locks goes by age
    RidgeRanker().fit(X, Y).save(folder)
    assert used.exists()
    os.utime(used, (0, 0))
    RidgeRanker().fit(X, Y).save(folder)
    assert not used.exists()


def test_a_work_folder_that_another_process_sweeps_is_made_anew(folder, monkeypatch):
    lock, seen = saving._locked, []

    def locked(path):
        seen.append(path)
        if len(seen) == 1:
            raise BlockingIOError
        if len(seen) == 2:
            path.rmdir()
        return lock(path)

    monkeypatch.setattr(saving, "sweep_folders", lambda target: None)
    monkeypatch.setattr(saving, "_locked", locked)
    RidgeRanker(penalty=9.0).fit(X, Y).save(folder)
    assert len(seen) == 3
    assert read(folder).penalty == 9.0


def test_a_link_to_a_model_stays_a_link(folder):
    link = folder.with_name("latest")
    link.symlink_to(folder)
    RidgeRanker(penalty=9.0).fit(X, Y).save(link)
    assert link.is_symlink()
    assert read(folder).penalty == read(link).penalty == 9.0


def test_a_saved_model_may_be_read_by_whom_the_umask_allows(tmp_path):
    (tmp_path / "plain").mkdir()
    RidgeRanker().fit(X, Y).save(tmp_path / "model")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "model")]
    assert modes[0] == modes[1]


def test_a_model_may_be_saved_into_the_current_folder_by_a_bare_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    RidgeRanker().fit(X, Y).save("model")
    assert read("model").penalty == 1.0


# for ever


@pytest.mark.parametrize("version", range(1, saving.FORMAT_VERSION + 1))
def test_a_model_of_every_format_version_is_stored_and_predicts_as_it_did(version, tmp_path):
    import pandas as pd

    stored = STORED / f"v{version}"
    shutil.copytree(stored, tmp_path / "model")
    assert json.loads((stored / "model.json").read_text())["format_version"] == version
    model = load(tmp_path / "model", classes=[RidgeRanker])
    expected = json.loads((stored / "expected.json").read_text())
    got = model.predict(pd.DataFrame(expected["X"], columns=["age", "grade"]))
    np.testing.assert_allclose(got, expected["predict"], rtol=1e-12)
    assert model.get_params() == {"penalty": 0.5}
    assert model.feature_names_in_.tolist() == ["age", "grade"]
    assert model.groups_ == {}
    assert model.is_fitted_


def test_a_model_may_be_a_parameter_of_another(tmp_path):
    import equirank
    from equirank.rankers import FairReduction, RankBoost

    X = np.random.default_rng(0).normal(size=(40, 2))
    y, groups = (X[:, 0] > 0).astype(float), np.where(X[:, 1] > 0, "a", "b")
    outer = FairReduction(RankBoost(3, alpha="continuous"), max_iter=2)
    outer.fit(X, y, sensitive_features=groups).save(tmp_path / "outer")
    back = equirank.load(tmp_path / "outer")
    assert repr(back) == repr(outer)
    path = tmp_path / "outer" / "model.json"
    text = path.read_text().replace('"__model__": "RankBoost"', '"__model__": "Metric"')
    path.write_bytes(saving.seal(json.loads(text)))
    with pytest.raises(equirank.FormatError, match="Metric is not a class of models"):
        equirank.load(tmp_path / "outer")


class Trusting(RidgeRanker):
    """Says which classes its files may hold."""

    files_hold_classes = True

    def _save_files(self, folder):
        (folder / "own.txt").write_text("x")

    def _load_files(self, files, classes=()):
        self.seen_ = [kind.__name__ for kind in classes]


def test_files_that_hold_classes_are_read_with_those_of_load(tmp_path):
    Trusting().fit(X, Y).save(tmp_path / "model")
    assert load(tmp_path / "model", classes=[Trusting, dict]).seen_ == ["Trusting", "dict"]


def test_further_files_and_values_lie_beside_the_model(tmp_path):
    model = RidgeRanker().fit(X, Y, qid=QID)
    extra = {"columns": ["a", "b"]}
    saving.save(model, tmp_path / "m", extra=extra, files={"card.html": "<p>\u00e9</p>"})
    assert (tmp_path / "m" / "card.html").read_text(encoding="utf-8") == "<p>\u00e9</p>"
    (tmp_path / "m" / "card.html").write_text("a note of the user, which load does not read")
    assert saving.load_with_extra(tmp_path / "m", classes=[RidgeRanker])[1] == extra
    saving.save(model, tmp_path / "m")
    assert saving.load_with_extra(tmp_path / "m", classes=[RidgeRanker])[1] == {}
    assert not (tmp_path / "m" / "card.html").exists()
    edit(tmp_path / "m", extra=3)
    refused(tmp_path / "m", "has no table 'extra'")
