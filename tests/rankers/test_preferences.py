"""Explicit preferences: validation, conversions, and rankers fitted to pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equirank import DataError, Ranker, as_ranking_data, rankers
from equirank.rankers import grades_from_pairs, pairs_from_grades, pairs_from_order
from equirank.rankers.preferences import checked_pairs, without_grades


def test_pairs_are_given_back_with_signs_and_weights():
    table, sign, weight = checked_pairs([[0, 1], [2, 1], [0, 2]], [1, 0, -1], [1, 2, 0], 3)
    assert table.tolist() == [[0, 1], [2, 1], [0, 2]]
    assert sign.tolist() == [1.0, 0.0, -1.0]
    assert weight.tolist() == [1.0, 2.0, 0.0]
    _, sign, weight = checked_pairs([[0, 1]], None, None, 2)
    assert (sign.tolist(), weight.tolist()) == ([1.0], [1.0])


@pytest.mark.parametrize(
    ("pairs", "preference", "weight", "words"),
    [
        ([0, 1], None, None, r"shape \(n_pairs, 2\)"),
        ([[0.5, 1.0]], None, None, "row numbers"),
        (np.empty((0, 2), dtype=int), None, None, "at least one pair"),
        ([[0, 1], [2, 2]], None, None, r"got \[2, 2\] in pair 1"),
        ([[0, 3]], None, None, "from 0 to 2"),
        ([[0, 1]], [1, 1], None, "preference must have one value per pair"),
        ([[0, 1]], None, [-1.0], r"weight must be a number >= 0, got -1\.0 in pair 0"),
        ([[0, 1]], [np.nan], None, "preference"),
    ],
)
def test_bad_pairs_are_refused(pairs, preference, weight, words):
    with pytest.raises(DataError, match=words):
        checked_pairs(pairs, preference, weight, 3)


def test_rows_without_grades():
    X, y = without_grades(np.eye(3))
    assert y.tolist() == [0.0, 0.0, 0.0]
    data = as_ranking_data(np.eye(3), [1, 2, 3], qid=[0, 0, 1])
    bare, none = without_grades(data)
    assert none is None
    assert bare.y.tolist() == [0.0, 0.0, 0.0]
    assert X.shape == bare.X.shape


LISTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=15)


@pytest.mark.gate
@given(LISTS)
def test_pairs_from_grades_against_plain_loops(rows):
    y, qid = (np.array(column) for column in zip(*rows, strict=True))
    wanted = [
        [a, b] for a in range(len(y)) for b in range(len(y)) if qid[a] == qid[b] and y[a] > y[b]
    ]
    assert pairs_from_grades(y, qid=qid).tolist() == wanted


@given(st.permutations(range(7)), st.booleans())
def test_pairs_from_order_against_plain_loops(order, adjacent):
    step = 2 if adjacent else 99
    wanted = [[a, b] for at, a in enumerate(order) for b in order[at + 1 : at + step]]
    assert pairs_from_order(order, adjacent=adjacent).tolist() == wanted


@given(st.permutations(range(6)))
def test_an_order_comes_back_from_its_counted_wins(order):
    grades = grades_from_pairs(pairs_from_order(order), n_rows=6)
    assert np.argsort(-grades).tolist() == list(order)
    assert grades[list(order)].tolist() == [5, 4, 3, 2, 1, 0]


def test_wins_are_counted_by_weight():
    pairs = [[0, 1], [1, 0], [2, 1], [0, 2]]
    grades = grades_from_pairs(pairs, [1, 1, -1, 0], [2, 0.5, 4, 9], n_rows=5)
    assert grades.tolist() == [2.0, 4.5, 0.0, 0.0, 0.0]


def test_grades_that_order_nothing_make_no_pairs():
    assert pairs_from_grades([1, 1, 1]).shape == (0, 2)
    assert pairs_from_order([4]).shape == (0, 2)
    assert pairs_from_order([]).shape == (0, 2)


@pytest.mark.parametrize(
    ("order", "message"),
    [([0, 0, 1], "got 0 again"), ([0.5], "must be row numbers"), ([-1], "must be row numbers")],
)
def test_bad_orders_are_refused(order, message):
    with pytest.raises(DataError, match=message):
        pairs_from_order(order)


def test_bad_grades_and_pairs_are_refused():
    with pytest.raises(DataError, match="y must be"):
        pairs_from_grades([1, -1])
    with pytest.raises(DataError, match=r"got \[0, 3\] in pair 0"):
        grades_from_pairs([[0, 3]], n_rows=3)


KINDS = [
    kind
    for name in sorted(rankers.__all__)
    if isinstance(kind := getattr(rankers, name), type)
    and issubclass(kind, Ranker)
    and hasattr(kind, "fit_pairs")
]
ALL = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
PAIRS = RNG.permuted(np.array([(a, b) for a in range(40) for b in range(a)]), axis=1)
PAIRS = RNG.permutation(PAIRS)[:300]
SIGN = np.where(X[PAIRS[:, 0], 0] > X[PAIRS[:, 1], 0], 1, -1)


def make(kind):
    return kind(**getattr(kind, "test_params", {}))


def share_in_order(scores):
    """The share of all pairs that stand as the first feature says."""
    above = X[:, None, 0] > X[:, 0]
    return ((scores[:, None] > scores) & above).sum() / above.sum()


def test_the_walk_finds_them():
    wanted = {"RankBoost", "RankBoostPlus", "PreferenceRanker", "RankSVM", "DirectRanker"}
    assert wanted <= {kind.__name__ for kind in KINDS}


@ALL
def test_contradictory_and_circular_pairs_are_learned_from(kind):
    noise = np.where(np.random.default_rng(1).random(300) < 0.2, -1, 1)
    circle = [[0, 1], [1, 2], [2, 0]]
    pairs = np.concatenate([PAIRS, PAIRS, circle, [[3, 4], [3, 4]]])
    sign = np.concatenate([SIGN, SIGN * noise, [1, 1, 1], [1, -1]])
    model = make(kind).fit_pairs(X, pairs, sign)
    assert share_in_order(model.predict(X)) > 0.7


@pytest.mark.slow
@ALL
def test_zero_leaves_a_pair_out_and_minus_turns_it_round(kind):
    wanted = make(kind).fit_pairs(X, PAIRS, SIGN).predict(X)
    turned = np.where(SIGN[:, None] > 0, PAIRS, PAIRS[:, ::-1])
    np.testing.assert_allclose(make(kind).fit_pairs(X, turned).predict(X), wanted, atol=1e-6)
    more = np.concatenate([PAIRS, PAIRS[:, ::-1]])
    none = np.concatenate([SIGN, np.zeros(300, dtype=int)])
    np.testing.assert_allclose(make(kind).fit_pairs(X, more, none).predict(X), wanted, atol=1e-6)
    weight = np.repeat([1.0, 0.0], 300)
    model = make(kind).fit_pairs(X, more, np.concatenate([SIGN, SIGN]), weight)
    np.testing.assert_allclose(model.predict(X), wanted, atol=1e-6)


@ALL
def test_nothing_but_zeros_is_refused(kind):
    with pytest.raises(DataError, match="at least one pair"):
        make(kind).fit_pairs(X, [[0, 1]], [0])


@pytest.mark.slow
@ALL
def test_the_heavier_of_two_contradictions_wins(kind):
    pairs = np.concatenate([PAIRS, PAIRS])
    sign, weight = np.concatenate([SIGN, -SIGN]), np.repeat([1.0, 3.0], 300)
    model = make(kind).fit_pairs(X, pairs, sign, weight)
    assert share_in_order(model.predict(X)) < 0.3


@ALL
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pairs": [[0, 40]]}, r"got \[0, 40\] in pair 0"),
        ({"pairs": [[0, 1]], "preference": [1, 1]}, "one value per pair"),
        ({"pairs": [[0, 1]], "weight": [-1]}, "weight must be a number >= 0"),
    ],
)
def test_every_ranker_refuses_bad_pairs(kind, given, message):
    with pytest.raises(DataError, match=message):
        make(kind).fit_pairs(X, **given)
