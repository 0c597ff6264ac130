"""Hostile files: each is read, or refused in words with nothing half-loaded."""

import gzip
import io
import json
import struct
import zipfile

import pytest
from running_studio import running_studio
from sample_workbook import error, formula, xlsx

from equirank.studio.answers import Limits, StudioError
from equirank.studio.long_work import read_apart, read_file
from equirank.studio.workspace import Workspace

LIMITS = Limits(max_bytes=2 << 20, max_rows=10_000)
ROWS = [["list", "score", "sex"], *([f"L{i // 10}", 100 - i, "fm"[i % 2]] for i in range(40))]
PLAIN = "\n".join(",".join(map(str, row)) for row in ROWS).encode()
SHEET = "xl/worksheets/s0.xml"


def repacked(change):
    """Return a workbook after a change of its parts."""
    with zipfile.ZipFile(io.BytesIO(xlsx({"people": ROWS}))) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    change(parts)
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return raw.getvalue()


def patched(raw, offset, code, value):
    """Return a packed file with one value of the directory's entry of the sheet changed."""
    raw, at = bytearray(raw), -1
    while (at := raw.find(b"PK\x01\x02", at + 1)) >= 0:
        size = struct.unpack_from("<H", raw, at + 28)[0]
        if raw[at + 46 : at + 46 + size] == SHEET.encode():
            struct.pack_into(code, raw, at + offset, value)
            return bytes(raw)
    raise AssertionError("the sheet has no entry")


def far_cell(parts):
    """Add the last cell of a sheet, so that a reader of whole areas needs 17 thousand million.

    Its name is quoted in another way than programs write it, so that no check sees it.
    """
    row = b"<row r='1048576'><c r='XFD1048576'><v>1</v></c></row></sheetData>"
    parts[SHEET] = parts[SHEET].replace(b"</sheetData>", row)


def entities(parts):
    """Nest entities, which would unpack to a thousand million letters."""
    named = "".join(f'<!ENTITY {b} "{f"&{a};" * 1000}">' for a, b in ("ab", "bc", "cd"))
    kind = f'<!DOCTYPE w [<!ENTITY a "{"x" * 100}">{named}]>'.encode()
    parts[SHEET] = kind + parts[SHEET].replace(b">list<", b">&d;<")


def macros(parts):
    parts["xl/vbaProject.bin"] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1Sub Auto_Open()" * 100


def hidden(parts):
    name = "xl/workbook.xml"
    parts[name] = parts[name].replace(b'sheetId="1"', b'sheetId="1" state="veryHidden"')


def filled(parts):
    """Fill the first cell with 30 MB of spaces, which pack to 30 kB."""
    parts[SHEET] = parts[SHEET].replace(b">list<", b">" + b" " * (30 << 20) + b"<")


def parquet(columns=None, **options):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet

    names, *rows = ROWS
    own = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    raw = io.BytesIO()
    pyarrow.parquet.write_table(arrow.table(own | (columns or {})), raw, **options)
    return raw.getvalue()


def declared(rows):
    """Return a Parquet file whose metadata state a number of rows."""
    raw = parquet()
    size = struct.unpack("<I", raw[-8:-4])[0]

    def number(value):  # as Thrift writes it, after the mark of a field of 64 bits
        value, found = value << 1, b"\x16"
        while value > 127:
            found, value = found + bytes([value & 127 | 128]), value >> 7
        return found + bytes([value])

    footer = raw[-8 - size : -8].replace(number(40), number(rows))
    return raw[: -8 - size] + footer + struct.pack("<I", len(footer)) + raw[-4:]


def protected():
    return b"\xd0\xcf\x11\xe0" + bytes(100) + "EncryptedPackage".encode("utf-16-le")


