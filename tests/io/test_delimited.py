"""CSV: the standard library and pyarrow must agree, and errors must name file, line and text."""

import csv
import gzip
import io
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import sized

from equirank import DataError, EquirankWarning
from equirank.io import delimited, files, read_csv
from equirank.io.column_roles import RECOGNISED
from equirank.io.delimited import PlainBytes
from equirank.io.gatherer import typed
from equirank.io.number_cells import MISSING
from equirank.io.text_layout import Records

PLAIN_TEXTS = ["a,b\n1,2\n", '"a","b ""c"" d"\r\n"","x\ny"\n', '"""a"""', '"a"', "", "a\n"]
ODD_TEXTS = ['a"b,c\n', '"a"b,c\n', 'a,"b\n', 'a,b"\n', '"a" ,b\n', ' "a",b\n', "a\0b", '"a""']
FIELDS = ("X", "y", "offsets", "qids", "cost", "ids", "score", "position", "rows")


def same(a, b):
    """Compare all that two readings hold, bit for bit."""
    for field in FIELDS:
        one, other = getattr(a, field), getattr(b, field)
        assert (one is None) == (other is None), field
        if one is not None:
            assert one.dtype == other.dtype, field
            assert one.shape == other.shape, field
            if one.dtype == object:
                assert [(type(v), v) for v in one] == [(type(v), v) for v in other], field
            else:
                assert one.tobytes() == other.tobytes(), field
    assert a.feature_names == b.feature_names
    assert list(a.sensitive) == list(b.sensitive)
    for name, attribute in a.sensitive.items():
        assert attribute.categories == b.sensitive[name].categories
        assert attribute.codes.tolist() == b.sensitive[name].codes.tolist()


@pytest.fixture(autouse=True)
def small_files_too(monkeypatch):
    """Let pyarrow read small files too, so that it can be compared."""
    monkeypatch.setattr(delimited, "_SMALL", -1)


@pytest.fixture
def write(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def slow(path, **arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_arrow", lambda: None)
        return read_csv(path, **arguments)


def fast(path, **arguments):
    """Read with pyarrow, and fail where the standard library had to help."""
    pytest.importorskip("pyarrow")

    def refuse(*args):
        raise AssertionError("pyarrow did not read this file")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "text_chunks", refuse)
        return read_csv(path, **arguments)


def both(path, **arguments):
    a, b = slow(path, **arguments), fast(path, **arguments)
    same(a, b)
    return b


def fails(path, message, **arguments):
    """Check that both ways give the one error."""
    said = []
    for way in (slow, read_csv):
        with pytest.raises(DataError, match=message) as error:
            way(path, **arguments)
        said.append(str(error.value))
    assert said[0] == said[1]
    return said[0]


def test_all_roles(write):
    path = write(
        "person,list,points,grade,age,sex,place,price,race\n"
        "a,q1,0.5,2,30,f,2,1,x\nb,q1,0.75,0,40,m,1,2,y\nc,q2,1e-3,1,50,f,1,3,y\n"
    )
    data = both(
        path, query="list", relevance="grade", score="points", position="place", cost="price",
        id="person", sensitive=["sex", "race"],
    )  # fmt: skip
    assert data.qids.tolist() == ["q1", "q2"]
    assert data.y.tolist() == [2.0, 0.0, 1.0]
    assert data.score.tolist() == [0.5, 0.75, 0.001]
    assert data.position.tolist() == [2, 1, 1]
    assert data.cost.tolist() == [1.0, 2.0, 3.0]
    assert data.ids.tolist() == ["a", "b", "c"]
    assert data.X.tolist() == [[30.0], [40.0], [50.0]]
    assert data.feature_names == ("age",)
    assert list(data.sensitive) == ["sex", "race"]
    assert data.sensitive["race"].categories == ("x", "y")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "name"), [(r, n) for r, names in RECOGNISED.items() for n in names]
)
def test_recognised_names(write, role, name):
    data = both(write(f" {name.upper()},f1\n1,5\n2,6\n"), features="f1")
    field = {"query": "qids", "relevance": "y"}.get(role, role)
    assert getattr(data, field).tolist() == [1, 2]


