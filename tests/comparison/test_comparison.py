"""Comparison: tables, tests, the front, rules and the choice."""

import csv

import numpy as np
import pytest
from comparison_methods import METRICS, Failing, Weights, small_data
from hypothesis import given
from hypothesis import strategies as st

from equirank import Comparison, DataError, InfeasibleError, as_ranking_data, compare, evaluate
from equirank.comparison.cell import Cell
from equirank.comparison.comparison import on_front, read_rules
from equirank.comparison.comparison_page import behind_mixture
from equirank.comparison.folds import Fold
from equirank.core.registry import parse_metrics

GOOD, BAD = "NDCG@10", "RND@50"


def made(points, failed=(), chance=(0.2, 0.1)):
    """A comparison whose methods have given values, the same in each of four queries."""
    data = as_ranking_data(np.zeros((4, 1)), np.ones(4), qid=np.arange(4))
    folds = [Fold(0, 0, np.array([2, 3]), np.array([0, 1]))]
    folds += [Fold(1, 0, np.array([0, 1]), np.array([2, 3]))]
    cells = {}
    for name, pair in points.items():
        both = dict(zip((GOOD, BAD), pair, strict=True))
        values = {metric: np.full(2, value) for metric, value in both.items()}
        cells[name] = [Cell(values, both, {}, 1.0, 0.5) for _ in folds]
        if name in failed:
            cells[name][1] = Cell({}, {}, {}, 1.0, 0.0, "ValueError: no", "trace")
    return Comparison(
        estimators={name: Weights() for name in points},
        metrics=parse_metrics([GOOD, BAD]),
        folds=folds,
        queries=[np.array([0, 1]), np.array([2, 3])],
        cells=cells,
        unit="queries",
        chance=dict(zip((GOOD, BAD), chance, strict=True)),
        level=0.95,
        data=data,
    )


POINTS = {"best": (0.8, 0.5), "fair": (0.795, 0.2), "poor": (0.3, 0.05), "lost": (0.4, 0.6)}


@pytest.fixture(scope="module")
def result():
    methods = {"plain": Weights(), "noisy": Weights(noise=1.0), "broken": Failing()}
    return compare(methods, small_data(), METRICS, cv=3, seeds=[0, 1])


def test_the_front(result):
    found = made(POINTS)
    front = found.pareto(x=BAD, y=GOOD)
    assert front.to_dict() == {
        "method": ["best", "fair", "poor"],
        BAD: [0.5, 0.2, 0.05],
        GOOD: [0.8, 0.795, 0.3],
    }
    assert found.pareto(x=GOOD, y=BAD)["method"].tolist() == ["poor", "fair", "best"]
    assert found.front(BAD, GOOD).tolist() == [True, True, True, False]
    assert made(POINTS, failed=["fair"]).pareto(BAD, GOOD)["method"].tolist() == ["best", "poor"]
    assert found.pareto("rnd@50", "ndcg_10")["method"].tolist() == ["best", "fair", "poor"]
    with pytest.raises(DataError, match="did you mean 'RND@50'"):
        found.pareto("RND@5", GOOD)


def test_picking():
    found = made(POINTS)
    assert found.pick("NDCG@10 >= 0.99 * best", minimise="RND@50") == "fair"
    assert found.pick("ndcg@10 >= 0.99 * best", minimise="rnd@50") == "fair"
    assert found.pick("NDCG@10 >= best", minimise="RND@50") == "best"
    assert found.pick("NDCG@10 >= 0.999 * best", minimise="RND@50") == "best"
    assert found.pick("NDCG@10 >= best - 0.6", minimise="RND@50") == "poor"
    assert found.pick("RND@50 <= 0.3", maximise="NDCG@10") == "fair"
    assert found.pick("RND@50 <= 4 * best and NDCG@10 >= 0.2", maximise="NDCG@10") == "fair"
    assert found.pick("RND@50 <= best", maximise="NDCG@10") == "poor"
    assert found.pick(minimise="RND@50") == "poor"
    assert found.pick(maximise=parse_metrics("NDCG@10")[0]) == "best"
    assert made(POINTS, failed=["best"]).pick("NDCG@10 >= best", minimise="RND@50") == "fair"
    assert made({"b": (0.5, 0.1), "a": (0.5, 0.1)}).pick(maximise=GOOD) == "b"


