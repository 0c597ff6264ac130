"""Labels at their worst: a list without labels, nearly singular matrices, and a million rows."""

import numpy as np
import pytest

from equirank import AuditResult, LabelError, as_ranking_data, audit
from equirank.statistics import completion_bounds, corrected_estimate, label_breakdown

QUICK = {"query": "list", "sensitive": "race", "k": 4, "n_boot": 60, "n_permutations": 99}


def people(lists=25, length=12, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.random((lists, length)) < 0.4
    score = rng.normal(size=group.shape) - 1.5 * group
    return {
        "list": np.repeat(np.arange(lists), length).tolist(),
        "score": score.ravel().tolist(),
        "race": np.where(group, "b", "w").ravel().astype(object).tolist(),
    }


@pytest.mark.slow
def test_a_list_whose_labels_are_all_unknown():
    data = people()
    hidden = data | {"race": [None] * 12 + data["race"][12:]}
    without = {name: values[12:] for name, values in data.items()}
    result, rest = audit(hidden, **QUICK), audit(without, **QUICK)
    known, others, truth = (
        {row["group"]: row["position_difference"] for row in each.tables["groups"]}
        for each in (result, rest, audit(data, **QUICK))
    )
    assert known == others  # a list without labels adds nothing to known labels
    answers = {
        (row["group"], row["measure"], row["method"]): row for row in result.tables["labels"]
    }
    bounds = answers["b", "position_difference", "completions"]
    assert bounds["low"] <= truth["b"] <= bounds["high"]
    assert {row["group"] for row in result.tables["groups"]} == {"b", "w"}
    assert AuditResult.from_json(result.to_json()) == result
    one = completion_bounds([1, 2, 3, 4], [None] * 4, "b", groups=["b", "w"])
    assert (one.low, one.high) == pytest.approx((-2.0, 2.0))
    told = corrected_estimate([1, 2, 3, 4], [None] * 4, "b", groups=["b", "w"])
    assert (np.isnan(told.value), told.reason) == (True, "no label is known")


def flips(e):
    return LabelError([[1 - e, e], [e, 1 - e]])


@pytest.mark.parametrize("e", [0.41, 0.499999999, 0.5])
def test_nearly_singular_matrices_are_refused(e):
    data = people()
    given = {"values": data["score"], "sensitive_features": data["race"], "protected": "b"}
    given |= {"qid": data["list"], "label_error": flips(e), "n_boot": 50}
    found, undone = corrected_estimate(**given), label_breakdown(**given)
    assert f"J is {1 - 2 * e:.2f}, under 0.2" in found.reason
    assert found.reason == undone.reason
    assert np.isnan([found.value, found.low, found.high, undone.breakdown]).all()


def test_a_matrix_that_tells_little_has_a_wide_interval_or_none():
    data = people(lists=40)
    values = np.array(data["score"])
    wide = corrected_estimate(
        values, data["race"], "b", qid=data["list"], label_error=flips(0.39), n_boot=200
    )
    plain = corrected_estimate(values, data["race"], "b", qid=data["list"], n_boot=200)
    if wide.reason:
        assert wide.reason == "the number that the measure divides by could be 0"
    else:
        assert wide.high - wide.low > 2 * (plain.high - plain.low)


@pytest.mark.slow
def test_a_singular_matrix_of_three_groups_is_refused_by_the_audit():
    data = people()
    rng = np.random.default_rng(1)
    data["race"] = rng.choice(list("xyz"), len(data["list"])).tolist()
    matrix = [[0.4, 0.35, 0.25], [0.3, 0.6, 0.1], [0.5, 0.1, 0.4]]
    ranking = as_ranking_data(
        score=data["score"],
        qid=data["list"],
        sensitive_features={"race": data["race"]},
        label_error={"race": LabelError(matrix)},
    ).ranking()
    assert abs(np.linalg.det(matrix)) < 1e-12  # the first row is the mean of the others
    result = audit(ranking, k=4, n_boot=60, n_permutations=99)
    rows = [row for row in result.tables["labels"] if row["answer"] == "corrected"]
    assert {row["method"] for row in rows} == {"refused"}
    assert all("tell too little" in row["assumption"] for row in rows)
    assert not result.findings


@pytest.mark.gate
def test_a_million_rows_have_the_bounds_of_their_lists():
    rng = np.random.default_rng(0)
    position = np.tile(np.arange(1.0, 101.0), 10_000)
    labels = rng.choice(np.array(["a", "b", None], dtype=object), len(position), p=[0.5, 0.3, 0.2])
    lists = np.repeat(np.arange(10_000), 100)
    found = completion_bounds(position, labels, "b", qid=lists, n_boot=100)
    some = rng.choice(10_000, 5, replace=False)
    assert found.lists == 10_000
    assert found.interval_low < found.low < found.known < found.high < found.interval_high
    ends = []
    for each in some:
        rows = slice(100 * each, 100 * each + 100)
        one = completion_bounds(position[rows], labels[rows], "b", groups=["a", "b"])
        ends.append((one.low, one.high))
    spread = np.abs(np.mean(ends, axis=0) - (found.low, found.high))
    assert (spread < 8).all()
