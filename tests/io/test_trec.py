"""TREC runs and judgements: what is read and written, and agreement with ir_measures."""

import gzip
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from equirank import DataError, FormatError, MissingExtraError, Ranking, as_ranking_data, evaluate
from equirank.core.errors import EquirankWarning
from equirank.core.registry import metric_names, parse_metric
from equirank.io import from_ranx, read_trec, to_ir_measures, to_ranx, write_trec
from equirank.io.trec import _measure

from .trec_golden import FOLDER, SHARED

RUN = """q2 Q0 c 1 5 tag
q1 Q0 b 1 2.5 tag
q1 Q0 a 2 2.5 tag
q1 Q0 d 7 -1e-3 tag
q2 Q0 a 2 7 tag
"""
QRELS = "q1 0 a 2\nq1 0 b 0\nq1 0 x 1\nq2 0 c 1\nq3 0 c 1\nq3 0 d 0\n"


@pytest.fixture
def files(tmp_path):
    run, qrels = tmp_path / "run.txt", tmp_path / "qrels.txt"
    run.write_text(RUN)
    qrels.write_text(QRELS)
    return run, qrels


def rows(data):
    """Return query, document, position and relevance of each row, sorted."""
    y = [None] * len(data) if data.y is None else data.y.tolist()
    queries = data.qids[data.query_of_rows()].tolist()
    return sorted(zip(queries, data.ids.tolist(), data.position.tolist(), y, strict=True))


def test_a_run_alone(files):
    data = read_trec(files[0])
    assert rows(data) == [
        ("q1", "a", 1, None), ("q1", "b", 1, None), ("q1", "d", 3, None),
        ("q2", "a", 1, None), ("q2", "c", 2, None),
    ]  # fmt: skip
    assert data.qids.tolist() == ["q2", "q1"]
    assert data.to_original(data.score).tolist() == [5, 7, 2.5, 2.5, -1e-3]
    assert data.ranking().last is not None


def test_ties_are_broken_by_descending_id_on_request(files):
    data = read_trec(files[0], ties="trec")
    assert [row[:3] for row in rows(data)] == [
        ("q1", "a", 2), ("q1", "b", 1), ("q1", "d", 3), ("q2", "a", 1), ("q2", "c", 2),
    ]  # fmt: skip
    lines = [f"1 Q0 {name} 1 {score} t\n" for name, score in zip("acbde", "11212", strict=True)]
    files[0].write_text("".join(lines))
    data = read_trec(files[0], ties="trec")
    assert "".join(data.ids[data.ranking().order()].tolist()) == "ebdca"


def test_judged_and_not_retrieved_is_not_shown(files):
    data = read_trec(*files, missing_relevance="irrelevant")
    assert rows(data) == [
        ("q1", "a", 1, 2), ("q1", "b", 1, 0), ("q1", "d", 3, 0), ("q1", "x", 0, 1),
        ("q2", "a", 1, 0), ("q2", "c", 2, 1),
        ("q3", "c", 0, 1), ("q3", "d", 0, 0),
    ]  # fmt: skip
    assert data.score is None
    result = evaluate(data, "R@2, MAP, P@2, NDCG, MRR", n_boot=0)
    values = {name: result.per_query(name).tolist() for name in result.metrics}
    order = data.qids.tolist()
    assert order == ["q2", "q1", "q3"]
    assert values["Recall@2"] == [1, 1 / 2, 0]
    assert values["AveragePrecision"] == [1 / 2, (1 + 1 / 2) / 2 / 2, 0]
    assert values["Precision@2"] == [1 / 2, 1 / 2, 0]
    assert values["ReciprocalRank"] == [1 / 2, 3 / 4, 0]
    assert values["NDCG"][2] == 0


def test_retrieved_and_not_judged(files):
    with pytest.raises(
        DataError, match=r"run.txt: document 'a' of query 'q2' is not judged in .*q"
    ):
        read_trec(*files)
    dropped = read_trec(*files, missing_relevance="drop")
    assert [row[:3] for row in rows(dropped)] == [
        ("q1", "a", 1), ("q1", "b", 1), ("q1", "x", 0), ("q2", "c", 1), ("q3", "c", 0),
        ("q3", "d", 0),
    ]  # fmt: skip
    files[1].write_text("q2 0 c 1\nq2 0 a 1\n")
    for word in ("irrelevant", "drop"):
        with pytest.warns(EquirankWarning, match=r"1 of 2 queries have no judgement.* 'q1'"):
            assert read_trec(*files, missing_relevance=word).qids.tolist() == ["q2"]
    files[1].write_text("q9 0 c 1\n")
    with pytest.raises(DataError, match="is not judged"):
        read_trec(*files)


