"""Compiled reweighing of a mixture, against the plain pairwise steps."""

import numpy as np
import pytest

from equirank.allocation.frank_wolfe import pairwise_steps
from equirank.allocation.nash_allocation import reweigh


class Plain:
    """The welfare's gradient, item by item."""

    def __init__(self, weight, aversion):
        self.weight, self.aversion = weight, aversion

    def gradient(self, point):
        return np.array([w / p**self.aversion for w, p in zip(self.weight, point, strict=True)])


@pytest.mark.parametrize("aversion", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("gap", [1e-1, 1e-4])
def test_same_steps_as_the_plain_version(aversion, gap):
    rng = np.random.default_rng(0)
    table, weight = rng.random((6, 4)) + 0.1, rng.random(4) + 0.5
    start = np.array([0.5, 0.5, 0, 0, 0, 0])
    got = start.copy()
    reweigh(table, got, weight, aversion, gap)
    want = pairwise_steps(Plain(weight, aversion), table, start, gap)
    assert got == pytest.approx(want, abs=1e-6)
    assert got.sum() == pytest.approx(1.0)


def test_items_without_weight_do_not_count():
    table = np.array([[1.0, 9.0], [2.0, 0.0]])
    shares = np.array([1.0, 0.0])
    reweigh(table, shares, np.array([1.0, 0.0]), 1.0, 1e-9)
    assert shares == pytest.approx([0.0, 1.0])
