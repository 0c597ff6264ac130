"""``equirank compare``: a configuration in, tables, a report and finished cells out."""

import json
import os
import signal

import numpy as np
import pytest
from command_notes import without_notes
from typer.testing import CliRunner

from equirank.cli.app import app
from equirank.datasets import make_ranking

CONFIG = """
metrics = ["NDCG@5", "ExposureGap"]
[data]
path = "people.csv"
query = "vacancy"
relevance = "merit"
sensitive = ["sex"]
features = ["a", "b"]
[split]
folds = 2
seed = [0, 1]
[[models]]
name = "boost"
class = "RankBoost"
params = { n_estimators = 3 }
[[models]]
name = "fair"
class = "RankBoost"
params = { n_estimators = 3 }
rerank = "DetGreedy"
"""
WRONG = """
[[models]]
name = "infeasible"
class = "RankBoost"
params = { n_estimators = 3 }
rerank = { class = "DetGreedy", params = { by = "age" } }
"""


@pytest.fixture
def folder(tmp_path):
    data = make_ranking(n_queries=8, n_items=10, random_state=0)
    sex = np.where(next(iter(data.sensitive.values())).codes == 0, "f", "m")
    lines = ["vacancy,merit,sex,a,b"]
    for at in range(data.n_rows):
        row = [data.query_of_rows()[at], data.y[at], sex[at], *data.X[at, :2]]
        lines.append(",".join(map(str, row)))
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "c.toml").write_text(CONFIG)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["compare", *map(str, words), "--n-jobs", "1"])


@pytest.mark.slow
def test_tables_tests_and_sentences(folder):
    done = run(folder / "c.toml")
    assert done.exit_code == 0, done.output
    assert without_notes(done.stderr) == ""
    assert "80 items in 8 lists, 2 features" in done.stdout
    assert "comparing boost, fair" in done.stdout
    assert "Held-out values, by queries" in done.stdout
    assert "Compared with boost" in done.stdout
    assert "p (corrected)" in done.stdout
    assert "- By NDCG@5, " in done.stdout
    assert "- 2 methods were compared on 8 lists (80 rows): 2 folds, 2 seeds." in done.stdout
    assert "add --out FOLDER" in done.stdout


@pytest.mark.slow
def test_a_folder_and_its_cells(folder):
    out = folder / "results"
    first = run(folder / "c.toml", "--out", out, "--json", folder / "1.json")
    assert first.exit_code == 0, first.output
    names = {path.name for path in out.iterdir()}
    assert names == {"report.html", "results.csv", "summary.csv", "tests.csv", "cells"}
    cells = {path: path.read_bytes() for path in (out / "cells").iterdir()}
    assert len(cells) == 8
    again = run(folder / "c.toml", "--out", out, "--baseline", "fair", "--json")
    assert {path: path.read_bytes() for path in (out / "cells").iterdir()} == cells
    document = json.loads(again.stdout)
    earlier = json.loads((folder / "1.json").read_text())
    assert document["summary"] == earlier["summary"]
    assert (earlier["baseline"], document["baseline"]) == ("boost", "fair")
    assert {row["method"] for row in document["tests"]} == {"boost"}
    assert document["data"] == {"file": "people.csv", "rows": 80, "queries": 8}
    assert set(document["chance"]) == {"NDCG@5", "ExposureGap"}
    assert document["errors"] == []
    assert document["claims"] == earlier["claims"]
    pairs = [claim for claim in document["claims"] if claim["against"] is not None]
    assert [claim["quantity"] for claim in pairs] == ["NDCG@5", "ExposureGap"]
    assert all(0 < claim["p"] <= claim["p_family"] <= 1 for claim in pairs)
    assert {claim["sentence"][-1] for claim in document["claims"]} == {"."}
    run(folder / "c.toml", "--out", out, "--fresh", "--store", folder / "elsewhere")
    assert len(list((folder / "elsewhere").iterdir())) == 8


@pytest.mark.slow
def test_a_model_that_fails_is_said_and_the_others_go_on(folder):
    path = folder / "c.toml"
    path.write_text(CONFIG + WRONG)
    done = run(path, "--json", folder / "1.json")
    assert done.exit_code == 0
    assert "equirank: infeasible failed: " in done.stderr
    assert "age" in done.stderr
    assert len(json.loads((folder / "1.json").read_text())["errors"]) == 4
    head = CONFIG.split("[[models]]")[0]
    path.write_text(head + WRONG)
    assert run(path).exit_code == 1


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        (("folds = 2", "fold = 2"), [], "c.toml: [split] fold: is not a known key"),
        (('"NDCG@5"', '"NDGC@5"'), [], "c.toml: metrics[1]: metric 'NDGC@5' is not known"),
        (('"ExposureGap"', '"CSDCG"'), [], "c.toml: CSDCG needs costs"),
        (("folds = 2", "folds = 20"), [], "c.toml: n_splits must be at most"),
        (("", ""), ["--baseline", "bost"], "did you mean"),
        (("", ""), ["--n-jobs", "0"], "--n-jobs must be"),
        (("", ""), ["--out", "people.csv"], "--out must be a folder"),
        (("", ""), ["--level", "2"], "level"),
    ],
)
def test_bad_input_is_one_line(folder, monkeypatch, change, words, said):
    monkeypatch.chdir(folder)
    (folder / "c.toml").write_text(CONFIG.replace(*change) if change[0] else CONFIG)
    done = CliRunner().invoke(app, ["compare", "c.toml", *words])
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_share_held_out_and_one_list(folder):
    path = folder / "c.toml"
    text = CONFIG.replace("folds = 2", "test = 0.25").replace('query = "vacancy"\n', "")
    path.write_text(text)
    done = run(path)
    assert done.exit_code == 2
    assert "[data] query must name at least two lists" in done.stderr
    assert 'by="item" splits the rows' in done.stderr
    path.write_text(text.replace("[split]", '[split]\nby = "item"'))
    done = run(path)
    assert done.exit_code == 0, done.output
    assert "Held-out values, by folds" in done.stdout


def test_without_metrics_some_are_chosen(folder):
    path = folder / "c.toml"
    path.write_text(CONFIG.split("\n", 2)[2])
    done = run(path)
    assert done.exit_code == 0, done.output
    assert "NDCG@10" in done.stdout
    assert "RND" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupted_comparison_continues(folder, monkeypatch):
    from equirank.comparison import cell

    ran, run_cell = [], cell.run_cell

    def counted(*given):
        ran.append(given)
        if len(ran) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return run_cell(*given)

    monkeypatch.setattr("equirank.comparison.compare.run_cell", counted)
    store = folder / "store"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = run(folder / "c.toml", "--store", store, "--json", folder / "1.json")
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.exit_code == 130
    assert done.stderr == "equirank: interrupted\n"
    assert len(list(store.iterdir())) == len(list(store.glob("*.json"))) == 2
    assert sorted(path.name for path in folder.iterdir()) == ["c.toml", "people.csv", "store"]
    ran.clear()
    ran += [None] * 10  # no second interrupt
    assert run(folder / "c.toml", "--store", store, "--json", folder / "1.json").exit_code == 0
    assert len(ran) - 10 == 8 - 2
    assert run(folder / "c.toml", "--json", folder / "2.json").exit_code == 0
    assert (folder / "1.json").read_bytes() == (folder / "2.json").read_bytes()
