from itertools import product
from math import dist

import numpy as np
import pytest

from equirank.metrics.fairness import individual as neighbours
from equirank.metrics.fairness.individual import neighbour_means


def brute(points, values, k):
    result = []
    for i in range(len(values)):
        others = sorted(
            (dist(points[i], points[j]), values[j]) for j in range(len(values)) if j != i
        )
        n = min(k, len(others))
        radius = others[n - 1][0]
        closer = [v for d, v in others if d < radius * (1 - 1e-9)]
        tied = [v for d, v in others if abs(d - radius) <= radius * 1e-9]
        result.append((sum(closer) + (n - len(closer)) * sum(tied) / len(tied)) / n)
    return result


@pytest.mark.slow
@pytest.mark.parametrize("cells", [1, 100, 1 << 20])
def test_agrees_with_all_distances(cells, monkeypatch):
    monkeypatch.setattr(neighbours, "CELLS", cells)
    rng = np.random.default_rng(0)
    for number in range(120):
        n, d = int(rng.integers(2, 60)), int(rng.integers(1, 4))
        points = rng.integers(0, 3, (n, d)) / 3 if number % 2 else rng.normal(size=(n, d))
        values, k = rng.random(n), int(rng.integers(1, 12))
        got = neighbour_means(points, values, k)
        np.testing.assert_allclose(got, brute(points.tolist(), values.tolist(), k), atol=1e-12)


def test_rings_of_equally_far_points():
    """More points at the same distance than are asked for: all of them share the places."""
    points = np.concatenate([[[0.0, 0.0]], np.eye(2), -np.eye(2), 3 * np.eye(2)])
    values = np.array([9.0, 1, 2, 3, 4, 50, 60])
    for k in (1, 2, 3, 4):
        assert neighbour_means(points, values, k)[0] == pytest.approx(2.5)
    assert neighbour_means(points, values, 5)[0] == pytest.approx((10 + 55) / 5)


def test_copies():
    points = np.zeros((5, 2))
    values = np.array([1.0, 2, 3, 4, 5])
    for k in (1, 3, 4, 9):
        np.testing.assert_allclose(neighbour_means(points, values, k), (15 - values) / 4)


def test_signs_of_zero_make_no_new_points():
    points = np.array(list(product([0.0, -0.0], repeat=6)))
    values = np.arange(64.0)
    np.testing.assert_allclose(neighbour_means(points, values, 1), (values.sum() - values) / 63)


def test_nobody_else():
    assert np.isnan(neighbour_means(np.zeros((1, 2)), np.ones(1), 3)).all()


@pytest.mark.parametrize("scale", [2.0**1000, 2.0**-1000])
def test_points_whose_squares_are_no_numbers(scale):
    points, values = np.array([[0.0], [1.0], [3.0], [7.0]]), np.array([1.0, 2.0, 4.0, 8.0])
    got = neighbour_means(points * scale, values, 1)
    np.testing.assert_array_equal(got, neighbour_means(points, values, 1))
