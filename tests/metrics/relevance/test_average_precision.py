from math import isnan

import numpy as np
import pytest

from equirank.metrics import AveragePrecision, average_precision

from .. import twins
from ..agreement import agree
from ..cases import same


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"k": 1}, {"k": 3}, {"k": 20}, {"threshold": 2, "k": 2}], ids=str
)
def test_agrees_with_twin(options):
    agree(average_precision, AveragePrecision(**options), twins.average_precision, ["y"], options)


def test_single_list():
    value = average_precision([1, 0, 1, 1], [4, 3, 2, 1])
    assert value == pytest.approx((1 / 1 + 2 / 3 + 3 / 4) / 3)


def test_divides_by_all_relevant_items_under_a_cutoff():
    assert average_precision([1, 0, 1, 1], [4, 3, 2, 1], k=2) == pytest.approx((1 / 1) / 3)


def test_two_tied_items():
    # relevant first: 1, relevant second: 1/2
    assert average_precision([1, 0], [1, 1]) == pytest.approx((1 + 1 / 2) / 2)


def test_three_tied_items_two_of_them_relevant():
    # the irrelevant one is first, second or third
    wanted = ((1 / 2 + 2 / 3) / 2 + (1 + 2 / 3) / 2 + (1 + 1) / 2) / 3
    assert average_precision([1, 0, 1], [1, 1, 1]) == pytest.approx(wanted)


def test_block_behind_relevant_items():
    # 1 relevant, then a block of (1, 0)
    wanted = 1 / 2 * ((1 + 2 / 2) / 2) + 1 / 2 * ((1 + 2 / 3) / 2)
    assert average_precision([1, 1, 0], [2, 1, 1]) == pytest.approx(wanted)


def test_undefined_without_relevant_item():
    values = average_precision([0, 1], [1, 1], qid=[1, 2], per_query=True)
    assert isnan(values[0])
    assert values[1] == 1.0


def test_scikit_learn_without_ties():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=(60, 15))
    y[:, 3] = 1
    score = rng.random(y.shape)
    wanted = [metrics.average_precision_score(a, b) for a, b in zip(y, score, strict=True)]
    got = average_precision(
        y.ravel(), score.ravel(), qid=np.repeat(np.arange(60), 15), per_query=True
    )
    same(got, wanted)
