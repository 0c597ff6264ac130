"""Comparisons from files: the same from CSV as from Parquet, and errors that name the line."""

import gzip

import numpy as np
import pytest

import equirank
from equirank.core.errors import DataError
from equirank.io import parquet, read_pairs
from equirank.io.pair_files import Pairs
from equirank.rankers import RankBoost

TEXT = "first,second,preference,weight\n0,1,1,2\n2,1,-1,0.5\n1,0,0,1\n1,0,1,1\n"


@pytest.fixture
def write(tmp_path):
    def make(text, name="pairs.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make


def same(found, wanted):
    assert isinstance(found, Pairs)
    assert found.pairs.dtype == np.int64
    for one, other in zip(found, wanted, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one, other)


WHOLE = Pairs(
    np.array([[0, 1], [2, 1], [1, 0], [1, 0]]), np.array([1.0, -1, 0, 1]), np.array([2, 0.5, 1, 1])
)


def test_row_numbers(write):
    same(read_pairs(write(TEXT)), WHOLE)
    same(read_pairs(write(gzip.compress(TEXT.encode()), "pairs.csv.gz")), WHOLE)
    same(read_pairs(write(TEXT.replace(",", "\t")), delimiter="\t"), WHOLE)
    assert equirank.io.read_pairs is read_pairs


def test_columns_are_recognised_or_named(write):
    two = "Winner,judge,loser\n3,x,1\n0,y,2\n"
    same(read_pairs(write(two)), Pairs(np.array([[3, 1], [0, 2]]), None, None))
    odd = "u,v,said\n3,1,-1\n"
    found = read_pairs(write(odd), first="u", second="v", preference="said")
    same(found, Pairs(np.array([[3, 1]]), np.array([-1.0]), None))
    both = "left,a,right\n0,1,2\n"
    same(read_pairs(write(both), first="a"), Pairs(np.array([[1, 2]]), None, None))


def test_names_are_looked_up(write):
    text = "a,b\nrye,oat\noat,spelt\n"
    found = read_pairs(write(text), ids=np.array(["oat", "rye", "spelt"]))
    same(found, Pairs(np.array([[1, 0], [0, 2]]), None, None))
    found = read_pairs(write("a,b\n30,10\n"), ids=[10, 20, 30])
    same(found, Pairs(np.array([[2, 0]]), None, None))


def test_parquet_gives_the_same(tmp_path):
    import pyarrow.parquet

    table = {
        "first": [0, 2, 1, 1],
        "second": [1, 1, 0, 0],
        "preference": [1, -1, 0, 1],
        "weight": [2, 0.5, 1, 1],
    }
    path = tmp_path / "pairs"
    pyarrow.parquet.write_table(pyarrow.table(table), path, row_group_size=3)
    same(read_pairs(path), WHOLE)
    folder = tmp_path / "folder"
    folder.mkdir()
    for at, rows in enumerate((slice(0, 1), slice(1, 4))):
        part = {name: column[rows] for name, column in table.items()}
        pyarrow.parquet.write_table(pyarrow.table(part), folder / f"part-{at}.parquet")
    same(read_pairs(folder), WHOLE)
    names = pyarrow.table({"a": ["x", "y"], "b": ["y", "z"]})
    pyarrow.parquet.write_table(names, path)
    same(read_pairs(path, ids=["z", "y", "x"]), Pairs(np.array([[2, 1], [1, 0]]), None, None))


def test_many_rows(write):
    rng = np.random.default_rng(0)
    table = np.stack([rng.integers(0, 50, 30_000), rng.integers(50, 99, 30_000)], axis=1)
    text = "first,second\n" + "\n".join(f"{a},{b}" for a, b in table) + "\n"
    np.testing.assert_array_equal(read_pairs(write(text)).pairs, table)


def test_pairs_go_straight_into_fit_pairs(write):
    X = np.array([[0.0], [1.0], [2.0]])
    model = RankBoost(5).fit_pairs(X, *read_pairs(write(TEXT)))
    assert model.predict(X).shape == (3,)


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("first,second\n0,1\n0,x\n", {}, r"line 3: second \('second'\) must be a row number.*'x'"),
        ("first,second\n0,-1\n", {}, "line 2: second .* got '-1'"),
        ("first,second\n0,1.5\n", {}, "line 2: second .* got '1.5'"),
        ("first,second\n\n0,\n", {}, "line 3: second .* got a missing cell"),
        ("first,second\n0,1\n2,2\n", {}, "line 3: must compare two different items, got '2' twice"),
        ("first,second\n0,1,7\n", {}, "line 2: must have 2 cells, got 3 in '0,1,7'"),
        ("first,second\na,b\na,c\n", {"ids": ["a", "b"]}, "line 3: second .* one of ids, got 'c'"),
        ("first,second,preference\n0,1,yes\n", {}, "line 2: preference .* a number, got 'yes'"),
        ("first,second,preference\n0,1,\n", {}, "line 2: preference .* got a missing cell"),
        ("first,second,weight\n0,1,-2\n", {}, "line 2: weight .* a number >= 0, got '-2'"),
        ("first,second,weight\n0,1,inf\n", {}, "line 2: weight .* got 'inf'"),
        ("first,second\n", {}, "must contain at least one pair"),
        ("", {}, "got an empty file"),
        ("first,other\n0,1\n", {}, "second must be named, since none of the columns 'first'"),
        ("first,second\n0,1\n", {"first": "frist"}, "first must be one of the columns.*first"),
        (
            "left,a,b\n0,1,2\n",
            {},
            "first must be named, since the columns 'left', 'a' could all be it",
        ),
        ("a,b\n0,1\n", {"preference": "a", "first": "a"}, "each column must have one role"),
        ("a,b\n0,1\n", {"ids": ["x", "x"]}, "ids must be unique, got 'x' again in row 1"),
        ("a,b\n0,1\n", {"delimiter": ",,"}, "delimiter must be one character"),
    ],
)
def test_bad_files(write, text, given, message):
    with pytest.raises(DataError, match=message):
        read_pairs(write(text), **given)


def test_bad_parquet_names_the_row_of_a_later_chunk(tmp_path, monkeypatch):
    import pyarrow.parquet

    monkeypatch.setattr(parquet, "_ROWS", 2)
    path = tmp_path / "pairs.parquet"
    table = {"a": [0, 1, 2, 3, 4], "b": [1, 2, 3, 4, 4]}
    pyarrow.parquet.write_table(pyarrow.table(table), path)
    with pytest.raises(DataError, match=r"pairs\.parquet, row 4: .* got '4' twice"):
        read_pairs(path)


def test_bad_parquet_names_the_row(tmp_path):
    import pyarrow.parquet

    path = tmp_path / "pairs.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": [0, 1], "b": [1, None]}), path)
    with pytest.raises(DataError, match=r"pairs\.parquet, row 1: second .* got a missing cell"):
        read_pairs(path)
