"""The rules of the verdict, one by one."""

import re

import pytest
from auditing.verdict.findings import attribute, findings, gap_row, group_row, selection_row

from equirank.auditing.verdict.verdict import (
    PROPERTIES,
    rule_attention,
    rule_change,
    rule_intersections,
    rule_merit,
    rule_not_measured,
    rule_pairs,
    rule_positions,
    rule_selection,
    rule_shapes,
    rule_size,
    rule_small,
    rule_warnings,
)
from equirank.metrics.properties import scenario_names

CLEAR = {"low": 5.2, "high": 8.9, "p": 0.001, "detectable": 2.04}


def said(*rows, **options):
    return rule_positions(findings(tables={"groups": rows}, **options))


def test_lower():
    assert said(group_row("f", 7.04, **CLEAR), group_row("m", -7.04)) == [
        'People in group "f" (sex) rank on average 7 positions lower than everyone else in lists '
        "of 50 (95% confidence interval 5.2 to 8.9 positions; permutation test p = 0.001; smallest "
        "difference detectable with 80% power: 2 positions)."
    ]


def test_higher():
    (sentence,) = said(group_row("f", -7.04, -8.9, -5.2, 0.001))
    assert "rank on average 7 positions higher than everyone else" in sentence
    assert "95% confidence interval 5.2 to 8.9 positions" in sentence


@pytest.mark.parametrize(
    ("low", "high", "p", "why"),
    [
        (-0.5, 2.5, 0.2, "and the confidence interval includes 0"),
        (-0.5, 2.5, 0.01, "and the confidence interval includes 0"),
        (0.1, 2.5, 0.05, "and chance alone could produce it"),
        (0.0, 2.5, 0.01, "and the confidence interval includes 0"),
    ],
)
def test_where_it_is_not_clear_the_data_do_not_show_it(low, high, p, why):
    (sentence,) = said(group_row("f", 1.0, low, high, p, detectable=1.9))
    assert sentence.startswith(
        'The data do not show whether people in group "f" (sex) rank higher or lower than everyone '
        f"else. The estimate is 1 position lower in lists of 50, {why} ("
    )
    assert "smallest difference detectable with 80% power: 1.9 positions" in sentence


def test_an_interval_around_zero_says_both_directions():
    (sentence,) = said(group_row("f", 1.0, -0.5, 2.5, 0.2))
    assert "95% confidence interval 0.5 positions higher to 2.5 positions lower" in sentence


def test_without_intervals_the_test_alone_speaks():
    (sentence,) = said(group_row("f", 3.0, p=0.01))
    assert "rank on average 3 positions lower" in sentence
    assert "interval" not in sentence


def test_without_intervals_and_tests_nothing_is_clear():
    (sentence,) = said(group_row("f", 3.0))
    assert "do not show" in sentence
    assert "neither confidence intervals nor tests were requested" in sentence


def test_the_protected_group_is_reported():
    rows = [group_row("f", 2.0, **CLEAR), group_row("m", -2.0, -8.9, -5.2, 0.001)]
    (sentence,) = said(*rows, attributes=[attribute(protected=["m"])])
    assert sentence.startswith('People in group "m" (sex) rank on average 2 positions higher')


def test_several_groups_farthest_first_and_the_unclear_together():
    rows = [
        group_row(name, size, size - 0.5, size + 0.5, 0.001) for name, size in (("a", 3), ("b", -9))
    ]
    rows += [
        group_row(name, 0.2, -1, 1.4, 0.7, detectable=able) for name, able in (("c", 2), ("d", 4))
    ]
    sentences = said(*rows, attributes=[attribute("abcd")])
    assert [re.search(r'group "(\w)" ', s)[1] for s in sentences[:2]] == ["b", "a"]
    assert "corrected for 4 groups" in sentences[0]
    assert sentences[2] == (
        'The data do not show whether people in groups "c" and "d" (sex) rank higher or lower than '
        "everyone else: the confidence interval includes 0, or chance alone could produce the "
        "difference. A difference of 4 positions is detectable with 80% power in each of them."
    )


def test_many_clear_groups_are_not_all_told():
    rows = [group_row(f"g{i}", 10 + i, 9, 30, 0.001) for i in range(7)]
    sentences = said(*rows, attributes=[attribute([f"g{i}" for i in range(7)])])
    assert len(sentences) == 5
    assert sentences[-1].startswith("3 more groups of sex also differ")


