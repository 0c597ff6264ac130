import math

import numpy as np
import pytest
from scipy import stats

from equirank import DataError
from equirank.metrics import KendallLoss, check_weight_axioms, kendall_loss, pair_loss
from equirank.testing import check_metric

from .. import pair_twins as twins
from ..cases import same
from ..pair_lists import all_lists

WEIGHTS = {
    "one": lambda i, j: 1,
    "additive": lambda i, j: 1 / i + 1 / j,
    "apart": lambda i, j: abs(i - j),
    "asymmetric": lambda i, j: i + 2 * j,
    "top": lambda i, j: (i <= 2) * 1.0,
}


def agree(lists, weight, **call):
    given = weight or (lambda i, j: 1)
    wanted = lists.twin(
        lambda case, rows, blocks, hidden: twins.kendall_loss(blocks, hidden, case.y, weight=given)
    )
    same(KendallLoss(weight=weight).per_query(lists.ranking).value, wanted)
    if lists.ties is not None:
        got = kendall_loss(
            lists.batch.y,
            lists.batch.score,
            qid=lists.batch.qid,
            ties=lists.ties,
            per_query=True,
            weight=weight,
        )
        same(got, wanted)


def test_agrees_with_twin():
    for lists in all_lists(n=1500, most=5):
        agree(lists, None)


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_agree_with_twin(name):
    for lists in all_lists(n=600, most=5):
        agree(lists, WEIGHTS[name])


@pytest.mark.parametrize("weights", [1, 12, 40])
def test_weights_asked_for_in_pieces(weights, monkeypatch):
    monkeypatch.setattr("equirank.metrics.relevance.kendall_loss.WEIGHTS", weights)
    for lists in all_lists(n=600, most=5):
        agree(lists, WEIGHTS["additive"])


def test_scipy_without_ties():
    rng = np.random.default_rng(0)
    for n in (2, 3, 10, 57):
        y, score = rng.permutation(n), rng.permutation(n)
        tau = stats.kendalltau(y, score).statistic
        assert kendall_loss(y, score) == pytest.approx((1 - tau) / 2, abs=1e-12)
        one = kendall_loss(y, score, weight=lambda i, j: 1.0)
        assert one == pytest.approx((1 - tau) / 2, abs=1e-12)


@pytest.mark.parametrize("additive", [True, False])
def test_scipy_weighted_without_ties(additive):
    rng = np.random.default_rng(1)

    def weight(i, j):
        return 1 / i + 1 / j if additive else 1 / (i * j)

    for n in (2, 3, 10, 57):
        y, score = rng.permutation(n), rng.permutation(n)
        rank = n - 1 - y  # 0 for the best
        tau = stats.weightedtau(y, score, rank=rank, additive=additive).statistic
        place = np.arange(1, n + 1)
        i, j = np.meshgrid(place, place)
        everything = weight(i, j)[i < j].sum() * 2 / (n * (n - 1))
        got = kendall_loss(y, score, weight=weight)
        assert got == pytest.approx(everything * (1 - tau) / 2, abs=1e-12)


def test_scipy_ties_in_the_score_only():
    # tau-a from tau-b: ties in score stay in the denominator, half wrong
    rng = np.random.default_rng(2)
    n = 40
    y, score = rng.permutation(n), rng.integers(0, 8, n)
    tau_b = stats.kendalltau(y, score).statistic
    pairs = n * (n - 1) / 2
    tied = sum(math.comb(count, 2) for count in np.bincount(score))
    tau_a = tau_b * math.sqrt(pairs * (pairs - tied)) / pairs
    assert kendall_loss(y, score) == pytest.approx((1 - tau_a) / 2, abs=1e-12)


def test_by_hand():
    assert kendall_loss([3, 2, 1], [3, 2, 1]) == 0
    assert kendall_loss([3, 2, 1], [1, 2, 3]) == 1
    assert kendall_loss([3, 2, 1], [3, 1, 2]) == pytest.approx(1 / 3)
    # tied pair half wrong; the pair of equal relevance never, but it counts below
    assert kendall_loss([2, 1, 1], [1, 1, 2]) == pytest.approx((1 + 1 / 2) / 3)
    # the two of equal relevance share the true positions 2 and 3
    value = kendall_loss([2, 1, 1], [1, 0, 2], weight=lambda i, j: 10 * i + j)
    assert value == pytest.approx((12 + 13) / 2 / 3)


