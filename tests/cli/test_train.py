"""``equirank train``: a model learned from a file."""

import csv
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from typer.testing import CliRunner
from waiting import LIMIT

import equirank
from equirank import query_train_test_split
from equirank.cli.app import app
from equirank.rankers import RankBoost
from equirank.recipes import fit_recipe as training
from equirank.recipes.config import read_config
from equirank.recipes.config_objects import ConfigError
from equirank.rerankers import Reranked

pytestmark = pytest.mark.slow

CONFIG = """
metrics = ["NDCG@10", "ExposureGap"]
[data]
path = "people.csv"
sensitive = ["sex"]
features = ["age", "home", "test"]
[split]
test = 0.25
seed = 3
[[models]]
name = "boost"
class = "RankBoost"
params = { n_estimators = 5 }
[[models]]
name = "balanced"
class = "RankBoost"
params = { n_estimators = 5 }
rerank = "DetGreedy"
"""
HEADER = ["query", "id", "sex", "age", "home", "test", "relevance", "remark"]


def people(n_lists=8, size=9, seed=0):
    """Rows of a file: relevance follows the test and the home, never the sex."""
    rng = np.random.default_rng(seed)
    rows = []
    for at in range(n_lists * size):
        home = ["own", "rent", "other"][rng.integers(3)]
        test = round(float(rng.normal()), 3)
        grade = int(np.clip(round(test + (home == "own")), 0, 3))
        row = [f"q{at % n_lists}", f"p{at}", "fm"[rng.integers(2)], int(rng.integers(20, 60))]
        rows.append([*row, home, test, grade, "fine, thanks"])
    return rows


