from itertools import permutations
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from thorough import sized

from equirank import DataError, Ranking, as_ranking_data
from equirank.metrics import ExpectedExposureLoss, expected_exposure_loss
from equirank.testing import check_metric
from equirank.testing.strategies import policies, rankings

from ..cases import same
from .merit_twins import OPTIONS, attention, copies_stay_tied, drawn_of, expected, lists_of

PARTS = ["loss", "disparity", "relevance"]
RBP = [{"discount": "rbp"}, {"discount": "rbp", "patience": 0.8, "k": 2}]


def target(y, **options):
    """Average over every order that is sorted by relevance."""
    best = [o for o in permutations(range(len(y))) if sorted(y, reverse=True) == [y[i] for i in o]]
    result = [0.0] * len(y)
    for order in best:
        for place, item in enumerate(order, 1):
            result[item] += attention(place, **options) / len(best)
    return result


def value(seen, wanted, part):
    if part == "disparity":
        return sum(e * e for e in seen)
    if part == "relevance":
        return sum(e * t for e, t in zip(seen, wanted, strict=True))
    return sum((e - t) ** 2 for e, t in zip(seen, wanted, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS + RBP, ids=str)
def test_agrees_with_twin(options):
    known = {}

    def ideal(case):
        if tuple(case.y) not in known:
            known[tuple(case.y)] = target(case.y, **options)
        return known[tuple(case.y)]

    for ties, batch, pairs in lists_of("ab"):
        if len(batch.cases) < 100:
            continue  # 7! orders of the ideal are too many here
        both = [(expected(case, draws, **options), ideal(case)) for case, draws in pairs]
        call = {"qid": batch.qid, "per_query": True, "ties": ties, **options}
        for part in PARTS:
            got = expected_exposure_loss(batch.y, batch.score, part=part, **call)
            same(got, [value(*one, part) for one in both])
    for ranking, pairs in drawn_of("ab"):
        both = [(expected(case, draws, **options), ideal(case)) for case, draws in pairs]
        for part in PARTS:
            got = ExpectedExposureLoss(part=part, **options).per_query(ranking).value
            same(got, [value(*one, part) for one in both])


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_keeps_the_promises(part):
    check_metric(ExpectedExposureLoss(part=part))
    copies_stay_tied(ExpectedExposureLoss(part=part))
    check_metric(ExpectedExposureLoss(part=part, discount="rbp", patience=0.9) @ 2)


def test_two_equal_items_and_a_fair_coin():
    data = as_ranking_data(y=[1, 1])
    fair = Ranking.from_positions(data, [[1, 2], [2, 1]])
    once = Ranking.from_positions(data, [1, 2])
    mean = (1 + 1 / log2(3)) / 2
    assert expected_exposure_loss(None, fair) == pytest.approx(0, abs=1e-15)
    assert expected_exposure_loss(None, once) == pytest.approx(2 * ((1 - 1 / log2(3)) / 2) ** 2)
    assert expected_exposure_loss(None, fair, part="disparity") == pytest.approx(2 * mean**2)
    assert expected_exposure_loss(None, once, part="disparity") == pytest.approx(
        1 + 1 / log2(3) ** 2
    )
    assert expected_exposure_loss(None, fair, part="relevance") == pytest.approx(2 * mean**2)
    assert expected_exposure_loss(None, once, part="relevance") == pytest.approx(2 * mean**2)


def test_the_published_target_of_a_geometric_browser():
    """m items of a grade behind b others: (p^b - p^(b+m)) / (m (1 - p)) each."""
    y, p = [2, 1, 1, 1, 0, 0], 0.8
    wanted = [(p**b - p ** (b + m)) / (m * (1 - p)) for b, m in ((0, 1), (1, 3), (4, 2))]
    e_star = [wanted[0]] + [wanted[1]] * 3 + [wanted[2]] * 2
    call = {"discount": "rbp", "patience": p}
    e = [p**j for j in range(6)]
    score = [6, 5, 4, 3, 2, 1]
    assert expected_exposure_loss(y, score, **call) == pytest.approx(
        sum((a - b) ** 2 for a, b in zip(e, e_star, strict=True))
    )
    assert expected_exposure_loss(y, y, **call) == pytest.approx(0, abs=1e-15)


@pytest.mark.slow
@settings(max_examples=sized(30, 80))
@given(policies(max_items=10))
def test_the_parts_add_up(ranking):
    """EEL = EED - 2 EER + |e*|^2, and the ideal has no loss and the most relevance."""
    loss, disparity, relevance = (
        ExpectedExposureLoss(part=part).per_query(ranking).value for part in PARTS
    )
    best = Ranking.from_scores(ranking.data, ranking.data.to_original(ranking.data.y))
    constant = ExpectedExposureLoss(part="disparity").per_query(best).value
    same(loss, disparity - 2 * relevance + constant)
    same(ExpectedExposureLoss().per_query(best).value, np.zeros(len(loss)))
    top = ExpectedExposureLoss(part="relevance").per_query(best).value
    assert (top >= relevance - 1e-9).all()
    assert (loss >= 0).all()


@pytest.mark.slow
@settings(max_examples=40)
@given(rankings(max_items=10))
def test_more_even_exposure_is_less_disparity(ranking):
    tied = Ranking.from_scores(ranking.data, np.zeros(ranking.data.n_rows))
    metric = ExpectedExposureLoss(part="disparity")
    assert (metric.per_query(tied).value <= metric.per_query(ranking).value + 1e-12).all()


def test_directions():
    assert ExpectedExposureLoss().direction == "lower"
    assert ExpectedExposureLoss(part="disparity").direction == "lower"
    assert ExpectedExposureLoss(part="relevance").direction == "higher"
    y = [3, 2, 1, 0]
    order = [[4, 3, 2, 1], [3, 4, 2, 1], [3, 4, 1, 2], [1, 2, 3, 4]]
    losses = [expected_exposure_loss(y, score) for score in order]
    assert losses == sorted(losses)
    assert losses[0] == 0.0
    gains = [expected_exposure_loss(y, score, part="relevance") for score in order]
    assert gains == sorted(gains, reverse=True)


def test_defined_for_every_list():
    assert expected_exposure_loss([0], [1]) == 0.0
    assert expected_exposure_loss([0, 0], [1, 1]) == 0.0
    hidden = Ranking.from_positions(as_ranking_data(y=[1, 0]), [0, 0])
    assert expected_exposure_loss(None, hidden) == pytest.approx(1 + 1 / log2(3) ** 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"part": "EEL"}, "part of ExpectedExposureLoss must be one of 'loss'"),
        ({"discount": "geometric"}, "discount of ExpectedExposureLoss"),
        ({"patience": 1.5}, "patience of ExpectedExposureLoss"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(DataError, match=words):
        expected_exposure_loss([1, 0], [2, 1], **options)
