"""Provenance: what every report says about its files, settings and date, and equal bytes."""

import datetime
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from typer.testing import CliRunner

from equirank import AuditResult, DataError, FormatError, as_ranking_data, audit, compare
from equirank.cli.app import app
from equirank.core.source import Source
from equirank.core.table import Table
from equirank.datasets import make_ranking
from equirank.rankers import RankBoost
from equirank.reports.page import write_page
from equirank.reports.provenance import Provenance, file_record, report_date

QUICK = {"n_boot": 0, "n_permutations": 0}
HOSTILE = '<img src=x onerror="alert(1)">'
PAGE = """{% extends "shell.html" %}{% block main %}<p>main</p>{% endblock %}"""
CONFIG = """
metrics = ["NDCG@5", "ExposureGap"]
[data]
path = "people.csv"
sensitive = ["sex"]
features = ["a", "b"]
[split]
test = 0.25
[[models]]
name = "boost"
class = "RankBoost"
params = { n_estimators = 3 }
[[models]]
name = "wrong"
class = "RankBoost"
rerank = { class = "DetGreedy", params = { by = "age" } }
"""


def write_inputs(folder):
    """A file of people and a configuration, in a new folder."""
    folder.mkdir()
    data = make_ranking(n_queries=8, n_items=10, random_state=0)
    sex = np.where(next(iter(data.sensitive.values())).codes == 0, "f", "m")
    lines = ["query,id,relevance,score,sex,a,b"]
    for at in range(data.n_rows):
        row = [data.query_of_rows()[at], f"p{at}", data.y[at], data.X[at, 0], sex[at]]
        lines.append(",".join(map(str, [*row, *data.X[at, :2]])))
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "c.toml").write_text(CONFIG)
    return folder


def run(*words):
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    return done


# ---- date and texts ----


def test_the_date(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert report_date("2026-07-31") == "2026-07-31"
    assert report_date(datetime.date(2026, 7, 31)) == "2026-07-31"
    assert report_date(datetime.datetime(2026, 7, 31, 12)) == "2026-07-31"
    assert report_date() == "1970-01-01"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86400 * 365))
    assert report_date() == "1971-01-01"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    before = datetime.date.today().isoformat()
    assert before <= report_date() <= datetime.date.today().isoformat()  # also at midnight


@pytest.mark.parametrize("wrong", ["July", "2026-7-1", "2026-02-30", "20260731", 7])
def test_a_wrong_date(wrong):
    with pytest.raises(DataError, match="date must be written as 2026-07-31, got"):
        report_date(wrong)


@pytest.mark.parametrize("wrong", ["now", "1e3", "9" * 30])
def test_a_wrong_environment(monkeypatch, wrong):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
    with pytest.raises(DataError, match="SOURCE_DATE_EPOCH must be seconds since 1970, got"):
        report_date()


def test_texts_are_given_or_not():
    record = Provenance.given(title="a", purpose=" ", date="2026-07-31")
    assert (record.title, record.purpose, record.author) == ("a", "not given", "not given")
    with pytest.raises(DataError, match=r"author must be a text of at most 1,000 .*got 7"):
        Provenance.given(author=7)
    with pytest.raises(DataError, match=r"title must be .* got 1,001 characters"):
        Provenance.given(title="x" * 1001)


# ---- files and settings ----


def source():
    return Source(
        "people.csv", "ab" * 32, 5, {"format": "csv", "encoding": "UTF-8"},
        {"score": ("points", "named"), "query": ("job", "recognised by its name")},
        {"sex": (("F ", 2, "f"), ("?", 1, None))}, ("One row is empty.",),
    )  # fmt: skip


def test_the_record_of_a_file():
    data = replace(as_ranking_data(score=[1, 2, 3]), source=source())
    assert file_record(data, 2) == {
        "name": "people.csv", "sha256": "ab" * 32, "fingerprint": None, "rows_read": 5,
        "rows_used": 2, "how": {"format": "csv", "encoding": "UTF-8"},
        "columns": [
            {"role": "score", "column": "points", "reason": "named"},
            {"role": "query", "column": "job", "reason": "recognised by its name"},
        ],
        "labels": [
            {"attribute": "sex", "label": "F ", "rows": 2, "became": "f"},
            {"attribute": "sex", "label": "?", "rows": 1, "became": None},
        ],
        "remarks": ["One row is empty."],
    }  # fmt: skip


def test_data_in_memory_have_a_fingerprint():
    data = as_ranking_data(score=[1, 2, 3])
    record = file_record(data)
    assert (record["name"], record["sha256"]) == ("in memory", None)
    assert (record["rows_read"], record["fingerprint"]) == (3, data.fingerprint())
    other = file_record(as_ranking_data(score=[1, 2, 4]))
    assert other["fingerprint"] != record["fingerprint"]


