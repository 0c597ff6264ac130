"""Tables of profiles: against loops, the worked scores, and published audits."""

import json
import os
from math import isnan, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank import DataError
from equirank import statistics as eq
from equirank.auditing.profiles.profile import load_profile
from equirank.auditing.tables.profile_tables import profile_tables, rate_table
from equirank.core.attribute import Attribute

NYC, UGESP, CREDIT = (load_profile(name) for name in ("nyc-ll144", "ugesp", "credit"))


def groups_of(labels):
    names = tuple(sorted({label for label in labels if label is not None}))
    return Attribute(np.array([-1 if x is None else names.index(x) for x in labels]), names)


LABELS = st.sampled_from(["a", "b", "c", None])
ROWS = st.lists(
    st.tuples(LABELS, LABELS, st.sampled_from([0.0, 1.0, 0.5, nan]), st.integers(0, 6)),
    min_size=3,
    max_size=40,
).filter(lambda rows: all(any(row[j] is not None for row in rows) for j in (0, 1)))


@pytest.mark.slow
@settings(max_examples=60)
@given(rows=ROWS)
def test_tables_are_those_of_loops(rows):
    sex, race, selected, score = zip(*rows, strict=True)
    groups = {"sex": groups_of(sex), "race": groups_of(race)}
    found = profile_tables(NYC, groups, selected=selected, score=score)
    assert not found.absent
    assert [(table.by, table.kind) for table in found.tables] == [
        (by, kind)
        for by in (("sex",), ("race/ethnicity",), ("sex", "race/ethnicity"))
        for kind in ("selection", "scoring")
    ]
    median = float(np.median(score))
    labels = {
        ("sex",): sex,
        ("race/ethnicity",): race,
        ("sex", "race/ethnicity"): [
            None if None in pair else " & ".join(pair) for pair in zip(sex, race, strict=True)
        ],
    }
    for table in found.tables:
        values = selected if table.kind == "selection" else [float(x > median) for x in score]
        check_table(table, labels[table.by], values)
        assert table.kind == "selection" or table.median == median


def check_table(table, labels, values):
    decided = [(x, v) for x, v in zip(labels, values, strict=True) if not isnan(v)]
    assert table.undecided == len(values) - len(decided)
    unknown = [v for x, v in decided if x is None]
    assert (table.unknown_people, table.unknown_selected) == (len(unknown), sum(unknown))
    rates = {}
    for row in table.rows:
        own = [v for x, v in decided if x == row["group"]]
        assert (row["people"], row["selected"]) == (len(own), sum(own))
        if own:
            rates[row["group"]] = sum(own) / len(own)
            assert row["rate"] == pytest.approx(rates[row["group"]])
        else:
            assert row["reason"] == "no people"
    highest = max(rates.values(), default=0)
    for row in table.rows:
        if row["group"] in rates and highest > 0:
            assert row["ratio_to_highest"] == pytest.approx(rates[row["group"]] / highest)
        else:
            assert isnan(row["ratio_to_highest"])


def test_the_worked_scores():
    women = [71, 64, 64, 58, 80, 55, 64, 49, 62, 77]
    men = [64, 69, 83, 90, 64, 72, 58, 66, 75, 61, 88, 70]
    score = [*women, *men, 64, 59, 93]
    sex = groups_of(["F"] * 10 + ["M"] * 12 + [None] * 3)
    found = profile_tables(NYC, {"gender": sex}, score=score)
    assert found.absent == ("race/ethnicity",)
    (table,) = found.tables
    assert (table.kind, table.median, table.unknown_people) == ("scoring", 64.0, 3)
    assert table.unknown_rate == pytest.approx(1 / 3)
    assert table.rows["selected"].tolist() == [3, 8]
    assert table.rows["ratio_to_highest"].tolist() == pytest.approx([0.45, 1.0])


def test_small_groups_are_marked_and_left_out_only_if_asked():
    names, people, selected = ("a", "b", "c"), (600, 390, 10), (60, 78, 5)
    shown = rate_table(names, people, selected, small_share=0.02)
    assert shown["small"].tolist() == [False, False, True]
    assert shown["ratio_to_highest"].tolist() == pytest.approx([0.2, 0.4, 1.0])
    left = rate_table(names, people, selected, small_share=0.02, leave_out_small=True)
    assert left["ratio_to_highest"][:2].tolist() == pytest.approx([0.5, 1.0])
    assert np.isnan(left["ratio_to_highest"][2])
    assert (left["people"][2], left["rate"][2]) == (10, 0.5)
    assert left["reason"][2] == "left out of the ratios: under 2% of the people"
    edge = rate_table(names, (600, 380, 20), selected, small_share=0.02)
    assert not edge["small"].any()


