from itertools import pairwise
from math import dist

import numpy as np
import pytest

from equirank.kernels.metric_loops import broken_pairs


@pytest.mark.parametrize("slope", [0.3, 1.0, 4.0])
def test_agrees_with_all_pairs(slope):
    rng = np.random.default_rng(0)
    sizes = [0, 1, 2, 30, 0, 12]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    points = rng.integers(0, 3, (offsets[-1], 3)) / 4
    score = rng.integers(0, 9, offsets[-1]) / 8
    wanted = [
        sum(
            abs(score[i] - score[j]) > slope * dist(points[i], points[j]) + 1e-12
            for i in range(begin, end)
            for j in range(begin, i)
        )
        for begin, end in pairwise(offsets)
    ]
    assert broken_pairs(points, score, offsets, slope).tolist() == wanted
    assert wanted[3] > 0


def test_the_bound_itself_is_kept():
    points, offsets = np.array([[0.0], [0.5]]), np.array([0, 2])
    assert broken_pairs(points, np.array([0.0, 0.5]), offsets, 1.0).tolist() == [0]
    near = np.array([[0.0], [0.3]])
    assert 0.1 + 0.2 > 0.3
    assert broken_pairs(near, np.array([0.0, 0.1 + 0.2]), offsets, 1.0).tolist() == [0]
    assert broken_pairs(points, np.array([0.0, 0.5 + 1e-9]), offsets, 1.0).tolist() == [1]
