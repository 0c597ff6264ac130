"""The rules about the audit itself."""

from auditing.verdict.findings import attribute, findings, selection_row

from equirank.auditing.verdict.verdict import (
    PROPERTIES,
    rule_change,
    rule_not_measured,
    rule_shapes,
    rule_size,
    rule_small,
    rule_warnings,
)
from equirank.metrics.properties import scenario_names

NAN = float("nan")


def test_size():
    assert rule_size(findings()) == ["500 entries in 10 lists of 50 were audited by sex."]
    three = [attribute(), attribute(name="age"), attribute(name="sex x age", by=["sex", "age"])]
    lengths = {"min": 30, "median": 52.0, "max": 75}
    assert rule_size(findings(three, n_rows=3213, list_length=lengths)) == [
        "3,213 entries in 10 lists of 30 to 75 (the middle one has 52) were audited by sex, age "
        "and their intersection."
    ]
    assert rule_size(findings(n_queries=1)) == ["500 entries in one list were audited by sex."]


def test_warnings_are_repeated_and_other_notes_are_not():
    notes = [{"kind": "warning", "text": "Ties."}, {"kind": "ties", "text": "Few."}]
    assert rule_warnings(findings(notes=notes)) == ["Beware: Ties."]


def test_small_groups_are_named():
    rows = [selection_row("f", 0.1), selection_row("m", 0.1, small_cell=True)]
    assert rule_small(findings(tables={"selection": rows})) == [
        "The group m (sex) is too small for selection rates to be compared; the tables show the "
        "numbers."
    ]
    large_elsewhere = [*rows, selection_row("m", 0.5, k=50)]
    assert rule_small(findings(tables={"selection": large_elsewhere})) == []


def test_shapes():
    def row(check, p):
        return {"attribute": "sex", "group": "f", "check": check, "p_holm": p, "n_queries": 40}

    rows = [row("clustering.z", 0.01), row("noisy_ranking.ratio", 0.03)]
    rows += [row("bimodality.coefficient", 0.5), row("smoothness.ks", 0.001)]
    assert rule_shapes(findings(tables={"checks": rows})) == [
        "By the shape of their places, people of group f (sex) are standing in clumps more often "
        "and farther away from the place of their merit than chance would have it (permutation "
        "tests of 40 lists, p = 0.03 or less)."
    ]
    assert rule_shapes(findings(tables={"checks": rows[2:]})) == []


def change(low, high, p, metric="PositionDifference", name="sex", group="f", values=(2.0, 6.5)):
    row = {"attribute": name, "metric": metric, "group": group, "value": values[0]}
    row |= {"other": values[1], "difference": values[0] - values[1], "low": low, "high": high}
    row |= {"p_value": p, "p_holm": p, "n_queries": 10}
    return rule_change(findings(tables={"comparison": [row]}, against={"title": "old.csv"}))


def test_change():
    assert change(-6.0, -3.1, 0.002) == [
        "Against old.csv, people of group f (sex) stand 2 places lower than the others, and stood "
        "6.5 places lower there: 4.5 places up (95 % interval -6.0 to -3.1 places; paired test "
        "p = 0.002, corrected for all measures)."
    ]
    assert "whether that is a change, this audit cannot tell" in change(-6.0, 1.0, 0.1)[0]
    assert change(NAN, NAN, NAN)[0].endswith(
        "with one shared list this audit cannot tell whether that is more than chance."
    )
    assert change(0.05, 0.15, 0.001, "NDCG@10", "", "", (0.7, 0.6)) == [
        "Against old.csv, NDCG@10 is 0.70, and was 0.60 there: 0.10 more (95 % interval +0.05 to "
        "+0.15; paired test p = 0.001, corrected for all measures)."
    ]
    assert rule_change(findings()) == []


def test_not_measured():
    assert rule_not_measured(findings()) == [
        "Not measured: whether more relevant people stand higher, since no relevance was given; "
        "any attribute but sex, and how it crosses with others; whether similar people are treated "
        "alike."
    ]
    two = [attribute(), attribute(name="age")]
    blind = [
        {"metric": m, "property": p, "detects": (m, p) == ("B", "clustering"), "effect": 0.0}
        for m in "AB"
        for p in ("clustering", "biased ground truth")
    ]
    found = findings(two, has_relevance=True, n_queries=1, tables={"blind_spots": blind})
    assert rule_not_measured(found) == [
        "Not measured: whether the recorded relevance is right; how the attributes cross; other "
        "lists than this one; whether similar people are treated alike; what no measure of this "
        "audit sees: recorded merit that is itself distorted."
    ]


def test_every_property_of_the_bench_has_words():
    assert set(PROPERTIES) == set(scenario_names())
