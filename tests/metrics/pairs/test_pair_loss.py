import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from thorough import sized

from equirank import DataError, Ranking, as_ranking_data
from equirank.core.registry import parse_metric
from equirank.metrics import PairLoss, auc, pair_loss
from equirank.testing import check_metric

from .. import pair_twins as twins
from ..cases import same
from ..pair_lists import all_lists, item_costs

KINDS = ["R1", "R2", "E1"]
COMBINED = {
    "product": lambda a, b: a * b,
    "sum": lambda a, b: a + b,
    "mean": lambda a, b: (a + b) / 2,
    "max": max,
}
TABLE = np.array([[0, 1, 2, 3], [4, 1, 0.5, 2], [1, 3, 2, 0.25], [2, 0, 5, 1]])


def agree(lists, kind, pair_costs, cost_of, **call):
    """Compare object and function; ``cost_of(rows, y, a, b)`` is the pair cost of two items."""

    def value(case, rows, blocks, hidden):
        def pair_cost(a, b):
            return cost_of(rows, case.y, a, b)

        return twins.pair_loss(blocks, hidden, case.y, case.score, pair_cost, kind=kind)

    wanted = lists.twin(value)
    same(PairLoss(kind=kind, cost=pair_costs).per_query(lists.ranking).value, wanted)
    if lists.ties is not None:
        rows = (lists.batch.y, lists.batch.score)
        call = {"qid": lists.batch.qid, "ties": lists.ties, "kind": kind, **call}
        same(pair_loss(*rows, per_query=True, **call), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_twin(kind):
    for lists in all_lists(n=sized(600, 2400)):
        agree(lists, kind, None, lambda *_: 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("word", COMBINED)
def test_item_costs(kind, word):
    for lists in all_lists():
        cost = item_costs(len(lists.batch.y))

        def cost_of(rows, y, a, b, cost=cost):
            return COMBINED[word](float(cost[rows[a]]), float(cost[rows[b]]))

        agree(lists, kind, word, cost_of, cost=cost, combine=word)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_table_by_grade(kind):
    for lists in all_lists():
        table = TABLE
        if lists.batch.y.max() > 3:
            table = np.random.default_rng(0).random((9, 9))
        agree(lists, kind, table, lambda r, y, a, b, t=table: t[y[a], y[b]], cost=table)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_callable_on_rows(kind):
    def cost(a, b):
        return 1 + (3 * a + 5 * b) % 7

    for lists in all_lists():
        agree(lists, kind, cost, lambda r, y, a, b: cost(r[a], r[b]), cost=cost)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["csr", "coo", "dict"])
def test_listed_pairs(kind, form):
    for lists in all_lists():
        n = len(lists.batch.y)
        rng = np.random.default_rng(n)
        pairs = {}
        for rows in lists.rows:
            for a in rows:
                for b in rows:
                    if rng.random() < 0.6:
                        pairs[a, b] = float(rng.integers(1, 6))
        pairs[0, n - 1] = 9.0  # rows of two queries
        a, b = np.array(list(pairs)).T
        table = sparse.coo_array((list(pairs.values()), (a, b)), shape=(n, n))
        given = {"csr": table.tocsr(), "coo": table, "dict": pairs}[form]

        def cost_of(rows, y, a, b, pairs=pairs):
            return pairs.get((rows[a], rows[b]), 0)

        agree(lists, kind, given, cost_of, cost=given)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pairs", [1, 7, 1000])
def test_blocks_of_pairs_cover_all(kind, pairs, monkeypatch):
    monkeypatch.setattr("equirank.kernels.pair_counts.PAIRS", pairs)
    lists = all_lists()[0]

    def cost(a, b):
        return a + b + 1

    agree(lists, kind, cost, lambda r, y, a, b: r[a] + r[b] + 1, cost=cost)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cost", [None, "product", "max"])
def test_many_grades_count_as_few(kind, cost):
    """Continuous relevance takes the tree, its ranks as grades the short table."""
    rng = np.random.default_rng(3)
    y = rng.random(3000)
    qid = np.repeat(np.arange(30), 100)
    score = np.round(rng.normal(size=3000), 1)
    cost_of_item = item_costs(3000)
    given = {"qid": qid, "kind": kind, "per_query": True}
    if cost is not None:
        given |= {"cost": cost_of_item, "combine": cost}
    got = pair_loss(y, score, **given)
    wanted = []
    for q in range(30):
        rows = slice(100 * q, 100 * q + 100)
        s, c, better = score[rows], cost_of_item[rows], y[rows, None] > y[None, rows]
        weight = {
            None: np.ones((100, 100)),
            "product": c[:, None] * c,
            "max": np.maximum(c[:, None], c),
        }[cost]
        lost = {
            "R1": (s[:, None] <= s) * 1.0,
            "R2": (s[:, None] < s) + (s[:, None] == s) / 2,
            "E1": np.exp(s - s[:, None]),
        }[kind]
        wanted.append((weight * lost)[better].sum() / weight[better].sum())
    same(got, wanted)


@pytest.mark.parametrize("n_grades", [2, 11, 12, 13, 14, 33, 34, 40])
def test_any_number_of_grades(n_grades):
    rng = np.random.default_rng(n_grades)
    y = np.concatenate([rng.integers(0, n_grades, 200), [n_grades - 1]]).astype(float)
    score = rng.integers(0, 30, 201).astype(float)
    better = y[:, None] > y
    for kind, wrong in [("R1", score[:, None] <= score), ("R2", None)]:
        if wrong is None:
            wrong = (score[:, None] < score) + (score[:, None] == score) / 2
        wanted = (wrong * better).sum() / better.sum()
        assert pair_loss(y, score, kind=kind) == pytest.approx(wanted, abs=1e-12)


def test_by_hand():
    y, score = [2, 1, 0, 0], [0.9, 0.3, 0.5, 0.3]
    # pairs: 2 over 1 right, 2 over both 0 right, 1 under a 0, 1 tied with a 0
    assert pair_loss(y, score, kind="R1") == pytest.approx(2 / 5)
    assert pair_loss(y, score, kind="R2") == pytest.approx(1.5 / 5)
    wanted = (math.exp(-0.6) + math.exp(-0.4) + math.exp(-0.6) + math.exp(0.2) + 1) / 5
    assert pair_loss(y, score, kind="E1") == pytest.approx(wanted)


def test_costs_by_hand():
    y, score, cost = [1, 1, 0], [0.2, 0.8, 0.5], [4, 1, 3]
    assert pair_loss(y, score, cost=cost) == pytest.approx(12 / (12 + 3))
    assert pair_loss(y, score, cost=cost, combine="sum") == pytest.approx(7 / (7 + 4))
    assert pair_loss(y, score, cost=cost, combine="mean") == pytest.approx(3.5 / (3.5 + 2))
    assert pair_loss(y, score, cost=cost, combine="max") == pytest.approx(4 / (4 + 3))
    assert pair_loss(y, score, cost=[[9, 9], [2, 9]]) == pytest.approx(1 / 2)
    assert pair_loss(y, score, cost={(0, 2): 1, (1, 2): 3, (2, 0): 50}) == pytest.approx(1 / 4)
    assert pair_loss(y, score, cost=lambda a, b: 1 + a) == pytest.approx(1 / 3)


def test_default_counts_ties_as_errors():
    assert pair_loss([1, 0], [5, 5]) == 1.0
    assert pair_loss([1, 0], [5, 5], kind="R2") == 0.5
    assert pair_loss([1, 0], [5, 5], kind="E1") == 1.0
    assert pair_loss([1, 0], [5, 5], ties="stable") == 0.0


def test_better_order_loses_less():
    for kind in KINDS:
        best, middle, worst = ([3, 2, 1], [3, 1, 2], [1, 2, 3])
        losses = [pair_loss([2, 1, 0], score, kind=kind) for score in (best, middle, worst)]
        assert losses == sorted(losses)
        assert losses[0] < losses[1] < losses[2]
        assert PairLoss(kind=kind).direction == "lower"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_scale_of_costs_cancels(kind):
    lists = all_lists()[0]
    cost = item_costs(len(lists.batch.y))
    rows = (lists.batch.y, lists.batch.score)
    call = {"qid": lists.batch.qid, "kind": kind, "per_query": True}
    for word in COMBINED:
        given = {"combine": word, **call}
        wanted = pair_loss(*rows, cost=cost, **given)
        for scale in (1e-6, 3.0, 1e200, 1e-200):
            same(pair_loss(*rows, cost=scale * cost, **given), wanted)
    wanted = pair_loss(*rows, cost=TABLE, **call)
    same(pair_loss(*rows, cost=1e3 * TABLE, **call), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_costs_are_no_costs(kind):
    lists = all_lists()[0]
    rows, n = (lists.batch.y, lists.batch.score), len(lists.batch.y)
    call = {"qid": lists.batch.qid, "kind": kind, "per_query": True}
    wanted = pair_loss(*rows, **call)
    for word in COMBINED:
        same(pair_loss(*rows, cost=np.full(n, 0.3), combine=word, **call), wanted)
    same(pair_loss(*rows, cost=np.full((4, 4), 7.0), **call), wanted)
    same(pair_loss(*rows, cost=lambda a, b: 2.0, **call), wanted)


def test_binary_r2_is_one_minus_auc():
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 2, 300), rng.integers(0, 50, 300)
    qid = rng.integers(0, 10, 300)
    got = pair_loss(y, score, qid=qid, kind="R2", per_query=True)
    same(got, 1 - auc(y, score, qid=qid, per_query=True))


# E1 with large scores


def test_large_scores_lose_no_digits():
    for shift in (0.0, 1e4, -1e4, 1e6):
        score = np.array([3.0, 1.0, 2.0]) + shift
        wanted = (math.exp(-2) + math.exp(-1) + math.exp(1)) / 3
        assert pair_loss([2, 1, 0], score, kind="E1") == pytest.approx(wanted, rel=1e-12)


def test_far_scores_underflow_or_overflow_quietly():
    assert pair_loss([1, 0], [1e4, -1e4], kind="E1") == 0.0
    assert pair_loss([1, 0], [-1e4, 1e4], kind="E1") == math.inf
    for cost in ([[1, 1], [1, 1]], lambda a, b: 1, {(0, 1): 1}):
        assert pair_loss([1, 0], [-1e4, 1e4], kind="E1", cost=cost) == math.inf
    # e^600 is a number, though e^1100 and e^-500 beside it are not
    value = pair_loss([1, 0, 0], [500.0, 1100.0, -1e4], kind="E1")
    assert value == pytest.approx(math.exp(600) / 2, rel=1e-10)
    # a larger score of a lower grade must not drown the rest
    value = pair_loss([2, 2, 0, 1], [800.0, 0.0, 0.0, 790.0], kind="E1")
    assert value == math.inf
    value = pair_loss([2, 0, 1], [800.0, 0.0, 790.0], kind="E1")
    assert value == pytest.approx((math.exp(-10) + math.exp(-790) + math.exp(-800)) / 3)
    # two terms under the largest number whose sum is above
    assert pair_loss([1, 0, 0], [0.0, 709.5, 709.5], kind="E1") == math.inf


def test_a_pair_that_costs_nothing_never_counts():
    cost = {(0, 1): 1.0, (0, 2): 0.0}
    assert pair_loss([1, 0, 0], [0.0, 1.0, 1e5], kind="E1", cost=cost) == pytest.approx(math.e)
    table = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert pair_loss([2, 1, 0], [0.0, 1.0, 1e5], kind="E1", cost=table) == math.inf
    assert pair_loss([2, 1, 0], [1e5, 1.0, 2.0], kind="E1", cost=table) == pytest.approx(math.e / 2)


def test_exponential_loss_bounds_the_share():
    lists = all_lists()[0]
    r1 = PairLoss(kind="R1").per_query(lists.ranking).value
    e1 = PairLoss(kind="E1").per_query(lists.ranking).value
    known = ~np.isnan(r1)
    assert (e1[known] >= r1[known] - 1e-12).all()


def test_single_precision_scores():
    score = np.array([1e4, 1e4 + 1], dtype=np.float32)
    assert pair_loss([1, 0], score, kind="E1") == pytest.approx(math.e)


# what is undefined, and what is refused


@pytest.mark.parametrize("kind", KINDS)
def test_undefined_without_a_pair(kind):
    values = pair_loss(
        [1, 2, 2, 0, 1], [1, 1, 2, 1, 2], qid=[1, 2, 2, 3, 3], kind=kind, per_query=True
    )
    assert np.isnan(values[:2]).all()
    assert not np.isnan(values[2])
    listed = pair_loss([1, 0], [1, 2], kind=kind, cost={(1, 0): 5.0}, per_query=True)
    assert np.isnan(listed).all()
    with pytest.raises(DataError, match="no two items differ in relevance"):
        pair_loss([1, 1], [1, 2], kind=kind, undefined="raise")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cost": "median"}, r"cost of PairLoss must be.*'product'.*'median'"),
        ({"cost": [1, -1]}, r"cost must be a number > 0, got -1.0 in row 1"),
        ({"cost": [1, 2, 3]}, r"cost"),
        (
            {"cost": [[1, 2], [np.nan, 1]]},
            r"cost of PairLoss must be numbers from 0 to 1e290, got nan",
        ),
        ({"cost": [[1, 2], [-1, 1]]}, r"cost of PairLoss must be numbers from 0 to 1e290, got -1"),
        ({"cost": {(0, 1): -2}}, r"cost of PairLoss must be numbers from 0 to 1e290, got -2"),
        ({"cost": [[1]]}, r"cost of PairLoss.*every relevance grade.*0 to 0.*1.0"),
        (
            {"cost": lambda a, b: -1},
            r"cost must return numbers from 0 to 1e290, got -1.0 for the rows",
        ),
        ({"cost": [1, 1], "combine": "min"}, r"combine must be one of 'product'.*'min'"),
        ({"kind": "R3"}, r"kind of PairLoss must be one of 'R1', 'R2', 'E1', got 'R3'"),
        ({"cost": "product"}, r"needs costs"),
    ],
)
def test_bad_costs_are_refused(given, words):
    with pytest.raises(DataError, match=words):
        pair_loss([1, 0], [1, 2], **given)


