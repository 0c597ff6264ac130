"""``equirank alternatives``: a configuration in, a record, a report, tables and JSON out."""

import json

import numpy as np
import pytest
from command_notes import without_notes
from typer.testing import CliRunner

from equirank.cli.app import app
from equirank.datasets import make_ranking
from equirank.recipes.search_config import read_search_config

pytest.importorskip("jinja2")

CONFIG = """
metrics = ["NDCG@5", "ExposureGap"]
[data]
path = "people.csv"
query = "vacancy"
relevance = "merit"
sensitive = ["sex"]
features = ["a", "b"]
[split]
seed = 1
[search]
rule = "NDCG@5 >= baseline - 0.2"
trials = 6
leave_out = { second = "b" }
[[models]]
name = "boost"
class = "RankBoost"
params = { n_estimators = 3 }
space = { n_estimators = { low = 1, high = 4 } }
[[models]]
name = "fair"
class = "RankBoost"
rerank = "DetGreedy"
space = { estimator__n_estimators = [2, 3] }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    data = make_ranking(n_queries=16, n_items=8, random_state=0)
    sex = np.where(next(iter(data.sensitive.values())).codes == 0, "f", "m")
    lines = ["vacancy,merit,sex,a,b"]
    for at in range(data.n_rows):
        row = [data.query_of_rows()[at], data.y[at], sex[at], *data.X[at, :2]]
        lines.append(",".join(map(str, row)))
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "c.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["alternatives", *map(str, words), "--n-jobs", "1"])


@pytest.mark.slow
def test_a_search_writes_its_record_and_its_report(folder):
    done = run("c.toml", "--json", "found.json", "--closed")
    assert done.exit_code == 0, done.output
    assert "the certify part was not opened" in done.output
    first = json.loads((folder / "found.json").read_text())
    assert first["certified"] == []
    assert len(first["candidates"]) == 7
    done = run("c.toml", "--json", "found.json", "--trials", 8)
    assert done.exit_code == 0, done.output
    found = json.loads((folder / "found.json").read_text())
    assert {path.name for path in (folder / "alternatives").iterdir()} == {
        "record", "candidates.csv", "certified.csv", "alternatives.json", "report.html",
    }  # fmt: skip
    assert found["candidates"][:7] == first["candidates"]
    assert found["certificate"]["n"] == 8
    assert found["data"] == {"file": "people.csv", "rows": 128, "queries": 16}
    assert [row["metric"] for row in found["certified"]] == ["NDCG@5", "ExposureGap"]
    assert found["provenance"]["command"].startswith("equirank alternatives c.toml")
    for words in ("Baseline and front", "Chosen and baseline", "With 95% confidence, less than"):
        assert words in done.output
    done = run("c.toml", "--trials", 9)
    assert done.exit_code == 2
    assert "the certify part of this record was opened" in without_notes(done.stderr)


@pytest.mark.slow
def test_the_exit_code_is_1_if_no_candidate_satisfies_the_rule(folder):
    text = CONFIG.replace("baseline - 0.2", "1.5")
    (folder / "c.toml").write_text(text)
    done = run("c.toml", "--out", "none", "--json", "-")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["chosen"] is None


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("trials = 6", "trails = 6", "[search] trails: is not a known key; did you mean 'trials'"),
        ("trials = 6", "trials = 0", "[search] trials: must be at least 1, got 0"),
        ("trials = 6", "minutes = 0", "[search] minutes: must be above 0, got 0"),
        ('metrics = ["NDCG@5", "ExposureGap"]', "", "metrics: is missing"),
        ('"ExposureGap"]', '"MAP"]', "metrics must include one of which lower is better"),
        ("space = { n_est", "space = { m_est", "has no parameter 'm_estimators' of RankBoost"),
        ("trials = 6", "parts = [1, true]", "[search] parts: must be four shares"),
        ("trials = 6", "parts = [0.5, 0.5]", "parts must be four shares"),
        ("rerank =", "prepare = [3]\nrerank =", "prepare[1]: must be a class, a table or"),
        ("rerank =", 'sample = ["IFair"]\nrerank =', "sample must be samplers or None"),
        ('second = "b"', 'second = "z"', "leave_out['second'] must name features, got 'z'"),
    ],
)
def test_a_bad_configuration_is_one_line(folder, old, new, words):
    assert old in CONFIG
    (folder / "c.toml").write_text(CONFIG.replace(old, new, 1))
    done = run("c.toml")
    assert done.exit_code == 2
    said = without_notes(done.stderr)
    assert words in said
    assert said.count("\n") <= 1
    assert "c.toml" in said


@pytest.mark.slow
def test_the_file_of_init_is_searched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["init"]).exit_code == 0
    done = run("config.toml", "--trials", 2, "--json", "found.json")
    assert done.exit_code == 0, done.output
    assert "note: [split] test is that of train and compare" in done.output
    assert "note: the search draws nothing" in done.output
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["metrics"][:2] == ["NDCG@10", "AveragePrecision"]
    assert found["minimise"] == 'ExposureGap(by="sex")'
    assert found["chosen"] is not None


@pytest.mark.gate
def test_other_commands_do_not_use_a_search(folder):
    text = CONFIG + "path = { estimator__n_estimators = [2] }\n"
    (folder / "c.toml").write_text(text.replace("seed = 1", "seed = [1, 2]"))
    said = "note: only equirank alternatives uses [search], [[models]] space, [[models]] path of"
    for words in (["compare", "c.toml"], ["train", "c.toml", "--out", "model"]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        assert done.stdout.count(said) == 1
    (folder / "c.toml").write_text(text.replace("trials", "trails"))
    done = CliRunner().invoke(app, ["compare", "c.toml"])
    assert "[search] trails: is not a known key" in done.stderr


def test_a_search_that_draws_nothing_or_has_several_seeds_says_so(folder):
    given = read_search_config("c.toml").notes
    assert given == ()
    plain = "\n".join(line for line in CONFIG.splitlines() if line[:5] not in ("space", "leave"))
    (folder / "c.toml").write_text(plain.replace("seed = 1", "seed = [1, 2]"))
    first, second = read_search_config("c.toml").notes
    assert first == "the first seed, 1, is used; compare uses all"
    assert second.startswith("the search draws nothing: it compares the models as they are")
