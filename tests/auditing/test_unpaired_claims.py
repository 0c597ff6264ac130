"""Two periods or systems: changes between files of different lists."""

import numpy as np
import pytest
from scipy import stats

from equirank import DataError, as_ranking_data, audit, audit_sums
from equirank.auditing.unpaired_claims import _welch
from equirank.core.shuffles import holm, normal_p
from equirank.core.summed_lists import sum_data
from equirank.statistics import mantel_haenszel

QUICK = {"n_boot": 50, "n_permutations": 199, "cross": False, "sensitive": ["sex"]}


def period(lists, length, effect, seed, start=0, **columns):
    rng = np.random.default_rng(seed)
    n = lists * length
    sex = rng.choice(["f", "m", "x"], n, p=[0.4, 0.4, 0.2])
    score = rng.normal(size=n) - effect * (sex == "f")
    query = np.repeat(np.arange(lists) + start, length)
    return {"query": query, "score": score, "sex": sex, **columns}


def changes(result):
    return {
        (claim.quantity, claim.group): claim
        for claim in result.claims
        if claim.quantity.startswith("change")
    }


def test_a_change_between_periods_is_found():
    now, before = period(30, 20, 1.2, 1), period(25, 20, 0.0, 2, start=100)
    result = audit(now, unpaired=before, unpaired_title="2024", k=5, **QUICK)
    found = changes(result)
    claim = found["change of position", "f"]
    assert (claim.status, claim.direction, claim.interval_of) == ("finding", "lower", "lists")
    chances = []
    for data in (now, before):
        values = []
        for q in np.unique(data["query"]):
            inside = data["query"] == q
            group = data["sex"][inside] == "f"
            score = data["score"][inside]
            values.append((score[group][:, None] > score[~group]).mean())
        chances.append(np.array(values))
    assert claim.shares == pytest.approx([values.mean() for values in chances])
    # Welch's interval, by SciPy.
    test = stats.ttest_ind(*chances, equal_var=False)
    interval = test.confidence_interval(0.95)
    assert (claim.low, claim.high) == pytest.approx((interval.low, interval.high))
    assert "in the other file, in 30 lists here and 25 there" in claim.sentence
    assert found["change of selected", "f"].status == "finding"
    assert "(2024)" in result.notes[0]["text"]


@pytest.mark.slow
def test_equal_periods_show_no_change():
    now, before = period(30, 20, 1.0, 1), period(25, 20, 1.0, 2, start=100)
    found = changes(audit(now, unpaired=before, k=5, **QUICK))
    assert {claim.status for claim in found.values()} == {"cannot_tell"}
    assert all(claim.p > 0.01 for claim in found.values())


def test_the_made_normal_statistic_is_that_of_welch():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=25), np.ones(25)
    first = np.zeros((1, 25))
    first[0, :11] = 1
    (z,), (difference,), (error,), (f,) = _welch(x, y, False, first)
    test = stats.ttest_ind(x[:11], x[11:], equal_var=False)
    assert difference / error == pytest.approx(test.statistic)
    assert f == pytest.approx(test.df)
    made = (8 * f + 1) / (8 * f + 3) * np.sqrt(f * np.log1p(test.statistic**2 / f))
    assert z == pytest.approx(np.sign(test.statistic) * made)
    # It is nearly normal: its p-value is that of t.
    assert 2 * stats.norm.sf(abs(z)) == pytest.approx(test.pvalue, abs=0.002)


def test_the_effect_of_a_ratio_is_the_logarithm_of_a_ratio_of_sums():
    rng = np.random.default_rng(1)
    x, y = rng.random(30), rng.random(30)
    x[:4] = 0.0
    first = np.zeros((1, 30))
    first[0, 10:] = 1
    _, (difference,), (error,), _ = _welch(x, y, True, first)
    sides = [slice(10, None), slice(0, 10)]
    logs = [np.log(x[side].sum() / y[side].sum()) for side in sides]
    assert difference == pytest.approx(logs[0] - logs[1])
    variance = 0.0
    for side in sides:
        influence = x[side] / x[side].mean() - y[side] / y[side].mean()
        variance += influence.var(ddof=1) / len(influence)
    assert error == pytest.approx(np.sqrt(variance))


