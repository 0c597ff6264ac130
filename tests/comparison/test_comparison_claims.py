"""Claims of a comparison: the corrected tests behind every sentence, and the sentences."""

import json
import re
from itertools import combinations, product
from math import isnan, nan, sqrt

import numpy as np
import pytest
from comparison_methods import Weights

from equirank import Comparison, as_ranking_data
from equirank.comparison.cell import Cell
from equirank.comparison.comparison_claims import lead, top_methods
from equirank.comparison.comparison_page import render, verdict, with_family_p
from equirank.comparison.folds import Fold
from equirank.comparison.paired import Sample, family_tests
from equirank.core.registry import parse_metrics

METRICS = ("NDCG@10", "RND@50", "ERR")


def made(values, failed=(), level=0.95, unit="queries"):
    """A comparison of methods with given values: per method, metrics x queries (at most three)."""
    n = len(next(iter(values.values()))[0])
    names = METRICS[: len(next(iter(values.values())))]
    half = n // 2
    folds = [Fold(0, 0, np.arange(half, n), np.arange(half))]
    folds += [Fold(1, 0, np.arange(half), np.arange(half, n))]
    cells = {}
    for method, table in values.items():
        cells[method] = []
        for at, fold in enumerate(folds):
            part = {m: np.asarray(v, float)[fold.test] for m, v in zip(names, table, strict=True)}
            means = {m: float(np.nan_to_num(v).mean()) for m, v in part.items()}
            bad = at == 1 and method in failed
            cell = Cell({}, {}, {}, 1.0, 0.0, "ValueError: no", "trace")
            cells[method].append(cell if bad else Cell(part, means, {}, 1.0, 0.5))
    return Comparison(
        estimators={name: Weights() for name in values},
        metrics=parse_metrics(list(names)),
        folds=folds,
        queries=[fold.test for fold in folds],
        cells=cells,
        unit=unit,
        chance=dict.fromkeys(names, 0.1),
        level=level,
        data=as_ranking_data(np.zeros((n, 1)), np.ones(n), qid=np.arange(n)),
    )


def random_values(seed, n_methods=5, n_metrics=3, n=24):
    """Values of methods of which some are equal and some are apart."""
    rng = np.random.default_rng(seed)
    lists = rng.random((n_metrics, n))
    shifts = rng.choice([0.0, 0.0, 0.1, 0.3], size=(n_methods, n_metrics, 1))
    return {
        f"m{i}": lists + shifts[i] + rng.normal(scale=0.15, size=(n_metrics, n))
        for i in range(n_methods)
    }


def pair(result, metric, one, other):
    return next(
        c for c in result.claims if c.quantity == metric and {c.group, c.against} == {one, other}
    )


def test_best_only_where_the_test_separates_it_from_all_others():
    rng = np.random.default_rng(0)
    base = rng.random(30)
    one = made({"a": [base], "b": [base + 0.3 + rng.normal(scale=0.05, size=30)]})
    said = verdict(one)[1]
    assert said.startswith("By NDCG@10, b is best with 0.8")
    assert "The paired test separates it from a (by 0.31, 95% confidence interval 0.3" in said
    assert pair(one, "NDCG@10", "a", "b").group == "b"
    noise = rng.normal(scale=0.05, size=(2, 30))
    two = made({"a": [base], "b": [base + 0.3 + noise[0]], "c": [base + 0.301 + noise[1]]})
    said = verdict(two)[1]
    assert not re.search(r"\bbest\b", " ".join(verdict(two)))
    top, other = top_methods(two.claims, two.metrics[0], two.methods)
    assert {top, other} == {"b", "c"}
    assert said.startswith(f"By NDCG@10, {top} (")
    assert f"cannot be told apart from {other} (" in said
    assert f"The paired test separates {top} from a (by " in said
    assert f"It also separates {other} from a (p = 0.0005)." in said
    assert (
        verdict(two)[-1] == "P-values are corrected for 3 comparisons of two methods in one metric."
    )


