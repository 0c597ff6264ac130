"""Rules such as ``RND@50.low > 0.3``: the parts of each, and texts that are none."""

import pytest

from equirank import DataError
from equirank.core.rules import take_rule_apart


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("RND@50.low > 0.3", ("RND@50", "low", ">", "0.3")),
        ("  NDCG@10>=0.99 * best ", ("NDCG@10", "value", ">=", "0.99 * best")),
        ('RND(by="a<b").p_value <= 0.05', ('RND(by="a<b")', "p_value", "<=", "0.05")),
        ("ERR.other < -1", ("ERR.other", "value", "<", "-1")),
        ("AUC .high < 1", ("AUC ", "high", "<", "1")),
    ],
)
def test_a_rule_has_a_metric_a_part_a_sign_and_a_limit(text, parts):
    assert take_rule_apart(text, "RND > 0.3") == parts


@pytest.mark.parametrize("text", ["", "RND", "> 0.3", " >= 1", "RND > ", "RND ="])
def test_what_is_no_rule_shows_how_one_looks(text):
    with pytest.raises(DataError, match="cannot be read; it looks like METRIC"):
        take_rule_apart(text, "METRIC > 0.3")
