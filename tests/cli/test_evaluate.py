"""``equirank evaluate``: what it reads, what it says, and where it says it."""

import gzip
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from command_notes import without_notes
from typer.testing import CliRunner
from waiting import LIMIT

from equirank import DataError, evaluate
from equirank.cli.app import app
from equirank.core.environment import require
from equirank.datasets import hiring_path
from equirank.io import read_csv

HIRING = ["--query", "vacancy", "--relevance", "suitability", "--sensitive", "sex"]
QUICK = ["--n-boot", "0"]
TEXT = """query,sex,age,score,relevance,rank,cost
q1,f,old,0.9,1,2,1
q1,m,old,0.5,0,1,2
q1,f,young,0.1,2,3,1
q2,m,young,0.7,0,1,1
q2,f,old,0.6,1,2,3
q2,m,old,0.2,1,3,1
"""


def run(*words):
    return CliRunner().invoke(app, ["evaluate", *map(str, words)])


def fails(*words):
    """Run, and give the one line on standard error."""
    done = run(*words)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    (line,) = without_notes(done.stderr).splitlines()
    assert line.startswith("equirank: ")
    return line.removeprefix("equirank: ")


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TEXT)
    return path


def document(*words):
    done = run(*words, "--json")
    assert (done.exit_code, without_notes(done.stderr)) == (0, "")
    return json.loads(done.stdout)


def values(found):
    return {
        (row["metric"], row["group"]): row["value"]
        for row in found["summary"]
        if row["value"] is not None
    }


def test_the_bundled_data():
    done = run(hiring_path(), *HIRING, "--metrics", "NDCG@10,RND(step=5)@50")
    assert (done.exit_code, without_notes(done.stderr)) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{hiring_path()}: 3213 items in 60 lists; 95% confidence intervals"
    assert [line.split()[0] for line in lines if "higher" in line or "lower" in line] == [
        "NDCG@10",
        "RND(step=5)@50",
    ]
    assert sum("female" in line for line in lines) == 1
    assert "\x1b" not in done.stdout


def test_numbers_are_those_of_the_library(people):
    found = document(people, "--sensitive", "sex", "--metrics", "NDCG@2,ExposureGap")
    data = read_csv(people, sensitive="sex", position="rank", features=())
    expected = evaluate(data, "NDCG@2,ExposureGap")
    assert found["summary"] == json.loads(expected.to_json())["summary"]
    assert found["rows"] == 6
    assert found["queries"] == 2
    assert found["schema_version"] == 1
    assert found["metrics"][0] == {
        "name": "NDCG@2",
        "direction": "higher",
        "needs": ["relevance"],
        "bounds": [0.0, 1.0],
    }


def test_a_score_that_is_asked_for_counts_before_a_column_called_rank(people):
    by_score = document(people, "--score", "score", "--metrics", "NDCG", *QUICK)
    by_rank = document(people, "--metrics", "NDCG", *QUICK)
    assert by_rank == document(people, "--position", "rank", "--metrics", "NDCG", *QUICK)
    assert values(by_score) != values(by_rank)
    expected = evaluate(read_csv(people, position=False, features=()), "NDCG", n_boot=0)["NDCG"]
    assert values(by_score) == {("NDCG", None): expected}


def test_default_metrics_are_those_the_file_has_all_for(people, tmp_path):
    def names(*words):
        return [each["name"] for each in document(*words, *QUICK)["metrics"]]

    relevance = ["NDCG@10", "Precision@10", "AveragePrecision"]
    assert names(people) == relevance
    assert names(people, "--sensitive", "sex") == [*relevance, "ExposureGap", "RND"]
    assert names(people, "--sensitive", "sex", "--sensitive", "age")[3:] == [
        'ExposureGap(by="sex")',
        'RND(by="sex")',
        'ExposureGap(by="age")',
        'RND(by="age")',
    ]
    bare = tmp_path / "bare.csv"
    bare.write_text("query,sex,score\nq,f,2\nq,m,1\n")
    assert names(bare, "--sensitive", "sex") == ["ExposureGap", "RND"]
    assert "--relevance or --sensitive must be given" in fails(bare)


def test_skipped_queries_are_told(people):
    done = run(people, "--sensitive", "sex", "--metrics", "RND", *QUICK)
    assert done.exit_code == 0
    assert re.search(r"^note: RND: 2 of 2 queries are skipped, where ", done.stdout, re.MULTILINE)


def test_by_and_control(people):
    found = document(people, "--by", "sex", "--control", "age", "--metrics", "DCG", *QUICK)
    assert {(row["control"], row["group"]) for row in found["by_group"]} == {
        (age, sex) for age in ("old", "young") for sex in ("f", "m")
    }
    crossed = document(people, "--by", "sex", "--by", "age", "--metrics", "DCG", *QUICK)
    assert [row["group"] for row in crossed["by_group"]] == [
        *("f & old", "f & young", "m & old", "m & young")
    ]
    shown = run(people, "--by", "sex", "--metrics", "DCG", *QUICK).stdout
    assert "By group" in shown
    assert "Largest difference between groups" in shown


