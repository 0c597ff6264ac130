"""The claims of an audit are those of a second program, computed from the raw file."""

import numpy as np
import pytest
from claims_twin import Twin, size

from equirank import Ranking, audit
from equirank.io import read_csv

DRAWS, BOOTS = 999, 2999


def write(path, columns):
    rows = ["" if value is None else str(value) for values in columns.values() for value in values]
    table = np.array(rows, dtype=object).reshape(len(columns), -1).T
    lines = [",".join(columns), *(",".join(row) for row in table)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def unknown(rng, labels, share):
    return [None if rng.random() < share else label for label in labels]


def one_list_with_ties(rng):
    sex = rng.choice(["f", "m"], 40, p=[0.4, 0.6])
    score = np.round(rng.normal(size=40) - 0.8 * (sex == "f"), 1)
    return {"query": ["a"] * 40, "score": score, "sex": sex}, {"ks": [3, 10]}


def unequal_lists_with_unknown_labels_and_grades(rng):
    sizes = [8, 13, 22, 30, 41, 17]
    n = sum(sizes)
    race = rng.choice(["u", "v", "w"], n, p=[0.5, 0.3, 0.2])
    relevance = rng.integers(0, 4, n)
    score = relevance + rng.normal(size=n) - (race == "v")
    return {
        "query": np.repeat([f"q{i}" for i in range(6)], sizes), "score": score.round(3),
        "relevance": relevance, "race": unknown(rng, race, 0.15),
    }, {"ks": [5]}  # fmt: skip


def many_lists_two_attributes_and_continuous_relevance(rng):
    n = 24 * 15
    sex, age = rng.choice(["f", "m"], n), rng.choice(["old", "young", "none"], n)
    relevance = rng.random(n).round(4)
    score = relevance + rng.normal(size=n) * 0.4 - 0.25 * (age == "old")
    return {
        "query": np.repeat(range(24), 15), "score": score.round(4), "relevance": relevance,
        "sex": sex, "age": unknown(rng, age, 0.1),
    }, {"ks": [4]}  # fmt: skip


def before_and_after_with_a_group_absent_from_a_list(rng):
    sex, age = rng.choice(["f", "m"], 80), rng.choice(["old", "young"], 80)
    sex[:20] = "m"
    before = rng.normal(size=80).round(3)
    score = (before + 0.9 * (sex == "f")).round(3)
    return {
        "query": np.repeat(list("wxyz"), 20), "score": score, "before": before, "sex": sex,
        "age": age,
    }, {"ks": [5, 8]}  # fmt: skip


def few_levels_a_tiny_group_and_a_protected_one(rng):
    n = 10 * 12
    team = rng.choice(["blue", "green", "red"], n)
    team[rng.choice(n, 4, replace=False)] = "tiny"
    score = rng.integers(0, 5, n) - (team == "red")
    data = {"query": np.repeat(range(10), 12), "score": score, "team": team}
    return data, {"ks": [3, 11], "protected": {"team": "red"}, "level": 0.9}


def close(a, b):
    return (np.isnan(a) and np.isnan(b)) or abs(a - b) <= 1e-9 * max(1.0, abs(b))


def near(a, b, draws=DRAWS):
    """Whether two shares of draws differ by at most three Monte-Carlo errors."""
    mean = (a + b) / 2
    return abs(a - b) <= 3 * np.sqrt(2 * mean * (1 - mean) / draws) + 1 / draws


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        one_list_with_ties,
        unequal_lists_with_unknown_labels_and_grades,
        pytest.param(many_lists_two_attributes_and_continuous_relevance, marks=pytest.mark.gate),
        before_and_after_with_a_group_absent_from_a_list,
        few_levels_a_tiny_group_and_a_protected_one,
    ],
)
def test_every_claim(make, tmp_path):
    columns, options = make(np.random.default_rng(4))
    path = tmp_path / "people.csv"
    write(path, columns)
    sensitive = [n for n in columns if n not in ("query", "score", "before", "relevance")]
    ks, level = options["ks"], options.get("level", 0.95)
    protected = options.get("protected", {})
    data = read_csv(path, sensitive=sensitive, features=(), missing_sensitive="unknown")
    against = None
    if "before" in columns:
        scores = data.to_original(read_csv(path, score="before", features=()).score)
        against = Ranking.from_scores(data, scores)
    result = audit(
        data, against=against, k=ks, level=level, n_boot=BOOTS, n_permutations=DRAWS,
        protected=[f"{name}={group}" for name, group in protected.items()] or None,
    )  # fmt: skip
    twin = Twin(path, sensitive, ks, protected, DRAWS, BOOTS, level=level)
    expected = {
        key(c["quantity"], c["attribute"], c["group"], c["scope"]): c for c in twin.claims()
    }
    found = {key(c.quantity, c.attribute, c.group, c.scope): c for c in result.claims}
    assert set(found) == set(expected)
    assert any(not np.isnan(c["z"]) for c in expected.values())
    for name, claim in found.items():
        check(name, claim, expected[name])


def key(quantity, attribute, group, scope):
    return quantity, attribute, group, scope.get("given"), scope.get("k")


def check(name, claim, twin):
    assert dict(claim.scope) == twin["scope"], name
    assert close(claim.estimate, twin["estimate"]), (name, claim.estimate, twin["estimate"])
    if np.isnan(claim.estimate):
        assert claim.status == "described"
        return
    assert claim.unit == twin["unit"], name
    assert np.allclose(claim.shares, twin["shares"], rtol=0, atol=1e-9), name
    assert close(claim.size, size(*twin["shares"])), name
    assert claim.interval_of == twin["interval_of"], name
    if claim.interval_of == "people":
        assert close(claim.low, twin["low"]), (name, claim.low, twin["low"])
        assert close(claim.high, twin["high"]), (name, claim.high, twin["high"])
    else:
        # Two bootstraps with other seeds; their ends in a tail differ by Monte-Carlo error.
        width = twin["high"] - twin["low"]
        assert abs(claim.low - twin["low"]) < 0.12 * width, (name, claim.low, twin["low"])
        assert abs(claim.high - twin["high"]) < 0.12 * width, (name, claim.high, twin["high"])
    if np.isnan(twin["z"]):
        assert (claim.status, np.isnan(claim.p)) == ("described", True), name
        assert claim.reason
        return
    assert near(claim.p, twin["p"]), (name, claim.p, twin["p"])
    both = [each / twin["blocks"] for each in (claim.p_family, twin["p_family"])]
    assert near(*both), (name, *both)
    assert claim.threshold == pytest.approx(twin["threshold"])
    assert claim.detectable == pytest.approx(twin["detectable"], rel=0.06)
    neutral = 0.0
    if not name[0].startswith("change"):
        neutral = {"ratio": 1.0, "chance": claim.shares[1]}.get(claim.unit, 0.0)
    clear = claim.low > neutral or claim.high < neutral
    finding = claim.p_family <= claim.threshold + 1e-12 and clear
    if claim.labels.get("doubted") and claim.status == "cannot_tell" and finding:
        assert (claim.answer, bool(claim.reason)) == ("bounds", True), name  # labels leave it open
    else:
        assert claim.status == ("finding" if finding else "cannot_tell"), name
    if not np.isclose(claim.estimate, neutral):
        lower = claim.estimate < neutral
        if claim.unit == "positions":
            lower = not lower
        assert claim.direction == ("lower" if lower else "higher"), name
