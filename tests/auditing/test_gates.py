"""Gates: read by their grammar, judged by estimate, bound and test, silent on fair data."""

from dataclasses import replace

import numpy as np
import pytest
from sample_audit import sample_claim

from equirank import AuditResult, DataError, audit
from equirank.auditing.gates import AnyFinding, GroupGate, MetricGate, count_comparisons, read_gate
from equirank.datasets import load_hiring
from equirank.metrics import NDCG, RND, AdverseImpactRatio, ExposureGap
from equirank.reports.number_words import p_words
from equirank.reports.number_words import ratio as written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sex=female selected < 0.8", ("sex", "female", "selected", "rest", None, "<", 0.8, False)),
        ("female selected at 10<0.8", ("", "female", "selected", "rest", 10, "<", 0.8, False)),
        ("any race exposure<=.8", ("race", "", "exposure", "rest", None, "<=", 0.8, False)),
        ("sex=female above < 0.4", ("sex", "female", "above", "rest", None, "<", 0.4, False)),
        ("sex=female positions >= 3 observed",
         ("sex", "female", "positions", "rest", None, ">=", 3.0, True)),
        ("any race selected vs White at 5 < 1e-1",
         ("race", "", "selected", "White", 5, "<", 0.1, False)),
        ("race='a < b' above < 0.4", ("race", "a < b", "above", "rest", None, "<", 0.4, False)),
        ('"under 35" exposure < 0.9', ("", "under 35", "exposure", "rest", None, "<", 0.9, False)),
        ("any 'age group' above < 0.4", ("age group", "", "above", "rest", None, "<", 0.4, False)),
        # A group may be called as a quantity is.
        ("selected selected < 0.8", ("", "selected", "selected", "rest", None, "<", 0.8, False)),
    ],
)  # fmt: skip
def test_reading_comparisons(text, expected):
    gate = read_gate(f" {text} ")
    fields = ("attribute", "group", "quantity", "against", "k", "sign", "limit", "observed")
    assert isinstance(gate, GroupGate)
    assert tuple(getattr(gate, name) for name in fields) == expected


@pytest.mark.parametrize(
    ("text", "metric", "part", "sign", "limit", "raw"),
    [
        ("RND@50>0.3", RND @ 50, "", ">", 0.3, False),
        ("RND@50.low > 0.3", RND @ 50, "low", ">", 0.3, False),
        ("RND(step=5)@50.high >= 1e-3", RND(step=5) @ 50, "high", ">=", 0.001, False),
        ("AdverseImpactRatio@5.high < 0.8", AdverseImpactRatio(k=5), "high", "<", 0.8, False),
        ("RND(by='race')@50 > 0.3", RND(by="race") @ 50, "", ">", 0.3, False),
        ("raw: RND@50 > 0.3", RND @ 50, "", ">", 0.3, True),
        ("raw:NDCG@10<.5", NDCG @ 10, "", "<", 0.5, True),
        ("raw: ndcg_10.low < .5", NDCG @ 10, "low", "<", 0.5, True),
        ('ExposureGap(by="sex", protected="a>b").p_value<0.05',
         ExposureGap(by="sex", protected="a>b"), "p_value", "<", 0.05, False),
    ],
)  # fmt: skip
def test_reading_metrics(text, metric, part, sign, limit, raw):
    gate = read_gate(text)
    assert isinstance(gate, MetricGate)
    found = gate.metric, gate.part, gate.sign, gate.limit, gate.raw
    assert found == (metric, part, sign, limit, raw)


def test_reading_findings():
    assert read_gate("any finding") == AnyFinding("any finding", "")
    assert read_gate("any  finding in 'age group'").attribute == "age group"


