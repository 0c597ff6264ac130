"""Ranking: tie blocks, given positions, draws and weights, expectations, the caller's rows."""

from dataclasses import FrozenInstanceError
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equirank import DataError, Ranking, as_ranking_data
from equirank.core.table import Table


def data(**given):
    base = {"y": [0, 1, 2, 3, 4], "qid": ["b", "a", "b", "a", "b"], "ids": list("pqrst")}
    return as_ranking_data(None, **(base | given))


def one_list(n):
    return as_ranking_data(None, np.zeros(n))


def refused(*words, call):
    with pytest.raises(DataError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
    assert "np." not in str(caught.value)


# from scores


def test_scores_rank_highest_first_within_each_query():
    ranking = Ranking.from_scores(data(), [1, 5, 3, 7, 2])
    assert ranking.data.to_original(ranking.position).tolist() == [3, 2, 1, 1, 2]
    assert ranking.position.dtype == np.int32
    assert ranking.last is None
    assert ranking.weights is None
    assert ranking.n_draws == 1


def test_equal_scores_share_their_block():
    ranking = Ranking.from_scores(one_list(6), [2, 1, 2, 0, 1, 2])
    assert ranking.position.tolist() == [1, 4, 1, 6, 4, 1]
    assert ranking.last.tolist() == [3, 5, 3, 6, 5, 3]
    assert ranking.last.dtype == np.int32


def test_blocks_end_at_the_query():
    ranking = Ranking.from_scores(as_ranking_data(None, qid=[1, 1, 2, 2]), [2, 1, 1, 1])
    assert ranking.position.tolist() == [1, 2, 1, 1]
    assert ranking.last.tolist() == [1, 2, 2, 2]


def test_stable_ties_follow_the_callers_rows():
    ranking = Ranking.from_scores(data(), [1, 1, 1, 1, 1], ties="stable")
    assert ranking.last is None
    assert ranking.order("b").tolist() == [0, 2, 4]
    assert ranking.order("a").tolist() == [1, 3]
    assert ranking.data.to_original(ranking.position).tolist() == [1, 1, 2, 2, 3]


def test_the_datas_own_scores_are_the_default():
    scored = data(score=[1, 5, 3, 7, 2])
    assert Ranking.from_scores(scored).order("b").tolist() == [2, 4, 0]
    assert Ranking.from_scores(scored, [3, 0, 2, 1, 1]).order("b").tolist() == [0, 2, 4]
    refused("score must be given", call=lambda: Ranking.from_scores(data()))


def test_minus_zero_ties_with_zero():
    assert Ranking.from_scores(one_list(2), [0.0, -0.0]).last.tolist() == [2, 2]


def test_bad_scores_name_the_callers_row():
    refused("score", "row 2", call=lambda: Ranking.from_scores(data(), [1, 2, np.nan, 4, 5]))
    refused("score", "row 1", call=lambda: Ranking.from_scores(data(), [1, np.inf, 3, 4, 5]))
    refused("score", "5", "4", call=lambda: Ranking.from_scores(data(), [1, 2, 3, 4]))
    refused("ties", "'average'", call=lambda: Ranking.from_scores(data(), [1] * 5, ties="first"))


# from positions


def test_shared_places_skip():
    ranking = Ranking.from_positions(one_list(5), [3, 1, 1, 3, 5])
    assert ranking.position.tolist() == [3, 1, 1, 3, 5]
    assert ranking.last.tolist() == [4, 2, 2, 4, 5]


def test_zero_is_not_shown():
    ranking = Ranking.from_positions(one_list(4), [0, 2, 1, 0])
    assert ranking.position.tolist() == [0, 2, 1, 0]
    assert ranking.last is None
    assert ranking.order().tolist() == [2, 1]
    tied = Ranking.from_positions(one_list(4), [0, 1, 1, 0])
    assert tied.last.tolist() == [0, 2, 2, 0]


def test_a_list_of_which_nothing_is_shown():
    ranking = Ranking.from_positions(data(), [0, 1, 0, 2, 0])
    assert ranking.order("b").tolist() == []
    assert ranking.order("a").tolist() == [1, 3]
    assert ranking.expect(lambda place: 1 / place).tolist() == [0, 0, 0, 1, 0.5]


@pytest.mark.parametrize(
    ("position", "row", "got", "expected"),
    [
        ([1, 1, 1, 2, 2], 4, 2, 3),  # dense: rows 0 and 2 share place 1, the next is 3
        ([1, 1, 2, 2, 4], 4, 4, 3),  # a gap
        ([2, 1, 3, 2, 4], 0, 2, 1),  # begins at 2
        ([1, 1, 2, 3, 3], 3, 3, 2),  # a gap in the other query
        ([0, 1, 2, 2, 0], 2, 2, 1),  # not shown rows leave no gap
    ],
)
def test_places_that_do_not_count_name_the_callers_row(position, row, got, expected):
    with pytest.raises(DataError) as caught:
        Ranking.from_positions(data(), position)
    message = str(caught.value)
    assert message.startswith("position must")
    assert f"got {got} in row {row} " in message
    assert f"{expected} was expected" in message
    assert "'b'" in message or "'a'" in message


def test_an_error_names_a_query_plainly():
    numbered = as_ranking_data(None, qid=[4, 4])
    refused("query 4 ", call=lambda: Ranking.from_positions(numbered, [1, 3]))


@pytest.mark.parametrize(
    ("position", "words"),
    [
        ([1, 2, 1.5, 1, 3], ["position", "row 2"]),
        ([1, 2, -1, 1, 3], ["position", "row 2"]),
        ([1, 2, 3], ["position", "5", "3"]),
        ([1, 2, np.nan, 1, 3], ["position", "row 2"]),
        (np.ones((5, 2, 2)), ["position"]),
        (np.ones((5, 0)), ["position"]),
    ],
)
def test_bad_positions_are_refused(position, words):
    refused(*words, call=lambda: Ranking.from_positions(data(), position))


def test_given_positions_ride_along_with_the_data():
    ranking = data(position=[3, 1, 1, 2, 2]).ranking()
    assert ranking.order("b").tolist() == [2, 4, 0]


# draws

DRAWS = np.array([[1, 2], [1, 2], [2, 1], [2, 1], [3, 3]])


def test_draws_are_columns_in_the_callers_rows():
    ranking = Ranking.from_positions(data(), DRAWS)
    assert ranking.n_draws == 2
    assert ranking.order("b", draw=0).tolist() == [0, 2, 4]
    assert ranking.order("b", draw=1).tolist() == [2, 0, 4]
    assert ranking.order("a", draw=1).tolist() == [3, 1]
    draws = list(ranking.draws())
    assert [weight.tolist() for weight, _ in draws] == [[0.5, 0.5]] * 2
    assert draws[1][1].n_draws == 1
    assert draws[1][1].data.to_original(draws[1][1].position).tolist() == [2, 2, 1, 1, 3]
    assert "2 draws" in repr(ranking)


def test_one_draw_as_a_column_is_one_draw():
    ranking = Ranking.from_positions(one_list(2), [[2], [1]], weights=[3.0])
    assert ranking.position.tolist() == [2, 1]
    [(weight, draw)] = ranking.draws()
    assert weight.tolist() == [1.0]
    assert draw is ranking


def test_weights_are_scaled_for_all_or_each_query():
    one = Ranking.from_positions(data(), DRAWS, weights=[1, 3])
    assert one.weights.tolist() == [[0.25, 0.75], [0.25, 0.75]]
    each = Ranking.from_positions(data(), DRAWS, weights=[[1, 3], [2, 0]])
    assert each.weights.tolist() == [[0.25, 0.75], [1.0, 0.0]]
    assert [weight.tolist() for weight, _ in each.draws()] == [[0.25, 1.0], [0.75, 0.0]]


@pytest.mark.parametrize(
    "weights", [[1, -1], [0, 0], [1, np.nan], [np.inf, 1], [1, 2, 3], [[1, 1]], [[1, 1], [0, 0]]]
)
def test_bad_weights_are_refused(weights):
    refused("weights", call=lambda: Ranking.from_positions(data(), DRAWS, weights=weights))


def test_a_draw_with_ties_among_draws_without():
    ranking = Ranking.from_positions(one_list(2), [[1, 1], [2, 1]])
    first, second = (draw for _, draw in ranking.draws())
    assert first.last is None
    assert second.last.tolist() == [2, 2]
    assert ranking.expect(lambda place: 1.0 * place).tolist() == [1.25, 1.75]


def test_slots_want_one_draw():
    refused("2 draws", call=lambda: Ranking.from_positions(data(), DRAWS).slots())


@pytest.mark.parametrize("draw", [2, -3, 7])
def test_a_draw_that_is_not_there_is_refused(draw):
    many, single = Ranking.from_positions(data(), DRAWS), Ranking.from_scores(data(), [1] * 5)
    refused("draw", call=lambda: many.order("a", draw=draw))
    refused("draw", call=lambda: single.order("a", draw=draw))


# expectation


@pytest.mark.parametrize("f", [lambda place: 1 / np.log2(1 + place), lambda place: place**2.0])
def test_expect_is_exact_against_enumeration_of_orders(f):
    scores = np.array([2, 1, 2, 1, 1, 0])
    total, count = np.zeros(6), 0
    for order in permutations(range(6)):
        if all(scores[a] >= scores[b] for a, b in pairwise(order)):
            total[list(order)] += f(np.arange(1, 7))
            count += 1
    assert count == 12
    got = Ranking.from_scores(one_list(6), scores).expect(f)
    np.testing.assert_allclose(got, total / count, rtol=1e-12)


@pytest.mark.slow
@given(st.data())
def test_expect_over_draws_and_ties_and_hidden_rows(draw):
    n = draw.draw(st.integers(1, 4))
    n_draws = draw.draw(st.integers(1, 3))
    columns, weights = [], []
    for _ in range(n_draws):
        scores = draw.draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n))
        shown = sorted((s for s in scores if s >= 0), reverse=True)
        columns.append([0 if s < 0 else 1 + shown.index(s) for s in scores])
        weights.append(draw.draw(st.integers(1, 5)))
    ranking = Ranking.from_positions(one_list(n), np.array(columns).T, weights=weights)
    expected = np.zeros(n)
    for column, weight in zip(columns, weights, strict=True):
        for row, place in enumerate(column):
            if place:
                block = range(place, place + column.count(place))
                expected[row] += weight * np.mean([1 / j for j in block])
    got = ranking.expect(lambda place: 1 / place)
    np.testing.assert_allclose(got, expected / sum(weights), rtol=1e-12)


