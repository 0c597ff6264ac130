"""Options that tell more of groups: what they read, and what they refuse."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from equirank.cli.app import app

SHORT = ["--sensitive", "race", "--n-boot", "20", "--k", "5", "--json", "-"]


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "people.csv"
    with open(path, "w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["list", "score", "race", "p_b", "p_w", "verified", "office"])
        for at in range(500):
            black = rng.random() < 0.5
            label = ("Black" if black else "White") if rng.random() < 0.7 else ""
            p = 0.9 if black else 0.1
            guess = ["", ""] if label else [p, f"{1 - p:.1f}"]
            true = ("black" if black else "White") if rng.random() < 0.6 else ""
            rows.writerow([at // 20, rng.normal() - black, label, *guess, true, "xy"[at % 2]])
    return path


def matrix(tmp_path, text):
    path = tmp_path / "matrix.csv"
    path.write_text(text, encoding="utf-8")
    return f"race={path}"


COUNTS = "true,recorded,count,office\n" + "".join(
    f"{a},{b},{180 if a == b else 20},{office}\n"
    for office in "xy"
    for a in ("Black", "White")
    for b in ("Black", "White")
)


def run(file, *options):
    result = CliRunner().invoke(app, ["audit", str(file), *SHORT, *options])
    return result, json.loads(result.stdout) if result.exit_code == 0 else None


def told(document):
    return document["facts"]["labels"]["attributes"]["race"]["knowledge"]


@pytest.mark.slow
def test_each_option_reaches_the_audit(file, tmp_path):
    assert told(run(file)[1]) == "missing"
    _, found = run(file, "--probabilities", "race=Black:p_b,White:p_w")
    assert told(found) == "probabilities"
    assert "frechet" in found["tables"]["labels"]["method"]["values"]
    commas = file.read_text(encoding="utf-8").replace(",0.9,0.1,", ',"0,9","0,1",')
    file.write_text(commas.replace(",0.1,0.9,", ',"0,1","0,9",'), encoding="utf-8")
    _, again = run(file, "--probabilities", "race=black:p_b,WHITE:p_w")  # spelt otherwise
    assert again["tables"]["labels"] == found["tables"]["labels"]
    _, found = run(file, "--true-label", "race=verified", "--checked-rate", "0.6")
    assert told(found) == "checked"
    assert [each["name"] for each in found["facts"]["attributes"]] == ["race"]
    assert len(found["facts"]["attributes"][0]["groups"]) == 2  # "black" is spelt as "Black"
    _, found = run(file, "--label-error", matrix(tmp_path, COUNTS))
    assert told(found) == "matrix"


@pytest.mark.slow
def test_an_attribute_of_probabilities_alone(file):
    options = ["--n-boot", "20", "--k", "5", "--json", "-"]
    given = ["--probabilities", "race=b:p_b,w:p_w"]
    result = CliRunner().invoke(app, ["audit", str(file), *options, *given])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["facts"]["labels"]["attributes"]["race"]["unknown"] == 1
    result = CliRunner().invoke(app, ["audit", str(file), *options[:4], *given])
    assert "What can be said of everyone is in the table of labels." in result.stdout
    assert "nan" not in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--probabilities", "race"], "--probabilities must be COLUMN=..., got 'race'"),
        (["--probabilities", "race=Black"], "must be GROUP:COLUMN,GROUP:COLUMN, got 'Black'"),
        (["--probabilities", "race=Black:p_b,Black:p_w"], "must name 'Black' once"),
        (["--probabilities", "race=Black:nothing"], "'nothing'"),
        (["--probabilities", "race=Black:p_b"], "must be 1 in sum"),
        (["--true-label", "sex=verified"], "--sensitive must name 'sex'"),
        (["--checked-rate", "0.5"], "--checked-rate needs --true-label"),
        (
            ["--true-label", "race=verified", "--checked-rate", "2"],
            "must be a probability in (0, 1",
        ),
        (["--label-error", "race=missing.csv"], "missing.csv: cannot be read"),
    ],
)
def test_options_that_cannot_be_read_are_refused(file, options, message):
    result, _ = run(file, *options)
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("true,recorded\nBlack,White\n", "the columns must be true, recorded"),
        ("true,recorded,count\n", "must have a line of column names and a row"),
        ("true,recorded,count\nBlack,White\n", "line 2 must have 3 cells, got 2"),
        ("true,recorded,count\nBlack,White,x\n", "line 2 must have a number, got 'x'"),
        ("true,recorded,count\nB,W,1\nB,W,2\n", "line 3 repeats a pair"),
        (
            "true,recorded,probability\nBlack,Black,1\nWhite,White,0.5\n",
            "the probabilities of people who are 'White' must sum to 1, got 0.5",
        ),
        (
            "true,recorded,probability\nBlack,Black,1.5\n",
            "line 2 must have a probability in [0, 1]",
        ),
        ("true,recorded,count\nBlack,Black,-1\n", "line 2 must have a count of at least 0, got -1"),
        ("true,recorded,probability\nA,A,1\nB,B,1\n", "for each of the groups"),
        (COUNTS.replace(",y", ",z"), "must be one with a matrix"),
    ],
)
def test_matrices_that_cannot_be_read_are_refused(file, tmp_path, text, message):
    result, _ = run(file, "--label-error", matrix(tmp_path, text))
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")
