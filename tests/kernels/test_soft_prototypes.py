"""Distances of pairs and memberships, with gradients, against plain formulas."""

import numpy as np
import pytest

from equirank.kernels import soft_prototypes as prototypes
from equirank.kernels.soft_prototypes import (
    SoftAssignment,
    add_pair_errors,
    memberships,
    pair_distances,
    representations,
    through_memberships,
)


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


def plain(X, V, a, root):
    """The definition, one number at a time."""
    share, distance = np.empty((len(V), len(X))), np.empty((len(V), len(X)))
    for i, x in enumerate(X):
        for k, v in enumerate(V):
            d = sum(a[f] * (x[f] - v[f]) ** 2 for f in range(len(x)))
            distance[k, i] = d**0.5 if root else d
        weight = np.exp(-distance[:, i])
        share[:, i] = weight / weight.sum()
    return share, distance


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    return rng.normal(size=(9, 3)), rng.normal(size=(4, 3)), rng.random(3), rng.normal(size=(4, 9))


@pytest.mark.parametrize("root", [True, False])
def test_memberships_are_the_definition_whatever_the_block(case, root, monkeypatch):
    X, V, a, _ = case
    X = np.vstack([X] * 20)
    for cells in (1, 1 << 16):  # blocks of 64 rows, and one block
        monkeypatch.setattr(prototypes, "CELLS", cells)
        share, distance = np.empty((4, 180)), np.empty((4, 180))
        memberships(SoftAssignment(X, V, a, root, share, distance))
        wanted = plain(X, V, a, root)
        np.testing.assert_allclose(share, wanted[0], rtol=1e-10)
        np.testing.assert_allclose(distance, wanted[1], rtol=1e-10)


def test_representations_are_mixtures_and_the_way_they_are_off(case):
    X, V, a, _ = case
    made, pull = np.empty((9, 3)), np.empty((9, 3))
    share, distance = np.empty((4, 9)), np.empty((4, 9))
    total = representations(SoftAssignment(X, V, a, True, share, distance), made, pull, 0.5)
    wanted = plain(X, V, a, True)[0].T @ V
    np.testing.assert_allclose(made, wanted, rtol=1e-10)
    np.testing.assert_allclose(pull, 0.5 * (wanted - X), rtol=1e-9, atol=1e-12)
    assert total == pytest.approx(((wanted - X) ** 2).sum())


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize("beside", [True, False])
def test_gradient_agrees_with_differences(case, root, beside):
    X, V, a, slope = case
    pull = np.random.default_rng(1).normal(size=X.shape)

    def value(V, a):
        share = plain(X, V, a, root)[0]
        return float((share.T @ V * pull).sum() + beside * (share * slope).sum())

    share, distance = np.empty((4, 9)), np.empty((4, 9))
    memberships(SoftAssignment(X, V, a, root, share, distance))
    for_V, for_a = through_memberships(
        SoftAssignment(X, V, a, root, share, distance), pull, slope if beside else None
    )
    h = 1e-6
    for f in range(3):
        e = h * np.eye(3)[f]
        assert for_a[f] == pytest.approx((value(V, a + e) - value(V, a - e)) / (2 * h), abs=1e-7)
        for k in range(4):
            E = h * np.outer(np.eye(4)[k], np.eye(3)[f])
            wanted = (value(V + E, a) - value(V - E, a)) / (2 * h)
            assert for_V[k, f] == pytest.approx(wanted, abs=1e-7)


def test_blocks_of_the_way_back_add_up(case, monkeypatch):
    X, V, a, slope = case
    X, slope = np.vstack([X] * 20), np.tile(slope, 20)
    pull = np.random.default_rng(1).normal(size=X.shape)
    share, distance = np.empty((4, 180)), np.empty((4, 180))
    soft = SoftAssignment(X, V, a, True, share, distance)
    memberships(soft)
    whole = through_memberships(soft, pull, slope)
    monkeypatch.setattr(prototypes, "CELLS", 1)
    parts = through_memberships(soft, pull, slope)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_a_row_on_a_prototype_has_no_slope_and_no_warning():
    X = np.array([[1.0, 2.0], [0.0, 0.0]])
    share, distance = np.empty((1, 2)), np.empty((1, 2))
    soft = SoftAssignment(X, X[:1], np.ones(2), True, share, distance)
    memberships(soft)
    assert distance[0, 0] < 1e-6
    for_V, for_a = through_memberships(soft, np.ones((2, 2)), np.ones((1, 2)))
    assert np.isfinite(for_V).all()
    assert np.isfinite(for_a).all()


def test_far_rows_do_not_overflow():
    X = np.array([[1e6], [-1e6]])
    share, distance = np.empty((2, 2)), np.empty((2, 2))
    memberships(SoftAssignment(X, X, np.ones(1), False, share, distance))
    np.testing.assert_allclose(share, np.eye(2))