def test_negative_grades_are_0_with_a_warning(files):
    files[1].write_text("q1 0 a -2\nq1 0 b -1\nq1 0 d 3\nq2 0 a 1\nq2 0 c 0\n")
    with pytest.warns(EquirankWarning, match=r"qrels.txt: negative grades .*\(2 judgements\)"):
        data = read_trec(*files)
    assert [row[3] for row in rows(data)] == [0, 0, 3, 1, 0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("q1 Q0 a 1 2.5", "must be query Q0 document rank score tag, got 5 fields in 'q1 Q0 a 1"),
        ("q1 Q0 an id 1 2.5 tag", "got 7 fields"),
        ("a query Q0 a 1 2.5 tag", "got 7 fields"),
        ("q1 Q0 a 1 high tag", "score must be a number, got 'high'"),
        ("q1 Q0 a 1 nan tag", "score must be a number, got 'nan'"),
        ("q1 Q0 a 1 inf tag", "score must be a number, got 'inf'"),
        ("q1 Q0 a 1 1_0 tag", "score must be a number, got '1_0'"),
        ("q1 Q0 d 1 1 tag", "query 'q1' has document 'd' twice"),
        ("q1 Q0 \udcff 1 1 tag", "must be UTF-8 text"),
        ("q1 Q0 a\0 1 1 tag", "must be UTF-8 text"),
    ],
)
def test_a_broken_line_is_named(tmp_path, line, said):
    run = tmp_path / "run.txt"
    text = f"q1 Q0 d 1 3 tag\n\n{line}\n"
    run.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(FormatError) as caught:
        read_trec(run)
    assert str(caught.value).startswith(f"{run}, line 3: ")
    assert said in str(caught.value)


def test_broken_judgements(files):
    for text, said in (
        ("q1 0 a 1\nq1 0 a 1\n", "line 2: query 'q1' has document 'a' twice"),
        ("q1 0 a 1 more\n", "line 1: must be query iteration document grade, got 5 fields"),
        ("# only a comment\n", "must contain at least one line"),
        ("q1 0 a\n", "line 1: must be query iteration document grade, got 3 fields"),
        ("q1 0 a x\n", "line 1: grade must be a number, got 'x'"),
        ("\n", "must contain at least one line"),
    ):
        files[1].write_text(text)
        with pytest.raises(FormatError, match=said):
            read_trec(*files)
    with pytest.raises(FileNotFoundError):
        read_trec(files[0].with_name("no"))
    with pytest.raises(DataError, match="ties must be one of 'average', 'trec'"):
        read_trec(files[0], ties="stable")
    with pytest.raises(DataError, match="missing_relevance must be one of"):
        read_trec(files[0], missing_relevance="zero")


def test_gzip_tabs_and_a_byte_order_mark(tmp_path, files):
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + RUN.replace(" ", "\t").encode()))
    assert rows(read_trec(packed)) == rows(read_trec(files[0]))


def test_what_trec_eval_skips_is_skipped_and_logged(files, caplog):
    """As `get_qrels.c` and `get_trec_results.c` of trec_eval read these files."""
    wanted = rows(read_trec(*files, missing_relevance="irrelevant"))
    run, qrels = RUN.splitlines(), QRELS.splitlines()
    run[1:1] = ["# made by hand", "  #q1 Q0 z 1 9 tag", ""]
    run[-1] += " seed=7 a b"
    files[0].write_bytes(b"\xef\xbb\xbf" + "\r\n".join(run).encode())  # no final newline
    qrels[2:2] = ["#q1 0 z 1", "# two", "#", " \t"]
    files[1].write_bytes("\r\n".join(qrels).replace(" ", "\t").encode())
    with caplog.at_level("INFO", "equirank"):
        assert rows(read_trec(*files, missing_relevance="irrelevant")) == wanted
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("INFO", f"{files[1]}: comment lines skipped: 3"),
        ("INFO", f"{files[0]}: comment lines skipped: 2"),
        ("WARNING", f"{files[0]}: lines with text after the tag, which was left out: 1"),
    ]


