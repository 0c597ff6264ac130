"""Files with query ids: read against a plain twin and scikit-learn, written and read back."""

import gzip
import os
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import sized

from equirank import DataError, as_ranking_data
from equirank.io import files, letor, read_letor, write_letor
from equirank.io import svmlight as svmlight_reader

SMALL = (
    "2 qid:1 1:0.5 3:2 # docid = GX01 inc = 1\n\n# note\n0 qid:1 2:1e-3\t3:-4\r\n1.5 qid:9 1:7\n"
)


@pytest.fixture
def write(tmp_path):
    def write(text, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def rows_of(data):
    """Return X, y and qid in the order of the file."""
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    qid = np.repeat(data.qids, np.diff(data.offsets))
    return data.to_original(X), data.to_original(data.y), data.to_original(qid)


def slow_twin(text):
    """Read a well-formed file the obvious way."""
    rows = []
    for line in text.split("\n"):
        words = line.split("#")[0].split()
        if words:
            cells = dict(word.split(":") for word in words[1:])
            qid = int(cells.pop("qid"))
            rows.append((float(words[0]), qid, {int(j): float(v) for j, v in cells.items()}))
    X = np.zeros((len(rows), max((max(cells, default=0) for *_, cells in rows), default=0)))
    for row, (_, _, cells) in enumerate(rows):
        for j, value in cells.items():
            X[row, j - 1] = value
    return X, np.array([label for label, *_ in rows]), np.array([qid for _, qid, _ in rows])


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_small_file(write):
    data = read_letor(write(SMALL))
    assert data.X.tolist() == [[0.5, 0, 2], [0, 0.001, -4], [7, 0, 0]]
    assert data.y.tolist() == [2.0, 0.0, 1.5]
    assert data.qids.tolist() == [1, 9]
    assert data.offsets.tolist() == [0, 2, 3]
    assert data.ids is None


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types(write, sparse, dtype):
    data = read_letor(write(SMALL), sparse=sparse, dtype=dtype)
    assert data.X.dtype == dtype
    assert hasattr(data.X, "indptr") == sparse
    assert np.array_equal(rows_of(data)[0], slow_twin(SMALL)[0].astype(dtype))


def test_gzip_is_known_by_its_content(write):
    members = gzip.compress(SMALL[:30].encode()) + gzip.compress(SMALL[30:].encode())
    data = read_letor(write(members, "misnamed.txt"))
    assert np.array_equal(data.X, slow_twin(SMALL)[0])


def test_no_newline_at_the_end_and_a_byte_order_mark(write):
    data = read_letor(write(b"\xef\xbb\xbf1 qid:1 1:2\n3 qid:1 1:4"))
    assert data.y.tolist() == [1.0, 3.0]
    assert data.X.tolist() == [[2.0], [4.0]]


def test_rows_of_a_query_need_not_be_adjacent(write):
    data = read_letor(write("0 qid:5 1:1\n1 qid:3 1:2\n2 qid:5 1:3\n"))
    assert data.qids.tolist() == [5, 3]
    assert data.X[:, 0].tolist() == [1.0, 3.0, 2.0]
    assert data.rows.tolist() == [0, 2, 1]


def test_features_in_any_order(write):
    path = write("0 qid:1 3:3 1:1 2:2.00000000000000000000001\n0 qid:1 2:5\n0 qid:1 2:7 1:6\n")
    expected = [[1, 2, 3], [0, 5, 0], [6, 7, 0]]
    assert read_letor(path).X.tolist() == expected
    sparse = read_letor(path, sparse=True).X
    assert sparse.toarray().tolist() == expected
    assert sparse.indices.tolist() == [0, 1, 2, 1, 0, 1]


def test_missing_values(write):
    data = read_letor(write("0 qid:1 1:nan 2:NaN\n1 qid:1 3:-inf\n"))
    expected = np.array([[np.nan, np.nan, 0], [0, 0, -np.inf]])
    assert np.array_equal(data.X, expected, equal_nan=True)


def test_number_of_features(write):
    path = write("0 qid:1 2:1\n")
    assert read_letor(path).X.shape == (1, 2)
    assert read_letor(path, n_features=4).X.shape == (1, 4)
    assert read_letor(path, n_features=4, sparse=True).X.shape == (1, 4)
    with pytest.raises(DataError, match=r"n_features=1.*got '2:1' in '0 qid:1 2:1'"):
        read_letor(path, n_features=1)
    with pytest.raises(DataError, match="n_features must be at least 1, got 0"):
        read_letor(path, n_features=0)


def test_zero_based(write):
    path = write("0 qid:1 0:1 2:3\n")
    assert read_letor(path, zero_based=True).X.tolist() == [[1, 0, 3]]
    with pytest.raises(DataError, match=r"at least 1 \(zero_based=True"):
        read_letor(path)
    with pytest.raises(DataError, match="n_features=2"):
        read_letor(path, zero_based=True, n_features=2)


def test_no_features_at_all(write):
    assert read_letor(write("1 qid:1\n0 qid:2\n")).X is None
    assert read_letor(write("1 qid:1\n0 qid:2\n"), sparse=True).X is None


def test_comments_as_ids(write):
    text = "1 qid:1 1:1 #docid = GX01-2 inc = 1\n0 qid:1 1:2 # the é # one \n"
    assert read_letor(write(text), ids_from_comments=True).ids.tolist() == ["GX01-2", "the é # one"]
    with pytest.raises(DataError, match=r"line 3: each line must have a comment.*'0 qid:2'"):
        read_letor(write(text + "0 qid:2\n"), ids_from_comments=True)


def test_sensitive_features_follow_the_rows(write):
    path = write("0 qid:5 1:1\n1 qid:3 1:2\n2 qid:5 1:3\n")
    data = read_letor(path, sensitive_features={"sex": ["f", "m", "m"]})
    assert data.sensitive["sex"].codes.tolist() == [0, 1, 1]


# Query sizes in a file beside


def test_without_qid_all_rows_are_one_query(write):
    data = read_letor(write("1 1:1\n0 1:2\n"))
    assert data.n_queries == 1


@pytest.mark.parametrize("name", ["data.txt.query", "data.txt.group"])
def test_sizes_beside_the_file(write, name):
    path = write("1 1:1\n0 1:2\n2 1:3\n")
    write("1\n\n2\n", name)
    assert read_letor(path).offsets.tolist() == [0, 1, 3]
    assert read_letor(path).qids.tolist() == [1, 2]


@pytest.mark.parametrize("name", ["data.txt.query", "data.txt.gz.query", "data.txt.query.gz"])
def test_sizes_beside_a_packed_file(write, name):
    path = write(gzip.compress(b"1 1:1\n0 1:2\n"), "data.txt.gz")
    write(gzip.compress(b"1\n1\n") if name.endswith("gz") else "1\n1\n", name)
    assert read_letor(path).n_queries == 2


def test_qids_count_more_than_a_file_beside(write):
    path = write("1 qid:4 1:1\n0 qid:4 1:2\n")
    sizes = write("1\n1\n", "data.txt.query")
    assert read_letor(path).qids.tolist() == [4]
    with pytest.raises(DataError, match=r"query_file must be None .* lines have a qid"):
        read_letor(path, query_file=sizes)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("1\n", "must sum to the 2 rows of .*data.txt, got 1"),
        ("1\n1\n1\n", "must sum to the 2 rows"),
        ("2\n0\n", r"line 2: must be the size of a query, >= 1, got '0'"),
        ("2\nx\n", r"line 2: must be the size of a query, >= 1, got 'x'"),
        ("-1\n3\n", r"line 1: must be the size of a query, >= 1, got '-1'"),
        ("1" * 5000, r"line 1: must be the size of a query, >= 1, got '111"),
    ],
)
def test_bad_sizes(write, sizes, message):
    path, side = write("1 1:1\n0 1:2\n"), write(sizes, "sizes")
    with pytest.raises(DataError, match=message):
        read_letor(path, query_file=side)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_value_beyond_float32_is_refused(write, sparse):
    path = write("1 qid:1 1:3 2:inf\n0 qid:1 1:1e39 2:1\n")
    assert read_letor(path, sparse=sparse).n_rows == 2
    with pytest.raises(DataError, match=r"line 2: .* range of dtype float32, got .*1e39"):
        read_letor(path, sparse=sparse, dtype=np.float32)


