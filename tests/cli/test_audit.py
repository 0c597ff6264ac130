"""``equirank audit``: what it reads, says and writes, and how it ends."""

import gzip
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from command_notes import without_notes
from typer.testing import CliRunner
from waiting import LIMIT

from equirank import AuditResult, audit
from equirank.auditing import audit_page as render
from equirank.cli.app import app
from equirank.core.environment import require
from equirank.io import read_csv

TEXT = """query,sex,age,score,relevance,rank
q1,f,old,0.9,1,2
q1,m,old,0.5,0,1
q1,f,young,0.1,2,3
q2,m,young,0.7,0,1
q2,f,,0.6,1,2
q2,m,old,0.2,1,3
"""
SEX = ["--sensitive", "sex", "--n-boot", "20"]
RELEVANT = ["--relevance", "relevance"]
PAGE = "<!doctype html><title>page</title>"


@pytest.fixture(autouse=True)
def quick_page(monkeypatch):
    monkeypatch.setattr(render, "render", lambda result: PAGE)


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TEXT)
    return path


def run(*words):
    return CliRunner().invoke(app, ["audit", *map(str, words)])


def fails(*words):
    """Run, and give the one line on standard error."""
    done = run(*words)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    (line,) = without_notes(done.stderr).splitlines()
    assert line.startswith("equirank: ")
    return line.removeprefix("equirank: ")


def read(*words):
    done = run(*words, "--json")
    assert (done.exit_code, without_notes(done.stderr)) == (0, ""), done.output
    return AuditResult.from_json(done.stdout)


def test_text_has_the_verdict_the_groups_and_how_to_get_the_page(people):
    done = run(people, *SEX)
    assert (done.exit_code, without_notes(done.stderr)) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "Audit of people.csv"
    assert "This audit covers 6 people in 2 lists of 3, compared by sex." in lines
    reason = "one side has fewer than 5 people in the lists that contain both"
    assert f"- This report tests no difference between groups: {reason}." in lines
    at = lines.index("sex")
    assert lines[at + 1].split() == [
        *("group", "people", "share", "exposure", "in", "top", "1", "mean", "position"),
        *("lower", "by", "interval"),
    ]
    assert lines[at + 2].split()[:3] == ["f", "3", "50%"]
    assert lines[-1] == "For the full report with charts, add --out report.html"
    assert "\x1b" not in done.stdout


def test_the_page_and_the_json_are_written(people, tmp_path):
    page, told = tmp_path / "report.html", tmp_path / "told.json"
    done = run(people, *SEX, "--out", page, "--json", told)
    assert done.exit_code == 0, done.output
    assert page.read_text() == PAGE
    assert f"Full report: {page}" in done.stdout
    assert AuditResult.from_json(told).facts["title"] == "people.csv"
    assert {each.name for each in tmp_path.iterdir()} == {
        *("people.csv", "report.html", "told.json")
    }


@pytest.mark.slow
def test_it_is_the_audit_of_the_library(people):
    options = ["--score", "score", "--k", "1,2", "--protected", "sex=f", "--seed", "3"]
    result = read(people, *SEX, *RELEVANT, "--sensitive", "age", *options, "--level", "0.9")
    data = read_csv(
        people, score="score", sensitive=["sex", "age"], features=(), missing_sensitive="unknown"
    )
    expected = audit(
        data, k=[1, 2], protected="sex=f", n_boot=20, random_state=3, level=0.9, title="people.csv"
    )
    assert result == expected
    assert [each["unknown"] for each in result.facts["attributes"]] == [0, 1, 1]
    assert result.facts["ks"] == [1, 2]


def test_given_positions_and_no_relevance(people):
    result = read(people, *SEX, "--position", "rank")
    assert result.facts["positions_given"]
    assert not result.facts["has_score"]
    bare = people.with_name("bare.csv")
    bare.write_text("sex,score\nf,2\nm,1\nf,0\n")
    result = read(bare, *SEX)
    assert not result.facts["has_relevance"]
    assert result.facts["n_queries"] == 1


