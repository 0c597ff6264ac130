"""The command remedy: what it prints, writes and refuses."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from equirank.cli.app import app

TARGET = "sex=f selected at 3 >= 0.8"
HOSTILE = '<script>alert(1)</script>"&\x1b[31m'


def written(path, female="f", n_lists=6, size=14):
    rng = np.random.default_rng(4)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["job", "person", "sex", "score", "note"])
        for job in range(n_lists):
            for at in range(size):
                sex = female if at % 2 else "m"
                score = round(rng.normal() - 1.5 * (sex != "m"), 3)
                out.writerow([f"j{job}", f"{job}-{at}", sex, score, "=1+1"])
    return path


def run(*words):
    return CliRunner().invoke(app, ["remedy", *map(str, words)])


@pytest.fixture
def file(tmp_path):
    return written(tmp_path / "people.csv")


GIVEN = ("--query", "job", "--sensitive", "sex", "--id", "person", "--n-boot", "0")


@pytest.mark.slow
def test_json_and_terminal(file, tmp_path):
    out = tmp_path / "found.json"
    result = run(file, *GIVEN, "--target", TARGET, "--json", out)
    assert result.exit_code == 0, result.output
    document = json.loads(out.read_text())
    assert document["kind"] == "equirank remedy"
    assert {each["uses_group"] for each in document["remedies"]} == {"blind", "aware"}
    assert document["target"]["text"] == TARGET
    assert document["provenance"]["command"].startswith("equirank remedy people.csv")
    assert "ImpactRatioFloor" in result.output
    said = 'selection rate of people in group "f" (sex) in the top 3, as a multiple of that of'
    assert f"Wanted: {said} everyone else: at least 0.8" in " ".join(result.output.split())
    assert "adjusting scores or positions by group is itself unlawful" in result.output


def test_blind_only(file):
    result = run(file, *GIVEN, "--target", TARGET, "--blind-only", "--json", "-")
    document = json.loads(result.stdout[result.stdout.index("{") :])
    assert {each["uses_group"] for each in document["remedies"]} == {"blind"}


def test_the_order_is_written_with_all_columns(file, tmp_path):
    out = tmp_path / "new.csv"
    result = run(file, *GIVEN, "--target", TARGET, "--apply", "ImpactRatioFloor", "--out", out)
    assert result.exit_code == 0, result.output
    with out.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert list(rows[0]) == [
        "job", "person", "sex", "score", "note", "old_position", "new_position"
    ]  # fmt: skip
    assert len(rows) == 84
    for job in {row["job"] for row in rows}:
        places = [int(row["new_position"]) for row in rows if row["job"] == job]
        assert places == list(range(1, 15))
    top = [row["sex"] for row in rows if int(row["new_position"]) <= 3]
    assert top.count("f") / 42 >= 0.8 * top.count("m") / 42


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "sex=f selected at 3 < 0.8"], "must hold for equal groups"),
        (["--target", "sex=x selected at 3 >= 0.8"], "must be one of the groups"),
        (["--target", TARGET, "--apply", "DetGreedy"], "--apply must be given with --out"),
        (["--target", TARGET, "--apply", "Nobody", "--out", "new.csv"], "must be one of"),
        (["--target", TARGET, "--score-error", "-1"], "score"),
        (["--selected", "note"], "selected records who was selected, which no order changes"),
        (["--stages", "note,job"], "keep the people who reached one stage"),
        (["--target", TARGET, "--cutoff", "score>=0"], "must not name a k: score >= 0 selects"),
        (["--target", TARGET, "--quota", "note"], "quota ('note') must be a number"),
    ],
)
def test_bad_input_is_one_line(file, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    result = run(file, *GIVEN, *words)
    assert result.exit_code == 2
    assert said in result.output
    assert not (tmp_path / "new.csv").exists()


@pytest.mark.slow
def test_a_score_cutoff_selects_as_many_as_before(file, tmp_path):
    out = tmp_path / "new.csv"
    words = ["--cutoff", "score>=0.5", "--target", "sex=f selected >= 0.8"]
    result = run(file, *GIVEN, *words, "--apply", "ImpactRatioFloor", "--out", out, "--json", "-")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout[result.stdout.index("{") :])
    assert (document["k"], document["selection"]) == (None, "score >= 0.5")
    assert document["remedies"][0]["selected_change"] == 0
    with out.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    above = {row["person"] for row in rows if float(row["score"]) >= 0.5}
    count = {job: sum(row["job"] == job for row in rows if row["person"] in above)
             for job in {row["job"] for row in rows}}  # fmt: skip
    chosen = [row for row in rows if int(row["new_position"]) <= count[row["job"]]]
    assert len(chosen) == len(above)
    assert {row["person"] for row in chosen} != above


def test_groups_must_be_named(file):
    result = run(file, "--query", "job", "--target", TARGET)
    assert result.exit_code == 2
    assert "--sensitive must name a column" in result.output


@pytest.mark.slow
def test_hostile_names_are_escaped(tmp_path):
    pytest.importorskip("altair")
    pytest.importorskip("jinja2")
    pytest.importorskip("vl_convert")
    file, page = written(tmp_path / "people.csv", female=HOSTILE), tmp_path / "page.html"
    with file.open() as lines:
        label = next(row[2] for row in csv.reader(lines) if row[2].startswith("<script>"))
    target = "sex=m selected at 3 <= 1.25"
    result = run(file, *GIVEN, "--target", target, "--report", page, "--json", tmp_path / "r.json")
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    text = page.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert label in json.loads((tmp_path / "r.json").read_text())["remedies"][0]["sentence"]


@pytest.mark.gate
def test_a_trained_model_has_its_features_tried(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "train.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["job", "sex", "skill", "club", "grade"])
        for at in range(400):
            sex = "f" if rng.random() < 0.5 else "m"
            skill, club = rng.normal(), rng.normal() + 2.0 * (sex == "m")
            out.writerow([at // 20, sex, skill, club, int(skill + club > 1)])
    config = tmp_path / "config.toml"
    config.write_text(
        '[data]\npath = "train.csv"\nquery = "job"\nrelevance = "grade"\n'
        'sensitive = ["sex"]\nfeatures = ["skill", "club"]\n'
        '[[models]]\nname = "boost"\nclass = "RankBoost"\nparams = { n_estimators = 20 }\n'
    )
    made = CliRunner().invoke(app, ["train", str(config), "--out", str(tmp_path / "model")])
    assert made.exit_code == 0, made.output
    result = run(
        path, "--model", tmp_path / "model", "--target", "sex=f selected at 5 >= 0.8",
        "--n-boot", "0", "--json", tmp_path / "r.json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    names = [each["name"] for each in json.loads((tmp_path / "r.json").read_text())["remedies"]]
    assert "Without club" in names
    assert "Cap skill" in names