def test_expect_weighs_draws_per_query():
    ranking = Ranking.from_positions(data(), DRAWS, weights=[[1, 3], [1, 0]])
    got = ranking.data.to_original(ranking.expect(lambda place: 1.0 * place))
    assert got.tolist() == [1.75, 1.0, 1.25, 2.0, 3.0]


def test_not_shown_counts_nothing():
    ranking = Ranking.from_positions(one_list(3), [0, 1, 2])
    assert ranking.expect(lambda place: np.ones_like(place)).tolist() == [0, 1, 1]


# reading it


def test_order_needs_a_query_where_there_are_several():
    ranking = Ranking.from_scores(data(), [1, 5, 3, 7, 2])
    refused("query", "2", call=ranking.order)
    refused("query", "'z'", call=lambda: ranking.order("z"))


def test_tied_rows_come_in_the_callers_order():
    ranking = Ranking.from_scores(data(), [1, 5, 1, 5, 2])
    assert ranking.order("b").tolist() == [4, 0, 2]
    assert ranking.order("a").tolist() == [1, 3]


def test_table_is_in_the_callers_rows_with_ids():
    table = Ranking.from_scores(data(score=[1, 5, 1, 7, 2])).to_table()
    assert table.to_dict() == {
        "query": ["b", "a", "b", "a", "b"],
        "row": [0, 1, 2, 3, 4],
        "id": list("pqrst"),
        "position": [2, 2, 2, 1, 1],
        "last": [3, 2, 3, 1, 1],
        "score": [1, 5, 1, 7, 2],
    }


