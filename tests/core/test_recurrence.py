"""Recurrence: people counted by id, in parts that are added in any order."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equirank import as_ranking_data
from equirank.core import recurrence
from equirank.core.recurrence import Recurrence, n_copies, rows_of_totals

IDS = st.lists(st.integers(0, 12) | st.sampled_from(["7", "a", "", None]), max_size=40)


def objects(ids):
    array = np.empty(len(ids), dtype=object)
    array[:] = ids
    return array


@pytest.mark.slow
@given(IDS, st.integers(0, 40))
def test_parts_add_up_to_the_counts_of_all_rows(ids, cut):
    parts = [Recurrence.of(objects(each)) for each in (ids[:cut], ids[cut:])]
    whole = parts[1] + parts[0]
    counts = Counter(each for each in ids if each not in (None, ""))
    unnamed = len(ids) - sum(counts.values())
    assert whole.n_people == len(counts) + unnamed
    assert whole.n_recurring == sum(rows > 1 for rows in counts.values())
    assert whole.unnamed == unnamed
    assert not whole.sampled


@pytest.mark.parametrize(
    "ids",
    [
        np.array([3, 1, 3]),
        np.array([3.0, 1.0, 3.0]),
        np.array([3, 1, 3], dtype=np.int8),
        objects([3, 1, 3]),
        objects([3.0, 1, np.int32(3)]),
    ],
)
def test_a_number_is_the_same_person_whatever_its_type(ids):
    expected = Recurrence.of(np.array([1, 3, 3]))
    assert Recurrence.of(ids).keys.tolist() == expected.keys.tolist()
    assert Recurrence.of(ids).rows.tolist() == expected.rows.tolist()


@pytest.mark.parametrize(
    ("ids", "people", "recurring", "unnamed"),
    [
        (np.array([1.5, np.nan, 1.5, np.nan]), 3, 1, 2),
        (np.array(["2020-01-01", "NaT", "2020-01-01"], dtype="M8[D]"), 2, 1, 1),
        (np.array(["a", "", "b", ""]), 4, 0, 2),
        (objects([("a", 1), ("a", 1), None, float("nan")]), 3, 1, 2),
        (np.array([], dtype=object), 0, 0, 0),
        (np.array([True, False, True]), 2, 1, 0),
        (objects([2**70, 1, 2**70, -(2**70)]), 3, 1, 0),
        (objects([2**63 + 5, -3, np.int64(-3)]), 2, 1, 0),
        (np.array([2**63 + 5, 3, 2**63 + 5], dtype=np.uint64), 2, 1, 0),
        (np.array([np.inf, 1e300, np.inf, 2.0]), 3, 1, 0),
        (objects(["a\ud800", "a", "a\ud800"]), 2, 1, 0),
    ],
)
def test_ids_of_other_types_and_missing_ones(ids, people, recurring, unnamed):
    found = Recurrence.of(ids)
    assert (found.n_people, found.n_recurring, found.unnamed) == (people, recurring, unnamed)


def test_many_people_are_estimated_from_those_with_the_smallest_keys(monkeypatch):
    monkeypatch.setattr(recurrence, "MOST_PEOPLE", 2000)
    ids = np.random.default_rng(0).integers(0, 40_000, 60_000)
    counts = np.bincount(ids)
    whole = Recurrence.of(ids)
    parts = [Recurrence.of(part) for part in np.array_split(ids, 7)]
    total = parts[3]
    for part in (parts[6], *parts[:3], *parts[4:6]):
        total = total + part
    assert total.keys.tolist() == whole.keys.tolist()
    assert total.rows.tolist() == whole.rows.tolist()
    assert whole.sampled
    # the standard error of both is about 2.2% of the numbers
    assert whole.n_people == pytest.approx((counts > 0).sum(), rel=0.09)
    assert whole.n_recurring == pytest.approx((counts > 1).sum(), rel=0.12)


@pytest.mark.parametrize(("recurring", "breaks"), [(1, False), (2, True), (0, False)])
def test_tests_are_broken_by_more_than_one_in_a_hundred(recurring, breaks):
    ids = np.concatenate([np.arange(100), np.arange(recurring)])
    found = Recurrence.of(ids)
    assert found.share == recurring / 100
    assert found.breaks_tests is breaks


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("left_out", ["", "qid", "score", "ids", "X", "hired", "sex"])
def test_copies_are_rows_that_are_equal_in_everything(seed, left_out):
    rng = np.random.default_rng(seed)
    n = 300
    columns = {
        "qid": rng.integers(0, 3, n), "score": rng.integers(0, 3, n).astype(float),
        "ids": objects(rng.choice(["a", "b", None], n)), "X": rng.integers(0, 2, (n, 2)),
        "hired": objects(rng.choice(["yes", "no", float("nan"), None], n)),
        "sex": rng.choice(["f", "m"], n),
    }  # fmt: skip
    if left_out:
        del columns[left_out]
    parts = [
        ["" if each is None or each != each else each for each in values.tolist()]
        if values.ndim == 1
        else [tuple(row) for row in values]
        for values in columns.values()
    ]
    used = {name: columns[name] for name in ("qid", "score", "ids", "X") if name in columns}
    data = as_ranking_data(
        **used,
        y=None if "score" in used else np.zeros(n),
        sensitive_features={"sex": columns["sex"]} if "sex" in columns else None,
        outcomes={"hired": columns["hired"]} if "hired" in columns else None,
    )
    assert n_copies(data) == n - len(set(zip(*parts, strict=True)))


def test_copies_of_sparse_rows_are_counted():
    sparse = pytest.importorskip("scipy.sparse")
    rows = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 0.0]])
    data = as_ranking_data(sparse.csr_array(rows), [0, 0, 0, 0])
    assert n_copies(data) == 1


def test_rows_of_totals_by_hand():
    score = [3.0, 2.0, 2.0, 7.0]
    data = as_ranking_data(score=score, sensitive_features={"sex": ["f", "m", "m", "Total"]})
    assert rows_of_totals(data) == [(3, 'sex "Total"')]
    # a list or a group of several people may be called so, and a short list is no sum
    data = as_ranking_data(
        score=score, qid=["Total", "Total", "a", "a"], sensitive_features=["Sum", "Sum", "f", "f"]
    )
    assert rows_of_totals(data) == []
    # the last row as given is stored first
    tens = [*range(1, 11), 55]
    data = as_ranking_data(score=tens, qid=["b", *"aaaaaaaaa", "b"])
    (row, why) = rows_of_totals(data)[0]
    assert (data.score[row], why) == (55, "its score is the sum of all others, 55")
    assert rows_of_totals(as_ranking_data(score=tens[::-1])) == []
