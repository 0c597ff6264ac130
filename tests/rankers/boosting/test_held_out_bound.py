"""FairReduction.certify: values against enumerated pairs, coverage, sentences and bad input."""

from itertools import combinations

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.datasets import make_ranking
from equirank.rankers import FairReduction, RankBoost
from equirank.rankers.boosting.held_out_bound import held_out_bound
from equirank.rankers.boosting.pairwise_constraint import CONSTRAINTS, pairwise_constraint
from equirank.theory import mean_upper_bound


def lists(n_lists, seed, n_items=8):
    """Independent lists of three groups, with two rankers that tie some items."""
    rng = np.random.default_rng(seed)
    n = n_lists * n_items
    codes = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    y = np.minimum(rng.integers(0, 3, size=n) + (codes == 1), 2)
    scores = np.round(y[:, None] + rng.normal(size=(n, 2)) + [0.5, 1.0] * (codes == 1)[:, None])
    qid = np.repeat(np.arange(n_lists), n_items)
    groups = np.array(["a", "b", "c"])[codes]
    return y, qid, groups, scores


def shares_of(y, groups, score, kind):
    """Return the error and each group's or pair's share of one list, by enumeration."""
    pairs = [(i, j) for i in range(len(y)) for j in range(len(y)) if i != j]
    lost = {(i, j): (score[i] < score[j]) + (score[i] == score[j]) / 2 for i, j in pairs}
    error = [lost[i, j] for i, j in pairs if y[i] > y[j]]
    found = {}
    for g in "abc":
        mixed = [(i, j) for i, j in pairs if groups[i] == g and groups[j] != g]
        if kind == "rank_parity":
            found[g] = [lost[j, i] for i, j in mixed]
        elif kind == "rank_equality":
            found[g] = [lost[j, i] * (y[j] > y[i]) for i, j in mixed]
        else:
            for h in "abc":
                wanted = [p for p in mixed if groups[p[1]] == h and y[p[0]] > y[p[1]]]
                found[g, h] = [1 - lost[p] for p in wanted]
    return np.mean(error) if error else np.nan, {
        key: np.mean(each) if each else np.nan for key, each in found.items()
    }


def difference(found, g, h, kind):
    keys = ((g, h), (h, g)) if kind == "group_pairwise_accuracy" else (g, h)
    return found[keys[0]] - found[keys[1]]


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_values_of_lists_are_means_of_enumerated_pairs(kind):
    y, qid, groups, scores = lists(12, 0)
    weights = np.array([0.25, 0.75])
    data = as_ranking_data(None, y, qid=qid, sensitive_features=groups)
    found = held_out_bound(data, scores, weights, kind, None, 0.95, 0)
    errors, gaps = [], {pair: [] for pair in combinations("abc", 2)}
    for q in range(12):
        rows = qid == q
        each = [shares_of(y[rows], groups[rows], scores[rows, m], kind) for m in range(2)]
        errors.append(weights @ [one[0] for one in each])
        for g, h in gaps:
            gaps[g, h].append(weights @ [difference(one[1], g, h, kind) for one in each])
    assert found.error == pytest.approx(np.nanmean(errors))
    for row in found.table:
        value = np.nanmean(gaps[row["group"], row["other"]])
        assert row["difference"] == pytest.approx(value)
        assert row["low"] <= value <= row["high"]
    assert len(found.table) == 3
    assert found.violation == pytest.approx(np.abs(found.table["difference"]).max())
    assert (found.unit, found.n_units) == ("list", 12)


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_values_of_people_are_those_of_all_pairs(kind):
    y, _, groups, scores = lists(1, 1, n_items=40)
    weights = np.array([0.25, 0.75])
    data = as_ranking_data(None, y, qid=0, sensitive_features=groups)
    found = held_out_bound(data, scores, weights, kind, None, 0.95, 0)
    each = [shares_of(y, groups, scores[:, m], kind) for m in range(2)]
    assert found.error == pytest.approx(weights @ [one[0] for one in each])
    for row in found.table:
        value = weights @ [difference(one[1], row["group"], row["other"], kind) for one in each]
        assert row["difference"] == pytest.approx(value)
        assert row["low"] <= value <= row["high"]
    assert (found.unit, found.n_units) == ("person", 40)


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_intervals_of_many_people_are_centred_at_their_values(kind):
    y, _, groups, scores = lists(1, 5, n_items=3000)
    data = as_ranking_data(None, y, qid=0, sensitive_features=groups)
    found = held_out_bound(data, scores, np.ones(2), kind, None, 0.95, 0)
    row = max(found.table, key=lambda row: abs(row["difference"]))
    assert (row["low"] + row["high"]) / 2 == pytest.approx(row["difference"], abs=0.02)
    assert found.error < found.error_at_most < found.error + 0.06