def write(path, rows, header=HEADER):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def done(*words):
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def fails(*words):
    """Run, and give the one line on standard error."""
    result = run(*words)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("equirank: ")
    return line.removeprefix("equirank: ")


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with data, a configuration and the two trained models."""
    folder = tmp_path_factory.mktemp("work")
    write(folder / "people.csv", people())
    (folder / "c.toml").write_text(CONFIG)
    done("train", folder / "c.toml", "--out", folder / "boost", "--n-boot", 20)
    words = ["--model", "balanced", "--n-boot", 0]
    done("train", folder / "c.toml", "--out", folder / "balanced", *words)
    return folder


# train


@pytest.mark.slow
def test_the_saved_model_is_the_one_that_was_measured(work, tmp_path):
    config = read_config(str(work / "c.toml"))
    data, columns = config.read_data()
    assert columns.feature_names == ("age", "home=other", "home=own", "home=rent", "test")
    train, test = query_train_test_split(data, test_size=0.25, random_state=3)
    expected = RankBoost(n_estimators=5).fit(train)
    model = equirank.load(work / "boost")
    np.testing.assert_array_equal(model.predict(test), expected.predict(test))
    metrics = json.loads((work / "boost" / "metrics.json").read_text())
    found = equirank.evaluate(expected.rank(test), "NDCG@10, ExposureGap", n_boot=0)
    values = {row["metric"]: row["value"] for row in metrics["summary"] if row["group"] is None}
    assert values == {name: found[name] for name in ("NDCG@10", "ExposureGap")}
    assert metrics["held_out"] == {"rows": 18, "queries": 2}
    assert metrics["data"]["fingerprint"] == model.data_fingerprint_
    assert {row["group"] for row in metrics["by_group"]["sex"]} == {"f", "m"}
    assert (work / "boost" / "config.toml").read_text() == CONFIG


@pytest.mark.slow
def test_what_is_printed(work, tmp_path):
    said = done("train", work / "c.toml", "--out", tmp_path / "m", "--n-boot", 0)
    lines = said.splitlines()
    assert lines[0] == f"{work}/people.csv: 72 items in 8 lists, 5 features"
    assert lines[1] == "training boost: RankBoost"
    assert lines[2] == "note: the first model is trained; --model can name 'balanced'"
    assert "Held out: 25% of the lists (2 of 8)" in lines
    assert any(line.startswith("NDCG@10      higher") for line in lines)
    assert "By sex" in lines
    assert lines[-2] == f"model card: {tmp_path}/m/card.html"
    assert lines[-1] == f"next: equirank predict {tmp_path}/m FILE --out scores.csv"


@pytest.mark.slow
def test_json_is_the_file_of_metrics(work, tmp_path):
    said = done("train", work / "c.toml", "--out", tmp_path / "m", "--n-boot", 0, "--json")
    assert json.loads(said) == json.loads((tmp_path / "m" / "metrics.json").read_text())


@pytest.mark.slow
def test_compare_measures_the_same(work):
    said = json.loads(done("compare", work / "c.toml", "--n-jobs", 1, "--json"))
    metrics = json.loads((work / "boost" / "metrics.json").read_text())
    expected = {row["metric"]: row["value"] for row in metrics["summary"] if row["group"] is None}
    found = {row["metric"]: row["value"] for row in said["summary"] if row["method"] == "boost"}
    assert found == pytest.approx(expected, abs=0, rel=1e-12)


#: Models that draw: pairs, validation lists, in parts and in a re-ranker.
DRAWS = """
[[models]]
name = "sampled"
class = "RankBoost"
params = { n_estimators = 5, max_pairs = 20 }
[[models]]
name = "stopped"
class = "RankBoost"
params = { n_estimators = 20, validation = 0.4, early_stopping = 2 }
[[models]]
name = "part"
class = "Reranked"
[models.params.estimator]
class = "RankBoost"
params = { n_estimators = 20, validation = 0.4, early_stopping = 2 }
[models.params.reranker]
class = "EpsilonGreedy"
params = { eps = 0.5 }
"""


@pytest.mark.slow
@pytest.mark.parametrize("split", ["test = 0.25", "folds = 2", 'by = "item"\nfolds = 2'])
def test_one_seed_rules_the_split_and_the_model_as_in_compare(work, split):
    path = work / "draws.toml"
    head = CONFIG[: CONFIG.index("[[models]]")].replace("test = 0.25", split)
    head = head.replace("people.csv", "single.csv") if "item" in split else head
    write(work / "single.csv", people(1, 40))
    path.write_text(head.replace(', "ExposureGap"', "") + DRAWS)
    config = read_config(str(path))
    data, _ = config.read_data()
    said = json.loads(done("compare", path, "--n-jobs", 1, "--json"))
    for name in config.estimators:
        trained, again = (
            training.train_model(config, config.model(name), data, n_boot=0) for _ in range(2)
        )
        seeds = {k: v for k, v in trained.model.get_params().items() if k.endswith("random_state")}
        assert seeds
        assert set(seeds.values()) == {3}
        np.testing.assert_array_equal(trained.model.predict(data), again.model.predict(data))
        np.testing.assert_array_equal(trained.ranking.position, again.ranking.position)
        (found,) = [row["value"] for row in said["summary"] if row["method"] == name]
        assert trained.evaluation["NDCG@10"] == pytest.approx(found, abs=0, rel=1e-12)


def test_a_seed_of_a_model_that_the_run_replaces_is_said(work):
    path = work / "seeded.toml"
    path.write_text(CONFIG.replace("n_estimators = 5", "n_estimators = 5, random_state = 3", 1))
    read_config(str(path))  # the same seed
    path.write_text(CONFIG.replace("n_estimators = 5", "n_estimators = 5, random_state = 4", 1))
    with pytest.warns(equirank.EquirankWarning) as caught:
        read_config(str(path))
    assert [str(each.message) for each in caught] == [
        f'{path}: [[models]] 1 ("boost") params.random_state: 4 has no effect: [split] seed is the '
        "seed of the data and of every model"
    ]


def test_folds_measure_every_row_and_fit_on_all(work, tmp_path):
    path = work / "folds.toml"
    path.write_text(CONFIG.replace("test = 0.25", "folds = 4"))
    config = read_config(str(path))
    data, _ = config.read_data()
    trained = training.train_model(config, config.model("boost"), data, n_boot=0)
    assert trained.ranking.data.n_queries == 8
    np.testing.assert_array_equal(
        trained.model.predict(data), RankBoost(n_estimators=5).fit(data).predict(data)
    )
    score = np.empty(data.n_rows)
    for train, test, held in training._parts(config, data):
        score[held] = RankBoost(n_estimators=5).fit(train).predict(test)[test.caller_rank]
        assert not set(train.qids) & set(test.qids)
    twin = equirank.Ranking.from_scores(data, data.to_original(score))
    np.testing.assert_array_equal(trained.ranking.position, twin.position)
    assert trained.evaluation["NDCG@10"] == equirank.evaluate(twin, "NDCG@10", n_boot=0)["NDCG@10"]


def test_folds_of_one_list_are_lists_of_their_own(work):
    path = work / "items.toml"
    text = CONFIG.replace("test = 0.25", 'by = "item"\nfolds = 3').replace("people", "one")
    path.write_text(text)
    write(work / "one.csv", people(1, 30))
    config = read_config(str(path))
    data, _ = config.read_data()
    for name in config.estimators:
        trained = training.train_model(config, config.model(name), data, n_boot=0)
        held = trained.ranking
        assert held.data.n_queries == 3
        assert np.diff(held.data.offsets).tolist() == [10, 10, 10]
        assert sorted(held.data.y.tolist()) == sorted(data.y.tolist())
        first = held.data.offsets[:-1]
        assert all(1 in held.position[a : a + 10] for a in first)
    path.write_text(text.replace('by = "item"', 'by = "query"'))
    words = fails("train", path, "--out", work / "never")
    assert words == f'{path}: [split] by: must be "item" for a single list, got "query"'
    assert not (work / "never").exists()


def test_the_reranker_is_part_of_the_model(work):
    model = equirank.load(work / "balanced")
    assert isinstance(model, Reranked)
    assert "re-ranked with DetGreedy" in done(
        "predict", work / "balanced", work / "people.csv", "--out", work / "b.csv"
    )
    data, _ = read_config(str(work / "c.toml")).read_data()
    ranking = model.rank(data)
    rows = rows_of(work / "b.csv")
    assert [int(row["position"]) for row in rows] == data.to_original(ranking.position).tolist()
    own = data.to_original(ranking.before.data.score).tolist()
    assert [float(row["score"]) for row in rows] == own


def test_what_cannot_be_trained_is_said_with_its_place(work, tmp_path):
    def trained(text):
        path = work / "bad.toml"
        path.write_text(text)
        line = fails("train", path, "--out", tmp_path / "m")
        assert not (tmp_path / "m").exists()
        return line.removeprefix(f"{path}: ")

    blind = CONFIG.replace('sensitive = ["sex"]', "")
    assert trained(blind).startswith("metrics: ")
    groups = '{ class = "GroupPairCost", params = { matrix = [[1, 2], [1, 1]] } }'
    needy = blind.replace(', "ExposureGap"', "").replace("= 5 }", f"= 5, pair_cost = {groups} }}")
    assert trained(needy) == (
        '[[models]] 1 ("boost"): [data] sensitive must be given: RankBoost needs it to fit'
    )
    line = fails("train", work / "c.toml", "--out", tmp_path / "m", "--model", "bost")
    assert line == (
        f"{work}/c.toml: [[models]]: must contain the model \"bost\"; did you mean 'boost'? "
        '(it contains "boost", "balanced")'
    )


def test_text_with_too_many_values_is_no_category(work, tmp_path, monkeypatch):
    monkeypatch.setattr("equirank.recipes.data_columns.MOST_CATEGORIES", 50)
    path = work / "bad.toml"
    path.write_text(CONFIG.replace('"home"', '"id"'))
    assert fails("train", path, "--out", tmp_path / "m") == (
        f'{path}: [data] features: "id" must contain numbers or at most 50 categories, got 72 '
        'different texts; encoding = "category" takes more'
    )


def test_a_folder_that_is_no_model_is_left_alone(work, tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    line = fails("train", work / "c.toml", "--out", tmp_path)
    assert line.startswith("--out must be a new folder or that of a model, got")
    assert os.listdir(tmp_path) == ["mine.txt"]
    assert "got the file" in fails("train", work / "c.toml", "--out", tmp_path / "mine.txt")


@pytest.mark.slow
def test_an_earlier_model_is_replaced(work, tmp_path):
    (tmp_path / "m").mkdir()
    done("train", work / "c.toml", "--out", tmp_path / "m", "--n-boot", 0)
    first = (tmp_path / "m" / "model.json").read_text()
    words = ["--model", "balanced", "--n-boot", 0]
    done("train", work / "c.toml", "--out", tmp_path / "m", *words)
    assert (tmp_path / "m" / "model.json").read_text() != first
    assert os.listdir(tmp_path) == ["m"]


# Trains over an earlier model in a child that kills itself at its n-th access to the folder of the
# model, for n = 0, 1, ... until a child ends by itself.
KILLED = """
import contextlib, io, os, signal, sys
import equirank
from equirank.cli import train
from equirank.cli.app import app

