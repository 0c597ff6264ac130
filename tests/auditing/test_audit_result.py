"""AuditResult: what it keeps, writes, reads back and shows."""

import json

import numpy as np
import pytest

from equirank import AuditResult, DataError, FormatError, audit
from equirank.core.table import Table, table_from_json, table_to_json

pytestmark = pytest.mark.slow

TABLES = [
    *(
        "claims",
        "groups",
        "selection",
        "unknown",
        "labels",
        "decisions",
        "gaps",
        "metrics",
        "prefix_shares",
        "exposure_merit",
        "pairwise",
    ),
    *("scores", "strip", "checks", "queries", "blind_spots", "methods", "comparison"),
    "profile",
]


def small(**options):
    options = {"n_boot": 20, "n_permutations": 20} | options
    return audit(score=[4, 3, 2, 1], sensitive={"sex": list("mfmf")}, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hiring", "one_list"])
def test_json_reads_back_equal(name, request, tmp_path):
    result = request.getfixturevalue(name)
    path = tmp_path / "audit.json"
    text = result.to_json(path)
    assert path.read_text(encoding="utf-8") == text + "\n"
    again = AuditResult.from_json(path)
    assert again == result == AuditResult.from_json(text)
    for table in TABLES:
        ours, theirs = result.tables[table].columns, again.tables[table].columns
        assert {k: v.dtype for k, v in ours.items()} == {k: v.dtype for k, v in theirs.items()}
    assert again.to_json() == text


def test_the_document(hiring):
    document = json.loads(hiring.to_json())
    assert list(document) == [
        *("schema_version", "kind", "provenance", "facts", "claims", "verdict", "notes"),
        "tables",
    ]
    assert document["schema_version"] == 2
    assert [each["id"] for each in document["claims"]] == [each.id for each in hiring.claims]
    assert [each["sentence"] for each in document["claims"]] == [
        each.sentence for each in hiring.claims
    ]
    assert [each["text"] for each in document["verdict"]] == hiring.verdict
    assert {name for each in document["verdict"] for name in each["claims"]} <= {
        each.id for each in hiring.claims
    }
    assert list(document["tables"]) == TABLES == list(hiring.tables)
    group = document["tables"]["groups"]["group"]
    assert group["type"] == "label"
    assert group["values"][:2] == ["female", "male"]
    assert {c["type"] for c in document["tables"]["groups"].values()} == {
        *("label", "number", "integer", "boolean")
    }


def test_every_table_becomes_a_frame(one_list):
    for name, table in one_list.tables.items():
        assert len(table.to_frame("pandas")) == len(table), name


@pytest.mark.slow
def test_results_differ_where_a_number_does():
    one, two = small(), small()
    assert one == two
    two.tables["gaps"]["value"][0] += 1e-9
    assert one != two
    assert one != small(protected="sex=f")
    assert one != "something else"


def test_numbers_json_does_not_know():
    table = Table({"a": np.array([1.0, np.nan, np.inf, -np.inf]), "b": np.array([True] * 4)})
    again = table_from_json(json.loads(json.dumps(table_to_json(table), allow_nan=False)))
    np.testing.assert_array_equal(again["a"], table["a"])
    assert again["b"].dtype == bool


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"schema_version": 3}', "schema_version of the text must be at most 2, got 3"),
        ('{"schema_version": "x"}', "must be at most 2, got 'x'"),
        ('{"schema_version": 1}', "must be 2, got 1: .* audit the data again"),
        ('{"schema_version": 2}', "but parts are missing"),
        ('{"schema_version": 2, "tables": {"a": 3}}', "but parts are missing"),
        ("{}", "must be JSON written by an audit"),
        ("{nonsense", "must be JSON written by an audit"),
        ('{"a":' * 100_000, "must be JSON written by an audit"),
        ('{"schema_version": ' + "9" * 5000 + "}", "must be JSON written by an audit"),
        (
            '{"schema_version": 2, "tables": {"a": {"b": {"type": "integer", "values": [1%s]}}}}'
            % ("0" * 40),
            "but parts are missing",
        ),
    ],
)
def test_other_json_is_refused(text, said, tmp_path):
    with pytest.raises(FormatError, match=said):
        AuditResult.from_json(text)
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"other\.json"):
        AuditResult.from_json(path)


def test_a_list_is_no_audit(tmp_path):
    path = tmp_path / "list.json"
    for text in (b"[1, 2]", b"\xff\xfe"):
        path.write_bytes(text)
        with pytest.raises(FormatError, match="must be JSON written by an audit"):
            AuditResult.from_json(path)


def test_the_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    from equirank.auditing import audit_page as render

    result, path, page = small(), tmp_path / "report.html", "<!doctype html>é"
    monkeypatch.setattr(render, "render", lambda result: page)
    result.to_html(path)
    assert path.read_text(encoding="utf-8") == page

    def stop(result):
        raise KeyboardInterrupt

    monkeypatch.setattr(render, "render", stop)
    with pytest.raises(KeyboardInterrupt):
        result.to_html(path)
    assert path.read_text(encoding="utf-8") == page
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_text_and_notebook():
    result = small(title="<script>alert(1)</script>")
    assert result.verdict[0] in repr(result)
    assert "position_difference" in repr(result)
    shown = result._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "<table>" in shown


def test_hostile_groups_stay_text():
    groups = ["<b>x</b>", '"quoted"', "<b>x</b>", '"quoted"']
    result = audit(score=[4, 3, 2, 1], sensitive={"a\nb": groups}, n_boot=0, n_permutations=0)
    assert "<b>" not in result._repr_html_()
    assert AuditResult.from_json(result.to_json()) == result


def test_fails_is_a_bool():
    assert small().fails("raw: ExposureGap>0.01") is True
    assert small().fails("ExposureGap>0.99") is False
    with pytest.raises(DataError):
        small().fails("nothing")