@pytest.mark.slow
def test_level_boot_and_seed(people):
    def interval(*words):
        (row,) = document(hiring_path(), *HIRING, "--metrics", "NDCG", *words)["summary"]
        return row["low"], row["high"]

    assert interval("--n-boot", "0") == (None, None)
    assert interval("--seed", "1") == interval("--seed", "1")
    wide, narrow = interval("--level", "0.99"), interval("--level", "0.5")
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert "level" in fails(people, "--level", "2")


def test_ties(tmp_path):
    path = tmp_path / "tied.csv"
    path.write_text("query,score,relevance\nq,1,0\nq,1,1\n")
    stable = document(path, "--ties", "stable", "--metrics", "Precision@1", *QUICK)
    shared = document(path, "--metrics", "Precision@1", *QUICK)
    assert values(stable) == {("Precision@1", None): 0.0}
    assert values(shared) == {("Precision@1", None): 0.5}


def test_missing_values(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("query,sex,score,relevance\nq,f,2,1\nq,,1,\n")
    words = [path, "--sensitive", "sex", "--metrics", "NDCG,ExposureByGroup", *QUICK]
    assert "line 3" in fails(*words)
    assert "line 3" in fails(*words, "--missing-sensitive", "category")
    both = ["--missing-sensitive", "category", "--missing-relevance", "irrelevant"]
    assert ("ExposureByGroup", "(missing)") in values(document(*words, *both))
    both[1] = "unknown"
    found = document(*words, *both)
    assert {group for _, group in values(found)} == {None, "f"}
    assert "sex unknown: 1 of 2 rows, which are in no group" in found["notes"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv", "a.TSV.gz", "a.tab", "a.parquet"])
def test_formats_by_ending(tmp_path, people, name):
    path = tmp_path / name
    text = TEXT if ".csv" in name else TEXT.replace(",", "\t")
    if name.endswith("parquet"):
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pytest.importorskip("pyarrow.csv").read_csv(people), path)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    expected = values(document(people, "--sensitive", "sex", *QUICK))
    assert values(document(path, "--sensitive", "sex", *QUICK)) == expected


def test_format_by_option(tmp_path):
    path = tmp_path / "people.dump"
    path.write_text(TEXT)
    assert "--format must be one of csv, tsv, parquet, letor, excel, since the name" in fails(path)
    assert document(path, "--format", "csv", *QUICK)["rows"] == 6


@pytest.mark.parametrize("ending", [".txt", ".svm", ".letor", ".letor.gz"])
def test_letor_names_features_by_number(tmp_path, ending):
    text = b"1 qid:1 1:0.3 2:1\n0 qid:2 1:0.1 2:2\n2 qid:1 1:0.1 2:2\n1 qid:2 1:0.9 2:1\n"
    path = tmp_path / f"lines{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    found = document(path, "--score", 1, "--sensitive", 2, "--metrics", "NDCG,ExposureGap", *QUICK)
    assert found["queries"] == 2
    first = (1 + 3 / np.log2(3)) / (3 + 1 / np.log2(3))
    assert values(found)["NDCG", None] == pytest.approx((first + 1) / 2)
    assert values(found)["ExposureGap", 1.0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--score", "3"], "--score must be a feature number from 1 to 2"),
        (["--score", "1" * 5000], "--score must be a feature number from 1 to 2"),
        (["--score", "0"], "got '0'"),
        (["--score", "bm25"], "got 'bm25'"),
        (["--score", "1", "--query", "qid"], "--query must be omitted for LETOR"),
        ([], "--score or --position must be given"),
    ],
)
def test_letor_wrong_columns(tmp_path, words, said):
    path = tmp_path / "lines.txt"
    path.write_text("1 qid:1 1:0.3 2:1\n")
    assert said in fails(path, *words)


def test_json_to_a_file_and_to_standard_output(people, tmp_path):
    target = tmp_path / "out.json"
    words = [people, "--metrics", "NDCG", *QUICK]
    done = run(*words, "--json", target)
    assert done.stdout == run(*words).stdout
    written = target.read_bytes()
    assert json.loads(written) == document(*words)
    assert run(*words, "--json", "-").stdout.encode() == written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "people.csv"]


def test_json_never_takes_the_data_for_its_target(people):
    done = run("--json", people, "--metrics", "NDCG", *QUICK)
    assert json.loads(done.stdout)["rows"] == 6
    assert people.read_text() == TEXT
    assert run(people, "--json", "out.txt").exit_code == 2


