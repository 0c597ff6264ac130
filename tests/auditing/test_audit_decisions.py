"""Audits of decisions: recorded, in stages, by cutoff and quota, and against a reference."""

import json

import numpy as np
import pytest

from equirank import AuditResult, DataError, audit
from equirank.statistics import selection_ratio

N = 400
RNG = np.random.default_rng(7)
QUERY = np.repeat(np.arange(8), 50)
SEX = RNG.choice(["f", "m"], N)
RACE = RNG.choice(["Asian", "Black", "White"], N, p=[0.2, 0.3, 0.5])
SCORE = RNG.normal(size=N) - 0.8 * (SEX == "f") - 0.7 * (RACE == "Black")
HIRED = SCORE > 0.6
PEOPLE = {"sex": SEX, "race": RACE}
QUICK = {"n_boot": 50, "n_permutations": 199, "cross": False}


def claims_of(result, quantity="selected", **scope):
    return {
        (claim.attribute, claim.group): claim
        for claim in result.claims
        if claim.quantity == quantity
        and not claim.scope.get("given")
        and all(claim.scope.get(name) == value for name, value in scope.items())
    }


def mantel_haenszel(selected, group, other, query):
    top = bottom = 0.0
    for q in np.unique(query):
        a, n1 = selected[(query == q) & group].sum(), ((query == q) & group).sum()
        b, n2 = selected[(query == q) & other].sum(), ((query == q) & other).sum()
        top, bottom = top + a * n2 / (n1 + n2), bottom + b * n1 / (n1 + n2)
    return top / bottom


@pytest.fixture(scope="module")
def hired():
    return audit(query=QUERY, sensitive=PEOPLE, selected=HIRED, **QUICK)


def test_recorded_decisions_need_no_order(hired):
    assert {claim.quantity for claim in hired.claims} == {"selected"}
    found = claims_of(hired)
    assert set(found) == {("sex", "f"), ("race", "Asian"), ("race", "Black"), ("race", "White")}
    for (attribute, group), claim in found.items():
        inside = PEOPLE[attribute] == group
        expected = mantel_haenszel(HIRED, inside, ~inside, QUERY)
        assert claim.estimate == pytest.approx(expected, rel=1e-12)
        assert claim.shares == pytest.approx((HIRED[inside].mean(), HIRED[~inside].mean()))
        assert claim.scope["column"] == "selected"
    assert found["sex", "f"].status == "finding"
    assert "are selected at 0." in found["sex", "f"].sentence
    filled = {name for name, table in hired.tables.items() if len(table)}
    assert "claims" in filled
    assert not filled & {"groups", "selection", "gaps", "metrics", "strip", "blind_spots"}
    with pytest.raises(DataError, match="metrics must be None for data without score or position"):
        audit(sensitive=SEX, selected=HIRED, metrics="RND@50", **QUICK)


@pytest.mark.gate
def test_the_result_can_be_stored_and_shown(hired, tmp_path):
    again = AuditResult.from_json(hired.to_json())
    assert again == hired
    assert json.loads(hired.to_json())["facts"]["decisions"][0]["selected"] == HIRED.sum()
    pytest.importorskip("altair")
    hired.to_html(tmp_path / "page.html")
    assert "are selected" in (tmp_path / "page.html").read_text()


@pytest.mark.slow
def test_undecided_people_are_left_out_of_both_sides():
    blank = np.arange(N) % 7 == 0
    recorded = np.where(blank, None, np.where(HIRED, "yes", "no"))
    found = claims_of(audit(query=QUERY, sensitive=PEOPLE, selected=recorded, **QUICK))
    kept = claims_of(
        audit(
            query=QUERY[~blank],
            sensitive={name: values[~blank] for name, values in PEOPLE.items()},
            selected=HIRED[~blank],
            **QUICK,
        )
    )
    for key, claim in found.items():
        assert claim.estimate == pytest.approx(kept[key].estimate, rel=1e-12)
        assert claim.scope["people"] == (~blank).sum()