# Malformed lines: file, line, text


@pytest.mark.parametrize(
    "line", ["1.7976931348623157e308 qid:1 7:1_000", "1 qid:1 1:1.00000000000000000000001 2:x"]
)
def test_numbers_that_take_long_in_a_malformed_line(write, line):
    with pytest.raises(DataError, match=r"line 2: a feature must be id:value with a number"):
        read_letor(write(f"1 qid:1 1:1\n{line}\n"))


MALFORMED = [
    ("x qid:1 1:2", "the label must be a number >= 0, got 'x' in 'x qid:1 1:2'"),
    ("-1 qid:1 1:2", "the label must be a number >= 0, got '-1'"),
    ("nan qid:1 1:2", "the label must be a number >= 0, got 'nan'"),
    ("inf qid:1 1:2", "the label must be a number >= 0, got 'inf'"),
    ("-1000000000000000000000 qid:1 1:2", "the label must be a number >= 0"),
    ("1_0 qid:1 1:2", "the label must be a number >= 0, got '1_0'"),
    ("1,2 qid:1 1:2", "the label must be a number >= 0, got '1,2'"),
    ("1 qid:a 1:2", "qid must be an integer of 64 bits, as in qid:7, got 'qid:a' in"),
    ("1 qid:1.0 1:2", "qid must be an integer of 64 bits, as in qid:7, got 'qid:1.0'"),
    ("1 1:2", "each line must have a qid if the lines before have one, got '1 1:2'"),
    ("1 1:2 qid:1", "each line must have a qid"),
    ("1 qid:1 1:2 qid:1", "qid must follow the label"),
    ("1 qid:1 a:2", "a feature must be id:value with an integer as id, got 'a:2' in"),
    ("1 qid:1 1:2 34", "a feature must be id:value with an integer as id, got '34'"),
    ("1 qid:1 1:2 -3:4", "a feature must be id:value with an integer as id, got '-3:4'"),
    ("1 qid:1 1:2\t2:x 3:1", "a feature must be id:value with a number as value, got '2:x' in"),
    ("1 qid:1 1:2 2:1_0", "a feature must be id:value with a number as value, got '2:1_0'"),
    ("1 qid:1 1:2 2:0x1f", "a feature must be id:value with a number as value, got '2:0x1f'"),
    ("1 qid:1 1: 2:1", "a feature must be id:value with a number as value, got '1:' in"),
    ("1 qid:1 0:2", "a feature id must be at least 1"),
    ("1 qid:1 3000000000:2", "a feature id must be within"),
    ("1 qid:1 " + "3" * 5000 + ":2", "a feature id must be within"),
    ("1 qid:1 " + "0" * 5000 + ":2", "a feature id must be at least 1"),
    ("1 qid:1 1:\f5", "a feature must be id:value with a number as value, got '1:\\x0c5' in"),
    ("1 qid:1 1:nan\v", "a feature must be id:value with a number as value, got '1:nan\\x0b'"),
    ("\v1 qid:1 1:5", "the label must be a number >= 0, got '\\x0b1' in"),
    ("1 qid:1 \v", "a feature must be id:value with an integer as id, got '\\x0b' in"),
    ("1 qid:1 2:1 1:5 2:3", "a feature must occur once in a line, and 2 occurs again"),
    ("1 qid:1 2:1 2:1", "a feature must occur once in a line, and 2 occurs again"),
    (b"1 qid:1 1:\xff\xfe", "must be text in UTF-8, got the bytes b'1 qid:1 1:"),
    (b"1 qid:1 1:2 # a\0b", "must be text in UTF-8, got the bytes"),
    (b"\0\0\0\0", "must be text in UTF-8, got the bytes"),
]