def test_json_of_any_name(people, tmp_path):
    target = tmp_path / "out.txt"
    assert run(people, *QUICK, f"--json={target}").exit_code == 0
    assert json.loads(target.read_text())["rows"] == 6


def test_json_keeps_an_older_file_when_the_evaluation_fails(people, tmp_path):
    target = tmp_path / "out.json"
    target.write_text("old")
    fails(people, "--metrics", "NDGC", "--json", target)
    assert target.read_text() == "old"


def test_wrong_files(tmp_path, people):
    missing = tmp_path / "missing.csv"
    assert fails(missing) == f"{missing}: file not found"
    assert fails(tmp_path / "missing.data") == f"{tmp_path / 'missing.data'}: file not found"
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    said = fails(folder, "--sensitive", "sex")
    assert said == f"{folder}: must contain files named *.parquet, got none"
    empty = tmp_path / "empty.csv"
    empty.touch()
    assert "empty" in fails(empty)
    noise = tmp_path / "noise.csv"
    noise.write_bytes(b"query,score\n\xff\xfe\x00,1\n")
    assert "line 2" in fails(noise)
    people.write_text(TEXT.replace("0.7", "high"))
    assert "line 5: --score ('score') must be a number, got 'high'" in fails(people)


def test_a_file_that_may_not_be_read(people, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("equirank.io.text_layout.open_bytes", refuse)
    assert fails(people) == f"{people}: permission denied"


def test_an_error_about_groups_names_the_option_that_was_used(people):
    columns = "must be one of the columns 'query', 'sex', 'age', 'score', 'relevance', 'rank', "
    for words in (["--by"], ["--sensitive"], ["--by", "sex", "--control"]):
        line = fails(people, *words, "sxe")
        assert line == f"{people}: {words[-1]} {columns}'cost', got 'sxe'; did you mean 'sex'?"
    assert f"{people}: --sensitive must be" in fails(people, "--by", "no", "--sensitive", "no")
    people.write_text(TEXT.replace("q1,f,old", "q1,,old"))
    hint = "; --missing-sensitive unknown"
    for option in ("--by", "--sensitive"):
        line = fails(people, option, "sex")
        assert line.startswith(f"{people}, line 2: {option} ('sex') must ")
        assert hint in line
    people.write_text("query,score,n\n" + "".join(f"1,{i},{i}\n" for i in range(30)))
    line = fails(people, "--by", "n")
    assert "--by ('n')" in line
    assert "--sensitive" not in line


def test_a_trec_run(tmp_path):
    run_file, qrels = tmp_path / "run.txt", tmp_path / "qrels.txt"
    run_file.write_text("1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n1 Q0 c 3 2 x\n1 Q0 d 4 1 x\n")
    qrels.write_text("1 0 a 0\n1 0 b 0\n1 0 c 1\n1 0 e 2\n")
    words = [run_file, "--qrels", qrels, *QUICK, "--metrics", "P@2,R@4"]
    line = fails(*words)
    assert line.startswith(
        f"{run_file}: document 'd' of query '1' is not judged in {qrels}; --miss"
    )

    def found(*more):
        document = json.loads(run(*words, *more, "--json").stdout)
        return [document["rows"], *(row["value"] for row in document["summary"])]

    assert found("--missing-relevance", "irrelevant") == [5, 0.25, 0.5]
    assert found("--missing-relevance", "drop") == [4, 0.25, 0.5]
    assert found("--missing-relevance", "drop", "--ties", "trec") == [4, 0.5, 0.5]
    for option in ("--query", "--by", "--sensitive", "--cost", "--score"):
        assert fails(*words, option, "a").startswith(f"{option} must be omitted with --qrels")
    assert "must be omitted with --qrels" in fails(*words, "--format", "csv")
    assert "--ties must be average or trec" in fails(*words, "--ties", "stable")
    qrels.write_text("1 0 a\n")
    assert fails(*words).startswith(f"{qrels}, line 1: must be query iteration document grade")


def test_words_of_trec_runs_need_judgements(people):
    assert fails(people, "--ties", "trec") == "--ties trec needs --qrels"
    assert "drop needs --qrels" in fails(people, "--missing-relevance", "drop")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--query", "vacncy"], "query must be one of the columns"),
        (["--metrics", "NDGC@10"], "did you mean 'NDCG'?"),
        (["--metrics", "NDCG(stepp=1)"], "has no option 'stepp'"),
        (["--metrics", "NDCG@10,NDCG@10"], "named twice"),
        (["--metrics", "RND"], "needs groups"),
        (["--metrics", ","], "metrics must name at least one metric"),
        (["--metrics", "NDCG", "--control", "sex"], "by must be given where control is"),
        (["--metrics", "AUC", "--by", "sex"], "by needs a metric that is a sum over items"),
        (["--sensitive", "sex", "--metrics", 'RND(protected="x")'], "'f', 'm'"),
    ],
)
def test_wrong_words(people, words, said):
    assert said in fails(people, *words)