def test_picking_what_cannot_be():
    found = made(POINTS)
    with pytest.raises(InfeasibleError, match="holds for no method"):
        found.pick("NDCG@10 >= 0.9", minimise="RND@50")
    with pytest.raises(InfeasibleError, match="no method finished"):
        made(POINTS, failed=POINTS).pick(minimise=BAD)
    for words in ({}, {"minimise": BAD, "maximise": GOOD}):
        with pytest.raises(DataError, match="exactly one of minimise and maximise"):
            found.pick("NDCG@10 >= 0.1", **words)
    with pytest.raises(DataError, match="metric must be one of NDCG@10, RND@50"):
        found.pick("ERR >= 0.1", minimise=BAD)


def test_who_lies_behind_the_line_of_mixtures():
    # From (RND 0.1, NDCG 0.2) to "best" at (0.5, 0.8): at RND 0.3 a mixture has NDCG 0.5.
    points = {"best": (0.8, 0.5), "above": (0.52, 0.3), "behind": (0.48, 0.3), "worse": (0.7, 0.6)}
    found = made(points)
    bad, good = found.metric(BAD), found.metric(GOOD)
    assert behind_mixture(found, bad, good) == ["behind", "worse"]


@pytest.mark.slow
def test_the_picture_draws_line_front_and_intervals():
    alt = pytest.importorskip("altair")
    found = made(POINTS, failed=["poor"])
    spec = found.plot(x=BAD, y=GOOD, title="mine").to_dict()
    assert alt is not None
    line = spec["layer"][0]["data"]["values"] if "data" in spec["layer"][0] else None
    values = line or next(
        v for v in spec["datasets"].values() if [set(r) for r in v] == [{"x", "y"}] * 2
    )
    assert values == [{"x": 0.1, "y": 0.2}, {"x": 0.5, "y": 0.8}]
    assert spec["title"]["text"] == "mine"
    assert found.plot().to_dict()["title"]["text"] == "NDCG@10 against RND@50"


def test_a_picture_needs_chance_and_two_metrics(result):
    found = made(POINTS)
    found.chance.pop(BAD)
    with pytest.raises(DataError, match="RND@50 is undefined for a random order"):
        found.plot()
    with pytest.raises(DataError, match="x and y must be given"):
        compare({"a": Weights()}, small_data(), "NDCG@5", cv=2).plot()


def test_paired_tests_are_on_the_same_folds(result):
    table = result.versus("plain")
    assert table["method"].tolist() == ["noisy", "noisy", "broken", "broken"]
    row = next(iter(table))
    assert row["n"] == 12
    assert row["value"] - row["other"] == pytest.approx(row["difference"])
    assert row["low"] <= row["difference"] <= row["high"]
    back = next(row for row in result.versus("noisy") if row["method"] == "plain")
    assert back["difference"] == pytest.approx(-row["difference"])
    assert back["p_t"] == pytest.approx(row["p_t"])
    known = [p for p in table["p_t"].tolist() if p == p]
    corrected = [p for p in table["p_t_holm"].tolist() if p == p]
    assert sorted(corrected)[0] == pytest.approx(min(1, 2 * min(known)))
    with pytest.raises(DataError, match="baseline must be one of plain, noisy, broken"):
        result.versus("plane")


def test_the_values_of_the_groups():
    data = small_data()
    found = compare({"a": Weights()}, data, "ExposureGap", cv=0.5)
    part = data.select_items(found.folds[0].test)
    model = Weights(random_state=0).fit(data.select_items(found.folds[0].train))
    wanted = evaluate(model.rank(part), "ExposureGap", n_boot=0).summary()
    groups = {row["group"]: row["value"] for row in wanted if row["group"] is not None}
    assert {row["group"]: row["value"] for row in found.by_group()} == {
        str(label): pytest.approx(value) for label, value in groups.items()
    }
    assert len(compare({"a": Weights()}, data, "NDCG@5", cv=0.5).by_group()) == 0


