"""The rule about places: clear, unclear, and many groups."""

import re

import pytest
from auditing.verdict.findings import attribute, findings, group_row, selection_row

from equirank.auditing.verdict.group_rules import rule_intersections, rule_positions

CLEAR = {"low": 5.2, "high": 8.9, "p": 0.001, "detectable": 2.04}


def said(*rows, **options):
    return rule_positions(findings(tables={"groups": rows}, **options))


def test_lower():
    assert said(group_row("f", 7.04, **CLEAR), group_row("m", -7.04)) == [
        "People of group f (sex) appear on average 7 places lower than the others in lists of 50 "
        "(95 % interval 5.2 to 8.9 places; permutation test p = 0.001; a difference of 2 places "
        "would have been seen with a chance of 80 %)."
    ]


def test_higher():
    (sentence,) = said(group_row("f", -7.04, -8.9, -5.2, 0.001))
    assert "appear on average 7 places higher than the others" in sentence
    assert "95 % interval 5.2 to 8.9 places" in sentence


@pytest.mark.parametrize(
    ("low", "high", "p", "why"),
    [
        (-0.5, 2.5, 0.2, "and the interval holds 0"),
        (-0.5, 2.5, 0.01, "and the interval holds 0"),
        (0.1, 2.5, 0.05, "and chance alone may give as much"),
        (0.0, 2.5, 0.01, "and the interval holds 0"),
    ],
)
def test_where_it_is_not_clear_the_audit_cannot_tell(low, high, p, why):
    (sentence,) = said(group_row("f", 1.0, low, high, p, detectable=1.9))
    assert sentence.startswith(
        "Whether people of group f (sex) appear higher or lower than the others, this audit cannot "
        f"tell: they stand on average 1 place lower in lists of 50, {why} ("
    )
    assert "a difference of 1.9 places would have been seen with a chance of 80 %" in sentence


def test_an_interval_around_zero_says_both_directions():
    (sentence,) = said(group_row("f", 1.0, -0.5, 2.5, 0.2))
    assert "95 % interval 0.5 places higher to 2.5 places lower" in sentence


def test_without_intervals_the_test_alone_speaks():
    (sentence,) = said(group_row("f", 3.0, p=0.01))
    assert "appear on average 3 places lower" in sentence
    assert "interval" not in sentence


def test_without_intervals_and_tests_nothing_is_clear():
    (sentence,) = said(group_row("f", 3.0))
    assert "cannot tell" in sentence
    assert "neither intervals nor tests were asked for" in sentence


def test_the_protected_group_is_spoken_of():
    rows = [group_row("f", 2.0, **CLEAR), group_row("m", -2.0, -8.9, -5.2, 0.001)]
    (sentence,) = said(*rows, attributes=[attribute(protected=["m"])])
    assert sentence.startswith("People of group m (sex) appear on average 2 places higher")


def test_several_groups_farthest_first_and_the_unclear_together():
    rows = [
        group_row(name, size, size - 0.5, size + 0.5, 0.001) for name, size in (("a", 3), ("b", -9))
    ]
    rows += [
        group_row(name, 0.2, -1, 1.4, 0.7, detectable=able) for name, able in (("c", 2), ("d", 4))
    ]
    sentences = said(*rows, attributes=[attribute("abcd")])
    assert [re.search(r"group (\w) ", s)[1] for s in sentences[:2]] == ["b", "a"]
    assert "corrected for 4 groups" in sentences[0]
    assert sentences[2] == (
        "Whether people of the groups c and d (sex) appear higher or lower than the others, this "
        "audit cannot tell: intervals hold 0, or chance alone may give as much; a difference of 4 "
        "places would have been seen with a chance of 80 % in each of them."
    )


def test_many_clear_groups_are_not_all_told():
    rows = [group_row(f"g{i}", 10 + i, 9, 30, 0.001) for i in range(7)]
    sentences = said(*rows, attributes=[attribute([f"g{i}" for i in range(7)])])
    assert len(sentences) == 5
    assert sentences[-1].startswith("So do 3 more groups of sex")


def test_a_group_that_never_meets_others():
    (sentence,) = said(group_row("f", float("nan")))
    assert sentence == (
        "Where people of group f (sex) stand cannot be measured: no list holds them and others."
    )


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"n_queries": 1}, "in the list of 50"),
        ({"list_length": {"min": 30, "median": 52.5, "max": 75}}, "in lists of about 52"),
    ],
)
def test_how_long_lists_are(facts, words):
    assert words in said(group_row("f", 7.0, **CLEAR), **facts)[0]


def test_intersections_name_the_farthest_that_is_no_small_cell():
    both = "sex x age"
    names = ["f & old", "f & young", "m & old"]
    rows = [
        group_row(name, size, size - 1, size + 1, 0.001, attribute=both)
        for name, size in zip(names, (20.0, 9.0, -3.0), strict=True)
    ]
    cells = [selection_row(n, 0.1, attribute=both, small_cell=n == "f & old") for n in names]
    found = findings(
        [attribute(names, both, by=["sex", "age"])], tables={"groups": rows, "selection": cells}
    )
    assert rule_positions(found) == []
    (sentence,) = rule_intersections(found)
    assert sentence.startswith(
        "Of the groups of sex and age together, people of group f & young (sex x age) stand "
        "farthest from the others: on average 9 places lower in lists of 50 ("
    )
