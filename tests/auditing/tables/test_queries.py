"""The drill-down: the most unequal lists first, at most 500."""

import numpy as np

from equirank import audit, evaluate
from equirank.datasets import load_hiring


def test_worst_first_with_the_values_of_evaluate(hiring):
    rows = [row for row in hiring.tables["queries"] if row["attribute"] == "sex"]
    size = [abs(row["position_difference"]) / row["size"] for row in rows]
    assert size == sorted(size, reverse=True)
    assert len(rows) == 60
    expected = evaluate(load_hiring(), 'RND(by="sex", protected="female")', n_boot=0)
    values = dict(zip(expected.qids, expected.results[0].values.value, strict=True))
    assert all(row["RND"] == values[row["query"]] for row in rows)


def test_at_most_500_and_it_is_said():
    rng = np.random.default_rng(0)
    result = audit(
        score=rng.random(2400),
        query=np.repeat(range(600), 4),
        sensitive={"g": np.tile(list("aabb"), 600)},
        n_boot=0,
        n_permutations=0,
    )
    assert len(result.tables["queries"]) == 500
    assert (result.facts["drilldown_kept"], result.facts["drilldown_total"]) == (500, 600)
    assert any("500 most unequal of 600 lists" in note["text"] for note in result.notes)
    assert all(type(query) is int for query in result.tables["queries"]["query"])


def test_lists_without_the_group_come_last():
    result = audit(
        score=[2, 1, 2, 1],
        query=["x", "x", "y", "y"],
        sensitive=list("aaab"),
        n_boot=0,
        n_permutations=0,
    )
    table = result.tables["queries"]
    assert table["query"].tolist() == ["y", "x"]
    assert np.isnan(table["position_difference"][1])