def test_groups_of_documents(files):
    groups = {"sex": {"a": "f", "b": "m", "c": "m"}}
    with pytest.raises(DataError, match="sensitive_features"):
        read_trec(files[0], sensitive_features=groups)
    data = read_trec(files[0], sensitive_features=groups, missing_sensitive="category")
    assert data.attribute("sex").categories == ("f", "m", "(missing)")
    groups["sex"]["d"] = "f"
    data = read_trec(files[0], sensitive_features=groups)
    codes = dict(zip(data.ids.tolist(), data.attribute("sex").codes.tolist(), strict=True))
    assert codes == {"a": 0, "b": 1, "c": 1, "d": 0}


def test_written_and_read_again(tmp_path):
    rng = np.random.default_rng(0)
    qid = rng.integers(0, 4, 40)
    data = as_ranking_data(
        None,
        rng.integers(0, 3, 40),
        qid=qid,
        ids=[f"d{i}" for i in range(40)],
        score=rng.integers(0, 5, 40) / 3,
    )
    run, qrels = tmp_path / "run.gz", tmp_path / "qrels"
    write_trec(data, run, qrels, tag="mine")
    again = read_trec(run, qrels)
    scores = dict(zip(data.ids.tolist(), data.score.tolist(), strict=True))
    assert dict(zip(again.ids.tolist(), again.score.tolist(), strict=True)) == scores
    wanted = Ranking.from_scores(data)
    expected = dict(zip(data.ids.tolist(), wanted.position.tolist(), strict=True))
    assert dict(zip(again.ids.tolist(), again.position.tolist(), strict=True)) == expected
    grades = dict(zip(data.ids.tolist(), data.y.tolist(), strict=True))
    assert dict(zip(again.ids.tolist(), again.y.tolist(), strict=True)) == grades
    lines = gzip.decompress(run.read_bytes()).decode().splitlines()
    assert all(line.endswith(" mine") for line in lines)
    ranks = [int(line.split()[3]) for line in lines]
    assert ranks == [i for n in np.diff(data.offsets).tolist() for i in range(1, n + 1)]


def test_a_ranking_against_the_scores_counts_down(tmp_path):
    data = as_ranking_data(None, ids=list("abcd"), score=[4, 3, 2, 1.0])
    run = tmp_path / "run"
    write_trec(Ranking.from_positions(data, [2, 2, 1, 0]), run)
    assert (
        run.read_text() == "0 Q0 c 1 3.0 equirank\n0 Q0 a 2 2.0 equirank\n0 Q0 b 3 2.0 equirank\n"
    )
    assert read_trec(run).position.tolist() == [1, 2, 2]
    tied = as_ranking_data(None, ids=list("ab"), score=[1.0, 1.0])
    write_trec(tied.ranking(ties="stable"), run)
    assert read_trec(run).position.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ids": None}, "must have ids"),
        ({"ids": ["a", "b c"]}, "id must be a word without white space .* got 'b c'"),
        ({"ids": ["a", ""]}, "got ''"),
        ({"ids": ["a", "a"]}, "ids must differ in a query, got 'a' again in row 1"),
        ({"qid": ["x y", "x y"]}, "query must be a word without white space"),
        ({"qid": ["#1", "#1"]}, "query must not begin with #, as a comment does, got '#1'"),
        ({"y": None}, "must have relevance"),
        ({"y": [0.5, 1]}, "whole numbers in judgements, got 0.5 in row 0 of query 7"),
    ],
)
def test_what_cannot_be_written(tmp_path, options, said):
    given = {"y": [0, 1], "qid": [7, 7], "ids": ["a", "b"], "score": [1, 2]} | options
    data = as_ranking_data(**given)
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    run.write_text("old")
    with pytest.raises(DataError, match=said):
        write_trec(data, run, qrels)
    assert run.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_wrong_rankings_and_targets(tmp_path):
    data = as_ranking_data(None, [0, 1], ids=["a", "b"], score=[1, 2])
    run = tmp_path / "run"
    with pytest.raises(DataError, match="one draw, got 2"):
        write_trec(Ranking.from_positions(data, [[1, 2], [2, 1]]), run)
    with pytest.raises(DataError, match="must be a Ranking or a RankingData, got list"):
        write_trec([1], run)
    with pytest.raises(DataError, match="tag must be a word"):
        write_trec(data, run, tag="my run")
    with pytest.raises(DataError, match="qrels must be another file"):
        write_trec(data, run, tmp_path / "." / "run")
    assert not list(tmp_path.iterdir())


