"""``equirank explain``: why a trained model puts one item of a file above another."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import equirank
from equirank.cli.app import app

pytestmark = pytest.mark.slow

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


@pytest.mark.gate
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


@pytest.mark.gate
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
@pytest.mark.slow
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


# ---- a person's page ----


@pytest.fixture(scope="module")
def ranked(work):
    """The people with a score and a decision."""
    lines = (work / "people.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    text = [lines[0] + ",score,hired"]
    text += [",".join([*row, row[5], "yes" if float(row[5]) > 0.5 else "no"]) for row in rows]
    (work / "ranked.csv").write_text("\n".join(text) + "\n")
    return work


def test_a_person_without_a_model(ranked):
    told = done("explain", ranked / "ranked.csv", "--id", "p7", "--k", 3).splitlines()
    assert told[0].startswith("Your application was ranked at position ")
    assert told[0].endswith(' of 8 in list "q1".')
    assert "The top 3 of each list are selected." in told
    assert told[-1] == "Which features weighed is not known, since no model was given."
    told = done("explain", ranked / "ranked.csv", "--id", "p7", "--selected", "hired")
    assert 'The decision is recorded under "hired".' in told


@pytest.mark.slow
@pytest.mark.parametrize("name", ["boost", "trees", "balanced"])
def test_a_person_with_a_model(ranked, name, tmp_path):
    words = ("explain", ranked / "ranked.csv", "--id", "p7", "--model", ranked / name, "--k", 1)
    out = tmp_path / "page.html"
    found = json.loads(done(*words, "--fixed", "age", "--json", "--out", out))
    assert found["id"] == "p7"
    assert found["model"] in {"RankBoost", "LambdaMART", "Reranked"}
    command = "equirank explain ranked.csv --id p7 --model "
    assert found["provenance"]["command"] == f"{command}{name} --k 1 --fixed age"
    assert found["provenance"]["files"][0]["name"] == "ranked.csv"
    assert found["provenance"]["settings"]["model"] == f"{name} ({found['model']})"
    assert {row["feature"] for row in found["features"]} <= {
        *("age", "home", "test", "sex", "(re-ranker)", "(base)")
    }
    home = [row["value"] for row in found["features"] if row["feature"] == "home"]
    assert set(home) <= {"own", "rent"}
    for change in found["changes"] or ():
        assert not {"age", "sex"} & set(change["features"])
        assert change["position"] == 1
    text = out.read_text()
    assert found["sentences"][0].replace('"', "&#34;") in text
    assert str(ranked) not in text


def test_the_change_is_confirmed_by_predict(ranked, tmp_path):
    """The change that is told, written into the file and predicted, crosses the cutoff."""
    words = ("explain", ranked / "ranked.csv", "--model", ranked / "boost", "--k", 2)
    for number in range(1, 48, 6):
        found = json.loads(done(*words, "--id", f"p{number}", "--json"))
        if found["changes"]:
            break
    change = found["changes"][0]
    with open(ranked / "people.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["id"] == found["id"]:
            row |= dict(zip(change["features"], change["after"], strict=True))
    with open(tmp_path / "changed.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    done("predict", ranked / "boost", tmp_path / "changed.csv", "--out", tmp_path / "s.csv")
    with open(tmp_path / "s.csv", newline="") as file:
        scores = {row["id"]: (row["query"], float(row["score"])) for row in csv.DictReader(file)}
    query, own = scores.pop(found["id"])
    assert own == pytest.approx(change["score"])
    assert sum(q == query and score >= own for q, score in scores.values()) < 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--id", "p99"],
            "--id must be one of the data's ids, got 'p99'; the nearest ids are 'p9'",
        ),
        (["--id", "p7", "--k", 1, "--cutoff", "score>1"], "got cutoff and k"),
        (["--id", "p7", "--selected", "home"], "--selected ('home') must be yes or no"),
        (["--id", "p7", "--selected", "nope"], "nope"),
        (["--id", "p7", "--id-column", "nope"], "nope"),
        (["--id", "p7", "--fixed", "age"], "--fixed must be given with --model"),
        (["--id", "p7", "--a", "p1"], "--id must be given with FILE alone"),
        ([], "--id must name a person"),
        (["--a", "p1", "--b", "p7"], "FOLDER must be given before FILE"),
        (["--a", "p1"], "--b must be given"),
    ],
)
def test_errors_of_a_person(ranked, words, said):
    result = run("explain", ranked / "ranked.csv", *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_errors_with_a_model(ranked):
    words = ("explain", ranked / "ranked.csv", "--id", "p7", "--model", ranked / "boost")
    assert "which --selected or --id-column names" in run(*words, "--selected", "nope").stderr
    assert "--score must be omitted with --model" in run(*words, "--score", "test").stderr
    assert "did you mean 'age'?" in run(*words, "--fixed", "agee").stderr
    pair = ("explain", ranked / "boost", ranked / "people.csv", "--a", "p1", "--b", "p7")
    assert "--k must be given with --id alone" in run(*pair, "--k", 2).stderr


def test_a_file_without_ids(ranked, tmp_path):
    text = (ranked / "ranked.csv").read_text().replace("query,id,", "query,name,", 1)
    (tmp_path / "named.csv").write_text(text)
    words = ("explain", tmp_path / "named.csv", "--id", "p7", "--k", 3)
    model = (*words, "--model", ranked / "boost")
    for each in (words, model):
        named = done(*each, "--id-column", "name")
        assert named.startswith("Your application")
        # The one column that contains the id, and no value twice, is taken, and that is said.
        assert done(*each) == named
        assert "id: column 'name' (guessed: it contains 'p7', and no value" in run(*each).stderr
        unknown = [word if word != "p7" else "p777" for word in each]
        assert "must have a column of ids for --id; --id-column names it" in run(*unknown).stderr
    lines = text.splitlines()
    both = [f"{line},{'twin' if at == 0 else line.split(',')[1]}" for at, line in enumerate(lines)]
    (tmp_path / "named.csv").write_text("\n".join(both) + "\n")
    assert "--id-column names it" in run(*words).stderr