@pytest.mark.parametrize(
    "text",
    [
        *("RND@50", "RND@50>", ">0.3", "RND@50>x", "RND@50=0.3", "RND@50>nan", "", "0.3<RND@50"),
        *("sex=female selected", "sex=female selected < 0.8 often", "sex='female selected < 0.8"),
        *("sex=female selected at ten < 0.8", "sex=female selected at 0 < 0.8"),
        *("sex=female selected vs < 0.8", "sex=female selected in 10 < 0.8"),
    ],
)
def test_what_cannot_be_read_says_how_one_looks(text):
    with pytest.raises(DataError, match=r"cannot be read; it looks like \"sex=female selected"):
        read_gate(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("NDGC@50>0.3", "'NDGC@50' is not known; did you mean 'NDCG'"),
        ("RND@50.middle>0.3", r"'RND@50\.middle' cannot be read"),
        ("RND@50 > 0.3 observed", "for a metric write 'raw:'"),
        ("sex=female above stage hired < 0.4", "'stage' applies to 'selected' only"),
        ("sex=female score < 0.2", "their score is 0, which is < 0.2"),
        ("any race scored vs White < 1.2", "their scored is 1, which is < 1.2"),
        ("sex=female above at 10 < 0.4", "'at' applies to 'selected' only"),
        ("sex=female selected < 1.2", "must hold for equal groups, but their selected is 1, which"),
        ("sex=female exposure >= 1", "must hold for equal groups"),
        ("sex=female above < 0.6", "their above is 0.5, which is < 0.6"),
        ("sex=female positions > -1", "their positions is 0, which is > -1"),
        ("RND@50 >= 0", "their RND is 0, which is >= 0"),
        ("AdverseImpactRatio@5 <= 1", "their AdverseImpactRatio is 1, which is <= 1"),
    ],
)
def test_what_is_wrong_is_told(text, said):
    with pytest.raises(DataError, match=said):
        read_gate(text)


@pytest.fixture(scope="module")
def biased():
    """Six lists of 24 in which group f is ranked low, and a fair second attribute."""
    rng = np.random.default_rng(5)
    sex = np.tile(list("fffffffffmmmmmmmmmmmmmmm"), 6)
    score = rng.normal(size=len(sex)) - 1.1 * (sex == "f")
    team = rng.choice(["red", "blue", "green"], len(sex))
    return audit(
        score=score,
        query=np.repeat(range(6), 24),
        sensitive={"sex": sex, "team": team},
        k=[5, 8],
        cross=False,
        n_boot=200,
        n_permutations=999,
    )


def claim_of(result, quantity, k=None, attribute="sex"):
    return next(
        claim
        for claim in result.claims
        if (claim.quantity, claim.attribute) == (quantity, attribute)
        and claim.scope.get("k") == k
        and claim.block == "i"
    )


@pytest.mark.slow
def test_a_gate_reads_its_claim(biased):
    claim = claim_of(biased, "selected", 5)
    assert (claim.group, claim.status) == ("f", "finding")
    (line,) = biased.failures("sex=f selected at 5 < 0.8")
    assert line == (
        f"sex=f selected at 5 < 0.8: selected of sex=f at 5 is {written(claim.estimate)} (at most "
        f"{written(claim.bounds[1])} with 95% confidence, {p_words(claim.p)})"
    )
    for text in ("f exposure < 0.95", "f above < 0.4", "f positions > 2", "any sex above < 0.4"):
        assert biased.fails(text), text
    assert biased.failures("any team above < 0.4") == []
    assert not biased.fails("any team exposure < 0.8")


def test_without_a_cut_every_cut_counts(biased):
    lines = biased.failures("sex=f selected < 0.8")
    assert [line.partition(" is ")[0].rpartition(" ")[2] for line in lines] == ["5", "8"]
    with pytest.raises(DataError, match="k = 10 is not a cutoff of this audit"):
        biased.fails("sex=f selected at 10 < 0.8")


def test_the_other_of_two_groups_is_the_mirror_image(biased):
    claim = claim_of(biased, "selected", 5)
    (line,) = biased.failures("sex=m selected at 5 > 1.25")
    assert f"selected of sex=m at 5 is {written(1 / claim.estimate)} (at least" in line
    assert f"{written(1 / claim.bounds[1])} with 95%" in line
    value = claim_of(biased, "position").also["positions"][0]
    (line,) = biased.failures("sex=m positions < -2")
    assert f"is {written(-value)} (at most" in line
    assert biased.fails("sex=m above > 0.6")
    assert not biased.fails("sex=m above < 0.4")
    (row,) = [row for row in biased.tables["groups"] if row["group"] == "m"]
    (line,) = biased.failures("sex=m exposure > 1.01")
    assert f"exposure of sex=m is {written(row['exposure'] / row['share'])} (at least" in line


