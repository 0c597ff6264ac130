import numpy as np
import pytest

from equirank.kernels.soft_prototypes import add_pair_errors, pair_distances


def ring(n, base, extra):
    """The pairs, listed."""
    return [
        (i, (i + step) % n)
        for i in range(n)
        for step in range(1, base + 1 + (1 if i < extra else 0))
    ]


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8])
def test_as_many_pairs_as_there_are_gives_each_once(n):
    base, extra = divmod(n * (n - 1) // 2, n)
    pairs = {frozenset(pair) for pair in ring(n, base, extra)}
    assert len(pairs) == n * (n - 1) // 2
    assert all(len(pair) == 2 for pair in pairs)


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize(("base", "extra"), [(0, 3), (1, 0), (2, 4), (3, 0)])
def test_distances_and_errors_are_those_of_the_pairs(width, base, extra):
    rng = np.random.default_rng(width)
    points, target = rng.normal(size=(7, width)), rng.random(7 * base + extra)
    pairs = ring(7, base, extra)
    wanted = [np.sqrt(((points[i] - points[j]) ** 2).sum()) for i, j in pairs]
    np.testing.assert_allclose(pair_distances(points, base, extra), wanted, rtol=1e-12)

    def loss(points):
        apart = [np.sqrt(((points[i] - points[j]) ** 2).sum()) for i, j in pairs]
        return float(((np.array(apart) - target) ** 2).sum())

    slope = np.ones_like(points)
    value = add_pair_errors(points, target, base, extra, 0.5, slope)
    assert value == pytest.approx(loss(points))
    for at in np.ndindex(points.shape):
        step = np.zeros_like(points)
        step[at] = 1e-6
        wanted = (loss(points + step) - loss(points - step)) / 2e-6
        assert slope[at] == pytest.approx(1 + 0.5 * wanted, abs=1e-6)


def test_equal_rows_have_no_slope():
    slope = np.zeros((2, 2))
    assert add_pair_errors(np.ones((2, 2)), np.array([3.0]), 0, 1, 1.0, slope) == 9.0
    assert (slope == 0).all()
