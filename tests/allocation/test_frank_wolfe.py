"""The best few items of each user, against a full sort."""

import numpy as np
import pytest

from equirank.allocation.frank_wolfe import add_impact, top_lists


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("places", [1, 3, 7])
def test_the_best_items_of_each_user(places, dtype):
    rng = np.random.default_rng(places)
    relevance = rng.integers(0, 4, (9, 7)).astype(dtype)
    scale, shift = rng.random(7), rng.integers(0, 2, 7).astype(float)
    lists = np.empty((9, places), dtype=np.int32)
    top_lists(relevance, scale, shift, places, lists)
    key = relevance * scale + shift
    assert (lists == np.argsort(-key, axis=1, kind="stable")[:, :places]).all()


def test_worth_adds_up():
    relevance = np.array([[0.8, 0.3], [0.5, 0.4]])
    lists = np.array([[0, 1], [1, 0]], dtype=np.int32)
    impact, exposure = np.zeros(2), np.zeros(2)
    add_impact(relevance, lists, np.array([1.0, 0.5]), impact, exposure)
    assert impact == pytest.approx([0.8 + 0.25, 0.15 + 0.4])
    assert exposure == pytest.approx([1.5, 1.5])