def test_lists_without_both_sides_and_ratios_of_zero_keep_their_place():
    x = np.array([np.nan, 1.0, 2.0, 3.0, np.nan, 5.0])
    first = np.array([[1.0, 1, 1, 0, 0, 0], [1, 0, 1, 1, 0, 0]])
    _, difference, _, _ = _welch(x, np.ones(6), False, first)
    assert difference == pytest.approx([1.5 - 4.0, 2.5 - 3.0])
    zero = np.array([0.0, 0.0, 1.0, 2.0])
    z, *_ = _welch(zero, np.ones(4), True, np.array([[1.0, 1, 0, 0], [0.0, 0, 1, 1]]))
    assert z.tolist() == [-np.inf, np.inf]


@pytest.mark.slow
def test_few_lists_are_compared_by_decisions_only():
    now, before = period(4, 90, 1.2, 1), period(5, 90, 0.0, 2, start=100)
    result = audit(now, unpaired=before, k=30, **QUICK)
    found = changes(result)
    position = found["change of position", "f"]
    assert (position.status, position.reason) == ("cannot_tell", "fewer than 10 lists on one side")
    assert np.isnan(position.p)
    claims = [claim for key, claim in found.items() if key[0] == "change of selected"]
    p = np.array([claim.p for claim in claims])
    family = np.minimum(2 * holm(p), 1.0).tolist()  # the groups of the first file are a block, too
    assert [claim.p_family for claim in claims] == pytest.approx(family, nan_ok=True)
    claim = found["change of selected", "f"]
    assert (claim.status, claim.interval_of) == ("finding", "people")
    ratios = []
    for data in (now, before):
        counts = []
        for q in np.unique(data["query"]):
            inside = data["query"] == q
            group = data["sex"][inside] == "f"
            selected = np.argsort(np.argsort(-data["score"][inside])) < 30
            counts.append(
                [selected[group].sum(), group.sum(), selected[~group].sum(), (~group).sum()]
            )
        ratios.append(mantel_haenszel(*np.transpose(counts)))
    low, high, z = ends_of_change(*ratios)
    assert (claim.low, claim.high) == pytest.approx((low, high))
    assert claim.p == pytest.approx(normal_p(np.array([z]))[0])


def ends_of_change(new, old):
    """The interval of a ratio of ratios from both intervals, and its z."""
    difference = np.log(new.estimate / old.estimate)
    below = np.hypot(np.log(new.estimate / new.low), np.log(old.high / old.estimate))
    above = np.hypot(np.log(new.high / new.estimate), np.log(old.estimate / old.low))
    z = difference / (below if difference > 0 else above) * 1.959963984540054
    return np.exp(difference - below), np.exp(difference + above), z


def decided(*jobs, first=0):
    """Recorded decisions of jobs, given as selected and all of both sides."""
    rows = [
        (first + job, sex, i < selected)
        for job, (a, n1, b, n2) in enumerate(jobs)
        for sex, selected, n in (("f", a, n1), ("m", b, n2))
        for i in range(n)
    ]
    query, sex, hired = (np.array(column) for column in zip(*rows, strict=True))
    return as_ranking_data(qid=query, sensitive_features={"sex": sex}, outcomes={"hired": hired})


@pytest.mark.parametrize("n", [2, 12])
def test_a_rate_of_one_in_all_lists_leaves_a_change_uncertain(n):
    """All 12 women of each job here, half of them there: the men's rates alone do not vary."""
    jobs = [(12, 12, 12, 24)] * n, [(6, 12, 12, 24)] * n
    result = audit(decided(*jobs[0]), unpaired=decided(*jobs[1], first=99), selected="hired",
                   n_boot=20, n_permutations=99)  # fmt: skip
    claim = changes(result)["change of selected", "f"]
    ratios = [mantel_haenszel(*np.transpose(each)) for each in jobs]
    low, high, z = ends_of_change(*ratios)
    assert claim.interval_of == "people"
    assert (claim.low, claim.high) == pytest.approx((low, high))
    assert low < 0.9 * claim.estimate < 1.1 * claim.estimate < high
    if n == 2:
        assert claim.p == pytest.approx(normal_p(np.array([z]))[0])


