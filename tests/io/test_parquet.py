"""Parquet: types as the file has them, columns as named, errors that name the file and the row."""

import datetime
import decimal
import sys

import numpy as np
import pytest

from equirank import DataError, EquirankWarning, MissingExtraError
from equirank.io import parquet, read_csv, read_parquet

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")


@pytest.fixture
def write(tmp_path):
    def write(columns, name="data.parquet", **options):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), path, **options)
        return path

    return write


COLUMNS = {
    "person": ["007", "b", "c", "d"],
    "qid": [5, 3, 5, 3],
    "label": [2, 0, 1, 0],
    "prediction": [0.5, 0.25, 0.1, 0.9],
    "sex": ["f", "m", "m", "f"],
    "age": [30, 40, None, 60],
    "vip": [True, False, True, None],
}


def test_all_roles(write):
    data = read_parquet(write(COLUMNS), sensitive="sex", id="person")
    assert data.qids.tolist() == [5, 3]
    assert data.rows.tolist() == [0, 2, 1, 3]
    assert data.y.tolist() == [2.0, 1.0, 0.0, 0.0]
    assert data.score.tolist() == [0.5, 0.1, 0.25, 0.9]
    assert data.ids.tolist() == ["007", "c", "b", "d"]
    assert data.sensitive["sex"].categories == ("f", "m")
    assert data.sensitive["sex"].codes.tolist() == [0, 1, 1, 0]
    assert data.feature_names == ("age", "vip")
    expected = [[30, 1], [np.nan, 1], [40, 0], [60, np.nan]]
    assert np.array_equal(data.X, expected, equal_nan=True)


@pytest.mark.parametrize("chunk", [1, 3, 1000])
@pytest.mark.parametrize("groups", [2, 5, 1000])
def test_row_groups_and_chunks(write, monkeypatch, chunk, groups):
    monkeypatch.setattr(parquet, "_ROWS", chunk)
    columns = {
        "qid": [k // 3 for k in range(20)],
        "score": [k / 7 for k in range(20)],
        "sex": [f"g{k % 3 + k // 8}" for k in range(20)],
    }
    data = read_parquet(write(columns, row_group_size=groups), sensitive="sex")
    assert data.score.tolist() == columns["score"]
    sex = data.sensitive["sex"]
    assert [sex.categories[code] for code in sex.codes] == columns["sex"]
    assert data.n_queries == 7


def test_the_same_as_csv(write, tmp_path):
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"query": rng.integers(0, 9, 50), "label": rng.integers(0, 3, 50), "f": rng.random(50)}
    )
    frame["sex"] = rng.choice(["f", "m"], 50)
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.to_parquet(tmp_path / "data.parquet")
    a = read_csv(tmp_path / "data.csv", sensitive="sex")
    b = read_parquet(tmp_path / "data.parquet", sensitive="sex")
    assert a.X.tobytes() == b.X.tobytes()
    assert a.y.tolist() == b.y.tolist()
    assert a.qids.tolist() == b.qids.tolist()
    assert a.sensitive["sex"].codes.tolist() == b.sensitive["sex"].codes.tolist()


@pytest.mark.parametrize("at", [4, -20], ids=["page", "footer"])
def test_a_damaged_file_is_refused_with_its_name(write, at):
    path = write({"qid": [5, 3], "prediction": [0.5, 0.25]})
    data = bytearray(path.read_bytes())
    data[at : at + 4] = b"\xff" * 4
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"data\.parquet: must be a Parquet file: "):
        read_parquet(path)


