"""Unknown labels: code -1, in no category, through every way that data is cut and stored."""

from datetime import date

import numpy as np
import pytest

from equirank import as_ranking_data
from equirank.core.attribute import Attribute
from equirank.core.errors import DataError
from equirank.core.splits import QueryKFold

UNKNOWN = {"missing_sensitive": "unknown"}

NOT_A_DAY = np.datetime64("NaT", "D")


def coded(values, **options):
    return as_ranking_data(sensitive_features={"sex": values}, **UNKNOWN, **options)


@pytest.mark.parametrize(
    "values",
    [
        ["f", None, "m", "f"],
        ["f", "", "m", "f"],
        ["f", float("nan"), "m", "f"],
        np.array(["f", "", "m", "f"]),
        np.array([b"f", b"", b"m", b"f"]),
        np.array(["f", "", "m", "f"], dtype=np.dtypes.StringDType()),
        np.ma.array(["f", "x", "m", "f"], mask=[0, 1, 0, 0]),
        np.array(["f", np.ma.masked, "m", "f"], dtype=object),
        [1.0, np.nan, 2.0, 1.0],
        np.array([1, np.float32("nan"), 2, 1], dtype=object),
        np.array(["2020-01-01", "NaT", "2021-01-01", "2020-01-01"], dtype="datetime64[D]"),
        np.array(
            [date(2020, 1, 1), np.datetime64("NaT", "D"), date(2021, 1, 1), date(2020, 1, 1)], "O"
        ),
    ],
)
def test_what_is_unknown(values):
    attribute = coded(values).attribute("sex")
    assert attribute.codes.tolist() == [0, -1, 1, 0]
    assert len(attribute.categories) == 2
    assert attribute.n_unknown == 1
    assert attribute.sizes.tolist() == [2, 1]
    assert attribute.labels().tolist()[1] is None
    with pytest.raises(DataError, match=r"'sex'\] must name a group, .* in row 1; missing_sensi"):
        as_ranking_data(sensitive_features={"sex": values})
    kept = as_ranking_data(sensitive_features={"sex": values}, missing_sensitive="category")
    assert kept.attribute("sex").codes.tolist() == [0, 2, 1, 0]
    assert kept.attribute("sex").categories[-1] == "(missing)"


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames(library):
    frames = pytest.importorskip(library)
    columns = {"sex": ["f", None, "", "m"], "age": [1, None, 2, 1]}
    make = frames.table if library == "pyarrow" else frames.DataFrame
    data = as_ranking_data(sensitive_features=make(columns), **UNKNOWN)
    assert data.attribute("sex").codes.tolist() == [0, -1, -1, 1]
    assert data.attribute("age").codes.tolist() == [0, -1, 1, 0]


def test_missing_values_of_pandas():
    pd = pytest.importorskip("pandas")
    for column in (
        pd.array(["f", pd.NA, "m"], dtype="string"),
        pd.Categorical(["f", None, "m"]),
        pd.array([1, pd.NA, 2], dtype="Int64"),
        pd.to_datetime(["2020-01-01", None, "2021-01-01"]),
    ):
        assert coded(pd.Series(column)).attribute("sex").codes.tolist() == [0, -1, 1]


def test_an_attribute_without_a_known_row_is_an_error():
    with pytest.raises(DataError, match=r"'sex'\] must name a group in at least one row"):
        coded([None, ""])
    named = coded([None, ""], groups={"sex": ["f", "m"]}).attribute()  # bounds are possible
    assert (named.codes.tolist(), named.categories) == ([-1, -1], ("f", "m"))
    with pytest.raises(DataError, match="one of 'error', 'unknown', 'category'"):
        as_ranking_data(sensitive_features=list("ab"), missing_sensitive="group")


def test_a_selection_keeps_codes_and_categories():
    data = coded(["f", None, "m", None, "f", None], qid=[1, 2, 1, 2, 3, 3], score=range(6))
    assert data.attribute().codes.tolist() == [0, 1, -1, -1, 0, -1]
    nobody = data.select([1]).attribute()
    assert (nobody.codes.tolist(), nobody.categories) == ([-1, -1], ("f", "m"))
    assert nobody.sizes.tolist() == [0, 0]
    assert data.select_items([1, 2]).attribute().codes.tolist() == [1, -1]
    assert data.to_original(data.attribute().labels()).tolist() == ["f", None, "m", None, "f", None]


def test_crossing_is_unknown_where_a_part_is():
    groups = {"sex": ["f", None, "m", "f"], "race": ["x", "y", None, "y"]}
    data = as_ranking_data(qid=[1] * 4, sensitive_features=groups, **UNKNOWN)
    both = data.cross("sex", "race")
    assert (both.codes.tolist(), both.categories) == ([0, -1, -1, 1], ("f & x", "f & y"))
    data.keep_crossing(("sex", "race"), ("f & x", "m & x", "f & y"))
    assert data.cross("sex", "race").codes.tolist() == [0, -1, -1, 2]


def test_the_fingerprint_tells_unknown_from_known():
    labels = (["f", "m", "f"], ["f", "m", None], ["f", None, "f"], ["m", None, "f"])
    options = {"groups": {"sex": ["f", "m"]}}
    assert len({coded(values, **options).fingerprint() for values in labels}) == 4


def test_groups_without_known_members():
    attribute = coded(["f", None], groups={"sex": ["m", "f"]}).attribute()
    assert attribute.categories == ("f", "m")
    assert (attribute.codes.tolist(), attribute.sizes.tolist()) == ([0, -1], [1, 0])
    numbers = as_ranking_data(sensitive_features=[1, 2], groups={"sensitive": [2, 1, 3]})
    assert numbers.attribute().categories == (1, 2, 3)
    for groups, words in (
        (
            {"sex": ["m"]},
            "the groups that groups\\['sex'\\] names \\('m'\\), got 'f'",
        ),
        ({"sex": "fm"}, "groups\\['sex'\\] must be a sequence of groups, got 'fm'"),
        ({"sex": []}, "must be a sequence of groups"),
        ({"sex": ["f", ""]}, "must hold names of groups"),
        (
            {"race": ["f"]},
            "groups must name attributes .* \\('sex'\\), got 'race'",
        ),
        (["m"], "the groups that groups\\['sex'\\] names \\('m'\\), got 'f'"),
        ("fm", "groups must map attributes"),
    ):
        with pytest.raises(DataError, match=words):
            coded(["f", None], groups=groups)
    assert coded(["f", None], groups=["m", "f"]).attribute().categories == ("f", "m")
    with pytest.raises(DataError, match="groups must map attributes"):
        as_ranking_data(sensitive_features={"a": ["x"], "b": ["y"]}, groups=["x", "y"])


def test_folds_by_item_spread_the_unknown():
    values = np.array(["f", "m", None], dtype=object)[np.arange(90) % 3]
    data = coded(values, qid=0, score=np.arange(90))
    for _, test in QueryKFold(3, by="item", random_state=0).split(data):
        assert np.bincount(data.attribute().codes[test] + 1).tolist() == [10, 10, 10]


def test_what_needs_every_label_says_which_is_unknown():
    data = coded(["m", "f", None, None], qid=[2, 1, 2, 1])
    with pytest.raises(
        DataError, match=r"Rule needs the group of every row, and sex is unknown in row 2 \(2 of 4"
    ):
        data.known_attribute("sex", "Rule")
    assert isinstance(coded(["m", "f"]).known_attribute(None, "Rule"), Attribute)