def test_a_finding_in_another_metric_is_in_the_lead():
    """The page said who is best by the first metric, and left out its one significant result."""
    rng = np.random.default_rng(1)
    ndcg, rnd = rng.random((2, 24))
    noise = rng.normal(scale=0.1, size=(2, 24))
    found = made({"x": [ndcg, rnd], "y": [ndcg + noise[0] * 0.1, rnd - 0.2 + noise[1] * 0.1]})
    assert [c.status for c in found.claims if c.against] == ["cannot_tell", "finding"]
    said = verdict(found)
    assert "cannot be told apart" in said[1]
    assert said[2].startswith("By RND@50 (lower is better), y is best with ")
    claim = pair(found, "RND@50", "x", "y")
    assert (claim.group, claim.direction) == ("y", "lower")
    assert claim.low <= claim.estimate <= claim.high < 0
    assert claim.sentence.startswith("y has 0.2 less RND@50 than x (95% confidence interval -0.")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_every_finding_is_said_and_no_superlative_lacks_its_test(seed):
    result = made(random_values(seed), failed=["m4"] if seed % 3 == 0 else [])
    whole = [m for m in result.methods if m not in result.first_errors()]
    statements = lead(result.claims, result.metrics, whole)
    by_id = {claim.id: claim for claim in result.claims}
    findings = {claim.id for claim in result.claims if claim.status == "finding"}
    said = {one for statement in statements for one in statement.claims}
    assert findings <= said
    for statement in statements[:-1]:
        own = [by_id[one] for one in statement.claims]
        for claim in own:
            if claim.status == "finding":
                assert claim.group in statement.text
                assert claim.against in statement.text
        best = re.search(r"By (\S+)(?: \(lower is better\))?, (\w+) is best", statement.text)
        if best:
            mine = [pair(result, best[1], best[2], m) for m in whole if m != best[2]]
            assert {(claim.status, claim.group) for claim in mine} == {("finding", best[2])}
    assert verdict(result)[1 : 1 + len(statements)] == [s.text for s in statements]
    assert all("m4" not in {c.group, c.against} or seed % 3 for c in map(by_id.get, findings))


def test_numbers_in_the_sentences_are_those_of_the_claims():
    result = made(random_values(3))
    by_id = {claim.id: claim for claim in result.claims}
    for statement in lead(result.claims, result.metrics, result.methods):
        own = [by_id[one] for one in statement.claims]
        values = [v for c in own for v in (c.estimate, c.low, c.high, c.p_family)]
        known = [abs(v) for v in values if not isnan(v)] + [float(len(own))]
        text = re.sub(r"\bm\d\b|@\d+|95%", "", statement.text)
        for word in re.findall(r"\d+(?:\.\d+)?", text):
            digits = len(word.partition(".")[2])
            assert any(abs(v - float(word)) <= 0.5000001 * 10**-digits for v in known), word


def test_a_failed_method_is_described_and_leads_nothing():
    rng = np.random.default_rng(2)
    base = rng.random(20)
    found = made(
        {"a": [base], "b": [base - 0.2 + rng.normal(size=20) / 50], "c": [base + 1]}, ["c"]
    )
    assert pair(found, "NDCG@10", "a", "c").status == "described"
    assert pair(found, "NDCG@10", "a", "c").sentence == (
        "c and a were not tested for a difference in NDCG@10: one of them failed in some folds."
    )
    assert verdict(found)[1].startswith(
        "By NDCG@10, a is best of the methods that finished every fold, with "
    )
    table = with_family_p(found, "a")
    assert dict(zip(table["method"], table["p_family"] <= 0.05, strict=True))["b"]
    assert isnan(dict(zip(table["method"], table["p_family"], strict=True))["c"])
    assert "c failed in 1 of 2 cells: ValueError: no" in verdict(found)


def test_few_lists_tell_nothing():
    found = made({"a": [[0.1, 0.2]], "b": [[0.8, 0.9]]})
    assert pair(found, "NDCG@10", "a", "b").p_family == 0.5
    assert "b (0.85) cannot be told apart from a (0.15)" in verdict(found)[1]
    none = made({"a": [[0.1, nan]], "b": [[0.8, 0.9]]})
    assert pair(none, "NDCG@10", "a", "b").status == "described"
    assert "Not tested: 1 queries with both values are too few." in verdict(none)[1]