def test_ratios_of_unlike_files_are_described_only():
    result = audit(period(12, 20, 1, 1), unpaired=period(12, 50, 1, 2, start=50), k=5, **QUICK)
    found = changes(result)
    for quantity in ("change of selected", "change of exposure"):
        claim = found[quantity, "f"]
        assert claim.status == "described"
        assert "differs by more than a factor of 2" in claim.reason
    assert found["change of position", "f"].status in ("finding", "cannot_tell")


@pytest.mark.slow
def test_shared_lists_are_refused_unless_they_differ():
    now, before = period(12, 20, 1, 1), period(12, 20, 1, 2)
    with pytest.raises(DataError, match="unpaired must have other lists, got list 0 in both"):
        audit(now, unpaired=before, k=5, **QUICK)
    assert changes(audit(now, unpaired=before, k=5, lists_differ=True, **QUICK))
    with pytest.raises(DataError, match="lists_differ must be False without unpaired"):
        audit(now, lists_differ=True, **QUICK)
    lacking = {name: values for name, values in before.items() if name != "sex"} | {"race": "x"}
    with pytest.raises(DataError, match="sensitive must be one of the columns"):
        audit(now, unpaired=lacking, **QUICK)


def test_a_group_that_the_other_file_lacks_is_not_compared():
    now, before = period(12, 20, 1, 1), period(12, 20, 1, 2, start=50)
    before["sex"] = np.where(before["sex"] == "x", "m", before["sex"])
    claim = changes(audit(now, unpaired=before, k=5, **QUICK))["change of position", "x"]
    assert (claim.status, claim.reason) == (
        "described", "no list of the other file contains both sides"
    )  # fmt: skip


def test_recorded_decisions_of_two_pools():
    def pool(seed, effect):
        rng = np.random.default_rng(seed)
        sex = rng.choice(["f", "m"], 400)
        hired = rng.random(400) < np.where(sex == "f", 0.4 - effect, 0.4)
        return as_ranking_data(sensitive_features={"sex": sex}, outcomes={"hired": hired})

    result = audit(pool(1, 0.3), unpaired=pool(2, 0.0), selected="hired", n_boot=20,
                   n_permutations=99)  # fmt: skip
    (claim,) = changes(result).values()
    assert (claim.quantity, claim.status) == ("change of selected", "finding")
    assert "in 1 lists here" not in claim.sentence


@pytest.mark.parametrize("p", [[0.01, 0.02, 0.03, 0.5], [0.9, np.nan, 0.001], [0.04, 0.04]])
def test_holm_by_hand(p):
    p = np.array(p)
    known = np.sort(p[~np.isnan(p)])
    m = len(known)
    expected = np.maximum.accumulate(np.minimum(1, (m - np.arange(m)) * known))
    np.testing.assert_allclose(np.sort(holm(p)[~np.isnan(p)]), expected)


def summed(lists, seed, start, effect=0.6, **columns):
    data = period(lists, 12, effect, seed, start, **columns)
    del data["query"]
    query = np.repeat(np.arange(lists) + start, 12)
    sex = data.pop("sex")
    outcomes = {name: data.pop(name) for name in [*data] if name != "score"}
    return as_ranking_data(
        qid=query, sensitive_features={"sex": sex}, outcomes=outcomes or None, **data
    )