@pytest.mark.gate
@pytest.mark.parametrize(
    ("unit", "kind"), [("list", "rank_equality"), ("person", "group_pairwise_accuracy")]
)
def test_bounds_hold_as_often_as_stated(unit, kind):
    """At a level of 50%, where a bound that is too small shows soonest; the twin of a benchmark."""
    n_lists, n_items = (2000, 8) if unit == "list" else (1, 4000)
    y, qid, groups, scores = lists(n_lists, 2, n_items)
    rng = np.random.default_rng(3)

    def bound(rows):
        data = as_ranking_data(None, y[rows], qid=qid[rows], sensitive_features=groups[rows])
        return held_out_bound(data, scores[rows], np.array([1.0, 1.0]), kind, None, 0.5, rng)

    truth, missed, draws = bound(slice(None)), 0, 20
    for _ in range(draws):
        if unit == "list":
            rows = np.isin(qid, rng.choice(n_lists, size=60, replace=False))
        else:
            rows = rng.choice(4000, size=300, replace=False)
        found = bound(rows)
        value = truth.table["difference"]
        outside = (value < found.table["low"]) | (value > found.table["high"])
        missed += bool(outside.any() or truth.error > found.error_at_most)
        assert found.violation_at_most < 1.0
    assert missed <= draws / 2


def test_more_lists_make_the_bounds_tight():
    kind = "rank_parity"
    widths = []
    for n_lists in (30, 300, 3000):
        y, qid, groups, scores = lists(n_lists, 4)
        data = as_ranking_data(None, y, qid=qid, sensitive_features=groups)
        found = held_out_bound(data, scores, np.ones(2), kind, None, 0.95, 0)
        widths.append((found.table["high"] - found.table["low"]).max())
        assert found.violation <= found.violation_at_most
    assert widths[2] < 0.4 * widths[1] < 0.2 * widths[0]


@pytest.fixture(scope="module")
def fitted():
    data = make_ranking(n_queries=120, n_items=10, feature_bias=0.7, random_state=0)
    train, test = data.select(range(40)), data.select(range(40, 120))
    ranker = RankBoost(8, n_jobs=1)
    return FairReduction(ranker, "rank_parity", 0.02, max_iter=4, random_state=0).fit(train), test


def test_certify_bounds_the_single_ranker_or_the_mixture(fitted):
    model, test = fitted
    single, mixed = model.certify(test), model.certify(test, mixture=True)
    scores = model.predict(test)[test.caller_rank]
    same = held_out_bound(test, scores[:, None], np.ones(1), "rank_parity", None, 0.95, 0)
    assert (single.error_at_most, single.violation_at_most) == (
        same.error_at_most,
        same.violation_at_most,
    )
    used = model.weights_ > 0
    assert used.sum() > 1
    assert single.error != mixed.error
    rule = pairwise_constraint(test, "rank_parity", None)
    parts = [rule.measure(test, m.predict(test)[test.caller_rank]) for m in model.members_]
    # lists of equal size: the pooled share of pairs by group is near the mean over lists
    pooled = abs(model.weights_ @ np.array([part[1] for part in parts]))[0]
    assert mixed.violation == pytest.approx(pooled, abs=0.05)


def test_the_sentence_states_bounds_values_and_confidence(fitted):
    model, test = fitted
    found = model.certify(test, level=0.9)
    assert str(found) == found.sentence
    assert "On new lists drawn like these 80, at most" in found.sentence
    assert f"by at most {found.violation_at_most:.3f} (90% confidence)" in found.sentence
    few = model.certify(test.select([0, 1]))
    assert "too few to bound the differences in rank parity" in few.sentence
    assert few.violation_at_most == 1.0


def test_certify_refuses_what_it_cannot_bound(fitted):
    model, test = fitted
    with pytest.raises(DataError, match="level of certify must be"):
        model.certify(test, level=1.0)
    with pytest.raises(DataError, match="y must be an array"):
        model.certify(np.asarray(test.X), qid=0, sensitive_features=test.attribute().labels())
    one = as_ranking_data(np.asarray(test.X), test.y, qid=0, sensitive_features=["a"] * 800)
    with pytest.raises(DataError, match="at least two groups"):
        model.certify(one)


def test_the_bound_of_a_mean_is_no_better_than_the_exact_one():
    values = np.zeros(50)
    exact = 1 - 0.05 ** (1 / 50)
    assert exact < mean_upper_bound([values], 0.05) < 1.2 * exact
    assert mean_upper_bound([], 0.05) == 1.0
    assert mean_upper_bound([np.ones(3)], 0.05) == 1.0
    assert mean_upper_bound([values, values], 0.05) == mean_upper_bound([values], 0.05)


def test_the_bound_of_a_mean_inverts_the_product_of_bets():
    values = np.random.default_rng(0).random(30)
    bound = mean_upper_bound([values], 0.1)
    capital, seen = {bound - 1e-6: 1.0, bound + 1e-6: 1.0}, []
    for value in values:
        means = [(0.5 + sum(seen[: t + 1])) / (t + 2) for t in range(len(seen))]
        squares = sum((v - m) ** 2 for v, m in zip(seen, means, strict=True))
        variance = (0.25 + squares) / (len(seen) + 1)
        for a in capital:
            bet = min(np.sqrt(2 * np.log(10) / (30 * variance)), 0.9 / (1 - a))
            capital[a] *= 1 + bet * (a - value)
        seen.append(value)
    below, above = capital.values()
    assert below < 10 <= above
