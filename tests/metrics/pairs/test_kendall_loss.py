import math

import numpy as np
import pytest
from scipy import stats
from thorough import sized

from equirank import DataError
from equirank.metrics import KendallLoss, kendall_loss, pair_loss
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


@pytest.mark.slow
def test_agrees_with_twin():
    for lists in all_lists(n=sized(400, 1500), most=5):
        agree(lists, None)


@pytest.mark.slow
@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_agree_with_twin(name):
    for lists in all_lists(n=sized(200, 600), most=5):
        agree(lists, WEIGHTS[name])


@pytest.mark.slow
@pytest.mark.parametrize("weights", [1, 12, 40])
def test_weights_asked_for_in_pieces(weights, monkeypatch):
    monkeypatch.setattr("equirank.metrics.pairs.kendall_loss.WEIGHTS", weights)
    for lists in all_lists(n=sized(200, 600), most=5):
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


@pytest.mark.slow
def test_keeps_every_promise():
    check_metric(KendallLoss())
    check_metric(KendallLoss(weight=lambda i, j: 1 / i + 1 / j), skip={"name"})


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (3, r"weight of KendallLoss must be a callable.*or None, got 3"),
        (
            lambda i, j: -1,
            r"weight must return numbers from 0 to 1e290, got -1.0 for the positions 1",
        ),
        (lambda i, j: np.nan, r"weight must return numbers"),
    ],
)
def test_bad_weights_are_refused(weight, words):
    with pytest.raises(DataError, match=words):
        kendall_loss([1, 0], [1, 2], weight=weight)


def test_the_weight_of_a_position_with_itself_is_never_used():
    assert kendall_loss([2, 1], [1, 2], weight=lambda i, j: 1 / abs(i - j)) == 1


# the axioms
