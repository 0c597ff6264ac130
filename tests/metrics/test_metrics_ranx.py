"""Against ranx on equal conventions, where it is installed: no ties, relevant items only."""

import numpy as np
import pytest

from equirank.metrics import average_precision, ndcg, precision, recall, reciprocal_rank

from .cases import same

N_QUERIES, N_ITEMS = 40, 25


@pytest.fixture(scope="module")
def ranx():
    return pytest.importorskip("ranx")


@pytest.fixture(scope="module")
def lists():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=(N_QUERIES, N_ITEMS))
    y[:, 0] = 1
    return y, rng.permuted(np.tile(np.arange(1.0, N_ITEMS + 1), (N_QUERIES, 1)), axis=1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("theirs", "function", "options"),
    [
        ("ndcg", ndcg, {"gain": "linear"}),
        ("ndcg@5", ndcg, {"gain": "linear", "k": 5}),
        ("ndcg_burges@5", ndcg, {"k": 5}),
        ("map", average_precision, {}),
        ("map@7", average_precision, {"k": 7}),
        ("mrr", reciprocal_rank, {}),
        ("mrr@3", reciprocal_rank, {"k": 3}),
        ("precision@4", precision, {"k": 4}),
        ("recall@6", recall, {"k": 6}),
    ],
)
def test_same_values(ranx, lists, theirs, function, options):
    y, score = lists
    names = [str(item) for item in range(N_ITEMS)]
    # sorted names, so that ranx meets the queries in our order
    queries = [f"q{number:03d}" for number in range(N_QUERIES)]
    truth = {
        q: {name: int(grade) for name, grade in zip(names, row, strict=True) if grade > 0}
        for q, row in zip(queries, y, strict=True)
    }
    run = {
        q: dict(zip(names, row.tolist(), strict=True))
        for q, row in zip(queries, score, strict=True)
    }
    wanted = ranx.evaluate(ranx.Qrels(truth), ranx.Run(run), theirs, return_mean=False, threads=1)
    got = function(
        y.ravel(), score.ravel(), qid=np.repeat(queries, N_ITEMS), per_query=True, **options
    )
    same(got, wanted, tol=1e-6)
