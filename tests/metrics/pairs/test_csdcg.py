from dataclasses import replace
from math import inf, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from thorough import sized

from equirank import DataError, Ranking, as_ranking_data
from equirank.core.registry import parse_metric
from equirank.metrics import CSDCG, NDCG, CostNDCG, cost_ndcg, csdcg, dcg
from equirank.testing import check_metric
from equirank.testing.strategies import policies

from .. import pair_twins as twins
from ..cases import same
from ..pair_lists import all_lists, item_costs

COMBINED = {
    "product": lambda a, b: a * b,
    "sum": lambda a, b: a + b,
    "mean": lambda a, b: (a + b) / 2,
    "max": max,
}
OPTIONS = [{}, {"k": 2}, {"normalized": True}, {"normalized": True, "k": 3}]
TABLE = np.random.default_rng(0).random((9, 9))


def agree(lists, pair_costs, cost_of, options, kind=CSDCG, function=csdcg, **call):
    def value(case, rows, blocks, hidden):
        def cost(a, b):
            return float(cost_of(rows, case.y, a, b))

        return getattr(twins, function.__name__)(blocks, hidden, case.y, cost, **options)

    wanted = lists.twin(value)
    same(kind(cost=pair_costs, **options).per_query(lists.ranking).value, wanted, tol=1e-8)
    if lists.ties is not None:
        rows = (lists.batch.y, lists.batch.score)
        call = {"qid": lists.batch.qid, "ties": lists.ties, **options, **call}
        same(function(*rows, per_query=True, **call), wanted, tol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("word", COMBINED)
def test_item_costs_agree_with_twin(word, options):
    for lists in all_lists(n=sized(150, 450), most=5):
        cost = item_costs(len(lists.batch.y))

        def cost_of(rows, y, a, b, cost=cost):
            return COMBINED[word](cost[rows[a]], cost[rows[b]])

        agree(lists, word, cost_of, options, cost=cost, combine=word)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_given_costs_agree_with_twin(options):
    def called(a, b):
        return 1 + (3 * a + 5 * b) % 7

    for lists in all_lists(n=sized(150, 450), most=5):
        agree(lists, None, lambda *_: 1, options, cost=None)
        agree(lists, TABLE, lambda r, y, a, b: TABLE[y[a], y[b]], options, cost=TABLE)
        agree(lists, called, lambda r, y, a, b: called(r[a], r[b]), options, cost=called)
        n, rng = len(lists.batch.y), np.random.default_rng(3)
        pairs = {
            (a, b): 1.0 + (a * b) % 5
            for r in lists.rows
            for a in r
            for b in r
            if rng.random() < 0.5
        }
        given = sparse.csr_array((list(pairs.values()), np.array(list(pairs)).T), shape=(n, n))

        def listed(rows, y, a, b, pairs=pairs):
            return pairs.get((rows[a], rows[b]), 0)

        agree(lists, given, listed, options, cost=given)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"k": 2}], ids=str)
@pytest.mark.parametrize("word", [None, *COMBINED])
def test_cost_ndcg_agrees_with_twin(word, options):
    for lists in all_lists(n=sized(150, 450), most=5):
        cost = item_costs(len(lists.batch.y))

        def cost_of(rows, y, a, b, cost=cost):
            return 1 if word is None else COMBINED[word](cost[rows[a]], cost[rows[b]])

        call = {"cost": cost, "combine": word} if word else {"cost": None}
        agree(lists, word, cost_of, options, CostNDCG, cost_ndcg, **call)


@pytest.mark.slow
def test_cost_ndcg_with_equal_costs_is_ndcg():
    for lists in all_lists(n=100, most=5):
        wanted = NDCG(k=3).per_query(lists.ranking).value
        same(CostNDCG(cost=None, k=3).per_query(lists.ranking).value, wanted, tol=1e-12)


