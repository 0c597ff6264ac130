from math import isnan, log2, nan

import numpy as np
import pytest
from hypothesis import given, settings
from thorough import sized

from equirank import DataError, EquirankWarning, Ranking, as_ranking_data, evaluate
from equirank.metrics import IndividualAmortisedAttention, individual_amortised_attention
from equirank.testing import check_metric
from equirank.testing.strategies import policies

from ..cases import same
from .merit_twins import OPTIONS, attention, copies_stay_tied, drawn_of, expected, lists_of

RBP = [{"discount": "rbp"}, {"discount": "rbp", "patience": 0.8, "k": 2}]


def shares(values):
    total = sum(values)
    return [value / total for value in values] if total > 0 else None


def apart(seen, y):
    a, r = shares(seen), shares(y)
    if a is None or r is None:
        return nan
    return sum(abs(x - z) for x, z in zip(a, r, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS + RBP, ids=str)
def test_each_query_agrees_with_twin(options):
    for ties, batch, pairs in lists_of("ab"):
        call = {"qid": batch.qid, "per_query": True, "ties": ties, **options}
        wanted = [apart(expected(case, draws, **options), case.y) for case, draws in pairs]
        same(individual_amortised_attention(batch.y, batch.score, **call), wanted)
    for ranking, pairs in drawn_of("ab"):
        wanted = [apart(expected(case, draws, **options), case.y) for case, draws in pairs]
        same(IndividualAmortisedAttention(**options).per_query(ranking).value, wanted)


def amortised(lists, **options):
    """Accumulate over (ids, scores without ties, relevance) of many rankings, as published."""
    seen, worth, m = {}, {}, 0
    for ids, score, y in lists:
        order = sorted(range(len(ids)), key=lambda i: -score[i])
        drawn = [0.0] * len(ids)
        for place, item in enumerate(order, 1):
            drawn[item] = attention(place, **options)
        a, r = shares(drawn), shares(y)
        if a is None or r is None:
            continue
        m += 1
        for item, x, z in zip(ids, a, r, strict=True):
            seen[item] = seen.get(item, 0) + x
            worth[item] = worth.get(item, 0) + z
    total = sum(abs(seen[item] - worth[item]) for item in seen)
    return total / m if m else nan, {item: (seen[item] - worth[item]) / m for item in seen}


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS + RBP, ids=str)
def test_amortised_over_queries_agrees_with_twin(options):
    rng = np.random.default_rng(5)
    for number in range(sized(60, 150)):
        lists = []
        for _ in range(int(rng.integers(2, 6))):
            n = int(rng.integers(1, 6))
            people = rng.choice(6, n, replace=False) if number % 2 else np.arange(n)
            y = rng.integers(0, 3, n) * (rng.random() > 0.2)
            lists.append((people.tolist(), rng.permutation(n).tolist(), y.tolist()))
        wanted, each = amortised(lists, **options)
        qid = np.repeat(np.arange(len(lists)), [len(ids) for ids, _, _ in lists])
        mixed = rng.permutation(len(qid))
        ids, score, y = (
            np.array([v for one in lists for v in one[part]])[mixed] for part in range(3)
        )
        call = {"qid": qid[mixed], "ids": ids, **options}
        if isnan(wanted):
            with pytest.warns(EquirankWarning, match="undefined in every query"):
                assert isnan(individual_amortised_attention(y, score, **call))
            continue
        got, groups = individual_amortised_attention(y, score, return_groups=True, **call)
        assert got == pytest.approx(wanted, abs=1e-12)
        if groups:
            known = {item: groups[item] for item in each}
            assert known == pytest.approx(each, abs=1e-12)
        else:
            assert len(set(ids.tolist())) == len(ids)


@pytest.mark.slow
def test_a_sequence_agrees_with_twin():
    rng = np.random.default_rng(6)
    for _ in range(sized(40, 100)):
        m, n = rng.integers(1, 5), int(rng.integers(1, 6))
        score = [rng.permutation(n).tolist() for _ in range(m)]
        y = rng.integers(0, 3, (m, n)) + np.eye(1, n, dtype=int)
        lists = [(range(n), s, row.tolist()) for s, row in zip(score, y, strict=True)]
        got = individual_amortised_attention(y, score)
        assert got == pytest.approx(amortised(lists)[0], abs=1e-12)
        same_truth = [(range(n), s, y[0].tolist()) for s in score]
        got = individual_amortised_attention(y[0], score)
        assert got == pytest.approx(amortised(same_truth)[0], abs=1e-12)
        each = [
            Ranking.from_scores(as_ranking_data(y=row), s) for s, row in zip(score, y, strict=True)
        ]
        got = individual_amortised_attention(None, each)
        assert got == pytest.approx(amortised(lists)[0], abs=1e-12)


@pytest.mark.slow
def test_keeps_the_promises():
    check_metric(IndividualAmortisedAttention())
    copies_stay_tied(IndividualAmortisedAttention())
    check_metric(IndividualAmortisedAttention(discount="rbp", patience=0.9) @ 2)


def test_two_equal_items_and_a_fair_coin():
    data = as_ranking_data(y=[1, 1])
    fair = Ranking.from_positions(data, [[1, 2], [2, 1]])
    once = Ranking.from_positions(data, [1, 2])
    assert individual_amortised_attention(None, fair) == pytest.approx(0, abs=1e-15)
    first = 1 / (1 + 1 / log2(3))
    assert individual_amortised_attention(None, once) == pytest.approx(2 * (first - 0.5))
    assert individual_amortised_attention(None, [once, once]) == pytest.approx(2 * (first - 0.5))


