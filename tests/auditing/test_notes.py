"""Notes about ties, unknown labels, cutoffs and few lists."""

import re

import numpy as np
import pandas as pd
import pytest

from equirank import as_ranking_data, audit
from equirank.auditing.audit_plan import make_plan
from equirank.auditing.notes import arbitrary_share
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