def test_by_hand():
    # halves: y 3 and 2 high, 1 and 0 low; product costs, mean over the other three
    y, cost, score = [3, 2, 1, 0], [1, 2, 3, 4], [3, 4, 2, 1]
    c = [1 * 9 / 3, 2 * 8 / 3, 3 * 7 / 3]
    wanted = 7 * c[0] / log2(3) + 3 * c[1] / log2(2) - 1 * c[2] / log2(4)
    assert csdcg(y, score, cost=cost) == pytest.approx(wanted)
    best = 7 * c[0] / log2(2) + 3 * c[1] / log2(3)
    weights = sorted([7 * c[0], 3 * c[1], -c[2], 0])
    worst = sum(w / log2(1 + p) for p, w in enumerate(weights, 1))
    best = sum(w / log2(1 + p) for p, w in enumerate(weights[::-1], 1))
    normal = csdcg(y, score, cost=cost, normalized=True)
    assert normal == pytest.approx((wanted - worst) / (best - worst))


def test_middle_of_an_odd_list_is_low():
    # floor(3/2) = 1 item is high
    value = csdcg([2, 1, 0], [3, 2, 1], cost=None)
    assert value == pytest.approx(3 / log2(2) - 1 / log2(3))


def test_ties_across_the_border_share_it():
    # places 2 and 3 of four hold equal items: each is high for one half, so carries no weight
    value = csdcg([2, 1, 1, 0], [4, 3, 2, 1], cost=None)
    assert value == pytest.approx(3 / log2(2))
    # two of three equal items of four are in the upper half
    value = csdcg([1, 1, 1, 0], [4, 3, 2, 1], cost=None)
    sign = 2 * (2 / 3) - 1
    assert value == pytest.approx(sign * (1 / log2(2) + 1 / log2(3) + 1 / log2(4)))


def test_irrelevant_items_carry_no_weight_but_cost_others():
    low = csdcg([1, 0], [1, 2], cost=[2, 3])
    high = csdcg([1, 0], [1, 2], cost=[2, 300])
    assert low == pytest.approx(6 / log2(3))
    assert high == pytest.approx(600 / log2(3))


def test_a_costly_item_does_not_drown_the_others():
    # c* of the first is 1e18 times the mean of the others, which must not be lost beside it
    value = csdcg([2, 1, 1], [3, 2, 1], cost=[1e18, 1, 2])
    wanted = 3 * 1e18 * 1.5 / log2(2)
    assert value - wanted == pytest.approx(
        -(1 * (1e18 + 2) / 2) / log2(3) - (2 * (1e18 + 1) / 2) / 2
    )


def test_uniform_costs_are_a_signed_dcg():
    y, score = [3, 2, 0, 0], [1, 3, 2, 4]
    assert csdcg(y, score, cost=np.full(4, 1.0)) == pytest.approx(dcg(y, score))
    assert csdcg(y, score, cost=None) == pytest.approx(dcg(y, score))
    assert csdcg(y, score, cost=np.full(4, 3.0)) == pytest.approx(9 * dcg(y, score))


@pytest.mark.parametrize("word", COMBINED)
def test_scale_cancels_only_in_the_normalised_form(word):
    lists = all_lists(n=sized(150, 450), most=5)[0]
    rows, cost = (lists.batch.y, lists.batch.score), item_costs(len(lists.batch.y))
    call = {"qid": lists.batch.qid, "per_query": True, "combine": word}
    wanted = csdcg(*rows, cost=cost, normalized=True, **call)
    same(csdcg(*rows, cost=7 * cost, normalized=True, **call), wanted, tol=1e-9)
    power = 49 if word == "product" else 7
    same(csdcg(*rows, cost=7 * cost, **call), power * csdcg(*rows, cost=cost, **call), tol=1e-9)


def test_best_is_one_and_worst_is_zero():
    rng = np.random.default_rng(5)
    y, cost = rng.integers(0, 4, 30), rng.random(30) + 0.1
    order = np.argsort(y)
    data = {"cost": cost, "normalized": True}
    mean = np.array([(cost[i] * (cost.sum() - cost[i])) / 29 for i in range(30)])
    high = np.zeros(30)
    for grade in range(4):
        block = y == grade
        above, size = (y > grade).sum(), block.sum()
        high[block] = min(max(15 - above, 0), size) / size
    weight = (2 * high - 1) * (2.0**y - 1) * mean
    assert csdcg(y, weight, **data) == pytest.approx(1)
    assert csdcg(y, -weight, **data) == pytest.approx(0, abs=1e-12)
    assert 0 < csdcg(y, rng.permutation(30), **data) < 1
    assert csdcg(y, order, **data) != csdcg(y, -order, **data)
    assert csdcg(y, weight, cost=cost) > csdcg(y, -weight, cost=cost)
    assert CSDCG().direction == "higher"


