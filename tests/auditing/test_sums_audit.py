"""Audits from sums over lists: the numbers of an audit of rows, without the rows."""

import numpy as np
import pytest

from equirank import AuditResult, DataError, as_ranking_data, audit, audit_sums
from equirank.auditing import source_plans as module
from equirank.core import list_samples, list_sums
from equirank.core.closed_shuffles import ClosedShuffles, ClosedValues
from equirank.core.list_sums import ListSums
from equirank.core.ranking import Ranking
from equirank.core.shuffles import normal_p
from equirank.core.summed_lists import Before, sum_data
from equirank.core.sums_plan import SumsPlan, Survey

#: What is estimated, by table; intervals and p-values are compared by their own tests.
VALUES = {
    "claims": ("estimate", "share", "other_share", "lists", "people", "median", "size"),
    "groups": ("size", "share", "n_queries", "mean_position", "position_difference", "exposure",
               "exposure_per_item", "merit", "merit_share"),
    "selection": ("selected", "size", "rate", "low", "high", "impact_ratio", "small_cell"),
    "unknown": ("size", "share", "n_queries", "mean_position", "exposure", "selected", "rate"),
    "decisions": ("selected", "people", "ratio", "ratio_low", "ratio_high", "pooled_ratio", "z",
                  "odds_ratio", "mh_test", "mh_p", "shortfall", "shortfall_reference", "lists"),
    "gaps": ("value", "n_queries", "n_skipped"),
    "metrics": ("value", "n_queries", "n_skipped"),
    "prefix_shares": ("k", "share", "pool_share", "band_low", "band_high", "n_queries"),
    "exposure_merit": ("exposure_share", "merit_share", "ratio"),
    "pairwise": ("accuracy", "n_pairs", "n_queries"),
    "profile": ("people", "selected", "rate", "share", "ratio_to_highest", "ratio_to_reference",
                "z", "low", "high", "fisher", "shortfall", "to_four_fifths"),
}  # fmt: skip


def made(seed=0, lists=150, unknown=0.0, shift=0.3, rare=False, blank=0.0, order=True):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 25, lists)
    n = int(sizes.sum())
    sex, race = rng.choice(["f", "m"], n).astype(object), rng.choice(list("abc"), n).astype(object)
    if rare:
        race[:] = "a"
        race[::97] = "b"
    y = rng.integers(0, 3, n)
    score = np.round(rng.normal(size=n) + 0.5 * y + shift * (sex == "m"), 1)
    sex[rng.random(n) < unknown] = None
    screened = (score + rng.normal(size=n) > 0).astype(object)
    hired = np.where(screened, rng.random(n) < 0.5, None)
    screened[rng.random(n) < blank] = None
    hired = np.where(screened == None, None, hired)  # noqa: E711
    return as_ranking_data(
        y=y, qid=np.repeat(np.arange(lists), sizes), score=score if order else None,
        sensitive_features={"sex": sex, "race": race}, missing_sensitive="unknown",
        outcomes={"screened": screened, "hired": hired},
    )  # fmt: skip


@pytest.fixture
def few(monkeypatch):
    """Keep the rows of few lists only, so that small data are audited from sums."""
    for where in (list_samples, module):
        monkeypatch.setattr(where, "MOST_LISTS", 40)


def differing(rows, sums, name):
    a, b = rows.tables[name], sums.tables[name]
    assert len(a) == len(b)
    for column in VALUES[name]:
        # Sums lack the counts of each list in the top k, on which ends of a ratio depend a little.
        near = column in ("ratio_low", "ratio_high") and "top" in a["decision"][0]
        np.testing.assert_allclose(
            b[column].astype(float), a[column].astype(float), rtol=0.01 if near else 1e-11,
            atol=1e-12, err_msg=f"{name} {column}",
        )  # fmt: skip


