"""``equirank rerank``: what it reads, writes and says."""

import csv
import gzip
import json
import os

import numpy as np
import pytest
from command_notes import without_notes
from typer.testing import CliRunner

from equirank import Ranking
from equirank.cli.app import app
from equirank.cli.rerank import method_names, parse_value
from equirank.core.reranker import Reranker
from equirank.datasets import hiring_path
from equirank.io import read_csv
from equirank.rerankers import DetGreedy, FAStarIR

pytestmark = pytest.mark.slow

HIRING = ["--query", "vacancy", "--sensitive", "sex"]
SEX_LISTS = ["--query", "list", "--sensitive", "sex", "--protected", "f"]
TEXT = """query,id,sex,score,relevance
q1,a,m,4,1
q1,b,m,3,0
q1,c,f,2,2
q1,d,f,1,0
q2,e,f,9,0
q2,f,m,8,1
"""


def run(*words):
    return CliRunner().invoke(app, ["rerank", *map(str, words)])


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


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_the_new_order_is_written_with_the_moves(people, tmp_path):
    out = tmp_path / "out.csv"
    done = run(people, "--method", "DetGreedy", "--sensitive", "sex", "--out", out)
    assert (done.exit_code, without_notes(done.stderr)) == (0, "")
    rows = rows_of(out)
    assert [row["id"] for row in rows] == ["a", "c", "b", "d", "e", "f"]
    assert [row["new_position"] for row in rows] == ["1", "2", "3", "4", "1", "2"]
    assert [row["old_position"] for row in rows] == ["1", "3", "2", "4", "1", "2"]
    assert list(rows[0]) == [
        "query", "id", "sex", "score", "relevance", "old_position", "new_position"
    ]  # fmt: skip
    again = read_csv(out, sensitive="sex", position="new_position")
    expected = DetGreedy()(read_csv(people, sensitive="sex").ranking())
    assert again.ranking().position.tolist() == [1, 2, 3, 4, 1, 2]
    assert expected.order("q1").tolist() == [0, 2, 1, 3]


def test_rows_behind_the_cutoff_are_written_last(people, tmp_path):
    out = tmp_path / "out.tsv"
    assert (
        run(people, "--method", "DetGreedy", "--sensitive", "sex", "--k", 2, "--out", out).exit_code
        == 0
    )
    lines = [line.split("\t") for line in out.read_text().splitlines()[1:]]
    assert [(line[1], line[-1]) for line in lines] == [
        ("a", "1"), ("c", "2"), ("b", "0"), ("d", "0"), ("e", "1"), ("f", "2")
    ]  # fmt: skip


def test_packed_output(people, tmp_path):
    out = tmp_path / "out.csv.gz"
    assert run(people, "--sensitive", "sex", "--out", out).exit_code == 0
    assert gzip.decompress(out.read_bytes()).decode().startswith("query,id,sex,score")


def test_the_command_of_the_manual(tmp_path):
    out = tmp_path / "out.csv"
    words = ["--method", "FAStarIR", "--p", "0.4", "--alpha", "0.1", "--score", "score"]
    done = run(hiring_path(), *words, *HIRING, "--out", out)
    assert (done.exit_code, without_notes(done.stderr)) == (0, "")
    assert "FA*IR test for 'female'" in done.stdout
    assert "holds in every list" in done.stdout
    assert "lists that keep the guarantee" in done.stdout
    data = read_csv(hiring_path(), query="vacancy", sensitive="sex", id="applicant", features=())
    expected = FAStarIR(0.4, 0.1, "female")(data.ranking())
    place = dict(zip(data.ids, expected.position, strict=True))
    for row in rows_of(out):
        assert int(row["new_position"]) == place[row["applicant"]]


def test_before_and_after_are_printed(people):
    done = run(people, "--method", "DetGreedy", "--sensitive", "sex", "--k", 2)
    lines = {line.rpartition("  ")[0].rpartition("  ")[0].strip(): line.split()[-2:]
             for line in done.stdout.splitlines() if line[-4:].isdigit()}  # fmt: skip
    assert lines["lists that keep the guarantee"] == ["0.5000", "1.0000"]
    assert lines["share of f in the first 2"] == ["0.2500", "0.5000"]
    assert lines["mean score of the first 2"] == ["6.0000", "5.7500"]
    assert "NDCG@2 (relevance)" in lines
    assert "ExposureGap@2" in lines
    assert "moved: 2 items" in done.stdout