@pytest.mark.slow
def test_a_reference_replaces_everyone_else():
    result = audit(query=QUERY, score=SCORE, sensitive=PEOPLE, selected=HIRED,
                   reference="race=White", **QUICK)  # fmt: skip
    found = claims_of(result)
    assert set(found) == {("sex", "f"), ("race", "Asian"), ("race", "Black")}
    claim = found["race", "Black"]
    black, white = RACE == "Black", RACE == "White"
    assert claim.against == "White"
    assert claim.estimate == pytest.approx(mantel_haenszel(HIRED, black, white, QUERY))
    assert 'the rate of group "White"' in claim.sentence
    assert claim.scope["people"] == (black | white).sum()
    # The third group takes no part: its decisions change nothing, not even the draws.
    other = np.where(RACE == "Asian", ~HIRED, HIRED)
    again = claims_of(audit(query=QUERY, score=SCORE, sensitive=PEOPLE, selected=other,
                            reference={"race": "White"}, **QUICK))  # fmt: skip
    twin = again["race", "Black"]
    assert (twin.estimate, twin.low, twin.high, twin.p) == (
        claim.estimate, claim.low, claim.high, claim.p
    )  # fmt: skip
    position = claims_of(result, "position")["race", "Black"]
    pairs = []
    for q in np.unique(QUERY):
        inside = q == QUERY
        a, b = SCORE[inside & black], SCORE[inside & white]
        pairs.append((a[:, None] > b).mean())
    assert position.shares == pytest.approx((np.mean(pairs), 0.5))


def test_the_draws_of_a_reference_shuffle_its_two_groups_only():
    # Of the 252 ways to deal five labels to ten people, the observed one and its mirror are the
    # most extreme. With the third group among them there would be far more ways.
    score = np.array([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0])
    race = np.array(list("WWWWWBBBBB"))
    people = np.concatenate([race, ["A"] * 10])
    result = audit(score=np.concatenate([score, score + 20]), sensitive={"race": people},
                   reference="race=W", k=12, n_boot=10, n_permutations=4999)  # fmt: skip
    claim = claims_of(result, "position")["race", "B"]
    assert claim.p == pytest.approx(2 / 252, abs=3 * np.sqrt(2 / 252 / 5000))


def test_references_that_cannot_be_compared_with():
    with pytest.raises(DataError, match="reference of 'race' must be one of the groups"):
        audit(sensitive=PEOPLE, selected=HIRED, reference="race=Green", **QUICK)
    with pytest.raises(DataError, match="reference must have somebody selected"):
        audit(sensitive=PEOPLE, selected=HIRED & (RACE != "White"), reference="White", **QUICK)
    with pytest.raises(DataError, match="reference must be one group of 'race', got 2"):
        audit(sensitive=PEOPLE, selected=HIRED, reference=["race=White", "race=Black"], **QUICK)


def staged():
    rng = np.random.default_rng(3)
    first = SCORE > 0
    second = first & (rng.random(N) < 0.5)
    return {"screened": first, "hired": second}


@pytest.mark.slow
def test_a_stage_is_tested_among_those_who_reached_it():
    result = audit(query=QUERY, sensitive=PEOPLE, stages=staged(), **QUICK)
    first, second = staged().values()
    conditional = claims_of(result, stage="hired", overall=None)["sex", "f"]
    group = SEX == "f"
    lists = QUERY[first]
    expected = mantel_haenszel(second[first], group[first], ~group[first], lists)
    assert conditional.estimate == pytest.approx(expected)
    both = [q for q in np.unique(lists) if len(set(SEX[first & (q == QUERY)])) == 2]
    assert conditional.scope["people"] == (first & np.isin(QUERY, both)).sum()
    assert conditional.sentence.startswith('Of those who reached stage "hired", the data do not')
    rows = {
        row["decision"]: row
        for row in result.tables["decisions"]
        if (row["attribute"], row["group"]) == ("sex", "f")
    }
    # Conditional pooled ratios multiply to the overall one.
    row = rows['stage "hired"']
    assert row["overall_rate"] == pytest.approx(second[group].mean())
    assert row["overall_ratio"] == pytest.approx(second[group].mean() / second[~group].mean())
    pooled = [rows[f'stage "{name}"']["pooled_ratio"] for name in ("screened", "hired")]
    assert np.prod(pooled) == pytest.approx(row["overall_ratio"])
    overall = claims_of(result, stage="hired", overall=True)["sex", "f"]
    assert overall.estimate == pytest.approx(mantel_haenszel(second, group, ~group, QUERY))
    assert claims_of(result, stage="screened")["sex", "f"].status == "finding"
    assert result.fails("sex=f selected stage screened < 0.9")
    assert not result.fails("sex=f selected stage hired < 0.9")
    with pytest.raises(DataError, match=r"a stage of this audit \(screened, hired\), got 'hire'"):
        result.fails("sex=f selected stage hire < 0.9")