CASES = [
    ({}, {}),
    ({"unknown": 0.04}, {}),
    ({"lists": 80, "unknown": 0.04}, {"reference": ["race=a", "sex=m"], "k": 5}),
    ({"lists": 80, "blank": 0.1}, {"selected": "screened", "cross": False}),
    ({"lists": 80, "blank": 0.1, "unknown": 0.03}, {"selected": "screened", "profile": "ugesp"}),
    (
        {"lists": 80, "blank": 0.05, "unknown": 0.03},
        {"stages": ["screened", "hired"], "reference": "race=b", "cross": False},
    ),
    ({"lists": 80, "blank": 0.1, "order": False}, {"selected": "screened"}),
    ({"lists": 100, "unknown": 0.04}, {"scored": True, "metrics": "NDCG@10, NDCG@3", "k": 5}),
    ({"lists": 100}, {"scored": True, "metrics": "NDCG@5", "reference": "race=a", "cross": False}),
]
#: Those of make test: recorded decisions, and an order with scores, relevance and a reference.
CENTRAL = (3, 8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options"),
    [pytest.param(*CASES[at], marks=[] if at in CENTRAL else pytest.mark.gate, id=f"case {at}")
     for at in range(len(CASES))],
)  # fmt: skip
def test_values_are_those_of_the_rows(kind, options, monkeypatch):
    data = made(**kind)
    rows = audit(data, n_boot=300, n_permutations=999, **options)
    for where in (list_samples, module):
        monkeypatch.setattr(where, "MOST_LISTS", 40)
    sums = audit(data, n_boot=300, **options)
    assert sums.facts["sums"]["lists"] == 40
    for name in VALUES:
        differing(rows, sums, name)
    if "selected" in options or "stages" in options:
        a, b = rows.tables["decisions"], sums.tables["decisions"]
        for column in ("exact_p", "mid_p", "breslow_day_p", "to_four_fifths"):
            np.testing.assert_allclose(b[column], a[column], rtol=1e-9, err_msg=column)
        assert list(a["flip"]) == list(b["flip"])
        assert np.isfinite(a["exact_p"]).any()
    assert bool(len(sums.tables["profile"])) == ("profile" in options)
    for claim, other in zip(rows.claims, sums.claims, strict=True):
        assert (claim.quantity, claim.group, claim.scope) == (
            other.quantity, other.group, other.scope,
        )  # fmt: skip
        if claim.reason:
            assert other.reason == claim.reason
            continue
        error = 4 * np.sqrt(other.p * (1 - other.p) / 999) + 0.02
        if "exact" in claim.test and other.test.endswith("exact over lists"):
            assert other.p == pytest.approx(claim.p, rel=1e-9)
        error += 0.06 if "exact" in claim.test else 0.0  # counts are few
        assert abs(claim.p - other.p) < error
        assert claim.detectable == pytest.approx(other.detectable, rel=0.08)
        width = claim.high - claim.low
        assert other.high - other.low == pytest.approx(width, rel=0.35)
        assert other.interval_of == claim.interval_of == "lists"
        if abs(other.p_family - other.threshold) > 0.04:
            assert other.status == claim.status
    for name in ("gaps", "metrics"):
        a, b = rows.tables[name], sums.tables[name]
        np.testing.assert_allclose(b["high"] - b["low"], a["high"] - a["low"], rtol=0.3)
    same = (
        "n_rows",
        "n_queries",
        "list_length",
        "attributes",
        "ks",
        "tie_share",
        "step",
        "decisions",
    )
    for name in same:
        assert (
            rows.facts[name] == pytest.approx(sums.facts[name])
            if name == "tie_share"
            else (rows.facts[name] == sums.facts[name])
        )
    texts = " ".join(note["text"] for note in sums.notes)
    lists = kind.get("lists", 150)
    assert f"describe 40 of {lists} lists" in texts or "order" in kind
    assert AuditResult.from_json(sums.to_json()) == sums


@pytest.mark.slow
def test_sums_with_every_row_are_audited_as_rows():
    data = made(lists=30)
    sums = sum_data(data)
    assert sums.complete
    result = audit_sums(sums, n_boot=50, n_permutations=99)
    by_key = sums.kept.to_data(sums.plan)
    assert result == audit(by_key, n_boot=50, n_permutations=99)
    expected = audit(data, n_boot=50, n_permutations=99)
    for name in VALUES:
        differing(expected, result, name)


@pytest.mark.slow
def test_lists_are_listed_by_inequality(few):
    data = made()
    table = audit(data, n_boot=0, protected="sex=f").tables["queries"]
    rows = [row for row in table if row["attribute"] == "sex"]
    assert len(rows) == 150
    size = [abs(row["position_difference"]) / row["size"] for row in rows]
    assert size == sorted(size, reverse=True)
    assert rows[0]["ExposureGap"] > 0


