"""Files as people have them: each is read as stated, or refused with a message that helps."""

import codecs
import gzip
import io
import re
import warnings
import zipfile

import numpy as np
import pytest
from sample_workbook import Raw, error, formula, ods, xlsx

from equirank import DataError, EquirankWarning
from equirank.io import delimited, read_csv, read_file

PLAIN = "qid,sex,score\n1,female,0.5\n1,male,0.25\n2,female,0.75\n"
SCORES, SEX = [0.5, 0.25, 0.75], ["female", "male", "female"]


def write(folder, content, name="people.csv"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(folder, content, name="people.csv", **options):
    path = write(folder, content, name)
    chosen = {"sensitive": "sex", "missing_sensitive": "category"} | options
    return read_file(path, **chosen)


def groups(data, name="sex"):
    attribute = data.attribute(name)
    return data.to_original(np.array(attribute.categories, dtype=object)[attribute.codes]).tolist()


def scores(data):
    return data.to_original(data.score).tolist()


SAME = {
    "plain": (PLAIN, {}),
    "semicolons": (PLAIN.replace(",", ";"), {}),
    "tabs": (PLAIN.replace(",", "\t"), {}),
    "bars": (PLAIN.replace(",", "|"), {}),
    "semicolons, and a comma in a name": (
        PLAIN.replace(",", ";")
        .replace("qid;", "a,b;qid;")
        .replace("\n1;", "\n7;1;")
        .replace("\n2;", "\n7;2;"),
        {},
    ),
    "another delimiter": (PLAIN.replace(",", "^"), {"delimiter": "^"}),
    "a delimiter by word": (PLAIN.replace(",", ";"), {"delimiter": "semicolon"}),
    "white space": (PLAIN.replace(",", "   "), {"delimiter": "space"}),
    "decimal commas": (PLAIN.replace(",", ";").replace(".", ","), {}),
    "decimal commas, named": (PLAIN.replace(",", ";").replace(".", ","), {"decimal": ","}),
    "decimal commas in quotes": (
        'qid,sex,score\n1,female,"0,5"\n1,male,"0,25"\n2,female,"0,75"\n',
        {},
    ),
    "decimal commas and a whole number": (
        "qid;sex;score;x\n1;female;0,5;1\n1;male;0,25;2,5\n2;female;0,75;3\n",
        {},
    ),
    "a mark of UTF-8": (codecs.BOM_UTF8 + PLAIN.encode(), {}),
    "UTF-16, little end first": (codecs.BOM_UTF16_LE + PLAIN.encode("utf-16-le"), {}),
    "UTF-16, big end first": (codecs.BOM_UTF16_BE + PLAIN.encode("utf-16-be"), {}),
    "UTF-32": (PLAIN.encode("utf-32"), {}),
    "UTF-16 without a mark, named": (PLAIN.encode("utf-16-le"), {"encoding": "utf-16-le"}),
    "ends of Windows": (PLAIN.replace("\n", "\r\n"), {}),
    "ends of old Macintosh": (PLAIN.replace("\n", "\r"), {}),
    "blank lines": (PLAIN.replace("\n", "\n\n"), {}),
    "rows without a value": (PLAIN + ",,\n,,\n", {}),
    "delimiters at the end": (PLAIN.replace("\n", ",\n"), {}),
    "spaces in the names": (PLAIN.replace("sex,score", " sex , score "), {}),
    "spaces in the cells": (PLAIN.replace(",", ", "), {}),
    "no end of the last line": (PLAIN.rstrip("\n"), {}),
    "gzip": (gzip.compress(PLAIN.encode()), {}),
    "quoted line ends": (
        'note,qid,sex,score\n"a\nb",1,female,0.5\n"c, ""d""",1,male,0.25\ne,2,female,0.75\n',
        {},
    ),
    "no names": (PLAIN.partition("\n")[2], {"columns": ["qid", "sex", "score"]}),
    "no names, white space": (
        PLAIN.partition("\n")[2].replace(",", " "),
        {"columns": ["qid", "sex", "score"]},
    ),
    "no names, a comment above": (
        "|1x3 Cross validator\n# 3 rows\n" + PLAIN.partition("\n")[2],
        {"columns": ["qid", "sex", "score"]},
    ),
    "names twice, numbered": (
        PLAIN.replace("qid,sex,score", "qid,sex,score,score").replace("5\n", "5,9\n"),
        {"repeated": "number", "score": "score"},
    ),
    "labels in mixed case and with spaces": (
        PLAIN.replace("1,female", "1, FEMALE").replace("2,female", "2,female "),
        {"labels": {"sex": {"FEMALE": "female"}}},
    ),
    "labels of another language": (
        PLAIN.replace("female", "weiblich").replace(",male", ",m\u00e4nnlich"),
        {"labels": {"sex": {"Weiblich": "female", "ma\u0308nnlich": "male"}}},
    ),
    "true and false": (
        PLAIN.replace("qid,sex,score", "qid,sex,score,b").replace("5\n", "5,TRUE\n"),
        {},
    ),
    "more columns than needed, of any kind": (
        "date,percent,qid,sex,score\n2024-01-01,45%,1,female,0.5\nx,,1,male,0.25\n,9,2,female,0.75\n",
        {},
    ),
    "thousands, decimal named": (
        "qid;sex;score;pay\n1;female;0.5;1,234\n1;male;0.25;12,345\n2;female;0.75;1\n",
        {"decimal": "point"},
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_each_is_the_same_three_people(tmp_path, case):
    content, options = SAME[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = read(tmp_path, content, **options)
    assert scores(data) == SCORES
    assert groups(data) == SEX
    assert data.qids.tolist() == [1, 2]
    assert data.source.name == "people.csv"
    assert data.source.rows == 3
    assert len(data.source.sha256) == 64


ROWS = [["qid", "sex", "score"], [1, "female", 0.5], [1, "male", 0.25], [2, "female", 0.75]]
BOOKS = {
    "one sheet": (xlsx({"Data": ROWS}), {}),
    "an empty second sheet": (xlsx({"Data": ROWS, "Notes": []}), {}),
    "two sheets, one named": (xlsx({"Notes": [["x"]], "Data": ROWS}), {"sheet": "Data"}),
    "an empty row": (xlsx({"Data": [*ROWS[:2], [None] * 3, *ROWS[2:]]}), {}),
    "above and beside nothing": (
        xlsx({"Data": [[], [], *([None, None, *row] for row in ROWS)]}),
        {},
    ),
    "numbers as text": (
        xlsx({"D": [ROWS[0], *([str(q), s, str(v).replace(".", ",")] for q, s, v in ROWS[1:])]}),
        {},
    ),
    "a formula with its value": (
        xlsx({"D": [ROWS[0], [1, "female", formula("1/2", 0.5)], *ROWS[2:]]}),
        {},
    ),
    "an error where nobody looks": (
        xlsx({"D": [[*ROWS[0], "x"], *([*row, error("#N/A")] for row in ROWS[1:])]}),
        {},
    ),
    "merged where nobody looks": (
        xlsx({"D": [[*ROWS[0], "x"], *([*row, 1] for row in ROWS[1:])]}, merged=["D2:D4"]),
        {},
    ),
    "no names": (xlsx({"D": ROWS[1:]}), {"columns": ["qid", "sex", "score"]}),
    "names twice, numbered": (
        xlsx({"D": [[*ROWS[0], "score"], *([*row, 9] for row in ROWS[1:])]}),
        {"repeated": "number", "score": "score"},
    ),
}


@pytest.mark.parametrize("case", BOOKS)
def test_each_workbook_is_the_same_three_people(tmp_path, case):
    pytest.importorskip("python_calamine")
    content, options = BOOKS[case]
    data = read(tmp_path, content, "people.xlsx", **options)
    assert (scores(data), groups(data), data.qids.tolist()) == (SCORES, SEX, [1, 2])
    assert data.qids.dtype.kind == "i"


def test_an_open_document(tmp_path):
    pytest.importorskip("python_calamine")
    data = read(tmp_path, ods(ROWS), "people.ods")
    assert (scores(data), groups(data)) == (SCORES, SEX)


NAMED = {"columns": ["qid", "sex", "score"]}
REFUSED = {
    "empty": ("", {}, r"people.csv, line 1: must have a line of column names, got an empty file"),
    "blank": ("\n\n \n", {}, r"people.csv, line 3: must have column names, got none"),
    "names alone": ("qid,sex,score\n", {}, "must contain at least one row"),
    "names alone, and names given": ("", NAMED, "line 1: must contain at least one row"),
    "a NUL byte": (PLAIN.replace("0.5", "0\0005"), {}, "line 2: must be text, got a NUL byte"),
    "UTF-16 without a mark": (
        PLAIN.encode("utf-16-le"),
        {},
        "line 1: must be text, got a NUL byte; encoding must name",
    ),
    "bytes of no text": (
        b"qid,sex,score\n1,f\x81,2\n",
        {},
        "line 2: must be text in UTF-8 or Windows-1252, got the byte 0x81 as byte 4 of",
    ),
    "bytes of no text, UTF-8 named": (
        b"qid,sex,score\n1,f\x81,2\n",
        {"encoding": "utf-8"},
        "line 2: must be text in UTF-8, got the byte 0x81 as byte 4",
    ),
    "bytes of no UTF-16": (codecs.BOM_UTF16_LE + b"q\0i\0d", {}, "must be text in utf-16"),
    "an unknown encoding": (PLAIN, {"encoding": "utf-9"}, "encoding must be the name of a text"),
    "an encoding of no text": (
        PLAIN,
        {"encoding": "base64"},
        "encoding must be the name of a text",
    ),
    "a row with more cells": (
        PLAIN + "2,male,1,9\n",
        {},
        "line 5: must have 3 cells, got 4 in '2,m",
    ),
    "a row with fewer cells": (
        PLAIN + "2,male\n",
        {},
        "line 5: must have 3 cells, got 2 in '2,male'",
    ),
    "a row with more cells, late": (
        PLAIN + "2,male,1\n" * 80 + "2,male,1,9\n",
        {},
        "line 85: must have 3 cells, got 4",
    ),
    "names twice": (
        PLAIN.replace("qid", "score"),
        {},
        r"line 1: each column name must occur once, got 'score' twice, in columns 1 and 3; "
        'repeated must be "number"',
    ),
    "names again": (PLAIN + PLAIN, {}, "line 5: must be a row, got the names of the columns again"),
    "no delimiter": (
        "qid sex score\n1 f 2\n",
        {},
        "delimiter must be named .* since neither comma, semicolon, tab nor bar",
    ),
    "two delimiters": ("a;b,c\n1;2,3\n", {}, "delimiter must be named .*comma and semicolon both"),
    "another width than named": (
        PLAIN,
        {"columns": ["a", "b"]},
        "delimiter must be named .* none makes 2 cells",
    ),
    "another width than named, delimiter too": (
        PLAIN,
        {"columns": ["a", "b"], "delimiter": "comma"},
        "line 1: columns must name the 3 columns of the file, got 2 names",
    ),
    "columns named twice": (
        PLAIN,
        {"columns": ["a", "a", "b"]},
        "columns must name each .* 'a' twice",
    ),
    "no line of names": (
        PLAIN.partition("\n")[2],
        {},
        "columns must name the columns of a file without a line of names",
    ),
    "a bad delimiter": (PLAIN, {"delimiter": "xx"}, "delimiter must be one character"),
    "a bad decimal": (PLAIN, {"decimal": ";"}, 'decimal must be "comma" or "point", got \';\''),
    "three digits after each comma": (
        PLAIN.replace(",", ";")
        .replace("0.5", "1,234")
        .replace("0.25", "5,678")
        .replace("0.75", "2"),
        {},
        'decimal must be "comma" or "point", since every value of column \'score\' with a comma '
        "has three digits after it: '1,234' is 1.234 or 1234",
    ),
    "thousands": (
        PLAIN.replace(",", ";").replace("0.5", "1.234,5"),
        {},
        "line 2: score .* must be a number, got '1.234,5'; decimal must be \"comma\" or",
    ),
    "a percent sign": (PLAIN.replace("0.5", "50%"), {}, "line 2: score .* got '50%'$"),
    "a date as score": (
        PLAIN.replace("0.5", "2024-01-01"),
        {},
        "line 2: score .* got '2024-01-01'$",
    ),
    "infinity": (PLAIN.replace("0.5", "inf"), {}, "line 2: score .* must be a finite number"),
    "whole numbers that a float cannot tell apart": (
        PLAIN.replace("0.5", "9007199254740993").replace("0.25", "9007199254740992"),
        {},
        "line 3: score .* must differ as a float of 64 bits",
    ),
    "an unknown group": (
        PLAIN.replace("male,0.25", "Prefer not to say,0.25"),
        {"missing_sensitive": "error"},
        r"line 3: sensitive \('sex'\) must not be missing, got 'Prefer not to say'",
    ),
    "a quote that does not end": (PLAIN + '2,"male,1\n', {}, "must be CSV: unexpected end of data"),
    "a workbook by the name of a text": (xlsx({"D": ROWS}), {}, "must be text"),
    "a sheet of a text": (PLAIN, {"sheet": "D"}, "sheet must be omitted for CSV"),
}


@pytest.mark.filterwarnings("ignore::equirank.EquirankWarning")
@pytest.mark.parametrize("case", REFUSED)
def test_each_is_refused_with_a_reason(tmp_path, case):
    content, options, message = REFUSED[case]
    with pytest.raises(DataError, match=message):
        read(tmp_path, content, **options)


REFUSED_BOOKS = {
    "two sheets": (
        xlsx({"D": ROWS, "E": ROWS}),
        {},
        "sheet must name one of the sheets, since 'D', 'E'",
    ),
    "an unknown sheet": (xlsx({"Data": ROWS}), {"sheet": "data"}, "did you mean 'Data'"),
    "no cell": (xlsx({"D": []}), {}, "sheet 'D', row 1: must have a row of column names"),
    "no cell in two sheets": (
        xlsx({"D": [], "E": []}),
        {},
        "sheet must name .* no sheet has a cell",
    ),
    "names alone": (xlsx({"D": ROWS[:1]}), {}, "must contain at least one row"),
    "a formula without its value": (
        xlsx({"D": [*ROWS, [2, "male", formula("A2+1")]]}),
        {},
        "sheet 'D', cell C5: must hold a value, got a formula without a stored value",
    ),
    "an error as score": (
        xlsx({"D": [*ROWS, [2, "male", error("#DIV/0!")]]}),
        {},
        "cell C5: .* got the error #DIV/0!",
    ),
    "an error as group": (
        xlsx({"D": [*ROWS, [2, error("#N/A"), 1]]}),
        {},
        "cell B5: .* got the error #N/A",
    ),
    "merged lists": (
        xlsx({"D": [*ROWS, [None, "male", 1]]}, merged=["A4:A5"]),
        {},
        "cell A4: must not be merged with others, got the cells A4 to A5",
    ),
    "names twice": (
        xlsx({"D": [["sex", "sex"], ["f", "m"]]}),
        {},
        "sheet 'D', row 1: each column name",
    ),
    "no workbook": (b"nothing", {}, "people.xlsx: must be a workbook"),
    "half a workbook": (xlsx({"D": ROWS})[:400], {}, "people.xlsx: must be a workbook"),
    "a text as score": (
        xlsx({"D": [*ROWS, [2, "male", "high"]]}),
        {},
        "sheet 'D', row 5: score .* got 'high'",
    ),
    "a delimiter": (
        xlsx({"D": ROWS}),
        {"delimiter": ","},
        "delimiter must be omitted for workbooks",
    ),
}


@pytest.mark.parametrize("case", REFUSED_BOOKS)
def test_each_workbook_is_refused_with_a_reason(tmp_path, case):
    pytest.importorskip("python_calamine")
    content, options, message = REFUSED_BOOKS[case]
    with pytest.raises(DataError, match=message):
        read(tmp_path, content, "people.xlsx", **options)


BARE = Raw('<table:table-cell table:formula="of:=1+1"/>')
WRONG = Raw(
    '<table:table-cell table:formula="of:=NA()" office:value-type="string" office:string-value=""'
    ' calcext:value-type="error"><text:p>#N/A</text:p></table:table-cell>'
)


@pytest.mark.parametrize(
    ("cell", "message"),
    [(BARE, "cell C5: must hold .* formula without"), (WRONG, "cell C5: must hold .* error #N/A")],
)
def test_an_open_document_with_a_fault(tmp_path, cell, message):
    pytest.importorskip("python_calamine")
    with pytest.raises(DataError, match=message):
        read(tmp_path, ods([*ROWS, [2, "male", cell]]), "people.ods")


def test_a_packed_workbook_that_unpacks_to_far_more_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("python_calamine")
    monkeypatch.setattr("equirank.io.excel._LEAST", 1 << 10)
    monkeypatch.setattr("equirank.io.excel._TIMES", 1)
    with pytest.raises(DataError, match="must not unpack to more than 1 times its size"):
        read(tmp_path, xlsx({"D": ROWS}), "people.xlsx")


@pytest.mark.parametrize(
    ("name", "columns"),
    [("XFD1048576", 16_926), ("AZ1048576", 52), ("ZZ50000", 702), ("AAA50000", 1_378)],
)
def test_a_cell_far_from_all_others_is_refused(tmp_path, name, columns):
    pytest.importorskip("python_calamine")
    number, packed = re.sub("[A-Z]", "", name), with_cell(name)
    expected = f"must not have a cell far .* {number} rows and about {columns} columns"
    with pytest.raises(DataError, match=expected):
        read(tmp_path, packed, "far.xlsx")


def with_cell(name):
    """Return a workbook with one more cell of this name."""
    row = f'<row r="{re.sub("[A-Z]", "", name)}"><c r="{name}"><v>1</v></c></row></sheetData>'
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(xlsx({"D": ROWS}))) as old, zipfile.ZipFile(packed, "w") as new:
        for part in old.namelist():
            new.writestr(part, old.read(part).replace(b"</sheetData>", row.encode()))
    return packed.getvalue()


@pytest.mark.gate
def test_a_mark_in_a_late_row_is_read_as_before(tmp_path):
    pytest.importorskip("python_calamine")
    with pytest.raises(DataError, match="row 200000"):
        read(tmp_path, with_cell("B200000"), "late.xlsx")


# What is said of a guess


def test_windows_1252_warns_and_is_recorded(tmp_path):
    text = PLAIN.replace("female", "weiblich").replace(",male", ",m\u00e4nnlich")
    path = write(tmp_path, text.encode("cp1252"))
    with pytest.warns(
        EquirankWarning, match="people.csv: is not UTF-8 and is read as Windows-1252"
    ):
        data = read_csv(path, sensitive="sex")
    assert groups(data) == ["weiblich", "m\u00e4nnlich", "weiblich"]
    assert data.source.how["encoding"] == "Windows-1252 (guessed: the file is not UTF-8)"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = read_csv(path, sensitive="sex", encoding="cp1252")
    assert named.source.how["encoding"] == "cp1252 (named)"
    assert groups(named) == groups(data)


def test_every_guess_has_its_reason(tmp_path):
    source = read(tmp_path, PLAIN.replace(",", ";").replace(".", ",")).source
    assert source.how == {
        "format": "CSV",
        "encoding": "UTF-8",
        "delimiter": "semicolon (guessed: the same number of them in each of the first 4 records)",
        "decimal": "comma in 'score' (guessed: every value fits digits, comma, digits)",
    }
    assert source.columns == {
        "query": ("qid", "recognised by its name"),
        "score": ("score", "recognised by its name"),
        "sensitive": ("sex", "named"),
    }
    assert source.labels == {"sex": (("female", 2, "female"), ("male", 1, "male"))}
    assert source.remarks == ()
    source = read(tmp_path, PLAIN, score="score", query="qid").source
    assert source.columns["query"] == ("qid", "named")


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        ("score\n1\n2\n", None, "comma (one column)"),
        ("1\n2\n", ["score"], "comma (one column)"),
        ("1;2\n3;4\n", ["score", "b"], "semicolon (guessed: it makes 2 cells)"),
        ("1 2\n3 4\n", ["score", "b"], "space (guessed: it makes 2 cells)"),
        ("1;2 3\n3;4 5\n", ["score", "b"], "semicolon (guessed: it makes 2 cells)"),
        ("1;2,3\n4;5,6\n", ["a", "score"], "comma and semicolon both make 2 cells, as many as"),
        ("1 2\n3 4\n", ["score"], "none makes 1 cells, as many as"),
    ],
)
def test_a_delimiter_is_guessed_from_the_number_of_columns(tmp_path, text, columns, said):
    path = write(tmp_path, text)
    if "guessed" in said or "one column" in said:
        data = read_csv(path, columns=columns, score="score", features=())
        assert data.source.how["delimiter"] == said
    else:
        with pytest.raises(DataError, match=said):
            read_csv(path, columns=columns, score="score", features=())


def test_the_digest_is_that_of_the_bytes(tmp_path):
    import hashlib

    packed = gzip.compress(PLAIN.encode())
    assert read(tmp_path, packed).source.sha256 == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize(
    ("places", "expected"),
    [("2 5 9", [1, 2, 3]), ("1 1 2", [1, 1, 3]), ("3 0 3", [1, 0, 1]), ("1 2 3", [1, 2, 3])],
)
def test_ranks_with_gaps_are_counted_anew_with_a_note(tmp_path, places, expected):
    rows = "".join(f"{sex},{place}\n" for sex, place in zip("fmf", places.split(), strict=True))
    data = read(tmp_path, "sex,rank\n" + rows)
    assert data.position.tolist() == expected
    noted = any("positions have gaps in 1 list" in each for each in data.source.remarks)
    assert noted == (places != "1 2 3")
    assert data.ranking().position.tolist() == expected


def test_numeric_codes_are_groups_with_a_note(tmp_path):
    data = read(tmp_path, "sex,score\n1,5\n2,6\n1,7\n")
    assert data.attribute("sex").categories == (1, 2)
    assert "sex: the groups are numbers: 1, 2" in data.source.remarks


def test_rows_without_a_value_are_counted(tmp_path):
    data = read(tmp_path, PLAIN.replace("1,male", ",,\n1,male") + ",,\n")
    assert data.n_rows == 3
    assert "rows without any value were left out: 2 (lines 3, 6)" in data.source.remarks


def test_one_list_is_noted_unless_it_was_asked_for(tmp_path):
    words = "all rows are one list: no column was named or recognised as the lists"
    assert words in read(tmp_path, "sex,score\nf,1\nm,2\n").source.remarks
    assert words not in read(tmp_path, "sex,score\nf,1\nm,2\n", query=False).source.remarks


def test_a_text_is_letor_if_its_first_line_is(tmp_path):
    data = read(
        tmp_path, "1 qid:1 1:0.5 2:1\n0 qid:1 1:0.25 2:0\n", "a.txt", sensitive="2", score="1"
    )
    assert scores(data) == [0.5, 0.25]
    assert data.source.how["format"].startswith("LETOR (guessed: its first line has pairs")
    data = read(tmp_path, PLAIN, "a.txt")
    assert data.source.how["format"].startswith("CSV (guessed: its first line does not have pairs")
    with pytest.raises(DataError, match="format must be one of csv, tsv, parquet, letor, excel"):
        read(tmp_path, PLAIN, "a.out")
    assert scores(read(tmp_path, PLAIN, "a.out", format="csv")) == SCORES


@pytest.mark.parametrize("small", [1 << 21, -1])
def test_white_space_around_the_names_of_lists_and_people_is_no_other_name(
    tmp_path, monkeypatch, small
):
    if small < 0:
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(delimited, "_SMALL", small)
    text = "sex,list,id,score\nf, Koch ,a,1\nm,Koch,b ,2\nf,Amt,a,3\nm,Amt\t,c,4\n"
    data = read(tmp_path, text, query="list", id="id")
    assert data.qids.tolist() == ["Koch", "Amt"]
    assert data.ids.tolist() == ["a", "b", "a", "c"]
    assert data.source.remarks[-2:] == (
        "list: 2 labels were read without the white space around the text",
        "id: 1 label was read without the white space around the text",
    )
    assert not any("white space" in each for each in read(tmp_path, PLAIN).source.remarks)
    numbers = read(tmp_path, "sex,list,score\nf, 7,1\nm,7,2\n", query="list")
    assert numbers.qids.tolist() == [7]
    with pytest.raises(
        DataError, match=r"people.csv, line 3: query \('list'\) must not be missing"
    ):
        read(tmp_path, "sex,list,score\nf,7,1\nm,  ,2\n", query="list")


@pytest.mark.parametrize("line", [",,", "qid,sex,score"])
def test_large_files_are_read_alike(tmp_path, monkeypatch, line):
    """A row without values, or the names again, is found by pyarrow's way too."""
    pytest.importorskip("pyarrow")
    content = PLAIN + "2,male,1\n" * 20 + line + "\n2,male,1\n"
    said = []
    for small in (1 << 21, -1):
        monkeypatch.setattr(delimited, "_SMALL", small)
        try:
            said.append(read(tmp_path, content).source)
        except DataError as found:
            said.append(str(found))
    assert said[0] == said[1]
    text = isinstance(said[0], str)
    assert text == (line != ",,")
    assert "line 25: must be a row" in said[0] if text else said[0].rows == 24


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a,b\n1,2\n,\n3,4\n", {"features": ["a", "b"]}),
        ("sex,hired\nf,yes\nsex,hired\nm,no\n", {"sensitive": "sex", "outcomes": "hired"}),
        ("sex,x\nf,yes\n sex , x\nm,no\n", {"sensitive": "sex", "outcomes": "x"}),
    ],
)
def test_large_files_without_a_column_that_must_be_present(tmp_path, monkeypatch, text, options):
    pytest.importorskip("pyarrow")
    path, said = write(tmp_path, text), []
    for small in (1 << 21, -1):
        monkeypatch.setattr(delimited, "_SMALL", small)
        try:
            said.append(read_csv(path, **options).source)
        except DataError as found:
            said.append(str(found))
    assert said[0] == said[1]
    assert said[0].rows == 2 if "features" in options else "line 3: must be a row" in said[0]


def test_decimal_commas_of_a_large_file(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(delimited, "_SMALL", -1)
    text = (
        "sex;score;x\n" + "".join(f"{'fm'[k % 2]};{k};{k}\n" for k in range(300)) + "f;1,5;2,25\n"
    )
    data = read(tmp_path, text, features=None)
    assert scores(data)[-1] == 1.5
    assert data.to_original(data.X[:, 0])[-1] == 2.25
    assert "'score', 'x'" in data.source.how["decimal"]


def test_a_column_of_text_with_commas_is_no_column_of_numbers(tmp_path):
    with pytest.warns(EquirankWarning, match="left out of X: 'name'"):
        data = read(tmp_path, 'sex,score,name\nf,1,"1,5"\nm,2,"Smith, A"\n', features=None)
    assert data.X is None