def test_cutoffs_and_quotas_are_scopes():
    result = audit(query=QUERY, score=SCORE, sensitive=PEOPLE, cutoff="score>=0.6", **QUICK)
    claim = claims_of(result)["sex", "f"]
    assert claim.scope["cutoff"] == "score >= 0.6"
    assert "are selected (score >= 0.6) at" in claim.sentence
    assert claim.estimate == pytest.approx(
        mantel_haenszel(SCORE >= 0.6, SEX == "f", SEX == "m", QUERY)
    )
    quota = audit(query=QUERY, score=SCORE, sensitive=PEOPLE, quota=QUERY + 3, **QUICK)
    place = np.array([(SCORE[q == QUERY] > s).sum() for q, s in zip(QUERY, SCORE, strict=True)])
    inside = place < QUERY + 3
    assert claims_of(quota)["sex", "f"].estimate == pytest.approx(
        mantel_haenszel(inside, SEX == "f", SEX == "m", QUERY)
    )


@pytest.mark.slow
def test_frames_name_columns():
    frame = {"job": QUERY, "points": SCORE, "sex": SEX, "hired": HIRED.astype(int)}
    named = audit(frame, query="job", sensitive="sex", selected="hired", **QUICK)
    arrays = audit(query=QUERY, sensitive={"sex": SEX}, selected=HIRED, **QUICK)
    assert claims_of(named)["sex", "f"].p == claims_of(arrays)["sex", "f"].p
    # The column of a cutoff is the score, unless another one is named.
    cut = audit(frame, query="job", sensitive="sex", cutoff="points>=0.6", **QUICK)
    assert cut.facts["has_score"]
    assert claims_of(cut)["sex", "f"].scope["cutoff"] == "points >= 0.6"
    with pytest.raises(DataError, match="name of a column of data, got an array"):
        audit(frame, query="job", sensitive="sex", selected=HIRED, **QUICK)
    with pytest.raises(DataError, match="'hired' must be given as an array, since data is None"):
        audit(sensitive=SEX, selected="hired", **QUICK)
    with pytest.raises(DataError, match="score or position must be given"):
        audit(sensitive=SEX, **QUICK)


def pool(*jobs):
    """People of a group and others in jobs, given as selected and all of both sides."""
    rows = [
        (job, group, i < selected)
        for job, (a, n1, b, n2) in enumerate(jobs)
        for group, selected, n in (("g", a, n1), ("h", b, n2))
        for i in range(n)
    ]
    query, group, hired = (np.array(column) for column in zip(*rows, strict=True))
    return {"query": query, "sensitive": {"who": group}, "selected": hired}


def row_of(result, group="g"):
    (row,) = [row for row in result.tables["decisions"] if row["group"] == group]
    return row


def test_the_worked_example_of_a_pool():
    result = audit(**pool((24, 120, 45, 130)), reference="h", **QUICK)
    row = row_of(result)
    expected = {
        "ratio": 0.5778, "ratio_low": 0.3734, "ratio_high": 0.8819, "z": -2.583, "z_p": 0.0098,
        "exact_p": 0.01095, "mid_p": 0.00894, "shortfall": 9.12, "shortfall_reference": 17.54,
        "to_four_fifths": 6, "rate": 0.2, "other_rate": 45 / 130, "highest_ratio": 0.5778,
    }  # fmt: skip
    for name, value in expected.items():
        assert row[name] == pytest.approx(value, rel=1e-3), name
    assert (row["flip"], row["note"], row["against"]) == ("no", "", "h")
    assert row_of(result, "h")["note"] == "reference"
    assert np.isnan(row_of(result, "h")["ratio"])
    (claim,) = claims_of(result).values()
    assert claim.p == pytest.approx(0.01095, abs=5e-6)
    assert claim.test == "shuffled labels; own p exact over lists"


def test_the_worked_example_of_three_jobs():
    jobs = (12, 60, 5, 20), (9, 30, 36, 90), (3, 50, 6, 60)
    result = audit(**pool(*jobs), **QUICK)
    row = row_of(result)
    expected = {
        "pooled_ratio": 0.6201, "z": -2.190, "z_p": 0.0285, "ratio": 0.7357, "ratio_low": 0.4528,
        "ratio_high": 1.1638, "odds_ratio": 0.6552, "mh_test": 1.686, "mh_p": 0.194,
        "exact_p": 0.2069, "shortfall": 4.09,
    }  # fmt: skip
    for name, value in expected.items():
        assert row[name] == pytest.approx(value, rel=1e-3), name
    (claim,) = claims_of(result).values()
    assert (claim.status, claim.group) == ("cannot_tell", "g")
    assert (claim.low, claim.high) == (row["ratio_low"], row["ratio_high"])
    assert [note["text"][:15] for note in result.notes if note["kind"] == "strata"] == [
        'People of "g" ('
    ]


