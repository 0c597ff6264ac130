"""Rules are read, not run; the front against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equirank import DataError
from equirank.comparison.choice import on_front, read_rules


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
