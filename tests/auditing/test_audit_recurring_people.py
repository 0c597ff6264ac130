"""People who recur: audits of rows and sums, gates and remedies test nothing, and say why."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from equirank import DataError, audit, audit_sums, list_sums, remedy
from equirank.auditing.notes import NO_IDS
from equirank.cli.app import app
from equirank.core.list_sums import ListSums

FEW = {"n_boot": 49, "n_permutations": 99}
WHY = "appear more than once, and the tests assume that everybody appears once"


def lists(n_lists=40, length=15, n_people=60, seed=0):
    """Lists of people who recur, with random scores; labels belong to people."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n_people)
    who = np.concatenate([rng.choice(n_people, length, replace=False) for _ in range(n_lists)])
    return {
        "query": np.repeat(np.arange(n_lists), length),
        "id": np.array([f"p{each}" for each in who]),
        "sex": sex[who],
        "score": rng.permutation(n_lists * length).astype(float),
        "hired": rng.integers(0, 2, n_lists * length),
    }


NAMES = {"query": "query", "score": "score", "sensitive": "sex", "id": "id"}


def fresh(columns, recurring=0):
    """The same rows with an id for each, of which the last ones are those of the first rows."""
    ids = np.arange(len(columns["id"]))
    if recurring:
        ids[-recurring:] = ids[:recurring]
    return columns | {"id": ids}


def of_rows(columns, names=NAMES):
    return audit(columns, **names, k=5, **FEW)


def of_sums(columns, names=NAMES):
    return audit_sums(list_sums(columns, **names, k=5), **FEW)


@pytest.fixture
def many_lists(monkeypatch):
    """Let sums keep few lists, so that audits of small data read sums alone."""
    monkeypatch.setattr("equirank.core.list_samples.MOST_LISTS", 8)
    monkeypatch.setattr("equirank.auditing.source_plans.MOST_LISTS", 8)


@pytest.mark.parametrize("audited", [of_rows, of_sums])
@pytest.mark.parametrize("many", [False, True])
def test_a_report_about_people_who_recur_tests_nothing(audited, many, request):
    if many:
        request.getfixturevalue("many_lists")
    columns = lists()
    columns["id"][:2] = ["q1", "q2"]
    result = audited(columns)
    n_people = len(set(columns["id"]))
    several = sum((columns["id"] == each).sum() > 1 for each in set(columns["id"]))
    assert result.verdict[0] == (
        f"This report tests no difference between groups: {several} of the {n_people} people in "
        f"600 rows of 40 lists {WHY}."
    )
    assert {claim.status for claim in result.claims} == {"described"}
    for claim in result.claims:
        numbers = [claim.p, claim.p_family, claim.low, claim.high, *claim.bounds, claim.detectable]
        numbers += [each for several in claim.also.values() for each in several[1:]]
        assert np.isnan(numbers).all()
        assert not np.isnan(claim.estimate)
    for name, column in [("gaps", "p_value"), ("gaps", "low"), ("decisions", "ratio_low")]:
        assert np.isnan(result.tables[name][column]).all()
    for column in ("z_p", "exact_p", "mid_p", "mh_p", "breslow_day_p", "low", "high"):
        assert np.isnan(result.tables["decisions"][column]).all()
    assert np.isnan(result.tables["selection"]["ratio_low"]).all()
    assert result.facts["n_people"] == n_people
    assert result.provenance.settings["n_boot"] == 49
    json.loads(result.to_json())


def test_estimates_are_those_of_the_same_rows_with_other_ids():
    columns = lists()
    described, tested = of_rows(columns), of_rows(fresh(columns))
    for one, other in zip(described.claims, tested.claims, strict=True):
        assert (one.id, one.quantity, one.estimate) == (other.id, other.quantity, other.estimate)
    assert {claim.status for claim in tested.claims} <= {"finding", "cannot_tell"}


@pytest.mark.parametrize("audited", [of_rows, of_sums])
def test_up_to_one_in_a_hundred_are_named_and_the_report_goes_on(audited):
    result = audited(fresh(lists(), 5))
    texts = [note["text"] for note in result.notes if note["kind"] == "people"]
    assert texts == [
        "5 of the 595 people in 600 rows of 40 lists appear more than once; the tests take each "
        "row for another person."
    ]
    assert {claim.status for claim in result.claims} <= {"finding", "cannot_tell"}
    more = audited(fresh(lists(), 6))  # 6 of 594
    assert {claim.status for claim in more.claims} == {"described"}