WORKBOOK = "must be a workbook"
REFUSED = {
    "empty.csv": (b"", "is empty"),
    "names.csv": (b"list,score,sex\n", "got only column names"),
    "nul.csv": (b"list,sco\x00re,sex\n1,2,f\n1,3,m\n", "NUL"),
    "noise.csv": (bytes(range(256)) * 4, "must be text"),
    "ragged.csv": (b"a,b\n1,2\n1\n", "must have 2 cells"),
    "quote.csv": (b"a,b\n" + b'"' + b"x" * (1 << 20) + b",1\n", "CSV"),
    "lists.letor": (b"1 qid:1 1:2\n", "LETOR"),
    "cut.csv.gz": (gzip.compress(PLAIN)[:40], "gz"),
    "bomb.csv.gz": (lambda: gzip.compress(b"1,1\n" * (1 << 20)), "unpacks to more than 2 MB"),
    "damaged.xlsx": (b"PK\x03\x04" + b"x" * 1000, WORKBOOK),
    "old.xlsx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4096), WORKBOOK),
    "password.xlsx": (protected, "protected by a password"),
    "cut.xlsx": (lambda: xlsx({"people": ROWS})[:1000], WORKBOOK),
    "bomb.xlsx": (lambda: patched(xlsx({"people": ROWS}), 24, "<I", 3 << 30), "must not unpack"),
    "hidden_size.xlsx": (lambda: patched(repacked(filled), 24, "<I", 100), WORKBOOK),
    "line.csv": (b"list,score,sex\n1,1,f\n1,2," + b"x" * (1 << 20) + b"\n", "line 3"),
    "locked_part.xlsx": (lambda: patched(xlsx({"people": ROWS}), 8, "<H", 1), "by a password"),
    "entities.xlsx": (lambda: repacked(entities), "entity"),
    "no_value.xlsx": (lambda: xlsx({"a": [*ROWS, ["L1", formula("1+1"), "f"]]}), "formula"),
    "error.xlsx": (lambda: xlsx({"a": [*ROWS, ["L1", error("#REF!"), "f"]]}), "#REF!"),
    "merged.xlsx": (lambda: xlsx({"a": ROWS}, merged=["A2:B3"]), "must not be merged"),
    "no_cells.xlsx": (lambda: xlsx({"a": [], "b": []}), "sheet"),
    "damaged.parquet": (b"PAR1" + b"x" * 100 + b"PAR1", "must be a Parquet file"),
    "cut.parquet": (lambda: parquet()[:-30], "must be a Parquet file"),
    "cut_rows.parquet": (lambda: parquet()[:40] + parquet()[-600:], "Parquet"),
    "encrypted.parquet": (lambda: parquet()[:-4] + b"PARE", "encrypted"),
    "declared.parquet": (lambda: declared(2_000_000_000), "must not hold more than 1000 times"),
    "more_rows.parquet": (lambda: declared(9_000), "rows"),
    "repeated.parquet": (
        lambda: parquet({n: [1] * 20_000 for n in ROWS[0]}),
        "has 20,000 rows, and the studio reads up to 10,000",
    ),
}
READ = {
    "one_row.csv": b"list,score,sex\n1,2,f\n",
    "one_group.csv": b"list,score,sex\n" + b"1,2,f\n" * 30,
    "twice.csv": b"list,score,score\n1,2,3\n1,3,4\n",
    "utf16.csv": "list;score;sex\n1;1,5;f\n1;2,5;m\n".encode("utf-16"),
    "cp1252.csv": "list;score;geschlecht\n1;1,5;männlich\n1;2,5;weiblich\n".encode("cp1252"),
    "bom.csv": b"\xef\xbb\xbflist,score,sex\n1,1,f\n1,2,m\n",
    "infinite.csv": b"list,score,sex\n1,inf,f\n1,,m\n1,-inf,f\n",
    "ties.csv": b"list,score,sex\n" + b"1,1,f\n1,1,m\n" * 20,
    "ids.csv": b"list,score,sex,id\n1,1,f,a\n1,2,m,a\n",
    "formula.csv": b'list,score,sex\n1,1,"=cmd|calc"\n1,2,m\n',
    "filled.xlsx": lambda: repacked(filled),
    "macros.xlsm": lambda: repacked(macros),
    "hidden.xlsx": lambda: repacked(hidden),
    "nested.parquet": lambda: parquet({"past": [[{"a": 1}, {"a": 2}]] * 40}),
    "names_merged.xlsx": lambda: xlsx({"a": ROWS}, merged=["A1:B1"]),
}


def content_of(given):
    return given() if callable(given) else given


@pytest.fixture
def workspace():
    found = Workspace(LIMITS)
    found.accept(read_file("before.csv", PLAIN, LIMITS))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_a_file_is_refused_in_words_and_nothing_is_loaded(workspace, name):
    given, words = REFUSED[name]
    before = workspace.state()
    with pytest.raises(StudioError) as caught:
        workspace.accept(read_file(name, content_of(given), LIMITS))
    told = caught.value
    assert told.kind == ("size" if words.startswith(("has ", "unpacks")) else "data")
    assert words in told.message
    assert told.message
    assert "Traceback" not in told.message
    assert "/tmp" not in told.message
    assert workspace.state() == before