@pytest.mark.parametrize(
    "counts", [(0, 12, 1, 30), (8, 8, 500, 1000), (6, 6, 30, 60), (0, 20, 9, 20), (10, 10, 9, 12)]
)
def test_small_cells_have_one_interval_that_contains_the_estimate(counts):
    result = audit(**pool(counts), **QUICK)
    row = row_of(result)
    (claim,) = claims_of(result).values()
    expected = selection_ratio(*counts)
    assert row["note"] == ""
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((expected.low, expected.high))
    if claim.group == "g":  # else the smaller group is the claim's
        assert (claim.low, claim.high) == pytest.approx((expected.low, expected.high))
    assert claim.low <= claim.estimate <= claim.high
    assert claim.low < 0.97 * claim.high
    assert "added" not in claim.scope
    assert "added to each count" not in claim.sentence


def test_one_person_shows_nothing():
    result = audit(**pool((1, 1, 500, 1000)), **QUICK)
    assert row_of(result)["ratio_low"] < 1 < row_of(result)["ratio_high"]
    assert row_of(result)["exact_p"] > 0.5


@pytest.mark.parametrize("selected", [0, 8])
def test_many_lists_with_all_or_none_selected_have_an_interval_with_a_width(selected):
    """A bootstrap over lists would draw the same rate of the group each time."""
    lists = [(selected, 8, 10, 20)] * 15 + [(selected, 8, 9, 20)] * 15
    result = audit(**pool(*lists), **QUICK)
    (claim,) = claims_of(result).values()
    expected = selection_ratio(selected * 30, 240, 15 * 19, 600)
    assert claim.interval_of == "people"
    assert claim.low <= claim.estimate <= claim.high
    assert (claim.low, claim.high) == pytest.approx((expected.low, expected.high), rel=0.05)
    row = row_of(result)
    assert (row["ratio_low"], row["ratio_high"]) == (claim.low, claim.high)


def test_lists_that_do_not_vary_have_the_interval_of_their_people():
    result = audit(**pool(*[(3, 8, 10, 20)] * 25), **QUICK)
    (claim,) = claims_of(result).values()
    assert claim.interval_of == "people"
    assert claim.low < 0.7 < claim.estimate < 0.8 < claim.high


def test_ties_at_a_cutoff_have_no_exact_test():
    result = audit(score=[2, 1, 1, 1, 1, 0] * 4, sensitive={"who": list("ghghgh") * 4}, k=5,
                   **QUICK)  # fmt: skip
    row = row_of(result)
    assert np.isnan(row["exact_p"])
    assert row["flip"] == ""
    (claim,) = claims_of(result).values()
    assert claim.test == "shuffled labels"


#: The worked example of scores: two groups, and three people whose group is unknown.
WORKED = {
    "F": [71, 64, 64, 58, 80, 55, 64, 49, 62, 77],
    "M": [64, 69, 83, 90, 64, 72, 58, 66, 75, 61, 88, 70],
}


def test_scores_are_compared_if_asked():
    score = [*WORKED["F"], *WORKED["M"]]
    sex = ["F"] * 10 + ["M"] * 12
    result = audit(score=score, sensitive={"sex": sex}, scored=True, k=5, n_permutations=1999)
    gap = claims_of(result, "score")["sex", "F"]
    assert gap.estimate == pytest.approx(-0.6954, abs=5e-5)
    correction = 1 - 3 / (4 * 20 - 1)
    assert (gap.low, gap.high) == pytest.approx((-1.589 * correction, 0.143 * correction), abs=5e-4)
    assert gap.status == "cannot_tell"
    assert "0.70 standard deviations lower" in gap.sentence
    position = claims_of(result, "position")["sex", "F"]
    assert position.shares[0] == pytest.approx(0.3042, abs=5e-5)
    gated = audit(score=score, sensitive={"sex": sex}, k=5, n_permutations=99,
                  gates=["sex=F scored vs M < 0.8", "sex=F score < -0.2"])  # fmt: skip
    assert not gated.fails(["sex=F scored vs M < 0.8", "sex=F score < -0.2"])
    assert gated.fails("sex=F score < -0.2 observed")
    assert claims_of(gated, "scored")["sex", "F"].against == "M"
    with pytest.raises(DataError, match="scored must be False for data without scores"):
        audit(sensitive=SEX, selected=HIRED, scored=True, **QUICK)
