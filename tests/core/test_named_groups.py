"""Groups by name: with the attribute, or without it where one attribute alone has the group."""

import numpy as np
import pytest

from equirank import DataError
from equirank.core.attribute import Attribute
from equirank.core.named_groups import named_groups

ATTRIBUTES = {
    "sex": Attribute(np.array([0]), ("female", "male", "other")),
    "race": Attribute(np.array([0]), ("black", "other", "a=b")),
    "code": Attribute(np.array([0]), (1, 2)),
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, []),
        ("sex=female", [("sex", "female")]),
        (["sex=female", "race=black"], [("sex", "female"), ("race", "black")]),
        ("female", [("sex", "female")]),
        ("race=other", [("race", "other")]),
        ("a=b", [("race", "a=b")]),
        (1, [("code", 1)]),
        ("2", [("code", "2")]),
        ({"sex": ["female", "male"]}, [("sex", "female"), ("sex", "male")]),
        ("age=old", [("age", "old")]),
    ],
)
def test_names(given, expected):
    assert named_groups(given, ATTRIBUTES) == expected


def test_a_group_of_two_attributes_must_name_one():
    message = "protected must look like \"sex=other\", since 'sex' and 'race' both have the group"
    with pytest.raises(DataError, match=message):
        named_groups("other", ATTRIBUTES)


def test_a_group_of_none():
    with pytest.raises(DataError, match=r"got 'femal', .*did you mean 'female'"):
        named_groups("femal", ATTRIBUTES)
    assert named_groups("femal", {"sex": ATTRIBUTES["sex"]}) == [("sex", "femal")]