def test_grades_between_whole_numbers_have_no_row_in_a_table():
    with pytest.raises(DataError, match=r"every relevance grade.*0\.5"):
        pair_loss([1, 0.5], [1, 2], cost=np.ones((2, 2)))


def test_items_in_the_object_are_refused():
    with pytest.raises(DataError, match="cost of PairLoss must be None"):
        PairLoss(cost=[1.0, 2.0])


def test_scores_are_needed_for_the_exponential_loss():
    data = as_ranking_data(y=[1, 0])
    ranking = Ranking.from_positions(data, [1, 2])
    assert PairLoss().per_query(ranking).value[0] == 0
    with pytest.raises(DataError, match="needs scores"):
        PairLoss(kind="E1").per_query(ranking)


# the object


@pytest.mark.parametrize(
    "metric",
    [
        PairLoss(kind="R1"),
        PairLoss(kind="R2", cost="max"),
        PairLoss(kind="E1", cost="sum"),
        PairLoss(cost=np.array([[0, 1], [2, 3]])),
    ],
    ids=str,
)
def test_string_and_copies(metric):
    assert parse_metric(repr(metric)) == metric
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert hash(pickle.loads(pickle.dumps(metric))) == hash(metric)


def test_listed_pairs_are_equal_by_value():
    one = PairLoss(cost={(0, 1): 2.0, (1, 0): 1.0})
    other = PairLoss(cost=sparse.csr_array(([2.0, 1.0], ([0, 1], [1, 0])), shape=(2, 2)))
    assert one == other
    assert hash(one) == hash(other)
    assert one != PairLoss(cost={(0, 1): 2.0})
    assert repr(one) == "PairLoss(cost=PairList(2 pairs))"


