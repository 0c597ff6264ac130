"""equirank sums, and equirank audit and evaluate of stored sums and of logs."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from equirank.cli import sums as sums_command
from equirank.cli.app import app
from equirank.io.files import file_digest

PEOPLE = ["--sensitive", "sex", "--relevance", "y"]


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def log(day, n=400, groups=("f", "m")):
    rng = np.random.default_rng(day)
    sex = rng.choice(groups, n)
    return pd.DataFrame(
        {
            "qid": np.arange(n) // 10 + 1000 * day,
            "score": np.round(rng.normal(size=n) + (sex == "m"), 2),
            "y": rng.integers(0, 2, n),
            "sex": sex,
        }
    )


@pytest.fixture
def days(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log(0).to_parquet("day0.parquet")
    log(1, groups=("f", "m", "x")).to_parquet("day1.parquet")
    return tmp_path


def claims(path):
    found = json.loads(path.read_text())["claims"]
    return {claim["id"]: claim["estimate"] for claim in found}


@pytest.mark.slow
def test_days_are_summed_added_and_audited(days):
    first = run("sums", "day0.parquet", "--out", "day0.sums", *PEOPLE)
    assert first.exit_code == 0, first.output
    assert "sums of 400 rows in 40 lists" in first.stdout
    assert "note: day0.parquet: query: column 'qid' (recognised by its name)" in first.stderr
    second = run("sums", "day1.parquet", "--out", "day1.sums", *PEOPLE, "--like", "day0.sums")
    assert second.exit_code == 0, second.output
    few = ["--n-boot", 20, "--json"]
    merged = run("audit", "day0.sums", "day1.sums", *few, "merged.json")
    assert merged.exit_code == 0, merged.output
    assert "800 people in 80 lists" in merged.stdout
    whole = run("audit", "day0.parquet", "day1.parquet", *PEOPLE, *few, "whole.json")
    assert whole.exit_code == 0, whole.output
    assert "Audit of day0.parquet and 1 more" in whole.stdout
    found, wanted = claims(days / "merged.json"), claims(days / "whole.json")
    assert found.keys() == wanted.keys()
    assert "\nx " in merged.stdout  # the group of the second day
    for name, estimate in wanted.items():
        assert found[name] == pytest.approx(estimate, rel=1e-12, nan_ok=True)
    assert sorted(path.name for path in days.iterdir() if path.suffix == ".sums") == [
        "day0.sums",
        "day1.sums",
    ]


@pytest.mark.gate
def test_stages_and_a_reference_are_part_of_the_plan(days):
    for day in (0, 1):
        rows = log(day, groups=("f", "m", "x"))
        seen = rows["score"] > 0
        hired = np.where(seen, np.where(rows["y"] > 0, "yes", "no"), None)
        rows.assign(seen=seen, hired=hired).to_parquet(f"day{day}.parquet")
    ways = [*PEOPLE, "--stages", "seen,hired", "--reference", "sex=m"]
    for name, file in (("a", "day0.parquet"), ("b", "day1.parquet")):
        like = [] if name == "a" else ["--like", "a.sums"]
        found = run("sums", file, "--out", f"{name}.sums", *((like and PEOPLE) or ways), *like)
        assert found.exit_code == 0, found.output
    few = ["--n-boot", 20, "--json"]
    assert run("audit", "a.sums", "b.sums", *few, "a.json").exit_code == 0
    assert run("audit", "day0.parquet", "day1.parquet", *ways, *few, "b.json").exit_code == 0
    assert claims(days / "a.json") == pytest.approx(claims(days / "b.json"), rel=1e-12, nan_ok=True)
    stored = json.loads((days / "a.json").read_text())
    assert {claim["against"] for claim in stored["claims"]} == {"m"}
    assert any(claim["scope"].get("stage") == "hired" for claim in stored["claims"])


@pytest.mark.slow
def test_a_csv_file_is_summed_too(days):
    log(0).to_csv("day0.csv", index=False)
    assert run("sums", "day0.csv", "--out", "a.sums", *PEOPLE).exit_code == 0
    assert run("sums", "day0.parquet", "--out", "b.sums", *PEOPLE).exit_code == 0
    few = ["--n-boot", 20, "--json"]
    for name in "ab":
        assert run("audit", f"{name}.sums", *few, f"{name}.json").exit_code == 0
    assert claims(days / "a.json") == claims(days / "b.json")


@pytest.mark.gate
def test_scores_and_a_second_score_of_rows_logs_and_sums(days):
    for day in (0, 1):
        rows = log(day)
        rows["old"] = np.where(rows["sex"] == "m", rows["score"] - 0.5, rows["score"]).round(2)
        rows.to_parquet(f"day{day}.parquet")
        rows.to_csv(f"day{day}.csv", index=False)
    ways = ["--sensitive", "sex", "--score", "score", "--scored", "--against-score", "old"]
    few = ["--n-boot", 20, "--json"]
    for name, words in {
        "rows": ["audit", "day0.csv", *ways],
        "log": ["audit", "day0.parquet", *ways, "--memory", "100MB"],
    }.items():
        found = run(*words, *few, f"{name}.json")
        assert found.exit_code == 0, found.output
    first = run("sums", "day0.parquet", "--out", "a.sums", *ways)
    assert first.exit_code == 0, first.output
    assert run("audit", "a.sums", *few, "sums.json").exit_code == 0
    wanted = claims(days / "rows.json")
    names = {c["quantity"] for c in json.loads((days / "rows.json").read_text())["claims"]}
    assert {"scored", "score", "change of position", "change of exposure"} <= names
    for name in ("log", "sums"):
        assert claims(days / f"{name}.json") == pytest.approx(wanted, rel=1e-9)
    facts = json.loads((days / "log.json").read_text())["facts"]["against"]
    assert facts["title"] == 'the ranking by "old"'
    more = ["--sensitive", "sex", "--score", "score", "--against-score", "old", "--like", "a.sums"]
    second = run("sums", "day1.parquet", "--out", "b.sums", *more)
    assert second.exit_code == 0, second.output
    assert run("audit", "a.sums", "b.sums", *few, "both.json").exit_code == 0
    both = run("audit", "day0.csv", *ways, "--against", "day1.csv", "--id", "qid")
    assert "--against-score must be omitted beside --against" in both.output
    gate = run("audit", "day0.parquet", "day1.parquet", *ways[:4], "--fail-on", "f scored < 0.9")
    assert gate.exit_code == 1, gate.output


@pytest.mark.gate
def test_two_logs_are_compared_like_two_files(days):
    new = log(0).assign(person=lambda rows: np.arange(len(rows)))
    old = new.assign(score=np.where(new["sex"] == "m", new["score"] - 0.5, new["score"]).round(2))
    old = old.sample(frac=1.0, random_state=0)
    for name, rows in {"new": new, "old": old, "fewer": old[old["qid"] != 3]}.items():
        rows.to_parquet(f"{name}.parquet")
        rows.to_csv(f"{name}.csv", index=False)
    few, ways = ["--n-boot", 20, "--json"], [*PEOPLE, "--score", "score", "--id", "person"]
    for other in ("old", "fewer"):
        found = {}
        for kind in ("parquet", "csv"):
            pair = [f"new.{kind}", "--against", f"{other}.{kind}", *ways]
            made = run("sums", *pair, "--out", f"{other}.{kind}.sums")
            assert made.exit_code == 0, made.output
            for name, words in {
                f"{kind} stored": ["audit", f"{other}.{kind}.sums"],
                kind: ["audit", *pair, *(["--memory", "100MB"] if kind == "parquet" else [])],
            }.items():
                told = run(*words, *few, "found.json")
                assert told.exit_code == 0, told.output
                result = json.loads((days / "found.json").read_text())
                digests = [file_digest(days / f"{each}.{kind}") for each in ("new", other)]
                assert all(digest in json.dumps(result["provenance"]) for digest in digests)
                facts, wanted = result["facts"]["against"], 40 - (other == "fewer")
                assert (facts["n_queries"], facts["shared_queries"]) == (wanted, wanted)
                if "stored" not in name:
                    assert facts["title"] == f"{other}.{kind}"
                numbers = claims(days / "found.json").items()
                found[name] = {key: each for key, each in numbers if each is not None}
                quantities = {claim["quantity"] for claim in result["claims"]}
                assert ("change of position" in quantities) == (other == "old")
        for name, numbers in found.items():
            assert numbers == pytest.approx(found["csv"], rel=1e-9), name
    log(1).assign(person=lambda rows: np.arange(len(rows)) + 400).to_parquet("later.parquet")
    both = run("audit", "new.parquet", "--against", "old.parquet", *ways, "--unpaired",
               "later.parquet", "--memory", "100MB", *few, "both.json")  # fmt: skip
    assert both.exit_code == 0, both.output
    wrong = run("audit", "new.parquet", "--against", "old.parquet", *ways, "--against-score", "y",
                "--memory", "100MB")  # fmt: skip
    assert "--against-score must be omitted beside --against" in wrong.output


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_the_labels_of_both_logs_are_told(days, kind):
    new = log(0).assign(person=lambda rows: np.arange(len(rows)))
    old = new.assign(sex=np.where(new["sex"] == "f", " F", "n/a"))
    for name, rows in {"new": new.assign(sex=new["sex"].replace("m", "M ")), "old": old}.items():
        getattr(rows, f"to_{kind}")(f"{name}.{kind}", index=False)
    pair = [f"new.{kind}", "--against", f"old.{kind}", "--sensitive", "sex", "--score", "score"]
    pair += ["--query", "qid", "--id", "person"]
    memory = ["--memory", "100MB"] if kind == "parquet" else []
    for words in (["sums", *pair, "--out", "a.sums"], ["audit", *pair, *memory, "--n-boot", 0]):
        found = run(*words)
        assert found.exit_code == 0, found.output
        notes = [line for line in found.stderr.splitlines() if " sex: " in line]
        told = [[name in line for line in notes].count(True) for name in ("new.", "old.")]
        assert told == [1, 2], found.stderr
        assert f"new.{kind}: sex: 'M ' " in found.stderr
        assert f"old.{kind}: sex: 'n/a' " in found.stderr


@pytest.mark.slow
def test_metrics_of_gates_are_part_of_the_sums_of_a_log(days):
    log(2, 21_000).to_parquet("day2.parquet")  # more lists than a sample keeps
    options = [
        *PEOPLE,
        "--n-boot",
        20,
        "--protected",
        "sex=f",
        "--fail-on",
        "raw: ExposureGap@3 > 0.001",
    ]
    found = run("audit", "day0.parquet", "day2.parquet", *options)
    assert found.exit_code == 1, found.output
    assert "equirank: --fail-on holds: " in found.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["audit", "day0.sums", "day0.sums"], "the same file must not be added twice"),
        (["audit", "day0.sums", *PEOPLE], "--relevance must be omitted for day0.sums, whose plan"),
        (["audit", "day0.sums", "day1.parquet", *PEOPLE], "must all be stored sums, or none"),
        (
            ["audit", "day0.parquet", "day1.parquet", *PEOPLE, "--against", "day0.parquet"],
            "--id must name the column of people's ids beside --against",
        ),
        (
            ["audit", "day0.sums", "--against", "day0.parquet"],
            "--against must be omitted for day0.sums, which is audited from sums",
        ),
        (
            ["audit", "day0.sums", "--against-score", "old"],
            "--against-score must be omitted for day0.sums, whose plan",
        ),
        (
            ["sums", "day0.parquet", "--out", "b.sums", *PEOPLE, "--against-score", "older"],
            "--against-score must be one of the columns",
        ),
        (["audit", "day0.parquet", "day1.parquet"], "--sensitive must name a column"),
        (["audit", "no*.parquet", *PEOPLE], "no*.parquet: must match at least one file"),
        (["sums", "day0.parquet", "--out", "day0.sums", *PEOPLE], "--out must be a new or empty"),
        (
            [
                "sums",
                "day1.parquet",
                "--out",
                "b.sums",
                "--sensitive",
                "sex",
                "--like",
                "day0.sums",
            ],
            "relevance differs: True and False",
        ),
        (
            ["sums", "day0.csv", "--out", "b.sums", *PEOPLE, "--memory", "1GB"],
            "--memory must be omitted for day0.csv",
        ),
        (
            ["sums", "day0.parquet", "--out", "b.sums", *PEOPLE, "--memory", "much"],
            "--memory must be at least 16 MB",
        ),
        (
            ["sums", "day0.parquet", "--out", "b.sums", *PEOPLE, "--encoding", "utf-8"],
            "--encoding must be omitted for Parquet",
        ),
    ],
)
def test_bad_words_are_refused_in_one_line(days, words, said):
    if "day0.sums" in words:
        assert run("sums", "day0.parquet", "--out", "day0.sums", *PEOPLE).exit_code == 0
    log(0).to_csv("day0.csv", index=False)
    found = run(*words)
    assert found.exit_code == 2
    assert said in found.stderr
    assert found.stderr.count("equirank: ") == 1
    assert not (days / "b.sums").exists()


def test_large_parquet_files_are_logs(days, monkeypatch):
    seen = []
    monkeypatch.setattr(sums_command, "MANY_ROWS", 399)
    monkeypatch.setattr("equirank.cli.audit.log_sums", lambda *a, **_: seen.append(a[0]) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        raise run("audit", "day0.parquet", *PEOPLE).exception
    assert seen == [["day0.parquet"]]
    monkeypatch.setattr(sums_command, "MANY_ROWS", 400)
    assert run("audit", "day0.parquet", *PEOPLE, "--n-boot", 0).exit_code == 0


@pytest.mark.gate
def test_two_periods_are_compared(days):
    assert run("sums", "day0.parquet", "--out", "day0.sums", *PEOPLE).exit_code == 0
    like = ["--like", "day0.sums"]
    assert run("sums", "day1.parquet", "--out", "day1.sums", *PEOPLE, *like).exit_code == 0
    few = ["--n-boot", 20, "--json", "-"]
    stored = run("audit", "day1.sums", "--unpaired", "day0.sums", *few)
    assert stored.exit_code == 0, stored.output
    found = json.loads(stored.stdout)
    sizes = {"title": "day0.sums", "n_rows": 400, "n_people": None, "n_queries": 40}
    assert found["facts"]["unpaired"].items() >= sizes.items()
    changes = [claim for claim in found["claims"] if claim["scope"].get("unpaired")]
    assert changes
    logs = run("audit", "day1.parquet", "--unpaired", "day0.parquet", *PEOPLE, "--memory", "1GB",
               *few)  # fmt: skip
    assert logs.exit_code == 0, logs.output
    again = [c for c in json.loads(logs.stdout)["claims"] if c["scope"].get("unpaired")]
    keys = ("quantity", "group", "estimate")
    assert [[c[k] for k in keys] for c in again] == [[c[k] for k in keys] for c in changes]
    refused = run("audit", "day1.sums", "--unpaired", "day0.parquet")
    assert refused.exit_code == 2
    assert "--unpaired must be stored sums beside stored sums" in refused.stderr
    same = run("audit", "day1.sums", "--unpaired", "day1.sums")
    assert same.exit_code == 2
    assert "unpaired must be sums of another file, got the same" in same.stderr


@pytest.mark.slow
def test_logs_and_stored_sums_are_evaluated(days):
    rows = pd.concat(pd.read_parquet(f"day{day}.parquet") for day in (0, 1))
    rows.to_csv("both.csv", index=False)
    words = [*PEOPLE, "--by", "sex", "--metrics", "NDCG@5,RND(step=3)", "--n-boot", 50, "--json"]
    assert run("evaluate", "both.csv", *words, "rows.json").exit_code == 0
    done = run("evaluate", "day0.parquet", "day1.parquet", *words, "log.json")
    assert done.exit_code == 0, done.output
    assert "day0.parquet and 1 more: " in done.stdout
    stored, wanted = (json.loads((days / f"{n}.json").read_text()) for n in ("log", "rows"))
    assert stored["file"] == "day0.parquet and 1 more"
    assert stored["rows"] == wanted["rows"] == len(rows)
    for table in ("summary", "by_group"):
        for ours, theirs in zip(stored[table], wanted[table], strict=True):
            assert ours.keys() == theirs.keys()
            assert [ours["metric"], ours["group"]] == [theirs["metric"], theirs["group"]]
            assert ours["value"] == pytest.approx(theirs["value"], rel=1e-9)
    assert run("sums", "day0.parquet", "--out", "a.sums", *PEOPLE).exit_code == 0
    done = run("evaluate", "a.sums", "--n-boot", 0)
    assert done.exit_code == 0, done.output
    assert "NDCG@10" in done.stdout
    assert "ExposureGap" in done.stdout
    assert "RND(step=" in done.stdout


def test_one_parquet_file_is_evaluated_with_all_its_rows(days, monkeypatch):
    monkeypatch.setattr(sums_command, "MANY_ROWS", 10)
    log(0).rename(columns={"y": "relevance"}).to_parquet("day0.parquet")
    done = run("evaluate", "day0.parquet", "--sensitive", "sex", "--n-boot", 0)
    assert "NDCG@10" in done.stdout  # its relevance is recognised, unlike that of a log


@pytest.mark.slow
def test_logs_are_evaluated_by_default_metrics_and_labels_must_be_known(days):
    done = run("evaluate", "day0.parquet", *PEOPLE, "--memory", "100MB", "--n-boot", 0)
    names = [line.split()[0] for line in done.stdout.splitlines()[3:] if line]
    assert [name for name in dict.fromkeys(names) if name != "note:"] == [
        "metric", "NDCG@10", "Precision@10", "AveragePrecision", "ExposureGap", "RND"
    ]  # fmt: skip
    bare = run("evaluate", "day0.parquet", "--sensitive", "sex", "--memory", "100MB", "--n-boot", 0)
    assert "note: metrics of relevance are left out, since --relevance must name" in bare.stderr
    assert "NDCG" not in bare.stdout
    log(0, groups=("f", "m", "?")).to_parquet("day0.parquet")
    words = ["evaluate", "day0.parquet", *PEOPLE, "--memory", "100MB", "--n-boot", 0]
    assert "rows with an unknown label" in run(*words).stderr
    known = run(*words, "--missing-sensitive", "unknown")
    assert "note: sex unknown: " in known.stdout
    for more, said in {
        ("--missing-sensitive", "category"): "--missing-sensitive must be error or unknown",
        ("--metrics", "CostNDCG"): "--cost must name a column, which CostNDCG needs",
    }.items():
        found = run(*words[:4], *PEOPLE[2:], "--memory", "100MB", *more)
        assert found.exit_code == 2
        assert said in found.stderr
    assert run("sums", "day1.parquet", "--out", "b.sums", *PEOPLE).exit_code == 0
    assert "--score must be omitted for b.sums" in run("evaluate", "b.sums", "--score", "s").stderr
