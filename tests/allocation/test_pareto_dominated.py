import numpy as np
import pytest

from equirank import DataError
from equirank.allocation import pareto_dominated

from .division_twins import EXAMPLE, EXPOSURE_FAIR, MAXIMAL, NASH, UNIFORM, impacts, random_cases


@pytest.mark.slow
def test_agrees_with_twin():
    rng = np.random.default_rng(2)
    found = 0
    for relevance, policy, attention in random_cases(200, seed=3):
        others = [policy * factor for factor in (1.0, 0.5, rng.random())]
        others += [policy * rng.random((1, policy.shape[1], 1)), np.zeros_like(policy)]
        r, e = relevance.tolist(), attention.tolist()
        own = impacts(r, (policy * 0.5).tolist(), e)
        wanted = []
        for other in others:
            value = impacts(r, other.tolist(), e)
            pairs = list(zip(value, own, strict=True))
            no_worse = all(a >= b - 1e-9 * max(a, b) for a, b in pairs)
            wanted.append(no_worse and any(a > b + 1e-9 * max(a, b) for a, b in pairs))
        got = pareto_dominated(relevance, policy * 0.5, others, attention=attention)
        assert got.tolist() == wanted
        found += sum(wanted)
    assert found > 100


def test_two_users_and_two_items():
    others = [MAXIMAL, EXPOSURE_FAIR, UNIFORM, NASH]
    got = [pareto_dominated(EXAMPLE, policy, others, attention=[1]).tolist() for policy in others]
    nobody = [False] * 4
    assert got == [nobody, nobody, [False, False, False, True], nobody]


def test_no_policy_dominates_itself_or_a_rounded_copy():
    almost = (np.array(NASH) * (1 - 1e-12)).tolist()
    assert pareto_dominated(EXAMPLE, almost, [NASH, almost], attention=[1]).tolist() == [False] * 2
    # a loss by rounding does not spoil a gain
    part, more = [[[0.5], [0.4]]] * 2, [[[0.5 * (1 - 1e-12)], [0.5]]] * 2
    assert pareto_dominated(EXAMPLE, part, [more], attention=[1]).tolist() == [True]
    assert pareto_dominated(EXAMPLE, NASH, [], attention=[1]).tolist() == []


def test_the_bad_policy_is_named():
    with pytest.raises(DataError, match=r"others\[1\] must have the shape"):
        pareto_dominated(EXAMPLE, NASH, [NASH, [[[1], [0]]]], attention=[1])