@pytest.mark.slow
@pytest.mark.parametrize("block", [16, 1 << 20])
@pytest.mark.parametrize(("line", "message"), MALFORMED)
def test_malformed_line(write, monkeypatch, line, message, block):
    monkeypatch.setattr(svmlight_reader, "_BLOCK", block)
    raw = line.encode() if isinstance(line, str) else line
    path = write(b"1 qid:1 1:2\n\n# c\r\n2 qid:1 1:2 # c\n \n" + raw + b"\n3 qid:1 1:2\n1 x\n")
    with pytest.raises(DataError, match=f"{re.escape(str(path))}, line 6: {re.escape(message)}"):
        read_letor(path)


def test_qid_where_the_first_line_has_none(write):
    with pytest.raises(DataError, match="line 2: no line may have a qid if the lines before"):
        read_letor(write("1 1:2\n1 qid:1 1:2\n"))


def test_the_first_of_several_errors_is_named(write):
    path = write("1 qid:1 1:1\n1 qid:1 1:x\n1 qid:1 2:1 2:1\n1 qid:1 zzz\n")
    with pytest.raises(DataError, match="line 2"):
        read_letor(path)


def test_long_texts_are_shortened(write):
    with pytest.raises(DataError, match=r"got 'x{57}\.\.\.' in '1 qid:1 x{49}\.\.\.'$"):
        read_letor(write("1 qid:1 " + "x" * 500))


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_empty_file(write, text):
    with pytest.raises(DataError, match=r"data.txt: must contain at least one row, got none"):
        read_letor(write(text))