def test_top_lists_the_first_of_every_query():
    table = Ranking.from_scores(data(), [1, 5, 3, 7, 2]).top(2)
    assert isinstance(table, Table)
    assert table["query"].tolist() == ["b", "b", "a", "a"]
    assert table["row"].tolist() == [2, 4, 3, 1]
    assert table["id"].tolist() == list("rtsq")
    assert table["position"].tolist() == [1, 2, 1, 2]
    assert Ranking.from_positions(data(), [0, 1, 0, 2, 0]).top(2)["row"].tolist() == [1, 3]
    assert Ranking.from_positions(data(), DRAWS).top(1, draw=1)["row"].tolist() == [2, 3]


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_top_wants_a_count(k):
    refused("k", call=lambda: Ranking.from_scores(data(), [1] * 5).top(k))


def test_several_draws_have_a_column_each():
    table = Ranking.from_positions(data(), DRAWS).to_table()
    assert table["position_0"].tolist() == DRAWS[:, 0].tolist()
    assert table["position_1"].tolist() == DRAWS[:, 1].tolist()


def test_a_selection_keeps_the_callers_row_numbers():
    part = data().select([1])
    ranking = Ranking.from_scores(part, [0.1, 0.2])
    assert ranking.order("a").tolist() == [3, 1]
    assert ranking.to_table()["row"].tolist() == [1, 3]
    assert ranking.to_table()["id"].tolist() == ["q", "s"]


