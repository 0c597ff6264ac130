from math import isnan

import pytest

from equirank import Ranking, as_ranking_data
from equirank.metrics import AverageRank, average_rank

from .. import twins
from ..agreement import agree


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"weights": "none"}, {"threshold": 2}, {"threshold": 3, "weights": "none"}],
    ids=str,
)
def test_agrees_with_twin(options):
    agree(average_rank, AverageRank(**options), twins.average_rank, ["y"], options)


def test_single_list():
    assert average_rank([1, 0, 2], [3, 2, 1]) == pytest.approx((1 * 1 + 2 * 3) / (1 + 2))


def test_unweighted():
    assert average_rank([1, 0, 2], [3, 2, 1], weights="none") == pytest.approx((1 + 3) / 2)


def test_tied_items_stand_in_the_middle():
    assert average_rank([1, 0, 0], [1, 1, 1]) == pytest.approx((1 + 2 + 3) / 3)


def test_items_not_shown_share_the_last_places():
    data = as_ranking_data(y=[0, 1, 0, 0])
    ranking = Ranking.from_positions(data, [1, 0, 0, 2])
    assert AverageRank().per_query(ranking).value[0] == pytest.approx((3 + 4) / 2)


def test_undefined_without_relevant_item():
    values = average_rank([0, 0, 0, 1], [2, 1, 2, 1], qid=[1, 1, 2, 2], per_query=True)
    assert isnan(values[0])
    assert values[1] == 2.0


def test_lower_is_better():
    assert AverageRank().direction == "lower"