@pytest.mark.slow
@pytest.mark.parametrize("reference", [None, "sex=m"])
@pytest.mark.parametrize("other", [60, pytest.param(2500, marks=pytest.mark.gate)])
def test_changes_between_sums_are_those_between_rows(other, reference, monkeypatch):
    """The estimates are the same; buckets of lists vary as the lists do."""
    n_lists = 3000
    if other == 60:
        n_lists = 400
        for module in ("core.list_samples", "auditing.source_plans"):
            monkeypatch.setattr(f"equirank.{module}.MOST_LISTS", 200)
    now, before = summed(n_lists, 1, 0), summed(other, 2, 10_000, effect=0.0)
    settings = {"n_boot": 50, "n_permutations": 199, "reference": reference}
    settings |= {"protected": "sex=f", "k": 4}
    found = audit(now, unpaired=before, **settings)
    assert found.plan_of_rows is not None  # from sums
    assert found.facts["unpaired"]["n_queries"] == other
    monkeypatch.setattr("equirank.auditing.source_plans.MOST_LISTS", 10**9)
    rows, sums = changes(audit(now, unpaired=before, **settings)), changes(found)
    assert rows.keys() == sums.keys()
    assert len(rows) >= 3
    for key, wanted in rows.items():
        claim = sums[key]
        assert claim.test == "buckets of lists dealt anew between the files"
        np.testing.assert_allclose(claim.estimate, wanted.estimate, rtol=1e-10)
        np.testing.assert_allclose(claim.shares, wanted.shares, rtol=1e-10)
        assert claim.scope == wanted.scope
        width = (claim.high - claim.low) / (wanted.high - wanted.low)
        assert 0.85 < width < 1.15
    assert sums["change of position", "f"].status == "finding"


@pytest.mark.gate
def test_changes_of_decisions_about_some_people_from_sums(monkeypatch):
    def hired(n, seed):
        drawn = np.random.default_rng(seed).random(n)
        return np.where(drawn < 0.2, "", np.where(drawn < 0.6, "yes", "no"))

    now = summed(2600, 3, 0, hired=hired(2600 * 12, 4))
    before = summed(30, 5, 10_000, hired=hired(30 * 12, 6))
    few = before.select(slice(0, 8))
    for other in (before, few):
        settings = {"unpaired": other, "selected": "hired", "n_boot": 20, "n_permutations": 99}
        sums = changes(audit(now, **settings))
        with monkeypatch.context() as patch:
            patch.setattr("equirank.auditing.source_plans.MOST_LISTS", 10**9)
            rows = changes(audit(now, **settings))
        chosen = [key for key in rows if key[0] == "change of selected"]
        assert len(chosen) == 3
        assert other is before or any("Mantel" in sums[key].test for key in chosen)
        for key in chosen:
            np.testing.assert_allclose(sums[key].estimate, rows[key].estimate, rtol=1e-10)
            if other is few:
                assert sums[key].reason == rows[key].reason
                np.testing.assert_allclose(
                    [sums[key].low, sums[key].p], [rows[key].low, rows[key].p], rtol=1e-9
                )


@pytest.mark.gate
def test_sums_that_cannot_be_compared():
    first, other = sum_data(summed(2100, 7, 0), k=4), sum_data(summed(2100, 8, 5000), k=3)
    with pytest.raises(DataError, match="unpaired must be sums with the decisions of the others"):
        audit_sums(first, unpaired=other, n_boot=0)
    again = sum_data(summed(2100, 7, 0), k=4)
    with pytest.raises(DataError, match="unpaired must have other lists"):
        audit_sums(first, unpaired=again, n_boot=0)
    assert changes(audit_sums(first, unpaired=again, lists_differ=True, n_boot=0))
    with pytest.raises(DataError, match="lists_differ must be False without unpaired"):
        audit_sums(first, lists_differ=True)
    with pytest.raises(DataError, match="unpaired must be a ListSums, got int"):
        audit_sums(first, unpaired=3)
    with pytest.raises(DataError, match="reference groups"):
        audit_sums(
            first, unpaired=sum_data(summed(2100, 8, 5000), k=4, reference="sex=m"), n_boot=0
        )


@pytest.mark.gate
def test_equal_sums_show_no_change():
    """Findings between equal periods are as rare as the level says."""
    results = []
    for seed in range(8):
        now, before = (sum_data(summed(2100, 50 + seed + s, s)) for s in (0, 10_000))
        found = changes(audit_sums(now, unpaired=before, n_boot=20, n_permutations=199))
        results += [claim.p for claim in found.values()]
    assert 0.2 < np.mean(results) < 0.8
    assert np.mean(np.array(results) < 0.01) < 0.15