@pytest.mark.slow
@pytest.mark.parametrize("audited", [of_rows, of_sums])
def test_ids_that_do_not_recur_change_nothing_and_none_are_said(audited):
    columns = fresh(lists())
    named = audited(columns)
    assert not [note for note in named.notes if note["kind"] == "people"]
    without = audited(columns, {name: each for name, each in NAMES.items() if name != "id"})
    assert [note["text"] for note in without.notes if note["kind"] == "people"] == [NO_IDS]
    assert without.facts["n_people"] is None
    assert [c.p_family for c in named.claims] == [c.p_family for c in without.claims]


def test_a_person_twice_in_one_list_recurs_and_a_missing_id_is_another_person():
    score = np.arange(200.0)
    ids = np.repeat(np.arange(100), 2).astype(object)
    sex = np.array(list("fm") * 100)
    result = audit(score=score, sensitive={"sex": sex}, id=ids, **FEW)
    assert f"all 100 people in 200 rows of one list {WHY}" in result.verdict[0]
    ids = np.arange(200).astype(object)
    ids[:2] = None
    result = audit(score=score, sensitive={"sex": sex}, id=ids, **FEW)
    texts = [note["text"] for note in result.notes if note["kind"] == "people"]
    assert texts == ["2 rows have no id, and each is taken to be another person."]


GATES = ["any finding", "sex=f selected at 5 < 0.8", "any sex exposure < 0.8", "RND > 0.3"]


@pytest.mark.parametrize("gate", [*GATES, "RND(by='sex').p_value < 0.05"])
def test_gates_that_need_a_test_are_refused_with_the_reason(gate):
    with pytest.raises(DataError, match=WHY):
        of_rows(lists()).judge(gate)


@pytest.mark.parametrize("gate", ["sex=f selected at 5 < 0.8 observed", "raw: RND(by='sex') > 0.9"])
def test_gates_that_need_no_test_are_judged(gate):
    assert of_rows(lists()).failures(gate) == []


@pytest.mark.slow
@pytest.mark.parametrize("gate", GATES)
def test_the_command_exits_with_2_where_a_gate_needs_a_test(gate, tmp_path):
    path = tmp_path / "people.csv"
    columns = lists()
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    text = "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)])
    path.write_text(text + "\n", encoding="utf-8")
    call = ["audit", str(path), "--sensitive", "sex", "--k", "5", "--n-boot", "19", "--id", "id"]
    found = CliRunner().invoke(app, [*call, "--fail-on", gate])
    assert found.exit_code == 2
    assert WHY in found.output
    found = CliRunner().invoke(app, call)
    assert found.exit_code == 0
    assert WHY in found.output
    assert ["group", "rows", "share"] in [line.split()[:3] for line in found.output.splitlines()]
    found = CliRunner().invoke(app, call[:-2])
    assert NO_IDS in found.output


def test_people_in_both_of_two_files_recur():
    first, other = fresh(lists()), fresh(lists(seed=1))
    other["query"] = other["query"] + 100
    both = audit(first, **NAMES, k=5, **FEW, unpaired=other)
    assert f"all 600 people in 1,200 rows of 80 lists {WHY}" in both.verdict[0]
    other["id"] = other["id"] + 1000
    apart = audit(first, **NAMES, k=5, **FEW, unpaired=other)
    assert {claim.status for claim in apart.claims} <= {"finding", "cannot_tell"}


def test_paired_rankings_of_people_who_recur_are_described():
    columns = lists()
    other = columns | {"score": -columns["score"]}
    result = audit(columns, **NAMES, k=5, **FEW, against=other)
    changes = [claim for claim in result.claims if claim.quantity.startswith("change")]
    assert changes
    assert {claim.status for claim in changes} == {"described"}


