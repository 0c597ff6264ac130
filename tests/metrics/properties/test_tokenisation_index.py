from math import isnan

import numpy as np
import pytest

from equirank import DataError
from equirank.metrics.properties import tokenisation_index

from .known_lists import MAPPED, mapped_list


def test_separates_the_known_lists():
    found = {name: tokenisation_index(*mapped_list(name)) for name in MAPPED}
    assert found["tokenisation"].index > 0.6
    assert found["noise"].index == 0.0
    assert found["clustering"].index == 0.0
    # size alone does not: noise is larger
    assert found["noise"].size > found["tokenisation"].size


def test_known_halves():
    found = tokenisation_index(*mapped_list("tokenisation"))
    assert found.upper == pytest.approx(-9.4)
    assert found.lower == pytest.approx(10.2)
    assert found.size == pytest.approx(9.8)
    position, truth, protected = mapped_list("tokenisation")
    others = np.abs(position - truth)[~protected].mean()
    assert found.others == pytest.approx(others)
    assert found.index == pytest.approx((9.4 - others) / 9.8)


def test_what_happens_to_everybody_is_left_out():
    # both groups are stretched alike: 2 1 | 4 3 in both
    truth = np.arange(1, 9)
    position = np.array([3, 4, 1, 2, 7, 8, 5, 6])
    assert tokenisation_index(position, truth, [0, 0, 1, 0, 0, 1, 0, 0]).index == 0.0
    # one direction only is a shift, not tokenisation
    assert tokenisation_index([5, 6, 1, 2, 3, 4], range(1, 7), [1, 1, 0, 0, 0, 0]).index == 0.0


def test_odd_number_leaves_out_the_middle():
    found = tokenisation_index([1, 4, 7, 2, 3, 5, 6], [2, 4, 6, 1, 3, 5, 7], [1, 1, 1, 0, 0, 0, 0])
    assert (found.upper, found.lower) == (-1.0, 1.0)


def test_edges():
    assert tokenisation_index([1, 2, 3], [1, 2, 3], [1, 1, 0]).index == 0.0
    assert isnan(tokenisation_index([1, 2, 3], [1, 2, 3], [1, 0, 0]).index)
    with pytest.raises(DataError, match="one group only"):
        tokenisation_index([1, 2], [1, 2], [1, 1])
    with pytest.raises(DataError, match="one length, got 2, 1 and 2"):
        tokenisation_index([1, 2], [1], [1, 0])
