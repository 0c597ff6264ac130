"""Audits with a profile: its tables beside the claims, its text, and what the data lack."""

import json

import numpy as np
import pytest

from equirank import AuditResult, DataError, audit

WOMEN = [71, 64, 64, 58, 80, 55, 64, 49, 62, 77]
MEN = [64, 69, 83, 90, 64, 72, 58, 66, 75, 61, 88, 70]
QUICK = {"n_boot": 20, "n_permutations": 99, "date": "2026-06-30"}


@pytest.fixture(scope="module")
def scored():
    score = [*WOMEN, *MEN, 64, 59, 93]
    sex = ["F"] * 10 + ["M"] * 12 + [None] * 3
    return audit(score=score, sensitive={"sex": sex}, k=8, profile="nyc-ll144", **QUICK)


def rows_of(result, **wanted):
    return {
        row["group"]: row
        for row in result.tables["profile"]
        if all(row[name] == value for name, value in wanted.items())
    }


@pytest.mark.slow
def test_scoring_rates_of_the_worked_example(scored):
    rows = rows_of(scored, rate_of="scoring")
    assert (rows["F"]["selected"], rows["F"]["people"]) == (3, 10)
    assert (rows["M"]["selected"], rows["M"]["people"]) == (8, 12)
    assert rows["F"]["ratio_to_highest"] == pytest.approx(0.45)
    (table,) = [each for each in scored.facts["profile"]["tables"] if each["rate_of"] == "scoring"]
    assert (table["median"], table["unknown_people"], table["unknown_selected"]) == (64, 3, 1)
    assert scored.facts["profile"]["absent"] == ["race/ethnicity"]


def test_selection_rates_are_those_of_the_decision(scored):
    rows = rows_of(scored, rate_of="selection")
    chosen = np.argsort(-np.array([*WOMEN, *MEN, 64, 59, 93], dtype=float), kind="stable")[:8]
    assert rows["F"]["selected"] == (chosen < 10).sum()
    assert rows["F"]["decision"] == "top 8"


@pytest.mark.slow
def test_claims_do_not_change_and_the_record_names_the_profile(scored):
    score, sex = [*WOMEN, *MEN, 64, 59, 93], ["F"] * 10 + ["M"] * 12 + [None] * 3
    plain = audit(score=score, sensitive={"sex": sex}, k=8, **QUICK)
    assert [claim.to_dict() for claim in scored.claims] == [c.to_dict() for c in plain.claims]
    assert len(plain.tables["profile"]) == 0
    assert plain.facts["profile"] is None
    assert scored.provenance.profile == {"id": "nyc-ll144", "checked": "2026-01-31"}
    assert AuditResult.from_json(scored.to_json()) == scored
    assert json.loads(scored.to_json())["provenance"]["profile"]["id"] == "nyc-ll144"


def test_a_year_after_the_check_there_is_a_warning(scored):
    assert not [note for note in scored.notes if "last checked" in note["text"]]
    options = QUICK | {"date": "2027-02-01"}
    late = audit(score=MEN, sensitive={"sex": list("fm") * 6}, profile="nyc-ll144", **options)
    assert late.notes[0]["kind"] == "warning"
    assert "nyc-ll144 was last checked on 31 January 2026" in late.notes[0]["text"]


def test_small_groups_are_left_out_of_ratios_only_if_asked():
    sex = ["a"] * 60 + ["b"] * 60 + ["c"]
    hired = [True] * 20 + [False] * 40 + [True] * 30 + [False] * 30 + [True]
    given = {"sensitive": {"sex": sex}, "selected": hired, "profile": "nyc-ll144", **QUICK}
    shown = rows_of(audit(**given))
    assert (shown["a"]["ratio_to_highest"], shown["c"]["small"]) == (pytest.approx(1 / 3), True)
    left = rows_of(audit(**given, leave_out_small=True))
    assert left["a"]["ratio_to_highest"] == pytest.approx(2 / 3)
    assert np.isnan(left["c"]["ratio_to_highest"])
    assert left["c"]["rate"] == 1
    assert left["c"]["reason"] == "left out of the ratios: under 2% of the people"
    with pytest.raises(DataError, match="leave_out_small must be False without a profile"):
        audit(sensitive={"sex": sex}, selected=hired, leave_out_small=True, **QUICK)


def test_the_reference_of_the_audit_is_that_of_the_tables():
    given = {"sensitive": {"race": list("xyz") * 20}, "selected": ([True] * 7 + [False] * 5) * 5}
    result = audit(**given, profile="ugesp", reference="race=y", **QUICK)
    rows = rows_of(result)
    assert rows["x"]["ratio_to_reference"] == pytest.approx(rows["x"]["rate"] / rows["y"]["rate"])
    assert not np.isnan(rows["x"]["z"])


def test_unknown_profiles_are_told():
    with pytest.raises(
        DataError, match=r"profile must be one of credit.* did you mean 'nyc-ll144'"
    ):
        audit(score=MEN, sensitive={"sex": list("fm") * 6}, profile="nyc-ll14", **QUICK)


@pytest.mark.slow
def test_the_page_states_the_text_and_escapes_groups(tmp_path):
    pytest.importorskip("altair")
    sex = ["<b>x</b>"] * 10 + ["m"] * 12
    result = audit(score=[*WOMEN, *MEN], sensitive={"sex": sex}, k=8, profile="nyc-ll144", **QUICK)
    result.to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    section = text[text.index('<section class="card profile"') :]
    section = section[: section.index("</section>")]
    assert "New York City Local Law 144" in section
    assert "<b>x</b>" not in section
    assert "the profile finds none for race/ethnicity (known as" in section


@pytest.mark.slow
def test_a_profile_says_which_audited_column_it_does_not_know():
    rng = np.random.default_rng(0)
    table = {
        "Gender": rng.choice(["f", "m"], 60), "race": rng.choice(["x", "y"], 60),
        "age_years": rng.choice(["<40", "40+"], 60), "score": rng.random(60),
    }  # fmt: skip
    given = {"score": "score", "sensitive": ["race", "age_years"]}
    told = audit(table, **given, k=20, profile="credit", **QUICK).facts["profile"]["lacking"]
    assert told == (
        "Among the audited columns (race and age_years), the profile finds none for sex (known as "
        "sex, gender or applicant sex), age (known as age, age group, age category or applicant "
        "age) or marital status (known as marital status or marital): audit such a column under "
        "one of these names."
    )
    given["sensitive"] = ["Gender", "race"]
    known = audit(table, **given, k=20, profile="ugesp", **QUICK).facts["profile"]
    assert (known["absent"], known["lacking"]) == ([], "")