def test_references():
    names, people, selected = ("a", "b"), (10, 10), (3, 6)
    table = rate_table(names, people, selected, reference="a")
    assert table["ratio_to_reference"].tolist() == pytest.approx([1.0, 2.0])
    with pytest.raises(DataError, match="reference must be one of a, b, got 'x'"):
        rate_table(names, people, selected, reference="x")
    with pytest.raises(DataError, match="'a' has nobody selected"):
        rate_table(names, people, (0, 6), reference="a")
    with pytest.raises(DataError, match="'a' is left out of the ratios"):
        rate_table(names, people, selected, reference="a", leave_out=["a"])
    with pytest.raises(DataError, match="leave_out must be one of a, b, got 'x'"):
        rate_table(names, people, selected, leave_out=["x"])


def test_references_of_profiles_and_crossings():
    sex, race = groups_of("fmfmfm"), groups_of("wwbbwb")
    groups = {"sex": sex, "race": race}
    chosen = [1, 1, 0, 1, 1, 1]
    found = profile_tables(NYC, groups, selected=chosen, reference={"sex": "m", "race": "w"})
    first, second, crossed = found.tables
    assert (first.reference, second.reference, crossed.reference) == ("m", "w", "m & w")
    assert first.rows["ratio_to_reference"].tolist() == pytest.approx([2 / 3, 1.0])
    alone = profile_tables(NYC, groups, selected=chosen, reference={"sex": "m"})
    assert [table.reference for table in alone.tables] == ["m", None, None]


def test_statistics_are_those_of_the_package():
    sex = groups_of(["f"] * 120 + ["m"] * 130)
    selected = [1] * 24 + [0] * 96 + [1] * 45 + [0] * 85
    score = np.random.default_rng(0).normal(size=250)
    (table,) = profile_tables(UGESP, {"sex": sex}, selected=selected).tables
    row = table.rows[0]
    pool = 24, 120, 45, 130
    assert row["z"] == pytest.approx(eq.two_proportion_z(*pool).statistic)
    assert row["fisher"] == pytest.approx(eq.fisher_exact(*pool).p_value)
    assert row["shortfall"] == pytest.approx(9.12)
    assert (row["flip"], row["to_four_fifths"]) == (False, 6)
    ratio = eq.selection_ratio(*pool)
    assert (row["low"], row["high"]) == pytest.approx((ratio.low, ratio.high))
    assert table.rows[1]["flip"] is None
    (credit,) = profile_tables(CREDIT, {"sex": sex}, selected=selected, score=score).tables
    side = np.where(sex.codes == 0, 1, 0)
    assert credit.rows["score_gap"][0] == pytest.approx(eq.score_gap(score, side).g)
    shares = np.array(selected) * 0.5
    (expected,) = profile_tables(UGESP, {"sex": sex}, selected=shares[:250]).tables
    assert "z" in expected.rows.columns


def test_exact_statistics_need_whole_counts():
    sex = groups_of("ffmm")
    (table,) = profile_tables(UGESP, {"sex": sex}, selected=[0.5, 0.25, 1, 0]).tables
    assert not {"fisher", "flip"} & set(table.rows.columns)
    assert "z" in table.rows.columns


def test_nobody_selected_and_missing_inputs():
    sex = groups_of("ffmm")
    (table,) = profile_tables(UGESP, {"sex": sex}, selected=[0, 0, 0, 0]).tables
    assert np.isnan(table.rows["ratio_to_highest"]).all()
    assert set(table.rows["reason"].tolist()) == {"nobody was selected: no ratio is defined"}
    none = profile_tables(UGESP, {"sex": sex}, score=[1, 2, 3, 4])
    assert (none.tables, none.reasons) == ((), ("sex: the data have no decisions",))
    assert profile_tables(NYC, {"age": sex}, selected=[0, 1, 0, 1]).absent == (
        "sex",
        "race/ethnicity",
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"selected": [0, 2, 0, 1]}, "selected must be from 0 to 1, got 2 in row 1"),
        ({"selected": [0, 1]}, r"selected must have one value per person of sex \(4\)"),
        ({"score": [1, np.inf, 2, 3]}, "score must be a finite number, got inf in row 1"),
        ({"score": [nan] * 4}, "score must have at least one score"),
    ],
)
def test_wrong_values_are_named(values, message):
    with pytest.raises(DataError, match=message):
        profile_tables(NYC, {"sex": groups_of("ffmm")}, **values)


