"""Whole lists come out of batches of any size, and scattered ones are noticed."""

import numpy as np
import pyarrow as pa
import pytest

from equirank import DataError
from equirank.engines.whole_lists import (
    ScatteredLists,
    label_of,
    row_keys,
    sorted_rows,
    whole_lists,
)


def batches(table, size):
    return list(pa.table(table).to_batches(max_chunksize=size))


def lists_of(blocks):
    """Label and rows of each list, as Python values."""
    found = []
    for block in blocks:
        rows = block.rows.to_pydict()
        for at, (begin, end) in enumerate(zip(block.offsets, block.offsets[1:], strict=False)):
            found.append((label_of(block, at), rows["score"][begin:end]))
    return found


LABELS = {
    "numbers": {"q0": np.array([3, 3, 3, 4, 7, 7, 9, 9, 9, 9])},
    "falling": {"q0": np.array([9, 9, 9, 4, 3, 3, -1, -1, -1, -1])},
    "texts": {"q0": pa.array(list("aaabccdddd"), pa.large_string())},
    "two columns": {
        "q0": np.array([1, 1, 1, 1, 1, 1, 2, 2, 2, 2]),
        "q1": pa.array(list("aaabccaaaa"), pa.large_string()),
    },
}


@pytest.mark.parametrize("size", [1, 2, 3, 10])
@pytest.mark.parametrize("rows", [1, 4, 100])
@pytest.mark.parametrize("kind", LABELS)
def test_no_list_is_torn(kind, size, rows):
    table = LABELS[kind] | {"score": np.arange(10.0)}
    found = lists_of(whole_lists(batches(table, size), rows=rows))
    assert [scores for _, scores in found] == [[0, 1, 2], [3], [4, 5], [6, 7, 8, 9]]
    parts = [np.asarray(LABELS[kind][name])[[0, 3, 4, 6]].tolist() for name in LABELS[kind]]
    wanted = parts[0] if len(parts) == 1 else list(zip(*parts, strict=True))
    assert [label for label, _ in found] == wanted


@pytest.mark.parametrize("size", [1, 3, 10])
def test_a_label_that_returns_is_noticed(size):
    table = {"q0": np.array([1, 1, 2, 2, 3, 1]), "score": np.zeros(6)}
    with pytest.raises(ScatteredLists):
        list(whole_lists(batches(table, size), rows=1))


def test_without_labels_all_rows_are_one_list():
    found = lists_of(whole_lists(batches({"score": np.arange(5.0)}, 2), rows=2))
    assert found == [(0, [0, 1, 2, 3, 4])]


def test_a_long_list_is_collected_and_a_longer_one_refused():
    table = {"q0": np.repeat([1, 2, 3], [5, 900, 5]), "score": np.arange(910.0)}
    blocks = list(whole_lists(batches(table, 7), rows=20))
    assert np.concatenate([np.diff(block.offsets) for block in blocks]).tolist() == [5, 900, 5]
    with pytest.raises(DataError, match=r"at most 300 rows \(max_list_rows\).* in list 2;"):
        list(whole_lists(batches(table, 7), rows=20, max_list_rows=300))


@pytest.mark.parametrize("kind", LABELS)
def test_sorted_rows_bring_lists_together_and_keep_their_order(kind):
    order = np.random.default_rng(0).permutation(10)
    columns = {
        name: pa.array(values).take(pa.array(order)) for name, values in LABELS[kind].items()
    }
    rows = sorted_rows(pa.record_batch(columns | {"score": np.arange(10.0)[order]}))
    found = lists_of(whole_lists([rows], rows=100))
    assert len(found) == 4
    for _, scores in found:
        assert scores == [score for score in order if score in scores]


@pytest.mark.parametrize("kind", LABELS)
def test_rows_of_one_list_and_no_others_have_the_same_key(kind):
    rows = pa.record_batch(LABELS[kind] | {"score": np.arange(10.0)})
    labels = list(zip(*(rows[name].to_pylist() for name in LABELS[kind]), strict=True))
    keys = row_keys(rows).tolist()
    assert len(set(keys)) == len(set(labels)) == len(set(zip(keys, labels, strict=True)))
    assert row_keys(rows.slice(3, 5)).tolist() == keys[3:8]
    assert row_keys(rows.slice(3, 0)).tolist() == []


def test_only_the_bytes_of_a_text_decide_its_key():
    texts = ["", "a", "a\0", "\0a", "abcdefgh", "abcdefgh" * 2, "abcdefg", "ü", "日本語の名前"]
    keys = row_keys(pa.record_batch({"q0": pa.array(texts, pa.large_string())}))
    assert len(set(keys.tolist())) == len(texts)
    again = pa.array(["x" * 30, *texts[::-1]], pa.large_string())
    assert row_keys(pa.record_batch({"q0": again}))[1:].tolist() == keys[::-1].tolist()
    several = pa.record_batch({"q0": pa.array(texts, pa.large_string()), "q1": np.arange(9)})
    assert not set(row_keys(several).tolist()) & set(keys.tolist())
