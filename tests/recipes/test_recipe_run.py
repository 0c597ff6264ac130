"""A recipe applied to a file: what is read, audited, re-ranked and given back."""

import csv
import io
from functools import cache

import numpy as np
import pytest

from equirank import Ranking, as_ranking_data
from equirank.core.errors import DataError, EquirankWarning
from equirank.io.files import FileInMemory
from equirank.recipes.recipe import Recipe
from equirank.recipes.recipe_code import recipe_code
from equirank.recipes.recipe_run import RecipeRun, make_reranker
from equirank.rerankers import PrefixConstraints

ROLES = {"query": "list", "score": "points", "id": "who", "sensitive": ["sex"]}
REMEDY = {"method": "PrefixConstraints", "by": "sex", "k": 4, "lower": {"f": 0.5}}


@cache
def people(n_lists=6, size=10, seed=0):
    """Lists in which women have lower scores."""
    rng = np.random.default_rng(seed)
    lines = ["list,who,sex,points,other,age,note"]
    for at in range(n_lists):
        for one in range(size):
            sex = "fm"[one % 2]
            score = rng.integers(0, 1000) / 10 - 30 * (sex == "f")
            note = "=1+1" if one == 0 else "plain"
            age = 20 + (7 * one) % 50
            other = rng.integers(0, 100)
            lines.append(f"L{at},P{at}-{one},{sex},{score},{other},{age},{note}")
    return ("\n".join(lines) + "\n").encode()


def run_of(content=None, name="people.csv", **tables):
    data = {**ROLES, **tables.pop("data", {})}
    data = {key: value for key, value in data.items() if value is not None}
    audit = {"k": [4], "n_boot": 30, "date": "2026-11-16"} | tables.pop("audit", {})
    recipe = Recipe.from_dict({"data": data, "audit": audit, **tables})
    return RecipeRun(recipe, FileInMemory(name, content or people()))


def rows_of(content):
    return list(csv.DictReader(io.StringIO(content.decode())))


def test_a_recipe_names_every_column_and_recognises_none():
    run = run_of(b"query,score,sex,points\n1,5,f,1\n2,4,m,2\n", data={"query": None, "id": None})
    assert run.data.n_queries == 1
    assert run.data.score.tolist() == [1.0, 2.0]


def test_lower_scores_first_reverses_the_order():
    up, down = run_of(), run_of(data={"higher_first": False})
    assert np.array_equal(up.data.score, -down.data.score)
    first = up.given.slots().order[:10].tolist()
    assert down.given.slots().order[:10].tolist() == first[::-1]
    assert any("lower 'points'" in remark for remark in down.data.source.remarks)
    with pytest.raises(DataError, match="higher_first"):
        _ = run_of(data={"score": None, "position": "other", "higher_first": False}).data


def test_bands_and_labels_become_groups():
    run = run_of(data={"sensitive": ["age", "sex"], "bands": {"age": [35, 50]},
                       "labels": {"sex": {"f": "female"}}})  # fmt: skip
    assert set(run.data.attribute("age").categories) == {"under 35", "35 to 49", "50 and over"}
    ages = [int(row["age"]) for row in rows_of(people())]
    labels = run.data.attribute("age").labels()
    for age, label in zip(ages, labels, strict=True):
        assert label == ("under 35" if age < 35 else "35 to 49" if age < 50 else "50 and over")
    assert set(run.data.attribute("sex").categories) == {"female", "m"}


def test_another_hash_is_a_warning():
    with pytest.warns(EquirankWarning, match="is not the file that the recipe was made with"):
        _ = run_of(data={"sha256": "1" * 64}).data


def test_a_quick_audit_has_tables_and_no_finding():
    quick, full = run_of().audit(quick=True), run_of().audit()
    assert not quick.findings
    assert len(quick.tables["groups"]) == len(full.tables["groups"])
    assert quick.tables["groups"]["mean_position"] == pytest.approx(
        full.tables["groups"]["mean_position"]
    )
    assert np.isnan(quick.tables["groups"]["position_difference_low"]).all()
    assert full.findings


def test_the_report_says_how_many_settings_were_looked_at():
    run = run_of(remedy=[REMEDY], looked_at={"settings": 17})
    for which in ("given", "remedy"):
        result = run.audit(which, quick=True)
        notes = [note["text"] for note in result.notes if note["kind"] == "looked_at"]
        assert notes == [notes[0]]
        assert notes[0].startswith("17 settings were looked at")
        assert result.provenance.command == "equirank run RECIPE --data people.csv"
        assert len(result.provenance.settings["recipe"]) == 64
    assert not [n for n in run_of().audit(quick=True).notes if n["kind"] == "looked_at"]


def test_two_scores_of_one_file_are_paired_by_row():
    run = run_of(data={"id": None}, against={"score": "other"})
    data, other = run.paired()
    assert np.array_equal(data.ids, other.ids)
    table = run.audit(quick=True).tables["comparison"]
    assert len(table)
    assert np.isnan(table["low"]).all()
    assert np.isnan(table["p_value"]).all()
    with pytest.raises(DataError, match=r"must be given: b\.csv"):
        _ = run_of(against={"name": "b.csv"}).other


@pytest.mark.parametrize("remedy", [REMEDY, {**REMEDY, "k": None}, {"method": "FAStarIR", "p": 0.5,
                         "protected": "f", "k": 4}])  # fmt: skip
