"""The comparison of the golden corpus can fail: what it finds, and what it takes for rounding."""

import json

import numpy as np
import pytest
from golden.calls import changed_examples
from golden.compare import as_text, differences, plain, renamed, rounded
from golden.corpus import report

TABLE = {"estimate": [0.5, 6.25, float("nan")], "p": [0.0123456789012345], "note": "3 positions"}
LARGE = np.random.default_rng(0).normal(size=(500, 3))


def found(before, after):
    """What a comparison finds after the result was stored and read."""
    stored = json.loads(as_text(rounded(plain(before))))
    return [(each.path, each.kind) for each in differences(stored, plain(after))]


def test_equal_results_and_rounding_are_no_difference():
    assert not found(TABLE, TABLE)
    assert not found({"a": 0.1 + 0.2, "n": 1}, {"a": 0.3, "n": 1.0})
    assert not found({"a": 1e-15}, {"a": 0.0})
    assert not found(LARGE, LARGE * (1 + 1e-13))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"estimate": [0.5, 6.25 * (1 + 1e-8), float("nan")]}, ("estimate[1]", "number")),
        ({"p": [0.0123456790012345]}, ("p[0]", "p-value")),
        ({"p": [0.0123456789012345 * (1 + 1e-11)]}, ("p[0]", "p-value")),
        ({"note": "3 position"}, ("note", "text")),
        ({"estimate": [0.5, 6.25]}, ("estimate", "length")),
        ({"estimate": [0.5, 6.25, None]}, ("estimate[2]", "value")),
        ({"estimate": [0.5, 6.25, 0.0]}, ("estimate[2]", "number")),
        ({"more": 1}, ("more", "new")),
    ],
)
def test_a_change_is_found(change, expected):
    assert found(TABLE, TABLE | change) == [expected]


def test_a_missing_key_is_found():
    assert found(TABLE, {"estimate": TABLE["estimate"], "p": TABLE["p"]}) == [("note", "missing")]


@pytest.mark.parametrize(
    ("at", "value", "kind"),
    [
        ((250, 1), LARGE[250, 1] + 1e-7, "weighted sum of the array"),
        ((0, 0), np.nan, "nan of the array"),
        ((9, 2), 50.0, "norm of the array"),
    ],
)
def test_a_change_inside_a_large_array_is_found(at, value, kind):
    moved = LARGE.copy()
    moved[at] = value
    assert found({"values": LARGE}, {"values": moved}) == [("values", kind)]
    assert found(LARGE, LARGE[::-1]) == [("", "weighted sum of the array")]
    assert found(LARGE, LARGE[:-1]) == [("", "shape of the array")]


def test_a_change_in_many_texts_rows_and_lists_is_found():
    texts = [f"group {at % 3} of the people" for at in range(200)]
    assert found(texts, [*texts[:-1], texts[0]]) == [("codes", "norm of the array")]
    long = "\n".join(texts)
    assert found(long, long.replace("2", "3", 1)) == [("sha256", "text")]
    rows = [{"group": "f", "estimate": 0.25}, {"group": "m", "estimate": 0.5}]
    other = [rows[0], rows[1] | {"estimate": 0.75}]
    assert found({"claims": rows}, {"claims": other}) == [("claims.columns.estimate[1]", "number")]
    assert next(differences(plain(rows), plain(other))).place == "[1].estimate"
    nested = [[at, at + 1] for at in range(80)]
    moved = [*nested[:-1], [79, 81]]
    assert [kind for _, kind in found(nested, moved)] == ["norm of the array"]


def test_a_rename_is_applied_to_what_is_stored():
    renames = {"keys": {"query": "qid"}, "texts": {r"\bquery=": "qid="}}
    stored = {"query": ["a"], "text": "audit(query=1), a query"}
    now = {"qid": ["a"], "text": "audit(qid=1), a query"}
    assert not list(differences(renamed(stored, renames), now))
    assert len(list(differences(stored, now))) == 3


def test_an_example_that_changed_is_named():
    stored = {"ndcg": {"example": ["ndcg([1, 0])"], "values": [1.0]}}
    now = {"ndcg": {"example": ["ndcg([0, 1])"], "values": [0.63]}}
    (only,) = changed_examples(stored, now)
    assert only.kind.startswith("example changed, its results differ")
    assert next(changed_examples(stored, {})).kind == "missing"
    (only,) = changed_examples(stored, {"ndcg": now["ndcg"] | {"example": ["ndcg([1, 0])"]}})
    assert (only.path, only.kind) == ("ndcg.values[0]", "number")


def test_many_differences_of_one_kind_are_counted():
    before = {f"c{at}": [1.0, 2.0] for at in range(2)}
    after = {name: [1.5, 2.5] for name in before}
    lines = report({case: list(differences(before, after)) for case in ("audits/a", "audits/b")})
    assert lines[0] == "audits/a: c0[0]: number  (relative 0.33)"
    assert lines[1:3] == ["    stored 1.0", "    now    1.5"]
    assert [line for line in lines if "more of" in line] == [
        f"    and 1 more of c{at}[] in 2 cases" for at in range(2)
    ]