def test_a_group_that_never_meets_others():
    (sentence,) = said(group_row("f", float("nan")))
    assert sentence == (
        'The position difference of people in group "f" (sex) cannot be measured: no list contains '
        "both them and others."
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
        'Of the groups of sex and age combined, group "f & young" has the largest difference from '
        "everyone else: its people rank on average 9 positions lower in lists of 50 ("
    )


NAN = float("nan")


def attention(low, high, p, share=0.5):
    row = group_row("f", exposure=0.4, exposure_low=low, exposure_high=high, share=share)
    row["exposure_p_holm"] = p
    return rule_attention(findings(tables={"groups": [row]}))


def test_attention():
    assert attention(0.37, 0.43, 0.001) == [
        'People in group "f" (sex) are 50% of all people and receive 40% of the exposure, '
        "that is, of the expected attention (95% confidence interval 37% to 43%; permutation test "
        "p = 0.001)."
    ]


def test_attention_needs_interval_and_test():
    for low, high, p in [(0.37, 0.53, 0.001), (0.37, 0.43, 0.2)]:
        (sentence,) = attention(low, high, p)
        assert sentence.endswith(
            "The data do not show whether that is more or less than their share."
        )
    assert attention(1.0, 1.0, 0.5, share=1.0) == []


def merit(low, high, **facts):
    row = {"attribute": "sex", "group": "f", "exposure_share": 0.4, "merit_share": 0.5}
    row |= {"ratio": 0.8, "low": low, "high": high}
    gaps = [gap_row("DisparateTreatment", 0.3)]
    return rule_merit(findings(tables={"exposure_merit": [row], "gaps": gaps}, **facts))


def test_merit():
    assert merit(0.71, 0.9) == [
        'By recorded relevance, people in group "f" (sex) have 50% of the merit and 40% of the '
        "exposure, 0.80 times their share (95% confidence interval 0.71 to 0.90)."
    ]
    assert "do not show" in merit(0.71, 1.2)[0]
    assert "do not show" in merit(0.71, 0.9, n_queries=1)[0]  # the test of one list says nothing


def selected(rows, **options):
    return rule_selection(findings(tables={"selection": rows}, **options))


BEST = selection_row("m", 0.24, reference=True)


def test_selection():
    rows = [selection_row("f", 0.13, 0.54, 0.44, 0.64), BEST]
    assert selected(rows) == [
        '13% of the people in group "f" (sex) and 24% of those in group "m" are in the top 10: '
        "0.54 times as often (95% confidence interval 0.44 to 0.64)."
    ]
    unclear = [selection_row("f", 0.2, 0.83, 0.6, 1.1), BEST]
    assert selected(unclear)[0].endswith("The data do not show whether that is less often.")


def test_selection_at_the_first_cutoff_without_small_cells():
    small = [selection_row("f", 0.1, 0.5, small_cell=True), BEST]
    later = [selection_row("f", 0.4, 0.8, 0.7, 0.9, k=20), BEST | {"k": 20, "rate": 0.5}]
    assert "are in the top 20" in selected([*small, *later], ks=[10, 20])[0]
    assert selected(small) == []
    assert selected([selection_row("f", 1.0), BEST], ks=[50]) == []  # everybody is selected


def test_where_the_focus_is_selected_most_often_the_least_is_named():
    rows = [selection_row("f", 0.4, reference=True), selection_row("m", 0.2, 0.5, 0.4, 0.6)]
    assert '20% of the people in group "m" (sex) and 40% of those in group "f"' in selected(rows)[0]


def test_pairs():
    def pair(group, accuracy):
        return {
            "attribute": "sex",
            "group": group,
            "other": "(others)",
            "accuracy": accuracy,
            "n_pairs": 9,
            "n_queries": 3,
            "kind": "inter",
        }

    def said(p):
        tables = {
            "pairwise": [pair("f", 0.7), pair("m", 0.89)],
            "gaps": [gap_row("GroupPairwiseAccuracy", p)],
        }
        return rule_pairs(findings([attribute()], tables=tables))

    assert said(0.001) == [
        'More relevant people in group "f" (sex) rank above less relevant people in other groups '
        'in 70% of the pairs, those in group "m" in 89% (permutation test p = 0.001).'
    ]
    assert said(0.3)[0].endswith("do not show whether that difference is more than chance.")
    assert said(NAN)[0].endswith("do not show whether that difference is more than chance.")