@pytest.mark.slow
@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_and_used_or_refused_in_words(workspace, name):
    state = workspace.accept(read_file(name, content_of(READ[name]), LIMITS))
    assert state["file"]["name"] == name
    json.dumps(state, allow_nan=False)
    if state["steps"][2]["missing"]:
        return
    try:
        assert workspace.quick_audit(state["revision"])["headline"] is None
    except StudioError as told:
        assert told.message  # noqa: PT017 - either is right


def test_macros_are_not_data(workspace):
    plain = read_file("plain.xlsx", xlsx({"people": ROWS}), LIMITS)
    macro = read_file("macros.xlsm", repacked(macros), LIMITS)
    assert macro.facts["columns"] == plain.facts["columns"]
    assert macro.data.score.tolist() == plain.data.score.tolist()


@pytest.mark.gate
def test_a_line_of_fifty_megabytes_is_refused_in_words():
    raw = b"list,score,sex\n1,1,f\n1,2," + b"x" * (50 << 20) + b"\n"
    with pytest.raises(StudioError, match="line 3: must be CSV: field larger"):
        read_apart("line.csv", raw, Limits())


@pytest.mark.gate
def test_a_process_that_a_file_ends_is_said_in_words(capfd):
    """A reader that must have 500 GB ends its process; the studio goes on."""
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    pytest.importorskip("starlette", reason="starlette is not installed")
    with running_studio(limits=LIMITS) as studio:
        studio.enter()

        def put(name, content):
            return studio.lines("PUT", f"/api/file?role=main&name={name}", content)[-1]

        assert put("before.csv", PLAIN)["result"]["file"]["rows"] == 40
        told = put("far.xlsx", repacked(far_cell))["error"]
        assert told["kind"] == "data"
        assert "could not be read" in told["message"]
        assert "Save it again" in told["message"]
        state = studio.json("GET", "/api/state")[1]
        assert state["file"]["name"] == "before.csv"
        assert put("after.xlsx", xlsx({"people": ROWS}))["result"]["file"]["rows"] == 40
    capfd.readouterr()  # the reader's own last words


@pytest.mark.gate
def test_a_file_of_the_command_is_read_in_a_process_of_its_own(capfd):
    with pytest.raises(StudioError, match="could not be read"):
        read_apart("far.xlsx", repacked(far_cell), LIMITS)
    capfd.readouterr()
    assert read_apart("people.csv", PLAIN, LIMITS).facts["rows"] == 40


def test_a_nested_column_is_left_out_with_a_note_and_stays_in_the_list(workspace):
    state = workspace.accept(
        read_file("nested.parquet", content_of(READ["nested.parquet"]), LIMITS)
    )
    assert [column["name"] for column in state["file"]["columns"]] == ["list", "score", "sex"]
    assert "column 'past' is left out" in state["file"]["warnings"][0]
    state = workspace.patch(state["revision"], {"roles": {"sex": "sensitive"}})
    remedy = {"method": "PrefixConstraints", "by": "sex", "k": 4, "lower": {"f": 0.5}}
    workspace.patch(state["revision"], {"remedy": [remedy]})
    rows = workspace.download("list").content.decode().splitlines()
    assert rows[0].startswith("list,score,sex,past,old_position")
    assert all("[{'a': 1}, {'a': 2}]" in row for row in rows[1:])


def test_a_file_is_read_in_the_encoding_that_is_chosen(workspace):
    raw = "lista;płeć;score\n1;kobieta;1,5\n1;mężczyzna;2,5\n".encode("cp1250")
    state = workspace.accept(read_file("a.csv", raw, LIMITS))
    assert "guessed" in state["file"]["how"]["encoding"]
    assert "płeć" not in {column["name"] for column in state["file"]["columns"]}
    assert workspace.loaded() == ("a.csv", raw)
    state = workspace.accept(read_file("a.csv", raw, LIMITS, "cp1250"))
    assert [column["name"] for column in state["file"]["columns"]] == ["lista", "płeć", "score"]
    assert state["recipe"]["data"]["file_encoding"] == "cp1250"
    assert state["first_list"]["people"][0]["position"] == 1
