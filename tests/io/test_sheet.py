"""Sheets: small text files, and what is wrong with them."""

import gzip

import numpy as np
import pytest

from equirank import DataError
from equirank.io.sheet import Sheet


def sheet(tmp_path, text, *arguments, **options):
    path = tmp_path / "sheet.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Sheet.read(path, *arguments, **options)


def test_header_and_quotes(tmp_path):
    read = sheet(tmp_path, 'a,b\n1,"x, ""y"""\n\n2,z\n')
    assert len(read) == 2
    assert read.numbers("a").tolist() == [1, 2]
    assert read.words("b").tolist() == ['x, "y"', "z"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_plain_split_with_names_and_comments(tmp_path, end):
    text = end.join(["|a comment", '1, "x', "", "2, y", ""])
    read = sheet(
        tmp_path, text, ("a", "b"), delimiter=", ", quoted=False, keep=lambda line: line[0] != "|"
    )
    assert read.words("b").tolist() == ['"x', "y"]


def test_gzip(tmp_path):
    assert sheet(tmp_path, gzip.compress(b"a\n7\n")).integers("a").tolist() == [7]


def test_equal_columns_of_one_name(tmp_path):
    assert sheet(tmp_path, "a,b,a\n1,5,1\n2,6,2\n").integers("a").tolist() == [1, 2]
    with pytest.raises(DataError, match="two columns 'a' must be equal"):
        sheet(tmp_path, "a,b,a\n1,5,1\n2,6,3\n")


def test_rows_that_are_kept_keep_their_columns(tmp_path):
    read = sheet(tmp_path, "a,a,b\n1,1,5\n2,2,6\n").where(np.array([False, True]))
    assert (read.integers("a").tolist(), read.integers("b").tolist()) == ([2], [6])
    with pytest.raises(DataError, match="a selected row"):
        read.where([False])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must contain rows"),
        ("a,b\n", "must contain rows"),
        ("a,b\n1,2\n3\n", "a row must have 2 cells, got 1 in row 2"),
        ("a,b\n1,2,3\n", "a row must have 2 cells, got 3 in row 1"),
        (b"a,b\n\xff\xfe,1\n", "must be a text file"),
    ],
)
@pytest.mark.parametrize("quoted", [True, False])
def test_damaged_files(tmp_path, text, said, quoted):
    with pytest.raises(DataError, match=f"sheet.csv: {said}"):
        sheet(tmp_path, text, quoted=quoted)


def test_damaged_cells(tmp_path):
    read = sheet(tmp_path, "a,b\n1,x\n,y\n1.5,z\n")
    with pytest.raises(DataError, match="'b' must be a number, got 'x' in row 1"):
        read.numbers("b")
    with pytest.raises(DataError, match="'a' must be an integer, got '' in row 2"):
        read.integers("a")
    with pytest.raises(DataError, match=r"'a' must be an integer, got '1\.5' in row 2"):
        read.where([True, False, True]).integers("a")
    with pytest.raises(DataError, match="'a' must be an integer, got '1e300' in row 1"):
        sheet(tmp_path, "a\n1e300\n").integers("a")
    with pytest.raises(DataError, match="'a' must not be missing, and is in row 2"):
        read.matrix(["a"])
    with pytest.raises(DataError, match="must have a column 'c'"):
        read.column("c")
    with pytest.raises(DataError, match="'b' must be one of x, y, got 'z'"):
        read.choice("b", {"x": 1, "y": 2})
