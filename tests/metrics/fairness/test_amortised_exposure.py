"""Several rankings of the same rows are the draws of one."""

from math import log2

import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data
from equirank.metrics import expected_exposure_loss, individual_amortised_attention
from equirank.metrics.fairness.amortised_exposure import joined_rankings

from ..cases import same

QID = np.array(list("babbaab"))
Y = np.array([1, 0, 2, 0, 1, 1, 0], dtype=float)


def data(**more):
    return as_ranking_data(y=Y, qid=QID, **more)


def scores(n, seed=0):
    return list(np.random.default_rng(seed).integers(0, 3, (n, 7)).astype(float))


def exposure(ranking):
    return ranking.data.to_original(ranking.expect(lambda place: 1 / place))


def test_each_counts_the_same():
    parts = [Ranking.from_scores(data(), score) for score in scores(3)]
    wanted = sum(exposure(part) for part in parts) / 3
    for given in (parts, tuple(parts)):
        joined = joined_rankings(None, given)
        assert joined.n_draws == 3
        same(exposure(joined), wanted)
    for given in (scores(3), np.array(scores(3)), np.array(scores(3)).tolist()):
        joined = joined_rankings(Y, given, qid=QID)
        same(exposure(joined), wanted)
        same(joined.data.to_original(joined.data.y), Y)


def test_draws_keep_their_weights():
    table = np.array([[1, 2], [1, 1], [2, 1], [3, 3], [2, 3], [3, 2], [4, 4]])
    policy = Ranking.from_positions(data(), table, weights=[[1, 3], [1, 1]])
    once = Ranking.from_scores(data(), scores(1)[0])
    joined = joined_rankings(None, [policy, once])
    same(exposure(joined), (exposure(policy) + exposure(once)) / 2)
    same(exposure(joined_rankings(None, policy)), exposure(policy))
    unweighted = Ranking.from_positions(data(), table)
    joined = joined_rankings(None, [unweighted, once])
    same(exposure(joined), (exposure(unweighted) + exposure(once)) / 2)


def test_rows_not_shown_stay_out():
    hidden = Ranking.from_positions(data(), [1, 0, 2, 0, 1, 0, 0])
    once = Ranking.from_scores(data(), scores(1)[0])
    joined = joined_rankings(None, [hidden, once])
    same(exposure(joined), (exposure(hidden) + exposure(once)) / 2)


def test_ties_are_as_asked():
    stable = joined_rankings([1, 1], [[1, 1]], ties="stable")
    assert stable.position.tolist() == [1, 2]
    assert joined_rankings([1, 1], [1, 1]).position.tolist() == [1, 1]


@pytest.mark.parametrize("function", [expected_exposure_loss, individual_amortised_attention])
def test_nothing_may_be_given_beside_rankings(function):
    ranking = Ranking.from_scores(as_ranking_data(y=Y, qid=QID), scores(1)[0])
    for rankings in (ranking, [ranking, ranking]):
        with pytest.raises(DataError, match="y_true must be None beside a Ranking"):
            function(Y, rankings)
        with pytest.raises(DataError, match="qid must be None beside a Ranking"):
            function(None, rankings, qid=QID)
        same(
            function(None, rankings, per_query=True),
            function(Y, scores(1)[0], qid=QID, per_query=True),
        )


def test_one_ranking_may_stand_in_a_list():
    one = Ranking.from_scores(data(), scores(1)[0])
    same(exposure(joined_rankings(None, [one])), exposure(one))


def test_relevance_that_differs_is_averaged_by_share():
    first = Ranking.from_scores(as_ranking_data(y=[3, 1]), [2, 1])
    second = Ranking.from_scores(as_ranking_data(y=[0, 2]), [2, 1])
    joined = joined_rankings(None, [first, second], pooled=True)
    same(joined.data.y, [(3 / 4 + 0) / 2, (1 / 4 + 1) / 2])
    joined = joined_rankings([[3, 1], [0, 2]], [[2, 1], [2, 1]], pooled=True)
    same(joined.data.y, [(3 / 4 + 0) / 2, (1 / 4 + 1) / 2])
    # a ranking without relevance leaves the query without
    joined = joined_rankings([[3, 1], [0, 0]], [[2, 1], [2, 1]], pooled=True)
    same(joined.data.y, [0, 0])
    with pytest.raises(DataError, match="must share one relevance"):
        expected_exposure_loss(None, [first, second])


def test_equal_relevance_stays_as_it_is():
    first = Ranking.from_scores(as_ranking_data(y=[3, 1]), [2, 1])
    again = Ranking.from_scores(as_ranking_data(y=[3, 1]), [1, 2])
    same(joined_rankings(None, [first, again], pooled=True).data.y, [3, 1])
    assert joined_rankings(None, [first, again]).data.max_grade == 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: joined_rankings(None, [Ranking.from_scores(data(), scores(1)[0]), [1, 2]]),
            "both",
        ),
        (lambda: joined_rankings([1, 1], [[1, 2], [1, 2, 3]]), r"rankings\[1\].*3"),
        (lambda: joined_rankings([1, 1], [[1, 2], [1, np.nan]]), r"rankings\[1\].*finite"),
        (lambda: joined_rankings([1, 1, 1], [1, 2]), "y_true.*3"),
        (lambda: joined_rankings([1, -1], [1, 2]), "y_true must be a relevance >= 0"),
        (
            lambda: joined_rankings([[1, 1]] * 3, [[1, 2], [2, 1]], pooled=True),
            r"one row per ranking \(2\).*3",
        ),
        (lambda: expected_exposure_loss(None, [1, 2]), "needs relevance"),
        (lambda: expected_exposure_loss([1, 1], []), r"rankings \(0\), got 2"),
        (lambda: expected_exposure_loss([], []), "at least one row"),
        (lambda: individual_amortised_attention([1, 1], [2, 1], ties="no"), "ties"),
    ],
)
def test_refuses(call, words):
    with pytest.raises(DataError, match=words):
        call()


@pytest.mark.parametrize(
    "other",
    [
        as_ranking_data(y=Y, qid=QID[::-1]),
        as_ranking_data(y=Y[:6], qid=QID[:6]),
        as_ranking_data(y=Y, qid=np.array(list("cacccaa"))),
        as_ranking_data(y=Y, qid=np.array(list("bbbbaaa"))),
        as_ranking_data(y=Y, qid=np.array(list("caccaac"))),
    ],
)
def test_refuses_other_rows(other):
    rankings = [
        Ranking.from_scores(data(), scores(1)[0]),
        Ranking.from_scores(other, np.arange(other.n_rows)),
    ]
    with pytest.raises(DataError, match=r"same rows and queries, and rankings\[1\]"):
        joined_rankings(None, rankings)


def test_one_item_in_many_rankings():
    assert expected_exposure_loss([1], [[1], [2]]) == 0.0
    assert expected_exposure_loss([1, 1], [[2, 1]] * 3) == pytest.approx(
        2 * ((1 - 1 / log2(3)) / 2) ** 2
    )
