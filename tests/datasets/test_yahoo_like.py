"""The stand-in for Yahoo: its shape, its grades, and that they can be learned."""

import tracemalloc

import numpy as np
import pytest

from equirank import DataError, evaluate
from equirank.core.given_data import as_ranking_data
from equirank.datasets import make_yahoo_like

SMALL = {"n_queries": 200, "n_rows": 5000, "n_features": 50}


def test_shape_and_grades():
    data = make_yahoo_like(**SMALL)
    assert (data.n_rows, data.n_queries, data.n_features) == (5000, 200, 50)
    assert data.X.dtype == np.float32
    assert (data.X.min() >= 0) & (data.X.max() < 1)
    assert np.bincount(data.y.astype(int)).tolist() == [1250, 1750, 1250, 500, 250]
    sizes = np.diff(data.offsets)
    assert sizes.min() >= 1
    assert sizes.max() > 2 * sizes.mean()
    assert data.rows is None


def test_defaults_are_those_of_the_real_set():
    defaults = make_yahoo_like.__kwdefaults__
    shape = {name: defaults[name] for name in SMALL}
    assert shape == {"n_queries": 19944, "n_rows": 473134, "n_features": 700}


def score(train, test):
    """Fit by least squares on one, rank the other, give NDCG@10."""
    design = np.column_stack([train.X, np.ones(len(train))])
    weights = np.linalg.lstsq(design, train.y, rcond=None)[0]
    qid = test.qids[test.query_of_rows()]
    ranked = as_ranking_data(None, test.y, qid=qid, score=test.X @ weights[:-1])
    return evaluate(ranked, "NDCG@10", n_boot=0)["NDCG@10"]


@pytest.mark.gate
def test_another_seed_is_a_test_set_for_the_same_task():
    train, test = (make_yahoo_like(**SMALL, random_state=seed) for seed in (0, 1))
    assert (train.X != test.X).any()
    learned = score(train, test)
    shuffled = as_ranking_data(train.X, np.random.default_rng(0).permutation(train.y))
    assert learned > score(shuffled, test) + 0.1
    assert learned < 0.99


def test_seed_and_noise():
    data, again = (make_yahoo_like(**SMALL, random_state=3) for _ in range(2))
    assert (data.X == again.X).all()
    assert (data.y == again.y).all()
    loud = make_yahoo_like(**SMALL, random_state=3, noise=5)
    assert (loud.X == data.X).all()
    best = data.X[data.y == 4, 0].mean() - data.X[data.y == 0, 0].mean()
    assert loud.X[loud.y == 4, 0].mean() - loud.X[loud.y == 0, 0].mean() < best - 0.1


def test_blocks_do_not_show(monkeypatch):
    whole = make_yahoo_like(**SMALL)
    monkeypatch.setattr("equirank.datasets.yahoo_like._BLOCK", 333)
    parts = make_yahoo_like(**SMALL)
    assert (whole.X == parts.X).all()
    assert (whole.y == parts.y).all()


@pytest.mark.slow
def test_memory_is_that_of_the_result():
    shape = {"n_queries": 4000, "n_rows": 100_000, "n_features": 100}
    tracemalloc.start()
    data = make_yahoo_like(**shape)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.6 * data.X.nbytes


def test_smallest():
    data = make_yahoo_like(n_queries=3, n_rows=3, n_features=1)
    assert data.X.shape == (3, 1)
    assert data.qids.tolist() == [1, 2, 3]
    assert make_yahoo_like(n_queries=2, n_rows=4, n_features=2, as_frame=True).shape == (4, 4)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"n_queries": 0}, "n_queries of make_yahoo_like must be"),
        ({"n_rows": 199}, r"n_rows of make_yahoo_like must be at least n_queries \(200\), got 199"),
        ({"n_features": 0}, "n_features of make_yahoo_like must be"),
        ({"noise": -1}, "noise of make_yahoo_like must be"),
        ({"noise": float("nan")}, "noise of make_yahoo_like must be"),
    ],
)
def test_bad(given, said):
    with pytest.raises(DataError, match=said):
        make_yahoo_like(**(SMALL | given))
