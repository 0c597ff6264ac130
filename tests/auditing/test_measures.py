"""Differences in position per list, and totals of groups."""

import numpy as np
import pytest

from equirank import Ranking, as_ranking_data, evaluate
from equirank.auditing.measures import GroupTotals, Totals, list_differences


def twin(data, ranking, group):
    """Mean place of the group less that of the others, list by list."""
    first, last = ranking.position, ranking.position if ranking.last is None else ranking.last
    place, found = (first + last) / 2, []
    for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        hidden = first[begin:end] == 0
        here = np.where(hidden, ((~hidden).sum() + 1 + (end - begin)) / 2, place[begin:end])
        mine = data.attribute().codes[begin:end] == group
        found.append(
            here[mine].mean() - here[~mine].mean() if 0 < mine.sum() < len(mine) else np.nan
        )
    return np.array(found)


def lists(seed, hidden=False, levels=4):
    rng = np.random.default_rng(seed)
    n, q = 40, 6
    qid = np.sort(rng.integers(0, q, n))
    data = as_ranking_data(
        qid=qid, score=rng.integers(0, levels, n), sensitive_features=rng.choice(list("abc"), n)
    )
    ranking = data.ranking()
    if hidden:
        strict = Ranking.from_scores(data, ties="stable")
        ranking = Ranking.from_positions(
            data, data.to_original(np.where(strict.position <= 3, strict.position, 0))
        )
    return data, ranking


def differences(ranking):
    metric = GroupTotals(by=next(iter(ranking.data.sensitive)), ks=(1,))
    return list_differences(evaluate(ranking, metric, n_boot=0).results[0])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("hidden", [False, True])
def test_against_the_twin(seed, hidden):
    data, ranking = lists(seed, hidden)
    found = differences(ranking)
    for group in range(3):
        np.testing.assert_allclose(found[:, group], twin(data, ranking, group))


def test_by_hand_with_a_tie_and_a_hidden_row():
    data = as_ranking_data(score=[3, 2, 2, 1], sensitive_features=list("abab"))
    # positions 1, 2.5, 2.5, 4: a has (1 + 2.5) / 2, b has (2.5 + 4) / 2
    assert differences(data.ranking()).tolist() == [[-1.5, 1.5]]
    shown = as_ranking_data(position=[1, 2, 0, 0], sensitive_features=list("abab"))
    # the hidden two share positions 3 and 4: a has (1 + 3.5) / 2, b has (2 + 3.5) / 2
    assert differences(shown.ranking()).tolist() == [[-0.5, 0.5]]


def test_draws_give_the_expected_difference():
    data = as_ranking_data(sensitive_features=list("ab"), qid=[0, 0])
    ranking = Ranking.from_positions(data, [[1, 2], [2, 1]], weights=[0.75, 0.25])
    # -1 with chance 3/4, +1 with chance 1/4
    assert differences(ranking).tolist() == [[-0.5, 0.5]]


def made(seed, one=False):
    rng = np.random.default_rng(seed)
    n = 50
    return as_ranking_data(
        y=rng.integers(0, 3, n) * (rng.random(n) < 0.6),
        qid=None if one else np.sort(rng.integers(0, 5, n)),
        score=rng.integers(0, 12, n),
        sensitive_features=rng.choice(list("ab"), n),
    )


def totals_of(data, n_boot=0):
    metric = GroupTotals(by=next(iter(data.sensitive)), ks=(1, 3))
    result = evaluate(data, metric, n_boot=n_boot).results[0]
    return Totals.of(result)


def chances(data, k):
    """Chance of each row to be among the first k of its list, and its expected attention."""
    inside, attention = np.zeros(data.n_rows), np.zeros(data.n_rows)
    ranking = data.ranking()
    last = ranking.position if ranking.last is None else ranking.last
    for row in range(data.n_rows):
        places = np.arange(ranking.position[row], last[row] + 1)
        inside[row] = (places <= k).mean()
        attention[row] = (1 / np.log2(1 + places)).mean()
    return inside, attention


@pytest.mark.parametrize("seed", range(5))
def test_against_loops(seed):
    data = made(seed)
    totals, drawn = totals_of(data)
    assert drawn is None
    codes, queries = data.attribute().codes, data.query_of_rows()
    inside, attention = chances(data, 3)
    for group in range(2):
        mine = codes == group
        assert totals.people[group] == mine.sum()
        assert totals.selected(3)[group] == pytest.approx(inside[mine].sum())
        assert totals.rate(3)[group] == pytest.approx(inside[mine].mean())
        assert totals.relevance[group] == pytest.approx(data.y[mine].mean())
        ranking = data.ranking()
        place = (ranking.position + ranking.last) / 2
        means = [place[(queries == q) & mine].mean() for q in set(queries[mine].tolist())]
        assert totals.lists[group] == len(means)
        assert totals.mean_position[group] == pytest.approx(np.mean(means))
    exposure, merit, merit_exposure = np.zeros(2), np.zeros(2), np.zeros(2)
    for query in range(data.n_queries):
        here = queries == query
        share = attention[here] / attention[here].mean()
        worth = data.y[here].sum() and data.y[here] / data.y[here].mean()
        for group in range(2):
            mine = codes[here] == group
            exposure[group] += share[mine].sum()
            if data.y[here].sum():
                merit[group] += worth[mine].sum()
                merit_exposure[group] += share[mine].sum()
    np.testing.assert_allclose(totals.exposure, exposure / exposure.sum())
    np.testing.assert_allclose(totals.merit, merit / merit.sum())
    np.testing.assert_allclose(
        totals.exposure_of_merit_lists, merit_exposure / merit_exposure.sum()
    )
    np.testing.assert_allclose(
        totals.exposure_per_merit, (merit_exposure / merit_exposure.sum()) / (merit / merit.sum())
    )
    per_item = (exposure / exposure.sum()) / (totals.people / totals.people.sum())
    np.testing.assert_allclose(totals.exposure_per_item, per_item)


def test_equal_attention_is_one_per_item():
    data = as_ranking_data(
        score=np.zeros(6), qid=[0, 0, 0, 0, 1, 1], sensitive_features=list("aabbab")
    )
    totals, _ = totals_of(data)
    np.testing.assert_allclose(totals.exposure_per_item, 1.0)
    np.testing.assert_allclose(totals.exposure, 0.5)


@pytest.mark.parametrize("one", [False, True])
def test_replicates_lie_around_the_value(one):
    data = made(1, one)
    totals, drawn = totals_of(data, n_boot=300)
    for name in ("mean_position", "exposure_per_item", "relevance"):
        value, replicates = getattr(totals, name), getattr(drawn, name)
        assert replicates.shape == (300, 2)
        assert replicates.std(axis=0).min() > 0
        assert (np.abs(replicates.mean(axis=0) - value) < 3 * replicates.std(axis=0)).all()
    if one:  # the groups keep their sizes
        np.testing.assert_array_equal(drawn.people, np.tile(totals.people, (300, 1)))


def test_without_relevance_nothing_is_said_about_merit():
    data = as_ranking_data(score=[2, 1], sensitive_features=list("ab"))
    totals, _ = totals_of(data)
    assert np.isnan(totals.merit).all()
    assert np.isnan(totals.exposure_per_merit).all()