def test_a_role_can_be_refused_or_named_otherwise(write):
    path = write("qid,score,rank,label\n1,0.5,3,1\n1,0.6,4,0\n")
    data = both(path, position=False)
    assert data.position is None
    assert data.feature_names == ("rank",)
    assert both(path, features=["rank", "score"]).feature_names == ("rank", "score")
    assert both(path, features=["rank"]).position is None
    assert both(path, relevance="score", score=False).y.tolist() == [0.5, 0.6]


def test_two_names_for_one_role(write):
    path = write("qid,label,relevance\n1,0,1\n")
    fails(path, "relevance must be named, since the columns 'label', 'relevance' could all be it")
    assert both(path, relevance="label").feature_names == ("relevance",)


def test_people_are_never_guessed(write):
    data = both(write("qid,relevance,sex,sensitive,group\n1,0,1,0,1\n1,1,0,1,1\n"))
    assert data.sensitive == {}


def test_features(write):
    path = write("qid,b,text,a,relevance\n1,1,x,2,0\n1,3,y,4,1\n")
    with pytest.warns(EquirankWarning, match=r"left out of X: 'text'"):
        data = both(path)
    assert data.feature_names == ("b", "a")
    assert data.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert both(path, features=["a", "b"]).X.tolist() == [[2.0, 1.0], [4.0, 3.0]]
    assert both(path, features=()).X is None
    fails(path, r"data.csv, line 2: features \('text'\) must be a number, got 'x'", features="text")


def test_a_column_that_turns_out_to_be_text_late(write, monkeypatch):
    monkeypatch.setattr(delimited, "_ROWS", 3)
    monkeypatch.setattr(delimited, "_BYTES", 200)
    rows = [f"{k},{k}.5,{k if k < 90 else 'x'},{k}" for k in range(100)]
    with pytest.warns(EquirankWarning, match="'b'"):
        data = both(write("relevance,a,b,c\n" + "\n".join(rows)))
    assert data.feature_names == ("a", "c")
    assert data.X.tolist() == [[k + 0.5, k] for k in range(100)]


def test_a_column_without_a_name(write):
    with pytest.warns(EquirankWarning, match="without a name are left out of X: ''"):
        data = both(write(",relevance,f\n0,1,5\n1,0,6\n"))
    assert data.feature_names == ("f",)


QUOTED = (
    'qid,label,"a ""b"", c",note\r\n'
    '1,1,"0.5","two\r\nlines, and a ""word"""\r\n'
    '"1",0,2,"-"\r\n'
    '\r\n'
    '2,1,3,"é\u4e2d"\r\n'
    '2,0,4,last'
)  # fmt: skip


def test_quotes_newlines_returns_and_unicode(write):
    data = both(write(QUOTED), id="note")
    assert data.ids.tolist() == ['two\r\nlines, and a "word"', "-", "é\u4e2d", "last"]
    assert data.feature_names == ('a "b", c',)
    assert data.X.tolist() == [[0.5], [2.0], [3.0], [4.0]]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_ends_of_lines(write, newline):
    data = both(write(newline.join(["qid,score", "1,2", "1,3", "", "2,4", ""])))
    assert data.score.tolist() == [2.0, 3.0, 4.0]


def test_byte_order_mark_and_gzip(write):
    text = b"\xef\xbb\xbfqid,score\n1,2\n1,3\n"
    assert both(write(text)).score.tolist() == [2.0, 3.0]
    assert both(write(gzip.compress(text), "data.csv.gz")).score.tolist() == [2.0, 3.0]


