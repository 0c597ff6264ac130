"""Notes about ties, unknown labels, cutoffs and few lists."""

import re

import numpy as np
import pandas as pd
import pytest

from equirank import DataError, as_ranking_data, audit, audit_sums, list_sums
from equirank.auditing.audit_plan import make_plan
from equirank.auditing.notes import NO_IDS, arbitrary_share
from equirank.core.outcomes import DecisionRule

QUICK = {"n_boot": 0, "n_permutations": 0}


def texts(result, kind):
    return [note["text"] for note in result.notes if note["kind"] == kind]


def plan_of(score, qid):
    data = as_ranking_data(score=score, qid=qid, sensitive_features=["a", "b"] * (len(score) // 2))
    return make_plan(
        data.ranking(),
        protected=None,
        rule=DecisionRule(k=None),
        cross=True,
        level=0.95,
        n_boot=0,
        n_permutations=0,
        seed=0,
    )


def test_arbitrary_share_by_hand():
    # positions 1, 2-4, 5, 6: the top 2 cut the block 2-4, which fills 1 of them; 4 cut none
    plan = plan_of([9, 5, 5, 5, 2, 1], [0] * 6)
    assert arbitrary_share(plan, 1) == 0
    assert arbitrary_share(plan, 2) == 1 / 2
    assert arbitrary_share(plan, 3) == 2 / 3
    assert arbitrary_share(plan, 4) == 0
    assert arbitrary_share(plan, 6) == 0  # nothing lies beyond
    # a second list without ties halves it, and a list that is no longer than k does not count
    assert arbitrary_share(plan_of([9, 5, 5, 5, 2, 1, 3, 2, 1, 0], [0] * 6 + [1] * 4), 2) == 1 / 4
    assert arbitrary_share(plan_of([9, 5, 5, 5, 2, 1, 2, 1], [0] * 6 + [1] * 2), 2) == 1 / 2


def test_a_list_tied_throughout_looks_even_and_is_warned_about():
    sex = np.tile(list("ffffm"), 40)
    tied = audit(score=np.zeros(200), sensitive={"sex": sex}, k=10, **QUICK)
    assert tied.tables["gaps"]["value"][tied.tables["gaps"]["metric"] == "RND"] < 1e-12
    (warning,) = texts(tied, "warning")
    assert "100% of the top 10 positions are filled from ties that reach beyond" in warning
    assert "look equal for that reason alone" in warning
    assert tied.facts["tie_share"] == 1


def test_few_ties_are_noted_and_not_warned_about():
    score = np.arange(100.0)
    score[:4] = 0
    result = audit(score=score, sensitive=np.tile(list("ab"), 50), k=10, **QUICK)
    assert texts(result, "warning") == []
    assert "4% of the people are tied" in texts(result, "ties")[0]
    assert result.facts["tie_share"] == 0.04
    strict = audit(score=np.arange(100.0), sensitive=np.tile(list("ab"), 50), **QUICK)
    assert texts(strict, "ties") == []


@pytest.mark.slow
def test_unknown_labels_are_in_no_group_and_are_told():
    result = audit(score=[4, 3, 2, 1], sensitive={"sex": ["f", None, "m", ""]}, k=2, **QUICK)
    told = "sex unknown: 2 people (50%); selected: 50% (top 2)."
    assert texts(result, "unknown") == [f"{told} They are in no group, and keep their positions."]
    assert result.facts["attributes"][0]["unknown"] == 2
    groups = result.facts["attributes"][0]["groups"]
    assert groups == [
        {"name": "f", "size": 1, "share": 0.5},
        {"name": "m", "size": 1, "share": 0.5},
    ]


def test_cutoffs_that_select_everybody():
    result = audit(score=[4, 3, 2, 1], sensitive=list("abab"), k=[2, 4, 9], **QUICK)
    assert texts(result, "warning")[0].startswith("k = 4 and 9 is as long as every list")


def test_given_positions_are_told():
    result = audit(position=[1, 2], sensitive=list("ab"), **QUICK)
    assert texts(result, "data") == [
        "The audited order is that of the given positions; there are no scores."
    ]
    both = audit(position=[1, 2], score=[1, 2], sensitive=list("ab"), **QUICK)
    assert "scores are only shown" in texts(both, "data")[0]
    assert both.tables["groups"]["mean_position"].tolist() == [1, 2]


def test_skipped_lists_are_told():
    given = {"score": [2, 1, 2, 1], "query": [0, 0, 1, 1], "sensitive": {"sex": list("aaab")}}
    result = audit(**given, relevance=[0, 0, 1, 0], **QUICK)
    skipped = " ".join(texts(result, "skipped"))
    assert "1 of 2 lists is excluded from ExposureGap (sex)" in skipped
    assert "NDCG@10" in skipped
    assert 'in the lists that contain the group and others: 1 of 2 for group "b"' in skipped


@pytest.mark.parametrize(("n", "said"), [(1, "There is only one list."), (5, "With only 5 lists")])
def test_few_lists(n, said):
    result = audit(
        score=np.arange(4 * n), query=np.repeat(range(n), 4), sensitive=list("abab") * n, **QUICK
    )
    assert texts(result, "sample")[0].startswith(said)


def test_names_of_columns_are_words_outside_of_brackets(hiring):
    said = [note["text"] for note in hiring.notes] + [claim.sentence for claim in hiring.claims]
    said += hiring.verdict
    assert any("people with the same age group," in text for text in said)
    assert not [text for text in said if "age_group" in re.sub(r"\([^()]*\)", "", text)]


def test_what_was_audited_and_what_was_not_measured_are_told(hiring, one_list):
    (text,) = texts(hiring, "scope")
    assert text == (
        "This audit covers 3,213 people in 60 lists (30 to 75 people each, median 52), compared by "
        "sex, age group and their intersection."
    )
    (text,) = texts(one_list, "not_measured")
    assert "lists other than this one" in text


@pytest.mark.slow
def test_rows_of_one_id_are_one_person(tmp_path):
    given = {"score": [5, 4, 3, 2, 1, 6], "sensitive": {"sex": [*list("ffmmf"), None]}}
    given |= {"query": [1, 1, 1, 2, 2, 2], "selected": [1, 0, 1, 0, 1, 0], **QUICK}
    known = audit(**given, id=["a", "b", "c", "a", "d", "e"])
    assert known.facts["n_people"] == 5
    assert texts(known, "scope")[0].startswith("This audit covers 5 people (6 rows) in 2 lists of")
    assert texts(known, "decision")[0].endswith("3 of 6 rows.")
    assert texts(known, "unknown")[0].startswith("sex unknown: 1 row (17%)")
    known.to_html(tmp_path / "a.html")
    assert "sex unknown: 1 row (17%)" in (tmp_path / "a.html").read_text()
    for ids in (None, list("abcdef"), [1, 2, 3, 4, 5, None]):
        other = audit(**given, id=ids)
        assert texts(other, "scope")[0].startswith("This audit covers 6 people in 2 lists of 3")
        assert texts(other, "decision")[0].endswith("3 of 6 people.")


def test_people_of_other_lists_are_counted_by_their_ids():
    columns = {"score": [3, 2, 1, 0], "sex": list("ffmm"), "list": [1, 1, 1, 1]}
    first = pd.DataFrame(columns | {"id": list("abcd")})
    second = pd.DataFrame(columns | {"id": list("abca"), "list": [2, 2, 3, 3]})
    names = {"score": "score", "query": "list", "sensitive": "sex", "id": "id"}
    both = audit(first, unpaired=second, **names, **QUICK)
    assert "4 people in one list, " in texts(both, "scope")[0]
    assert "and with 3 people (4 rows) in 2 other lists" in texts(both, "scope")[0]


@pytest.mark.gate
def test_of_very_many_groups_rnd_is_left_out():
    groups = [f"g{i % 51}" for i in range(510)]
    result = audit(score=np.arange(510), sensitive={"g": groups}, **QUICK)
    assert "RND" not in result.tables["gaps"]["metric"]
    assert any("RND is omitted" in text for text in texts(result, "drilldown"))
    named = audit(score=np.arange(510), sensitive={"g": groups}, metrics="RND", **QUICK)
    assert "RND" in named.tables["gaps"]["metric"]


@pytest.mark.slow
def test_too_few_permutations_for_many_groups():
    given = {"score": np.arange(40), "sensitive": [f"g{i % 10}" for i in range(40)]}
    few = audit(**given, n_boot=0, n_permutations=99)
    assert "99 permutations are too few for 10 groups" in texts(few, "warning")[0]
    assert texts(audit(**given, n_boot=0, n_permutations=999), "warning") == []


# --- groups that are too small to be compared ---


def with_a_tiny_group(seed=3, lists=30, size=60):
    """Lists in which a few people of "tiny" are always in the top 10; labels are unknown."""
    rng = np.random.default_rng(seed)
    n = lists * size
    nation = rng.choice(["big", "other", "tiny", ""], n, p=[0.6, 0.23, 0.013, 0.157])
    score = rng.normal(size=n) + 4 * (nation == "tiny")
    nation = nation.astype(object)
    nation[nation == ""] = None
    return {"list": np.repeat(np.arange(lists), size), "score": score, "nation": nation}


DRAWS = {"n_boot": 99, "n_permutations": 99}
NAMES = {"query": "list", "score": "score", "sensitive": "nation"}


def audit_of_sums(columns, **options):
    return audit_sums(list_sums(columns, **NAMES, k=10), **options)


def audit_of_rows(columns, **options):
    return audit(columns, **NAMES, k=10, **options)


@pytest.mark.slow
@pytest.mark.parametrize("audited", [audit_of_rows, audit_of_sums])
def test_a_group_that_is_too_small_is_compared_nowhere(audited):
    result = audited(with_a_tiny_group(), **DRAWS)
    assert texts(result, "small") == [
        'Group "tiny" (nation) is too small for a reliable selection rate in the top 10. Its '
        "counts are shown but not compared."
    ]
    (claim,) = [c for c in result.claims if (c.group, c.quantity) == ("tiny", "selected")]
    assert claim.sentence == (
        'People in group "tiny" (nation) are not compared: at the rate of all people, fewer than 5 '
        "of them would be in the top 10."
    )
    numbers = [claim.estimate, claim.low, claim.high, claim.p, claim.p_family, claim.detectable]
    assert np.isnan([*numbers, *claim.bounds, *claim.shares]).all()
    assert not claim.labels
    assert not [text for text in result.verdict if '"tiny" (nation) are in the top' in text]
    assert not re.search(r'"tiny" \(nation\): [^;]*top 10', " ".join(result.verdict))
    (row,) = [row for row in result.tables["selection"] if row["group"] == "tiny"]
    assert row["small_cell"]
    assert np.isnan([row["impact_ratio"], row["ratio_low"], row["ratio_high"]]).all()
    (row,) = [row for row in result.tables["decisions"] if row["group"] == "tiny"]
    assert row["note"] == "too small to be compared"
    assert row["selected"] == row["people"] > 0
    assert row["flip"] == ""
    columns = ("ratio", "ratio_low", "ratio_high", "pooled_ratio", "highest_ratio", "z", "z_p")
    columns += ("exact_p", "mid_p", "odds_ratio", "mh_test", "mh_p", "breslow_day_p", "shortfall")
    assert np.isnan([row[name] for name in columns]).all()
    others = [row for row in result.tables["decisions"] if row["group"] != "tiny"]
    assert max(row["highest_ratio"] for row in others) == 1
    told = {(row["group"], row["measure"].split(",")[0]) for row in result.tables["labels"]}
    assert ("big", "impact_ratio") in told
    assert ("tiny", "impact_ratio") not in told
    with pytest.raises(DataError, match="for nation=tiny at 10: at the rate of all people, fewer"):
        result.fails("nation=tiny selected at 10 < 0.8")
    (outcome,) = result.judge("any nation selected at 10 < 0.5")
    assert not outcome.fired
    assert "cannot be evaluated for nation=tiny at 10: at the rate" in outcome.remarks[0]


def test_of_two_groups_neither_is_compared_if_one_is_too_small():
    sex = np.array(["f"] * 20 + ["m"] * 180)
    result = audit(score=np.arange(200), sensitive={"sex": sex}, k=20, **DRAWS)
    (claim,) = [c for c in result.claims if c.quantity == "selected"]
    assert np.isnan(claim.estimate)
    assert np.isnan(result.tables["selection"]["impact_ratio"]).all()
    assert not result.tables["selection"]["reference"].any()
    assert np.isnan(result.tables["decisions"]["ratio"]).all()
    more = audit(score=np.arange(200), sensitive={"sex": sex}, k=50, **DRAWS)
    (claim,) = [c for c in more.claims if c.quantity == "selected"]
    assert not np.isnan(claim.estimate)  # 5 of 20 at the rate of all people


@pytest.mark.slow
def test_no_change_between_two_files_is_stated_of_a_group_that_is_too_small():
    first, second = with_a_tiny_group(3, lists=12), with_a_tiny_group(4, lists=12)
    second["list"] = second["list"] + 100
    result = audit(first, **NAMES, k=10, unpaired=second, **DRAWS)
    change = [c for c in result.claims if c.quantity == "change of selected"]
    assert {c.group for c in change if not np.isnan(c.estimate)} == {"big", "other"}
    (tiny,) = [c for c in change if c.group == "tiny"]
    assert tiny.sentence.startswith("A change is not stated for people in group")
    assert "fewer than 5 of them would be in the top 10" in tiny.sentence


def test_a_claim_that_is_not_tested_has_no_corrected_p():
    result = audit(score=np.arange(40), sensitive={"sex": ["f"] * 4 + ["m"] * 36}, k=20, **DRAWS)
    assert {claim.status for claim in result.claims} == {"described"}
    assert np.isnan([claim.p_family for claim in result.claims]).all()
    assert not [claim for claim in result.claims if "p = " in claim.sentence]


def test_groups_of_the_same_lists_are_not_said_to_be_in_others():
    rng = np.random.default_rng(2)
    lists = np.repeat(np.arange(8), 40)
    share = np.linspace(0.1, 0.8, 8)[lists]
    race = np.where(rng.random(320) < share, "x", "y")
    hired = np.where(rng.random(320) < 0.1 + 0.1 * lists, "yes", "no")
    table = {"list": lists, "race": race, "hired": hired}
    result = audit(table, query="list", sensitive="race", selected="hired", **QUICK)
    assert all({"x", "y"} == set(race[lists == each]) for each in range(8))
    assert texts(result, "strata") == [
        'People of "x" (race) and "y" (race) and those they are compared with are spread unevenly '
        "over the lists, so the ratio of all people together differs from the ratio within lists, "
        "which is the one stated."
    ]
    assert not [n for n in result.tables["decisions"]["note"] if "different lists" in n]


def test_the_number_that_could_be_0_is_named():
    rng = np.random.default_rng(1)
    n = 1200
    nation = rng.choice(np.array(["big", "few", None], dtype=object), n, p=[0.77, 0.015, 0.215])
    hired = np.where(rng.random(n) < 0.15, "yes", "no")
    table = {"list": np.repeat(np.arange(12), 100), "nation": nation, "hired": hired}
    result = audit(
        table, query="list", sensitive="nation", selected="hired", n_boot=99, n_permutations=99
    )
    refused = [row for row in result.tables["labels"] if row["method"] == "refused"]
    assert [(row["group"], row["measure"]) for row in refused] == [("big", 'impact_ratio, "hired"')]
    assert refused[0]["assumption"] == (
        "so few of everyone else are selected that their rate could be 0"
    )


# --- rows that are not people ---


def decided(values, **more):
    n = len(values)
    table = {"person": np.arange(n), "sex": list("fm") * (n // 2), "hired": values} | more
    return audit(table, sensitive="sex", selected="hired", yes="yes", id="person", **QUICK)


def test_values_that_count_as_no_are_named_with_their_number():
    result = decided(["yes", "no", "Pending", "pending ", "yes", None, "n/a yet", "NO"])
    assert texts(result, "undecided") == [
        'The decision ("hired") is not recorded for 1 person; its rates leave them out.',
        'Counted as no in the decision ("hired"): "Pending" (2) and "n/a yet" (1); leave cells '
        "blank where nothing was decided.",
    ]
    assert result.facts["decisions"][0]["other"] == {"Pending": 2, "n/a yet": 1}
    assert result.facts["decisions"][0]["selected"] == 2
    assert texts(decided(["yes", "no"] * 4), "undecided") == []
    (many,) = texts(decided(["yes", *"abcdefgh", "a"]), "undecided")
    assert many.startswith('Counted as no in the decision ("hired"): "a" (2), "b" (1), "c" (1), ')
    assert '"f" (1) and 2 more; leave cells' in many


@pytest.mark.slow
@pytest.mark.parametrize("many", [False, True])
def test_sums_name_values_that_count_as_no(many, monkeypatch):
    table = {
        "list": np.repeat(np.arange(40), 5), "sex": [*"fmfmf"] * 40,
        "hired": ["yes", "no", "Pending", "no", "no"] * 40,
    }  # fmt: skip
    if many:  # rows of 8 lists only are kept
        monkeypatch.setattr("equirank.core.list_samples.MOST_LISTS", 8)
        monkeypatch.setattr("equirank.auditing.source_plans.MOST_LISTS", 8)
    sums = list_sums(table, query="list", sensitive="sex", selected="hired", yes="yes")
    sample, count = (" of a sample of the lists", 8) if many else ("", 40)
    assert texts(audit_sums(sums, **QUICK), "undecided") == [
        f'Counted as no in the decision ("hired"){sample}: "Pending" ({count}); leave cells blank '
        "where nothing was decided."
    ]


def test_values_of_stages_are_named_stage_by_stage():
    table = {
        "sex": list("fmfm"), "screened": ["yes", "yes", "waits", "no"],
        "hired": ["yes", "later", None, None],
    }  # fmt: skip
    result = audit(table, sensitive="sex", stages=["screened", "hired"], yes="yes", **QUICK)
    found = [each["other"] for each in result.facts["decisions"]]
    assert found == [{"waits": 1}, {"later": 1}, {}]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Summe", "TOTAL", " gesamt: ", "Итого", "Grand Total"])
@pytest.mark.parametrize("column", ["list", "person"])
def test_a_row_of_totals_is_warned_about(name, column):
    table = {
        "list": ["a"] * 6 + ["b"] * 6 + ["c"], "person": [f"p{i}" for i in range(13)],
        "sex": [*"fmfmfmfmfmfm", None], "score": [*range(12, 0, -1), 3],
    }  # fmt: skip
    names = {"query": "list", "id": "person", "score": "score", "sensitive": "sex"}
    before = texts(audit(table, **names, **QUICK), "warning")
    table[column] = [*table[column][:-1], name]
    after = texts(audit(table, **names, **QUICK), "warning")
    (warning,) = [text for text in after if text not in before]
    what = "list" if column == "list" else "id"
    assert warning == (
        f'A row of totals seems to be among the people, in row 12 ({what} "{name}"): leave it out '
        "of the data if it is one."
    )


def test_several_rows_of_totals_are_counted():
    lists = [*"aaaaaa", "Summe", "b", "b", "Total"]
    table = {"list": lists, "score": [*range(10)], "sex": [*"fm" * 5]}
    result = audit(table, query="list", score="score", sensitive="sex", **QUICK)
    assert (
        '2 rows of totals seem to be among the people, the first in row 6 (list "Summe"): leave '
        "them out of the data if they are."
    ) in texts(result, "warning")


def test_a_last_row_with_the_sum_of_all_others_is_warned_about():
    score = [*range(20, 0, -1), 210]
    sex = [*"fm" * 10, "m"]
    (warning,) = texts(audit(score=score, sensitive=sex, **QUICK), "warning")
    assert "in row 20 (its score is the sum of all others, 210): leave it out" in warning
    assert texts(audit(score=[*score[:-1], 209], sensitive=sex, **QUICK), "warning") == []


@pytest.mark.slow
def test_exact_copies_of_rows_are_counted():
    rng = np.random.default_rng(0)
    table = {
        "list": np.repeat(np.arange(10), 20), "person": np.arange(200),
        "sex": rng.choice(["f", "m"], 200), "score": rng.random(200),
    }  # fmt: skip
    twice = {name: np.concatenate([values, values[:30]]) for name, values in table.items()}
    names = {"query": "list", "score": "score", "sensitive": "sex"}
    result = audit(twice, **names, id="person", **DRAWS)
    assert texts(result, "people") == [
        "30 rows of 230 are equal to an earlier row of the same list in all columns that were read "
        "and count again. Nothing was removed. Such copies are the reason why people appear more "
        "than once."
    ]
    changed = twice | {"score": np.concatenate([twice["score"][:-1], [0.5]])}
    found = texts(audit(changed, **names, id="person", **DRAWS), "people")
    assert found[0].startswith("29 rows of 230 are equal to an earlier row")
    assert found[0].endswith("Such copies are one reason why people appear more than once.")
    assert found[1].startswith("Ids must name people")
    found = texts(audit(twice, **names, **DRAWS), "people")
    assert found == [
        "30 rows of 230 are equal to an earlier row of the same list in all columns that were "
        "read: they are copies, or people whom an id would tell apart. Nothing was removed.",
        NO_IDS,
    ]
    assert texts(audit(table, **names, id="person", **DRAWS), "people") == []


def test_rows_that_few_columns_describe_are_not_called_copies():
    table = {"sex": list("fm") * 20, "hired": ["yes", "no", "no", "yes"] * 10}
    found = texts(audit(table, sensitive="sex", selected="hired", **QUICK), "people")
    assert found[0] == (
        "Most rows are equal to another row of the same list in all columns that were read, so "
        "copies of rows cannot be told from people."
    )