# published audits


@pytest.fixture(scope="module")
def published():
    folder = os.environ.get("EQUIRANK_DATA")
    path = Path(folder or ".", "ll144", "published_audits.json")
    if folder is None or not path.exists():
        pytest.skip("EQUIRANK_DATA names no folder with ll144/published_audits.json")
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_published_rate_and_ratio_is_matched(published):
    tolerance, rows, differ, named = published["tolerance"], 0, [], []
    for case in published["cases"]:
        for name, table in case["tables"].items():
            found = rate_table(
                [row["group"] for row in table],
                [row["applicants"] for row in table],
                [row["selected"] for row in table],
                leave_out=[row["group"] for row in table if row["excluded_from_ratios"]],
            )
            for expected, row in zip(table, found, strict=True):
                rows += 1
                key = case["id"], name, expected["group"]
                named += [key] if expected["published_ratio_agrees"] is False else []
                for exact, column in (("rate", "rate"), ("impact_ratio", "ratio_to_highest")):
                    wanted = expected[exact]
                    if wanted is None:  # no people, or left out: whatever the audit prints
                        assert np.isnan(row[column])
                        continue
                    assert row[column] == pytest.approx(wanted, abs=tolerance[exact])
                    printed = expected[f"published_{exact}"]
                    if abs(row[column] - printed) > tolerance[f"published_{exact}"]:
                        differ.append(key)
    assert rows == 100
    assert differ == named
    assert len(named) == 1


def people_of(rows):
    """One entry per person: the group, and whether selected."""
    codes = np.repeat(np.arange(len(rows)), [row["applicants"] for row in rows])
    chosen = [np.arange(row["applicants"]) < row["selected"] for row in rows]
    return codes, np.concatenate(chosen).astype(float)


def test_a_published_audit_from_people(published):
    """The audit that states its unknown people and left out exactly what is under 2%."""
    (case,) = (each for each in published["cases"] if each["unknown"]["race/ethnicity"])
    for name, column in (("sex", "Sex"), ("race/ethnicity", "RACE")):
        rows, unknown = case["tables"][name], case["unknown"][name]
        codes, selected = people_of(rows)
        groups = Attribute(np.append(codes, np.full(unknown, -1)), tuple(r["group"] for r in rows))
        selected = np.append(selected, np.zeros(unknown))
        (table,) = profile_tables(
            NYC, {column: groups}, selected=selected, leave_out_small=True
        ).tables
        assert (table.unknown_people, table.unknown_rate) == (unknown, 0.0)
        for expected, row in zip(rows, table.rows, strict=True):
            assert row["left_out"] == expected["excluded_from_ratios"]
            if not row["left_out"]:
                assert row["ratio_to_highest"] == pytest.approx(expected["impact_ratio"])


def test_published_statistics_are_matched(published):
    """Under 1e-290 the file's p lacks a part of the second tail: SciPy underflows there."""
    for case in published["cases"]:
        given, rows = case["sex_statistics"], {r["group"]: r for r in case["tables"]["sex"]}
        low, high = rows[given["low"]], rows[given["high"]]
        counts = low["selected"], low["applicants"], high["selected"], high["applicants"]
        ratio, z = eq.selection_ratio(*counts), eq.two_proportion_z(*counts)
        # Katz's interval was published; with so many people, score intervals are close to it.
        assert [ratio.low, ratio.high] == pytest.approx(given["katz"], rel=0.005)
        assert (z.statistic, z.p_value) == pytest.approx((given["z"], given["pz"]), rel=1e-6)
        lacking, moved = eq.shortfall(*counts), eq.flips(*counts)
        assert lacking.estimate == pytest.approx(given["shortfall"], rel=1e-6)
        assert lacking.against_reference == pytest.approx(given["shortfall_ref"], rel=1e-6)
        assert (moved.flip, moved.to_four_fifths) == (given["flip"], given["to45"])
        exact = eq.fisher_exact(*counts)
        assert exact.probability == pytest.approx(2 * (given["fisher"] - given["midp"]), rel=1e-4)
        if given["fisher"] > 1e-290:
            wanted = given["fisher"], given["midp"]
            assert (exact.p_value, exact.mid_p) == pytest.approx(wanted, rel=1e-6)
        else:
            assert given["fisher"] < exact.p_value < 2 * given["fisher"]