NAN = float("nan")


def test_size():
    assert rule_size(findings()) == [
        "This audit covers 500 people in 10 lists of 50, compared by sex."
    ]
    three = [attribute(), attribute(name="age"), attribute(name="sex x age", by=["sex", "age"])]
    lengths = {"min": 30, "median": 52.0, "max": 75}
    assert rule_size(findings(three, n_rows=3213, list_length=lengths)) == [
        "This audit covers 3,213 people in 10 lists (30 to 75 people each, median 52), compared by "
        "sex, age and their intersection."
    ]
    assert rule_size(findings(n_queries=1)) == [
        "This audit covers 500 people in one list, compared by sex."
    ]


def test_warnings_are_repeated_and_other_notes_are_not():
    notes = [{"kind": "warning", "text": "Ties."}, {"kind": "ties", "text": "Few."}]
    assert rule_warnings(findings(notes=notes)) == ["Warning: Ties."]


def test_small_groups_are_named():
    rows = [selection_row("f", 0.1), selection_row("m", 0.1, small_cell=True)]
    assert rule_small(findings(tables={"selection": rows})) == [
        'Group "m" (sex) is too small for a reliable selection rate; the tables show the counts '
        "but do not compare them."
    ]
    large_elsewhere = [*rows, selection_row("m", 0.5, k=50)]
    assert rule_small(findings(tables={"selection": large_elsewhere})) == []


def test_shapes():
    def row(check, p):
        return {"attribute": "sex", "group": "f", "check": check, "p_holm": p, "n_queries": 40}

    rows = [row("clustering.z", 0.01), row("noisy_ranking.ratio", 0.03)]
    rows += [row("bimodality.coefficient", 0.5), row("smoothness.ks", 0.001)]
    assert rule_shapes(findings(tables={"checks": rows})) == [
        'By the distribution of their positions, people in group "f" (sex) are clustered more '
        "often and farther from the position of their merit than expected by chance (permutation "
        "tests on 40 lists, p = 0.03 or less)."
    ]
    assert rule_shapes(findings(tables={"checks": rows[2:]})) == []


def change(low, high, p, metric="PositionDifference", name="sex", group="f", values=(2.0, 6.5)):
    row = {"attribute": name, "metric": metric, "group": group, "value": values[0]}
    row |= {"other": values[1], "difference": values[0] - values[1], "low": low, "high": high}
    row |= {"p_value": p, "p_holm": p, "n_queries": 10}
    return rule_change(findings(tables={"comparison": [row]}, against={"title": "old.csv"}))


def test_change():
    assert change(-6.0, -3.1, 0.002) == [
        'People in group "f" (sex) rank 2 positions lower than everyone else, compared with 6.5 '
        "positions lower in old.csv: 4.5 positions up (95% confidence interval -6.0 to -3.1 "
        "positions; paired test p = 0.002, corrected for all measures)."
    ]
    assert "The data do not show whether that is a change" in change(-6.0, 1.0, 0.1)[0]
    assert change(NAN, NAN, NAN)[0].endswith(
        "With one shared list, the data do not show whether that is more than chance."
    )
    assert change(0.05, 0.15, 0.001, "NDCG@10", "", "", (0.7, 0.6)) == [
        "NDCG@10 is 0.70, compared with 0.60 in old.csv: 0.10 more (95% confidence interval +0.05 "
        "to +0.15; paired test p = 0.001, corrected for all measures)."
    ]
    assert rule_change(findings()) == []


def test_not_measured():
    assert rule_not_measured(findings()) == [
        "Not measured: whether more relevant people rank higher, since no relevance was given; "
        "attributes other than sex, and its intersections with them; whether similar people are "
        "treated alike."
    ]
    two = [attribute(), attribute(name="age")]
    blind = [
        {"metric": m, "property": p, "detects": (m, p) == ("B", "clustering"), "effect": 0.0}
        for m in "AB"
        for p in ("clustering", "biased ground truth")
    ]
    found = findings(two, has_relevance=True, n_queries=1, tables={"blind_spots": blind})
    assert rule_not_measured(found) == [
        "Not measured: whether the recorded relevance is right; intersections of the attributes; "
        "lists other than this one; whether similar people are treated alike; what no metric of "
        "this audit detects: recorded relevance that is itself distorted."
    ]


def test_every_property_of_the_bench_has_words():
    assert set(PROPERTIES) == set(scenario_names())