@pytest.mark.parametrize("cut", [5, 20, -4])
def test_broken_gzip(write, cut):
    with pytest.raises(DataError, match=r"data.txt: must be a complete gzip file"):
        read_letor(write(gzip.compress(SMALL.encode() * 50)[:cut]))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_letor(tmp_path / "no.txt")


def test_bad_type(write):
    with pytest.raises(DataError, match="dtype must be float64 or float32, got int64"):
        read_letor(write(SMALL), dtype=np.int64)


# Blocks


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**6), 10**6).map(str),
    st.decimals(-100, 100, places=6).map(str),
)
LINES = st.tuples(
    st.floats(0, 100).map(repr),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.dictionaries(st.integers(1, 40), NUMBERS, max_size=8),
    st.sampled_from(["", " # note", "#", "\r", "\n", "\n# whole\n"]),
)


@pytest.mark.slow
@settings(max_examples=sized(50, 150))
@given(st.lists(LINES, min_size=1, max_size=12), st.integers(1, 200), st.booleans())
def test_any_file_in_blocks_of_any_size(tmp_path_factory, lines, block, sparse):
    text = "\n".join(
        " ".join([label, f"qid:{qid}", *(f"{j}:{v}" for j, v in cells.items())]) + end
        for label, qid, cells, end in lines
    )
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_text(text, newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svmlight_reader, "_BLOCK", block)
        data = read_letor(path, sparse=sparse)
    X, y, qid = slow_twin(text)
    if data.X is None:
        assert X.shape[1] == 0
    else:
        assert same_bits(rows_of(data)[0] + 0.0, X + 0.0)
    assert same_bits(data.to_original(data.y), y)
    rows = np.arange(len(y)) if data.rows is None else data.rows
    assert np.repeat(data.qids, np.diff(data.offsets)).tolist() == qid[rows].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("block", [64, 1000, 1 << 22])
