"""RankingData and its door: sorting, row order, selection, crossing, fingerprint."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from equirank import DataError, RankingData, as_ranking_data
from equirank.core.attribute import Attribute

INTERLEAVED = ["b", "a", "b", "c", "a", "b"]
STORED = [0, 2, 5, 1, 4, 3]


def small(**changes):
    given = {
        "X": np.arange(12.0).reshape(6, 2),
        "y": [0, 1, 2, 3, 4, 5],
        "qid": INTERLEAVED,
        "sensitive_features": {"sex": list("fmfmfm"), "race": list("xxyyxz")},
        "cost": [1, 2, 3, 4, 5, 6],
        "query_weight": {"a": 2.0, "b": 1.0, "c": 3.0},
        "ids": list("uvwxyz"),
        "score": [0.5, 0.4, 0.3, 0.2, 0.1, 0.9],
        "position": [2, 1, 3, 1, 2, 1],
    }
    return as_ranking_data(**(given | changes))


def test_rows_are_sorted_by_query_in_order_of_first_appearance():
    data = small()
    assert data.qids.tolist() == ["b", "a", "c"]
    assert data.offsets.tolist() == [0, 3, 5, 6]
    assert data.offsets.dtype == np.int64
    assert data.rows.tolist() == STORED
    assert data.y.tolist() == STORED
    assert data.X[:, 0].tolist() == [0, 4, 10, 2, 8, 6]
    assert data.cost.tolist() == [1, 3, 6, 2, 5, 4]
    assert data.ids.tolist() == list("uwzvyx")
    assert data.score.tolist() == [0.5, 0.3, 0.9, 0.4, 0.1, 0.2]
    assert data.position.tolist() == [2, 3, 1, 1, 2, 1]
    assert data.query_weight.tolist() == [1.0, 2.0, 3.0]
    assert data.sensitive["sex"].codes.tolist() == [0, 0, 1, 1, 0, 1]
    assert data.query_of_rows().tolist() == [0, 0, 0, 1, 1, 2]
    assert (data.n_rows, data.n_queries, data.n_features, len(data)) == (6, 3, 2, 6)
    assert data.max_grade == 5.0


@pytest.mark.parametrize(
    "qid",
    [
        [20, 10, 20, 30, 10, 20],
        [2.5, -1.0, 2.5, 3.0, -1.0, 2.5],
        np.array(["2024-02", "2024-01", "2024-02", "2024-03", "2024-01", "2024-02"], "M8[D]"),
        np.array(["2024-02", "2024-01", "2024-02", "2024-03", "2024-01", "2024-02"], "M8[ns]"),
        np.array(["b", 1, "b", 2.5, 1, "b"], dtype=object),
        [True, False, True, True, False, True],
    ],
    ids=["int", "float", "day", "nanosecond", "object", "bool"],
)
def test_any_label_can_name_a_query(qid):
    data = as_ranking_data(None, range(6), qid=qid)
    labels = list(dict.fromkeys(np.asarray(qid).tolist()))
    assert data.qids.tolist() == labels
    for index, label in enumerate(labels):
        rows = [row for row, value in enumerate(np.asarray(qid).tolist()) if value == label]
        begin, end = data.offsets[index : index + 2]
        assert data.y[begin:end].tolist() == rows
        assert data.query_index(data.qids[index]) == index


def test_grouped_rows_stay_where_they_are_even_if_labels_descend():
    data = as_ranking_data(None, [1, 2, 3], qid=["z", "z", "a"])
    assert data.rows is None
    assert data.qids.tolist() == ["z", "a"]
    assert data.to_original(data.y) is data.y


def test_without_qid_all_rows_are_one_list():
    data = as_ranking_data(None, [1, 2, 3])
    assert data.n_queries == 1
    assert data.offsets.tolist() == [0, 3]


def test_grouped_features_are_not_copied():
    for dtype in (np.float32, np.float64):
        X = np.ones((4, 3), dtype=dtype)
        data = as_ranking_data(X, qid=[1, 1, 2, 2])
        assert np.shares_memory(data.X, X)
        assert data.X.dtype == dtype
        y = np.ones(4, dtype=dtype)
        assert np.shares_memory(as_ranking_data(None, y).y, y)


def test_interleaved_float32_stays_float32():
    data = as_ranking_data(
        np.ones((3, 1), np.float32),
        np.ones(3, np.float32),
        qid=[1, 2, 1],
        score=np.float32([3, 2, 1]),
    )
    assert data.X.dtype == data.y.dtype == data.score.dtype == np.float32


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sparse_features_stay_sparse(kind, dtype):
    dense = np.array([[0, 1], [2, 0], [0, 3], [4, 5]])
    data = as_ranking_data(kind(dense.astype(dtype)), qid=[1, 2, 1, 2])
    assert data.X.format == "csr"
    assert data.X.dtype == (np.float64 if dtype == np.int64 else dtype)
    assert data.X.toarray().tolist() == dense[[0, 2, 1, 3]].tolist()
    assert data.n_features == 2
    assert data.select([1]).X.toarray().tolist() == dense[[1, 3]].tolist()
    assert data.select([1]).X.format == "csr"


def test_grouped_csr_is_not_copied():
    X = sp.csr_array(np.eye(3))
    assert np.shares_memory(as_ranking_data(X, qid=[1, 1, 2]).X.data, X.data)


def test_features_may_be_absent():
    data = as_ranking_data(None, [1, 0], score=[1, 2])
    assert data.X is None
    assert data.n_features == 0
    assert data.select([0]).X is None


def test_ranking_data_is_returned_untouched():
    data = small()
    assert as_ranking_data(data) is data


ARRAYS = ["y", "offsets", "qids", "cost", "query_weight", "ids", "score", "position", "rows"]


@pytest.mark.parametrize("part", ["whole", "selected", "items", "grouped"])
def test_arrays_are_read_only(part):
    data = small()
    data = {
        "whole": data,
        "selected": data.select([0]),
        "items": data.select_items(np.array([1])),
        "grouped": small(qid=list("aabbbc")),
    }[part]
    arrays = {name: getattr(data, name) for name in ARRAYS if getattr(data, name) is not None}
    arrays["codes"] = data.sensitive["sex"].codes
    assert len(arrays) >= 9
    assert [name for name, values in arrays.items() if values.flags.writeable] == []


def test_features_are_read_only_too():
    for data in (small(), small().select([0]), as_ranking_data(np.ones((2, 1)), [1, 2])):
        assert not data.X.flags.writeable
    assert not as_ranking_data(sp.csr_array(np.eye(2))).X.data.flags.writeable


def test_fields_are_frozen():
    with pytest.raises(FrozenInstanceError):
        small().y = None


def test_the_callers_arrays_are_left_alone():
    y, X, qid = np.array([3.0, 1.0, 2.0]), np.ones((3, 1)), np.array([2, 1, 2])
    as_ranking_data(X, y, qid=qid)
    assert y.flags.writeable
    assert X.flags.writeable
    assert y.tolist() == [3, 1, 2]
    assert qid.tolist() == [2, 1, 2]


def test_read_only_input_is_taken():
    arrays = {"X": np.ones((3, 1)), "y": np.arange(3.0), "qid": np.array([1, 2, 1])}
    arrays |= {"score": np.arange(3.0), "sensitive_features": np.array(["f", "m", "f"])}
    arrays |= {"cost": np.ones(3), "query_weight": np.ones(3)}
    for values in arrays.values():
        values.flags.writeable = False
    assert as_ranking_data(**arrays).y.tolist() == [0, 2, 1]


def test_to_original_undoes_the_sorting_also_for_draws():
    data = small()
    assert data.to_original(data.y).tolist() == [0, 1, 2, 3, 4, 5]
    two = np.stack([data.y, data.y * 10], axis=1)
    assert data.to_original(two)[:, 1].tolist() == [0, 10, 20, 30, 40, 50]


def test_repr_says_what_is_there():
    text = repr(small())
    for word in ("6 rows", "3 queries", "2 features", "y", "cost", "score", "sex (2 groups)"):
        assert word in text
    assert "X" not in repr(as_ranking_data(None, [1]))


# selection


def test_select_keeps_whole_queries_and_everything_of_them():
    data = small()
    part = data.select([2, 0])
    assert part.qids.tolist() == ["c", "b"]
    assert part.offsets.tolist() == [0, 1, 4]
    assert part.offsets.dtype == np.int64
    assert part.rows.tolist() == [3, 0, 2, 5]
    assert part.y.tolist() == part.rows.tolist()
    assert part.X[:, 1].tolist() == [7, 1, 5, 11]
    assert part.cost.tolist() == [4, 1, 3, 6]
    assert part.ids.tolist() == list("xuwz")
    assert part.score.tolist() == [0.2, 0.5, 0.3, 0.9]
    assert part.position.tolist() == [1, 2, 3, 1]
    assert part.query_weight.tolist() == [3.0, 1.0]
    assert part.max_grade == data.max_grade == 5.0
    assert part.backend == data.backend


def test_select_takes_masks_and_slices():
    data = small()
    assert data.select(np.array([False, True, True])).qids.tolist() == ["a", "c"]
    assert data.select(slice(0, 2)).qids.tolist() == ["b", "a"]
    assert data.select([-1]).qids.tolist() == ["c"]


def test_results_of_a_selection_come_in_the_callers_order():
    part = small().select([2, 0])
    assert part.to_original(part.y).tolist() == [0, 2, 3, 5]


def test_codes_stay_fixed_through_every_selection():
    data = small()
    whole = dict(zip(data.rows.tolist(), data.sensitive["race"].codes.tolist(), strict=True))
    for part in (data.select([2]), data.select_items([4, 5]), data.select([0]).select_items([2])):
        race = part.sensitive["race"]
        assert race.categories == ("x", "y", "z")
        assert race.codes.tolist() == [whole[row] for row in part.rows.tolist()]


def test_select_items_makes_shorter_lists_and_drops_empty_ones():
    part = small().select_items(np.array([5, 0, 2]))
    assert part.rows.tolist() == [0, 5, 3]
    assert part.qids.tolist() == ["b", "c"]
    assert part.offsets.tolist() == [0, 2, 3]
    assert part.query_weight.tolist() == [1.0, 3.0]


@pytest.mark.parametrize("keep", [[], np.zeros(3, dtype=bool)])
def test_a_selection_of_nothing_is_an_error(keep):
    with pytest.raises(DataError, match="at least one row"):
        small().select(keep)
    with pytest.raises(DataError, match="at least one row"):
        small().select_items(np.array([], dtype=int))


@pytest.mark.parametrize("which", [[7], [True]])
def test_a_selection_that_does_not_fit_names_its_argument(which):
    with pytest.raises((DataError, IndexError), match=r"quer|index"):
        small().select(which)


# attributes


def test_the_only_attribute_needs_no_name():
    data = as_ranking_data(None, sensitive_features=["m", "f", "m"])
    assert data.attribute().categories == ("f", "m")
    assert data.attribute().codes.tolist() == [1, 0, 1]
    assert data.attribute().codes.dtype == np.int32


def test_attributes_are_found_by_name_or_the_error_says_which_there_are():
    data = small()
    assert data.attribute("sex").categories == ("f", "m")
    with pytest.raises(DataError, match="'sex', 'race'"):
        data.attribute()
    with pytest.raises(DataError, match=r"'sxe'.*did you mean 'sex'"):
        data.attribute("sxe")
    with pytest.raises(DataError, match="sensitive_features must be given"):
        as_ranking_data(None, [1]).attribute()


def test_cross_makes_the_combinations_that_occur():
    data = small()
    crossed = data.cross("sex", "race")
    assert crossed.categories == ("f & x", "f & y", "m & x", "m & y", "m & z")
    names = [crossed.categories[code] for code in data.to_original(crossed.codes)]
    assert names == ["f & x", "m & x", "f & y", "m & y", "f & x", "m & z"]
    assert crossed.codes.dtype == np.int32
    assert data.attribute(("sex", "race")).categories == crossed.categories
    assert data.attribute(["race", "sex"]).categories[0] == "x & f"
    assert data.cross("sex").categories == ("f", "m")
    with pytest.raises(DataError, match="'age'"):
        data.cross("sex", "age")


def test_cross_of_three():
    data = small(sensitive_features={"a": list("001111"), "b": list("010011"), "c": list("xxyyxx")})
    crossed = data.cross("a", "b", "c")
    names = [crossed.categories[code] for code in data.to_original(crossed.codes)]
    assert names == ["0 & 0 & x", "0 & 1 & x", "1 & 0 & y", "1 & 0 & y", "1 & 1 & x", "1 & 1 & x"]


def test_a_group_is_found_by_value_or_by_its_text():
    attribute = Attribute(np.array([0, 1]), (1, 2))
    assert attribute.code(2) == attribute.code("2") == 1
    with pytest.raises(DataError, match=r"protected must be one of the groups 1, 2, got 'x'"):
        attribute.code("x")
    named = Attribute(np.array([0, 1]), ("female", "male"))
    with pytest.raises(DataError, match="'female', 'male', got 'femal'") as refused:
        named.code("femal")
    assert "did you mean" not in str(refused.value)  # it could be the opposite group


def test_the_exact_group_wins_over_one_that_reads_the_same():
    data = as_ranking_data(None, sensitive_features=np.array([1, "1"], dtype=object))
    attribute = data.attribute()
    assert attribute.categories[attribute.code("1")] == "1"
    assert attribute.categories[attribute.code(1)] == 1


def test_a_query_is_found_or_the_nearest_is_named():
    data = as_ranking_data(None, [1, 2], qid=["berlin", "paris"])
    assert data.query_index("paris") == 1
    with pytest.raises(DataError, match=r"got 'berlni'; did you mean 'berlin'"):
        data.query_index("berlni")


# the order the data states


def test_ranking_takes_positions_before_scores():
    data = as_ranking_data(None, qid=[1, 2, 1], score=[1, 1, 2], position=[1, 1, 2])
    assert data.ranking().order(1).tolist() == [0, 2]
    assert as_ranking_data(None, qid=[1, 2, 1], score=[1, 1, 2]).ranking().order(1).tolist() == [
        2,
        0,
    ]
    with pytest.raises(DataError, match=r"score or position must be given"):
        as_ranking_data(None, [1]).ranking()


def test_ranking_passes_ties_on():
    data = as_ranking_data(None, score=[1, 1])
    assert data.ranking().last.tolist() == [2, 2]
    assert data.ranking(ties="stable").last is None
    assert data.ranking(ties="stable").position.tolist() == [1, 2]


# fingerprint

CHANGES = {
    "X": np.arange(12.0).reshape(6, 2)[::-1],
    "y": [1, 1, 2, 3, 4, 5],
    "qid": ["b", "a", "b", "a", "a", "b"],
    "qid names": ["B", "a", "B", "c", "a", "B"],
    "sensitive_features": {"sex": list("mmfmfm"), "race": list("xxyyxz")},
    "group names": {"sex": list("ememem"), "race": list("xxyyxz")},
    "attribute names": {"gender": list("fmfmfm"), "race": list("xxyyxz")},
    "cost": [1, 2, 3, 4, 5, 7],
    "query_weight": {"a": 2.0, "b": 1.0, "c": 4.0},
    "score": [0.6, 0.4, 0.3, 0.2, 0.1, 0.9],
    "position": [3, 1, 2, 1, 2, 1],
    "ids": list("Uvwxyz"),
}
ARGUMENT = {
    "qid names": "qid",
    "group names": "sensitive_features",
    "attribute names": "sensitive_features",
}


@pytest.mark.parametrize("what", CHANGES)
def test_fingerprint_changes_with_any_change(what):
    weights = {"B": 1.0} if what == "qid names" else {}
    weights = {"a": 2.0, "b": 1.0, "c": 3.0} | weights
    changed = small(**({"query_weight": weights} | {ARGUMENT.get(what, what): CHANGES[what]}))
    assert changed.fingerprint() != small().fingerprint()


@pytest.mark.parametrize("what", ["X", "y", "cost", "score", "sensitive_features", "ids"])
def test_fingerprint_changes_when_something_is_left_out(what):
    assert small(**{what: None}).fingerprint() != small().fingerprint()


def test_fingerprint_repeats():
    assert small().fingerprint() == small().fingerprint()


def test_fingerprint_sees_where_sparse_values_stand():
    one = as_ranking_data(sp.csr_array([[0, 1.0], [1.0, 0]]))
    other = as_ranking_data(sp.csr_array([[1.0, 0], [0, 1.0]]))
    assert one.fingerprint() != other.fingerprint()


@given(st.integers(0, 5), st.integers(0, 1))
def test_fingerprint_sees_every_cell(row, column):
    X = np.arange(12.0).reshape(6, 2)
    X[row, column] += 1e-9
    assert small(X=X).fingerprint() != small().fingerprint()


# properties

labels = st.one_of(
    st.lists(st.integers(-3, 3), min_size=1, max_size=30),
    st.lists(st.text("ab é", max_size=2), min_size=1, max_size=30),
    st.lists(st.floats(-2, 2, width=16), min_size=1, max_size=30),
    st.lists(st.dates(), min_size=1, max_size=8).flatmap(
        lambda pool: st.lists(st.sampled_from(pool), min_size=1, max_size=30)
    ),
)


@pytest.mark.slow
@given(labels)
def test_every_row_is_stored_once_under_its_own_query(qid):
    data = as_ranking_data(None, np.arange(len(qid)), qid=qid)
    rows = np.arange(len(qid)) if data.rows is None else data.rows
    assert sorted(rows.tolist()) == list(range(len(qid)))
    assert data.to_original(data.y).tolist() == list(range(len(qid)))
    per_row = data.qids[data.query_of_rows()].tolist()
    assert per_row == [qid[row] for row in rows]
    assert data.qids.tolist() == list(dict.fromkeys(qid))
    within = np.diff(rows)[np.diff(data.query_of_rows()) == 0]
    assert (within > 0).all()


@pytest.mark.slow
@given(labels, st.data())
def test_select_agrees_with_filtering_the_rows_first(qid, draw):
    data = as_ranking_data(None, np.arange(len(qid)), qid=qid, sensitive_features=["g"] * len(qid))
    chosen = draw.draw(
        st.lists(st.integers(0, data.n_queries - 1), min_size=1, unique=True).map(sorted)
    )
    part = data.select(chosen)
    wanted = [data.qids.tolist()[index] for index in chosen]
    rows = [row for row, label in enumerate(qid) if label in wanted]
    assert part.qids.tolist() == wanted
    assert part.to_original(part.y).tolist() == rows
    assert isinstance(part, RankingData)


def test_groups_of_one_attribute_may_be_a_list():
    data = as_ranking_data(score=[2, 1], sensitive_features=list("ab"), groups=["a", "b", "c"])
    assert data.attribute().categories == ("a", "b", "c")
    with pytest.raises(DataError, match="groups must map attributes to their groups, got 'ab'"):
        as_ranking_data(score=[2, 1], sensitive_features=list("ab"), groups="ab")
