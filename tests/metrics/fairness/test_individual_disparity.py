from math import isnan, log2, nan

import numpy as np
import pytest

from equirank import EquirankWarning, Ranking, as_ranking_data
from equirank.metrics import IndividualDisparity, individual_disparity
from equirank.testing import check_metric

from ..cases import same
from .merit_twins import OPTIONS, copies_stay_tied, drawn_of, expected, lists_of

V = [1 / log2(1 + place) for place in range(1, 7)]


def disparity(seen, y):
    """All ordered pairs with M_i >= M_j > 0."""
    total, pairs = 0.0, 0
    for i in range(len(y)):
        for j in range(len(y)):
            if i != j and y[i] >= y[j] > 0:
                total += max(0.0, seen[i] / y[i] - seen[j] / y[j])
                pairs += 1
    return total / pairs if pairs else nan


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_agrees_with_twin(options):
    for ties, batch, pairs in lists_of("ab"):
        call = {"qid": batch.qid, "per_query": True, "ties": ties, **options}
        wanted = [disparity(expected(case, draws, **options), case.y) for case, draws in pairs]
        same(individual_disparity(batch.y, batch.score, **call), wanted)
    for ranking, pairs in drawn_of("ab"):
        wanted = [disparity(expected(case, draws, **options), case.y) for case, draws in pairs]
        same(IndividualDisparity(**options).per_query(ranking).value, wanted)


def test_agrees_with_twin_on_long_lists():
    rng = np.random.default_rng(3)
    for grades in (2, 10, 1000):
        y = rng.integers(0, grades, 300) / grades
        score = rng.integers(0, 200, 300)
        v = IndividualDisparity()
        ranking = Ranking.from_scores(as_ranking_data(y=y), score)
        seen = ranking.expect(lambda place: 1 / np.log2(1 + place))
        same(v.per_query(ranking).value, [disparity(seen.tolist(), y.tolist())])


@pytest.mark.slow
def test_keeps_the_promises():
    check_metric(IndividualDisparity())
    check_metric(IndividualDisparity(discount="zipf") @ 2)
    copies_stay_tied(IndividualDisparity())


def test_by_hand():
    # merits 2, 1, 1 at places 1, 2, 3: pairs (1,2), (1,3), (2,3), (3,2)
    wanted = (max(0, V[0] / 2 - V[1]) + max(0, V[0] / 2 - V[2]) + (V[1] - V[2]) + 0) / 4
    assert individual_disparity([2, 1, 1], [3, 2, 1]) == pytest.approx(wanted)
    # upside down: the item of more merit is last; only the equals differ
    wanted = (0 + 0 + (V[0] - V[1]) + 0) / 4
    assert individual_disparity([2, 1, 1], [1, 3, 2]) == pytest.approx(wanted)


def test_only_an_excess_of_more_merit_counts():
    assert individual_disparity([2, 1], [1, 2]) == 0.0
    assert individual_disparity([1.2, 1], [2, 1]) == pytest.approx(V[0] / 1.2 - V[1])


def test_items_without_merit_are_left_out():
    # they take places but are in no pair
    value = individual_disparity([0, 1.2, 0, 1], [4, 3, 2, 1])
    assert value == pytest.approx(V[1] / 1.2 - V[3])


def test_a_fair_coin_has_no_disparity():
    data = as_ranking_data(y=[1, 1])
    fair = Ranking.from_positions(data, [[1, 2], [2, 1]])
    assert IndividualDisparity().per_query(fair).value[0] == pytest.approx(0, abs=1e-12)
    once = Ranking.from_positions(data, [1, 2])
    assert IndividualDisparity().per_query(once).value[0] == pytest.approx((V[0] - V[1]) / 2)


@pytest.mark.parametrize("y", [[1], [0, 0], [0, 1, 0]])
def test_undefined_with_fewer_than_two_of_merit(y):
    with pytest.warns(EquirankWarning, match="fewer than two items with merit"):
        assert isnan(individual_disparity(y, y))


def test_better_and_worse():
    y = [1, 1, 1, 1]
    tied, half, strict = [1, 1, 1, 1], [2, 2, 1, 1], [4, 3, 2, 1]
    values = [individual_disparity(y, score) for score in (tied, half, strict)]
    assert values == sorted(values)
    assert values[0] == 0.0 < values[1] < values[2]
    assert IndividualDisparity.direction == "lower"