def test_same_bits_as_scikit_learn(write, monkeypatch, block, dtype):
    from sklearn.datasets import load_svmlight_file

    rng = np.random.default_rng(0)
    lines = []
    for row in range(300):
        ids = np.flatnonzero(rng.random(30) < 0.4) + 1
        values = rng.standard_normal(len(ids)) * 10.0 ** rng.integers(-30, 30, len(ids))
        forms = rng.choice(["{!r}", "{:.3f}", "{:.20e}", "{:.0f}"], len(ids))
        cells = [f"{j}:{f.format(v)}" for j, f, v in zip(ids, forms, values.tolist(), strict=True)]
        lines.append(" ".join([f"{row % 5}", f"qid:{row // 10}", *cells]))
    path = write("\n".join(lines) + "\n")
    monkeypatch.setattr(svmlight_reader, "_BLOCK", block)
    X, y, qid = load_svmlight_file(str(path), query_id=True, dtype=dtype)
    dense, sparse = read_letor(path, dtype=dtype), read_letor(path, dtype=dtype, sparse=True)
    expected = np.zeros(X.shape, dtype)  # X.toarray() would lose the sign of -0.0
    expected[np.repeat(np.arange(300), np.diff(X.indptr)), X.indices] = X.data
    assert same_bits(dense.X, expected)
    assert same_bits(sparse.X.data, X.data)
    assert np.array_equal(sparse.X.indices, X.indices)
    assert np.array_equal(sparse.X.indptr, X.indptr)
    assert np.array_equal(dense.y, y)
    assert np.array_equal(np.repeat(dense.qids, np.diff(dense.offsets)), qid)


def test_a_matrix_that_widens_again_and_again(write, monkeypatch):
    monkeypatch.setattr(svmlight_reader, "_BLOCK", 40)
    text = "".join(f"0 qid:1 {j}:{j}.5\n" for j in [1, 3, 2, 10, 4, 50, 51, 120, 7])
    assert np.array_equal(read_letor(write(text)).X, slow_twin(text)[0])


# Writing