def test_taking_turns_over_queries_is_fair():
    rows = {"qid": [1, 1, 2, 2], "ids": list("abba"), "discount": [1]}
    value, who = individual_amortised_attention([1] * 4, [2, 1, 2, 1], return_groups=True, **rows)
    assert value == 0.0
    assert who == {"a": 0.0, "b": 0.0}
    same(individual_amortised_attention([1] * 4, [2, 1, 2, 1], per_query=True, **rows), [1, 1])
    value, who = individual_amortised_attention([1] * 4, [2, 1, 1, 2], return_groups=True, **rows)
    assert value == 1.0
    assert who == {"a": 0.5, "b": -0.5}
    # without ids nobody is known to recur
    del rows["ids"]
    assert individual_amortised_attention([1] * 4, [2, 1, 2, 1], **rows) == 1.0


def test_ids_that_never_recur_are_as_none():
    rows = {"qid": [1, 1, 2, 2], "return_groups": True}
    value, who = individual_amortised_attention([1] * 4, [2, 1, 2, 1], ids=list("abcd"), **rows)
    assert value == individual_amortised_attention([1] * 4, [2, 1, 2, 1], **rows)[0]
    assert who == {}


def test_undefined_queries_add_nothing_or_what_is_asked():
    rows = {"qid": [1, 1, 2, 2, 3, 3], "ids": list("ababab"), "discount": [1]}
    y, score = [1, 1, 0, 0, 1, 1], [2, 1, 2, 1, 2, 1]
    same(individual_amortised_attention(y, score, per_query=True, **rows), [1, nan, 1])
    value, who = individual_amortised_attention(y, score, return_groups=True, **rows)
    assert value == 1.0
    assert who == {"a": 0.5, "b": -0.5}
    assert individual_amortised_attention(y, score, undefined="zero", **rows) == pytest.approx(
        2 / 3
    )
    assert individual_amortised_attention(y, score, undefined="one", **rows) == pytest.approx(1)
    y = [1, 1, 0, 0, 1, 0]
    assert individual_amortised_attention(y, score, undefined="one", **rows) == pytest.approx(
        (0.5 + 0.5 + 1) / 3
    )
    with pytest.raises(DataError, match=r"undefined for query 2.*no item is relevant"):
        individual_amortised_attention(y, score, undefined="raise", **rows)


def test_bootstrap_resamples_sums():
    """With counts (2, 0) the first query alone counts, with (1, 1) both take turns."""
    data = as_ranking_data(
        y=[1] * 4, score=[2, 1, 2, 1], qid=[1, 1, 2, 2], ids=np.array(list("abba"))
    )
    metric = IndividualAmortisedAttention(discount=(1,))
    values = metric.per_query(data.ranking())
    value, groups = metric.summarize(values, np.array([[2, 0], [1, 1], [0, 2], [3, 1]]))
    same(value, [1, 0, 1, 0.5])
    same(groups, [[0.5, -0.5], [0, 0], [-0.5, 0.5], [0.25, -0.25]])
    row = evaluate(data, [metric], n_boot=200).summary().to_dict()
    assert row["value"][0] == 0.0
    assert row["high"][0] == 1.0


def test_too_many_cells_are_refused():
    n = 16_385  # with 8,192 items each, 16,384 queries have a table of 1 GiB
    with pytest.raises(DataError, match=r"ids must name fewer items.*16385 x 8192"):
        individual_amortised_attention(
            np.ones(n), [np.ones(n)], qid=np.arange(n), ids=np.arange(n) % 8192
        )


def test_undefined_without_relevance_or_attention():
    with pytest.warns(EquirankWarning, match="no item is relevant"):
        assert isnan(individual_amortised_attention([0, 0], [2, 1]))
    hidden = Ranking.from_positions(as_ranking_data(y=[1, 0]), [0, 0])
    with pytest.warns(EquirankWarning, match="none has exposure"):
        assert isnan(individual_amortised_attention(None, hidden))


def test_better_and_worse():
    y = [1 / log2(1 + place) for place in (1, 2, 3, 4)]
    values = [
        individual_amortised_attention(y, score)
        for score in ([4, 3, 2, 1], [3, 4, 2, 1], [3, 4, 1, 2], [1, 2, 3, 4])
    ]
    assert values == sorted(values)
    assert values[0] == pytest.approx(0, abs=1e-12)
    assert IndividualAmortisedAttention.direction == "lower"


def test_the_worst_case_reaches_the_bound():
    value = individual_amortised_attention([0, 1], [2, 1], discount=[1])
    assert value == IndividualAmortisedAttention.bounds[1] == 2.0


@pytest.mark.slow
@settings(max_examples=sized(25, 60))
@given(policies(max_items=10))
def test_amortising_never_adds(ranking):
    """Matched over queries at most the mean of the queries' values."""
    metric = IndividualAmortisedAttention()
    alone = metric.per_query(ranking)
    from dataclasses import replace

    ids = np.arange(ranking.data.n_rows) % 3
    matched = replace(ranking, data=replace(ranking.data, ids=ids))
    values = metric.per_query(matched)
    both = [float(metric.summarize(v)[0]) for v in (values, alone)]
    assert isnan(both[0]) == isnan(both[1])
    if not isnan(both[0]):
        assert both[0] <= both[1] + 1e-9
