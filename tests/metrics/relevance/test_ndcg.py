from itertools import permutations
from math import isnan, log2

import numpy as np
import pytest

from equirank.core.errors import EquirankWarning
from equirank.metrics import NDCG, ndcg

from .. import twins
from ..agreement import agree
from ..cases import make_batch, same


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
        {"discount": (1.0, 0.5, 0.25), "gain": "linear"},
    ],
    ids=str,
)
def test_agrees_with_twin(options):
    agree(ndcg, NDCG(**options), twins.ndcg, ["y"], options)


def test_single_list():
    value = ndcg([0, 2, 1], [0.5, 0.9, 0.1])
    assert value == pytest.approx((3 / log2(2) + 1 / log2(4)) / (3 / log2(2) + 1 / log2(3)))


def test_linear_gain():
    value = ndcg([1, 2], [0.9, 0.1], gain="linear")
    assert value == pytest.approx((1 + 2 / log2(3)) / (2 + 1 / log2(3)))


def test_ideal_is_cut_off_as_well():
    value = ndcg([1, 1, 2], [3, 2, 1], k=2)
    assert value == pytest.approx((1 + 1 / log2(3)) / (3 + 1 / log2(3)))


def test_best_order_scores_one_and_ties_less():
    assert ndcg([2, 1, 0], [3, 2, 1]) == 1.0
    assert ndcg([2, 0], [1, 1]) == pytest.approx((1 + 1 / log2(3)) / 2)


@pytest.mark.slow
@pytest.mark.parametrize("discount", [(0.5, 1.0), (0.0, 0.25, 1.0, 0.5)], ids=str)
@pytest.mark.parametrize("k", [None, 2, 3])
def test_ideal_is_the_best_over_all_orders_whatever_the_discount(discount, k):
    y = [0, 1, 2, 3]
    lists = [[y[i] for i in order] for order in permutations(range(4))]
    options = {"discount": discount, "k": k}
    values = [twins.dcg([[0], [1], [2], [3]], [], some, **options) for some in lists]
    for some, value in zip(lists, values, strict=True):
        wanted = value / max(values)
        assert ndcg(some, [4, 3, 2, 1], **options) == pytest.approx(wanted)


def test_undefined_without_relevant_item_is_skipped():
    call = {"qid": [1, 1, 2, 2]}
    assert ndcg([0, 1, 0, 0], [2, 1, 2, 1], **call) == pytest.approx(1 / log2(3))
    values = ndcg([0, 1, 0, 0], [2, 1, 2, 1], per_query=True, **call)
    assert values[0] == pytest.approx(1 / log2(3))
    assert isnan(values[1])


def test_undefined_everywhere_warns():
    with pytest.warns(EquirankWarning, match="undefined in every query"):
        assert isnan(ndcg([0, 0], [2, 1]))


@pytest.mark.slow
@pytest.mark.parametrize("k", [None, 1, 3, 10])
def test_scikit_learn_with_linear_gain(k):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    for tied in (False, True):
        y = rng.integers(0, 4, size=(40, 12)).astype(float)
        y[:, 0] = 1
        score = rng.integers(0, 5, size=y.shape) if tied else rng.random(y.shape)
        wanted = [metrics.ndcg_score(a[None], b[None], k=k) for a, b in zip(y, score, strict=True)]
        got = ndcg(
            y.ravel(),
            score.ravel(),
            qid=np.repeat(np.arange(40), 12),
            k=k,
            gain="linear",
            per_query=True,
        )
        same(got, wanted)


def test_never_above_one_on_long_lists():
    batch = make_batch(200, seed=9, most=60)
    values = ndcg(batch.y, batch.score, qid=batch.qid, per_query=True)
    assert np.nanmax(values) <= 1 + 1e-12


@pytest.mark.parametrize("gain", ["exp2", "linear"])
@pytest.mark.parametrize("grade", [600, 2000, 1e300, 1.7e308])
def test_large_grades(grade, gain):
    value = ndcg([0, grade, grade], [3, 2, 1], gain=gain)
    best = 1 + 1 / np.log2(3)
    assert value == pytest.approx((1 / np.log2(3) + 1 / 2) / best)
    small = ndcg([0, 1, 0, grade], [4, 3, 2, 1], qid=[0, 0, 1, 1], per_query=True, gain=gain)
    assert small == pytest.approx([1 / np.log2(3)] * 2)