def test_a_file_that_is_not_there_is_not_called_damaged(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_parquet(tmp_path / "none.parquet")


def test_dictionaries(write):
    sex = pa.array(["f", None, "m", "f"]).dictionary_encode()
    data = read_parquet(
        write({"sex": sex, "score": [1, 2, 3, 4]}), sensitive="sex", missing_sensitive="category"
    )
    assert data.sensitive["sex"].categories == ("f", "m", "(missing)")
    assert data.sensitive["sex"].codes.tolist() == [0, 2, 1, 0]


def test_nan_is_a_missing_label(write):
    path = write({"s": [1.5, np.nan, 2.5], "score": [1, 2, 3]})
    data = read_parquet(path, sensitive="s", missing_sensitive="category")
    assert data.sensitive["s"].codes.tolist() == [0, 2, 1]
    with pytest.raises(DataError, match=r"row 1: sensitive \('s'\) must not be missing"):
        read_parquet(path, sensitive="s")


@pytest.mark.parametrize(
    ("values", "categories"),
    [([1, 0, 1], (0, 1)), ([True, False, True], (False, True)), ([1.5, 2.0, 2.0], (1.5, 2.0)),
     (["01", "1", "1"], ("01", "1"))],
)  # fmt: skip
def test_labels_keep_their_type(write, values, categories):
    data = read_parquet(write({"s": values, "score": [1, 2, 3]}), sensitive="s")
    assert data.sensitive["s"].categories == categories
    assert [type(c) for c in data.sensitive["s"].categories] == [type(c) for c in categories]


def test_large_integers_and_dates_as_labels(write):
    days = [datetime.date(2020, 1, 2), datetime.date(2020, 1, 3)]
    data = read_parquet(write({"id": [2**63 - 1, 2**53 + 1], "qid": days, "score": [1, 2]}))
    assert data.ids.tolist() == [2**63 - 1, 2**53 + 1]
    assert data.qids.tolist() == days


def test_float32_stays_float32(write):
    single = pa.array([0.1, 0.2], pa.float32())
    data = read_parquet(write({"score": [1, 2], "a": single, "b": single}))
    assert data.X.dtype == np.float32
    assert read_parquet(write({"a": single, "b": [1, 2], "score": [1, 2]})).X.dtype == np.float64


def test_decimals_and_integers_become_float64(write):
    cents = [decimal.Decimal("0.10"), decimal.Decimal("2.50")]
    data = read_parquet(write({"score": [1, 2], "a": cents, "b": pa.array([1, None], pa.int8())}))
    assert np.array_equal(data.X, [[0.1, 1], [2.5, np.nan]], equal_nan=True)


def test_columns_without_numbers_are_left_out(write):
    columns = {
        "score": [1, 2],
        "f": [3, 4],
        "day": [datetime.date(2020, 1, 1)] * 2,
        "list_of": [[1], [2]],
    }
    with pytest.warns(EquirankWarning, match="left out of X: 'day', 'list_of'"):
        data = read_parquet(write(columns))
    assert data.feature_names == ("f",)
    assert read_parquet(write(columns), features=()).X is None
    with pytest.raises(
        DataError, match=r"features \('day'\) must be a number, got 'a column of type"
    ):
        read_parquet(write(columns), features=["day"])


def test_only_needed_columns_are_read(write, monkeypatch):
    asked = []
    usual = pq.ParquetFile.iter_batches

    def spy(self, size, columns):
        asked.append(columns)
        return usual(self, size, columns=columns)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", spy)
    read_parquet(write(COLUMNS), features=["age"], id=False)
    assert sorted(asked[0]) == ["age", "label", "prediction", "qid"]


def test_a_folder(write, tmp_path):
    write({"qid": [2], "score": [3.0]}, "many/b.parquet")
    write({"qid": [1, 1], "score": [1.0, 2.0]}, "many/a.parquet")
    write({"other": [1]}, "many/_hidden.parquet")
    data = read_parquet(tmp_path / "many")
    assert data.score.tolist() == [1.0, 2.0, 3.0]
    write({"qid": [2], "score": ["x"]}, "many/c.parquet")
    with pytest.raises(DataError, match=r"c.parquet: column 'score' must have one type in all"):
        read_parquet(tmp_path / "many")
    write({"qid": [2]}, "many/c.parquet")
    with pytest.raises(DataError, match=r"c.parquet: column 'score' .* got no such column"):
        read_parquet(tmp_path / "many")
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match=r"none: must contain files named \*.parquet, got none"):
        read_parquet(tmp_path / "none")


@pytest.mark.parametrize(
    ("columns", "arguments", "message"),
    [
        ({"score": [1.0, None]}, {}, r"data.parquet, row 1: score \('score'\) must not be missing"),
        ({"score": [1.0, np.nan]}, {}, r"row 1: score \('score'\) must not be missing"),
        ({"qid": [1, None], "score": [1, 2]}, {}, r"row 1: query \('qid'\) must not be missing"),
        ({"id": ["a", None], "score": [1, 2]}, {}, r"row 1: id \('id'\) must not be missing"),
        ({"id": [1.5, np.nan], "score": [1, 2]}, {}, r"row 1: id \('id'\) must not be missing"),
        ({"s": ["f", None], "score": [1, 2]}, {"sensitive": "s"}, r"row 1: sensitive \('s'\) must"),
        ({"label": [1, -1]}, {}, r"row 1: relevance \('label'\) must be a finite number >= 0, got"),
        ({"label": ["1", "2"]}, {}, "must be a number, got 'a column of type string'"),
        ({"score": [1]}, {"relevance": "scor"}, "did you mean 'score'"),
        ({"score": pa.array([], pa.float64())}, {}, "must contain at least one row"),
    ],
)  # fmt: skip
def test_bad_columns(write, columns, arguments, message):
    with pytest.raises(DataError, match=message):
        read_parquet(write(columns), **arguments)


def test_row_numbers_go_on_through_chunks(write, monkeypatch):
    monkeypatch.setattr(parquet, "_ROWS", 2)
    with pytest.raises(DataError, match="row 5: score"):
        read_parquet(write({"score": [1, 2, 3, 4, 5, None]}))