@pytest.mark.slow
def test_files(result, tmp_path):
    result.save(tmp_path / "new" / "folder", baseline="noisy")
    folder = tmp_path / "new" / "folder"
    names = ["report.html", "results.csv", "summary.csv", "tests.csv"]
    assert sorted(path.name for path in folder.iterdir()) == names
    with open(folder / "results.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(result.table) == 36
    for row, wanted in zip(rows, result.table, strict=True):
        assert row["method"] == wanted["method"]
        if wanted["error"]:
            assert (row["value"], row["error"]) == ("", "RuntimeError: it <b>broke</b>")
        else:
            assert (float(row["value"]), row["error"]) == (wanted["value"], "")
    tests = (folder / "tests.csv").read_text(encoding="utf-8").splitlines()
    assert {line.split(",")[0] for line in tests[1:]} == {"plain", "broken"}


def test_text_and_frames(result):
    lines = repr(result).splitlines()
    assert lines[0].split() == ["method", *METRICS, "fit_seconds", "failed"]
    assert lines[1].split()[0] == "plain"
    assert lines[-1] == "failed: broken: RuntimeError: it <b>broke</b>"
    assert "<td>plain</td>" in result._repr_html_()
    pytest.importorskip("pandas")
    assert list(result.table.to_frame("pandas").columns)[:5] == [
        "method", "fold", "seed", "metric", "value",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "factor", "shift"),
    [
        ("NDCG@10 >= 0.99 * best", 0.99, 0.0),
        ("NDCG@10>=best*0.99", 0.99, 0.0),
        ("NDCG@10 >= best", 1.0, 0.0),
        ("NDCG@10 >= best - 0.01", 1.0, -0.01),
        ("NDCG@10 >= best + 1e-2", 1.0, 0.01),
        ("NDCG@10 >= 0.4", 0.0, 0.4),
        ("NDCG@10 >= -.5", 0.0, -0.5),
    ],
)
def test_limits(text, factor, shift):
    (rule,) = read_rules(text)
    assert (rule.metric, rule.sign, rule.part) == ("NDCG@10", ">=", "value")
    assert (rule.factor, rule.shift) == (factor, shift)


def test_several_rules_and_ends_of_intervals():
    rules = read_rules('ExposureGap(by="a and b").high < 0.2 and NDCG@10.low >= 0.5')
    assert [(rule.metric, rule.part) for rule in rules] == [
        ('ExposureGap(by="a and b")', "high"),
        ("NDCG@10", "low"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "", "NDCG@10", "NDCG@10 >=", ">= 0.5", "NDCG@10 == best", "NDCG@10 >= worst",
        "NDCG@10 >= __import__('os')", "NDCG@10 >= best ** 2", "NDCG@10 >= 0.9 * best * 2",
        "NDCG@10 >= best()", "NDCG@10.p_value > 0.1", "NDCG@10 >= nan", "NDCG@10 >= 1 and",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text):
    with pytest.raises(DataError, match="cannot be read; it looks like"):
        read_rules(text)


def test_a_rule_is_a_text():
    with pytest.raises(DataError, match="must be a text"):
        read_rules(0.99)


def test_rounding_does_not_decide_and_unknown_is_no():
    (rule,) = read_rules("NDCG@10 >= 0.1 * best")
    assert rule.holds(np.array([0.1 * 3 - 1e-16, 0.29, np.nan]), 3.0).tolist() == [
        True,
        False,
        False,
    ]
    (strict,) = read_rules("NDCG@10 > best")
    assert strict.holds(np.array([3.0, 3.1]), 3.0).tolist() == [False, True]
    (under,) = read_rules("RND@50 <= best * 1.1")
    assert under.holds(np.array([0.11000000000000001, 0.12]), 0.1).tolist() == [True, False]


NUMBERS = st.sampled_from([0.0, 0.25, 0.5, 1.0, float("nan")])


@pytest.mark.slow
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=7), st.booleans(), st.booleans())
def test_the_front_by_brute_force(points, up, across):
    columns = {"a": np.array([p[0] for p in points]), "b": np.array([p[1] for p in points])}
    found = on_front(columns, {"a": up, "b": across})
    for i, (a, b) in enumerate(points):
        beaten = False
        for c, d in points:
            first, second = (c - a if up else a - c), (d - b if across else b - d)
            beaten |= first >= 0 and second >= 0 and (first > 0 or second > 0)
        assert found[i] == (not beaten and a == a and b == b)