def test_declarations():
    assert PairLoss().bounds == PairLoss(kind="R2").bounds == (0.0, 1.0)
    assert PairLoss(kind="E1").bounds == (0.0, math.inf)
    assert PairLoss().needs == {"relevance"}
    assert PairLoss(cost="mean").needs == {"relevance", "cost"}
    assert PairLoss(kind="E1").needs == {"relevance", "score"}
    assert PairLoss.bounds == (0.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("cost", [None, *COMBINED, TABLE.tolist()], ids=str)
def test_keeps_every_promise(cost):
    check_metric(PairLoss(kind="R2", cost=cost))
    check_metric(PairLoss(kind="R1", cost=cost))
    check_metric(PairLoss(kind="E1", cost=cost))


def test_resampled_rows_keep_their_listed_costs():
    rng = np.random.default_rng(0)
    n = 6
    data = as_ranking_data(y=rng.integers(0, 3, n), score=rng.integers(0, 4, n))
    cost = rng.integers(0, 4, (n, n)).astype(float)
    listed = PairLoss(kind="R2", cost={(a, b): cost[a, b] for a in range(n) for b in range(n)})
    called = PairLoss(kind="R2", cost=lambda a, b: cost[a, b])
    from equirank.core.metric import resampled

    counts = rng.multinomial(n, np.full(n, 1 / n), size=20)
    got = resampled([listed, called], data.ranking(), counts)
    for at, times in enumerate(counts):
        items = np.repeat(np.arange(n), times)
        lost = total = Fraction(0)
        for a in items:
            for b in items:
                if data.y[a] > data.y[b]:
                    weight = Fraction(cost[a, b])
                    gap = data.score[a] - data.score[b]
                    lost += weight * (1 if gap < 0 else Fraction(1, 2) if gap == 0 else 0)
                    total += weight
        wanted = float(lost / total) if total else np.nan
        same([got[0].value[at], got[1].value[at]], [wanted, wanted])
