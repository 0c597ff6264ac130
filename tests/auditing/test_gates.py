"""Rules that guard a pipeline: read, found in the tables, judged."""

import pytest

from equirank import DataError, audit
from equirank.auditing.gates import read_expression
from equirank.datasets import load_hiring
from equirank.metrics import NDCG, RND, ExposureGap


@pytest.mark.parametrize(
    ("text", "metric", "what", "sign", "limit"),
    [
        ("RND@50>0.3", RND @ 50, "value", ">", 0.3),
        ("RND@50.low>0.3", RND @ 50, "low", ">", 0.3),
        (" RND(step=5)@50.high <= 1e-3 ", RND(step=5) @ 50, "high", "<=", 0.001),
        ("NDCG@10<.5", NDCG @ 10, "value", "<", 0.5),
        ("NDCG.value>=-1", NDCG(), "value", ">=", -1.0),
        ('ExposureGap(by="sex", protected="a>b").p_value<0.05',
         ExposureGap(by="sex", protected="a>b"), "p_value", "<", 0.05),
    ],
)  # fmt: skip
def test_reading(text, metric, what, sign, limit):
    found = read_expression(text)
    assert (found.metric, found.what, found.sign, found.limit) == (metric, what, sign, limit)


@pytest.mark.parametrize(
    "text", ["RND@50", "RND@50>", ">0.3", "RND@50>x", "RND@50=0.3", "RND@50>nan", "", "0.3<RND@50"]
)
def test_what_cannot_be_read_says_how_one_looks(text):
    with pytest.raises(DataError, match=r"cannot be read; it looks like "):
        read_expression(text)


def test_unknown_metric():
    with pytest.raises(DataError, match="'NDGC@50' is not known; did you mean 'NDCG'"):
        read_expression("NDGC@50>0.3")
    with pytest.raises(DataError, match=r"'RND@50\.middle' cannot be read"):
        read_expression("RND@50.middle>0.3")


def test_judging(hiring):
    rows = {(r["attribute"], r["metric"]): r for r in hiring.tables["gaps"]}
    sex, age = rows["sex", "RND"], rows["age_group", "RND"]
    assert sex["value"] < age["low"]
    between = (sex["high"] + age["low"]) / 2
    assert hiring.fails(f"RND>{between}")  # any attribute
    assert hiring.fails(f"RND.low>{between}")
    assert not hiring.fails(f'RND(by="sex")>{between}')
    assert hiring.fails(f'RND(by="age_group")>{between}')
    assert not hiring.fails(f"RND.high<{sex['high']}")
    assert hiring.fails(f"RND.high<={sex['high']}")
    assert hiring.fails("RND.p_value<0.05")
    assert hiring.fails("NDCG@10>0.5")
    assert not hiring.fails("NDCG@10.low>0.9")


def test_crossed_attributes_count_only_where_they_are_named(hiring):
    gaps = {
        r["attribute"]: r["value"] for r in hiring.tables["gaps"] if r["metric"] == "ExposureGap"
    }
    both = gaps.pop("sex x age_group")
    between = (max(gaps.values()) + both) / 2
    assert both > between
    assert not hiring.fails(f"ExposureGap>{between}")
    assert hiring.fails(f'ExposureGap(by=("sex", "age_group"))>{between}')


def test_position_differences_can_be_named(hiring):
    assert hiring.fails("PositionDifference>10")  # under 35
    assert not hiring.fails('PositionDifference(by="sex")>10')
    assert hiring.fails('PositionDifference(by="sex").low>5')
    assert hiring.fails('PositionDifference(by=("sex", "age_group"))>12')
    assert not hiring.fails('PositionDifference(by="age_group", protected="35 to 49")>0')


def test_where_it_holds(hiring):
    (line,) = hiring.failures('ExposureGap(by="sex")>0.01')
    assert line.startswith('ExposureGap(by="sex")>0.01: value of sex, female is 0.0')
    assert hiring.failures("NDCG@10>0.5")[0].startswith("NDCG@10>0.5: value is 0.69")
    assert hiring.failures("NDCG@10>2") == []


@pytest.mark.slow
def test_a_metric_that_was_not_measured_is_measured():
    data = load_hiring().select(slice(0, 5))
    result = audit(data, protected="sex=female", n_boot=20, n_permutations=20)
    named = audit(data, protected="sex=female", n_boot=20, n_permutations=20, metrics="RND@20")
    value = next(r for r in named.tables["gaps"] if r["metric"] == "RND@20")["value"]
    assert "RND@20" not in result.tables["gaps"]["metric"]
    assert result.fails(f'RND(by="sex")@20>={value}')
    assert not result.fails(f'RND(by="sex")@20>{value}')
    assert result.fails("NDCG@3>0")
    again = type(result).from_json(result.to_json())
    with pytest.raises(
        DataError, match=r"must use a metric of this audit \(PositionDiff.*, got RND@20"
    ):
        again.fails("RND@20>0")


def test_what_is_unknown_does_not_pass_in_silence():
    result = audit(score=[2, 1], sensitive=["a", "a"], n_boot=0, n_permutations=0)
    with pytest.raises(
        DataError, match="cannot be evaluated: value of ExposureGap of sensitive is"
    ):
        result.fails("ExposureGap>0.1")
    result = audit(score=[2, 1], sensitive=["a", "b"], n_boot=0, n_permutations=0)
    assert not result.fails("ExposureGap>0.9")
    with pytest.raises(DataError, match="low of ExposureGap of sensitive is undefined"):
        result.fails("ExposureGap.low>0.1")
    with pytest.raises(DataError, match="AUC needs relevance"):
        result.fails("AUC<0.5")
    with pytest.raises(DataError, match="by must be one of the attributes"):
        result.fails('RND(by="age")>0.5')


def test_the_position_difference_may_be_requested():
    given = {"score": [4, 3, 2, 1], "sensitive": list("aabb"), "n_boot": 0, "n_permutations": 0}
    result = audit(**given, metrics=["PositionDifference"])
    assert result.fails("PositionDifference>=2")
    for name in ("gaps", "queries"):
        assert result.tables[name].to_json() == audit(**given).tables[name].to_json()
