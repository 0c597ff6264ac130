import numpy as np
import pytest
from thorough import sized

from equirank import DataError, Ranking, as_ranking_data
from equirank.core.errors import EquirankWarning
from equirank.metrics import rbo

from .. import twins
from ..cases import make_batch, make_drawn, same


@pytest.mark.parametrize("options", [{}, {"p": 0.5}, {"k": 2}, {"k": 30, "p": 0.8}], ids=str)
def test_agrees_with_twin_on_scores(options):
    batch = make_batch(sized(120, 250), seed=1, most=5)
    rng = np.random.default_rng(2)
    second = rng.integers(0, 3, size=len(batch.score)) / 2
    cases = [
        (case, [second[(batch.case == at) & (batch.item == i)][0] for i in range(len(case.y))])
        for at, case in enumerate(batch.cases)
    ]

    def blocks(score):
        return [[i for i, s in enumerate(score) if s == x] for x in sorted(set(score))[::-1]]

    wanted = [twins.rbo(case.blocks(), [], blocks(other), [], **options) for case, other in cases]
    same(rbo(batch.score, second, qid=batch.qid, per_query=True, **options), wanted)
    stable = [
        twins.rbo(
            case.in_order(),
            [],
            [[i] for i in sorted(range(len(o)), key=lambda i: -o[i])],
            [],
            **options,
        )
        for case, o in cases
    ]
    same(rbo(batch.score, second, qid=batch.qid, ties="stable", per_query=True, **options), stable)


@pytest.mark.parametrize(("ours", "theirs"), [(1, 1), (3, 1), (2, 3)])
def test_agrees_with_twin_on_positions_of_several_draws(ours, theirs):
    drawn = make_drawn(sized(60, 150), ours + theirs, seed=4, most=4)
    whole, data = drawn.ranking, drawn.ranking.data

    def part(columns):
        table = data.to_original(whole.position[:, columns])
        return Ranking.from_positions(data, table)

    wanted = np.zeros(data.n_queries)
    for first in drawn.draws[:ours]:
        for second in drawn.draws[ours:]:
            wanted += [twins.rbo(*a, *b) for a, b in zip(first, second, strict=True)]
    got = rbo(part(slice(None, ours)), part(slice(ours, None)), per_query=True)
    same(got, wanted / (ours * theirs))


def test_single_lists():
    # A = 0, 1/2 (one of two), 1: k = 3
    value = 1 * 0.9**3 + (1 - 0.9) / 0.9 * (0 * 0.9 + 1 / 2 * 0.9**2 + 1 * 0.9**3)
    assert rbo([3, 2, 1], [2, 1, 3]) == pytest.approx(value)
    assert rbo([3, 2, 1], [3, 2, 1]) == pytest.approx(1)
    # depth 2: A = 1, 1/2
    assert rbo([3, 2, 1], [3, 1, 2], p=0.5, k=2) == pytest.approx(0.5 * 0.25 + 0.5 * 1 + 0.25 * 0.5)
    # all tied: A_1 = 1/2 with any order
    assert rbo([1, 1], [2, 1], p=0.5) == pytest.approx(1 / 4 + 1 / 2 * 1 / 2 + 1 / 4)
    assert rbo([1, 1], [1, 1], p=0.5) == rbo([1, 1], [2, 1], p=0.5)


def test_it_is_symmetric_and_one_for_equal_rankings():
    rng = np.random.default_rng(0)
    qid = rng.integers(0, 30, size=900)
    a, b = rng.random((2, 900))
    same(rbo(a, b, qid=qid, per_query=True), rbo(b, a, qid=qid, per_query=True))
    same(rbo(a, np.exp(a), qid=qid, per_query=True), np.ones(len(set(qid.tolist()))))
    assert rbo(a, -a, qid=qid) < rbo(a, b, qid=qid) < rbo(a, a + b / 50, qid=qid) < 1


def test_a_ranking_beside_scores():
    data = as_ranking_data(None, qid=[1, 2, 1, 2], score=[1, 2, 3, 4])
    wanted = rbo([1, 2, 3, 4], [4, 3, 2, 1], qid=[1, 2, 1, 2], per_query=True)
    same(rbo(data.ranking(), [4, 3, 2, 1], per_query=True), wanted)
    same(rbo([4, 3, 2, 1], data.ranking(), per_query=True), wanted)
    with pytest.raises(DataError, match="qid must be None beside a Ranking"):
        rbo(data.ranking(), [4, 3, 2, 1], qid=[1, 2, 1, 2])
    other = as_ranking_data(None, qid=[1, 1, 2, 2], score=[1, 2, 3, 4])
    with pytest.raises(DataError, match="the same rows"):
        rbo(data.ranking(), other.ranking())
    with pytest.raises(DataError, match="the same lists"):
        rbo(data.ranking(), as_ranking_data(None, qid=[1, 2, 1, 3], score=[1, 2, 3, 4]).ranking())


def test_bad_input():
    for p in (0, 1, 2, "x"):
        with pytest.raises(DataError, match="p of rbo must be"):
            rbo([1], [1], p=p)
    with pytest.raises(DataError, match="k of rbo"):
        rbo([1], [1], k=0)
    with pytest.raises(DataError, match="second"):
        rbo([1, 2], [1])
    with pytest.raises(DataError, match="second"):
        rbo([1, 2], [1, np.nan])
    with pytest.raises(DataError, match="ties must be"):
        rbo([1, 2], [1, 2], ties="trec")
    data = as_ranking_data(None, score=[1, 2])
    nothing = Ranking.from_positions(data, [0, 0])
    with pytest.warns(EquirankWarning, match="undefined in every query"):
        assert np.isnan(rbo(nothing, data.ranking()))
    assert np.isnan(rbo(nothing, data.ranking(), per_query=True)).all()
