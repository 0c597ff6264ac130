import numpy as np
import pytest

from equirank import DataError
from equirank.allocation import dominance

from .division_twins import EXAMPLE, POLICIES, UNIFORM, impacts, random_cases


@pytest.mark.slow
@pytest.mark.parametrize("margin", [0.0, 0.1, 0.5])
def test_agrees_with_twin(margin):
    seen = []
    for relevance, policy, attention in random_cases(400):
        r, e = relevance.tolist(), attention.tolist()
        n = len(r[0])
        uniform = [[[1 / n] * len(e)] * n] * len(r)
        pairs = zip(impacts(r, policy.tolist(), e), impacts(r, uniform, e), strict=True)
        worse = [a < (1 - margin) * b * (1 - 1e-9) for a, b in pairs]
        got = dominance(relevance, policy, attention=attention, margin=margin)
        assert type(got) is float
        assert got == pytest.approx(sum(worse) / n)
        seen.append(got)
    assert 0 < np.mean(seen) < 1


def test_two_users_and_two_items():
    """Exposure fairness leaves item 2 worse off than the uniform policy, Nash welfare does not."""
    got = {name: dominance(EXAMPLE, policy, attention=[1]) for name, policy in POLICIES.items()}
    assert got == {"maximal": 0.5, "fair": 0.5, "uniform": 0.0, "nash": 0.0}
    # .28 is 20 % less than .35
    assert dominance(EXAMPLE, POLICIES["fair"], attention=[1], margin=0.1) == 0.5
    assert dominance(EXAMPLE, POLICIES["fair"], attention=[1], margin=0.19) == 0.5
    assert dominance(EXAMPLE, POLICIES["fair"], attention=[1], margin=0.21) == 0.0


def test_rounding_does_not_count():
    rng = np.random.default_rng(0)
    for _ in range(20):
        relevance = rng.random((7, 9))
        policy = np.full((7, 9, 4), 1 / 9)
        assert dominance(relevance, policy, attention=rng.random(4)) == 0.0
    assert dominance(EXAMPLE, np.array(UNIFORM) * (1 - 1e-6), attention=[1]) == 1.0


@pytest.mark.parametrize("margin", [-0.1, 1.0, "much"])
def test_bad_margin(margin):
    with pytest.raises(DataError, match="margin of dominance"):
        dominance(EXAMPLE, UNIFORM, attention=[1], margin=margin)
