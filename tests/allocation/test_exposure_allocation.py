"""ExposureAllocation: exposure follows merit at the largest utility, against a linear programme."""

import numpy as np
import pytest
from scipy.optimize import linprog

from equirank import EquirankWarning, InfeasibleError
from equirank.allocation import ExposureAllocation

PAIR = np.array([[0.8, 0.3], [0.5, 0.4]])


def programme(relevance, attention, target):
    """The largest utility under the exposures, over all probabilities."""
    users, items = relevance.shape
    places = len(attention)
    shape = (users, items, places)
    equal, right, less = [], [], []
    for u in range(users):
        for k in range(places):
            row = np.zeros(shape)
            row[u, :, k] = 1
            equal.append(row.ravel())
            right.append(1.0)
        for i in range(items):
            row = np.zeros(shape)
            row[u, i] = 1
            less.append(row.ravel())
    for i in range(items):
        row = np.zeros(shape)
        row[:, i] = attention
        equal.append(row.ravel())
        right.append(target[i])
    worth = -(relevance[:, :, None] * attention).ravel()
    found = linprog(worth, np.array(less), np.ones(len(less)), np.array(equal), right)
    return -found.fun


def test_two_users_and_two_items():
    policy = ExposureAllocation(k=1).fit_policy(PAIR)
    assert policy.impact(PAIR) == pytest.approx([0.95, 0.28], abs=2e-3)
    assert policy.user_utility(PAIR).sum() == pytest.approx(1.23, abs=2e-3)
    assert policy.exposure() == pytest.approx([1.3, 0.7], abs=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_as_good_as_the_programme(seed):
    relevance = np.random.default_rng(seed).random((6, 5)) + 0.3
    model = ExposureAllocation(k=3, tol=1e-2)
    policy = model.fit_policy(relevance)
    total = policy.attention.sum() * 6
    target = relevance.sum(axis=0) / relevance.sum() * total
    assert np.abs(policy.exposure() - target).max() <= 1e-2 * target.mean()
    best = programme(relevance, policy.attention, target)
    assert policy.impact(relevance).sum() == pytest.approx(best, rel=0.01)
    assert model.gap_ <= 1e-2


def test_a_link_bends_the_shares():
    policy = ExposureAllocation(k=1, link=np.ones_like).fit_policy(PAIR)
    assert policy.exposure() == pytest.approx([1.0, 1.0], abs=2e-3)


def test_merit_beyond_reach():
    relevance = np.array([[1.0, 0.01, 0.01], [1.0, 0.01, 0.01]])
    with pytest.raises(InfeasibleError, match="item 0 alone needs"):
        ExposureAllocation(k=2).fit_policy(relevance)
    with pytest.warns(EquirankWarning, match="cannot give every item"):
        policy = ExposureAllocation(k=2, on_infeasible="best").fit_policy(relevance)
    assert policy.exposure()[0] == pytest.approx(2.0, abs=0.01)
