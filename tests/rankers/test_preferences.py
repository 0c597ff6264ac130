"""Explicit preferences: read alike by every ranker, refused with the pair's number."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.rankers.preferences import checked_pairs, without_grades


def test_pairs_are_given_back_with_signs_and_weights():
    table, sign, weight = checked_pairs([[0, 1], [2, 1], [0, 2]], [1, 0, -1], [1, 2, 0], 3)
    assert table.tolist() == [[0, 1], [2, 1], [0, 2]]
    assert sign.tolist() == [1.0, 0.0, -1.0]
    assert weight.tolist() == [1.0, 2.0, 0.0]
    _, sign, weight = checked_pairs([[0, 1]], None, None, 2)
    assert (sign.tolist(), weight.tolist()) == ([1.0], [1.0])


@pytest.mark.parametrize(
    ("pairs", "preference", "weight", "words"),
    [
        ([0, 1], None, None, r"shape \(n_pairs, 2\)"),
        ([[0.5, 1.0]], None, None, "row numbers"),
        (np.empty((0, 2), dtype=int), None, None, "at least one pair"),
        ([[0, 1], [2, 2]], None, None, r"got \[2, 2\] in pair 1"),
        ([[0, 3]], None, None, "from 0 to 2"),
        ([[0, 1]], [1, 1], None, "preference must have one value per pair"),
        ([[0, 1]], None, [-1.0], r"weight must be a number >= 0, got -1\.0 in pair 0"),
        ([[0, 1]], [np.nan], None, "preference"),
    ],
)
def test_bad_pairs_are_refused(pairs, preference, weight, words):
    with pytest.raises(DataError, match=words):
        checked_pairs(pairs, preference, weight, 3)


def test_rows_without_grades():
    X, y = without_grades(np.eye(3))
    assert y.tolist() == [0.0, 0.0, 0.0]
    data = as_ranking_data(np.eye(3), [1, 2, 3], qid=[0, 0, 1])
    bare, none = without_grades(data)
    assert none is None
    assert bare.y.tolist() == [0.0, 0.0, 0.0]
    assert X.shape == bare.X.shape