def test_other_delimiters(write):
    assert both(write("qid\tscore\n1\t2\n"), delimiter="\t").score.tolist() == [2.0]
    assert both(write("qid;score\n1;2\n"), delimiter=";").score.tolist() == [2.0]
    assert slow(write("qid§score\n1§2\n"), delimiter="§").score.tolist() == [2.0]
    same(
        slow(write("qid§score\n1§2\n"), delimiter="§"),
        read_csv(write("qid§score\n1§2\n"), delimiter="§"),
    )
    for bad in ("", ",,", '"', "\n", 7):
        with pytest.raises(DataError, match="delimiter must be one character"):
            read_csv(write("a\n1\n"), delimiter=bad)


@pytest.mark.parametrize("word", [*MISSING, '""', '"NA"'])
def test_missing_cells(write, word):
    path = write(f"qid,label,sex,f,g\n1,1,f,1,2\n1,0,m,{word},3\n")
    assert np.isnan(both(path, sensitive="sex").X[1, 0])
    path = write(f"qid,label,sex,f\n1,1,f,1\n1,{word},{word},2\n")
    data = both(path, sensitive="sex", missing_sensitive="category", missing_relevance="irrelevant")
    assert data.y.tolist() == [1.0, 0.0]
    assert data.sensitive["sex"].categories == ("f", "(missing)")
    missing = {"sensitive": "sex", "missing_sensitive": "category"}
    fails(path, r"line 3: relevance \('label'\) must not be missing; missing_rel", **missing)
    missing = {"sensitive": "sex", "missing_relevance": "irrelevant"}
    got = "" if word in ("", '""') else f", got '{word.strip(chr(34))}'"
    fails(path, rf"line 3: sensitive \('sex'\) must not be missing{got}; missing_sens", **missing)


def test_the_first_word_of_a_column_is_named_if_it_is_unknown(write):
    path = write("qid,sex\nunknown,unknown\n1,m\n")
    fails(path, r"line 2: sensitive \('sex'\) must not be missing, got 'unknown'", sensitive="sex")


def test_pyarrow_reads_numbers_and_missing_cells_without_help(write, monkeypatch):
    pytest.importorskip("pyarrow")

    def refuse(*args):
        raise AssertionError("read cell by cell")

    monkeypatch.setattr(delimited, "numbers_of", refuse)
    path = write("qid,f,g\n1,0.5,NA\n1,,2\n")
    np.testing.assert_array_equal(read_csv(path).X, [[0.5, np.nan], [np.nan, 2.0]])


@pytest.mark.parametrize("role", ["query", "score", "position", "cost", "id"])
def test_what_must_not_be_missing(write, role):
    path = write("a,b\n\n1,1\nNA,2\n")
    fails(path, rf"data.csv, line 4: {role} \('a'\) must not be missing$", **{role: "a"})


def test_none_is_a_word(write):
    data = both(write("qid,label,disability\n1,1,None\n1,0,some\n"), sensitive="disability")
    assert data.sensitive["disability"].categories == ("None", "some")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2", "10"], [1, 2, 10]),
        (["9007199254740993", "-9223372036854775808", "0"], [2**53 + 1, -(2**63), 0]),
        (["9223372036854775808", "1", "2"], ["9223372036854775808", "1", "2"]),
        (["007", "8", "9"], ["007", "8", "9"]),
        (["1.0", "2", "3"], ["1.0", "2", "3"]),
        (["1e5", "2", "3"], ["1e5", "2", "3"]),
        (["+1", "2", "3"], ["+1", "2", "3"]),
        (["True", "False", "x"], ["True", "False", "x"]),
        ([" a", "b\t", "A"], ["a", "b", "A"]),
        (["\u0661", "2", "3"], ["\u0661", "2", "3"]),
    ],
)
def test_labels(write, cells, expected):
    path = write("id,qid,score\n" + "".join(f"{c},{c},1\n" for c in cells))
    data = both(path)
    assert data.ids.tolist() == expected
    assert data.qids.tolist() == expected


