import numpy as np
import pytest

from equirank.kernels import prototypes
from equirank.kernels.prototypes import memberships, through_memberships


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
    for step in (2, 4096):
        monkeypatch.setattr(prototypes, "STEP", step)
        share, distance = np.empty((4, 9)), np.empty((4, 9))
        memberships(X, X * X, V, a, root, share, distance)
        wanted = plain(X, V, a, root)
        np.testing.assert_allclose(share, wanted[0], rtol=1e-10)
        np.testing.assert_allclose(distance, wanted[1], rtol=1e-10)


@pytest.mark.parametrize("root", [True, False])
def test_gradient_agrees_with_differences(case, root, monkeypatch):
    monkeypatch.setattr(prototypes, "STEP", 4)
    X, V, a, slope = case

    def value(V, a):
        return float((plain(X, V, a, root)[0] * slope).sum())

    share, distance = np.empty((4, 9)), np.empty((4, 9))
    memberships(X, X * X, V, a, root, share, distance)
    for_V, for_a = through_memberships(X, X * X, V, a, root, share, distance, slope)
    h = 1e-6
    for f in range(3):
        e = h * np.eye(3)[f]
        assert for_a[f] == pytest.approx((value(V, a + e) - value(V, a - e)) / (2 * h), abs=1e-7)
        for k in range(4):
            E = h * np.outer(np.eye(4)[k], np.eye(3)[f])
            wanted = (value(V + E, a) - value(V - E, a)) / (2 * h)
            assert for_V[k, f] == pytest.approx(wanted, abs=1e-7)


def test_a_row_on_a_prototype_has_no_slope_and_no_warning():
    X = np.array([[1.0, 2.0], [0.0, 0.0]])
    share, distance = np.empty((1, 2)), np.empty((1, 2))
    memberships(X, X * X, X[:1], np.ones(2), True, share, distance)
    assert distance[0, 0] < 1e-6
    for_V, for_a = through_memberships(
        X, X * X, X[:1], np.ones(2), True, share, distance, np.ones((1, 2))
    )
    assert np.isfinite(for_V).all()
    assert np.isfinite(for_a).all()


def test_far_rows_do_not_overflow():
    X = np.array([[1e6], [-1e6]])
    share, distance = np.empty((2, 2)), np.empty((2, 2))
    memberships(X, X * X, X, np.ones(1), False, share, distance)
    np.testing.assert_allclose(share, np.eye(2))