def test_from_ranx_reads_its_objects_and_plain_dicts(files):
    run = {"q1": {"a": 2.5, "b": 2.5, "d": -1e-3}, "q2": {"a": 7, "c": 5}}
    qrels = {"q1": {"a": 2, "b": 0, "x": 1}, "q2": {"c": 1}, "q3": {"c": 1, "d": 0}}
    wanted = rows(read_trec(*files, missing_relevance="irrelevant"))
    assert rows(from_ranx(run, qrels, missing_relevance="irrelevant")) == wanted
    wrapped = [SimpleNamespace(to_dict=lambda part=part: part) for part in (run, qrels)]
    assert rows(from_ranx(*wrapped, missing_relevance="irrelevant")) == wanted
    for bad in ([1], {"q1": [1]}):
        with pytest.raises(DataError, match="run must be an object of ranx or a dict of dicts"):
            from_ranx(bad)
    with pytest.raises(DataError, match="qrels must contain numbers, got nan for document 'a'"):
        from_ranx(run, {"q1": {"a": float("nan")}})


@pytest.mark.filterwarnings("ignore")
def test_ranx_itself():
    ranx = pytest.importorskip("ranx")
    data = read_trec(FOLDER / "run.txt", FOLDER / "qrels.txt", missing_relevance="irrelevant")
    qrels, run = to_ranx(data)
    assert rows(from_ranx(run, qrels)) == rows(data)
    theirs = ranx.evaluate(qrels, run, "ndcg@5", threads=1)
    ours = evaluate(data, "ndcg_cut_5", n_boot=0)["ndcg_cut_5"]
    assert ours == pytest.approx(theirs, abs=1e-9)


def test_missing_packages_name_their_extra(monkeypatch):
    data = as_ranking_data(None, [0, 1], ids=["a", "b"], score=[1, 2])
    for name, call in (("ranx", to_ranx), ("ir_measures", to_ir_measures)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingExtraError, match=r"equirank\[trec\]"):
            call(data)


def test_the_names_of_ir_measures():
    assert {name: _measure(parse_metric(name)) for name in shared()} == {
        name: SHARED[name] for name in shared()
    }


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("NDCG@10", "nDCG(dcg='exp-log2')@10"),
        ("ERR(max_grade=4)@5", "ERR@5"),
        ("P(threshold=3)@2", "P(rel=3)@2"),
    ],
)
def test_options_are_written_out(ours, theirs):
    assert _measure(parse_metric(ours)) == theirs


@pytest.mark.parametrize(
    "name",
    ["NDCG", "ERR@5", "ERR(max_grade=4)", "Precision", "Recall", "RND", "DCG@5",
     'NDCG(discount="zipf")@5', "AveragePrecision(threshold=0.5)"],
)  # fmt: skip
def test_metrics_without_a_counterpart(name):
    with pytest.raises(DataError, match="has no counterpart in ir_measures"):
        _measure(parse_metric(name))


def shared():
    return [name for name in SHARED if name.partition("(")[0].partition("@")[0] in metric_names()]


def ours(name):
    """Return our values per query; Bpref ignores documents without a judgement."""
    missing = "drop" if name == "Bpref" else "irrelevant"
    data = read_trec(FOLDER / "run.txt", FOLDER / "qrels.txt", missing_relevance=missing)
    result = evaluate(data, name, n_boot=0, n_permutations=0)
    return dict(zip(result.qids.tolist(), result.per_query(name).tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", shared())
def test_the_stored_values_of_ir_measures(name):
    stored = json.loads((FOLDER / "ir_measures.json").read_text(encoding="utf-8"))[name]
    assert ours(name) == pytest.approx(stored, abs=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", shared())
def test_ir_measures_itself(name):
    ir_measures = pytest.importorskip("ir_measures")
    missing = "drop" if name == "Bpref" else "irrelevant"
    data = read_trec(FOLDER / "run.txt", FOLDER / "qrels.txt", missing_relevance=missing)
    theirs = {
        each.query_id: each.value for each in ir_measures.iter_calc(*to_ir_measures(data, name))
    }
    assert ours(name) == pytest.approx(theirs, abs=1e-9)