def test_json_holds_everything(people, tmp_path):
    done = run(
        people, "--method", "DetGreedy", "--sensitive", "sex", "--k", 2, "--explain", "c", "--json"
    )
    assert (done.exit_code, without_notes(done.stderr)) == (0, "")
    found = json.loads(done.stdout)
    assert found["method"] == "DetGreedy"
    assert found["options"] == {"k": 2, "on_infeasible": "error"}
    assert found["holds"] is True
    assert found["failing"] == []
    assert found["moved"] == 2
    assert found["price"]["score_loss"] == 0.25
    assert found["summary"][0]["measure"] == "lists that keep the guarantee"
    (why,) = found["explanations"]
    assert (why["from"], why["to"]) == (3, 2)
    target = tmp_path / "found.json"
    assert run(people, "--sensitive", "sex", "--json", target).exit_code == 0
    assert json.loads(target.read_text())["file"] == "people.csv"


def test_reasons_are_printed(people):
    done = run(people, "--method", "DetGreedy", "--sensitive", "sex", "--explain", "c")
    assert "c (f) moved up from position 3 to position 2." in done.stdout
    assert "--explain must be the id" in fails(people, "--sensitive", "sex", "--explain", "zz")


@pytest.mark.slow
def test_options_reach_the_method(people):
    words = ["--sensitive", "sex", "--json"]
    done = run(people, "--p", "f=0.4", "--set", "law=pool", "--set", "adjusted=false", *words)
    options = json.loads(done.stdout)["options"]
    assert options["p"] == {"f": 0.4}
    assert (options["law"], options["adjusted"]) == ("pool", False)
    done = run(people, "--method", "DetCons", "--proportions", "f=0.5,m=0.5", *words)
    assert json.loads(done.stdout)["options"]["proportions"] == {"f": 0.5, "m": 0.5}
    done = run(people, "--protected", "m", *words)
    assert "'m'" in json.loads(done.stdout)["guarantee"]