@pytest.mark.slow
def test_formats(people, tmp_path):
    expected = read(people, *SEX, *RELEVANT)
    packed = tmp_path / "people.csv.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert (
        read(packed, *SEX, *RELEVANT).tables["gaps"].to_json() == expected.tables["gaps"].to_json()
    )
    pandas = require("pandas", "data")
    frame = pandas.read_csv(people)
    frame.to_parquet(tmp_path / "people.parquet")
    found = read(tmp_path / "people.parquet", *SEX, *RELEVANT)
    assert found.tables["gaps"].to_json() == expected.tables["gaps"].to_json()
    letor = tmp_path / "people.letor"
    rows = [
        f"{row.relevance} qid:{row.query[1:]} 1:{row.score} 2:{1 if row.sex == 'f' else 2}"
        for row in frame.itertuples()
    ]
    letor.write_text("\n".join(rows) + "\n")
    by_score = read(people, *SEX, *RELEVANT, "--score", "score")
    found = read(letor, "--sensitive", "2", "--score", "1", "--n-boot", "20")
    np.testing.assert_array_equal(found.tables["gaps"]["value"], by_score.tables["gaps"]["value"])


def test_rules_that_hold_end_with_1_and_the_page_is_still_written(people, tmp_path):
    page = tmp_path / "report.html"
    rules = ["--fail-on", "raw: ExposureGap>0.001", "--fail-on", "NDCG@10>5"]
    done = run(people, *SEX, *RELEVANT, "--out", page, *rules)
    assert done.exit_code == 1, done.output
    (line,) = without_notes(done.stderr).splitlines()
    assert line.startswith("equirank: --fail-on holds: raw: ExposureGap>0.001: value of sex is 0.")
    assert line.endswith("; chance may do this")
    assert page.exists()
    assert "Audit of people.csv" in done.stdout


def test_rules_that_do_not_hold_end_with_0(people):
    done = run(people, *SEX, "--fail-on", "ExposureGap>0.99", "--fail-on", "ExposureGap.low>0.9")
    assert (done.exit_code, without_notes(done.stderr)) == (0, "")


def test_relevance_counts_only_if_it_is_named(people):
    assert not read(people, *SEX).facts["has_relevance"]
    assert read(people, *SEX, *RELEVANT).facts["has_relevance"]


def test_a_rule_may_name_any_metric(people):
    result = read(people, *SEX, *RELEVANT, "--fail-on", "RKL(step=2)@3>10")
    assert "RKL(step=2)@3" in result.tables["gaps"]["metric"]
    assert run(people, *SEX, *RELEVANT, "--fail-on", "Precision@1<=1").exit_code == 1


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("NDGC@10>0.3", "did you mean 'NDCG'"),
        ("RND@50", 'it looks like "sex=female selected at 10 < 0.8"'),
        ("sex=g above < 0.4", "must name a group of sex (f, m), got 'g'"),
        ("sex=f above < 0.6", "must hold for equal groups"),
        ("sex=f above < 0.4", "one side has fewer than 5 people"),
        ('RND(by="age")>0.3', "by must be one of the attributes 'sex', got 'age'"),
        ("CSDCG<0.3", "CSDCG needs costs"),
    ],
)
def test_rules_that_are_wrong_end_with_2(people, tmp_path, rule, said):
    page = tmp_path / "report.html"
    assert said in fails(people, *SEX, "--out", page, "--fail-on", rule)
    assert not page.exists()


def test_a_rule_that_cannot_be_judged_ends_with_2(people):
    assert "cannot be evaluated" in fails(
        people, *SEX, "--n-boot", "0", "--fail-on", "ExposureGap.low>0.3"
    )


def with_ids(text, column="id"):
    header, *rows = text.splitlines()
    return "\n".join([f"{column},{header}", *(f"p{i},{row}" for i, row in enumerate(rows))]) + "\n"


def test_against(tmp_path):
    one, other = tmp_path / "after.csv", tmp_path / "before.csv"
    words = [one, *SEX, *RELEVANT, "--score", "score", "--against", other, "--id", "id"]
    one.write_text(with_ids(TEXT))
    other.write_text(with_ids(TEXT.replace("0.9", "0.0")))
    result = read(*words)
    assert result.facts["against"]["title"] == "before.csv"
    assert len(result.tables["comparison"]) >= 3
    changes = [claim for claim in result.claims if claim.quantity.startswith("change of")]
    assert {claim.status for claim in changes} == {"described"}  # there are six people only
    # Person 0 was last and is first of three: 1.5 positions in one of two lists.
    assert [claim.estimate for claim in changes if claim.unit == "positions"] == [-0.75]
    other.write_text(with_ids(TEXT))
    assert "Nobody moved." in read(*words).verdict


