import numpy as np
import pytest
from scipy.sparse import csr_array

from equirank import DataError, Ranking, as_ranking_data, evaluate
from equirank.core.errors import EquirankWarning
from equirank.metrics import AlphaNDCG, alpha_ndcg

from .. import twins
from ..cases import same


@pytest.mark.slow
@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
def test_agrees_with_twin(alpha, k):
    rng = np.random.default_rng(0)
    for _ in range(60):
        sizes = rng.integers(1, 7, size=3)
        qid = rng.permutation(np.repeat(np.arange(3), sizes))
        X = (rng.random((len(qid), 4)) < 0.4).astype(float)
        score = rng.permutation(len(qid)).astype(float)
        wanted = []
        for query in dict.fromkeys(qid.tolist()):
            rows = np.flatnonzero(qid == query)
            covers = [set(np.flatnonzero(X[row]).tolist()) for row in rows]
            order = np.argsort(-score[rows]).tolist()
            wanted.append(twins.alpha_ndcg(order, covers, alpha=alpha, k=k))
        got = alpha_ndcg(score, X, qid=qid, alpha=alpha, k=k, per_query=True)
        same(got, wanted)
        same(alpha_ndcg(score, csr_array(X), qid=qid, alpha=alpha, k=k, per_query=True), wanted)


def test_items_not_shown_count_in_the_ideal_only():
    rng = np.random.default_rng(1)
    for _ in range(60):
        X = rng.random((6, 3)) < 0.5
        place = rng.permutation(6) + 1
        place[place > 4] = 0
        covers = [set(np.flatnonzero(row).tolist()) for row in X]
        order = [int(np.flatnonzero(place == j)[0]) for j in range(1, 5)]
        ranking = Ranking.from_positions(as_ranking_data(X.astype(float)), place)
        same(AlphaNDCG().per_query(ranking).value, [twins.alpha_ndcg(order, covers)])


def test_single_lists():
    covers = [[1, 0], [1, 0], [0, 1]]
    ideal = 1 + 1 / np.log2(3) + 0.5 / 2
    assert alpha_ndcg([3, 2, 1], covers) == pytest.approx((1 + 0.5 / np.log2(3) + 1 / 2) / ideal)
    assert alpha_ndcg([3, 1, 2], covers) == pytest.approx(1)
    # alpha 0 counts aspects, whatever was seen
    assert alpha_ndcg([1, 2], [[1, 1], [1, 0]], alpha=0) == pytest.approx(
        (1 + 2 / np.log2(3)) / (2 + 1 / np.log2(3))
    )
    with pytest.warns(EquirankWarning, match="no item covers an aspect"):
        assert np.isnan(alpha_ndcg([2, 1], [[0], [0]]))


def test_the_greedy_order_can_be_beaten():
    # the first has most aspects and is taken first; the other two gain more together
    covers = [[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [0, 0, 1, 0, 1]]
    greedy = 3 + 1 / np.log2(3) + 1 / 2
    assert alpha_ndcg([3, 2, 1], covers, alpha=1) == pytest.approx(1)
    assert alpha_ndcg([1, 3, 2], covers, alpha=1) == pytest.approx((3 + 2 / np.log2(3)) / greedy)
    assert (3 + 2 / np.log2(3)) / greedy > 1


def test_ties_are_refused_between_different_items():
    covers = [[1, 0], [0, 1], [1, 1]]
    with pytest.raises(DataError, match=r"without ties, and row 1 of query 0 .*ties='stable'"):
        alpha_ndcg([2, 2, 1], covers)
    assert alpha_ndcg([2, 2, 1], covers, ties="stable") == alpha_ndcg([3, 2, 1], covers)
    # the order of equal items does not matter, nor that of items after the cutoff
    assert alpha_ndcg([2, 2, 1], [[1, 0], [1, 0], [0, 1]]) < 1
    assert alpha_ndcg([1, 1, 2], covers, k=1) == 1
    with pytest.raises(DataError, match="without ties"):
        alpha_ndcg([1, 1, 2], covers, k=2)


def test_aspects_are_columns():
    frame = pytest.importorskip("pandas").DataFrame({"a": [1, 0], "size": [7.0, 9.0], "b": [0, 1]})
    data = as_ranking_data(frame, score=[2, 1])
    result = evaluate(data, 'AlphaNDCG(aspects=("a", "b")), AlphaNDCG(aspects=(0,))', n_boot=0)
    assert result['alphandcg(aspects=("a","b"))'] == result["AlphaNDCG(aspects=(0,))"] == 1
    with pytest.raises(DataError, match=r"columns of the 3 features, got 'c'"):
        evaluate(data, 'AlphaNDCG(aspects=("c",))')
    with pytest.raises(DataError, match=r"columns of the 3 features, got 3"):
        evaluate(data, "AlphaNDCG(aspects=(3,))")
    for bad in ((), ("a", "a"), "a", (True,), (1.5,), ("a", 1)):
        with pytest.raises(DataError, match="aspects of AlphaNDCG must be"):
            AlphaNDCG(aspects=bad)
    with pytest.raises(DataError, match="alpha of AlphaNDCG"):
        AlphaNDCG(alpha=1.1)
    data = as_ranking_data([[1.0, np.nan], [1.0, 1.0]], score=[2, 1])
    with pytest.raises(DataError, match="must be numbers, got nan in row 0"):
        evaluate(data, "AlphaNDCG")
    assert evaluate(data, "AlphaNDCG(aspects=(0,))", n_boot=0)["AlphaNDCG(aspects=(0,))"] == 1


def test_a_single_list_has_an_interval():
    data = as_ranking_data(np.eye(4)[[0, 0, 1, 2]], score=[4, 3, 2, 1])
    row = next(iter(evaluate(data, "AlphaNDCG", n_boot=20).summary()))
    assert 0 < row["low"] <= row["high"] <= 1.2