def slow_family(table):
    """Own and step-down maxT p-values of the columns, by all signs."""
    n, m = table.shape
    scale = [sqrt(sum(v * v for v in table[:, j])) or 1.0 for j in range(m)]

    def z(signs):
        return [
            abs(sum(s * v for s, v in zip(signs, table[:, j], strict=True))) / scale[j]
            for j in range(m)
        ]

    draws = [z(signs) for signs in product((1, -1), repeat=n)]
    seen = z([1] * n)
    own = [sum(d[j] >= seen[j] - 1e-9 for d in draws) / len(draws) for j in range(m)]
    family, floor = [nan] * m, 0.0
    left = sorted(range(m), key=lambda j: -seen[j])
    while left:
        j = left[0]
        hits = sum(max(d[i] for i in left) >= seen[j] - 1e-9 for d in draws)
        floor = max(floor, hits / len(draws))
        family[j] = floor
        left = left[1:]
    return own, family


def samples_of(values, unit="queries", ratio=0.5):
    return [Sample(np.asarray(row, float), np.arange(len(row)), ratio, unit) for row in values]


@pytest.mark.parametrize("seed", range(4))
def test_family_p_values_against_a_slow_twin(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(4, 8)) + np.array([[0.0], [0.2], [1.0], [2.0]])
    pairs = list(combinations(samples_of(values), 2))
    rows = family_tests(pairs, [True] * len(pairs), 0.95)
    own, family = slow_family(np.stack([a.values - b.values for a, b in pairs], axis=1))
    assert [row["p"] for row in rows] == pytest.approx(own)
    assert [row["p_family"] for row in rows] == pytest.approx(family)


def test_folds_have_holm_and_two_kinds_of_units_share_the_error():
    rng = np.random.default_rng(5)
    values = rng.normal(size=(3, 6)) + np.array([[0.0], [2.0], [3.0]])
    by_fold = list(combinations(samples_of(values, "folds"), 2))
    alone = family_tests(by_fold, [True] * 3, 0.95)
    p = sorted(row["p"] for row in alone)
    assert min(row["p_family"] for row in alone) == pytest.approx(min(1, 3 * p[0]))
    by_query = list(combinations(samples_of(values), 2))
    queries = family_tests(by_query, [True] * 3, 0.95)
    both = family_tests([*by_fold, *by_query], [True] * 6, 0.95)
    for row, single in zip(both, [*alone, *queries], strict=True):
        assert row["p"] == single["p"]
        assert row["p_family"] == pytest.approx(min(1.0, 2 * single["p_family"]))


@pytest.mark.slow
def test_equal_methods_are_rarely_said_to_differ():
    rng = np.random.default_rng(6)
    runs, wrong = 200, 0
    for _ in range(runs):
        pairs = list(combinations(samples_of(rng.exponential(size=(5, 20))), 2))
        rows = family_tests(pairs, [True] * len(pairs), 0.95)
        wrong += any(row["p_family"] <= 0.05 for row in rows)
    assert wrong / runs <= 0.05 + 3 * sqrt(0.05 * 0.95 / runs)


@pytest.mark.slow
def test_the_page_shows_the_sentences_and_marks_the_methods_at_the_top():
    rng = np.random.default_rng(7)
    base = rng.random(24)
    values = {"low": [base], "one": [base + 0.5], "two": [base + 0.5 + rng.normal(size=24) / 50]}
    result = made(values)
    page = render(result)
    words = re.sub(r"<script.*?</script>|</?small>", "", page, flags=re.S)
    for sentence in verdict(result):
        assert sentence in words
    assert not re.search(r"\bbest\b", words)
    cells = re.findall(r'<bdi class="name">(\w+)</bdi></th><td class="n">(<b>)?\d', words)
    assert [name for name, bold in cells[:3] if bold] == ["one", "two"]
    payload = json.loads(re.search(r'<script[^>]*id="result"[^>]*>(.*?)</script>', page, re.S)[1])
    assert [claim["id"] for claim in payload["claims"]] == [claim.id for claim in result.claims]