def test_what_is_not_shown_is_no_loophole():
    # leaving out the low item beats every full list; among lists of one it is just the best
    data = as_ranking_data(y=[2, 1], cost=[1, 1])
    ranking = Ranking.from_positions(data, [1, 0])
    assert CSDCG(normalized=True).per_query(ranking).value[0] == 1
    assert CSDCG().per_query(ranking).value[0] == pytest.approx(3)


def test_undefined():
    one = csdcg([1, 1, 0], [1, 1, 2], qid=[1, 2, 2], cost=[1, 1, 1], per_query=True)
    assert np.isnan(one).tolist() == [True, False]
    # equal items: every order has the same value
    same(
        csdcg([1] * 7, [1, 2, 3, 4, 5, 6, 7], cost=[0.1] * 7, normalized=True, per_query=True),
        [np.nan],
    )
    same(csdcg([0, 0], [1, 2], cost=[1, 2], normalized=True, per_query=True), [np.nan])
    same(csdcg([0, 0], [1, 2], cost=[1, 2], per_query=True), [0])
    with pytest.raises(DataError, match="every order has the same value"):
        csdcg([0, 0], [1, 2], cost=[1, 2], normalized=True, undefined="raise")


def test_rounding_makes_no_difference_of_orders():
    """Sums of equal costs over the other items differ in the last digit, yet no order is best."""
    for n in range(3, 40, 2):
        value = csdcg([1] * n, np.arange(n), cost=[1.1] * n, normalized=True, per_query=True)
        assert np.isnan(value).all()


def test_costs_must_be_given():
    with pytest.raises(DataError, match="needs costs"):
        csdcg([1, 0], [1, 2])
    with pytest.raises(DataError, match=r"cost of CSDCG must be.*'none'"):
        csdcg([1, 0], [1, 2], cost="none")
    with pytest.raises(DataError, match=r"normalized of CSDCG must be True or False, got 'yes'"):
        csdcg([1, 0], [1, 2], cost=[1, 1], normalized="yes")


def test_the_object():
    assert CSDCG().needs == {"relevance", "cost"}
    assert CSDCG(cost=None).needs == {"relevance"}
    assert CSDCG().bounds == (-inf, inf)
    assert CSDCG(normalized=True).bounds == (0.0, 1.0)
    for metric in (CSDCG(), CSDCG(cost="sum", normalized=True) @ 5, CSDCG(cost=None)):
        assert parse_metric(repr(metric)) == metric


@pytest.mark.slow
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("cost", [*COMBINED, None])
def test_keeps_every_promise(cost, normalized):
    check_metric(CSDCG(cost=cost, normalized=normalized))
    check_metric(CSDCG(cost=cost, normalized=normalized) @ 3)


@pytest.mark.slow
@settings(max_examples=sized(50, 150))
@given(
    policies(max_items=10),
    st.lists(st.floats(1e-6, 1e6), min_size=10, max_size=10),
    st.sampled_from(sorted(COMBINED)),
    st.none() | st.integers(1, 5),
)
def test_normalised_values_lie_between_zero_and_one(ranking, costs, word, k):
    data = replace(ranking.data, cost=np.array(costs[: ranking.data.n_rows]))
    value = CSDCG(cost=word, normalized=True, k=k).per_query(replace(ranking, data=data)).value
    known = value[~np.isnan(value)]
    assert ((known >= -1e-12) & (known <= 1 + 1e-12)).all()  # weights of draws sum to 1 or so
    plain = CSDCG(cost=word, k=k).per_query(replace(ranking, data=data)).value
    assert np.isfinite(plain[~np.isnan(plain)]).all()


def test_costs_of_any_size():
    for size in (1e-300, 1e300):
        cost = [3 * size, 2 * size]
        assert csdcg([2, 1], [0.9, 0.5], cost=cost, normalized=True) == 1
        value = csdcg([2, 1], [0.9, 0.5], cost=cost, combine="sum")
        assert value == pytest.approx((3 - 1 / np.log2(3)) * 5 * size)
    with pytest.raises(DataError, match=r"exceeds 1\.8e308"):
        csdcg([2, 1], [0.9, 0.5], cost=[3e300, 2e300])