def test_weight_sees_true_positions_from_one():
    seen = set()

    def weight(i, j):
        seen.update(zip(i.ravel().tolist(), j.ravel().tolist(), strict=True))
        return np.ones(i.shape)

    kendall_loss([5, 7, 6], [1, 2, 3], weight=weight)
    assert {(1, 2), (1, 3), (2, 3)} <= seen
    assert max(max(pair) for pair in seen) == 3
    assert min(min(pair) for pair in seen) == 1


def test_undefined_for_one_item_only():
    same(kendall_loss([1, 1, 1], [1, 1, 2], qid=[1, 2, 2], per_query=True), [np.nan, 0])
    same(
        kendall_loss([1, 1, 1], [1, 1, 2], qid=[1, 2, 2], per_query=True, weight=lambda i, j: 1),
        [np.nan, 0],
    )
    with pytest.raises(DataError, match="single item"):
        kendall_loss([1], [1], undefined="raise")


def test_is_a_pair_loss_with_another_denominator():
    rng = np.random.default_rng(4)
    y, score = rng.integers(0, 4, 60), rng.integers(0, 20, 60)
    compared = (y[:, None] > y).sum()
    wanted = pair_loss(y, score, kind="R2") * compared / (60 * 59 / 2)
    assert kendall_loss(y, score) == pytest.approx(wanted)


def test_direction_and_bounds():
    assert KendallLoss().direction == "lower"
    assert KendallLoss().bounds == (0.0, 1.0)
    assert KendallLoss(weight=abs).bounds == (0.0, math.inf)
    better, worse = kendall_loss([3, 2, 1], [3, 1, 2]), kendall_loss([3, 2, 1], [1, 3, 2])
    assert better < worse


def test_keeps_every_promise():
    check_metric(KendallLoss())
    check_metric(KendallLoss(weight=lambda i, j: 1 / i + 1 / j), skip={"name"})


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (3, r"weight of KendallLoss must be a callable.*or None, got 3"),
        (lambda i, j: -1, r"weight must give finite numbers >= 0, got -1.0 for the positions 1"),
        (lambda i, j: np.nan, r"weight must give finite numbers"),
    ],
)
def test_bad_weights_are_refused(weight, words):
    with pytest.raises(DataError, match=words):
        kendall_loss([1, 0], [1, 2], weight=weight)


def test_the_weight_of_a_position_with_itself_is_never_used():
    assert kendall_loss([2, 1], [1, 2], weight=lambda i, j: 1 / abs(i - j)) == 1


# the axioms


def slow_axioms(table):
    """The first positions that break each axiom, by three nested loops."""
    n = len(table)
    places = range(1, n + 1)

    def w(i, j):
        return table[i - 1][j - 1]

    found = {}
    for i in places:
        for j in places:
            if i != j and w(i, j) != w(j, i):
                found.setdefault("symmetric", (i, j))
            for k in places:
                if (i < j < k or i > j > k) and w(i, j) > w(i, k):
                    found.setdefault("monotone", (i, j, k))
                if len({i, j, k}) == 3 and w(i, j) > w(i, k) + w(k, j):
                    found.setdefault("triangle", (i, j, k))
    return tuple(found.get(name, True) for name in ("symmetric", "monotone", "triangle"))


def test_axioms_agree_with_twin():
    rng = np.random.default_rng(0)
    seen = set()
    for number in range(400):
        n = int(rng.integers(1, 6))
        table = rng.integers(1 if number % 2 else 3, 6, (n, n))
        if number % 3:
            table = np.maximum(table, table.T)
        if number % 5 == 0:
            place = np.arange(n)
            table = abs(place[:, None] - place) * int(rng.integers(1, 4))
        found = check_weight_axioms(lambda i, j, t=table: t[i - 1, j - 1], n)
        assert tuple(found) == slow_axioms(table.tolist())
        assert bool(found) == (tuple(found) == (True, True, True))
        seen.add(tuple(axiom is True for axiom in found))
    assert len(seen) >= 6


def test_axioms_by_hand():
    assert check_weight_axioms(lambda i, j: 1, 6)
    assert check_weight_axioms(lambda i, j: abs(i - j), 6)
    assert check_weight_axioms(lambda i, j: 0, 3)
    assert check_weight_axioms(lambda i, j: (i - j) ** 2, 4).triangle == (1, 3, 2)
    assert check_weight_axioms(lambda i, j: i, 3).symmetric == (1, 2)
    assert check_weight_axioms(lambda i, j: 0.1 * abs(i - j), 9)


def test_axioms_of_nonsense_are_refused():
    with pytest.raises(DataError, match="n of check_weight_axioms"):
        check_weight_axioms(lambda i, j: 1, 0)
    with pytest.raises(DataError, match="w of check_weight_axioms"):
        check_weight_axioms(1, 3)