@pytest.mark.slow
def test_sums_that_are_added_or_stored_know_who_recurs(tmp_path):
    pytest.importorskip("pyarrow")
    columns = lists(n_people=2000)
    half = columns["query"] < 20
    parts = [{n: v[rows] for n, v in columns.items()} for rows in (half, ~half)]
    first = list_sums(parts[0], **NAMES, k=5)
    second = list_sums(parts[1], query="query", score="score", sensitive="sex", id="id", like=first)
    (first + second).save(tmp_path / "sums")
    total, whole = ListSums.load(tmp_path / "sums"), list_sums(columns, **NAMES, k=5)
    assert total.recurrence.keys.tolist() == whole.recurrence.keys.tolist()
    assert total.recurrence.rows.tolist() == whole.recurrence.rows.tolist()
    assert audit_sums(total, **FEW).verdict == audit_sums(whole, **FEW).verdict
    nameless = list_sums(parts[1], query="query", score="score", sensitive="sex", like=first)
    with pytest.raises(DataError, match="must all be made with id"):
        first + nameless


@pytest.mark.slow
def test_logs_of_files_and_databases_know_who_recurs(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "log.parquet"
    columns = lists()
    parquet.write_table(arrow.table(columns), path)
    expected = list_sums(columns, **NAMES).recurrence
    found = {"parquet": list_sums(path, **NAMES)}
    found["two tables"] = list_sums(path, against=path, **NAMES)
    if duckdb := pytest.importorskip("duckdb"):
        with duckdb.connect() as connection:
            relation = connection.sql(f"select * from '{path}'")
            found["duckdb"] = list_sums(relation, **NAMES)
    for engine, sums in found.items():
        assert sums.recurrence.keys.tolist() == expected.keys.tolist(), engine
        assert sums.recurrence.rows.tolist() == expected.rows.tolist(), engine


@pytest.mark.slow
def test_remedies_for_people_who_recur_have_no_interval_and_no_promise():
    columns = lists(n_lists=12)
    with pytest.raises(DataError, match=f"target must be given, since .*{WHY}"):
        remedy(columns, **NAMES)
    columns["score"] = columns["score"] + 200.0 * (columns["sex"] == "m")
    other = lists(n_lists=12, seed=1)
    found = remedy(columns, "sex=f selected at 5 >= 0.9", **NAMES, n_boot=19, calibration=other)
    assert WHY in found.notes[0]
    assert "Nothing is promised for new lists, since people recur." in found.notes
    assert np.isnan([found.before.low, found.before.high]).all()
    assert found.reached
    for each in found.remedies:
        assert np.isnan([each.target.low, each.loss.low]).all()
        assert each.promise is None


@pytest.mark.slow
def test_remedies_without_ids_say_what_they_assume():
    columns = lists()
    names = {"query": "query", "score": "score", "sensitive": "sex"}
    found = remedy(columns, "sex=f selected at 5 >= 0.9", **names, n_boot=49)
    assert NO_IDS in found.notes
    assert not np.isnan(found.before.low)


@pytest.mark.slow
def test_a_remedy_promises_nothing_if_people_of_other_lists_recur():
    columns, other = fresh(lists()), lists(seed=1)
    target, ways = "sex=f selected at 5 >= 0.9", NAMES | {"n_boot": 49}
    note = "Nothing is promised for new lists, since people recur."
    for calibration in (other, fresh(other)):  # they recur there; they are in both
        found = remedy(columns, target, **ways, calibration=calibration)
        assert note in found.notes
    other = fresh(other)
    found = remedy(columns, target, **ways, calibration=other | {"id": other["id"] + 1000})
    assert note not in found.notes
    assert not np.isnan(found.before.low)


@pytest.mark.gate
@pytest.mark.parametrize("audited", [of_rows, of_sums])
def test_corrected_estimates_of_people_who_recur_have_no_interval(audited):
    columns = lists()
    hidden = np.random.default_rng(0).random(len(columns["sex"])) < 0.15
    columns["sex"] = np.where(hidden, None, columns["sex"])
    table = audited(columns).tables["labels"]
    bounds, corrected = (table["answer"] == answer for answer in ("bounds", "corrected"))
    assert not np.isnan(table["low"][bounds]).any()
    assert not np.isnan(table["value"][corrected]).all()
    assert np.isnan([table["low"][corrected], table["high"][corrected]]).all()
