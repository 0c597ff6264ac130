import pytest

from equirank import Ranking, as_ranking_data
from equirank.metrics import Precision, precision

from .. import twins
from ..agreement import agree


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"k": 1}, {"k": 3}, {"k": 20}, {"threshold": 2, "k": 2}], ids=str
)
def test_agrees_with_twin(options):
    agree(precision, Precision(**options), twins.precision, ["y"], options)


def test_single_list():
    assert precision([1, 0, 1], [3, 2, 1], k=2) == pytest.approx(1 / 2)


def test_divides_by_k_where_the_list_is_shorter():
    assert precision([1, 1], [2, 1], k=5) == pytest.approx(2 / 5)


def test_without_cutoff_divides_by_the_length():
    assert precision([1, 0, 0, 1], [4, 3, 2, 1]) == pytest.approx(2 / 4)


def test_without_cutoff_divides_by_the_items_shown():
    data = as_ranking_data(y=[1, 0, 1, 1], sensitive_features=list("aabb"))
    ranking = Ranking.from_positions(data, [2, 1, 0, 0])
    assert precision(None, ranking) == pytest.approx(1 / 2)
    assert precision(None, ranking, k=3) == pytest.approx(1 / 3)
    slots = ranking.slots()
    parts = Precision().split(slots, *slots.groups(None)[:1], 2)
    assert parts.tolist() == [[1 / 2, 0]]
    assert precision(None, Ranking.from_positions(data, [0, 0, 0, 0])) == 0


def test_tied_items_count_by_their_chance():
    # one place is left for two items, one of them relevant
    assert precision([1, 0, 1], [0.9, 0.5, 0.5], k=2) == pytest.approx((1 + 1 / 2) / 2)


def test_is_zero_without_relevant_items():
    assert precision([0, 0, 1, 1], [2, 1, 2, 1], qid=[1, 1, 2, 2], k=2) == pytest.approx(
        (0 + 1) / 2
    )


def test_threshold_is_reached_by_equality():
    assert precision([2, 1], [2, 1], threshold=2, k=2) == pytest.approx(1 / 2)
    assert precision([0.5, 1], [2, 1], k=2) == pytest.approx(1 / 2)