@pytest.mark.parametrize(
    ("cells", "categories"),
    [
        (["1", "0", "1"], (0, 1)),
        (["1.5", "2", "2"], (1.5, 2.0)),
        (["true", "false", "true"], ("false", "true")),
        (["01", "2", "2"], ("01", "2")),
        (["1e5", "2", "2"], ("1e5", "2")),
    ],
)
def test_sensitive_values(write, cells, categories):
    data = both(write("s,score\n" + "".join(f"{c},1\n" for c in cells)), sensitive="s")
    assert data.sensitive["s"].categories == categories


def test_an_attribute_of_many_numbers_asks_for_bins(write):
    path = write("age,score\n" + "".join(f"{k}.5,1\n" for k in range(30)))
    fails(path, "data.csv: .*cut it into bins first", sensitive="age")


WORDS = ["1", " 1", "1 ", "+1", "1e5", "1.", ".5", "-0", "inf", "-Infinity", "TRUE", "false",
         "1e400", "9007199254740993", "0.1", "123456789.123456789123456789", "\u0661"]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_numbers(write, word):
    data = both(write(f"score,f\n1,{word}\n2,2\n"))
    expected = {"true": 1.0, "false": 0.0}.get(word.lower())
    assert data.X[0, 0].tobytes() == np.float64(word if expected is None else expected).tobytes()


@pytest.mark.parametrize("word", ["1_000", "0x10", "nan(1)", "1d5", "x", "--1", "None"])
def test_what_is_no_number(write, word):
    path = write(f'score,f\n1,1\n2,"{word}"\n')
    message = rf"data.csv, line 3: features \('f'\) must be a number, got {re.escape(repr(word))}$"
    fails(path, message, features="f")
    path = write(f'relevance\n1\n"{word}"\n')
    fails(path, r"data.csv, line 3: relevance \('relevance'\) must be a number, got")


# Bad files


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"data.csv, line 1: must have a line of column names, got an empty file"),
        ("\n\n", r"must have a line of column names"),
        ("qid,score\n", r"data.csv: must contain at least one row, got only column names"),
        ("qid,score,score\n1,2,3\n", "each column name must occur once, got 'score' twice"),
        ("qid,score\n1,2\n\n1,2,3\n", r"data.csv, line 4: must have 2 cells, got 3 in '1,2,3'"),
        ("qid,score\n1,2\n1\n", r"data.csv, line 3: must have 2 cells, got 1 in '1'"),
        ('id,score\n"a\nb",2\n1\n', r"data.csv, line 4: must have 2 cells, got 1"),
        ('id,score\n"a\nb",2\n"c\nd",x\n', r"data.csv, line 4: score \('score'\) must be a number"),
        ('id,score\n"a"b,2\n', "line 2: must be CSV: ',' expected after '\"'"),
        ('id,score\n"a,2\n1,2\n', "line 3: must be CSV: unexpected end of data"),
        (b"id,score\na\0b,2\n", "line 2: must be text, got a NUL byte"),
        (
            b"id,score\n\n\xff\x81a,2\n",
            "line 3: must be text in UTF-8 or Windows-1252, got the byte "
            "0x81 as byte 2 of the line",
        ),
        (b"\x89PNG\r\n\x1a\n\0\0", "line 3: must be text, got a NUL byte"),
        (
            "relevance\n1\n-2\n",
            r"data.csv, line 3: relevance \('relevance'\) must be a finite number >= 0, got -2$",
        ),
        (
            "score\n1\ninf\n",
            r"data.csv, line 3: score \('score'\) must be a finite number, got inf$",
        ),
        ("note\nx\n", "must be given, got nothing"),
    ],
)
@pytest.mark.filterwarnings("ignore::equirank.EquirankWarning")
def test_bad_files(write, text, message):
    fails(write(text), message)


@pytest.mark.parametrize("end", [b"\n", b""])
def test_bytes_that_are_not_utf8_in_a_column_that_is_not_needed(write, end):
    path = write(b"score,note\n" + b"1,x\n" * 4000 + b"2,\xc3" + end)
    with pytest.warns(EquirankWarning, match="is not UTF-8 and is read as Windows-1252"):
        assert read_csv(path, features=()).n_rows == 4001