def test_missing_package(people, monkeypatch):
    def none(module, extra):
        return require("no_such_package", extra)

    monkeypatch.setattr("equirank.io.parquet.require", none)
    assert 'pip install "equirank[data]"' in fails(people, "--format", "parquet")


def test_interrupt(people, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("equirank.core.evaluate.evaluate", interrupted)
    done = run(people)
    assert done.exit_code == 130
    assert (done.stdout, done.stderr) == ("", "equirank: interrupted\n")


def test_a_fault_of_ours_is_not_hidden(people, monkeypatch):
    def faulty(*_, **__):
        raise RuntimeError("a fault")

    monkeypatch.setattr("equirank.core.evaluate.evaluate", faulty)
    done = run(people)
    assert isinstance(done.exception, RuntimeError)


def test_warnings_are_one_line(people, monkeypatch):
    import warnings

    from equirank import EquirankWarning
    from equirank.core import evaluate as module

    original = module.evaluate

    def warning(*words, **options):
        warnings.warn("odd,\nbut legal", EquirankWarning, stacklevel=1)
        return original(*words, **options)

    monkeypatch.setattr("equirank.core.evaluate.evaluate", warning)
    done = run(people, *QUICK)
    assert done.exit_code == 0
    assert without_notes(done.stderr) == "equirank: warning: odd,\\nbut legal\n"


HOSTILE = ["[bold]x[/bold]", "[/]", "\x1b[31mred", "a\nb", "--json", "ünï ☃", "=1+1"]


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(tmp_path, name):
    path = tmp_path / "people.csv"
    quoted = '"' + name.replace('"', '""') + '"'
    path.write_text(f'query,{quoted},score\nq,{quoted},2\nq,"[red]other",1\n', encoding="utf-8")
    done = run(path, f"--sensitive={name}", "--metrics", "ExposureGap", *QUICK)
    assert (done.exit_code, without_notes(done.stderr)) == (0, "")
    assert "\x1b" not in done.stdout
    group = " ".join(name.split())
    assert any(group.replace("\x1b", "\\x1b") in line for line in done.stdout.splitlines())
    assert "[red]other" in done.stdout
    found = document(path, f"--sensitive={name}", "--metrics", "ExposureGap", *QUICK)
    assert ("ExposureGap", group) in values(found)
    line = fails(path, f"--query={name}x")
    assert "\x1b" not in line


def terminal(*words, **environment):
    """Run with a terminal as standard output, and give what came."""
    parent, child = pytest.importorskip("pty").openpty()
    program = [sys.executable, "-c", "from equirank.cli.app import main; main()", "evaluate"]
    with subprocess.Popen(
        [*program, *map(str, words)],
        stdout=child,
        stderr=subprocess.PIPE,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"} | environment,
    ) as process:
        os.close(child)
        shown = b""
        while True:
            try:
                piece = os.read(parent, 4096)
            except OSError:  # the terminal was closed at the other end
                break
            if not piece:
                break
            shown += piece
        assert process.wait(timeout=LIMIT) == 0
    os.close(parent)
    return shown.decode()


@pytest.mark.slow
def test_on_a_terminal_the_table_is_drawn(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text('query,[bold],score\nq,[/red],2\nq,"\x1b[2J",1\n')
    shown = terminal(path, "--sensitive=[bold]", "--metrics", 'ExposureGap(by="[bold]")', *QUICK)
    assert "\u2500" in shown
    assert 'ExposureGap(by="[bold]")' in shown
    assert "[/red]" in shown
    assert "\x1b[2J" not in shown
    assert "\\x1b[2J" in shown


@pytest.mark.gate
def test_piped_output_has_no_colours(people):
    done = subprocess.run(
        [sys.executable, "-c", "from equirank.cli.app import main; main()", "evaluate", people],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=os.environ | {"TERM": "xterm-256color", "FORCE_COLOR": "1"},
    )
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert without_notes(done.stderr) == ""


def test_errors_are_what_the_library_says_of_options(people):
    with pytest.raises(DataError) as error:
        read_csv(people, query="vacancy")
    expected = str(error.value).replace(": query must", ": --query must")
    assert fails(people, "--query", "vacancy") == expected


def test_a_column_of_names_is_refused_unless_allowed(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("name,score,relevance\n" + "".join(f"n{j},{j},{j % 2}\n" for j in range(21)))
    words = [path, "--sensitive", "name", "--n-boot", 0]
    assert "got 21 different values in 21 rows" in fails(*words)
    assert "--max-groups 21" in fails(*words, "--max-groups", 20)
    assert run(*words, "--max-groups", 21).exit_code == 0