os.fsync = lambda file: None
train._page = lambda *parts: ("<p>card</p>", "")
config, folder = sys.argv[1:]
parent, kinds, at = os.path.dirname(folder), set(), 0

def run(model, limit):
    count = 0
    def watch(event, args):
        nonlocal count
        if event.startswith(("os.", "open", "shutil.")) and parent in str(args):
            count += 1
            if count > limit:
                os.kill(os.getpid(), signal.SIGKILL)
    if limit is not None:
        sys.addaudithook(watch)
    words = ["train", config, "--out", folder, "--model", model, "--n-boot", "0", "--json", "-"]
    with contextlib.redirect_stdout(io.StringIO()):
        app(words, standalone_mode=False)

def child(*given):
    number = os.fork()
    if number == 0:
        run(*given)
        os._exit(0)
    return os.waitpid(number, 0)[1]

run("balanced", None)  # children find everything imported
run("boost", None)
while True:
    status = child("balanced", at)
    kinds.add(type(equirank.load(folder)).__name__)
    if not os.WIFSIGNALED(status):
        break
    at += 1
assert status == 0, status
assert os.listdir(parent) == ["model"], os.listdir(parent)
assert kinds == {"RankBoost", "Reranked"}, kinds
print(at)
"""


@pytest.mark.gate
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_kill_at_any_moment_leaves_a_whole_model(work, tmp_path):
    (tmp_path / "out").mkdir()
    words = [str(work / "c.toml"), str(tmp_path / "out" / "model")]
    ended = subprocess.run([sys.executable, "-c", KILLED, *words], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 20


def test_a_missing_number_is_named(work):
    rows = people()
    rows[4][5] = ""
    write(work / "gaps.csv", rows)
    (work / "gaps.toml").write_text(CONFIG.replace("people.csv", "gaps.csv"))
    data, _ = read_config(str(work / "gaps.toml")).read_data()
    training.check_features(data, RankBoost(), "gaps.csv")  # which learns from them
    with pytest.raises(ConfigError) as caught:
        training.check_features(data, Ridge(), "gaps.csv")
    assert str(caught.value) == (
        "gaps.csv: feature 'test' must not be missing for Ridge, got a missing value in row 5"
    )


@pytest.mark.gate
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_leaves_nothing_half_written(tmp_path, tmp_path_factory):
    # Relevance that follows nothing, so that boosting does not end before the interrupt.
    rng, folder = np.random.default_rng(1), tmp_path_factory.mktemp("noise")
    noise = [[*row[:6], int(rng.integers(4)), row[7]] for row in people(300, 9)]
    write(folder / "people.csv", noise)
    slow = CONFIG.replace("n_estimators = 5", "n_estimators = 2000000")
    (tmp_path / "c.toml").write_text(slow.replace("people.csv", f"{folder}/people.csv"))
    program = (
        "from equirank.core.environment import listening\n"
        "told = []\n"
        "def tell(share, words):\n"
        "    if words == 'boosting' and not told:\n"
        "        told.append(words)\n"
        "        print('at work')\n"
        "from equirank.cli.app import main\n"
        "with listening(tell): main()\n"
    )
    words = ["train", str(tmp_path / "c.toml"), "--out", str(tmp_path / "m")]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        # A job in the background inherits that interrupts are ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    for line in process.stdout:
        if line == "at work\n":
            break
    process.send_signal(2)
    _, said = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert said.endswith("equirank: interrupted\n")
    assert os.listdir(tmp_path) == ["c.toml"]