@pytest.mark.gate
def test_rare_groups_are_tested_by_shuffles(few, monkeypatch):
    data = made(rare=True, lists=120)
    monkeypatch.setattr(list_sums, "MOST_RARE", 60)
    result = audit(data, n_boot=50, cross=False)
    tests = {c.quantity: c.test for c in result.claims if c.attribute == "race" and c.block == "i"}
    assert tests["exposure"] == "shuffled labels"
    exact = next(c for c in result.claims if c.attribute == "race" and c.quantity == "exposure")
    monkeypatch.setattr(list_samples, "MOST_LISTS", 2048)
    monkeypatch.setattr(module, "MOST_LISTS", 2048)
    rows = audit(data, n_boot=50, cross=False)
    other = next(c for c in rows.claims if c.attribute == "race" and c.quantity == "exposure")
    assert abs(exact.p - other.p) < 4 * np.sqrt(exact.p * (1 - exact.p) / 1000) + 0.01
    monkeypatch.setattr(list_samples, "MOST_LISTS", 40)
    monkeypatch.setattr(module, "MOST_LISTS", 40)
    monkeypatch.setattr(list_sums, "MOST_RARE", 1)
    result = audit(data, n_boot=50, cross=False)
    texts = " ".join(note["text"] for note in result.notes)
    assert 'The p-values of "b" (race) are approximate' in texts


@pytest.mark.slow
def test_days_are_merged_also_with_a_new_group(few, tmp_path):
    data = made(lists=160)
    early = data.select(np.arange(80))
    codes = early.attribute("race").codes
    early = as_ranking_data(
        y=early.y, qid=early.query_of_rows(), score=early.score,
        sensitive_features={
            "sex": early.attribute("sex").labels(),
            "race": np.where(codes == 2, "b", early.attribute("race").labels()),
        },
    )  # fmt: skip
    late = data.select(np.arange(80, 160))
    options = {"k": 10}
    days = [sum_data(early, **options), sum_data(late, **options)]
    if days[0].plan.step != days[1].plan.step:
        pytest.skip("lists of other lengths")
    for at, day in enumerate(days):
        day.save(tmp_path / f"{at}.sums")
    merged = ListSums.load(tmp_path / "0.sums") + ListSums.load(tmp_path / "1.sums")
    result = audit_sums(merged, n_boot=50)
    sizes = {row["group"]: row["size"] for row in result.tables["groups"]}
    assert sizes["c"] == (late.attribute("race").codes == 2).sum()
    assert result.facts["n_queries"] == 160


@pytest.mark.gate
def test_options_that_sums_do_not_have(few):
    data = made()
    sums = sum_data(data)
    with pytest.raises(DataError, match=r"measured by the sums \(ExposureGap, .*got RKL"):
        audit_sums(sums, metrics="RKL", n_boot=0)
    with pytest.raises(DataError, match="must compare with everyone else or the reference"):
        audit_sums(sums, gates=["any race selected vs a < 0.8"], n_boot=0)
    with pytest.raises(DataError, match="sums must be a ListSums, got RankingData"):
        audit_sums(data)
    with pytest.raises(DataError, match="gates must not compare scores, which need sums made with"):
        audit_sums(sums, gates=["sex=f scored < 0.8"], n_boot=0)
    assert "sums" in audit(data, gates=["sex=f scored < 0.8"], n_boot=0).facts
    described = audit(data, n_boot=0, n_permutations=0)
    assert {claim.status for claim in described.claims} == {"described"}
    assert np.isnan(described.tables["gaps"]["p_value"]).all()
    assert audit(data, n_boot=0).fails("raw: RND(by='sex') > 0.0001")
    assert not audit(data, n_boot=50).fails("Precision@3 < 0.01")  # computed later, from the rows


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lists", "size"), [(3, (30, 75)), pytest.param(30, (5, 40), marks=pytest.mark.gate)]
)
def test_closed_tests_keep_their_level(lists, size):
    rng = np.random.default_rng(20)
    found, gaps = [], []
    for _ in range(150):
        sizes = rng.integers(*size, lists)
        n = int(sizes.sum())
        data = as_ranking_data(
            qid=np.repeat(np.arange(lists), sizes), score=np.round(rng.normal(size=n), 1),
            sensitive_features=rng.choice(list("aaab"), n),
        )  # fmt: skip
        sums = sum_data(data)
        closed = ClosedShuffles.of(sums, [0], 0)
        found.append(normal_p(closed.z[0, :3]))
        total = sums.sums["gaps"][:, 0].sum(axis=0)
        gaps.append(total[2] / np.sqrt(total[3]))
    share = (np.array(found) < 0.05).mean(axis=0)
    assert (share < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)).all()
    assert abs(np.mean(gaps)) < 0.3


