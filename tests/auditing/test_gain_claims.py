"""Claims about NDCG by group: the test is that of all shuffles within grades."""

from itertools import product
from math import log2

import numpy as np
import pytest

from equirank import Ranking, as_ranking_data, audit, evaluate
from equirank.core.inference import distinct_orders


def data_of(seed, lists, size, bias=0.0, grades=3, groups=("f", "m")):
    rng = np.random.default_rng(seed)
    n = lists * size
    sex, y = rng.choice(groups, n), rng.integers(0, grades, n)
    score = y + rng.normal(size=n) - bias * (sex == "f")
    return as_ranking_data(
        y=y, qid=np.repeat(range(lists), size), score=score, sensitive_features={"sex": sex}
    )


def gains_of(data, **options):
    options = {"n_boot": 99, "n_permutations": 399, "k": 3} | options
    claims = audit(data, metrics="NDCG@4", **options).claims
    return [claim for claim in claims if claim.quantity == "NDCG@4"]


def item_gains(data):
    """The gain at 4 of every item in the order made and in the ideal order."""
    found = []
    y, score = data.y, data.score
    for q in range(data.n_queries):
        rows = range(data.offsets[q], data.offsets[q + 1])
        for i in rows:
            place = 1 + sum(score[j] > score[i] for j in rows)
            first = 1 + sum(y[j] > y[i] for j in rows)
            places = range(first, first + sum(y[j] == y[i] for j in rows))
            weights = [1 / log2(1 + p) if p <= 4 else 0.0 for p in places]
            made = 1 / log2(1 + place) if place <= 4 else 0.0
            found.append((2.0 ** y[i] - 1) * np.array([made, sum(weights) / len(weights)]))
    return np.array(found).T


def test_every_shuffle_within_grades():
    data = data_of(3, 2, 9, bias=1.0, grades=2)
    inside = data.sensitive["sex"].codes == 0
    (claim,) = gains_of(data, protected="sex=f", n_permutations=3999)
    query = data.query_of_rows()
    cells = [np.flatnonzero((query == q) & (data.y == g)) for q in range(2) for g in range(2)]
    cells = [rows for rows in cells if len(rows)]
    made, ideal = item_gains(data)

    def ndcg(inside):
        return made[inside].sum() / ideal[inside].sum()

    found = []
    for orders in product(*(distinct_orders(inside[rows].astype(int)) for rows in cells)):
        shuffled = inside.copy()
        for rows, order in zip(cells, orders, strict=True):
            shuffled[rows] = order
        value, other = ndcg(shuffled), ndcg(~shuffled)
        found.append((value, value - other))
    values, differences = np.array(found).T
    mine, difference = ndcg(inside), ndcg(inside) - ndcg(~inside)
    assert len(values) > 100
    assert claim.estimate == pytest.approx(mine)
    assert claim.shares == pytest.approx((mine, values.mean()))
    assert claim.direction == ("lower" if mine < values.mean() else "higher")
    # The difference between the two groups has the same test as the value of one of them.
    for observed, drawn in ((mine, values), (difference, differences)):
        distance = np.abs(drawn - drawn.mean()) >= abs(observed - drawn.mean()) - 1e-9
        assert claim.p == pytest.approx(distance.mean(), abs=3 * 0.5 / np.sqrt(4000))
    assert (claim.low, claim.high) == pytest.approx(
        (mine - 1.959964 * values.std(), mine + 1.959964 * values.std())
    )


@pytest.mark.parametrize("draws", [1, 3])
def test_the_value_is_that_of_evaluate(draws):
    data = data_of(5, 24, 9)
    rng = np.random.default_rng(0)
    position = [Ranking.from_scores(data, rng.random(data.n_rows)).position for _ in range(draws)]
    ranking = Ranking(data, np.stack(position, axis=1) if draws > 1 else position[0])
    values = {
        row["group"]: row["value"]
        for row in evaluate(ranking, "NDCG@4", by="sex", n_boot=0, n_permutations=0).by_group
    }
    (claim,) = gains_of(ranking)
    assert claim.estimate == pytest.approx(values[claim.group])
    assert (claim.scope["k"], claim.interval_of, claim.block) == (4, "lists", "ii")


@pytest.mark.slow
def test_sentences():
    (claim,) = gains_of(data_of(1, 24, 12, bias=2.0), protected="sex=f")
    assert (claim.status, claim.direction) == ("finding", "lower")
    expected = (
        'Among people with the same recorded relevance, people in group "f" (sex) have an NDCG@4 '
        f"of {claim.estimate:.2f}, compared with {claim.shares[1]:.2f} expected from relevance, in "
        "24 lists of 12 (95% confidence interval "
    )
    assert claim.sentence.startswith(expected)
    assert claim.low < claim.estimate < claim.high < claim.shares[1]
    (claim,) = gains_of(data_of(2, 6, 12), protected="sex=f")
    assert claim.status == "cannot_tell"
    assert 'people in group "f" (sex) have a higher or lower NDCG@4 than' in claim.sentence


@pytest.mark.slow
def test_only_where_it_was_asked_for_and_can_be_tested():
    data = data_of(1, 6, 12)
    assert not any("NDCG" in c.quantity for c in audit(data, n_boot=20, n_permutations=19).claims)
    assert gains_of(data_of(1, 6, 30, grades=25)) == []
    (claim,) = gains_of(data, n_permutations=0)
    assert (claim.status, claim.reason) == ("described", "no draws or no resamples were requested")


def test_a_perfect_order():
    data = data_of(4, 6, 12)
    ranking = Ranking.from_scores(data, data.to_original(data.y))
    (claim,) = gains_of(ranking)
    assert claim.shares == pytest.approx((1.0, 1.0))
    assert claim.status == "described"
    assert claim.reason == "all with the same relevance have the same gain"