def test_settings_are_plain_and_sorted():
    record = Provenance().with_inputs(
        a=np.float64(0.5), b={"z", "a"}, c=(1, np.int64(2)), d={"x": object()}, e=float("inf")
    )
    assert record.settings == {
        "a": 0.5, "b": ["a", "z"], "c": [1, 2], "d": {"x": "<object object>"}, "e": "inf"
    }  # fmt: skip
    assert json.loads(json.dumps(record.to_dict())) == record.to_dict()


def test_a_file_occurs_once():
    data = replace(as_ranking_data(score=[1, 2, 3]), source=source())
    assert len(Provenance().with_inputs(data, data).with_inputs(data).files) == 1


def test_the_columns_of_a_frame_are_named_or_recognised():
    frame = {
        "points": [3, 2, 1, 0],
        "job": [1, 1, 2, 2],
        "query": [1, 1, 2, 2],
        "sex": list("fmfm"),
    }
    result = audit(frame, score="points", sensitive="sex", **QUICK)
    (file,) = result.provenance.files
    assert {row["role"]: (row["column"], row["reason"]) for row in file["columns"]} == {
        "query": ("query", "recognised by its name"),
        "score": ("points", "named"),
        "sensitive (sex)": ("sex", "named"),
    }
    assert file["name"] == "in memory"


def test_an_audit_in_python():
    data = as_ranking_data(score=[4, 3, 2, 1], sensitive_features={"sex": list("mmff")})
    result = audit(
        data, title="hiring", purpose="review", period="2025", author="R", date="2026-07-31"
    )
    record = result.provenance
    assert result.facts["title"] == record.title == "hiring"
    assert record.heading == {
        "purpose": "review", "period": "2025", "author": "R", "date": "2026-07-31"
    }  # fmt: skip
    assert record.settings["random_state"] == 0
    assert record.settings["n_permutations"] == 1999
    again = AuditResult.from_json(result.to_json())
    assert again.provenance == record
    document = json.loads(result.to_json())
    del document["provenance"]
    assert AuditResult.from_json(json.dumps(document)).provenance == Provenance()
    document["provenance"] = {"nonsense": 1}
    with pytest.raises(FormatError, match="parts are missing"):
        AuditResult.from_json(json.dumps(document))


def test_the_name_of_the_file_is_the_title_of_the_page():
    data = as_ranking_data(score=[4, 3, 2, 1], sensitive_features={"sex": list("mmff")})
    assert audit(data, **QUICK).facts["title"] == "ranking"
    named = audit(replace(data, source=source()), **QUICK)
    assert named.facts["title"] == "people.csv"
    assert named.provenance.title == "not given"


def test_a_comparison_in_python():
    data = make_ranking(n_queries=6, n_items=8, random_state=0)
    result = compare({"b": RankBoost(n_estimators=2)}, data, "NDCG@5", cv=2, author="R")
    record = result.provenance
    assert (record.author, record.files[0]["rows_used"]) == ("R", 48)
    assert record.settings["metrics"] == ["NDCG@5"]
    assert record.settings["seeds"] == [0]


# ---- pages ----


@pytest.fixture(scope="module")
def page():
    pytest.importorskip("jinja2")
    data = as_ranking_data(score=[1, 2, 3])
    names = Source(
        HOSTILE, "ab" * 32, 5, {HOSTILE: HOSTILE}, {HOSTILE: (HOSTILE, HOSTILE)},
        {HOSTILE: ((HOSTILE, 2, HOSTILE),)}, (HOSTILE,),
    )  # fmt: skip
    given = dict.fromkeys(("title", "purpose", "period", "author"), HOSTILE)
    record = Provenance.given(**given, date="2026-07-31")
    record = record.with_inputs(replace(data, source=names), **{HOSTILE: {HOSTILE: [HOSTILE]}})
    record = replace(record, command=HOSTILE, profile={"id": HOSTILE, "checked": HOSTILE})
    return write_page(
        PAGE, kind="test", title="t", first="main", provenance=record,
        tables={"a": Table({"a": [1]})}, charts={}, json_name="a.json",
    )  # fmt: skip


@pytest.mark.slow
def test_everything_from_users_is_escaped(page):
    shown = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert "<img" not in shown
    # Heading 3; title, command, profile 2, setting 3, file 1 + how 2 + column 3 + label 3 + remark.
    assert shown.count("&lt;img src=x") >= 20


def test_where_the_page_shows_it(page):
    top, _, below = page.partition("<p>main</p>")
    assert top.count("<dt>Purpose</dt>") == 1
    assert "2026-07-31" in top
    assert "<details" not in top
    folded = below[below.index("<details") : below.index("</details>")]
    assert '<h2 id="provenance">' in folded
    assert "ab" * 32 in folded
    assert "5 read, 3 used" in folded
    assert '<a href="#provenance">' in top
    assert "details::details-content { content-visibility: visible" in page


