"""The checks behind the door: columns of every origin, and one clear error for each bad one."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from equirank import DataError, as_ranking_data

try:
    import polars as pl
except ImportError:  # make test-all has it
    pl = None

FRAMES = {"pandas": pd.DataFrame, "pyarrow": pa.table} | ({"polars": pl.DataFrame} if pl else {})
SERIES = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "object": lambda values: np.array(values, dtype=object),
    "column": lambda values: np.array(values)[:, None],
    "pandas": pd.Series,
    "pyarrow chunked": lambda values: pa.chunked_array([values[:2], values[2:]]),
    "pyarrow": pa.array,
} | ({"polars": lambda values: pl.Series("", values)} if pl else {})
NAN = float("nan")


def refused(*words, error=DataError, **given):
    """Check that the door refuses and that its sentence holds the words."""
    with pytest.raises(error) as caught:
        as_ranking_data(**given)
    for word in words:
        assert word in str(caught.value)
    assert "np." not in str(caught.value)
    assert "array(" not in str(caught.value)


# where columns come from


@pytest.mark.parametrize("kind", SERIES)
def test_a_column_may_come_from_anywhere(kind):
    make = SERIES[kind]
    data = as_ranking_data(
        None,
        make([0, 1, 2]),
        qid=make(["b", "a", "b"]),
        score=make([0.5, 1.5, 2.5]),
        cost=make([1, 2, 3]),
        ids=make([7, 8, 9]),
        position=make([2, 1, 1]),
        query_weight=make([1.5, 2.0, 1.5]),
        sensitive_features=make(["m", "f", "m"]),
    )
    assert data.y.tolist() == [0, 2, 1]
    assert data.qids.tolist() == ["b", "a"]
    assert data.score.tolist() == [0.5, 2.5, 1.5]
    assert data.cost.tolist() == [1, 3, 2]
    assert data.ids.tolist() == [7, 9, 8]
    assert data.position.tolist() == [2, 1, 1]
    assert data.position.dtype == np.int32
    assert data.query_weight.tolist() == [1.5, 2.0]
    assert data.attribute().categories == ("f", "m")
    assert data.attribute().codes.tolist() == [1, 1, 0]


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_give_features_with_names_and_their_library(kind):
    frame = FRAMES[kind]({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "c": [True, False, True]})
    data = as_ranking_data(frame, qid=[1, 2, 1])
    assert data.X.tolist() == [[1, 0.5, 1], [3, 2.5, 1], [2, 1.5, 0]]
    assert data.X.dtype == np.float64
    assert data.feature_names == ("a", "b", "c")
    assert data.backend == kind
    assert data.select([0]).feature_names == ("a", "b", "c")


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_of_float32_stays_float32(kind):
    frame = FRAMES[kind]({"a": np.float32([1, 2]), "b": np.float32([3, 4])})
    assert as_ranking_data(frame).X.dtype == np.float32
    mixed = FRAMES[kind]({"a": np.float32([1, 2]), "b": np.float64([3, 4])})
    assert as_ranking_data(mixed).X.dtype == np.float64


@pytest.mark.parametrize("kind", FRAMES)
def test_a_feature_that_is_no_number_names_its_column(kind):
    frame = FRAMES[kind]({"a": [1, 2], "town": ["x", "y"]})
    refused("X", "'town'", X=frame, categorical=None)
    refused("X", "'born'", X=FRAMES[kind]({"born": [dt.date(2000, 1, 1)] * 2}))


def test_a_frame_without_columns_is_refused():
    refused("X", "at least one column", X=pd.DataFrame(index=[0, 1]))


@pytest.mark.parametrize("kind", FRAMES)
def test_missing_features_stay_missing(kind):
    X = as_ranking_data(FRAMES[kind]({"a": [1, None, 3], "b": [None, 1.5, 2.5]})).X
    np.testing.assert_array_equal(X, [[1, NAN], [NAN, 1.5], [3, 2.5]])
    given = pd.DataFrame(
        {"a": pd.array([1, None], "Int64"), "b": pd.array([True, None], "boolean")}
    )
    np.testing.assert_array_equal(as_ranking_data(given).X, [[1, 1], [NAN, NAN]])


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], dtype=np.int8),
        np.array([[1, 2], [3, 4]], dtype=np.uint64),
        np.array([[1, 2], [3, 4]], dtype=object),
        np.array([[1, 2], [3, 4]], dtype=np.float16),
        [[Decimal(1), 2], [3, 4.0]],
    ],
)
def test_other_numbers_become_float64(X):
    data = as_ranking_data(X)
    assert data.X.dtype == np.float64
    assert data.X.tolist() == [[1, 2], [3, 4]]
    assert data.feature_names is None
    assert data.backend is None


def test_bools_and_integers_are_numbers_too():
    assert as_ranking_data(np.array([[True], [False]])).X.tolist() == [[1.0], [0.0]]
    assert as_ranking_data(None, [True, False]).y.tolist() == [1.0, 0.0]
    assert as_ranking_data(None, np.array([3], dtype=np.uint8)).y.dtype == np.float64
    assert as_ranking_data(None, [Decimal("1.5")]).y.tolist() == [1.5]


def test_the_library_of_a_series_is_remembered():
    if pl is not None:
        assert as_ranking_data(None, [1, 2], qid=pl.Series([1, 1])).backend == "polars"
    assert as_ranking_data(None, pd.Series([1, 2])).backend == "pandas"
    assert (
        as_ranking_data(None, [1], sensitive_features=pa.table({"a": ["x"]})).backend == "pyarrow"
    )
    assert as_ranking_data(None, [1]).backend is None


# X refused


@pytest.mark.parametrize("X", [[1.0, 2.0], 3.0, np.zeros((2, 2, 2)), pd.Series([1, 2])])
def test_features_must_be_two_dimensional(X):
    refused("X", "two-dimensional", X=X)


def test_ragged_features_are_refused_naming_the_row():
    refused("X", "row 1", X=[[1.0, 2.0], [3.0]])


def test_text_among_features_is_refused_naming_the_row():
    refused("X", "'a'", "row 1", X=np.array([[1.0, 2.0], [3.0, "a"]], dtype=object))
    refused("X", "'a'", "row 1", X=[[1.0, 2.0], [3.0, "a"]])


@pytest.mark.parametrize("X", [np.array([[1j]]), sp.csr_array(np.array([[1j]]))])
def test_complex_features_are_refused(X):
    refused("X", "Complex", X=X)


# labels refused, with the caller's row

BAD = [
    ("y", [0, 1, NAN], "row 2"),
    ("y", [0, -1, 1], "row 1"),
    ("y", [0, float("inf"), 1], "row 1"),
    ("y", [0, 1, "good"], "'good' in row 2"),
    ("y", [0, None, 1], "row 1"),
    ("score", [0, NAN, 1], "row 1"),
    ("score", [0, 1, -float("inf")], "row 2"),
    ("score", ["x", 1, 1], "'x' in row 0"),
    ("cost", [1, 0, 2], "0.0 in row 1"),
    ("cost", [1, 2, -3], "-3.0 in row 2"),
    ("cost", [NAN, 2, 3], "row 0"),
    ("position", [1, 2, -1], "row 2"),
    ("position", [1, 1.5, 1], "1.5 in row 1"),
    ("position", [1, NAN, 1], "row 1"),
    ("position", [1, 2**31, 1], "row 1"),
    ("qid", ["a", None, "a"], "row 1"),
    ("qid", [1.0, 2.0, NAN], "row 2"),
    ("qid", np.array(["2024-01-01", "NaT", "2024-01-01"], "M8[D]"), "row 1"),
    ("qid", np.array(["2024-01-01", "NaT", "2024-01-01"], "M8[ns]"), "row 1"),
    ("query_weight", [1, 1, -1], "-1.0 in row 2"),
    ("query_weight", [1, NAN, 1], "row 1"),
]


@pytest.mark.parametrize(("name", "values", "where"), BAD, ids=lambda v: str(v)[:30])
def test_a_bad_value_names_argument_and_row(name, values, where):
    given = {"qid": [0, 0, 1]} | {name: values}
    refused(name, where, **({"y": [0, 1, 2]} | given))
    if name != "qid":
        return
    # the same in a column of objects, where "a" and a float stand side by side
    refused(name, where, qid=np.array(values, dtype=object), y=[0, 1, 2])


@pytest.mark.parametrize(("name", "values"), [("y", [1, 2, -3, 4]), ("score", [1, 2, NAN, 4])])
def test_rows_are_counted_as_the_caller_does(name, values):
    refused(name, "row 2", qid=["a", "b", "b", "a"], **{name: values})


def test_an_uneven_query_weight_names_the_callers_row():
    refused("query_weight", "row 2", y=[1, 1, 1], qid=["a", "b", "a"], query_weight=[1, 2, 3])
    refused("query_weight", "row 3", y=[0] * 4, qid=list("abab"), query_weight=[1, 2, 1, 3])


@pytest.mark.parametrize("name", ["y", "score", "cost", "position"])
def test_complex_labels_are_refused(name):
    refused(name, "Complex", **{name: [1j, 2j]})


@pytest.mark.parametrize("name", ["y", "score", "cost", "position", "qid", "ids"])
@pytest.mark.parametrize("values", [np.ones((2, 2)), 3.0, np.ones((1, 2, 1))])
def test_labels_must_be_one_dimensional(name, values):
    refused(name, "one-dimensional", **{name: values})


def test_ragged_labels_are_refused():
    refused("y", "row 0", y=[[1.0, 2.0], [3.0]])


@pytest.mark.parametrize(
    "name", ["y", "qid", "score", "cost", "position", "ids", "query_weight", "sensitive_features"]
)
def test_lengths_that_differ_are_refused(name):
    refused(name, "3", "2", X=np.ones((3, 1)), **{name: [1, 1]})


def test_the_attribute_whose_length_differs_is_named():
    refused(
        "sensitive_features['race']",
        y=[1, 1],
        sensitive_features={"sex": ["f", "m"], "race": ["x", "y", "z"]},
    )


def test_nothing_at_all_is_refused():
    refused("must be given")
    refused("X", X=[])
    refused("X", "at least one row", X=np.empty((0, 3)))
    refused("y", "at least one row", y=[])
    refused("at least one row", X=pd.DataFrame({"a": np.empty(0)}))
    refused("at least one row", score=[], qid=[])


@pytest.mark.parametrize("name", ["missing_sensitive", "missing_relevance"])
def test_unknown_words_for_missing_values_are_refused(name):
    refused(name, "'error'", "'ignore'", y=[1], **{name: "ignore"})


# missing relevance


@pytest.mark.parametrize(
    "y",
    [
        [1, None, 2],
        [1, NAN, 2],
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([1, None, 2], dtype="Float64"),
        pa.chunked_array([[1, None, 2]]),
        np.float32([1, NAN, 2]),
        *([pl.Series([1, None, 2])] if pl else []),
    ],
    ids=["None", "nan", "Int64", "Float64", "pyarrow", "float32", *(["polars"] if pl else [])],
)
def test_a_missing_relevance_is_an_error_or_zero(y):
    refused("y", "row 1", y=y)
    assert as_ranking_data(None, y, missing_relevance="irrelevant").y.tolist() == [1, 0, 2]


def test_only_what_is_missing_becomes_zero():
    refused("y", "row 0", y=[float("inf"), 1], missing_relevance="irrelevant")
    refused("y", "row 1", y=[None, -1], missing_relevance="irrelevant")
    refused("score", "row 0", score=[NAN, 1], missing_relevance="irrelevant")
    y = np.array([NAN, 1.0])
    as_ranking_data(None, y, missing_relevance="irrelevant")
    assert np.isnan(y[0])


# sensitive features


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_of_groups_has_one_attribute_per_column(kind):
    people = FRAMES[kind]({"sex": ["f", "m", "f"], "age": [1, 0, 1]})
    data = as_ranking_data(None, [1, 2, 3], qid=[1, 2, 1], sensitive_features=people)
    assert {name: a.categories for name, a in data.sensitive.items()} == {
        "sex": ("f", "m"),
        "age": (0, 1),
    }
    assert data.sensitive["sex"].codes.tolist() == [0, 0, 1]
    assert data.backend == kind


@pytest.mark.parametrize(
    ("people", "names"),
    [
        (["f", "m"], ["sensitive"]),
        (np.array([["f"], ["m"]]), ["sensitive"]),
        (np.array([["f", "x"], ["m", "y"]]), ["sensitive_0", "sensitive_1"]),
        ([["f", "x"], ["m", "y"]], ["sensitive_0", "sensitive_1"]),
        ({"sex": ["f", "m"], "race": pd.Series(["x", "y"])}, ["sex", "race"]),
        (pd.Series(["f", "m"], name="sex"), ["sex"]),
        (pd.DataFrame({"sex": ["f", "m"]}), ["sex"]),
        (pd.Series(["f", "m"], dtype="category", name="sex"), ["sex"]),
        (pd.Series(["f", "m"], dtype="string"), ["sensitive"]),
        *([(pl.Series("sex", ["f", "m"]), ["sex"])] if pl else []),
        *([(pl.Series("sex", ["f", "m"], dtype=pl.Categorical), ["sex"])] if pl else []),
    ],
    ids=lambda value: type(value).__name__,
)
def test_groups_come_in_many_shapes(people, names):
    data = as_ranking_data(None, [1, 2], sensitive_features=people)
    assert list(data.sensitive) == names
    first = data.sensitive[names[0]]
    assert first.categories == ("f", "m")
    assert first.codes.tolist() == [0, 1]
    assert [type(category) for category in first.categories] == [str, str]


def test_attributes_need_a_shape_and_a_column():
    refused("sensitive_features", y=[1, 2], sensitive_features={})
    refused("sensitive_features", y=[1, 2], sensitive_features=pd.DataFrame(index=[0, 1]))
    refused("sensitive_features", y=[1, 2], sensitive_features="sex")
    refused("sensitive_features", y=[1, 2], sensitive_features=np.ones((2, 2, 2)))


@pytest.mark.parametrize(
    "values", [np.arange(21), np.arange(21) / 2, list(range(21)), np.arange(21).astype(object)]
)
def test_a_number_with_more_than_20_values_asks_for_bins(values):
    refused(
        "sensitive_features['age']", "bins", "21", y=[0] * 21, sensitive_features={"age": values}
    )
    twenty = as_ranking_data(None, sensitive_features={"age": values[:20]})
    assert len(twenty.attribute().categories) == 20


def test_names_may_have_many_values_if_asked():
    names = [f"n{j:03d}" for j in range(200)]
    data = as_ranking_data(None, sensitive_features=names[::-1], max_groups=200)
    attribute = data.attribute()
    assert attribute.categories == tuple(names)
    assert attribute.codes.tolist() == list(range(199, -1, -1))


@pytest.mark.parametrize(
    ("groups", "repeats", "limit"),
    [(100, 10, None), (101, 10, 100), (20, 1, None), (21, 9, 20), (21, 10, None)],
)
def test_a_column_of_names_is_not_one_of_groups(groups, repeats, limit):
    names = {"who": [f"n{j}" for j in range(groups)] * repeats}
    if limit is None:
        assert len(as_ranking_data(sensitive_features=names, y=[0] * len(names["who"])))
        return
    words = f"'who'] must be a category, got {groups} different values in {groups * repeats} rows"
    allowed = f"max_groups={groups} of", f"--max-groups {groups} on the command line"
    refused(words, f"the limit is {limit}", *allowed, sensitive_features=names)
    data = as_ranking_data(sensitive_features=names, max_groups=groups)
    assert len(data.attribute().categories) == groups
    refused(f"the limit is {groups - 1})", sensitive_features=names, max_groups=groups - 1)


def test_numbers_may_be_groups_if_asked():
    ages = {"age": list(range(30)) * 50}
    refused("cut it into bins first, or max_groups=30", sensitive_features=ages)
    assert len(as_ranking_data(sensitive_features=ages, max_groups=30).attribute().categories) == 30


@pytest.mark.parametrize("most", [0, -1, 2.5, "9"])
def test_the_most_groups_are_a_number(most):
    refused("max_groups must be None or a", repr(most), sensitive_features=[1], max_groups=most)


WHOLLY_MISSING = {
    "list": [None] * 3,
    "float": [NAN] * 3,
    "object": np.array([NAN, None, NAN], dtype=object),
    "date": np.array(["NaT"] * 3, dtype="M8[ns]"),
    "pandas": pd.Series([pd.NA] * 3, dtype="string", name="sex"),
    "pyarrow": pa.array([None] * 3),
} | ({"polars": pl.Series("sex", [None] * 3)} if pl else {})


@pytest.mark.parametrize("kind", WHOLLY_MISSING)
def test_a_wholly_missing_attribute_is_refused(kind):
    people = {"sex": WHOLLY_MISSING[kind]}
    words = "sensitive_features['sex'] must name a group in at least one row, and all are unknown"
    refused(words, sensitive_features=people, missing_sensitive="category")


SEVERAL_VALUES = {
    "lists": [[1, 2], [1], [2]],
    "dicts": [{"a": 1}, {"a": 2}, {"a": 1}],
    "sets": pd.Series([{1}, {2}, {1}]),
    "records": np.array([(1, 2), (3, 4), (1, 2)], dtype=[("a", int), ("b", int)]),
    "pandas": pd.Series([[1], [2], [1]], name="tags"),
    "pyarrow struct": pa.array([{"a": 1}, {"a": 2}, {"a": 1}]),
    "pyarrow list": pa.chunked_array([[[1, 2], [1], [2]]]),
} | ({"polars": pl.Series("tags", [[1, 2], [1], [2]])} if pl else {})


@pytest.mark.parametrize("kind", SEVERAL_VALUES)
def test_a_label_is_one_value(kind):
    tags = SEVERAL_VALUES[kind]
    words = "sensitive_features['tags'] must hold one label per row"
    refused(words, sensitive_features={"tags": tags})
    refused("qid must hold one label per row", qid=tags)
    refused("ids must hold one label per row", ids=tags)
    if getattr(tags, "name", None):
        refused(words, sensitive_features=tags)


NULS = {
    "list": ["a", "a\0", "b"],
    "bytes": [b"a", b"a\0", b"b"],
    "object": np.array(["a", "a\0", "b"], dtype=object),
    "pandas": pd.Series(["a", "a\0", "b"]),
} | ({"polars": pl.Series(["a", "a\0", "b"])} if pl else {})


@pytest.mark.parametrize("kind", NULS)
def test_labels_that_end_in_nul_do_not_merge(kind):
    words = "must hold labels without a NUL character at the end", "in row 1"
    refused("sensitive_features['s'] " + words[0], words[1], sensitive_features={"s": NULS[kind]})
    refused("qid " + words[0], words[1], qid=NULS[kind])
    refused("ids " + words[0], words[1], ids=NULS[kind])


def test_labels_of_a_table_that_end_in_nul_do_not_merge():
    refused("[:, 1] must hold labels", sensitive_features=[["x", "a"], ["x", "a\0"]])
    assert as_ranking_data(qid=["a\0b", "a"]).qids.tolist() == ["a\0b", "a"]


LARGE = 2**53
MERGING = {
    "list": [LARGE, 3, LARGE + 1],
    "int64": np.array([LARGE, 3, LARGE + 1]),
    "uint64": np.array([2**63, 3, 2**63 + 1], dtype=np.uint64),
    "huge": [2**80, 3, 2**80 + 1],
    "negative": [-LARGE, 3, -LARGE - 1],
    "text": [str(LARGE), "3", str(LARGE + 1)],
    "Decimal": [Decimal(LARGE), Decimal(3), Decimal(LARGE + 1)],
    "pandas": pd.Series([LARGE, 3, LARGE + 1], dtype="Int64"),
    "pyarrow": pa.array([LARGE, 3, LARGE + 1]),
    "dates": np.array([10**18, 3, 10**18 + 1]).astype("M8[ns]"),
} | ({"polars": pl.Series([LARGE, 3, LARGE + 1])} if pl else {})


@pytest.mark.parametrize("kind", MERGING)
def test_different_scores_do_not_become_ties(kind):
    words = "score must differ as floats of 64 bits", "in row 0 and", "in row 2, which would become"
    refused(*words, score=MERGING[kind])


def test_large_scores_that_stay_different_are_taken():
    score = as_ranking_data(score=[LARGE, LARGE + 2, LARGE, str(10**17), "1e17"]).score
    assert score.tolist() == [LARGE, LARGE + 2, LARGE, 1e17, 1e17]
    zeros = "0" * 5000
    score = as_ranking_data(score=np.array([f"{zeros}{LARGE}", f"+{LARGE}"], dtype=object)).score
    assert score.tolist() == [LARGE, LARGE]


def test_a_missing_date_is_not_a_score():
    refused("score", "row 1", score=np.array(["2020-01-01", "NaT"], dtype="M8[D]"))


MISSING = [
    ["a", None, "b"],
    ["a", NAN, "b"],
    np.array(["a", NAN, "b"], dtype=object),
    [1.0, NAN, 2.0],
    pd.Series(["a", None, "b"]),
    pd.Series(["a", None, "b"], dtype="string"),
    pd.Series(["a", None, "b"], dtype="category"),
    pd.Series([1, None, 2], dtype="Int64"),
    pd.Series([True, None, False], dtype="boolean"),
    *([pl.Series(["a", None, "b"]), pl.Series([1, None, 2])] if pl else []),
    pa.chunked_array([["a", None, "b"]]),
    np.array(["2024-01-01", "NaT", "2024-01-02"], "M8[D]"),
    np.array(["2024-01-01", "NaT", "2024-01-02"], "M8[ns]"),
    pd.to_datetime(pd.Series(["2024-01-01", None, "2024-01-02"])),
]


@pytest.mark.parametrize(
    "people", MISSING, ids=lambda v: f"{type(v).__name__}-{getattr(v, 'dtype', '')}"
)
def test_a_missing_group_is_an_error_or_a_category(people):
    refused("sensitive_features['sex']", "row 1", "missing_sensitive", **bad_people(people))
    data = as_ranking_data(**bad_people(people), missing_sensitive="category")
    attribute = data.attribute("sex")
    assert len(attribute.categories) == 3
    assert attribute.categories[-1] == "(missing)"
    assert attribute.codes[1] == 2
    assert sorted(attribute.codes.tolist()) == [0, 1, 2]


def bad_people(people):
    return {"y": [1, 2, 3], "sensitive_features": {"sex": people}}


def test_a_missing_group_names_the_callers_row():
    refused("row 2", qid=list("abba"), sensitive_features=["f", "m", None, "f"])
    refused(
        "row 2", qid=list("abba"), sensitive_features=[["f", 1], ["m", 1], ["f", None], ["f", 1]]
    )


def test_no_missing_category_without_missing_values():
    data = as_ranking_data(None, sensitive_features=["f", "m"], missing_sensitive="category")
    assert data.attribute().categories == ("f", "m")


def test_a_missing_query_in_a_plain_list_is_an_error():
    refused("qid", "row 1", y=[1, 2], qid=["a", NAN])


def test_groups_of_mixed_kinds_are_kept_apart():
    people = np.array([1, "1", True, "b"], dtype=object)
    categories = as_ranking_data(None, sensitive_features=people).attribute().categories
    assert "1" in categories
    assert 1 in categories


@pytest.mark.slow
@given(st.lists(st.sampled_from(["f", "m", "x", "é"]), min_size=1, max_size=20))
def test_encoding_gives_back_the_values_sorted(values):
    attribute = as_ranking_data(None, sensitive_features=values).attribute()
    assert attribute.categories == tuple(sorted(set(values)))
    assert [attribute.categories[code] for code in attribute.codes] == values


# query weights


def test_query_weights_by_name():
    data = as_ranking_data(None, [1, 2, 3], qid=[7, 5, 7], query_weight={5: 0.5, 7: 2, 9: 1})
    assert data.query_weight.tolist() == [2.0, 0.5]
    refused("query_weight", "lacks 5", y=[1, 2], qid=[7, 5], query_weight={7: 1})


def test_a_bad_weight_names_its_query():
    refused("query_weight", "'b'", y=[1, 2], qid=["a", "b"], query_weight={"a": 1, "b": -1})
    refused("query_weight", "'b'", y=[1, 2], qid=["a", "b"], query_weight={"a": 1, "b": NAN})


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_query_weights_by_date(unit):
    days = np.array(["2024-02-01", "2024-01-01"], f"M8[{unit}]")
    data = as_ranking_data(
        None, [1, 2], qid=days, query_weight=dict(zip(days, [1, 2], strict=True))
    )
    assert data.query_weight.tolist() == [1.0, 2.0]


def test_a_query_may_weigh_nothing():
    assert as_ranking_data(None, [1, 2], query_weight=[0, 0]).query_weight.tolist() == [0.0]
