"""Table: named columns in, text, dict, JSON and native frames out."""

import datetime as dt
import importlib.util
import json

import numpy as np
import pytest

from equirank import DataError, MissingExtraError
from equirank.core.table import Table


@pytest.fixture
def table():
    return Table({"name": ["a<b", "b"], "value": [0.123456, float("nan")], "n": [1, 20]})


def test_columns_and_rows(table):
    assert len(table) == 2
    assert table["n"].tolist() == [1, 20]
    assert [row["name"] for row in table] == ["a<b", "b"]
    assert list(table.columns) == ["name", "value", "n"]
    with pytest.raises(KeyError, match="'m'; there are name, value, n"):
        table["m"]


def test_rows_by_number(table):
    assert table[0] == table[-2] == table[np.int64(0)] == next(iter(table))
    assert (table[1]["name"], table[-1]["n"]) == ("b", 20)
    for row in (len(table), -len(table) - 1):
        with pytest.raises(IndexError, match=f"no row {row}; there are {len(table)}"):
            table[row]


def test_lengths_must_agree():
    with pytest.raises(DataError, match=r"'a': 1, 'b': 2"):
        Table({"a": [1], "b": [1, 2]})


def test_text_is_aligned(table):
    assert repr(table).splitlines() == [
        "name   value   n",
        "a<b   0.1235   1",
        "b          -  20",
    ]


def test_long_tables_are_cut_in_text():
    text = Table({"a": np.arange(100)}).to_text(max_rows=3)
    assert text.splitlines() == ["a", "0", "1", "2", "... 97 more rows"]
    assert Table({"a": [1, 2]}).to_text(max_rows=1).endswith("... 1 more rows")
    assert len(repr(Table({"a": np.arange(60)})).splitlines()) == 61


def test_digits_are_chosen():
    assert Table({"a": [1 / 3]}).to_text(digits=2).splitlines() == ["   a", "0.33"]


def test_html_escapes(table):
    html = table._repr_html_()
    assert "a&lt;b" in html
    assert "<b<" not in html
    assert html.count("<tr>") == 3
    assert Table({"<i>": [1]})._repr_html_().count("<i>") == 0


def test_json_has_no_nan(table):
    assert json.loads(table.to_json()) == [
        {"name": "a<b", "value": 0.123456, "n": 1},
        {"name": "b", "value": None, "n": 20},
    ]
    assert json.loads(Table({"a": [float("inf"), 1.0]}).to_json())[0] == {"a": None}
    assert "é" in Table({"a": ["é"]}).to_json()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.array(["2024-01-02"], "M8[D]"), "2024-01-02"),
        (np.array(["2024-01-02"], "M8[ns]"), "2024-01-02"),
        ([dt.date(2024, 1, 2)], "2024-01-02"),
        ([np.str_("x")], "x"),
    ],
)
def test_json_and_text_of_labels_that_are_no_plain_words(values, text):
    table = Table({"query": values})
    assert json.loads(table.to_json())[0]["query"].startswith(text)
    assert text in repr(table)


def test_json_of_numpy_numbers_beside_words():
    table = Table({"a": ["x", np.int64(3)], "b": [np.bool_(True), None]})
    assert json.loads(table.to_json()) == [{"a": "x", "b": True}, {"a": 3, "b": None}]


def test_dict_holds_plain_lists(table):
    assert table.to_dict()["n"] == [1, 20]
    assert type(table.to_dict()["n"][0]) is int


@pytest.mark.parametrize(
    ("backend", "kind"), [("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")]
)
def test_frames_of_each_library(table, backend, kind):
    kind = getattr(pytest.importorskip(backend), kind)
    for frame in (table.to_frame(backend), Table(table.columns, backend).to_frame()):
        assert isinstance(frame, kind)
        assert list(frame["n"].to_numpy()) == [1, 20]
        assert frame.shape == (2, 3)


def test_without_a_library_of_its_own_the_first_installed_is_taken(table, monkeypatch):
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    assert isinstance(table.to_frame(), pd.DataFrame)
    found = importlib.util.find_spec

    def without(*names):
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: None if name in names else found(name)
        )

    without("pandas")
    assert isinstance(table.to_frame(), pl.DataFrame)
    without("pandas", "polars")
    assert isinstance(table.to_frame(), pa.Table)
    without("pandas", "polars", "pyarrow")
    with pytest.raises(MissingExtraError, match=r"equirank\[data\]"):
        table.to_frame()


def test_unknown_libraries_are_refused(table):
    with pytest.raises(DataError, match=r"pandas, polars, pyarrow, got 'excel'"):
        table.to_frame("excel")


def test_an_empty_table():
    empty = Table({})
    assert len(empty) == 0
    assert list(empty) == []
    assert repr(empty) == ""
    assert empty._repr_html_() == "<table></table>"
    assert repr(Table({"a": []})) == "a"
    assert Table({"a": []}).to_json() == "[]"


def test_flags_are_no_numbers():
    table = Table({"ok": [True, False]})
    assert table.to_dict() == {"ok": [True, False]}
    assert repr(table).splitlines() == ["ok", "True", "False"]


def test_latex_escapes_what_it_would_read_as_commands():
    table = Table({"a_b": ["50% & $1 {x} \\y ~^#<>"], "n": [1]})
    assert table.to_latex() == (
        "\\begin{tabular}{lr}\n\\toprule\na\\_b & n \\\\\n\\midrule\n"
        "50\\% \\& \\$1 \\{x\\} \\textbackslash{}y \\textasciitilde{}\\textasciicircum{}\\#"
        "\\textless{}\\textgreater{} & 1 \\\\\n\\bottomrule\n\\end{tabular}"
    )
    assert Table({}).to_latex().count("\n") == 5


def test_latex_has_every_row():
    assert Table({"n": range(200)}).to_latex().count("\\\\\n") == 201
