"""What is held out while a ranker trains."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.core.registry import parse_metric
from equirank.datasets import make_ranking
from equirank.rankers.early_stopping import held_out, metric_value, one_metric


def test_whole_queries_are_held_out_and_of_one_list_rows():
    data = make_ranking(n_queries=20, random_state=0)
    train, watched = held_out(data, 0.25, 0, "Some")
    assert (train.n_queries, watched.n_queries) == (15, 5)
    assert not set(train.qids) & set(watched.qids)
    one = as_ranking_data(np.eye(40), np.arange(40.0))
    train, watched = held_out(one, 0.25, 0, "Some")
    assert (train.n_rows, watched.n_rows) == (30, 10)
    assert held_out(data, None, 0, "Some") == (data, None)
    assert held_out(data, data, 0, "Some") == (data, data)


def test_data_that_does_not_fit_is_refused():
    data = make_ranking(n_queries=4, n_features=5, random_state=0)
    other = make_ranking(n_queries=4, n_features=6, random_state=0)
    with pytest.raises(DataError, match="validation of Some must have the 5 features"):
        held_out(data, other, 0, "Some")
    with pytest.raises(DataError, match="validation of Some must have X and y"):
        held_out(data, as_ranking_data(score=[1.0]), 0, "Some")


def test_one_metric_and_its_value():
    assert one_metric("NDCG@5") == parse_metric("NDCG@5")
    with pytest.raises(DataError, match="one metric, got 2"):
        one_metric("NDCG@5,RND")
    data = as_ranking_data(None, [0, 1, 1, 0], qid=[1, 2, 1, 2])
    assert metric_value(parse_metric("NDCG"), data, np.array([0.0, 1.0, 1.0, 0.0])) == 1.0
