from math import log2

import pytest

from equirank import DataError
from equirank.metrics import DCG, dcg

from .. import twins
from ..agreement import agree


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 1},
        {"k": 3},
        {"k": 20},
        {"gain": "linear"},
        {"discount": "zipf", "k": 2},
        {"discount": (1.0, 0.5, 0.75), "gain": "linear"},
    ],
    ids=str,
)
def test_agrees_with_twin(options):
    agree(dcg, DCG(**options), twins.dcg, ["y"], options)


def test_single_list():
    # places: 2, 0, 1 -> gains 3, 0, 1
    value = dcg([0, 2, 1], [0.5, 0.9, 0.1])
    assert value == pytest.approx(3 / log2(2) + 0 / log2(3) + 1 / log2(4))


def test_linear_gain():
    value = dcg([0, 2, 1], [0.5, 0.9, 0.1], gain="linear")
    assert value == pytest.approx(2 / log2(2) + 1 / log2(4))


def test_zipf_discount():
    value = dcg([3, 0, 1], [3, 2, 1], discount="zipf")
    assert value == pytest.approx(7 / 1 + 1 / 3)


def test_vector_discount_counts_nothing_behind_its_end():
    assert dcg([1, 1, 1], [3, 2, 1], discount=[0.5, 0.25]) == pytest.approx(0.5 + 0.25)


def test_cutoff():
    assert dcg([1, 2, 3], [3, 2, 1], k=2) == pytest.approx(1 / log2(2) + 3 / log2(3))


def test_cutoff_behind_the_end_changes_nothing():
    assert dcg([1, 2], [2, 1], k=50) == pytest.approx(1 + 3 / log2(3))


def test_tied_items_share_the_mean_discount():
    value = dcg([2, 0, 1], [0.5, 0.5, 0.1])
    assert value == pytest.approx(3 * (1 / log2(2) + 1 / log2(3)) / 2 + 1 / log2(4))


def test_cutoff_inside_a_tied_block():
    # the relevant item is first with chance 1/3, otherwise cut off
    assert dcg([1, 0, 0], [1, 1, 1], k=1) == pytest.approx(1 / 3)


def test_stable_ties_keep_the_order_given():
    assert dcg([0, 1], [1, 1], ties="stable") == pytest.approx(1 / log2(3))


def test_mean_over_queries_counts_those_without_relevant_items():
    value = dcg([1, 0, 0, 0], [2, 1, 2, 1], qid=["x", "x", "y", "y"])
    assert value == pytest.approx((1 + 0) / 2)


def test_fractional_relevance():
    assert dcg([0.5], [1.0]) == pytest.approx(2**0.5 - 1)


def test_float32_scores_rank_as_they_compare():
    import numpy as np

    score = np.array([0.1, 0.2, 0.3], dtype=np.float32)
    assert dcg([1, 0, 0], score) == pytest.approx(1 / log2(4))


def test_value_that_no_number_can_hold_is_refused():
    assert dcg([1000, 0], [2, 1]) == 2.0**1000
    with pytest.raises(DataError, match=r"DCG exceeds 1.8e308 for query 'b' \(row 1\).*scale"):
        dcg([1, 2000], [2, 1], qid=["a", "b"])
    with pytest.raises(DataError, match=r"exceeds 1\.8e308"):
        dcg([1.7e308] * 4, [1] * 4, gain="linear")