def test_broken_gzip(write):
    packed = gzip.compress(b"score\n" + b"1\n2\n" * 5000)
    fails(write(packed[:-9]), "data.csv: must be a complete gzip file")


@pytest.mark.parametrize("role", ["query", "relevance", "score", "position", "cost", "id",
                                  "sensitive", "features"])  # fmt: skip
def test_an_unknown_column(write, role):
    path = write("qid,relevanse,sex\n1,2,3\n")
    message = (
        rf"{role} must be one of the columns 'qid', 'relevanse', 'sex', got 'relevance'; did you"
    )
    fails(path, message, **{role: "relevance"})


def test_bad_arguments(write):
    path = write("qid,a\n1,2\n")
    fails(path, "column 'a' must have one role, got several", score="a", relevance="a")
    fails(path, "column 'a' must have one role, got several", score="a", sensitive="a")
    fails(path, "sensitive must name columns, got 3", sensitive=[3])
    fails(path, "sensitive must name each column once, got 'a' twice", sensitive=["a", "a"])
    fails(path, "score must be one of the columns .* got 3", score=3)
    words = "missing_sensitive must be one of 'error', 'unknown', 'category', got 'x'"
    fails(path, words, missing_sensitive="x")


def test_the_score_may_be_a_decision_too_and_no_other_role(write):
    path = write("qid,score,hired\n1,2,1\n1,1,0\n")
    data = both(path, score="score", outcomes=["score", "hired"])
    assert data.score.tolist() == [2.0, 1.0]
    assert [column.tolist() for column in data.outcomes.values()] == [[2, 1], [1, 0]]
    words = "column 'hired' must have one role, got several"
    fails(path, words, relevance="hired", outcomes="hired")
    fails(path, words, sensitive="hired", outcomes="hired")


def test_odd_but_legal_quotes_are_left_to_the_standard_library(write):
    for text in ('id,score\na"b,1\n', 'id,score\na""b,1\n'):
        path = write(text)
        same(slow(path), read_csv(path))
        with pytest.raises(AssertionError, match="did not read"):
            fast(path)


# Any file


CELLS = st.text(
    alphabet=st.sampled_from(list('ab01.,;"\n\r é-NA')), max_size=6
).filter(lambda cell: cell.strip() not in MISSING)  # fmt: skip
NUMBERS = st.one_of(st.floats(allow_nan=False).map(repr), st.just(""), st.integers().map(str))


