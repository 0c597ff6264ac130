"""From columns to features, shares that are kept, frames of RankingData."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equirank import DataError, as_ranking_data
from equirank.datasets.assembly import (
    choose_attributes,
    encode,
    frame_of,
    keep_share,
    people,
    stack,
    widen,
)

HOME = np.array(["rent", "own", "rent", "free"], dtype=object)


def test_one_column_per_category_in_sorted_order():
    X, names = encode({"age": np.arange(4), "home": HOME}, "onehot")
    assert names == ("age", "home=free", "home=own", "home=rent")
    assert X.dtype == np.float64
    assert X.tolist() == [[0, 0, 0, 1], [1, 0, 1, 0], [2, 0, 0, 1], [3, 1, 0, 0]]


def test_integers_in_sorted_order():
    X, names = encode({"home": HOME, "age": np.arange(4)}, "ordinal")
    assert names == ("home", "age")
    assert X.tolist() == [[2, 0], [1, 1], [2, 2], [0, 3]]


def test_unknown_encoding():
    with pytest.raises(DataError, match="encoding must be one of"):
        encode({"home": HOME}, "dummy")


@pytest.mark.slow
@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=60), st.floats(0.05, 1), st.integers(0, 9)
)
def test_every_group_keeps_its_share(groups, share, seed):
    cells = np.array(groups, dtype=object)
    kept = keep_share([cells], share, np.random.default_rng(seed))
    assert abs(kept.sum() - share * len(cells)) <= 0.5 + 1e-9
    for group in set(groups):
        expected = share * (cells == group).sum()
        assert abs(kept[cells == group].sum() - expected) <= 1 + 1e-9


def test_crossed_groups_keep_their_share():
    a, b = np.repeat([0, 1], 50), np.tile(np.repeat([0, 1], [10, 40]), 2)
    kept = keep_share([a, b], 0.2, np.random.default_rng(0))
    assert [int(kept[(a == i) & (b == j)].sum()) for i in (0, 1) for j in (0, 1)] == [2, 8, 2, 8]


def test_which_rows_are_kept_depends_on_the_seed():
    cells = [np.zeros(100)]
    kept = [keep_share(cells, 0.5, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert (kept[0] == kept[1]).all()
    assert (kept[0] != kept[2]).any()


def test_attributes():
    assert choose_attributes("f", None, ("a", "b")) == ("a", "b")
    assert choose_attributes("f", "b", ("a", "b")) == ("b",)
    assert choose_attributes("f", ["b", "a"], ("a", "b")) == ("b", "a")
    with pytest.raises(DataError, match="sensitive of f must be among 'sex', 'race', got 'rase'"):
        choose_attributes("f", "rase", ("sex", "race"))


def test_frame_has_all_columns(monkeypatch):
    from scipy.sparse import csr_matrix

    monkeypatch.setattr("equirank.core.table.BACKENDS", ("pandas",))
    sparse = as_ranking_data(
        csr_matrix([[0.0, 1.0], [2.0, 0.0]]),
        [1, 0],
        qid=["q", "r"],
        ids=[7, 8],
        sensitive_features={"sex": ["m", "f"]},
    )
    frame = frame_of(sparse)
    assert frame.to_dict("list") == {
        "qid": ["q", "r"],
        "id": [7, 8],
        "relevance": [1, 0],
        "sex": ["m", "f"],
        "feature_1": [0, 2],
        "feature_2": [1, 0],
    }


def parts(sparse):
    from scipy.sparse import csr_matrix

    matrices = [np.array([[1.0, 2.0]]), np.array([[3.0, 4.0, 5.0], [6.0, 7.0, 8.0]])]
    return [
        as_ranking_data(
            csr_matrix(X) if sparse else X,
            np.arange(len(X)),
            qid=[at] * len(X),
            ids=[f"d{at}{row}" for row in range(len(X))],
        )
        for at, X in enumerate(matrices)
    ]


@pytest.mark.parametrize("sparse", [False, True])
def test_parts_are_widened_and_stacked(sparse):
    whole = stack(parts(sparse))
    X = whole.X.toarray() if sparse else whole.X
    assert X.tolist() == [[1, 2, 0], [3, 4, 5], [6, 7, 8]]
    assert whole.y.tolist() == [0, 0, 1]
    assert whole.ids.tolist() == ["d00", "d10", "d11"]
    assert whole.qids.tolist() == [0, 1]
    assert [part.n_features for part in widen(parts(sparse))] == [3, 3]


def test_parts_that_lack_a_group_are_coded_alike():
    groups = [["m", "m"], ["f"], ["x", "m"]]
    known = [("m", "f", "z"), None, None]
    parts = [
        people(
            np.ones((len(part), 1)),
            ("a",),
            np.zeros(len(part)),
            {"sex": part},
            categories={} if names is None else {"sex": names},
            qid=[at] * len(part),
        )
        for at, (part, names) in enumerate(zip(groups, known, strict=True))
    ]
    whole = stack(parts)
    assert whole.sensitive["sex"].categories == ("f", "m", "x", "z")
    assert whole.sensitive["sex"].codes.tolist() == [1, 1, 0, 2, 1]
    assert whole.feature_names == ("a",)


def test_attributes_go_with_their_rows():
    data = people(np.eye(3), None, np.arange(3), {"sex": ["f", "m", "x"]}, qid=[1, 2, 1])
    assert data.y.tolist() == [0, 2, 1]
    assert data.sensitive["sex"].codes.tolist() == [0, 2, 1]