def test_a_list_has_everybody_with_positions_and_reasons(remedy):
    remedy = {key: value for key, value in remedy.items() if value is not None}
    run = run_of(remedy=[remedy])
    rows, given = rows_of(run.new_list(remedy)), rows_of(people())
    assert sorted(row["who"] for row in rows) == sorted(row["who"] for row in given)
    result = run.reranked(remedy)
    new = dict(zip(result.data.ids.tolist(), result.places.tolist(), strict=True))
    old = dict(zip(result.data.ids.tolist(), result.places_before.tolist(), strict=True))
    k = remedy.get("k", 4)
    for row in rows:
        before, after = int(row["old_position"]), int(row["new_position"])
        assert (before, after) == (old[row["who"]], new[row["who"]])
        assert row["selected"] == ("yes" if 0 < after <= k else "no")
        joins, leaves = 0 < after <= k < before, before <= k and not 0 < after <= k
        assert row["reason"].startswith("joins") == joins
        assert row["reason"].startswith("leaves") == leaves
        if before == after:
            assert row["reason"] == ""
    assert {row["note"] for row in rows} == {"'=1+1", "plain"}
    assert [row["list"] for row in rows] == [f"L{at}" for at in range(6) for _ in range(10)]


def test_columns_of_the_file_keep_their_names():
    content = people().replace(b"note", b"selected", 1)
    rows = rows_of(run_of(content, remedy=[REMEDY]).new_list(REMEDY))
    assert {row["selected"] for row in rows} == {"'=1+1", "plain"}
    assert {row["selected.2"] for row in rows} == {"yes", "no"}


def test_an_impossible_guarantee_gives_the_closest_order():
    run = run_of(remedy=[{**REMEDY, "k": 8, "lower": {"f": 1.0}}])
    with pytest.warns(EquirankWarning, match="cannot keep|closest|widen"):
        result = run.reranked(run.recipe.remedy)
    assert len(result.moves)
    strict = {**REMEDY, "k": 8, "lower": {"f": 1.0}, "on_infeasible": "error"}
    with pytest.raises(ValueError, match="cannot"):
        run.reranked(strict)


def test_groups_of_numbers_are_found_by_their_texts():
    content = people().replace(b",f,", b",1,").replace(b",m,", b",0,")
    run = run_of(content, remedy=[{**REMEDY, "lower": {"1": 0.5}}])
    assert make_reranker(run.recipe.remedy, run.data).lower == {1: 0.5}
    assert run.reranked(run.recipe.remedy).holds


@pytest.mark.parametrize(
    "tables",
    [
        {"against": {"score": "other"}, "data": {"labels": {"sex": {"f": "female"}}}},
        *(
            pytest.param(tables, marks=pytest.mark.gate)
            for tables in (
                {"data": {"higher_first": False}, "shown": {"sex=f": "women"}},
                {"data": {"sensitive": ["sex", "age"], "bands": {"age": [35, 50]}}},
                {"against": {"score": "other", "higher_first": False}, "data": {"id": None}},
                {"against": {"name": "second.csv"}},
            )
        ),
    ],
)
@pytest.mark.gate
def test_the_code_gives_the_same_orders_and_numbers(tmp_path, monkeypatch, tables):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_bytes(people())
    (tmp_path / "second.csv").write_bytes(people(seed=1))
    group = "female" if "labels" in tables.get("data", {}) else "f"
    remedy = {**REMEDY, "by": "sex", "lower": {group: 0.5}}
    data = {"name": "people.csv"} | tables.get("data", {})
    run = run_of(**tables | {"data": data}, remedy=[remedy, {**remedy, "k": 2, "kept": True}])
    other = FileInMemory("second.csv", people(seed=1)) if "name" in run.recipe.against else None
    run = RecipeRun(run.recipe, run.file, other)
    found: dict = {}
    exec(compile(recipe_code(run.recipe), "code", "exec"), found)
    assert np.array_equal(found["after"].places, run.reranked(remedy).places)
    assert np.array_equal(found["kept_1"].places, run.reranked({**remedy, "k": 2}).places)
    for name, which in (("result", "given"), ("after_result", "remedy")):
        expected = run.audit(which)
        both = ([claim.to_dict() for claim in each.claims] for each in (found[name], expected))
        assert next(both) == next(both)
        assert found[name].facts["title"] == expected.facts["title"]
        assert [n["text"] for n in found[name].notes] == [n["text"] for n in expected.notes]
    changes = [claim for claim in found["result"].claims if claim.quantity.startswith("change")]
    assert bool(changes) == bool(run.recipe.against)
    assert (tmp_path / "remedy-report.html").exists()


def test_a_run_reads_its_data_once():
    run = run_of()
    again = run.again(run.recipe.patched({"audit": {"k": [2]}}))
    _ = run.data
    assert run.again(run.recipe).data is run.data
    assert again.k == 2


def test_whole_lists_keep_everyone_in_the_previous_order():
    data = as_ranking_data(
        score=[9, 8, 7, 6, 5, 4, 3, 2],
        qid=list("aaaabbbb"),
        sensitive_features={"sex": list("mmffmmmf")},
    )
    result = PrefixConstraints(lower={"f": 0.5}, k=2, on_infeasible="best").rerank(data)
    assert result.with_everyone().position.ravel().tolist() == [1, 3, 2, 4, 1, 3, 4, 2]
    cut = Ranking.from_positions(data, [1, 2, 3, 0, 1, 2, 3, 4])
    shown = PrefixConstraints(lower={"f": 0.5}, k=2).rerank(cut).with_everyone().position.ravel()
    assert shown.tolist() == [1, 3, 2, 0, 1, 3, 4, 2]
