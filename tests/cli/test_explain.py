"""``equirank explain``: why a trained model puts one item of a file above another."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import equirank
from equirank.cli.app import app

CONFIG = """
metrics = ["NDCG@10"]
[data]
path = "people.csv"
sensitive = ["sex"]
features = ["age", "home", "test"]
encoding = "ordinal"
[[models]]
name = "boost"
class = "RankBoost"
params = { n_estimators = 5 }
[[models]]
name = "trees"
class = "LambdaMART"
params = { n_estimators = 5, min_child_samples = 3, n_jobs = 1 }
[[models]]
name = "balanced"
class = "RankBoost"
params = { n_estimators = 5 }
rerank = "DetGreedy"
"""


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def done(*words):
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with data and three trained models."""
    folder = tmp_path_factory.mktemp("work")
    rng = np.random.default_rng(0)
    rows = []
    for at in range(48):
        home, test = ["own", "rent"][rng.integers(2)], round(float(rng.normal()), 3)
        grade = int(np.clip(round(test + (home == "own")), 0, 3))
        person = [f"q{at % 6}", f"p{at}", "fm"[rng.integers(2)], int(rng.integers(20, 60))]
        rows.append([*person, home, test, grade])
    with open(folder / "people.csv", "w", newline="") as file:
        header = ["query", "id", "sex", "age", "home", "test", "relevance"]
        csv.writer(file).writerows([header, *rows])
    (folder / "c.toml").write_text(CONFIG)
    for name in ("boost", "trees", "balanced"):
        words = ["--model", name, "--n-boot", 0]
        done("train", folder / "c.toml", "--out", folder / name, *words)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["boost", "trees", "balanced"])
def test_the_contributions_add_up_to_the_difference(work, name):
    words = (work / name, work / "people.csv", "--a", "p7", "--b", "p13", "--json")
    found = json.loads(done("explain", *words))
    total = sum(row["contribution"] for row in found["features"])
    assert total == pytest.approx(found["score_a"] - found["score_b"], abs=1e-9)
    assert (found["a"], found["b"]) == ("p7", "p13")
    assert found["sentences"][0].startswith("p7 ")
    assert [fact["item"] for fact in found["reasons"]] == ["p7", "p13"] * (name == "balanced")
    assert found["equirank"] == equirank.__version__


@pytest.mark.slow
def test_what_is_printed_and_drawn(work, tmp_path):
    out = tmp_path / "pair.svg"
    told = done(
        "explain", work / "trees", work / "people.csv", "--a", "p0", "--b", "p6", "--out", out
    )
    assert told.startswith("p0 ranks ")
    assert "contribution" in told
    assert "Why p0" in out.read_text()
    home = next(line for line in told.splitlines() if line.startswith("home "))
    assert "own" in home or "rent" in home


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("p99", "p0", "--a must be the id of an item of the file, got 'p99'"),
        ("p0", "p1", "a and b must be rows of one list"),
        ("p0", "p0", "two different rows"),
    ],
)
def test_bad_items_are_named(work, a, b, said):
    result = run("explain", work / "boost", work / "people.csv", "--a", a, "--b", b)
    assert result.exit_code == 2
    assert said in result.stderr


def test_an_id_of_several_lists_needs_the_list(work, tmp_path):
    text = (work / "people.csv").read_text().replace("q1,p1,", "q1,p0,")
    (tmp_path / "twice.csv").write_text(text)
    words = ("explain", work / "boost", tmp_path / "twice.csv", "--a", "p0", "--b", "p7")
    assert "--of must name the list, since 'p0' occurs 2 times" in run(*words).stderr
    assert done(*words, "--of", "q1").startswith("p0 ")
    assert "of list 'q0'" in run(*words, "--of", "q0").stderr


def test_rows_are_numbered_where_there_are_no_ids(work, tmp_path):
    lines = [line.split(",") for line in (work / "people.csv").read_text().splitlines()]
    text = "\n".join(",".join(line[:1] + line[2:]) for line in lines)
    (tmp_path / "plain.csv").write_text(text + "\n")
    words = ("explain", work / "boost", tmp_path / "plain.csv", "--b", "6")
    assert done(*words, "--a", "0").startswith("Row 0 ")
    for row in ("48", "1" * 5000):
        assert "--a must be a row number from 0 to 47" in run(*words, "--a", row).stderr