@pytest.mark.gate
def test_unknown_labels_are_judged_by_the_rows_in_memory(monkeypatch):
    data = made(unknown=0.15, shift=2.0, lists=60)
    rows = audit(data, n_boot=100, n_permutations=499, cross=False)
    for where in (list_samples, module):
        monkeypatch.setattr(where, "MOST_LISTS", 40)
    sums = audit(data, n_boot=100, cross=False)
    assert not sums.facts["sums"]["sampled"]
    a, b = rows.tables["labels"], sums.tables["labels"]
    assert len(a) == len(b) > 0
    for name in a.columns:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
    assert rows.facts["labels"] == sums.facts["labels"]
    judged = 0
    for claim, other in zip(rows.claims, sums.claims, strict=True):
        assert (claim.status, claim.answer) == (other.status, other.answer)
        assert claim.labels == pytest.approx(other.labels, nan_ok=True)
        judged += claim.answer != "known"
    assert judged


@pytest.mark.gate
def test_unknown_labels_are_judged_by_a_sample_without_the_rows(monkeypatch):
    data = made(unknown=0.15, shift=2.0, lists=200)
    rows = audit(data, n_boot=200, n_permutations=499, cross=False)
    for where in (list_samples, module):
        monkeypatch.setattr(where, "MOST_LISTS", 100)
    sums = audit_sums(sum_data(data, cross=False), n_boot=200)
    assert sums.facts["sums"]["sampled"]
    assert "was computed from these 100 lists" in " ".join(note["text"] for note in sums.notes)
    pairs = [(a, b) for a, b in zip(rows.claims, sums.claims, strict=True) if b.labels]
    findings = [b for _, b in pairs if b.status == "finding"]
    assert findings
    assert all("sample of the lists" in claim.sentence for claim in findings)
    for whole, part in pairs:
        if "bounds_low" not in part.labels:
            continue
        assert part.labels["sampled"] == 1.0
        # intervals of a sample contain the bounds of all lists, up to their level
        low, high = (whole.labels[f"bounds_{end}"] for end in ("low", "high"))
        slack = 0.1 * (high - low)
        assert part.labels["bounds_low"] < low + slack
        assert part.labels["bounds_high"] > high - slack


def other_ranking(data, seed=1, share=0.3, shift=0.4):
    """Return another order of the same people, in which a share of them moved."""
    rng = np.random.default_rng(seed)
    moved = rng.random(data.n_rows) < share
    score = np.asarray(data.score) - shift * (data.attribute("sex").codes == 0) * moved
    other = Ranking.from_scores(data, np.round(score + rng.normal(0, 0.1, len(score)) * moved, 1))
    return Ranking(data, other.position, other.last)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"reference": "race=a", "cross": False},
        pytest.param({}, marks=pytest.mark.gate),
        pytest.param({"cut": 5}, marks=pytest.mark.gate),
    ],
)
def test_changes_are_those_of_the_rows(options, monkeypatch):
    data = made(lists=120, unknown=0.03)
    before, after = other_ranking(data), data
    cut = options.get("cut")
    options = {name: value for name, value in options.items() if name != "cut"}
    if cut:  # everyone else of the cut ranking is compared with the first of the other
        whole = Ranking.from_scores(data, -before.position.astype(float), ties="stable")
        before = Ranking(data, whole.position)
        shown = data.ranking("stable").position
        after = Ranking(data, np.where(shown <= cut, shown, 0).astype(np.int32))
    options = options | {"against": before, "k": 4, "n_boot": 300}
    rows = audit(after, n_permutations=999, **options)
    for where in (list_samples, module):
        monkeypatch.setattr(where, "MOST_LISTS", 40)
    sums = audit(after, **options)
    assert sums.facts["sums"]["lists"] == 40
    assert sums.facts["against"] == rows.facts["against"]
    changes = [(a, b) for a, b in zip(rows.claims, sums.claims, strict=True) if a.block == "iii"]
    assert len(changes) >= 3 or cut
    for claim, other in changes:
        assert (claim.quantity, claim.group, claim.scope, claim.reason) == (
            other.quantity, other.group, other.scope, other.reason,
        )  # fmt: skip
        assert (other.direction, other.unit) == (claim.direction, claim.unit)
        assert other.estimate == pytest.approx(claim.estimate, rel=1e-9, abs=1e-12)
        assert other.shares == pytest.approx(claim.shares, rel=1e-9)
        if not claim.reason:
            assert other.detectable == pytest.approx(claim.detectable, rel=0.1)
            error = 4 * np.sqrt(other.p * (1 - other.p) / 999) + 0.02
            error += 0.06 if "selected" in claim.quantity else 0.0  # counts are few
            assert abs(claim.p - other.p) < error
            assert other.high - other.low == pytest.approx(claim.high - claim.low, rel=0.35)
    a, b = rows.tables["comparison"], sums.tables["comparison"]
    assert len(a) == len(b)
    for column in ("value", "other", "difference", "n_queries"):
        np.testing.assert_allclose(b[column], a[column], rtol=1e-9, atol=1e-12)
    some = np.isfinite(a["p_value"])
    assert np.abs(a["p_value"] - b["p_value"])[some].max() < 0.12
    np.testing.assert_allclose((b["high"] - b["low"])[some], (a["high"] - a["low"])[some], rtol=0.4)


