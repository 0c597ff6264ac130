"""Columns of frames become the same groups whether or not they are encoded quickly."""

import numpy as np
import pandas as pd
import pytest

import equirank
from equirank import DataError
from equirank.engines.given_ranking import _words

LABELS = ["f", "male", None, "", "ünknown sex", "f", np.nan, "male"]


def frame(labels, dtype=object):
    rows = {"qid": [1, 1, 1, 1, 2, 2, 2, 2], "score": np.arange(8.0)}
    return pd.DataFrame(rows | {"sex": pd.Series(labels, dtype=dtype)})


def groups(data):
    sums = equirank.list_sums(data, query="qid", score="score", sensitive="sex")
    return sums.plan.groups, sums.people, sums.sums["totals"]


@pytest.mark.parametrize("dtype", [object, "str", "string", "category"])
def test_short_texts_are_words_and_the_groups_stay_the_same(dtype):
    given = frame(LABELS, dtype)
    assert _words(given["sex"]).dtype.kind == "U"
    found, people, totals = groups(given)
    wanted = {name: column.tolist() for name, column in frame(LABELS).items()}
    for one, other in zip((found, people), groups(wanted), strict=False):
        assert one == other
    np.testing.assert_array_equal(totals, groups(wanted)[2])
    assert found == {"sex": ("f", "male", "ünknown sex")}
    assert people == {(0,): 2, (1,): 2, (2,): 1, (-1,): 3}


@pytest.mark.parametrize(
    "labels",
    [
        ["f", 1, "1", "f", 1, "1", "f", 1],  # the number is another group than the text
        [True, False, None, True, True, False, True, True],
        ["f", "a group with a long name"] * 4,
    ],
    ids=["numbers", "truths", "long"],
)
def test_other_columns_stay_as_they_are(labels):
    given = frame(labels)
    column = given["sex"]
    assert _words(column) is column
    wanted = {name: column.tolist() for name, column in given.items()}
    assert groups(given)[:2] == groups(wanted)[:2]


def test_many_texts_stay_as_they_are():
    many = pd.Series([f"p{at}" for at in range(65)])
    assert _words(many) is many
    assert _words(many[:64]).tolist() == many[:64].tolist()
    numbers = pd.Series(np.arange(3))
    assert _words(numbers) is numbers


@pytest.mark.parametrize(
    ("label", "said"), [("f\0", "without a NUL character at the end"), (["f"], "got a list in row")]
)
def test_bad_labels_are_still_refused(label, said):
    labels = [*LABELS]
    labels[4] = label
    with pytest.raises(DataError, match=said):
        groups(frame(labels))