def told(claim):
    """Return an audit whose only claim is this one."""
    sex = {"name": "sex", "groups": [{"name": name} for name in "fmx"], "protected": []}
    facts = {"attributes": [sex], "decisions": [], "n_permutations": 1999, "n_boot": 1000}
    return AuditResult(facts, [claim], {})


@pytest.mark.parametrize(
    ("estimate", "bound", "p", "fires"),
    [
        (0.7, 0.79, 0.05, True),
        (0.81, 0.79, 0.01, False),  # the estimate does not break the number
        (0.7, 0.81, 0.01, False),  # its bound does not
        (0.7, 0.79, 0.06, False),  # chance may do this
    ],
)
def test_three_conditions(estimate, bound, p, fires):
    ratio = {"quantity": "exposure", "unit": "ratio", "estimate": estimate, "p": p}
    claim = replace(sample_claim("c1", "sex", "f"), bounds=(0.1, bound), **ratio)
    assert told(claim).fails("sex=f exposure < 0.8") is fires
    # `observed` compares the bare number.
    assert told(claim).fails("sex=f exposure < 0.8 observed") is (estimate < 0.8)


def test_the_comparisons_of_all_gates_share_five_percent():
    claim = replace(
        sample_claim("c1", "sex", "f"), quantity="exposure", unit="ratio", estimate=0.5,
        bounds=(0.4, 0.6), p=0.03,
    )  # fmt: skip
    result = told(claim)
    assert result.fails("sex=f exposure < 0.8")
    assert result.failures(["sex=f exposure < 0.8", "any finding"]) == [
        f"any finding: {claim.sentence}"
    ]
    assert not result.fails(["sex=f exposure < 0.8", "sex=f exposure < 0.7"])


def test_any_finding_is_judged_by_its_status(biased):
    assert biased.failures("any finding") == [
        f"any finding: {claim.sentence}" for claim in biased.claims if claim.status == "finding"
    ]
    assert biased.fails("any finding in sex")
    assert not biased.fails("any finding in team")
    with pytest.raises(DataError, match="must name one of the attributes sex, team"):
        biased.fails("any finding in race")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("race=x above < 0.4", "must name one of the attributes sex, team, got 'race'"),
        ("sexx=f above < 0.4", "did you mean 'sex'"),
        ("sex=women above < 0.4", r"must name a group of sex \(f, m\), got 'women'"),
        ("blu above < 0.4", "did you mean 'blue'"),
        ("any age above < 0.4", "must name one of the attributes"),
        ("sex=f selected vs m < 0.8", 'compares sex with everyone else; .* reference="sex=m"'),
        ("sex=f selected stage hired < 0.8", "must name a stage of this audit"),
        ("sex=f scored < 0.8", "scores are compared with scored=True"),
    ],
)
def test_unknown_names_are_told(biased, text, said):
    with pytest.raises(DataError, match=said):
        biased.fails(text)


def test_a_label_of_two_attributes_is_ambiguous():
    result = audit(
        score=np.arange(24), sensitive={"a": list("xxyyxy") * 4, "b": list("xyyxxy") * 4},
        cross=False, n_boot=20, n_permutations=99,
    )  # fmt: skip
    with pytest.raises(DataError, match="is ambiguous: a=x and b=x"):
        result.fails("x above < 0.4")
    assert not result.fails("a=x above < 0.4")


