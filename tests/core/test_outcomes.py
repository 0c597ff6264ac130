"""Decisions: recorded, by cutoff, by quota, in stages, and the top k."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.core.outcomes import DecisionRule, decision_words, yes_or_no
from equirank.core.source import IN_MEMORY, Source


def made(**outcomes):
    n = len(next(iter(outcomes.values())))
    return as_ranking_data(
        qid=[0] * n, score=np.arange(n, 0, -1), sensitive_features=["f", "m"] * (n // 2),
        outcomes=outcomes,
    )  # fmt: skip


def decided(data, **way):
    return DecisionRule(**way).decisions(data.ranking(), (2,))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["yes", "No", " YES ", "no"], [1, 0, 1, 0]),
        ([True, False, True, False], [1, 0, 1, 0]),
        ([1, 0, 1.0, 0.0], [1, 0, 1, 0]),
        (["true", "FALSE", "1", "0"], [1, 0, 1, 0]),
        (["yes", None, "", float("nan")], [1, np.nan, np.nan, np.nan]),
    ],
)
def test_yes_and_no(values, expected):
    column = np.array(values, dtype=object)
    found = yes_or_no("selected", made(hired=column), "hired")
    np.testing.assert_array_equal(found, expected)


def test_named_words_mean_yes_and_all_others_no():
    data = made(result=["offer", "Reject", None, " OFFER"])
    found = yes_or_no("selected", data, "result", "offer")
    np.testing.assert_array_equal(found, [1, 0, np.nan, 1])
    assert yes_or_no("selected", made(x=[2, 1, 3, 2]), "x", [2]).tolist() == [1, 0, 0, 1]
    with pytest.raises(DataError, match=r"yes must name a value of 'result' \(offer, reject\)"):
        yes_or_no("selected", data, "result", "hired")
    with pytest.raises(DataError, match="at least one value"):
        yes_or_no("selected", data, "result", " , ")


def test_another_word_is_told_with_its_row():
    data = made(hired=["yes", "no", "maybe", "no"])
    with pytest.raises(
        DataError, match=r"selected \('hired'\) must be yes or no .*'maybe' in row 2"
    ):
        decided(data, selected="hired")
    object.__setattr__(data, "source", Source("people.csv", "", 4))
    with pytest.raises(DataError, match=r"in row 3 of people\.csv, not counting the header"):
        decided(data, selected="hired")
    object.__setattr__(data, "source", Source(IN_MEMORY, "", 4))
    with pytest.raises(DataError, match=r"in row 2; name the values"):
        decided(data, selected="hired")
    with pytest.raises(DataError, match=r"\('hired'\), got 'hird'; did you mean"):
        decided(data, selected="hird")


def test_blank_decisions_are_left_out_and_counted():
    (one,) = decided(made(hired=["yes", "", None, "no"]), selected="hired")
    assert one.among.tolist() == [True, False, False, True]
    assert (one.undecided, one.selected[one.among].tolist()) == (2, [1, 0])
    with pytest.raises(DataError, match="all are blank"):
        decided(made(hired=[None, None]), selected="hired")


def test_a_cutoff_is_a_comparison():
    data = made(exam=[70, 69.5, None, "71"])
    (score,) = decided(data, cutoff="score>=3")
    assert score.selected.tolist() == [1, 1, 0, 0]
    assert score.among is None
    (strict,) = decided(data, cutoff="score > 3")
    assert strict.selected.tolist() == [1, 0, 0, 0]
    (exam,) = decided(data, cutoff="exam>=70")
    assert exam.selected.tolist() == [1, 0, 0, 1]
    assert (exam.undecided, exam.scope) == (1, {"cutoff": "exam >= 70"})
    for text in ("score=70", "score", "score>=x", ">=70", "score>=70,5"):
        with pytest.raises(DataError, match='cutoff must look like "score>=70"'):
            DecisionRule(cutoff=text)
    with pytest.raises(DataError, match="got 'scor'; did you mean 'score'"):
        decided(data, cutoff="scor>=3")
    with pytest.raises(DataError, match=r"'exam'\) must be a number, got 'x' in row 1"):
        decided(made(exam=[1, "x"]), cutoff="exam>=1")


def test_a_quota_selects_the_first_of_each_list_and_ties_share():
    data = as_ranking_data(
        qid=["a"] * 4 + ["b"] * 4, score=[4, 3, 3, 1, 4, 3, 2, 1],
        sensitive_features=["f", "m"] * 4, outcomes={"openings": [2] * 4 + [0] * 4},
    )  # fmt: skip
    (one,) = decided(data, quota="openings")
    assert one.selected.tolist() == [1, 0.5, 0.5, 0, 0, 0, 0, 0]
    with pytest.raises(DataError, match="same in all rows of a list, got 3 in row 1 and 2 before"):
        decided(made(openings=[2, 3]), quota="openings")
    for bad in (-1, 1.5, None, "two"):
        with pytest.raises(DataError, match=r"quota \('openings'\) must be a"):
            decided(made(openings=[bad, bad]), quota="openings")


def test_stages_are_about_those_who_passed_the_one_before():
    data = made(
        screened=["yes", "yes", "yes", "no"],
        interviewed=["yes", "no", "", None],
        hired=["no", "no", "", ""],
    )
    first, second, third, overall = decided(data, stages=("screened", "interviewed", "hired"))
    assert first.among is None
    assert second.among.tolist() == [True, True, False, False]
    assert second.undecided == 1
    assert third.among.tolist() == [True, False, False, False]
    assert overall.scope == {"stage": "hired", "overall": True}
    assert overall.among.tolist() == [True, True, False, True]
    assert overall.selected.tolist() == [0, 0, 0, 0]
    late = made(screened=["yes", "no"], hired=["no", "yes"])
    with pytest.raises(DataError, match="'hired' must not be yes in row 1, since 'screened'"):
        decided(late, stages=("screened", "hired"))
    with pytest.raises(DataError, match="at least two different columns"):
        decided(late, stages=("screened",))
    nobody = made(screened=["no", "no"], hired=["no", "no"])
    with pytest.raises(DataError, match="about those who reached it"):
        decided(nobody, stages=("screened", "hired"))


def test_conditional_pooled_ratios_multiply_to_the_overall_one():
    rng = np.random.default_rng(0)
    group = rng.random(400) < 0.5
    passed = rng.random((3, 400)) < np.array([[0.6], [0.5], [0.7]])
    columns = np.logical_and.accumulate(passed, axis=0)
    data = as_ranking_data(
        score=np.zeros(400), sensitive_features=group,
        outcomes=dict(zip("abc", columns, strict=True)),
    )  # fmt: skip
    *stages, overall = decided(data, stages=("a", "b", "c"))

    def ratio(decision):
        inside = np.ones(400, dtype=bool) if decision.among is None else decision.among
        return decision.selected[inside & group].mean() / decision.selected[inside & ~group].mean()

    assert np.prod([ratio(each) for each in stages]) == pytest.approx(ratio(overall), rel=1e-12)


def test_one_way_decides():
    with pytest.raises(DataError, match="one way decides who is selected, got selected and k"):
        DecisionRule(selected="hired", k=10)
    with pytest.raises(DataError, match="yes must be given with selected or stages"):
        DecisionRule(yes="yes", k=10)
    (top,) = decided(made(x=[0, 0, 0, 0]))
    assert top.selected.tolist() == [1, 1, 0, 0]


def test_decisions_in_words():
    scopes = [{"k": 10}, {"column": "hired"}, {"cutoff": "score >= 70"}, {"quota": "openings"}]
    scopes += [{"stage": "hired"}, {"stage": "hired", "overall": True}]
    assert [decision_words(scope) for scope in scopes] == [
        *("top 10", '"hired"', "score >= 70", 'quota "openings"'),
        *('stage "hired"', 'stage "hired", of everyone'),
    ]


def test_selections_and_fingerprints_keep_decisions():
    data = as_ranking_data(qid=[1, 2, 1], score=[1, 2, 3], outcomes={"hired": ["a", "b", "c"]})
    assert data.outcomes["hired"].tolist() == ["a", "c", "b"]
    assert data.select([1]).outcomes["hired"].tolist() == ["b"]
    other = as_ranking_data(qid=[1, 2, 1], score=[1, 2, 3], outcomes={"hired": ["a", "b", "d"]})
    assert data.fingerprint() != other.fingerprint()
    with pytest.raises(DataError, match=r"outcomes\['hired'\]"):
        as_ranking_data(score=[1, 2], outcomes={"hired": [1]})