@pytest.mark.slow
def test_a_second_file_needs_ids(people, tmp_path):
    other = tmp_path / "before.csv"
    words = [*SEX, "--score", "score", "--against", other]
    other.write_text(TEXT.replace("0.9", "0.0"))
    assert "--id on the command line" in fails(people, *words)
    people.write_text(with_ids(TEXT, "person"))
    other.write_text(with_ids(TEXT.replace("0.9", "0.0"), "person"))
    assert "--id on the command line" in fails(people, *words)
    assert read(people, *words, "--id", "person").facts["against"]["shared_queries"] == 2
    other.write_text(with_ids(TEXT, "person").replace("p2,", "p0,"))
    assert " must differ within a list, got 'p0' twice in list 'q1'" in fails(
        people, *words, "--id", "person"
    )
    other.write_text(with_ids(TEXT, "person").replace("p2,", "p9,"))
    result = read(people, *words, "--id", "person")
    assert "No change is stated: the two rankings have different people." in result.verdict
    other.write_text(with_ids(TEXT, "person").replace("q1,m", "q1,f"))
    result = read(people, *words, "--id", "person")
    assert "No change is stated: the two rankings have different labels of sex." in result.verdict


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--sensitive must name a column"),
        (["--sensitive", "sxe"], "did you mean 'sex'"),
        ([*SEX, "--k", "10,x"], "--k must be positive whole numbers"),
        ([*SEX, "--k", "0"], "--k must be positive whole numbers"),
        ([*SEX, "--k", "1" * 5000], "--k must be positive whole numbers"),
        ([*SEX, "--protected", "sex=x"], "protected of 'sex' must be one of the groups"),
        ([*SEX, "--level", "2"], "level"),
        ([*SEX, "--metrics", "NDGC"], "did you mean 'NDCG'"),
        ([*SEX, "--against", "nowhere.csv"], "nowhere.csv: file not found"),
        ([*SEX, "--out", "nowhere/report.html"], "--out must be in an existing folder"),
        ([*SEX, "--out", "."], "--out must be a file, got the folder"),
    ],
)
def test_bad_input(people, words, said):
    assert said in fails(people, *words)


def test_the_data_is_never_written_over(people):
    assert "--out must not be an input" in fails(people, *SEX, "--out", people)
    assert people.read_text() == TEXT
    assert "file not found" in fails(people.with_name("none.csv"), *SEX)


def test_a_page_that_cannot_be_written(people, tmp_path, monkeypatch):
    def full(result, path):
        raise OSError(28, "No space left on device", path)

    monkeypatch.setattr(AuditResult, "to_html", full)
    done = run(people, *SEX, "--out", tmp_path / "report.html")
    assert done.exit_code == 2
    assert "report.html: cannot be written: No space left on device" in done.stderr