def test_nothing_passes_untested_in_silence():
    groups = ["few"] * 3 + ["b"] * 15 + ["c"] * 15
    given = {"score": np.arange(33), "sensitive": {"g": groups}, "k": 10, "n_permutations": 99}
    result = audit(**given, n_boot=20)
    with pytest.raises(DataError, match="for g=few: one side has fewer than 5 people"):
        result.fails("g=few above < 0.4")
    (outcome,) = result.judge("any g above < 0.4")
    assert len(outcome.remarks) == 1
    assert "for g=few: one side has fewer than 5 people" in outcome.remarks[0]
    assert len(outcome.fired) == 1
    assert "above of g=b is" in outcome.fired[0]
    assert result.fails("g=few above < 0.4 observed")
    bare = audit(**given, n_boot=0)
    for text in ("any g above < 0.4", "any finding", "ExposureGap > 0.1", "ExposureGap.low > 0.1"):
        with pytest.raises(DataError, match="it needs n_boot and n_permutations above 0"):
            bare.fails(text)
    assert bare.fails("g=few above < 0.4 observed")
    assert not bare.fails("raw: ExposureGap > 0.9")


def test_a_number_that_is_undefined_is_told():
    one = audit(score=[2, 1], sensitive=["a", "a"], n_boot=20, n_permutations=19)
    with pytest.raises(
        DataError, match="cannot be evaluated: value of ExposureGap of sensitive is"
    ):
        one.fails("ExposureGap>0.1")
    with pytest.raises(DataError, match="cannot be evaluated"):
        one.fails("a above < 0.4")
    with pytest.raises(DataError, match="AUC needs relevance"):
        one.fails("AUC<0.5")
    with pytest.raises(DataError, match="by must be one of the attributes"):
        one.fails('RND(by="age")>0.5')


@pytest.mark.slow
def test_many_comparisons_need_many_draws():
    rng = np.random.default_rng(0)
    given = {"score": rng.random(200), "sensitive": {"g": [f"g{i % 10}" for i in range(200)]}}
    gates = [f"any g selected < 0.{i}" for i in range(1, 8)]
    options = {"k": 100, "n_boot": 20, "n_permutations": 999}
    result = audit(**given, **options)
    with pytest.raises(DataError, match="70 comparisons in gates need at least 2799 permutations"):
        result.fails(gates)
    drawn = audit(**given, **options, gates=gates)
    assert drawn.facts["n_permutations"] == 2799
    assert not drawn.fails(gates)
    assert count_comparisons([read_gate("any g selected < 0.5")], result.plan_of_rows()) == 10


def test_comparisons_of_gates_are_counted():
    """Sex has 2 groups and age 3; people are selected at 3 cutoffs; one group is protected."""
    rng = np.random.default_rng(0)
    result = audit(
        score=rng.random(90),
        sensitive={"sex": ["f", "m"] * 45, "age": ["a", "b", "c"] * 30},
        protected={"sex": "f", "age": ["a", "b"]}, k=[5, 10, 20], n_boot=20, n_permutations=99,
    )  # fmt: skip
    counts = {
        "sex=f selected < 0.8": 1 * 3,  # one group at every cutoff
        "sex=f selected at 10 < 0.8": 1,
        "any sex selected < 0.8": 2 * 3,
        "any age selected at 5 < 0.8": 3,
        "any age exposure < 0.8": 3,
        "ExposureGap > 0.1": 1 + 2,  # the protected groups of each attribute
        "any finding": 1,
    }
    plan = result.plan_of_rows()
    gates = {text: read_gate(text) for text in counts}
    assert {text: count_comparisons([gate], plan) for text, gate in gates.items()} == counts
    assert count_comparisons(list(gates.values()), plan) == sum(counts.values())


def test_metrics_are_corrected_for_chance(hiring):
    rows = {(r["attribute"], r["metric"]): r for r in hiring.tables["gaps"]}
    sex, age = rows["sex", "RND"], rows["age_group", "RND"]
    assert sex["corrected"] < age["bound_low"] - age["chance"]
    between = (sex["corrected"] + age["bound_low"] - age["chance"]) / 2
    assert hiring.fails(f"RND>{between}")  # any attribute
    assert not hiring.fails(f'RND(by="sex")>{between}')
    (line,) = hiring.failures(f'RND(by="age_group")>{between}')
    assert line.endswith(f": the corrected value of age_group is {written(age['corrected'])}")
    # Bare values are larger, since chance makes gaps too.
    bare = (sex["corrected"] + sex["value"]) / 2
    assert not hiring.fails(f'RND(by="sex")>{bare}')
    (line,) = hiring.failures(f'raw: RND(by="sex")>{bare}')
    assert line.endswith(f": value of sex, female is {written(sex['value'])}; chance may do this")
    assert hiring.fails("RND.p_value<0.05")
    assert hiring.fails("NDCG@10>0.5")
    assert not hiring.fails("NDCG@10.low>0.9")