@pytest.mark.slow
@settings(max_examples=sized(50, 150))
@given(
    st.lists(st.tuples(CELLS, NUMBERS, NUMBERS, CELLS), min_size=1, max_size=30),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.integers(1, 9),
)
def test_any_file_is_the_same_both_ways(tmp_path_factory, rows, newline, quoting, chunk):
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if any("\r" in cell for row in rows for cell in row) else quoting
    writer = csv.writer(text, lineterminator=newline, quoting=quoting)
    writer.writerows([["name", "f", "g", "sex"], *rows])
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_text(text.getvalue(), newline="", encoding="utf-8")
    arguments = {"query": "name", "id": "sex", "features": ["g", "f"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_ROWS", chunk)
        a = slow(path, **arguments)
        patch.setattr(delimited, "_BYTES", 100 + 50 * chunk)
        same(a, read_csv(path, **arguments))
    expected = np.array([[float(c or "nan") for c in (g, f)] for _, f, g, _ in rows])
    assert np.array_equal(a.to_original(a.X), expected, equal_nan=True)
    if a.ids.dtype == object:
        assert a.to_original(a.ids).tolist() == [row[3].strip() for row in rows]


def test_many_chunks(write, monkeypatch):
    monkeypatch.setattr(delimited, "_ROWS", 7)
    monkeypatch.setattr(delimited, "_BYTES", 300)
    rows = [f'{k // 3},{k % 4},g{k % 5},"doc {k}",{k / 7!r}' for k in range(500)]
    data = both(write("qid,label,group,id,f\n" + "\n".join(rows)), sensitive="group")
    assert data.n_queries == 167
    assert data.X[:, 0].tolist() == [k / 7 for k in range(500)]
    assert data.ids.tolist() == [f"doc {k}" for k in range(500)]
    assert data.sensitive["group"].codes.tolist() == [k % 5 for k in range(500)]


def test_without_pyarrow(write, monkeypatch):
    """Without the package the standard library reads, and nobody is told."""
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    assert delimited._arrow() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_csv(write("qid,score\n1,2\n")).score.tolist() == [2.0]


def test_a_small_file_is_read_without_pyarrow(write, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(delimited, "_arrow", lambda: pytest.fail("pyarrow was asked"))
    assert read_csv(write("query,score\n1,2\n")).n_rows == 1


@pytest.mark.parametrize(("named", "other"), [("score", "position"), ("position", "score")])
def test_naming_one_order_leaves_the_other_unguessed(write, named, other):
    path = write("score,rank\n5,2\n6,1\n")
    data = read_csv(path, **{named: {"score": "score", "position": "rank"}[named]})
    assert getattr(data, named) is not None
    assert getattr(data, other) is None
    both_given = read_csv(path, score="score", position="rank")
    assert both_given.score is not None
    assert both_given.position is not None


def read_blocks(text, step):
    stream = PlainBytes(io.BytesIO(text.encode()), ",")
    parts = []
    while part := stream.read(step):
        parts.append(part)
    return b"".join(parts).decode()


@pytest.mark.parametrize("step", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("text", PLAIN_TEXTS)
def test_plain_text_goes_through(text, step):
    assert read_blocks(text, step) == text


@pytest.mark.parametrize("step", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("text", ODD_TEXTS)
def test_odd_text_is_stopped(text, step):
    stream = PlainBytes(io.BytesIO(text.encode()), ",")
    while stream.read(step):
        pass
    assert re.search("quote|NUL", stream.problem)


def test_the_delimiter_counts():
    stream = PlainBytes(io.BytesIO(b'"a";"b"\n'), ";")
    assert stream.read() == b'"a";"b"\n'
    stream = PlainBytes(io.BytesIO(b'"a";"b"\n'), ",")
    assert stream.read() == b""
    assert "quote" in stream.problem


@pytest.mark.slow
def test_a_quoted_line_end_may_be_split_between_blocks(write, monkeypatch):
    monkeypatch.setattr(delimited, "_BYTES", 150)
    monkeypatch.setattr(delimited, "_SMALL", 0)
    for width in range(90, 140):
        path = write(f'"qid","id"\n"0","{"x" * width}"\n"0","a\r\nb"\n')
        assert read_csv(path, id="id").ids[-1] == "a\r\nb"


def test_different_scores_do_not_become_ties(write, monkeypatch):
    monkeypatch.setattr(delimited, "_ROWS", 1)
    path = write("score\n9007199254740993\n1\n9007199254740992\n")
    fails(
        path, r"line 4: score \('score'\) must differ as a float of 64 bits from 9007199254740993"
    )
    path = write("score\n9007199254740994\n9007199254740992\n1e300\n1.0E300\n9007199254740994.0\n")
    assert both(path).score[-1] == 2**53 + 2


def test_a_wholly_missing_group_column(write):
    path = write("score,sex\n1,\n2,NA\n")
    words = r"'sex'\] must name a group in at least one row, and all are unknown"
    fails(path, words, sensitive="sex", missing_sensitive="category")


def test_a_column_of_names_is_refused_unless_allowed(write):
    path = write("score,name\n" + "".join(f"{j},n{j}\n" for j in range(30)))
    fails(
        path, r"'name'\] must be a category, got 30 different values in 30 rows", sensitive="name"
    )
    data = both(path, sensitive="name", max_groups=30)
    assert len(data.attribute().categories) == 30


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::equirank.EquirankWarning")
def test_many_columns(write):
    count = 12_000
    names = [f"c{j}" for j in range(count)]
    cells = ["x" if j % 3 == 0 else str(j) for j in range(count)]
    path = write(",".join(names) + "\n" + (",".join(cells) + "\n") * 2)
    data = read_csv(path)
    assert data.X.shape == (2, count * 2 // 3)
    numbers = [name for name in names if int(name[1:]) % 3]
    assert read_csv(path, features=numbers).feature_names == data.feature_names == tuple(numbers)


def test_text_that_is_found_late_is_left_out(write, monkeypatch):
    monkeypatch.setattr(delimited, "_CELLS", 6)
    path = write("a,b,c\n1,2,3\n4,5,6\n7,x,9\n1,2,x\n")
    with pytest.warns(EquirankWarning, match="'b', 'c'"):
        data = read_csv(path)
    assert data.X.tolist() == [[1.0], [4.0], [7.0], [1.0]]
    assert data.feature_names == ("a",)


def test_a_packed_file_that_unpacks_to_far_more_is_refused(write, monkeypatch):
    monkeypatch.setattr(files, "_LEAST", 1 << 15)
    bomb = gzip.compress(b"score\n" + b"1\n" * (1 << 15))
    assert len(bomb) * 200 < 1 << 16
    fails(write(bomb), r"data.csv: must not unpack to more than 200 times its size, got over")
    fails(write(gzip.compress(b"\0" * (1 << 16))), "must not unpack to more than 200 times")
    monkeypatch.setattr(files, "_LEAST", 1 << 17)
    assert slow(write(bomb)).n_rows == 1 << 15


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    "text",
    [
        'qid,id,sex,score\n1,a,f,2\n1,b,m,3\n2,"c\nd",f,1\n2,e,m,1\n\n3,"f, ""g""",m,0\n',
        "qid,id,sex,score\n1,a,f,2\n,,,\n1,b,m,3\n\n,,,\n2,c,m,1\n",
        "qid;id;sex;score\r\n1;;f;2\r\n1;b;m;3\r\n",
        '"qid",id,"se\nx",score\n1,a,f,2\n1,b,m,3\n1,c,m,4\n',
        "qid,id,sex,score\n1,a,f,2\n1,b,m\n1,c,m,3\n",
        "qid,id,sex,score\n1,a,f,2\n qid ,id,sex,score\n1,c,m,3\n",
        "qid,id,sex,score\n1,a,f,2\n1,qid,m,1\nqid,c,m,3\n",
        'qid,id,sex,score\n1,a,f,2\n1,"b,m,3\n1,c,m,4\n',
        "qid,id,sex,score\n1,a,f,2\n1,b\0,m,3\n",
        "qid,id,sex,score\n1,a,f,2\n1,b,m,x\n",
        "qid,id,sex,score\r1,a,f,2\r1,b,m,3\r\n1,c,m,4\n1,d,f,5",
        'qid,id,sex,score\n1,"a\rb",f,2\n1,b,m,3\n',
        'qid,id,sex,score\n1,a,f,2\n1,"\n",m,3\n1,",\n,",m,3\n1,b,m,3\n',
        "qid,id,sex,score\n1,a,f,2\n1,b,m\n1,c,m,3,4\n1,d,f,1\n",
        'qid,id,sex,score\n1,a,f,2\n1,"b"c,m,2\n',
        "qid,id,sex,score\n1,a,f,2\n1,b,m,3,1,1,1,1,1\n",
        "qid,id,sex,score\n" + "1,a,f,2\n" * 60 + "1,\0,f,2\n",
        "qid,id,sex,score\n1,a,f,2\n,x,f,3\n",
        "qid,id,sex,score\n1,a,f,2\n1, b ,m,3\n1,\u2028c\x0b,m,3\n1,d\x1ce,f,1\n",
        "qid,id,sex,score\n1,a,f,2\n1,b,m,3\n1, NA ,m,3\n",
        "qid id sex score\n1  a f 2 \n\n 1 b m 3\n1 c m 4\n",
        "score\n1\n\n2\n3\n",
        'score\n1\n""\n2\n',
    ],
)
@pytest.mark.slow
def test_blocks_are_read_as_record_by_record(tmp_path, monkeypatch, text, size):
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode())

    def found():
        try:
            sign = "space" if text.startswith("qid id") else None
            people = ["sex"] if "sex" in text else None
            data = read_csv(path, sensitive=people, features=(), delimiter=sign)
        except DataError as error:
            return str(error)
        columns = (data.ids, data.score, data.qids, data.offsets)
        parts = [None if part is None else part.tolist() for part in columns]
        return (
            parts,
            {name: each.codes.tolist() for name, each in data.sensitive.items()},
            data.source,
        )

    monkeypatch.setattr(delimited, "_arrow", lambda: None)
    monkeypatch.setattr(delimited, "_ROWS", size)
    blocks = found()
    monkeypatch.setattr(Records, "_plain", lambda self, lines, layout: None)
    assert blocks == found()
    monkeypatch.setattr(delimited, "_ROWS", 8192)
    assert blocks == found()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "end"])
def test_lines_of_one_row_each_are_parsed_at_once(write, monkeypatch, end, last):
    def refuse(*args):
        raise AssertionError("these lines were parsed record by record")

    monkeypatch.setattr(Records, "rows", refuse)
    lines = ["qid,id,score", *(f'q{n // 3}, ,"1{n}"' for n in range(9)), ",p,0"]
    path = write(end.join(lines).replace(" ", '"a, ""b"""') + last.replace("end", end))
    with pytest.raises(DataError, match=r"line 11: query \('qid'\) must not be missing"):
        slow(path)
    data = slow(path, query=False, features=())
    assert data.ids.tolist() == ['a, "b"'] * 9 + ["p"]
    assert data.score.tolist() == [*range(10, 19), 0]


@pytest.mark.parametrize(
    "labels",
    [
        [], ["10"], ["10", ""], ["", ""], ["1\n2", "3"], ["1", "2\n"], ["\n1"], ["-0"], ["0", "-5"],
        ["010"], ["+1"], ["9" * 19, "1"], ["-" + "9" * 19], ["1.5", "2"], ["1", "\u0663"], ["1 "],
    ],
)  # fmt: skip
def test_labels_are_numbers_if_each_is_written_as_one(labels):
    whole = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
    twin = list(labels)
    if all(whole.fullmatch(label) and -(2**63) <= int(label) < 2**63 for label in labels):
        twin = [int(label) for label in labels]
    assert typed(labels, decimals=False) == twin


def test_ids_that_occur_again_and_lists_that_return(tmp_path, monkeypatch):
    path = tmp_path / "items.csv"
    path.write_text("qid,id,score\n" + "".join(f"{n % 3},{n % 4},{n}\n" for n in range(24)))
    monkeypatch.setattr(delimited, "_ROWS", 5)
    data = read_csv(path)
    assert data.ids.dtype.kind == "i"
    assert data.ids.tolist() == [n % 4 for q in range(3) for n in range(q, 24, 3)]
    path.write_text(path.read_text() + "2,x,9\n")
    assert read_csv(path).ids.tolist()[-2:] == ["3", "x"]


def test_ids_are_trimmed_and_never_missing(write, monkeypatch):
    """Trimmed labels are counted through all chunks, and an error names the line in its chunk."""
    monkeypatch.setattr(delimited, "_ROWS", 4)
    cells = [f"p{n}" if n % 3 else f" p{n}\t" for n in range(20)]
    data = both(write("id,score\n" + "".join(f"{cell},1\n" for cell in cells)))
    assert data.ids.tolist() == [cell.strip() for cell in cells]
    remark = "id: 7 labels were read without the white space around the text"
    assert data.source.remarks[0] == remark
    for word in ("", " ", "NA", " NA"):
        cells[17] = word
        path = write("id,score\n" + "".join(f"{cell},1\n" for cell in cells))
        fails(path, r"data.csv, line 19: id \('id'\) must not be missing$")
