"""The rules about attention, merit, the first places and pairs."""

from auditing.verdict.findings import attribute, findings, gap_row, group_row, selection_row

from equirank.auditing.verdict.group_rules import (
    rule_attention,
    rule_merit,
    rule_pairs,
    rule_selection,
)

NAN = float("nan")


def attention(low, high, p, share=0.5):
    row = group_row("f", exposure=0.4, exposure_low=low, exposure_high=high, share=share)
    row["exposure_p_holm"] = p
    return rule_attention(findings(tables={"groups": [row]}))


def test_attention():
    assert attention(0.37, 0.43, 0.001) == [
        "People of group f (sex) are 50 % of all entries and get 40 % of the attention that places "
        "draw (95 % interval 37 to 43 %; permutation test p = 0.001)."
    ]


def test_attention_needs_interval_and_test():
    for low, high, p in [(0.37, 0.53, 0.001), (0.37, 0.43, 0.2)]:
        (sentence,) = attention(low, high, p)
        assert sentence.endswith(
            "whether that is more or less than their share, this audit cannot tell."
        )
    assert attention(1.0, 1.0, 0.5, share=1.0) == []


def merit(low, high, **facts):
    row = {"attribute": "sex", "group": "f", "exposure_share": 0.4, "merit_share": 0.5}
    row |= {"ratio": 0.8, "low": low, "high": high}
    gaps = [gap_row("DisparateTreatment", 0.3)]
    return rule_merit(findings(tables={"exposure_merit": [row], "gaps": gaps}, **facts))


def test_merit():
    assert merit(0.71, 0.9) == [
        "Against the recorded relevance, people of group f (sex) have 50 % of the merit and 40 % "
        "of the attention, 0.80 times their share (95 % interval 0.71 to 0.90)."
    ]
    assert "cannot tell" in merit(0.71, 1.2)[0]
    assert "cannot tell" in merit(0.71, 0.9, n_queries=1)[0]  # the test of one list says nothing


def selected(rows, **options):
    return rule_selection(findings(tables={"selection": rows}, **options))


BEST = selection_row("m", 0.24, reference=True)


def test_selection():
    rows = [selection_row("f", 0.13, 0.54, 0.44, 0.64), BEST]
    assert selected(rows) == [
        "Among the first 10 places are 13 % of the people of group f (sex) and 24 % of those of "
        "group m: 0.54 times as often (95 % interval 0.44 to 0.64)."
    ]
    unclear = [selection_row("f", 0.2, 0.83, 0.6, 1.1), BEST]
    assert selected(unclear)[0].endswith("whether that is less often, this audit cannot tell.")


def test_selection_at_the_first_cutoff_without_small_cells():
    small = [selection_row("f", 0.1, 0.5, small_cell=True), BEST]
    later = [selection_row("f", 0.4, 0.8, 0.7, 0.9, k=20), BEST | {"k": 20, "rate": 0.5}]
    assert "the first 20 places" in selected([*small, *later], ks=[10, 20])[0]
    assert selected(small) == []
    assert selected([selection_row("f", 1.0), BEST], ks=[50]) == []  # everybody is selected


def test_where_the_focus_is_selected_most_often_the_least_is_named():
    rows = [selection_row("f", 0.4, reference=True), selection_row("m", 0.2, 0.5, 0.4, 0.6)]
    assert "20 % of the people of group m (sex) and 40 % of those of group f" in selected(rows)[0]


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
        "More relevant people of group f (sex) stand above less relevant people of other groups in "
        "70 % of the pairs, those of group m in 89 % (permutation test p = 0.001)."
    ]
    assert said(0.3)[0].endswith("whether that is more than chance, this audit cannot tell.")
    assert said(NAN)[0].endswith("whether that is more than chance, this audit cannot tell.")
