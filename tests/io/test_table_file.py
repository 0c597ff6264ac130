"""TableFile: one view of CSV, TSV and Parquet."""

import numpy as np
import pytest

from equirank import DataError
from equirank.io import read_csv
from equirank.io.table_file import TableFile, read_file

TEXT = "query,home,age,code,sex,relevance\n1,own,30,01,f,1\n2,,40,02,m,0\n1,rent,,10,f,2\n"
NAMES = ["query", "home", "age", "code", "sex", "relevance"]


@pytest.fixture(params=["csv", "tsv", "parquet"])
def file(request, tmp_path):
    path = tmp_path / f"people.{request.param}"
    if request.param == "parquet":
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        columns = {"query": [1, 2, 1], "home": ["own", None, "rent"], "age": [30.0, 40.0, None]}
        columns |= {"code": ["01", "02", "10"], "sex": ["f", "m", "f"], "relevance": [1, 0, 2]}
        parquet.write_table(arrow.table(columns), path)
    else:
        path.write_text(TEXT.replace(",", "\t") if request.param == "tsv" else TEXT)
    return TableFile(path, request.param)


def test_columns_labels_and_data(file):
    assert file.columns == NAMES
    labels = file.labels(["home", "code"])
    assert labels["home"].tolist() == ["own", None, "rent"]  # in the order of the file
    assert labels["code"].tolist() == ["01", "02", "10"]
    assert file.labels([]) == {}
    data, texts = file.read(
        ["home", "age"], query="query", relevance="relevance", sensitive=("sex",)
    )
    assert texts == ["home"]
    assert data.feature_names == ("age",)
    np.testing.assert_array_equal(data.to_original(data.X[:, 0]), [30, 40, np.nan])
    assert data.to_original(data.y).tolist() == [1, 0, 2]
    assert data.attribute("sex").categories == ("f", "m")


def test_no_feature_that_holds_numbers(file):
    data, texts = file.read(["home"], query="query")
    assert (data.X, texts) == (None, ["home"])


def test_unknown_columns_are_errors(file):
    with pytest.raises(DataError, match=r"features must be one of the columns .*got 'hme'"):
        file.read(["hme"])


def test_a_large_file_is_split_by_pyarrow_alike(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.csv"
    rows = [f"q{at % 7},{'own' if at % 3 else 'rent'},{at},{at % 4}" for at in range(500)]
    path.write_text("\n".join(["query,home,age,relevance", *rows]) + "\n")
    slow = TableFile(path, "csv")
    expected = slow.read(["home", "age"], query="query")[0], slow.labels(["home"])["home"]
    monkeypatch.setattr("equirank.io.delimited._SMALL", 0)
    fast = TableFile(path, "csv")
    data, texts = fast.read(["home", "age"], query="query")
    assert texts == ["home"]
    np.testing.assert_array_equal(data.X, expected[0].X)
    assert fast.labels(["home"])["home"].tolist() == expected[1].tolist()
    np.testing.assert_array_equal(read_csv(path, query="query", features=["age"]).X, expected[0].X)


@pytest.mark.gate
def test_letor_with_a_huge_feature_id_is_read_sparse(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("1 qid:2 1:0.5 3:7\n0 qid:1 1:0.25 100000000:1\n0 qid:2 1:1\n")
    columns = dict.fromkeys(("query", "relevance", "cost", "position"))
    missing = {"missing_sensitive": "error", "missing_relevance": "error"}
    data = read_file(str(path), None, sensitive=["100000000"], score="1", **columns, **missing)
    assert data.to_original(data.score).tolist() == [0.5, 0.25, 1.0]
    assert data.sensitive["100000000"].categories == (0.0, 1.0)