def test_written_text(tmp_path):
    X = np.array([[0.5, 0.0, -0.0], [np.nan, 1e-7, 0.0], [0.1 + 0.2, 1e22, 0.0]])
    write_letor(as_ranking_data(X, [2, 0.25, 0], qid=[3, 3, -1]), tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == (
        "2 qid:3 1:0.5 3:-0.0\n"
        "0.25 qid:3 1:nan 2:0.0000001\n"
        "0 qid:-1 1:0.30000000000000004 2:1e+22\n"
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_the_number_of_features_is_kept(tmp_path, sparse):
    from scipy.sparse import csr_matrix

    X = np.array([[1.0, 0, 0], [0, 2, 0]])
    data = as_ranking_data(csr_matrix(X) if sparse else X, [0, 1], qid=[1, 1])
    write_letor(data, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "0 qid:1 1:1 3:0\n1 qid:1 2:2\n"
    assert read_letor(tmp_path / "out.txt").X.tolist() == X.tolist()


@pytest.mark.slow
@settings(max_examples=sized(50, 100))
@given(st.data())
def test_what_is_written_is_read_back(tmp_path_factory, data):
    n, width = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 6))
    single, sparse = data.draw(st.booleans()), data.draw(st.booleans())
    bits = 32 if single else 64
    cell = st.one_of(st.just(0.0), st.floats(width=bits), st.integers(-9, 9).map(float))
    cells = data.draw(st.lists(cell, min_size=n * width, max_size=n * width))
    X = np.array(cells, np.float32 if single else np.float64).reshape(n, width)
    X[np.isnan(X)] = np.nan  # one kind of NaN: the text has no room for its bits
    y = data.draw(st.lists(st.floats(0, 1e300), min_size=n, max_size=n))
    qid = data.draw(st.lists(st.integers(-3, 2**62), min_size=n, max_size=n))
    if sparse:
        from scipy.sparse import csr_matrix

        before = as_ranking_data(csr_matrix(X), y, qid=qid)
    else:
        before = as_ranking_data(X, y, qid=qid)
    path = tmp_path_factory.getbasetemp() / data.draw(st.sampled_from(["a.txt", "a.txt.gz"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(letor, "_ENTRIES", data.draw(st.integers(1, 40)))
        write_letor(before, path)
    after = read_letor(path, dtype=X.dtype, sparse=sparse)
    if sparse:
        assert same_bits(after.X.toarray(), before.X.toarray())
    else:
        assert same_bits(after.X, before.X)
    assert same_bits(after.y, before.y)
    assert np.array_equal(after.qids, before.qids)
    assert np.array_equal(after.offsets, before.offsets)


def test_float32_is_written_with_its_own_digits(tmp_path):
    X = np.array([[0.1, 1e-20, 16777216.0]], np.float32)
    write_letor(as_ranking_data(X, [1], qid=[1]), tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "1 qid:1 1:0.1 2:1e-20 3:16777216\n"


def test_comments_and_ids(tmp_path):
    path = tmp_path / "out.txt"
    data = as_ranking_data([[1.0], [2.0], [3.0]], [0, 1, 2], qid=[5, 3, 5], ids=["a", "b", "c c"])
    write_letor(data, path, comments="ids")
    assert path.read_text() == "0 qid:5 1:1 # a\n2 qid:5 1:3 # c c\n1 qid:3 1:2 # b\n"
    assert read_letor(path, ids_from_comments=True).ids.tolist() == ["a", "c c", "b"]
    write_letor(data, path, comments=["first", "", "third é"])
    assert path.read_text() == "0 qid:5 1:1 # first\n2 qid:5 1:3 # third é\n1 qid:3 1:2\n"
    write_letor(data.select([1]), path, comments=["only"])
    assert path.read_text() == "1 qid:3 1:2 # only\n"


@pytest.mark.parametrize("labels", [["7", "12"], [7.0, 12.0], np.array([7, 12], np.uint8)])
def test_query_labels_that_are_integers_in_other_clothes(tmp_path, labels):
    write_letor(as_ranking_data([[1.0], [1.0]], [0, 0], qid=labels), tmp_path / "out.txt")
    assert read_letor(tmp_path / "out.txt").qids.tolist() == [7, 12]


@pytest.mark.parametrize("labels", [["q1", "q2"], [1.5, 2.0], ["07", "7"], ["1" * 5000, "7"]])
def test_query_labels_that_are_not_integers(tmp_path, labels):
    data = as_ranking_data([[1.0], [1.0]], [0, 0], qid=np.array(labels))
    with pytest.raises(DataError, match=r"query labels must be integers.*numpy.unique"):
        write_letor(data, tmp_path / "out.txt")
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_written(tmp_path):
    path = tmp_path / "out.txt"
    data = as_ranking_data([[1.0], [1.0]], [0, 0], qid=[1, 1])
    with pytest.raises(DataError, match="data must be a RankingData, got list"):
        write_letor([1], path)
    with pytest.raises(DataError, match="must have relevance"):
        write_letor(as_ranking_data([[1.0]]), path)
    with pytest.raises(DataError, match=r"one text per row \(2\), got 1"):
        write_letor(data, path, comments=["a"])
    with pytest.raises(DataError, match=r"single lines, got 'a\\nb' in row 1"):
        write_letor(data, path, comments=["x", "a\nb"])
    with pytest.raises(DataError, match="must have ids"):
        write_letor(data, path, comments="ids")
    with pytest.raises(DataError, match='a text per row or "ids"'):
        write_letor(data, path, comments="docids")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupt_leaves_the_older_file(tmp_path, monkeypatch, error):
    path = tmp_path / "out.txt"
    path.write_text("older")
    calls = []

    def stop(*args):
        calls.append(args)
        if len(calls) == 2:
            raise error
        return b"1 qid:1\n"

    monkeypatch.setattr(letor, "format_block", stop)
    monkeypatch.setattr(letor, "_ENTRIES", 1)
    with pytest.raises(error):
        write_letor(as_ranking_data([[1.0], [1.0]], [0, 0], qid=[1, 1]), path)
    assert path.read_text() == "older"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real.txt").write_text("older")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    write_letor(as_ranking_data([[1.0]], [0], qid=[1]), tmp_path / "link.txt")
    assert (tmp_path / "real.txt").read_text() == "0 qid:1 1:1\n"
    assert (tmp_path / "link.txt").is_symlink()


# Real files


FOLDER = os.environ.get("EQUIRANK_DATA")
REAL = [
    ("MQ2008/S1.txt.gz", (2933, 157, 46)),
    ("MSLR-WEB10K-sample/msn1.fold1.train.5k.txt.gz", (5000, 43, 136)),
    ("lightgbm-lambdarank/rank.train", (3005, 201, 300)),
]


@pytest.mark.skipif(not FOLDER, reason="EQUIRANK_DATA names no folder")
@pytest.mark.parametrize(("name", "shape"), REAL)
def test_real_files(name, shape):
    from sklearn.datasets import load_svmlight_file

    path = os.path.join(FOLDER, "ltr", name)
    data = read_letor(path)
    assert (data.n_rows, data.n_queries, data.n_features) == shape
    X, y = load_svmlight_file(path)
    assert same_bits(data.to_original(data.X), X.toarray())
    assert np.array_equal(data.to_original(data.y), y)


HUGE = "1 qid:1 1:1\n# a comment\n\n0 qid:1 2:1 100000000:1\n" + "0 qid:1 1:2\n" * 4


@pytest.mark.parametrize("block", [20, 1000])
@pytest.mark.parametrize("name", ["data.txt", "data.txt.gz"])
def test_a_huge_feature_id_is_refused_unless_sparse(write, monkeypatch, block, name):
    monkeypatch.setattr(svmlight_reader, "_BLOCK", block)
    path = write(gzip.compress(HUGE.encode()) if name.endswith("gz") else HUGE, name)
    words = r"line 4: a feature id must not make X more than 100 times as large as the file, got "
    with pytest.raises(DataError, match=words + r"100000000, .*sparse=True.*n_features=100000000$"):
        read_letor(path)
    data = read_letor(path, sparse=True)
    assert data.X.shape == (6, 100_000_000)
    assert data.X.indices.tolist() == [0, 1, 99_999_999, 0, 0, 0, 0]
    with pytest.raises(DataError, match="got 100000000, "):
        read_letor(path, zero_based=True)


def test_a_matrix_that_is_large_for_its_file_but_small_is_read(write):
    path = write("1 qid:1 20000:1\n0 qid:1 1:1\n")
    assert read_letor(path).X.shape == (2, 20_000)
    wide = "1 qid:1 200000:1\n0 qid:1 1:1\n"
    with pytest.raises(DataError, match=r"line 1: .* got 200000, with which 2 rows need 3 MB"):
        read_letor(write(wide))
    assert read_letor(write(wide), n_features=200_000).X.shape == (2, 200_000)
    assert read_letor(write(wide + "0 qid:1 1:1\n" * 2000), sparse=True).n_rows == 2002


def test_a_matrix_that_grows_too_large_with_its_rows_names_the_first_line(write, monkeypatch):
    monkeypatch.setattr(svmlight_reader, "_BLOCK", 64)
    with pytest.raises(DataError, match=r"line 2: .* got 40000, "):
        read_letor(write("1 qid:1 7:1\n1 qid:1 40000:1\n" + "0 qid:1 1:1\n" * 100))


def test_a_packed_file_that_unpacks_to_far_more_is_refused(write, monkeypatch):
    monkeypatch.setattr(files, "_LEAST", 1 << 15)
    for line in (b"1 qid:1 1:1\n", b" "):
        path = write(gzip.compress(line * (1 << 17)), "data.txt.gz")
        with pytest.raises(DataError, match=r"data.txt.gz: must not unpack to more than 200 times"):
            read_letor(path)


def test_a_line_without_an_end_is_refused(write, monkeypatch):
    monkeypatch.setattr(svmlight_reader, "_BLOCK", 64)
    monkeypatch.setattr(svmlight_reader, "_LINE", 1000)
    assert read_letor(write("1 qid:1 1:1" + " " * 900 + "\n")).n_rows == 1
    with pytest.raises(DataError, match="line 2: must have less than 1000 bytes, got more"):
        read_letor(write("1 qid:1 1:1\n" + " " * 2000))