def test_a_file_that_is_not_parquet(tmp_path):
    (tmp_path / "x.parquet").write_text("qid,score\n1,2\n")
    with pytest.raises(DataError, match=r"x.parquet: must be a Parquet file"):
        read_parquet(tmp_path / "x.parquet")
    with pytest.raises(FileNotFoundError):
        read_parquet(tmp_path / "no.parquet")


def test_without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    monkeypatch.delitem(sys.modules, "pyarrow")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r'pip install "equirank\[data\]"'):
        read_parquet("x.parquet")


@pytest.mark.parametrize("role", ["query", "id", "sensitive"])
@pytest.mark.parametrize("cells", [[{"a": 1}, {"a": 2}], [[1], [2, 3]]], ids=["struct", "list"])
def test_a_label_is_one_value(write, role, cells):
    path = write({"tags": cells, "score": [1, 2]})
    with pytest.raises(DataError, match=r"column 'tags' must hold one label per row, got the type"):
        read_parquet(path, **{role: "tags"})


def test_a_wholly_missing_group_column(write):
    path = write({"sex": pa.array([None, None]), "score": [1, 2]})
    with pytest.raises(DataError, match=r"'sex'\] must name a group in at least one row"):
        read_parquet(path, sensitive="sex", missing_sensitive="category")


@pytest.mark.parametrize("kind", [int, decimal.Decimal])
def test_different_scores_do_not_become_ties(write, monkeypatch, kind):
    monkeypatch.setattr(parquet, "_ROWS", 1)
    path = write({"score": [kind(2**53), kind(1), kind(2**53 + 1)]})
    with pytest.raises(DataError, match=r"row 2: score \('score'\) must differ as a float"):
        read_parquet(path)


def test_a_column_of_names_is_refused_unless_allowed(write):
    path = write({"score": list(range(30)), "name": [f"n{j}" for j in range(30)]})
    with pytest.raises(DataError, match="got 30 different values in 30 rows"):
        read_parquet(path, sensitive="name")
    assert len(read_parquet(path, sensitive="name", max_groups=30).attribute().categories) == 30


def test_a_file_that_holds_far_more_than_its_size_is_refused(write, monkeypatch):
    path = write({"score": np.zeros(1 << 21)})
    assert read_parquet(path).n_rows == 1 << 21
    monkeypatch.setattr(parquet, "_LEAST", 1 << 20)
    with pytest.raises(DataError, match=r"than 1000 times its size, got 2097152 rows of 1 columns"):
        read_parquet(path)


def not_utf8():
    ends = pa.array([0, 1, 2], pa.int32()).buffers()[1]
    return pa.StringArray.from_buffers(2, ends, pa.py_buffer(b"a\x9f"))


@pytest.mark.parametrize("coded", [False, True])
def test_text_that_is_not_utf8_is_refused_with_its_column(write, coded):
    sex = not_utf8().dictionary_encode() if coded else not_utf8()
    path = write({"qid": [1, 1], "score": [2.0, 1.0], "sex": sex})
    for read in (lambda: read_parquet(path, sensitive="sex"), lambda: parquet.parquet_cells(path)):
        with pytest.raises(DataError, match=r"data.parquet: column 'sex' must be valid: .*UTF8"):
            read()
    assert read_parquet(path, features=()).n_rows == 2  # a column that is not needed is not read


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.timestamp("us"), pa.duration("s"), pa.timestamp("us", tz="Mars/Rim")]
)
def test_a_label_that_python_lacks_is_refused_with_its_row(write, kind):
    integers = pa.int32() if kind == pa.date32() else pa.int64()
    sex = pa.array([1, 2 ** (integers.bit_width - 2)], integers).cast(kind)
    path = write({"qid": [1, 1], "score": [2.0, 1.0], "sex": sex})
    with pytest.raises(DataError, match=r"data.parquet, row [01]: column 'sex' must hold labels"):
        read_parquet(path, sensitive="sex")


def test_a_file_that_lost_rows_is_refused(write):
    path = write({"qid": [1] * 70, "score": [1.0 / k for k in range(1, 71)]}, compression="none")
    raw = path.read_bytes()
    said = []
    for at in [at for at in range(len(raw)) if raw[at : at + 2] == b"\x8c\x01"]:  # 70 in Thrift
        path.write_bytes(raw[:at] + b"\x8a\x01" + raw[at + 2 :])
        for read in (read_parquet, parquet.parquet_cells):
            try:
                found = read(path)
            except DataError as error:
                said.append(str(error))
            else:
                assert len(found["qid"] if isinstance(found, dict) else found) == 70
    assert all(str(path) in message for message in said)
    # The rows of the file, and those of its group, by both readers; pyarrow 20 finds one itself.
    assert sum("rows that its metadata state" in message for message in said) in (3, 4)
