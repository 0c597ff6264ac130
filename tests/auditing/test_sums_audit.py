"""Audits from sums over lists: the numbers of an audit of rows, without the rows."""

import numpy as np
import pytest

from equirank import AuditResult, DataError, as_ranking_data, audit, audit_sums
from equirank.auditing import sums_audit as module
from equirank.core import list_samples, list_sums
from equirank.core.closed_shuffles import ClosedShuffles
from equirank.core.list_sums import ListSums, sum_data
from equirank.core.shuffles import normal_p
from equirank.core.table import Table
from equirank.metrics import NDCG

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
    if name == "profile":
        a = [row for row in a if row["rate_of"] == "selection"]
        a = Table({column: [row[column] for row in a] for column in VALUES[name]})
    assert len(a) == len(b)
    for column in VALUES[name]:
        np.testing.assert_allclose(
            b[column].astype(float), a[column].astype(float), rtol=1e-11, atol=1e-12,
            err_msg=f"{name} {column}",
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
]


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_values_are_those_of_the_rows(kind, options, monkeypatch):
    data, unknown = made(**kind), kind.get("unknown", 0.0)
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
        if abs(other.p_family - other.threshold) > 0.02:
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
    assert ("not bounded for so many lists" in texts) == bool(unknown)
    assert AuditResult.from_json(sums.to_json()) == sums


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


def test_lists_are_listed_by_inequality(few):
    data = made()
    table = audit(data, n_boot=0, protected="sex=f").tables["queries"]
    rows = [row for row in table if row["attribute"] == "sex"]
    assert len(rows) == 150
    size = [abs(row["position_difference"]) / row["size"] for row in rows]
    assert size == sorted(size, reverse=True)
    assert rows[0]["ExposureGap"] > 0


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


def test_options_that_sums_do_not_have(few):
    data = made()
    sums = sum_data(data)
    with pytest.raises(DataError, match=r"measured by the sums \(ExposureGap, .*got RKL"):
        audit_sums(sums, metrics="RKL", n_boot=0)
    with pytest.raises(DataError, match="must compare with everyone else or the reference"):
        audit_sums(sums, gates=["any race selected vs a < 0.8"], n_boot=0)
    with pytest.raises(DataError, match="sums must be a ListSums, got RankingData"):
        audit_sums(data)
    assert "sums" not in audit(data, metrics=NDCG(k=5), n_boot=0, n_permutations=0).facts
    described = audit(data, n_boot=0, n_permutations=0)
    assert {claim.status for claim in described.claims} == {"described"}
    assert np.isnan(described.tables["gaps"]["p_value"]).all()
    assert audit(data, n_boot=0).fails("raw: RND(by='sex') > 0.0001")
    assert not audit(data, n_boot=50).fails("Precision@3 < 0.01")  # computed later, from the rows


@pytest.mark.parametrize(("lists", "size"), [(3, (30, 75)), (30, (5, 40))])
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


def test_sums_decide_nothing_where_many_labels_are_unknown(monkeypatch):
    assert "sums" not in audit(made(unknown=0.15), n_boot=0).facts  # rows have bounds
    for where in (list_samples, module):
        monkeypatch.setattr(where, "MOST_LISTS", 40)
    few, many = (
        audit_sums(sum_data(made(unknown=share, shift=2.0).ranking()), n_boot=300)
        for share in (0.04, 0.15)
    )
    assert any(claim.status == "finding" for claim in few.claims)
    assert not any(claim.status == "finding" for claim in many.claims)
    assert any("sums over lists have no bounds" in claim.reason for claim in many.claims)
