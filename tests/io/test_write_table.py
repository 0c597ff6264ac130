"""Written tables: no cell that a spreadsheet runs, unless asked for."""

import re

import numpy as np
import pytest

from equirank.io.write_table import FORMULA, plain_text, write_table
from equirank.reports.page import asset

COLUMNS = {"=name": np.array(["=1+1", "plain", None], object), "b": np.array([-1.5, np.nan, 2.0])}


def test_the_signs_are_those_of_the_downloads_of_a_report():
    (signs,) = re.findall(r"guarded = .*?/\^(\[.*?\])/", asset("shell.js"))
    assert signs == FORMULA.pattern


@pytest.mark.parametrize("sign", "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
def test_cells_that_a_spreadsheet_runs(sign):
    assert plain_text(f"{sign}cmd") == f"'{sign}cmd"
    assert plain_text(f"a{sign}") == f"a{sign}"


@pytest.mark.parametrize("cell", ["-5", "+1.25", "-.5e-3", "-1e9", "-inf", "+NaN", ""])
def test_numbers_stay(cell):
    assert plain_text(cell) == cell


@pytest.mark.parametrize("cell", ["-", "+-1", "-5+3", "-1e", "-\u0661", "-5\n", "=5"])
def test_what_only_looks_like_a_number_is_quoted(cell):
    assert plain_text(cell) == f"'{cell}"


@pytest.mark.parametrize(("ending", "sep"), [("csv", ","), ("tsv", "\t")])
def test_formulas_in_files(tmp_path, ending, sep):
    path = tmp_path / f"out.{ending}"
    write_table(path, COLUMNS)
    assert path.read_text() == f"'=name{sep}b\n'=1+1{sep}-1.5\nplain{sep}\n{sep}2.0\n"
    write_table(path, COLUMNS, keep_formulas=True)
    assert path.read_text() == f"=name{sep}b\n=1+1{sep}-1.5\nplain{sep}\n{sep}2.0\n"


def test_json_keeps_text(tmp_path):
    path = tmp_path / "out.json"
    write_table(path, COLUMNS)
    assert path.read_text().startswith('[{"=name": "=1+1", "b": -1.5}')