def test_a_missing_package_is_told_before_the_work(people, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    said = fails(people, *SEX, "--out", tmp_path / "report.html")
    assert said.endswith('altair is not installed; it comes with: pip install "equirank[report]"')
    assert run(people, *SEX).exit_code == 0


def test_hostile_names_cannot_steer_the_terminal(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex\x1b[31m,score\nf\x1b[2J,2\nm,1\n")
    done = run(path, "--sensitive", "sex\x1b[31m", "--n-boot", "0")
    assert done.exit_code == 0
    assert "\x1b" not in done.output
    assert json.dumps("\\x1b[31m")[1:-1].replace("\\\\", "\\") in done.stdout


@pytest.fixture
def biased(tmp_path):
    """Ten lists of 20 in which nobody of group f is among the first five, and a fair team."""
    path = tmp_path / "biased.csv"
    rng = np.random.default_rng(0)
    rows = [
        f"{q},{'f' if i > 9 else 'm'},{rng.choice(['red', 'blue'])},{100 - i + rng.random() * 8}"
        for q in range(10)
        for i in range(20)
    ]
    path.write_text("query,sex,team,score\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.slow
def test_gates_of_comparisons(biased):
    words = [biased, *SEX, "--sensitive", "team", "--k", "5"]
    rules = ["--fail-on", "sex=f selected < 0.8", "--fail-on", "any team selected < 0.8"]
    done = run(*words, *rules)
    assert done.exit_code == 1, done.output
    (line,) = without_notes(done.stderr).splitlines()
    assert line.startswith("equirank: --fail-on holds: sex=f selected < 0.8: selected of sex=f at ")
    assert run(*words, "--fail-on", "any finding in team").exit_code == 0
    done = run(*words, "--fail-on", "any finding")
    assert done.exit_code == 1
    assert all(" any finding: " in line for line in without_notes(done.stderr).splitlines())


def test_a_gate_that_cannot_fire_is_told_without_changing_the_exit_code(biased):
    done = run(biased, *SEX, "--k", "5", "--fail-on", "AdverseImpactRatio@5 < 0.001")
    assert done.exit_code == 0, done.output
    (line,) = without_notes(done.stderr).splitlines()
    assert line.startswith("equirank: note: AdverseImpactRatio@5 < 0.001: the corrected value")
    assert "so this gate cannot fire" in line


@pytest.mark.gate
def test_an_interrupt_leaves_nothing_behind(tmp_path):
    rows = [f"{i % 40},{'fm'[i % 2]},{(i * 7919) % 1000}" for i in range(60_000)]
    path = tmp_path / "people.csv"
    path.write_text("query,sex,score\n" + "\n".join(rows) + "\n")
    program = (
        "from importlib import import_module\n"
        "from equirank.core.environment import listening\n"
        "told = []\n"
        "def tell(share, words):\n"
        "    if share > 0 and not told:\n"
        "        told.append(share)\n"
        "        print('at work', flush=True)\n"
        "import_module('equirank.auditing.audit').listening = lambda call: listening(tell)\n"
        "from equirank.cli.app import main; main()\n"
    )
    start = [sys.executable, "-c", program, "audit", str(path)]
    page = ["--out", str(tmp_path / "report.html"), "--json", str(tmp_path / "told.json")]
    running = subprocess.Popen(
        [*start, "--sensitive", "sex", "--n-boot", "100000", *page],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"EQUIRANK_PROGRESS": "0"},
    )
    assert running.stdout.readline() == b"at work\n"
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=LIMIT)
    assert running.returncode == 130, said
    assert b"Traceback" not in said
    assert [each.name for each in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.slow
def test_a_column_of_names_is_refused_unless_allowed(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("name,score,relevance\n" + "".join(f"n{j},{j},{j % 2}\n" for j in range(21)))
    words = [path, "--sensitive", "name", "--n-boot", 0]
    assert "got 21 different values in 21 rows" in fails(*words)
    assert "--max-groups 21" in fails(*words, "--max-groups", 20)
    assert run(*words, "--max-groups", 21).exit_code == 0


def test_small_groups_third_values_totals_and_copies_are_printed(tmp_path):
    rows = [f"{q},{'fm'[i % 2]},{100 * q + i},{'yes' if i < 4 else 'Pending' if i == 5 else 'no'}"
            for q in range(2) for i in range(10)]  # fmt: skip
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["qid,sex,score,hired", *rows, rows[0], "Summe,,999,", ""]))
    quick = ("--sensitive", "sex", "--n-boot", "0")
    done = run(str(path), *quick, "--selected", "hired", "--yes", "yes")
    assert done.exit_code == 0
    for line in (
        'note: Counted as no in the decision ("hired"): "Pending" (2); leave cells blank where '
        "nothing was decided.",
        "Warning: A row of totals seems to be among the people, in row 22 of people.csv, not "
        'counting the header (list "Summe"): leave it out of the data if it is one.',
        "note: 1 row of 22 is equal to an earlier row of the same list in all columns that were "
        "read: it is a copy, or a person whom an id would tell apart. Nothing was removed.",
    ):
        assert line in done.stdout.splitlines()
    done = run(str(path), *quick, "--k", "3")
    assert 'note: Groups "f" and "m" (sex) are too small for a reliable' in done.stdout
