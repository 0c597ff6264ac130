"""Audits with unknown labels: such people are in no group, and counted beside every table."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from equirank import AuditResult, as_ranking_data, audit
from equirank.auditing import audit_page
from equirank.cli.app import app
from equirank.core.attribute import Attribute

QUICK = {"n_boot": 0, "n_permutations": 0}
#: Selected, not selected: the unknown are selected most often.
COUNTS = {"Black": (100, 880), "White": (240, 750), "": (100, 10)}


@pytest.fixture(scope="module")
def applicants():
    """Race and score of 2,080 people; the first 440 are selected."""
    race = [group for group, (first, _) in COUNTS.items() for _ in range(first)]
    race += [group for group, (_, rest) in COUNTS.items() for _ in range(rest)]
    return {"race": race, "score": list(range(len(race), 0, -1))}


def by_group(result, table="selection", column="impact_ratio"):
    return {row["group"]: row[column] for row in result.tables[table]}


@pytest.mark.slow
def test_the_unknown_are_no_reference(applicants):
    result = audit(applicants, sensitive=["race"], k=440, **QUICK)
    ratios = by_group(result)
    assert {group: round(ratio, 2) for group, ratio in ratios.items()} == {
        "Black": 0.42,  # (100 / 980) / (240 / 990)
        "White": 1.0,
    }
    assert by_group(result, column="reference") == {"Black": False, "White": True}
    # as a group of their own they would be the reference
    group = ["other" if each == "" else each for each in applicants["race"]]
    before = audit(score=applicants["score"], sensitive={"race": group}, k=440, **QUICK)
    assert {name: round(ratio, 2) for name, ratio in by_group(before).items()} == {
        "Black": 0.11,
        "White": 0.27,
        "other": 1.0,
    }
    data = as_ranking_data(
        score=applicants["score"],
        sensitive_features={"race": applicants["race"]},
        missing_sensitive="category",
    )
    category = audit(data, k=440, **QUICK)
    assert by_group(category, column="reference")["White"]
    assert round(by_group(category)["Black"], 2) == 0.42
    assert round(by_group(category)["(missing)"], 2) == 3.75


@pytest.mark.slow
def test_they_are_counted_beside_the_tables(applicants):
    result = audit(applicants, sensitive=["race"], k=[440, 1000], **QUICK)
    table = result.tables["unknown"]
    first = next(iter(table))
    assert table["decision"].tolist() == ["top 440", "top 1,000"]
    assert (first["attribute"], first["size"], first["n_queries"]) == ("race", 110, 1)
    assert first["share"] == 110 / 2080
    assert (first["selected"], first["rate"]) == (100, 100 / 110)
    order = np.flatnonzero(np.array(applicants["race"]) == "")
    assert first["mean_position"] == pytest.approx((order + 1).mean())
    weight = 1 / np.log2(np.arange(2, 2082))
    assert first["exposure"] == pytest.approx(weight[order].sum() / weight.sum())
    assert result.facts["attributes"][0]["unknown"] == 110
    told = "race unknown: 110 people (5.3%); selected: 91% (top 440), 91% (top 1,000)."
    assert [n["text"] for n in result.notes if n["kind"] == "unknown"] == [
        f"{told} They are in no group, and keep their positions."
    ]
    again = AuditResult.from_json(result.to_json())
    assert again == result
    known = audit(applicants | {"race": ["a", "b"] * 1040}, sensitive=["race"], **QUICK)
    assert len(known.tables["unknown"]) == 0
    assert known.facts["attributes"][0]["unknown"] == 0


@pytest.mark.slow
def test_the_tables_of_groups_against_twins(applicants):
    result = audit(applicants, sensitive=["race"], k=440, **QUICK)
    race, position = np.array(applicants["race"]), np.arange(1, 2081)
    weight = 1 / np.log2(position + 1.0)
    known = race != ""
    for row in result.tables["groups"]:
        own = race == row["group"]
        assert row["size"] == own.sum()
        assert row["share"] == pytest.approx(own.sum() / known.sum())
        assert row["mean_position"] == pytest.approx(position[own].mean())
        difference = position[own].mean() - position[known & ~own].mean()
        assert row["position_difference"] == pytest.approx(difference)
        assert row["exposure"] == pytest.approx(weight[own].sum() / weight[known].sum())
        mean = weight[own].mean() / weight[known].mean()
        assert row["exposure_per_item"] == pytest.approx(mean)
    for row in result.tables["prefix_shares"]:
        head, own = known[: row["k"]], race[: row["k"]] == row["group"]
        assert row["share"] == pytest.approx(own.sum() / head.sum())
        assert row["pool_share"] == pytest.approx((race == row["group"]).sum() / known.sum())
        assert 0 <= row["band_low"] <= row["pool_share"] <= row["band_high"] <= 1
    for group in ("Black", "White"):
        bars = [row["share"] for row in result.tables["scores"] if row["group"] == group]
        assert sum(bars) == pytest.approx(1)


def mixed(seed=0, n_queries=21, length=12):
    rng = np.random.default_rng(seed)
    n = n_queries * length
    draw = {"sex": ["f", "m"], "race": ["x", "y", "z"]}
    groups = {name: rng.choice(np.array(words, dtype=object), n) for name, words in draw.items()}
    for column in groups.values():
        column[rng.random(n) < 0.2] = None
    return as_ranking_data(
        y=rng.integers(0, 3, n),
        score=rng.integers(0, 20, n),
        qid=np.repeat(np.arange(n_queries), length),
        sensitive_features=groups,
        missing_sensitive="unknown",
    )


def one_attribute(seed=1, n_queries=4, length=30):
    rng = np.random.default_rng(seed)
    n = n_queries * length
    sex = rng.choice(np.array(["f", "m"], dtype=object), n)
    sex[rng.random(n) < np.repeat([0.0, 0.2, 0.5, 0.7], length)] = None
    return as_ranking_data(
        y=rng.integers(0, 3, n),
        score=rng.permutation(n),
        qid=np.repeat(np.arange(n_queries), length),
        sensitive_features={"sex": sex},
        missing_sensitive="unknown",
    )


def test_lists_weigh_by_their_known_people():
    data = one_attribute()
    result, labels = audit(data, **QUICK), data.attribute().labels()
    own, merit, people = ({"f": 0.0, "m": 0.0} for _ in range(3))
    for begin in data.offsets[:-1].tolist():
        rows = begin + np.argsort(-data.score[begin : begin + 30])
        weight = dict(zip(rows.tolist(), 1 / np.log2(np.arange(2, 32)), strict=True))
        known = [row for row in rows.tolist() if labels[row] is not None]
        for row in known:
            own[labels[row]] += weight[row] * len(known) / sum(weight[r] for r in known)
            merit[labels[row]] += data.y[row] * len(known) / sum(data.y[r] for r in known)
            people[labels[row]] += 1
    for row in result.tables["groups"]:
        wanted = own[row["group"]] / sum(own.values())
        assert row["exposure"] == pytest.approx(wanted)
        assert row["merit_share"] == pytest.approx(merit[row["group"]] / sum(merit.values()))
        assert row["size"] == people[row["group"]]
    bars = [row for row in result.tables["scores"] if row["group"] == "f"]
    women = data.score[labels == "f"]
    for at, row in enumerate(bars):
        last = at == len(bars) - 1
        low = -np.inf if at == 0 else row["left"]
        inside = (women >= low) & ((women < row["right"]) | last)
        assert row["share"] == pytest.approx(inside.mean())


@pytest.mark.slow
def test_patterns_of_positions_are_those_of_the_known():
    data = one_attribute()
    kept = data.select_items(np.flatnonzero(data.attribute().known))
    options = {"protected": "sex=f", "n_boot": 0, "n_permutations": 9}
    whole, alone = (audit(each, **options).tables["checks"] for each in (data, kept))
    assert len(whole) > 3
    assert whole["check"].tolist() == alone["check"].tolist()
    np.testing.assert_allclose(whole["value"], alone["value"])


@pytest.mark.gate
def test_the_order_of_the_categories_has_no_part_in_it():
    data = mixed()
    sensitive = {
        name: Attribute(
            np.where(a.codes < 0, -1, len(a.categories) - 1 - a.codes).astype(np.int32),
            a.categories[::-1],
        )
        for name, a in data.sensitive.items()
    }
    options = {"n_boot": 10, "n_permutations": 19, "random_state": 0, "protected": ["sex=f"]}
    here, there = audit(data, **options), audit(replace(data, sensitive=sensitive), **options)
    for table, numbers in (
        ("groups", ("size", "share", "mean_position", "position_difference", "exposure", "merit")),
        ("selection", ("selected", "size", "rate", "impact_ratio")),
        ("unknown", ("size", "selected", "rate", "exposure")),
    ):
        one, two = (
            {
                (row["attribute"], row.get("group"), row.get("k")): [row[each] for each in numbers]
                for row in result.tables[table]
                if "&" not in str(row.get("group"))
            }
            for result in (here, there)
        )
        assert one.keys() == two.keys()
        for key, row in one.items():
            np.testing.assert_allclose(row, two[key], rtol=1e-9, err_msg=str(key))
    crossed = here.facts["attributes"][2]
    both = (data.attribute("sex").codes < 0) | (data.attribute("race").codes < 0)
    assert crossed["unknown"] == both.sum()
    assert all("None" not in group["name"] for group in crossed["groups"])
    assert {claim.group for claim in here.claims} <= {
        group["name"] for each in here.facts["attributes"] for group in each["groups"]
    }


@pytest.mark.slow
def test_a_crossing_whose_labels_are_never_known_together_is_left_out():
    groups = {"sex": ["f", "m", None, None] * 5, "race": [None, None, "x", "y"] * 5}
    result = audit(score=range(20), sensitive=groups, **QUICK)
    assert [each["name"] for each in result.facts["attributes"]] == ["sex", "race"]


@pytest.mark.slow
def test_the_other_ranking_may_know_other_labels():
    ids, sex = list(range(8)), ["f", "m", None, "f", "m", "f", "m", None]
    given = {"id": "id", "sensitive": ["sex"], "score": "score", **QUICK}
    data = {"id": ids, "sex": sex, "score": ids}
    same = audit(data, against=data | {"score": ids[::-1]}, **given)
    assert not any(claim.status == "refused" for claim in same.claims)
    guessed = data | {"sex": ["f", "m", "m", "f", "m", "f", "m", None]}
    other = audit(data, against=guessed, **given)
    assert any("different labels of sex" in claim.sentence for claim in other.claims)


@pytest.mark.slow
def test_the_page_says_it_beside_the_tables(applicants, monkeypatch):
    pytest.importorskip("jinja2")
    monkeypatch.setattr(audit_page, "_charts", lambda result: iter(()))
    text = audit_page.render(audit(applicants, sensitive=["race"], k=440, **QUICK))
    told = "race unknown: 110 people (5.3%); selected: 91% (top 440)."
    # groups, exposure, decisions, selection, gaps
    assert text.count(f'<p class="note">{told}</p>') == 6
    assert "(missing)" not in text


@pytest.mark.slow
def test_the_terminal_says_it(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("race,score\n" + "White,4\n,3\nBlack,2\nnan,1\n")
    words = ["audit", str(path), "--sensitive", "race", "--k", "2", "--n-boot", "0"]
    shown = CliRunner().invoke(app, words).output
    told = "note: race unknown: 2 people (50%); selected: 50% (top 2)."
    assert told in shown.replace("\n", " ")
    assert "(missing)" not in shown
