"""The table of unknown labels: known values of the other tables, and bounds by brute force."""

from itertools import product

import numpy as np
import pytest

from equirank import AuditResult, audit

QUICK = {"n_boot": 0, "n_permutations": 0}


def people(n_lists=4, length=6, unknown=0.15, seed=0):
    rng = np.random.default_rng(seed)
    n = n_lists * length
    known = 1 - unknown
    return {
        "list": np.repeat(np.arange(n_lists), length).tolist(),
        "score": rng.integers(0, 8, n).tolist(),  # ties
        "sex": rng.choice(["f", "m", ""], n, p=[known / 2, known / 2, unknown]).tolist(),
        "race": rng.choice(["x", "y", "z", ""], n, p=[known / 3] * 3 + [unknown]).tolist(),
    }


def audited(data, **options):
    return audit(data, query="list", sensitive=["sex", "race"], **(QUICK | {"k": 2} | options))


def rows_of(result, answer, method=None):
    return {
        (row["attribute"], row["group"], row["measure"]): row
        for row in result.tables["labels"]
        if row["answer"] == answer and method in (None, row["method"])
    }


def test_known_values_are_those_of_the_other_tables():
    result = audited(people(12, 12), cross=True)
    known = rows_of(result, "known")
    assert {key[0] for key in known} == {"sex", "race", "sex x race"}
    for row in result.tables["groups"]:
        for name in ("mean_position", "position_difference", "exposure"):
            mine = known[row["attribute"], row["group"], name]
            assert mine["value"] == pytest.approx(row[name], rel=1e-12), (row["group"], name)
            assert mine["method"] == "known_labels"
    for row in result.tables["decisions"]:
        names = {"rate": row["rate"], "impact_ratio": row["pooled_ratio"]}
        for name, value in names.items():
            key = row["attribute"], row["group"], f"{name}, {row['decision']}"
            if name == "impact_ratio" and row["note"] == "too small to be compared":
                assert key not in known
            else:
                assert known[key]["value"] == pytest.approx(value, rel=1e-12)
    sizes = {row["attribute"]: row["size"] for row in result.tables["unknown"]}
    assert all(row["n_unknown"] == sizes[key[0]] for key, row in known.items())
    assert all(row["n_known"] + row["n_unknown"] == 144 for row in known.values())
    assert AuditResult.from_json(result.to_json()) == result


def slow_values(data, race, sex, by, group, against):
    """The measures of complete labels by their definitions; NaN where undefined."""
    labels = {"sex": sex, "race": race, "sex x race": np.char.add(np.char.add(sex, " & "), race)}
    inside = labels[by] == group
    other = ~inside if against is None else labels[by] == against
    lists, score = np.array(data["list"]), np.array(data["score"])
    means, apart, exposed, exposures = [], [], [], np.zeros(len(score))
    for each in np.unique(lists):
        rows = np.flatnonzero(lists == each)
        position = (score[rows][:, None] < score[rows]).sum(axis=1) + 1  # no ties
        weight = 1 / np.log2(position + 1)
        exposures[rows] = weight / weight.mean()
        g, o = inside[rows], other[rows]
        means += [position[g].mean()] if g.any() else []
        apart += [position[g].mean() - position[o].mean()] if g.any() and o.any() else []
        values = exposures[rows]
        exposed += [values[g].mean() - values[o].mean()] if g.any() and o.any() else []
    top = np.array(data["top"])
    rates = [top[part].mean() if part.any() else np.nan for part in (inside, other)]
    return {
        "mean_position": np.mean(means) if means else np.nan,
        "position_difference": np.mean(apart) if apart else np.nan,
        "exposure": exposures[inside].sum() / len(score),
        "exposure_difference": np.mean(exposed) if exposed else np.nan,
        'rate, "top"': rates[0],
        'impact_ratio, "top"': rates[0] / rates[1] if rates[1] > 0 else np.nan,
    }


@pytest.mark.slow
@pytest.mark.parametrize("reference", [None, "race=x"])
def test_bounds_are_the_extremes_over_all_completions(reference):
    rng = np.random.default_rng(3)
    n, words = 16, {"sex": np.array(["f", "m"]), "race": np.array(["x", "y", "z"])}
    sex, race = rng.choice(words["sex"], n), rng.choice(words["race"], n)
    race[[0, 1, 8, 9]] = list("xyzx")
    unknown = [("sex", 3), ("race", 3), ("race", 5), ("sex", 14)]
    data = {"list": [0] * 8 + [1] * 8, "score": [*range(8, 0, -1)] * 2}
    data |= {"top": [1, 1, 0, 0, 0, 0, 0, 0] * 2, "sex": sex.tolist(), "race": race.tolist()}
    for name, row in unknown:
        data[name][row] = ""
    result = audited(data, k=None, selected="top", cross=reference is None, reference=reference)
    bounds = rows_of(result, "bounds", "completions")
    assert all(row["sharp"] for row in bounds.values())
    assert len(bounds) == (12 + 15 if reference else 12 + 18 + 36)
    found = {key: [] for key in bounds}
    for labels in product(*(words[name] for name, _ in unknown)):
        for (name, row), label in zip(unknown, labels, strict=True):
            {"sex": sex, "race": race}[name][row] = label
        for by, group in {key[:2] for key in bounds}:
            against = "x" if reference and by == "race" else None
            for name, value in slow_values(data, race, sex, by, group, against).items():
                found.get((by, group, name), []).append(value)
    for key, values in found.items():
        ends = bounds[key]["low"], bounds[key]["high"]
        if ends[1] < np.inf:
            assert ends == pytest.approx((np.nanmin(values), np.nanmax(values)), rel=1e-12), key
        else:
            assert np.isnan(values).any()


@pytest.mark.slow
def test_intervals_need_lists_and_resamples():
    data = people(12, 8) | {"race": ["x"] * 96}
    assert not rows_of(audited(data), "bounds", "imbens_manski")
    several = audited(data, n_boot=50)
    bounds = rows_of(several, "bounds", "completions")
    intervals = rows_of(several, "bounds", "imbens_manski")
    assert intervals.keys() == bounds.keys()
    for key, row in intervals.items():
        assert row["low"] <= bounds[key]["low"] <= bounds[key]["high"] <= row["high"]
        if key[2].startswith("rate"):
            assert 0 <= row["low"] <= row["high"] <= 1
    one = audited(data | {"list": [0] * 96}, n_boot=20)
    methods = {row["method"] for row in one.tables["labels"] if row["answer"] != "corrected"}
    assert methods == {"known_labels", "completions"}


def test_nothing_unknown_has_no_rows():
    assert len(audited(people(2, 6, unknown=0.0)).tables["labels"]) == 0


@pytest.mark.slow
def test_decisions_without_an_order_count_those_decided_about():
    data = {
        "sex": ["f", "f", "m", "m", "", ""],
        "invited": [1, 1, 1, 0, 1, 0],
        "hired": [1, 0, 1, 0, 1, 0],
    }
    result = audit(data, sensitive="sex", stages=["invited", "hired"], **QUICK)
    bounds = rows_of(result, "bounds")
    assert {key[2].split(",")[0] for key in bounds} == {"rate", "impact_ratio"}
    hired = bounds["sex", "f", 'rate, stage "hired"']
    assert (hired["low"], hired["high"]) == (1 / 2, 2 / 3)  # 1 of 2 invited, and 1 of 1 unknown
    assert (hired["n_known"], hired["n_unknown"]) == (3, 1)