def test_an_end_of_the_interval_is_corrected_too(hiring):
    row = next(r for r in hiring.tables["gaps"] if r["name"] == 'RND(by="age_group")')
    low = row["low"] - row["chance"]
    assert hiring.fails(f'RND(by="age_group").low > {low - 1e-6}')
    assert not hiring.fails(f'RND(by="age_group").low > {low + 1e-6}')


def test_crossed_attributes_count_only_where_they_are_named(hiring):
    gaps = {
        r["attribute"]: r["value"] for r in hiring.tables["gaps"] if r["metric"] == "ExposureGap"
    }
    both = gaps.pop("sex x age_group")
    between = (max(gaps.values()) + both) / 2
    assert both > between
    assert not hiring.fails(f"raw: ExposureGap>{between}")
    assert hiring.fails(f'raw: ExposureGap(by=("sex", "age_group"))>{between}')


@pytest.mark.slow
def test_a_metric_that_was_not_measured_is_measured():
    data = load_hiring().select(slice(0, 5))
    result = audit(data, protected="sex=female", n_boot=20, n_permutations=20)
    named = audit(data, protected="sex=female", n_boot=20, n_permutations=20, metrics="RND@20")
    value = next(r for r in named.tables["gaps"] if r["metric"] == "RND@20")["value"]
    assert "RND@20" not in result.tables["gaps"]["metric"]
    assert result.fails(f'raw: RND(by="sex")@20>={value}')
    assert not result.fails(f'raw: RND(by="sex")@20>{value}')
    assert result.fails("NDCG@3>0")
    again = AuditResult.from_json(result.to_json())
    with pytest.raises(DataError, match=r"must use a metric of this audit \(Expo.*, got RND@20"):
        again.fails("RND@20>0.1")
    assert again.failures("any finding") == result.failures("any finding")


@pytest.mark.slow
def test_a_fair_lottery_fires_no_gate():
    """100 random lists of 50, groups of 80, 12 and 8%: bare values are far from their ideals."""
    rng = np.random.default_rng(7)
    race = rng.choice(["a", "b", "c"], 5000, p=[0.8, 0.12, 0.08])
    gates = ["AdverseImpactRatio@5.high < 0.8", "RND@50.low > 0.3", "RND(by='race')@50 > 0.05"]
    gates += ["any race selected < 0.8", "any race above < 0.4", "any finding"]
    result = audit(
        score=rng.random(5000), query=np.repeat(range(100), 50), sensitive={"race": race},
        k=5, n_boot=100, n_permutations=199, gates=gates,
    )  # fmt: skip
    rows = {row["metric"]: row for row in result.tables["gaps"]}
    ratio, rnd = rows["AdverseImpactRatio@5"], rows["RND@50"]
    assert ratio["high"] < 0.1
    assert rnd["low"] > 0.3
    assert ratio["corrected"] == pytest.approx(1, abs=0.02)
    assert rnd["corrected"] == pytest.approx(0, abs=0.06)
    outcomes = result.judge(gates)
    assert [line for outcome in outcomes for line in outcome.fired] == []
    # The corrected ratio cannot go below its ideal less what chance makes.
    (remark,) = outcomes[0].remarks
    assert f"cannot be below {written(1 - ratio['chance'])} on these data" in remark
    assert '"any race selected < 0.8" can' in remark
    bare = result.failures(["raw: AdverseImpactRatio@5.high < 0.8", "raw: RND@50.low > 0.3"])
    assert len(bare) == 2
    assert all(line.endswith("chance may do this") for line in bare)
