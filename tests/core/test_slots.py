"""Slots: the rows of a draw, best first."""

import numpy as np
import pytest

from equirank import Ranking, as_ranking_data


@pytest.fixture
def data():
    return as_ranking_data(
        None,
        [0, 1, 2, 3, 4, 5],
        qid=["a", "b", "a", "a", "b", "a"],
        sensitive_features=list("fmmffm"),
    )


def test_slots_are_best_first_query_by_query(data):
    slots = Ranking.from_scores(data, [1, 5, 4, 3, 9, 2]).slots()
    assert data.rows[slots.order].tolist() == [2, 3, 5, 0, 4, 1]
    assert slots.y.tolist() == [2, 3, 5, 0, 4, 1]
    assert slots.position.tolist() == [1, 2, 3, 4, 1, 2]
    assert slots.query.tolist() == [0, 0, 0, 0, 1, 1]
    assert slots.start.tolist() == [0, 0, 0, 0, 4, 4]
    assert slots.sizes.tolist() == [4, 2]
    assert slots.n_queries == 2
    assert slots.lo is None
    assert slots.shown is None
    codes, names = slots.groups(None)
    assert [names[code] for code in codes] == ["m", "f", "m", "f", "f", "m"]


def test_tie_blocks_have_a_begin_and_an_end(data):
    slots = Ranking.from_scores(data, [1, 5, 4, 1, 5, 1]).slots()
    assert slots.begin().tolist() == [0, 1, 1, 1, 4, 4]
    assert slots.end().tolist() == [1, 4, 4, 4, 6, 6]
    weights = np.array([8.0, 4, 2, 0])
    assert slots.expect(weights).tolist() == [8, 2, 2, 2, 6, 6]


def test_rows_not_shown_come_last_and_weigh_nothing(data):
    slots = Ranking.from_positions(data, [0, 2, 1, 0, 1, 2]).slots()
    assert data.rows[slots.order].tolist() == [2, 5, 0, 3, 4, 1]
    assert slots.shown.tolist() == [2, 2]
    assert slots.expect(np.array([8.0, 4, 2, 1])).tolist() == [8, 4, 0, 0, 8, 4]
    head = slots.head()
    assert head.order.tolist() == slots.order[[0, 1, 4, 5]].tolist()
    assert head.offsets.tolist() == [0, 2, 4]


def test_a_head_keeps_whole_blocks_that_begin_in_time(data):
    slots = Ranking.from_scores(data, [1, 5, 4, 1, 6, 1]).slots()
    head = slots.head(2)
    assert head.offsets.tolist() == [0, 4, 6]
    assert slots.head(1).offsets.tolist() == [0, 1, 2]
    assert slots.head(1).order.tolist() == slots.order[[0, 4]].tolist()
    assert head.end().tolist() == [1, 4, 4, 4, 5, 6]
    assert slots.head() is slots
    assert slots.head(2) is head


def test_a_head_shifts_the_blocks_of_later_queries(data):
    slots = Ranking.from_scores(data, [1, 5, 4, 3, 5, 2]).slots()
    head = slots.head(2)
    assert head.offsets.tolist() == [0, 2, 4]
    assert head.begin().tolist() == [0, 1, 2, 2]
    assert head.end().tolist() == [1, 2, 4, 4]
    assert head.y.tolist() == [2, 3, 1, 4]


def test_sums_by_group(data):
    slots = Ranking.from_scores(data, [1, 5, 4, 3, 9, 2]).slots()
    codes, names = slots.groups(None)
    sums = slots.sum_by_group(np.arange(6.0), codes, len(names))
    assert sums.tolist() == [[4, 2], [4, 5]]


def test_relabelled_slots_repeat_the_list_with_other_groups(data):
    slots = Ranking.from_scores(data, [1, 5, 4, 1, 6, 1]).slots()
    codes = np.array([[0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 0]])
    many = slots.relabelled(None, codes)
    assert many.offsets.tolist() == [0, 4, 6, 10, 12]
    assert many.y.tolist() == slots.y.tolist() * 2
    assert many.end().tolist() == [*slots.end().tolist(), *(slots.end() + 6).tolist()]
    got, _ = many.groups(None)
    assert got.tolist() == codes.ravel().tolist()


def test_resampled_slots_repeat_rows_and_stretch_blocks():
    data = as_ranking_data(None, [0, 1, 2])
    slots = Ranking.from_scores(data, [1, 2, 1]).slots()
    many = slots.resampled(np.array([[2, 1, 0], [1, 0, 3]]))
    assert many.offsets.tolist() == [0, 3, 7]
    assert many.y.tolist() == [1, 0, 0, 0, 2, 2, 2]
    assert many.begin().tolist() == [0, 1, 1, 3, 3, 3, 3]
    assert many.end().tolist() == [1, 3, 3, 7, 7, 7, 7]
    plain = Ranking.from_scores(data, [1, 2, 3]).slots()
    assert plain.resampled(np.array([[2, 1, 0]])).lo is None
    tied = plain.resampled(np.array([[2, 1, 0]]), copies_tied=True)
    assert tied.y.tolist() == [1, 0, 0]
    assert tied.begin().tolist() == [0, 1, 1]


def test_resampled_slots_know_what_is_shown():
    data = as_ranking_data(None, [0, 1, 2])
    slots = Ranking.from_positions(data, [2, 1, 0]).slots()
    assert slots.resampled(np.array([[0, 2, 1], [1, 1, 1]])).shown.tolist() == [2, 2]


def test_expected_slots_average_over_draws(data):
    draws = np.array([[1, 2, 2, 3, 1, 4], [2, 1, 1, 3, 2, 4]]).T
    ranking = Ranking.from_positions(data, draws, weights=[1, 3])
    slots = ranking.slots(expected=True)
    weights = np.array([8.0, 4, 2, 1])
    assert data.to_original(slots.expect(weights)).tolist() == [5, 7, 7, 2, 5, 1]


def test_a_block_is_a_run_of_queries(data):
    slots = Ranking.from_positions(data, [0, 1, 1, 0, 1, 2]).slots()
    block = slots.block(slice(1, 2))
    assert block.offsets.tolist() == [0, 2]
    assert block.y.tolist() == [1, 4]
    assert block.begin().tolist() == [0, 0]
    assert block.end().tolist() == [2, 2]
    assert block.shown.tolist() == [2]
    codes, names = block.groups(None)
    assert [names[code] for code in codes] == ["m", "f"]
    assert slots.block(slice(0, 2)) is slots
    first = slots.block(slice(0, 1))
    assert first.shown.tolist() == [2]
    assert first.y.tolist() == slots.y[:4].tolist()