# ---- commands ----

HEADING = ("--title", "Yearly", "--purpose", "review", "--period", "2025", "--author", "R. O.")
DATED = (*HEADING, "--date", "2026-07-31")


def audit_words(folder):
    quick = ("--n-boot", 20, "--sensitive", "sex", "--id", "id", "--against", folder / "people.csv")
    return ["audit", folder / "people.csv", *quick, "--out", folder / "r.html"]


def rerank_words(folder):
    method = ("--method", "DetGreedy", "--sensitive", "sex", "--report", folder / "r.html")
    return ["rerank", folder / "people.csv", *method, "--out", folder / "new.csv"]


def compare_words(folder):
    return ["compare", folder / "c.toml", "--out", folder / "results", "--n-jobs", 1]


def train_words(folder):
    return ["train", folder / "c.toml", "--out", folder / "model", "--n-boot", 20]


COMMANDS = {"audit": audit_words, "rerank": rerank_words, "compare": compare_words}
COMMANDS |= {"train": train_words}
REPORTS = {"audit": "r.html", "rerank": "r.html", "compare": "results/report.html"}
REPORTS |= {"train": "model/card.html"}


@pytest.mark.parametrize(
    "command", ["audit", "compare", "train", pytest.param("rerank", marks=pytest.mark.gate)]
)
@pytest.mark.gate
def test_equal_runs_in_two_folders_write_equal_bytes(tmp_path, command):
    found = []
    for name in ("one", "another place"):
        folder = write_inputs(tmp_path / name)
        run(*COMMANDS[command](folder), *DATED, f"--json={folder / (name + '.txt')}")
        made = [(folder / (name + ".txt")).read_bytes(), (folder / REPORTS[command]).read_bytes()]
        assert str(tmp_path).encode() not in b"".join(made)
        found.append(made)
    assert found[0] == found[1]
    document = json.loads(found[0][0])["provenance"]
    assert document["title"] == "Yearly"
    assert document["date"] == "2026-07-31"
    assert document["command"].startswith(f"equirank {command} ")
    assert "/" not in document["command"]
    assert not re.search(r"--out|--json|--report", document["command"])
    assert document["command"].endswith("--author 'R. O.' --date 2026-07-31")
    people = (tmp_path / "one/people.csv").read_bytes()
    assert document["files"][0]["name"] == "people.csv"
    assert document["files"][0]["sha256"] == sha256(people).hexdigest()
    assert document["files"][0]["rows_used"] == 80
    names = [file["name"] for file in document["files"]]
    assert names == ["people.csv"] + ["c.toml"] * (command in ("compare", "train"))
    page = found[0][1].decode()
    assert '<bdi class="name clamp">Yearly</bdi>' in page
    assert "R. O.</bdi>" in page


@pytest.mark.gate
def test_two_processes_with_other_hashes_write_equal_bytes(tmp_path):
    folder = write_inputs(tmp_path / "one")
    found = []
    for seed in ("1", "2"):
        words = ["audit", "people.csv", "--sensitive", "sex", "--n-boot", "20"]
        environment = os.environ | {"PYTHONHASHSEED": seed, "SOURCE_DATE_EPOCH": "1000000000"}
        done = subprocess.run(
            [sys.executable, "-m", "equirank", *words, "--json", f"{seed}.json"],
            cwd=folder, env=environment, capture_output=True, check=True,
        )  # fmt: skip
        assert done.returncode == 0
        found.append((folder / f"{seed}.json").read_bytes())
    assert found[0] == found[1]
    assert json.loads(found[0])["provenance"]["date"] == "2001-09-09"


def test_a_wrong_date_is_one_line(tmp_path):
    folder = write_inputs(tmp_path / "one")
    done = CliRunner().invoke(app, [*map(str, audit_words(folder)), "--date", "July"])
    assert done.exit_code == 2
    assert done.stderr == "equirank: --date must be written as 2026-07-31, got 'July'\n"
    assert not (folder / "r.html").exists()


def test_an_input_may_follow_an_equals_sign(tmp_path):
    folder = write_inputs(tmp_path / "one")
    words = ["audit", str(folder / "people.csv"), "--sensitive=sex", "--id=id", "--n-boot=0"]
    words += [f"--against={folder / 'people.csv'}", "--json"]
    document = json.loads(run(*words).stdout)["provenance"]
    assert document["command"] == (
        "equirank audit people.csv --sensitive=sex --id=id --n-boot=0 --against=people.csv"
    )
    assert document["author"] == "not given"
