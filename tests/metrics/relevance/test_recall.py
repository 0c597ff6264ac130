from math import isnan

import pytest

from equirank.metrics import Recall, recall

from .. import twins
from ..agreement import agree


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"k": 1}, {"k": 3}, {"k": 20}, {"threshold": 2, "k": 2}], ids=str
)
def test_agrees_with_twin(options):
    agree(recall, Recall(**options), twins.recall, ["y"], options)


def test_single_list():
    assert recall([1, 0, 1, 1], [4, 3, 2, 1], k=3) == pytest.approx(2 / 3)


def test_whole_list_recalls_everything():
    assert recall([1, 0, 1], [1, 2, 3]) == 1.0


def test_tied_items_count_by_their_chance():
    assert recall([1, 0, 1], [0.9, 0.5, 0.5], k=2) == pytest.approx((1 + 1 / 2) / 2)


def test_undefined_without_relevant_item():
    values = recall([0, 0, 1, 0], [2, 1, 2, 1], qid=[1, 1, 2, 2], k=1, per_query=True)
    assert isnan(values[0])
    assert values[1] == 1.0


def test_threshold():
    assert recall([2, 1, 2], [3, 2, 1], threshold=2, k=2) == pytest.approx(1 / 2)
