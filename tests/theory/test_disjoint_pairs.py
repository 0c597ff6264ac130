"""Pairs that share no item: each equally likely, as many as there can be."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.theory.generalization_bounds import disjoint_pairs


def test_disjoint_pairs_use_no_item_twice_and_order_by_relevance():
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 4, size=300), rng.integers(0, 9, size=300)
    data = as_ranking_data(None, y, qid=qid)
    better, worse = disjoint_pairs(data, 0)
    assert len(set(better) | set(worse)) == 2 * len(better)
    assert (data.y[better] > data.y[worse]).all()
    query = data.query_of_rows()
    assert (query[better] == query[worse]).all()
    again = disjoint_pairs(data, 0)
    assert np.array_equal(better, again[0])
    assert np.array_equal(worse, again[1])


def test_pairs_of_many_grades_are_turned_and_not_dropped():
    data = as_ranking_data(None, np.arange(200.0))
    assert len(disjoint_pairs(data, 0)[0]) == 100


def test_two_grades_give_as_many_pairs_as_the_rarer_has_items():
    data = as_ranking_data(None, [1, 0, 0, 0, 1, 1, 0, 0])
    assert len(disjoint_pairs(data, 0)[0]) == 3


@pytest.mark.slow
def test_all_pairs_of_unequal_relevance_are_equally_likely():
    data = as_ranking_data(None, [0, 1, 2, 2, 0])
    counts = {}
    for seed in range(4000):
        for pair in zip(*disjoint_pairs(data, seed), strict=True):
            counts[pair] = counts.get(pair, 0) + 1
    assert len(counts) == 8  # of 10, less two ties
    share = np.array(list(counts.values())) / sum(counts.values())
    assert np.abs(share - 1 / 8).max() < 0.015


def test_no_pair_is_an_error():
    with pytest.raises(DataError, match="two different grades in a list"):
        disjoint_pairs(as_ranking_data(None, [1, 1, 0], qid=[0, 0, 1]), 0)
