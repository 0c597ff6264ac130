"""Splits: no list is torn, every row comes once, groups are spread evenly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import BaseCrossValidator

from equirank import DataError, QueryKFold, as_ranking_data, query_train_test_split

QID = np.array(list("dabacdbaccdb"))
PEOPLE = np.array(["f"] * 13 + ["m"] * 29)


def rows_of(data):
    return np.arange(data.n_rows) if data.rows is None else data.rows


# folds


@pytest.mark.slow
@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=40).filter(lambda q: len(set(q)) > 1),
    st.integers(2, 5),
    st.booleans(),
    st.integers(0, 100),
)
def test_no_query_is_torn_and_every_row_is_tested_once(qid, n_splits, shuffle, seed):
    n_splits = min(n_splits, len(set(qid)))
    qid = np.array(qid)
    tested = []
    folds = QueryKFold(n_splits, shuffle=shuffle, random_state=seed).split(qid, qid=qid)
    for train, test in folds:
        assert not set(qid[train]) & set(qid[test])
        assert sorted([*train, *test]) == list(range(len(qid)))
        assert len(test) > 0
        assert len(train) > 0
        tested.extend(test.tolist())
    assert sorted(tested) == list(range(len(qid)))


def test_folds_hold_equally_many_queries():
    for n_splits in (2, 3, 4):
        sizes = [len(set(QID[test])) for _, test in QueryKFold(n_splits).split(QID, qid=QID)]
        assert len(sizes) == n_splits
        assert max(sizes) - min(sizes) <= 1


def test_shuffling_follows_the_seed():
    qid = np.arange(60) // 2

    def folds(**options):
        return [test.tolist() for _, test in QueryKFold(3, **options).split(qid, qid=qid)]

    assert folds() == folds()
    assert folds()[0] == list(range(20))
    assert folds(shuffle=True, random_state=1) == folds(shuffle=True, random_state=1)
    assert folds(shuffle=True, random_state=1) != folds(shuffle=True, random_state=2)
    assert folds(shuffle=True, random_state=1) != folds()
    assert folds(random_state=1) == folds()


def test_a_single_query_says_by_item():
    rows = np.ones((4, 1))
    for lists in ({"qid": ["a"] * 4}, {"qid": 0}, {"groups": np.zeros(4)}):
        with pytest.raises(
            DataError, match=r'qid must name at least two lists .* by="item" splits the rows'
        ):
            list(QueryKFold(2).split(rows, **lists))
    for lists in ({}, {"qid": ["a"] * 4}):
        with pytest.raises(
            DataError, match=r'qid must name at least two lists .* by="item" splits the rows'
        ):
            query_train_test_split(rows, **lists)
    with pytest.raises(DataError, match=r"qid must name at least two lists"):
        list(QueryKFold(2).split(as_ranking_data(rows)))


def test_folds_of_whole_lists_need_qid():
    with pytest.raises(DataError) as caught:
        list(QueryKFold(2).split(np.ones((4, 1))))
    assert str(caught.value) == (
        "qid must be given to QueryKFold, which keeps lists whole; write split(X, qid=qid)"
    )


def test_more_folds_than_queries_or_rows_are_refused():
    with pytest.raises(DataError, match=r"n_splits .* queries \(4\), got 5"):
        list(QueryKFold(5).split(QID, qid=QID))
    with pytest.raises(DataError, match=r"n_splits .* rows \(3\), got 4"):
        list(QueryKFold(4, by="item").split([1, 2, 3]))


@pytest.mark.parametrize(
    ("options", "word"),
    [({"n_splits": 1}, "n_splits"), ({"n_splits": 2.0}, "n_splits"), ({"by": "row"}, "by")],
)
def test_bad_options_are_refused_when_splitting(options, word):
    cv = QueryKFold(**options)
    with pytest.raises(DataError, match=f"{word} of QueryKFold must be"):
        list(cv.split(QID, qid=QID))
    with pytest.raises(DataError, match="shuffle of QueryKFold"):
        list(QueryKFold(2, shuffle="yes").split(QID, qid=QID))


def test_lengths_are_checked():
    with pytest.raises(DataError, match=r"qid must .* \(5\), got 12"):
        list(QueryKFold(2).split(np.ones((5, 1)), qid=QID))


def test_by_item_spreads_groups_within_one():
    for shuffle in (False, True):
        cv = QueryKFold(5, by="item", shuffle=shuffle, random_state=3)
        folds = list(cv.split(PEOPLE, sensitive_features=PEOPLE))
        for group in ("f", "m"):
            counts = [(PEOPLE[test] == group).sum() for _, test in folds]
            assert max(counts) - min(counts) <= 1
        assert sorted(row for _, test in folds for row in test) == list(range(42))
        sizes = [len(test) for _, test in folds]
        assert max(sizes) - min(sizes) <= 1


def test_by_item_spreads_each_list_and_each_combination():
    rng = np.random.default_rng(0)
    people = {"sex": rng.choice(["f", "m"], 90), "race": rng.choice(["x", "y", "z"], 90)}
    qid = rng.integers(0, 2, 90)
    folds = list(QueryKFold(3, by="item").split(qid, qid=qid, sensitive_features=people))
    cells = np.char.add(np.char.add(people["sex"], people["race"]), qid.astype(str))
    for cell in np.unique(cells):
        counts = [(cells[test] == cell).sum() for _, test in folds]
        assert max(counts) - min(counts) <= 1


def test_ranking_data_brings_its_queries():
    data = as_ranking_data(np.ones((12, 1)), qid=QID)
    by_data = [test.tolist() for _, test in QueryKFold(2).split(data)]
    by_array = [test.tolist() for _, test in QueryKFold(2).split(QID, qid=QID)]
    assert by_data == by_array


def test_groups_stand_for_qid_without_routing():
    by_groups = [test.tolist() for _, test in QueryKFold(2).split(QID, groups=QID)]
    assert by_groups == [test.tolist() for _, test in QueryKFold(2).split(QID, qid=QID)]


def test_it_is_a_scikit_learn_splitter():
    cv = QueryKFold(3, by="item", shuffle=True, random_state=1)
    assert isinstance(cv, BaseCrossValidator)
    assert cv.get_n_splits() == cv.get_n_splits(QID, None, QID) == 3
    assert "n_splits=3" in repr(cv)
    assert repr(clone(cv, safe=False)) == repr(cv)
    requests = cv.get_metadata_routing().split.requests
    assert requests["qid"] is True


# one split


@pytest.mark.slow
@given(st.integers(2, 12), st.floats(0.01, 0.99), st.integers(0, 50))
def test_train_and_test_share_the_queries_out(n_queries, test_size, seed):
    qid = np.arange(3 * n_queries) % n_queries
    data = as_ranking_data(None, np.arange(3 * n_queries), qid=qid)
    train, test = query_train_test_split(data, test_size=test_size, random_state=seed)
    assert not set(train.qids.tolist()) & set(test.qids.tolist())
    assert sorted([*rows_of(train), *rows_of(test)]) == list(range(3 * n_queries))
    assert abs(test.n_queries - test_size * n_queries) <= 1
    assert test.n_queries >= 1
    assert train.n_queries >= 1


@pytest.mark.parametrize(
    ("n", "share", "n_test"), [(7, 0.25, 2), (6, 0.2, 1), (10, 0.36, 4), (10, 0.34, 3), (3, 0.9, 2)]
)
def test_the_test_has_the_nearest_number_of_lists_or_rows(n, share, n_test):
    """1.75 -> 2, 1.2 -> 1, 3.6 -> 4, 3.4 -> 3; one of three remains for training."""
    data = as_ranking_data(None, np.zeros(2 * n), qid=np.repeat(np.arange(n), 2))
    _, test = query_train_test_split(data, test_size=share, random_state=0)
    assert test.n_queries == n_test
    _, test = query_train_test_split(np.zeros((n, 1)), test_size=share, by="item", random_state=0)
    assert test.n_rows == n_test


def test_a_quarter_is_tested_by_default():
    train, test = query_train_test_split(None, np.ones(16), qid=np.arange(16), random_state=0)
    assert (train.n_queries, test.n_queries) == (12, 4)


def test_a_split_by_item_keeps_group_shares_within_one():
    for seed in range(20):
        for share in (0.1, 0.25, 0.5, 0.77):
            train, test = query_train_test_split(
                None,
                np.arange(42),
                sensitive_features=PEOPLE,
                by="item",
                test_size=share,
                random_state=seed,
            )
            for code, size in ((0, 13), (1, 29)):
                count = (test.attribute().codes == code).sum()
                assert abs(count - share * size) <= 1
            assert sorted([*rows_of(train), *rows_of(test)]) == list(range(42))
            assert abs(test.n_rows - 42 * share) <= 1
            assert test.n_queries == train.n_queries == 1


def test_seeds_decide():
    def split(seed, by="query"):
        _, test = query_train_test_split(
            None, np.ones(40), qid=np.arange(40) // 2, by=by, random_state=seed
        )
        return rows_of(test).tolist()

    for by in ("query", "item"):
        assert split(1, by) == split(1, by)
        assert split(1, by) != split(2, by)
    assert split(np.random.default_rng(1)) == split(np.random.default_rng(1))


def test_everything_rides_along():
    train, test = query_train_test_split(
        np.arange(8.0).reshape(4, 2),
        [1, 2, 3, 4],
        qid=list("abab"),
        cost=[1, 2, 3, 4],
        sensitive_features=list("fmmf"),
        query_weight={"a": 1, "b": 2},
        ids=list("wxyz"),
    )
    for part in (train, test):
        assert part.cost.tolist() == part.y.tolist()
        assert part.X[:, 0].tolist() == [2 * (grade - 1) for grade in part.y.tolist()]
        assert part.query_weight.tolist() == [1.0 if part.qids[0] == "a" else 2.0]
        assert part.attribute().categories == ("f", "m")
        assert part.max_grade == 4


@pytest.mark.parametrize("n_rows", [2, 3])
@pytest.mark.parametrize("test_size", [0.01, 0.99])
def test_small_lists_leave_something_on_both_sides(n_rows, test_size):
    train, test = query_train_test_split(None, np.ones(n_rows), by="item", test_size=test_size)
    assert train.n_rows >= 1
    assert test.n_rows >= 1
    assert train.n_rows + test.n_rows == n_rows


@pytest.mark.parametrize("size", [0, 1, -0.5, 2, "half", None, True])
def test_a_bad_test_size_is_refused(size):
    with pytest.raises(DataError, match="test_size of query_train_test_split must be"):
        query_train_test_split(None, np.ones(4), qid=[1, 1, 2, 2], test_size=size)


def test_one_row_cannot_be_split():
    with pytest.raises(DataError, match="at least two rows"):
        query_train_test_split(None, [1], by="item")
    with pytest.raises(DataError, match="by of query_train_test_split must be one of"):
        query_train_test_split(None, [1, 1], by="row")


def test_a_list_with_given_places_splits_into_lists_with_places_of_their_own():
    train, test = query_train_test_split(
        None, np.ones(8), position=np.arange(1, 9), by="item", random_state=0
    )
    for part in (train, test):
        assert part.ranking().order().tolist() == sorted(rows_of(part).tolist())
