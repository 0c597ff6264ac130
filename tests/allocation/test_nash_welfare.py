from math import exp, isnan, log

import numpy as np
import pytest

from equirank import EquirankWarning
from equirank.allocation import nash_welfare

from .division_twins import EXAMPLE, POLICIES, impacts, random_cases


@pytest.mark.slow
def test_agrees_with_twin():
    checked = 0
    for relevance, policy, attention in random_cases(400):
        if not relevance.any(axis=0).all():
            continue
        product = 1.0
        values = impacts(relevance.tolist(), policy.tolist(), attention.tolist())
        for value in values:
            product *= value
        got = nash_welfare(relevance, policy, attention=attention)
        assert type(got) is float
        assert got == pytest.approx(product ** (1 / len(values)), abs=1e-12)
        checked += got > 0
    assert checked > 100


def test_two_users_and_two_items():
    got = {name: nash_welfare(EXAMPLE, policy, attention=[1]) for name, policy in POLICIES.items()}
    wanted = {"maximal": 0.0, "fair": 0.95 * 0.28, "uniform": 0.65 * 0.35, "nash": 0.8 * 0.4}
    assert got == pytest.approx({name: value**0.5 for name, value in wanted.items()})
    assert max(got, key=got.get) == "nash"


def test_no_user_sees_an_item():
    assert nash_welfare([[1, 1]], [[[1], [0]]], attention=[1]) == 0.0


def test_many_tiny_or_huge_impacts():
    n = 2000
    for size in (1e-200, 1e200):
        relevance = np.full((1, n), size)
        relevance[0, 0] *= 10
        policy = np.full((1, n, 1), 1 / n)
        wanted = exp((n * log(size) + log(10)) / n - log(n))
        assert nash_welfare(relevance, policy, attention=[1]) == pytest.approx(wanted)


def test_items_relevant_to_nobody_are_left_out_and_named():
    with pytest.warns(EquirankWarning, match=r"1 of 3 items.*first is item 1"):
        value = nash_welfare([[2, 0, 8]], [[[0.5], [0.25], [0.25]]], attention=[1])
    assert value == pytest.approx((1 * 2) ** 0.5)
    with pytest.warns(EquirankWarning, match=r"2 of 2 items"):
        assert isnan(nash_welfare([[0, 0]], [[[1], [0]]], attention=[1]))