def test_frames_come_back_in_the_callers_library():
    import pandas as pd
    import polars as pl

    known = as_ranking_data(None, qid=pl.Series(["a", "a"]))
    frame = Ranking.from_scores(known, [1, 2]).to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame["position"].to_list() == [2, 1]
    assert isinstance(Ranking.from_scores(known, [1, 2]).to_frame("pandas"), pd.DataFrame)


def test_repr_names_ties_and_sizes():
    assert repr(Ranking.from_scores(data(), [1] * 5)) == "Ranking(5 rows, 2 queries, ties)"
    assert repr(Ranking.from_scores(data(), range(5))) == "Ranking(5 rows, 2 queries)"


def test_a_ranking_is_frozen():
    ranking = Ranking.from_scores(data(), [1] * 5)
    assert not ranking.position.flags.writeable
    assert not ranking.last.flags.writeable
    with pytest.raises(FrozenInstanceError):
        ranking.position = None


def test_scores_and_their_positions_are_the_same_ranking():
    for scores in product(range(3), repeat=4):
        one = Ranking.from_scores(one_list(4), scores)
        other = Ranking.from_positions(one_list(4), one.position)
        assert other.position.tolist() == one.position.tolist()
        tied = len(set(scores)) < 4
        assert (other.last is not None) == (one.last is not None) == tied
        if tied:
            assert other.last.tolist() == one.last.tolist()


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=25), st.data()
)
def test_no_result_depends_on_the_order_of_rows(rows, draw):
    qid, scores = (np.array(column) for column in zip(*rows, strict=True))
    order = np.array(draw.draw(st.permutations(range(len(rows)))))

    def exposure(at):
        ranking = Ranking.from_scores(as_ranking_data(None, qid=qid[at]), scores[at])
        return ranking.data.to_original(ranking.expect(lambda place: 1 / place))

    np.testing.assert_allclose(exposure(order), exposure(np.arange(len(rows)))[order], rtol=1e-12)
