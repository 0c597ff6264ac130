import pytest

from equirank.metrics import ReciprocalRank, reciprocal_rank

from .. import twins
from ..agreement import agree
from ..cases import same


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"k": 1}, {"k": 3}, {"k": 20}, {"threshold": 2, "k": 2}], ids=str
)
def test_agrees_with_twin(options):
    agree(reciprocal_rank, ReciprocalRank(**options), twins.reciprocal_rank, ["y"], options)


def test_single_list():
    assert reciprocal_rank([0, 0, 1, 1], [4, 3, 2, 1]) == pytest.approx(1 / 3)


def test_cutoff_before_the_first_relevant_item():
    assert reciprocal_rank([0, 0, 1], [3, 2, 1], k=2) == 0.0


def test_is_zero_without_relevant_items():
    assert reciprocal_rank([0, 0, 0, 1], [2, 1, 2, 1], qid=[1, 1, 2, 2]) == pytest.approx(
        (0 + 1 / 2) / 2
    )


def test_tied_block():
    # one relevant of three: each place with chance 1/3
    assert reciprocal_rank([0, 1, 0], [1, 1, 1]) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    # two relevant of three: first place 2/3, second 1/3
    assert reciprocal_rank([1, 1, 0], [1, 1, 1]) == pytest.approx(2 / 3 * 1 + 1 / 3 * 1 / 2)


def test_tied_block_behind_others_under_a_cutoff():
    # places 2 and 3; the third is cut off
    assert reciprocal_rank([0, 1, 0], [2, 1, 1], k=2) == pytest.approx(1 / 2 * 1 / 2)


def test_tied_block_before_queries_without_relevant_items():
    got = reciprocal_rank([0, 1, 0, 0, 0], [1, 1, 2, 1, 1], qid=[1, 1, 2, 2, 3], per_query=True)
    same(got, [(1 + 1 / 2) / 2, 0, 0])