@pytest.mark.gate
def test_few_lists_that_moved_are_tested_by_shuffles(few, monkeypatch):
    data = made(lists=150)
    few_moved = np.asarray(data.score).copy()
    few_moved[data.offsets[3] : data.offsets[9]] *= -1.0
    other = Ranking.from_scores(data, few_moved)
    options = {"against": Ranking(data, other.position, other.last), "n_boot": 50, "cross": False}
    sums = audit(data, **options)
    tests = {c.test for c in sums.claims if c.block == "iii"}
    assert "shuffled labels" in tests
    monkeypatch.setattr(list_samples, "MOST_LISTS", 2048)
    monkeypatch.setattr(module, "MOST_LISTS", 2048)
    rows = audit(data, **options)
    for claim, other in zip(rows.claims, sums.claims, strict=True):
        if other.test == "shuffled labels" and claim.block == "iii":
            assert abs(claim.p - other.p) < 4 * np.sqrt(claim.p * (1 - claim.p) / 1000) + 0.01
    monkeypatch.setattr(list_samples, "MOST_LISTS", 40)
    monkeypatch.setattr(module, "MOST_LISTS", 40)
    monkeypatch.setattr(list_sums, "MOST_RARE", 2)
    result = audit(data, **options)
    assert any("approximate" in c.test for c in result.claims if c.block == "iii")


@pytest.mark.slow
def test_nobody_moved_and_other_people_are_said(few):
    data = made()
    same = audit(
        data, against=Ranking(data, data.ranking().position, data.ranking().last), n_boot=0
    )
    assert "Nobody moved." in same.verdict
    table = same.tables["comparison"]
    assert np.abs(table["difference"]).max() < 1e-12
    people, numbered, later = (
        as_ranking_data(
            y=data.y, qid=data.query_of_rows() + lists, score=data.score,
            ids=np.arange(data.n_rows) + first,
            sensitive_features={name: data.attribute(name).labels() for name in data.sensitive},
        )
        for first, lists in ((0, 0), (1, 0), (0, 10_000))
    )  # fmt: skip
    refused = audit(people, against=numbered, n_boot=0)
    assert any(claim.status == "refused" for claim in refused.claims)
    assert len(refused.tables["comparison"])
    with pytest.raises(DataError, match="share at least one list"):
        audit(people, against=later, n_boot=0)


@pytest.mark.gate
@pytest.mark.parametrize("kind", ["score", "gain", "change"])
def test_closed_tests_of_given_values_keep_their_level(kind):
    """Fair lists: scores and orders do not depend on labels, also given relevance."""
    rng, found = np.random.default_rng(21), []
    for _ in range(150):
        sizes = rng.integers(8, 30, 30)
        n = int(sizes.sum())
        y = rng.integers(0, 3, n)
        label = np.where(rng.random(n) < 0.2 + 0.15 * (kind == "gain") * y, "a", "b")
        data = as_ranking_data(
            y=y, qid=np.repeat(np.arange(30), sizes),
            score=np.round(rng.normal(size=n) + 0.5 * y, 1), sensitive_features=label,
        )  # fmt: skip
        before = Ranking.from_scores(data, np.asarray(data.score) + rng.normal(0, 0.3, n))
        before = Ranking(data, before.position, before.last)
        options = {"scored": kind == "score", "changed": kind == "change", "k": 5}
        plan = SumsPlan.of(Survey.of(data, True), metrics=["NDCG@10"], **options)
        old = Before.of(data, before, plan, before) if kind == "change" else None
        sums = sum_data(data, plan, before=old)
        name = {"gain": "NDCG@10"}.get(kind, kind)
        change = {"n_averaged": 2, "studentized": True} if kind == "change" else {}
        closed = ClosedValues.of_values(sums.given(name), [0], 0, None, **change)
        n_tested = {"score": 2, "gain": 1, "change": 4}[kind]
        found.append(normal_p(closed.z[0, :n_tested]))
    share = (np.array(found) < 0.05).mean(axis=0)
    assert (share < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)).all()
    assert (share > 0).all()