def test_values_of_options():
    assert parse_value("a=b=0.5,c=1") == {"a=b": 0.5, "c": 1}
    assert parse_value("none") is None
    assert parse_value("1e-3") == 0.001


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "DetGreedy needs --sensitive"),
        (["--sensitive", "sexx"], "sexx"),
        (["--sensitive", "sex", "--p", "0.4"], "DetGreedy has no option 'p'"),
        (["--sensitive", "sex", "--proportions", "f=0.5,m=0.4"], "summing to 1"),
        (["--sensitive", "sex", "--proportions", "f=0.5,x=0.5"], "one of the groups"),
        (["--sensitive", "sex", "--proportions", "f=0.5,f=0.5"], "must name each group once"),
        (["--sensitive", "sex", "--proportions", "=0.5"], "GROUP=VALUE"),
        (["--sensitive", "sex", "--set", "k"], "--set must be NAME=VALUE"),
        (["--sensitive", "sex", "--proportions", "f=0.9,m=0.1"], "cannot keep its guarantee"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(people, words, said):
    assert said in fails(people, "--method", "DetGreedy", *words)


def test_an_unknown_method_is_named_with_those_there_are(people):
    said = fails(people, "--method", "FairStar", "--sensitive", "sex")
    assert "--method must be one of" in said
    assert "FAStarIR" in said
    assert "FILE must be given" in fails()


def test_nothing_is_written_where_it_fails(people, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("kept")
    fails(people, "--out", out, "--sensitive", "sex", "--alpha", 2)
    assert out.read_text() == "kept"
    assert "must end in .csv" in fails(people, "--out", tmp_path / "o.xlsx", "--sensitive", "sex")
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "people.csv"]
    missing = tmp_path / "no" / "out.csv"
    assert "--out must be in an existing folder" in fails(
        people, "--out", missing, "--sensitive", "sex"
    )


def test_the_closest_list_comes_with_a_warning(people):
    done = run(people, "--method", "DetGreedy", "--sensitive", "sex", "--proportions",
               "f=0.9,m=0.1", "--on-infeasible", "best")  # fmt: skip
    assert done.exit_code == 0
    assert "warning: DetGreedy cannot keep its guarantee in query 'q1'" in done.stderr
    assert "does not hold in 1 list\n" in done.stdout


def test_the_list_of_methods_says_what_each_is_for():
    done = run("--list")
    assert (done.exit_code, without_notes(done.stderr)) == (0, "")
    listed = json.loads(run("--list", "--json").stdout)
    assert [row["name"] for row in listed] == method_names()
    for row in listed:
        assert row["name"] in done.stdout
        for word in ("guarantee", "needs", "cost", "summary"):
            assert row[word], f"{row['name']} has no {word}"


def test_every_public_reranker_is_listed():
    import equirank.rerankers as room

    kinds = [getattr(room, name) for name in room.__all__]
    public = {k.__name__ for k in kinds if isinstance(k, type) and issubclass(k, Reranker)}
    # a file cannot hold several rankings with weights; the other is a base class
    policies = {"ExposureOptimal", "Guaranteed", "UncertainMerit"}
    assert public - policies == set(method_names())


def test_groups_may_be_numbers(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("score,group\n4,0\n3,0\n2,1\n1,1\n")
    done = run(path, "--method", "DetGreedy", "--sensitive", "group", "--proportions",
               "0=0.5,1=0.5", "--json")  # fmt: skip
    assert json.loads(done.stdout)["moved"] == 2
    assert run(path, "--sensitive", "group", "--protected", "1", "--explain", "2").exit_code == 0


def test_positions_alone_will_do(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("rank,group\n1,m\n2,m\n3,f\n4,f\n")
    out = tmp_path / "out.csv"
    assert run(path, "--method", "DetGreedy", "--sensitive", "group", "--out", out).exit_code == 0
    assert [row["rank"] for row in rows_of(out)] == ["1", "3", "2", "4"]
    assert np.all([row["new_position"] == str(at + 1) for at, row in enumerate(rows_of(out))])


@pytest.mark.gate
def test_the_report_compares_before_and_after(tmp_path):
    pytest.importorskip("altair")
    rng = np.random.default_rng(0)
    path, page = tmp_path / "people.csv", tmp_path / "page.html"
    rows = [f"{q},{rng.random():.6f},{g}" for q in range(6) for g in "mmmmmmffff"]
    path.write_text("list,score,sex\n" + "\n".join(rows) + "\n")
    done = run(path, "--query", "list", "--sensitive", "sex", "--protected", "f", "--p", "0.6",
               "--k", "5", "--report", page)  # fmt: skip
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    assert "re-ranked with FAStarIR" in text
    assert "people.csv" in text


def test_a_column_of_names_is_refused_unless_allowed(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("name,score,relevance\n" + "".join(f"n{j},{j},{j % 2}\n" for j in range(21)))
    words = [path, "--method", "DetGreedy", "--sensitive", "name"]
    assert "got 21 different values in 21 rows" in fails(*words)
    assert "--max-groups 21" in fails(*words, "--max-groups", 20)
    assert run(*words, "--max-groups", 21).exit_code == 0


GREEDY = ["--method", "DetGreedy", "--sensitive", "sex", "--proportions", "f=0.5,m=0.5"]
#: Cells that a converter would change, and a cell that a spreadsheet would run.
ODD = """id,score,sex,zip,note,,when
1,0.10,m,007,=1+1,x,NA
2,9e-2,m,-5,"a, ""b""
c",y,
3,.05,f,+1,-n,z,null
"""


def test_the_output_keeps_every_cell_of_the_file(tmp_path):
    path, out = tmp_path / "odd.csv", tmp_path / "out.csv"
    path.write_text("\ufeff" + ODD, encoding="utf-8")
    assert run(path, *GREEDY, "--out", out, "--keep-formulas").exit_code == 0
    with open(path, newline="", encoding="utf-8-sig") as file:
        head, *rows = csv.reader(file)
    with open(out, newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [
            [*head, "old_position", "new_position"],
            [*rows[0], "1", "1"],
            [*rows[2], "3", "2"],
            [*rows[1], "2", "3"],
        ]


def test_cells_that_a_spreadsheet_would_run_are_quoted(tmp_path):
    path, out = tmp_path / "odd.csv", tmp_path / "out.csv"
    path.write_text(ODD)
    assert run(path, *GREEDY, "--out", out).exit_code == 0
    notes = {row["id"]: (row["note"], row["zip"]) for row in rows_of(out)}
    assert notes == {"1": ("'=1+1", "007"), "2": ('a, "b"\nc', "-5"), "3": ("'-n", "+1")}


def test_other_formats_keep_every_column(people, tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "out.json"
    assert run(people, *GREEDY, "--out", out).exit_code == 0
    first = json.loads(out.read_text())[0]
    expected = {"query": "q1", "id": "a", "sex": "m", "score": 4, "relevance": 1}
    assert first == expected | {"old_position": 1, "new_position": 1}
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    columns = {"sex": pyarrow.array(["m", "m", "f"]), "score": pyarrow.array([3, 2, 1], "int8")}
    columns["tags"] = pyarrow.array([["a"], [], None])
    parquet.write_table(pyarrow.table(columns), path)
    assert run(path, *GREEDY, "--out", out).exit_code == 0
    found = parquet.read_table(out)
    assert found.schema.types[:3] == [columns[name].type for name in columns]
    assert found["tags"].to_pylist() == [["a"], None, []]
    path = tmp_path / "in.letor"
    path.write_text("1 qid:1 1:4 2:0 # a\n0 qid:1 1:3 2:0 # b\n2 qid:1 1:2 2:1 # c\n")
    out = tmp_path / "letor.csv"
    words = ["--method", "DetGreedy", "--score", "1", "--sensitive", "2", "--out", out]
    assert run(path, *words).exit_code == 0
    lines = out.read_text().splitlines()
    assert lines[:2] == ["relevance,qid,id,1,2,old_position,new_position", "1.0,1,a,4.0,0.0,1,1"]


@pytest.mark.parametrize("name", ["old_position", "new_position"])
def test_a_column_of_the_output_must_be_new(tmp_path, name):
    path, out = tmp_path / "people.csv", tmp_path / "out.csv"
    path.write_text(f"score,sex,{name}\n2,f,1\n1,m,2\n")
    said = fails(path, *GREEDY, "--out", out)
    assert said == f"{path}: must have no column {name!r}, which --out adds; rename it first"
    assert not out.exists()
    assert run(path, *GREEDY).exit_code == 0  # nothing is written


@pytest.fixture
def lists(tmp_path):
    """Eight lists of 30 people with ids, of whom some are women."""
    path = tmp_path / "people.csv"
    rng = np.random.default_rng(3)
    rows = [
        f"{q},p{q}-{i},{rng.choice(['f', 'm'], p=[0.4, 0.6])},{rng.random():.6f}"
        for q in range(8)
        for i in range(30)
    ]
    path.write_text("list,id,sex,score\n" + "\n".join(rows) + "\n")
    return path


def reported(monkeypatch, *words):
    """Run with a report, and give the text of the terminal and the audit on the page."""
    from equirank.auditing import audit_page

    results = []
    monkeypatch.setattr(audit_page, "render", lambda result: results.append(result) or "page")
    done = run(*words)
    assert done.exit_code == 0, done.output
    return done.stdout, results[0]


def cut_at(ranking, k):
    return Ranking(ranking.data, np.where(ranking.position <= k, ranking.position, 0))


def changes(result):
    return [claim for claim in result.claims if claim.quantity.startswith("change")]


def test_a_report_on_a_cut_list_in_which_nobody_moved_says_only_that(lists, tmp_path, monkeypatch):
    words = [*SEX_LISTS, "--p", "0.05", "--k", "10", "--report", tmp_path / "page.html"]
    said, result = reported(monkeypatch, lists, *words)
    assert "moved: 0 items" in said
    assert [claim.sentence for claim in changes(result)] == ["Nobody moved."]
    assert not any("before" in sentence for sentence in result.verdict)


def test_a_report_compares_the_first_k_with_the_first_k(lists, tmp_path, monkeypatch):
    words = [*SEX_LISTS, "--p", "0.7", "--k", "10", "--report", tmp_path / "page.html"]
    _, result = reported(monkeypatch, lists, *words)
    before = read_csv(lists, sensitive="sex", features=()).ranking()
    after = FAStarIR(0.7, protected="f", k=10)(before)
    women = before.data.sensitive["sex"].codes == 0
    now, was = ((r.position[women] > 0).sum() for r in (after, cut_at(before, 10)))
    assert now > was
    (claim,) = [
        claim for claim in changes(result)
        if (claim.quantity, claim.scope.get("k")) == ("change of selected", 10)
    ]  # fmt: skip
    assert (claim.group, claim.estimate, claim.direction) == ("f", now - was, "higher")
    assert f"have {now - was} more in the top 10 than before" in claim.sentence


def test_unknown_labels(tmp_path):
    path, out = tmp_path / "gaps.csv", tmp_path / "out.csv"
    path.write_text("id,sex,score\na,m,5\nb,,4\nc,m,3\nd,f,2\ne,f,1\n")
    words = [path, "--method", "DetGreedy", "--sensitive", "sex", "--out", out]
    assert "line 3: --sensitive ('sex') must not be missing; --missing-sensitive" in fails(*words)
    done = run(*words, "--missing-sensitive", "unknown", "--explain", "b")
    assert done.exit_code == 0, done.output
    assert [row["id"] for row in rows_of(out)] == ["a", "b", "d", "c", "e"]  # b keeps its position
    assert "b keeps position 2" in done.output
    words[2] = "ContinuousFairness"
    told = fails(*words, "--missing-sensitive", "unknown")
    assert "ContinuousFairness needs the group of every row, and sex is unknown in row 1" in told


def write_guesses(path):
    rows = ["list,score,sex,p_f,p_m"]
    rows += [f"1,{20 - at},,{0.8 if at % 3 else 0.1},{0.2 if at % 3 else 0.9}" for at in range(20)]
    path.write_text("\n".join(rows) + "\n")
    return [path, "--query", "list", "--probabilities", "sex=f:p_f,m:p_m", "--p", 0.5, "--k", 10]


def test_probabilities_of_groups_are_read_and_kept_with_a_chance(tmp_path):
    words = [*write_guesses(tmp_path / "people.csv"), "--protected", "f"]
    done = run(*words, "--set", "labels=chance", "--set", "chance=0.8", "--json", "-")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["holds"]
    assert found["options"]["labels"] == "chance"
    assert found["guarantee"].startswith("with probability >= 0.8 in all prefixes together")
    assert found["guarantee"].endswith("it rests on unchecked probabilities")
    done = run(*words)
    assert "uses known labels only and leaves the probabilities" in done.stderr


def test_methods_without_probabilities_name_the_one_that_has_them(tmp_path):
    words = write_guesses(tmp_path / "people.csv")[:-4]
    said = fails(*words, "--method", "DetGreedy")
    assert "PrefixConstraints(lower={'f': 0.555, 'm': 0.445}, --set labels=chance)" in said
    said = fails(*words, "--method", "DetGreedy", "--set", "labels=chance")
    assert "DetGreedy has no option 'labels' (FAStarIR, PrefixConstraints have it)" in said


def test_recorded_labels_with_errors_and_verified_labels(tmp_path):
    path, matrix = tmp_path / "people.csv", tmp_path / "matrix.csv"
    rows = [f"{20 - at},{'fm'[at % 2]},{'f' if at < 2 else ''}" for at in range(20)]
    path.write_text("\n".join(["score,sex,checked", *rows]) + "\n")
    matrix.write_text("true,recorded,probability\nf,f,0.9\nf,m,0.1\nm,f,0.1\nm,m,0.9\n")
    words = [path, "--sensitive", "sex", "--p", 0.4, "--protected", "f", "--k", 8]
    done = run(*words, "--label-error", f"sex={matrix}", "--set", "labels=chance", "--json", "-")
    assert done.exit_code == 0, done.output
    assert "errors of recording" in json.loads(done.stdout)["guarantee"]
    done = run(*words, "--true-label", "sex=checked", "--set", "labels=chance", "--json", "-")
    assert "estimated from verified labels" in json.loads(done.stdout)["guarantee"]
